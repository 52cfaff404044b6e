"""Audit of whole densities, from points to what is released or answered, by an attacker who knows all but one person.

Every bound is Clopper-Pearson at 1e-6 on each side, so a sound release fails a test about once in 500,000 runs. The
noise is the private one; nothing is seeded. Planted faults must be caught, or the audit is worth nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from evidence import TooQuiet, proven_epsilon, proven_mu

import dpfda
from dpfda.bases.cells import cells_between
from dpfda.curator import Curator, DrawLog, Payment
from dpfda.kernels import Matern
from dpfda.mechanisms import Gaussian, GaussianProcess, LaplaceProcess, SeededRandomness, SobolevProcess
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity

PEOPLE, VISITS = 5, 3
UNITS = np.repeat(np.arange(PEOPLE), VISITS)
EDGES = [0.0, 0.5, 1.0]
PURE = Budget(epsilon=1.5, delta=0.0)
APPROXIMATE = Budget(epsilon=4.0, delta=0.05)
MU = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), APPROXIMATE)


def neighbours():
    """Points of two data sets that differ in all points of one person: at one end of the domain, or at the other."""
    one = np.full(PEOPLE * VISITS, 0.25)
    other = one.copy()
    other[UNITS == 0] = 0.75
    return one, other


def estimator(budget, **wishes):
    # Stated where that is possible: the thresholds below are those of five people, none of them absent.
    mechanism = wishes.get("mechanism")
    stated = getattr(mechanism, "name", mechanism) != "gp" and wishes.get("neighbours") != "add-or-remove-one"
    chosen = {"edges": EDGES, "n": PEOPLE if stated else None} | wishes
    return dpfda.DensityFunction(
        epsilon=budget.epsilon, delta=budget.delta, smoothing="none", planned_n=PEOPLE, **chosen, force=True
    )


def attack(est, statistic, draws, threshold, *, units=UNITS):
    """How often a statistic of the release is above a threshold with the second data set and with the first.

    Checked and planned once; each draw reads the records and adds its own noise.
    """
    one, other = (est._order(points, None, units, est._bandwidth).order for points in neighbours())
    return (
        sum(statistic(other.draw(DrawLog(), None)) > threshold for _ in range(draws)),
        sum(statistic(one.draw(DrawLog(), None)) > threshold for _ in range(draws)),
    )


def moved(release):
    """What lies in the upper half less what lies in the lower: where the two data sets differ."""
    return float(release.noisy[-1] - release.noisy[0])


# Coordinates of a step of half the domain are probabilities times its root; one of five people moves by 0.2.
MIDDLE = float(np.sqrt(2) * ((0.2 - 0.8) + (0 - 1)) / 2)
END = float(np.sqrt(2) * (0.2 - 0.8))


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("mechanism", ["auto", "laplace", "k-norm"])
def test_pure_densities_keep_their_guarantee(mechanism, relation):
    draws = 3000
    # Replacing a person is removing one and adding another: under add-or-remove-one it may cost twice epsilon.
    allowed = PURE.epsilon * (1 if relation == "replace-one" else 2)
    hits = attack(estimator(PURE, mechanism=mechanism, neighbours=relation), moved, draws, END)
    assert proven_epsilon(hits, draws) <= allowed


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_whoever_leaves_the_domain_is_hidden_too(relation):
    """The attacker looks at the number of units outside, and at what is missing where the person was."""
    draws, est = 3000, estimator(PURE, neighbours=relation)
    one, other = neighbours()[0], neighbours()[0]
    other[UNITS == 0] = 9.0
    orders = [est._order(points, None, UNITS, None).order for points in (one, other)]
    for statistic in (lambda r: r.outside.value, lambda r: r.outside.value / r.n - r.noisy[0] / np.sqrt(2)):
        seen = [[statistic(order.draw(DrawLog(), None)) for _ in range(draws)] for order in orders]
        threshold = float(np.median(seen[0]) + np.median(seen[1])) / 2
        hits = tuple(sum(value > threshold for value in values) for values in (seen[1], seen[0]))
        assert proven_epsilon(hits, draws) <= PURE.epsilon * (1 if relation == "replace-one" else 2)


@pytest.mark.audit
def test_gaussian_densities_keep_their_guarantee_and_use_it():
    draws = 4000
    hits = attack(estimator(APPROXIMATE, mechanism="gaussian"), moved, draws, MIDDLE)
    assert proven_mu(hits, draws) <= MU
    assert proven_mu(hits, draws) >= 0.7 * MU


@pytest.mark.audit
@pytest.mark.parametrize("mechanism", [GaussianProcess, SobolevProcess])
def test_processes_of_the_papers_keep_their_guarantee_and_use_it(mechanism):
    """The attacker looks in the direction of the change, in the white coordinates of the process."""
    draws = 3000
    wishes = {"mechanism": mechanism(bandwidth=0.1), "size": 12, "edges": None, "domain": (0.0, 1.0)}
    est = estimator(APPROXIMATE, **wishes)
    table = est._order(neighbours()[0], None, UNITS, 0.1).plan.features
    first, second = table.cells.index(np.array([[0.25], [0.75]]))
    rows = table.rows[:, table.leading :].astype(float)  # without the number of those outside the domain
    change = rows[second] - rows[first]
    levels = [change @ (rows[first] + share * change / PEOPLE) for share in (0, 1)]
    hits = attack(est, lambda r: float(change @ (r.noisy / table.decode_weights)), draws, sum(levels) / 2)
    assert proven_mu(hits, draws) <= MU
    assert proven_mu(hits, draws) >= 0.4 * MU


@pytest.mark.audit
def test_the_laplace_process_keeps_its_guarantee():
    draws = 3000
    wishes = {"mechanism": LaplaceProcess(bandwidth=0.2), "size": 8, "edges": None, "domain": (0.0, 1.0)}

    est = estimator(PURE, **wishes)
    for threshold in (-0.5, -0.2, 0.0):
        hits = attack(est, lambda r: float(r.raw(0.75) - r.raw(0.25)), draws, threshold)
        assert proven_epsilon(hits, draws) <= PURE.epsilon


@pytest.mark.audit
@pytest.mark.parametrize("order", [0.5, 1.5, 2.5])
def test_answers_online_keep_their_guarantee_and_use_it(order):
    """Two answers, where the two data sets differ most; their joint law is known, and so is the best test."""
    draws, kernel = 1500, Matern(order, 0.3)
    est = estimator(APPROXIMATE, mechanism=GaussianProcess(kernel=kernel), edges=None, domain=(0.0, 1.0))

    def answered(prepared):
        with prepared.read(Payment(None, None)).online(None) as oracle:
            low, high = oracle([0.25, 0.75])
        return float(high - low)

    gap = float(kernel([[0.25]], [[0.75]])[0, 0])
    mass = float(kernel([[0.0]], np.linspace(-30, 30, 600_001)[:, None]).sum() * 1e-4)  # its integral
    # Rows of nobody are one unit more, in the middle, where it adds the same to both answers.
    middle = float(np.mean([(1 - gap) * (2 * moved - PEOPLE) / (PEOPLE + 1) / mass for moved in (0, 1)]))
    # Checked and planned once; each draw reads the records and has its own noise.
    one, other = (est._prepared(est._order(points, None, UNITS, None)) for points in neighbours())
    hits = (
        sum(answered(other) > middle for _ in range(draws)),
        sum(answered(one) > middle for _ in range(draws)),
    )
    assert proven_mu(hits, draws) <= MU
    assert proven_mu(hits, draws) >= 0.6 * MU


@pytest.mark.audit
def test_noise_smaller_by_the_root_of_two_is_caught(monkeypatch):
    draws, honest = 4000, Curator.order

    def quiet(self, summary, *, mechanism, **wishes):
        return honest(self, summary, mechanism=TooQuiet(mechanism), **wishes)

    monkeypatch.setattr(Curator, "order", quiet)
    assert proven_mu(attack(estimator(APPROXIMATE, mechanism="gaussian"), moved, draws, MIDDLE), draws) > MU


@pytest.mark.audit
def test_protecting_a_visit_instead_of_a_person_is_caught():
    draws = 4000
    hits = attack(estimator(APPROXIMATE, mechanism="gaussian", n=None), moved, draws, MIDDLE, units=None)
    assert proven_mu(hits, draws) > MU


@pytest.mark.audit
def test_a_sensitivity_of_half_the_diameter_is_caught(monkeypatch):
    draws = 4000
    honest = dpfda.DensityFunction._order

    def halved(self, *arguments, **keywords):
        ordered = honest(self, *arguments, **keywords)
        specification = ordered.order.specification
        specification = replace(
            specification,
            sensitivity=replace(specification.sensitivity, value=specification.sensitivity.value / 2),
            scale=specification.scale / 2,
        )
        return replace(ordered, order=replace(ordered.order, specification=specification))

    monkeypatch.setattr(dpfda.DensityFunction, "_order", halved)
    assert proven_mu(attack(estimator(APPROXIMATE, mechanism="gaussian"), moved, draws, MIDDLE), draws) > MU


def test_the_attack_looks_where_two_data_sets_differ():
    one, other = (cells_between(EDGES).index(points[:, None]) for points in neighbours())
    assert (one != other).sum() == VISITS


LINE = np.linspace(-5.0, 5.0, 401)
LAWS = {
    "cauchy": (lambda rng, n: rng.standard_cauchy(n), 1 / (np.pi * (1 + LINE**2))),
    "normal": (lambda rng, n: rng.normal(0, 3, n), np.exp(-(LINE**2) / 18) / (3 * np.sqrt(2 * np.pi))),
}


@pytest.mark.audit
@pytest.mark.parametrize("n", [500, 5000])
@pytest.mark.parametrize("law", LAWS)
def test_on_a_domain_that_does_not_hold_all_points_the_default_is_as_good_as_the_mechanism_of_hall(law, n):
    """Integrated squared error inside (-5, 5), means of forty draws, against the kernel estimate from all points.

    Its bandwidth is the rule in the units of the points, and its noise the exact one. Seen in 60 draws: 0.30 and 0.41
    of its error for normal points with deviation 3, n = 500 and 5000; 0.86 and 0.82 for Cauchy points. Everything is
    seeded; with other seeds the ratio of the means of forty has a deviation of 0.09 at most.
    """
    draw, truth = LAWS[law]
    width, budget = n**-0.2, Budget(epsilon=1.0, delta=1e-5)
    scale = calibrate(Gaussian(), Sensitivity(np.sqrt(2), L2(), "two sections"), budget)
    gaps = (LINE[:, None] - LINE) / width
    spectrum, vectors = np.linalg.eigh(np.exp(-0.5 * gaps**2))
    root = vectors * np.sqrt(np.maximum(spectrum, 0.0)) / (width * np.sqrt(2 * np.pi))
    rng, ours, theirs = np.random.default_rng(7), [], []
    for seed in range(40):
        points = draw(rng, n)
        bells = np.exp(-0.5 * ((LINE[:, None] - points) / width) ** 2) / (width * np.sqrt(2 * np.pi))
        published = bells.mean(axis=1) + scale / n * (root @ rng.normal(size=len(LINE)))
        theirs.append(np.trapezoid((published - truth) ** 2, LINE))
        est = dpfda.DensityFunction(epsilon=1.0, delta=1e-5, domain=(-5, 5), randomness=SeededRandomness(seed))
        ours.append(np.trapezoid((est.fit(points).release_(LINE) - truth) ** 2, LINE))
    assert np.mean(ours) <= 1.2 * np.mean(theirs)


@pytest.mark.audit
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(("sides", "width"), [(3, 0.25), (3, 0.2), (4, 0.25), (4, 0.2), (6, 0.25), (6, 0.2)])
def test_kernel_densities_of_three_to_six_sides_are_the_exact_ones(sides, width, clustered):
    """At epsilon = 200 and n = 3000, relative root mean square over 300 points; the largest, 0.94 %, is of the last.

    The noise is seeded. What the 4,096 functions leave out is 0.5 % there, and less than 0.06 % in all other cases.
    """
    rng = np.random.default_rng(0)
    draw = (
        (lambda m: np.clip(rng.normal(0.5, 0.12, (m, sides)), 0, 1)) if clustered else lambda m: rng.random((m, sides))
    )
    points, asked = draw(3000), draw(300)
    est = dpfda.DensityFunction(
        epsilon=200.0,
        delta=1e-5,
        domain=[(0.0, 1.0)] * sides,
        mechanism=GaussianProcess(bandwidth=width),
        randomness=SeededRandomness(1),
        force=True,
    )
    squares = ((asked[:, None, :] - points) ** 2).sum(axis=-1)
    exact = np.exp(-squares / (2 * width**2)).mean(axis=1) / (2 * np.pi * width**2) ** (sides / 2)
    assert np.sqrt(np.mean((est.fit(points).release_.raw(asked) / exact - 1) ** 2)) < 0.01
