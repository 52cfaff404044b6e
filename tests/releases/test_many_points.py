"""So many points can be asked for in one call: more get one of our errors, and none takes all memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.bases import base, bernstein, by_name, cosine, reinsch
from dpfda.bases.projection import MOST_ENTRIES
from dpfda.errors import UsageError
from dpfda.mechanisms.noise import Noise
from dpfda.releases import Release
from dpfda.statistics.density import mesh as density_mesh

T = np.linspace(0.0, 1.0, 9)
KNOWN = {"epsilon": 1e3, "delta": 1e-6, "force": True}


@cache
def release_of(kind: str) -> Any:
    rng = np.random.default_rng(1)
    curves, x = 0.1 * rng.normal(size=(200, 9)), rng.uniform(size=(200, 1))
    made: dict[str, Callable[[], Any]] = {
        "mean": lambda: dpfda.MeanFunction(**KNOWN, bound=1.0, size=6).fit(curves),
        "covariance": lambda: dpfda.CovarianceFunction(**KNOWN, bound=1.0, size=6).fit(curves),
        "components": lambda: dpfda.FPCA(2, **KNOWN, bound=1.0, size=6).fit(curves),
        "regression": lambda: dpfda.FunctionOnScalarRegression(
            **KNOWN, bound=1.0, size=6, covariate_limits=[(0, 1)]
        ).fit(x, curves),
        "density": lambda: dpfda.DensityFunction(**KNOWN, domain=(0, 1)).fit(x[:, 0]),
        "machine": lambda: dpfda.KernelClassifier(**KNOWN, domain=(0, 1), features=5, classes=(0, 1)).fit(
            x, (x[:, 0] > 0.5).astype(int)
        ),
    }
    return made[kind]().release_


CALLS: dict[str, tuple[str, Callable[[Any, Any], object]]] = {
    "value": ("mean", lambda release, points: release(points)),
    "derivative": ("mean", lambda release, points: release.derivative(1)(points)),
    "band": ("mean", lambda release, points: release.band(points=points)),
    "frame": ("mean", lambda release, points: release.to_frame(points)),
    "variance": ("covariance", lambda release, points: release.variance(points)),
    "covariance": ("covariance", lambda release, points: release(points, 0.5)),
    "correlation": ("covariance", lambda release, points: release.correlation(0.5, points)),
    "noise of a covariance": ("covariance", lambda release, points: release.noise_deviation(points, 0.5)),
    "frame of a covariance": ("covariance", lambda release, points: release.to_frame(points)),
    "components": ("components", lambda release, points: release(points)),
    "curves of scores": ("components", lambda release, points: release.curves([1.0, 1.0], points)),
    "frame of components": ("components", lambda release, points: release.to_frame(points)),
    "coefficient": ("regression", lambda release, points: release.coefficient(0)(points)),
    "predicted curves": ("regression", lambda release, points: release.predict([[0.5]], points)),
    "band of a coefficient": ("regression", lambda release, points: release.band(0, 0.9, points)),
    "noise of a coefficient": ("regression", lambda release, points: release.noise_deviation(0, points)),
    "frame of a regression": ("regression", lambda release, points: release.to_frame(points)),
    "density": ("density", lambda release, points: release(points)),
    "raw density": ("density", lambda release, points: release.raw(points)),
    "distribution": ("density", lambda release, points: release.distribution(points)),
    "quantile": ("density", lambda release, points: release.quantile(points)),
    "band of a density": ("density", lambda release, points: release.band(0.9, points)),
    "frame of a density": ("density", lambda release, points: release.to_frame(points)),
    "machine": ("machine", lambda release, points: release(points)),
    "prediction": ("machine", lambda release, points: release.predict(points)),
    "noise of a machine": ("machine", lambda release, points: release.noise_deviation(points)),
    "frame of a machine": ("machine", lambda release, points: release.to_frame(points)),
}
every = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


@every
@pytest.mark.parametrize(
    ("count", "dtype", "text"),
    [
        (
            10_000_001,
            np.float64,
            r"^At most (10000000|5000000) (points|probabilities) can be asked for at once here, got 10000001\.",
        ),
        (10**9, np.float64, r"^(Points|Probabilities) are at most 134217728 numbers at a time, got 1000000000\."),
        (10**9, np.float32, r"^(Points|Probabilities) are at most 134217728 numbers at a time, got 1000000000\."),
    ],
    ids=["more than the limit", "more than memory", "more than memory, of another kind"],
)
def test_too_many_points_are_refused_before_anything_is_computed(
    call: tuple[str, Callable[[Any, Any], object]], count: int, dtype: type, text: str
) -> None:
    kind, ask = call
    with pytest.raises(UsageError, match=text):
        ask(release_of(kind), np.broadcast_to(dtype(0.5), (count,)))


@every
def test_points_in_blocks_give_the_values_of_all_at_once(
    call: tuple[str, Callable[[Any, Any], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, ask = call
    points = np.linspace(0.0, 1.0, 23)
    whole = ask(release_of(kind), points)
    monkeypatch.setattr(base, "AT_ONCE", 30)
    monkeypatch.setattr(density_mesh, "BATCH", 1000)
    found = ask(release_of(kind), points)
    for one, other in zip(_numbers(whole), _numbers(found), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def _numbers(found: Any) -> list[Any]:
    if hasattr(found, "columns"):
        return [found[name].to_numpy() for name in found.columns if name not in ("coefficient", "prediction")]
    return [found.lower, found.upper] if hasattr(found, "lower") else [found]


def test_pairs_of_points_count_for_a_covariance() -> None:
    points = np.linspace(0, 1, 4000)
    release = release_of("covariance")
    for ask in (release, release.correlation, release.noise_deviation):
        with pytest.raises(
            UsageError, match="At most 10000000 pairs of points can be asked for at once here, got 1600"
        ):
            ask(points, points)
    with pytest.raises(UsageError, match="At most 10000000 pairs of points"):
        release.to_frame(points)


def test_the_noise_of_a_covariance_is_the_same_from_both_sides() -> None:
    release, few, many = release_of("covariance"), np.array([0.2, 0.9]), np.linspace(0, 1, 7)
    np.testing.assert_allclose(release.noise_deviation(few, many), release.noise_deviation(many, few).T, rtol=1e-12)


def test_more_functions_take_fewer_points(make_release: Callable[..., Release]) -> None:
    release = make_release(reinsch((0, 1), 1024), np.zeros(1024), Noise("gaussian", (1024,), (1.0,)))
    for ask in (release, release.band, release.to_frame):
        with pytest.raises(UsageError, match="At most 131072 points can be asked for at once here, got 131073"):
            ask(points=np.zeros(131_073))


def test_points_of_a_picture_can_be_asked_of_any_basis() -> None:
    assert len(by_name("cosine", [(0, 1)] * 3, 2048).asked(np.zeros((41**3, 3)))) == 68_921


def test_a_density_with_many_nodes_takes_fewer_points() -> None:
    mesh = density_mesh.Mesh((np.linspace(0, 1, 4097),), np.ones(4097))
    for ask in (mesh, mesh.distribution):
        with pytest.raises(UsageError, match=f"At most {2**30 // 4097} points can be asked for at once here"):
            ask(np.zeros(300_000))


def test_so_many_values_and_curves_are_predicted_at_once() -> None:
    release = release_of("regression")
    with pytest.raises(UsageError, match="At most 10000000 values can be asked for at once here, got 20000000"):
        release.predict(np.zeros((200_000, 1)), np.linspace(0, 1, 100))
    with pytest.raises(UsageError, match="At most 100000 curves can be asked for at once here, got 100001"):
        release.curves(np.zeros((100_001, 1)))
    with pytest.raises(UsageError, match=r"At most \d+ curves can be asked for at once here, got 20000000"):
        release.predict(np.broadcast_to(0.0, (20_000_000, 1)), [0.5])
    with pytest.raises(UsageError, match="At most 10000000 values"):
        release_of("components").curves(np.zeros((2_000_000, 2)), np.linspace(0, 1, 100))


def test_an_exact_machine_says_its_noise_at_some_points() -> None:
    est = dpfda.KernelClassifier(**KNOWN, domain=(0, 1), mechanism="gp", features=None, classes=(0, 1))
    with pytest.raises(UsageError, match="At most 100000 points can be asked for at once here, got 100001"):
        est.plan(n=100).noise_deviation(np.zeros(100_001))


def test_a_grid_with_too_many_points_for_its_functions_is_refused() -> None:
    basis, count = cosine((0, 1), 2048), MOST_ENTRIES // 2048
    text = re.escape(f"A basis of 2048 functions takes grids of at most {count} points, got {count + 1}. Take fewer")
    with pytest.raises(UsageError, match=text):
        basis.projection(np.linspace(0, 1, count + 1))


def test_a_long_uneven_grid_is_projected_without_a_table_of_its_pairs() -> None:
    """100,000 points in a tenth of the domain: pairs of them would take 80 gigabytes."""
    grid = np.linspace(0.0, 0.1, 100_000)
    assert bernstein((0, 1), 3).projection(grid, method="quadrature").shape == (3, 100_000)
    assert np.isfinite(cosine((0, 1), 3).coordinates(np.cos(grid), grid)).all()
