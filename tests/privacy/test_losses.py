"""Losses written down: the same numbers come back, and what is no description says so in one sentence."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.errors import UsageError
from dpfda.ledger import Charge
from dpfda.ledger.amounts import LAWS, loss_from, losses_of
from dpfda.privacy import Budget, GaussianProfile, Profile, PureProfile, RangeProfile
from dpfda.privacy.profiles import LaplaceProfile, StatedProfile

positive = st.floats(min_value=1e-300, max_value=1e300)
steps = st.one_of(st.just(math.inf), positive)
LOSSES = st.one_of(
    st.builds(PureProfile, positive),
    st.builds(RangeProfile, positive),
    st.builds(LaplaceProfile, positive, steps),
    st.builds(GaussianProfile, positive, st.floats(0, 1), st.integers(0, 10**9), steps),
    st.builds(StatedProfile, positive, st.floats(0, 1)),
)
DAMAGED: list[Any] = [
    {},
    None,
    [],
    "pure",
    {"law": "pure"},
    {"law": "pure", "epsilon": 0.0},
    {"law": "pure", "epsilon": -1.0},
    {"law": "pure", "epsilon": math.inf},
    {"law": "pure", "epsilon": math.nan},
    {"law": "pure", "epsilon": "1"},
    {"law": "pure", "epsilon": True},
    {"law": "pure", "epsilon": 10**400},
    {"law": "pure", "epsilon": 1.0, "delta": 0.0},
    {"law": "Pure", "epsilon": 1.0},
    {"law": ["pure"], "epsilon": 1.0},
    {"epsilon": 1.0},
    {"law": "laplace", "epsilon": 1.0},
    {"law": "laplace", "epsilon": 1.0, "steps": 0.0},
    {"law": "stated", "epsilon": 1.0, "delta": 1.5},
    {"law": "stated", "epsilon": 1.0, "delta": -1e-9},
    {"law": "gaussian", "mu": 1.0, "distance": 0.0, "size": 1.5, "steps": None},
    {"law": "gaussian", "mu": 1.0, "distance": 0.0, "size": -1, "steps": None},
    {"law": "gaussian", "mu": 1.0, "distance": -1.0, "size": 1, "steps": None},
    {"law": "gaussian", "mu": 1.0, "distance": 0.0, "size": 1, "steps": None, "more": 0},
]


@given(loss=LOSSES)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_loss_comes_back_from_json_number_for_number(loss: Profile) -> None:
    text = json.dumps(loss.describe(), allow_nan=False)
    assert loss_from(json.loads(text)) == loss


def test_every_law_has_a_profile_that_writes_it() -> None:
    members = [PureProfile(1.0), RangeProfile(1.0), LaplaceProfile(1.0), GaussianProfile(1.0), StatedProfile(1.0, 0.0)]
    assert [loss.describe()["law"] for loss in members] == ["pure", "range", "laplace", "gaussian", "stated"]
    assert {loss.describe()["law"] for loss in members} == set(LAWS)
    for loss in members:
        assert set(loss.describe()) == {"law", *LAWS[loss.describe()["law"]][1]}


@pytest.mark.parametrize("description", DAMAGED, ids=lambda value: str(value)[:60])
def test_a_damaged_description_gives_one_clear_error(description: Any) -> None:
    with pytest.raises(UsageError, match=r"^This is no description of a privacy loss: .* It names a law \(pure, range"):
        loss_from(description)


def test_a_long_description_is_cut_in_the_error() -> None:
    with pytest.raises(UsageError) as caught:
        loss_from({"law": "x" * 10_000})
    assert len(str(caught.value)) < 400


@dataclass(frozen=True)
class Unwritten:
    """A curve of somebody's own that cannot be written down."""

    chance: float = 1e-7

    def delta(self, epsilon: float) -> float:
        return self.chance


@dataclass(frozen=True)
class Liar(PureProfile):
    """A curve that writes down another one."""

    def describe(self) -> dict[str, Any]:
        return {"law": "pure", "epsilon": self.epsilon / 2}


def test_a_charge_is_composed_from_its_own_losses() -> None:
    losses = (PureProfile(0.25), GaussianProfile(0.1))
    assert losses_of(Charge("scans", "mean", Budget(1.0, 1e-6), losses)) == losses


@pytest.mark.parametrize(
    "losses",
    [(), (Unwritten(),), (PureProfile(0.25), Unwritten()), (Liar(1.0),)],
    ids=str,
)
def test_a_charge_whose_losses_cannot_be_kept_counts_as_its_budget_states(losses: tuple[Any, ...]) -> None:
    assert losses_of(Charge("scans", "mean", Budget(1.0, 1e-6), losses)) == (StatedProfile(1.0, 1e-6),)


class Silent:
    """A curve of somebody's own that says nothing."""


@pytest.mark.parametrize(
    "losses",
    [
        (Unwritten(0.5),),
        (PureProfile(0.25), Unwritten(0.5)),
        (PureProfile(1.0),) * 10 + (Unwritten(),),
        (Liar(1.0),) * 5,
        (Liar(1.0), PureProfile(1.0)),
        (Liar(1.0), GaussianProfile(0.1)),
        (Liar(0.5), Liar(-0.5), PureProfile(0.75)),
        (Unwritten(),) * 11,
        (Unwritten(math.nan),),
        (Unwritten(-1.0), Unwritten(0.5)),
        (Silent(),),
        (PureProfile(0.25), Silent()),
    ],
    ids=lambda losses: "-".join(type(loss).__name__ for loss in losses[:3]),
)
def test_a_charge_below_a_loss_that_cannot_be_kept_is_refused(losses: tuple[Any, ...]) -> None:
    """No accountant knows it: each alone may lie under the price, and all together above it."""
    for budget in (Budget(1.0, 1e-6), Budget(1.0, 0.0)):
        with pytest.raises(
            UsageError,
            match=r"^A charge cannot cost less than its curves: they come to more, and .* the epsilons and deltas of "
            r"all are added; state their sum\. Nothing was charged\.$",
        ):
            Charge("scans", "mean", budget, losses)


@pytest.mark.parametrize(
    ("budget", "losses"),
    [
        (Budget(5.0, 0.0), (Liar(1.0),) * 5),
        (Budget(2.0, 0.0), (Liar(1.0), PureProfile(1.0))),
        (Budget(1.0, 1.1e-6), (Unwritten(),) * 11),
        (Budget(1.5, 1e-6), (Liar(1.0), GaussianProfile(0.1))),
        (Budget(0.9999999, 1e-6), (Liar(1.0),)),
    ],
    ids=str,
)
def test_a_charge_at_the_sum_of_losses_that_cannot_be_kept_is_taken(budget: Budget, losses: tuple[Any, ...]) -> None:
    assert losses_of(Charge("scans", "mean", budget, losses)) == (StatedProfile(budget.epsilon, budget.delta),)


def test_the_losses_of_a_charge_cannot_be_added_to_after_they_were_compared() -> None:
    losses: Any = [PureProfile(0.1)]
    charge = Charge("scans", "mean", Budget(0.1, 0.0), losses)
    losses.append(PureProfile(5.0))
    assert charge.losses == (PureProfile(0.1),)
    with pytest.raises(AttributeError):
        charge.losses.append(PureProfile(5.0))  # type: ignore[attr-defined]
