"""`dpfda budget`: what may be spent of a data set, what was, and the entries that say so."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpfda.cli.charging import (
    APPROXIMATE,
    COUNTER,
    LedgerChoice,
    at,
    bar,
    check_books,
    check_sense,
    down,
    nominally,
    opened,
    safe,
    typed,
    up,
)
from dpfda.cli.options import NEIGHBOURS, options
from dpfda.cli.words import notice
from dpfda.errors import UsageError
from dpfda.ledger.accounting import ADAPTIVE

if TYPE_CHECKING:
    from pathlib import Path

    from dpfda.ledger import Dataset, Entry, Ledger, Remaining
    from dpfda.privacy.budget import Budget
    from dpfda.privacy.composition import Statement
    from dpfda.studies.outcome import Table


def anchor_state(since: int | None, anchor: Path | None) -> dict[str, Any]:
    """Whether an old copy of the ledger would have been noticed, for machines; what disagrees was refused before."""
    state = "none" if since is None else "not looked at" if anchor is None else "agrees"
    return {"state": state, "since_entry": since, "file": None if anchor is None else str(anchor)}


def anchor_text(since: int | None, anchor: Path | None) -> str:
    """The same in words."""
    if since is None:
        return "none, so an old copy that was put back would not be noticed"
    if anchor is None:
        return f"not looked at (there is one since entry {since}): say --anchor FILE, else an old copy goes unnoticed"
    return f"{anchor} agrees: the ledger holds all that it remembers since entry {since}"


def budget_text(ledger: Ledger, budget: Dataset, people: int | None) -> str:
    """One budget: a bar, and what stands behind it."""
    spent, left = ledger.spent(budget.name), ledger.remaining(budget.name)
    copies = f", also called {', '.join(budget.copies)}" if budget.copies else ""
    cap = budget.cap
    amount, word = (spent.epsilon, "spent") if spent.counter is None else (spent.counter, "counted")
    lines = [
        *_spent_lines(spent, cap),
        *((("nominal", APPROXIMATE),) if spent.nominal else ()),
        ("left", _left(left, frozen=budget.frozen)),
        ("statements", _statements(spent)),
        *(((f"{people} people", _group(ledger, budget, people)),) if people is not None and people > 1 else ()),
        ("releases", str(budget.charges)),
        ("protects", f"one {budget.unit}" if budget.unit is not None else "as the first release will say"),
        ("neighbours", budget.neighbours),
        ("prices", "may depend on earlier releases" if budget.adaptive else "do not depend on earlier releases"),
        ("state", "frozen" if budget.frozen else "open"),
    ]
    return "\n".join(
        [f"'{budget.name}'{copies}", f"  {bar(amount, cap.epsilon, word=word)}"]
        + [f"  {label:<11} {text}" for label, text in lines]
    )


def _spent_lines(spent: Statement, cap: Budget) -> tuple[tuple[str, str], ...]:
    """What was spent of a cap; where a filter counts, the cap, and its counter for what it is."""
    of = f"of {down(cap.epsilon)}{at(cap.delta)}"
    if spent.counter is None:
        return (("spent", f"{nominally(spent)}epsilon {up(spent.epsilon)} {of}"),)
    whole = f"{nominally(spent)}epsilon {down(cap.epsilon)}{at(cap.delta)}"
    return (
        ("guarantee", f"{whole}: the whole budget, since prices may depend on earlier releases"),
        ("counter", f"{up(spent.counter)} {of}: {COUNTER}"),
    )


def _left(left: Remaining, *, frozen: bool) -> str:
    by = " by the counter" if left.adaptive else ""
    return "nothing, since it is frozen" if frozen else f"{nominally(left)}epsilon {down(left.epsilon)}{by}"


def _statements(spent: Statement) -> str:
    """The pure and the concentrated statement, side by side."""
    pure = f"{nominally(spent)}pure epsilon {up(spent.pure)}" if math.isfinite(spent.pure) else "no pure epsilon"
    concentrated = f"{nominally(spent)}{up(spent.rho)}-zCDP" if math.isfinite(spent.rho) else "no zCDP"
    return f"{pure}; {concentrated}; (epsilon, delta) by {spent.method}"


def _group(ledger: Ledger, budget: Dataset, people: int) -> str:
    from dpfda.releases.cards.words import up as at_most

    found = ledger.spent(budget.name, people=people)
    delta = at(found.delta) if found.delta == budget.cap.delta else f" at delta {at_most(found.delta, 3)}"
    amount = f"epsilon {up(found.epsilon)}{delta}" if math.isfinite(found.epsilon) else "no epsilon"
    return f"together: {nominally(found)}{amount}; {_statements(found)}"


def budget_facts(ledger: Ledger, budget: Dataset, people: int | None) -> dict[str, Any]:
    """The same for machines; what has no number is null."""
    facts = {
        "name": budget.name,
        "copies": list(budget.copies),
        "epsilon": budget.cap.epsilon,
        "delta": budget.cap.delta,
        "spent": _facts(ledger.spent(budget.name)),
        "left": ledger.remaining(budget.name).epsilon,
        "nominal": budget.nominal,
        "releases": budget.charges,
        "unit": budget.unit,
        "neighbours": budget.neighbours,
        "frozen": budget.frozen,
        "adaptive": budget.adaptive,
    }
    if people is not None:
        facts["people"] = {"size": people, "spent": _facts(ledger.spent(budget.name, people=people))}
    return facts


def _facts(spent: Statement) -> dict[str, Any]:
    numbers = {"epsilon": spent.epsilon, "delta": spent.delta, "pure": spent.pure, "rho": spent.rho}
    found: dict[str, Any] = {name: each if math.isfinite(each) else None for name, each in numbers.items()}
    return found | {"method": spent.method, "nominal": spent.nominal, "counter": spent.counter}


def history_table(entries: tuple[Entry, ...], where: str) -> Table:
    """Entries as a table; what became of a charge stands beside it, not in a row of its own."""
    from dpfda.cli.tables import MOST_ROWS
    from dpfda.studies.outcome import Table

    adaptive = {entry.dataset for entry in entries if entry.kind == "create" and entry.what == ADAPTIVE}
    fates = {entry.charged: {"output": "stored", "burn": "burnt"}[entry.kind] for entry in entries if entry.charged}
    rows = [
        (
            str(entry.number),
            entry.at.replace("T", " ").split(".")[0],
            entry.dataset or "",
            _what(entry),
            _amount(entry.cost, nominal=entry.nominal, counted=entry.dataset in adaptive),
            _amount(entry.total, nominal=entry.total_nominal, counted=entry.dataset in adaptive),
            entry.key or "",
            fates.get(entry.number, "open") if entry.kind == "charge" else "",
        )
        for entry in entries
        if entry.charged is None
    ]
    title = f"Entries of {where}; epsilons at the delta of the data set, at most: dpfda budget show composes tightly"
    if adaptive:
        title += f"; counted: {COUNTER}"
    if len(rows) > MOST_ROWS:
        title += f"; the newest {MOST_ROWS} of {len(rows)}, --json has them all"
    columns = ("entry", "when (UTC)", "data set", "what", "cost", "total", "key", "output")
    return Table(title, columns, tuple(rows[-MOST_ROWS:]))


def _amount(epsilon: float | None, *, nominal: bool, counted: bool) -> str:
    words = ", ".join([*(["counted"] if counted else []), *(["nominal"] if nominal else [])])
    return "" if epsilon is None else f"{up(epsilon)}{f' ({words})' if words else ''}"


def _what(entry: Entry) -> str:
    if entry.kind == "create" and entry.budget is not None:
        prices = ", prices may depend on earlier releases" if entry.what == ADAPTIVE else ""
        return f"budget of epsilon {entry.budget.epsilon:g}, delta {entry.budget.delta:g}{prices}"
    anchored = "anchored" if entry.what is None else f"anchored anew: {entry.what}"
    texts = {"copy": f"copy '{entry.name}'", "freeze": "frozen", "anchor": anchored, "charge": entry.what or ""}
    return texts.get(entry.kind, entry.kind)


URL = click.argument("url", metavar="URL")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
ANCHOR = click.option(
    "--anchor",
    type=click.Path(path_type=Path),
    help="File outside of the ledger that remembers its newest entry: an old copy put back is noticed.",
)
DATASET = click.option("--dataset", required=True, help="Name of the data set, or of a copy of it.")
ONE = click.option("--dataset", help="Only this data set, or the one that this is a copy of.")
DRY = click.option("--dry-run", is_flag=True, help="Say what would be done: nothing is entered.")


@click.group()
def budget() -> None:
    """Keep the budget of a data set: in a file, sqlite:///budget.db, or on a server, postgresql://user@host/name.

    A budget belongs to a data set and its copies, whoever asks. It is charged before records are read, it is never
    raised, and nothing is given back.

    \b
    Examples:
      dpfda budget create sqlite:///budget.db --dataset scans --epsilon 4 --delta 1e-6
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1 \\
          --ledger sqlite:///budget.db --dataset scans
      dpfda budget show sqlite:///budget.db
      dpfda budget history sqlite:///budget.db --dataset scans
    """


@budget.command("create")
@options(
    [
        URL,
        click.option("--dataset", required=True, help="Name of the data set."),
        click.option("--epsilon", required=True, type=float, help="What all releases together may cost, e.g. 4."),
        click.option("--delta", required=True, type=float, help="0 for pure privacy only, else e.g. 1e-6."),
        click.option(
            "--unit",
            metavar="COLUMN|row",
            help="Who is protected, as releases say it.  [default: as the first release says]",
        ),
        NEIGHBOURS,
        click.option("--copies", metavar="NAME,...", help="Other names of the same data: they share the budget."),
        click.option(
            "--adaptive",
            is_flag=True,
            help="Prices may be chosen after seeing earlier releases: a little less is granted in all.",
        ),
        ANCHOR,
        DRY,
        click.option("--force", is_flag=True, help="Make it although so large a budget protects nobody."),
        JSON,
    ]
)
def create(
    url: str,
    dataset: str,
    epsilon: float,
    delta: float,
    unit: str | None,
    neighbours: str,
    copies: str | None,
    adaptive: bool,
    anchor: Path | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Make a budget for a data set; and the ledger at URL, if there is none yet. It can never be changed.

    \b
    Examples:
      dpfda budget create sqlite:///budget.db --dataset scans --epsilon 4 --delta 1e-6
      dpfda budget create sqlite:////srv/budget.db --dataset scans --epsilon 4 --delta 1e-6 \\
          --unit ID --copies scans-clean,scans-2026 --anchor /mnt/other/budget.anchor
      dpfda budget create postgresql://user@host/name --dataset load --epsilon 2 --delta 0 --dry-run
    """
    warnings = check_sense(epsilon, delta, force=force)
    ledger = opened(url, anchor)
    names = () if copies is None else tuple(name.strip() for name in copies.split(","))
    if dry_run:
        _check_new(ledger, url, (dataset, *names), epsilon, delta)
    else:
        ledger.create(
            dataset, epsilon=epsilon, delta=delta, unit=unit, neighbours=neighbours, copies=names, adaptive=adaptive
        )
    facts = {
        "ledger": safe(url),
        "dataset": dataset,
        "copies": list(names),
        "epsilon": epsilon,
        "delta": delta,
        "unit": unit,
        "neighbours": neighbours,
        "adaptive": adaptive,
        "anchor": None if anchor is None else str(anchor),
        "created": not dry_run,
        "warnings": list(warnings),
    }
    for warning in warnings:
        notice(f"Warning: {warning}")
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    shared = f" and its copies {', '.join(names)}" if names else ""
    whom = "the unit that the first release names" if unit is None else f"each {unit}"
    made = "Would make" if dry_run else "Made"
    click.echo(
        f"{made} a budget of epsilon {epsilon:g}, delta {delta:g} for '{dataset}'{shared} "
        f"in {safe(url)}; protects {whom}, {neighbours}"
        + ("; prices may be chosen adaptively" if adaptive else "")
        + ("; nothing was entered" if dry_run else "")
    )
    if not dry_run:
        click.echo(f"Next: add {typed(url, anchor, dataset)} to every release")


def _check_new(ledger: Any, url: str, names: tuple[str, ...], epsilon: float, delta: float) -> None:
    """What making a budget would refuse."""
    from dpfda.ledger.accounting import cap_of
    from dpfda.ledger.database import NoLedger
    from dpfda.ledger.names import check_distinct, check_name

    cap_of(epsilon, delta)
    for name in names:
        check_name(name)
    if len(set(names)) < len(names):
        raise UsageError(f"A data set and its copies have a name each, got {', '.join(map(repr, names))}.")
    try:
        found = ledger.datasets()
    except NoLedger:
        return  # it would be made
    known = [name for each in found for name in (each.name, *each.copies) if name in names]
    if known:
        raise UsageError(
            f"The ledger {safe(url)} has a budget for {known[0]!r} already, and it is neither raised nor made again. "
            "Nothing was entered."
        )
    for name in names:
        check_distinct(name, [other for each in found for other in (each.name, *each.copies)], safe(url))


@budget.command("copy")
@options(
    [URL, DATASET, click.option("--name", required=True, help="The other name of the same data."), ANCHOR, JSON],
)
def copy(url: str, dataset: str, name: str, anchor: Path | None, as_json: bool) -> None:
    """Let another name lead to the same budget: a copy, a cleaned version or an extract of the same data.

    \b
    Example:
      dpfda budget copy sqlite:///budget.db --dataset scans --name scans-clean
    """
    opened(url, anchor).add_copy(dataset, name)
    facts = {"ledger": safe(url), "dataset": dataset, "copy": name}
    click.echo(json.dumps(facts) if as_json else f"'{name}' now spends from the budget of '{dataset}' in {safe(url)}")


@budget.command("show")
@options(
    [
        URL,
        ONE,
        click.option(
            "--people",
            type=click.IntRange(min=1),
            help="Also say what holds for groups of so many people together, e.g. a family.",
        ),
        ANCHOR,
        JSON,
    ]
)
def show_budget(url: str, dataset: str | None, people: int | None, anchor: Path | None, as_json: bool) -> None:
    """Show what was spent of each budget and what is left, at the data set's own delta.

    Beside it stand the pure and the concentrated (zCDP) statement of the same releases, where they have one.

    \b
    Examples:
      dpfda budget show sqlite:///budget.db
      dpfda budget show sqlite:///budget.db --dataset scans --people 4
    """

    ledger = opened(url, anchor)
    if dataset is not None:
        ledger.remaining(dataset)  # refuses a name that has no budget
    found = [each for each in ledger.datasets() if dataset is None or dataset in (each.name, *each.copies)]
    if as_json:
        facts = {
            "ledger": ledger.id,
            "url": safe(url),
            "anchor": anchor_state(ledger.anchored, anchor),
            "datasets": [budget_facts(ledger, each, people) for each in found],
        }
        click.echo(json.dumps(facts, indent=1))
        return
    click.echo(f"Ledger {ledger.id} at {safe(url)}" + ("" if found else ": no budgets yet"))
    click.echo(f"  {'anchor':<11} {anchor_text(ledger.anchored, anchor)}")
    for each in found:
        click.echo(f"\n{budget_text(ledger, each, people)}")


@budget.command("history")
@options([URL, ONE, ANCHOR, JSON])
def history(url: str, dataset: str | None, anchor: Path | None, as_json: bool) -> None:
    """List what was entered: budgets, copies, charges with their cost and what became of them.

    A charge whose output is stored gives it again, free, under its key; an open one can be resumed under its key; a
    burnt one failed after records were read, and gives nothing.

    \b
    Examples:
      dpfda budget history sqlite:///budget.db
      dpfda budget history sqlite:///budget.db --dataset scans --json
    """
    from dpfda.cli.tables import print_table

    entries = opened(url, anchor).history(dataset)
    if as_json:
        click.echo(json.dumps({"ledger": safe(url), "entries": [asdict(entry) for entry in entries]}, indent=1))
        return
    print_table(history_table(entries, safe(url)))


@budget.command("freeze")
@options([URL, DATASET, ANCHOR, DRY, JSON])
def freeze(url: str, dataset: str, anchor: Path | None, dry_run: bool, as_json: bool) -> None:
    """End a budget, for ever: nothing more is charged to it. What was stored can still be fetched by its key.

    \b
    Example:
      dpfda budget freeze sqlite:///budget.db --dataset scans
    """
    ledger = opened(url, anchor)
    ledger.remaining(dataset)  # refuses a name that has no budget
    if not dry_run:
        ledger.freeze(dataset)
    facts = {"ledger": safe(url), "dataset": dataset, "frozen": not dry_run}
    said = "Would freeze" if dry_run else "Froze"
    click.echo(json.dumps(facts) if as_json else f"{said} the budget of '{dataset}' in {safe(url)}, for ever")


@budget.command("export")
@options(
    [
        URL,
        click.option("--out", default="-", show_default=True, help="File to write; - prints it."),
        click.option("--overwrite", is_flag=True, help="Replace a file that exists."),
        ANCHOR,
        JSON,
    ]
)
def export(url: str, out: str, overwrite: bool, anchor: Path | None, as_json: bool) -> None:
    """Write everything but the outputs as JSON: any accountant can recompute from it what was spent.

    It holds nothing about anybody's records.

    \b
    Examples:
      dpfda budget export sqlite:///budget.db --out budget.json
      dpfda budget export sqlite:///budget.db | python -m json.tool
    """
    from dpfda.cli.targets import check_targets, write_text

    if out != "-":
        check_books(LedgerChoice(url, anchor, None, dry_run=False), [Path(out)])
        check_targets([Path(out)], overwrite=overwrite)
    text = json.dumps(opened(url, anchor).export(), indent=1)
    if out == "-":
        click.echo(text)
        return
    write_text(Path(out), text + "\n")
    click.echo(json.dumps({"written": [out]}) if as_json else f"Written: {out}")


@budget.command("check")
@options([URL, ANCHOR, JSON])
def check_ledger(url: str, anchor: Path | None, as_json: bool) -> None:
    """Recompute the chain of entries, the totals and the outputs; with --anchor, that no old copy was put back.

    \b
    Examples:
      dpfda budget check sqlite:///budget.db
      dpfda budget check sqlite:///budget.db --anchor /mnt/other/budget.anchor
    """

    ledger = opened(url, anchor)
    ledger.check()
    size, since = len(ledger.history()), ledger.anchored
    if as_json:
        facts = {"ledger": ledger.id, "url": safe(url), "intact": True, "entries": size}
        click.echo(json.dumps(facts | {"anchor": anchor_state(since, anchor)}))
        return
    click.echo(
        f"Intact: {size} entries of ledger {ledger.id}, their chain, totals, outputs and guards; anchor: "
        f"{anchor_text(since, anchor)}"
    )


@budget.command("anchor")
@options(
    [
        URL,
        click.option("--anchor", required=True, type=click.Path(path_type=Path), help="The new file."),
        click.option(
            "--former",
            type=click.Path(path_type=Path),
            help="The anchor that the ledger has now: it is closed, and refused from here on.",
        ),
        click.option("--lost", is_flag=True, help="The anchor that the ledger has is gone; the history says so."),
        JSON,
    ]
)
def start_anchor(url: str, anchor: Path, former: Path | None, lost: bool, as_json: bool) -> None:
    """Begin to anchor a ledger that has entries already, or anew: instead of another anchor, or after it was lost.

    It is entered. From here on the ledger is written with --anchor only. Keep the file on another disk than the ledger
    and its backups: whoever can put back both is not noticed.

    \b
    Examples:
      dpfda budget anchor sqlite:///budget.db --anchor /mnt/other/budget.anchor
      dpfda budget anchor sqlite:///budget.db --anchor /mnt/new/budget.anchor \\
          --former /mnt/other/budget.anchor
    """
    opened(url, anchor).start_anchor(former=former, lost=lost)
    facts = {"ledger": safe(url), "anchor": str(anchor)}
    click.echo(json.dumps(facts) if as_json else f"{safe(url)} is anchored in {anchor}: say --anchor from here on")
