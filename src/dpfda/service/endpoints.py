"""What each address of the service answers; refusals are raised, and worded by the gate."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import Response

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.service import page
from dpfda.service.bodies import asked_points, read_body, strict_json
from dpfda.service.limits import Buckets, Limits, neighbourhood
from dpfda.service.openapi import document
from dpfda.service.refusals import BAD_ID, BAD_RELEASE, NO_ANSWER, NO_OWNER, NO_TOKEN, NOT_FOUND, TOO_MANY, Refused
from dpfda.service.shelf import ID, ServedEntry, Shelf
from dpfda.service.worker import leave_at

if TYPE_CHECKING:
    from starlette.requests import Request

FEW = 32  # points of a finite release that are computed at once: handing them to a thread would take longer
TEXT = "text/plain"
BEARER = re.compile(r"(?i:bearer) +([\x21-\x7e]+) *")


class Endpoints:
    """The answers of the service, over what is on its shelf."""

    def __init__(self, shelf: Shelf, limits: Limits, token: str | None) -> None:
        self.shelf, self.limits = shelf, limits
        self._token = None if token is None else token.encode()
        self._online = Buckets(limits.online_rate, 100 * limits.online_rate)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="evaluate")

    async def home(self, request: Request) -> Response:
        return Response(page.markup(self.shelf), media_type="text/html", headers=page.HEADERS)

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "releases": len(self.shelf)})

    async def openapi(self, request: Request) -> Response:
        return _json(document(self.limits, next(iter(self.shelf), None)))

    async def releases(self, request: Request) -> Response:
        return _json({"releases": [entry.summary for entry in self.shelf]})

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
        entry = await self._elsewhere(self.shelf.publish, said[0], body)
        headers = {"Location": f"/releases/{entry.id}"}
        return Response(entry.card, 201, headers, media_type="application/json")

    async def withdraw(self, request: Request) -> Response:
        self._check_owner(request)
        entry = self._entry(request)
        await self._elsewhere(self.shelf.withdraw, entry.id)
        return Response(status_code=204)

    async def reload(self, request: Request) -> Response:
        self._check_owner(request)
        await self._elsewhere(self.shelf.reload)
        return _json({"releases": [entry.summary for entry in self.shelf], "refused": list(self.shelf.refused)})

    def close(self) -> None:
        """Wait for whoever is being answered, then close the oracles."""
        self._pool.shutdown(wait=True)
        self.shelf.close()

    def _entry(self, request: Request) -> ServedEntry:
        return self.shelf.get(request.path_params["id"])

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
    """Who asks, as far as limits go."""
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
