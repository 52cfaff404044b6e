"""The one table of kinds of release: what each is called, and where its folder is.

A kind of release is a statistic: a folder with `release.py` (its file), `page.py` (its page, its tables, its answers),
`plan.py` and `estimator.py`. To add one: the folder, and one line in `_FOLDERS`; from outside the package,
`register(name, folder)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.releases.base import AnyRelease
from dpfda.releases.comparisons import Comparisons

# Loaded when first asked for: `dpfda show` of a mean needs nothing of the other statistics.
_FOLDERS: dict[str, str] = {
    "mean": "dpfda.statistics.mean",
    "covariance": "dpfda.statistics.covariance",
    "components": "dpfda.statistics.components",
    "density": "dpfda.statistics.density",
    "machine": "dpfda.statistics.machines",
    "regression": "dpfda.statistics.regression",
    "function": "dpfda.statistics.function",
}
_LOADED: dict[str, Statistic] = {}
NOTHING_KNOWN = Comparisons()


@dataclass(frozen=True)
class Statistic:
    """A kind of release; its parts are loaded when they are first used."""

    name: str
    folder: str  # a package that has the modules `release` and `page`

    @cached_property
    def release(self) -> type[AnyRelease]:
        """Its class of releases: `RELEASE` in `release.py`."""
        release: type[AnyRelease] = import_module(f"{self.folder}.release").RELEASE
        return release

    @cached_property
    def comparisons(self) -> Comparisons:
        """What a verification can compare: `COMPARISONS` in `release.py`, or nothing for a statistic that has none."""
        found: Comparisons = getattr(import_module(f"{self.folder}.release"), "COMPARISONS", NOTHING_KNOWN)
        return found

    @cached_property
    def page(self) -> Any:
        """What people see of it: `PAGE` in `page.py`, a `dpfda.page.base.Page`."""
        return import_module(f"{self.folder}.page").PAGE


def register(name: str, folder: str) -> None:
    """Add a kind of release that lives outside this package.

    `folder` is the importable package with its modules `release` (with `RELEASE`) and `page` (with `PAGE`).
    """
    if name in _FOLDERS and _FOLDERS[name] != folder:
        raise UsageError(f"The kind of release {brief(name)} is taken by {brief(_FOLDERS[name])}. Take another name.")
    _FOLDERS[name] = folder


def kind_in(data: dict[str, Any]) -> Any:
    """The kind that a file states; files from before there were kinds hold means."""
    return data.get("kind", next(iter(_FOLDERS)))


def kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(_FOLDERS)


def statistic(name: str) -> Statistic:
    """The kind of release of this name; a `KeyError` where there is none."""
    if name not in _LOADED:
        _LOADED[name] = Statistic(name, _FOLDERS[name])
    return _LOADED[name]


def comparisons_of(name: str) -> Comparisons:
    """What a verification can ask about releases of this kind; nothing where the kind is not known."""
    return statistic(name).comparisons if name in _FOLDERS else NOTHING_KNOWN


def has_band(name: str) -> bool:
    """Whether releases of this kind have a noise band, as their class says; not where the kind is not known."""
    return name in _FOLDERS and bool(getattr(statistic(name).release, "has_band", False))


def statistic_of(release: object) -> Statistic:
    """Which kind a release is of."""
    name = getattr(type(release), "kind", None)
    if isinstance(name, str) and name in _FOLDERS and statistic(name).release is type(release):
        return statistic(name)
    raise UsageError(f"Releases can be written to files, and {type(release).__name__} is none of them.")


def is_release(thing: object) -> bool:
    """Whether something is a release of a kind in the table."""
    try:
        statistic_of(thing)
    except UsageError:
        return False
    return True


def every() -> Iterator[Statistic]:
    """All kinds, in the order of the table."""
    return map(statistic, _FOLDERS)
