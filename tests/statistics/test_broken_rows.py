"""Rows that once moved other people: in files and lists, one person's oddity stays that person's own.

Each case is a pair of neighbouring data sets in which one row is odd in one of them. The exact sum, before any noise,
moves by no more than two radii.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dpfda
from dpfda.bases import as_domain, legendre
from dpfda.bases.lattice import RADIUS, Lattice
from dpfda.curator.summary import Public
from dpfda.privacy import ADD_REMOVE, REPLACE, Unit
from dpfda.records import as_curves, exact_sum, smallest_cap
from dpfda.records.identity import Identity
from dpfda.statistics.mean.summary import Mean

WIDTH = 4
BASIS = legendre((0, 1), 3)
GRID = as_domain((0, 1)).grid(WIDTH)


def total(curves, relation=REPLACE):
    unit = Unit("person", relation)
    public = Public(
        unit=unit,
        n=None,
        planned=1,
        grid=GRID,
        centre=np.zeros(WIDTH),
        cap=smallest_cap(1.0, WIDTH),
        lattice=Lattice(1.0),
        count_weight=RADIUS // 2,
    )
    encode = Mean().encode(public, BASIS)
    return exact_sum(
        curves, encode, public.lattice, units=curves.units, size=BASIS.size, batch_rows=None, workers=1, progress=False
    )


def moved(one, other, relation=REPLACE):
    return sum((int(a) - int(b)) ** 2 for a, b in zip(total(one, relation), total(other, relation), strict=True)) ** 0.5


def file(folder, name, first, last):
    """Two hundred pairs of people who pull in opposite directions: ids one row off would be seen."""
    rows = [f"A{i},1,1,1,1\nB{i},-1,-1,-1,-1\nB{i},-1,-1,-1,-1" for i in range(200)]
    path = folder / name
    path.write_bytes(b"ID,t1,t2,t3,t4\n" + first + "\n".join(rows).encode() + b"\n" + last + b"\n")
    return dpfda.read_curves(path, values="t*", unit="ID")


FIRST = {
    "an empty cell in quotes": b'""\n',
    "a byte order mark alone": b"\xef\xbb\xbf\n",
    "a byte order mark before an identifier": b"\xef\xbb\xbfZ,0,0,0,0\n",
    "an open quotation mark": b'"Z,0,0,0,0\n',
    "nothing odd": b"Z,0,0,0,0\n",
}
LAST = {
    "a word": b"Y,0,0,0,oops",
    "no text": b"\xff\xfe,0,0,0,0",
    "a short row": b"Y,0",
    "a long row": b"Y,0,0,0,0,0,0",
    "a quotation mark": b'Y,0,"0,0,0',
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("last", LAST)
def test_an_odd_row_of_a_file_moves_nobody_else(tmp_path, first, last):
    plain = file(tmp_path, "plain.csv", FIRST[first], b"Y,0,0,0,0")
    odd = file(tmp_path, "odd.csv", FIRST[first], LAST[last])
    assert moved(plain, odd) <= 2 * RADIUS
    assert sum(len(batch) for batch in odd.batches(10**6)) == odd.rows == len(odd.units.codes)


class Rude:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("secret 42")

    def __float__(self):
        raise RuntimeError("secret 42")


@pytest.mark.parametrize(
    "cell", ["oops", b"oops", 1j, None, Rude(), [1, 2], float("inf")], ids=lambda c: type(c).__name__
)
def test_an_odd_cell_of_a_list_moves_nobody_else(cell):
    people = [[True] * WIDTH for _ in range(100)] + [[np.float32(0.1)] * WIDTH]
    plain = as_curves([*people, [0.5] * WIDTH], grid=GRID[:, 0], units=None)
    odd = as_curves([*people, [cell] * WIDTH], grid=GRID[:, 0], units=None)
    assert moved(plain, odd) <= 2 * RADIUS


@pytest.mark.parametrize(
    "ids", [[None, None], [float("nan"), float("inf")], ["", None], ["NA", "NA"], [b"", b""], [" ", "<NA>"]], ids=str
)
def test_taking_away_one_of_two_people_without_identifier_moves_nothing(ids):
    two = as_curves(np.array([[1.0] * WIDTH, [-16.0] * WIDTH, [0.0] * WIDTH]), grid=None, units=[*ids, "a"])
    one = as_curves(np.array([[1.0] * WIDTH, [0.0] * WIDTH]), grid=None, units=[ids[0], "a"])
    assert moved(two, one, ADD_REMOVE) == 0
    unit = Unit("person", ADD_REMOVE)
    assert two.size_under(unit) == one.size_under(unit) == 1


@pytest.mark.parametrize("word", ["", "NA", " ", "<NA>"])
@pytest.mark.parametrize("kind", ["polars", "string", "large_string", "string_view", "binary", "dictionary", "csv"])
def test_no_kind_of_table_makes_one_person_of_all_who_have_no_identifier(tmp_path, kind, word):
    ids, values = [word, word, "a"], [1.0, -16.0, 0.0]
    if kind == "csv":
        (tmp_path / "c.csv").write_text("who,t1\n" + "\n".join(f"{i},{v}" for i, v in zip(ids, values, strict=True)))
        curves = dpfda.read_curves(tmp_path / "c.csv", values="t*", unit="who")
    elif kind == "polars":
        curves = as_curves(pl.DataFrame({"who": ids, "t1": values}), grid=None, units="who")
    else:
        column = pa.array(ids).dictionary_encode() if kind == "dictionary" else pa.array(ids).cast(kind)
        curves = as_curves(pa.table({"who": column, "t1": values}), grid=None, units="who")
    assert curves.units.size == 1
    assert curves.units.codes.tolist() == [-1, -1, 0]


def test_a_person_with_rows_that_do_not_say_whose_they_are_moves_one_unit_only():
    one = as_curves(np.array([[1.0] * WIDTH, [1.0] * WIDTH, [0.0] * WIDTH]), grid=None, units=["A", None, "B"])
    other = as_curves(np.array([[-1.0] * WIDTH, [-1.0] * WIDTH, [0.0] * WIDTH]), grid=None, units=["A", None, "B"])
    assert moved(one, other) <= 2 * RADIUS
    assert one.size_under(Unit("person", REPLACE)) == 3


def test_masked_identifiers_are_missing_ones_and_masked_values_are_gaps():
    ids = np.ma.array([0, 0, 5], mask=[1, 1, 0])
    curves = as_curves(np.ma.array(np.ones((3, 2)), mask=np.eye(3, 2)), grid=None, units=ids)
    assert curves.units.codes.tolist() == [-1, -1, 0]
    assert np.isnan(next(curves.batches(5))).tolist() == np.eye(3, 2, dtype=bool).tolist()


def test_any_sequence_of_rows_is_read_row_by_row():
    for cell in (1, "x", 1j, None):
        rows = deque([[True, 2.5], [cell, 2]])
        assert next(as_curves(rows, grid=[0, 1], units=deque([(1, 2), (3,)])).batches(5))[0].tolist() == [1.0, 2.5]


def test_rows_and_units_out_of_step_are_never_summed():
    class Short:
        width = WIDTH

        def rows(self):
            return 5

        def identity(self):
            return Identity.of(np.arange(5))

        def batches(self, rows):
            yield np.zeros((3, WIDTH))

    with pytest.raises(RuntimeError, match="the rows and their units are out of step"):
        total(dpfda.Curves(Short(), None, "person"))
