"""Pictures on a page, drawn as SVG: axes, a curve with its noise band, several curves, a surface, contours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from dpfda.arrays import Array
from dpfda.page.content import CELLS, Places, Values, number, place, text


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale: numbers from low to high, drawn from start to end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round numbers within the scale, at most so many, each with its label."""
        step = _round_step((self.high - self.low) / (most - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        # Fifteen digits: no label is 0.30000000000000004, and neighbours never share one.
        return [(index * step, f"{index * step:.15g}") for index in range(first, last + 1)]


def _round_step(least: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def around(low: float, high: float) -> tuple[float, float]:
    """A range somewhat wider than from low to high, also where both are equal."""
    air = 0.05 * (high - low) or abs(low) / 10 or 1.0
    return low - air, high + air


def frame(across: Scale, up: Scale, names: tuple[str, str], *, lines: bool) -> str:
    """Both axes with numbers and names, and lines behind the picture."""
    parts = []
    for value, label in across.ticks():
        x = place(across(value))
        if lines:
            parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{place(up.start)}" y2="{place(up.end)}"/>')
        parts.append(f'<text x="{x}" y="{place(up.start + 20)}" text-anchor="middle">{label}</text>')
    for value, label in up.ticks():
        y = up(value)
        if lines:
            ends = f'x1="{place(across.start)}" x2="{place(across.end)}"'
            parts.append(f'<line class="grid" {ends} y1="{place(y)}" y2="{place(y)}"/>')
        parts.append(f'<text x="{place(across.start - 8)}" y="{place(y + 4)}" text-anchor="end">{label}</text>')
    middles = [(scale.start + scale.end) / 2 for scale in (across, up)]
    below, beside = (middles[0], up.start + 40), (10.0, middles[1])
    for name, (left, top) in zip(names, (below, beside), strict=True):
        parts.append(f'<text x="{place(left)}" y="{place(top)}" text-anchor="middle">{text(name)}</text>')
    return "\n".join(parts)


WIDTH, HEIGHT = 760, 430
# Five colours of the viridis scale: equal steps look equal, in grey too.
COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
# From blue over white to red: zero in the middle.
AROUND_ZERO = ((33, 102, 172), (146, 197, 222), (247, 247, 247), (244, 165, 130), (178, 24, 43))
# From light to dark: numbers on it can be read.
UPWARDS = ((255, 255, 204), (254, 217, 118), (253, 141, 60), (240, 59, 32), (189, 0, 38))
Colours = tuple[tuple[int, int, int], ...]


def curve(
    values: Values, side: tuple[float, float], *, title: str, stamp: str, floor: float | None = None
) -> tuple[str, Places]:
    """A curve above its domain, and where each of its points lies in the picture; `floor` is where the axis begins."""
    band = values.drawable
    drawn = [values.value, *(band or ())]
    low, high = around(float(np.min(drawn)), float(np.max(drawn)))
    ends = (low if floor is None else floor, high)
    across, up = Scale(*side, 72.0, WIDTH - 20.0), Scale(*ends, HEIGHT - 50.0, 24.0)
    places = [(across(float(t)), up(float(y))) for t, y in zip(values.points[:, 0], values.value, strict=True)]
    parts = [frame(across, up, (values.axis, ""), lines=True)]
    if band is not None:
        there, back = zip(values.points[:, 0], band[1], strict=True), zip(values.points[:, 0], band[0], strict=True)
        corners = [(across(float(t)), up(float(y))) for t, y in (*there, *reversed([*back]))]
        parts.append(f'<polygon class="band" points="{path_of(corners)}"/>')
    parts.append(f'<polyline class="curve" points="{path_of(places)}"/>')
    parts.append(f'<line class="guide" x1="0" x2="0" y1="{place(up.end)}" y2="{place(up.start)}"/>')
    return drawing(parts, title=title, description=describe(values), stamp=stamp), places


def surface(values: Values, sides: Sequence[tuple[float, float]], *, title: str, stamp: str) -> tuple[str, Places]:
    """A heat map with its colour scale, and where each of its points lies in the picture."""
    across, up = Scale(*sides[0], 72.0, 590.0), Scale(*sides[1], HEIGHT - 50.0, 24.0)
    low, high = float(values.value.min()), float(values.value.max())
    colour = Scale(*((low, high) if low < high else around(low, high)), 0.0, 1.0)
    cells = values.value.reshape(CELLS, CELLS)
    parts = [
        heat(cells, across, up, colour, COLOURS),
        frame(across, up, (values.names[0], values.names[1]), lines=False),
    ]
    parts.append(_legend(colour, up, COLOURS))
    places = [(across(float(a)), up(float(b))) for a, b in values.points]
    return drawing(parts, title=title, description=describe(values), stamp=stamp), places


def contours(
    value: Array, side: tuple[float, float], *, title: str, description: str, stamp: str
) -> tuple[str, Places]:
    """A function of two points of an interval as colours with contours, and where its points lie."""
    from contourpy import contour_generator

    from dpfda.releases.plots import around_zero, contour_levels

    across, up = Scale(*side, 72.0, 590.0), Scale(*side, HEIGHT - 50.0, 24.0)
    levels = contour_levels(value)
    colour = Scale(float(levels[0]), float(levels[-1]), 0.0, 1.0)
    colours = AROUND_ZERO if around_zero(levels) else UPWARDS
    nodes = np.linspace(*side, len(value))
    parts = [heat(value, across, up, colour, colours), frame(across, up, ("s", "t"), lines=False)]
    traced = contour_generator(nodes, nodes, value.T)
    for level in levels[(levels > value.min()) & (levels < value.max())]:
        for line in cast(list[Array], traced.lines(float(level))):
            where = [(across(float(s)), up(float(t))) for s, t in line]
            parts.append(f'<polyline class="contour" points="{path_of(where)}"/>')
            x, y = where[len(where) // 2]
            parts.append(f'<text class="level" x="{place(x)}" y="{place(y + 4)}" text-anchor="middle">{level:g}</text>')
    parts.append(_legend(colour, up, colours))
    places = [(across(float(s)), up(float(t))) for s in nodes for t in nodes]
    return drawing(parts, title=title, description=description, stamp=stamp), places


def describe(values: Values) -> str:
    """What the picture shows, for those who do not see it."""
    least, most = int(np.argmin(values.value)), int(np.argmax(values.value))
    said = [
        f"The lowest value is {number(values.value[least])} at {_where(values, least)}, the highest "
        f"{number(values.value[most])} at {_where(values, most)}."
    ]
    if values.points.shape[1] == 1:
        said.insert(0, f"It begins at {number(values.value[0])} and ends at {number(values.value[-1])}.")
    if values.drawable is not None:
        said.append(f"The {100 * values.level:g} % noise band reaches {values.reach()}.")
    return " ".join(said)


def shade(share: float, colours: Colours = COLOURS) -> str:
    """The colour of a share of the scale between 0 and 1."""
    position = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    first = min(int(position), len(colours) - 2)
    mixed = [a + (position - first) * (b - a) for a, b in zip(colours[first], colours[first + 1], strict=True)]
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def _where(values: Values, index: int) -> str:
    return ", ".join(f"{name} = {number(t)}" for name, t in zip(values.names, values.points[index], strict=False))


def path_of(places: Sequence[tuple[float, float]]) -> str:
    """The points of a line in the notation of SVG."""
    return " ".join(f"{place(x)},{place(y)}" for x, y in places)


def _edges(nodes: Array) -> list[float]:
    """Cells around nodes, cut off at the ends of the domain."""
    return [float(nodes[0]), *((nodes[1:] + nodes[:-1]) / 2).tolist(), float(nodes[-1])]


def heat(value: Array, across: Scale, up: Scale, colour: Scale, colours: Colours) -> str:
    """A heat map of values at equally spaced nodes, the first index across, (m, m)."""
    edges = [_edges(np.linspace(scale.low, scale.high, len(value))) for scale in (across, up)]
    parts = ['<g shape-rendering="crispEdges">']
    for (i, j), each in np.ndenumerate(value):
        left, right = across(edges[0][i]), across(edges[0][i + 1])
        bottom, top = up(edges[1][j]), up(edges[1][j + 1])
        parts.append(_cell(left, top, right - left, bottom - top, shade(colour(float(each)), colours)))
    return "\n".join([*parts, "</g>"])


def _cell(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{place(x)}" y="{place(y)}" width="{place(width)}" height="{place(height)}" fill="{fill}"/>'


def _legend(colour: Scale, up: Scale, colours: Colours) -> str:
    """The colour scale beside a heat map, with its numbers."""
    bar = Scale(colour.low, colour.high, up.start, up.end)
    steps = np.linspace(0.0, 1.0, 65)
    parts = []
    for low, high in itertools.pairwise(steps):
        bottom, top = (up.start + share * (up.end - up.start) for share in (low, high))
        parts.append(_cell(620, top, 22, bottom - top, shade((low + high) / 2, colours)))
    parts += [f'<text x="650" y="{place(bar(value) + 4)}">{label}</text>' for value, label in bar.ticks()]
    return "\n".join(parts)


def drawing(parts: Sequence[str], *, title: str, description: str, stamp: str, height: float = HEIGHT) -> str:
    """The picture of these parts, with a title and a description for those who do not see it."""
    mark = (
        f'<text class="mark" x="{WIDTH // 2}" y="{HEIGHT // 2}" text-anchor="middle">{text(stamp)}</text>'
        if stamp
        else ""
    )
    return (
        f'<svg id="drawing" viewBox="0 0 {WIDTH} {place(height)}" role="img" '
        'aria-labelledby="drawing-title drawing-description">\n'
        f'<title id="drawing-title">{text(title)}</title>\n'
        f'<desc id="drawing-description">{text(description)}</desc>\n'
        + "\n".join(parts)
        + f'\n{mark}<circle class="guide" cx="0" cy="0" r="5"/>\n</svg>'
    )


KINDS = 4  # of lines: they differ in colour and in their dashes
ROW = 18.0  # of the names below a picture


@dataclass(frozen=True, eq=False)
class NamedCurve:
    """A curve with its name."""

    name: str
    values: Array  # (m,)


def curves(
    points: Array, lines: Sequence[NamedCurve], side: tuple[float, float], *, title: str, stamp: str
) -> tuple[str, Places]:
    """Curves around zero with their names below, and where the points of the first lie in the picture."""
    every = np.stack([line.values for line in lines])
    across = Scale(*side, 72.0, WIDTH - 20.0)
    up = Scale(*around(min(float(every.min()), 0.0), max(float(every.max()), 0.0)), HEIGHT - 50.0, 24.0)
    zero = place(up(0.0))
    parts = [
        frame(across, up, ("t", ""), lines=True),
        f'<line class="zero" x1="{place(across.start)}" x2="{place(across.end)}" y1="{zero}" y2="{zero}"/>',
    ]
    for index, line in enumerate(lines):
        kind = f"curve line-{index % KINDS + 1}"
        where = [(across(float(t)), up(float(y))) for t, y in zip(points, line.values, strict=True)]
        parts.append(f'<polyline class="{kind}" points="{path_of(where)}"/>')
        low = HEIGHT + ROW * index
        parts.append(f'<line class="{kind}" x1="72" x2="112" y1="{place(low)}" y2="{place(low)}"/>')
        parts.append(f'<text x="120" y="{place(low + 4)}">{text(line.name)}</text>')
    parts.append(f'<line class="guide" x1="0" x2="0" y1="{place(up.end)}" y2="{place(up.start)}"/>')
    places = [(across(float(t)), up(float(y))) for t, y in zip(points, lines[0].values, strict=True)]
    said = " ".join(f"{line.name[:1].upper()}{line.name[1:]}: {_described(points, line.values)}" for line in lines)
    height = HEIGHT + ROW * len(lines)
    return drawing(parts, title=title, description=said, stamp=stamp, height=height), places


def _described(points: Array, values: Array) -> str:
    least, most = int(values.argmin()), int(values.argmax())
    return (
        f"begins at {number(values[0])}, ends at {number(values[-1])}, lowest {number(values[least])} at t = "
        f"{number(points[least])}, highest {number(values[most])} at t = {number(points[most])}."
    )
