"""Releases and choices that are ordered: checked and priced first, drawn once they have been paid for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from dpfda.arrays import Integers
from dpfda.bases import Basis
from dpfda.curator.payment import DrawLog, Payment
from dpfda.curator.summary import Public, Summary
from dpfda.errors import CannotMeetBudget, DpfdaError, UsageError
from dpfda.ledger import AnyLedger, Charge, Quote, Receipt
from dpfda.mechanisms import Mechanism, Randomness
from dpfda.mechanisms.base import check_drawn
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy import Budget, Profile, calibrate
from dpfda.privacy.norms import Sensitivity
from dpfda.records import Curves
from dpfda.records.forgetting import forgets_records
from dpfda.records.reading import Reading
from dpfda.releases.certificate import ChoiceCard


@dataclass(frozen=True, eq=False)
class ReleaseSpecification:
    """What is released, how, and at what price."""

    summary: Summary
    basis: Basis
    mechanism: Mechanism
    name: str  # of the mechanism, as the card shows it
    budget: Budget
    sensitivity: Sensitivity
    profile: Profile
    scale: float  # of the noise, in lattice steps
    noise: NoiseLaw  # of all numbers that are drawn, in lattice steps
    losses: tuple[Profile, ...]  # what it costs: its own curve, and that of a choice that it rests on


@dataclass(frozen=True, eq=False, repr=False)
class Order(ABC):
    """Something that is asked of records: checked and priced, and neither charged nor read yet.

    To release it is the second step; a dry run asks for a quote instead. It holds the records, so its text shows
    nothing of it.
    """

    price: Charge
    ledger: AnyLedger | None

    def quote(self) -> Quote | None:
        """What the ledger would say to the charge, which is not entered; None where no ledger can say it."""
        ask = getattr(self.ledger, "quote", None)
        return None if ask is None else ask(self.price)

    def release(self) -> Any:
        """Charged, then read and drawn, kept, and only then handed out."""
        return self.spend(self.pay())

    def pay(self) -> Payment:
        """Enter the charge into the ledger, if there is one; from here on nothing is given back."""
        return Payment(self.ledger, None if self.ledger is None else self.ledger.charge(self.price))

    @abstractmethod
    def spend(self, payment: Payment) -> Any:
        """What is handed out once it has been paid for: here records are read."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseOrder(Order):
    """A release that can be paid for, and drawn on the log of that payment."""

    curves: Curves
    public: Public
    reading: Reading
    specification: ReleaseSpecification
    randomness: Randomness
    finish: Callable[[Integers, Receipt | None], Any]
    then: Callable[[Any], Any]  # what is handed out of the release, with the cards that go out

    def spend(self, payment: Payment) -> Any:
        return payment.spend(lambda log: self.then(self.draw(log, payment.receipt)))

    def draw(self, log: DrawLog, receipt: Receipt | None, gathered: Integers | None = None) -> Any:
        """The release; here records are read, unless it is on the log, or what they add up to is at hand already."""
        return self.finish(log.take(lambda: self._noisy(gathered)), receipt)

    def _noisy(self, gathered: Integers | None) -> Integers:
        specification = self.specification
        if gathered is None:
            gathered = specification.summary.gather(self.curves, self.public, specification.basis, self.reading)
        drawn = specification.mechanism.draw(gathered, specification.scale, randomness=self.randomness)
        return check_drawn(drawn, specification.noise.size, specification.name)


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceOrder(Order):
    """A choice among candidates that can be paid for, and drawn on the log of that payment."""

    draw: Callable[[DrawLog, Receipt | None], tuple[int, ChoiceCard]]
    then: Callable[[int, ChoiceCard], Any]  # what is handed out of the choice

    def spend(self, payment: Payment) -> Any:
        return self.then(*payment.spend(lambda log: self.draw(log, payment.receipt)))


P = ParamSpec("P")
T = TypeVar("T")


def ordered_by(order: Callable[P, ChoiceOrder]) -> Callable[[Callable[[ChoiceOrder], T]], Callable[P, T]]:
    """A decorator: the function takes the arguments that an order is made from, and is called with the order."""

    def decorate(function: Callable[[ChoiceOrder], T]) -> Callable[P, T]:
        @forgets_records
        @wraps(function)
        def ordered(*arguments: P.args, **stated: P.kwargs) -> T:
            return function(order(*arguments, **stated))

        returned = signature(function).return_annotation
        ordered.__signature__ = signature(order).replace(return_annotation=returned)  # type: ignore[attr-defined]
        return ordered

    return decorate


def least_noise(
    bounds: tuple[Sensitivity, ...], mechanism: Mechanism, budget: Budget, size: int
) -> tuple[Sensitivity, float]:
    """The bound under which this mechanism needs the smallest scale, and that scale."""
    found: list[tuple[float, Sensitivity]] = []
    problem: DpfdaError | None = None
    for bound in bounds:
        try:
            found.append((calibrate(mechanism, bound, budget, size=size), bound.to(mechanism.norm, size)))
        except CannotMeetBudget:
            raise
        except UsageError as error:
            problem = error
    if not found:
        raise problem if problem is not None else UsageError("The summary states no sensitivity at all.")
    scale, sensitivity = min(found, key=lambda pair: pair[0])
    return sensitivity, scale
