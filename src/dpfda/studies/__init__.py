"""Simulated curves, mechanisms compared, cross-validation. Nothing here is private."""
