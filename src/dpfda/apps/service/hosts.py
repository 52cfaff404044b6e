"""Come here for the host names that the service answers under: a foreign page must not reach it through the browser."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dpfda.arrays import brief
from dpfda.errors import UsageError

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
