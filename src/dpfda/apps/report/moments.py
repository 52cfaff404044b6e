"""Come here for what a page shows of a covariance function, or of principal components."""

from __future__ import annotations

import numpy as np

from dpfda.apps.report.content import Content, Places, spots
from dpfda.apps.report.lines import Line, curves
from dpfda.apps.report.markup import number
from dpfda.apps.report.picture import contours
from dpfda.apps.report.values import CELLS, MOST_ROWS, sizes
from dpfda.arrays import Array
from dpfda.releases.bands import check_level
from dpfda.releases.components import ComponentsRelease
from dpfda.releases.covariance import CovarianceRelease
from dpfda.releases.surfaces import UNSEEN, name_of


def covariance_content(release: CovarianceRelease, *, level: float, title: str, stamp: str) -> Content:
    """A covariance function: its values and correlations at all pairs of points, and its contours on an interval."""
    check_level(level)  # said wrongly it is a mistake, also where there is no band
    dimension = release.basis.domain.dimension
    size = CELLS if dimension == 1 else max(2, int(MOST_ROWS ** (0.5 / dimension)))
    points = release.points(size)
    value = release(points, points)
    pairs = [np.repeat(points, len(points), axis=0), np.tile(points, (len(points), 1))]
    ends = [""] if dimension == 1 else [str(axis + 1) for axis in range(dimension)]
    drawing, places = "", Places()
    if dimension == 1:
        description = _described(points[:, 0], value)
        drawing, places = contours(
            value, release.basis.domain.sides[0], title=title, description=description, stamp=stamp
        )
    return Content(
        names=(*(f"s{end}" for end in ends), *(f"t{end}" for end in ends), "value", "correlation"),
        columns=np.column_stack([*pairs, value.ravel(), release.correlation(points, points).ravel()]),
        sides=(size,) * (2 * dimension),
        places=places,
        drawing=drawing,
        caption=_covariance_caption(release, drawn=bool(drawing)),
        listed=f"The released {release.certificate.what}",
        python=(
            f"release({spots(release.basis.domain.sides)}, {spots(release.basis.domain.sides)})  # at all pairs",
            f"release.variance({spots(release.basis.domain.sides)})",
            "release.eigenvalues, release.eigenfunctions, release.mean",
            "release.components(1)",
        ),
        evaluate=f"--at={','.join(map(str, spots(release.basis.domain.sides)))}" if dimension == 1 else "",
    )


def _covariance_caption(release: CovarianceRelease, *, drawn: bool) -> str:
    shown = (
        f"Colours and contours show the released {name_of(release)}, smoothed and made positive."
        if drawn
        else f"The covariance of a function of {release.basis.domain.dimension} variables has no picture here."
    )
    if not release.coordinates.any():
        shown += f" It is zero everywhere: {UNSEEN}."
    return (
        f"{shown} Its {release.counted} is about {number(release.estimated_error)} root mean square over all pairs of "
        f"points, the variance of whole curves {number(release.trace)}. Not counted is what clipping, the finite basis "
        "and the sampling of people did."
    )


def _described(side: Array, value: Array) -> str:
    """What the contours show, for those who do not see them."""
    least, most = (np.unravel_index(int(index), value.shape) for index in (value.argmin(), value.argmax()))
    where = [f"s = {number(side[i])}, t = {number(side[j])}" for i, j in (least, most)]
    diagonal = np.diag(value)
    return (
        f"The lowest value is {number(float(value[least]))} at {where[0]}, the highest {number(float(value[most]))} at "
        f"{where[1]}. The variance goes from {number(float(diagonal.min()))} to {number(float(diagonal.max()))}."
    )


def components_content(release: ComponentsRelease, *, level: float, title: str, stamp: str) -> Content:
    """Principal components: their values side by side, and their curves on an interval."""
    check_level(level)  # said wrongly it is a mistake, also where there is no band
    size, step = sizes(release)
    points = release.points(size)
    values = release(points)
    dimension = points.shape[1]
    drawing, places = "", Places()
    if dimension == 1:
        lines = [Line(_label(release, index), row) for index, row in enumerate(values)]
        drawing, places = curves(points[:, 0], lines, release.basis.domain.sides[0], title=title, stamp=stamp)
    names = ("t",) if dimension == 1 else tuple(f"t{axis + 1}" for axis in range(dimension))
    at = spots(release.basis.domain.sides)
    return Content(
        names=(*names, *(f"component_{index + 1}" for index in range(len(values)))),
        columns=np.column_stack([points, values.T])[::step],
        sides=(len(range(0, size, step)),) * dimension,
        places=places[::step],
        drawing=drawing,
        caption=_components_caption(release, drawn=bool(drawing)),
        listed="The released components",
        python=(
            f"release({at})  # values of all components",
            "release.components[0].norm()",
            "release.mean  # what is subtracted before scores are taken",
            "release.scores(release.curves([0.0] * len(release.components), release.points()), release.points())",
        ),
        evaluate=f"--at={','.join(map(str, at))}" if dimension == 1 else "",
    )


def _label(release: ComponentsRelease, index: int) -> str:
    known = release.explained(index)
    return f"component {index + 1}" + (f", {known}" if known else "")


def _components_caption(release: ComponentsRelease, *, drawn: bool) -> str:
    shown = (
        "The lines are the released components, each with root mean square one and a sign that means nothing."
        if drawn
        else f"Components of a function of {release.basis.domain.dimension} variables have no picture here."
    )
    listed = "; ".join(_label(release, index) for index in range(release.frame.shape[1]))
    known = f"Along them: {listed}." if release.variances is not None else "The variance along them was not released."
    unseen = not release.seen or (release.variances is not None and not release.variances.any())
    return f"{shown} {known}" + (f" In all of them {UNSEEN}." if unseen else "")
