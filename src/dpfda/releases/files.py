"""Releases in files: JSON and back, with identical values."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from dpfda import bases, kernels
from dpfda.arrays import as_path, brief, may_never_end
from dpfda.bases import Basis
from dpfda.bases import from_dict as basis_from_dict
from dpfda.errors import DataError, UsageError
from dpfda.mechanisms import LAWS
from dpfda.releases.certificate import Certificate
from dpfda.releases.documents import check_seal, content_digest, read_document, sealed, stated_digest
from dpfda.releases.kinds import kind_in, kinds, statistic, statistic_of

FORMAT = "dpfda-release-1"


def to_dict(release: Any) -> dict[str, Any]:
    """A release as plain data; doubles are written in full, so nothing is lost."""
    return {
        "format": FORMAT,
        "kind": statistic_of(release).name,
        "certificate": release.certificate.to_dict(),
        "basis": release.basis.describe(),
        **release.to_plain(),
    }


def from_dict(data: dict[str, Any], basis: Basis | None = None) -> Any:
    """The release that `to_dict` wrote; a file may be damaged and still be JSON, so all of it must fit together.

    A basis that is at hand is not made anew, which can take longer than the release.
    """
    certificate = Certificate.from_dict(data["certificate"])
    _check_basis(data, certificate)
    if basis is None:
        try:
            basis = basis_from_dict(data["basis"])
        except UsageError as error:  # too large for its family, say: the rule is the way out
            raise DataError(f"its basis cannot be made. {error}") from None
    if certificate.domain != basis.domain.sides or certificate.size != basis.size:
        raise ValueError
    certificate.text()  # fails where words are none
    return statistic(kind_in(data)).release.from_plain(data, basis, certificate)


def _check_basis(data: dict[str, Any], card: Certificate) -> None:
    """What can be told of a basis before it is made: some take memory by their size, or minutes on another domain."""
    stated = data["basis"]
    if len(data["centre" if "centre" in data else "noisy"]) != card.size or stated.get("size", card.size) != card.size:
        raise ValueError
    if "domain" in stated and tuple(map(tuple, stated["domain"])) != card.domain:
        raise ValueError


def text_of(release: Any) -> str:
    """The file of a release: its plain data as JSON, ended by the digest of all bytes before it."""
    return sealed(to_dict(release))


def file_digest(release: Any) -> bytes:
    """The digest that the file of a release ends with: every byte of it counts."""
    found = stated_digest(text_of(release).encode("utf-8"))
    return bytes.fromhex(found or "")


def exact_digest(release: Any) -> bytes:
    """A digest of all of a release but the numbers that are computed from the rest of it.

    Another machine computes them anew with other roundings, and everything else must be the same to the last bit.
    """
    data = to_dict(release)
    computed = statistic(data["kind"]).release.computed
    if computed:
        data["smoothing"] = {name: part for name, part in data["smoothing"].items() if name not in computed}
    return content_digest(data)


def save(release: Any, path: str | Path) -> Path:
    """Write a release of any kind as JSON, whole or not at all."""
    target = as_path(path)
    if may_never_end(target):  # a file would take the place of the device
        raise DataError(f"{str(target)!r} is a device or a pipe. Name a file.")
    text = text_of(release)
    draft = Path(f"{target}.part")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(target)
    except (OSError, UnicodeError) as error:
        with suppress(OSError, UnicodeError):
            draft.unlink(missing_ok=True)
        why = getattr(error, "strerror", None) or "its name is no text"
        raise DataError(f"Cannot write {str(target)!r}: {why}. Name another file.") from None
    return target


def load(path: str | Path) -> Any:
    """Read a release that was saved as JSON: a `Release`, or of the kind that the file says.

    The digest at the end of the file must fit every byte before it. It finds accidents and careless edits; whoever
    makes it anew is found out by `dpfda verify`, with the ledger.
    """
    return release_in(*read_document(path, called="release file"), path)


def not_loaded(data: dict[str, Any]) -> str:
    """Which part of a file no module that is imported has registered, and what to do; empty where all are known."""
    kind = kind_in(data)
    if isinstance(kind, str) and kind not in kinds():
        return _unknown("kind of release", kind)
    noise, basis = _named(data, "law", beside="scales"), _named(data.get("basis"), "family")
    for law in noise:
        if law not in LAWS:
            return _unknown("noise law", law)
    for family in basis:  # a basis of a kernel names both
        if family not in bases.FAMILIES and family not in kernels.FAMILIES:
            return _unknown("basis or kernel", family)
    return ""


def _unknown(what: str, name: str) -> str:
    return (
        f"this version does not know the {what} {brief(name)}. Import the module that registers it, e.g. by "
        "DPFDA_MODULES for the command; else use a newer version of dpfda."
    )


def _named(data: Any, field: str, beside: str = "") -> list[str]:
    """The texts under this field in plain data, at any depth; `beside` is another field that such a part has."""
    found, left = [], [data]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if isinstance(part.get(field), str) and (not beside or beside in part):
                found.append(part[field])
            left += part.values()
        elif isinstance(part, list):
            left += [each for each in part if isinstance(each, dict | list)]
    return found


def release_in(content: bytes, data: Any, path: str | Path) -> Any:
    """The release in the bytes of a file, once its digest fits; `path` is what errors call it."""
    ours = data.get("format") == FORMAT if isinstance(data, dict) else data is None and FORMAT.encode() in content
    if ours:
        check_seal(content, path)
    else:
        raise DataError(f"{str(path)!r} is not a release of format {FORMAT}. Write one with release.save().")
    lacking = "" if data is None else not_loaded(data)
    if lacking:
        raise DataError(f"{str(path)!r} cannot be opened: {lacking}")
    try:
        return from_dict(data)
    except DataError as error:
        raise DataError(f"{str(path)!r} cannot be opened: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise DataError(
            f"{str(path)!r} is damaged: a part of the release is missing or of another kind. Take a fresh copy of it."
        ) from None
