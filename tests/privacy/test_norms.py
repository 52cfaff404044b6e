"""Norms and sensitivities: conversions are attained, never exceeded, and rounded to the safe side, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from dpfda.arrays import Array
from dpfda.bases.symmetric import multiplicities, pack, packed_size
from dpfda.errors import UsageError
from dpfda.privacy.norms import (
    L1,
    L2,
    BlockNorm,
    Norm,
    Nuclear,
    Sensitivity,
    WeightedL1,
    WeightedL2,
    frobenius,
    root_sum_of_squares,
    up,
)

SEARCH = settings(derandomize=True, deadline=None, max_examples=60)
# numpy's Euclidean norm squares, so numbers far below 1e-154 would vanish in it.
ORDINARY = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-100)


@dataclass(frozen=True)
class Case:
    """A norm in a dimension, and the exact square of its largest value on the Euclidean unit sphere."""

    norm: Norm
    size: int
    square: Fraction
    attained: list[float]  # a vector at which the ratio is largest


def blocks(sizes: tuple[int, ...], weights: tuple[float, ...]) -> Case:
    # Cauchy-Schwarz is attained where a block's norm is its weight; the first coordinate of each block will do.
    vector = [v for size, weight in zip(sizes, weights, strict=True) for v in (weight, *[0.0] * (size - 1))]
    return Case(BlockNorm(sizes, weights), sum(sizes), sum((Fraction(w) ** 2 for w in weights), Fraction(0)), vector)


def weighted_l2(*weights: float) -> Case:
    # One coordinate with the largest weight attains it.
    vector = [1.0 if place == int(np.argmax(weights)) else 0.0 for place in range(len(weights))]
    return Case(WeightedL2(weights), len(weights), Fraction(max(weights)) ** 2, vector)


def weighted_l1(*weights: float) -> Case:
    # Cauchy-Schwarz is attained by the weights themselves.
    return Case(WeightedL1(weights), len(weights), sum((Fraction(w) ** 2 for w in weights), Fraction(0)), list(weights))


def reflection(side: int) -> np.ndarray:
    """A symmetric orthogonal matrix with a constant diagonal: 0 for even sides, plus or minus 1/side for odd ones.

    A circulant matrix has a constant diagonal, and any signs for its eigenvalues, two by two the same.
    """
    half = (-1.0) ** np.arange((side - 1) // 2)  # of the pairs; they add up to 0 or 1
    alone = [1.0 - 2 * half.sum(), *[-1.0] * (side % 2 == 0)]
    eigenvalues = np.concatenate([alone[:1], half, alone[1:], half[::-1]])
    column = np.fft.ifft(eigenvalues).real
    return np.stack([np.roll(column, k) for k in range(side)])


def nuclear(side: int) -> Case:
    # Cauchy-Schwarz for tr(AU) is attained by the reflection itself, its entries off the diagonal doubled.
    square = Fraction(2 * side) - (Fraction(1, side) if side % 2 else 0)
    vector = pack(reflection(side)) * multiplicities(side)
    return Case(Nuclear(), packed_size(side), square, vector.tolist())


# What the noise process of a Matérn kernel of order 3/2 asks for: weights of the mean over roots of eigenvalues.
PROCESS = tuple(j**2 / (1 + j**6 / 1e4) for j in range(1, 41))

# The single list of norms: a new one joins by one line.
MEMBERS = [
    Case(L2(), 1, Fraction(1), [1.0]),
    Case(L2(), 7, Fraction(1), [1.0, *[0.0] * 6]),
    Case(L1(), 1, Fraction(1), [1.0]),
    Case(L1(), 2, Fraction(2), [1.0] * 2),
    Case(L1(), 7, Fraction(7), [1.0] * 7),
    Case(L1(), 9, Fraction(9), [1.0] * 9),
    Case(L1(), 1024, Fraction(1024), [1.0] * 1024),
    blocks((1,), (1.0,)),
    blocks((3,), (0.1,)),
    blocks((1, 1, 1), (1.0, 1.0, 1.0)),
    blocks((2, 3), (0.6, 0.8)),
    blocks((1, 4, 8, 2), (0.3, 1e-3, 2.5, 1e3)),
    blocks((8,) * 16, tuple(0.1 * (j + 1) for j in range(16))),
    weighted_l2(0.1),
    weighted_l2(1.0, 1.0, 1.0),
    weighted_l2(0.3, 1e-3, 2.5, 1e3, 0.7),
    weighted_l2(*PROCESS),
    weighted_l1(0.1),
    weighted_l1(1.0, 1.0),
    weighted_l1(0.3, 1e-3, 2.5, 1e3, 0.7),
    weighted_l1(*(0.1,) * 100),
    weighted_l1(*PROCESS),
    *(nuclear(side) for side in (1, 2, 3, 4, 7, 10)),
]


def named(case: Case) -> str:
    return f"{type(case.norm).__name__}-{case.size}-{float(case.square):.3g}"


every = pytest.mark.parametrize("case", MEMBERS, ids=named)


@every
def test_the_largest_value_on_the_sphere_is_rounded_up_and_by_no_more_than_three_steps(case: Case) -> None:
    factor = case.norm.over_l2(case.size)
    assert Fraction(factor) ** 2 >= case.square
    assert Fraction(math.nextafter(factor, 0.0)) ** 2 <= case.square * (1 + Fraction(6, 2**52))


@every
def test_the_largest_value_on_the_sphere_is_attained(case: Case) -> None:
    ratio = case.norm(case.attained) / L2()(case.attained)
    assert ratio == pytest.approx(case.norm.over_l2(case.size), rel=1e-14, abs=0)


@every
@SEARCH
@given(data=st.data())
def test_no_vector_exceeds_the_largest_value(case: Case, data: st.DataObject) -> None:
    few = data.draw(st.lists(ORDINARY, min_size=1, max_size=min(case.size, 9)))
    vector = np.resize(few, case.size)
    # The slack is the rounding of the two norms themselves: a sum of at most 1024 terms.
    assert case.norm(vector) <= case.norm.over_l2(case.size) * L2()(vector) * (1 + 1e-12)


@every
@SEARCH
@given(one=ORDINARY, other=ORDINARY, factor=ORDINARY.map(lambda x: x if abs(x) > 1e-40 else 0.0))
def test_every_member_is_a_norm(case: Case, one: float, other: float, factor: float) -> None:
    first = np.linspace(one, other, case.size)
    second = np.cos(np.arange(case.size) * (1 + abs(one) % 7))
    assert case.norm(np.zeros(case.size)) == 0
    assert case.norm(second) > 0
    assert case.norm(factor * first) == pytest.approx(abs(factor) * case.norm(first), rel=1e-12, abs=1e-300)
    assert case.norm(first + second) <= (case.norm(first) + case.norm(second)) * (1 + 1e-12)


def test_the_norms_are_their_formulas() -> None:
    vector = [3.0, -4.0, 12.0]
    assert L2()(vector) == 13
    assert L1()(vector) == 19
    assert BlockNorm((2, 1), (2.0, 0.5))(vector) == 2 * 5 + 0.5 * 12
    assert WeightedL2((1.0, 0.75, 0.25))(vector) == math.sqrt(9 + 9 + 9)
    assert WeightedL1((1.0, 0.75, 0.25))(vector) == 3 + 3 + 3
    # The eigenvalues of ((3, 12), (12, -4)) are 12 and -13, and those of ((5, 4), (4, 5)) are 9 and 1.
    assert Nuclear()(vector) == pytest.approx(25, rel=1e-15)
    assert Nuclear()([5.0, 5.0, 4.0]) == pytest.approx(10, rel=1e-15)
    assert Nuclear()([-3.0]) == 3
    assert frobenius(2)(vector) == pytest.approx(math.sqrt(9 + 16 + 2 * 144), rel=1e-15)


def test_equal_weights_give_the_plain_norms() -> None:
    vector = np.linspace(-3, 2, 9)
    assert WeightedL2((2.0,) * 9)(vector) == pytest.approx(2 * L2()(vector), rel=1e-15)
    assert WeightedL1((2.0,) * 9)(vector) == pytest.approx(2 * L1()(vector), rel=1e-15)
    assert WeightedL1((1.0,) * 9).over_l2(9) == pytest.approx(L1().over_l2(9), rel=1e-15)
    assert WeightedL2((1.0,) * 9).over_l2(9) == L2().over_l2(9) == 1


def test_the_worst_vector_of_a_weighted_sum_is_no_single_coordinate_and_beats_the_published_bound() -> None:
    """The published sensitivity adds weights up, as if every coordinate could be as large as the ball at once."""
    norm = WeightedL1(PROCESS)
    exact = norm.over_l2(len(PROCESS))
    assert max(PROCESS) < 0.6 * exact
    assert exact < 0.4 * sum(PROCESS)


@given(numbers=st.lists(st.floats(1e-100, 1e100), min_size=1, max_size=30))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_root_of_a_sum_of_squares_is_never_too_small_and_hardly_too_large(numbers: list[float]) -> None:
    square = sum((Fraction(x) ** 2 for x in numbers), Fraction(0))
    assert square <= Fraction(root_sum_of_squares(tuple(numbers))) ** 2 <= square * (1 + Fraction(10, 2**52))


@given(value=st.floats(1e-300, 1e300), steps=st.integers(1, 5))
@settings(derandomize=True, deadline=None)
def test_up_moves_by_single_steps_of_a_double(value: float, steps: int) -> None:
    moved = value
    for _ in range(steps):
        above = up(moved)
        assert above > moved
        assert math.nextafter(above, 0.0) == moved
        moved = above
    assert up(value, steps) == moved


@given(size=st.integers(1, 2**60))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_root_of_a_size_is_never_too_small(size: int) -> None:
    assert Fraction(L1().over_l2(size)) ** 2 >= size


@pytest.mark.parametrize("size", [2**52 + 1, 2**52 - 1, (2**26 + 1) ** 2 + 1, 94906267**2 + 1])
def test_a_size_next_to_a_square_is_not_taken_for_one(size: int) -> None:
    """The double root of 2^52 + 1 is a whole number, and smaller than the root."""
    assert Fraction(L1().over_l2(size)) ** 2 >= size


@every
@SEARCH
@given(value=st.floats(1e-30, 1e30))
def test_a_converted_sensitivity_is_at_least_the_exact_product_and_hardly_more(case: Case, value: float) -> None:
    converted = Sensitivity(value, L2(), "a reason").to(case.norm, case.size)
    exact = Fraction(value) ** 2 * case.square
    assert exact <= Fraction(converted.value) ** 2 <= exact * (1 + Fraction(12, 2**52))
    assert converted.norm == case.norm
    factor = case.norm.over_l2(case.size)
    expected = f"a reason; by Cauchy-Schwarz at most {factor:.6g} times that in {type(case.norm).__name__}"
    assert converted.because == ("a reason" if isinstance(case.norm, L2) else expected)


@pytest.mark.parametrize(
    "norm",
    [L2(), L1(), BlockNorm((2,), (0.5,)), WeightedL2((0.5, 2.0)), WeightedL1((0.5, 2.0)), Nuclear(), frobenius(1)],
    ids=str,
)
def test_a_sensitivity_in_the_norm_that_is_asked_for_stays_bit_for_bit(norm: Norm) -> None:
    stated = Sensitivity(0.1, norm, "a reason")
    assert stated.to(norm, 2) is stated


def test_the_euclidean_factor_of_one_adds_no_step() -> None:
    assert Sensitivity(0.1, L2(), "a reason").to(L1(), 1).value == 0.1


# From weighted Euclidean norms ----------------------------------------------------------------------------------------


def spread(size: int) -> tuple[float, ...]:
    """Weights over two orders of magnitude, in no order."""
    return tuple((0.1 * 10 ** (2 * ((7 * j) % size) / size)) for j in range(size))


# Each norm, the weights, and the exact square of its largest value on `sum_j (weights[j] v_j)^2 <= 1`.
ELLIPSOIDS: list[tuple[Norm, tuple[float, ...], Fraction]] = [
    case
    for size in (1, 2, 6, 40)
    for w in [spread(size)]
    for exact in [[Fraction(x) for x in w]]
    for case in [
        (L2(), w, max(1 / x**2 for x in exact)),
        (L1(), w, sum((1 / x**2 for x in exact), Fraction(0))),
        (
            WeightedL2(tuple(0.5 + j for j in range(size))),
            w,
            max((Fraction(0.5 + j) / x) ** 2 for j, x in enumerate(exact)),
        ),
        (
            WeightedL1(tuple(0.5 + j for j in range(size))),
            w,
            sum(((Fraction(0.5 + j) / x) ** 2 for j, x in enumerate(exact)), Fraction(0)),
        ),
        (BlockNorm((size,), (0.3,)), w, (Fraction(0.3) / min(exact)) ** 2),
        (BlockNorm((1,) * size, (0.3,) * size), w, sum(((Fraction(0.3) / x) ** 2 for x in exact), Fraction(0))),
    ]
]


def described(case: object) -> str:
    if isinstance(case, Norm):
        return type(case).__name__
    return f"{len(case)}" if isinstance(case, tuple) else f"{float(case):.3g}"  # type: ignore[arg-type]


ellipsoids = pytest.mark.parametrize(("norm", "weights", "square"), ELLIPSOIDS, ids=described)


@ellipsoids
def test_the_largest_value_on_an_ellipsoid_is_rounded_up_and_hardly_more(
    norm: Norm, weights: tuple[float, ...], square: Fraction
) -> None:
    factor = Fraction(norm.over_weighted_l2(weights))
    assert square <= factor**2 <= square * (1 + Fraction(16, 2**52))


@ellipsoids
@SEARCH
@given(value=st.floats(1e-30, 1e30))
def test_a_weighted_sensitivity_is_converted_from_above(
    norm: Norm, weights: tuple[float, ...], square: Fraction, value: float
) -> None:
    stated = Sensitivity(value, WeightedL2(weights), "a reason")
    converted = stated.to(norm, len(weights))
    exact = Fraction(value) ** 2 * square
    assert exact <= Fraction(converted.value) ** 2 <= exact * (1 + Fraction(24, 2**52))
    assert converted.norm == norm
    factor = norm.over_weighted_l2(weights)
    assert converted.because == f"a reason; by Cauchy-Schwarz at most {factor:.6g} times that in {type(norm).__name__}"


@pytest.mark.parametrize("norm", [L2(), L1(), Nuclear(), BlockNorm((2, 4), (0.3, 2.0)), WeightedL1(spread(6))], ids=str)
@SEARCH
@given(data=st.data())
def test_no_vector_exceeds_the_largest_value_on_an_ellipsoid(norm: Norm, data: st.DataObject) -> None:
    vector = data.draw(st.lists(ORDINARY, min_size=6, max_size=6))
    for weights in (spread(6), (1.0,) * 6, frobenius(3).weights):
        assert norm(vector) <= norm.over_weighted_l2(weights) * WeightedL2(weights)(vector) * (1 + 1e-12)


def test_equal_weights_of_one_convert_like_the_plain_norm() -> None:
    stated, plain = (Sensitivity(0.1, norm, "a reason") for norm in (WeightedL2((1.0,) * 6), L2()))
    for norm in (L1(), BlockNorm((2, 4), (0.3, 2.0)), WeightedL2(spread(6)), WeightedL1(spread(6))):
        assert stated.to(norm, 6).value == pytest.approx(plain.to(norm, 6).value, rel=1e-15)
    assert stated.to(L2(), 6).value == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize("norm", [L1(), L2(), WeightedL2((1.0, 2.0)), BlockNorm((2,), (1.0,)), Nuclear()])
@pytest.mark.parametrize("vector", ["x", None, [1j, 0], [math.nan, 0], [math.inf, 1.0], object()])
def test_a_norm_takes_finite_numbers_alone(norm: Norm, vector: object) -> None:
    with refused(UsageError, "vector"):
        norm(vector)


def test_a_norm_that_no_double_can_hold_is_infinite() -> None:
    assert L2()([1e300]) == math.inf


def test_a_norm_that_knows_no_better_takes_the_longest_half_axis() -> None:
    class Largest(Norm):
        """The largest absolute value."""

        def _of(self, vector: Array) -> float:
            return float(np.abs(vector).max())

        def over_l2(self, size: int) -> float:
            return 1.0

    assert Largest().over_weighted_l2((0.5, 4.0)) == math.nextafter(2.0, 3.0)


# Symmetric matrices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [1, 2, 3, 7, 10])
def test_the_reflections_that_attain_the_nuclear_norm_are_reflections_with_a_constant_diagonal(side: int) -> None:
    matrix = reflection(side)
    np.testing.assert_allclose(matrix @ matrix, np.eye(side), atol=1e-12)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(np.abs(np.diagonal(matrix)), (side % 2) / side, atol=1e-12)


@pytest.mark.parametrize("side", [1, 2, 3, 7, 40])
def test_the_nuclear_norm_is_at_most_root_m_times_the_frobenius_norm_attained_by_the_identity(side: int) -> None:
    factor = Fraction(Nuclear().over_weighted_l2(frobenius(side).weights))
    assert side <= factor**2 <= side * (1 + Fraction(32, 2**52))
    identity = pack(np.eye(side))
    assert Nuclear()(identity) == pytest.approx(float(factor) * frobenius(side)(identity), rel=1e-14)


@pytest.mark.parametrize("side", [1, 2, 5])
def test_the_frobenius_norm_of_a_packed_matrix_is_that_of_the_matrix_and_never_above(side: int) -> None:
    """In rational numbers: a bound proven for the exact norm is a bound in this one, and by no more than one step."""
    values = [Fraction(w) ** 2 for w in frobenius(side).weights]
    for value, times in zip(values, multiplicities(side).tolist(), strict=True):
        assert times * (1 - Fraction(2, 2**51)) <= value <= times
    matrix = np.random.default_rng(1).standard_normal((side, side))
    matrix += matrix.T
    assert frobenius(side)(pack(matrix)) == pytest.approx(np.linalg.norm(matrix), rel=1e-14)


@pytest.mark.parametrize("side", [1, 2, 3, 6])
def test_outer_products_move_by_what_the_theory_says(side: int) -> None:
    """`|xx' - yy'|` is at most 2 in nuclear norm and sqrt 2 in Frobenius norm for unit vectors; orthogonal: exactly."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        x, y = (v / np.linalg.norm(v) for v in rng.standard_normal((2, side)))
        move = pack(np.outer(x, x) - np.outer(y, y))
        assert Nuclear()(move) <= 2 + 1e-12
        assert frobenius(side)(move) <= math.sqrt(2) + 1e-12
    if side > 1:
        move = pack(np.diag([1.0, -1.0, *[0.0] * (side - 2)]))
        assert Nuclear()(move) == pytest.approx(2, rel=1e-14)
        assert frobenius(side)(move) == pytest.approx(math.sqrt(2), rel=1e-14)


ERRORS = [
    *(
        (call, ("size", size))
        for size in (0, 2, 5)
        for call in (
            lambda size=size: Nuclear().over_l2(size),
            lambda size=size: Nuclear()(np.ones(size)),
            lambda size=size: Nuclear().over_weighted_l2((1.0,) * size),
            lambda size=size: Sensitivity(1.0, L2(), "a reason").to(Nuclear(), size),
        )
    ),
    (
        lambda: Sensitivity(1.0, WeightedL2((1.0, 2.0)), "a reason").to(L1(), 3),
        ("size", 3),
    ),
    (
        lambda: Sensitivity(1.0, Nuclear(), "a reason").to(L2(), 3),
        ("norm",),
    ),
    (lambda: L1().over_l2(0), ("size", 0)),
    (
        lambda: Sensitivity(1.0, L2(), "a reason").to(L1(), 0),
        ("size", 0),
    ),
    (
        lambda: BlockNorm((), ()),
        ("weights", 0),
    ),
    (
        lambda: BlockNorm((1, 2), (1.0,)),
        ("weights", 1),
    ),
    (
        lambda: BlockNorm((1, 0), (1.0, 1.0)),
        ("sizes", (1, 0)),
    ),
    *(
        (
            lambda weight=weight: BlockNorm((2,), (weight,)),
            ("sizes", (2,)),
        )
        for weight in (0.0, -1.0, math.inf, math.nan)
    ),
    (lambda: BlockNorm((2, 3), (1.0, 1.0)).over_l2(4), ("size", 4)),
    (lambda: BlockNorm((2, 3), (1.0, 1.0))(np.ones(6)), ("size", 6)),
    (
        lambda: Sensitivity(1.0, L2(), "a reason").to(BlockNorm((2, 3), (1.0, 1.0)), 6),
        ("size", 6),
    ),
    *(
        (
            lambda kind=kind, weights=weights: kind(weights),
            ("weights",),
        )
        for kind in (WeightedL1, WeightedL2)
        for weights in ((), (1.0, 0.0), (-1.0,), (1.0, math.inf), (math.nan,))
    ),
    *(
        (call, ("size", size))
        for kind in (WeightedL1, WeightedL2)
        for size in (0, 1, 3)
        for call in (
            lambda kind=kind, size=size: kind((1.0, 2.0)).over_l2(size),
            lambda kind=kind, size=size: kind((1.0, 2.0))(np.ones(size)),
            lambda kind=kind, size=size: Sensitivity(1.0, L2(), "a reason").to(kind((1.0, 2.0)), size),
        )
    ),
    (
        lambda: Sensitivity(1.0, WeightedL1((1.0, 2.0)), "a reason").to(WeightedL2((1.0, 2.0)), 2),
        ("norm",),
    ),
    *(
        (
            lambda value=value: Sensitivity(value, L2(), "a reason"),
            ("value", value),
        )
        for value in (0.0, -1.0, math.inf, math.nan)
    ),
    (
        lambda: Sensitivity(1.0, L1(), "a reason").to(L2(), 3),
        ("norm",),
    ),
    (
        lambda: Sensitivity(1e300, L2(), "a reason").to(BlockNorm((1,), (1e300,)), 1),
        ("value", math.inf),
    ),
]


@pytest.mark.parametrize(("call", "about"), ERRORS)
def test_every_error_names_the_parameter_and_the_value(call: object, about: Any) -> None:
    with refused(UsageError, *about):
        call()  # type: ignore[operator]
