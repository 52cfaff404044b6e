"""`dpfda reproduce`: published tables and figures, computed again; nothing it prints is private."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dpfda.cli.notices import notice
from dpfda.cli.tables import progress_bars
from dpfda.errors import DataError, UsageError


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List what can be reproduced.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data files, for those that need any.")
@click.option(
    "--out",
    default="reproduced",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for tables (csv) and pictures (png).",
)
@click.option("--quick", is_flag=True, help="Seconds rather than minutes: fewer repetitions, the same code.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the study.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reproduce(
    names: tuple[str, ...], listed: bool, data: Path | None, out: Path, quick: bool, seed: int, as_json: bool
) -> None:
    """Compute published tables and figures again, beside the printed values; a study, not private.

    NAME is one of --list, the beginning of several ("lin", "mirshani-figure"), or "all".

    \b
    Examples:
      dpfda reproduce --list
      dpfda reproduce lin-table-2 --data folder --out reproduced
      dpfda reproduce mirshani-figure --quick
    """
    from dpfda.reproduce.catalogue import HOMES, select

    if listed:
        titles = {name: title for name, (_, title) in HOMES.items()}
        lines = [f"{name:<28}{title}" for name, title in titles.items()]
        click.echo(json.dumps(titles, indent=1) if as_json else "\n".join(lines))
        return
    if not names:
        raise UsageError("Say what to reproduce, e.g. dpfda reproduce lin-table-2. All names: dpfda reproduce --list.")
    chosen = list(dict.fromkeys(name for word in names for name in select(word)))
    if data is not None and not data.is_dir():
        raise DataError(f"No folder {str(data)!r}. Check --data.")
    _make_folder(out)
    done = []
    missing: list[str] = []
    for name in chosen:
        try:
            done.append(_reproduce(name, data, out, quick=quick, seed=seed, as_json=as_json))
        except DataError as error:
            if len(chosen) == 1:
                raise
            # One that lacks its data should not stop the others.
            missing.append(name)
            notice(f"{name}: {error}")
    if as_json:
        from dpfda.studies.tables import STAMP

        click.echo(json.dumps({"stamp": STAMP, "reproductions": done}, indent=1, default=float))
    if missing:
        raise DataError(f"Not reproduced for want of data: {', '.join(missing)}.")


def _reproduce(name: str, data: Path | None, out: Path, *, quick: bool, seed: int, as_json: bool) -> dict[str, Any]:
    """One reproduction: run it, write it, print it."""
    from dpfda.reproduce.catalogue import load
    from dpfda.studies.tables import STAMP, Setting

    made = load(name)
    if not as_json:
        click.echo(f"{made.title}\n{STAMP}")
    with progress_bars() as track:
        outcome, paths = made.write(Setting(data=data, quick=quick, seed=seed, track=track), out)
    written = [str(path) for path in paths]
    if not as_json:
        from dpfda.cli.tables import print_notes, print_table

        for table, path in zip(outcome.tables, written, strict=False):
            print_table(table, where=path)
        print_notes(outcome.notes)
        click.echo(f"\nWritten: {', '.join(written)}\n")
    tables = [{"title": table.title, "columns": table.columns, "rows": table.rows} for table in outcome.tables]
    return {"name": name, "title": made.title, "tables": tables, "notes": outcome.notes, "written": written}


def _make_folder(folder: Path) -> None:
    from dpfda.cli.targets import check_folder

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise DataError(f"Cannot write to {str(folder)!r}. Name another folder with --out.") from None
    check_folder(folder)
