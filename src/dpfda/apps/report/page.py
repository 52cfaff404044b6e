"""Come here for the page of a release: one HTML file that needs no network and tells only what was paid for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from dpfda.apps.report.card import card_section
from dpfda.apps.report.coefficients import regression_content
from dpfda.apps.report.content import Content
from dpfda.apps.report.densities import density_content
from dpfda.apps.report.functions import function_content
from dpfda.apps.report.machines import machine_content
from dpfda.apps.report.markup import number, place, row, table, text
from dpfda.apps.report.moments import components_content, covariance_content
from dpfda.apps.report.use import downloads, examples
from dpfda.releases import Certificate
from dpfda.releases.files import kind_of

# By the kind of release, as it stands in files.
CONTENTS: dict[str, Callable[..., Content]] = {
    "mean": function_content,
    "covariance": covariance_content,
    "components": components_content,
    "regression": regression_content,
    "density": density_content,
    "machine": machine_content,
}


def page(release: Any, *, file: str = "release.json", level: float = 0.95) -> str:
    """A self-contained HTML page; the same release gives the same page, byte for byte.

    `file` is the name under which the page offers the release, and that its examples load.
    """
    card = release.certificate
    stamp = "" if card.private else "NOT PRIVATE"
    title = f"{card.what[:1].upper()}{card.what[1:]} of '{card.dataset}'"
    content = CONTENTS[kind_of(release)](release, level=level, title=title, stamp=stamp)
    style, script = _resource("page.css"), _resource("page.js")
    # The policy names the page's own script by its hash: no other would run, wherever it came from.
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    body = [
        _header(card, title),
        _figure(content),
        _values_section(content),
        card_section(card),
        downloads(release, content, file),
        examples(content, file),
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


def _header(card: Certificate, title: str) -> str:
    seen = card.stamps
    warnings = "\n".join(f'<li class="{"" if card.private else "loud"}">{text(stamp)}</li>' for stamp in seen)
    warned = f'<section class="warnings" aria-label="Warnings"><ul>\n{warnings}\n</ul></section>\n' if seen else ""
    return (
        f"<header>\n<h1><bdi>{text(title)}</bdi></h1>\n{warned}"
        f'<p class="guarantee">Guarantee: <strong>{text(card.guarantee)}</strong>, protects one <bdi>{text(card.unit)}'
        f'</bdi></p>\n<p class="sentence">{text(card.sentence)}</p>\n</header>'
    )


def _figure(content: Content) -> str:
    if not content.drawing:
        return f"<p>{text(content.caption)}</p>"
    sliders = "\n".join(
        f'<label for="slider-{axis}">Read off at {name}</label>\n'
        f'<input type="range" id="slider-{axis}" min="0" max="{count - 1}" step="1" value="{count // 2}">'
        for axis, (name, count) in enumerate(zip(content.names, content.sides, strict=False))
    )
    names = " ".join(f"slider-{axis}" for axis in range(len(content.sides)))
    return (
        f"<figure>\n{content.drawing}\n<figcaption>{text(content.caption)}</figcaption>\n</figure>\n"
        f'<div id="controls" hidden>\n{sliders}\n'
        f'<output id="reading" for="{names}"></output>\n</div>'
    )


def _values_section(content: Content) -> str:
    marks = [f' data-x="{place(x)}" data-y="{place(y)}"' for x, y in content.places] or [""] * len(content.columns)
    lines = (
        row(number(cells[0]), *map(number, cells[1:]), attributes=mark)
        for cells, mark in zip(content.columns.tolist(), marks, strict=True)
    )
    listed = table(content.listed, content.names, lines, name="values")
    return f"<details><summary>Table of {len(content.columns)} values</summary>\n{listed}\n</details>"


def _resource(name: str) -> str:
    return files("dpfda.apps.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
