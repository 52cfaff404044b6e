"""What every release command does around its estimator: check, plan, write, print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpfda.cli.charging import CommandLedger, check_books, ledger_of
from dpfda.cli.targets import check_picture, check_targets, same_file, save_picture
from dpfda.cli.values import OutputOptions
from dpfda.cli.words import note_written
from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.records.files import Table
    from dpfda.statistics.estimator import FitOrder

NOTHING = " Nothing was charged."


def opened(file: Path) -> Table:
    """The table of a command: opened once, before anything heavy is loaded, and handed on."""
    from dpfda.records.files import open_table

    return open_table(file)


def output_parameters(table: Table, neighbours: str, output: OutputOptions, *, kind: str) -> dict[str, Any]:
    """The parameters of an estimator that say how a release is made; what it would refuse is refused here too.

    So is an output that cannot be written: before anything heavy is loaded.
    """
    counted = neighbours == "add-or-remove-one"
    if counted and output.planned_n is None:
        raise UsageError(
            "Under add-or-remove-one the number of units is private and may not be read. "
            "State a public guess, e.g. --planned-n 5000."
        )
    if output.planned_n is not None and not counted:
        raise UsageError("--planned-n is for --neighbours add-or-remove-one; under replace-one the number is public.")
    book = ledger_of(output)
    _check_outputs(table.file, output, kind=kind)
    if output.n is not None and counted:
        raise UsageError(
            "--n states the number of units, which is private under add-or-remove-one. State a guess with --planned-n."
        )
    stated = {"n": output.n, "planned_n": output.planned_n, "dataset": output.dataset or table.file.stem}
    return stated | {"force": output.force, "ledger": book}


def check_row(table: Table, unit: str | None) -> None:
    """`--unit row` means every row, unless there is a column of that name."""
    if unit == "row" and "row" in table.columns:
        raise UsageError(
            "--unit row says that every row is another person, but there is a column 'row' too. Rename the column."
        )


def ready(
    est: Any,
    ordered: FitOrder,
    about: tuple[tuple[str, str], ...],
    file: Path,
    output: OutputOptions,
    *,
    kind: str,
) -> bool:
    """Whether to go on with an order: everything has been checked, and this is no dry run, which is printed.

    `about` are lines about what the plan would be applied to.
    """
    _check_outputs(file, output, kind=kind)  # planning takes its time, and others write files too
    if output.dry_run:
        show_dry_run(ordered, about, est.ledger, as_json=output.as_json)
        return False
    return True


def show_dry_run(
    ordered: FitOrder, about: tuple[tuple[str, str], ...], book: CommandLedger | None, *, as_json: bool
) -> None:
    """Print what would be done and what the ledger would say to it; a refusal ends the command as it would later."""
    from dpfda.cli.charging import quote_facts, quote_lines, refuse

    plan, asked = ordered.plan, None if book is None else book.asked(ordered.price)
    told = () if asked is None else quote_lines(asked)
    lines = [plan.text(), *(f"  {name:<11} {what}" for name, what in (*about, *told))]
    facts = plan.to_dict() | ({} if asked is None else {"ledger": quote_facts(asked)})
    click.echo(json.dumps(facts, indent=1) if as_json else "\n".join(lines))
    if asked is not None:
        refuse(asked)


def write(est: Any, result: Any, file: Path, output: OutputOptions, *, kind: str, panels: int = 1) -> None:
    """Write a release and its picture, and print its card."""
    target = _target(file, output, kind)
    result.save(target)
    note_written(target)
    if output.picture is not None:
        save_picture(result, output.picture, panels=panels)
    if output.as_json:
        click.echo(json.dumps(result.certificate.to_dict(), indent=1))
    else:
        click.echo(result.certificate.text())
        click.echo(f"\nWritten: {target}" + (f", {output.picture}" if output.picture else ""))
        click.echo(told_line(est.ledger, est.dataset))


def told_line(book: CommandLedger | None, dataset: str) -> str:
    """One line: what the ledger has left, or how to keep one."""
    from dpfda.cli.charging import left_after, unrecorded

    return unrecorded(dataset) if book is None or book.receipt is None else left_after(book, book.receipt)


def _target(file: Path, output: OutputOptions, kind: str) -> Path:
    return output.out or Path(f"{file.stem}-{kind}.json")


def _check_outputs(file: Path, output: OutputOptions, *, kind: str) -> None:
    """Everything about the output is checked before anything is charged."""
    check_picture(output.picture, after=NOTHING)
    paths = [_target(file, output, kind), *([output.picture] if output.picture is not None else [])]
    if same_file(file, *paths):
        raise UsageError(
            "The data, the release and the picture must be different files. Name another with --out or --plot."
            + NOTHING
        )
    check_books(output, paths)
    check_targets(paths, overwrite=output.overwrite or output.dry_run, after=NOTHING)
