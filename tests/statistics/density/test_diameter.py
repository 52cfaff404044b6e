"""How far apart rows of an integer table lie: never below the truth, and hardly above it."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.errors import UsageError
from dpfda.privacy.norms import L1, L2, BlockNorm, Nuclear, WeightedL1, WeightedL2
from dpfda.statistics.density.features import diameter, longest

NORMS = {
    "L2": L2(),
    "L1": L1(),
    "weighted L2": WeightedL2((1.0, 0.1, 3.0)),
    "weighted L1": WeightedL1((1.0, 0.1, 3.0)),
    "blocks": BlockNorm((1, 2), (2.0, 0.5)),
}
INTEGERS = st.integers(-(2**24), 2**24)
TABLES = st.lists(st.tuples(INTEGERS, INTEGERS, INTEGERS), min_size=2, max_size=8)


@pytest.mark.parametrize("name", NORMS)
@settings(max_examples=80, deadline=None)
@given(rows=TABLES)
def test_no_two_rows_nor_averages_of_rows_are_further_apart(name, rows):
    norm, table = NORMS[name], np.array(rows, dtype=np.int64)
    pairs = max(norm(a - b) for a in table for b in table)
    found = diameter(table, norm)
    assert found >= pairs
    assert found <= pairs + 1e-5 * norm(np.abs(table).max(axis=0)) * 2 + 1e-9
    half = len(rows) // 2
    assert norm(table[:half].mean(axis=0) - table[half:].mean(axis=0)) <= found if half else True


@settings(max_examples=80, deadline=None)
@given(rows=TABLES)
def test_the_euclidean_diameter_is_not_below_the_one_of_exact_integers(rows):
    exact = max(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a in rows for b in rows)
    assert Fraction(diameter(np.array(rows, dtype=np.int64), L2())) >= isqrt(exact)


@pytest.mark.parametrize("name", NORMS)
def test_rows_that_share_a_large_offset_are_compared_as_well_as_others(name):
    norm = NORMS[name]
    table = np.array([[2**24, 2**24, 2**24], [2**24 - 3, 2**24 - 2, 2**24]])
    assert diameter(table, norm) == pytest.approx(norm(table[0] - table[1]), rel=1e-5)


@pytest.mark.parametrize("name", NORMS)
def test_the_longest_row_is_found_and_many_chunks_change_nothing(name, monkeypatch):
    norm = NORMS[name]
    table = (np.arange(3000).reshape(1000, 3) * 7919 % 20011 - 10000).astype(np.int64)
    whole = longest(table, norm), diameter(table, norm)
    assert whole[0] == pytest.approx(max(norm(row) for row in table), rel=1e-4)
    monkeypatch.setattr("dpfda.statistics.density.features.CHUNK", 3000)
    assert (longest(table, norm), diameter(table, norm)) == pytest.approx(whole, rel=1e-12)


def test_a_norm_of_another_kind_is_refused():
    with pytest.raises(UsageError, match="cannot be released by a mechanism whose norm is Nuclear"):
        diameter(np.eye(3, dtype=np.int64), Nuclear())
