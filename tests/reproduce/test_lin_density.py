"""Figures 3 and 4 of Lin and Reimherr: the two mixtures, expected errors, and what stands in the tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpfda.bases import Domain
from dpfda.bases.cells import equal_cells
from dpfda.mechanisms import SeededRandomness
from dpfda.privacy import Budget
from dpfda.reproduce import lin_density
from dpfda.reproduce.density_noise import farthest, integral, kernel_estimate, planned
from dpfda.reproduce.lin_density import box_sample, box_truth, line_sample, line_truth
from dpfda.studies.outcome import Setting

CELLS = equal_cells(Domain(((0.0, 1.0),)), (256,))
PLACES = CELLS.centres


@pytest.fixture(scope="module")
def outcome():
    return lin_density.figure_3(Setting(quick=True, seed=3))


@pytest.mark.parametrize("experiment", [lin_density.FIGURE_3, lin_density.FIGURE_4], ids=["line", "square"])
def test_true_densities_have_integral_one_and_are_those_of_the_samples(experiment):
    """Shares in 16 parts of 40,000 points are within 5 standard errors, at most 0.0125, of the integrals."""
    places = experiment.places
    truth = experiment.truth(places)
    assert integral(truth, experiment.volume) == pytest.approx(1, abs=5e-4)
    points = experiment.sample(40_000, SeededRandomness(2))
    coarse = equal_cells(experiment.domain, (16,) if experiment.domain.dimension == 1 else (4, 4))
    shares = np.bincount(coarse.index(points), minlength=16) / len(points)
    exact = np.bincount(coarse.index(places), weights=truth, minlength=16) * experiment.volume / len(places)
    assert shares == pytest.approx(exact, abs=0.0125)


def test_samples_stay_in_their_domain():
    assert np.abs(box_sample(5000, SeededRandomness(1))).max() <= 5
    points = line_sample(5000, SeededRandomness(1))
    assert 0 <= points.min() <= points.max() <= 1
    assert line_truth(np.array([[0.3]]))[0] == pytest.approx(0.6 * 3.9894 / 0.99865, rel=1e-3)
    assert box_truth(np.array([[-3.0, -3.0]]))[0] == pytest.approx(0.6 / (2 * np.pi * 0.75**0.5) / 0.955, rel=0.02)


@pytest.mark.audit
@pytest.mark.parametrize("mechanism", ["gp", "sobolev", "iclp-qr", "frl", "bernstein"])
def test_expected_errors_are_means_over_releases(mechanism):
    """400 draws: the mean of squared errors is within a quarter of the closed form, seeded."""
    points = line_sample(300, SeededRandomness(1))
    plan = planned(CELLS, 300, Budget(0.5, 0.1), mechanism, bandwidth=0.08)
    density, randomness = plan.of(points), SeededRandomness(2)
    target = line_truth(PLACES)
    drawn = [integral((density.draw(PLACES, randomness) - target) ** 2, 1.0) for _ in range(400)]
    assert np.mean(drawn) == pytest.approx(density.error(target, PLACES), rel=0.25)
    assert density.error(target, PLACES) == pytest.approx(density.bias(target, PLACES) + plan.noise_error)


def test_reaches_are_distances_of_the_farthest_rows():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    assert farthest(rows, euclidean=True) == pytest.approx(5)
    assert farthest(rows, euclidean=False) == 7
    assert farthest(rows[:1], euclidean=False) == 0


def test_noise_is_calibrated_to_the_reach():
    """Laplace noise of scale reach / (n epsilon) on each feature."""
    plan = planned(CELLS, 500, Budget(2.0, 0.0), "frl", bandwidth=0.1, size=6)
    assert plan.noise.scales == pytest.approx([plan.reach / 1000] * 6, rel=1e-9)


def test_weighted_points_count_as_often_as_they_say():
    points, counts = np.array([[0.2], [0.6]]), np.array([3.0, 1.0])
    repeated = np.array([[0.2], [0.2], [0.2], [0.6]])
    one = kernel_estimate(points, PLACES, cells=CELLS, bandwidth=0.1, counts=counts)
    assert one == pytest.approx(kernel_estimate(repeated, PLACES, cells=CELLS, bandwidth=0.1))
    plan = planned(CELLS, 4, Budget(1.0, 0.0), "frl", bandwidth=0.1)
    assert plan.of(points, counts).exact == pytest.approx(plan.of(repeated).exact)


def test_the_table_has_every_method_and_the_default_is_nearest_to_the_truth(outcome):
    (table,) = outcome.tables
    error = {row[0]: row[table.columns.index("error to truth")] for row in table.rows}
    private = {name: value for name, value in error.items() if name != lin_density.NOBODY}
    assert set(lin_density.FIGURE_3.methods) < set(private)
    ours = {name: private.pop(name) for name in (lin_density.OURS, lin_density.OURS_APPROXIMATE)}
    assert max(ours.values()) < min(private.values())
    published, exact = lin_density.HALL
    assert 3 * ours[lin_density.OURS_APPROXIMATE] < private[exact] <= private[published]
    assert error["Bernstein, K = 10"] > error["Bernstein, K = 30"] > error["Bernstein, K = 50"]


def test_the_picture_has_private_curves_in_each_panel(outcome):
    (figure,) = outcome.figures
    assert len(figure.axes) == 7
    assert all(len(ax.get_lines()) == 3 + 1 for ax in figure.axes)


def test_the_square_is_drawn_in_space():
    small = replace(
        lin_density.FIGURE_4,
        methods={"FRL": {"mechanism": "frl"}, "Bernstein, K = 5": {"mechanism": "bernstein", "degree": 5}},
        sizes=range(4, 9, 4),
    )
    cells = equal_cells(small.domain, (12, 12))
    plans = lin_density.plans_of(small, 1000, cells)
    assert [len(several) for several in plans.values()] == [2, 1, len(lin_density.ETAS), 1, 1]
    points = small.sample(1000, SeededRandomness(1))
    sample = kernel_estimate(points, small.places, cells=cells, bandwidth=small.bandwidth(1000), family=small.family)
    figure = lin_density.draw(small, points, sample, plans, SeededRandomness(2), curves=1)
    assert [ax.get_title() for ax in figure.axes] == ["FRL", "Bernstein, K = 5", lin_density.OURS]
