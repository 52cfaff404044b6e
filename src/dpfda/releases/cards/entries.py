"""Come here for whether a card stands in the ledger as it says: the same entry, the same price, and an output."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpfda.errors import BudgetError, DpfdaError, LedgerDamaged
from dpfda.privacy import REPLACE
from dpfda.privacy.ledger.outputs import Kept, unpack
from dpfda.releases.cards.facts import TWICE, Card
from dpfda.releases.cards.report import LEDGER, UNREADABLE, Checks
from dpfda.releases.certificate import Certificate
from dpfda.releases.entry import Entry
from dpfda.releases.files import kind_of
from dpfda.releases.seal import card_digest
from dpfda.releases.wording import plain


def check_entry(card: Card, ledger: Any, checks: Checks, release: Any = None) -> None:
    """The entry that a card names, read from the ledger itself; and what was drawn on it, where a release has it."""
    named = card.entry
    if ledger is None:
        if named is not None and named.ledger:
            checks.notes.append(f"the ledger {named.ledger} was not asked: say --ledger to compare with its entry")
        return
    if named is None or not named.ledger:
        checks.rule(False, LEDGER, "entry of the ledger", card.recorded, "the card names no entry of a kept ledger")
        return
    try:
        ledger.check()
        same = checks.rule(named.ledger == ledger.id, LEDGER, "identifier of the ledger", named.ledger, ledger.id)
        history = ledger.history() if same else ()
        budgets = {name: known for known in ledger.datasets() for name in (known.name, *known.copies)}
    except DpfdaError as error:
        # A damaged ledger, a wrong address or a missing file speaks against nothing: there is nothing to compare with.
        kind = LEDGER if isinstance(error, BudgetError) and not isinstance(error, LedgerDamaged) else UNREADABLE
        checks.rule(False, kind, "the ledger itself", f"entry {named.number} of {named.ledger}", str(error))
        return
    if same:
        found = next((row for row in history if row.number == named.number), None)
        if found is None or found.kind != "charge":
            what = "no such entry" if found is None else f"an entry of another kind, '{found.kind}'"
            checks.rule(False, LEDGER, "entry of the ledger", f"number {named.number}", what)
            return
        _check_charge(card, named, found, budgets, checks)
        _check_fate(named, history, checks)
        _check_output(card, named, ledger, release, checks)


def _check_charge(card: Card, named: Entry, found: Any, budgets: dict[str, Any], checks: Checks) -> None:
    checks.rule(named.digest == found.digest, LEDGER, "digest of the entry", named.digest, found.digest)
    checks.rule(named.key == found.key, LEDGER, "key of the entry", named.key, found.key)
    budget = budgets.get(card.dataset)
    known = None if budget is None else budget.name
    checks.rule(known == found.dataset, LEDGER, "data set", card.dataset, found.dataset)
    if budget is not None and budget.neighbours == REPLACE != found.neighbours:
        checks.notes.append(f"the budget is under replace-one: {TWICE}")
    checks.rule(card.unit == found.unit, LEDGER, "unit", card.unit, found.unit)
    checks.rule(card.neighbours == found.neighbours, LEDGER, "neighbours", card.neighbours, found.neighbours)
    stated = (card.epsilon, card.delta if isinstance(card, Certificate) else 0.0)
    charged = (found.budget.epsilon, found.budget.delta)
    losses, whole = [dict(loss) for loss in card.losses], [dict(loss) for loss in found.losses]
    part = len(losses) < len(whole)
    # A choice that was paid for with its release has a card of its own, for its part of the price.
    covered = stated[0] <= charged[0] and stated[1] <= charged[1] if part else stated == charged
    checks.rule(covered, LEDGER, "budget", _amount(stated), _amount(charged))
    same = bool(losses) and all(any(alike(loss, one) for one in whole) for loss in losses)
    checks.rule(same, LEDGER, "privacy curves", losses, whole)
    if named.spent is not None and found.total is not None:
        checks.rule(
            math.isclose(named.spent[0], found.total, rel_tol=1e-9),
            LEDGER,
            "spent up to the entry",
            plain(named.spent[0]),
            plain(found.total),
        )
        words = {True: "rests on an approximate draw", False: "rests on exact draws"}
        nominal = found.total_nominal
        checks.rule(named.nominal == nominal, LEDGER, "what was spent", words[named.nominal], words[nominal])


SMALL = 1e-12  # of delta


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two curves promise the same.

    What is charged before a basis is chosen privately may be of another size: then only the distance of the sampler
    from the normal law differs, by less than anybody states of delta.
    """
    if one == other:
        return True
    if one.get("law") != other.get("law") or "mu" not in one or "mu" not in other:
        return False
    near = abs(float(one.get("distance", 0)) - float(other.get("distance", 0))) <= SMALL
    return near and math.isclose(one["mu"], other["mu"], rel_tol=1e-9)


def _check_fate(named: Entry, history: tuple[Any, ...], checks: Checks) -> None:
    """Something was drawn and kept under the entry."""
    fates = {row.kind for row in history if row.charged == named.number}
    said = "nothing was drawn on it" if not fates else "the draw failed, and nothing was handed out"
    checks.rule("output" in fates, LEDGER, "output under the entry", "this release", said)


def _check_output(card: Card, named: Entry, ledger: Any, release: Any, checks: Checks) -> None:
    """Card and coordinates are those that the ledger let out under the entry."""
    read = getattr(ledger, "output", None)  # a ledger may keep its outputs to itself
    try:
        stored = None if read is None else read(named.number)
        kept = None if stored is None else unpack(stored)
    except ValueError:  # answers point by point, or an output of another version
        stored, kept = b"", None
    except DpfdaError as error:
        kind = UNREADABLE if isinstance(error, LedgerDamaged) else LEDGER
        checks.rule(False, kind, "what was drawn under the entry", "kept by the ledger", str(error))
        return
    if kept is None:
        if read is None or stored is not None:
            checks.notes.append(f"{UNKNOWN} with the card and the coordinates in the file")
        return  # that nothing is there is said above
    if kept.cards:
        same = any(card_digest(one) in kept.cards for one in _made_from(card))
        checks.rule(same, LEDGER, HANDED_OUT, "this card", "another one")
    else:
        checks.notes.append(f"{UNKNOWN} with the card: the ledger keeps no digest of it")
    _check_drawn(kept, release, checks)


HANDED_OUT = "card that was handed out under the entry"
UNKNOWN = "what was handed out under the entry was not compared"
MOMENTS = ("covariance function", "second moment around the centre")


def _made_from(card: Card) -> tuple[Card, ...]:
    """The card, and those that it may have come from after the noise: components of a covariance cost nothing."""
    if not isinstance(card, Certificate) or "principal component" not in card.what:
        return (card,)
    return (card, *(replace(card, what=what) for what in MOMENTS))


def _check_drawn(kept: Kept, release: Any, checks: Checks) -> None:
    """The integers that the ledger keeps are those of the release, where its coordinates are multiples of them."""
    factor = None if release is None else _factor(release)
    if factor is None:
        if release is not None:
            checks.notes.append("coordinates of this kind are no multiples of what was drawn, and were not compared")
        return
    # What stands before the last vector are choices that the release rests on; the count stands in front of the sums.
    noisy, drawn = np.asarray(release.noisy), kept.vectors[-1] if kept.vectors else np.zeros(0)
    multiples = drawn[max(len(drawn) - len(noisy), 0) :] * factor
    same = len(multiples) == len(noisy) and np.allclose(noisy, multiples, rtol=1e-11, atol=0.0)
    checks.rule(same, LEDGER, "numbers drawn under the entry", "the coordinates in the file", "other numbers")


def _factor(release: Any) -> float | None:
    """What one lattice step is in the coordinates of a release; None where they are made of it in another way."""
    card, kind = release.certificate, kind_of(release)
    if card.what.startswith("penalised") or card.n_is_planned or card.lattice_step <= 0:
        return None
    if kind in ("mean", "covariance"):
        return None if _drawn_elsewhere(release) else float(card.lattice_step / card.n)
    return float(card.lattice_step) if kind == "machine" else None


def _drawn_elsewhere(release: Any) -> bool:
    """Points of a user's own objective are no sums, and have a step of their own."""
    return bool(release.noise.law == "choice")


def _amount(pair: tuple[float, float]) -> str:
    return f"(epsilon = {plain(pair[0])}, delta = {plain(pair[1])})"
