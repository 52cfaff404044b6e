"""The density of points."""
