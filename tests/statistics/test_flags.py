"""What is true or false is said as True or False: any other value is refused before anything is charged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.errors import UsageError
from dpfda.ledger import Charge, SessionLedger
from dpfda.privacy import Budget

CURVES, GRID = np.zeros((50, 5)), np.linspace(0, 1, 5)
POINTS, LABELS = np.linspace(0, 1, 50)[:, None], np.arange(50) % 2
GOOD = {"epsilon": 1.0, "delta": 1e-6}
CURVE = {**GOOD, "bound": 1.0, "domain": (0, 1)}
Fit = Callable[..., Any]

FITS: dict[str, Fit] = {
    "mean": lambda **more: dpfda.MeanFunction(**CURVE, **more).fit(CURVES, grid=GRID),
    "covariance": lambda **more: dpfda.CovarianceFunction(**CURVE, **more).fit(CURVES, grid=GRID),
    "components": lambda **more: dpfda.FPCA(n_components=1, **CURVE, **more).fit(CURVES, grid=GRID),
    "regression": lambda **more: dpfda.FunctionOnScalarRegression(**CURVE, covariate_limits=[(0, 1)], **more).fit(
        POINTS, CURVES, grid=GRID
    ),
    "density": lambda **more: dpfda.DensityFunction(**GOOD, domain=(0, 1), **more).fit(POINTS),
    "classifier": lambda **more: dpfda.KernelClassifier(**GOOD, domain=(0, 1), classes=(0, 1), **more).fit(
        POINTS, LABELS
    ),
    "bound": lambda **more: dpfda.private_bound(
        CURVES, grid=GRID, epsilon=1.0, quantile=0.9, candidates=(0.1, 1.0, 3.0), **more
    ),
    "choice": lambda **more: dpfda.private_choice(
        CURVES, grid=GRID, epsilon=1.0, candidates=[dpfda.MeanFunction(**CURVE, mechanism="gp")], **more
    ),
}
ODD: list[Any] = ["no", 1, 0.0, np.array([True, False]), np.array(["a", "b"]), [True], b"no"]


@pytest.mark.parametrize(
    ("name", "flag"),
    [(name, "force") for name in FITS],
)
def test_a_flag_that_is_none_is_refused_before_the_charge(name: str, flag: str) -> None:
    for value in (*ODD, None):
        ledger = SessionLedger()
        with pytest.raises(UsageError, match=rf"^{flag} (must be|takes a single value)"):
            FITS[name](ledger=ledger, **{flag: value})
        assert not ledger.entries


def test_whether_to_show_progress_is_a_flag() -> None:
    for value in ODD:
        with pytest.raises(UsageError) as refused:
            dpfda.Reading(progress=value)
        assert refused.value.parameter == "progress"


def test_flags_of_ledgers_are_flags_too(tmp_path: Path) -> None:
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path / 'a.db'}", anchor=tmp_path / "anchor")
    for value in (*ODD, None):
        with refused(UsageError, "adaptive", value):
            ledger.create("scans", epsilon=1.0, delta=0.0, adaptive=value)
        with refused(UsageError, "lost", value):
            ledger.start_anchor(lost=value)
        with refused(UsageError, "nominal", value):
            Charge("scans", "mean", Budget(1.0, 0.0), nominal=value)
