"""The HTML page of a release: picture, table, card, and how to read it elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import PurePath
from shlex import quote
from typing import Any

from dpfda.page.base import page_of
from dpfda.page.content import Content, download, number, place, row, table, text
from dpfda.releases import Certificate
from dpfda.releases.cards.facts import Card, facts_of
from dpfda.releases.cards.nist import SOURCE, answers
from dpfda.releases.files import text_of

FOOTER = (
    "Everything here was computed from the release alone: no record, and no curve that was not paid for, went into "
    "this page."
)


def page(release: Any, *, file: str = "release.json", level: float = 0.95) -> str:
    """A self-contained HTML page; the same release gives the same page, byte for byte.

    `file` is the name under which the page offers the release, and that its examples load.
    """
    card = release.certificate
    stamp = "" if card.private else "NOT PRIVATE"
    title = f"{card.what[:1].upper()}{card.what[1:]} of '{card.dataset}'"
    content = page_of(release).content(release, level=level, title=title, stamp=stamp)
    body = [
        _header(card, title, card.guarantee),
        _figure(content),
        _values_section(content),
        card_section(card),
        downloads(release, content, file),
        examples(content, file),
    ]
    return _document(f"{stamp}: {title}" if stamp else title, body, script=_resource("page.js"), footer=FOOTER)


def card_section(card: Certificate) -> str:
    """The card in full: what it says, how each parameter came about, and every field as it is stored."""
    return (
        f'<section aria-labelledby="card">\n<h2 id="card">Release card</h2>\n<dl>\n{_listed(card.entries)}\n</dl>\n'
        f"{_chosen(card)}\n<details><summary>All fields of the card</summary>\n{_fields(card)}\n</details>\n</section>"
    )


def card_page(card: Card, release: Any = None, *, digest: str = "") -> str:
    """The card as one page for people: no script, no network; names from files are text and nothing else."""
    title = f"Card: {card.what} of '{card.dataset}'"
    stamp = "" if card.private else "NOT PRIVATE: "
    body = [
        _header(card, title, dict(card.entries)["guarantee"]),
        f'<section aria-labelledby="card">\n<h2 id="card">What it says</h2>\n<dl>\n{_listed(card.entries)}\n</dl>\n'
        f"{_chosen(card)}\n</section>",
        f'<section aria-labelledby="facts">\n<h2 id="facts">What it implies</h2>\n<dl>\n'
        f"{_listed(facts_of(card, release))}\n</dl>\n</section>",
        _questions(card, release),
        f'<section aria-labelledby="fields">\n<h2 id="fields">Every field</h2>\n{_fields(card)}\n</section>',
        _checking(digest),
    ]
    return _document(stamp + title, body)


def _questions(card: Card, release: Any) -> str:
    """The questions of NIST SP 800-226, a table for each level of the pyramid."""
    every = answers(card, release)
    levels = dict.fromkeys(answer.level for answer in every)
    tables = "\n".join(
        f"<h3>{text(level[:1].upper() + level[1:])}</h3>\n"
        + table(
            f"Questions about {level}",
            ("question", "answer"),
            (row(answer.question, answer.text) for answer in every if answer.level == level),
        )
        for level in levels
    )
    return (
        f'<section aria-labelledby="nist">\n<h2 id="nist">Questions and answers</h2>\n<p>{text(SOURCE)}</p>\n{tables}\n'
        "</section>"
    )


def _checking(digest: str) -> str:
    shown = f" The digest of the release file is <code>{text(digest)}</code>." if digest else ""
    return (
        '<section aria-labelledby="check">\n<h2 id="check">To check it</h2>\n<p>Whoever has the release can compute '
        "all of this anew: <code>dpfda verify FILE --file-only</code>, and whoever has the ledger can compare the "
        "whole file with it: "
        f"<code>dpfda verify FILE --ledger URL</code>.{shown}</p>\n</section>"
    )


def _listed(pairs: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(f"<div><dt>{text(label)}</dt><dd>{text(said)}</dd></div>" for label, said in pairs)


def _chosen(card: Card) -> str:
    return table("How each public parameter was chosen", ("parameter", "how"), (row(*pair) for pair in card.chosen))


def _fields(card: Card) -> str:
    return table(
        "Every field of the card as it is stored in the release",
        ("field", "value"),
        (row(name, json.dumps(value, ensure_ascii=False)) for name, value in card.to_dict().items()),
    )


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


def _document(title: str, body: list[str], *, script: str = "", footer: str = "") -> str:
    """A whole HTML document that needs no other file; its policy names its style and its script by their hashes.

    No other script would run, wherever it came from.
    """
    style = _resource("page.css")
    scripts = f" script-src {_hash(script)};" if script else ""
    policy = f"default-src 'none'; style-src {_hash(style)};{scripts} base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#card">To the release card</a>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n"
        + (f"<footer><p>{footer}</p></footer>\n" if footer else "")
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def _header(card: Card, title: str, guarantee: str) -> str:
    warnings = "\n".join(f'<li class="{"" if card.private else "loud"}">{text(stamp)}</li>' for stamp in card.stamps)
    warned = f'<section class="warnings" aria-label="Warnings"><ul>\n{warnings}\n</ul></section>\n' if warnings else ""
    return (
        f'<header>\n<h1><bdi>{text(title)}</bdi></h1>\n{warned}<p class="guarantee">Guarantee: <strong>'
        f"{text(guarantee)}</strong>, protects one <bdi>{text(card.unit)}</bdi></p>\n"
        f'<p class="sentence">{text(card.sentence)}</p>\n</header>'
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
