"""The page of a density: the line with its noise band, or a map of colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.arrays import Array, numbers
from dpfda.errors import UsageError
from dpfda.page.base import Asked, Columns, Page, check_no_covariates, is_infinite, noise_text, places
from dpfda.page.content import ROWS, Content, Places, Values, number, sizes, spots, typed
from dpfda.page.picture import curve, describe, surface
from dpfda.releases.bands import check_level
from dpfda.statistics.density.release import DensityRelease
from dpfda.statistics.density.smoothing import sides_of

STEP = 16  # points of the picture for each row of the table: a jump looks like one


def _noise(release: DensityRelease, level: float, points: Array) -> dict[str, Array]:
    """The noise band at points; on a box of other functions than steps, where its law takes minutes, the deviation."""
    check_level(level)
    if points.shape[1] == 1 or sides_of(release.basis):
        band = release.band(level, points)
        return {"lower": band.lower, "upper": band.upper}
    return {"noise": np.sqrt(release.basis.matrix(points) ** 2 @ release.noise.variances) / release.volume}


def _draw(release: DensityRelease, fine: Values, *, title: str, stamp: str) -> tuple[str, Places]:
    sides = release.basis.domain.sides
    if len(sides) == 1:
        return curve(fine, sides[0], title=title, stamp=stamp, floor=0.0)
    if len(sides) == 2:
        return surface(fine, sides, title=title, stamp=stamp)
    return "", []


def _caption(release: DensityRelease, fine: Values, *, drawn: bool) -> str:
    dimension = release.basis.domain.dimension
    share = release.inside
    proper = f"the released density: nowhere negative, with integral {'one' if share == 1 else f'{share:.3g}'}"
    if not drawn:
        said = [f"A density of {dimension} coordinates has no picture here. {describe(fine)}"]
    else:
        said = [f"The line is {proper}." if dimension == 1 else f"Colours show {proper}."]
    said.append(
        f"It is off by about {number(release.estimated_error)} root mean square, if the population is as smooth as its "
        f"smoothing ({release.smoothing.name}) takes it to be."
    )
    if fine.band is None:
        said.append("In the table is the deviation of the noise at each point.")
    elif fine.drawable is None:
        said.append("The noise band is infinite: the noisy number of units could be zero.")
    else:
        held = "the histogram of the exact records" if sides_of(release.basis) else "what the exact coordinates give"
        where = "The shaded band is" if dimension == 1 else "In the table is"
        said.append(
            f"{where} the {100 * fine.level:g} % noise band: with this probability it holds {held} everywhere at once, "
            "as it was before smoothing."
        )
    return " ".join((*said, release.certificate.not_covered))


QUARTILES = (0.25, 0.5, 0.75)


class DensityPage(Page):
    """A density: values, distribution function, quantiles, noise band, moments."""

    def content(self, release: DensityRelease, *, level: float, title: str, stamp: str) -> Content:
        """A density: its values with the noise band, on a line its distribution function too, and its picture."""
        dimension = release.basis.domain.dimension
        size, step = (STEP * (ROWS - 1) + 1, STEP) if dimension == 1 else sizes(release)
        points = release.points(size)
        noise = _noise(release, level, points)
        band = (noise["lower"], noise["upper"]) if "lower" in noise else None
        # A density is never below zero: there is nothing to see down there.
        shown = None if band is None else (np.maximum(band[0], 0.0), np.maximum(band[1], 0.0))
        fine = Values(points, release(points), shown, level, "", axis="x", what="density")
        drawing, places = _draw(release, fine, title=title, stamp=stamp)
        below = {"distribution": release.distribution(points)} if dimension == 1 else {}
        at = spots(release.basis.domain.sides)
        with_band = "" if band is None else f", with the {100 * level:g} % noise band before smoothing"
        return Content(
            names=(*fine.names[:dimension], fine.what, *below, *noise),
            columns=np.column_stack([points, fine.value, *below.values(), *noise.values()])[::step],
            sides=(len(range(0, size, step)),) * dimension,
            places=places[::step],
            drawing=drawing,
            caption=_caption(release, fine, drawn=bool(drawing)),
            listed=f"The released density{with_band}",
            python=(
                f"release({at})  # values anywhere in the domain",
                f"release.distribution({at})  # probabilities of lying below",
                "release.quantile([0.1, 0.5, 0.9])"
                if dimension == 1
                else "release.marginal(0).quantile([0.1, 0.5, 0.9])",
                "release.sample(1000)  # synthetic records, free",
                *((f"release.band(level={level:g})",) if band is not None else ()),
            ),
            evaluate=f"--at={typed(release.basis.domain.sides)} --cdf"
            + (f" --level {level:g}" if band is not None else ""),
            commands=("sample FILE --size 1000",),
        )

    def table(self, release: DensityRelease, asked: Asked) -> Columns:
        """Values of a density, its distribution function and its noise band at points; or its quantiles."""
        check_no_covariates(asked)
        if asked.derivative:
            raise UsageError("A density has no derivatives here: leave --derivative out.")
        if asked.quantiles is not None:
            if asked.at or asked.level is not None or asked.cdf:
                raise UsageError("--quantiles stands alone: leave --at, --level and --cdf out.")
            wanted = numbers(asked.quantiles, "--quantiles", count=None)
            return {"probability": list(wanted), "quantile": release.quantile(wanted).tolist()}
        rows, table = places(release.basis.domain, asked.at)
        table["density"] = release(rows).tolist()
        if asked.cdf:
            table["distribution"] = release.distribution(rows).tolist()
        if asked.level is not None:
            if release.basis.domain.dimension > 1 and sides_of(release.basis) is None:
                raise UsageError(
                    "The law of the noise band of a kernel density on a box takes minutes: leave --level out, or take "
                    "dpfda.load(...).band(level, points) in Python."
                )
            band = release.band(asked.level, rows)
            table |= {"lower": band.lower.tolist(), "upper": band.upper.tolist()}
        return table

    def moments(self, release: DensityRelease) -> dict[str, Any]:
        """Mean and deviation of each coordinate of a density, its quartiles on a line, and its estimated error."""
        line = release.basis.domain.dimension == 1
        means, variances = ([float(each)] if line else each.tolist() for each in (release.mean(), release.variance()))
        quartiles = {"quartiles": release.quantile(QUARTILES).tolist()} if line else {}
        return {
            "mean": means,
            "deviation": [math.sqrt(each) for each in variances],
            **quartiles,
            "estimated_error": release.estimated_error,
        }

    def summary(self, release: DensityRelease) -> tuple[dict[str, Any], str]:
        facts = self.moments(release)
        return facts, f"{_moments_text(release, facts)} {noise_text(release)}".strip()

    def notes(self, release: DensityRelease, asked: Asked, table: Columns) -> tuple[str, ...]:
        if is_infinite(table):
            return ("The noise band is infinite: the noisy number of units could be zero.",)
        return super().notes(release, asked, table)


def _moments_text(release: DensityRelease, facts: dict[str, Any]) -> str:
    """Moments and quartiles for people."""
    means, deviations = (", ".join(f"{each:.4g}" for each in facts[name]) for name in ("mean", "deviation"))
    listed = ", ".join(f"{each:.4g}" for each in facts.get("quartiles", ()))
    quartiles = f"; quartiles {listed}" if listed else ""
    return (
        f"Of the released density (smoothing: {release.smoothing.name}): mean {means}, deviation {deviations}"
        f"{quartiles}. It is off by about {facts['estimated_error']:.2g} root mean square, where a uniform density is "
        f"{1 / release.volume:.2g}."
    )


PAGE = DensityPage()
