"""Closed-form bridges against brute-force conditioning in 220 digits, at gaps from 1e-12 to tens of length scales."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from exactly import DIGITS, Conditioned, product
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.online.markov import Bridge
from dpfda.online.specification import OWN_ERROR
from dpfda.online.states import ARRAYS, FAR, FLOATS, PROCESSES, moments, moments_of_many

SIZES = (1, 2, 3)
NOTHING = Decimal(
    "1e-24"
)  # sections as short as this, tens of length scales away, are rounded to 0 on a lattice of 1e-12
near_gaps = st.floats(-12, 1.3).map(lambda x: 10.0**x)
ratios = st.floats(0, 8).map(lambda x: 10.0**x)
shares = st.floats(-8, 0).map(lambda x: 10.0**x)


def place(bridge: Bridge, near: float, far: float, share: float, side: str) -> tuple[Decimal, tuple[float, ...]]:
    """A record by its share of the way from one end of a half of the gap, and its whitened section."""
    half = near if side.startswith("near") else far
    first = half * share if side.endswith("start") else half - half * share
    second = float(Decimal(half) - Decimal(first))
    if side.startswith("near"):
        return Decimal(first), bridge.before(first, second)
    return Decimal(near) + Decimal(first), bridge.beyond(first, second, first <= second)


def root_of(bridge: Bridge) -> list[tuple[float, ...]]:
    """Columns of the root of the conditional covariance."""
    process = bridge.process
    units = np.eye(process.size)
    return [process.times(bridge.root_near, process.solved(bridge.precision, tuple(unit))) for unit in units]


@pytest.mark.parametrize("size", SIZES)
@given(
    near=near_gaps,
    ratio=ratios,
    records=st.lists(
        st.tuples(shares, st.sampled_from(["near start", "near end", "far start", "far end"])), min_size=2, max_size=2
    ),
)
@settings(max_examples=40, deadline=None)
def test_whitened_sections_are_exact_relative_to_their_own_length(size, near, ratio, records):
    """Lengths, and lengths of differences: replacing one record by another moves by what theory says, no more."""
    far = min(near * ratio, 60.0) if near < 60 else near
    near, far = min(near, far), max(near, far)
    bridge = Bridge.over(PROCESSES[size], FLOATS, near, far)
    exact = Conditioned(size, [Decimal(0), Decimal(near) + Decimal(far)], Decimal(near))
    sections, whitened = [], []
    for share, side in records:
        where, found = place(bridge, near, far, share, side)
        sections.append(exact.section(where))
        whitened.append(found)
    with localcontext(prec=DIGITS):
        lengths = [exact.squared(section).sqrt() for section in sections]
        for length, found in zip(lengths, whitened, strict=True):
            assert abs(sum(Decimal(x) ** 2 for x in found).sqrt() - length) <= Decimal("1e-12") * length + Decimal(
                "1e-150"
            )
        moved = [[x[0] - y[0]] for x, y in zip(*sections, strict=True)]
        difference = sum((Decimal(x) - Decimal(y)) ** 2 for x, y in zip(*whitened, strict=True)).sqrt()
        slack = Decimal(OWN_ERROR) / 100 * sum(lengths)
        assert abs(difference - exact.squared(moved).sqrt()) <= slack + NOTHING


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("near", "far"), [(1e-12, 1e-12), (1e-9, 1e-9), (1e-9, 1.0), (0.01, 0.3), (2.0, 2.0), (0.5, 40.0)]
)
def test_the_conditional_covariance_is_that_of_brute_force(size, near, far):
    bridge = Bridge.over(PROCESSES[size], FLOATS, near, far)
    exact = Conditioned(size, [Decimal(0), Decimal(near) + Decimal(far)], Decimal(near)).variance
    columns = root_of(bridge)
    with localcontext(prec=DIGITS):
        ours = product(
            [[Decimal(c[i]) for c in columns] for i in range(size)], [[Decimal(x) for x in c] for c in columns]
        )
        for i in range(size):
            for j in range(size):
                unit = (exact[i][i] * exact[j][j]).sqrt()
                assert abs(ours[i][j] - exact[i][j]) < Decimal("1e-13") * unit


@pytest.mark.parametrize("size", SIZES)
def test_without_neighbours_the_law_is_the_stationary_one(size):
    bridge = Bridge.over(PROCESSES[size], FLOATS, FAR, FAR)
    exact = np.array(Conditioned(size, [], Decimal(0)).variance, dtype=np.float64)
    columns = np.array(root_of(bridge)).T
    np.testing.assert_allclose(columns @ columns.T, exact, rtol=1e-14, atol=1e-15)
    assert exact[-1, -1] == 1.0  # the last entry of a state is the value, of variance 1


@pytest.mark.parametrize("size", SIZES)
def test_the_mean_is_the_regression_on_both_neighbours(size):
    near, far = 0.3, 0.7
    bridge = Bridge.over(PROCESSES[size], FLOATS, near, far)
    exact = Conditioned(size, [Decimal(0), Decimal(near) + Decimal(far)], Decimal(near))
    states = np.arange(1.0, 2 * size + 1)
    expected = np.array(exact._weights, dtype=np.float64) @ states
    found = bridge.state(tuple(states[:size]), tuple(states[size:]), (0.0,) * size)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_a_state_read_backwards_twice_is_itself_and_has_the_law_of_one_read_forwards(size):
    process = PROCESSES[size]
    state = (0.7, -1.3, 2.1)[:size]
    np.testing.assert_allclose(process.mirror(process.mirror(state)), state, rtol=1e-14)
    mirror = np.array([process.mirror(tuple(unit)) for unit in np.eye(size)]).T
    np.testing.assert_allclose([process.mirrored(tuple(unit)) for unit in np.eye(size)], mirror, rtol=0)
    stationary = np.array(Conditioned(size, [], Decimal(0)).variance, dtype=np.float64)
    np.testing.assert_allclose(mirror @ stationary @ mirror.T, stationary, rtol=1e-14)


@pytest.mark.parametrize("top", [0, 2, 4])
def test_moments_are_integrals_to_the_last_digits(top):
    from scipy.integrate import quad

    gaps = np.array([1e-20, 1e-9, 4e-6, 6e-6, 0.004, 0.006, 0.3, 0.999, 1.001, 3.0, 40.0])
    many = np.array(moments_of_many(gaps, top))
    for column, h in enumerate(gaps.tolist()):
        one = moments(h, top)
        for k in range(top + 1):
            exact = quad(
                lambda r, k=k, h=h: np.exp(-2 * h * r) * r**k, 0, 1, epsabs=0, epsrel=1e-13, points=[0.02, 0.2]
            )[0]
            assert one[k] == pytest.approx(exact, rel=1e-12)
            assert many[k, column] == pytest.approx(one[k], rel=1e-13)


def test_a_gap_of_no_length_is_no_error():
    assert moments(0.0, 0) == (1.0,)
    assert moments_of_many(np.zeros(1), 4)[4][0] == pytest.approx(0.2)


@pytest.mark.parametrize("size", SIZES)
def test_arrays_give_what_floats_give(size):
    near, far = 0.02, 0.5
    ahead = np.array([1e-9, 0.01, 0.2, 0.25, 0.3, 0.49])
    one, many = (
        Bridge.over(PROCESSES[size], FLOATS, near, far),
        Bridge.over(PROCESSES[size], ARRAYS, np.array([near]), np.array([far])),
    )
    beyond = np.array([one.beyond(x, far - x, x <= far - x) for x in ahead.tolist()]).T
    np.testing.assert_allclose(many.beyond_many(ahead, far - ahead), beyond, rtol=1e-11)
    inner = np.array([1e-9, 0.01, 0.0199])
    before = np.array([one.before(near - x, x) for x in inner.tolist()]).T
    np.testing.assert_allclose(many.before(near - inner, inner), before, rtol=1e-12)
