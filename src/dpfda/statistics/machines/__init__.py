"""Kernel machines: a classifier and a regressor."""
