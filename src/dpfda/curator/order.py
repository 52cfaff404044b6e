"""A release that is ordered: checked, priced, and drawn once it has been paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpfda.arrays import Integers
from dpfda.bases import Basis
from dpfda.bases.norms import Sensitivity
from dpfda.curator.payment import DrawLog, Payment
from dpfda.curator.summary import Public, Summary
from dpfda.errors import CannotMeetBudget, DpfdaError, UsageError
from dpfda.ledger import Charge, Receipt
from dpfda.mechanisms import Mechanism, Randomness
from dpfda.privacy import Budget, Profile, calibrate
from dpfda.records import Curves
from dpfda.records.reading import Reading


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
    losses: tuple[Profile, ...]  # what it costs: its own curve, and that of a choice that it rests on


@dataclass(frozen=True, eq=False)
class Order:
    """A release that can be paid for, and drawn on the log of that payment."""

    curves: Curves
    public: Public
    reading: Reading
    specification: ReleaseSpecification
    price: Charge
    pay: Callable[[], Payment]
    randomness: Randomness
    finish: Callable[[Integers, Receipt | None], Any]

    def release(self, then: Callable[[Any], Any] = lambda released: released) -> Any:
        """Charged, drawn, kept, and only then handed out: what `then` makes of it, with the cards that go out."""
        payment = self.pay()
        return payment.spend(lambda log: then(self.draw(log, payment.receipt)))

    def draw(self, log: DrawLog, receipt: Receipt | None, gathered: Integers | None = None) -> Any:
        """The release; here records are read, unless it is on the log, or what they add up to is at hand already."""
        return self.finish(log.take(lambda: self._noisy(gathered)), receipt)

    def _noisy(self, gathered: Integers | None) -> Integers:
        specification = self.specification
        if gathered is None:
            gathered = specification.summary.gather(self.curves, self.public, specification.basis, self.reading)
        return specification.mechanism.draw(gathered, specification.scale, randomness=self.randomness)


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
