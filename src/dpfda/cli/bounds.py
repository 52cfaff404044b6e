"""`dpfda bounds`: a bound for curves that nobody knows in advance, bought with a little budget."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from textwrap import fill

import click

import dpfda
from dpfda.arrays import numbers
from dpfda.cli.charging import LEDGER, LedgerChoice, LedgerQuote, check_books, ledger_of, typed
from dpfda.cli.options import CENTRE, DATASET, FILE, option, options
from dpfda.cli.release import centre_of, curves_of
from dpfda.cli.releasing import NOTHING, opened, told_line
from dpfda.cli.targets import check_targets, same_file, write_text
from dpfda.cli.values import SourceOptions, grouped, interval
from dpfda.errors import UsageError

ASKED = [
    option("domain", default="0,1"),
    click.option("--epsilon", required=True, type=float, help="What the choice costs, on top of releases, e.g. 0.1."),
    click.option(
        "--candidates",
        required=True,
        metavar="LOW,HIGH",
        help="Ends between which the bound certainly lies, known in advance, e.g. 0.01,1000; 64 candidates lie between "
        "them. Or all candidates, increasing.",
    ),
    click.option(
        "--quantile",
        default=0.95,
        show_default=True,
        type=float,
        help="Share of the units that shall lie within the bound; the others are clipped.",
    ),
    CENTRE,
    DATASET,
    *LEDGER,
    click.option("--out", type=click.Path(path_type=Path), help="Also write bound and card, as JSON."),
    click.option("--overwrite", is_flag=True, help="Replace a file that exists."),
    click.option("--dry-run", is_flag=True, help="Say cost and accuracy: no values are read, nothing is charged."),
    click.option("--force", is_flag=True, help="Go on although the bound would be drawn almost blindly."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
]


@click.command()
@options(FILE, ASKED)
@grouped(SourceOptions, LedgerChoice)
def bounds(
    source: SourceOptions,
    account: LedgerChoice,
    *,
    domain: str,
    epsilon: float,
    candidates: str,
    quantile: float,
    centre: Path | None,
    dataset: str | None,
    out: Path | None,
    overwrite: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Buy a bound for the curves in FILE: about the stated share of units lies within it, by root mean square.

    It is drawn by the exponential mechanism among public candidates, for pure epsilon, under replace-one. That cost
    comes on top of what releases cost. A bound that is known in advance is free, and better. Ends that lie closer
    together give a better one.

    \b
    Examples:
      dpfda bounds scans.csv --unit ID --values 't*' --epsilon 0.1 --candidates 0.01,1000
      dpfda bounds scans.csv --unit ID --values 't*' --epsilon 0.1 --candidates 0.01,1000 \\
          --quantile 0.9 --ledger sqlite:///budget.db --dataset scans --out bound.json
      dpfda bounds scans.csv --unit ID --values 't*' --epsilon 0.1 --candidates 0.01,1000 --dry-run
    """
    from dpfda.statistics.private_bound import bound_order

    ends = numbers(candidates, "--candidates", count=None)
    book = ledger_of(account)
    if out is not None:
        if same_file(source.file, out):
            raise UsageError("The data and the card must be different files. Name another with --out." + NOTHING)
        check_books(account, [out])
        check_targets([out], overwrite=overwrite or account.dry_run, after=NOTHING)
    curves = curves_of(opened(source.file), source)
    name = dataset or source.file.stem

    order = bound_order(
        curves,
        epsilon=epsilon,
        quantile=quantile,
        candidates=ends,
        domain=interval(domain),
        centre=centre_of(centre),
        dataset=name,
        ledger=book,
        force=force,
    )
    if account.dry_run:
        asked = None if book is None else book.asked(order.price)
        _show_dry_run(curves, epsilon, quantile, ends, asked, as_json=as_json)
        return
    choice = order.release()
    facts = {"bound": choice.value, **choice.card.to_dict()}
    if out is not None:
        from dpfda.releases.cards.document import json_text

        write_text(out, json_text(choice.card))
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    click.echo(f"{choice.text()}\n\nBound: {choice.value:.6g}" + (f"\nWritten: {out}" if out is not None else ""))
    click.echo(told_line(book, name))
    click.echo(f"Next:  {_next(source, account, name, f'{choice.value:.6g}', domain, centre)}")


def _show_dry_run(
    curves: dpfda.Curves,
    epsilon: float,
    quantile: float,
    ends: tuple[float, ...],
    asked: LedgerQuote | None,
    *,
    as_json: bool,
) -> None:
    from dpfda.cli.charging import quote_facts, quote_lines, refuse
    from dpfda.statistics.private_bound import accuracy_of, candidates_of

    n = curves.size_under(dpfda.Unit(curves.unit or "row", "replace-one"))
    listed = candidates_of(ends)
    accuracy = accuracy_of(epsilon, quantile, len(listed), n)
    if as_json:
        facts = {
            "n": n,
            "epsilon": epsilon,
            "quantile": quantile,
            "candidates": list(listed),
            "accuracy": accuracy,
            **({} if asked is None else {"ledger": quote_facts(asked)}),
        }
        click.echo(json.dumps(facts, indent=1))
    else:
        lines = [
            ("price", f"pure epsilon {epsilon:g}, on top of what releases cost"),
            ("protects", f"one {curves.unit or 'row'}, replace-one"),
            ("candidates", f"{len(listed)} bounds from {listed[0]:.6g} to {listed[-1]:.6g}"),
            (
                "chooses",
                f"a bound that holds {quantile:.4g} of {n} units, by the root mean square of their curves",
            ),
            ("accuracy", accuracy),
            *(() if asked is None else quote_lines(asked)),
        ]
        click.echo("Plan for the choice of a bound; no values read, nothing charged\n")
        for label, text in lines:
            click.echo(fill(text, 118, initial_indent=f"  {label:<11} ", subsequent_indent=" " * 14))
    if asked is not None:
        refuse(asked)


def _next(source: SourceOptions, account: LedgerChoice, name: str, bound: str, domain: str, centre: Path | None) -> str:
    """The release that the bound is for; what it may cost is for the user to say."""
    # A mean is not taken around a curve that was released before; what comes after it is.
    kind = "mean" if centre is None else "covariance"
    words = ["dpfda", "release", kind, str(source.file), "--unit", source.unit]
    words += ["--values", source.values] if source.values is not None else []
    words += ["--grid", source.grid] if source.grid is not None else []
    words += ["--rows", source.rows] if source.rows is not None else []
    words += ["--domain", domain] if domain != "0,1" else []
    tail = ["--bound", bound, *(["--centre", str(centre)] if centre is not None else [])]
    charged = typed(account.ledger, account.anchor, name)
    return f"{shlex.join(words)} --epsilon EPSILON --delta DELTA {shlex.join(tail)} {charged}".rstrip()
