"""Bodies of requests: within their limits, strict JSON, and points as an array."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from dpfda.service.refusals import BAD_JSON, BAD_POINTS, NOT_JSON, TOO_LARGE, TOO_SLOW, Refused

if TYPE_CHECKING:
    from starlette.requests import Request

COORDINATES = 64  # of a point at most


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
    """What the JSON says; numbers are doubles, and whatever JSON leaves open is refused."""
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
    """The points that a body asks for, each a list of numbers; whether they fit a release, that release knows."""
    data = strict_json(body)
    if type(data) is not dict or set(data) != {"points"}:
        raise Refused(BAD_POINTS)
    points = data["points"]
    if type(points) is not list or not 1 <= len(points) <= most:
        raise Refused(BAD_POINTS)
    # Numbers are doubles here, so that true, "1" and null are none of them.
    rows = [[point] for point in points] if type(points[0]) is float else points
    if any(type(row) is not list or not 1 <= len(row) <= COORDINATES for row in rows):
        raise Refused(BAD_POINTS)
    if any(type(number) is not float for row in rows for number in row):
        raise Refused(BAD_POINTS)
    return rows
