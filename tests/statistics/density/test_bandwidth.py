"""A private bandwidth: where the quartiles lie, how far one unit moves the scores, and what it costs."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpfda.bases import Domain
from dpfda.bases.cells import cells_between, equal_cells, fine_cells
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.choice import choose, rate_of
from dpfda.privacy import Budget
from dpfda.records import as_curves
from dpfda.records.points import MASS
from dpfda.records.reading import Reading
from dpfda.statistics.density.bandwidth import Quartiles, private_bandwidth, scott
from dpfda.statistics.density.papers import DensityFacts, gp

LINE = fine_cells(Domain(((0.0, 10.0),)))
BOX = fine_cells(Domain(((0.0, 10.0), (-5.0, 5.0))))


def masses(points, cells):
    return MASS * np.bincount(cells.index(np.atleast_2d(points)), minlength=cells.size)


class Curator:
    """Makes the choice as the real one does, on masses that it holds, and notes what was charged."""

    def __init__(self, total, n, seed):
        self.total, self.public, self.charges = total, SimpleNamespace(n=n, planned=n), []
        self.randomness = SeededRandomness(seed)

    def choose(self, selection, budget):
        self.charges.append((selection.name, budget.epsilon, budget.delta))
        rate = rate_of(budget.epsilon, selection.spread)
        return choose(selection.scores(self.total, self.public), rate, randomness=self.randomness), selection.name


def normal_points(n, *deviations, seed=1):
    return 5.0 * (np.arange(len(deviations)) == 0) + np.random.default_rng(seed).normal(
        size=(n, len(deviations))
    ) * np.array(deviations)


@pytest.mark.parametrize(("cells", "deviations"), [(LINE, (1.0,)), (BOX, (1.0, 0.4))], ids=["line", "box"])
def test_the_range_is_found_up_to_the_width_of_a_place(cells, deviations):
    """At epsilon = 1 and 4000 units the choice misses by 30 of them but for one case in a million."""
    points = normal_points(4000, *deviations)
    curator = Curator(masses(points, cells), 4000, seed=2)
    choice = private_bandwidth(curator.choose, cells, 4000, epsilon=1.0, counted=False)
    for axis, (found, width) in enumerate(zip(choice.ranges, choice.widths, strict=True)):
        low, high = np.quantile(points[:, axis], [0.25, 0.75])
        assert found == pytest.approx(high - low, abs=0.2)
        d = len(deviations)
        assert width == pytest.approx((4 / ((d + 2) * 4000)) ** (1 / (d + 4)) * found / 1.34)
    assert curator.charges == [("bandwidth", 1.0 / len(deviations), 0.0)] * len(deviations)
    assert choice.epsilon == 1.0
    assert choice.cards == ("bandwidth",) * len(deviations)
    assert "for epsilon = 1 of its own" in choice.because


def test_with_next_to_no_budget_it_tells_next_to_nothing():
    """Ranges from 20 choices at epsilon = 1e-6 are those of two random places; that of the data is 0.13."""
    selection = Quartiles(LINE, 0, counted=False)
    total = masses(normal_points(100, 0.1), LINE)
    scores = selection.scores(total, SimpleNamespace(n=100, planned=100))
    randomness = SeededRandomness(3)
    rate = rate_of(1e-6, selection.spread)
    ranges = [selection.range_of(choose(scores, rate, randomness=randomness)) for _ in range(20)]
    assert min(ranges) < 1
    assert max(ranges) > 4
    assert np.median(ranges) > 1


def test_all_units_in_one_place_have_its_width_at_most():
    selection = Quartiles(LINE, 0, counted=False)
    scores = selection.scores(masses(np.full((50, 1), 3.3), LINE), SimpleNamespace(n=50, planned=50))
    best = int(np.argmin(scores.wholes))
    assert scores.wholes[best] == 0
    assert sum(score == 0 for score in scores.wholes) == 1
    # A place has 7 or 8 of the 1920 cells.
    assert 7 * 10 / 1920 / 2 <= selection.range_of(best) + 1e-9 <= 8 * 10 / 1920 / 2 + 2e-9


def test_no_width_is_too_narrow_for_a_kernel_estimate():
    curator = Curator(masses(np.full((5000, 1), 3.3), LINE), 5000, seed=4)
    choice = private_bandwidth(curator.choose, LINE, 5000, epsilon=5.0, counted=False)
    assert scott(choice.ranges, 5000)[0] < 10 / 200
    assert choice.widths == (10 / 200,)
    gp(DensityFacts(LINE, 5000, Budget(1.0, 0.1)), bandwidth=choice.widths)


def test_the_best_pair_holds_the_quartiles():
    points = np.linspace(0.02, 9.98, 1000)[:, None]
    selection = Quartiles(LINE, 0, counted=False)
    scores = selection.scores(masses(points, LINE), SimpleNamespace(n=1000, planned=1000))
    best = selection.pairs[int(np.argmin(scores.wholes))]
    for place, quartile in zip(best, np.quantile(points, [0.25, 0.75]), strict=True):
        assert selection.edges[place] - 0.01 <= quartile <= selection.edges[place + 1] + 0.01


@pytest.mark.parametrize("seed", range(4))
def test_no_unit_moves_two_scores_further_apart_than_the_spread(seed):
    random = np.random.default_rng(seed)
    n, cells = 12, equal_cells(Domain(((0.0, 1.0), (0.0, 1.0))), (7, 5))
    points = random.uniform(size=(n, 2))
    one = masses(points, cells)
    # The unit that is replaced has points in several cells.
    other = one - masses(points[:1], cells)
    places = cells.index(random.uniform(size=(3, 2)))
    np.add.at(other, places, MASS // 3)
    other[places[0]] += MASS - 3 * (MASS // 3)
    public = SimpleNamespace(n=n, planned=n)
    for axis in range(2):
        selection = Quartiles(cells, axis, counted=False)
        moved = np.array(selection.scores(other, public).wholes) - np.array(selection.scores(one, public).wholes)
        assert np.ptp(np.append(moved, 0)) <= selection.spread
        assert np.abs(moved).max() <= selection.spread / 2


def test_it_reads_masses_of_units_and_counts():
    cells = cells_between([0.0, 1.0, 5.0, 10.0])
    selection = Quartiles(cells, 0, counted=True)
    curves = as_curves(np.array([[3.0, 0.5], [5.0, 7.0], [2.9, np.nan]]), grid=np.arange(2.0), units=None)
    total = selection.gather(curves, SimpleNamespace(), Reading(progress=False))
    assert total.tolist() == [3 * MASS, 2 * MASS, 5 * MASS]
    assert selection.sums == 3
    values, present = selection.encode(SimpleNamespace())(np.array([[3.0, 0.5], [5.0, 7.0]]))
    assert values.tolist() == [[0.0, 2.0]]
    assert present.tolist() == [1.0, 1.0]


def test_scotts_rule_has_two_more_than_the_dimension():
    """`d + 2`, where Hall et al. print `d + 1`; in one dimension `(4/(3n))^(1/5)`."""
    assert scott((1.34, 2.68), 1000) == pytest.approx((1000 ** (-1 / 6), 2 * 1000 ** (-1 / 6)))
    assert scott((1.34,), 100) == pytest.approx(((4 / 300) ** 0.2,))
    assert math.isclose(scott((2.0,), 10)[0], 2 * scott((1.0,), 10)[0])
