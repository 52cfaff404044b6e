"""What the ledger says: the card stands in it at its price, and the file is the one that was handed out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.errors import BudgetError, DpfdaError, LedgerDamaged
from dpfda.ledger.outputs import Kept, unpack
from dpfda.privacy import REPLACE
from dpfda.releases.cards.facts import TWICE, Card
from dpfda.releases.cards.words import plain
from dpfda.releases.certificate import Certificate, ChoiceCard, as_changed, as_handed_out
from dpfda.releases.documents import card_digest, content_digest
from dpfda.releases.entry import LedgerEntry
from dpfda.releases.files import exact_digest, file_digest, to_dict
from dpfda.releases.kinds import comparisons_of, statistic_of
from dpfda.releases.verification.report import LEDGER, UNREADABLE, Checks

CARD = "card that was handed out under the entry"
FILE = "file that was handed out under the entry"
MADE_FROM = "release that was handed out under the entry, changed afterwards as the file says"
DRAWN = "numbers drawn under the entry"
COMPUTED = "smoothing: it is that of the noisy coordinates but for roundings, which differ from those handed out"


@dataclass(frozen=True, eq=False)
class Subject:
    """What is compared: a card as it was read, the release it belongs to, and the digest of its file."""

    card: Card
    plain: dict[str, Any]  # the card as it stands in the file
    release: Any = None
    digest: bytes = b""  # of the release file; of a document of a card, the one that it names
    others: tuple[str, ...] = ()  # what stands beside a card that is printed, and belongs to nothing


def check_output(subject: Subject, ledger: Any, checks: Checks) -> None:
    """All of what was handed out under the entry that the card names, against what the ledger keeps of it."""
    entry = subject.card.entry
    read = getattr(ledger, "output", None)  # a ledger may keep its outputs to itself
    try:
        stored = None if read is None or entry is None else read(entry.number)
        kept = None if stored is None else unpack(stored)
    except ValueError:  # answers point by point, or an output of another version
        stored, kept = b"", None
    except DpfdaError as error:
        kind = UNREADABLE if isinstance(error, LedgerDamaged) else LEDGER
        checks.rule(False, kind, "what was drawn under the entry", "kept by the ledger", str(error))
        return
    if kept is None:
        if read is None or stored is not None:
            checks.missing.append("what was handed out under the entry: the ledger shows no digest of it")
        return  # that nothing is there is said above
    _check_card(subject, kept, checks)
    _check_drawn(kept, subject.release, checks)
    if not kept.documents:
        _note_old(subject, checks)
    elif subject.release is not None:
        _check_file(subject, kept, checks)
    else:
        _check_document(subject, kept, checks)


def _check_card(subject: Subject, kept: Kept, checks: Checks) -> None:
    if kept.cards:
        same = any(card_digest(one) in kept.cards for one in _made_from(subject.card))
        checks.rule(same, LEDGER, CARD, "this card", "another one")
    else:
        checks.missing.append("the card: the ledger keeps no digest of it")


def _made_from(card: Card) -> tuple[Card, ...]:
    """The card, and those that it may have come from after the noise, for nothing."""
    return (card, *comparisons_of(card.statistic).made_from(card)) if isinstance(card, Certificate) else (card,)


def _note_old(subject: Subject, checks: Checks) -> None:
    """Ledgers that kept digests of cards alone."""
    checks.missing.append("software and warnings on the card: the ledger kept no digest of them then")
    if subject.release is not None:
        known = {"noisy"} if DRAWN in checks.held else set()
        known |= {"format", "kind", "certificate"}
        parts = ", ".join(name for name in to_dict(subject.release) if name not in known)
        checks.missing.append(f"{parts} in the file: the ledger kept no digest of the whole file then")


def _check_file(subject: Subject, kept: Kept, checks: Checks) -> None:
    """The file is one that was handed out, or was made from one in a way that it states itself."""
    whole = {known.whole for known in kept.documents}
    release = subject.release
    if subject.digest in whole:
        checks.rule(True, LEDGER, FILE, "", "")
        return
    try:
        original = as_handed_out(release)
        exactly, nearly = file_digest(original) in whole, exact_digest(original) in {k.exact for k in kept.documents}
        again = as_changed(original, release.certificate.afterwards)
    except (DpfdaError, TypeError, ValueError):
        exactly = nearly = False
        original = again = release
    if original is not release and (exactly or nearly) and _nearly_same(release, again):
        checks.rule(True, LEDGER, MADE_FROM, "", "")
        if not exactly or not _same(release, again):
            checks.missing.append(COMPUTED)
    elif original is release and nearly:
        # That the weights are those of the noisy coordinates was computed before.
        checks.missing.append(COMPUTED)
    elif _is_made_from_another(subject.card, kept):
        parts = ", ".join(name for name in to_dict(release) if name not in ("format", "kind", "certificate", "basis"))
        checks.missing.append(f"{parts} in the file: it was made from another release after that was handed out")
        checks.missing.append("software and warnings on the card, for the same reason")
    elif CARD in checks.held:  # else the card was found to be another one already
        checks.rule(False, LEDGER, FILE, "this file", "another one")


def _same(one: Any, other: Any) -> bool:
    return json.dumps(to_dict(one)) == json.dumps(to_dict(other))


def _nearly_same(one: Any, other: Any) -> bool:
    """Equal but for roundings of what is computed."""
    return exact_digest(one) == exact_digest(other)


def _is_made_from_another(card: Card, kept: Kept) -> bool:
    """Whether it belongs to a release that was handed out alone: the ledger has the integers of that one."""
    own, *others = (card_digest(one) for one in _made_from(card))
    cards = {known.card for known in kept.documents}
    return own not in cards and any(one in cards for one in others)


def _check_document(subject: Subject, kept: Kept, checks: Checks) -> None:
    """A card by itself: all of it where it is one of a choice; else what its release file has is not at hand."""
    whole = {known.whole for known in kept.documents}
    if isinstance(subject.card, ChoiceCard):
        if CARD in checks.held:
            checks.rule(content_digest(subject.plain) in whole, LEDGER, FILE, "this card", "another one")
        return
    checks.missing.append("software and warnings on the card: verify the file of the release, which has them too")
    if subject.digest:
        checks.rule(
            subject.digest in whole, LEDGER, "release that the card belongs to", subject.digest.hex(), "another"
        )
    else:
        checks.missing.append("the release that the card belongs to: it names none")


def _check_drawn(kept: Kept, release: Any, checks: Checks) -> None:
    """The integers that the ledger keeps are those of the release, where its coordinates are multiples of them."""
    factor = None if release is None else statistic_of(release).comparisons.step_in_coordinates(release)
    if factor is None:
        return
    # What stands before the last vector are choices that the release rests on; the count stands in front of the sums.
    noisy, drawn = np.asarray(release.noisy), kept.vectors[-1] if kept.vectors else np.zeros(0)
    multiples = drawn[max(len(drawn) - len(noisy), 0) :] * factor
    same = len(multiples) == len(noisy) and np.allclose(noisy, multiples, rtol=1e-11, atol=0.0)
    checks.rule(same, LEDGER, DRAWN, "the coordinates in the file", "other numbers")


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
