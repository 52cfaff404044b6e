"""The page of a private function: the curve or surface with its noise band."""

from __future__ import annotations

from dpfda.arrays import Array, numbers
from dpfda.page.base import Answered, Asked, Columns, Page, check_curves, check_no_covariates
from dpfda.page.content import Content, Places, Values, sizes, spots, values_of
from dpfda.page.picture import curve, describe, surface
from dpfda.releases import Certificate, Release


def _draw(release: Release, fine: Values, *, title: str, stamp: str) -> tuple[str, Places]:
    sides = release.basis.domain.sides
    if len(sides) == 1:
        return curve(fine, sides[0], title=title, stamp=stamp)
    if len(sides) == 2:
        return surface(fine, sides, title=title, stamp=stamp)
    return "", []


def _instead(values: Values) -> str:
    return f"A function of {values.points.shape[1]} variables has no picture here. {describe(values)}"


def _caption(values: Values, card: Certificate) -> str:
    surface_of = values.points.shape[1] == 2
    held = f"what {card.shrunk_by} left of the exact clipped" if card.shrunk_by else "the exact clipped"
    said = ["Colours show the released surface." if surface_of else "The line is the released curve."]
    if values.drawable is not None and surface_of:
        said.append(
            f"The {100 * values.level:g} % noise band stands in the table: with this probability it holds {held} "
            f"surface everywhere at once. It reaches {values.reach()}."
        )
    elif values.drawable is not None:
        said.append(
            f"The shaded band is the {100 * values.level:g} % noise band: with this probability it holds {held} "
            "curve everywhere at once. It stands around the curve as it was before smoothing."
        )
    elif values.without_band:
        said.append(f"No noise band is shown. {values.without_band}")
    else:
        said.append("The noise band is infinite: the noisy number of units could be zero.")
    return " ".join((*said, card.not_covered) if not values.without_band else said)


def _python(release: Release, values: Values) -> tuple[str, ...]:
    sides = release.basis.domain.sides
    points = spots(sides)
    first = (1, *[0] * (len(sides) - 1))
    order = "1" if len(sides) == 1 else str(first)
    name = release.smoothing_for(first)
    smoothed = "" if name in (None, release.smoothing.name) else f".smooth({name!r})"
    why = "  # the noise as it is has no derivative" if smoothed else ""
    return (
        f"release({points})  # values anywhere in the domain",
        *(() if name is None else (f"release{smoothed}.derivative({order})({points}){why}",)),
        "release.integral(), release.norm()",
        *(() if values.band is None else (f"release.band(level={values.level:g})",)),
    )


def _evaluate(release: Release, values: Values) -> str:
    level = "" if values.band is None else f" --level {values.level:g}"
    return f"--at={','.join(map(str, spots(release.basis.domain.sides)))}{level}"


class MeanPage(Page):
    """A private function: its values, derivatives and noise band."""

    def content(self, release: Release, *, level: float, title: str, stamp: str) -> Content:
        """A private function: its values with the band, and its picture where it is a curve or a surface."""
        size, step = sizes(release)
        fine = values_of(release, level, size)
        drawing, places = _draw(release, fine, title=title, stamp=stamp)
        values = fine.every(step)
        flat = values.points.shape[1] == 1
        band = "" if values.band is None else f", with the {100 * level:g} % noise band"
        return Content(
            names=values.names,
            columns=values.columns,
            sides=(len(range(0, size, step)),) * values.points.shape[1],
            places=places[::step],
            drawing=drawing,
            caption=_caption(values, release.certificate) if drawing else _instead(values),
            listed=f"The released {'curve' if flat else 'function'}{band}",
            python=_python(release, values),
            evaluate=_evaluate(release, values) if flat else "",
        )

    def table(self, release: Release, asked: Asked) -> Columns:
        check_curves(release, asked)
        check_no_covariates(asked)
        points = numbers(asked.at, "--at", count=None)
        table: Columns = {"t": list(points), "value": release.derivative(asked.derivative)(points).tolist()}
        if asked.level is not None:
            band = release.band(asked.level, points)
            table |= {"lower": band.lower.tolist(), "upper": band.upper.tolist()}
        return table

    def answers(self, release: Release) -> Answered:
        # Coordinates are computed once, and points have been checked when they get here.
        basis, coordinates, order = release.basis, release.coordinates, release.function.order

        def evaluate(points: Array) -> Array:
            return coordinates @ basis.functions(points, order).T

        return 1, (), evaluate


PAGE = MeanPage()
