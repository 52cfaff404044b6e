"""What a ledger shows: entries, data sets, quotes, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfda.privacy.budget import Budget


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of a ledger, in plain values; what its kind does not have is None."""

    number: int
    kind: str  # create, copy, charge, output, burn, freeze, anchor
    at: str  # in universal time
    dataset: str | None  # the name that it was created under
    digest: str  # the entry's hash in the chain
    previous: str
    name: str | None = None
    key: str | None = None
    charged: int | None = None  # the charge that an output or a burn belongs to
    what: str | None = None
    unit: str | None = None
    neighbours: str | None = None
    budget: Budget | None = None  # create: the cap; charge: what was ordered
    losses: tuple[dict[str, Any], ...] = ()
    # Epsilons at the data set's delta: at most. Where its prices are adaptive, what the filter counts: no guarantee.
    cost: float | None = None  # of a charge alone
    total: float | None = None  # of the data set up to here; `spent` may find less
    request: str | None = None  # charge: the digest of all that was ordered
    output: str | None = None  # output: the digest of what was drawn
    nominal: bool = False  # charge: drawn approximately, so that its cost is no guarantee
    total_nominal: bool = False  # charge: its total rests on an approximate draw, this one or an earlier one


@dataclass(frozen=True, slots=True)
class Dataset:
    """A budget: its names, its cap, whom it protects, and what its newest entry says."""

    name: str
    copies: tuple[str, ...]
    cap: Budget
    unit: str | None  # None until the first charge pins it
    neighbours: str
    frozen: bool
    charges: int
    # Epsilon at the cap's delta, as the newest entry has it: an upper bound that took no time. With `adaptive` it is
    # what the filter counts, and no guarantee: that is the cap.
    spent: float
    number: int  # of the entry that created it
    nominal: bool = False  # whether what was spent rests on an approximate draw
    adaptive: bool = False  # whether prices may be chosen after seeing earlier releases


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left, at the data set's own delta; epsilon may be 0, which no release can ask for."""

    epsilon: float
    delta: float
    nominal: bool = False  # whether what was spent rests on an approximate draw, and so what is left
    adaptive: bool = False  # whether a privacy filter counts: a limit for charges, while the guarantee is the cap


@dataclass(frozen=True, slots=True)
class Quote:
    """What a charge would do; epsilons at the cap's delta. Nothing is charged."""

    cost: float  # alone
    spent: float  # before
    after: float
    cap: Budget
    allowed: bool
    affordable: float  # the largest epsilon up to the one ordered that would be granted, rounded down; 0 if none
    nominal: bool = False  # whether `after` rests on an approximate draw
    refusal: str | None = None  # what the charge itself would raise; None if it is allowed
    adaptive: bool = False  # whether epsilons are what a privacy filter counts: no guarantee, which is the cap
