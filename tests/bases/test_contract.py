"""What every basis must satisfy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from basis_members import MEMBERS, UNTRIED, dense, inside
from refusals import refused

from dpfda.bases import Basis, base, beam, bernstein, cosine, from_dict, legendre, tensor
from dpfda.errors import UsageError

ORTHONORMAL = {name: basis for name, basis in MEMBERS.items() if basis.orthonormal}
every = pytest.mark.parametrize("basis", MEMBERS.values(), ids=MEMBERS.keys())
every_orthonormal = pytest.mark.parametrize("basis", ORTHONORMAL.values(), ids=ORTHONORMAL.keys())


def test_every_registered_family_takes_part() -> None:
    assert set() == UNTRIED, "give it a least_size when registering it, or a line in basis_members.py"


@every
def test_the_gram_matrix_is_what_independent_quadrature_says(basis: Basis) -> None:
    points, weights = dense(basis)
    table = basis.matrix(points)
    np.testing.assert_allclose((table.T * weights) @ table, basis.gram(), rtol=0, atol=1e-12)


@every_orthonormal
def test_orthonormal_functions_have_the_identity_as_gram_matrix(basis: Basis) -> None:
    np.testing.assert_allclose(basis.gram(), np.eye(basis.size), rtol=0, atol=0)


@every
def test_the_gram_matrix_never_exceeds_the_identity(basis: Basis) -> None:
    assert np.linalg.eigvalsh(basis.gram()).max() <= 1 + 1e-12


@every
def test_evaluation_is_the_matrix_times_coordinates(basis: Basis) -> None:
    coordinates = np.random.default_rng(0).normal(size=(2, 3, basis.size))
    points = inside(basis, 5)
    values = basis.evaluate(coordinates, points)
    assert values.shape == (2, 3, 5)
    np.testing.assert_allclose(values, np.einsum("abk,mk->abm", coordinates, basis.matrix(points)), atol=1e-12)


@every
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_agree_with_finite_differences(basis: Basis, order: int) -> None:
    points = inside(basis, 6)
    for axis, length in enumerate(basis.domain.lengths):
        step = np.zeros(basis.domain.dimension)
        step[axis] = 1e-4 * length
        orders, below = [0] * basis.domain.dimension, [0] * basis.domain.dimension
        orders[axis], below[axis] = order, order - 1

        def at(multiple: int, below: tuple[int, ...] = tuple(below), step: np.ndarray = step) -> np.ndarray:
            return basis.matrix(points + multiple * step, below)

        expected = (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * step[axis])
        actual = basis.matrix(points, tuple(orders))
        # Fourth-order differences: truncation (pi 14)^5 1e-16 and rounding 1e-12 relative to the largest value.
        size = max(np.abs(at(0)).max() / length, np.abs(expected).max())
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7 * size)


@every
def test_values_and_derivatives_exist_at_the_ends(basis: Basis) -> None:
    corners = np.array(basis.domain.sides).T
    for order in range(3):
        orders = (order,) + (0,) * (basis.domain.dimension - 1)
        nearby = corners + np.array([[1], [-1]]) * 1e-9 * np.array(basis.domain.lengths)
        here, there = basis.matrix(corners, orders), basis.matrix(nearby, orders)
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-5 * max(1.0, np.abs(here).max()))


@every_orthonormal
@pytest.mark.parametrize("layout", ["regular", "irregular", "unsorted"])
def test_functions_in_the_span_come_back(basis: Basis, layout: str) -> None:
    dimension = basis.domain.dimension
    grid = basis.domain.grid({1: 101, 2: 25, 3: 9}[dimension])
    if layout == "irregular":
        grid = np.concatenate([basis.domain.grid(2), inside(basis, {1: 300, 2: 1500, 3: 2000}[dimension])])
        grid = grid[np.lexsort(grid.T)]
    if layout == "unsorted":
        grid = np.random.default_rng(3).permutation(grid)
    coordinates = np.random.default_rng(1).normal(size=(4, basis.size))
    values = basis.evaluate(coordinates, grid)
    np.testing.assert_allclose(basis.coordinates(values, grid), coordinates, rtol=0, atol=1e-9)


@every
def test_a_description_in_json_gives_the_same_basis_bit_for_bit(basis: Basis) -> None:
    copy = from_dict(json.loads(json.dumps(basis.describe())))
    assert copy == basis
    assert hash(copy) == hash(basis)
    points = inside(basis, 20)
    assert np.array_equal(copy.matrix(points), basis.matrix(points))


@every
def test_one_member_equals_no_other(basis: Basis) -> None:
    assert sum(basis == other for other in MEMBERS.values()) == 1


@every
def test_integrals_agree_with_independent_quadrature(basis: Basis) -> None:
    lows, highs = np.array(basis.domain.sides).T
    points, weights = dense(basis)
    expected = np.prod(highs - lows) * weights @ basis.matrix(points)
    whole = basis.integrals(lows, highs)
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-12 * np.prod(highs - lows))
    cut = highs.copy()
    cut[0] = lows[0] + 0.37 * (highs[0] - lows[0])
    rest = lows.copy()
    rest[0] = cut[0]
    parts = basis.integrals(lows, cut) + basis.integrals(rest, highs)
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12 * np.prod(highs - lows))


@every
def test_frequencies_are_as_many_as_functions_and_never_fall_along_a_line(basis: Basis) -> None:
    assert basis.frequencies.shape == (basis.size,)
    assert basis.frequencies[0] == 0
    if basis.eigenvalues is None:
        assert (np.diff(basis.frequencies) >= 0).all()


@every
def test_eigenvalues_fall_and_are_not_negative(basis: Basis) -> None:
    if basis.eigenvalues is not None:
        assert basis.eigenvalues.shape == (basis.size,)
        assert (np.diff(basis.eigenvalues) <= 1e-12).all()
        assert (basis.eigenvalues >= 0).all()


@every
def test_coordinates_change_nothing_they_are_given_and_keep_leading_axes(basis: Basis) -> None:
    grid = basis.domain.grid(9)
    values = np.ones((2, 5, len(grid)))
    assert basis.coordinates(values, grid).shape == (2, 5, basis.size)
    assert (values == 1).all()


@every
def test_points_outside_the_domain_are_refused(basis: Basis) -> None:
    outside = np.array(basis.domain.sides).T[1] + 1.0
    with refused(UsageError, "points"):
        basis.matrix(outside[None, :])


@every
def test_a_derivative_needs_one_order_for_each_side(basis: Basis) -> None:
    for wrong in ((0,) * (basis.domain.dimension + 1), (-1,) * basis.domain.dimension, 0.5):
        with refused(UsageError, "order", wrong):
            basis.matrix(basis.domain.grid(2), wrong)  # type: ignore[arg-type]


@every
def test_coordinates_and_values_of_another_length_are_refused(basis: Basis) -> None:
    with refused(UsageError, "coordinates"):
        basis.evaluate(np.zeros(basis.size + 1), basis.domain.grid(2))
    with refused(UsageError, "grid"):
        basis.coordinates(np.zeros((3, 1)), basis.domain.grid(2))


def test_tables_in_blocks_give_the_same_values_means_and_integrals(monkeypatch: pytest.MonkeyPatch) -> None:
    basis, points = bernstein((0, 2), 7), np.linspace(0, 2, 50)
    coordinates = np.arange(14.0).reshape(2, 7)
    whole = basis.evaluate(coordinates, points, 1), basis.means(), basis.integrals(0.5, 1.5), basis.gram()
    monkeypatch.setattr(base, "AT_ONCE", 30)
    base._gram.cache_clear()
    parts = basis.evaluate(coordinates, points, 1), basis.means(), basis.integrals(0.5, 1.5), basis.gram()
    base._gram.cache_clear()
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("factors", [(cosine((0, 1), 4), legendre((0, 2), 3)), (beam((0, 1), 3),) * 3])
def test_products_have_the_means_and_values_at_nodes_of_their_table(factors: tuple[Basis, ...]) -> None:
    basis = tensor(*factors, size=9)
    points, weights = basis.nodes()
    coordinates, order = np.arange(9.0), (1,) + (0,) * (len(factors) - 1)
    assert basis.means() == pytest.approx(weights @ basis.matrix(points), abs=1e-12)
    assert basis.at_nodes(coordinates, order) == pytest.approx(basis.evaluate(coordinates, points, order), abs=1e-9)
