"""Come here for studies: simulated curves, mechanisms compared, published tables again. Nothing here is private."""
