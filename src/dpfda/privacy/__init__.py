"""Budgets, privacy units, privacy curves, calibration and composition.

The files:

    budget.py             privacy units, neighbours, and budgets (epsilon, delta)
    profiles.py           privacy curves: pure, Laplace, bounded range, Gaussian, stated
    norms.py              norms on coordinates, and sensitivities with their reasons
    calibration.py        the least noise that meets a budget
    totals.py             running totals in exact integers, and privacy filters
    conversion.py         epsilon from delta in closed form
    composition.py        the tightest epsilon for a whole history
    loss_laws.py          laws of single privacy losses
    loss_distribution.py  the law of their sum
"""

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
