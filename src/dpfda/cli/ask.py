"""`dpfda ask`: a private density that answers point by point, for ever the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import dpfda
from dpfda.cli.charging import LEDGER, LedgerChoice, ledger_of
from dpfda.cli.columns import Counts, called_after, check_sides, protected_points
from dpfda.cli.options import DATASET, OUTSIDE, POINT_DOMAIN, POINT_FILE, SPENT, UNIT_OR_COUNTS, option, options
from dpfda.cli.release_points import about_density, stated_domain
from dpfda.cli.releasing import NOTHING, opened, show_dry_run, told_line
from dpfda.cli.targets import check_targets
from dpfda.cli.values import DensityOptions, PointSourceOptions, grouped
from dpfda.cli.words import notice
from dpfda.errors import DataError, PrivacyRefused, UsageError
from dpfda.mechanisms import GaussianProcess
from dpfda.page.base import places
from dpfda.releases import Certificate

PURE = (
    "Answers are drawn with Gaussian noise, which needs delta > 0, e.g. --delta 1e-6. For delta = 0 release the whole "
    "density once, with dpfda release density, and evaluate it wherever you like, free."
)
ASKED = [
    POINT_DOMAIN,
    OUTSIDE,
    *SPENT,
    option("kernel", "ask"),
    option("bandwidth", "ask"),
    option("answers"),
    click.option(
        "--store", required=True, type=click.Path(path_type=Path), help="Where answers are kept, e.g. oracle.db."
    ),
    click.option("--new", is_flag=True, help="Make the store: that is a release, paid once for all answers."),
    click.option("--at", help="Points separated by commas; on a box coordinates with colons between them."),
    click.option(
        "--serve",
        "port",
        metavar="PORT",
        type=click.IntRange(0, 65535),
        help="Answer new points over HTTP as well, at this port, until stopped; 0 takes one that is free.",
    ),
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at, with --serve."),
    DATASET,
    *LEDGER,
    click.option("--dry-run", is_flag=True, help="Say what would be done: no values are read, nothing is charged."),
    click.option("--force", is_flag=True, help="Go on although next to nothing but noise is expected."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
]


@click.command()
@options(POINT_FILE, UNIT_OR_COUNTS, ASKED)
@grouped(PointSourceOptions, LedgerChoice)
def ask(
    source: PointSourceOptions,
    account: LedgerChoice,
    *,
    counts: str | None,
    domain: tuple[str, ...],
    outside: str,
    epsilon: float,
    delta: float,
    kernel: str | None,
    bandwidth: str | None,
    answers: int | None,
    store: Path,
    new: bool,
    at: str | None,
    port: int | None,
    host: str,
    dataset: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Ask the private density of the points in FILE at points, one by one, for ever: Hall et al., Section 5.

    Noise is a Gaussian process, drawn where it is asked for; all answers together are paid for once, when the store is
    made. The same point has the same answer for ever, and an answer is stored before it is printed. Answers are neither
    smoothed nor made positive. A store belongs to one set of records: say the same options each time, and never ask it
    with records that have changed. Never ask a copy of a store further, nor a backup that was put back: it would draw
    another noise, for one payment. Make it where it shall stay, e.g. in the folder that is served.

    With --serve outsiders ask over HTTP, as `dpfda serve` answers; `dpfda serve` itself has no records, and shows what
    a store has answered.

    \b
    Examples:
      dpfda ask people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 1e-6 \\
          --kernel matern-3/2,10 --store oracle.db --at 20,40 --new
      dpfda ask people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 1e-6 \\
          --kernel matern-3/2,10 --store oracle.db --at 20,41.5,60
      dpfda ask people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 1e-6 \\
          --kernel matern-3/2,10 --store oracle.db --serve 8000
    """
    if at is None and port is None:
        raise UsageError("Say where to ask, --at 20,40, or --serve 8000 to answer over HTTP." + NOTHING)
    if delta == 0:
        raise PrivacyRefused(PURE + NOTHING)
    if account.ledger is not None and not new:
        raise UsageError(
            "--ledger goes with --new: a store was paid for when it was made, and asking it again is free." + NOTHING
        )
    book = ledger_of(account)
    choices = DensityOptions(
        domain=domain,
        edges=(),
        epsilon=epsilon,
        delta=delta,
        neighbours="replace-one",
        mechanism=GaussianProcess.name,
        calibration=None,
        kernel=kernel,
        bandwidth=bandwidth,
        bandwidth_epsilon=None,
        eta=None,
        size=None,
        outside=outside,
        answers=answers,
    )
    est = dpfda.DensityFunction(
        **choices.parameters(), dataset=dataset or source.file.stem, ledger=book, force=force or not new
    )
    table = opened(source.file)
    points = protected_points(table, source, {} if counts is None else {counts: "the counts"})
    many = None if counts is None else Counts(points, counts)
    box = stated_domain(est)
    check_sides(points, box.dimension)
    rows, columns = (None, {}) if at is None else places(box, at)
    _check_store(store, new=new)
    records, numbers = called_after(points, "counts", counts), None if many is None else many.numbers
    if account.dry_run:
        show_dry_run(
            est.order(records, counts=numbers), about_density(est, points, counts, choices), book, as_json=as_json
        )
        return
    with est.open(store, records, counts=numbers) as oracle:
        if rows is not None:
            columns["value"] = oracle(rows).tolist()
        _print(columns, oracle.certificate, new=new, as_json=as_json)
        if new and not as_json:
            notice(f"\n{told_line(book, est.dataset)}")
        if port is not None:
            _answer(oracle, store, host, port)


def _print(columns: dict[str, list[float]], card: Certificate, *, new: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**columns, "card": card.to_dict()}))
        return
    if new:
        notice(f"{card.text()}\n")
    if columns:
        click.echo("\t".join(columns))
    for row in zip(*columns.values(), strict=True):
        click.echo("\t".join(f"{cell:.10g}" for cell in row))


def _answer(oracle: Any, store: Path, host: str, port: int) -> None:
    """Answers over HTTP until stopped, under the name of the store."""
    from dpfda.service import make_app, run

    run(make_app({store.stem: oracle}), host=host, port=port, trusted_proxy=None)


def _check_store(store: Path, *, new: bool) -> None:
    """A store is made only when that is said: a mistyped name would be a second release."""
    if new and store.exists():
        raise DataError(
            f"{str(store)!r} exists. Leave --new out to ask it again, free, or name another store." + NOTHING
        )
    if not new and not store.is_file():
        raise DataError(
            f"No store {str(store)!r}. Say --new to make it: that is a release, paid once for all answers." + NOTHING
        )
    if new:
        check_targets([store], overwrite=False, after=NOTHING)
