"""The curator: it holds private curves, and hands out releases of them and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpfda.arrays import Integers
from dpfda.bases import Basis
from dpfda.bases.lattice import MOST_UNITS
from dpfda.curator.card import CardFacts
from dpfda.curator.fingerprint import exact_hash, request_hash
from dpfda.curator.order import ChoiceOrder, ReleaseOrder, ReleaseSpecification, least_noise
from dpfda.curator.payment import DrawLog, check_ledger
from dpfda.curator.rehearsal import rehearse_decoded, rehearse_file, rehearse_sum
from dpfda.curator.summary import Public, Selection, Summary
from dpfda.errors import DataError, UsageError
from dpfda.ledger import AnyLedger, Charge, Receipt
from dpfda.mechanisms import Mechanism, Randomness, SystemRandomness
from dpfda.mechanisms.base import law_of, rehearse
from dpfda.mechanisms.choice import choose, rate_of
from dpfda.messages import arg
from dpfda.privacy import Budget, Counting, Profile, RangeProfile, StatedProfile
from dpfda.records import Curves
from dpfda.records.reading import Reading
from dpfda.releases.cards.words import say
from dpfda.releases.certificate import ChoiceCard
from dpfda.releases.decoded import Decoded


@dataclass(frozen=True, eq=False)
class Curator:
    """Holds private curves and the public facts about them; the only thing it hands out is releases."""

    curves: Curves
    public: Public
    dataset: str
    ledger: AnyLedger | None = None
    randomness: Randomness | None = None  # None: the operating system's
    reading: Reading = field(default_factory=Reading)
    chosen: tuple[tuple[str, str], ...] = ()  # how each public parameter came about, for the card
    notes: tuple[tuple[str, str], ...] = ()  # for the card alone: no part of what a key asks for
    before: float = 0.0  # epsilon of a private choice that releases rest on: charged with them, and on their card

    def __post_init__(self) -> None:
        if self.randomness is not None and not isinstance(getattr(self.randomness, "private", None), bool):
            raise UsageError(
                parameter="randomness",
                value=self.randomness,
                rule="must be None or a source such as dpfda.mechanisms.SeededRandomness(1)",
                fix="Seeds make a release not private.",
            )
        check_ledger(self.ledger)
        if self.public.width != self.curves.source.width:
            raise UsageError(
                f"The public grid has {len(self.public.grid)} points and a curve "
                f"{self.curves.source.width - self.public.covariates} values: they must agree.",
                parameter="grid",
            )

    def release(self, summary: Summary, **wishes: Any) -> Any:
        """A private summary, with the wishes of `order`: checked, charged, then read, drawn and kept."""
        return self.order(summary, **wishes).release()

    def order(
        self,
        summary: Summary,
        *,
        basis: Basis,
        mechanism: Mechanism,
        budget: Budget,
        smoothing: str = "auto",
        least_scale: float = 0.0,
        name: str | None = None,
        what: str | None = None,
        then: Callable[[Any], Any] = lambda released: released,
    ) -> ReleaseOrder:
        """A release that is neither charged nor drawn yet; whatever can be refused is refused here.

        `least_scale` asks for more noise than the budget needs, in lattice steps; it can never ask for less. `name` is
        what the card calls the mechanism, `what` is what the ledger calls the release. What `then` makes of the release
        is handed out, with all cards in it.
        """
        self._check_size("release")
        size = summary.size(self.public, basis)
        sensitivity, scale = least_noise(summary.bounds(self.public, basis), mechanism, budget, size)
        scale = max(scale, least_scale)
        noise = law_of(mechanism, scale, size)
        profile = mechanism.profile(sensitivity, scale, size=size)
        # Of a curve that cannot be written down only the guarantee is known.
        known = profile if hasattr(profile, "describe") else StatedProfile(budget.epsilon, budget.delta)
        losses = (known, *((RangeProfile(self.before),) if self.before else ()))
        specification = ReleaseSpecification(
            summary, basis, mechanism, name or mechanism.name, budget, sensitivity, profile, scale, noise, losses
        )
        # Not by way of the curator: what is ordered may outlive the fit, and must not hold the curves.
        facts, public = self.card_facts, self.public

        def finish(noisy: Integers, receipt: Receipt | None) -> Any:
            return finished(summary.decode(noisy, noise, public, basis), receipt)

        def finished(decoded: Decoded, receipt: Receipt | None) -> Any:
            seen = summary.tested(decoded, public, basis)
            card = facts.of_release(specification, decoded, receipt)
            release = summary.publish(decoded, public, basis, card, smoothing=smoothing)
            # What stands out from the noise is a function of the noisy numbers, hence free.
            card, kind = release.certificate, getattr(type(release), "kind", "")
            found = seen or getattr(release, "tested", None) or card.detected or say("detected", "not-tested")
            return replace(release, certificate=replace(card, statistic=kind, detected=found))

        # The whole way once, on an empty curve and on noise alone: a wrong name, a missing library or a basis that
        # cannot be written on a card fails here, before the charge; so do shapes that are not as the summary says, and
        # a release whose file could not be read.
        rehearse_sum(summary, public, basis)
        decoded = summary.decode(rehearse(mechanism, scale, size, noise, specification.name), noise, public, basis)
        rehearse_decoded(summary, decoded, basis)
        rehearse_file(finished(decoded, None))
        price = self.price(
            f"{what or summary.name}, {specification.name}",
            Budget(budget.epsilon + self.before, budget.delta),
            losses[::-1],  # in the order of time: the choice came first
            (summary, basis.describe(), mechanism, specification.name, budget, sensitivity.value, scale, smoothing),
            nominal=bool(getattr(mechanism, "warning", "")),
        )
        return ReleaseOrder(
            price, self.ledger, self.curves, public, self.reading, specification, facts.randomness, finish, then
        )

    def price(
        self, what: str, budget: Budget, losses: tuple[Profile, ...], ordered: object, *, nominal: bool = False
    ) -> Charge:
        """What a ledger is asked for; `ordered` is all that is public about the request beyond the public facts.

        `nominal` says that the draw is approximate, so that every total with it is no guarantee.
        """
        # By all their names, where they have some: the card has the first and the last of many columns only. Those of
        # covariates stand on the card.
        columns = tuple(getattr(getattr(self.curves.source, "curves", self.curves.source), "names", ()))
        # Why a basis was taken is told with computed digits; the basis itself is ordered.
        reasons = tuple(each for each in self.chosen if each[0] != "basis")
        request = request_hash(self.dataset, what, budget, self.public, reasons, self.before, columns, ordered)
        former = exact_hash(self.dataset, what, budget, self.public, self.chosen, self.before, columns, ordered)
        return Charge(
            self.dataset, what, budget, losses, self.public.unit, request=request, former=former, nominal=nominal
        )

    def choose(self, selection: Selection, *, budget: Budget) -> tuple[int, ChoiceCard]:
        """One of finitely many candidates, and its card: checked, charged, then read, drawn and kept."""
        index, card = self.order_choice(selection, budget=budget).release()
        return index, card

    def order_choice(
        self,
        selection: Selection,
        *,
        budget: Budget,
        told: Callable[[int], tuple[str, str]] | None = None,
        then: Callable[[int, ChoiceCard], Any] = lambda index, card: (index, card),
    ) -> ChoiceOrder:
        """A choice by the exponential mechanism that is neither charged nor drawn yet; what can be refused is refused.

        `told` says on the card what was chosen. What `then` makes of the choice is handed out.
        """
        if not budget.pure or self.public.n is None:
            raise UsageError(
                "A choice is made for pure epsilon and a public number of units: ",
                arg("delta", 0),
                ", 'replace-one'.",
                parameter="delta",
            )
        self._check_size("choice")
        rate = rate_of(budget.epsilon, selection.spread)
        # The whole way once, on an empty curve and on no curve at all: what fails, fails before the charge.
        selection.encode(self.public)(np.full((1, self.public.width), np.nan))
        nothing = selection.scores(np.zeros(selection.sums, dtype=np.int64), self.public)
        choose(nothing, rate, randomness=SystemRandomness())
        profile, facts = RangeProfile(budget.epsilon), self.card_facts

        def drawn() -> Integers:
            total = selection.gather(self.curves, self.public, self.reading)
            return np.array([choose(selection.scores(total, self.public), rate, randomness=facts.randomness)])

        def draw(log: DrawLog, receipt: Receipt | None) -> tuple[int, ChoiceCard]:
            index = int(log.take(drawn)[0])
            card = facts.of_choice(selection, budget, profile, len(nothing.squares), receipt)
            card = replace(card, result=selection.result(index))
            return index, card if told is None else replace(card, chosen=(told(index), *card.chosen))

        price = self.price(str(selection.name), budget, (profile,), selection)
        return ChoiceOrder(price, self.ledger, draw, then)

    def _check_size(self, what: str) -> None:
        if self.public.n is not None and not 1 <= self.public.n <= MOST_UNITS:
            raise DataError(f"A {what} needs between 1 and 2^38 {self.public.unit.name}s, got {self.public.n}.")

    @property
    def card_facts(self) -> CardFacts:
        """What its cards say beyond the release and its noise."""
        return CardFacts(
            public=self.public,
            dataset=self.dataset,
            unit_was_assumed=self.curves.unit is None,
            chosen=(*self.chosen, *self.notes),
            nobody=self.nobody,
            before=self.before,
            randomness=SystemRandomness() if self.randomness is None else self.randomness,
        )

    @property
    def nobody(self) -> str:
        """For the card: what becomes of rows of nobody, a code of `releases.cards.words.NOBODY`."""
        if self.curves.unit is None:
            return ""
        return "counted" if self.public.counting is Counting.IDENTIFIERS else "left-out"
