"""Come here for names, keys and addresses of ledgers: what may stand there, and what may be shown of it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from dpfda.errors import UsageError

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
LONGEST = 200
_SECRET = re.compile(r"pass", re.IGNORECASE)


def check_name(name: object, what: str = "The name of a data set") -> str:
    """A name that people can read back: 1 to 200 printable characters."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{what} has 1 to {LONGEST} printable characters and no spaces at its ends, got {_short(name)}."
        )
    return name


def check_key(key: object) -> str:
    return check_name(key, "A key")


def sqlite_path(url: str) -> Path:
    """The file of `sqlite:///ledger.db`, or of `sqlite:////srv/ledger.db`; absolute, since processes move about."""
    text = url.removeprefix(SQLITE)
    if not text or text.startswith(":memory:") or "\0" in text:
        raise UsageError(
            f"A ledger in a file is named 'sqlite:///ledger.db', got {url!r}. For one in memory use SessionLedger()."
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
        return urlunsplit((parts.scheme, shown, parts.path, query, ""))
    except ValueError:
        return "postgresql://..."


def shown_of(url: object) -> str:
    """An address that was not understood, as far as no password can stand in it."""
    if not isinstance(url, str):
        return repr(url)
    kind = re.match(r"[A-Za-z0-9+]{1,20}:/*", url)
    return repr(url) if re.fullmatch(r"[\w./ -]{0,200}", url) else f"{kind[0]}..." if kind else "another one"


def secrets_of(url: str) -> list[str]:
    """Whatever an error message of a driver must not repeat."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return [url]
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    found = [password, unquote(password)]
    found += [value for name, value in parse_qsl(parts.query) if _SECRET.search(name)]
    return [secret for secret in found if secret]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
