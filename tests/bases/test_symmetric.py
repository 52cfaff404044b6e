"""Symmetric matrices as vectors: every entry once, in a fixed order, there and back."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

from dpfda.bases.symmetric import multiplicities, pack, packed_size, places, side_of, unpack
from dpfda.errors import UsageError

SIDES = [1, 2, 3, 4, 7, 20]
every = pytest.mark.parametrize("side", SIDES)


def symmetric(side: int, *leading: int) -> np.ndarray:
    matrix = np.random.default_rng(side).integers(-(2**62), 2**62, (*leading, side, side))
    return np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), -1, -2)


@every
def test_every_entry_stands_in_exactly_one_place(side: int) -> None:
    first, second = places(side)
    assert len(first) == len(second) == packed_size(side) == side * (side + 1) // 2
    assert {(i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)} == {
        (i, j) for i in range(side) for j in range(i, side)
    }


@every
def test_the_diagonal_comes_first_and_then_pairs_by_their_product(side: int) -> None:
    first, second = places(side)
    assert first[:side].tolist() == second[:side].tolist() == list(range(side))
    products = (first[side:] + 1) * (second[side:] + 1)
    assert np.all(np.diff(products) >= 0)
    # Ties are broken by the row, so that the order is the same everywhere.
    same = np.diff(products) == 0
    assert np.all(np.diff(first[side:])[same] > 0)


def test_the_order_of_small_matrices_is_fixed() -> None:
    """Releases are stored in it: (1,4) and (2,2) would have the same product, but pairs have different indices."""
    assert list(zip(*(x.tolist() for x in places(3)), strict=True)) == [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    assert list(zip(*(x.tolist() for x in places(6)), strict=True))[6:] == [
        (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5), (3, 4), (3, 5),
        (4, 5),
    ]  # fmt: skip


@every
def test_packing_and_unpacking_undo_each_other_in_integers_and_in_stacks(side: int) -> None:
    for leading in ((), (3,), (2, 5)):
        matrix = symmetric(side, *leading)
        vector = pack(matrix)
        assert vector.shape == (*leading, packed_size(side))
        assert vector.dtype == np.int64
        back = unpack(vector)
        assert back.dtype == np.int64
        assert np.array_equal(back, matrix)
        assert not np.shares_memory(vector, matrix)


@every
def test_multiplicities_count_the_entries_of_the_whole_matrix(side: int) -> None:
    times = multiplicities(side)
    assert times.dtype == np.int64
    assert times.sum() == side**2
    assert times[:side].tolist() == [1] * side
    matrix = np.random.default_rng(3).standard_normal((side, side))
    matrix += matrix.T
    other = np.diag(np.arange(1.0, side + 1)) + 0.5
    assert np.sum(times * pack(matrix) * pack(other)) == pytest.approx(np.trace(matrix @ other), rel=1e-12)


@every
def test_the_side_is_known_from_the_size(side: int) -> None:
    assert side_of(packed_size(side)) == side


def test_only_triangular_numbers_are_sizes() -> None:
    triangular = {packed_size(side) for side in range(1, 60)}
    for size in range(-3, 1500):
        if size in triangular:
            assert packed_size(side_of(size)) == size
        else:
            with refused(UsageError, "size", size):
                side_of(size)


def test_a_vector_of_another_size_is_no_matrix() -> None:
    with refused(UsageError, "size", 5):
        unpack(np.zeros(5))


def test_the_places_are_shared_and_cannot_be_written_to() -> None:
    assert places(4)[0] is places(4)[0]
    for array in places(4):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
