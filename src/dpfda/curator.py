"""Come here for the one door between records and releases: check, charge, read, add noise once, decode."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.errors import CannotMeetBudget, DataError, DpfdaError, ReleaseFailed, UsageError
from dpfda.mechanisms import Mechanism, Randomness, SystemRandomness
from dpfda.mechanisms.choice import choose, rate_of
from dpfda.norms import Sensitivity
from dpfda.privacy import AnyLedger, Budget, Charge, Profile, RangeProfile, calibrate
from dpfda.records import MOST_UNITS, Curves
from dpfda.records.reading import Reading
from dpfda.releases import NOT_PRIVATE, Certificate
from dpfda.releases.choices import ChoiceCard
from dpfda.summaries import Decoded, Public, Summary
from dpfda.summaries.selection import Selection


@dataclass(frozen=True, eq=False)
class Terms:
    """What is released, how, and at what price."""

    summary: Summary
    basis: Basis
    mechanism: Mechanism
    name: str  # of the mechanism, as the card shows it
    budget: Budget
    sensitivity: Sensitivity
    profile: Profile


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
    before: float = 0.0  # epsilon of a private choice that releases rest on: charged with them, and on their card

    def __post_init__(self) -> None:
        if self.randomness is not None and not isinstance(getattr(self.randomness, "private", None), bool):
            raise UsageError(
                f"randomness must be None or a source such as dpfda.mechanisms.SeededRandomness(1), got "
                f"{self.randomness!r}. Seeds make a release not private."
            )
        if self.public.width != self.curves.source.width:
            raise UsageError(
                f"The public grid has {len(self.public.grid)} points and a curve "
                f"{self.curves.source.width - self.public.covariates} values: they must agree."
            )

    def release(self, summary: Summary, **wishes: Any) -> Any:
        """A private summary, with the wishes of `order`: checked, charged, then read and drawn."""
        order = self.order(summary, **wishes)
        order.charge()
        return order.draw()

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
    ) -> Order:
        """A release that is neither charged nor drawn yet; whatever can be refused is refused here.

        `least_scale` asks for more noise than the budget needs, in lattice steps; it can never ask for less. `name` is
        what the card calls the mechanism.
        """
        randomness = SystemRandomness() if self.randomness is None else self.randomness
        if self.public.n is not None and not 1 <= self.public.n <= MOST_UNITS:
            raise DataError(f"A release needs between 1 and 2^38 {self.public.unit.name}s, got {self.public.n}.")
        size = summary.size(self.public, basis)
        sensitivity, scale = _least_noise(summary.bounds(self.public, basis), mechanism, budget, size)
        scale = max(scale, least_scale)
        noise = mechanism.noise(scale, size)
        profile = mechanism.profile(sensitivity, scale, size=size)
        terms = Terms(summary, basis, mechanism, name or mechanism.name, budget, sensitivity, profile)

        def finish(noisy: Integers) -> Any:
            decoded = summary.decode(noisy, noise, self.public, basis)
            card = self._card(terms, decoded, randomness)
            return summary.publish(decoded, self.public, basis, card, smoothing=smoothing)

        # The whole way once, on an empty curve and on noise alone: a wrong name, a missing library or a basis that
        # cannot be written on a card fails here, before the charge.
        summary.encode(self.public, basis)(np.full((1, self.public.width), np.nan))
        finish(mechanism.draw(np.zeros(size, dtype=np.int64), scale, randomness=SystemRandomness()))
        return Order(self, terms, scale, randomness, finish)

    def charge(self, what: str, budget: Budget) -> None:
        """Enter a release into the ledger, if there is one; from here on nothing is given back."""
        if self.ledger is not None:
            self.ledger.charge(Charge(self.dataset, what, budget))

    def choose(self, selection: Selection, *, budget: Budget, paid: bool = False) -> tuple[int, ChoiceCard]:
        """One of finitely many candidates by the exponential mechanism, and its card; checked, charged, then read.

        `paid` says that it has been charged with a release that rests on it.
        """
        randomness = SystemRandomness() if self.randomness is None else self.randomness
        if not budget.pure or self.public.n is None:
            raise UsageError("A choice is made for pure epsilon and a public number of units: delta=0, 'replace-one'.")
        if not 1 <= self.public.n <= MOST_UNITS:
            raise DataError(f"A choice needs between 1 and 2^38 {self.public.unit.name}s, got {self.public.n}.")
        rate = rate_of(budget.epsilon, selection.spread)
        # The whole way once, on an empty curve and on no curve at all: what fails, fails before the charge.
        selection.encode(self.public)(np.full((1, self.public.width), np.nan))
        nothing = selection.scores(np.zeros(selection.sums, dtype=np.int64), self.public)
        choose(nothing, rate, randomness=SystemRandomness())
        profile = RangeProfile(budget.epsilon)
        card = ChoiceCard(
            what=selection.name,
            dataset=self.dataset,
            unit=self.public.unit.name,
            unit_was_assumed=self.curves.unit is None,
            n=self.public.n,
            candidates=len(nothing.squares),
            epsilon=budget.epsilon,
            rho=profile.rho,
            attacker_power=profile.power(0.05),
            chosen=self.chosen,
            randomness="system, exact sampler" if is_private(randomness) else NOT_PRIVATE,
            recorded=self.recorded,
            software=_software(),
            warnings=_warnings(budget, self.public, randomness),
        )
        if not paid:
            self.charge(selection.name, budget)
        index = self._chosen(selection, rate, randomness)
        if index is None:
            raise ReleaseFailed
        return index, card

    def _chosen(self, selection: Selection, rate: float, randomness: Randomness) -> int | None:
        """Where records are read for a choice; None if anything at all goes wrong."""
        try:
            total = selection.gather(self.curves, self.public, self.reading)
            return choose(selection.scores(total, self.public), rate, randomness=randomness)
        except Exception:
            return None

    @property
    def recorded(self) -> str:
        """For the card: whether a ledger knows of the release."""
        return "nothing was recorded: no ledger was given" if self.ledger is None else "charged before reading"

    @property
    def unknown(self) -> str:
        """For the card: what becomes of rows of nobody."""
        if self.curves.unit is None:
            return ""
        return "; rows that do not say whose they are are left out" + (
            "" if self.public.n is None else " and count as one empty unit"
        )

    def _card(self, terms: Terms, decoded: Decoded, randomness: Randomness) -> Certificate:
        public, basis, law, sensitivity = self.public, terms.basis, decoded.noise, terms.sensitivity
        # What a mechanism that is not exact has to say for itself, whichever door it came through.
        stamp = tuple(filter(None, (getattr(terms.mechanism, "warning", ""),)))
        known = public.n if public.n is not None else public.planned
        units = float(known) if decoded.count is None else decoded.count.value
        return Certificate(
            what=terms.summary.name,
            dataset=self.dataset,
            domain=basis.domain.sides,
            unit=public.unit.name,
            unit_was_assumed=self.curves.unit is None and not terms.summary.units_are_stated,
            neighbours=public.unit.neighbours,
            n=units,
            n_is_noisy=decoded.count is not None,
            n_is_planned=public.n is None and decoded.count is None,
            bound=public.lattice.bound,
            centre=_name_of(public.centre),
            epsilon=terms.budget.epsilon + self.before,
            delta=terms.budget.delta,
            rho=terms.profile.rho + self.before**2 / 8,
            mechanism=terms.name,
            noise=law.text,
            noise_rms=terms.summary.noise_rms(decoded, basis),
            scale=float(np.sqrt(law.variances.max())),
            lattice_step=terms.summary.lattice_step(public),
            sensitivity=sensitivity.value,
            sensitivity_norm=type(sensitivity.norm).__name__,
            sensitivity_because=sensitivity.because,
            moves=terms.summary.moves(public, units),
            power=terms.summary.power,
            attacker_power=with_choice(terms.profile.power(0.05), self.before),
            basis=str(basis.describe()["family"]),
            size=basis.size,
            chosen=self.chosen,
            missing=terms.summary.missing + self.unknown,
            randomness="system, exact integer samplers" if is_private(randomness) else NOT_PRIVATE,
            recorded=self.recorded,
            software=_software(),
            warnings=(*stamp, *_warnings(terms.budget, public, randomness)),
            nominal=bool(stamp),
            shrunk_by=_shrunk_by(terms),
            bounded=terms.summary.bounded,
        )


@dataclass(frozen=True, eq=False)
class Order:
    """A release that can be charged and drawn, once each and in this order."""

    curator: Curator
    terms: Terms
    scale: float  # of the noise, in lattice steps
    randomness: Randomness
    finish: Callable[[Integers], Any]
    _once: tuple[Any, Any] = field(default_factory=lambda: (Lock(), Lock()), init=False, repr=False)

    def charge(self) -> None:
        _only_once(self._once[0])
        budget = self.terms.budget
        whole = Budget(budget.epsilon + self.curator.before, budget.delta)
        self.curator.charge(f"{self.terms.summary.name}, {self.terms.name}", whole)

    def draw(self, gathered: Integers | None = None) -> Any:
        """The release; here records are read, unless what they add up to is at hand already."""
        _only_once(self._once[1])
        noisy = self._noisy(gathered)
        if noisy is None:
            # Raised out here, with one constant text: a chained exception would carry private values in its frames.
            raise ReleaseFailed
        return self.finish(noisy)

    def _noisy(self, gathered: Integers | None) -> Integers | None:
        """What was gathered, with noise; None if anything at all goes wrong."""
        terms, curator = self.terms, self.curator
        try:
            if gathered is None:
                gathered = terms.summary.gather(curator.curves, curator.public, terms.basis, curator.reading)
            return terms.mechanism.draw(gathered, self.scale, randomness=self.randomness)
        except Exception:
            return None


def with_choice(power: float, epsilon: float) -> float:
    """What an attacker may detect of a release and of a choice for pure epsilon that was made before.

    Under either data set the chance of a choice differs by at most the factor `e^epsilon`, and the power of the rest is
    concave in its false alarms: the average over choices is at most that factor times the power at the average.
    """
    return min(1.0, math.exp(epsilon) * power)


def _only_once(lock: Any) -> None:
    # A lock that is never let go: whoever comes second, from whichever thread, is refused.
    if not lock.acquire(blocking=False):
        raise UsageError("An order is charged once and drawn once: a second noise would be a second release.")


def _shrunk_by(terms: Terms) -> str:
    """What made the mean smaller before the noise, in words; empty for a summary and a mechanism that say nothing."""
    return " and ".join(filter(None, (getattr(part, "shrinks", "") for part in (terms.summary, terms.mechanism))))


@cache
def _software() -> tuple[tuple[str, str], ...]:
    """Versions for the card; looking them up takes longer than a small release."""
    return tuple((name, version(name)) for name in ("dpfda", "opendp", "numpy"))


def _least_noise(
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


def is_private(randomness: Randomness) -> bool:
    # By what it is, not by what it says of itself.
    return type(randomness) is SystemRandomness


def _name_of(centre: Array) -> str:
    if not centre.any():
        return "zero"
    return f"the constant {centre[0]:g}" if (centre == centre[0]).all() else "a public curve"


def _warnings(budget: Budget, public: Public, randomness: Randomness) -> tuple[str, ...]:
    return (*(() if is_private(randomness) else (NOT_PRIVATE,)), *budget.warnings(public.planned))
