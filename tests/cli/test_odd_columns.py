"""Columns beside the curves: covariates with levels, counts, labels. No cell decides between an error and a release."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfda
from dpfda.errors import DataError, UsageError

ROWS = 60
CURVES = np.tile(np.linspace(0, 1, 4), (ROWS, 1))
POINTS = np.linspace(0, 1, ROWS)[:, None]


def counted(counts):
    est = dpfda.DensityFunction(epsilon=1.0, delta=1e-6, domain=(0, 1), n=ROWS, force=True)
    return est.fit(POINTS, counts=counts).release_.certificate.n


@pytest.mark.parametrize("cell", [1, "secret", None, {"a": 1}, [1, 2], 1j], ids=repr)
@pytest.mark.parametrize("held", ["frame", "series", "list"])
def test_counts_in_a_frame_are_read_cell_by_cell(held, cell):
    column = pd.Series([1] * (ROWS - 1) + [cell], dtype=object, name="deaths")
    assert counted({"frame": column.to_frame(), "series": column, "list": column.tolist()}[held]) == ROWS


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_counts_are_one_column(frame):
    assert counted(frame({"deaths": [1] * ROWS})) == ROWS
    with pytest.raises(UsageError, match=r"^counts is one whole number for each row, got 2 columns\.$"):
        counted(frame({"deaths": [1] * ROWS, "births": [1] * ROWS}))


def regressed(column):
    est = dpfda.FunctionOnScalarRegression(
        epsilon=1.0, delta=1e-6, bound=1.0, covariate_levels={"group": ("a", "b")}, force=True
    )
    return est.fit(column, CURVES, grid=np.linspace(0, 1, 4)).release_.certificate.n


@pytest.mark.parametrize("last", [0, 2**31 - 1])
@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.duration("s")], ids=str)
def test_levels_of_dates_are_refused_by_their_declared_type(kind, last):
    column = pa.array([0] * (ROWS - 1) + [last], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    with pytest.raises(DataError, match="holds"):
        regressed(pa.table({"group": column}))
    assert regressed(pa.table({"group": ["a", "b"] * (ROWS // 2)})) == ROWS


def test_levels_of_numpys_dates_are_refused_too():
    with pytest.raises(UsageError, match="of type datetime64"):
        regressed(pd.DataFrame({"group": pd.to_datetime(["2020-01-01"] * ROWS)}))


def test_a_row_without_an_end_is_cut():
    rows = [list(row) for row in CURVES]
    rows[3] = itertools.repeat(0.1)
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, force=True)
    assert est.fit(rows, grid=np.linspace(0, 1, 4)).release_.certificate.n == ROWS


# On the command line.

SPENT = ("--epsilon", 1, "--delta", 1e-6, "--force", "--overwrite", "--out", "out.json")
CURVED = ("--unit", "row", "--values", "t*", "--bound", 1, "--covariates", "age,sex=f|m", "--covariate-limits", "18:90")


def table(rows, sex="f"):
    lines = [f"{0.1},{0.2},40,{'fm'[place % 2]}" for place in range(rows - 1)] + [f"0.1,0.2,40,{sex}"] * (rows > 0)
    return "\n".join(["t1,t2,age,sex", *lines]) + "\n"


@pytest.mark.parametrize("sex", ["f", "x" * 3_000_000], ids=["ordinary", "long"])
def test_one_long_cell_does_not_swell_a_column_of_levels(run, tmp_path, sex):
    (tmp_path / "a.csv").write_text(table(20_000, sex))
    assert run("release", "regression", "a.csv", *CURVED, *SPENT).code == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_a_file_with_nobody_is_released_where_that_is_private(run, tmp_path, rows):
    (tmp_path / "a.csv").write_text(table(rows))
    private = ("--neighbours", "add-or-remove-one", "--planned-n", 100)
    assert run("release", "regression", "a.csv", *CURVED, *SPENT, *private).code == 0


@pytest.mark.parametrize("last", [b"m", b"\xff\xfe"], ids=["text", "no text"])
def test_a_label_that_is_no_text_is_no_label(run, tmp_path, last):
    held = pa.array([b"f", b"m"] * (ROWS // 2 - 1) + [b"f", last], pa.binary())
    labels = pa.Array.from_buffers(pa.string(), len(held), held.buffers())
    pq.write_table(pa.table({"x": POINTS[:, 0], "group": labels, "id": labels}), tmp_path / "a.parquet")
    asked = ("--points", "x", "--domain", "0,1", *SPENT)
    labelled = run(
        "release", "classifier", "a.parquet", "--label", "group", "--classes", "f,m", "--unit", "row", *asked
    )
    assert (labelled.code, labelled.err) == (0, "")
    assert run("release", "density", "a.parquet", "--unit", "id", *asked).code == 0
