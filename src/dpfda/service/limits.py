"""How much the service takes, how often an address may ask, and under which host names it answers."""

from __future__ import annotations

import ipaddress
import math
import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, fields

from dpfda.arrays import brief
from dpfda.errors import UsageError

MOST_COORDINATES = 64  # of one point
ADDRESSES = 20_000  # that are remembered; whoever has not asked for longest is forgotten, and starts afresh


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request, one address and all together may ask."""

    deadline_ms: float = 50.0  # answers of an online oracle leave at multiples of it after they were asked
    max_points: int = 1000  # in one request
    max_body: int = 262_144  # bytes
    max_release: int = 16_777_216  # bytes of a release that is published
    rate: float = 5000.0  # requests of one address a second
    overall_rate: float = 20_000.0  # requests of all addresses a second
    online_rate: float = 1000.0  # points that one address may ask of online oracles a second: each is stored for ever
    concurrency: int = 512  # requests at a time
    body_seconds: float = 10.0  # in which a body has to come

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not (math.isfinite(value) and value > 0):
                raise UsageError(
                    f"{limit.name} must be a positive number, got {brief(value)}. Leave it out for the default."
                )
        if not 1 <= self.deadline_ms <= 60_000:
            raise UsageError(f"deadline_ms must be from 1 to 60000 milliseconds, got {brief(self.deadline_ms)}.")


class Bucket:
    """A token bucket: so many requests a second, and those of two seconds at once after a pause."""

    __slots__ = ("filled", "left", "rate")

    def __init__(self, rate: float, now: float) -> None:
        self.rate, self.left, self.filled = rate, max(2 * rate, 1.0), now

    def take(self, cost: float, now: float) -> float:
        """Zero if it may be, else the seconds to wait; whoever is refused pays nothing.

        More than the bucket ever holds is let through when it is full, and paid for afterwards.
        """
        most = max(2 * self.rate, 1.0)
        self.left, self.filled = min(most, self.left + (now - self.filled) * self.rate), now
        needed = min(cost, most)
        if self.left < needed:
            return (needed - self.left) / self.rate
        self.left -= cost
        return 0.0


class Buckets:
    """One bucket for each address, for a bounded number of them, and one for all together."""

    def __init__(self, rate: float, overall: float) -> None:
        self.rate = rate
        self.all = Bucket(overall, 0.0)
        self.each: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str, cost: float, now: float) -> float:
        """Zero if this address may ask now, else the seconds to wait."""
        own = self.each.get(address)
        if own is None:
            own = self.each[address] = Bucket(self.rate, now)
            if len(self.each) > ADDRESSES:
                self.each.popitem(last=False)
        else:
            self.each.move_to_end(address)
        return own.take(cost, now) or self.all.take(cost, now)


def neighbourhood(host: str) -> str:
    """Whom an address stands for: itself, or the first half of an IPv6 address, which one customer has as a rule.

    >>> neighbourhood("192.0.2.7"), neighbourhood("2001:db8:1:2:3::4")
    ('192.0.2.7', '2001:db8:1:2::')
    """
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(address) >> 64 << 64))


NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.(?!-)[a-z0-9_-]{1,63})*\.?")
OWN = "localhost"


@dataclass(frozen=True, slots=True)
class Hosts:
    """Names under which requests are answered: those stated, localhost, and every numeric address.

    A page of somebody else's can have its own name point to this machine, and its visitors' browsers then ask this
    service in that name (DNS rebinding). A numeric address cannot be made to point elsewhere, so it needs no list.

    >>> hosts = Hosts.of(["functions.example.org"])
    >>> [hosts.answers(name) for name in ("127.0.0.1:8000", "[::1]", "Functions.example.org", "evil.example")]
    [True, True, True, False]
    """

    names: frozenset[str]

    @staticmethod
    def of(names: Iterable[str]) -> Hosts:
        """Hosts of these names; a numeric address among them is no mistake."""
        found = {OWN}
        for name in names:
            plain = name.lower() if isinstance(name, str) else ""
            if not (_numeric(plain) or (len(plain) <= 253 and NAME.fullmatch(plain))):
                raise UsageError(
                    f"A host name is written without scheme and port, e.g. functions.example.org, got {brief(name)}."
                )
            found.add(plain.rstrip("."))
        return Hosts(frozenset(found))

    def answers(self, host: str) -> bool:
        """Whether a request may name this host, with or without a port."""
        name, _, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "")
        if port and not (port.isascii() and port.isdigit()):
            return False
        plain = name.lower()
        return plain.rstrip(".") in self.names or _numeric(plain)

    def allow(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request names one of these hosts; browsers always name one, and never two."""
        named = [value for name, value in headers if name == b"host"]
        return not named or (len(named) == 1 and self.answers(named[0].decode("latin-1").strip()))


def _numeric(name: str) -> bool:
    inside = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    try:
        ipaddress.ip_address(inside.partition("%")[0])
    except ValueError:
        return False
    return True
