"""Functional principal components."""
