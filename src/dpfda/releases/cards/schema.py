"""Come here for the published schemas of cards, release files and claims."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

SCHEMAS = ("card", "release", "claim")


def schema_text(name: str = "card") -> str:
    """The JSON schema (draft 2020-12) of cards, of release files or of claims, as it is published."""
    return files("dpfda.releases.cards").joinpath(f"{name}-1.schema.json").read_text(encoding="utf-8")


def schema(name: str = "card") -> dict[str, Any]:
    """The schema as data; that of release files refers to that of cards by its `$id`."""
    found: dict[str, Any] = json.loads(schema_text(name))
    return found
