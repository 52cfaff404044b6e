"""Budgets, privacy units, privacy curves, calibration and composition."""

from dpfda.privacy.budget import Budget
from dpfda.privacy.calibration import calibrate
from dpfda.privacy.composition import Statement, compose
from dpfda.privacy.neighbours import ADD_REMOVE, RELATIONS, REPLACE, Counting, Unit
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
