"""Come here for budgets, privacy units, privacy curves, calibration and the ledger's contract."""

from dpfda.privacy.budget import Budget
from dpfda.privacy.calibration import calibrate
from dpfda.privacy.ledger import AnyLedger, Charge, OwnSpend, Receipt, SessionLedger
from dpfda.privacy.noise import Noise
from dpfda.privacy.profiles import GaussianProfile, Profile, PureProfile, RangeProfile
from dpfda.privacy.unit import ADD_REMOVE, RELATIONS, REPLACE, Unit

__all__ = [
    "ADD_REMOVE",
    "RELATIONS",
    "REPLACE",
    "AnyLedger",
    "Budget",
    "Charge",
    "GaussianProfile",
    "Noise",
    "OwnSpend",
    "Profile",
    "PureProfile",
    "RangeProfile",
    "Receipt",
    "SessionLedger",
    "Unit",
    "calibrate",
]
