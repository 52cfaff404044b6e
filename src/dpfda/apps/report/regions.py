"""Come here for pictures of kernel machines on a page: a function around zero, and regions of decision."""

from __future__ import annotations

from typing import cast

import numpy as np

from dpfda.apps.report.axes import Scale, around, frame
from dpfda.apps.report.content import Places
from dpfda.apps.report.markup import number, place, text
from dpfda.apps.report.picture import HEIGHT, WIDTH, drawing, heat, path_of
from dpfda.apps.report.values import CELLS, Values
from dpfda.arrays import Array
from dpfda.releases.machine import MachineRelease

UNSURE = 2.0  # deviations of the noise
BELOW, ABOVE = (217, 166, 121), (159, 197, 220)  # of the two classes; they differ in grey too
MOST_CROSSINGS = 6


def line(release: MachineRelease, values: Values, deviation: Array, *, title: str, stamp: str) -> tuple[str, Places]:
    """A function above its interval with its noise to each side, and where its points lie."""
    ends = (values.value - UNSURE * deviation, values.value + UNSURE * deviation)
    low, high = float(ends[0].min()), float(ends[1].max())
    side = release.basis.domain.sides[0]
    across = Scale(*side, 72.0, WIDTH - 20.0)
    up = Scale(*around(min(low, 0.0), max(high, 0.0)), HEIGHT - 50.0, 24.0)
    x = [across(float(point)) for point in values.points[:, 0]]
    lower, upper, places = ([(a, up(float(y))) for a, y in zip(x, each, strict=True)] for each in (*ends, values.value))
    zero = place(up(0.0))
    parts = [
        frame(across, up, ("x", ""), lines=True),
        f'<polygon class="band" points="{path_of([*upper, *reversed(lower)])}"/>',
        f'<line class="zero" x1="72" x2="{place(across.end)}" y1="{zero}" y2="{zero}"/>',
        f'<polyline class="curve" points="{path_of(places)}"/>',
        f'<line class="guide" x1="0" x2="0" y1="{place(up.end)}" y2="{place(up.start)}"/>',
    ]
    said = (
        f"It begins at {number(values.value[0])} and ends at {number(values.value[-1])}, between "
        f"{number(float(values.value.min()))} and {number(float(values.value.max()))}."
    )
    if release.classes is not None:
        said += f" {described(release, values, deviation)}"
    return drawing(parts, title=title, description=said, stamp=stamp), places


def regions(release: MachineRelease, values: Values, deviation: Array, *, title: str, stamp: str) -> tuple[str, Places]:
    """Where each class is decided, with the boundary and dots where noise could decide, and where points lie."""
    from contourpy import contour_generator

    assert release.classes is not None
    sides = release.basis.domain.sides
    across, up = Scale(*sides[0], 72.0, 590.0), Scale(*sides[1], HEIGHT - 50.0, 24.0)
    value = values.value.reshape(CELLS, CELLS)
    two = Scale(0.0, 1.0, 0.0, 1.0)
    parts = [
        heat((value > 0).astype(np.float64), across, up, two, (BELOW, ABOVE)),
        frame(across, up, ("x1", "x2"), lines=False),
    ]
    places = [(across(float(a)), up(float(b))) for a, b in values.points]
    unsure = np.abs(values.value) < UNSURE * deviation
    parts += [
        f'<circle class="unsure" cx="{place(x)}" cy="{place(y)}" r="1.6"/>'
        for (x, y), dotted in zip(places, unsure, strict=True)
        if dotted
    ]
    nodes = [np.linspace(*side, CELLS) for side in sides]
    for piece in cast(list[Array], contour_generator(nodes[0], nodes[1], value.T).lines(0.0)):
        where = [(across(float(a)), up(float(b))) for a, b in piece]
        parts.append(f'<polyline class="contour" points="{path_of(where)}"/>')
    for row, (label, colour) in enumerate(zip(release.classes, (BELOW, ABOVE), strict=True)):
        fill = "#" + "".join(f"{part:02x}" for part in colour)
        top = 40.0 + 26.0 * row
        parts.append(f'<rect x="610" y="{place(top)}" width="16" height="16" fill="{fill}"/>')
        parts.append(f'<text x="632" y="{place(top + 13)}">{text(_short(str(label)))}</text>')
    said = described(release, values, deviation)
    return drawing(parts, title=title, description=said, stamp=stamp), places


def described(release: MachineRelease, values: Values, deviation: Array) -> str:
    """What is decided where, for those who do not see the picture."""
    assert release.classes is not None
    above = float((values.value > 0).mean())
    unsure = float((np.abs(values.value) < UNSURE * deviation).mean())
    said = (
        f"The class is {release.classes[1]!r} in {above:.0%} of the domain, {release.classes[0]!r} in the rest; in "
        f"{unsure:.0%} of it the value is within {UNSURE:g} deviations of the noise."
    )
    if values.points.shape[1] > 1:
        return said
    changes = np.flatnonzero(np.diff(values.value > 0))
    at = ", ".join(number(float(values.points[index : index + 2, 0].mean())) for index in changes[:MOST_CROSSINGS])
    more = "" if len(changes) <= MOST_CROSSINGS else f" and at {len(changes) - MOST_CROSSINGS} places more"
    return f"{said} It changes at x = {at}{more}." if len(changes) else f"{said} It never changes."


def _short(label: str) -> str:
    return label if len(label) <= 16 else f"{label[:15]}…"
