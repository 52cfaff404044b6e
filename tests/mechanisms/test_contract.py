"""Every mechanism passes here: MEMBERS is the list of the family, and a new mechanism joins by one line in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import norm

from dpfda import mechanisms
from dpfda.arrays import Integers
from dpfda.errors import UsageError
from dpfda.mechanisms import (
    Dictionary,
    Exponential,
    ExponentialMatrix,
    Frames,
    Gaussian,
    Gibbs,
    KNorm,
    Laplace,
    Mechanism,
    Randomness,
    SeededRandomness,
    SoftThreshold,
    SystemRandomness,
    Wishart,
)
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L2, BlockNorm, Sensitivity

SIZE = 5
MEMBERS: list[Mechanism] = [
    Gaussian(),
    Laplace(),
    KNorm((5,), (1.0,)),
    KNorm((1, 1, 1, 1, 1), (0.2, 0.3, 0.4, 0.5, 0.6)),
    KNorm((1, 4), (0.6, 0.8)),
    KNorm((2, 2, 1), (1.0, 0.25, 3.0)),
    Gaussian((1.0, 2.0, 3.0, 5.0, 40.0)),
    Gaussian((7.0, 1.0, 1.0, 1.5, 1e3)),
    Laplace((1.0, 2.0, 3.0, 5.0, 40.0)),
    Laplace((7.0, 1.0, 1.0, 1.5, 1e3)),
    SoftThreshold(Laplace((1.0, 2.0, 3.0, 5.0, 40.0)), (0, 3, 5, 2**30, 2**62)),
    SoftThreshold(Gaussian(), (0, 1, 7, 2**41, 1)),
    SoftThreshold(KNorm((1, 4), (0.6, 0.8)), (1, 1, 1, 1, 1)),
    Wishart(),
]
# Mechanisms that choose a vector instead of adding noise have contracts of their own, beside their exact laws.
CHOICES = {Dictionary, Exponential, ExponentialMatrix, Frames, Gibbs}
every = pytest.mark.parametrize("mechanism", MEMBERS, ids=str)
MOVE = Sensitivity(100.0, L2(), "a hundred steps")


def size_of(mechanism: Mechanism) -> int:
    """Five coordinates, or the six of a symmetric matrix, 3 by 3."""
    return 6 if isinstance(mechanism, Wishart) else SIZE


def zeros(mechanism: Mechanism) -> Integers:
    return np.zeros(size_of(mechanism), dtype=np.int64)


def vector(mechanism: Mechanism) -> Integers:
    return np.array([0, 1, -7, 2**40, -(2**62), 2**30][: size_of(mechanism)], dtype=np.int64)


def before_noise(mechanism: Mechanism, vector: Integers) -> Integers:
    """What the noise is added to: the coordinates, or what a threshold leaves of them, in Python's own integers."""
    if not isinstance(mechanism, SoftThreshold):
        return vector
    shrunk = [
        max(abs(x) - t, 0) * (1 if x > 0 else -1) for x, t in zip(vector.tolist(), mechanism.thresholds, strict=True)
    ]
    return np.array(shrunk, dtype=np.int64)


def test_every_mechanism_of_the_package_is_in_the_list() -> None:
    offered = {kind for kind in vars(mechanisms).values() if isinstance(kind, type) and hasattr(kind, "draw")}
    assert offered - {Mechanism} == {type(mechanism) for mechanism in MEMBERS} | CHOICES


@every
@pytest.mark.parametrize("randomness", [SystemRandomness(), SeededRandomness(0)], ids=lambda r: type(r).__name__)
def test_noise_keeps_shape_and_type_and_leaves_the_coordinates_alone(
    mechanism: Mechanism, randomness: Randomness
) -> None:
    coordinates = vector(mechanism)
    noisy = mechanism.draw(coordinates, 1000.0, randomness=randomness)
    assert noisy.shape == coordinates.shape
    assert noisy.dtype == np.int64
    assert not np.shares_memory(noisy, coordinates)
    assert np.array_equal(coordinates, vector(mechanism))


@every
def test_a_seed_repeats_the_noise_and_another_one_does_not(mechanism: Mechanism) -> None:
    one, same, other = (mechanism.draw(vector(mechanism), 1e6, randomness=SeededRandomness(seed)) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.any(one == other)


@every
def test_noise_from_the_system_does_not_repeat(mechanism: Mechanism) -> None:
    """At a scale of 1e12 two equal coordinates have a chance below 1e-11."""
    one, other = (mechanism.draw(vector(mechanism), 1e12, randomness=SystemRandomness()) for _ in range(2))
    assert not np.any(one == other)


@every
def test_the_noise_does_not_look_at_the_coordinates(mechanism: Mechanism) -> None:
    noise = mechanism.draw(zeros(mechanism), 1e6, randomness=SeededRandomness(5))
    noisy = mechanism.draw(vector(mechanism), 1e6, randomness=SeededRandomness(5))
    assert np.array_equal(noisy, before_noise(mechanism, vector(mechanism)) + noise)


@every
def test_sums_beyond_64_bits_wrap_around_and_say_nothing(mechanism: Mechanism) -> None:
    """A warning or a clipped value would depend on the data; a remainder is a function of the noisy sum alone."""
    edge = np.full(size_of(mechanism), 2**63 - 1, dtype=np.int64)
    noise = mechanism.draw(zeros(mechanism), 1e6, randomness=SeededRandomness(6))
    noisy = mechanism.draw(edge, 1e6, randomness=SeededRandomness(6))
    kept = before_noise(mechanism, edge)
    for before, added, after in zip(kept.tolist(), noise.tolist(), noisy.tolist(), strict=True):
        assert (before + added - after) % 2**64 == 0


@every
@pytest.mark.parametrize("scale", [200.0, 1e7])
def test_the_noise_has_the_stated_variances_and_no_mean(mechanism: Mechanism, scale: float) -> None:
    """Level 1e-6 for each coordinate by the normal approximation; the seed is fixed."""
    randomness, draws = SeededRandomness(7), 1500
    z = np.array(
        [mechanism.draw(zeros(mechanism), scale, randomness=randomness) for _ in range(draws)], dtype=np.float64
    )
    law = mechanism.noise(scale, size_of(mechanism))
    assert law.size == size_of(mechanism)
    reach, deviations = norm.isf(5e-7) / math.sqrt(draws), np.sqrt(law.variances)
    assert np.all(np.abs(z.mean(axis=0)) < reach * deviations)
    squares = (z / deviations) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - 1) < reach * squares.std(axis=0))


@pytest.mark.audit
@every
def test_the_systems_noise_has_the_stated_variances_and_no_mean(mechanism: Mechanism) -> None:
    """Level 1e-6 for each coordinate by the normal approximation, anew in each run; 71 coordinates in all."""
    randomness, draws = SystemRandomness(), 10_000
    z = np.array([mechanism.draw(zeros(mechanism), 1e5, randomness=randomness) for _ in range(draws)], dtype=np.float64)
    reach, deviations = norm.isf(5e-7) / math.sqrt(draws), np.sqrt(mechanism.noise(1e5, size_of(mechanism)).variances)
    assert np.all(np.abs(z.mean(axis=0)) < reach * deviations)
    squares = (z / deviations) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - 1) < reach * squares.std(axis=0))


@every
def test_more_noise_never_means_less_privacy(mechanism: Mechanism) -> None:
    profiles = [
        mechanism.profile(MOVE, scale, size=size_of(mechanism)) for scale in np.geomspace(17.0, 1e9, 60).tolist()
    ]
    for epsilon in (0.01, 1.0, 5.0):
        assert np.all(np.diff([profile.delta(epsilon) for profile in profiles]) <= 0)
    assert np.all(np.diff([profile.power(0.05) for profile in profiles]) <= 0)
    assert np.all(np.diff([profile.rho for profile in profiles]) < 0)


@every
def test_more_sensitivity_never_means_more_privacy(mechanism: Mechanism) -> None:
    moves = [Sensitivity(value, L2(), "a move") for value in np.geomspace(1.0, 1e6, 40).tolist()]
    rhos = [mechanism.profile(move, 1000.0, size=size_of(mechanism)).rho for move in moves]
    assert np.all(np.diff(rhos) > 0)


@every
def test_a_mechanism_is_pure_exactly_if_it_can_meet_a_budget_without_delta(mechanism: Mechanism) -> None:
    profile = mechanism.profile(MOVE, 1e9, size=size_of(mechanism))
    assert profile.meets(Budget(epsilon=1.0, delta=0.0)) == mechanism.pure


@every
def test_a_calibrated_mechanism_can_be_drawn(mechanism: Mechanism) -> None:
    budget = Budget(epsilon=1.0, delta=0.0 if mechanism.pure else 1e-6)
    scale = calibrate(mechanism, Sensitivity(2.0**25, L2(), "a radius"), budget, size=size_of(mechanism))
    assert mechanism.profile(Sensitivity(2.0**25, L2(), "a radius"), scale, size=size_of(mechanism)).meets(budget)
    assert mechanism.draw(zeros(mechanism), scale, randomness=SystemRandomness()).any()


NOT_COORDINATES: list[Any] = [
    np.zeros(SIZE),
    np.zeros(SIZE, dtype=np.int32),
    np.zeros(SIZE, dtype=np.uint64),
    np.zeros(SIZE, dtype=bool),
    np.zeros(SIZE, dtype=object),
    np.zeros(SIZE, dtype=">i8"),
    np.zeros((1, SIZE), dtype=np.int64),
    np.int64(3),
    [0.0] * SIZE,
    None,
]


@every
@pytest.mark.parametrize("coordinates", NOT_COORDINATES)
def test_only_a_vector_of_64_bit_integers_is_taken_and_no_value_is_shown(
    mechanism: Mechanism, coordinates: Any
) -> None:
    with refused(UsageError, "coordinates", np.shape(coordinates)):
        mechanism.draw(coordinates, 1.0, randomness=SeededRandomness(0))


@pytest.mark.parametrize("mechanism", [Gaussian(), Laplace()], ids=str)
def test_noise_for_no_coordinate_is_refused(mechanism: Mechanism) -> None:
    with refused(UsageError, "size", 0):
        mechanism.draw(np.zeros(0, dtype=np.int64), 1.0, randomness=SystemRandomness())


@pytest.mark.parametrize("size", [0, 4, 6])
def test_k_norm_noise_is_refused_for_another_number_of_coordinates(size: int) -> None:
    mechanism = KNorm((1, 4), (0.6, 0.8))
    with refused(UsageError, "coordinates", size):
        mechanism.draw(np.zeros(size, dtype=np.int64), 1.0, randomness=SystemRandomness())
    if size:
        with refused(UsageError, "size", size):
            mechanism.profile(MOVE, 1.0, size=size)


K_NORM_ERRORS: list[tuple[tuple[int, ...], tuple[float, ...], str]] = [
    ((), (), ("weights", 0)),
    ((1, 2), (1.0,), ("weights", 1)),
    ((0,), (1.0,), ("sizes", (0,))),
    ((2,), (0.0,), ("sizes", (2,))),
    ((2,), (math.nan,), ("sizes", (2,))),
    ((1, 21), (1.0, 1.0), ("sizes", 21)),
]


@pytest.mark.parametrize(("sizes", "shares", "about"), K_NORM_ERRORS)
def test_blocks_that_cannot_be_drawn_are_refused(sizes: tuple[int, ...], shares: tuple[float, ...], about: Any) -> None:
    with refused(UsageError, *about):
        KNorm(sizes, shares)


def test_k_norm_noise_needs_the_sensitivity_in_its_own_block_norm() -> None:
    mechanism = KNorm((1, 4), (0.6, 0.8))
    assert mechanism.norm == BlockNorm((1, 4), (0.6, 0.8))
    assert mechanism.profile(Sensitivity(3.0, mechanism.norm, "three"), 6.0).epsilon == math.nextafter(0.5, 1.0)
    # Without a size the continuous law is that of its own blocks.
    assert mechanism.profile(MOVE, 6.0) == mechanism.profile(MOVE, 6.0, size=5)
