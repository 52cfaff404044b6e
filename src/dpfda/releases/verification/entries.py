"""Whether a card stands in the ledger as it says: the same entry, the same price, and an output."""

from __future__ import annotations

import math
from typing import Any

from dpfda.errors import BudgetError, DpfdaError, LedgerDamaged
from dpfda.privacy import REPLACE
from dpfda.releases.cards.facts import TWICE, Card
from dpfda.releases.certificate import Certificate
from dpfda.releases.entry import LedgerEntry
from dpfda.releases.verification.handed_out import Subject, check_output
from dpfda.releases.verification.report import LEDGER, UNREADABLE, Checks
from dpfda.releases.wording import plain


def check_entry(subject: Subject, ledger: Any, checks: Checks) -> None:
    """The entry that a card names, read from the ledger itself, and what was handed out under it."""
    card, named = subject.card, subject.card.entry
    if ledger is None:
        checks.missing.append(_no_ledger(named))
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
        check_output(subject, ledger, checks)


def _no_ledger(named: LedgerEntry | None) -> str:
    if named is None:
        return "any entry of a ledger: nothing was recorded"
    if not named.ledger:
        return f"entry {named.number} of the ledger: it ended with its process"
    return f"entry {named.number} of ledger {named.ledger}, and what was handed out under it: say --ledger"


def _check_charge(card: Card, named: LedgerEntry, found: Any, budgets: dict[str, Any], checks: Checks) -> None:
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
    """Whether a curve on a card promises what another one was charged for.

    What is charged before a basis is chosen privately may be of another size: then only the distance of the sampler
    from the normal law differs, by less than anybody states of delta; and the lattice of Laplace noise, which may be
    finer than the one that was charged for, since that costs less.
    """
    if one == other:
        return True
    if one.get("law") == other.get("law") == "laplace":
        finer = float(one["steps"] or math.inf) >= float(other["steps"] or math.inf)
        return finer and math.isclose(one["epsilon"], other["epsilon"], rel_tol=1e-9)
    if one.get("law") != other.get("law") or "mu" not in one or "mu" not in other:
        return False
    near = abs(float(one.get("distance", 0)) - float(other.get("distance", 0))) <= SMALL
    return near and math.isclose(one["mu"], other["mu"], rel_tol=1e-9)


def _check_fate(named: LedgerEntry, history: tuple[Any, ...], checks: Checks) -> None:
    """Something was drawn and kept under the entry."""
    fates = {row.kind for row in history if row.charged == named.number}
    said = "nothing was drawn on it" if not fates else "the draw failed, and nothing was handed out"
    checks.rule("output" in fates, LEDGER, "output under the entry", "this release", said)


def _amount(pair: tuple[float, float]) -> str:
    return f"(epsilon = {plain(pair[0])}, delta = {plain(pair[1])})"
