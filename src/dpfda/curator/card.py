"""How a release card is filled in: everything on it is public, or was paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.arrays import Array
from dpfda.curator.payment import software
from dpfda.curator.summary import Public, Selection
from dpfda.ledger import Receipt
from dpfda.ledger.outputs import unpack
from dpfda.mechanisms import Randomness, SystemRandomness
from dpfda.privacy import Budget, Profile, RangeProfile
from dpfda.releases import NOT_PRIVATE, Certificate
from dpfda.releases.cards import first_schema, words
from dpfda.releases.cards.plain import SCHEMA
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import ChoiceCard
from dpfda.releases.decoded import Decoded
from dpfda.releases.entry import Fits, LedgerEntry

if TYPE_CHECKING:
    from dpfda.curator.order import ReleaseSpecification


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What a card says that belongs neither to the release nor to its noise."""

    public: Public
    dataset: str
    unit_was_assumed: bool
    chosen: tuple[tuple[str, str], ...]
    nobody: str  # what becomes of rows of nobody, a code of `words.NOBODY`
    before: float  # epsilon of a private choice that the release rests on
    randomness: Randomness

    def of_release(self, specification: ReleaseSpecification, decoded: Decoded, receipt: Receipt | None) -> Certificate:
        """The card of a release."""
        public, basis, law, sensitivity = self.public, specification.basis, decoded.noise, specification.sensitivity
        # What a mechanism that is not exact has to say for itself, whichever door it came through.
        stamp = tuple(filter(None, (getattr(specification.mechanism, "warning", ""),)))
        known = public.n if public.n is not None else public.planned
        units = float(known) if decoded.count is None else decoded.count.value
        return Certificate(
            what=words.statement(specification.summary.name),
            dataset=self.dataset,
            domain=basis.domain.sides,
            unit=public.unit.name,
            unit_was_assumed=self.unit_was_assumed and not specification.summary.units_are_stated,
            neighbours=public.unit.neighbours,
            n=units,
            n_is_noisy=decoded.count is not None,
            n_is_planned=public.n is None and decoded.count is None,
            bound=public.lattice.bound,
            centre=_centre(public.centre),
            epsilon=specification.budget.epsilon + self.before,
            delta=specification.budget.delta,
            rho=specification.profile.rho + self.before**2 / 8,
            mechanism=specification.name,
            noise=words.of_law(law),
            noise_rms=specification.summary.noise_rms(decoded, basis),
            scale=float(np.sqrt(law.variances.max())),
            lattice_step=specification.summary.lattice_step(public),
            sensitivity=sensitivity.value,
            sensitivity_norm=type(sensitivity.norm).__name__,
            sensitivity_because=sensitivity.because,
            moves=words.statement(specification.summary.moves(public, units)),
            power=specification.summary.power,
            attacker_power=with_choice(specification.profile.power(0.05), self.before),
            basis=str(basis.describe()["family"]),
            size=basis.size,
            chosen=self.chosen,
            missing=with_nobody(specification.summary.missing, self.nobody),
            randomness=say("randomness", "integers" if is_private(self.randomness) else "seeded"),
            fits=Fits.of(receipt),
            entry=entry_of(receipt),
            software=software(receipt),
            warnings=(
                *stamp,
                *self._warnings(specification.budget),
                *filter(None, (getattr(specification.summary, "coarse", ""),)),
            ),
            nominal=bool(stamp),
            shrunk_by=_shrunk_by(specification),
            bounded=specification.summary.bounded,
            losses=described(specification.losses),
            noise_scale=specification.scale,
            counting=public.counting.value,
            schema=schema_of(receipt),
        )

    def of_choice(
        self, selection: Selection, budget: Budget, profile: RangeProfile, candidates: int, receipt: Receipt | None
    ) -> ChoiceCard:
        """The card of a choice among candidates."""
        assert self.public.n is not None
        return ChoiceCard(
            what=words.statement(selection.name),
            dataset=self.dataset,
            unit=self.public.unit.name,
            unit_was_assumed=self.unit_was_assumed,
            n=self.public.n,
            candidates=candidates,
            epsilon=budget.epsilon,
            rho=profile.rho,
            attacker_power=profile.power(0.05),
            chosen=self.chosen,
            randomness=say("randomness", "candidates" if is_private(self.randomness) else "seeded"),
            fits=Fits.of(receipt),
            entry=entry_of(receipt),
            software=software(receipt),
            warnings=self._warnings(budget),
            losses=described((profile,)),
            sensitivity=selection.spread,
            noise_scale=selection.spread / profile.epsilon,
            counting=self.public.counting.value,
            schema=schema_of(receipt),
        )

    def _warnings(self, budget: Budget) -> tuple[str, ...]:
        stamps = () if is_private(self.randomness) else (NOT_PRIVATE,)
        return (*stamps, *cautions(budget, self.public.planned))


def cautions(budget: Budget, units: int) -> tuple[Statement, ...]:
    """Warnings that follow from the budget and the number of units."""
    values = {"large-epsilon": {"epsilon": budget.epsilon}, "large-delta": {"delta": budget.delta}}
    return tuple(say("warnings", name, **values[name]) for name in budget.cautions(units))


def with_nobody(missing: str, nobody: str) -> Statement:
    """What becomes of missing data, rows of nobody included."""
    if isinstance(missing, Statement) and "nobody" in missing.values:
        return say("missing", missing.code, **missing.values | {"nobody": nobody})
    return words.statement(f"{missing}{words.NOBODY[nobody]}")


def schema_of(receipt: Receipt | None) -> str:
    """The schema of a card: what was handed out under a key by an earlier version is handed out again as it was."""
    if receipt is None or receipt.output is None:
        return SCHEMA
    try:
        return SCHEMA if unpack(receipt.output).cards_of_fields else first_schema.SCHEMA
    except ValueError:  # answers point by point
        return SCHEMA


def entry_of(receipt: Receipt | None) -> LedgerEntry | None:
    """For the card, as data: the entry of the ledger."""
    return None if receipt is None or not receipt.recorded else LedgerEntry.of(receipt)


def described(losses: tuple[Profile, ...]) -> tuple[dict[str, Any], ...]:
    """Privacy curves as data, for the card."""
    return tuple(loss.describe() for loss in losses)


def with_choice(power: float, epsilon: float) -> float:
    """What an attacker may detect of a release and of a choice for pure epsilon that was made before.

    Under either data set the chance of a choice differs by at most the factor `e^epsilon`, and the power of the rest is
    concave in its false alarms: the average over choices is at most that factor times the power at the average.
    """
    return min(1.0, math.exp(epsilon) * power)


def is_private(randomness: Randomness) -> bool:
    # By what it is, not by what it says of itself.
    return type(randomness) is SystemRandomness


def _shrunk_by(specification: ReleaseSpecification) -> str:
    """What made the mean smaller before the noise, in words; empty for a summary and a mechanism that say nothing."""
    return " and ".join(
        filter(None, (getattr(part, "shrinks", "") for part in (specification.summary, specification.mechanism)))
    )


def _centre(centre: Array) -> Statement:
    if not centre.any():
        return say("centre", "zero")
    if (centre == centre[0]).all():
        return say("centre", "constant", value=float(centre[0]))
    return say("centre", "curve")
