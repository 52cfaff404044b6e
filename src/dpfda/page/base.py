"""What people see of one kind of release: its page, the columns of `dpfda evaluate`, and what the service answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.bases import Domain
from dpfda.errors import UsageError
from dpfda.page.content import Content
from dpfda.releases.kinds import statistic_of

Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of one `dpfda evaluate`."""

    at: str
    derivative: int = 0
    level: float | None = None
    covariates: str | None = None  # of a regression: for whom a curve is predicted
    cdf: bool = False  # of a density: the distribution function too
    quantiles: str | None = None  # of a density, instead of points


def places(domain: Domain, at: str) -> tuple[Array, Columns]:
    """Points in a domain, and their columns: points are separated by commas, coordinates of one by colons."""
    try:
        rows = [[float(part) for part in point.split(":")] for point in at.split(",")]
    except ValueError:
        rows = []
    if not rows or any(len(row) != domain.dimension for row in rows):
        example = ",".join(":".join([number] * domain.dimension) for number in ("0", "1"))
        each = "" if domain.dimension == 1 else f" of {domain.dimension} coordinates, with colons between them"
        raise UsageError(f"--at takes points{each}, separated by commas, e.g. --at {example}; got {brief(at)}.")
    columns = (list(column) for column in zip(*rows, strict=True))
    return domain.points(np.array(rows)), dict(zip(coordinates(domain.dimension), columns, strict=True))


def coordinates(dimension: int) -> tuple[str, ...]:
    """The names of the coordinates of a point."""
    return ("x",) if dimension == 1 else tuple(f"x{axis + 1}" for axis in range(dimension))


# How the service asks a release: how many points of the domain make one question, what the numbers in an answer are
# called, and the answers, (m, p) -> (m,) or (m, k). `Page.table` says the same in columns; a test compares them.
Answered = tuple[int, tuple[str, ...], Callable[[Array], Array]]


class Page(ABC):
    """Duties of a kind: `content` for its page and `table` for `dpfda evaluate`. The rest suits most kinds."""

    @abstractmethod
    def content(self, release: Any, *, level: float, title: str, stamp: str) -> Content:
        """Table, picture and caption of its page."""

    @abstractmethod
    def table(self, release: Any, asked: Asked) -> Columns:
        """The columns that a release has at the points asked for."""

    def facts(self, release: Any) -> dict[str, Any]:
        """What is known of a release as a whole beside its values, as data."""
        return {}

    def summary(self, release: Any) -> tuple[dict[str, Any], str]:
        """What `dpfda show` adds to a card, as data and for people; nothing for most kinds."""
        return self.facts(release), noise_text(release)

    def notes(self, release: Any, asked: Asked, table: Columns) -> tuple[str, ...]:
        """What a reader of the columns should know, in sentences."""
        return () if "lower" not in table or is_infinite(table) else self.band_notes(release)

    def band_notes(self, release: Any) -> tuple[str, ...]:
        """A sentence about the middle of a noise band, where that is not the value printed beside it."""
        name = release.smoothing.name
        return () if name == "none" else (band_text("the values before smoothing", name),)

    def answers(self, release: Any) -> Answered:
        """How the service asks a release of this kind."""
        return 1, (), lambda points: np.asarray(release(points))


def page_of(release: Any) -> Page:
    """The page of the kind that a release is of."""
    page: Page = statistic_of(release).page
    return page


def check_curves(release: Any, asked: Asked) -> None:
    """Refuse options of `dpfda evaluate` that do not fit curves on an interval."""
    check_no_distribution(asked)
    if release.basis.domain.dimension > 1:
        raise UsageError("evaluate knows releases on an interval; for a surface use dpfda.load(...) in Python.")
    if asked.level is not None and asked.derivative:
        raise UsageError("--level gives the noise band of the curve itself: leave --derivative out.")


def check_no_distribution(asked: Asked) -> None:
    """Refuse options that only a density has."""
    if asked.cdf or asked.quantiles is not None:
        raise UsageError("--cdf and --quantiles are for a density: leave them out.")


def check_no_covariates(asked: Asked) -> None:
    """Refuse options that only a regression has."""
    if asked.covariates is not None:
        raise UsageError("--covariates is for a regression, which predicts a curve for them: leave it out.")


def is_infinite(table: Columns) -> bool:
    """Whether a noise band in a table is infinite."""
    return any(math.isinf(end) for end in table.get("lower", ()))


def noise_text(release: Any) -> str:
    """How large the noise was against what was released, as a sentence."""
    against = getattr(release, "against_noise", "")
    return f"{against[:1].upper()}{against[1:]}." if against else ""


def band_text(values: str, smoothing: str) -> str:
    """A sentence that says around which values a noise band lies."""
    return (
        f"The noise band stands around {values} ({smoothing}), since only of those the noise is known: a value that is "
        "printed beside it may lie off its middle, or outside."
    )
