"""Pieces of markup: escaped text, numbers, tables, links that hold their file."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from urllib.parse import quote


def text(value: object) -> str:
    """Any value as text of a page: escaped, with unprintable characters replaced."""
    plain = str(value).encode("utf-8", "replace").decode("utf-8")  # a lone surrogate becomes a question mark
    shown = "".join(letter if letter.isprintable() or letter in " \n\t" else "\ufffd" for letter in plain)
    return html.escape(shown, quote=True)


def number(value: float) -> str:
    """A number for people, in six digits."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.6g}"


def place(value: float) -> str:
    """A coordinate inside a picture, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def table(caption: str, head: Sequence[str], rows: Iterable[str], *, name: str = "") -> str:
    """A table with headings that screen readers announce; rows come as markup."""
    cells = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    mark = f' id="{name}"' if name else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(caption)}">'
        f"<table{mark}><caption>{text(caption)}</caption>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def row(head: object, *cells: object, attributes: str = "") -> str:
    """A row whose first cell names it."""
    rest = "".join(f"<td>{text(cell)}</td>" for cell in cells)
    return f'<tr{attributes}><th scope="row">{text(head)}</th>{rest}</tr>'


def download(label: str, name: str, kind: str, content: str) -> str:
    """A link that holds its file, so that the page needs no other file."""
    size = len(content.encode("utf-8"))
    shown = f"{size / 1000:.0f} kB" if size >= 1000 else f"{size} bytes"
    # Percent signs rather than base64: the page then holds no "//" that could be taken for an address.
    where = f"data:{kind};charset=utf-8,{quote(content, safe='')}"
    return f'<a download="{text(name)}" href="{where}">{text(label)} ({shown})</a>'
