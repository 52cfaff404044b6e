"""What is on the page of a release: its table, picture and caption, and the markup that they are written in."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.releases import Release
from dpfda.releases.bands import check_level


def text(value: object) -> str:
    """Any value as text of a page: escaped, with unprintable characters replaced."""
    plain = str(value).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate becomes a question mark
    shown = "".join(letter if letter.isprintable() or letter in " \n\t" else "\ufffd" for letter in plain)
    return html.escape(shown, quote=True)


def number(value: float) -> str:
    """A number for people, in six digits."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.6g}"


def place(value: float) -> str:
    """A coordinate inside a picture, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def table(caption: str, head: Sequence[str], rows: Iterable[str], *, name: str = "") -> str:
    """A table with headings that screen readers announce; rows come as markup."""
    cells = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    mark = f' id="{name}"' if name else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(caption)}">'
        f"<table{mark}><caption>{text(caption)}</caption>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def row(head: object, *cells: object, attributes: str = "") -> str:
    """A row whose first cell names it."""
    rest = "".join(f"<td>{text(cell)}</td>" for cell in cells)
    return f'<tr{attributes}><th scope="row">{text(head)}</th>{rest}</tr>'


def download(label: str, name: str, kind: str, content: str) -> str:
    """A link that holds its file, so that the page needs no other file."""
    size = len(content.encode("utf-8"))
    shown = f"{size / 1000:.0f} kB" if size >= 1000 else f"{size} bytes"
    # Percent signs rather than base64: the page then holds no "//" that could be taken for an address.
    where = f"data:{kind};charset=utf-8,{quote(content, safe='')}"
    return f'<a download="{text(name)}" href="{where}">{text(label)} ({shown})</a>'


Places = list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Content:
    """The parts of a page that differ from kind to kind; all of it is text and numbers of the release."""

    names: tuple[str, ...]  # of the columns of the table
    columns: Array  # (m, number of columns)
    sides: tuple[int, ...]  # how many points there are along each of the leading columns, which say where
    places: Places  # where each row lies in the picture; empty: there is none
    drawing: str  # markup; empty: there is no picture
    caption: str
    listed: str  # what the table lists
    python: tuple[str, ...]  # lines of code that use `release`
    evaluate: str  # options of `dpfda evaluate`; empty: it cannot
    commands: tuple[str, ...] = ()  # what else `dpfda` can do with it; FILE stands for the release

    def csv(self) -> str:
        """The table as CSV, numbers in full."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(self.columns.tolist())
        return file.getvalue()


def spots(sides: tuple[tuple[float, float], ...]) -> list[float] | list[list[float]]:
    """Both ends and the middle of a domain, as points in Python code."""
    ends = [[low, low + (high - low) / 2, high] for low, high in sides]
    points = [list(spot) for spot in zip(*ends, strict=True)]
    return [point[0] for point in points] if len(sides) == 1 else points


def typed(sides: tuple[tuple[float, float], ...]) -> str:
    """The same points as `dpfda evaluate` takes them."""
    points = [point if isinstance(point, list) else [point] for point in spots(sides)]
    return ",".join(":".join(map(str, point)) for point in points)


ROWS = 101  # of the table of a curve
CELLS = 33  # along each side of a surface
MOST_ROWS = 1000  # of the table in more dimensions


@dataclass(frozen=True, eq=False)
class Values:
    """Values of a release at points, and the ends of the band where there is one."""

    points: Array  # (m, p)
    value: Array  # (m,)
    band: tuple[Array, Array] | None  # lower and upper ends, (m,) each
    level: float
    without_band: str  # why there is none, in the words of the release
    axis: str = "t"  # what points are called
    what: str = "value"  # and what values are

    @property
    def drawable(self) -> tuple[Array, Array] | None:
        """The band, unless it is infinite."""
        return self.band if self.band is not None and np.isfinite(self.band).all() else None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a table of these values."""
        sides = self.points.shape[1]
        points = (self.axis,) if sides == 1 else tuple(f"{self.axis}{side + 1}" for side in range(sides))
        return (*points, self.what, *(() if self.band is None else ("lower", "upper")))

    @property
    def columns(self) -> Array:
        """The columns side by side, (m, columns)."""
        return np.column_stack([self.points, self.value, *(self.band or ())])

    def every(self, step: int) -> Values:
        """Every `step`-th point alone."""
        band = None if self.band is None else (self.band[0][::step], self.band[1][::step])
        return replace(self, points=self.points[::step], value=self.value[::step], band=band)

    def reach(self) -> str:
        """How far the band goes from its middle, in words; empty where there is none."""
        if self.drawable is None:
            return ""
        half = (self.drawable[1] - self.drawable[0]) / 2
        return f"{number(float(half.min()))} to {number(float(half.max()))} to each side of its middle"


def values_of(release: Release, level: float, size: int) -> Values:
    """A release at `size` points along each side; without a band where the release has none."""
    check_level(level)
    points = release.points(size)
    value = release(points)
    try:
        band = release.band(level, points)
    except UsageError as error:
        return Values(points, value, None, level, str(error))
    return Values(points, value, (band.lower, band.upper), level, "")


def sizes(release: Any) -> tuple[int, int]:
    """Points along each side for the picture, and the step that leaves those of the table."""
    dimension = release.basis.domain.dimension
    if dimension == 1:
        # Sixteen points or so for each half-wave of the roughest function, within reason.
        step = min(max(4, math.ceil(release.basis.size / 8)), 40)
        return step * (ROWS - 1) + 1, step
    return (CELLS if dimension == 2 else max(2, int(MOST_ROWS ** (1 / dimension)))), 1
