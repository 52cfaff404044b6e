"""Budgets and privacy units refuse whatever is not one, and say why."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from refusals import refused

from dpfda.errors import UsageError
from dpfda.privacy import ADD_REMOVE, RELATIONS, REPLACE, Budget, Unit

NOT_EPSILON: list[Any] = [0, 0.0, -1.0, math.nan, math.inf, -math.inf, True, "1", None, 1j, [1.0], 10**400]
NOT_DELTA: list[Any] = [-1e-300, 1, 1.0, 2.0, math.nan, math.inf, False, "0", None, [0.0]]


@pytest.mark.parametrize("epsilon", NOT_EPSILON, ids=lambda value: repr(value)[:12])
def test_a_bad_epsilon_is_refused(epsilon: Any) -> None:
    with refused(UsageError, "epsilon", epsilon):
        Budget(epsilon=epsilon, delta=0.0)


@pytest.mark.parametrize("delta", NOT_DELTA, ids=repr)
def test_a_bad_delta_is_refused(delta: Any) -> None:
    with refused(UsageError, "delta", delta):
        Budget(epsilon=1.0, delta=delta)


def test_neither_epsilon_nor_delta_has_a_default() -> None:
    with pytest.raises(TypeError, match="delta"):
        Budget(epsilon=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="epsilon"):
        Budget(delta=0.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("epsilon", [5e-324, 1e-9, 1, 1.0, np.float64(2.0), 1.7976931348623157e308])
@pytest.mark.parametrize("delta", [0, 0.0, 5e-324, 1e-6, math.nextafter(1.0, 0.0)])
def test_whole_numbers_and_doubles_are_taken_and_only_a_delta_of_zero_is_pure(epsilon: float, delta: float) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    assert budget.pure == (delta == 0)
    assert str(budget) == f"(epsilon = {epsilon:g}, delta = {delta:g})"


def test_a_budget_cannot_be_changed() -> None:
    budget = Budget(epsilon=1.0, delta=0.0)
    with pytest.raises(FrozenInstanceError):
        budget.epsilon = 2.0  # type: ignore[misc]


def test_the_number_of_units_is_public_under_replace_one_alone() -> None:
    assert RELATIONS == (REPLACE, ADD_REMOVE)
    assert Unit("person", REPLACE).size_is_public
    assert not Unit("person", ADD_REMOVE).size_is_public


@pytest.mark.parametrize("neighbours", ["", "replace", "REPLACE-ONE", None, 1, ["replace-one"]])
def test_an_unknown_relation_is_refused(neighbours: Any) -> None:
    with refused(UsageError, "neighbours", neighbours):
        Unit("person", neighbours)


def test_numbers_of_numpy_become_plain_ones() -> None:
    import json

    import numpy as np

    budget = Budget(np.float32(0.5), np.int64(0))
    assert budget == Budget(0.5, 0.0)
    assert json.dumps([budget.epsilon, budget.delta]) == "[0.5, 0.0]"
