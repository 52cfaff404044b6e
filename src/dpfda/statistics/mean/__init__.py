"""The mean function of a population."""
