"""The published schemas of cards, release files and claims."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

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
