"""The acceptance test of K-norm noise decides as exact arithmetic does, also where doubles cannot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.arrays import Integers
from dpfda.mechanisms.knorm import LARGEST_BLOCK, accept, interval
from dpfda.privacy.norms import up


def exact_probability(z: list[int], rate: float, proposal: float, digits: int = 400) -> Decimal:
    """`exp(-(rate |z|_2 - |z|_1 / proposal))` to 400 digits."""
    with localcontext(Context(prec=digits + 40, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        radius = Decimal(rate) * Decimal(sum(x * x for x in z)).sqrt()
        return (Decimal(sum(map(abs, z))) / Decimal(proposal) - radius).exp()


def first_bits(probability: Decimal, known: int) -> int:
    """The whole part of `probability 2^known`: the first bits of the number itself."""
    with localcontext(Context(prec=1200, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        return int(probability * 2**known)


class Scripted:
    """Hands out chosen bits, 53 at a time, and counts them; it makes no noise."""

    private = False

    def __init__(self, *chunks: int) -> None:
        self.chunks: Iterator[int] = iter(chunks)
        self.used = 0

    def bits53(self, size: int) -> Integers:
        self.used += size
        return np.array([next(self.chunks) for _ in range(size)], dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        raise AssertionError("not asked for")

    gaussian = laplace


def decision(z: list[int], rate: float, proposal: float, *chunks: int) -> tuple[bool, int]:
    """What is decided from these bits, and how many chunks of them it took."""
    source = Scripted(*chunks)
    return bool(accept(np.array([z], dtype=np.int64), rate, proposal, source)[0]), source.used


@st.composite
def proposals(draw: st.DrawFn, most: float = 690.0) -> tuple[list[int], float, float]:
    """A proposal, a rate that gives it a radius of the stated reach, and the width that `draw_block` would use."""
    size = draw(st.integers(1, LARGEST_BLOCK))
    reach = draw(st.sampled_from([3, 1000, 2**24, 2**40, 2**53 + 5, 2**55]))
    entries = st.integers(-reach, reach)
    z = draw(
        st.one_of(
            st.lists(entries, min_size=size, max_size=size),
            entries.map(lambda x: [x] * size),  # the diagonal, where acceptance is all but certain
            entries.map(lambda x: [x] + [0] * (size - 1)),  # an axis, where it is least
        )
    )
    length = math.sqrt(sum(x * x for x in z)) or 1.0
    rate = draw(st.floats(1e-9, most)) / length
    return z, rate, up(math.sqrt(size) / rate, 2)


@given(case=proposals(most=3000.0))
@settings(derandomize=True, deadline=None, max_examples=400)
def test_the_interval_in_doubles_contains_the_exact_probability_and_is_narrow(
    case: tuple[list[int], float, float],
) -> None:
    z, rate, proposal = case
    exact = exact_probability(z, rate, proposal, digits=60)
    low, high = (float(bound[0]) for bound in interval(np.array([z], dtype=np.int64), rate, proposal))
    assert Decimal(low) <= exact <= Decimal(high)
    assert exact <= 1
    assert high > 0
    radius = rate * math.sqrt(sum(x * x for x in z))
    # Beyond exp(-700), 1e-304, there is only one interval.
    assert high - low <= float(exact) * (1e-13 * (radius + 1) + 1e-14) + 1e-304


@given(case=proposals(), off=st.integers(-40, 40))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_bits_near_the_probability_are_decided_as_exact_arithmetic_does(
    case: tuple[list[int], float, float], off: int
) -> None:
    """Anywhere but in the one cell of 2^-53 that holds the probability, 53 bits are enough."""
    z, rate, proposal = case
    cell = first_bits(exact_probability(z, rate, proposal), 53)
    bits = cell + off
    if off == 0 or not 0 <= bits < 2**53:
        return
    assert decision(z, rate, proposal, bits) == (off < 0, 1)


@given(case=proposals(), chunks=st.integers(2, 5), off=st.sampled_from([-1, 1]))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_number_in_the_same_cell_as_the_probability_is_refined_until_it_is_decided(
    case: tuple[list[int], float, float], chunks: int, off: int
) -> None:
    """The uniform number agrees with the probability in all chunks but the last, and there differs by one."""
    z, rate, proposal = case
    exact = exact_probability(z, rate, proposal)
    if not any(z):
        return
    known = 53 * chunks
    bits = first_bits(exact, known) + off
    script = [(bits >> (known - 53 * (k + 1))) & (2**53 - 1) for k in range(chunks)]
    if bits < 0 or bits >= 2**known:
        return
    decided, used = decision(z, rate, proposal, *script)
    assert decided == (off < 0)
    # One step off in the last chunk may already show in an earlier one, by a carry.
    assert used == chunks or script[-1] in (0, 2**53 - 1)


@pytest.mark.parametrize("size", [1, 4, 20])
@pytest.mark.parametrize("bits", [0, 1, 2**52, 2**53 - 1])
def test_the_origin_is_always_accepted(size: int, bits: int) -> None:
    assert decision([0] * size, 1.0, up(math.sqrt(size), 2), bits) == (True, 1)


@pytest.mark.parametrize("radius", [720.0, 760.0, 1200.0])
@pytest.mark.parametrize("times", [Decimal("0.999"), Decimal("1.001")])
def test_no_proposal_has_probability_zero_however_small_it_is(radius: float, times: Decimal) -> None:
    """Beyond exp(-745) a double is zero; the noise must reach those points too, or its ratio would be infinite."""
    z, size = [10**6, 0, 0, 0, 0, 0, 0, 0, 0], 9
    rate = radius * 1.5 / 10**6  # two thirds of it are left: |z|_1 / proposal is a third of the radius
    proposal = up(math.sqrt(size) / rate, 2)
    exact = exact_probability(z, rate, proposal)
    chunks = 2 + math.ceil(-float(exact.ln() / Decimal(2).ln()) / 53)
    bits = first_bits(exact * times, 53 * chunks)
    script = [(bits >> (53 * (chunks - k - 1))) & (2**53 - 1) for k in range(chunks)]
    assert script[:3] == [0, 0, 0]
    decided, used = decision(z, rate, proposal, *script)
    assert decided == (times < 1)
    assert used > 10


def test_the_decision_does_not_depend_on_the_callers_decimal_context() -> None:
    z, rate = [3, -5, 8], 0.37
    proposal = up(math.sqrt(3) / rate, 2)
    exact = exact_probability(z, rate, proposal)
    for off in (-1, 1):
        bits = first_bits(exact, 106) + off
        with localcontext(Context(prec=3, rounding=ROUND_UP, Emin=-2, Emax=2)):
            assert decision(z, rate, proposal, bits >> 53, bits & (2**53 - 1)) == (off < 0, 2)


def test_rows_that_are_left_open_are_decided_each_by_its_own_bits() -> None:
    rate = 0.37
    proposal = up(math.sqrt(2) / rate, 2)
    rows = [[3, -5], [0, 0], [7, 7], [12, -1]]
    exact = [exact_probability(row, rate, proposal) for row in rows]
    cells = [first_bits(p, 53) for p in (exact[0], exact[3])]
    following = [first_bits(p, 106) & (2**53 - 1) for p in (exact[0], exact[3])]
    source = Scripted(cells[0], 5, 0, cells[1], following[0] - 1, following[1] + 1)
    decided = accept(np.array(rows, dtype=np.int64), rate, proposal, source)
    assert decided.tolist() == [True, True, True, False]
    assert source.used == 6
