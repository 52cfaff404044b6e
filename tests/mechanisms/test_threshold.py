"""The soft threshold before the noise: exact integers, no coordinate of a change grows, and the price stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from dpfda.arrays import Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import Gaussian, KNorm, Laplace, Mechanism, SeededRandomness, SoftThreshold, SystemRandomness
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity

# Sums of up to 2^38 units of 2^24 steps, and thresholds of up to as much.
SUMS, THRESHOLDS = st.integers(-(2**62), 2**62), st.integers(0, 2**62)
SEARCH = settings(derandomize=True, deadline=None, max_examples=300)
MOVE = Sensitivity(100.0, L2(), "a hundred steps")


class Silent:
    """A mechanism that adds nothing, so that what the noise would be added to can be seen."""

    name, pure, norm = "silent", True, L2()

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> Any:
        raise AssertionError("not asked for")

    def draw(self, coordinates: Integers, scale: float, *, randomness: Any) -> Integers:
        assert coordinates.dtype == np.int64
        return coordinates

    def noise(self, scale: float, size: int) -> Any:
        raise AssertionError("not asked for")


def shrunk(vector: list[int], thresholds: list[int]) -> list[int]:
    silent = SoftThreshold(Silent(), tuple(thresholds))
    out = silent.draw(np.array(vector, dtype=np.int64), 1.0, randomness=SystemRandomness())
    return [int(x) for x in out]


@SEARCH
@given(st.lists(st.tuples(SUMS, THRESHOLDS), min_size=1, max_size=6))
def test_the_threshold_is_exact_in_integers(pairs: list[tuple[int, int]]) -> None:
    vector, thresholds = ([pair[k] for pair in pairs] for k in (0, 1))
    expected = [(abs(x) - t) * (1 if x > 0 else -1) if abs(x) > t else 0 for x, t in pairs]
    assert shrunk(vector, thresholds) == expected


@SEARCH
@given(st.lists(st.tuples(SUMS, SUMS, THRESHOLDS), min_size=1, max_size=6))
def test_no_coordinate_of_a_change_grows_or_turns(triples: list[tuple[int, int, int]]) -> None:
    """So every norm of absolute values of a change stays below its bound."""
    one, other, thresholds = ([triple[k] for triple in triples] for k in range(3))
    after = [a - b for a, b in zip(shrunk(one, thresholds), shrunk(other, thresholds), strict=True)]
    for moved, before in zip(after, (a - b for a, b in zip(one, other, strict=True)), strict=True):
        assert abs(moved) <= abs(before)
        assert moved * before >= 0


@pytest.mark.parametrize(
    "inner",
    [Laplace(), Laplace((1.0, 2.0, 9.0)), Gaussian(), Gaussian((1.0, 2.0, 9.0)), KNorm((1, 2), (0.6, 0.8))],
    ids=str,
)
def test_name_price_and_law_are_those_of_the_inner_mechanism(inner: Mechanism) -> None:
    mechanism = SoftThreshold(inner, (0, 5, 2**40))
    assert mechanism.name == f"{inner.name} after a soft threshold"
    assert mechanism.norm == inner.norm
    assert mechanism.pure == inner.pure
    assert mechanism.profile(MOVE, 50.0, size=3) == inner.profile(MOVE, 50.0, size=3)
    assert mechanism.noise(50.0, 3) == inner.noise(50.0, 3)
    budget = Budget(1.0, 0.0 if inner.pure else 1e-6)
    assert calibrate(mechanism, MOVE, budget, size=3) == calibrate(inner, MOVE, budget, size=3)


def test_a_threshold_of_nothing_is_the_inner_mechanism() -> None:
    vector = np.array([5, -(2**50), 0], dtype=np.int64)
    one = SoftThreshold(Laplace(), (0, 0, 0)).draw(vector, 1e5, randomness=SeededRandomness(1))
    assert np.array_equal(one, Laplace().draw(vector, 1e5, randomness=SeededRandomness(1)))


@pytest.mark.parametrize("thresholds", [(), (-1,), (3, 2.0), (1.5,), ("1",)], ids=str)
def test_thresholds_are_whole_numbers_of_steps(thresholds: Any) -> None:
    with refused(UsageError, "thresholds", thresholds):
        SoftThreshold(Laplace(), thresholds)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_another_number_of_coordinates_is_refused(size: int) -> None:
    with refused(UsageError, "coordinates", size):
        SoftThreshold(Laplace(), (1, 2)).draw(np.zeros(size, dtype=np.int64), 1.0, randomness=SystemRandomness())
