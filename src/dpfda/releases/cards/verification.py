"""Come here to check a release, a card or somebody's claim: `verify` computes it anew and names what disagrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpfda.errors import DataError, DpfdaError
from dpfda.releases.cards.claims import CLAIM, check_claim, read_claim
from dpfda.releases.cards.consistency import check_consistency, check_whole, check_words, check_written
from dpfda.releases.cards.document import DOCUMENT, bare, card_from
from dpfda.releases.cards.entries import HANDED_OUT, check_entry
from dpfda.releases.cards.guarantee import check_guarantee
from dpfda.releases.cards.noise_law import check_release
from dpfda.releases.cards.recomputed import check_stated
from dpfda.releases.cards.report import EDITED, UNREADABLE, Checks, Report
from dpfda.releases.certificate import SCHEMA
from dpfda.releases.documents import read_document
from dpfda.releases.files import FORMAT, FORMS, from_dict, kind_of, to_dict
from dpfda.releases.seal import broken, stated_digest

# Any one of them shows that a file was once written by us: a single edit cannot remove all.
MARKS = (FORMAT.encode(), DOCUMENT.encode(), b'"certificate": {')

# What comes of data that are not what they should be: a file may hold anything at all.
UNREAD = (ArithmeticError, AttributeError, DpfdaError, LookupError, RecursionError, TypeError, ValueError)


def verify(subject: str | Path | Any, ledger: Any = None) -> Report:
    """Compute a guarantee anew from what stands on a card, and name each disagreement.

    The subject is a file (a release, a card, a claim) or a release; the ledger, if given, is asked for the entry that
    the card names. A file is checked byte for byte against its digest too.
    """
    checks = Checks()
    if not isinstance(subject, str | Path):
        _check_parts(to_dict(subject), checks, ledger)
        return checks.report(f"{subject.certificate.what} of '{subject.certificate.dataset}'")
    try:
        content, data = read_document(subject)
    except DataError as error:
        checks.rule(False, UNREADABLE, "file", str(subject), str(error))
        return checks.report(str(subject))
    _check_content(content, data, checks, ledger)
    return checks.report(str(subject))


def _check_content(content: bytes, data: Any, checks: Checks, ledger: Any) -> None:
    kind = data.get("format") if isinstance(data, dict) else None
    if kind == CLAIM:
        check_claim(read_claim(content), checks)
        return
    if isinstance(data, dict) and kind is None and data.get("schema") == SCHEMA:
        checks.notes.append("a bare card: it has no digest, so edits show only in its numbers")
        card, others = bare(data)
        if others:
            checks.notes.append(f"not of the card, and not checked: {', '.join(others)}")
        _check_parts({"card": card}, checks, ledger)
        return
    ours = kind in (FORMAT, DOCUMENT) or stated_digest(content) is not None or any(mark in content for mark in MARKS)
    if not ours:
        checks.rule(
            False, UNREADABLE, "format", kind if isinstance(kind, str) else "none", f"{FORMAT}, {DOCUMENT} or {CLAIM}"
        )
        return
    damage = broken(content)
    checks.rule(damage is None, EDITED, "digest of every byte before it", *(damage or ("", "")))
    if isinstance(data, dict):
        if damage is None:
            check_written(data, content, checks)
        _check_parts(data, checks, ledger)


def _check_parts(data: dict[str, Any], checks: Checks, ledger: Any) -> None:
    """Card and release, once their bytes have been looked at; whatever cannot be read is an edit."""
    try:
        if "card" in data:
            card, release = card_from(data["card"]), None
        else:
            release = from_dict({name: part for name, part in data.items() if name != "digest"})
            card = release.certificate
    except UNREAD:
        said = data.get("kind", "card" if "card" in data else "mean")
        known = said in FORMS or said == "card"
        checks.rule(
            False, EDITED, "parts of the file", said, "a part is missing or of another kind" if known else FORMS
        )
        return
    try:
        if data.get("format") == DOCUMENT:
            check_words(data, card, checks)
        check_consistency(card, checks)
        check_guarantee(card, checks)
        if release is not None:
            check_whole(data, release, checks)
            check_release(release, kind_of(release), release.certificate, checks)
        stated = check_stated(card, release, "" if release is None else kind_of(release), checks)
    except UNREAD:
        checks.rule(False, EDITED, "numbers on the card", "numbers", "one of them is none")
        return
    check_entry(card, ledger, checks, release)
    left = ("warnings", "software") if HANDED_OUT in checks.held else stated
    checks.notes.append(f"taken as stated, with nothing to compare them with: {', '.join(left)}")
