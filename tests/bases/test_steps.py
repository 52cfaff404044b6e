"""Steps are orthonormal, hold exactly what lies between their edges, and come back from plain data."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

from dpfda.bases import cosine, tensor
from dpfda.bases.domain import as_domain
from dpfda.bases.piecewise_constant import Steps, equal_steps, steps
from dpfda.errors import UsageError

AGES = steps((0, 100), [0, 1, 5, 10, 45, 100])


def test_the_gram_matrix_by_quadrature_is_the_identity() -> None:
    points, weights = AGES.nodes()
    table = AGES.matrix(points)
    np.testing.assert_allclose((table.T * weights) @ table, np.eye(5), rtol=0, atol=1e-12)
    assert AGES.orthonormal


def test_values_are_one_over_the_root_of_the_share_and_an_edge_belongs_to_the_step_above() -> None:
    table = AGES.matrix([0.0, 0.999, 1.0, 45.0, 100.0])
    expected = np.zeros((5, 5))
    expected[0, 0] = expected[1, 0] = np.sqrt(100 / 1)
    expected[2, 1] = np.sqrt(100 / 4)
    expected[3, 4] = expected[4, 4] = np.sqrt(100 / 55)
    np.testing.assert_allclose(table, expected, rtol=1e-12)


def test_derivatives_are_zero_and_coordinates_have_no_roughness() -> None:
    np.testing.assert_array_equal(AGES.matrix([3.0, 50.0], order=1), np.zeros((2, 5)))
    np.testing.assert_array_equal(AGES.frequencies, np.zeros(5))


def test_integrals_from_inside_one_step_to_inside_another_are_exact() -> None:
    values = np.array([2.0, 1.0, 4.0, 0.5, 3.0])
    coordinates = values * np.sqrt(AGES.shares)
    expected = 0.5 * 2.0 + 4 * 1.0 + 5 * 4.0 + 35 * 0.5 + 5 * 3.0
    assert coordinates @ AGES.integrals([0.5], [50.0]) == pytest.approx(expected, rel=1e-12)


def test_equal_steps_know_that_they_are_equal_in_any_units() -> None:
    assert equal_steps((0.1, 0.7), 37).equal
    assert equal_steps((-1e6, 1e7), 3).edges[0] == -1e6
    assert not AGES.equal


@pytest.mark.parametrize("basis", [AGES, equal_steps((0, 1), 1)], ids=["ages", "one step"])
def test_a_basis_of_steps_is_built_again_from_its_description(basis: Steps) -> None:
    description = basis.describe()
    assert description.pop("family") == "steps"
    assert steps(**description) == basis


def test_products_of_steps_are_the_cells_of_a_box() -> None:
    box = tensor(equal_steps((0, 1), 3), steps((0, 4), [0, 1, 4]))
    values = np.arange(6.0)
    volume_shares = np.array([1 / 3])[:, None] * np.array([[0.25, 0.75]])
    flat = (values * np.sqrt(np.broadcast_to(volume_shares, (3, 2)).ravel()))[
        np.ravel_multi_index(tuple(box.index.T), (3, 2))
    ]
    found = box.evaluate(flat, [[0.1, 0.5], [0.1, 2.0], [0.9, 0.5], [0.5, 3.9]])
    np.testing.assert_allclose(found, [0.0, 1.0, 4.0, 3.0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "edges",
    [(0.0,), (0.0, 0.5, 0.5, 1.0), (0.0, 0.7, 0.3, 1.0), (0.1, 1.0), (0.0, 0.9), (0.0, np.nan, 1.0)],
    ids=["one", "double", "falling", "starts late", "ends early", "not a number"],
)
def test_edges_that_do_not_cut_the_domain_are_refused(edges: tuple[float, ...]) -> None:
    with refused(UsageError, "edges", edges):
        Steps(as_domain((0, 1)), edges)


def test_steps_on_a_box_are_refused() -> None:
    with refused(UsageError, "domain", 2):
        Steps(as_domain([(0, 1), (0, 1)]), (0.0, 1.0))
    with refused(UsageError, "size", 3):
        equal_steps([(0, 1), (0, 1)], 3)
    with refused(UsageError, "size", 0):
        equal_steps((0, 1), 0)


def test_means_of_cosines_over_equal_steps_are_middles_times_a_sinc() -> None:
    """What smoothing relies on: a discrete cosine transform of a histogram gives coordinates but for a known factor."""
    size, fine = 8, 4000
    unit = (np.arange(size * fine) + 0.5) / (size * fine)
    means = cosine((0, 1), size).matrix(unit).reshape(size, fine, size).mean(axis=1)
    middles = cosine((0, 1), size).matrix((np.arange(size) + 0.5) / size)
    np.testing.assert_allclose(means, middles * np.sinc(np.arange(size) / (2 * size)), rtol=0, atol=1e-7)
