"""Regression of curves on covariates."""
