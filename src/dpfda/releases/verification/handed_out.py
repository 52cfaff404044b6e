"""Whether a file is the one that was handed out under an entry of the ledger, to the last byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.errors import DpfdaError, LedgerDamaged
from dpfda.ledger.outputs import Kept, unpack
from dpfda.releases.cards.facts import Card
from dpfda.releases.certificate import Certificate, as_changed, as_handed_out
from dpfda.releases.choices import ChoiceCard
from dpfda.releases.files import exact_digest, file_digest, to_dict
from dpfda.releases.kinds import comparisons_of, statistic_of
from dpfda.releases.seal import card_digest, content_digest
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
