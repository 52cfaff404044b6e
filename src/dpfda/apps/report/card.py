"""Come here for the release card as part of a page, in the words of the card itself."""

from __future__ import annotations

import json

from dpfda.apps.report.markup import row, table, text
from dpfda.releases import Certificate


def card_section(card: Certificate) -> str:
    """The card in full: what it says, how each parameter came about, and every field as it is stored."""
    lines = "\n".join(f"<div><dt>{text(label)}</dt><dd>{text(said)}</dd></div>" for label, said in card.entries)
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
