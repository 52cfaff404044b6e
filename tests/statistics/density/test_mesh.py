"""A mesh is a density: its integrals, quantiles, moments and records are those of the function it evaluates."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import kstest

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.statistics.density.mesh import Mesh, node_weights, proper

LINE = np.linspace(2.0, 5.0, 13)


def line(seed: int = 1) -> Mesh:
    return proper((LINE,), SeededRandomness(seed).normal((13,)) + 0.4)


def jumps() -> Mesh:
    """A histogram with steps of 0.5, 0.2 and 0.3 of the mass, one of them empty."""
    nodes = np.array([0.0, 1.0, 1.0, 3.0, 3.0, 4.0, 4.0, 10.0])
    return Mesh((nodes,), np.array([0.5, 0.5, 0.1, 0.1, 0.0, 0.0, 0.05, 0.05]))


def box(seed: int = 2) -> Mesh:
    axes = (np.linspace(0.0, 1.0, 6), np.linspace(-1.0, 3.0, 5), np.linspace(10.0, 12.0, 4))
    return proper(axes, SeededRandomness(seed).normal((6, 5, 4)) / 8 + 0.1)


def plane(seed: int = 3) -> Mesh:
    axes = (np.linspace(0.0, 1.0, 9), np.linspace(-1.0, 3.0, 7))
    return proper(axes, SeededRandomness(seed).normal((9, 7)) / 4 + 0.2)


def dense(mesh: Mesh, size: int) -> tuple[Array, float]:
    """Middles of many small cells, and the volume of one."""
    axes = [low + (high - low) * (np.arange(size) + 0.5) / size for low, high in mesh.domain.sides]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    return points, float(np.prod(mesh.domain.lengths)) / len(points)


@pytest.mark.parametrize(
    ("mesh", "size"),
    [(line(), 12_000), (jumps(), 10_000), (plane(), 480), (box(), 60)],
    ids=["line", "jumps", "2", "3"],
)
def test_a_mesh_is_never_negative_and_its_integral_is_one(mesh: Mesh, size: int) -> None:
    assert (mesh.values >= 0).all()
    assert mesh.integral() == pytest.approx(1.0, abs=1e-12)
    points, volume = dense(mesh, size)
    assert volume * mesh(points).sum() == pytest.approx(1.0, abs=2e-3)


def test_values_at_nodes_are_kept_and_between_them_go_straight() -> None:
    mesh = plane()
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*mesh.axes, indexing="ij")], axis=1)
    np.testing.assert_allclose(mesh(nodes), mesh.values.ravel(), rtol=1e-12, atol=1e-15)
    middle = mesh([[(mesh.axes[0][3] + mesh.axes[0][4]) / 2, mesh.axes[1][2]]])
    assert middle[0] == pytest.approx((mesh.values[3, 2] + mesh.values[4, 2]) / 2, rel=1e-12)
    assert line()(3.3).shape == ()


def test_at_a_jump_the_value_is_that_above_it() -> None:
    np.testing.assert_allclose(jumps()([0.0, 0.999, 1.0, 2.9, 3.0, 4.0, 10.0]), [0.5, 0.5, 0.1, 0.1, 0, 0.05, 0.05])


def test_the_distribution_function_is_the_integral_of_the_density() -> None:
    for mesh in (line(), jumps()):
        points, volume = dense(mesh, 60_000)
        ends = np.linspace(*mesh.domain.sides[0], 41)
        values = mesh(points)
        expected = [volume * values[points[:, 0] <= end].sum() for end in ends]
        np.testing.assert_allclose(mesh.distribution(ends), expected, rtol=0, atol=5e-5)
    assert line().distribution(1.0) == 0.0
    np.testing.assert_allclose(line().distribution([9.0, np.inf]), 1.0, rtol=0, atol=1e-12)


def test_the_joint_distribution_function_and_boxes_agree_with_sums() -> None:
    mesh = plane()
    points, volume = dense(mesh, 800)
    values = mesh(points)
    inside = (points <= [0.37, 1.1]).all(axis=1)
    assert mesh.distribution([[0.37, 1.1]])[0] == pytest.approx(volume * values[inside].sum(), abs=2e-3)
    within = ((points >= [0.2, -0.5]) & (points <= [0.7, 2.0])).all(axis=1)
    assert mesh.integral([0.2, -0.5], [0.7, 2.0]) == pytest.approx(volume * values[within].sum(), abs=2e-3)


@pytest.mark.parametrize("mesh", [line(), jumps()], ids=["line", "jumps"])
def test_quantiles_invert_the_distribution_function(mesh: Mesh) -> None:
    probabilities = np.linspace(0.0, 1.0, 101)
    places = mesh.quantile(probabilities)
    assert (np.diff(places) >= 0).all()
    np.testing.assert_allclose(mesh.distribution(places), probabilities, rtol=0, atol=1e-12)


def test_moments_are_those_of_the_density() -> None:
    for mesh, size in ((line(), 30_000), (jumps(), 30_000), (plane(), 600)):
        points, volume = dense(mesh, size)
        masses = volume * mesh(points)
        mean = masses @ points / masses.sum()
        variance = masses @ (points - mean) ** 2 / masses.sum()
        np.testing.assert_allclose(np.atleast_1d(mesh.mean()), mean, rtol=2e-4)
        np.testing.assert_allclose(np.atleast_1d(mesh.variance()), variance, rtol=2e-4)


def test_a_marginal_is_the_integral_over_the_other_sides() -> None:
    mesh = box()
    points, volume = dense(mesh, 60)
    for axis in range(3):
        marginal = mesh.marginal(axis)
        assert marginal.integral() == pytest.approx(1.0, abs=1e-12)
        end = float(np.mean(mesh.domain.sides[axis]))
        expected = volume * mesh(points)[points[:, axis] <= end].sum()
        assert marginal.distribution(end) == pytest.approx(expected, abs=2e-3)
        assert marginal.mean() == pytest.approx(float(mesh.mean()[axis]), rel=1e-12)


@pytest.mark.parametrize("mesh", [line(), jumps()], ids=["line", "jumps"])
def test_records_on_a_line_follow_the_distribution(mesh: Mesh) -> None:
    """Kolmogorov and Smirnov at level 1e-6, seeded."""
    records = mesh.sample(20_000, seed=4)
    assert records.shape == (20_000,)
    assert kstest(records, mesh.distribution).pvalue > 1e-6


def test_records_on_a_box_follow_the_joint_law() -> None:
    """Counts in 60 boxes against their probabilities: chi-square at level 1e-6, seeded."""
    mesh, size = box(), 40_000
    records = mesh.sample(size, seed=5)
    edges = [np.linspace(low, high, parts + 1) for (low, high), parts in zip(mesh.domain.sides, (5, 4, 3), strict=True)]
    counts = np.histogramdd(records, edges)[0].ravel()
    lows = np.stack([axis.ravel() for axis in np.meshgrid(*(e[:-1] for e in edges), indexing="ij")], axis=1)
    highs = np.stack([axis.ravel() for axis in np.meshgrid(*(e[1:] for e in edges), indexing="ij")], axis=1)
    expected = size * np.array([mesh.integral(low, high) for low, high in zip(lows, highs, strict=True)])
    assert expected.sum() == pytest.approx(size, rel=1e-9)
    assert np.sum((counts - expected) ** 2 / expected) < 134.0  # chi-square with 59 degrees at 1 - 1e-6 is 133.6


def test_a_seed_repeats_the_records_and_without_one_they_are_fresh() -> None:
    mesh = plane()
    np.testing.assert_array_equal(mesh.sample(5, seed=1), mesh.sample(5, seed=1))
    assert not np.array_equal(mesh.sample(5), mesh.sample(5))
    assert mesh.sample(0).shape == (0, 2)


def test_blurring_keeps_the_integral_and_adds_the_variance_of_the_kernel() -> None:
    nodes = np.linspace(0.0, 1.0, 801)
    peak = proper((nodes,), np.maximum(0.0, 1 - np.abs(nodes - 0.5) / 0.05) * 20)
    blurred = peak.blurred(0.04)
    assert blurred.integral() == pytest.approx(1.0, abs=1e-12)
    assert float(blurred.variance()) == pytest.approx(float(peak.variance()) + 0.04**2, rel=1e-3)


def test_blurring_reflects_at_the_ends_and_ends_flat() -> None:
    nodes = np.linspace(0.0, 2.0, 401)
    uniform = Mesh((nodes,), np.full(401, 0.5))
    np.testing.assert_allclose(uniform.blurred(0.3).values, 0.5, rtol=1e-3)
    steep = proper((nodes,), np.exp(-6 * nodes))
    np.testing.assert_allclose(steep.blurred(1e6).values, 0.5, rtol=1e-3)
    np.testing.assert_allclose(steep.blurred(1e-9).values, steep.values, rtol=1e-9, atol=1e-12)


def test_the_projection_is_the_nearest_density() -> None:
    """Kuhn and Tucker: what stays was lowered by one and the same number, and what went was below it."""
    axes = (np.linspace(0.0, 1.0, 9), np.linspace(-1.0, 3.0, 7))
    values = SeededRandomness(6).normal((9, 7))
    mesh = proper(axes, values)
    kept = mesh.values > 0
    taken = (values - mesh.values)[kept]
    assert 5 < kept.sum() < 60
    np.testing.assert_allclose(taken, taken[0], rtol=0, atol=1e-12)
    assert (values[~kept] <= taken[0] + 1e-12).all()


def test_the_projection_moves_nothing_further_from_any_density() -> None:
    axes = (np.linspace(0.0, 1.0, 33),)
    weights = node_weights(axes)
    for seed in range(50):
        randomness = SeededRandomness(seed)
        truth = proper(axes, randomness.normal((33,))).values
        values = truth + randomness.normal((33,)) * 3
        assert weights @ (proper(axes, values).values - truth) ** 2 <= weights @ (values - truth) ** 2 * (1 + 1e-12)


def test_a_density_is_its_own_projection() -> None:
    mesh = box()
    np.testing.assert_allclose(proper(mesh.axes, mesh.values).values, mesh.values, rtol=0, atol=1e-13)


def test_the_projection_of_a_function_below_zero_is_a_density_too() -> None:
    mesh = proper((LINE,), -1e6 - LINE)
    assert mesh.integral() == pytest.approx(1.0, abs=1e-9)
    assert (mesh.values >= 0).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: plane().quantile(0.5), "Quantiles belong to a line; this density has 2 sides."),
        (lambda: line().quantile(1.5), "Quantiles are for probabilities from 0 to 1, got 1.5."),
        (lambda: plane().marginal(2), "This density has sides 0 to 1, got 2."),
        (lambda: line().sample(-1), "The number of records to draw is a whole number, at least 0, got -1."),
        (lambda: line().sample(True), "at least 0, got True."),
        (lambda: line().blurred(0.0), "A bandwidth is a positive number, or one for each side, got 0.0."),
        (lambda: line().integral(4.0, 3.0), "An integral goes from one lower to one upper end, got 4.0 to 3.0."),
        (lambda: line().distribution([np.nan]), "Points must be numbers, got NaN among them."),
        (lambda: line()(6.0), "Points must lie in the domain [2, 5]"),
    ],
    ids=["quantile of a plane", "beyond one", "axis", "negative", "bool", "bandwidth", "backwards", "nan", "outside"],
)
def test_what_cannot_be_is_refused(call: object, text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(text)):
        call()  # type: ignore[operator]
