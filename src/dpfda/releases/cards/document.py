"""A card as a document of its own: JSON with its facts and answers, sealed like a release."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from dpfda.errors import DataError
from dpfda.releases.cards import first_schema
from dpfda.releases.cards.facts import Card, facts_of
from dpfda.releases.cards.nist import answers
from dpfda.releases.certificate import SCHEMA, Certificate
from dpfda.releases.choices import ChoiceCard
from dpfda.releases.documents import read_document
from dpfda.releases.fields import is_moderate
from dpfda.releases.files import FORMAT, release_in
from dpfda.releases.seal import check_seal, sealed, stated_digest
from dpfda.releases.wording import entry

DOCUMENTS = (SCHEMA, first_schema.SCHEMA)  # a card by itself says its schema where a release says its format
# Of sentence, facts and answers. Raise it when any of them is worded otherwise: older documents are then not compared.
WORDING = 3


def document(card: Card, release: Any = None, *, digest: str = "") -> dict[str, Any]:
    """All that a card says and implies, as plain data; `digest` is that of the release file it belongs to."""
    return {
        "format": card.schema,
        "release": digest,
        "wording": WORDING,
        **bound_in(card),
        "card": card.to_dict(),
        "sentence": card.sentence,
        "warnings": list(card.stamps),
        "facts": dict(facts_of(card, release)),
        "nist": [
            {"level": answer.level, "question": answer.question, "answer": answer.text, "known": answer.known}
            for answer in answers(card, release)
        ],
    }


def bound_in(card: Card) -> dict[str, float]:
    """A bound that was bought, as the number that its card says; nothing for other cards."""
    if isinstance(card, ChoiceCard) and card.what.code == "bound" and card.result is not None:
        return {"bound": card.result}
    return {}


def text(card: Card, release: Any = None) -> str:
    """The card for people, and below it what it implies."""
    said = dict(facts_of(card, release))
    said.pop("not covered", None)  # the card ends with it
    return "\n".join((card.text(), "", *(entry(*pair) for pair in said.items())))


def json_text(card: Card, release: Any = None, *, digest: str = "") -> str:
    """The document as JSON, ended by its own digest."""
    return sealed(document(card, release, digest=digest))


def card_from(data: dict[str, Any]) -> Card:
    """A card of either kind from its plain data; any ordinary exception where it is none."""
    card: Card = ChoiceCard.from_dict(data) if "candidates" in data else Certificate.from_dict(data)
    card.text()  # fails where words are none
    if not all(map(is_moderate, bound_in(card).values())):
        raise ValueError
    return card


def bare(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A card among what a command printed as JSON, and the names of what else stands there."""
    kind = ChoiceCard if "candidates" in data else Certificate
    known = {"neighbours", "recorded", *(field.name for field in fields(kind))}
    return {name: value for name, value in data.items() if name in known}, [name for name in data if name not in known]


def read_card(path: str | Path) -> tuple[Card, Any, str]:
    """The card in a file, the release it came with, if any, and the digest of its file.

    Digests of releases and of documents must fit; a bare card, as commands print it, has none.
    """
    content, data = read_document(path)
    if isinstance(data, dict) and data.get("format") != FORMAT:
        if data.get("format") in DOCUMENTS:
            check_seal(content, path)
        found = data.get("card") if data.get("format") in DOCUMENTS else data
        if isinstance(found, dict) and found.get("schema") in DOCUMENTS:
            try:
                return card_from(bare(found)[0]), None, str(data.get("release", ""))
            except DataError as error:
                raise DataError(f"{str(path)!r} cannot be opened: {error}") from None
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                raise DataError(f"The card in {str(path)!r} is damaged. Take a fresh copy of it.") from None
    release = release_in(content, data, path)
    return release.certificate, release, stated_digest(content) or ""
