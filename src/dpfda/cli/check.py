"""`dpfda check`: the layout of a file and what a release of it has to be told, from names alone."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import Any

import click

from dpfda.cli.charging import safe
from dpfda.cli.release import release
from dpfda.cli.release_points import release_classifier, release_density, release_regressor
from dpfda.cli.statements import (
    CURVES,
    KINDS,
    Layout,
    MissingOption,
    command,
    flag,
    guessed,
    kind_of,
    layout_of,
    missing,
    wrong,
)
from dpfda.errors import UsageError

WIDTH = 118
MOST_NAMES = 24  # beyond them a list helps nobody
PERSONS = (
    "A person with several rows is protected as a person only if --unit names the column that says whose row it is; "
    "--unit row promises something about one row. Whether somebody has several is not looked at."
)
ROWS = "not looked at: only {} was read"
READ = {"CSV": "the first line", "Parquet": "the schema"}
SAFE = ", so nothing here depends on anybody's values"
UNLESS = SAFE + "; unless that line is itself a record, which is then shown here: put a line of names above it"
BARE = (
    "Names are not shown: some are numbers, dates or empty, so the first line may be a record. If it is, put a line of "
    "names above it. If they are places of grid points, say --grid header."
)


def targets() -> dict[str, click.Command]:
    """The command that releases each kind."""
    points = {"density": release_density, "classifier": release_classifier, "regressor": release_regressor}
    return {kind: release.commands.get(kind) or points[kind] for kind in KINDS}


def every_option() -> list[click.Option]:
    """All options of all releases, each once and none of them required; what is typed is checked afterwards."""
    found: dict[str, click.Option] = {}
    offered = [each for target in targets().values() for each in target.params if isinstance(each, click.Option)]
    several = {each.name for each in offered if each.multiple}
    for each in offered:
        if each.name not in found and each.name != "as_json":
            shown = each.metavar or (None if each.is_flag else each.type.name.upper())
            found[str(each.name)] = click.Option(
                [str(each.name), *each.opts],
                help=each.help,
                metavar=None if each.is_flag else "NAME" if isinstance(each.type, click.Choice) else shown,
                is_flag=each.is_flag,
                multiple=each.name in several,
            )
    return list(found.values())


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(KINDS), help="What shall be released.  [default: by the options, or a mean]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(ctx: click.Context, /, file: Path, kind: str | None, as_json: bool, **options: Any) -> None:
    """Say how FILE is laid out, and what a release of it has to be told; takes every option of a release.

    Only names and declared types of columns are read: the first line of a CSV file, the schema of a Parquet file.
    Nothing that is said depends on anybody's values, unless the first line is a record: then it is shown. It costs
    nothing. The command in the end has capitals where
    only you can know. Exit code 2 or 5 if something that was stated cannot be.

    \b
    Examples:
      dpfda check scans.csv
      dpfda check scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6
      dpfda check people.parquet --points age --kind density --json
    """
    layout = layout_of(file)
    typed = _typed(ctx, options)
    kind = kind or kind_of(typed)
    given = _given(kind, typed)
    shown = not layout.bare or (given.get("grid") == "header" and layout.places)
    statements = missing(kind, given, layout)
    guesses = guessed(kind, given, layout, statements, shown=shown)
    problems = wrong(kind, given, layout, shown=shown)
    told: dict[str, object] = {each.option: each.place for each in statements}
    told |= {name: quote(guess) for name, guess in guesses.items()}
    if "ledger" in given:
        given["ledger"] = safe(str(given["ledger"]))
    told |= {name: _quoted(value) for name, value in given.items()}
    order = _names(targets()[kind])
    line = command(kind, {name: told[name] for name in order if name in told}, layout)
    if as_json:
        click.echo(json.dumps(_facts(layout, kind, statements, problems, line, shown=shown), indent=1))
    else:
        for paragraph in _texts(layout, kind, statements, problems, line, shown=shown):
            click.echo(paragraph)
    if problems:
        ctx.exit(5)


check.params[1:1] = every_option()


def _typed(ctx: click.Context, options: dict[str, Any]) -> dict[str, object]:
    """What was typed, by the names of options."""
    names = {each.name: name for name, each in _names(ctx.command).items()}
    return {names[name]: value for name, value in options.items() if value not in (None, (), False)}


def _names(target: click.Command) -> dict[str, click.Option]:
    """The options of a command by their names, in the order in which help shows them."""
    found = [each for each in target.params if isinstance(each, click.Option)]
    return {each.opts[0].removeprefix("--").replace("-", "_"): each for each in found}


def _given(kind: str, typed: dict[str, object]) -> dict[str, object]:
    """What was typed, when the release itself would take it: words for numbers, and names that are none, it refuses."""
    target = targets()[kind]
    known = _names(target)
    context = click.Context(target, info_name=f"dpfda release {kind}")
    found = {}
    for name, value in typed.items():
        if name not in known:
            raise UsageError(
                f"{flag(name)} is no option of `dpfda release {kind}`. Leave it out, or say --kind for another: "
                f"{', '.join(KINDS)}."
            )
        if isinstance(value, tuple) and not known[name].multiple:
            value = value[-1]  # as any option that is said twice
        known[name].type_cast_value(context, value)
        found[name] = value
    return found


def _quoted(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(quote(str(each)) for each in value)
    return True if value is True else quote(str(value))


def _facts(
    layout: Layout, kind: str, statements: list[MissingOption], problems: list[str], line: str, *, shown: bool
) -> dict[str, Any]:
    return {
        "file": str(layout.file),
        "format": layout.form,
        "columns": len(layout.names),
        "names": list(layout.names) if shown else None,
        "declared": layout.kinds if shown else None,
        "groups": [
            {
                "columns": len(group.names),
                "first": group.names[0],
                "last": group.names[-1],
                "pattern": group.pattern(layout.names),
                "places": list(group.places),
                "even": group.even,
            }
            for group in (layout.groups if shown else ())
        ],
        "could_be_unit": list(layout.persons) if shown else None,
        "long": layout.long is not None,
        "kind": kind,
        "missing": [{"option": statement.flag, "why": statement.why} for statement in statements],
        "wrong": problems,
        "complete": not statements and not problems,
        "command": line,
    }


def _texts(
    layout: Layout, kind: str, statements: list[MissingOption], problems: list[str], line: str, *, shown: bool
) -> list[str]:
    """What is said to people, in paragraphs."""
    columns = "1 column" if len(layout.names) == 1 else f"{len(layout.names)} columns"
    found = [f"{layout.file.name}: {layout.form}, {columns}", ""]
    found += _columns(layout) if shown else [_entry("columns", BARE)]
    safe_as = UNLESS if shown and layout.form == "CSV" else SAFE
    found.append(_entry("rows", ROWS.format(READ[layout.form]) + safe_as))
    found.append(_entry("unit", _units(layout, shown=shown)))
    if shown and layout.long is not None:
        found += ["", *_long(layout, *layout.long)]
    if problems:
        found += ["", "Wrong", *(fill(each, WIDTH, initial_indent="  ", subsequent_indent="  ") for each in problems)]
    if statements:
        found += ["", f"Missing for a {kind}" if kind != "components" else "Missing for components"]
        found += [_entry(statement.flag, statement.why, width=19) for statement in statements]
    if problems or (shown and layout.long is not None and kind in CURVES):
        return found  # other things come first
    end = "with your own values for what is in capitals" if statements else "nothing is missing"
    return [*found, "", f"To type, {end}; --dry-run says first what it would do", f"  {line}"]


def _columns(layout: Layout) -> list[str]:
    from dpfda.records.columns import ALONE

    found = []
    for group in layout.groups:
        if group not in layout.measured:
            refused = f"declared to hold {layout.declared(group)}, not numbers: a release refuses them as values"
            found.append(_entry("curve", f"{group.names[0]} to {group.names[-1]}, {len(group.names)} alike, {refused}"))
            continue
        pattern = group.pattern(layout.names)
        named = f"--values {quote(pattern)}" if pattern is not None else "rename them, so that a pattern names no other"
        text = f"{group.names[0]} to {group.names[-1]}, {len(group.names)} alike: {named}"
        if group.increasing and not group.even:
            text += (
                f"; their numbers are not evenly spaced: --grid header --domain {group.places[0]:g},"
                f"{group.places[-1]:g} takes them as places"
            )
        elif group.increasing:
            text += f"; numbered {group.places[0]:g} to {group.places[-1]:g} by equal steps"
        found.append(_entry("curve", text))
    kinds = layout.kinds or {}
    others = [f"{name} ({kinds[name]})" if name in kinds else name for name in layout.others]
    if others:
        rest = f", ... ({len(others)} in all)" if len(others) > MOST_NAMES else ""
        found.append(_entry("columns" if not layout.groups else "besides", ", ".join(others[:MOST_NAMES]) + rest))
    if len(layout.names) == 1 and layout.form == "CSV":
        found.append(_entry("", ALONE))
    return found


def _units(layout: Layout, *, shown: bool) -> str:
    if not shown:
        return PERSONS
    could = layout.persons
    if not could:
        return f"no name sounds like that of a person. {PERSONS}"
    listed = ", ".join(could[:12]) + (", ..." if len(could) > 12 else "")
    return f"by its name it could be: {listed}. {PERSONS}"


def _long(layout: Layout, time: str, reading: str) -> list[str]:
    """What to do with a table of one row a reading."""
    unit, *days = layout.curves
    read = "read_parquet" if layout.form == "Parquet" else "read_csv"
    index = repr(unit) if not days else repr([unit, *days])
    code = (
        "import pandas; name = lambda t: format(round(t, 6), '.15g') if isinstance(t, (int, float)) else str(t); "
        f"d = pandas.{read}({str(layout.file)!r}); d[{time!r}] = d[{time!r}].map(name); "
        f"w = d.pivot_table(index={index}, columns={time!r}, values={reading!r}).reindex(columns=[*map(name, GRID)]); "
        "assert w.count().all(), 'some place of GRID occurs nowhere as it is written there'; "
        "w.add_prefix('t').to_csv('wide.csv')"
    )
    return [
        fill(
            f"This looks like one row a reading ({', '.join((*layout.curves, time, reading))}). Curves are read from "
            "wide tables: one row a curve, one column a grid point. Make one, with the list of your grid for GRID, "
            "e.g. [0, 0.5, 1] or ['00:00', '00:30'], written as in the file and known in advance: which times occur in "
            "the file is a fact about persons.",
            width=WIDTH,
        ),
        # Python quotes names by single marks: double ones around them can be read, unless a shell looks into them.
        "  python -c " + (quote(code) if set('"$`\\!') & set(code) else f'"{code}"'),
        f"  dpfda check wide.csv --unit {quote(unit)} --values 't[0-9]*' --grid header",
    ]


def _entry(label: str, text: str, *, width: int = 9) -> str:
    return fill(
        text,
        width=WIDTH,
        initial_indent=f"  {label:<{width}} ",
        subsequent_indent=" " * (width + 3),
        break_long_words=False,
        break_on_hyphens=False,
    )
