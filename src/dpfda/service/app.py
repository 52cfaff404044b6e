"""The service as an application that any ASGI server runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfda.errors import MissingExtra, UsageError
from dpfda.service.limits import Limits

if TYPE_CHECKING:
    from dpfda.service.asgi import Application

TOKEN_LENGTH = 16  # characters at least: what is shorter can be guessed


def make_app(
    things: Mapping[str, Any] | None = None,
    *,
    folder: str | Path | None = None,
    token: str | None = None,
    limits: Limits | None = None,
    hosts: Iterable[str] = (),
) -> Application:
    """The service over releases and oracles by id, and over the release files in a folder.

    Everybody may read what has been released. Publishing, withdrawing and reloading need the token, and are refused
    altogether without one. Nothing here can read a record: releases come as files, oracles as they were opened.
    `hosts` are the names under which it is reached, beside localhost and numeric addresses: others are refused.
    """
    needs_extra()
    from dpfda.service.asgi import Application
    from dpfda.service.endpoints import Endpoints
    from dpfda.service.limits import Hosts
    from dpfda.service.served import ServedReleases

    if token is not None and (len(token) < TOKEN_LENGTH or not all("!" <= letter <= "~" for letter in token)):
        raise UsageError(
            f"A token has at least {TOKEN_LENGTH} printable ASCII characters and no spaces. "
            "Make one with: openssl rand -hex 32.",
            parameter="token",
        )
    served = ServedReleases(things or {}, None if folder is None else Path(folder))
    limits = limits or Limits()
    return Application(Endpoints(served, limits, token), limits, Hosts.of(hosts))


def run(app: Application, *, host: str = "127.0.0.1", port: int = 8000, trusted_proxy: str | None = None) -> None:
    """Serve an application until Ctrl-C or SIGTERM; it prints its address once it answers. Port 0 takes a free one."""
    needs_extra()
    from dpfda.service.server import listen, serve

    listener, served = listen(host, port), app.endpoints.served
    place = f"[{host}]" if ":" in host else host
    many = f"{len(served)} release{'' if len(served) == 1 else 's'}"

    def ready() -> None:
        print(f"Serving {many} at http://{place}:{listener.getsockname()[1]}/ (Ctrl-C stops it)", flush=True)

    serve(app, listener, ready=ready, proxy=trusted_proxy)
    print("Stopped.", flush=True)


def needs_extra() -> None:
    """Raise MissingExtra, with the way to install them, where starlette or uvicorn are missing."""
    try:
        import_module("starlette")
        import_module("uvicorn")
    except ImportError:
        raise MissingExtra("The service needs starlette and uvicorn: pip install 'dpfda[serve]'.") from None
