"""A private covariance is a covariance: symmetric, positive, nearest to what was paid for; its errors are as stated."""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpfda.arrays import Array
from dpfda.bases import Basis, cosine, legendre, reinsch, tensor
from dpfda.bases.symmetric import pack, unpack
from dpfda.errors import MissingExtra, UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.noise import Noise, NoiseLaw
from dpfda.releases import FAMILIES, Count
from dpfda.statistics.covariance.release import CovarianceRelease

Make = Callable[..., CovarianceRelease]
Draw = Callable[[NoiseLaw, int, SeededRandomness], Array]
BASIS = cosine((0.0, 24.0), 6)
BOX = tensor(cosine((0, 1), 2), legendre((10, 40), 2))
BASES: dict[str, Basis] = {
    "cosine": BASIS,
    "legendre": legendre((-1, 1), 5),
    "reinsch": reinsch((0, 3), 7),
    "box": BOX,
    "one function": cosine((2, 3), 1),
}
LAWS = ("gaussian", "radial", "wishart")
SMOOTH = np.diag(1 / np.arange(1, 7) ** 2.0)
MEAN = 0.7 / np.arange(1, 7) ** 1.5


def some_covariance(size: int, seed: int = 1) -> Array:
    root = SeededRandomness(seed).normal((size, size)) / np.arange(1, size + 1)[:, None]
    return root @ root.T


def random_points(basis: Basis, size: int, seed: int = 2) -> Array:
    lows, highs = np.array(basis.domain.sides).T
    return lows + (highs - lows) * SeededRandomness(seed).uniform((size, len(lows)))


@pytest.mark.parametrize("lead", [0.0, 0.8], ids=["centre", "mean"])
@pytest.mark.parametrize("name", BASES)
def test_without_noise_the_covariance_is_that_of_the_curves(name: str, lead: float, make_covariance: Make) -> None:
    """Curves whose coordinates have an exact mean and covariance: values are plain averages of products of values."""
    basis = BASES[name]
    coordinates = SeededRandomness(3).normal((40, basis.size)) + np.arange(basis.size)
    mean = coordinates.mean(axis=0) if lead else np.zeros(basis.size)
    covariance = np.cov(coordinates.T, bias=True).reshape(basis.size, -1) if lead else coordinates.T @ coordinates / 40
    release = make_covariance(basis, covariance, mean=mean, lead=lead)
    s, t = random_points(basis, 5), random_points(basis, 7, seed=4)
    one, other = (basis.evaluate(coordinates - mean, points) for points in (s, t))
    np.testing.assert_allclose(release(s, t), one.T @ other / 40, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(release.mean(s), basis.evaluate(mean, s), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("smoothing", ["none", "auto"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", BASES)
def test_values_are_symmetric_and_positive_semidefinite(
    name: str, law: str, smoothing: str, make_covariance: Make
) -> None:
    """Also where noise is a hundred times the signal."""
    basis = BASES[name]
    release = make_covariance(
        basis,
        0.01 * some_covariance(basis.size),
        mean=np.ones(basis.size),
        lead=1.0,
        law=law,
        scale=1.0,
        seed=5,
        smoothing=smoothing,
    )
    s, t = random_points(basis, 9), random_points(basis, 4, seed=6)
    np.testing.assert_allclose(release(s, t), release(t, s).T, rtol=1e-12, atol=1e-12)
    everywhere = release(s, s)
    assert np.linalg.eigvalsh(everywhere).min() >= -1e-12 * max(np.trace(everywhere), 1.0)
    np.testing.assert_allclose(release.variance(s), np.diag(everywhere), rtol=1e-12, atol=1e-14)
    assert (release.variance(s) >= 0).all()
    assert (release.eigenvalues >= 0).all()
    assert release.trace == pytest.approx(release.eigenvalues.sum())


def test_the_projection_is_the_nearest_positive_function(make_covariance: Make) -> None:
    """Nearest in the L2 norm of the square: what is cut off is orthogonal to the rest, and no other try is nearer."""
    release = make_covariance(BASIS, SMOOTH, scale=0.5, seed=7)
    raw, nearest = release.raw, release.coordinates
    assert np.linalg.eigvalsh(raw).min() < -0.1
    off = nearest - raw
    # The conditions of Karush, Kuhn and Tucker for the projection onto a cone.
    assert np.linalg.eigvalsh(off).min() >= -1e-12
    assert np.sum(off * nearest) == pytest.approx(0.0, abs=1e-12)
    for seed in range(200):
        other = nearest + 0.3 * (some_covariance(6, seed) - nearest) * SeededRandomness(seed).uniform((1,))[0]
        assert np.linalg.norm(other - raw) > np.linalg.norm(off)
    points, weights = BASIS.nodes()
    functions = BASIS.matrix(points)
    over_the_square = weights @ (functions @ off @ functions.T) ** 2 @ weights
    assert over_the_square == pytest.approx(np.sum(off**2))


def test_a_positive_matrix_is_left_as_it_is(make_covariance: Make) -> None:
    release = make_covariance(BASIS, some_covariance(6))
    np.testing.assert_allclose(release.coordinates, some_covariance(6), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(release.raw, some_covariance(6))


def test_single_numbers_give_single_numbers(make_covariance: Make) -> None:
    release = make_covariance(BASIS, SMOOTH)
    for method in (release, release.correlation, release.noise_deviation):
        assert np.ndim(method(1.0, 2.0)) == 0
        assert method([1.0], 2.0).shape == (1, 1)
        assert method(1.0, [2.0, 3.0]).shape == (1, 2)
        assert method(1.0, 2.0) == method([1.0], [2.0])[0, 0]
    assert np.ndim(release.variance(1.0)) == 0
    assert release.variance(1.0) == pytest.approx(release(1.0, 1.0))


@pytest.mark.parametrize("name", BASES)
def test_eigenfunctions_are_orthonormal_and_belong_to_their_eigenvalues(name: str, make_covariance: Make) -> None:
    basis = BASES[name]
    release = make_covariance(basis, some_covariance(basis.size), seed=8)
    points, weights = basis.nodes()
    functions = release.eigenfunctions
    values = np.stack([function(points) for function in functions])
    np.testing.assert_allclose((values * weights) @ values.T, np.eye(basis.size), atol=1e-9)
    applied = (values * weights) @ release(points, points)
    np.testing.assert_allclose(applied, release.eigenvalues[:, None] * values, atol=1e-9 * release.trace)
    assert all(first >= second for first, second in pairwise(release.eigenvalues))
    for function in functions:
        assert function.norm() == pytest.approx(1.0)
        assert function.coordinates[np.abs(function.coordinates).argmax()] > 0


def test_eigenfunctions_have_derivatives(make_covariance: Make) -> None:
    function = make_covariance(BASIS, SMOOTH).smooth("sobolev-2").eigenfunctions[1]
    t = np.linspace(0, 24, 9)
    np.testing.assert_allclose(np.abs(function(t)), np.abs(np.sqrt(2) * np.cos(np.pi * t / 24)), atol=1e-9)
    slope = -np.sqrt(2) * np.pi / 24 * np.sin(np.pi * t / 24)
    np.testing.assert_allclose(function.derivative(1)(t), slope * np.sign(function(0.0)), atol=1e-9)


def test_signs_do_not_depend_on_how_the_matrix_came_about(make_covariance: Make) -> None:
    """Nearly equal matrices have nearly equal eigenfunctions, not opposite ones."""
    one = make_covariance(BASIS, some_covariance(6)).eigenfunctions
    for seed in range(20):
        other = make_covariance(BASIS, some_covariance(6), scale=1e-6, seed=seed).eigenfunctions
        for first, second in zip(one, other, strict=True):
            assert first.coordinates @ second.coordinates > 0.9


def test_correlations_are_covariances_of_standardised_curves(make_covariance: Make) -> None:
    release = make_covariance(BASIS, some_covariance(6))
    t = np.linspace(0, 24, 13)
    deviations = np.sqrt(release.variance(t))
    expected = release(t, t) / np.outer(deviations, deviations)
    np.testing.assert_allclose(release.correlation(t, t), expected, rtol=1e-9)
    np.testing.assert_allclose(np.diag(release.correlation(t, t)), 1.0, rtol=1e-12)
    assert np.abs(release.correlation(t, t)).max() <= 1.0


def test_where_nothing_varies_there_is_no_correlation(make_covariance: Make) -> None:
    """One cosine, zero in the middle of the domain: there the variance is zero, elsewhere correlations are 1 or -1."""
    release = make_covariance(BASIS, np.diag([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
    found = release.correlation([0.0, 6.0, 12.0, 24.0], [0.0, 12.0])
    np.testing.assert_allclose(found[:, 0], [1.0, 1.0, np.nan, -1.0])
    assert np.isnan(found[:, 1]).all()


@pytest.mark.parametrize("lead", [0.0, 0.8], ids=["centre", "mean"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ["cosine", "box", "one function"])
def test_the_deviation_of_the_noise_is_that_of_simulated_noise(
    name: str, law: str, lead: float, make_covariance: Make, draw_noise: Draw
) -> None:
    """20,000 draws at 12 pairs: 6 standard errors of a standard deviation, chance below 1e-6 in all; seed fixed."""
    basis = BASES[name]
    size, start = 20_000, 1 if lead else 0
    release = make_covariance(basis, np.eye(basis.size), lead=lead, law=law, scale=0.3)
    second = unpack(draw_noise(release.noise, size, SeededRandomness(9)))[:, start:, start:]
    s, t = random_points(basis, 3), random_points(basis, 4, seed=10)
    simulated = basis.matrix(s) @ second @ basis.matrix(t).T
    squares = simulated**2
    gap = squares.mean(axis=0) - release.noise_deviation(s, t) ** 2
    assert np.abs(gap / (squares.std(axis=0) / np.sqrt(size))).max() < 6
    assert np.abs(simulated.mean(axis=0) / (simulated.std(axis=0) / np.sqrt(size))).max() < 6


def test_the_deviation_of_the_noise_is_symmetric_and_that_of_its_definition(make_covariance: Make) -> None:
    """Against the sum over all entries, written out."""
    release = make_covariance(BASIS, SMOOTH, law="radial", scale=0.2)
    s, t = np.linspace(0, 24, 4), np.linspace(3, 20, 5)
    f, g = BASIS.matrix(s), BASIS.matrix(t)
    direct = np.zeros((4, 5))
    for i in range(6):
        for j in range(i, 6):
            times = f[:, None, i] * g[None, :, j] + (f[:, None, j] * g[None, :, i] if i < j else 0)
            direct += times**2 * release.variances[i, j]
    np.testing.assert_allclose(release.noise_deviation(s, t), np.sqrt(direct), rtol=1e-12)
    np.testing.assert_allclose(release.noise_deviation(t, s), np.sqrt(direct).T, rtol=1e-12)


def test_many_points_need_little_memory(make_covariance: Make) -> None:
    """A thousand points squared, 40 functions: a few tables of a million numbers, not pairs of functions at each."""
    release = make_covariance(cosine((0, 1), 40), np.eye(40))
    points = np.linspace(0, 1, 1000)
    tracemalloc.start()
    release.noise_deviation(points, points)
    release.correlation(points, points)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.parametrize("lead", [0.0, 0.8], ids=["centre", "mean"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.003, 0.03])
def test_the_estimated_error_is_about_the_error(scale: float, law: str, lead: float, make_covariance: Make) -> None:
    """Root mean squares over 60 releases: never more than a seventh too low; seeds fixed."""
    basis, truth = cosine((0, 1), 6), SMOOTH if lead else SMOOTH + np.outer(MEAN, MEAN)
    squares, estimates = [], []
    for seed in range(60):
        release = make_covariance(
            basis, SMOOTH, mean=MEAN, lead=lead, law=law, scale=scale, seed=seed, smoothing="auto"
        )
        squares.append(np.sum((release.coordinates - truth) ** 2))
        estimates.append(release.estimated_error**2)
    assert 0.86 < np.sqrt(np.mean(estimates) / np.mean(squares)) < 1.3


def test_the_estimated_error_counts_the_error_of_the_mean(make_covariance: Make) -> None:
    """A large mean with noise: its square is wrong by more than the noise in the second moments."""
    mean = np.array([30.0, 0, 0, 0, 0, 0])
    squares, estimates, alone = [], [], []
    for seed in range(200):
        release = make_covariance(BASIS, SMOOTH, mean=mean, lead=1.0, scale=0.01, seed=seed)
        squares.append(np.sum((release.raw - SMOOTH) ** 2))
        estimates.append(release.estimated_error**2)
        alone.append(release.smoothing.risk)
    assert np.mean(squares) > 100 * np.mean(alone)
    assert np.sqrt(np.mean(estimates) / np.mean(squares)) == pytest.approx(1.0, abs=0.15)


def test_the_estimated_error_counts_the_noise_in_the_count(make_covariance: Make) -> None:
    """Sums over a noisy count: 400 releases, of which the count is the larger part of the error."""
    exact, mean = 4 * SMOOTH, np.array([1.0, 0, 0, 0, 0, 0])
    off = 12.0 * SeededRandomness(11).normal((400,))
    squares, estimates = [], []
    for seed, moved in enumerate(off):
        count = Count(300.0 + moved, Noise("gaussian", (1,), (12.0,)))
        ratio = 300.0 / count.value
        # Moments divided by the noisy count: second moments and mean are both off by the ratio.
        second = ratio * (exact + np.outer(mean, mean)) - ratio**2 * np.outer(mean, mean)
        release = make_covariance(BASIS, second, mean=ratio * mean, lead=1.0, scale=0.002, seed=seed, count=count)
        squares.append(np.sum((release.raw - exact) ** 2))
        estimates.append(release.estimated_error**2)
    assert np.sqrt(np.mean(estimates) / np.mean(squares)) == pytest.approx(1.0, abs=0.15)


def test_the_estimated_error_is_never_below_what_is_left_of_the_noise(make_covariance: Make) -> None:
    negative = 0
    for seed in range(40):
        release = make_covariance(BASIS, 0 * SMOOTH, scale=1.0, seed=seed, smoothing="auto")
        negative += release.smoothing.risk < 0
        times = np.where(np.arange(21) < 6, 1, 2)
        left = np.sum(release.smoothing.weights**2 * times * pack(release.variances))
        assert release.estimated_error >= np.sqrt(left) * (1 - 1e-12)
    assert negative > 3


@pytest.mark.parametrize("lead", [0.0, 0.8], ids=["centre", "mean"])
def test_smoothing_brings_a_smooth_covariance_nearer(lead: float, make_covariance: Make) -> None:
    """Mean squared distances over 100 releases, seeds fixed."""
    basis = cosine((0, 1), 12)
    exact = np.diag(1 / np.arange(1, 13) ** 4.0)
    losses: dict[str, float] = {}
    for name in ("none", "auto"):
        found = [
            make_covariance(basis, exact, lead=lead, scale=0.05, seed=seed, smoothing=name).coordinates
            for seed in range(100)
        ]
        losses[name] = float(np.mean([np.sum((matrix - exact) ** 2) for matrix in found]))
    assert losses["auto"] < losses["none"] / 2


def test_a_release_can_be_smoothed_again_from_what_was_paid_for(make_covariance: Make) -> None:
    release = make_covariance(BASIS, SMOOTH, scale=0.1, seed=12, smoothing="auto")
    plain = release.smooth("none")
    np.testing.assert_array_equal(plain.smoothing.weights, np.ones(21))
    np.testing.assert_array_equal(plain.raw, release.raw)
    np.testing.assert_array_equal(plain.smooth().coordinates, release.coordinates)
    assert plain.certificate.afterwards == ({"what": "smoothing", "was": "auto", "now": "none"},)
    assert plain.smooth().certificate == release.certificate
    for name in FAMILIES:
        assert release.smooth(name).smoothing.name == name


def test_an_unknown_smoothing_is_refused_by_name(make_covariance: Make) -> None:
    with pytest.raises(UsageError, match=r"^Unknown smoothing 'lowess'\. Known are 'auto', 'none',"):
        make_covariance(BASIS, SMOOTH).smooth("lowess")


def test_units_are_those_of_the_curve_whatever_the_length_of_the_domain(make_covariance: Make) -> None:
    """Curves three times as large have nine times the covariance; trace is the mean over the domain of the variance."""
    one = make_covariance(BASIS, SMOOTH, mean=MEAN, lead=0.8, scale=0.01, seed=13, smoothing="auto")
    other = make_covariance(BASIS, 9 * SMOOTH, mean=3 * MEAN, lead=2.4, scale=0.09, seed=13, smoothing="auto")
    t = np.linspace(0, 24, 5)
    np.testing.assert_allclose(other(t, t), 9 * one(t, t), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.mean(t), 3 * one.mean(t), rtol=1e-9)
    assert other.estimated_error == pytest.approx(9 * one.estimated_error)
    points, weights = BASIS.nodes()
    assert one.trace == pytest.approx(weights @ one.variance(points))
    longer = make_covariance(cosine((0.0, 1.0), 6), SMOOTH, mean=MEAN, lead=0.8, scale=0.01, seed=13, smoothing="auto")
    assert longer.trace == pytest.approx(one.trace)


def test_the_mean_is_the_centre_where_none_was_released(make_covariance: Make) -> None:
    centre = np.arange(6.0)
    release = make_covariance(BASIS, SMOOTH, centre=centre, seed=14)
    np.testing.assert_array_equal(release.mean.coordinates, centre)
    around = make_covariance(BASIS, SMOOTH, mean=MEAN, lead=0.5, centre=centre)
    np.testing.assert_allclose(around.mean.coordinates, centre + MEAN)


def test_scores_are_inner_products_with_components(make_covariance: Make) -> None:
    release = make_covariance(BASIS, SMOOTH, mean=MEAN, lead=0.5, centre=np.ones(6), seed=15)
    grid = np.linspace(0, 24, 60)
    scores = np.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])
    components = release.components(3)
    curves = release.mean(grid) + scores @ components(grid)
    np.testing.assert_allclose(release.scores(curves, grid, k=3), scores, atol=1e-9)
    assert release.scores(curves, grid).shape == (2, 2)
    assert release.scores(curves[0], grid, k=1).shape == (1,)


def test_components_are_the_eigenfunctions_where_there_is_hardly_noise(make_covariance: Make) -> None:
    release = make_covariance(BASIS, some_covariance(6), scale=1e-9, seed=16)
    components = release.components(4)
    assert components.certificate.what == "4 principal components"
    assert release.components(1).certificate.what == "1 principal component"
    for component, function in zip(components.components, release.eigenfunctions, strict=False):
        np.testing.assert_allclose(component.coordinates, function.coordinates, atol=1e-6)
    np.testing.assert_allclose(components.explained_variance, release.eigenvalues[:4], rtol=1e-6)
    np.testing.assert_allclose(components.explained_ratio, release.eigenvalues[:4] / release.trace, rtol=1e-6)


@pytest.mark.parametrize("k", [0, 7, -1])
def test_there_are_as_many_components_as_functions(k: int, make_covariance: Make) -> None:
    with pytest.raises(UsageError, match=rf"^There can be 1 to 6 components in this basis, got {k}\.$"):
        make_covariance(BASIS, SMOOTH).components(k)


@pytest.mark.parametrize("smoothing", ["none", "auto"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "exact",
    [np.zeros((6, 6)), np.outer(MEAN, MEAN), np.diag([1.0, 1.0, 1.0, 0.5, 0.5, 0.0]), np.eye(6)],
    ids=["zero", "rank one", "ties", "all tied"],
)
@pytest.mark.parametrize("lead", [0.0, 0.8], ids=["centre", "mean"])
def test_odd_matrices_give_orthonormal_functions_and_finite_numbers(
    lead: float, exact: Array, law: str, smoothing: str, make_covariance: Make
) -> None:
    for seed in (None, 17):
        release = make_covariance(BASIS, exact, lead=lead, law=law, scale=1e-6, seed=seed, smoothing=smoothing)
        t = np.linspace(0, 24, 5)
        np.testing.assert_allclose(release(t, t), BASIS.matrix(t) @ exact @ BASIS.matrix(t).T, atol=1e-3)
        assert np.isfinite(release.estimated_error)
        for k in (1, 3, 6):
            frame = release.components(k).frame
            np.testing.assert_allclose(frame.T @ frame, np.eye(k), atol=1e-9)
            assert np.isfinite(release.components(k).explained_ratio).all()
            assert release.components(k).explained_ratio.sum() <= 1 + 1e-9
        frame = np.stack([function.coordinates for function in release.eigenfunctions])
        np.testing.assert_allclose(frame @ frame.T, np.eye(6), atol=1e-9)


def test_a_single_function_has_a_variance_and_nothing_else(make_covariance: Make) -> None:
    basis = cosine((2, 3), 1)
    release = make_covariance(basis, [[4.0]], mean=[3.0], lead=1.0, law="wishart", scale=0.01, smoothing="auto")
    assert release(2.1, 2.9) == pytest.approx(4.0, abs=1e-9)
    assert release.correlation(2.1, 2.9) == pytest.approx(1.0)
    assert release.eigenvalues.tolist() == pytest.approx([4.0])
    np.testing.assert_array_equal(release.components(1).frame, [[1.0]])
    assert release.components(1).explained_ratio.tolist() == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([25.0], "Points must lie in the domain [0, 24], got points from 25 to 25."),
        ([np.nan], "Points must be finite numbers"),
        ([[1.0, 2.0]], "Points in 1 dimension(s) must have shape (m, 1)"),
    ],
    ids=["outside", "nan", "shape"],
)
def test_points_are_checked(points: Any, text: str, make_covariance: Make) -> None:
    release = make_covariance(BASIS, SMOOTH)
    for call in (
        lambda: release(points, [0.0]),
        lambda: release([0.0], points),
        lambda: release.variance(points),
        lambda: release.correlation([0.0], points),
        lambda: release.noise_deviation(points, [0.0]),
        lambda: release.to_frame(points),
    ):
        with pytest.raises(UsageError, match=re.escape(text)):
            call()


def test_a_frame_has_all_pairs_of_points(make_covariance: Make) -> None:
    release = make_covariance(BASIS, SMOOTH, seed=18)
    frame = release.to_frame([0.0, 6.0, 24.0])
    assert list(frame.columns) == ["s", "t", "value", "noise_deviation"]
    np.testing.assert_array_equal(frame["s"], [0, 0, 0, 6, 6, 6, 24, 24, 24])
    np.testing.assert_array_equal(frame["t"], [0, 6, 24] * 3)
    for s, t, value, deviation in frame.itertuples(index=False):
        assert value == pytest.approx(release(s, t), rel=1e-12)
        assert deviation == pytest.approx(release.noise_deviation(s, t), rel=1e-12)
    assert len(release.to_frame()) == 41**2


def test_a_frame_on_a_box_has_a_column_for_each_side(make_covariance: Make) -> None:
    release = make_covariance(BOX, np.eye(4))
    frame = release.to_frame([[0.0, 10.0], [1.0, 40.0]])
    assert list(frame.columns) == ["s1", "s2", "t1", "t2", "value", "noise_deviation"]
    assert frame["value"].tolist()[1] == pytest.approx(release([[0.0, 10.0]], [[1.0, 40.0]])[0, 0])
    assert len(release.to_frame()) == 81**2


def test_a_frame_without_pandas_names_what_to_install(make_covariance: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"^to_frame\(\) needs pandas: pip install pandas\.$"):
        make_covariance(BASIS, SMOOTH).to_frame()


def test_a_release_prints_in_one_line_without_its_numbers(make_covariance: Make) -> None:
    text = "CovarianceRelease(covariance function of 'scans', (epsilon = 1, delta = 1e-06), 6 coordinates)"
    assert repr(make_covariance(BASIS, SMOOTH)) == text
