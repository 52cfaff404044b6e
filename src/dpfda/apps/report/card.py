"""Come here for the release card as part of a page, in the words of the card itself."""

from __future__ import annotations

import json

from dpfda.apps.report.markup import row, table, text
from dpfda.releases import NOT_PRIVATE, Certificate

LABEL = 17  # columns of the label in the text of a card


def stamps(card: Certificate) -> tuple[str, ...]:
    """What has to be seen first."""
    if card.private or NOT_PRIVATE in card.warnings:
        return card.warnings
    return (NOT_PRIVATE, *card.warnings)


def entries(card: Certificate) -> list[tuple[str, str]]:
    """The labelled lines of the card's text, unwrapped: the page and the command line cannot say different things."""
    _, body, *_ = card.text().split("\n\n")
    found: list[tuple[str, str]] = []
    for line in body.split("\n"):
        label, said = line[:LABEL].strip(), line[LABEL:].strip()
        if label:
            found.append((label, said))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {said}")
    return found


def card_section(card: Certificate) -> str:
    """The card in full: what it says, how each parameter came about, and every field as it is stored."""
    lines = "\n".join(
        f"<div><dt>{text(label)}</dt><dd>{text(said)}</dd></div>" for label, said in entries(card) if label != "chosen"
    )
    chosen = table("How each public parameter was chosen", ("parameter", "how"), (row(*pair) for pair in card.chosen))
    fields = table(
        "Every field of the card as it is stored in the release",
        ("field", "value"),
        (row(name, json.dumps(value, ensure_ascii=False)) for name, value in card.to_dict().items()),
    )
    return (
        f'<section aria-labelledby="card">\n<h2 id="card">Release card</h2>\n<dl>\n{lines}\n</dl>\n{chosen}\n'
        f"<details><summary>All fields of the card</summary>\n{fields}\n</details>\n</section>"
    )
