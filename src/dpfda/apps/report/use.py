"""Come here for what a reader of a page takes along: files to download, commands and code to go on with."""

from __future__ import annotations

import json
from pathlib import PurePath
from shlex import quote

from dpfda.apps.report.markup import download, text
from dpfda.apps.report.values import Values
from dpfda.releases import Release
from dpfda.releases.files import to_dict


def downloads(release: Release, values: Values, file: str) -> str:
    """Links that hold the release itself, as it was saved, and its table of values."""
    stored = json.dumps(to_dict(release), indent=1, allow_nan=False) + "\n"
    links = [
        download("The release as JSON", file, "application/json", stored),
        download("Values as CSV", f"{PurePath(file).stem}.csv", "text/csv", values.csv()),
    ]
    listed = "\n".join(f"<li>{link}</li>" for link in links)
    return (
        f'<section aria-labelledby="downloads">\n<h2 id="downloads">Downloads</h2>\n<ul>\n{listed}\n</ul>\n</section>'
    )


def examples(release: Release, values: Values, file: str) -> str:
    """Commands and code that read the release from its file."""
    sides = release.basis.domain.sides
    ends = [[low, low + (high - low) / 2, high] for low, high in sides]
    spots = [list(spot) for spot in zip(*ends, strict=True)]
    flat = len(sides) == 1
    points = [spot[0] for spot in spots] if flat else spots
    order = "1" if flat else str((1, *[0] * (len(sides) - 1)))
    python = [
        "import dpfda",
        "",
        f"release = dpfda.load({file!r})",
        f"release({points})  # values anywhere in the domain",
        f"release.derivative({order})({points})",
        "release.integral(), release.norm()",
        *([] if values.band is None else [f"release.band(level={values.level:g})"]),
        "print(release.certificate.text())",
    ]
    shell = [f"dpfda show {quote(file)}"]
    if flat:
        level = "" if values.band is None else f" --level {values.level:g}"
        shell.append(f"dpfda evaluate {quote(file)} --at={','.join(map(str, points))}{level}")
    shell.append(f"dpfda report {quote(file)}")
    return (
        '<section aria-labelledby="use">\n<h2 id="use">To go on with it</h2>\n'
        "<p>Save the release with the first link above. Whatever is computed from it is free.</p>\n"
        f'<pre tabindex="0" aria-label="Commands" id="shell"><code>{text(chr(10).join(shell))}</code></pre>\n'
        f'<pre tabindex="0" aria-label="Python" id="python"><code>{text(chr(10).join(python))}</code></pre>\n</section>'
    )
