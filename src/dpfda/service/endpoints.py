"""What each address of the service answers, and how the bodies of requests are read; refusals are raised.

The home page shows what has been released, and a form to ask; it needs no other file.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import math
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from starlette.responses import Response

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.page.content import text
from dpfda.service.answers import leave_at
from dpfda.service.limits import MOST_COORDINATES, Buckets, Limits, neighbourhood
from dpfda.service.openapi import document
from dpfda.service.refusals import (
    BAD_ID,
    BAD_JSON,
    BAD_POINTS,
    BAD_RELEASE,
    NO_ANSWER,
    NO_OWNER,
    NO_TOKEN,
    NOT_FOUND,
    NOT_JSON,
    TOO_LARGE,
    TOO_MANY,
    TOO_SLOW,
    Refused,
)
from dpfda.service.served import ID, ServedEntry, ServedReleases

if TYPE_CHECKING:
    from starlette.requests import Request

STYLE_MORE = """
output { display: block; white-space: pre-wrap; margin: 0.6rem 0; font-variant-numeric: tabular-nums; }
form.ask { margin: 0.8rem 0; } form.ask label { display: block; }
form.ask input { font: inherit; width: 100%; max-width: 30rem; padding: 0.3rem; }
form.ask button { font: inherit; padding: 0.3rem 0.9rem; margin-top: 0.4rem; }
article { border-top: 1px solid var(--rule); }
"""


@cache
def _parts() -> tuple[str, str]:
    style = files("dpfda.page").joinpath("page.css").read_text(encoding="utf-8") + STYLE_MORE
    return style, files("dpfda.service").joinpath("page.js").read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


# The page's own style and script are named by their hashes: no other would run, wherever it came from.
HOME_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {_hash(_parts()[0])}; script-src {_hash(_parts()[1])}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}


def home_markup(served: ServedReleases) -> str:
    """The whole HTML document."""
    style, script = _parts()
    entries = list(served)
    body = "\n".join(_article(entry) for entry in entries) or "<p>Nothing has been released yet.</p>"
    contents = "".join(f'<li><a href="#{text(entry.id)}">{text(entry.id)}</a></li>' for entry in entries)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>What has been released</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#releases">To the releases</a>\n<main>\n<h1>What has been released</h1>\n'
        "<p>Private functions of sensitive records. Everything here has been paid for with privacy budget: reading and "
        "asking cost nothing more.</p>\n"
        f'<nav aria-label="Releases"><ul>{contents}</ul></nav>\n'
        f'<section id="releases" aria-label="Releases">\n{body}\n</section>\n'
        '<p>For programs: <a href="/openapi.json">the OpenAPI document</a>, <a href="/releases">the list</a>.</p>\n'
        f"</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _article(entry: ServedEntry) -> str:
    answers, name = entry.answers, text(entry.id)
    ends = " x ".join(f"[{low:g}, {high:g}]" for low, high in zip(answers.lower, answers.upper, strict=True))
    middle = ", ".join(f"{(low + high) / 2:g}" for low, high in zip(answers.lower, answers.upper, strict=True))
    what = f"{entry.summary['what']} of '{entry.summary['dataset']}'" if entry.summary["dataset"] else entry.id
    several = "" if len(answers.lower) == 1 else f", {len(answers.lower)} numbers each"
    links = ", ".join(
        f'<a href="{text(address)}">{label}</a>'
        for label, address in (
            ("card as text", f"/releases/{entry.id}/card"),
            ("card as JSON", f"/releases/{entry.id}"),
        )
    )
    file = "" if answers.file is None else f', <a href="/releases/{name}/file" download="{name}.json">file</a>'
    return (
        f'<article aria-labelledby="{name}">\n<h2 id="{name}">{name}</h2>\n<p><bdi>{text(what)}</bdi></p>\n'
        f'<form class="ask" hidden data-address="/releases/{name}/evaluate" data-coordinates="{len(answers.lower)}" '
        f'data-names="{text(json.dumps(answers.names))}">\n'
        f'<label for="ask-{name}">Ask {name} at points of {text(ends)}{several}, separated by commas</label>\n'
        f'<input id="ask-{name}" name="points" inputmode="text" autocomplete="off" value="{text(middle)}">\n'
        f'<button type="submit">Ask</button>\n<output for="ask-{name}" aria-live="polite"></output>\n</form>\n'
        f"<details><summary>Card of {name}</summary>\n<pre>{text(answers.text)}</pre>\n</details>\n"
        f"<p>{links}{file}</p>\n</article>"
    )


FEW = 32  # points of a finite release that are computed at once: handing them to a thread would take longer
TEXT = "text/plain"
BEARER = re.compile(r"(?i:bearer) +([\x21-\x7e]+) *")


class Endpoints:
    """The answers of the service, over what is being served."""

    def __init__(self, served: ServedReleases, limits: Limits, token: str | None) -> None:
        self.served, self.limits = served, limits
        self._token = None if token is None else token.encode()
        self._online = Buckets(limits.online_rate, 100 * limits.online_rate)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="evaluate")

    async def home(self, request: Request) -> Response:
        return Response(home_markup(self.served), media_type="text/html", headers=HOME_HEADERS)

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "releases": len(self.served)})

    async def openapi(self, request: Request) -> Response:
        return _json(document(self.limits, next(iter(self.served), None)))

    async def releases(self, request: Request) -> Response:
        return _json({"releases": [entry.summary for entry in self.served]})

    async def card(self, request: Request) -> Response:
        entry = self._entry(request)
        if _prefers_text(request.headers.get("accept", "")):
            return _text(entry.answers.text)
        return Response(entry.card, media_type="application/json")

    async def card_text(self, request: Request) -> Response:
        return _text(self._entry(request).answers.text)

    async def file(self, request: Request) -> Response:
        entry = self._entry(request)
        if entry.answers.file is None:
            raise Refused(NOT_FOUND)
        name = f'attachment; filename="{entry.id}.json"'
        return Response(entry.answers.file, media_type="application/json", headers={"Content-Disposition": name})

    async def evaluate(self, request: Request) -> Response:
        entry, loop = self._entry(request), asyncio.get_running_loop()
        answers = entry.answers
        body = await read_body(request, most=self.limits.max_body, seconds=self.limits.body_seconds)
        arrived = loop.time()
        points = answers.fit(asked_points(body, most=self.limits.max_points))
        if answers.public:
            few = len(points) <= FEW
            return _values(
                _quietly(answers.evaluate, points)
                if few
                else await self._elsewhere(_quietly, answers.evaluate, points),
                len(points),
            )
        self._take(request, len(points), arrived)
        try:
            values = await entry.ask(points, most=self.limits.max_points)
            response = _values(values, len(points))
        except UsageError:
            raise Refused(NO_ANSWER) from None
        finally:
            # Failures wait as well: whether an answer was stored, drawn or failed, it leaves at the same time.
            await leave_at(arrived, self.limits.deadline_ms / 1000)
        return response

    async def publish(self, request: Request) -> Response:
        self._check_owner(request)
        said = request.query_params.getlist("id")
        if len(said) != 1 or not ID.fullmatch(said[0]):
            raise Refused(BAD_ID)
        body = await read_body(request, most=self.limits.max_release, seconds=self.limits.body_seconds)
        await self._elsewhere(_check_release, body)
        entry = await self._elsewhere(self.served.publish, said[0], body)
        headers = {"Location": f"/releases/{entry.id}"}
        return Response(entry.card, 201, headers, media_type="application/json")

    async def withdraw(self, request: Request) -> Response:
        self._check_owner(request)
        entry = self._entry(request)
        await self._elsewhere(self.served.withdraw, entry.id)
        return Response(status_code=204)

    async def reload(self, request: Request) -> Response:
        self._check_owner(request)
        await self._elsewhere(self.served.reload)
        return _json({"releases": [entry.summary for entry in self.served], "refused": list(self.served.refused)})

    def close(self) -> None:
        """Wait for answers under way, then close the oracles."""
        self._pool.shutdown(wait=True)
        self.served.close()

    def _entry(self, request: Request) -> ServedEntry:
        return self.served.get(request.path_params["id"])

    def _check_owner(self, request: Request) -> None:
        if self._token is None:
            raise Refused(NO_OWNER if "authorization" in request.headers else NO_TOKEN)
        said = BEARER.fullmatch(request.headers.get("authorization", ""))
        # Compared in constant time: how much of a guess is right cannot be timed.
        if said is None or not hmac.compare_digest(said[1].encode(), self._token):
            raise Refused(NO_TOKEN)

    def _take(self, request: Request, points: int, now: float) -> None:
        wait = self._online.take(address(request.scope), points, now)
        if wait:
            raise Refused(TOO_MANY, **{"Retry-After": str(math.ceil(wait))})

    async def _elsewhere(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)


def address(scope: Any) -> str:
    """The address of the client, as limits count it."""
    client = scope.get("client")
    return neighbourhood(client[0]) if client else ""


def _quietly(evaluate: Any, points: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(evaluate(points))


def _values(values: Array, size: int) -> Response:
    if values.ndim not in (1, 2) or len(values) != size:
        raise ValueError("an oracle answered something else")
    if np.isfinite(values).all():
        return _json({"values": values.tolist()})
    said = values.astype(object)
    said[~np.isfinite(values)] = None  # JSON has no infinity
    return _json({"values": said.tolist()})


def _check_release(body: bytes) -> None:
    """Refuse what is no release by its shape; whether it is a good one, loading it will say."""
    data = strict_json(body)
    if type(data) is not dict or type(data.get("format")) is not str:
        raise Refused(BAD_RELEASE)
    if type(data.get("certificate")) is not dict or type(data.get("basis")) is not dict:
        raise Refused(BAD_RELEASE)


def _prefers_text(accept: str) -> bool:
    """Whether text is named and neither JSON nor anything else before it."""
    for media in accept.lower().split(","):
        name = media.partition(";")[0].strip()
        if name == TEXT:
            return True
        if name in ("application/json", "*/*", "application/*"):
            return False
    return False


def _json(data: Any) -> Response:
    return Response(json.dumps(data, allow_nan=False, separators=(",", ":")), media_type="application/json")


def _text(said: str) -> Response:
    return Response(said + "\n", media_type=TEXT)


async def read_body(request: Request, *, most: int, seconds: float) -> bytes:
    """The body of a request that says it is JSON, if it is not too large and comes in time."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(NOT_JSON)
    try:
        async with asyncio.timeout(seconds):
            return await _collect(request, most)
    except TimeoutError:
        raise Refused(TOO_SLOW) from None


async def _collect(request: Request, most: int) -> bytes:
    stated = request.headers.get("content-length", "0")
    if stated.isascii() and stated.isdigit() and (len(stated) > 18 or int(stated) > most):
        raise Refused(TOO_LARGE)  # before any of it is read
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise Refused(TOO_LARGE)
        pieces.append(piece)
    return b"".join(pieces)


async def drain(receive: Callable[[], Awaitable[Any]], seconds: float) -> None:
    """Read and drop what is still sent, until it ends or for so long.

    A connection that is closed with unread bytes in it is reset, and the answer to whoever sends them may be lost.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message = await receive()
                more = message["type"] == "http.request" and message.get("more_body", False)


def strict_json(body: bytes) -> Any:
    """The content of a JSON body; all numbers become doubles, and anything ambiguous is refused."""
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, parse_int=float, object_pairs_hook=_no_name_twice
        )
    except (ValueError, RecursionError):
        raise Refused(BAD_JSON) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) != len(pairs):
        raise ValueError
    return named


def asked_points(body: bytes, *, most: int) -> list[list[float]]:
    """The points in a body, each a list of numbers; `Answerer.fit` checks whether they belong to the release."""
    data = strict_json(body)
    if type(data) is not dict or set(data) != {"points"}:
        raise Refused(BAD_POINTS)
    points = data["points"]
    if type(points) is not list or not 1 <= len(points) <= most:
        raise Refused(BAD_POINTS)
    # Numbers are doubles here, so that true, "1" and null are none of them.
    rows = [[point] for point in points] if type(points[0]) is float else points
    if any(type(row) is not list or not 1 <= len(row) <= MOST_COORDINATES for row in rows):
        raise Refused(BAD_POINTS)
    if any(type(number) is not float for row in rows for number in row):
        raise Refused(BAD_POINTS)
    return rows
