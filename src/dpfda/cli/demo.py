"""The demonstration: the main job on bundled data, from file to picture and page."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from tempfile import TemporaryFile

import click

import dpfda
from dpfda.cli.notices import note_written
from dpfda.errors import DataError


def run_demo(out: Path, *, as_json: bool) -> None:
    """Release the mean daily load curve of the bundled households, and write release, card, picture and page."""
    from matplotlib.figure import Figure

    from dpfda.page import page

    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except OSError:
        raise DataError(f"Cannot write to {str(out)!r}. Name another folder with --out.") from None
    with as_file(files("dpfda.cli") / "demo_load_curves.parquet") as path:
        curves = dpfda.read_curves(path, values="t*", unit="household", grid="header")
        est = dpfda.MeanFunction(
            epsilon=1.0, delta=1e-6, bound=1000.0, domain=(0.0, 23.5), dataset="simulated load curves (W)"
        )
        release = est.fit(curves).release_
    release.save(out / "mean.json")
    note_written(out / "mean.json")
    (out / "card.txt").write_text(release.certificate.text() + "\n", encoding="utf-8")
    (out / "mean.html").write_text(page(release, file="mean.json"), encoding="utf-8")
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    ax = release.plot(figure.subplots())
    ax.set_xlabel("hour of the day")
    ax.set_ylabel("electricity use in watts")
    figure.savefig(out / "mean.png", dpi=150)
    if as_json:
        click.echo(json.dumps(release.certificate.to_dict(), indent=1))
        return
    click.echo(release.certificate.text())
    click.echo(
        f"\nWritten: {out / 'mean.json'}, {out / 'card.txt'}, {out / 'mean.png'}, {out / 'mean.html'}"
        f"\nNext:    dpfda evaluate {quote(str(out / 'mean.json'))} --at 0,6,12,18"
    )
