"""The ASGI application: what every request passes, limits, methods, errors in one form, headers, a line in the log."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router

from dpfda.service.endpoints import Endpoints, address, drain
from dpfda.service.limits import Buckets, Hosts, Limits
from dpfda.service.refusals import (
    BUSY,
    FAILED,
    NOT_FOUND,
    TOO_LARGE,
    TOO_MANY,
    WRONG_HOST,
    WRONG_METHOD,
    Reason,
    Refused,
)

Endpoint = Callable[[Request], Awaitable[Response]]
log = logging.getLogger("dpfda.service")

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Resource:
    """One address and the methods it has."""

    def __init__(self, template: str, **methods: Endpoint) -> None:
        self.template = template
        self.methods = {name.upper(): endpoint for name, endpoint in methods.items()}
        if "GET" in self.methods:
            self.methods["HEAD"] = self.methods["GET"]
        self.allow = ", ".join(sorted({*self.methods, "OPTIONS"}))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["dpfda.route"] = self.template
        method = scope["method"]
        if method == "OPTIONS":
            await Response(status_code=204, headers={"Allow": self.allow})(scope, receive, send)
            return
        endpoint = self.methods.get(method)
        if endpoint is None:
            raise Refused(WRONG_METHOD, Allow=self.allow)
        response = await endpoint(Request(scope, receive))
        await response(scope, receive, send)


async def _nowhere(scope: Any, receive: Any, send: Any) -> None:
    raise Refused(NOT_FOUND)


class Application:
    """The application: it lets requests through to the endpoints, and says what went wrong in constant texts."""

    def __init__(self, endpoints: Endpoints, limits: Limits, hosts: Hosts) -> None:
        self.endpoints, self.limits, self.hosts = endpoints, limits, hosts
        self.stopping = False  # then connections are closed as they are answered
        self.inside = 0
        self.buckets = Buckets(limits.rate, limits.overall_rate)
        resources = (
            Resource("/releases/{id}/evaluate", post=endpoints.evaluate),
            Resource("/releases/{id}", get=endpoints.card, delete=endpoints.withdraw),
            Resource("/releases/{id}/card", get=endpoints.card_text),
            Resource("/releases/{id}/file", get=endpoints.file),
            Resource("/releases", get=endpoints.releases, post=endpoints.publish),
            Resource("/health", get=endpoints.health),
            Resource("/openapi.json", get=endpoints.openapi),
            Resource("/reload", post=endpoints.reload),
            Resource("/", get=endpoints.home),
        )
        routes = [Route(resource.template, resource) for resource in resources]
        self.router = Router(routes, redirect_slashes=False, default=_nowhere)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        status = 0  # until something has left

        async def leave(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers(message["headers"])]
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        self.inside += 1
        try:
            self._admit(scope)
            await self.router(scope, receive, leave)
        except ClientDisconnect:
            pass
        except Refused as refused:
            if refused.reason is TOO_LARGE:
                await self._say_while_it_comes(refused, receive, leave)
            else:
                await _say(refused.reason, refused.headers, scope, receive, leave)
        except Exception:
            # Whatever it was may hold numbers that nobody paid for: not even its kind is said.
            if not status:
                await _say(FAILED, FAILED.headers, scope, receive, leave)
        finally:
            self.inside -= 1
            # The address as it is written in the documentation: ids, queries and points stay out of the log.
            log.info("%s %s %d", _method(scope["method"]), scope.get("dpfda.route", "-"), status)

    async def _say_while_it_comes(self, refused: Refused, receive: Any, leave: Any) -> None:
        """Answer at once, and close the connection only when the body has come or for long enough.

        Whoever sends a large body may read the answer only afterwards.
        """
        body = refused.reason.body
        headers = {"content-type": "application/json", "content-length": str(len(body)), **refused.headers}
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await leave({"type": "http.response.start", "status": refused.reason.status, "headers": pairs})
        await leave({"type": "http.response.body", "body": body, "more_body": True})
        await drain(receive, self.limits.body_seconds)
        await leave({"type": "http.response.body", "body": b"", "more_body": False})

    def _admit(self, scope: Any) -> None:
        if self.inside > self.limits.concurrency:
            raise Refused(BUSY)
        if not self.hosts.allow(scope["headers"]):
            raise Refused(WRONG_HOST)
        wait = self.buckets.take(address(scope), 1.0, time.monotonic())
        if wait:
            raise Refused(TOO_MANY, **{"Retry-After": str(math.ceil(wait))})

    def _headers(self, present: Any) -> list[tuple[bytes, bytes]]:
        added = list(HEADERS)
        if not any(name == POLICY[0] for name, _ in present):
            added.append(POLICY)
        if self.stopping and not any(name == b"connection" for name, _ in present):
            added.append((b"connection", b"close"))
        return added

    async def _live(self, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                self.endpoints.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _say(reason: Reason, headers: dict[str, str], scope: Any, receive: Any, send: Any) -> None:
    await Response(reason.body, reason.status, headers, media_type="application/json")(scope, receive, send)


def _method(said: str) -> str:
    return said if said in ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH") else "OTHER"
