"""One identity for a unit: whatever the container, the spelling and the order, the same people and the same sums."""

from __future__ import annotations

import csv
import datetime
import decimal
import unicodedata
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import dpfda
from dpfda.bases import Domain
from dpfda.bases.cells import fine_cells
from dpfda.bases.lattice import Lattice
from dpfda.privacy import Counting
from dpfda.records import Encoder, as_curves, exact_sum, from_frame, read_curves, smallest_cap
from dpfda.records.identity import Identity
from dpfda.records.joined import curves_in_order
from dpfda.records.labelled import labelled
from dpfda.records.points import cell_masses
from dpfda.records.reading import Reading
from dpfda.records.spellings import canonical

GRID = np.linspace(0, 1, 4)
LATTICE = Lattice(1.0)
ENCODER = Encoder.build(
    dpfda.bases.legendre((0, 1), 3).projection(GRID), GRID, np.zeros(4), smallest_cap(1.0, 4), LATTICE
)


@pytest.mark.parametrize(
    "spellings",
    [
        ["P1", "P1 ", " P1", "\tP1\n", "p1", "\ufeffP1", "P\u200b1", "Ｐ１", b"P1", np.str_("P1")],
        ["Zoë", "Zoe\u0308", "ZOË ", "zoë"],
        ["1", "1.0", "01", "+1", "1.", "1e0", 1, 1.0, np.int8(1), np.float16(1), decimal.Decimal("1.00"), 1 + 0j, "١"],
        ["-5", -5, "-05", "\u22125", -5.0],
        ["0.1", 0.1, np.float32(0.1), "00.10", ".1", "1e-1", decimal.Decimal("0.1")],
        [2**60, "1152921504606846976", float(2**60), "1.152921504606847e18"],
        ["550e8400-e29b-41d4-a716-446655440000", "{550E8400-E29B-41D4-A716-446655440000}",
         "550e8400e29b41d4a716446655440000", uuid.UUID("550e8400-e29b-41d4-a716-446655440000"),
         "urn:uuid:550e8400-e29b-41d4-a716-446655440000"],
        ["2020-03-01", datetime.date(2020, 3, 1), datetime.datetime(2020, 3, 1), np.datetime64("2020-03"),
         np.datetime64("2020-03-01T00:00", "ns"), pd.Timestamp("2020-03-01"), "2020-03-01 00:00:00",
         "2020-03-01T00:00:00Z", "2020-03-01T02:00+02:00"],
        [np.timedelta64(90, "s"), datetime.timedelta(seconds=90), pd.Timedelta("90s")],
        [True, "TRUE", np.True_],
    ],
    ids=lambda spellings: str(spellings[0]),
)  # fmt: skip
def test_all_spellings_of_an_identifier_are_one(spellings):
    assert len({canonical(spelling) for spelling in spellings}) == 1
    assert canonical(spellings[0]) is not None
    assert Identity.of(spellings).codes.tolist() == [0] * len(spellings)


@pytest.mark.parametrize(
    "different",
    [
        ["P1", "P2", "P 1", "P-1", "P10"],
        [1, -1, 10, 1.5, "1a", "a1", "1 2", "12", "1-2"],
        [2**60, 2**60 + 1, 2**70, 2**70 + 1],
        ["2020-03-01", "2020-03-02", "2020-03-01 00:00:01", "2020-03"],
        [str(uuid.UUID(int=2**120 + i)) for i in range(3)],
        [b"\xff", b"\xfe", b"\xff\xff"],
    ],
    ids=lambda different: str(different[0]),
)
def test_different_identifiers_stay_different(different):
    assert Identity.of(different).codes.tolist() == list(range(len(different)))


@pytest.mark.parametrize(
    "nobody",
    [
        *(
            None,
            "",
            "  ",
            "NA",
            "nan",
            "N/A",
            "#N/A",
            "NULL",
            "None",
            ".",
            float("nan"),
            np.inf,
            -np.inf,
            pd.NA,
            pd.NaT,
        ),
        *(
            np.datetime64("NaT", "s"),
            np.timedelta64("NaT", "s"),
            decimal.Decimal("nan"),
            b"",
            b"NA",
            "\u200b",
            object(),
        ),
    ],
    ids=lambda nobody: f"{type(nobody).__name__} {str(nobody)[:4]}",
)
def test_what_says_nobody_is_nobody_in_every_container(nobody):
    assert Identity.of([nobody, "a"]).codes.tolist() == [-1, 0]
    assert Identity.of(np.array([nobody, "a"], dtype=object)).codes.tolist() == [-1, 0]
    assert Identity.of(pd.Series([nobody, "a"], dtype=object)).codes.tolist() == [-1, 0]


# Spellings of one identifier that hold in a file of text.
def spellings_of(name: str) -> list[str]:
    spelt = [name, f" {name}", f"{name}\t", unicodedata.normalize("NFD", name), unicodedata.normalize("NFC", name)]
    if name.isascii() and name.isdigit():
        spelt += [f"0{name}", f"+{name}", f"{name}.0", f"{name}."]
    return spelt


NAMES = st.one_of(
    st.integers(0, 10**6).map(str),
    st.sampled_from(
        ["Zoë", "P1", "p-2", "Ångström", "550e8400-e29b-41d4-a716-446655440000", "2020-03-01", "ﬁsh", "x y"]
    ),
    st.uuids().map(str),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters='",;'), min_size=1),
)


@st.composite
def rows_of_people(draw):
    """Rows of several people, each under a random spelling of a random identifier."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5))
    rows = draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=12))
    return [draw(st.sampled_from(spellings_of(names[row]))) for row in rows]


CONTAINERS = {
    "list": lambda table, ids: as_curves(table.tolist(), grid=GRID, units=list(ids)),
    "array": lambda table, ids: as_curves(table, grid=GRID, units=np.array(ids, dtype=object)),
    "text array": lambda table, ids: as_curves(table, grid=GRID, units=np.array([f"{one} " for one in ids])),
    "bytes": lambda table, ids: as_curves(table, grid=GRID, units=[one.encode() for one in ids]),
    "masked": lambda table, ids: as_curves(table, grid=GRID, units=np.ma.array(np.array(ids, dtype=object))),
    "pandas": lambda table, ids: as_curves(pandas_frame(table, ids), grid=GRID, units="id"),
    "pandas string": lambda table, ids: as_curves(pandas_frame(table, ids, "string"), grid=GRID, units="id"),
    "pandas arrow": lambda table, ids: as_curves(pandas_frame(table, ids, "string[pyarrow]"), grid=GRID, units="id"),
    "pandas category": lambda table, ids: as_curves(pandas_frame(table, ids, "category"), grid=GRID, units="id"),
    "polars": lambda table, ids: as_curves(pl.DataFrame(columns(table, ids)), grid=GRID, units="id"),
    "polars category": lambda table, ids: as_curves(
        pl.DataFrame(columns(table, ids)).with_columns(pl.col("id").cast(pl.Categorical)), grid=GRID, units="id"
    ),
    "arrow": lambda table, ids: as_curves(pa.table(columns(table, ids)), grid=GRID, units="id"),
    "arrow dictionary": lambda table, ids: as_curves(
        pa.table({**columns(table, ids), "id": chunks_of_dictionaries(ids)}), grid=GRID, units="id"
    ),
    "beside covariates": lambda table, ids: curves_in_order(table, grid=GRID, units=list(ids)),
    "beside labels": lambda table, ids: labelled(table, np.zeros(len(ids)), 4, units=list(ids)),
}


def columns(table, ids):
    return {**{f"t{place}": table[:, place] for place in range(table.shape[1])}, "id": list(ids)}


def pandas_frame(table, ids, dtype=object):
    return pd.DataFrame({**columns(table, ids), "id": pd.Series(list(ids), dtype=dtype)})


def chunks_of_dictionaries(ids):
    half = len(ids) // 2
    parts = [part for part in (ids[:half], ids[half:]) if len(part)]
    return pa.chunked_array([pa.array(part, pa.string()).dictionary_encode() for part in parts])


def encode(values):
    """The curve of a record, whatever stands in front of it."""
    return ENCODER.encode(values[:, -4:])


def total(curves):
    return exact_sum(
        curves, encode, LATTICE, units=curves.units, size=3, batch_rows=3, workers=1, progress=False
    ).tolist()


@settings(max_examples=60, deadline=None)
@given(ids=rows_of_people(), seed=st.integers(0, 2**32 - 1))
def test_every_container_spelling_and_order_gives_the_same_people_and_the_same_sum(ids, seed, tmp_path_factory):
    """Up to the identifiers that say nobody, which no container may take for somebody."""
    random = np.random.default_rng(seed)
    table = random.normal(0, 0.3, (len(ids), 4))
    people = {key for key in map(canonical, ids) if key is not None}
    expected = total(CONTAINERS["list"](table, ids))
    order = random.permutation(len(ids))
    for name, make in CONTAINERS.items():
        for rows in (np.arange(len(ids)), order):
            curves = make(table[rows], [ids[row] for row in rows])
            assert curves.units.size == len(people), name
            assert curves.units.count == len(people) + 1, name
            assert total(curves) == expected, name
    # Through files: CSV, which has no types, and Parquet.
    folder = tmp_path_factory.mktemp("people")
    plain = [one for one in ids if not set(one) & set("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")]
    if len(plain) == len(ids):
        with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["id", "t0", "t1", "t2", "t3"])
            writer.writerows([one, *map(repr, map(float, row))] for one, row in zip(ids, table, strict=True))
        curves = read_curves(folder / "people.csv", values="t*", unit="id", grid=GRID)
        assert curves.units.size == len(people)
        assert total(curves) == expected
    pq.write_table(pa.table(columns(table, ids)), folder / "people.parquet")
    curves = read_curves(folder / "people.parquet", values="t*", unit="id", grid=GRID)
    assert curves.units.size == len(people)
    assert total(curves) == expected


def test_a_file_has_the_same_people_read_directly_and_through_pandas(tmp_path):
    """Five spellings of one number were five people read directly, and one read through pandas."""
    file = tmp_path / "people.csv"
    file.write_text("id,t1,t2\n1,0,0\n1.0,0,0\n01,0,0\n+1,0,0\n 1,0,0\n")
    direct = read_curves(file, values="t*", unit="id")
    through = from_frame(pd.read_csv(file), values="t*", unit="id")
    assert direct.units.size == through.units.size == 1


@pytest.mark.parametrize("container", [list, np.array, pd.Series, pl.Series, pa.array], ids=lambda make: make.__name__)
def test_signed_identifiers_are_a_thousand_people_everywhere(container):
    """Negative ones were taken for nobody by regressions and classifiers: n was 528 there, and 1000 for a mean."""
    ids = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 1000)
    units = container(ids.tolist())
    points = np.random.default_rng(2).uniform(-1, 1, (1000, 2))
    curves, labels = np.zeros((1000, 4)), points[:, 0] > 0
    settings = {"epsilon": 50.0, "delta": 1e-6}
    square = [(-1, 1), (-1, 1)]
    mean = dpfda.MeanFunction(**settings, bound=1.0).fit(curves, grid=GRID, units=units)
    regression = dpfda.FunctionOnScalarRegression(**settings, bound=1.0, covariate_limits=[(-1, 1)])
    regression.fit(points[:, 0], curves, grid=GRID, units=units)
    classifier = dpfda.KernelClassifier(**settings, domain=square, classes=(False, True)).fit(
        points, labels, units=units
    )
    regressor = dpfda.KernelRegressor(**settings, domain=square, response_bound=1.0).fit(
        points, points[:, 0], units=units
    )
    density = dpfda.DensityFunction(**settings, domain=square).fit(points, units=units)
    assert {
        round(est.release_.certificate.n) for est in (mean, regression, classifier, regressor, density)
    } == {1001}  # fmt: skip


def test_a_replaced_identifier_changes_n_nowhere():
    """527 after one person was replaced by another."""
    ids = np.arange(-50, 50)
    other = np.where(ids == -7, 10**6, ids)
    assert Identity.of(ids).count == Identity.of(other).count == 101


def test_eight_spellings_of_one_person_move_a_release_no_more_than_one_row():
    """Eight rows that differed in spaces moved the sum eight times as far as was stated."""
    spellings = ["P1" + " " * blanks for blanks in range(8)]
    others = [f"Q{row}" for row in range(20)]
    table = np.concatenate([np.ones((8, 4)), np.zeros((20, 4))])
    moved = np.array(total(as_curves(table, grid=GRID, units=spellings + others)))
    nothing = np.array(total(as_curves(np.zeros((28, 4)), grid=GRID, units=spellings + others)))
    assert np.linalg.norm(moved - nothing) <= LATTICE.clip(np.array([[1e9], [0.0], [0.0]])).max()


def test_rows_without_an_identifier_change_n_neither_by_coming_nor_by_going():
    """A second row without one changed n."""
    for rows in (["a", "b"], ["a", "b", None], ["a", "b", None, None, "NA"]):
        curves = as_curves(np.zeros((len(rows), 4)), grid=GRID, units=rows)
        assert curves.size_under(dpfda.Unit("id", "replace-one")) == 3
        assert curves.size_under(dpfda.Unit("id", "add-or-remove-one")) == 2


def test_a_stated_n_is_never_compared_with_the_data():
    for rows in (10, 300):
        est = dpfda.MeanFunction(epsilon=50.0, delta=1e-6, bound=1.0, n=200)
        card = est.fit(np.zeros((rows, 4)), grid=GRID, units=np.arange(rows)).release_.certificate
        assert (card.n, card.counting) == (200, "stated")
        assert "stated and not compared with the data" in " ".join(card.text().split())
    density = dpfda.DensityFunction(epsilon=50.0, delta=0.0, domain=(0, 1), n=200).fit(np.full(10, 0.5))
    assert density.release_.certificate.n == 200


@pytest.mark.parametrize("n", [0, -1, 1.5, "many", True, 2**39])
def test_a_stated_n_is_a_whole_number(n):
    with refused(dpfda.errors.UsageError, "n", n):
        dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, n=n).fit(np.zeros((5, 4)), grid=GRID)


def test_a_stated_n_is_refused_where_the_number_is_private_or_bounds_the_weights():
    with refused(dpfda.errors.UsageError, "n"):
        dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, n=9, neighbours="add-or-remove-one", planned_n=9).fit(
            np.zeros((5, 4)), grid=GRID
        )
    with pytest.raises(dpfda.errors.UsageError, match="leave n out"):
        dpfda.DensityFunction(epsilon=1.0, delta=1e-6, domain=(0, 1), mechanism="gp", n=9).fit(np.zeros(5))
    with pytest.raises(dpfda.errors.UsageError, match="leave n out"):
        dpfda.KernelRegressor(epsilon=1.0, delta=1e-6, mechanism="gp", response_bound=1.0, n=9).fit(
            np.zeros((5, 1)), np.zeros(5)
        )


@pytest.mark.parametrize(
    ("units", "parameters", "counting", "said"),
    [
        ([1, 1, 2, 3], {}, Counting.IDENTIFIERS, "the same identifiers that differ in the rows of one"),
        (None, {}, Counting.ROWS, "two tables with the same number of rows that differ in one row"),
        ([1, 1, 2, 3], {"n": 3}, Counting.STATED, "in the place of one"),
        ([1, 1, 2, 3], {"neighbours": "add-or-remove-one", "planned_n": 3}, Counting.PRIVATE, "all rows of one"),
    ],
    ids=["identifiers", "rows", "stated", "private"],
)  # fmt: skip
def test_the_card_says_what_neighbours_are_and_how_identifiers_were_compared(units, parameters, counting, said):
    est = dpfda.MeanFunction(epsilon=50.0, delta=1e-6, bound=1.0, **parameters)
    card = est.fit(np.zeros((4, 4)), grid=GRID, units=units).release_.certificate
    text = " ".join(card.text().split())
    assert card.counting == counting
    assert said in text
    assert ("compared trimmed, in one Unicode form" in text) == (units is not None)


def test_the_mass_of_a_person_with_several_points_does_not_depend_on_the_order_of_rows():
    """The remainder went to the cell of the first row."""
    cells, random = fine_cells(Domain(((0.0, 1.0),))), np.random.default_rng(3)
    points, ids = random.uniform(0, 1, (60, 1)), random.integers(0, 9, 60)

    def masses(rows):
        curves = labelled_points(points[rows], ids[rows])
        return cell_masses(curves, cells, counted=False, all_counted=True, reading=Reading()).tolist()

    expected = masses(np.arange(60))
    for _ in range(20):
        assert masses(random.permutation(60)) == expected


def labelled_points(points, ids):
    from dpfda.records.labelled import as_points

    return as_points(points, 1, units=ids)
