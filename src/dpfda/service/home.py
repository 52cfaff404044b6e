"""The home page of the service: what has been released, and a form to ask; it needs no other file."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files

from dpfda.page.markup import text
from dpfda.service.served import ServedEntry, ServedReleases

STYLE_MORE = """
output { display: block; white-space: pre-wrap; margin: 0.6rem 0; font-variant-numeric: tabular-nums; }
form.ask { margin: 0.8rem 0; } form.ask label { display: block; }
form.ask input { font: inherit; width: 100%; max-width: 30rem; padding: 0.3rem; }
form.ask button { font: inherit; padding: 0.3rem 0.9rem; margin-top: 0.4rem; }
article { border-top: 1px solid var(--rule); }
"""


@cache
def _parts() -> tuple[str, str]:
    style = files("dpfda.page").joinpath("page.css").read_text(encoding="utf-8") + STYLE_MORE
    return style, files("dpfda.service").joinpath("page.js").read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


# The page's own style and script are named by their hashes: no other would run, wherever it came from.
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {_hash(_parts()[0])}; script-src {_hash(_parts()[1])}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}


def markup(served: ServedReleases) -> str:
    """The page, in full."""
    style, script = _parts()
    entries = list(served)
    body = "\n".join(_article(entry) for entry in entries) or "<p>Nothing has been released yet.</p>"
    contents = "".join(f'<li><a href="#{text(entry.id)}">{text(entry.id)}</a></li>' for entry in entries)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>What has been released</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#releases">To the releases</a>\n<main>\n<h1>What has been released</h1>\n'
        "<p>Private functions of sensitive records. Everything here has been paid for with privacy budget: reading and "
        "asking cost nothing more.</p>\n"
        f'<nav aria-label="Releases"><ul>{contents}</ul></nav>\n'
        f'<section id="releases" aria-label="Releases">\n{body}\n</section>\n'
        '<p>For programs: <a href="/openapi.json">the OpenAPI document</a>, <a href="/releases">the list</a>.</p>\n'
        f"</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _article(entry: ServedEntry) -> str:
    answers, name = entry.answers, text(entry.id)
    ends = " x ".join(f"[{low:g}, {high:g}]" for low, high in zip(answers.lower, answers.upper, strict=True))
    middle = ", ".join(f"{(low + high) / 2:g}" for low, high in zip(answers.lower, answers.upper, strict=True))
    what = f"{entry.summary['what']} of '{entry.summary['dataset']}'" if entry.summary["dataset"] else entry.id
    several = "" if len(answers.lower) == 1 else f", {len(answers.lower)} numbers each"
    links = ", ".join(
        f'<a href="{text(address)}">{label}</a>'
        for label, address in (
            ("card as text", f"/releases/{entry.id}/card"),
            ("card as JSON", f"/releases/{entry.id}"),
        )
    )
    file = "" if answers.file is None else f', <a href="/releases/{name}/file" download="{name}.json">file</a>'
    return (
        f'<article aria-labelledby="{name}">\n<h2 id="{name}">{name}</h2>\n<p><bdi>{text(what)}</bdi></p>\n'
        f'<form class="ask" hidden data-address="/releases/{name}/evaluate" data-coordinates="{len(answers.lower)}" '
        f'data-names="{text(json.dumps(answers.names))}">\n'
        f'<label for="ask-{name}">Ask {name} at points of {text(ends)}{several}, separated by commas</label>\n'
        f'<input id="ask-{name}" name="points" inputmode="text" autocomplete="off" value="{text(middle)}">\n'
        f'<button type="submit">Ask</button>\n<output for="ask-{name}" aria-live="polite"></output>\n</form>\n'
        f"<details><summary>Card of {name}</summary>\n<pre>{text(answers.text)}</pre>\n</details>\n"
        f"<p>{links}{file}</p>\n</article>"
    )
