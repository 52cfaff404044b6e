"""Come here for what a reader of a page takes along: files to download, commands and code to go on with."""

from __future__ import annotations

from pathlib import PurePath
from shlex import quote
from typing import Any

from dpfda.apps.report.content import Content
from dpfda.apps.report.markup import download, text
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
