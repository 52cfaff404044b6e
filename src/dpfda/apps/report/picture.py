"""Come here for the pictures on a page: a curve with its noise band, or a surface as a heat map, drawn as SVG."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from dpfda.apps.report.axes import Scale, around, frame
from dpfda.apps.report.markup import number, place, text
from dpfda.apps.report.values import CELLS, Values
from dpfda.arrays import Array

WIDTH, HEIGHT = 760, 430
# Five colours of the viridis scale: equal steps look equal, in grey too.
COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


def curve(
    values: Values, side: tuple[float, float], *, title: str, stamp: str
) -> tuple[str, list[tuple[float, float]]]:
    """A curve above its domain, and where each of its points lies in the picture."""
    band = values.drawable
    drawn = [values.value, *(band or ())]
    ends = around(float(np.min(drawn)), float(np.max(drawn)))
    across, up = Scale(*side, 72.0, WIDTH - 20.0), Scale(*ends, HEIGHT - 50.0, 24.0)
    places = [(across(float(t)), up(float(y))) for t, y in zip(values.points[:, 0], values.value, strict=True)]
    parts = [frame(across, up, ("t", ""), lines=True)]
    if band is not None:
        there, back = zip(values.points[:, 0], band[1], strict=True), zip(values.points[:, 0], band[0], strict=True)
        corners = [(across(float(t)), up(float(y))) for t, y in (*there, *reversed([*back]))]
        parts.append(f'<polygon class="band" points="{_line(corners)}"/>')
    parts.append(f'<polyline class="curve" points="{_line(places)}"/>')
    parts.append(f'<line class="guide" x1="0" x2="0" y1="{place(up.end)}" y2="{place(up.start)}"/>')
    return _drawing(parts, title=title, description=describe(values), stamp=stamp), places


def surface(
    values: Values, sides: Sequence[tuple[float, float]], *, title: str, stamp: str
) -> tuple[str, list[tuple[float, float]]]:
    """A heat map with its colour scale, and where each of its points lies in the picture."""
    across, up = Scale(*sides[0], 72.0, 590.0), Scale(*sides[1], HEIGHT - 50.0, 24.0)
    low, high = float(values.value.min()), float(values.value.max())
    colour = Scale(*((low, high) if low < high else around(low, high)), 0.0, 1.0)
    edges = [_edges(np.linspace(*side, CELLS)) for side in sides]
    parts = ['<g shape-rendering="crispEdges">']
    for index, value in enumerate(values.value):
        i, j = divmod(index, CELLS)
        left, right = across(edges[0][i]), across(edges[0][i + 1])
        bottom, top = up(edges[1][j]), up(edges[1][j + 1])
        parts.append(_cell(left, top, right - left, bottom - top, shade(colour(float(value)))))
    parts += ["</g>", frame(across, up, ("t1", "t2"), lines=False), _legend(colour, up)]
    places = [(across(float(a)), up(float(b))) for a, b in values.points]
    return _drawing(parts, title=title, description=describe(values), stamp=stamp), places


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


def shade(share: float) -> str:
    """The colour of a share of the scale between 0 and 1."""
    position = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    first = min(int(position), len(COLOURS) - 2)
    mixed = [a + (position - first) * (b - a) for a, b in zip(COLOURS[first], COLOURS[first + 1], strict=True)]
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def _where(values: Values, index: int) -> str:
    return ", ".join(f"{name} = {number(t)}" for name, t in zip(values.names, values.points[index], strict=False))


def _line(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{place(x)},{place(y)}" for x, y in places)


def _edges(nodes: Array) -> list[float]:
    """Cells around nodes, cut off at the ends of the domain."""
    return [float(nodes[0]), *((nodes[1:] + nodes[:-1]) / 2).tolist(), float(nodes[-1])]


def _cell(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{place(x)}" y="{place(y)}" width="{place(width)}" height="{place(height)}" fill="{fill}"/>'


def _legend(colour: Scale, up: Scale) -> str:
    """The colour scale beside a heat map, with its numbers."""
    bar = Scale(colour.low, colour.high, up.start, up.end)
    steps = np.linspace(0.0, 1.0, 65)
    parts = []
    for low, high in itertools.pairwise(steps):
        bottom, top = (up.start + share * (up.end - up.start) for share in (low, high))
        parts.append(_cell(620, top, 22, bottom - top, shade((low + high) / 2)))
    parts += [f'<text x="650" y="{place(bar(value) + 4)}">{label}</text>' for value, label in bar.ticks()]
    return "\n".join(parts)


def _drawing(parts: Sequence[str], *, title: str, description: str, stamp: str) -> str:
    mark = (
        f'<text class="mark" x="{WIDTH // 2}" y="{HEIGHT // 2}" text-anchor="middle">{text(stamp)}</text>'
        if stamp
        else ""
    )
    return (
        f'<svg id="drawing" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-labelledby="drawing-title drawing-description">\n'
        f'<title id="drawing-title">{text(title)}</title>\n'
        f'<desc id="drawing-description">{text(description)}</desc>\n'
        + "\n".join(parts)
        + f'\n{mark}<circle class="guide" cx="0" cy="0" r="5"/>\n</svg>'
    )
