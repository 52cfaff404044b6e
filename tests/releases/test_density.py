"""A private density is a density; what it says of itself holds; it comes back from its plain form bit for bit."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from scipy.integrate import quad

from dpfda.arrays import Array
from dpfda.bases import Basis, cosine, tensor
from dpfda.bases.piecewise_constant import equal_steps, steps
from dpfda.errors import MissingExtra, UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.noise import Noise
from dpfda.releases import FAMILIES, Certificate, Count
from dpfda.statistics.density.release import DensityRelease, density_smoothing
from dpfda.statistics.density.smoothing import sides_of, steps_shares

Card = Callable[..., Certificate]

matplotlib.use("Agg")
BASES: dict[str, Basis] = {
    "steps": equal_steps((10.0, 30.0), 24),
    "ages": steps((0.0, 100.0), [0, 1, 5, 15, 30, 60, 100]),
    "rectangle": tensor(equal_steps((0.0, 1.0), 6), equal_steps((-2.0, 2.0), 8)),
    "box": tensor(equal_steps((0, 1), 3), equal_steps((0, 2), 4), equal_steps((0, 3), 3)),
    "cosines": cosine((0.0, 24.0), 9),
    "products": tensor(cosine((0, 1), 4), cosine((0, 5), 4), size=11),
}


def uniform(basis: Basis) -> Array:
    """Coordinates of the uniform density times the volume."""
    points, weights = basis.nodes()
    return weights @ basis.matrix(points)


def make(
    basis: Basis,
    card: Card,
    *,
    exact: Array | None = None,
    deviation: float = 0.3,
    law: str = "radial",
    seed: int | None = 1,
    smoothing: str = "auto",
    count: Count | None = None,
    n: float = 500.0,
) -> DensityRelease:
    scale = deviation / np.sqrt(2) if law == "radial" else deviation
    noise = Noise(law, (1,) * basis.size, (scale,) * basis.size)
    noisy = uniform(basis) if exact is None else exact
    if seed is not None:
        noisy = noisy + noise.from_uniforms(SeededRandomness(seed).uniform((1, noise.dimension)))[0]
    return DensityRelease(
        basis=basis,
        noisy=noisy,
        noise=noise,
        count=count,
        n=n,
        smoothing=density_smoothing(smoothing, noisy, noise, basis, n),
        certificate=card(what="density", domain=basis.domain.sides, size=basis.size, basis=basis.family),
    )


@pytest.mark.parametrize("smoothing", ["auto", "none", "sobolev-2", "james-stein"])
@pytest.mark.parametrize("name", BASES)
def test_every_release_is_a_density_however_large_the_noise(name: str, smoothing: str, card: Card) -> None:
    for deviation in (0.01, 1.0, 50.0):
        release = make(BASES[name], card, deviation=deviation, smoothing=smoothing)
        points = release.points()
        assert (release(points) >= 0).all()
        assert release.integral() == pytest.approx(1.0, abs=1e-9)
        lows, highs = np.array(release.basis.domain.sides).T
        assert release.distribution(highs[None, :])[0] == pytest.approx(1.0, abs=1e-9)
        assert release.distribution(lows[None, :])[0] == pytest.approx(0.0, abs=1e-12)


def test_an_independent_rule_finds_the_integral_one(card: Card) -> None:
    release = make(BASES["steps"], card, deviation=1.0)
    nodes = release.mesh.axes[0]
    total = sum(quad(lambda x: float(release(x)), a, b)[0] for a, b in zip(nodes[:-1:64], nodes[64::64], strict=True))
    assert total == pytest.approx(1.0, abs=1e-6)


def test_without_noise_and_smoothing_steps_are_the_histogram(card: Card) -> None:
    for name in ("steps", "ages", "rectangle", "box"):
        basis = BASES[name]
        sides = sides_of(basis)
        assert sides is not None
        shares = steps_shares(basis, sides)
        probabilities = SeededRandomness(2).uniform((basis.size,))
        probabilities /= probabilities.sum()
        release = make(basis, card, exact=probabilities / np.sqrt(shares), seed=None, smoothing="none")
        points = SeededRandomness(3).uniform((50, basis.domain.dimension))
        lows, highs = np.array(basis.domain.sides).T
        where = lows + (highs - lows) * points
        expected = basis.evaluate(probabilities / np.sqrt(shares), where) / release.volume
        np.testing.assert_allclose(release(where), expected, rtol=1e-9)
        np.testing.assert_allclose(release.raw(where), expected, rtol=1e-12)


def test_the_probability_of_whole_steps_is_the_noisy_one_if_they_need_no_projection(card: Card) -> None:
    basis = BASES["ages"]
    probabilities = np.array([0.1, 0.05, 0.15, 0.2, 0.3, 0.2])
    exact = probabilities / np.sqrt(basis.shares)  # type: ignore[attr-defined]
    release = make(basis, card, exact=exact, seed=None, smoothing="none")
    assert release.integral(1.0, 15.0) == pytest.approx(0.2, abs=1e-12)
    np.testing.assert_allclose(release.quantile([0.1, 0.5, 0.8]), [1.0, 30.0, 60.0], rtol=1e-9)


def smooth_density(points: Array) -> Array:
    values: Array = 1 + 0.6 * np.cos(np.pi * points) - 0.3 * np.cos(3 * np.pi * points)
    return values


def histogram(size: int, points: int = 200_000) -> Array:
    fine = (np.arange(points) + 0.5) / points
    coordinates: Array = smooth_density(fine).reshape(size, -1).mean(axis=1) / np.sqrt(size)
    return coordinates  # of equal steps


def test_smoothing_finds_a_smooth_density_behind_exact_steps(card: Card) -> None:
    """Coordinates of a histogram are those of cosines but for a known factor: nothing is lost by steps."""
    basis = equal_steps((0.0, 1.0), 40)
    release = make(basis, card, exact=histogram(40), deviation=1e-6, seed=None, n=1e12)
    points = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(release(points), smooth_density(points), rtol=0, atol=1e-4)


@pytest.mark.audit
def test_smoothing_is_much_better_than_none_and_knows_its_error(card: Card) -> None:
    """Means over 60 seeded releases; ratios lie five standard errors inside their limits."""
    basis, n = equal_steps((0.0, 1.0), 64), 1000
    points = (np.arange(512) + 0.5) / 512
    squares = {"auto": 0.0, "none": 0.0, "estimated": 0.0}
    for seed in range(60):
        randomness = SeededRandomness(seed)
        probabilities = histogram(64) / np.sqrt(64)
        people = np.bincount(
            np.searchsorted(np.cumsum(probabilities), randomness.uniform((n,))).clip(0, 63), minlength=64
        )
        release = make(basis, card, exact=people / n * 8, deviation=8 * np.sqrt(8) / n, seed=seed + 100, n=n)
        squares["auto"] += float(np.mean((release(points) - smooth_density(points)) ** 2)) / 60
        squares["none"] += float(np.mean((release.smooth("none")(points) - smooth_density(points)) ** 2)) / 60
        squares["estimated"] += release.estimated_error**2 / 60
    assert squares["auto"] < squares["none"] / 5
    assert 0.6 < squares["estimated"] / squares["auto"] < 1.5


def test_the_integral_is_known_and_no_noise_moves_it(card: Card) -> None:
    release = make(BASES["rectangle"], card, exact=3 * uniform(BASES["rectangle"]))
    assert release.coordinates[0] == 1.0
    assert release.frame.known.tolist() == [True] + [False] * 47


@pytest.mark.parametrize("law", ["gaussian", "radial"])
@pytest.mark.parametrize("name", ["steps", "rectangle", "cosines"])
def test_the_band_holds_the_exact_function_at_its_level(name: str, law: str, card: Card) -> None:
    """400 seeded releases at level 0.8: fewer than 292 or, for steps, more than 348 have probability below 1e-4."""
    basis = BASES[name]
    held = 0
    points = make(basis, card).points()
    truth = basis.evaluate(uniform(basis), points) / make(basis, card).volume
    for seed in range(400):
        band = make(basis, card, law=law, seed=seed, smoothing="none").band(0.8, points)
        held += bool(((band.lower <= truth) & (truth <= band.upper)).all())
    assert held > 292
    if name == "steps":
        assert held < 348  # exact: steps are independent


def test_the_band_stands_around_what_was_paid_for_and_widens_with_a_noisy_count(card: Card) -> None:
    basis = BASES["steps"]
    plain = make(basis, card).band()
    counted = make(basis, card, count=Count(500.0, Noise("radial", (1,), (5.0,)))).band()
    np.testing.assert_allclose((plain.lower + plain.upper) / 2, make(basis, card).raw(plain.points), rtol=1e-9)
    assert (counted.upper - counted.lower > plain.upper - plain.lower).all()
    lost = make(basis, card, count=Count(10.0, Noise("radial", (1,), (5.0,)))).band()
    assert np.isinf(lost.upper).all()
    assert np.isinf(lost.lower).all()


def test_a_noisy_count_adds_to_the_estimated_error(card: Card) -> None:
    basis = BASES["steps"]
    plain = make(basis, card)
    counted = make(basis, card, count=Count(500.0, Noise("gaussian", (1,), (25.0,))))
    more = np.sum(plain.coordinates**2) * (25 / 500) ** 2 / 20.0**2
    assert counted.estimated_error**2 == pytest.approx(plain.estimated_error**2 + more, rel=1e-12)


def test_the_error_estimate_is_in_the_units_of_the_density(card: Card) -> None:
    wide, narrow = (make(equal_steps((0.0, length), 24), card) for length in (10.0, 0.1))
    assert narrow.estimated_error == pytest.approx(100 * wide.estimated_error, rel=1e-9)
    np.testing.assert_allclose(narrow(np.linspace(0, 0.1, 7)), 100 * wide(np.linspace(0, 10, 7)), rtol=1e-9)


def test_smoothing_never_shrinks_steps_of_unequal_width(card: Card) -> None:
    for name in ("auto", *FAMILIES):
        release = make(BASES["ages"], card, smoothing=name)
        np.testing.assert_array_equal(release.smoothing.weights, np.ones(6))
        assert release.frame.basis == BASES["ages"]


def test_an_unknown_smoothing_is_refused(card: Card) -> None:
    with pytest.raises(UsageError, match="Unknown smoothing 'lowess'"):
        make(BASES["steps"], card).smooth("lowess")


def test_what_the_mesh_tells_the_release_tells_too(card: Card) -> None:
    release = make(BASES["rectangle"], card, deviation=0.2)
    np.testing.assert_array_equal(release.mean(), release.mesh.mean())
    np.testing.assert_array_equal(release.variance(), release.mesh.variance())
    np.testing.assert_array_equal(release.sample(7, seed=3), release.mesh.sample(7, seed=3))
    assert release.sample(7, seed=3).shape == (7, 2)
    assert release.marginal(1).integral(-2.0, 0.0) == pytest.approx(release.integral([0, -2], [1, 0]), abs=1e-12)
    assert release.kernel(0.3).integral() == pytest.approx(1.0, abs=1e-12)
    assert release.kernel(0.3).values.max() < release.mesh.values.max()
    line = make(BASES["steps"], card)
    assert line.distribution(line.quantile(0.3)) == pytest.approx(0.3, abs=1e-12)
    assert line.sample(3).shape == (3,)
    assert line(20.0).shape == line.raw(20.0).shape == ()


def test_a_data_frame_has_density_distribution_and_band(card: Card) -> None:
    frame = make(BASES["steps"], card).to_frame([10.0, 20.0, 30.0])
    assert frame.columns.tolist() == ["x", "density", "distribution", "lower", "upper"]
    assert frame["distribution"].tolist()[::2] == pytest.approx([0.0, 1.0], abs=1e-12)
    box = make(BASES["box"], card).to_frame()
    assert box.columns.tolist() == ["x1", "x2", "x3", "density", "lower", "upper"]
    assert len(box) == 9**3


def test_a_data_frame_needs_pandas(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=re.escape("to_frame() needs pandas: pip install pandas.")):
        make(BASES["steps"], card).to_frame()


def test_pictures_show_the_density_and_its_band(card: Card) -> None:
    from matplotlib import pyplot

    ax = make(BASES["steps"], card).plot()
    assert len(ax.lines) == 1
    assert len(ax.collections) == 1
    assert "private density (smoothing: auto), error about" in ax.get_legend().get_texts()[1].get_text()
    lost = make(BASES["steps"], card, count=Count(10.0, Noise("radial", (1,), (5.0,)))).plot()
    assert not lost.collections
    coloured = make(BASES["rectangle"], card).plot()
    assert coloured.get_ylabel() == "x2"
    with pytest.raises(UsageError, match=re.escape("this one has 3 sides. Draw a marginal(axis).")):
        make(BASES["box"], card).plot()
    pyplot.close("all")


@pytest.mark.parametrize("count", [None, Count(321.5, Noise("radial", (1,), (2.5,)))], ids=["public", "noisy"])
@pytest.mark.parametrize("name", BASES)
def test_the_plain_form_gives_the_same_release_back(name: str, count: Count | None, card: Card) -> None:
    release = make(BASES[name], card, count=count)
    data = json.loads(json.dumps(release.to_plain()))
    again = DensityRelease.from_plain(data, release.basis, release.certificate)
    np.testing.assert_array_equal(again.noisy, release.noisy)
    np.testing.assert_array_equal(again.mesh.values, release.mesh.values)
    assert again.estimated_error == release.estimated_error
    assert again.count == count
    assert again.to_plain() == release.to_plain()


def damaged(change: dict[str, Any], release: DensityRelease) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(release.to_plain()))
    for key, value in change.items():
        if "." in key:
            data[key.split(".")[0]][key.split(".")[1]] = value
        else:
            data[key] = value
    return data


@pytest.mark.parametrize(
    "change",
    [
        {"noisy": [1.0]},
        {"noisy": [1e200] * 24},
        {"n": 0.0},
        {"n": "many"},
        {"smoothing.name": "lowess"},
        {"smoothing.weights": [1.0, 2.0]},
        {"smoothing.risk": float("nan")},
        {"noise": {"law": "wishart", "sizes": [24], "scales": [1.0]}},
        {"noise": {"law": "radial", "sizes": [23], "scales": [1.0]}},
        {"count": {"value": -1.0, "noise": {"law": "radial", "sizes": [1], "scales": [1.0]}}},
    ],
    ids=["short", "huge", "nobody", "text", "name", "weights", "risk", "law", "size", "count"],
)
def test_a_damaged_plain_form_is_an_error(change: dict[str, Any], card: Card) -> None:
    release = make(BASES["steps"], card)
    with pytest.raises((ValueError, ArithmeticError, TypeError, LookupError)):
        DensityRelease.from_plain(damaged(change, release), release.basis, release.certificate)


def test_its_repr_names_the_data_and_the_guarantee(card: Card) -> None:
    assert repr(make(BASES["steps"], card)) == (
        "DensityRelease(density of 'scans', (epsilon = 1, delta = 1e-06), 24 coordinates)"
    )
