"""A private bandwidth by leave-one-out: its score, how far one unit moves it, and what it is charged with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.bases import as_domain
from dpfda.bases.cells import equal_cells
from dpfda.bases.lattice import MOST_UNITS
from dpfda.errors import UsageError
from dpfda.ledger import Ledger, SessionLedger
from dpfda.mechanisms import GaussianProcess, SeededRandomness
from dpfda.records.labelled import as_points
from dpfda.records.points import MASS, cell_masses
from dpfda.records.reading import Reading
from dpfda.statistics.density.leave_one_out import LeaveOneOut, candidates

N = 40
PUBLIC: Any = SimpleNamespace(n=N, planned=N)
SHARES = (0.3, 0.2, 0.1, 0.05)
RNG = np.random.default_rng(4)


def selection(sides: int = 1) -> LeaveOneOut:
    count = {1: 200, 2: 40}[sides]
    cells = equal_cells(as_domain([(0.0, 2.0)] * sides), (count,) * sides)
    return LeaveOneOut(cells, N, False, SHARES)


def scores(loo: LeaveOneOut, people: list[Any]) -> Any:
    sides = len(loo.cells.shape)
    rows = np.array([point for points in people for point in points], dtype=float).reshape(-1, sides)
    curves = as_points(rows, sides, units=[who for who, points in enumerate(people) for _ in points])
    reading = Reading(progress=False)
    masses = cell_masses(curves, loo.cells, counted=False, all_counted=False, reading=reading)
    return np.array(loo.scores(masses, PUBLIC).wholes, dtype=object)


def test_the_score_is_that_of_leaving_each_unit_out() -> None:
    loo = selection()
    points = loo.cells.centres[RNG.integers(0, 200, N), 0]
    found = scores(loo, [[(x,)] for x in points]) * (loo.reach / 2**40)
    for share, score in zip(SHARES, found - found[0], strict=True):
        exact = []
        for width in (share, SHARES[0]):
            gaps = (points[:, None] - points) / (2 * width)  # the domain has length 2
            bells = np.exp(-0.5 * gaps**2) / (width * np.sqrt(2 * np.pi))
            wide = np.exp(-0.25 * gaps**2) / (width * np.sqrt(4 * np.pi))
            out = (bells.sum() - np.trace(bells)) / (N * (N - 1))
            exact.append(wide.mean() - 2 * out)
        assert float(score) == pytest.approx(exact[0] - exact[1], abs=1e-9)


@pytest.mark.parametrize("sides", [1, 2])
def test_no_unit_moves_two_scores_further_apart_than_the_spread_and_the_worst_nearly_does(sides: int) -> None:
    """Everybody in one place and one who leaves it; and people at random with several points each."""
    loo = selection(sides)
    middle = tuple([1.0] * sides)
    together = [[middle]] * (N - 1)
    before, worst = scores(loo, [*together, [middle]]), 0.0
    for away in np.linspace(0.0, 1.0, 25):
        change = scores(loo, [*together, [(1.0 + away, *middle[1:])]]) - before
        worst = max(worst, float(max(change) - min(change)))
    assert 0.9 * loo.spread <= worst <= loo.spread
    # Where n was stated, and there are in fact three times as many.
    crowd = [[middle]] * (3 * N - 1)
    change = scores(loo, [*crowd, [middle]]) - scores(loo, [*crowd, [(2.0, *middle[1:])]])
    assert float(max(change) - min(change)) <= loo.spread
    for _ in range(30):
        people = [[tuple(RNG.random(sides) * 2.4 - 0.2) for _ in range(RNG.integers(1, 4))] for _ in range(N - 1)]
        one, two = ([tuple(RNG.random(sides) * 2) for _ in range(k)] for k in (1, 3))
        change = scores(loo, [*people, one]) - scores(loo, [*people, two])
        assert float(max(change) - min(change)) <= loo.spread


def test_a_typing_error_in_a_count_does_not_break_the_spread() -> None:
    """Where n is stated nobody compares it with counts: cells are full at some point, and sums of theirs are exact."""
    loo = selection(1)
    total = np.zeros(loo.sums, dtype=np.int64)
    total[:32] = MASS * MOST_UNITS  # 2^63 in all
    other = total.copy()
    total[40] += MASS
    other[100] += MASS
    one, two = (np.array(loo.scores(each, PUBLIC).wholes, dtype=object) for each in (total, other))
    change = one - two
    assert float(max(change) - min(change)) <= loo.spread


def test_with_much_budget_it_finds_a_narrow_bandwidth_for_narrow_points_and_a_wide_one_for_wide_points() -> None:
    found = []
    for deviation in (0.02, 0.2):
        est = dpfda.DensityFunction(
            epsilon=1.0,
            delta=1e-6,
            domain=(0.0, 1.0),
            mechanism=GaussianProcess(bandwidth="private-loo"),
            bandwidth_epsilon=5.0,
            randomness=SeededRandomness(1),
            force=True,
        )
        est.fit(np.random.default_rng(2).normal(0.5, deviation, 4000))
        found.append(est.bandwidth_choice_.widths[0])
        assert "leave-one-out" in dict(est.release_.certificate.chosen)["bandwidth"]
    assert found[0] < 0.02 < 0.04 < found[1]


def test_both_are_charged_at_once_and_the_two_ways_are_two_requests(tmp_path: Any) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("d", epsilon=2.0, delta=1e-4, neighbours="replace-one")
    points = RNG.random(200)

    def fitted(way: str) -> Any:
        return dpfda.DensityFunction(
            epsilon=1.0,
            delta=0.0,
            domain=(0.0, 1.0),
            mechanism=dpfda.mechanisms.FiniteLaplace(bandwidth=way),
            bandwidth_epsilon=0.5,
            dataset="d",
            ledger=ledger.under("k"),
            force=True,
        ).fit(points)

    first = fitted("private-loo")
    assert first.release_.certificate.epsilon == 1.5
    assert fitted("private-loo").release_.noisy.tolist() == first.release_.noisy.tolist()
    with pytest.raises(UsageError, match="stands for another request already"):
        fitted("private-iqr")


def test_what_it_cannot_choose_from_is_refused_before_the_charge() -> None:
    ledger = SessionLedger()
    with pytest.raises(UsageError, match=r"at least 2 units and .* got 1"):
        dpfda.DensityFunction(
            epsilon=1.0,
            delta=1e-6,
            domain=(0.0, 1.0),
            mechanism=GaussianProcess(bandwidth="private-loo"),
            bandwidth_epsilon=0.5,
            ledger=ledger,
            force=True,
        ).fit([0.5])
    assert ledger.entries == []
    assert len(candidates(selection().cells, 1000)) == 10
