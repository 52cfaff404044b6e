"""The published schemas of cards, release files and claims."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

CARD = "urn:dpfda:card-1"
SCHEMAS = ("card", "release", "claim")


def schema_text(name: str = "card") -> str:
    """The JSON schema (draft 2020-12) of cards, of release files or of claims, as it is published."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def schema(name: str = "card") -> dict[str, Any]:
    """The schema as data, whole: what that of release files takes from that of cards stands in it too."""
    found = _stored(name)
    if name != "release":
        return found
    parts = _stored("card")["$defs"]
    used = _used(found, parts)
    local: dict[str, Any] = json.loads(json.dumps(found).replace(f"{CARD}#", "#"))
    return local | {"$defs": local["$defs"] | {part: parts[part] for part in used}}


def _stored(name: str) -> dict[str, Any]:
    text = files("dpfda.releases.cards").joinpath(f"{name}-1.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _used(found: dict[str, Any], parts: dict[str, Any]) -> list[str]:
    """Definitions of cards that release files refer to, and those that these refer to in turn."""
    todo, used = re.findall(f"{CARD}#/\\$defs/(\\w+)", json.dumps(found)), []
    while todo:
        part = todo.pop()
        if part not in used:
            used.append(part)
            todo += re.findall(r"#/\$defs/(\w+)", json.dumps(parts[part]))
    return sorted(used)
