"""The release card as part of a page, and as a page of its own."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from dpfda.page.markup import row, table, text
from dpfda.releases import Certificate
from dpfda.releases.cards.facts import Card, facts_of
from dpfda.releases.cards.nist import SOURCE, answers


def card_section(card: Certificate) -> str:
    """The card in full: what it says, how each parameter came about, and every field as it is stored."""
    return (
        f'<section aria-labelledby="card">\n<h2 id="card">Release card</h2>\n<dl>\n{_listed(card.entries)}\n</dl>\n'
        f"{_chosen(card)}\n<details><summary>All fields of the card</summary>\n{_fields(card)}\n</details>\n</section>"
    )


def card_page(card: Card, release: Any = None, *, digest: str = "") -> str:
    """The card as one page for people: no script, no network; names from files are text and nothing else."""
    style = files("dpfda.page").joinpath("page.css").read_text(encoding="utf-8")
    own = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{own}'; base-uri 'none'; form-action 'none'"
    title = f"Card: {card.what} of '{card.dataset}'"
    stamp = "" if card.private else "NOT PRIVATE: "
    body = [
        _header(card, title),
        f'<section aria-labelledby="card">\n<h2 id="card">What it says</h2>\n<dl>\n{_listed(card.entries)}\n</dl>\n'
        f"{_chosen(card)}\n</section>",
        f'<section aria-labelledby="facts">\n<h2 id="facts">What it implies</h2>\n<dl>\n'
        f"{_listed(facts_of(card, release))}\n</dl>\n</section>",
        _questions(card, release),
        f'<section aria-labelledby="fields">\n<h2 id="fields">Every field</h2>\n{_fields(card)}\n</section>',
        _checking(digest),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(stamp + title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#card">To the release card</a>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _header(card: Card, title: str) -> str:
    warnings = "\n".join(f'<li class="{"" if card.private else "loud"}">{text(stamp)}</li>' for stamp in card.stamps)
    warned = f'<section class="warnings" aria-label="Warnings"><ul>\n{warnings}\n</ul></section>\n' if warnings else ""
    return (
        f'<header>\n<h1><bdi>{text(title)}</bdi></h1>\n{warned}<p class="guarantee">Guarantee: <strong>'
        f"{text(dict(card.entries)['guarantee'])}</strong>, protects one <bdi>{text(card.unit)}</bdi></p>\n"
        f'<p class="sentence">{text(card.sentence)}</p>\n</header>'
    )


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
