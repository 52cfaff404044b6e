"""The card of an online release: its noise is a process, and its answers have a public cap."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import version
from typing import Any

from dpfda.curator import described, with_choice
from dpfda.mechanisms import Randomness, SystemRandomness
from dpfda.online.noise_ahead import STEPS
from dpfda.online.specification import NUGGET, OnlineLaw
from dpfda.privacy import Counting, RangeProfile
from dpfda.releases import NOT_PRIVATE, Certificate
from dpfda.releases.cards.words import Statement, cautions, say, statement
from dpfda.releases.entry import Fits, LedgerEntry

OUTSIDE, PLACES = "outside", "places"  # in the header of a store
ENCODING_BEFORE = {OUTSIDE: "edge", PLACES: "cells"}  # of stores of densities whose headers do not say it


@dataclass(frozen=True, slots=True)
class Facts:
    """The public facts of an online release that its law does not have; nothing in it depends on records."""

    what: Statement
    dataset: str
    unit: str
    unit_was_assumed: bool
    neighbours: str
    n: float
    because: str  # why one unit moves the function by so much at most
    chosen: tuple[tuple[str, str], ...] = ()
    missing: str = say("missing", "clipped-points")
    fits: Fits | None = None  # those before it, where no ledger has it
    entry: LedgerEntry | None = None  # of the ledger
    warnings: tuple[str, ...] = ()
    before: float = 0.0  # epsilon of a private choice that the function rests on
    counting: Counting = Counting.ROWS  # how n is known
    statistic: str = ""  # the kind of release that the function is of
    columns: str = ""  # which columns the records were read from, where they have names
    # How records became the function, by name, where there are several ways: a store is bound to it beside its law.
    encoding: tuple[tuple[str, str], ...] = ()

    def without_reasons(self) -> Facts:
        """What a request is known by: reasons are sentences, with computed digits in them."""
        return replace(self, because="", chosen=())


class OnlineCard(Certificate):
    """A release card in the words of an online release: there is no basis, and the bound is on a norm of sections."""

    __slots__ = ()

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        said = {
            "noise": f"standard deviation {self.noise_rms:.4g} at every point, at most",
            "basis": f"{self.basis}, at every point that is asked for, without a finite basis",
        }
        return tuple((label, said.get(label, text)) for label, text in super().entries if label != "bound")

    @property
    def not_covered(self) -> str:
        return (
            "Points that have been asked for keep their answers; what they say together is covered by the guarantee, "
            "as long as the records behind them stay the same. While new answers are given, the process that gives them"
            " holds the exact function in memory, without noise, until it is closed; the store holds answers alone."
        )

    @staticmethod
    def from_dict(data: dict[str, Any]) -> OnlineCard:
        """The card that `to_dict` wrote."""
        plain = Certificate.from_dict(data)
        return OnlineCard(**{field.name: getattr(plain, field.name) for field in fields(plain)})


def card(law: OnlineLaw, facts: Facts, randomness: Randomness) -> OnlineCard:
    """The release card; all answers that will ever be given are covered by it."""
    # By what it is, not by what it says of itself.
    private = type(randomness) is SystemRandomness
    deviation = law.scale * math.sqrt(law.peak * (1 if law.line is not None else 1 + NUGGET))
    stamps = (() if private else (NOT_PRIVATE,)) + cautions(law.budget, max(1, math.ceil(facts.n)))
    return OnlineCard(
        what=facts.what,
        dataset=facts.dataset,
        domain=law.domain.sides,
        unit=facts.unit,
        unit_was_assumed=facts.unit_was_assumed,
        neighbours=facts.neighbours,
        n=float(facts.n),
        n_is_noisy=False,
        bound=law.sensitivity,
        centre=say("centre", "zero"),
        epsilon=law.budget.epsilon + facts.before,
        delta=law.budget.delta,
        rho=law.profile.rho + facts.before**2 / 8,
        mechanism="gp",
        noise=say("noise", "online", answers=law.answers),
        noise_rms=deviation,
        scale=law.scale,
        lattice_step=law.scale / STEPS,
        sensitivity=law.sensitivity * STEPS / law.scale,
        sensitivity_norm="L2",
        sensitivity_because=facts.because,
        attacker_power=with_choice(law.profile.power(0.05), facts.before),
        basis=f"the whitened values of {law.kernel!r}",
        size=law.answers,
        chosen=facts.chosen,
        missing=statement(facts.missing),
        randomness=say("randomness", "points" if private else "seeded"),
        fits=facts.fits,
        entry=facts.entry,
        losses=described((law.profile, *((RangeProfile(facts.before),) if facts.before else ()))),
        noise_scale=float(STEPS),
        software=_software(),
        warnings=(*facts.warnings, *stamps),
        counting=facts.counting.value,
        detected=say("detected", "online"),
        statistic=facts.statistic,
        moves=say("moves", "function", by=law.sensitivity),
    )


@cache
def _software() -> tuple[tuple[str, str], ...]:
    return tuple((name, version(name)) for name in ("dpfda", "numpy"))
