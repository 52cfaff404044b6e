"""Come here for budgets, privacy units, privacy curves, calibration and ledgers."""

from dpfda.privacy.budget import Budget
from dpfda.privacy.calibration import calibrate
from dpfda.privacy.composition import Statement, compose
from dpfda.privacy.ledger import AnyLedger, Charge, Ledger, OwnSpend, Receipt, SessionLedger
from dpfda.privacy.noise import Noise
from dpfda.privacy.profiles import (
    GaussianProfile,
    LaplaceProfile,
    Profile,
    PureProfile,
    RangeProfile,
    StatedProfile,
)
from dpfda.privacy.unit import ADD_REMOVE, RELATIONS, REPLACE, Counting, Unit

__all__ = [
    "ADD_REMOVE",
    "RELATIONS",
    "REPLACE",
    "AnyLedger",
    "Budget",
    "Charge",
    "Counting",
    "GaussianProfile",
    "LaplaceProfile",
    "Ledger",
    "Noise",
    "OwnSpend",
    "Profile",
    "PureProfile",
    "RangeProfile",
    "Receipt",
    "SessionLedger",
    "StatedProfile",
    "Statement",
    "Unit",
    "calibrate",
    "compose",
]
