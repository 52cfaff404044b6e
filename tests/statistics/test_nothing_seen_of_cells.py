"""What is seen from outside is the same whatever one person's cells hold: over containers, estimators and cells.

A cell may change the type of its whole container: one word makes text of a numpy array, of a pandas, polars or Arrow
column and of a Parquet file; one complex number makes all numbers complex. Neither may show, nor move anybody else.
"""

from __future__ import annotations

import csv
import io
import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfda
from dpfda.errors import DpfdaError
from dpfda.mechanisms import ExponentialDraw
from dpfda.records import as_curves, from_frame, read_curves
from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor
from dpfda.statistics.maximiser.estimator import Maximiser
from dpfda.statistics.maximiser.utilities import RobustDistance
from dpfda.statistics.private_bound import private_bound
from dpfda.statistics.regression.estimator import FunctionOnScalarRegression

PEOPLE, WIDTH = 24, 4
GRID = np.linspace(0, 1, WIDTH)
NAMES = [f"t{place}" for place in range(WIDTH)]
NAN, INF = float("nan"), float("inf")
SPENT = {"epsilon": 100.0, "delta": 1e-6}
ODD: dict[str, Any] = {
    "word": "ill",
    "complex": 1 + 2j,
    "nested": [1.0, 2.0],
    "date": date(1971, 3, 2),
    "time stamp": datetime(1971, 3, 2, 10),
    "truth": True,
    "missing": None,
    "nan": NAN,
    "infinite": INF,
    "negative infinite": -INF,
    "huge": 1e308,
}
RNG = np.random.default_rng(7)
TABLE: list[list[Any]] = RNG.uniform(0, 1, (PEOPLE, WIDTH)).round(3).tolist()


def with_last(cell: object) -> list[list[Any]]:
    """The table with the last person's cells replaced by another; one stays a number."""
    return [*TABLE[:-1], [cell] * (WIDTH - 1) + TABLE[-1][-1:]]


def column(cells: list[Any]) -> pa.Array:
    """An Arrow column as a reader of files would infer it: text where a cell does not suit the others."""
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def arrow(table: list[list[Any]]) -> pa.Table:
    return pa.table({name: column(list(cells)) for name, cells in zip(NAMES, zip(*table, strict=True), strict=True)})


def inferred(table: list[list[Any]]) -> np.ndarray[Any, Any]:
    try:
        return np.array(table)
    except ValueError:  # nested lists
        return np.array([[*map(_boxed, row)] for row in table], dtype=object)


def objects(table: list[list[Any]]) -> np.ndarray[Any, Any]:
    made = np.empty((len(table), WIDTH), dtype=object)
    for place, row in enumerate(table):
        for along, cell in enumerate(row):
            made[place, along] = cell
    return made


def _boxed(cell: object) -> object:
    return str(cell) if isinstance(cell, list) else cell


def frame(table: list[list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: [row[place] for row in table] for place, name in enumerate(NAMES)})


def csv_file(table: list[list[Any]], folder: Path) -> Path:
    text = io.StringIO()
    csv.writer(text).writerows([NAMES, *table])
    (folder / "people.csv").write_text(text.getvalue())
    return folder / "people.csv"


def parquet_file(table: list[list[Any]], folder: Path) -> Path:
    pq.write_table(arrow(table), folder / "people.parquet")
    return folder / "people.parquet"


CONTAINERS: dict[str, Any] = {
    "numpy": lambda table, folder: inferred(table),
    "numpy objects": lambda table, folder: objects(table),
    "masked": lambda table, folder: np.ma.array(objects(table), mask=False),
    "list": lambda table, folder: table,
    "pandas": lambda table, folder: frame(table),
    "pandas nullable": lambda table, folder: frame(table).convert_dtypes(),
    "pandas Arrow": lambda table, folder: arrow(table).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, folder: pl.DataFrame(dict(zip(NAMES, zip(*table, strict=True), strict=True)), strict=False),
    "Arrow": lambda table, folder: arrow(table),
    "CSV": lambda table, folder: read_curves(csv_file(table, folder)),
    "Parquet": lambda table, folder: read_curves(parquet_file(table, folder)),
    "Curves": lambda table, folder: from_frame(arrow(table)),
}
# Fields of cards that noise decides: that of coefficients is measured in the moments that were released.
NOISY = ("noise_rms", "detected", "warnings")
CURVES = {"bound": 2.0, "domain": (0.0, 1.0)}
FEW = ExponentialDraw(candidates=16)


def covariates() -> np.ndarray[Any, Any]:
    return np.linspace(0, 1, PEOPLE)


def _grid(X: Any) -> dict[str, Any]:
    return {"grid": GRID} if isinstance(X, list) else {}


ESTIMATORS: dict[str, Any] = {
    "mean": lambda X, noise: dpfda.MeanFunction(**SPENT, **CURVES, randomness=noise).fit(X, **_grid(X)).release_,
    "covariance": lambda X, noise: (
        dpfda.CovarianceFunction(**SPENT, **CURVES, randomness=noise).fit(X, **_grid(X)).release_
    ),
    "components": lambda X, noise: dpfda.FPCA(1, **SPENT, **CURVES, randomness=noise).fit(X, **_grid(X)).release_,
    "regression": lambda X, noise: (
        FunctionOnScalarRegression(**SPENT, **CURVES, covariate_limits=[(0, 1)], randomness=noise)
        .fit(covariates(), X, **_grid(X))
        .release_
    ),
    "covariates": lambda X, noise: (
        FunctionOnScalarRegression(**SPENT, **CURVES, covariate_limits=[(0, 1)] * WIDTH, randomness=noise)
        .fit(_covariates(X), np.array(TABLE))
        .release_
    ),
    "density": lambda X, noise: (
        dpfda.DensityFunction(**SPENT, domain=[(0, 1)] * WIDTH, mechanism="laplace", size=16, randomness=noise)
        .fit(X)
        .release_
    ),
    "classifier": lambda X, noise: (
        KernelClassifier(**SPENT, domain=[(0, 1)] * WIDTH, features=8, classes=(0, 1), randomness=noise)
        .fit(X, np.arange(PEOPLE) % 2)
        .release_
    ),
    "regressor": lambda X, noise: (
        KernelRegressor(**SPENT, domain=[(0, 1)] * WIDTH, features=8, response_bound=1.0, randomness=noise)
        .fit(X, covariates())
        .release_
    ),
    "maximiser": lambda X, noise: (
        Maximiser(utility=RobustDistance(knot=0.5), epsilon=100.0, size=2, mechanism=FEW, **CURVES, randomness=noise)
        .fit(X, **_grid(X))
        .release_
    ),
    "bound": lambda X, noise: private_bound(
        X, epsilon=100.0, quantile=0.9, candidates=(0.01, 100.0), randomness=noise, **_grid(X)
    ),
}


def _covariates(X: Any) -> Any:
    """Curves from a file are no covariates: those are read as the command line reads them."""
    return X.source.table if hasattr(X, "source") and hasattr(X.source, "table") else X


def seen(make: Any, X: Any) -> tuple[object, ...]:
    """All that a fit shows: the error, the warnings, and the card but for what noise decides."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = make(X, None)
        except DpfdaError as error:
            return type(error), str(error), [str(each.message) for each in caught]
    card = made.certificate if hasattr(made, "certificate") else made.card
    return None, _public(card), [str(each.message) for each in caught]


def _public(card: Any) -> dict[str, Any]:
    told = card.to_dict()
    for bought in ("bound", "outside"):
        told.get("chosen", {}).pop(bought, None)
    return {name: told[name] for name in told if name not in NOISY}


def check(estimator: str, container: str, cells: list[str], folder: Path) -> None:
    if estimator == "covariates" and container in ("CSV", "Parquet"):
        container = "Arrow"
    hold, make = CONTAINERS[container], ESTIMATORS[estimator]
    expected = seen(make, hold(TABLE, folder))
    assert expected[0] is None, expected
    assert not expected[2]
    for name in cells:
        assert seen(make, hold(with_last(ODD[name]), folder)) == expected, name


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nothing_seen_depends_on_what_one_persons_cells_hold(estimator: str, container: str, tmp_path: Path) -> None:
    """Two cells for each pair, in turn: every container and every estimator meets all of them."""
    turn = 2 * [*ESTIMATORS].index(estimator) + [*CONTAINERS].index(container)
    check(estimator, container, [[*ODD][(turn + place) % len(ODD)] for place in range(2)], tmp_path)


@pytest.mark.audit
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nothing_seen_depends_on_any_cell_with_any_estimator(estimator: str, container: str, tmp_path: Path) -> None:
    check(estimator, container, [*ODD], tmp_path)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("cell", ODD)
def test_an_odd_cell_moves_nobody_elses_numbers(cell: str, container: str, tmp_path: Path) -> None:
    """The same integers are summed for all others, whatever type the container has because of one cell."""
    X = CONTAINERS[container](with_last(ODD[cell]), tmp_path)
    found = np.concatenate([*as_curves(X, **(_grid(X) or {"grid": None}), units=None).batches(5)])
    np.testing.assert_array_equal(found[:-1], np.array(TABLE)[:-1])
    if container == "polars" and isinstance(ODD[cell], date):
        return  # polars itself makes the number of days since 1970 of it
    expected = ODD[cell] if isinstance(ODD[cell], float | bool) else NAN
    np.testing.assert_array_equal(found[-1], [expected] * (WIDTH - 1) + TABLE[-1][-1:])
