"""The density of the package: one person moves two counts, whatever the steps; sizes and noise by public rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

from dpfda.bases import Domain, tensor
from dpfda.bases.cells import Cells, cells_between, equal_cells, fine_cells
from dpfda.bases.piecewise_constant import Steps, equal_steps
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import Gaussian, KNorm, Laplace
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget
from dpfda.privacy.norms import L1, L2
from dpfda.statistics.density.default_design import (
    chosen_noise,
    count_share,
    one_hot,
    overlaps,
    own_density,
    step_counts,
)

LINE = fine_cells(Domain(((0.0, 1.0),)))
SQUARE = equal_cells(Domain(((0.0, 1.0), (-2.0, 3.0))), (12, 20))
PURE, APPROXIMATE = Budget(1.0, 0.0), Budget(1.0, 0.01)


def diameters(rows: np.ndarray) -> tuple[float, float]:
    gaps = rows[:, None, :] - rows[None, :, :]
    return float(np.abs(gaps).sum(axis=2).max()), float(np.sqrt((gaps**2).sum(axis=2)).max())


@pytest.mark.parametrize("cells", [equal_cells(Domain(((0.0, 1.0),)), (60,)), SQUARE], ids=["line", "rectangle"])
def test_replacing_a_person_moves_two_in_l1_and_root_two_in_l2_whatever_the_size(cells: Cells) -> None:
    for size in (3, 7, 40):
        design = own_density(1000, PURE, cells, neighbours=REPLACE, size=size)
        l1, l2 = diameters(design.features)
        assert l1 == pytest.approx(2.0, abs=1e-12)
        assert l2 <= math.sqrt(2) * (1 + 1e-12)


def test_coordinates_are_means_of_the_basis_functions() -> None:
    """Decoded features of every cell are the means over the cell of the functions of the basis."""
    design = own_density(1000, PURE, SQUARE, neighbours=REPLACE)
    inner = np.stack(np.meshgrid((np.arange(4) + 0.5) / 4, (np.arange(4) + 0.5) / 4, indexing="ij"), axis=-1)
    widths = np.array([1 / 12, 5 / 20])
    points = SQUARE.centres[:, None, :] + (inner.reshape(1, 16, 2) - 0.5) * widths
    means = design.basis.matrix(points.reshape(-1, 2)).reshape(SQUARE.size, 16, -1).mean(axis=1)
    np.testing.assert_allclose(design.features * design.decode, means, rtol=0, atol=1e-9)


def test_a_stated_number_of_steps_need_not_divide_the_cells() -> None:
    cells = equal_cells(Domain(((0.0, 1.0),)), (10,))
    design = own_density(1000, PURE, cells, neighbours=REPLACE, size=4)
    assert design.basis.size == 4
    np.testing.assert_allclose(design.features.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(design.features[2], [0.5, 0.5, 0.0, 0.0], atol=1e-12)
    assert ("basis", "4 equal steps, stated by the user") in design.reasons


def test_edges_are_the_steps_and_decoding_knows_their_widths() -> None:
    cells = cells_between([0, 1, 5, 100])
    design = own_density(1000, PURE, cells, neighbours=REPLACE, edges=True)
    assert isinstance(design.basis, Steps)
    assert design.basis.edges == (0.0, 1.0, 5.0, 100.0)
    np.testing.assert_array_equal(design.features, np.eye(3))
    np.testing.assert_allclose(design.decode, [10.0, 5.0, math.sqrt(100 / 95)], rtol=1e-12)
    assert ("basis", "the stated edges") in design.reasons


def test_pure_budgets_get_laplace_noise_and_delta_helps_where_it_is_large() -> None:
    assert chosen_noise(PURE, "auto", counted=False) == ("laplace", 8.0)
    assert chosen_noise(PURE, "auto", counted=True) == ("laplace", 2.0)
    name, variance = chosen_noise(APPROXIMATE, "auto", counted=False)
    assert name == "gaussian"
    # The deviation of Gaussian noise at (1, 0.01) and sensitivity one is 1.878 by the exact curve (Balle and Wang).
    assert variance == pytest.approx(2 * 1.8779**2, rel=1e-3)
    assert chosen_noise(Budget(1.0, 1e-6), "auto", counted=False) == ("laplace", 8.0)
    assert chosen_noise(Budget(1.0, 1e-6), "gaussian", counted=False)[1] > 8.0


@pytest.mark.parametrize(("name", "norm"), [("gaussian", L2()), ("laplace", L1())], ids=["gaussian", "laplace"])
def test_a_mechanism_can_be_stated(name: str, norm: object) -> None:
    design = own_density(1000, APPROXIMATE, LINE, neighbours=REPLACE, mechanism=name)
    assert design.name == name
    assert design.mechanism.norm == norm
    assert design.smoothing


def test_k_norm_noise_comes_in_blocks_of_one_which_is_laplace_noise() -> None:
    design = own_density(1000, PURE, LINE, neighbours=REPLACE, mechanism="k-norm")
    assert isinstance(design.mechanism, KNorm)
    np.testing.assert_array_equal(
        design.mechanism.noise(3.0, design.basis.size).variances, Laplace().noise(3.0, design.basis.size).variances
    )


def test_gaussian_noise_without_delta_is_refused() -> None:
    with pytest.raises(CannotMeetBudget):
        own_density(1000, PURE, LINE, neighbours=REPLACE, mechanism="gaussian")


def test_an_unknown_mechanism_is_refused() -> None:
    with refused(UsageError, "mechanism", "iclp-qr"):
        own_density(1000, PURE, LINE, neighbours=REPLACE, mechanism="iclp-qr")


def test_a_private_number_of_people_leads_the_features() -> None:
    for mechanism, kind in (("laplace", Laplace), ("gaussian", Gaussian)):
        design = own_density(1000, APPROXIMATE, LINE, neighbours=ADD_REMOVE, mechanism=mechanism)
        assert design.features.shape == (LINE.size, design.basis.size + 1)
        assert design.decode.shape == (design.basis.size,)
        assert np.ptp(design.features[:, 0]) == 0.0
        assert design.features[0, 0] == count_share(design.basis.size, gaussian=mechanism == "gaussian")
        assert isinstance(design.mechanism, kind)


@pytest.mark.parametrize("size", [4, 64, 400])
def test_the_share_of_the_count_has_the_least_error(size: int) -> None:
    shares = np.linspace(0.02, 1.0, 5000)
    pure = (1 + shares) ** 2 * (size + 2 / shares**2)
    normal = (1 + shares**2) * (size + 2 / shares**2)
    assert count_share(size, gaussian=False) == pytest.approx(shares[pure.argmin()], abs=2e-3)
    assert count_share(size, gaussian=True) == pytest.approx(shares[normal.argmin()], abs=2e-3)


def test_steps_grow_with_people_and_budget_and_are_whole_numbers_of_cells() -> None:
    counts = [step_counts(resolution, (1920,))[0] for resolution in (10, 100, 1000, 1e4, 1e5, 1e6, 1e9)]
    assert counts == [6, 20, 60, 192, 640, 960, 960]
    assert [step_counts(resolution, (60, 60)) for resolution in (100, 1000, 1e4, 1e5, 1e9)] == [
        (6, 6),
        (12, 12),
        (20, 20),
        (30, 30),
        (30, 30),
    ]
    assert [step_counts(resolution, (16, 16, 16))[0] for resolution in (100, 1000, 1e4, 1e9)] == [4, 8, 8, 8]
    assert [step_counts(resolution, (12, 12, 12))[0] for resolution in (100, 1000, 1e4, 1e9)] == [4, 6, 12, 12]
    assert step_counts(1e-6, (7,)) == (7,)
    assert step_counts(1000, (1,)) == (1,)
    assert step_counts(1000, (60, 60), 100) == (10, 10)


def test_the_predicted_noise_is_that_of_the_decoded_law() -> None:
    n, design = 1000, own_density(1000, PURE, LINE, neighbours=REPLACE)
    noise = Laplace().noise(2.0, design.basis.size).scaled(1 / n).weighted(design.decode)
    # Of a density times the volume, before smoothing: a mean over equal steps, each with a count of variance 8.
    assert 8.0 * (design.basis.size / n) ** 2 == pytest.approx(noise.variances.sum(), rel=1e-9)


def test_edges_equal_but_for_rounding_leave_no_slivers() -> None:
    cells = np.linspace(0.1, 0.7, 61)
    shares = overlaps(cells, np.array(equal_steps((0.1, 0.7), 12).edges))
    assert sorted(np.unique(shares)) == [0.0, 1.0]
    np.testing.assert_array_equal(shares.sum(axis=0), np.full(12, 5.0))


def test_features_stand_in_the_order_of_the_basis() -> None:
    sides = [equal_steps((0.0, 1.0), 3), equal_steps((-2.0, 3.0), 4)]
    basis = tensor(*sides)
    features, decode = one_hot(sides, SQUARE, basis)
    np.testing.assert_allclose(features * decode, basis.matrix(SQUARE.centres), rtol=1e-9)
