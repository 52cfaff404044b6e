"""Come here for what a page shows of a kernel machine: the function on a line, decision regions, or a surface."""

from __future__ import annotations

import numpy as np

from dpfda.apps.report.content import Content, Places, spots, typed
from dpfda.apps.report.markup import number
from dpfda.apps.report.picture import describe, surface
from dpfda.apps.report.regions import UNSURE, described, line, regions
from dpfda.apps.report.values import CELLS, ROWS, Values
from dpfda.arrays import Array
from dpfda.releases.bands import check_level
from dpfda.releases.machine import MachineRelease

STEP = 4  # points of the picture of a line for each row of the table
PROFILE = 21  # points along each side of a box with more than two


def machine_content(release: MachineRelease, *, level: float, title: str, stamp: str) -> Content:
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
