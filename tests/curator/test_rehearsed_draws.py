"""A draw that cannot be what its law says is refused before the charge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.arrays import Array, Integers
from dpfda.errors import ReleaseFailed, UsageError
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import Laplace, NoiseLaw, Randomness
from dpfda.mechanisms.base import law_of, rehearse
from dpfda.privacy import Profile
from dpfda.privacy.norms import Sensitivity

LEVELS = np.linspace(0.0, 1.0, 30)
HIDDEN = np.random.default_rng(1)


class Honest:
    """Laplace noise, as an object from outside."""

    name = "my-laplace"
    norm = Laplace().norm
    pure = True

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> Profile:
        return Laplace().profile(sensitivity, scale, size=size)

    def noise(self, scale: float, size: int) -> NoiseLaw:
        return Laplace().noise(scale, size)

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return coordinates + randomness.laplace(scale, len(coordinates))


class NoNoise(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return coordinates.copy()


class AlwaysTheSame(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return coordinates + np.rint(np.random.default_rng(1).laplace(0, scale, len(coordinates))).astype(np.int64)


class FromNumpy(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return coordinates + np.rint(HIDDEN.laplace(0, scale, len(coordinates))).astype(np.int64)


class Floats(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return super().draw(coordinates, scale, randomness=randomness).astype(np.float64)


class NarrowIntegers(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return super().draw(coordinates, scale, randomness=randomness).astype(np.int32)


class Listed(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return super().draw(coordinates, scale, randomness=randomness).tolist()


class OneShort(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return super().draw(coordinates, scale, randomness=randomness)[:-1]


class AsRow(Honest):
    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
        return super().draw(coordinates, scale, randomness=randomness)[None, :]


def curves() -> Array:
    return np.sin(2 * np.pi * LEVELS) + 0.1 * np.random.default_rng(1).standard_normal((400, 1))


def estimator(mechanism: Any, ledger: Any) -> dpfda.MeanFunction:
    stated = {"epsilon": 2.0, "delta": 0.0, "bound": 2.0, "domain": (0, 1), "size": 5, "dataset": "d"}
    return dpfda.MeanFunction(**stated, mechanism=mechanism, ledger=ledger)


WRONG = [NoNoise, AlwaysTheSame, FromNumpy, Floats, NarrowIntegers, Listed, OneShort, AsRow]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_draw_that_is_not_its_law_is_refused_and_not_charged(wrong: type) -> None:
    ledger = SessionLedger()
    with refused(UsageError, "mechanism", "my-laplace"):
        estimator(wrong(), ledger).fit(curves())
    assert not ledger.entries


def test_an_honest_draw_is_released() -> None:
    ledger = SessionLedger()
    assert estimator(Honest(), ledger).fit(curves()).release_.certificate.epsilon == 2.0
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("kind", [np.float64, np.int32])
def test_a_draw_that_is_of_another_type_on_records_alone_is_no_release(kind: type) -> None:
    """What is no integer would be cut to one, outside of any proof."""

    class Later(Honest):
        def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Any:
            drawn = super().draw(coordinates, scale, randomness=randomness)
            return drawn.astype(kind) if np.any(coordinates) else drawn

    with pytest.raises(ReleaseFailed):
        estimator(Later(), SessionLedger()).fit(curves())


def test_noise_so_small_that_draws_are_equal_by_chance_is_not_refused() -> None:
    small = Honest()
    assert rehearse(small, 1e-3, 3, law_of(small, 1e-3, 3), small.name).tolist() == [0, 0, 0]
