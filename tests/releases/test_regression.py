"""Releases of coefficient functions: own units, bands that keep their level, ridge, smoothing, plain data."""

from __future__ import annotations

import json
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import binom

from dpfda import bases
from dpfda.bases.symmetric import pack, packed_size, unpack
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.noise import Noise
from dpfda.releases.bands import multiplier
from dpfda.statistics.regression.covariates import Covariates, check_limits
from dpfda.statistics.regression.perturbation import Equations, best_ridges, quantile, spread, suprema
from dpfda.statistics.regression.release import RegressionRelease, check_ridge, finite_from

mpl.use("Agg")

BASIS = bases.legendre((0, 1), 5)
LEAD = 0.6
AGE = Covariates(("age", "sex"), ((20.0, 80.0), (0.0, 1.0)), None, (50.0, 0.5), (30.0 * 2**0.5, 0.5 * 2**0.5), True)
PLAIN = Covariates(("z1",), None, 2.0, (0.0,), (2.0,), False)
POINTS = np.linspace(0, 1, 41)


def design(covariates, people, seed=0):
    """Scaled covariates of people, led by the constant, (people, side)."""
    scaled = SeededRandomness(seed).uniform((people, covariates.size)) * 2 - 1
    scaled /= covariates.size**0.5
    lead = np.full((people, covariates.side - covariates.size), LEAD)
    return np.concatenate([lead, scaled], axis=1)


def exact(covariates, seed=0, people=400):
    """The mean of z z' and of z y' for curves that follow a linear model, and its coefficients."""
    z = design(covariates, people, seed)
    beta = SeededRandomness(seed + 1).normal((covariates.side, BASIS.size)) * 0.4
    y = z @ beta + 0.1 * SeededRandomness(seed + 2).normal((people, BASIS.size))
    moments, products = z.T @ z / people, z.T @ y / people
    return moments, products, np.linalg.solve(moments, products)


def law(covariates, kind, scale):
    """Noise with a deviation of about `scale` in every entry, moments first; rows of the products differ in size."""
    entries = packed_size(covariates.side)
    if kind == "gaussian":
        return Noise("gaussian", (entries, covariates.side * BASIS.size), (scale, 1.5 * scale))
    rows = [scale * (1 + row) for row in range(covariates.side) for _ in (0, 1)]
    return Noise("radial", (entries, *((2, 3) * covariates.side)), (scale / (entries + 1) ** 0.5, *rows))


def make(card, covariates=AGE, kind="gaussian", scale=1e-3, noise_vector=None, smoothing="none", ridge=0.0, **changes):
    moments, products, _ = exact(covariates)
    noise = law(covariates, kind, scale)
    vector = np.zeros(noise.size) if noise_vector is None else noise_vector
    entries = packed_size(covariates.side)
    return RegressionRelease(
        basis=BASIS,
        covariates=covariates,
        lead=LEAD if covariates.intercept else 0.0,
        moments=pack(moments) + vector[:entries],
        products=products + vector[entries:].reshape(products.shape),
        noise=noise,
        centre=np.zeros(BASIS.size),
        count=None,
        ridge=ridge,
        smoothing_name=smoothing,
        certificate=card(
            what="regression coefficient functions", domain=BASIS.domain.sides, size=BASIS.size, bound=1.0
        ),
        **changes,
    )


# Coefficients in the covariates' own units.


def test_without_noise_coefficients_are_those_of_least_squares_in_their_own_units(card):
    release = make(card)
    _, _, beta = exact(AGE)
    table = BASIS.matrix(POINTS)
    for place, scale in enumerate(AGE.scales):
        np.testing.assert_allclose(release.coefficient(place)(POINTS), table @ beta[1 + place] / scale, rtol=1e-10)
    middle = np.array(AGE.middles) / np.array(AGE.scales)
    np.testing.assert_allclose(release.intercept(POINTS), table @ (LEAD * beta[0] - middle @ beta[1:]), rtol=1e-10)
    assert [f(0.3) for f in release.coefficients] == [release.coefficient(name)(0.3) for name in AGE.names]


def test_predictions_are_intercept_plus_coefficients_times_covariates(card):
    release = replace(make(card), centre=np.array([0.7, 0.2, 0.0, 0.0, 0.0]))
    people = np.array([[30.0, 1.0], [75.0, 0.0], [100.0, 2.0]])
    by_hand = release.intercept(POINTS) + people @ np.stack([f(POINTS) for f in release.coefficients])
    np.testing.assert_allclose(release.predict(people, POINTS), by_hand, rtol=1e-10, atol=1e-12)
    assert release.predict(people).shape == (3, 101)


def test_without_an_intercept_the_curve_of_zero_is_the_public_centre(card):
    centre = np.array([0.5, 0.1, 0.0, 0.0, 0.0])
    release = replace(make(card, PLAIN), centre=centre)
    np.testing.assert_allclose(release.intercept(POINTS), BASIS.matrix(POINTS) @ centre)
    np.testing.assert_allclose(release.predict([0.0], POINTS)[0], release.intercept(POINTS))
    assert release.names == ("z1",)
    for ask in (release.band, release.noise_deviation):
        with pytest.raises(UsageError, match="No intercept was fitted: it is the public centre"):
            ask("intercept")


@pytest.mark.parametrize("which", [2, -1, "weight", True, 0.0, None])
def test_an_unknown_coefficient_is_refused_with_the_known_ones(card, which):
    with pytest.raises(
        UsageError, match=r"A coefficient is 'intercept', a covariate's name \(age, sex\) or its number"
    ):
        make(card).coefficient(which)


@pytest.mark.parametrize(
    "values", [[1.0, 2.0], [[1.0]], [[1.0, np.nan]], [["a", "b"]], 3.0], ids=["1-d", "narrow", "gap", "text", "0-d"]
)
def test_covariates_to_predict_for_must_be_a_matrix_of_finite_numbers(card, values):
    with pytest.raises(UsageError, match="Covariates to predict for are a matrix of finite numbers, one row a curve"):
        make(card).predict(values)


# Bands.


def misses(card, draw_noise, covariates, kind, scale, which, repetitions, level=0.9):
    """How often the band misses the exact coefficient somewhere or is infinite, and how much of it is used."""
    _, _, beta = exact(covariates)
    lead = LEAD if covariates.intercept else 0.0
    combination = covariates.combination(covariates.index(which), lead)
    truth = BASIS.matrix(np.linspace(0, 1, 101)) @ (combination @ beta)
    vectors = draw_noise(law(covariates, kind, scale), repetitions, SeededRandomness(5))
    missed, infinite, used = 0, 0, []
    for vector in vectors:
        band = make(card, covariates, kind, scale, vector).band(which, level)
        half = (band.upper - band.lower) / 2
        if np.isinf(half).any():
            assert np.isinf(half).all()
            infinite += 1
            continue
        used.append(float(np.max(np.abs(truth - band.lower - half) / half)))
        missed += used[-1] > 1
    return missed, infinite, used


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["gaussian", "radial"])
@pytest.mark.parametrize(
    ("covariates", "which", "scale"),
    [(AGE, "age", 3e-4), (AGE, "age", 3e-3), (AGE, "intercept", 1e-3), (PLAIN, 0, 3e-3), (PLAIN, 0, 2e-2)],
    ids=["slope", "slope with more noise", "intercept", "alone", "alone with more noise"],
)
def test_bands_hold_the_exact_coefficient_at_least_at_their_level(card, draw_noise, covariates, which, scale, kind):
    """Level 0.9, 100 draws: a band that just keeps it misses more than 26 times with probability 1e-6; seeded."""
    missed, infinite, _ = misses(card, draw_noise, covariates, kind, scale, which, 100)
    assert missed <= binom.isf(1e-6, 100, 0.1)
    assert infinite == 0


@pytest.mark.parametrize("kind", ["gaussian", "radial"])
def test_bands_are_hardly_wider_than_needed_where_noise_is_small(card, draw_noise, kind):
    """Of the width at least 70 % is needed at the stated level, 100 draws, seeded.

    The rest goes to noise in the moments, here as large as in the products, which is bounded for all directions.
    """
    _, infinite, used = misses(card, draw_noise, AGE, kind, 1e-4, "age", 100)
    assert infinite == 0
    assert np.quantile(used, 0.9) > 0.7


def test_a_band_that_forgets_noise_in_the_moments_is_caught(card, draw_noise):
    """Planted: the same noise, with a law that says there is next to none in the moments; half of the bands miss."""
    noise = law(PLAIN, "gaussian", 1e-2)
    quiet = Noise("gaussian", noise.sizes, (1e-9, noise.scales[1] * 1e-2))
    loud = Noise("gaussian", noise.sizes, (1e-2, noise.scales[1] * 1e-2))
    _, _, beta = exact(PLAIN)
    truth = BASIS.matrix(np.linspace(0, 1, 101)) @ (PLAIN.combination(0, 0.0) @ beta)
    missed = {"quiet": 0, "loud": 0}
    for vector in draw_noise(loud, 60, SeededRandomness(7)):
        release = make(card, PLAIN, noise_vector=vector)
        for name, stated in (("quiet", quiet), ("loud", loud)):
            band = replace(release, noise=stated).band(0, 0.9)
            missed[name] += not ((band.lower <= truth) & (truth <= band.upper)).all()
    assert missed["quiet"] > 30
    assert missed["loud"] <= binom.isf(1e-6, 60, 0.1)


@pytest.mark.parametrize("kind", ["gaussian", "radial"])
def test_noise_as_large_as_the_moments_makes_a_band_infinite_rather_than_wrong(card, kind):
    band = make(card, kind=kind, scale=1.0).band("sex")
    assert (band.lower == -np.inf).all()
    assert (band.upper == np.inf).all()


def test_dependent_covariates_make_a_band_infinite(card):
    """All people of one age: nothing is said about what nobody can know."""
    release = make(card)
    constant = unpack(release.moments)
    constant[1], constant[:, 1] = constant[0] / LEAD * 0.3, constant[0] / LEAD * 0.3
    constant[1, 1] = 0.09
    assert np.isinf(replace(release, moments=pack(constant)).band("age").upper).all()


def test_bands_stand_around_the_solution_without_ridge_and_smoothing(card, draw_noise):
    vector = draw_noise(law(AGE, "gaussian", 1e-3), 1, SeededRandomness(2))[0]
    release = make(card, noise_vector=vector, ridge=None, smoothing="auto")
    bare = make(card, noise_vector=vector)
    for which in release.names:
        one, other = release.band(which), bare.band(which)
        np.testing.assert_array_equal(one.lower, other.lower)
        np.testing.assert_allclose((one.lower + one.upper) / 2, bare.coefficient(which)(one.points), rtol=1e-8)


def test_bands_grow_with_their_level_and_scale_with_the_units_of_the_covariate(card):
    release = make(card)
    narrow, wide = release.band("age", 0.5), release.band("age", 0.99)
    assert (wide.upper > narrow.upper).all()
    days = replace(
        AGE,
        scales=(AGE.scales[0] * 365, AGE.scales[1]),
        middles=(AGE.middles[0] * 365, 0.5),
        limits=((20.0 * 365, 80.0 * 365), (0.0, 1.0)),
    )
    by_day = replace(release, covariates=days).band("age")
    np.testing.assert_allclose(by_day.upper * 365, release.band("age").upper, rtol=1e-9)
    np.testing.assert_allclose(
        replace(release, covariates=days).intercept(POINTS), release.intercept(POINTS), rtol=1e-9
    )


@pytest.mark.parametrize("level", [0.0, 1.0, 0.9999, float("nan")])
def test_a_level_must_be_one_that_the_law_can_tell(card, level):
    with pytest.raises(UsageError, match="level"):
        make(card).band(0, level)


def test_the_deviation_is_that_of_many_draws(card, draw_noise):
    """To first order, and to 15 % in 300 seeded draws: four standard errors of a deviation."""
    vectors = draw_noise(law(AGE, "radial", 5e-4), 300, SeededRandomness(3))
    drawn = [make(card, kind="radial", noise_vector=vector).coefficient("age")([0.2, 0.7]) for vector in vectors]
    stated = make(card, kind="radial", scale=5e-4).noise_deviation("age", [0.2, 0.7])
    np.testing.assert_allclose(np.std(drawn, axis=0), stated, rtol=0.15)


# The parts of a band.


def test_the_solution_differs_by_exactly_what_the_equation_says():
    """`S (beta - solution) = E solution - F`, the identity that the band rests on."""
    rng = SeededRandomness(4)
    root, e = rng.normal((3, 6)), rng.normal((3, 3)) * 0.05
    s, t, e = root @ root.T, rng.normal((3, 2)), e + e.T
    f = rng.normal((3, 2))
    solution, beta = np.linalg.solve(s + e, t + f), np.linalg.solve(s, t)
    np.testing.assert_allclose(s @ (beta - solution), e @ solution - f, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "radial"])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_spread_of_noise_in_a_matrix_holds_both_its_lengths_at_once(draw_noise, kind, level):
    """20,000 seeded draws: the share inside lies between the level and 4 % above, within four standard errors."""
    entries = law(AGE, kind, 0.3)
    noise = Noise(entries.name, entries.sizes[:1], entries.scales[:1])
    scales = np.array([1.0, 0.5, 0.25])
    length, norm = spread(noise, scales, level)
    sample = draw_noise(noise, 20_000, SeededRandomness(6))
    inside = np.sqrt(np.sum(sample**2 / noise.variances, axis=1)) <= length
    turned = unpack(sample) / np.outer(scales, scales)
    inside &= np.abs(np.linalg.eigvalsh(turned)).max(axis=1) <= norm
    slack = 4 * np.sqrt(level * (1 - level) / 20_000)
    assert level - slack <= inside.mean() <= level + 0.04 + slack


def test_no_mixture_of_radial_rows_has_larger_quantiles_than_one_row_or_a_normal_law():
    """By which the multiplier of unknown directions is bounded: levels 0.8 to 0.99, twenty directions, within 1 %."""
    basis = bases.legendre((0, 1), 3)
    for sizes in ((1,) * 9, (3,) * 3, (1, 2) * 3):
        noise = Noise("radial", sizes, (1.0,) * len(sizes))
        rows = [suprema(basis, noise, row) for row in np.eye(3)]
        for direction in np.abs(SeededRandomness(8).normal((20, 3))):
            mixed, normal = suprema(basis, noise, direction), np.sqrt(direction**2 @ noise.variances.reshape(3, 3))
            for level in (0.8, 0.9, 0.95, 0.99):
                limit = multiplier(basis, Noise("gaussian", (1,) * 3, tuple(normal.tolist())), level)
                assert quantile(mixed, level) <= 1.01 * max(limit, *(quantile(row, level) for row in rows))


def test_a_quantile_is_on_the_safe_side_and_beyond_the_sample_far_out():
    ordered = np.arange(1.0, 1001.0)
    assert 900 < quantile(ordered, 0.9) <= 930
    assert quantile(ordered, 0.9999) == 1250.0


def test_laws_are_cut_between_moments_and_products():
    one, other = Noise("gaussian", (10,), (2.0,)).split(3)
    assert (one.sizes, other.sizes, one.scales, other.scales) == ((3,), (7,), (2.0,), (2.0,))
    one, other = Noise("radial", (1, 2, 4), (1.0, 2.0, 3.0)).split(3)
    assert (one.sizes, other.sizes, one.scales, other.scales) == ((1, 2), (4,), (1.0, 2.0), (3.0,))
    with pytest.raises(UsageError, match=r"a block of 4 holds both\. Cut it there\."):
        Noise("radial", (1, 2, 4), (1.0, 2.0, 3.0)).split(4)


# Ridge and smoothing.


def test_the_ridge_vanishes_as_noise_does_and_keeps_the_equations_stable_where_it_does_not(card, draw_noise):
    ridges = [make(card, scale=scale, ridge=None).ridges.max() for scale in (1e-6, 1e-4, 1e-2, 1.0)]
    assert ridges == sorted(ridges)
    assert ridges[0] < 1e-6
    noise = law(AGE, "gaussian", 0.3)
    of_moments, _ = noise.split(6)
    _, reach = spread(of_moments, np.ones(3), 0.99)
    for vector in draw_noise(noise, 50, SeededRandomness(1)):
        release = make(card, scale=0.3, noise_vector=vector, ridge=None)
        assert (release.ridges > 0).all()
        assert (np.linalg.eigvalsh(release.equations.moments) + release.ridges >= reach * (1 - 1e-9)).all()


def test_a_direction_that_is_known_well_is_hardly_shrunk_by_one_that_is_not(card):
    release = make(card, scale=1e-3, ridge=None)
    singular = replace(release, moments=pack(np.diag([0.36, 0.2, 0.0])))
    least, *others = singular.ridges
    assert least > 100 * max(others)
    assert max(others) < 1e-3


def test_the_ridge_lowers_the_error_where_noise_is_large(card, draw_noise):
    """Against no ridge, 200 seeded draws with moments near singular: a tenth of the mean square error at most."""
    noise = law(AGE, "gaussian", 0.05)
    _, _, beta = exact(AGE)
    errors = {None: 0.0, 0.0: 0.0}
    for vector in draw_noise(noise, 200, SeededRandomness(9)):
        for ridge in errors:
            errors[ridge] += float(np.sum((make(card, scale=0.05, noise_vector=vector, ridge=ridge).raw - beta) ** 2))
    assert errors[None] < 0.1 * errors[0.0]


def test_the_ridge_looks_at_moments_and_public_numbers_alone(card, draw_noise):
    """So that the coefficients' noise is not bent by it."""
    release = make(card, scale=1e-2, ridge=None)
    other = replace(release, products=release.products + 5.0)
    np.testing.assert_array_equal(other.ridges, release.ridges)
    assert best_ridges(np.eye(1), np.ones(1), Noise("gaussian", (1,), (0.1,)), 1.0) == pytest.approx(1.01)


def test_a_ridge_may_be_stated_and_changed_for_nothing(card):
    release = make(card, ridge=None)
    assert release.with_ridge(0.25).ridges.tolist() == [0.25] * 3
    stated = release.with_ridge(0.25)
    expected = np.linalg.solve(unpack(release.moments) + 0.25 * np.eye(3), release.products)
    np.testing.assert_allclose(stated.raw, expected, rtol=1e-10)
    np.testing.assert_array_equal(stated.with_ridge("auto").ridges, release.ridges)


def nested(depth):
    """A list in a list in a list: deeper than Python can show."""
    found = [0.5]
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    "ridge",
    [-1.0, float("inf"), float("nan"), "none", True, None, 10**400, nested(100_000), np.zeros(2)],
    ids=lambda value: type(value).__name__,
)
def test_a_ridge_is_auto_or_a_number(ridge):
    with pytest.raises(UsageError, match="ridge must be 'auto' or a number of 0 or more"):
        check_ridge(ridge)


def test_moments_that_are_singular_without_a_ridge_give_finite_coefficients(card):
    release = replace(make(card), moments=np.zeros(6))
    assert np.isfinite(release.coefficient("age")(POINTS)).all()
    assert np.isfinite(release.noise_rms)


def test_the_noise_in_predicted_curves_is_that_of_repeated_releases(card):
    """To first order, from products and moments: within 10 % over 400 seeded draws of small noise."""
    scale, source = 2e-3, SeededRandomness(7)
    plain = make(card, scale=scale)
    moments, _, beta = exact(AGE)
    squares = []
    for _ in range(400):
        vector = source.normal((plain.noise.size,)) * np.sqrt(plain.noise.variances)
        off = make(card, scale=scale, noise_vector=vector).raw - beta
        squares.append(np.sum(off * (moments @ off)))
    assert plain.noise_rms == pytest.approx(np.sqrt(np.mean(squares)), rel=0.1)


# Bands that are infinite say why.


def test_infinite_bands_say_from_where_on_they_could_be_finite(card):
    assert make(card).infinite() == ""
    wide = make(card, scale=0.5)
    assert np.isinf(wide.band("age").upper).all()
    said = wide.infinite()
    assert said.startswith("The noise bands are infinite: noise in the moments of covariates may hide")
    assert "With covariates spread evenly over their limits bands could be finite from about n = " in said
    assert "epsilon" not in said
    needed = int(said.split("n = ")[1].split()[0])
    # Noise falls in proportion to the number of units.
    assert np.isfinite(make(card, scale=0.5 * wide.certificate.n / (2 * needed)).band("age").upper).all()
    pure = replace(wide, certificate=replace(wide.certificate, delta=0.0))
    assert ", or epsilon = " in pure.infinite()
    with pytest.raises(UsageError, match="level"):
        wide.infinite(2.0)


def test_a_covariate_that_stands_still_is_named(card):
    still = make(card)
    moments = unpack(still.moments)
    moments[2, :] = moments[:, 2] = 0.0
    said = replace(still, moments=pack(moments)).infinite()
    assert "although it would not for covariates spread evenly" in said
    assert "everybody seems to be at the middle of its limits in sex, as if its cells were no numbers" in said
    dependent = still.moments.copy()
    dependent[2] = dependent[1]
    dependent[5] = dependent[1]
    assert "seems to be" not in replace(still, moments=dependent).infinite()


@pytest.mark.parametrize(
    ("share", "n", "epsilon", "said"),
    [
        (2.0, 1234, None, "from about n = 2500 on"),
        (1.5, 4, None, "from about n = 6 on"),
        (3.0, 100, 0.5, "from about n = 300, or epsilon = 1.5, on"),
    ],
)
def test_what_would_be_enough_is_rounded_up(share, n, epsilon, said):
    assert finite_from(share, n, epsilon) == said


def test_covariates_beyond_their_limits_are_named(card):
    release = make(card)
    assert release.covariates.beyond([[50.0, 1.0], [20.0, 0.0]]) == ()
    assert release.covariates.beyond([[90.0, 1.0], [20.0, 2.0]]) == ("age", "sex")
    assert PLAIN.beyond([[1.9]]) == ()
    assert PLAIN.beyond([[-2.1]]) == ("z1",)
    curve = release.curves([[90.0, 1.0]])[0]
    np.testing.assert_allclose(curve(POINTS), release.predict([[90.0, 1.0]], POINTS)[0])


def test_the_picture_says_where_the_intercept_extrapolates(card):
    from matplotlib import pyplot

    said = "at covariates zero, beyond their limits: it extrapolates"
    far = make(card)
    near = replace(far, covariates=replace(AGE, limits=((0.0, 80.0), (0.0, 1.0))))
    for release, expected in ((far, True), (near, False)):
        axes = release.plot()
        assert (said in axes[0].get_legend_handles_labels()[1]) is expected
        assert said not in axes[1].get_legend_handles_labels()[1]
        pyplot.close(axes[0].figure)


def test_smoothing_across_t_lowers_the_error_and_is_free(card, draw_noise):
    """With the variances that the inverse gives; smooth coefficients, 100 seeded draws."""
    noise = law(PLAIN, "gaussian", 0.02)
    moments, _, _ = exact(PLAIN)
    beta = np.array([[0.3, 0.1, 0.0, 0.0, 0.0]])
    errors = {"none": 0.0, "auto": 0.0}
    for vector in draw_noise(noise, 100, SeededRandomness(11)):
        release = replace(make(card, PLAIN, scale=0.02), products=moments @ beta + vector[1:].reshape(1, 5))
        for name in errors:
            errors[name] += float(np.sum((release.smooth(name).coordinates - beta) ** 2))
    assert errors["auto"] < 0.7 * errors["none"]
    with pytest.raises(UsageError, match="Unknown smoothing 'silk'"):
        make(card).smooth("silk")


def test_where_covariates_are_nearly_dependent_what_is_known_is_not_smoothed_away(card, draw_noise):
    """Two covariates that are almost one: their sum is told well, and keeps its details; 30 seeded draws."""
    moments = np.diag([0.36, 0.2, 0.2])
    moments[1, 2] = moments[2, 1] = 0.199
    beta = np.array([[0.0] * 5, [0.5, 0.0, 0.3, -0.3, 0.2], [0.5, 0.0, 0.3, -0.3, 0.2]])
    errors = []
    for vector in draw_noise(law(AGE, "gaussian", 3e-3), 30, SeededRandomness(12)):
        products = moments @ beta + vector[6:].reshape(3, 5)
        release = replace(
            make(card, scale=3e-3, ridge=None, smoothing="auto"), moments=pack(moments), products=products
        )
        errors.append(np.sum((release.coordinates[1:].sum(axis=0) - beta[1:].sum(axis=0)) ** 2))
    assert np.sqrt(np.mean(errors)) < 0.05


# What it looks like, and files.


def test_a_frame_has_a_row_for_each_coefficient_and_point(card):
    frame = make(card).to_frame(POINTS)
    assert list(frame.columns) == ["coefficient", "t", "value", "lower", "upper"]
    assert frame["coefficient"].unique().tolist() == ["intercept", "age", "sex"]
    assert len(frame) == 3 * len(POINTS)
    assert (frame["lower"] <= frame["value"]).all()
    assert (frame["value"] <= frame["upper"]).all()


def test_pictures_show_every_coefficient_with_its_band(card):
    from matplotlib import pyplot

    axes = make(card).plot()
    assert [ax.get_ylabel() for ax in axes] == ["intercept", "age", "sex"]
    assert all(len(ax.collections) == 1 for ax in axes)
    assert "regression coefficient functions of 'scans'" in axes[0].get_title()
    hidden = make(card, scale=1.0).plot()
    assert "no band: it is infinite, for the noise may hide" in hidden[0].get_legend_handles_labels()[1][0]
    with pytest.raises(UsageError, match=r"There are 3 coefficient functions \(intercept, age, sex\), got 1"):
        make(card).plot(axes[0])
    pyplot.close("all")


def test_surfaces_are_not_drawn_one_below_the_other(card):
    box = bases.tensor(bases.legendre((0, 1), 2), bases.legendre((0, 1), 2))
    release = replace(make(card), basis=box, products=np.zeros((3, box.size)), centre=np.zeros(box.size))
    with pytest.raises(UsageError, match="draws coefficients on an interval"):
        release.plot()


@pytest.mark.parametrize("covariates", [AGE, PLAIN], ids=["limits", "bound"])
@pytest.mark.parametrize("kind", ["gaussian", "radial"])
def test_plain_data_come_back_with_identical_values(card, covariates, kind):
    release = make(card, covariates, kind, ridge=None, smoothing="auto")
    data = json.loads(json.dumps(release.to_plain(), allow_nan=False))
    back = RegressionRelease.from_plain(data, BASIS, release.certificate)
    assert back.covariates == covariates
    assert back.noise == release.noise
    for which in release.names:
        np.testing.assert_array_equal(back.coefficient(which)(POINTS), release.coefficient(which)(POINTS))
        np.testing.assert_array_equal(back.band(which).upper, release.band(which).upper)


@pytest.mark.parametrize(
    "damage",
    [
        {"moments": [0.0]},
        {"products": [[0.0]]},
        {"lead": 0.0},
        {"lead": "0.6"},
        {"ridge": -1.0},
        {"smoothing": "silk"},
        {"noise": {"law": "gaussian", "sizes": [3], "scales": [1.0]}},
        {"covariates": AGE.to_plain() | {"scales": [1.0, 0.0]}},
        {"covariates": AGE.to_plain() | {"scales": [1.0]}},
        {"covariates": AGE.to_plain() | {"limits": [[0.0, 1.0]]}},
    ],
    ids=lambda damage: "-".join(map(str, damage)),
)
def test_damaged_data_are_refused(card, damage):
    release = make(card)
    with pytest.raises((ValueError, KeyError, TypeError)):
        RegressionRelease.from_plain(release.to_plain() | damage, BASIS, release.certificate)


def test_the_representation_says_what_it_is_and_no_numbers(card):
    assert repr(make(card)) == (
        "RegressionRelease(regression coefficient functions of 'scans', (epsilon = 1, delta = 1e-06), 5 coordinates)"
    )


# Covariates.


@pytest.mark.parametrize("limits", [[(1, 0)], [(0, float("nan"))], [(0, 1, 2)], "ab", [], [(0, 1e200)], [(5, 5)], 3.0])
def test_limits_of_covariates_are_pairs(limits):
    with pytest.raises(UsageError, match=r"covariate_limits must be one pair \(low, high\) of finite numbers"):
        check_limits(limits)


def test_limits_of_one_covariate_may_be_a_single_pair():
    assert check_limits((0, 1)) == check_limits([(0.0, 1.0)]) == ((0.0, 1.0),)


def test_the_card_names_the_limits_or_the_bound():
    assert AGE.text == "age in [20, 80], sex in [0, 1]; values beyond are moved to the ends"
    assert PLAIN.text == "z1: Euclidean norm at most 2, scaled down to it"


def test_a_covariate_may_be_called_intercept(card):
    own = replace(AGE, names=("intercept", "sex"))
    assert own.index("intercept") == 0


def test_equations_are_the_ones_that_were_paid_for(card):
    release = make(card)
    assert isinstance(release.equations, Equations)
    np.testing.assert_array_equal(release.equations.products, release.products)
