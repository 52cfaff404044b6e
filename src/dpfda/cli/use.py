"""What releases of points are used for: `dpfda sample`, synthetic records; `dpfda predict`, decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dpfda.arrays import brief
from dpfda.cli.show import loaded
from dpfda.cli.targets import check_table, check_targets, same_file, write_table
from dpfda.errors import UsageError

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
    from dpfda.page.evaluation import coordinates

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
