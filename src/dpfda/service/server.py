"""Running the service: one process, timeouts on every wait, and a stop that interrupts no answer."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from dpfda.errors import UsageError
from dpfda.service.refusals import BAD_REQUEST, BUSY, HEADERS_TOO_LARGE, Reason

if TYPE_CHECKING:
    from dpfda.service.asgi import Application

HEADER_SECONDS = 10.0  # in which the headers of a request have to come
HEADER_BYTES = 65_536
CONNECTIONS = 4096
GRACE = 0.5  # seconds in which connections are answered and closed before no more are taken
LAST = 30  # seconds after which whoever is still being answered is given up


class BoundedProtocol(asyncio.Protocol):
    """The connections of uvicorn, with limits on the time and size of headers, and errors in the service's form.

    A method that another version of uvicorn does not call stays without effect.
    """

    cycle: Any
    transport: Any
    loop: Any
    connections: Any
    _timer: asyncio.TimerHandle | None = None
    _begun = 0

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection beyond what the process can hold open; else wait for its headers."""
        super().connection_made(transport)
        if len(self.connections) > room():
            self._turn_away(BUSY)
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Count the bytes of headers until a request is complete."""
        super().data_received(data)
        if self._busy:
            self._rest()
            return
        self._begun += len(data)
        if self._begun > HEADER_BYTES and not self.transport.is_closing():
            self._turn_away(HEADERS_TOO_LARGE)
        elif self._timer is None:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a connection that has ended."""
        self._rest()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """uvicorn's hook for what is no HTTP: the service's own refusal."""
        self._turn_away(BAD_REQUEST)

    @property
    def _busy(self) -> bool:
        """Whether a request is being answered: its headers have come."""
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _rest(self) -> None:
        self._begun = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._busy and not self.transport.is_closing():
            self.transport.close()

    def _turn_away(self, reason: Reason) -> None:
        more = "".join(f"{name}: {value}\r\n" for name, value in reason.headers.items())
        head = (
            f"HTTP/1.1 {reason.status} {reason.code}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(reason.body)}\r\n{more}Connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + reason.body)
        self.transport.close()


def room() -> int:
    """How many connections are accepted: what the system lets a process open, less what it needs for files."""
    try:
        from resource import RLIMIT_NOFILE, getrlimit
    except ImportError:  # not on every system
        return CONNECTIONS
    soft = getrlimit(RLIMIT_NOFILE)[0]
    return CONNECTIONS if soft < 0 else min(CONNECTIONS, max(soft - 64, 16))


def protocol() -> type[asyncio.Protocol]:
    """uvicorn's faster protocol where its parser is installed, else the one that always works."""
    base: type[asyncio.Protocol]
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        base = HttpToolsProtocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        base = H11Protocol
    return type("PatientProtocol", (BoundedProtocol, base), {})


class Server(uvicorn.Server):
    """A server that stops in two steps, so that every request that arrived is answered.

    At the first signal connections close with their next answer; a little later no more are accepted, and answers under
    way are waited for. A second signal skips the first step.
    """

    def __init__(self, config: uvicorn.Config, application: Application, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.application, self.ready = application, ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.ready()  # signals are listened to by now

    def handle_exit(self, sig: int, frame: Any) -> None:
        """uvicorn's hook for signals: stop in two steps, at once at the second signal."""
        if self._loop is None or self.application.stopping:
            self.should_exit = True
            return
        self.application.stopping = True
        self._loop.call_soon_threadsafe(self._later)

    def _later(self) -> None:
        assert self._loop is not None
        self._loop.call_later(GRACE, setattr, self, "should_exit", True)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Named as TCP: else asyncio does not see that it is, and head and body of an answer wait 40 ms for each other.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(2048)
        except BaseException:
            listener.close()
            raise
        return listener
    except (OSError, OverflowError, UnicodeError):
        raise UsageError(
            f"Cannot listen at {host} port {port}: it is in use, not allowed or no address of this machine. "
            "Choose others with --host and --port."
        ) from None


def serve(
    application: Application, listener: socket.socket, *, ready: Callable[[], None], proxy: str | None = None
) -> None:
    """Answer until a signal stops it; `ready` is called as soon as it listens."""
    # Their messages could hold what a request held, or frames of a computation.
    for name in ("uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    config = uvicorn.Config(
        application,
        http=protocol(),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=LAST,
    )
    Server(config, application, ready).run(sockets=[listener])
