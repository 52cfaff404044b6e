"""Names of columns: what they contradict is refused before anything is read, with the way out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import dpfda
from dpfda.errors import DataError, UsageError
from dpfda.records import as_curves, from_frame, read_curves
from dpfda.records.columns import alike, check_count, check_even, choose_columns, header_grid, is_even, places
from dpfda.records.labelled import as_points

UNEVEN = r"^The numbers in the names of the value columns do not increase by equal steps, .*grid='header'.*grid='even'"
DAY = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 30)]


def table(folder: Path, names: list[str]) -> Path:
    (folder / "a.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    return folder / "a.csv"


# Patterns.


@pytest.mark.parametrize(
    ("names", "pattern", "others", "tighter"),
    [
        (["ID", "t1", "t2", "tariff"], "t*", "tariff", "t[0-9]*"),
        (["ID", "t1", "t2", "t3", "total", "temperature"], "t*", "total, temperature", "t[0-9]*"),
        (["ID", "t1", "t2", "t3", "temp1", "temp2"], "t*", "temp1, temp2", "t[0-9]*"),
        (["h1_left", "h2_left", "h3_left", "h1_right"], "h*", "h1_right", "h[0-9]*_left"),
    ],
)
def test_a_pattern_that_takes_other_columns_along_is_refused_with_a_tighter_one(
    names: list[str], pattern: str, others: str, tighter: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        read_curves(table(tmp_path, names), values=pattern)
    assert f"beside the others stand: {others}. Take {tighter!r}, or list the names" in str(caught.value)
    assert alike(choose_columns(names, tighter, None))


def test_columns_may_be_listed_in_the_order_of_the_curve() -> None:
    names = ["ID", "wed", "mon", "tue", "sex"]
    assert choose_columns(names, "mon,tue,wed", "ID") == ["mon", "tue", "wed"]
    assert choose_columns(names, ["mon", "tue"], "ID") == ["mon", "tue"]
    assert choose_columns(names, "*", "ID") == ["wed", "mon", "tue", "sex"]
    assert choose_columns(["t1", "t2", "u1", "v"], "t*,u1", None) == ["t1", "t2", "u1"]
    assert choose_columns(["a,b", "c"], "a,b", None) == ["a,b"]
    with pytest.raises(DataError, match="No column matches the pattern 'sun'"):
        choose_columns(names, "mon,sun", "ID")
    for wrong in ([], [1], 5):
        with refused(UsageError, "values", wrong):
            choose_columns(names, wrong, "ID")  # type: ignore[arg-type]


@given(st.integers(2, 40), st.sampled_from(["t", "age_", "x.", "kWh "]), st.text("abcxyz", min_size=1, max_size=6))
def test_no_pattern_takes_a_column_without_a_number_among_numbered_ones(size: int, stem: str, word: str) -> None:
    names = [f"{stem}{place}" for place in range(size)]
    assert choose_columns(names, None, None) == names
    with pytest.raises(DataError, match="not alike"):
        choose_columns([*names, stem + word], stem + "*", None)


# Places.


@pytest.mark.parametrize(
    "names",
    [
        ["age_1", "age_1.25", "age_1.5", "age_2", "age_3"],
        ["t1", "t2", "t4"],
        ["t3", "t2", "t1"],
        ["t1", "t3", "t2"],
        ["t0", "t1", "t2", "t10"],
        ["00:00", "00:30", "01:30"],
        ["t22:00", "t23:00", "t00:00"],
        ["t2024-01-01", "t2024-01-02", "t2024-01-05"],
        ["x1_y1", "x1_y2", "x2_y1", "x2_y2"],
        ["t1e999", "t2e999", "t3e999"],
    ],
    ids=lambda names: names[-1],
)
def test_a_header_that_is_not_even_is_no_even_grid_unless_that_is_said(names: list[str], tmp_path: Path) -> None:
    file, frame = table(tmp_path, names), pd.DataFrame([[1.0] * len(names)], columns=names)
    for read in (
        lambda: read_curves(file),
        lambda: from_frame(frame),
        lambda: from_frame(pa.Table.from_pandas(frame)),
        lambda: dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0).fit(frame),
    ):
        with pytest.raises(DataError, match=UNEVEN):
            read()
    assert read_curves(file, grid="even").grid is None
    assert as_curves(frame, grid="even", units=None).grid is None
    assert as_curves(np.zeros((2, len(names))), grid="even", units=None).grid is None


@pytest.mark.parametrize(
    "names",
    [
        [f"t{place:03}" for place in range(1, 94)],
        [str(place) for place in range(48)],
        DAY,
        [f"h{time}" for time in DAY],
        [f"t{place / 3:.3f}" for place in range(7)],
        [f"kWh_{hour}_net" for hour in range(24)],
        [f"day-{day}" for day in range(1, 8)],
        [f"t2024-01-{day:02}" for day in range(1, 32)],
        ["mon", "tue", "wed"],
        ["t5"],
    ],
    ids=lambda names: names[-1],
)
def test_an_even_header_is_an_even_grid(names: list[str], tmp_path: Path) -> None:
    check_even(names)
    assert read_curves(table(tmp_path, names), values="*").grid is None


@given(st.integers(3, 30), st.floats(0.01, 100), st.floats(-50, 50), st.data())
def test_places_are_even_but_for_rounding(size: int, step: float, first: float, data: st.DataObject) -> None:
    even = [first + step * place for place in range(size)]
    assert is_even(even)
    moved = data.draw(st.integers(1, size - 2))
    assert not is_even([place + step / 10 * (index == moved) for index, place in enumerate(even)])


def test_a_header_of_times_is_a_grid_in_hours() -> None:
    assert header_grid(["00:00", "00:30", "13:45"]).tolist() == [0, 0.5, 13.75]
    assert header_grid(["kWh_01_net", "kWh_05_net"]).tolist() == [1, 5]
    assert places(["x1_y1", "x2_y2"]) is None
    with pytest.raises(DataError, match="More than one number differs between the names"):
        header_grid(["x1_y1", "x2_y2"])


def test_the_growth_curves_must_say_where_they_were_measured() -> None:
    ages = [1, 1.25, 1.5, 1.75, 2, 3, 4, 5, 6, 7, 8, 8.5, 9]
    frame = pd.DataFrame(np.ones((3, len(ages))), columns=[f"age_{age:g}" for age in ages]).assign(id=[1, 2, 3])
    with pytest.raises(DataError, match=UNEVEN):
        from_frame(frame, values="age_*", unit="id")
    assert from_frame(frame, values="age_*", unit="id", grid="header").grid.tolist() == ages  # type: ignore[union-attr]


# One point, transposed tables, an index.


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_long_table_is_not_taken_for_curves_of_one_point(kind: type, tmp_path: Path) -> None:
    columns = {"id": [1, 1, 2, 2], "t": [0, 1, 0, 1], "kWh": [0.1, 0.2, 0.3, 0.4]}
    curves = from_frame(kind(columns), values="kWh", unit="id")
    spent = {"epsilon": 100.0, "bound": 1.0}
    for est in (
        dpfda.MeanFunction(**spent, delta=1e-6),
        dpfda.CovarianceFunction(**spent, delta=1e-6),
        dpfda.FPCA(1, **spent, delta=1e-6),
    ):
        with pytest.raises(
            UsageError, match=r"^1 feature\(s\): these curves have one value each, as the readings of a"
        ):
            est.fit(curves)
    with pytest.raises(UsageError, match="one value each"):
        dpfda.private_bound(curves, epsilon=1.0, quantile=0.9, candidates=(0.1, 10.0))
    with pytest.raises(UsageError, match="one value each"):
        dpfda.FunctionOnScalarRegression(**spent, delta=1e-6, covariate_limits=[(0, 1)]).fit(
            np.zeros((4, 1)), np.zeros((4, 1))
        )
    stated = from_frame(kind(columns), values="kWh", unit="id", grid=[0.5])
    assert dpfda.MeanFunction(**spent, delta=1e-6).fit(stated).release_.certificate.n == 3


@pytest.mark.parametrize("stem", ["subject_", "person", "girl", "patient ", "ID_"])
def test_columns_that_are_named_after_persons_are_refused(stem: str) -> None:
    names = [f"{stem}{place}" for place in range(1, 5)]
    with pytest.raises(DataError, match=r"are named after persons\. .* transpose it"):
        from_frame(pd.DataFrame(np.ones((3, 4)), columns=names))


def test_an_index_that_may_hold_the_person_is_not_passed_over() -> None:
    frame = pd.DataFrame(np.ones((4, 3)), columns=["t1", "t2", "t3"], index=pd.Index([1, 1, 2, 2], name="ID"))
    est = dpfda.MeanFunction(epsilon=100.0, delta=1e-6, bound=1.0)
    with refused(UsageError, "units"):
        est.fit(frame)
    assert est.fit(frame, units="ID").release_.certificate.n == 3
    assert est.fit(frame, units=[1, 2, 3, 4]).release_.certificate.n == 5  # and rows without an identifier
    assert est.fit(frame.reset_index(drop=True)).release_.certificate.n == 4
    with refused(UsageError, "units"):
        as_points(frame, 3)
    assert as_points(frame, 3, units="ID").units.size == 2  # type: ignore[union-attr]
    machine = dpfda.KernelRegressor(epsilon=100.0, delta=1e-6, response_bound=1.0, features=5)
    with refused(UsageError, "units"):
        machine.fit(frame, np.zeros(4))
    assert machine.fit(frame, np.zeros(4), units="ID").release_.certificate.n == 3


def test_names_of_several_levels_are_refused() -> None:
    frame = pd.DataFrame(np.ones((2, 2)), columns=pd.MultiIndex.from_tuples([("t", 1), ("t", 2)]))
    with pytest.raises(DataError, match="names of several levels"):
        from_frame(frame, values="*")


def test_functions_of_scikit_fda_without_a_grid_are_refused() -> None:
    class FDataBasis:
        domain_range = ((0.0, 1.0),)

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter([self])

    with refused(UsageError, "X"):
        as_curves(FDataBasis(), grid=[0, 1], units=None)


# Rows of different kinds.


@pytest.mark.parametrize("name", ["joint", "Side", "channel_id", "variable", "eye", "sensor name"])
def test_rows_of_different_kinds_are_averaged_only_if_that_is_stated(name: str, tmp_path: Path) -> None:
    file = table(tmp_path, ["ID", name, "t1", "t2"])
    for unit in ("ID", None):
        with pytest.raises(DataError, match=r"says which kind of row it is, .* say rows='average' if that is meant"):
            read_curves(file, values="t*", unit=unit)
    curves = read_curves(file, values="t*", unit="ID", rows="average")
    assert curves.notes == (("not used", f"columns {name}; rows of one ID are averaged whatever these say"),)
    with refused(UsageError, "rows", "first"):
        read_curves(file, values="t*", unit="ID", rows="first")


def test_the_card_names_the_columns_that_were_not_used() -> None:
    frame = pd.DataFrame({"ID": [1, 1, 2], "visit": [1, 2, 1], "sex": 0, "t1": 0.1, "t2": 0.2})
    est = dpfda.MeanFunction(epsilon=100.0, delta=1e-6, bound=1.0)
    release = est.fit(from_frame(frame, values="t*", unit="ID")).release_
    assert "not used: columns visit, sex; rows of one ID are averaged whatever these say" in release.certificate.text()
    assert "not used" not in est.fit(frame[["t1", "t2"]]).release_.certificate.text()


def test_what_the_card_adds_is_no_part_of_what_a_key_asks_for() -> None:
    """Else a charge of an earlier version could not be taken up again under its key."""
    frame = pd.DataFrame({"ID": [1, 1, 2], "visit": [1, 2, 1], "t1": 0.1, "t2": 0.2})
    asked = []
    for given_ in (frame, frame.drop(columns="visit")):
        ledger = dpfda.SessionLedger()
        dpfda.MeanFunction(epsilon=100.0, delta=1e-6, bound=1.0, ledger=ledger).fit(
            from_frame(given_, values="t*", unit="ID")
        )
        asked.append(ledger.entries[0].request)
    assert asked[0] == asked[1]


@pytest.mark.parametrize("name", ["deaths_thousand", "pop (1000s)", "deaths_thousands", "in millions", "deaths '000"])
def test_thousands_are_not_taken_for_people(name: str) -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0], name: [3.5, 4.0]})
    for kind in (frame, pa.Table.from_pandas(frame)):
        with pytest.raises(DataError, match=r"counts thousands or millions, and counts are people\. Multiply it first"):
            as_points(kind, 1, counts=name)


@pytest.mark.parametrize("name", ["deaths", "n", "count_2000", "people_2010", "births"])
def test_other_counts_are_counts(name: str) -> None:
    check_count(name)


@pytest.mark.parametrize("values", [np.array(0.5), np.array("t*"), 0.5, [], [1]], ids=repr)
def test_values_that_are_no_names_are_refused(values):
    with refused(UsageError, "values", values):
        choose_columns(["id", "t1", "t2"], values, "id")
