"""Come here for pictures of several curves above one domain, each with its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.apps.report.axes import Scale, around, frame
from dpfda.apps.report.content import Places
from dpfda.apps.report.markup import number, place, text
from dpfda.apps.report.picture import HEIGHT, WIDTH, drawing, path_of
from dpfda.arrays import Array

KINDS = 4  # of lines: they differ in colour and in their dashes
ROW = 18.0  # of the names below a picture


@dataclass(frozen=True, eq=False)
class Line:
    """A curve with its name."""

    name: str
    values: Array  # (m,)


def curves(
    points: Array, lines: Sequence[Line], side: tuple[float, float], *, title: str, stamp: str
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
