"""`dpfda serve`: released functions over HTTP, for everybody to read and for their owner to change."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from dpfda.cli.words import notice
from dpfda.errors import DataError, UsageError

TOKEN = "DPFDA_TOKEN"
LONGEST_TOKEN = 2**16  # signs


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 for all.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes one that is free."
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="Host name under which readers reach it, beside localhost and numeric addresses; may be repeated.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help=f"File with the owner's token, else the environment variable {TOKEN}.  [default: owner's actions are refused]",
)
@click.option(
    "--deadline-ms",
    default=50.0,
    show_default=True,
    type=click.FloatRange(1, 60000),
    help="Answers of online oracles leave at multiples of it after they were asked.",
)
@click.option(
    "--max-points", default=1000, show_default=True, type=click.IntRange(1, 1_000_000), help="Points in one request."
)
@click.option(
    "--max-body",
    default=262_144,
    show_default=True,
    type=click.IntRange(64, 2**30),
    help="Bytes of one request for values.",
)
@click.option(
    "--rate",
    default=5000.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Requests of one address a second; twice as many at once after a rest.",
)
@click.option(
    "--overall-rate",
    default=20_000.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Requests of all addresses a second.",
)
@click.option(
    "--online-rate",
    default=1000.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Points that one address may ask of online oracles a second: each is stored for ever.",
)
@click.option("--concurrency", default=512, show_default=True, type=click.IntRange(1), help="Requests at a time.")
@click.option("--trusted-proxy", metavar="ADDRESS", help="Believe X-Forwarded-For from this reverse proxy.")
@click.option("--quiet", is_flag=True, help="No line for each request; else address and status, never what was asked.")
def serve(
    folder: Path,
    host: str,
    port: int,
    host_names: tuple[str, ...],
    token_file: Path | None,
    deadline_ms: float,
    max_points: int,
    max_body: int,
    rate: float,
    overall_rate: float,
    online_rate: float,
    concurrency: int,
    trusted_proxy: str | None,
    quiet: bool,
) -> None:
    """Serve the releases in a folder over HTTP: cards and values to everybody, changes to the owner.

    Every release file FOLDER/ID.json is served as /releases/ID, and so is every store FOLDER/ID.db of an oracle, with
    the answers it has. It reads nothing but releases: no record, and no privacy budget, is within its reach. A page
    for people is at /, the OpenAPI document at /openapi.json. It stops at Ctrl-C or SIGTERM, when whoever has asked is
    answered.

    \b
    Examples:
      dpfda serve releases
      DPFDA_TOKEN=$(cat token) dpfda serve releases --port 8080 --rate 50
      curl -d '{"points": [0, 0.5, 1]}' -H 'Content-Type: application/json' \\
          http://127.0.0.1:8000/releases/mean/evaluate
    """
    from dpfda.service import Limits, make_app, run

    limits = Limits(
        deadline_ms=deadline_ms,
        max_points=max_points,
        max_body=max_body,
        rate=rate,
        overall_rate=overall_rate,
        online_rate=online_rate,
        concurrency=concurrency,
    )
    app = make_app(folder=folder, token=read_token(token_file), limits=limits, hosts=(*host_names, host))
    for name in app.endpoints.served.refused:
        why = _lacking(folder / name) or "it is no private release, damaged, or its name is no id."
        notice(f"Note: {name} is not served: {why}")
    if not quiet:
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", stream=sys.stderr)
        logging.getLogger("dpfda.service").setLevel(logging.INFO)
    run(app, host=host, port=port, trusted_proxy=trusted_proxy)


def _lacking(file: Path) -> str:
    """What a file holds that no module has registered here; empty where that is not the trouble."""
    from dpfda.releases.documents import read_document
    from dpfda.releases.files import FORMAT, not_loaded

    try:
        _, data = read_document(file)
    except DataError:
        return ""
    return not_loaded(data) if isinstance(data, dict) and data.get("format") == FORMAT else ""


def read_token(file: Path | None) -> str | None:
    """The owner's token, from a file or the environment; never from an argument, which others on the machine see."""
    if file is None:
        return os.environ.get(TOKEN) or None
    token = None
    with suppress(OSError, UnicodeError), file.open(encoding="ascii") as stream:
        token = stream.read(LONGEST_TOKEN + 1)  # a device may never end
    if token is None or len(token) > LONGEST_TOKEN:
        raise UsageError(f"Cannot read the token in {str(file)!r}. Name a text file that holds nothing else.")
    return token.strip()
