"""Come here for choices that are made before any record is touched, and the error of every mechanism in closed form."""

from dpfda.planner.compatibility import Compatibility, penalised
from dpfda.planner.parameters import Parameters, privacy_safe
from dpfda.planner.plan import DESIGNS, Plan, make_plan
from dpfda.planner.prediction import Prediction, SmoothnessClass
from dpfda.planner.ranking import Ranking
from dpfda.planner.request import Request

__all__ = [
    "DESIGNS",
    "Compatibility",
    "Parameters",
    "Plan",
    "Prediction",
    "Ranking",
    "Request",
    "SmoothnessClass",
    "make_plan",
    "penalised",
    "privacy_safe",
]
