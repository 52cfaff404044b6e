"""Come here for whether a card stands in the ledger as it says: the same entry, the same price, and an output."""

from __future__ import annotations

import math
from typing import Any

from dpfda.errors import DpfdaError
from dpfda.releases.cards.facts import Card
from dpfda.releases.cards.report import LEDGER, Checks
from dpfda.releases.certificate import Certificate
from dpfda.releases.entry import Entry
from dpfda.releases.wording import plain


def check_entry(card: Card, ledger: Any, checks: Checks) -> None:
    """The entry that a card names, read from the ledger itself."""
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
        copies = {name: known.name for known in ledger.datasets() for name in (known.name, *known.copies)}
    except DpfdaError as error:
        checks.rule(False, LEDGER, "the ledger itself", f"entry {named.number} of {named.ledger}", str(error))
        return
    if same:
        found = next((row for row in history if row.number == named.number), None)
        if found is None or found.kind != "charge":
            what = "no such entry" if found is None else f"an entry of another kind, '{found.kind}'"
            checks.rule(False, LEDGER, "entry of the ledger", f"number {named.number}", what)
            return
        _check_charge(card, named, found, copies, checks)
        _check_fate(named, history, checks)


def _check_charge(card: Card, named: Entry, found: Any, copies: dict[str, str], checks: Checks) -> None:
    checks.rule(named.digest == found.digest, LEDGER, "digest of the entry", named.digest, found.digest)
    checks.rule(named.key == found.key, LEDGER, "key of the entry", named.key, found.key)
    checks.rule(copies.get(card.dataset) == found.dataset, LEDGER, "data set", card.dataset, found.dataset)
    checks.rule(card.unit == found.unit, LEDGER, "unit", card.unit, found.unit)
    checks.rule(card.neighbours == found.neighbours, LEDGER, "neighbours", card.neighbours, found.neighbours)
    stated = (card.epsilon, card.delta if isinstance(card, Certificate) else 0.0)
    charged = (found.budget.epsilon, found.budget.delta)
    losses, whole = [dict(loss) for loss in card.losses], [dict(loss) for loss in found.losses]
    part = len(losses) < len(whole)
    # A choice that was paid for with its release has a card of its own, for its part of the price.
    covered = stated[0] <= charged[0] and stated[1] <= charged[1] if part else stated == charged
    checks.rule(covered, LEDGER, "budget", _amount(stated), _amount(charged))
    checks.rule(bool(losses) and all(loss in whole for loss in losses), LEDGER, "privacy curves", losses, whole)
    if named.spent is not None and found.total is not None:
        checks.rule(
            math.isclose(named.spent[0], found.total, rel_tol=1e-9),
            LEDGER,
            "spent up to the entry",
            plain(named.spent[0]),
            plain(found.total),
        )


def _check_fate(named: Entry, history: tuple[Any, ...], checks: Checks) -> None:
    """Something was drawn and kept under the entry; what it was is a matter between ledger and curator."""
    fates = {row.kind for row in history if row.charged == named.number}
    said = "nothing was drawn on it" if not fates else "the draw failed, and nothing was handed out"
    checks.rule("output" in fates, LEDGER, "output under the entry", "this release", said)


def _amount(pair: tuple[float, float]) -> str:
    return f"(epsilon = {plain(pair[0])}, delta = {plain(pair[1])})"
