"""The covariance function of a population."""
