"""What `dpfda evaluate` says of each kind of release: columns of points and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.bases import Domain
from dpfda.errors import UsageError

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


def numbers(text: str, option: str, *, count: int | None) -> tuple[float, ...]:
    """Numbers that are separated by commas; `option` is named in the refusal."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or (count is not None and len(values) != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise UsageError(f"{option} takes {wanted} separated by commas, e.g. {option} 0,1; got {brief(text)}.")
    return values
