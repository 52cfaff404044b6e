"""The check of a release, a card or somebody's claim: computed anew, compared with the ledger, and told in words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpfda.errors import DataError, DpfdaError
from dpfda.releases.cards import first_schema
from dpfda.releases.cards.document import DOCUMENTS, bare, card_from
from dpfda.releases.certificate import SCHEMA
from dpfda.releases.documents import broken, read_document, stated_digest
from dpfda.releases.files import FORMAT, file_digest, from_dict, not_loaded, text_of
from dpfda.releases.kinds import kind_in
from dpfda.releases.verification.claims import CLAIM, check_claim, read_claim
from dpfda.releases.verification.consistency import (
    check_consistency,
    check_release,
    check_whole,
    check_words,
    check_written,
)
from dpfda.releases.verification.entries import CARD, FILE, MADE_FROM, Subject, check_entry
from dpfda.releases.verification.guarantee import check_guarantee
from dpfda.releases.verification.recomputed import check_stated
from dpfda.releases.verification.report import EDITED, UNREADABLE, Checks, Report

# Any one of them shows that a file was once written by us: a single edit cannot remove all.
MARKS = (FORMAT.encode(), *(known.encode() for known in DOCUMENTS), b'"certificate": {')

# What comes of data that are not what they should be: a file may hold anything at all.
UNREAD = (ArithmeticError, AttributeError, DpfdaError, LookupError, RecursionError, TypeError, ValueError)


def verify(subject: str | Path | Any, ledger: Any = None) -> Report:
    """Compute a guarantee anew from what stands on a card, compare the whole file with the ledger, and name each fault.

    The subject is a file (a release, a card, a claim) or a release. It holds if everything in it was compared with what
    the ledger kept, or recomputed; what could not be, as without a ledger, is listed, and the report is incomplete.
    """
    checks = Checks()
    if not isinstance(subject, str | Path):
        _check_object(subject, checks, ledger)
        return checks.report(f"{subject.certificate.what} of '{subject.certificate.dataset}'")
    try:
        content, data = read_document(subject)
    except DataError as error:
        checks.rule(False, UNREADABLE, "file", str(subject), str(error))
        return checks.report(str(subject))
    _check_content(content, data, checks, ledger)
    return checks.report(str(subject))


def recompute(subject: str | Path | Any) -> Report:
    """What a file tells by itself, without any ledger: its digest, and every number that follows from others.

    The report names as its limits what nothing in the file can show.
    """
    found = verify(subject)
    return replace(found, missing=(), limits=found.missing)


def _check_object(release: Any, checks: Checks, ledger: Any) -> None:
    try:
        data, digest = json.loads(text_of(release)), file_digest(release)
    except (TypeError, ValueError):
        checks.rule(False, EDITED, "numbers of the release", "numbers", "one of them is none")
        return
    del data["digest"]
    _check_release(data, digest, checks, ledger)


def _check_content(content: bytes, data: Any, checks: Checks, ledger: Any) -> None:
    kind = data.get("format") if isinstance(data, dict) else None
    if kind == CLAIM:
        check_claim(read_claim(content), checks)
        if ledger is not None:  # else a claim in the place of a release would pass for one
            checks.missing.append("the ledger: a claim names no entry of one")
        return
    if isinstance(data, dict) and kind is None and data.get("schema") in (SCHEMA, first_schema.SCHEMA):
        _check_bare(data, checks, ledger)
        return
    stated = stated_digest(content)
    if kind not in (FORMAT, *DOCUMENTS) and stated is None and not any(mark in content for mark in MARKS):
        checks.rule(
            False,
            UNREADABLE,
            "format",
            kind if isinstance(kind, str) else "none",
            f"{FORMAT}, {', '.join(DOCUMENTS)} or {CLAIM}",
        )
        return
    damage = broken(content)
    checks.rule(damage is None, EDITED, "digest of every byte before it", *(damage or ("", "")))
    if not isinstance(data, dict):
        if damage is None:  # whoever made the digest: a name stands twice, or a number is none
            checks.rule(False, EDITED, "written as dpfda writes it", "the file", "JSON that leaves open what it says")
        return
    if damage is None:
        check_written(data, content, checks)
    parts = {name: part for name, part in data.items() if name != "digest"}
    if kind in DOCUMENTS:
        _check_document(parts, checks, ledger)
    else:
        _check_release(parts, bytes.fromhex(stated or ""), checks, ledger)


def _check_bare(data: dict[str, Any], checks: Checks, ledger: Any) -> None:
    """A card as a command printed it."""
    checks.notes.append("a bare card: it has no digest, so edits show only in its numbers")
    plain, others = bare(data)
    try:
        card = card_from(plain)
    except UNREAD as error:
        checks.rule(False, EDITED, "parts of the file", "card", _unread(error))
        return
    if others:
        checks.missing.append(f"not of the card: {', '.join(others)}")
    _check_parts(Subject(card, plain), checks, ledger)


def _check_document(data: dict[str, Any], checks: Checks, ledger: Any) -> None:
    """A card as a document of its own."""
    try:
        card = card_from(data["card"])
        check_words(data, card, checks)
        belongs = bytes.fromhex(data["release"])
    except UNREAD as error:
        checks.rule(False, EDITED, "parts of the file", "card", _unread(error))
        return
    _check_parts(Subject(card, data["card"], digest=belongs), checks, ledger)


def _check_release(data: dict[str, Any], digest: bytes, checks: Checks, ledger: Any) -> None:
    lacking = not_loaded(data)
    if lacking:
        checks.rule(False, UNREADABLE, "parts of the file", data.get("kind", "release"), lacking)
        return
    try:
        release = from_dict(data)
    except UNREAD as error:
        checks.rule(False, EDITED, "parts of the file", kind_in(data), _unread(error))
        return
    _check_parts(Subject(release.certificate, data["certificate"], release, digest), checks, ledger, data)


def _unread(error: Exception) -> str:
    """Why a card could not be read: the field and its rule, where they are known."""
    return str(error) if isinstance(error, DataError) else "a part is missing or of another kind"


def _check_parts(subject: Subject, checks: Checks, ledger: Any, data: dict[str, Any] | None = None) -> None:
    """The card, the release, whose plain data are given with it, and the ledger."""
    card, release = subject.card, subject.release
    try:
        check_consistency(card, checks)
        check_guarantee(card, checks)
        if release is not None and data is not None:
            check_whole(data, release, checks)
            check_release(release, checks)
        stated = check_stated(card, release, checks)
        check_entry(subject, ledger, checks)
    except UNREAD:
        checks.rule(False, EDITED, "numbers on the card", "numbers", "one of them is none")
        return
    if not {CARD, FILE, MADE_FROM} & set(checks.held):
        checks.missing += (
            [] if release is None else ["noisy numbers of the release: nothing else in the file repeats them"]
        )
        checks.missing.append(f"fields of the card that nothing in the file repeats: {', '.join(stated)}")
