"""Come here for the scikit-learn faces of private estimators."""

from dpfda.estimators.mean import MeanFunction

__all__ = ["MeanFunction"]
