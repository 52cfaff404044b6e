"""The page of a release: one HTML file that needs no network and tells only what was paid for."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import PurePath
from shlex import quote
from typing import Any

from dpfda.page.base import page_of
from dpfda.page.card import card_section
from dpfda.page.content import Content
from dpfda.page.markup import download, number, place, row, table, text
from dpfda.releases import Certificate
from dpfda.releases.files import text_of


def downloads(release: Any, content: Content, file: str) -> str:
    """Links that hold the release itself, as it was saved, and its table of values."""
    links = [
        download("The release as JSON", file, "application/json", text_of(release)),
        download("Values as CSV", f"{PurePath(file).stem}.csv", "text/csv", content.csv()),
    ]
    listed = "\n".join(f"<li>{link}</li>" for link in links)
    return (
        f'<section aria-labelledby="downloads">\n<h2 id="downloads">Downloads</h2>\n<ul>\n{listed}\n</ul>\n</section>'
    )


def examples(content: Content, file: str) -> str:
    """Commands and code that read the release from its file."""
    python = ["import dpfda", "", f"release = dpfda.load({file!r})", *content.python]
    python.append("print(release.certificate.text())")
    shell = [f"dpfda show {quote(file)}"]
    if content.evaluate:
        shell.append(f"dpfda evaluate {quote(file)} {content.evaluate}")
    shell += [f"dpfda {command.replace('FILE', quote(file))}" for command in content.commands]
    shell.append(f"dpfda report {quote(file)}")
    return (
        '<section aria-labelledby="use">\n<h2 id="use">To go on with it</h2>\n'
        "<p>Save the release with the first link above. Whatever is computed from it is free.</p>\n"
        f'<pre tabindex="0" aria-label="Commands" id="shell"><code>{text(chr(10).join(shell))}</code></pre>\n'
        f'<pre tabindex="0" aria-label="Python" id="python"><code>{text(chr(10).join(python))}</code></pre>\n</section>'
    )


def page(release: Any, *, file: str = "release.json", level: float = 0.95) -> str:
    """A self-contained HTML page; the same release gives the same page, byte for byte.

    `file` is the name under which the page offers the release, and that its examples load.
    """
    card = release.certificate
    stamp = "" if card.private else "NOT PRIVATE"
    title = f"{card.what[:1].upper()}{card.what[1:]} of '{card.dataset}'"
    content = page_of(release).content(release, level=level, title=title, stamp=stamp)
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
    return files("dpfda.page").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
