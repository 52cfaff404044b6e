"""Every registered mechanism that is a noise law draws what its law says; from outside too: `pytest -p my_laws`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpfda.arrays import Integers
from dpfda.mechanisms import MECHANISMS, KNorm, SeededRandomness, SystemRandomness
from dpfda.mechanisms.base import law_of, mechanism_with, rehearse
from dpfda.privacy.norms import L2, Sensitivity

SIZE, SCALE = 6, 1e6  # six coordinates are also a symmetric matrix, 3 by 3
MADE: dict[str, Any] = {"k-norm": lambda: KNorm((1, 5), (0.6, 0.8))}  # those that cannot be made from their name
LAWS = [entry.name for entry in MECHANISMS.values() if entry.is_law]
every = pytest.mark.parametrize("name", LAWS)


def made(name: str) -> Any:
    return MADE.get(name, MECHANISMS[name].make)()


def draws(name: str, seed: int, count: int, scale: float = SCALE) -> list[Integers]:
    mechanism, randomness = made(name), SeededRandomness(seed)
    return [mechanism.draw(np.zeros(SIZE, dtype=np.int64), scale, randomness=randomness) for _ in range(count)]


def test_the_noise_of_the_package_takes_part() -> None:
    assert {"gaussian", "laplace", "k-norm", "wishart"} <= set(LAWS)


@every
def test_its_law_is_registered_and_states_what_its_mechanism_states(name: str) -> None:
    law = law_of(made(name), SCALE, SIZE)
    assert law.size == SIZE
    assert mechanism_with(name, law.name) is MECHANISMS[name].make, "state `laws`, the names of the laws of its noise"


@every
@pytest.mark.parametrize("scale", [2.0, SCALE])
def test_it_returns_as_many_64_bit_integers_as_it_gets_and_leaves_those_alone(name: str, scale: float) -> None:
    coordinates = np.array([0, 1, -7, 2**40, -(2**50), 2**30], dtype=np.int64)
    for randomness in (SystemRandomness(), SeededRandomness(1)):
        kept = coordinates.copy()
        drawn = made(name).draw(kept, scale, randomness=randomness)
        assert isinstance(drawn, np.ndarray)
        assert drawn.dtype == np.int64
        assert drawn.shape == (SIZE,)
        assert np.array_equal(kept, coordinates)


@every
def test_it_passes_the_rehearsal_before_a_charge(name: str) -> None:
    mechanism = made(name)
    rehearse(mechanism, SCALE, SIZE, law_of(mechanism, SCALE, SIZE), name)


@every
def test_two_draws_from_the_system_differ_in_every_coordinate(name: str) -> None:
    """At a scale of 1e12 two equal coordinates have a chance below 1e-11."""
    one, other = (
        made(name).draw(np.zeros(SIZE, dtype=np.int64), 1e12, randomness=SystemRandomness()) for _ in range(2)
    )
    assert not np.any(one == other)


@every
def test_its_noise_comes_from_the_given_source_alone(name: str) -> None:
    (one,), (same,), (other,) = (draws(name, seed, 1) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.any(one == other)


@every
def test_its_noise_does_not_look_at_the_coordinates(name: str) -> None:
    coordinates = np.array([0, 1, -7, 2**40, -(2**50), 2**30], dtype=np.int64)
    (noise,) = draws(name, 5, 1)
    assert np.array_equal(made(name).draw(coordinates, SCALE, randomness=SeededRandomness(5)), coordinates + noise)


@every
@pytest.mark.parametrize("scale", [200.0, SCALE])
def test_its_draws_have_the_variances_of_its_law_and_no_mean(name: str, scale: float) -> None:
    """Level 1e-6 for each coordinate by the normal approximation; the seed is fixed."""
    count = 2000
    z = np.array(draws(name, 7, count, scale), dtype=np.float64)
    reach, deviations = norm.isf(5e-7) / math.sqrt(count), np.sqrt(law_of(made(name), scale, SIZE).variances)
    assert np.all(np.abs(z.mean(axis=0)) < reach * deviations)
    squares = (z / deviations) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - 1) < reach * squares.std(axis=0))


@every
def test_the_uniforms_of_its_law_make_noise_of_the_same_variances_and_quantiles(name: str) -> None:
    """Level 1e-6 for each coordinate by the normal approximation; bands rest on `from_uniforms`, cards on `tail`."""
    law, count = law_of(made(name), SCALE, SIZE), 4000
    sample = law.from_uniforms(np.random.default_rng(8).random((count, law.dimension))) / np.sqrt(law.variances)
    assert sample.shape == (count, SIZE)
    reach = norm.isf(5e-7) / math.sqrt(count)
    assert np.all(np.abs((sample**2).mean(axis=0) - 1) < reach * (sample**2).std(axis=0))
    drawn = np.abs(np.array(draws(name, 9, count), dtype=np.float64))
    beyond = (drawn > law.tail(0.05)).mean(axis=0)
    assert np.all(beyond < 0.05 + reach * math.sqrt(0.05 * 0.95))


@every
def test_its_privacy_curve_improves_with_the_scale(name: str) -> None:
    mechanism, move = made(name), Sensitivity(1000.0, L2(), "a thousand steps")
    rhos = [mechanism.profile(move, scale, size=SIZE).rho for scale in np.geomspace(2e3, 1e9, 20).tolist()]
    assert np.all(np.diff(rhos) < 0)
