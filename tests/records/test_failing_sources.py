"""Containers that fail while they are read, or whose type one cell has set: one constant error, or a release."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

import dpfda
from dpfda.errors import DataError, UsageError
from dpfda.ledger import SessionLedger
from dpfda.records.forgetting import UNREADABLE
from dpfda.records.labelled import as_points

SECRET = "HIV positive since 2019"
KNOWN = {"epsilon": 50.0, "delta": 1e-6, "force": True}
N = 40
CURVES = np.full((N, 3), 0.1)


def stream(names: list[str], *, fails: bool) -> pa.RecordBatchReader:
    """A table that is read lazily, as a database hands it out, and that may fail at somebody's cell."""
    schema = pa.schema([(name, pa.float64()) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(2):
            if fails and number:
                raise ValueError(f"Could not convert {SECRET!r}")
            yield pa.record_batch([pa.array(np.ones(N // 2))] * len(names), schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


class Failing:
    """An object that says that it is an array, and fails when it is asked for its cells."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)


FITS: dict[str, Callable[[Callable[[list[str]], Any], Any], Any]] = {
    "mean": lambda table, ledger: dpfda.MeanFunction(**KNOWN, bound=1.0, ledger=ledger).fit(table(["t1", "t2", "t3"])),
    "covariance": lambda table, ledger: dpfda.CovarianceFunction(**KNOWN, bound=1.0, ledger=ledger).fit(
        table(["t1", "t2", "t3"])
    ),
    "density": lambda table, ledger: dpfda.DensityFunction(**KNOWN, domain=(0, 1), ledger=ledger).fit(table(["x"])),
    "counts": lambda table, ledger: dpfda.DensityFunction(**KNOWN, domain=(0, 1), ledger=ledger).fit(
        np.full(N, 0.5), counts=table(["people"])
    ),
    "classifier": lambda table, ledger: dpfda.KernelClassifier(
        **KNOWN, domain=[(0, 1)], classes=(0, 1), features=3, ledger=ledger
    ).fit(table(["x"]), np.arange(N) % 2),
    "labels": lambda table, ledger: dpfda.KernelRegressor(
        **KNOWN, domain=[(0, 1)], response_bound=1.0, features=3, ledger=ledger
    ).fit(np.full((N, 1), 0.5), table(["y"])),
    "covariates": lambda table, ledger: dpfda.FunctionOnScalarRegression(
        **KNOWN, bound=1.0, covariate_limits=[(0, 1)], ledger=ledger
    ).fit(table(["z"]), CURVES, grid=[0, 0.5, 1]),
    "bound": lambda table, ledger: dpfda.private_bound(
        table(["t1", "t2", "t3"]), epsilon=50.0, quantile=0.9, candidates=(0.1, 1.0), force=True, ledger=ledger
    ),
}


@pytest.mark.parametrize("kind", FITS)
def test_a_source_that_fails_gives_one_constant_error_and_costs_nothing(kind: str) -> None:
    FITS[kind](lambda names: stream(names, fails=False), None)
    ledger = SessionLedger()
    for broken in (lambda names: stream(names, fails=True), lambda names: Failing()):
        with pytest.raises((DataError, UsageError)) as caught:
            FITS[kind](broken, ledger)
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)
    with pytest.raises(DataError) as caught:
        FITS[kind](lambda names: stream(names, fails=True), ledger)
    assert str(caught.value) == UNREADABLE
    assert not ledger.entries


@pytest.mark.parametrize("holder", [list, tuple, deque, UserList])
@pytest.mark.parametrize("odd", [[0.5], [0.5, 0.5], None, "word"], ids=str)
def test_rows_of_any_sequence_are_read_one_by_one(holder: Callable[[list[Any]], Any], odd: Any) -> None:
    rows = holder([[0.5]] * (N - 1) + [odd])
    for name in ("covariates", "labels"):
        assert FITS[name](lambda names: rows, None).release_.certificate.n == N


def test_one_span_of_time_leaves_the_other_numbers_of_an_array_as_they_are() -> None:
    table = np.array([[1, 2, 3]] * 4 + [[1, 2, np.timedelta64(1, "D")]])
    assert table.dtype.kind == "m"
    (batch,) = dpfda.records.as_curves(table, grid=None, units=None).batches(9)
    np.testing.assert_array_equal(batch[:4], [[1, 2, 3]] * 4)
    (batch,) = as_points(table[:, 0], 1).batches(9)
    np.testing.assert_array_equal(batch[:4], np.ones((4, 1)))


DATES = np.array(["2020-01-01"] * N, dtype="datetime64[D]")


@pytest.mark.parametrize(
    "held",
    [
        DATES,
        pd.Series(DATES),
        pd.Series(DATES).dt.tz_localize("UTC"),
        pd.Series(DATES).to_frame(),
        pd.Series(pd.period_range("2020-01-01", periods=N)),
        pd.Series(DATES - DATES),
        pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32())),
        pl.Series(DATES),
        pl.DataFrame({"y": DATES}),
        pa.array(DATES),
        pa.table({"y": DATES}),
        np.zeros(N, dtype=[("a", "f8")]),
    ],
    ids=lambda held: f"{type(held).__module__}.{type(held).__name__}",
)
def test_labels_of_a_declared_type_that_is_no_number_are_refused(held: Any) -> None:
    with refused(UsageError, "y"):
        FITS["labels"](lambda names: held, None)


@pytest.mark.parametrize("make", [pd.Series, lambda cells, name: pd.Series(cells, name=name).to_frame(), None])
def test_counts_are_refused_by_their_own_name(make: Any) -> None:
    cells = np.arange(1, 5)
    counts = pa.table({"deaths_thousand": cells}) if make is None else make(cells, name="deaths_thousand")
    with pytest.raises(DataError, match="'deaths_thousand' counts thousands"):
        as_points(np.zeros(4), 1, counts=counts)
