"""The page of principal components: their curves, and the variance along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.arrays import numbers
from dpfda.errors import UsageError
from dpfda.page.base import Answered, Asked, Columns, Page, check_curves, check_no_covariates, noise_text
from dpfda.page.content import Content, Places, sizes, spots
from dpfda.page.picture import NamedCurve, curves
from dpfda.releases.bands import check_level
from dpfda.releases.plots import UNSEEN
from dpfda.statistics.components.release import ComponentsRelease


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


class ComponentsPage(Page):
    """Principal components: their values side by side, and the variances along them."""

    def content(self, release: ComponentsRelease, *, level: float, title: str, stamp: str) -> Content:
        """Principal components: their values side by side, and their curves on an interval."""
        check_level(level)  # said wrongly it is a mistake, also where there is no band
        size, step = sizes(release)
        points = release.points(size)
        values = release(points)
        dimension = points.shape[1]
        drawing, places = "", Places()
        if dimension == 1:
            lines = [NamedCurve(_label(release, index), row) for index, row in enumerate(values)]
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

    def table(self, release: ComponentsRelease, asked: Asked) -> Columns:
        check_curves(release, asked)
        check_no_covariates(asked)
        if asked.level is not None:
            raise UsageError("Principal components have no noise band: leave --level out.")
        points = numbers(asked.at, "--at", count=None)
        functions = [component.derivative(asked.derivative) for component in release.components]
        values = {f"component_{index + 1}": function(points).tolist() for index, function in enumerate(functions)}
        return {"t": list(points)} | values

    def facts(self, release: ComponentsRelease) -> dict[str, Any]:
        """The variances along components, and the noise in them."""
        if release.variances is None:
            return {}
        shares = {} if release.total is None else {"explained_ratio": release.explained_ratio.tolist()}
        return {
            "explained_variance": release.variances.tolist(),
            **shares,
            "total_variance": release.total,
            "noise_in_variance": release.deviation,
        }

    def summary(self, release: ComponentsRelease) -> tuple[dict[str, Any], str]:
        facts = self.facts(release)
        return facts, variances_text(release) if facts else noise_text(release)

    def notes(self, release: ComponentsRelease, asked: Asked, table: Columns) -> tuple[str, ...]:
        return () if release.variances is None else (variances_text(release),)

    def answers(self, release: ComponentsRelease) -> Answered:
        names = tuple(f"component_{index + 1}" for index in range(release.frame.shape[1]))
        return 1, names, lambda points: release(points).T


def variances_text(release: ComponentsRelease) -> str:
    """The variances along components, their shares if the total is known, and the noise in them."""
    assert release.variances is not None
    listed = ", ".join(f"{value:.4g}" for value in release.variances)
    known = "" if release.total is None else f" of a total of {release.total:.4g} after smoothing"
    shares = "" if release.total is None else f" ({', '.join(map(release.explained, range(len(release.variances))))})"
    noise = "" if release.deviation is None else f"; noise in each has the deviation {release.deviation:.2g}"
    return f"Variance along the components: {listed}{known}{shares}{noise}."


PAGE = ComponentsPage()
