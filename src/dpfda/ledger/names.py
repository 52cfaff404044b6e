"""Names, keys and addresses of ledgers: what is allowed, and what may be shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.messages import Message, Words

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
LONGEST = 200
LISTED = 5  # names in a message
_SECRET = re.compile(r"pass", re.IGNORECASE)


def check_name(name: object, what: str = "The name of a data set") -> str:
    """A name that people can read back: 1 to 200 printable characters."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{what} has 1 to {LONGEST} printable characters and no spaces at its ends, got {brief(name)}."
        )
    return name


def check_key(key: object) -> str:
    """An idempotency key that people can read back: 1 to 200 printable characters."""
    return check_name(key, "A key")


def sqlite_path(url: str) -> Path:
    """The file of `sqlite:///ledger.db`, or of `sqlite:////srv/ledger.db`; absolute, since processes move about."""
    text = url.removeprefix(SQLITE)
    if not text or text.startswith(":memory:") or "\0" in text:
        raise UsageError(
            f"A ledger in a file is named 'sqlite:///ledger.db', got {brief(url)}. For one in memory use "
            "SessionLedger()."
        )
    return Path(text).absolute()


def without_password(url: str) -> str:
    """The address of a server as it may be shown."""
    try:
        parts = urlsplit(url)
        who, at, where = parts.netloc.rpartition("@")
        user = who.partition(":")[0]
        query = urlencode(
            [
                (name, "..." if _SECRET.search(name) else value)
                for name, value in parse_qsl(parts.query, keep_blank_values=True)
            ],
            safe="/.:",
        )
        # An unquoted slash or question mark in a password would end the part that it stands in.
        if "@" in parts.path or "@" in parts.query or "@" in parts.fragment:
            return f"{parts.scheme}://..."
        shown = f"{user}:...{at}{where}" if ":" in who else parts.netloc
        # By hand: `urlunsplit` drops the slashes before a host that is not named.
        return f"{parts.scheme}://{shown}{parts.path}" + (f"?{query}" if query else "")
    except ValueError:
        return "postgresql://..."


def shown_of(url: object) -> str:
    """An address that was not understood, for a message; not shown where it may hold a password."""
    if not isinstance(url, str):
        return brief(url)
    kind = re.match(r"[A-Za-z0-9+]{1,20}:/*", url)
    return repr(url) if re.fullmatch(r"[\w./ -]{0,200}", url) else f"{kind[0]}..." if kind else "another one"


def secrets_of(url: str) -> list[str]:
    """The parts of an address that an error message of the driver must not repeat."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    found = [password, unquote(password)]
    found += [value for name, value in parse_qsl(parts.query) if _SECRET.search(name)]
    return [secret for secret in found if secret]


def nearly(name: str, known: Iterable[str]) -> str | None:
    """A known name that differs from this one in case alone, so that people would confuse the two; else None."""
    return next((other for other in known if other != name and other.casefold() == name.casefold()), None)


def check_distinct(name: str, known: Iterable[str], ledger: str) -> None:
    """Refuse a name for a budget beside one that reads the same."""
    other = nearly(name, known)
    if other is not None:
        raise UsageError(
            f"The ledger {ledger} has a budget for {other!r}, which differs from {name!r} in case alone. If the data "
            "are the same, use ",
            _dataset(other),
            "; else take a name that nobody mistakes for it. Nothing was entered.",
        )


def way_to(name: str, ledger: str, known: Sequence[str]) -> Message:
    """What to do about a name that has no budget; a second budget for the same people is not what is needed."""
    where = shlex.quote(ledger)
    if not known:
        create = f"dpfda budget create {where} --dataset {shlex.quote(name)} --epsilon ... --delta ..."
        return Message("Make one: ", Words(f"{create}, or Ledger.create", create), ".")
    likely = nearly(name, known) or next(iter(get_close_matches(name, known, n=1, cutoff=0.5)), known[0])
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    listed = ", ".join(map(repr, known[:LISTED]))
    return Message(
        f"It has {'one' if len(known) == 1 else 'some'} for {listed}{more}. If the data are the same or of the same "
        "people, say so: ",
        _dataset(likely),
        f", or once and for all dpfda budget copy {where} --dataset {shlex.quote(likely)} --name {shlex.quote(name)}. "
        "Only for other people: dpfda budget create.",
    )


def _dataset(name: str) -> Words:
    """How to name a data set, in full: it is to be typed, and a ledger takes no long names."""
    return Words(f"dataset={name!r}", f"--dataset {shlex.quote(name)}")
