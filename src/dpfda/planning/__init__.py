"""What all plans share: choices before any record is read, and errors in closed form."""

from dpfda.planning import selections as _selections  # noqa: F401  # so that its designs are known, as those of papers are
from dpfda.planning.default_design import law_for
from dpfda.planning.papers import Compatibility, Parameters, penalised, privacy_safe
from dpfda.planning.prediction import Prediction, SmoothnessClass
from dpfda.planning.request import Request

__all__ = [
    "Compatibility",
    "Parameters",
    "Prediction",
    "Request",
    "SmoothnessClass",
    "law_for",
    "penalised",
    "privacy_safe",
]
