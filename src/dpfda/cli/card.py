"""Cards on the command line: `dpfda card` shows one in any form, `dpfda verify` checks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpfda.cli.targets import check_targets, same_file, write_text
from dpfda.errors import UsageError

FORMATS = ("text", "json", "html", "registry", "nist")


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), help="Form of the card.  [default: text]")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write it to this file.")
@click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
@click.option(
    "--schema",
    "wanted",
    is_flag=False,
    flag_value="card",
    type=click.Choice(("card", "release", "claim", "card-1")),
    help="Print the published JSON schema instead: of cards, of release files, of claims, or of cards in old files.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def card(
    file: Path | None, form: str | None, out: Path | None, overwrite: bool, wanted: str | None, as_json: bool
) -> None:
    """Show the card of a release in the form that its reader needs.

    text for people; json, with a digest of its own, for programs; html, a page that needs no network; registry, a draft
    for the OpenDP deployments registry, whose fields are left empty where the card does not know them; nist, the
    questions of NIST SP 800-226, answered one by one.

    \b
    Examples:
      dpfda card mean.json
      dpfda card mean.json --format html --out card.html
      dpfda card mean.json --format registry --out entry.yaml
      dpfda card mean.json --format nist
      dpfda card --schema
      dpfda card --schema release
    """
    if wanted is not None:
        from dpfda.releases.cards.document import schema_text

        if file is not None or form is not None or as_json:
            raise UsageError("--schema prints a schema, of no file and in one form. Leave the others out.")
        _hand_out(schema_text(wanted), out, overwrite)
        return
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.", click.get_current_context())
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other. Say one of them.")
    if out is not None and same_file(file, out):
        raise UsageError("The release and its card must be different files. Name another with --out.")
    _hand_out(_form("json" if as_json else form or "text")(file), out, overwrite)


def _hand_out(content: str, out: Path | None, overwrite: bool) -> None:
    if out is None:
        click.echo(content, nl=not content.endswith("\n"))
        return
    check_targets([out], overwrite=overwrite)
    write_text(out, content if content.endswith("\n") else f"{content}\n")
    click.echo(f"Written: {out}")


def _form(name: str) -> Callable[[Path], str]:
    from dpfda.page.render import card_page
    from dpfda.releases.cards import document
    from dpfda.releases.cards.nist import nist_text
    from dpfda.releases.cards.registry import registry_text

    forms: dict[str, Callable[[Any, Any, str], str]] = {
        "text": lambda found, release, digest: document.text(found, release),
        "json": lambda found, release, digest: document.json_text(found, release, digest=digest),
        "html": lambda found, release, digest: card_page(found, release, digest=digest),
        "registry": lambda found, release, digest: registry_text(found, release),
        "nist": lambda found, release, digest: nist_text(found, release),
    }
    return lambda file: forms[name](*document.read_card(file))


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--ledger", "url", help="Compare with the entry in this ledger, e.g. sqlite:///ledger.db.")
@click.option("--anchor", type=click.Path(path_type=Path), help="The ledger's anchor file.")
@click.option(
    "--file-only",
    is_flag=True,
    help="Only compute anew what the file tells by itself; the verdict names what it cannot.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(files: tuple[Path, ...], url: str | None, anchor: Path | None, file_only: bool, as_json: bool) -> None:
    """Compute the guarantee of a release, a card or a claim anew, and name what disagrees.

    From what stands on the card: privacy curves from sensitivity and scale, epsilon at the stated delta from the
    curves, and the noise in the file against both. Every byte is checked against the digest at the end of the file;
    with --ledger, the entry that the card names must stand there with the same price, and the whole file must be the
    one that was handed out under it, to the last byte.

    A claim is a small file about somebody else's release, with what was published of it: dpfda card --schema claim.

    Exit codes: 0 all of the file was compared or recomputed, and holds; 3 the guarantee disagrees or the file was
    edited; 4 the ledger disagrees; 5 something could not be compared, as all that only a ledger knows where none is
    given, or file or ledger could not be read or are damaged. With --file-only what a ledger would know is not asked
    for, and named as a limit.

    \b
    Examples:
      dpfda verify mean.json --ledger sqlite:///ledger.db
      dpfda verify mean.json --ledger sqlite:///ledger.db --anchor ledger.anchor
      dpfda verify mean.json --file-only
      dpfda verify *.json --ledger sqlite:///ledger.db --json
    """
    from dpfda.releases.verification import recompute
    from dpfda.releases.verification import verify as check
    from dpfda.releases.verification.report import worst

    if file_only and url is not None:
        raise UsageError("--file-only and --ledger contradict each other. Say one of them.")
    if anchor is not None and url is None:
        raise UsageError("--anchor belongs to a ledger: name it with --ledger.")
    ledger = None
    if url is not None:
        from dpfda.ledger.durable import Ledger

        ledger = Ledger(url, anchor=anchor)
    reports = [recompute(file) if file_only else check(file, ledger) for file in files]
    if as_json:
        click.echo(json.dumps([report.to_dict() for report in reports], indent=1))
    else:
        click.echo("\n".join(report.text() for report in reports))
    click.get_current_context().exit(worst(report.exit_code for report in reports))
