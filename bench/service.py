"""Requests a second that the service answers on a published release, client beside it: `python -m bench.service`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

import dpfda

SERVER = "import sys; from dpfda.cli.serve import serve; serve(sys.argv[1:])"


# A live oracle: a density of 10,000 people, drawn where it is asked, its store in the folder.
ORACLE = """
import sys
import numpy as np
from dpfda import Budget
from dpfda.service import Limits, make_app, run
from dpfda.bases.domain import as_domain
from dpfda.kernels import Matern
from dpfda.online import Facts, Sections, calibrated, open_online

kernel, n = Matern(1.5, rho=0.3), 10_000
law = calibrated(
    kernel, as_domain((0.0, 1.0)), sensitivity=2**0.5 / n, moved=2 / n, budget=Budget(epsilon=1.0, delta=1e-6)
)
facts = Facts("density", "simulated", "person", False, "replace-one", n, "sections differ by sqrt(2) at most")
people = np.random.default_rng(0).uniform(0, 1, n)
oracle = open_online(Sections.counted(people, 1 / n, kernel), law, f"sqlite:///{sys.argv[1]}/live.db", facts=facts)
run(make_app({"live": oracle}, limits=Limits(online_rate=1e6)), port=0)
"""


@dataclass
class Outcome:
    """What a load of requests came to."""

    seconds: float = 0.0
    answered: int = 0
    failed: int = 0  # another status, a broken or wrong answer, a connection lost while an answer was due
    unanswered: int = 0  # connections that the server closed between answers
    times: list[float] = field(default_factory=list)  # seconds from asking to the whole answer

    def quantile(self, share: float) -> float:
        """Milliseconds."""
        return float(np.quantile(self.times, share)) * 1000 if self.times else float("nan")


def start(folder: Path, *options: str, code: str = SERVER) -> tuple[subprocess.Popen[str], int]:
    """The service in a process of its own, and its port."""
    command = [sys.executable, "-c", code, str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r":(\d+)/", line)
    assert found, line
    return process, int(found[1])


def request(name: str, points: int, seed: int) -> bytes:
    """One request, as it goes over the wire."""
    body = json.dumps({"points": np.random.default_rng(seed).uniform(0, 1, points).tolist()})
    head = f"POST /releases/{name}/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


class Client(asyncio.Protocol):
    """A connection that asks again as soon as it may, with as little work as possible."""

    def __init__(self, requests: Sequence[bytes], gap: float, first: float, stop: float, outcome: Outcome) -> None:
        self.requests, self.gap, self.due, self.stop, self.outcome = requests, gap, first, stop, outcome
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self.loop.create_future()
        self.buffer, self.asked, self.turn = b"", 0.0, 0
        self.waiting = self.closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.loop.call_later(max(0.0, self.due - self.loop.time()), self._ask)

    def _ask(self) -> None:
        self.asked = self.loop.time()
        if self.asked >= self.stop or self.transport.is_closing():
            self.closing = True
            self.transport.close()
            return
        self.waiting = True
        self.transport.write(self.requests[self.turn % len(self.requests)])
        self.turn += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head[head.index(b"content-length: ") + 16 :].split(b"\r", 1)[0])
        if len(body) < length:
            return
        self.buffer, self.waiting = b"", False
        good = head.startswith(b"HTTP/1.1 200") and body.startswith(b'{"values":[') and body.endswith(b"]}")
        if good:
            self.outcome.answered += 1
            self.outcome.times.append(self.loop.time() - self.asked)
        else:
            self.outcome.failed += 1
        if b"connection: close" in head:
            self.closing = True
            return
        self.due = max(self.due + self.gap, self.loop.time() - 1.0)  # whoever is late catches up
        wait = self.due - self.loop.time()
        if wait > 0:
            self.loop.call_later(wait, self._ask)
        else:
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.buffer:
            self.outcome.failed += 1  # part of an answer
        elif self.waiting:
            self.outcome.unanswered += 1
        if not self.done.done():
            self.done.set_result(None)


async def load(
    port: int, requests: Sequence[bytes], *, connections: int, seconds: float, rate: float | None
) -> Outcome:
    """Ask over and over; with a rate, so many a second in all, evenly, else as fast as answers come."""
    loop, outcome = asyncio.get_running_loop(), Outcome()
    started = loop.time()
    gap = 0.0 if rate is None else connections / rate
    clients = []
    for place in range(connections):
        first = place * len(requests) // connections
        turned = [*requests[first:], *requests[:first]]
        _, client = await loop.create_connection(
            lambda turned=turned, due=started + place * gap / connections: Client(
                turned, gap, due, started + seconds, outcome
            ),
            "127.0.0.1",
            port,
        )
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    outcome.seconds = loop.time() - started
    return outcome


def publish(folder: Path) -> None:
    """A mean function released from simulated curves."""
    t, rng = np.linspace(0, 1, 48), np.random.default_rng(0)
    curves = np.sin(np.pi * t) * (0.5 + 0.1 * rng.normal(size=(5000, 1)))
    dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0).fit(curves, grid=t).release_.save(folder / "mean.json")


def run(console: Console, *, seconds: float, connections: int = 32) -> bool:
    """Print what the service holds; True if 1,000 requests a second were answered without a failure."""
    table = Table("load", "requests/s", "points/s", "failed", "p50 ms", "p99 ms", title="The service, one process")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        publish(folder)
        process, port = start(folder, "--quiet")
        held = False
        try:
            for said, points, rate in (
                ("1,000 a second, 1 point each (aim)", 1, 1000.0),
                ("as fast as it can, 1 point each", 1, None),
                ("as fast as it can, 100 points each", 100, None),
                ("as fast as it can, 1,000 points each", 1000, None),
            ):
                requests = [request("mean", points, seed) for seed in range(64)]
                length = seconds if rate else min(seconds, 8.0)
                before = cpu(process)
                outcome = asyncio.run(load(port, requests, connections=connections, seconds=length, rate=rate))
                bad, speed = outcome.failed + outcome.unanswered, outcome.answered / outcome.seconds
                if rate:
                    held = not bad and outcome.answered >= 0.99 * rate * seconds
                    computing = (cpu(process) - before) / max(outcome.answered, 1)
                table.add_row(
                    f"{said}, {outcome.seconds:.0f} s",
                    f"{speed:,.0f}",
                    f"{speed * points:,.0f}",
                    f"{bad} of {outcome.answered + bad:,}",
                    f"{outcome.quantile(0.5):.2f}",
                    f"{outcome.quantile(0.99):.2f}",
                )
        finally:
            took = stop(process)
        live(console, folder, table)
    console.print(table)
    console.print(
        f"1,000 a second {'held' if held else 'NOT held'}, {1000 * computing:.2f} ms of computing for each; "
        f"stopped in {took:.1f} s"
    )
    return held


def live(console: Console, folder: Path, table: Table) -> None:
    """New points of an oracle: each is drawn, stored and leaves at the deadline of 50 ms."""
    process, port = start(folder, code=ORACLE)
    try:
        requests = [request("live", 1, seed) for seed in range(20_000)]
        outcome = asyncio.run(load(port, requests, connections=64, seconds=8.0, rate=None))
    finally:
        stop(process)
    speed, bad = outcome.answered / outcome.seconds, outcome.failed + outcome.unanswered
    table.add_row(
        f"online, 64 at a time, 1 new point each, {outcome.seconds:.0f} s",
        f"{speed:,.0f}",
        f"{speed:,.0f}",
        f"{bad} of {outcome.answered + bad:,}",
        f"{outcome.quantile(0.5):.2f}",
        f"{outcome.quantile(0.99):.2f}",
    )


def cpu(process: subprocess.Popen[str]) -> float:
    """Seconds of computing that a process has used; Linux only."""
    used = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


def stop(process: subprocess.Popen[str]) -> float:
    """End the service as an operator would; seconds that it took."""
    started = time.monotonic()
    process.terminate()
    process.communicate(timeout=60)
    return time.monotonic() - started


@click.command()
@click.option("--seconds", default=30.0, show_default=True, help="Of the load at 1,000 a second.")
@click.option("--connections", default=32, show_default=True, help="Clients at a time.")
def main(seconds: float, connections: int) -> None:
    """Measure the service under load."""
    sys.exit(0 if run(Console(width=120), seconds=seconds, connections=connections) else 1)


if __name__ == "__main__":
    main()
