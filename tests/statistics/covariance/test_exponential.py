"""Second moments by the exponential mechanism: closed forms, neighbours, card, file, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused
from scipy.stats import chi2, norm

import dpfda
from dpfda.bases import mercer
from dpfda.bases.symmetric import multiplicities, pack, places
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Matern
from dpfda.ledger import Ledger, SessionLedger
from dpfda.mechanisms import ExponentialDraw, ExponentialMatrix, SeededRandomness
from dpfda.releases.verification import verify
from dpfda.statistics.covariance.sensitivity import ROUGH

T = np.linspace(0, 1, 40)
GOOD = {"epsilon": 1.0, "delta": 0.0, "bound": 1.5, "mechanism": "exponential", "force": True}
KERNEL = Matern(1.5, 0.3)


def curves(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 1)) * 0.5 * np.sin(np.pi * T)


def drawn(kernel=KERNEL, **changes):
    return dpfda.CovarianceFunction(**GOOD | {"mechanism": ExponentialDraw(kernel=kernel)} | changes)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("n", [100, 20_000])
def test_noise_is_normal_with_the_covariance_of_the_closed_form(n, epsilon):
    """Entry (j, l): precision `2 n rate` and that of the base measure; off the diagonal an entry stands twice."""
    plan, size, tau = drawn(size=4, epsilon=epsilon).plan(n), 4, 1.5
    rate = epsilon / (4 * math.sqrt(2) * tau**4)
    eigenvalues = mercer(KERNEL, (0, 1), size).eigenvalues
    products = np.outer(eigenvalues, eigenvalues)
    # The process of the tensor product, symmetric functions of it, with the mean square of the ball.
    both = pack(products) * tau**4 / pack(products).sum()
    exact = 1 / (2 * n * rate + 1 / both) / multiplicities(size)
    np.testing.assert_allclose(plan.noise.variances, exact, rtol=1e-6)
    np.testing.assert_allclose(plan.kept, 2 * n * rate / (2 * n * rate + 1 / both), rtol=1e-6)


def test_whole_releases_have_the_stated_law():
    """Every entry of releases of many units around the shrunk second moment: level 1e-6, normal and chi-square."""
    X = curves(30_000)
    est = drawn(size=3, mean="centre")
    plan, noisy = est.plan(30_000), []
    for seed in range(60):
        est.set_params(randomness=SeededRandomness(seed))
        noisy.append(est.fit(X, grid=T).release_.noisy)
    basis = est.release_.basis
    vectors = X @ basis.projection(T[:, None]).T
    vectors *= np.minimum(1.0, 1.5 / np.linalg.norm(vectors, axis=1))[:, None]
    centre = plan.kept * pack(vectors.T @ vectors / len(X))
    standard = (np.array(noisy) - centre) / np.sqrt(plan.noise.variances)
    assert np.abs(standard.mean(axis=0)).max() < norm.isf(1e-6 / 24) / math.sqrt(60)
    low, high = chi2(59).ppf([1e-6 / 24, 1 - 1e-6 / 24])
    spread = ((standard - standard.mean(axis=0)) ** 2).sum(axis=0)
    assert ((low < spread) & (spread < high)).all()


def gathered(est, X):
    """The integer sum that a fit hands to its mechanism, and that mechanism."""
    order = est.order(X, grid=T).order
    specification = order.specification
    return specification, specification.summary.gather(order.curves, order.public, specification.basis, order.reading)


def test_no_pair_of_neighbours_moves_the_sum_further_and_curves_at_right_angles_reach_nine_tenths():
    est, size = drawn(size=4), 4
    rng = np.random.default_rng(0)
    waves = 40 * np.array([np.sin((j + 1) * np.pi * T) for j in range(3)])  # beyond the bound: clipped to it
    pairs = [(waves[0], waves[1]), (waves[0], -waves[0]), (waves[1], 0 * T)]
    pairs += [tuple(rng.normal(size=(2, len(T))) * rng.choice([0.5, 40.0])) for _ in range(20)]
    X, largest = curves(12), 0.0
    for one, other in pairs:
        sums = []
        for last in (one, other):
            specification, total = gathered(est, np.vstack([X, last]))
            sums.append(total)
        moved = (sums[0] - sums[1]).astype(np.float64)
        largest = max(largest, math.sqrt(float(multiplicities(size) @ moved**2)))
        assert largest <= specification.sensitivity.value
    assert largest >= 0.9 * specification.sensitivity.value
    assert specification.sensitivity.value == pytest.approx(math.sqrt(2) * ROUGH**2, rel=1e-9)
    # The range of the utility between neighbours over the ball is the price.
    range_of = 4 * ROUGH**2 * specification.sensitivity.value / specification.scale
    assert range_of == pytest.approx(1.0, rel=1e-9)
    assert specification.profile.epsilon <= 1.0


def test_a_release_is_symmetric_inside_the_ball_and_made_positive_afterwards():
    est = drawn(size=4, epsilon=0.01)
    release = est.fit(curves(20), grid=T).release_
    assert math.sqrt(float(multiplicities(4) @ release.noisy**2)) <= 1.5**2 * (1 + 1e-12)
    s = np.array([0.1, 0.4, 0.8])
    np.testing.assert_allclose(release(s, s), release(s, s).T, atol=1e-14)
    assert np.linalg.eigvalsh(release.raw).min() < 0
    assert np.linalg.eigvalsh(release.coordinates).min() >= -1e-12
    assert release.smoothing_name == "none"


def test_plan_card_ledger_and_file_carry_it_as_a_mean(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'own.db'}")
    ledger.create("scans", epsilon=2.0, delta=0.0)
    est = dpfda.CovarianceFunction(**GOOD, ledger=ledger, dataset="scans").fit(curves(3000), grid=T)
    plan, card = est.plan_, est.release_.certificate
    assert plan.design.name == card.mechanism == "exponential"
    assert "base measure" in str(plan)
    text = " ".join(card.text().split())
    assert "pure epsilon = 1; for composition 0.125-zCDP" in text
    assert "the base measure and the cut to the ball" in text
    assert card.losses[0]["law"] == "range"
    est.release_.save(tmp_path / "moments.json")
    again = dpfda.load(tmp_path / "moments.json")
    assert np.array_equal(again(0.3, 0.7), est.release_(0.3, 0.7))
    assert verify(tmp_path / "moments.json", ledger).ok


def test_a_card_with_half_of_the_scale_is_found_out(tmp_path):
    release = drawn(size=3).fit(curves(500), grid=T).release_
    card = replace(release.certificate, noise_scale=release.certificate.noise_scale / 2)
    replace(release, certificate=card).save(tmp_path / "moments.json")
    findings = verify(tmp_path / "moments.json").findings
    assert "epsilon of the privacy curve is sensitivity over scale" in {finding.rule for finding in findings}


def test_few_functions_are_taken_where_noise_prevails_and_more_where_it_does_not():
    sizes = [dpfda.CovarianceFunction(**GOOD).plan(n).basis.size for n in (200, 20_000, 2_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize(
    ("changes", "n", "parameter"),
    [
        ({"mean": "joint"}, 1000, "mechanism"),
        ({"neighbours": "add-or-remove-one", "planned_n": 100}, 1000, "mechanism"),
        ({"size": 49}, 1000, "size"),
        ({}, 2**29 + 1, "n"),
    ],
    ids=str,
)
def test_what_it_cannot_do_is_refused_before_the_charge(changes, n, parameter):
    ledger = SessionLedger()
    with refused(UsageError, parameter):
        dpfda.CovarianceFunction(**GOOD | changes, ledger=ledger).plan(n)
    assert not ledger.entries


def test_next_to_nothing_that_is_left_is_refused_by_the_plan():
    est = dpfda.CovarianceFunction(**GOOD | {"force": False, "epsilon": 0.001})
    with pytest.raises(UsageError, match="Nothing was charged"):
        est.fit(curves(50), grid=T)


def test_a_ball_of_matrices_is_the_mechanism_whatever_the_kernel():
    for kernel in (Exponential(0.3), KERNEL):
        mechanism = drawn(kernel).plan(500).design.mechanism
        assert isinstance(mechanism, ExponentialMatrix)
        assert mechanism.radius * mechanism.coarse == ROUGH**2
        # The base measure has the mean square of the ball, and falls with both functions of an entry.
        first, second = places(mechanism.side)
        deviations = np.array(mechanism.prior) * np.sqrt(multiplicities(mechanism.side))
        assert math.sqrt(float(deviations @ deviations)) == pytest.approx(mechanism.radius, rel=1e-9)
        assert deviations[0] == deviations.max()
        assert (deviations[first == second][1:] < deviations[0]).all()
