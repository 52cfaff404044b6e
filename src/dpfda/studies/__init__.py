"""Come here for studies: simulated curves, mechanisms compared, published tables reproduced. Nothing here is private."""
