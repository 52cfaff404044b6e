"""Come here for the command line."""
