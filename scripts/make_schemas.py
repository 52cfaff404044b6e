"""Write the JSON schema of cards from their dataclasses and from the table of what they can say.

    python scripts/make_schemas.py

`tests/releases/test_cards_schema.py` fails where the file that is checked in is not what this writes.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import dpfda
from dpfda.privacy import REPLACE, Counting
from dpfda.privacy.budget import RELATIONS
from dpfda.releases import Certificate
from dpfda.releases.cards.plain import HIDDEN, SCHEMA
from dpfda.releases.cards.words import SAID, WORDS, values_of
from dpfda.releases.certificate import ChoiceCard
from dpfda.releases.entry import Fits

FOLDER = Path(dpfda.__file__).parent / "releases" / "cards"
TARGET = FOLDER / "card-2.schema.json"
Data = dict[str, Any]

TEXT: Data = {"type": "string", "minLength": 1}
POSITIVE: Data = {"type": "number", "exclusiveMinimum": 0}
NOT_NEGATIVE: Data = {"type": "number", "minimum": 0}
COUNT: Data = {"type": "integer", "minimum": 1}
TYPES: dict[str, Data] = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "float | None": {"type": ["number", "null"]},
    "list[str]": {"type": "array", "items": {"type": "string"}},
    "LedgerEntry | None": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/entry"}]},
    "Fits | None": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/fits"}]},
}
# What the type of a field does not tell.
FIELDS: dict[str, Data] = {
    "schema": {"const": SCHEMA},
    **dict.fromkeys(("unit", "mechanism", "sensitivity_norm", "sensitivity_because", "basis"), TEXT),
    **dict.fromkeys(("n", "bound", "epsilon", "rho", "lattice_step", "sensitivity", "noise_scale"), POSITIVE),
    **dict.fromkeys(("noise_rms", "scale"), NOT_NEGATIVE),
    **dict.fromkeys(("size", "candidates"), COUNT),
    "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "attacker_power": {"type": "number", "minimum": 0, "maximum": 1},
    "power": {"enum": [1, 2]},
    "neighbours": {"enum": list(RELATIONS)},
    "counting": {"enum": [known.value for known in Counting], "description": "how n is known"},
    "statistic": {"type": "string", "description": "the kind of release; empty for what is none of the table"},
    "domain": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "array", "prefixItems": [{"type": "number"}] * 2, "items": False, "minItems": 2},
    },
    "software": {"type": "object", "additionalProperties": {"type": "string"}},
    "losses": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/loss"}},
}


def statements(field: str) -> list[Data]:
    """What a field can say: codes without values together, each other code with its values."""
    bare = [code for code, words in WORDS[field].items() if not values_of(words)]
    found = [_object({"code": {"enum": bare}})] if bare else []
    for code, words in WORDS[field].items():
        values = values_of(words)
        if values:
            found.append(_object({"code": {"const": code}, **{name: TYPES[kind] for name, kind in values.items()}}))
    return found


def statement(field: str) -> Data:
    """A statement of a field: one of ours, a law of noise by its name, or somebody's own sentence."""
    found = [*statements(field), _object({"code": {"const": SAID}, "text": {"type": "string"}})]
    if field == "noise":
        pair = {"type": "array", "prefixItems": [{"type": "integer", "minimum": 1}] * 2, "items": False, "minItems": 2}
        blocks = {"type": "array", "minItems": 1, "items": pair, "description": "how many blocks, of which size"}
        found.append(_object({"code": TEXT, "blocks": blocks, "besides": {"type": "string"}}))
    return {"anyOf": found}


def _object(properties: Data) -> Data:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _field(name: str, annotation: str) -> Data:
    texts = {"anyOf": [{"type": "string"}, *(statements(name) if name in WORDS else [])]}
    if annotation == "Statement":
        return statement(name)
    if name == "chosen":
        return {"type": "object", "additionalProperties": texts}
    if name == "warnings":
        return {"type": "array", "items": texts}
    if name == "afterwards":
        leaf = {"type": ["string", "number", "null"]}
        changes = _object({"what": {"enum": ["smoothing", "ridge"]}, "was": leaf, "now": leaf})
        return {"type": "array", "items": changes, "description": "what was changed after the release, for nothing"}
    return FIELDS[name] if name in FIELDS else TYPES[annotation]


def card(kind: type, description: str, **special: Data) -> Data:
    """The schema of a card, from its dataclass."""
    known = {field.name: str(field.type) for field in fields(kind) if field.name not in HIDDEN}
    made = _object({name: special.get(name, _field(name, annotation)) for name, annotation in known.items()})
    return made | {"description": description}


def make() -> str:
    """The schema as text. Entries of ledgers, privacy curves and documents are those of the first schema."""
    first = json.loads((FOLDER / "card-1.schema.json").read_text(encoding="utf-8"))["$defs"]
    document = json.loads(json.dumps(first["document"]).replace("dpfda-card-1", SCHEMA))
    count = TYPES["int"] | {"minimum": 2}
    fits = {
        "number": count,
        "epsilon": {"type": "number", "minimum": 0},
        "delta": FIELDS["delta"],
        "nominal": TYPES["bool"],
    }
    assert list(fits) == [field.name for field in fields(Fits)]
    cards = [{"$ref": "#/$defs/certificate"}, {"$ref": "#/$defs/choice"}]
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:dpfda:card-2",
        "title": "dpfda release card, version 2",
        "description": "The card of a release or of a private choice, as it stands in release files; or a document of "
        "its own.",
        "oneOf": [*cards, {"$ref": "#/$defs/document"}],
        "$defs": {
            "card": {"oneOf": cards},
            "certificate": card(Certificate, "The card of a release"),
            "choice": card(
                ChoiceCard,
                "The card of a private choice among candidates",
                neighbours={"enum": [REPLACE]},
                n=FIELDS["size"],
            ),
            "document": document,
            "entry": first["entry"],
            "fits": _object(fits) | {"description": "Fits before it, where no ledger was given"},
            "loss": first["loss"],
        },
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(make(), encoding="utf-8")
