"""The page of a kernel machine: the function on a line, decision regions, or a surface."""

from __future__ import annotations

from typing import cast

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.page.base import Asked, Columns, Page, check_no_covariates, check_no_distribution, places
from dpfda.page.content import CELLS, ROWS, Content, Places, Values, number, place, spots, text, typed
from dpfda.page.picture import HEIGHT, WIDTH, Scale, around, describe, drawing, frame, heat, path_of, surface
from dpfda.releases.bands import check_level
from dpfda.statistics.machines.release import MachineRelease

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


STEP = 4  # points of the picture of a line for each row of the table
PROFILE = 21  # points along each side of a box with more than two


def _points(release: MachineRelease) -> tuple[Array, tuple[int, ...], int]:
    """Points to look at, how many there are along each side, and the step that leaves those of the table."""
    dimension = release.basis.domain.dimension
    if dimension == 1:
        return release.points(STEP * (ROWS - 1) + 1), (ROWS,), STEP
    if dimension == 2:
        return release.points(CELLS), (CELLS, CELLS), 1
    # A grid would have too many: along each side through the middle.
    lows, highs = np.array(release.basis.domain.sides).T
    rows = np.tile((lows + highs) / 2, (dimension * PROFILE, 1))
    for axis in range(dimension):
        rows[axis * PROFILE : (axis + 1) * PROFILE, axis] = np.linspace(lows[axis], highs[axis], PROFILE)
    return rows, (), 1


def _extra(release: MachineRelease, points: Array) -> dict[str, Array]:
    if release.classes is None:
        return {"prediction": np.asarray(release.predict(points), dtype=np.float64)}
    return {"probability": release.probabilities(points)[:, 1]} if release.loss == "logistic" else {}


def _caption(release: MachineRelease, values: Values, deviation: Array, *, drawn: bool) -> str:
    dimension = release.basis.domain.dimension
    said = []
    if not drawn:
        said.append(
            f"A function of {dimension} coordinates has no picture here: the table goes along each side through the "
            f"middle. {describe(values)}"
        )
    elif dimension == 1:
        said.append(f"The line is the released function, shaded are {UNSURE:g} deviations of the noise to each side.")
    elif release.classes is None:
        said.append("Colours show the released function.")
    else:
        said.append(f"Colours show what is decided; dots where the value is within {UNSURE:g} deviations of the noise.")
    if release.classes is not None:
        below, above = release.classes
        said.append(f"Above zero the class is {above!r}, below it is {below!r}.")
        if drawn:
            said.append(described(release, values, deviation))
        if release.loss == "logistic":
            said.append(f"Probabilities are those of {above!r}.")
    said.append(
        f"The noise has a deviation of {number(float(deviation.min()))} to {number(float(deviation.max()))} in the "
        "function. It does not cover what the penalty, the features, moving points into the domain, or the sampling of "
        "people did."
    )
    return " ".join(said)


class MachinePage(Page):
    """A kernel machine: values, the noise in them, decisions or predictions."""

    def content(self, release: MachineRelease, *, level: float, title: str, stamp: str) -> Content:
        """A kernel machine: its values and the noise in them, and its picture on a line or in the plane."""
        check_level(level)  # said wrongly it is a mistake, also where there is no band
        domain = release.basis.domain
        points, counts, step = _points(release)
        values = Values(points, release(points), None, level, "", axis="x")
        deviation = release.noise_deviation(points)
        drawing, places = "", Places()
        if domain.dimension == 1:
            drawing, places = line(release, values, deviation, title=title, stamp=stamp)
        elif domain.dimension == 2 and release.classes is None:
            drawing, places = surface(values, domain.sides, title=title, stamp=stamp)
        elif domain.dimension == 2:
            drawing, places = regions(release, values, deviation, title=title, stamp=stamp)
        extra = _extra(release, points)
        at = spots(domain.sides)
        return Content(
            names=(*values.names[: domain.dimension], "value", "noise", *extra),
            columns=np.column_stack([points, values.value, deviation, *extra.values()])[::step],
            sides=counts,
            places=places[::step],
            drawing=drawing,
            caption=_caption(release, values, deviation, drawn=bool(drawing)),
            listed=f"The released {release.task}: values of the function, and the deviation of the noise in them",
            python=(
                f"release({at})  # values of the function anywhere in the domain",
                f"release.predict({at})",
                *((f"release.probabilities({at})",) if release.loss == "logistic" else ()),
                f"release.noise_deviation({at})",
            ),
            evaluate=f"--at={typed(domain.sides)}",
            commands=("predict FILE new.csv",),
        )

    def table(self, release: MachineRelease, asked: Asked) -> Columns:
        """Values of a machine at points, the noise in them, and what it decides or predicts there."""
        check_no_distribution(asked)
        check_no_covariates(asked)
        if asked.level is not None or asked.derivative:
            raise UsageError(
                "A kernel machine has neither a noise band nor derivatives here: leave --level and --derivative out. "
                "The column noise is the standard deviation of the noise at each point."
            )
        rows, table = places(release.basis.domain, asked.at)
        return table | decisions(release, rows)

    def notes(self, release: MachineRelease, asked: Asked, table: Columns) -> tuple[str, ...]:
        return ()


def decisions(release: MachineRelease, rows: Array) -> Columns:
    """What a machine says of points of its domain: values, the noise in them, and what it decides or predicts."""
    table: Columns = {"value": release(rows).tolist(), "noise": release.noise_deviation(rows).tolist()}
    if release.classes is None:
        return table | {"prediction": release.predict(rows).tolist()}
    table["class"] = [str(label) for label in release.predict(rows).tolist()]
    if release.loss == "logistic":
        table["probability"] = release.probabilities(rows)[:, 1].tolist()
    return table


PAGE = MachinePage()
