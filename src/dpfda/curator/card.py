"""How a release card is filled in: everything on it is public, or was paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.curator.payment import software
from dpfda.curator.summary import Public, Selection
from dpfda.ledger import Receipt
from dpfda.ledger.outputs import unpack
from dpfda.mechanisms import Randomness, SystemRandomness
from dpfda.privacy import Budget, Profile, RangeProfile
from dpfda.releases import NOT_PRIVATE, Certificate
from dpfda.releases.cards import first_schema, words
from dpfda.releases.cards.plain import SCHEMA
from dpfda.releases.cards.words import say
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
        public, basis, law, summary = self.public, specification.basis, decoded.noise, specification.summary
        budget, profile, sensitivity = specification.budget, specification.profile, specification.sensitivity
        known = public.n if public.n is not None else public.planned
        units = float(known) if decoded.count is None else decoded.count.value
        # What a mechanism that is not exact has to say for itself, whichever door it came through.
        stamp = getattr(specification.mechanism, "warning", "")
        name, private = summary.name, is_private(self.randomness)
        shrinks = (getattr(summary, "shrinks", ""), getattr(specification.mechanism, "shrinks", ""))
        return Certificate(
            # The guarantee.
            epsilon=budget.epsilon + self.before,
            delta=budget.delta,
            losses=described(specification.losses),
            rho=profile.rho + self.before**2 / 8,
            attacker_power=with_choice(profile.power(0.05), self.before),
            nominal=bool(stamp),
            # Who is protected.
            dataset=self.dataset,
            unit=public.unit.name,
            unit_was_assumed=self.unit_was_assumed and not summary.units_are_stated,
            neighbours=public.unit.neighbours,
            n=units,
            n_is_noisy=decoded.count is not None,
            n_is_planned=public.n is None and decoded.count is None,
            counting=public.counting.value,
            # What is released.
            what=words.statement(name),
            centre=words.of_centre(public.centre),
            missing=words.with_nobody(summary.missing, self.nobody),
            domain=basis.domain.sides,
            basis=str(basis.describe()["family"]),
            size=basis.size,
            bound=public.lattice.bound,
            bounded=summary.bounded,
            shrunk_by=" and ".join(filter(None, shrinks)),
            power=summary.power,
            # How far one unit moves it, and the noise.
            sensitivity=sensitivity.value,
            sensitivity_norm=type(sensitivity.norm).__name__,
            sensitivity_because=sensitivity.because,
            lattice_step=summary.lattice_step(public),
            moves=words.statement(summary.moves(public, units)),
            mechanism=specification.name,
            noise=words.of_law(law),
            noise_rms=summary.noise_rms(decoded, basis),
            noise_scale=specification.scale,
            scale=float(np.sqrt(law.variances.max())),
            randomness=say("randomness", "integers" if private else "seeded"),
            # How it came about.
            schema=schema_of(receipt),
            software=software(receipt),
            chosen=self.chosen,
            warnings=tuple(filter(None, (stamp, *self._warnings(budget), getattr(summary, "coarse", "")))),
            fits=Fits.of(receipt),
            entry=LedgerEntry.of(receipt),
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
            entry=LedgerEntry.of(receipt),
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
        return (*stamps, *words.cautions(budget, self.public.planned))


def schema_of(receipt: Receipt | None) -> str:
    """The schema of a card: what was handed out under a key by an earlier version is handed out again as it was."""
    if receipt is None or receipt.output is None:
        return SCHEMA
    try:
        return SCHEMA if unpack(receipt.output).cards_of_fields else first_schema.SCHEMA
    except ValueError:  # answers point by point
        return SCHEMA


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
