"""A card as a document of its own, sealed like a release, and the published schemas of cards, files and claims."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from dpfda.errors import DataError
from dpfda.releases.cards import first_schema
from dpfda.releases.cards.facts import Card, facts_of
from dpfda.releases.cards.nist import answers
from dpfda.releases.cards.words import entry
from dpfda.releases.certificate import SCHEMA, Certificate, ChoiceCard
from dpfda.releases.documents import check_seal, read_document, sealed, stated_digest
from dpfda.releases.fields import is_moderate
from dpfda.releases.files import FORMAT, release_in

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


# By the name that people ask for; cards of the first schema are in old files.
FILES = {"card": "card-2", "release": "release-1", "claim": "claim-1", "card-1": "card-1"}
SCHEMAS = tuple(FILES)
# By the address of a schema of cards: what the names of its parts begin with where they stand in that of release files.
CARDS = {"urn:dpfda:card-2": ("card", ""), "urn:dpfda:card-1": ("card-1", "first_")}


def schema_text(name: str = "card") -> str:
    """The JSON schema (draft 2020-12) of cards, of release files or of claims, as it is published."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def schema(name: str = "card") -> dict[str, Any]:
    """The schema as data, whole: what that of release files takes from those of cards stands in it too."""
    found = _stored(name)
    if name != "release":
        return found
    text = json.dumps(found)
    parts: dict[str, Any] = {}
    for address, (cards, start) in CARDS.items():
        known = json.loads(json.dumps(_stored(cards)["$defs"]).replace("#/$defs/", f"#/$defs/{start}"))
        parts |= {f"{start}{part}": known[part] for part in _used(text, address, _stored(cards)["$defs"])}
        text = text.replace(f"{address}#/$defs/", f"#/$defs/{start}")
    local: dict[str, Any] = json.loads(text)
    return local | {"$defs": local["$defs"] | parts}


def _stored(name: str) -> dict[str, Any]:
    text = files("dpfda.releases.cards").joinpath(f"{FILES[name]}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _used(text: str, address: str, parts: dict[str, Any]) -> list[str]:
    """Definitions of cards that release files refer to, and those that these refer to in turn."""
    todo, used = re.findall(f"{address}#/\\$defs/(\\w+)", text), []
    while todo:
        part = todo.pop()
        if part not in used:
            used.append(part)
            todo += re.findall(r"#/\$defs/(\w+)", json.dumps(parts[part]))
    return sorted(used)
