"""Come here for the page of a release: one HTML file that needs no network and tells only what was paid for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from dpfda.apps.report.card import card_section
from dpfda.apps.report.markup import number, place, row, table, text
from dpfda.apps.report.picture import curve, describe, surface
from dpfda.apps.report.use import downloads, examples
from dpfda.apps.report.values import Values, sizes, values_of
from dpfda.releases import Certificate, Release


def page(release: Release, *, file: str = "release.json", level: float = 0.95) -> str:
    """A self-contained HTML page; the same release gives the same page, byte for byte.

    `file` is the name under which the page offers the release, and that its examples load.
    """
    card = release.certificate
    stamp = "" if card.private else "NOT PRIVATE"
    title = f"{card.what[:1].upper()}{card.what[1:]} of '{card.dataset}'"
    size, step = sizes(release)
    fine = values_of(release, level, size)
    values = fine.every(step)
    drawing, places = _draw(release, fine, title=title, stamp=stamp)
    style, script = _resource("page.css"), _resource("page.js")
    # The policy names the page's own script by its hash: no other would run, wherever it came from.
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    body = [
        _header(release, title),
        _figure(values, drawing, card),
        _values_section(values, places[::step]),
        card_section(card),
        downloads(release, values, file),
        examples(release, values, file),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(f'{stamp}: ' if stamp else '')}{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#card">To the release card</a>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n<footer><p>Everything here was computed from the release alone: no record, and no curve that was "
        f"not paid for, went into this page.</p></footer>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _draw(release: Release, fine: Values, *, title: str, stamp: str) -> tuple[str, list[tuple[float, float]]]:
    sides = release.basis.domain.sides
    if len(sides) == 1:
        return curve(fine, sides[0], title=title, stamp=stamp)
    if len(sides) == 2:
        return surface(fine, sides, title=title, stamp=stamp)
    return "", []


def _header(release: Release, title: str) -> str:
    card = release.certificate
    seen = card.stamps
    warnings = "\n".join(f'<li class="{"" if card.private else "loud"}">{text(stamp)}</li>' for stamp in seen)
    warned = f'<section class="warnings" aria-label="Warnings"><ul>\n{warnings}\n</ul></section>\n' if seen else ""
    return (
        f"<header>\n<h1><bdi>{text(title)}</bdi></h1>\n{warned}"
        f'<p class="guarantee">Guarantee: <strong>{text(card.guarantee)}</strong>, protects one <bdi>{text(card.unit)}'
        f'</bdi></p>\n<p class="sentence">{text(card.sentence)}</p>\n</header>'
    )


def _figure(values: Values, drawing: str, card: Certificate) -> str:
    if not drawing:
        sides = values.points.shape[1]
        return f"<p>A function of {sides} variables has no picture here. {text(describe(values))}</p>"
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
    notes = " ".join((*said, card.not_covered) if not values.without_band else said)
    sliders = "\n".join(
        f'<label for="slider-{axis}">Read off at {name}</label>\n'
        f'<input type="range" id="slider-{axis}" min="0" max="{count - 1}" step="1" value="{count // 2}">'
        for axis, (name, count) in enumerate(_axes(values))
    )
    names = " ".join(f"slider-{axis}" for axis in range(values.points.shape[1]))
    return (
        f"<figure>\n{drawing}\n<figcaption>{text(notes)}</figcaption>\n</figure>\n"
        f'<div id="controls" hidden>\n{sliders}\n'
        f'<output id="reading" for="{names}"></output>\n</div>'
    )


def _axes(values: Values) -> list[tuple[str, int]]:
    sides = values.points.shape[1]
    return [(name, round(len(values.points) ** (1 / sides))) for name in values.names[:sides]]


def _values_section(values: Values, places: Sequence[tuple[float, float]]) -> str:
    sides = values.points.shape[1]
    marks = [f' data-x="{place(x)}" data-y="{place(y)}"' for x, y in places] or [""] * len(values.points)
    lines = (
        row(number(cells[0]), *map(number, cells[1:]), attributes=mark)
        for cells, mark in zip(values.columns.tolist(), marks, strict=True)
    )
    band = "" if values.band is None else f", with the {100 * values.level:g} % noise band"
    listed = table(f"The released {'curve' if sides == 1 else 'function'}{band}", values.names, lines, name="values")
    return f"<details><summary>Table of {len(values.points)} values</summary>\n{listed}\n</details>"


def _resource(name: str) -> str:
    return files("dpfda.apps.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
