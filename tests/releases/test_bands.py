"""A band covers the exact curve everywhere at once, at its level, and is hardly wider than it must be."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

from dpfda.arrays import Array
from dpfda.bases import Basis, base, beam, bernstein, by_name, cosine, equal_steps, legendre, tensor
from dpfda.bases.tensor import Tensor
from dpfda.errors import UsageError
from dpfda.mechanisms import KNorm, Laplace, SeededRandomness
from dpfda.mechanisms.noise import Noise, NoiseLaw
from dpfda.releases import Count, Release, bands
from dpfda.releases.bands import quantile, studentised_suprema, suprema_of

MakeRelease = Callable[..., Release]
Draw = Callable[[NoiseLaw, int, SeededRandomness], Array]
ALARM = 1e-6  # the chance of a false alarm of each binomial test; seeds are fixed, so none comes up by luck


def cut(size: int, block: int) -> tuple[int, ...]:
    """Blocks of one size, and the rest."""
    return (block,) * (size // block) + ((size % block,) if size % block else ())


def noise_law(law: str, size: int, block: int) -> NoiseLaw:
    """Unequal scales, so that the band has to follow them."""
    sizes = cut(size, block)
    return Noise(law, sizes, tuple(np.linspace(1.0, 2.0, len(sizes))))


def keeps_its_level(covered: Array, level: float, *, waste: float) -> None:
    """Coverage is at least the level, and at most the level and a bit, by binomial tests at ALARM."""
    hits, size = int(covered.sum()), len(covered)
    assert binomtest(hits, size, level, alternative="less").pvalue > ALARM, hits / size
    assert binomtest(hits, size, min(level + waste, 1.0), alternative="greater").pvalue > ALARM, hits / size


def paths(noise: NoiseLaw, functions: Array, deviation: Array, size: int, seed: int, draw: Draw) -> Array:
    """Suprema of `|noise(t)| / deviation(t)` over the rows of functions, by brute force, (size,)."""
    randomness, scaled = SeededRandomness(seed), (functions / deviation[:, None]).T
    parts = [np.abs(draw(noise, 2000, randomness) @ scaled).max(axis=1) for _ in range(size // 2000)]
    return np.concatenate(parts)


def half_width(release: Release, level: float, points: Array) -> Array:
    band = release.band(level, points)
    return (band.upper - band.lower) / 2


def check_band(basis: Basis, noise: NoiseLaw, make: MakeRelease, draw: Draw, *, size: int, grid: int) -> None:
    """Coverage at three levels, and the width against the quantile of brute force at one."""
    points = basis.domain.grid(grid)
    functions = basis.matrix(points)
    deviation = np.sqrt(functions**2 @ noise.variances)
    release = make(basis, np.zeros(basis.size), noise)
    suprema = paths(noise, functions, deviation, size, seed=basis.size, draw=draw)
    for level in (0.5, 0.9, 0.95):
        reach = half_width(release, level, points) / deviation
        # The band has the shape of the deviation, so a path is covered where its supremum is.
        assert np.ptp(reach) < 1e-9 * reach.max()
        keeps_its_level(suprema <= reach.min(), level, waste=0.05 if level == 0.5 else 0.02)
        if level == 0.9:
            assert 1.0 <= reach.min() / np.quantile(suprema, level) < 1.03


@pytest.mark.parametrize(("law", "block"), [("gaussian", 33), ("radial", 1), ("radial", 4), ("radial", 8)])
@pytest.mark.parametrize("size", [1, 5, 33])
@pytest.mark.parametrize("family", ["beam", "cosine", "legendre"])
def test_the_band_covers_the_whole_curve_at_its_level_and_is_not_wide(
    family: str, size: int, law: str, block: int, make_release: MakeRelease, draw_noise: Draw
) -> None:
    """100,000 or 10,000 paths on 20 points a half-wave; binomial tests at 1e-6, and 3 % of width."""
    basis = by_name(family, (-2, 3), size)
    check_band(
        basis,
        noise_law(law, size, block),
        make_release,
        draw_noise,
        size=100_000 if size < 10 else 10_000,
        grid=20 * size + 7,
    )


@pytest.mark.parametrize("law", ["gaussian", "radial"])
@pytest.mark.parametrize(
    "basis",
    [tensor(cosine((0, 2), 4), legendre((-1, 1), 3), size=9), bernstein((0, 1), 8)],
    ids=["surface", "bernstein"],
)
def test_the_band_keeps_its_level_on_a_box_and_without_orthonormality(
    basis: Basis, law: str, make_release: MakeRelease, draw_noise: Draw
) -> None:
    """10,000 paths; binomial tests at 1e-6, and 3 % of width."""
    grid = 300 if basis.domain.dimension == 1 else 40
    check_band(basis, noise_law(law, basis.size, 4), make_release, draw_noise, size=10_000, grid=grid)


@pytest.mark.audit
def test_the_band_covers_when_smoothing_was_chosen_from_the_same_coordinates(
    make_release: MakeRelease, draw_noise: Draw
) -> None:
    """2000 whole releases with a band each, around a smooth curve; binomial tests at 1e-6."""
    basis, noise = beam((0, 24), 12), noise_law("radial", 12, 4)
    exact, centre = 20.0 / np.arange(1, 13) ** 2, np.eye(12)[0] * 7
    points = np.linspace(0, 24, 400)
    truth = basis.evaluate(exact + centre, points)
    covered, moved = [], []
    for seed in range(2000):
        release = make_release(basis, exact, noise, seed=seed, smoothing="auto", centre=centre)
        band = release.band(0.9, points)
        covered.append(((band.lower <= truth) & (truth <= band.upper)).all())
        moved.append(release.smoothing.weights.min())
    assert np.median(moved) < 0.6
    keeps_its_level(np.array(covered), 0.9, waste=0.02)


def test_the_band_does_not_change_with_smoothing(make_release: MakeRelease) -> None:
    basis = cosine((0, 1), 20)
    release = make_release(basis, np.zeros(20), noise_law("gaussian", 20, 20), smoothing="auto")
    for name in ("none", "sobolev-8", "james-stein"):
        one, other = release.band(0.95), release.smooth(name).band(0.95)
        np.testing.assert_array_equal(one.lower, other.lower)
        np.testing.assert_array_equal(one.upper, other.upper)


def counted(
    noise: NoiseLaw,
    of_count: NoiseLaw,
    exact: Array,
    units: int,
    seed: int,
    draw: Draw,
    make: MakeRelease,
    basis: Basis,
) -> Release:
    """What a release under add-or-remove-one is: a noisy sum over a noisy count."""
    randomness = SeededRandomness(seed)
    noisy_count = max(units + float(draw(of_count, 1, randomness)[0, 0]), 1.0)
    law = noise.scaled(1 / noisy_count)
    release = make(basis, np.zeros(basis.size), law, count=Count(noisy_count, of_count), n_is_noisy=True)
    sums = units * exact + draw(noise, 1, randomness)[0]
    object.__setattr__(release, "noisy", sums / noisy_count)
    return release


@pytest.mark.audit
@pytest.mark.parametrize("law", ["gaussian", "radial"])
@pytest.mark.parametrize(
    ("units", "spread", "waste"),
    [(4000, 0.1, 0.03), (4000, 10.0, 0.1), (60, 12.0, 0.1)],
    ids=["count nearly exact", "count matters", "few units"],
)
def test_the_band_covers_the_exact_mean_when_the_count_is_noisy_too(
    units: int, spread: float, waste: float, law: str, make_release: MakeRelease, draw_noise: Draw
) -> None:
    """2000 releases of a noisy sum over a noisy count; binomial tests at 1e-6.

    What the count does is bounded, not computed: where it matters the band may cover always.
    """
    basis, noise = legendre((0, 1), 5), noise_law(law, 5, 4).scaled(30.0)
    of_count = Noise(law, (1,), (spread,))
    exact, points = np.array([3.0, -2.0, 1.0, 0.5, 0.0]), np.linspace(0, 1, 150)
    truth = basis.evaluate(exact, points)
    covered, infinite = [], 0
    for seed in range(2000):
        release = counted(noise, of_count, exact, units, seed, draw_noise, make_release, basis)
        band = release.band(0.9, points)
        covered.append(((band.lower <= truth) & (truth <= band.upper)).all())
        infinite += bool(np.isinf(band.upper).any())
    keeps_its_level(np.array(covered), 0.9, waste=waste)
    assert (infinite > 0) == (units == 60)
    assert infinite < 1000


def test_a_count_that_could_be_zero_gives_an_infinite_band(make_release: MakeRelease) -> None:
    count = Count(3.0, Noise("gaussian", (1,), (2.0,)))
    release = make_release(legendre((0, 1), 2), [1, 1], Noise("gaussian", (2,), (1.0,)), count=count)
    band = release.band(0.95)
    assert (band.lower == -np.inf).all()
    assert (band.upper == np.inf).all()
    assert np.isfinite(release.estimated_error)


@pytest.mark.parametrize(("law", "tail"), [("gaussian", 2.5758293035489004), ("radial", 4.605170185988092)])
def test_the_reach_of_a_count_is_the_quantile_of_its_noise(law: str, tail: float) -> None:
    """One percent of a normal law lies beyond 2.576 deviations, of a Laplace law beyond log(100) scales."""
    assert Count(10.0, Noise(law, (1,), (3.0,))).reach(0.01) == pytest.approx(3 * tail)


def test_a_noisy_count_adds_to_the_estimated_error(make_release: MakeRelease) -> None:
    """A count of 100 with deviation 5 moves a curve of norm 3 by 0.15."""
    basis, noise = legendre((0, 1), 2), Noise("gaussian", (2,), (1e-6,))
    plain = make_release(basis, [3, 0], noise)
    both = make_release(basis, [3, 0], noise, count=Count(100.0, Noise("gaussian", (1,), (5.0,))), centre=[50, 0])
    assert plain.estimated_error == pytest.approx(1e-6 * np.sqrt(2))
    assert both.estimated_error == pytest.approx(0.15, rel=1e-4)


def test_the_band_leaves_room_for_rounding_to_the_lattice(make_release: MakeRelease) -> None:
    basis, noise = legendre((0, 1), 3), Noise("gaussian", (3,), (1.0,))
    without, room = (make_release(basis, np.zeros(3), noise, lattice_step=step) for step in (0.0, 0.25))
    points = np.linspace(0, 1, 9)
    wider = half_width(room, 0.9, points) - half_width(without, 0.9, points)
    np.testing.assert_allclose(wider, 0.25 * np.abs(basis.matrix(points)).sum(axis=1))


def test_the_band_is_the_same_every_time(make_release: MakeRelease) -> None:
    release = make_release(beam((0, 1), 20), np.zeros(20), noise_law("radial", 20, 8))
    one = release.band(0.95)
    studentised_suprema.cache_clear()
    other = release.band(0.95)
    np.testing.assert_array_equal(one.lower, other.lower)
    np.testing.assert_array_equal(one.upper, other.upper)


def test_the_band_stands_around_the_coordinates_as_paid_for(make_release: MakeRelease) -> None:
    basis = cosine((2, 5), 6)
    release = make_release(basis, np.ones(6), noise_law("gaussian", 6, 6), centre=np.arange(6.0), smoothing="auto")
    points = [2.0, 3.3, 5.0]
    band = release.band(0.9, points)
    middle = basis.evaluate(release.noisy + release.centre, points)
    np.testing.assert_allclose((band.lower + band.upper) / 2, middle, rtol=1e-12)
    np.testing.assert_array_equal(band.points, points)
    assert band.level == 0.9
    assert release.band().points.shape == (101,)


def test_a_higher_level_gives_a_wider_band(make_release: MakeRelease) -> None:
    release = make_release(cosine((0, 1), 9), np.zeros(9), noise_law("radial", 9, 4))
    widths = [half_width(release, level, np.array([0.3]))[0] for level in (0.01, 0.5, 0.9, 0.95, 0.99, 0.998)]
    assert (np.diff(widths) > 0).all()


@pytest.mark.parametrize("factor", [1e-60, 1e-20, 1e60])
def test_the_band_goes_with_the_units_of_the_curve(factor: float, make_release: MakeRelease) -> None:
    noise = noise_law("radial", 9, 4)
    points = np.linspace(0, 1, 20)
    one = half_width(make_release(cosine((0, 1), 9), np.zeros(9), noise), 0.9, points)
    other = half_width(make_release(cosine((0, 1), 9), np.zeros(9), noise.scaled(factor)), 0.9, points)
    np.testing.assert_allclose(other, factor * one, rtol=1e-8)


@pytest.mark.parametrize("noisy_count", [False, True])
@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 1.5, float("nan")])
def test_a_level_outside_the_unit_interval_is_refused(
    level: float, noisy_count: bool, make_release: MakeRelease
) -> None:
    count = Count(900.0, Noise("gaussian", (1,), (1.0,))) if noisy_count else None
    release = make_release(cosine((0, 1), 3), np.zeros(3), Noise("gaussian", (3,), (1.0,)), count=count)
    text = f"level must lie strictly between 0 and 1, got {level!r}. Common is 0.95."
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        release.band(level)


@pytest.mark.parametrize("noisy_count", [False, True])
def test_a_level_beyond_the_table_is_refused_as_it_was_typed(noisy_count: bool, make_release: MakeRelease) -> None:
    count = Count(900.0, Noise("gaussian", (1,), (1.0,))) if noisy_count else None
    release = make_release(cosine((0, 1), 20), np.zeros(20), Noise("gaussian", (20,), (1.0,)), count=count)
    text = "level = 0.9985 is beyond what the noise law is tabulated for: at most 0.998."
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        release.band(0.9985)
    assert np.isfinite(release.band(0.998).upper).all()


@pytest.mark.audit
@pytest.mark.parametrize(("law", "block"), [("gaussian", 300), ("radial", 1), ("radial", 8)])
@pytest.mark.parametrize("size", [9, 17, 70, 200])
@pytest.mark.parametrize("family", ["beam", "cosine", "legendre", "bspline", "fourier"])
def test_the_band_keeps_its_level_in_every_family_and_many_sizes(
    family: str, size: int, law: str, block: int, make_release: MakeRelease, draw_noise: Draw
) -> None:
    """40,000 or 10,000 paths on 24 points a half-wave; binomial tests at 1e-6, and 3 % of width."""
    basis = by_name(family, (0, 1), size)
    check_band(
        basis,
        noise_law(law, size, block),
        make_release,
        draw_noise,
        size=40_000 if size < 50 else 10_000,
        grid=24 * size + 7,
    )


@pytest.mark.audit
@pytest.mark.parametrize("block", [1, 4, 8])
def test_the_band_covers_what_the_mechanisms_draw(block: int, make_release: MakeRelease) -> None:
    """4000 draws of the integer samplers, seeded; binomial tests at 1e-6."""
    size, scale, step = 24, 2.0**16, 2.0**-16
    mechanism = Laplace() if block == 1 else KNorm((block,) * (size // block), tuple(np.linspace(1, 2, size // block)))
    noise = mechanism.noise(scale, size).scaled(step)
    basis, randomness = beam((0, 1), size), SeededRandomness(12)
    points = np.linspace(0, 1, 30 * size)
    functions = basis.matrix(points)
    half = half_width(make_release(basis, np.zeros(size), noise, lattice_step=step), 0.9, points)
    zeros = np.zeros(size, dtype=np.int64)
    covered = [
        (np.abs(functions @ (mechanism.draw(zeros, scale, randomness=randomness) * step)) <= half).all()
        for _ in range(4000)
    ]
    keeps_its_level(np.array(covered), 0.9, waste=0.02)


@pytest.mark.parametrize("size", [12, 30])
def test_on_a_box_sums_along_sides_find_the_same_suprema(size: int) -> None:
    """The grid of the sums holds the nodes of the basis and the edges too: between them a path hardly rises."""
    basis = tensor(cosine((0, 1), 6), legendre((0, 2), 5), size=size)
    drawn = np.random.default_rng(5).normal(size=(200, size)).astype(np.float32)
    variances = np.linspace(1.0, 2.0, size)
    functions = basis.matrix(basis.peaks())
    scaled = functions / np.sqrt(functions**2 @ variances)[:, None]
    direct = np.sort(np.abs(drawn @ scaled.T).max(axis=1)) * 1.005
    found = suprema_of(basis, drawn, variances)
    assert (found >= direct * (1 - 1e-5)).all()
    assert found == pytest.approx(direct, rel=0.02)


def test_tables_in_blocks_give_the_suprema_of_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    basis, variances = beam((0, 1), 20), np.linspace(1.0, 2.0, 20)
    drawn = np.random.default_rng(6).normal(size=(100, 20)).astype(np.float32)
    whole = suprema_of(basis, drawn, variances)
    monkeypatch.setattr(base, "AT_ONCE", 100)
    assert suprema_of(basis, drawn, variances) == pytest.approx(whole, rel=1e-6)


def test_steps_are_looked_at_once_each() -> None:
    basis = equal_steps((0, 3), 5)
    assert basis.peaks().shape == (5, 1)
    assert np.count_nonzero(basis.matrix(basis.peaks())) == 5


def test_fewer_paths_are_drawn_where_each_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Noise("gaussian", (20,), (1.0,))
    studentised_suprema.cache_clear()
    whole = studentised_suprema(cosine((0, 1), 20), noise)
    monkeypatch.setattr(bands, "MOST_WORK", 2**21)
    studentised_suprema.cache_clear()
    few = studentised_suprema(cosine((0, 1), 20), noise)
    studentised_suprema.cache_clear()
    assert (len(whole), len(few)) == (2**13, 2**10)
    # Beyond the sample a quarter is added; within it a quantile is on the safe side.
    assert quantile(few, 0.998) == few[-1] * 1.25
    assert quantile(whole, 0.95) <= quantile(few, 0.95) <= 1.1 * quantile(whole, 0.95)


@pytest.mark.parametrize(("sides", "size"), [(2, 400), (3, 216)])
def test_a_release_on_a_box_of_hundreds_of_functions_has_a_band(
    sides: int, size: int, make_release: MakeRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its functions at all nodes would be a table of gigabytes: no table is larger than the limit."""
    basis = by_name("cosine", [(0, 1)] * sides, size)
    release = make_release(basis, np.zeros(size), Noise("gaussian", (size,), (1.0,)))
    monkeypatch.setattr(bands, "MOST_WORK", 2**33)
    made: list[int] = []
    functions = Tensor.functions

    def counted(self: Tensor, points: Array, order: tuple[int, ...]) -> Array:
        made.append(len(points) * self.size)
        return functions(self, points, order)

    monkeypatch.setattr(Tensor, "functions", counted)
    band = release.band(points=[[0.5] * sides, [0.0] * sides])
    assert (band.lower < band.upper).all()
    assert release.inner(lambda points: np.ones(len(points))) == pytest.approx(release.integral(), abs=1e-9)
    assert release.tested
    assert max(made, default=0) <= base.AT_ONCE


def test_a_band_over_too_many_functions_along_one_side_is_refused(make_release: MakeRelease) -> None:
    basis = tensor(cosine((0, 1), 4096), cosine((0, 1), 1))
    release = make_release(basis, np.zeros(4096), Noise("gaussian", (4096,), (1.0,)))
    with pytest.raises(
        UsageError, match="would take minutes, or all memory: there are too many of them along one side"
    ):
        release.band(points=[[0.5, 0.5]])
    assert release([[0.5, 0.5]]).shape == (1,)


def test_a_box_is_summed_last_over_the_side_with_fewest_functions() -> None:
    for factors in ((cosine((0, 1), 30), legendre((0, 1), 2)), (legendre((0, 1), 2), cosine((0, 1), 30))):
        grid = bands._Grid.of(tensor(*factors))
        assert [table.shape[1] for table in grid.tables] == [2, 30]
        # Along the many first: 30 functions at 482 points, twice; then 2 functions at all points of the grid.
        assert grid.work == 482 * 30 * 2 + 482 * 34 * (2 + 8)
