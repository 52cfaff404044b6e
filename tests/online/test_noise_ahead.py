"""Noise drawn ahead: normal numbers times 2^40, rounded exactly; numbers kept in order."""

from __future__ import annotations

import math
from bisect import bisect_left, insort

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from dpfda.mechanisms import SeededRandomness, SystemRandomness
from dpfda.mechanisms.normals import Reals
from dpfda.online import noise_ahead
from dpfda.online.engine import exact_sums, lattice_ratio, to_lattice
from dpfda.online.markov import SortedNumbers
from dpfda.online.noise_ahead import STEPS, NoiseAhead, rounded_normals


@pytest.mark.parametrize("source", [SeededRandomness(3), SystemRandomness()], ids=["seeded", "system"])
def test_the_noise_is_normal_with_deviation_two_to_the_forty(source):
    """Level 1e-6; the system's source fails by chance once in a million runs."""
    assert kstest(rounded_normals(20_000, source) / STEPS, "norm").pvalue > 1e-6


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("last", [0, 1, 2**13 - 1, 2**12, 2**12 - 1], ids=["0", "1", "end", "half", "below half"])
def test_numbers_half_way_between_integers_are_decided_by_more_bits(monkeypatch, sign, last):
    """Of 53 bits 40 make the integer; the other 13 and what follows decide, exactly."""
    words = np.array([(5 << 13) + last])
    reals = Reals(np.array([sign]), np.array([1]), words, SeededRandomness(1))
    monkeypatch.setattr(noise_ahead, "draw_normals", lambda size, randomness: reals)
    # The fraction goes on beyond its 53 bits: from one half on it lies above, below it lies below.
    expected = sign * (STEPS + 5 + (last >= 2**12))
    assert rounded_normals(1, SeededRandomness(1)).tolist() == [expected]


def test_a_number_far_out_is_rounded_in_integers(monkeypatch):
    reals = Reals(np.array([1]), np.array([40]), np.array([3 << 13]), SeededRandomness(1))
    monkeypatch.setattr(noise_ahead, "draw_normals", lambda size, randomness: reals)
    assert rounded_normals(1, SeededRandomness(1)).tolist() == [40 * STEPS + 3]


def test_no_noise_is_used_twice():
    ahead = NoiseAhead(SeededRandomness(1))
    taken = [x for size in (1, 3, 5000, 3) for x in ahead.take(size)]
    assert len(set(taken)) == len(taken) == 5007


@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: x + 0.0), unique=True, max_size=60), st.floats(-1e6, 1e6))
def test_neighbours_are_those_of_a_sorted_list(numbers, asked):
    ordered, plain = SortedNumbers(), []
    for number in numbers:
        ordered.add(number)
        insort(plain, number)
    assert ordered.all() == plain
    if asked not in plain:
        index = bisect_left(plain, asked)
        left = plain[index - 1] if index else -math.inf
        right = plain[index] if index < len(plain) else math.inf
        assert ordered.around(asked) == (left, right)


def test_ten_thousand_numbers_stay_in_order_through_all_splits():
    numbers = np.random.default_rng(0).permutation(10_000).astype(float)
    one, other = SortedNumbers(), SortedNumbers()
    for number in numbers.tolist():
        one.add(number)
    other.replace(np.sort(numbers))
    other.add(0.5)
    one.add(0.5)
    assert one.all() == other.all() == sorted([*numbers.tolist(), 0.5])
    for asked in (-1.0, 0.25, 0.75, 511.5, 512.5, 5000.5, 9_999.5):
        assert one.around(asked) == other.around(asked)
    assert one.around(511.5) == (511.0, 512.0)
    assert max(map(len, one._blocks)) <= 1024


@given(
    sections=st.lists(st.floats(-1, 1), min_size=1, max_size=20),
    masses=st.lists(st.integers(-(2**42), 2**42), min_size=20, max_size=20),
)
def test_sums_over_records_are_exact(sections, masses):
    cut = len(sections) // 2
    found = exact_sums(
        (np.array(sections),), np.array(masses[: len(sections)], dtype=np.int64), np.array([0, cut, len(sections)])
    )
    whole = [round(x * 2**40) * mass for x, mass in zip(sections, masses, strict=False)]
    assert found == [[sum(whole[:cut]), sum(whole[cut:])]]


@given(st.integers(-(2**90), 2**90), st.floats(1e-9, 1e9))
def test_sums_are_rounded_once_to_the_nearest_step(total, ratio):
    from fractions import Fraction

    off = to_lattice(total, lattice_ratio(ratio)) - total * Fraction(ratio)
    assert abs(off) <= Fraction(1, 2)
