"""Everything that can be reproduced, by name, and the command that does it; nothing that it prints is private."""

from __future__ import annotations

import json
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from dpfda.arrays import brief
from dpfda.cli.tables import progress_bars
from dpfda.cli.words import notice
from dpfda.errors import DataError, UsageError
from dpfda.studies.outcome import Reproduction

# Where each lives, and its title. Modules are loaded when they are asked for: a list needs no numeric library.
HOMES: dict[str, tuple[str, str]] = {
    "awan-figures-1-2-3": ("awan_figures", "Figures 1 to 3 of Awan et al.: private components of simulated curves"),
    "awan-table-1": ("awan_tables", "Table 1 of Awan et al.: variance ratio of private components"),
    "awan-table-2": ("awan_tables", "Table 2 of Awan et al.: subspace distance of private components"),
    "hall-figure-1": ("hall_densities", "Figure 1 of Hall et al.: a density with noise of its own kernel"),
    "hall-figure-2": ("hall_densities", "Figure 2 of Hall et al.: a density with noise of a Sobolev space"),
    "hall-figure-3": ("hall_machine", "Figure 3 of Hall et al.: a kernel machine before and after its noise"),
    "lin-covariance": ("lin_covariance", "Appendix C.1 of Lin and Reimherr: private covariance functions, simulated"),
    "lin-figure-1": ("lin_figures", "Figure 1 of Lin and Reimherr: safe selection against cross-validation"),
    "lin-figure-2": ("lin_figures", "Figure 2 of Lin and Reimherr: errors of the mechanisms against n"),
    "lin-figure-3": ("lin_density", "Figure 3 of Lin and Reimherr: private densities on a line"),
    "lin-figure-4": ("lin_density", "Figure 4 of Lin and Reimherr: private densities in a square"),
    "lin-figure-5": ("lin_figure_5", "Figure 5 of Lin and Reimherr: one private mean by each mechanism, epsilon = 1"),
    "lin-figure-9": ("mortality", "Figure 9 of Lin and Reimherr: private densities of age at death"),
    "lin-figures-6-7-8": ("lin_figures", "Figures 6 to 8 of Lin and Reimherr: heavy errors, smoother kernel"),
    "lin-regression": ("lin_regression", "Appendix C.2 of Lin and Reimherr: private coefficient functions, simulated"),
    "lin-table-1": ("lin_table_1", "Table 1 of Lin and Reimherr: time for 100 paths of a noise process"),
    "lin-table-2": ("lin_table_2", "Table 2 of Lin and Reimherr, all 96 cells"),
    "lin-table-3": ("mortality", "Table 3 of Lin and Reimherr: private densities of age at death"),
    "mirshani-figure-1": ("mirshani_figures", "Figure 1 of Mirshani et al.: simulated curves, varying penalty"),
    "mirshani-figure-4": ("mirshani_figures", "Figure 4 of Mirshani et al.: simulated curves, varying kernel"),
    "mirshani-figure-5": ("mirshani_figures", "Figure 5 of Mirshani et al.: simulated curves, varying kernel"),
    "mirshani-figure-6": ("mirshani_figures", "Figure 6 of Mirshani et al.: simulated curves, varying decay"),
    "mirshani-figure-7": ("mirshani_figures", "Figure 7 of Mirshani et al.: simulated curves, varying epsilon"),
    "mirshani-figure-8": ("mirshani_figures", "Figure 8 of Mirshani et al.: simulated curves, varying delta"),
    "mirshani-figure-9": ("mirshani_figures", "Figure 9 of Mirshani et al.: simulated curves, varying n"),
    "mirshani-figure-10": ("mirshani_figures", "Figure 10 of Mirshani et al.: simulated curves, varying mean"),
    "mirshani-figures-2-3-11-12": ("mirshani_figures", "Figures 2, 3, 11, 12 of Mirshani et al.: means of brain scans"),
    "mirshani-table-1": ("mirshani_tables", "Table 1 of Mirshani et al.: ranges by cross-validation, brain scans"),
    "mirshani-table-2": ("mirshani_tables", "Table 2 of Mirshani et al.: private cross-validation, brain scans"),
}


def load(name: str) -> Reproduction:
    """The reproduction of this name."""
    module = import_module(f"dpfda.reproduce.{HOMES[name][0]}")
    several = getattr(module, "REPRODUCTIONS", ())
    found: Reproduction
    (found,) = (made for made in several or (module.REPRODUCTION,) if made.name == name)
    return found


def select(word: str) -> tuple[str, ...]:
    """The names that a word stands for: a name, "all", or the beginning of several, e.g. "lin" or "mirshani-figure".

    >>> select("lin-table")
    ('lin-table-1', 'lin-table-2', 'lin-table-3')
    """
    if word in HOMES:
        return (word,)
    begun = tuple(name for name in HOMES if word == "all" or name.startswith(f"{word}-"))
    if not begun:
        near = get_close_matches(word, [*HOMES, *dict.fromkeys(name.split("-")[0] for name in HOMES), "all"], n=3)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"Nothing to reproduce is called {brief(word)}. {meant}All names: dpfda reproduce --list.")
    return begun


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
        from dpfda.studies.outcome import STAMP

        click.echo(json.dumps({"stamp": STAMP, "reproductions": done}, indent=1, default=float))
    if missing:
        raise DataError(f"Not reproduced for want of data: {', '.join(missing)}.")


def _reproduce(name: str, data: Path | None, out: Path, *, quick: bool, seed: int, as_json: bool) -> dict[str, Any]:
    """One reproduction: run it, write it, print it."""
    from dpfda.studies.outcome import STAMP, Setting

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
