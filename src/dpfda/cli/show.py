"""What can be done with a release in a file: `dpfda show`, `evaluate`, `report`, `sample` and `predict`."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import Any

import click

import dpfda
from dpfda.arrays import brief
from dpfda.cli.targets import check_table, check_targets, same_file, write_table, write_text
from dpfda.cli.words import notice
from dpfda.errors import DataError, DpfdaError, UsageError

DATABASE = b"SQLite format 3\x00"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_json: bool) -> None:
    """Print the card of a release: what it is, what it guarantees, what it means.

    Components come with the variances along them, where those were released; a density with its mean and quartiles.

    \b
    Example:
      dpfda show mean.json
    """
    from dpfda.page.base import page_of

    result = loaded(file)
    card = result.certificate
    facts, text = page_of(result).summary(result)
    if as_json:
        click.echo(json.dumps({**card.to_dict(), **facts}, indent=1))
        return
    click.echo(card.text())
    if text:
        click.echo(f"\n{fill(text, width=118, initial_indent='  ', subsequent_indent='  ')}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--at",
    help="Points of the domain, separated by commas; of a covariance all pairs of them, or pairs such as 0:0.5,0:1; on "
    "a box coordinates with colons between them.",
)
@click.option(
    "--derivative",
    default=0,
    show_default=True,
    type=click.IntRange(0, 20),
    help="Order of the derivative, at most 20.",
)
@click.option(
    "--smoothing",
    metavar="NAME",
    help="Smooth the release anew first, e.g. sobolev-2: free, and what the derivative of a rough release needs.",
)
@click.option("--level", type=float, help="Also print the noise band at this level, e.g. 0.95.")
@click.option(
    "--covariates",
    metavar="NUMBER,...",
    help="Of a regression: print the curve predicted for these covariates, in their order; 0 or 1 for a level.",
)
@click.option("--cdf", is_flag=True, help="Of a density: also print the probability of lying below each point.")
@click.option(
    "--quantiles", metavar="NUMBER,...", help="Of a density, instead of --at: where it reaches these probabilities."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; an end of the band that is infinite is null.")
def evaluate(
    file: Path,
    at: str | None,
    derivative: int,
    smoothing: str | None,
    level: float | None,
    covariates: str | None,
    cdf: bool,
    quantiles: str | None,
    as_json: bool,
) -> None:
    """Evaluate a release at points of its domain; free, however often.

    A covariance comes with the deviation of its noise before smoothing; components come side by side, coefficients of a
    regression one below the other. The band of a density is that of what was there before smoothing. A classifier says
    its value, the noise in it and the class; probabilities, of the second class, are those of a logistic one. A
    derivative is refused where the noise has none, however many coordinates were released: --smoothing helps. Notes,
    e.g. why a band is infinite, go to the standard error.

    \b
    Examples:
      dpfda evaluate mean.json --at 0,0.5,1
      dpfda evaluate mean.json --at 0.5 --derivative 1
      dpfda evaluate mean.json --at 0.5 --derivative 2 --smoothing sobolev-2
      dpfda evaluate mean.json --at 0,0.5,1 --level 0.95 --json
      dpfda evaluate covariance.json --at 0,0.5,1
      dpfda evaluate covariance.json --at 0:0.5,0.5:1
      dpfda evaluate components.json --at 0,0.5,1
      dpfda evaluate regression.json --at 0,0.5,1 --level 0.95
      dpfda evaluate regression.json --at 0,0.5,1 --covariates 50,1
      dpfda evaluate density.json --at 20,40,60 --cdf --level 0.95
      dpfda evaluate density.json --quantiles 0.1,0.5,0.9
      dpfda evaluate classifier.json --at 40:170,65:180
    """
    if at is None and quantiles is None:
        raise click.UsageError("Missing option '--at'.", click.get_current_context())
    from dpfda.page.base import Asked, page_of

    result, asked = loaded(file), Asked(at or "", derivative, level, covariates, cdf, quantiles)
    page = page_of(result)
    if smoothing is not None:
        result = _smoothed(result, smoothing)
    table = page.table(result, asked)
    for note in page.notes(result, asked, table):
        notice(f"Note: {note}")
    if as_json:
        # JSON has no infinity, which a band has where the noisy number of units could be zero.
        columns = {name: [_finite(x) for x in column] for name, column in table.items()}
        click.echo(json.dumps(columns | page.facts(result), allow_nan=False))
        return
    click.echo("\t".join(table))
    for row in zip(*table.values(), strict=True):
        click.echo("\t".join(cell if isinstance(cell, str) else f"{cell:.10g}" for cell in row))


def _smoothed(release: Any, name: str) -> Any:
    """The release with another smoothing, and a note that says so."""
    if not hasattr(release, "smooth"):
        raise UsageError(f"A {release.certificate.what} has no smoothing to choose: leave --smoothing out.")
    result = release.smooth(name)
    notice(f"Note: smoothed anew by {name!r} first; the file stays as it is.")
    return result


def loaded(file: Path) -> Any:
    """The release in a file; what is kept for other commands says for which."""
    try:
        return dpfda.load(file)
    except DataError:
        if not _is_database(file):
            raise
    release = _opened(file)
    if release is not None:
        return release
    raise UsageError(
        f"{file.name!r} is a database, not a release: a store of answers is asked by `dpfda ask FILE ... "
        f"--store {quote(file.name)} --at 0.5`, a ledger is shown by "
        f"`dpfda budget show {quote(f'sqlite:///{file.name}')}`."
    )


def _opened(file: Path) -> Any:
    """The release that a store answers from, if it holds a whole one; None of other databases."""
    from dpfda.online import open_store

    try:
        with open_store(file) as oracle:
            return getattr(oracle, "release", None)
    except DpfdaError:
        return None


def _is_database(file: Path) -> bool:
    with suppress(OSError, ValueError):
        if file.is_file():  # to open a pipe would be to wait
            with file.open("rb") as stream:
                return stream.read(len(DATABASE)) == DATABASE
    return False


def _finite(cell: float | str) -> float | str | None:
    return cell if isinstance(cell, str) or math.isfinite(cell) else None


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The page.  [default: NAME.html, in this folder]")
@click.option("--level", default=0.95, show_default=True, type=float, help="Level of the noise band, at most 0.998.")
@click.option("--overwrite", is_flag=True, help="Replace a page that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(file: Path, out: Path | None, level: float, overwrite: bool, as_json: bool) -> None:
    """Write a release as one HTML page: picture, card, values and downloads; it needs no network, and costs nothing.

    \b
    Examples:
      dpfda report mean.json
      dpfda report mean.json -o mean.html --level 0.9 --overwrite
    """
    from dpfda.page import page

    result = loaded(file)
    target = out or Path(f"{file.stem}.html")
    if same_file(file, target):
        raise UsageError("The release and the page must be different files. Name another with --out.")
    check_targets([target], overwrite=overwrite)
    write_text(target, page(result, file=file.name, level=level))
    click.echo(json.dumps({"written": [str(target)]}) if as_json else f"Written: {target}")


MOST_RECORDS = 10_000_000


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--size", required=True, type=click.IntRange(1, MOST_RECORDS), help="How many records to draw.")
@click.option("--out", type=click.Path(path_type=Path), help="Table, csv or parquet.  [default: NAME-sample.csv]")
@click.option("--names", metavar="NAME,...", help="Names of the columns.  [default: x, or x1, x2, ...]")
@click.option("--seed", type=click.IntRange(min=0), help="Draw the same records again; privacy does not depend on it.")
@click.option("--overwrite", is_flag=True, help="Replace a table that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sample(
    file: Path, size: int, out: Path | None, names: str | None, seed: int | None, overwrite: bool, as_json: bool
) -> None:
    """Draw synthetic records from a released density; free, as many as wanted.

    They follow the released density and nothing else: however many are drawn, they tell no more about the people than
    the release does, and no more about the population than it knows.

    \b
    Examples:
      dpfda sample density.json --size 1000
      dpfda sample map.json --size 50000 --names lon,lat --out synthetic.parquet --seed 1
    """
    from dpfda.page.base import coordinates

    result = loaded(file)
    if not hasattr(result, "sample"):
        raise UsageError(f"Records are drawn from a density, and {str(file)!r} holds a {result.certificate.what}.")
    dimension = result.basis.domain.dimension
    columns = coordinates(dimension) if names is None else tuple(name.strip() for name in names.split(","))
    if len(set(columns)) != dimension or len(columns) != dimension or not all(columns):
        wanted = "one name" if dimension == 1 else f"{dimension} different names, separated by commas"
        raise UsageError(f"--names takes {wanted}; got {brief(names)}.")
    target = out or Path(f"{file.stem}-sample.csv")
    _check(target, file, overwrite=overwrite)
    drawn = result.sample(size, seed=seed).reshape(size, dimension)
    write_table(target, dict(zip(columns, drawn.T, strict=True)))
    _written(target, size, as_json=as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--points",
    multiple=True,
    metavar="COLUMN,...",
    help="Columns of coordinates, in the order of the domain: names, or patterns.  [default: all columns]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Table, csv or parquet.  [default: NAME-predicted.csv]")
@click.option("--overwrite", is_flag=True, help="Replace a table that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def predict(file: Path, table: Path, points: tuple[str, ...], out: Path | None, overwrite: bool, as_json: bool) -> None:
    """Decide or predict for the points of TABLE, csv or parquet, by a released classifier or regressor; free.

    The table that is written has a row for each of them: coordinates, the value of the function, the noise in it,
    and the class or the predicted response. Points beyond the domain are moved to its edge, as those were that the
    release was made from; a coordinate that is missing is moved to the middle.

    \b
    Examples:
      dpfda predict classifier.json new.csv --points 'age,height'
      dpfda predict regressor.json new.parquet --points 'x*' --out predicted.parquet
    """
    from dpfda.cli.columns import read_points
    from dpfda.records.files import open_table
    from dpfda.statistics.machines.page import decisions
    from dpfda.statistics.machines.release import MachineRelease, into

    result = loaded(file)
    if not isinstance(result, MachineRelease):
        raise UsageError(
            f"A classifier or a regressor predicts, and {str(file)!r} holds a {result.certificate.what}. Use dpfda "
            "evaluate."
        )
    asked = read_points(open_table(table), points or ("*",), unit=None, beside={})
    names, dimension = asked.source.names, result.basis.domain.dimension  # type: ignore[attr-defined]
    if len(names) != dimension:
        raise UsageError(
            f"The release takes points of {dimension} coordinate{'s' * (dimension > 1)}, and there {_many(len(names))} "
            f"({asked.columns}). Name them with --points."
        )
    target = out or Path(f"{table.stem}-predicted.csv")
    _check(target, file, table, overwrite=overwrite)
    columns: dict[str, list[Any]] = {}
    for batch in asked.batches(2**16):
        given = dict(zip(names, batch.T.tolist(), strict=True))
        said = decisions(result, into(result.basis.domain, batch))
        for name, cells in (given | {_free(name, names): cells for name, cells in said.items()}).items():
            columns.setdefault(name, []).extend(cells)
    if not columns:
        raise UsageError(f"There are no points in {str(table)!r}.")
    write_table(target, columns)
    _written(target, len(columns[names[0]]), as_json=as_json)


def _many(columns: int) -> str:
    return "is 1 column" if columns == 1 else f"are {columns} columns"


def _free(name: str, taken: tuple[str, ...]) -> str:
    """A name that no column of points has."""
    return name if name not in taken else _free(f"{name}_", taken)


def _check(target: Path, *files: Path, overwrite: bool) -> None:
    check_table(target)
    if same_file(target, *files):
        raise UsageError("What is read and what is written must be different files. Name another with --out.")
    check_targets([target], overwrite=overwrite)


def _written(target: Path, rows: int, *, as_json: bool) -> None:
    click.echo(json.dumps({"written": [str(target)], "rows": rows}) if as_json else f"Written: {target} ({rows} rows)")
