"""The OpenAPI document of the service, with the JSON schemas of what it takes and gives."""

from __future__ import annotations

from typing import Any

import dpfda
from dpfda.service import refusals
from dpfda.service.limits import MOST_COORDINATES, Limits
from dpfda.service.refusals import Reason
from dpfda.service.served import ServedEntry

ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
Schema = dict[str, Any]


def record(needed: dict[str, Schema], *, closed: bool = True) -> Schema:
    """An object with all of these entries; others too, if it is not closed."""
    shape: Schema = {"type": "object", "required": list(needed), "properties": needed}
    return shape | ({"additionalProperties": False} if closed else {})


def listed(items: Schema, **bounds: int) -> Schema:
    """A JSON schema of a list of such items."""
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
    """The JSON schema of a request for values."""
    many = {"minItems": 1, "maxItems": max_points}
    points = {
        "description": "Numbers on an interval; elsewhere, and for pairs, a list of coordinates for each point.",
        "oneOf": [listed(NUMBER, **many), listed(listed(NUMBER, minItems=1, maxItems=MOST_COORDINATES), **many)],
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


JSON, PLAIN, HTML = "application/json", "text/plain", "text/html"
ALWAYS = (refusals.WRONG_HOST, refusals.TOO_MANY, refusals.FAILED, refusals.BUSY)
OWNER = (refusals.NO_TOKEN, refusals.NO_OWNER)
BODY = (refusals.BAD_JSON, refusals.TOO_SLOW, refusals.TOO_LARGE, refusals.NOT_JSON)
SECONDS = {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer", "minimum": 1}}
WHICH = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The id of a release, from GET /releases.",
    "schema": {"$ref": "#/components/schemas/Id"},
}


def document(limits: Limits, shown: ServedEntry | None = None) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a service with these limits; what it shows as an example is served."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dpfda: what has been released",
            "version": dpfda.__version__,
            "description": (
                "Values of differentially private functions. Reading is open to everybody and costs no privacy: all "
                "that is served has been paid for. Changing what is served needs the owner's token. Answers of online "
                f"oracles leave at multiples of {limits.deadline_ms:g} ms after they were asked."
            ),
        },
        "paths": paths(shown),
        "components": {
            "securitySchemes": {"owner": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Id": ID,
                "Error": ERROR,
                "Summary": SUMMARY,
                "Card": CARD,
                "EvaluateRequest": evaluate_request(limits.max_points),
                "Values": VALUES,
                "Release": RELEASE,
            },
        },
    }


def paths(shown: ServedEntry | None) -> dict[str, Any]:
    """Every address and method."""
    which = WHICH if shown is None else {**WHICH, "example": shown.id}
    card = content(ref("Card"))
    releases = listed(ref("Summary"))
    return {
        "/": {"get": operation("home", "A page for people.", ok(200, "The page.", {HTML: {"schema": TEXT}}))},
        "/health": {
            "get": operation(
                "health",
                "Whether the service answers.",
                ok(
                    200,
                    "It does.",
                    content(record({"status": {"const": "ok"}, "releases": {"type": "integer", "minimum": 0}})),
                ),
            )
        },
        "/openapi.json": {
            "get": operation("openapi", "This document.", ok(200, "The document.", content({"type": "object"})))
        },
        "/releases": {
            "get": operation(
                "list",
                "What has been released.",
                ok(200, "All of it.", content(record({"releases": releases}))),
            ),
            "post": operation(
                "publish",
                "Publish a release: for the owner.",
                ok(
                    201,
                    "It is being served; its card.",
                    card,
                    {"Location": {"required": True, "schema": LINK}},
                ),
                *OWNER,
                *BODY,
                refusals.TAKEN,
                refusals.UNFIT,
                refusals.NO_FOLDER,
                refusals.BAD_ID,
                refusals.BAD_RELEASE,
                body="Release",
                parameters=[{**WHICH, "in": "query", "description": "The id it is to have; new."}],
                owner=True,
            ),
        },
        "/releases/{id}": {
            "get": operation(
                "card",
                "The card of a release: what it is, what it guarantees, how to ask.",
                ok(200, "The card, as JSON or, if Accept says so, as text.", {**card, PLAIN: {"schema": TEXT}}),
                refusals.NOT_FOUND,
                parameters=[which],
            ),
            "delete": operation(
                "withdraw",
                "Withdraw a release: for the owner. Its file is kept.",
                ok(204, "It is served no more."),
                *OWNER,
                refusals.NOT_FOUND,
                parameters=[WHICH],
                owner=True,
            ),
        },
        "/releases/{id}/card": {
            "get": operation(
                "card_text",
                "The card for people.",
                ok(200, "The card.", {PLAIN: {"schema": TEXT}}),
                refusals.NOT_FOUND,
                parameters=[which],
            )
        },
        "/releases/{id}/file": {
            "get": operation(
                "file",
                "The release itself, to use without this service.",
                ok(200, "The file that dpfda.load() reads.", content(ref("Release"))),
                refusals.NOT_FOUND,
                parameters=[which],
            )
        },
        "/releases/{id}/evaluate": {
            "post": operation(
                "evaluate",
                "Values at points of the domain.",
                ok(200, "The values.", content(ref("Values"), {"values": [0.31, 0.52]})),
                refusals.NOT_FOUND,
                *BODY,
                refusals.MISFIT,
                refusals.NO_ANSWER,
                refusals.BAD_POINTS,
                body="EvaluateRequest",
                example={"points": [0.25, 0.75] if shown is None else [_inside(shown, 0.25), _inside(shown, 0.75)]},
                parameters=[which],
            )
        },
        "/reload": {
            "post": operation(
                "reload",
                "Look at the folder again: for the owner.",
                ok(
                    200,
                    "What is served now, and the files that are not.",
                    content(record({"releases": releases, "refused": listed(TEXT)})),
                ),
                *OWNER,
                refusals.NO_FOLDER,
                owner=True,
            )
        },
    }


def _inside(shown: ServedEntry, share: float) -> float | list[float]:
    """A point of the domain of a release."""
    ends = zip(shown.answers.lower, shown.answers.upper, strict=True)
    point = [low + share * (high - low) for low, high in ends]
    return point[0] if len(point) == 1 else point


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def content(schema: dict[str, Any], example: Any = None) -> dict[str, Any]:
    return {JSON: {"schema": schema} | ({} if example is None else {"example": example})}


def ok(status: int, said: str, media: dict[str, Any] | None = None, headers: Any = None) -> dict[str, Any]:
    response = {"description": said} | ({"content": media} if media else {}) | ({"headers": headers} if headers else {})
    return {str(status): response}


def operation(
    name: str,
    summary: str,
    good: dict[str, Any],
    *reasons: Reason,
    body: str = "",
    example: Any = None,
    parameters: list[dict[str, Any]] | None = None,
    owner: bool = False,
) -> dict[str, Any]:
    """One method of one address, with every refusal that it knows."""
    made: dict[str, Any] = {"operationId": name, "summary": summary, "responses": good | errors(*reasons, *ALWAYS)}
    if parameters:
        made["parameters"] = parameters
    if body:
        made["requestBody"] = {"required": True, "content": content(ref(body), example)}
    made["security"] = [{"owner": []}] if owner else []
    return made


def errors(*reasons: Reason) -> dict[str, Any]:
    """The refusals by status, each with its text as an example."""
    found: dict[str, Any] = {}
    for reason in sorted(reasons, key=lambda reason: reason.status):
        said = {"code": reason.code, "message": reason.message, "way_out": reason.way_out}
        headers: dict[str, Any] = {}
        if reason.status in (429, 503):
            headers = {"Retry-After": SECONDS}
        elif reason.status == 401:
            headers = {"WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}}}
        response = found.setdefault(
            str(reason.status),
            {"description": reason.message, "content": {JSON: {"schema": ref("Error"), "examples": {}}}},
        )
        if headers:
            response["headers"] = headers
        response["content"][JSON]["examples"][reason.code] = {"value": {"error": said}}
    return found
