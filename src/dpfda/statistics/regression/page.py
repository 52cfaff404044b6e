"""The page of a regression: every coefficient function with its noise band."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array, numbers
from dpfda.errors import UsageError
from dpfda.page.base import Answered, Asked, Columns, Page, band_text, check_curves, is_infinite
from dpfda.page.content import Content, Places, Values, number, place, sizes, spots, text
from dpfda.page.picture import WIDTH, Scale, around, drawing, frame, path_of
from dpfda.releases.bands import check_level
from dpfda.statistics.regression.release import RegressionRelease

PANEL = 220.0  # height of one coefficient in the picture


def _values(release: RegressionRelease, name: str, level: float, points: Array) -> Values:
    band = release.band(name, level, points)
    return Values(points, release.coefficient(name)(points), (band.lower, band.upper), level, "")


def _panels(fitted: dict[str, Values], side: tuple[float, float], *, title: str, stamp: str) -> tuple[str, Places]:
    """One coefficient below the other, and where the points of the first lie."""
    across = Scale(*side, 72.0, WIDTH - 20.0)
    parts, places, said = [], Places(), []
    for index, (name, values) in enumerate(fitted.items()):
        shown = [values.value, *(values.drawable or ())]
        ends = around(min(float(np.min(shown)), 0.0), max(float(np.max(shown)), 0.0))
        up = Scale(*ends, PANEL * (index + 1) - 34.0, PANEL * index + 30.0)
        parts.append(frame(across, up, ("", ""), lines=True))
        parts.append(f'<text x="72" y="{place(up.end - 10)}">{text(name)}</text>')
        t = [across(float(point)) for point in values.points[:, 0]]
        if values.drawable is not None:
            lower, upper = ([(x, up(float(y))) for x, y in zip(t, end, strict=True)] for end in values.drawable)
            parts.append(f'<polygon class="band" points="{path_of([*upper, *reversed(lower)])}"/>')
        zero = place(up(0.0))
        parts.append(f'<line class="zero" x1="72" x2="{place(across.end)}" y1="{zero}" y2="{zero}"/>')
        line = [(x, up(float(y))) for x, y in zip(t, values.value, strict=True)]
        parts.append(f'<polyline class="curve" points="{path_of(line)}"/>')
        places = places or line
        reach = f" The noise band reaches {values.reach()}." if values.drawable is not None else ""
        said.append(f"{name}: from {number(float(values.value.min()))} to {number(float(values.value.max()))}.{reach}")
    height = PANEL * len(fitted)
    parts.append(f'<line class="guide" x1="0" x2="0" y1="20" y2="{place(height - 20)}"/>')
    return drawing(parts, title=title, description=" ".join(said), stamp=stamp, height=height), places


def _caption(release: RegressionRelease, fitted: dict[str, Values], level: float, *, drawn: bool) -> str:
    said = [
        "The lines are the released coefficient functions, each in the units of its covariate."
        if drawn
        else f"Coefficients of {release.basis.domain.dimension} variables have no picture here."
    ]
    if all(values.drawable is not None for values in fitted.values()):
        said.append(
            f"{'Shaded' if drawn else 'In the table'} are the {100 * level:g} % noise bands: each holds the "
            "coefficient of the exact clipped data everywhere at once with this probability, and stands around what "
            "was there before ridge and smoothing."
        )
    else:
        said.append(release.infinite(level))
    if release.covariates.intercept and release.covariates.beyond([[0.0] * release.covariates.size]):
        said.append("The intercept is the curve at covariates zero, beyond their limits: it extrapolates.")
    return " ".join((*said, release.certificate.not_covered))


class RegressionPage(Page):
    """Coefficient functions with their noise bands, and predicted curves."""

    def content(self, release: RegressionRelease, *, level: float, title: str, stamp: str) -> Content:
        """A regression: values and bands of all coefficients side by side, and a picture with a panel for each."""
        check_level(level)
        size, step = sizes(release)
        points = release.points(size)
        fitted = {name: _values(release, name, level, points) for name in release.names}
        dimension = points.shape[1]
        drawn, places = "", Places()
        if dimension == 1:
            drawn, places = _panels(fitted, release.basis.domain.sides[0], title=title, stamp=stamp)
        where = ("t",) if dimension == 1 else tuple(f"t{axis + 1}" for axis in range(dimension))
        ends = [f"{name}{end}" for name in fitted for end in ("", " lower", " upper")]
        columns = [column for each in fitted.values() for column in (each.value, *(each.band or ()))]
        at = spots(release.basis.domain.sides)
        middle = [list(release.covariates.fills)]
        return Content(
            names=(*where, *ends),
            columns=np.column_stack([points, *columns])[::step],
            sides=(len(range(0, size, step)),) * dimension,
            places=places[::step],
            drawing=drawn,
            caption=_caption(release, fitted, level, drawn=bool(drawn)),
            listed=f"The released coefficients, with the {100 * level:g} % noise bands",
            python=(
                f"release.coefficient({release.names[0]!r})({at})  # values anywhere in the domain",
                f"release.band({release.names[0]!r}, level={level:g})",
                f"release.predict({middle}, {at})  # the curve of somebody with these covariates",
            ),
            evaluate=f"--at={','.join(map(str, at))} --level {level:g}" if dimension == 1 else "",
        )

    def table(self, release: RegressionRelease, asked: Asked) -> Columns:
        check_curves(release, asked)
        if asked.covariates is not None:
            return _predicted(release, asked, asked.covariates)
        points, level = numbers(asked.at, "--at", count=None), asked.level
        band_columns: Columns = {} if level is None else {"lower": [], "upper": []}
        table: Columns = {"coefficient": [], "t": [], "value": []} | band_columns
        for name in release.names:
            table["coefficient"] += [name] * len(points)
            table["t"] += points
            table["value"] += release.coefficient(name).derivative(asked.derivative)(points).tolist()
            if level is not None:
                band = release.band(name, level, points)
                table["lower"] += band.lower.tolist()
                table["upper"] += band.upper.tolist()
        return table

    def notes(self, release: RegressionRelease, asked: Asked, table: Columns) -> tuple[str, ...]:
        if asked.covariates is not None:
            return _beyond_text(release, asked.covariates)
        if is_infinite(table):
            return (release.infinite(asked.level or 0.95),)
        around = band_text("the coefficients before ridge and smoothing", release.smoothing_name)
        return (around,) if "lower" in table else ()

    def answers(self, release: RegressionRelease) -> Answered:
        # Names may repeat, so coefficients are asked for by number; the intercept is the first, if it was fitted.
        functions = [*((release.intercept,) if release.covariates.intercept else ()), *release.coefficients]
        return 1, release.names, lambda points: np.stack([function(points) for function in functions], axis=1)


def _predicted(release: RegressionRelease, asked: Asked, covariates: str) -> Columns:
    if asked.level is not None:
        raise UsageError("A predicted curve has no noise band here: leave --level out, or --covariates.")
    names = release.covariates.names
    values = numbers(covariates, f"--covariates ({', '.join(names)})", count=len(names))
    points = numbers(asked.at, "--at", count=None)
    (curve,) = release.curves([values])
    return {"t": list(points), "value": curve.derivative(asked.derivative)(points).tolist()}


def _beyond_text(release: RegressionRelease, covariates: str) -> tuple[str, ...]:
    """Says that a predicted curve extrapolates, if it does."""
    beyond = release.covariates.beyond([numbers(covariates, "--covariates", count=release.covariates.size)])
    if not beyond:
        return ()
    return (
        f"This curve extrapolates: {', '.join(beyond)} beyond the declared limits, where no record was counted. "
        f"Declared: {release.covariates.text}.",
    )


PAGE = RegressionPage()
