"""The page of a covariance function: its contours, and its values at all pairs of points."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array, brief, numbers
from dpfda.errors import UsageError
from dpfda.page.base import Answered, Asked, Columns, Page, check_curves, check_no_covariates
from dpfda.page.content import CELLS, MOST_ROWS, Content, Places, number, spots
from dpfda.page.picture import contours
from dpfda.releases.bands import check_level
from dpfda.releases.plots import UNSEEN
from dpfda.statistics.covariance.release import CovarianceRelease, name_of


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


BLOCK = 32  # pairs of points that are computed together


class CovariancePage(Page):
    """A covariance function: its values and the noise in them at pairs of points."""

    def content(self, release: CovarianceRelease, *, level: float, title: str, stamp: str) -> Content:
        """Values and correlations at all pairs of points, and the contours of the covariance on an interval."""
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

    def table(self, release: CovarianceRelease, asked: Asked) -> Columns:
        check_curves(release, asked)
        check_no_covariates(asked)
        if asked.level is not None or asked.derivative:
            raise UsageError(
                "A covariance function has neither a noise band nor derivatives here: leave --level and --derivative "
                "out. The column noise_before_smoothing says how large the noise was."
            )
        if ":" not in asked.at:
            points = numbers(asked.at, "--at", count=None)
            pairs = [(s, t) for s in points for t in points]
            value, deviation = release(points, points).ravel(), release.noise_deviation(points, points).ravel()
        else:
            pairs = [_pair(part, asked.at) for part in asked.at.split(",")]
            value = np.array([release(s, t) for s, t in pairs])
            deviation = np.array([release.noise_deviation(s, t) for s, t in pairs])
        first, second = (list(column) for column in zip(*pairs, strict=True))
        return {"s": first, "t": second, "value": value.tolist(), "noise_before_smoothing": deviation.tolist()}

    def notes(self, release: CovarianceRelease, asked: Asked, table: Columns) -> tuple[str, ...]:
        return ()

    def answers(self, release: CovarianceRelease) -> Answered:
        half = release.basis.domain.dimension

        def evaluate(points: Array) -> Array:
            # All pairs in a block, of which the diagonal is kept: a call for each pair would take ten times as long.
            blocks = (points[start : start + BLOCK] for start in range(0, len(points), BLOCK))
            return np.concatenate([np.diagonal(release(block[:, :half], block[:, half:])) for block in blocks])

        return 2, (), evaluate


def _pair(part: str, at: str) -> tuple[float, float]:
    try:
        s, t = (float(end) for end in part.split(":"))
    except ValueError:
        raise UsageError(
            f"--at takes points, e.g. --at 0,1 for all pairs of them, or pairs, e.g. --at 0:0.5,0:1; got {brief(at)}.",
            parameter="at",
            value=at,
        ) from None
    return s, t


PAGE = CovariancePage()
