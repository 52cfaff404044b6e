"""Budgets, privacy units, privacy curves, calibration and composition."""

from dpfda.privacy.budget import ADD_REMOVE, RELATIONS, REPLACE, Budget, Counting, Unit
from dpfda.privacy.calibration import calibrate
from dpfda.privacy.composition import Statement, compose
from dpfda.privacy.profiles import GaussianProfile, LaplaceProfile, Profile, PureProfile, RangeProfile, StatedProfile

__all__ = [
    "ADD_REMOVE",
    "RELATIONS",
    "REPLACE",
    "Budget",
    "Counting",
    "GaussianProfile",
    "LaplaceProfile",
    "Profile",
    "PureProfile",
    "RangeProfile",
    "StatedProfile",
    "Statement",
    "Unit",
    "calibrate",
    "compose",
]
