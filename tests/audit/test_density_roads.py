"""Audit of kernel densities on boxes and of bandwidths that are bought, from points to what is released.

The attacker knows every point but those of one person. Thresholds and events are fixed by the first draws, and counted
in the others. Bounds are Clopper-Pearson at 1e-6 on each side; the noise is the private one, and nothing is seeded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from evidence import proven_epsilon, proven_mu

import dpfda
from dpfda.arrays import Array, Integers
from dpfda.curator import DrawLog
from dpfda.mechanisms import Gaussian, GaussianProcess, LaplaceProcess, SystemRandomness
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.density.leave_one_out import LeaveOneOut

pytestmark = pytest.mark.audit

PEOPLE, VISITS = 5, 3
UNITS = np.repeat(np.arange(PEOPLE), VISITS)
PURE = Budget(epsilon=2.0, delta=0.0)
APPROXIMATE = Budget(epsilon=4.0, delta=0.05)
MU = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), APPROXIMATE)
PILOT = 200  # draws by which a threshold or an event is chosen


class Quiet(SystemRandomness):
    """A planted fault: a source whose noise is smaller by the square root of two."""

    def gaussian(self, scale: float, size: int) -> Integers:
        return super().gaussian(scale / math.sqrt(2), size)

    def laplace(self, scale: float, size: int) -> Integers:
        return super().laplace(scale / math.sqrt(2), size)


def neighbours(sides: int, elsewhere: float = 0.8) -> tuple[Array, Array]:
    """Two data sets that differ in all points of the first person, in one corner or elsewhere."""
    one = np.full((PEOPLE * VISITS, sides), 0.2)
    other = one.copy()
    other[UNITS == 0] = elsewhere
    return one, other


def estimator(budget: Budget, sides: int, **wishes: Any) -> dpfda.DensityFunction:
    stated = {"domain": [(0.0, 1.0)] * sides, "planned_n": PEOPLE, "smoothing": "none", "force": True}
    return dpfda.DensityFunction(epsilon=budget.epsilon, delta=budget.delta, **stated | wishes)


def draws_of(est: dpfda.DensityFunction, sides: int, draws: int, elsewhere: float = 0.8) -> list[Array]:
    """Log likelihood ratios, of normal or Laplace noise, in so many releases of each of the two data sets."""
    orders = [est.order(points, units=UNITS).order.first.order for points in neighbours(sides, elsewhere)]  # type: ignore[attr-defined]

    def drawn(order: Any, times: int) -> Array:
        made = [order.draw(DrawLog(), None) for _ in range(times)]
        return np.array([[each.outside.value, *each.noisy] for each in made])

    one, other = (drawn(order, 10 * PILOT).mean(axis=0) for order in orders)
    known = orders[0].draw(DrawLog(), None)
    variances = np.concatenate([known.outside.noise.variances, known.noise.variances])
    power = 2 if est.delta > 0 else 1
    scales = variances if power == 2 else np.sqrt(variances / 2)
    return [
        np.sum((np.abs(rows - one) ** power - np.abs(rows - other) ** power) / scales, axis=1)
        for rows in (drawn(order, draws) for order in orders)
    ]


def hits(seen: list[Array], threshold: float) -> tuple[int, int]:
    return int((seen[1] > threshold).sum()), int((seen[0] > threshold).sum())


def proven_by_middle(seen: list[Array]) -> float:
    middle = float(np.median(seen[0][:PILOT]) + np.median(seen[1][:PILOT])) / 2
    rest = [values[PILOT:] for values in seen]
    return proven_mu(hits(rest, middle), len(rest[0]))


BOX = {"mechanism": GaussianProcess(bandwidth=0.5), "size": 4}  # few functions: the attacker finds the direction


def test_kernel_densities_by_sides_keep_their_guarantee_and_use_it() -> None:
    assert 0.4 * MU <= proven_by_middle(draws_of(estimator(APPROXIMATE, 3, **BOX), 3, 2000)) <= MU


def test_noise_by_sides_that_is_smaller_by_the_root_of_two_is_caught() -> None:
    assert proven_by_middle(draws_of(estimator(APPROXIMATE, 3, **BOX, randomness=Quiet()), 3, 4000)) > MU


def proven_by_tails(seen: list[Array]) -> float:
    """The most that one of a few thresholds proves, chosen by the first draws."""
    pilot, rest = [values[:1000] for values in seen], [values[1000:] for values in seen]
    thresholds = np.quantile(np.concatenate(pilot), np.linspace(0.02, 0.98, 49))
    best = max(thresholds, key=lambda threshold: proven_epsilon(hits(pilot, threshold), len(pilot[0])))
    return proven_epsilon(hits(rest, float(best)), len(rest[0]))


SLANTED = {"mechanism": LaplaceProcess(bandwidth=((0.9, 0.5), (0.5, 0.9)), eta=2.0), "size": 3}
FAR = 9.0  # whoever leaves the domain differs most from those within


def test_the_laplace_process_of_a_full_matrix_keeps_its_guarantee_and_uses_it() -> None:
    proven = proven_by_tails(draws_of(estimator(PURE, 2, **SLANTED, n=PEOPLE), 2, 5000, FAR))
    assert 0.3 * PURE.epsilon <= proven <= PURE.epsilon


def test_laplace_noise_that_is_too_small_is_caught() -> None:
    est = estimator(PURE, 2, **SLANTED, n=PEOPLE, randomness=Quiet())
    assert proven_by_tails(draws_of(est, 2, 8000, FAR)) > PURE.epsilon


def bandwidths(draws: int, one: list[float], other: list[float]) -> list[Array]:
    """The chosen bandwidths of two data sets, by the place of each person."""
    mechanism = LaplaceProcess(bandwidth="private-loo")
    est = estimator(PURE, 1, mechanism=mechanism, size=2, bandwidth_epsilon=PURE.epsilon, n=PEOPLE)
    found = []
    for places in (one, other):
        order = est.order(np.repeat(places, VISITS), units=UNITS).order
        bought = [order._bought(order.first, DrawLog(), None)[0].widths[0] for _ in range(draws)]  # type: ignore[attr-defined]
        found.append(np.array(bought))
    return found


@pytest.fixture
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are a function of the sum: those of one data set are computed once."""
    known: dict[bytes, Any] = {}
    compute = LeaveOneOut.scores

    def remembered(loo: LeaveOneOut, total: Integers, public: Any) -> Any:
        key = total.tobytes()
        if key not in known:
            known[key] = compute(loo, total, public)
        return known[key]

    monkeypatch.setattr(LeaveOneOut, "scores", remembered)


@pytest.mark.usefixtures("_quickly")
def test_a_bandwidth_by_leave_one_out_keeps_its_guarantee_and_uses_it() -> None:
    assert 0.05 * PURE.epsilon < proven_by_tails(bandwidths(2600, [0.2] * 5, [0.8, *[0.2] * 4])) <= PURE.epsilon


@pytest.mark.usefixtures("_quickly")
def test_scores_that_move_further_than_stated_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = LeaveOneOut.reach.func  # type: ignore[attr-defined]
    monkeypatch.setattr(LeaveOneOut, "reach", property(lambda self: honest(self) / 32))
    # Three in one place ask for a narrow kernel; if one of them stands elsewhere a wide one errs less.
    assert proven_by_tails(bandwidths(1400, [0.2, 0.2, 0.2, 0.5, 0.8], [0.35, 0.2, 0.2, 0.5, 0.8])) > PURE.epsilon
