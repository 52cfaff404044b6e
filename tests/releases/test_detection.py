"""Whether a release shows more than noise: false alarms at most as often as stated, and clear signals are found.

Every test is seeded. A level of 1 % over 400 releases gives more than 12 false alarms with a chance below 5e-4, and
the tests are on the safe side of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpfda
from dpfda.bases import bernstein, cosine
from dpfda.bases.symmetric import pack, packed_size, unpack
from dpfda.mechanisms import DictionaryDraw, SeededRandomness
from dpfda.mechanisms.noise import Noise
from dpfda.releases import detection
from dpfda.releases.cards.words import say
from dpfda.releases.detection import coefficients_differ, differs, of_matrices, prefixes, standard_draws, unevenly

TIMES, MOST = 400, 12
SIZE = 24
LAWS = {
    "gaussian": Noise("gaussian", (SIZE,), (0.3,)),
    "uneven gaussian": Noise("gaussian", (1,) * SIZE, tuple(np.linspace(0.1, 1.0, SIZE).tolist())),
    "laplace": Noise("radial", (1,) * SIZE, (0.3,) * SIZE),
    "k-norm": Noise("radial", (4, 8, 12), (0.1, 0.2, 0.4)),
}


def noise_of(law, times, seed):
    """Noise drawn in another way than the tests simulate it."""
    points = np.random.default_rng(seed).random((times, law.dimension))
    return law.from_uniforms(points)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("along", [None, "constant", "tilted"])
def test_noise_alone_is_taken_for_a_signal_at_most_as_often_as_stated(name, along):
    law = LAWS[name]
    direction = {None: None, "constant": np.eye(SIZE)[0], "tilted": np.ones(SIZE)}[along]
    frequencies = np.arange(SIZE, dtype=np.float64)
    level = 0.0 if direction is None else 5.0 * direction
    alarms = sum(differs(row + level, law, frequencies, direction) for row in noise_of(law, TIMES, seed=1))
    assert alarms <= MOST


def test_a_direction_of_no_length_leaves_nothing_out():
    """A kernel so narrow that no coordinate knows of a constant has one."""
    law, frequencies = LAWS["gaussian"], np.arange(SIZE, dtype=np.float64)
    for row in (np.zeros(SIZE), 50.0 * np.sqrt(law.variances)):
        assert differs(row, law, frequencies, np.zeros(SIZE)) == differs(row, law, frequencies) == bool(row.any())
    kernel = dpfda.kernels.Gaussian(1e-60)
    own = dpfda.PerturbedFunction(
        epsilon=1000.0, delta=1e-6, sensitivity=0.1, kernel=kernel, domain=(0, 1), size=5, planned_n=12, force=True
    )
    assert (
        own.fit(np.cos(np.linspace(0, 1, 7)), grid=np.linspace(0, 1, 7)).release_.certificate.detected.code == "shape"
    )


@pytest.mark.parametrize("name", LAWS)
def test_a_smooth_signal_is_found_among_many_rough_coordinates(name):
    law, frequencies = LAWS[name], np.arange(SIZE, dtype=np.float64)
    signal = np.zeros(SIZE)
    signal[1] = 6 * np.sqrt(law.variances[1])
    found = [differs(row + signal, law, frequencies, np.eye(SIZE)[0]) for row in noise_of(law, 100, seed=2)]
    assert np.mean(found) > 0.85
    assert not differs(np.eye(SIZE)[0] * 50.0, law, frequencies, np.eye(SIZE)[0])  # a level is no shape


@pytest.mark.parametrize("name", ["gaussian", "laplace", "k-norm"])
def test_coordinates_that_are_places_are_read_as_waves(name):
    law = LAWS[name]
    places = np.zeros(SIZE)
    alarms = sum(differs(row + 3.0, law, places, np.ones(SIZE)) for row in noise_of(law, TIMES, seed=3))
    assert alarms <= MOST
    slope = np.linspace(-2, 2, SIZE) * np.sqrt(law.variances)
    assert np.mean([differs(row + slope, law, places, np.ones(SIZE)) for row in noise_of(law, 50, seed=4)]) > 0.9


@pytest.mark.parametrize("law", ["gaussian", "radial", "wishart"])
def test_simulated_noise_has_the_variances_of_its_law(law):
    """Relative errors of 4096 draws; none is beyond 0.25 but with a chance below 1e-6."""
    noise = {
        "gaussian": Noise("gaussian", (10,), (1.0,)),
        "radial": Noise("radial", (3, 7), (1.0, 2.0)),
        "wishart": Noise("wishart", (10,), (1.0,)),
    }[law]
    found = np.var(detection.draws_of(noise), axis=0) / noise.variances
    assert np.abs(found - 1).max() < 0.25
    other = np.abs(noise_of(noise, 4096, seed=5)).mean(axis=0)
    assert np.allclose(np.abs(detection.draws_of(noise)).mean(axis=0), other, rtol=0.12)


SIDE = 6
MOMENTS = {
    "gaussian": Noise("gaussian", (packed_size(SIDE),), (0.01,)),
    "laplace": Noise("radial", (1,) * packed_size(SIDE), (0.01,) * packed_size(SIDE)),
    "k-norm": Noise("radial", (SIDE, packed_size(SIDE) - SIDE), (0.01, 0.01)),
    "wishart": Noise("wishart", (packed_size(SIDE),), (0.01,)),
}


def moments_release(covariance, law, noise, mean):
    """A release of second moments with a mean beside them, whose noise is given."""
    lead = 0.5
    rows = np.zeros((SIDE, SIDE))
    rows[0, 0], rows[0, 1:], rows[1:, 0] = lead**2, lead * mean, lead * mean
    rows[1:, 1:] = covariance + np.outer(mean, mean)
    template = dpfda.CovarianceFunction(
        epsilon=1.0, delta=1e-6, bound=1.0, size=SIDE - 1, basis="cosine", randomness=SeededRandomness(1), force=True
    ).fit(np.zeros((50, 12)))
    return replace(template.release_, noisy=pack(rows) + noise, noise=law, lead=lead)


@pytest.mark.parametrize("name", MOMENTS)
def test_covariances_are_seen_when_they_are_there_and_not_when_a_mean_is(name):
    law = MOMENTS[name]
    made = moments_release(np.zeros((SIDE - 1, SIDE - 1)), law, 0.0, np.zeros(SIDE - 1))
    for mean in (np.zeros(SIDE - 1), np.array([0.8, 0.3, 0.0, 0.0, 0.0])):
        rows = np.zeros((SIDE, SIDE))
        rows[0, 0], rows[0, 1:], rows[1:, 0] = 0.25, 0.5 * mean, 0.5 * mean
        rows[1:, 1:] = np.outer(mean, mean)
        drawn = noise_of(law, 100, seed=6)
        alarms = sum(replace(made, noisy=pack(rows) + row).exceeds for row in drawn)
        assert alarms <= 5  # of 100 at 1 %: beyond it with a chance below 6e-4
        rows[3, 3] += 16 * np.sqrt(made.variances[2, 2])
        assert np.mean([replace(made, noisy=pack(rows) + row).exceeds for row in drawn[:25]]) > 0.85


def test_traces_find_variances_and_leading_blocks_are_nested():
    assert prefixes(1) == (1,)
    assert prefixes(5) == (1, 2, 4, 5)
    assert prefixes(8) == (1, 2, 4, 8)
    found = of_matrices(np.diag([2.0, 0.0, 0.0]), np.ones((3, 3)))
    assert found[: len(prefixes(3))][0] == pytest.approx(np.cbrt(4.0))
    assert found[len(prefixes(3)) :] == pytest.approx([2.0, np.sqrt(2.0), 2 / np.sqrt(3.0)])


@pytest.mark.parametrize("law", ["gaussian", "radial"])
def test_coefficients_are_seen_one_by_one_and_not_where_there_are_none(law):
    side, size, count = 3, 8, packed_size(3)
    whole = count + side * size
    noise = Noise(law, (1,) * whole, (*((0.004,) * count), *((0.01,) * (side * size))))
    moments = np.array([[0.25, 0.02, 0.0], [0.02, 0.1, 0.03], [0.0, 0.03, 0.1]])
    frequencies = np.arange(size, dtype=np.float64)
    beta = np.zeros((side, size))
    beta[0] = np.linspace(1, 0, size)  # the intercept alone
    drawn = noise_of(noise, 120, seed=7)  # more than 6 false alarms have a chance below 3e-4

    def tested(coefficients, row):
        noisy = moments + unpack(row[:count])
        products = moments @ coefficients + row[count:].reshape(side, size)
        return coefficients_differ(noisy, products, noise, frequencies, intercept=True)

    alarms = [tested(beta, row) for row in drawn]
    assert sum(some for some, _ in alarms) <= 6
    assert sum(any(each) for _, each in alarms) <= 6
    beta[1, :2] = 2.0
    found = [tested(beta, row) for row in drawn[:30]]
    assert np.mean([some for some, _ in found]) > 0.9
    assert np.mean([each[0] for _, each in found]) > 0.8
    assert sum(each[1] for _, each in found) <= 3


def test_of_very_many_coefficients_only_all_together_are_tested():
    side = 1 + detection.MOST_COEFFICIENTS + 1
    noise = Noise("gaussian", (packed_size(side) + 2 * side,), (0.001,))
    some, each = coefficients_differ(np.eye(side), np.ones((side, 2)), noise, np.arange(2.0), intercept=True)
    assert some
    assert each is None


@pytest.mark.parametrize("law", ["gaussian", "radial"])
@pytest.mark.parametrize("shape", [(20,), (5, 4)])
def test_evenly_drawn_people_have_no_shape_and_others_have(law, shape):
    size, units = 20, 500
    shares = np.full(size, 1 / size)
    noise = Noise(law, (1,) * size, (0.05,) * size)
    generator = np.random.default_rng(8)

    def found(chances, row):
        people = generator.multinomial(units, chances) / units / np.sqrt(shares)
        return unevenly(people + row, shares, noise, units, shape)

    drawn = noise_of(noise, TIMES, seed=9)
    assert sum(found(shares, row) for row in drawn) <= MOST
    slanted = np.linspace(1.6, 0.4, size) / size
    assert np.mean([found(slanted, row) for row in drawn[:50]]) > 0.7


@pytest.mark.parametrize(
    ("law", "units", "epsilon", "narrow"),
    [
        ("radial", 30, 20.0, 0.002),
        ("gaussian", 30, 20.0, 0.002),
        ("gaussian", 300, 20.0, 0.0002),
        ("radial", 5, 10.0, 0.02),
        ("radial", 1000, 1.2, 0.005),  # the noise hides that numbers of people are whole: they count as normal
    ],
)
def test_a_step_where_hardly_anybody_is_expected_gives_no_more_false_alarms(law, units, epsilon, narrow):
    """At a level of 1 %, 4000 releases give more than 61 false alarms with a chance below 1e-3."""
    shares = np.diff([0.0, narrow, 0.5, 1.0])
    noise = Noise(law, (1, 1, 1), tuple((2 / (epsilon * units * np.sqrt(shares))).tolist()))
    drawn = noise_of(noise, 4000, seed=21)
    people = np.random.default_rng(22).multinomial(units, shares, size=4000) / units / np.sqrt(shares)
    assert sum(unevenly(row, shares, noise, units, (3,)) for row in drawn + people) <= 61


def test_a_step_where_far_too_many_are_is_found():
    shares, units = np.diff([0.0, 0.002, 0.5, 1.0]), 30
    noise = Noise("radial", (1, 1, 1), tuple((2 / (20.0 * units * np.sqrt(shares))).tolist()))
    drawn = noise_of(noise, 50, seed=21)
    people = np.array([10, 10, 10]) / units / np.sqrt(shares)
    assert all(unevenly(row, shares, noise, units, (3,)) for row in drawn + people)


@pytest.mark.parametrize("mechanism", ["auto", "gaussian", "gp", "iclp-qr", "bernstein"])
def test_cards_of_densities_know_uniform_points_from_others(mechanism):
    def verdict(points, seed):
        est = dpfda.DensityFunction(
            epsilon=1.0, delta=1e-6, domain=(0, 1), mechanism=mechanism, randomness=SeededRandomness(seed), force=True
        )
        return est.fit(points).release_.certificate.detected

    generator = np.random.default_rng(10)
    # Three at a level of 1 %: one false alarm has a chance of 3 %, with this seed there is none.
    for seed in range(3):
        said = verdict(generator.random(1500), seed + 20)
        assert said.startswith("nothing: not distinguishable from a uniform density (at most 1 % false alarms")
    assert verdict(generator.beta(2, 6, 1500), 5).code == "density"


@pytest.mark.parametrize("mechanism", ["gaussian", "k-norm", "laplace", "frl", "bernstein"])
def test_cards_of_means_tell_shape_from_level_from_nothing(mechanism):
    t = np.linspace(0, 1, 30)

    def verdict(curve):
        est = dpfda.MeanFunction(
            epsilon=1.0, delta=1e-6, bound=1.0, mechanism=mechanism, randomness=SeededRandomness(3)
        )
        return est.fit(np.tile(curve, (800, 1)), grid=t).release_.certificate.detected

    assert verdict(0.7 * np.sin(np.pi * t)).code == "shape"
    assert verdict(np.full(30, 0.6)).startswith("no shape: not distinguishable from a constant")
    assert verdict(np.zeros(30)).startswith("nothing: not distinguishable from the centre")


def test_a_penalty_that_bends_constants_leaves_the_shape_untested():
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, mechanism="gp", randomness=SeededRandomness(4))
    said = est.fit(np.full((2000, 20), 0.9)).release_.certificate.detected
    assert said.code == "not-the-centre"


def test_what_was_drawn_as_a_whole_says_that_it_was_not_tested():
    components = dpfda.FPCA(1, epsilon=1.0, delta=0.0, bound=1.0, mechanism="exponential", mean="centre")
    chosen = dpfda.MeanFunction(
        epsilon=1.0, delta=0.0, bound=1.0, mechanism=DictionaryDraw(candidates=[np.sin, np.cos])
    )
    for est in (components, chosen):
        assert est.fit(np.zeros((500, 12))).release_.certificate.detected == detection.NO_NOISE


def test_verdicts_are_computed_anew_from_a_file_and_a_forged_one_is_found(tmp_path):
    from dpfda.releases.files import save
    from dpfda.releases.verification.check import recompute, verify

    release = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0).fit(np.zeros((800, 20))).release_
    assert release.tested == release.certificate.detected
    assert recompute(save(release, tmp_path / "true.json")).ok
    forged = replace(release, certificate=replace(release.certificate, detected=say("detected", "shape")))
    report = verify(save(forged, tmp_path / "forged.json"))
    assert not report.ok
    assert any("what was seen above the noise" in finding.rule for finding in report.findings)
    old = replace(release, certificate=replace(release.certificate, detected=say("detected", "not-said"), counting=""))
    assert recompute(save(old, tmp_path / "old.json")).ok


def test_bases_of_one_function_have_no_shape():
    assert not differs(np.array([50.0]), Noise("gaussian", (1,), (1.0,)), np.zeros(1), np.ones(1))
    assert differs(np.array([50.0]), Noise("gaussian", (1,), (1.0,)), np.zeros(1))


def test_a_constant_is_known_in_every_basis():
    assert detection.constant_in(cosine((0, 2), 5)).tolist() == pytest.approx([1, 0, 0, 0, 0])
    basis = bernstein((0, 1), 6)
    assert basis.evaluate(detection.constant_in(basis), np.linspace(0, 1, 7)) == pytest.approx(np.ones(7))


def test_the_simulation_is_the_same_every_time():
    noise = Noise("radial", (2, 3), (0.1, 0.7))
    first = standard_draws(noise).copy()
    detection._standard_draws.cache_clear()
    assert np.array_equal(first, standard_draws(noise))
