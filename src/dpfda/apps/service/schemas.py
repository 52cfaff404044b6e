"""Come here for the shapes of what the service takes and gives, as JSON Schema."""

from __future__ import annotations

from typing import Any

from dpfda.apps.service.bodies import COORDINATES

ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
Schema = dict[str, Any]


def record(needed: dict[str, Schema], *, closed: bool = True) -> Schema:
    """An object with all of these entries; others too, if it is not closed."""
    shape: Schema = {"type": "object", "required": list(needed), "properties": needed}
    return shape | ({"additionalProperties": False} if closed else {})


def listed(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items} | bounds


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
ID: Schema = {"type": "string", "pattern": ID_PATTERN}
MAYBE: Schema = {"type": ["number", "null"]}
LINK: Schema = {"type": "string", "format": "uri-reference"}
LINKS = record({"self": LINK, "card": LINK, "evaluate": LINK}, closed=False)
LINKS["properties"]["file"] = LINK
SUMMARY = record({"id": ID, "kind": TEXT, "what": TEXT, "dataset": TEXT, "links": LINKS})
ERROR = record(
    {"error": record({"code": {"type": "string", "pattern": "^[a-z-]+$"}, "message": TEXT, "way_out": TEXT})}
)
CARD = record(
    {
        **SUMMARY["properties"],
        "domain": listed(listed(NUMBER, minItems=2, maxItems=2), minItems=1),
        "coordinates": {"type": "integer", "minimum": 1},
        "lower": listed(NUMBER, minItems=1),
        "upper": listed(NUMBER, minItems=1),
        "names": listed(TEXT),
        "answers": {"enum": ["at once", "at the deadline"]},
    },
    closed=False,
)
CARD["description"] = (
    "The release card, and how to ask: a point has so many coordinates, each from lower to upper; of a covariance a "
    "point is a pair, s before t. A value is one number, or one for each of names."
)


def evaluate_request(max_points: int) -> Schema:
    many = {"minItems": 1, "maxItems": max_points}
    points = {
        "description": "Numbers on an interval; elsewhere, and for pairs, a list of coordinates for each point.",
        "oneOf": [listed(NUMBER, **many), listed(listed(NUMBER, minItems=1, maxItems=COORDINATES), **many)],
    }
    return record({"points": points})


VALUES = record(
    {
        "values": {
            "description": "In the order of the points; null where a value is not finite.",
            "oneOf": [listed(MAYBE, minItems=1), listed(listed(MAYBE, minItems=1), minItems=1)],
        }
    }
)
RELEASE = record(
    {"format": TEXT, "certificate": {"type": "object"}, "basis": {"type": "object"}},
    closed=False,
)
RELEASE["description"] = "A release as `release.save()` wrote it; it is loaded before it is published."
