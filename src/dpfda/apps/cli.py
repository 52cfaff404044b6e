"""Come here for the `dpfda` command."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

import dpfda
from dpfda.apps.demo import run_demo
from dpfda.apps.options import PICTURES, numbers, release_options
from dpfda.errors import DataError, DpfdaError, UsageError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(dpfda.__version__, prog_name="dpfda")
def cli() -> None:
    """Private mean curves from sensitive records, with a guarantee that is true.

    \b
    Start here:
      dpfda demo
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda show scans-mean.json
      dpfda evaluate scans-mean.json --at 0,0.5,1

    Exit codes: 0 done, 2 usage, 3 refused for privacy, 4 budget, 5 data.
    """


@cli.command()
@click.option(
    "--out", default="demo-output", show_default=True, type=click.Path(file_okay=False, path_type=Path), help="Folder."
)
def demo(out: Path) -> None:
    """Release a mean curve from bundled data: simulated electricity use of 2,500 households.

    \b
    Example:
      dpfda demo --out /tmp/demo
    """
    run_demo(out)


@cli.group()
def release() -> None:
    """Release a private summary of a file.

    \b
    Example:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
    """


@release.command("mean")
@release_options
def release_mean(
    file: Path,
    unit: str,
    values: str | None,
    grid: str,
    domain: str,
    epsilon: float,
    delta: float,
    bound: float | None,
    limits: str | None,
    neighbours: str,
    planned_n: int | None,
    mechanism: str,
    basis: str | None,
    smoothing: str,
    dataset: str | None,
    out: Path | None,
    picture: Path | None,
    overwrite: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
    workers: int | None,
) -> None:
    """Release the mean curve of FILE, a wide CSV or Parquet table: one row a curve, one column a grid point.

    \b
    Examples:
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release mean growth.csv --unit row --values 'age_*' --grid header --domain 1,18 \\
          --epsilon 1 --delta 0 --limits 60,210 --out growth.json --plot growth.png
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1 --dry-run
    """
    from dpfda.records import read_header

    _check_public(bound, limits, neighbours, planned_n)
    est = dpfda.MeanFunction(
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        limits=None if limits is None else numbers(limits, "--limits", count=2),  # type: ignore[arg-type]
        domain=numbers(domain, "--domain", count=2),
        neighbours=neighbours,
        planned_n=planned_n,
        mechanism=mechanism,
        basis=basis,
        smoothing=smoothing,
        dataset=dataset or file.stem,
        workers=workers,
    )
    curves = dpfda.read_curves(
        file, values=values, unit=None if unit == "row" else unit, grid="header" if grid == "header" else None
    )
    if unit == "row" and "row" in read_header(file):
        raise UsageError(
            "--unit row says that every row is another person, but there is a column 'row' too. Rename the column."
        )
    plan = est.plan_for(curves)
    target = out or Path(f"{file.stem}-mean.json")
    _check_targets(file, target, picture, overwrite=overwrite or dry_run)
    if plan.noise_rms > plan.bound and not force:
        raise UsageError(
            f"With n = {plan.n} and epsilon {epsilon:g} the noise would be {plan.noise_rms / plan.bound:.0%} of the "
            "bound: nothing could be seen. Raise --epsilon, or say --force to go on. Nothing was charged."
        )
    if dry_run:
        about = (("protects", f"one {curves.unit or 'row'}, {neighbours}"), ("values", curves.columns))
        click.echo(json.dumps(plan.to_dict(), indent=1) if as_json else plan.text(*about))
        return
    result = est.fit(curves).release_
    result.save(target)
    if picture is not None:
        _save_picture(result, picture)
    if as_json:
        click.echo(json.dumps(result.certificate.to_dict(), indent=1))
    else:
        click.echo(result.certificate.text())
        click.echo(f"\nWritten: {target}" + (f", {picture}" if picture else ""))


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_json: bool) -> None:
    """Print the card of a release: what it is, what it guarantees, what it means.

    \b
    Example:
      dpfda show mean.json
    """
    card = dpfda.load(file).certificate
    click.echo(json.dumps(card.to_dict(), indent=1) if as_json else card.text())


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--at", required=True, help="Points of the domain, separated by commas.")
@click.option(
    "--derivative",
    default=0,
    show_default=True,
    type=click.IntRange(0, 20),
    help="Order of the derivative, at most 20.",
)
@click.option("--level", type=float, help="Also print the noise band at this level, e.g. 0.95.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; an end of the band that is infinite is null.")
def evaluate(file: Path, at: str, derivative: int, level: float | None, as_json: bool) -> None:
    """Evaluate a release at points of its domain; free, however often.

    \b
    Examples:
      dpfda evaluate mean.json --at 0,0.5,1
      dpfda evaluate mean.json --at 0.5 --derivative 1
      dpfda evaluate mean.json --at 0,0.5,1 --level 0.95 --json
    """
    result = dpfda.load(file)
    if result.basis.domain.dimension > 1:
        raise UsageError("evaluate knows releases on an interval; for a surface use dpfda.load(...) in Python.")
    points = numbers(at, "--at", count=None)
    table: dict[str, list[float]] = {"t": list(points)}
    table["value"] = result.derivative(derivative)(points).tolist()
    if level is not None:
        if derivative:
            raise UsageError("--level gives the noise band of the curve itself: leave --derivative out.")
        band = result.band(level, points)
        table |= {"lower": band.lower.tolist(), "upper": band.upper.tolist()}
    if as_json:
        # JSON has no infinity, which a band has where the noisy number of units could be zero.
        finite = {name: [x if math.isfinite(x) else None for x in column] for name, column in table.items()}
        click.echo(json.dumps(finite, allow_nan=False))
        return
    click.echo("\t".join(table))
    for row in zip(*table.values(), strict=True):
        click.echo("\t".join(f"{value:.10g}" for value in row))


def _check_public(bound: float | None, limits: str | None, neighbours: str, planned_n: int | None) -> None:
    """What the estimator would refuse too, here in the words of the command line."""
    if bound is None and limits is None:
        raise UsageError(
            "A mean curve needs a bound known in advance, e.g. --bound 6, or the range of values, e.g. --limits 0,12. "
            "It may not be read from the data."
        )
    if bound is not None and limits is not None:
        raise UsageError(f"--bound {bound:g} and --limits {limits} both bound the curves. Leave one of them out.")
    counted = neighbours == "add-or-remove-one"
    if counted and planned_n is None:
        raise UsageError(
            "Under add-or-remove-one the number of units is private and may not be read. "
            "State a public guess, e.g. --planned-n 5000."
        )
    if planned_n is not None and not counted:
        raise UsageError("--planned-n is for --neighbours add-or-remove-one; under replace-one the number is public.")


def _check_targets(file: Path, target: Path, picture: Path | None, *, overwrite: bool) -> None:
    """Everything about the output is checked before anything is charged."""
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise UsageError(f"--plot writes {', '.join(PICTURES)}, got {str(picture)!r}. Nothing was charged.")
    paths = [target, *([picture] if picture is not None else [])]
    places = [path.resolve() for path in (file, *paths)]
    if len(set(places)) < len(places):
        raise UsageError(
            "The data, the release and the picture must be different files. Name another with --out or --plot. "
            "Nothing was charged."
        )
    for path in paths:
        folder = path.absolute().parent
        if path.is_dir():
            raise DataError(f"{str(path)!r} is a folder. Name a file in it. Nothing was charged.")
        if path.exists() and not overwrite:
            raise DataError(f"{str(path)!r} exists. Say --overwrite, or name another file. Nothing was charged.")
        if not folder.is_dir():
            raise DataError(f"No folder {str(folder)!r} to write to. Make it first. Nothing was charged.")
        try:
            TemporaryFile(dir=folder).close()
        except OSError:
            raise DataError(f"Cannot write to {str(folder)!r}. Name another folder. Nothing was charged.") from None


def _save_picture(result: Any, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8), layout="constrained")
    result.plot(figure.subplots())
    figure.savefig(path, dpi=150)


def main() -> None:
    """The command, with errors as one line and an exit code, never a traceback."""
    try:
        code = cli.main(prog_name="dpfda", standalone_mode=False)
    except DpfdaError as error:
        _leave(str(error), error.exit_code)
    except click.ClickException as error:
        _leave_usage(error)
    except click.exceptions.Abort:
        _leave("Interrupted.", 130)
    except Exception as error:
        # Frames of a traceback could hold records.
        _leave(f"Something unforeseen happened ({type(error).__name__}). Please report it, without your data.", 1)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _leave_usage(error: click.ClickException) -> None:
    """Click's own refusals in one line, with the help to ask for."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()  # a group without a command shows its help; older versions of click do so by themselves
        sys.exit(error.exit_code)
    context = getattr(error, "ctx", None)
    where = "" if context is None else f" Try '{context.command_path} --help'."
    message = " ".join(error.format_message().split())
    _leave(message + ("" if message.endswith((".", "?", ")")) else ".") + where, error.exit_code)


def _leave(message: str, code: int) -> None:
    click.echo(f"Error: {message}", err=True)
    sys.exit(code)
