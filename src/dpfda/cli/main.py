"""The `dpfda` command: what it offers, the demonstration, and how it ends."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from tempfile import TemporaryFile
from typing import Any

import click

import dpfda
from dpfda.arrays import brief
from dpfda.cli.ask import ask
from dpfda.cli.bounds import bounds
from dpfda.cli.budget import budget
from dpfda.cli.card import card, verify
from dpfda.cli.check import check
from dpfda.cli.compare import compare
from dpfda.cli.plan import plan
from dpfda.cli.release import release
from dpfda.cli.release_function import plan_function, release_function
from dpfda.cli.release_points import (
    plan_classifier,
    plan_density,
    plan_regressor,
    release_classifier,
    release_density,
    release_regressor,
)
from dpfda.cli.serve import serve
from dpfda.cli.show import evaluate, predict, report, sample, show
from dpfda.cli.words import in_words, note_written, notice, standing
from dpfda.errors import DataError, DpfdaError, UsageError

MODULES = "DPFDA_MODULES"  # names of modules to import first, between commas


class Gone(Exception):
    """Whoever read the output has gone, as `head` does; what was written stands."""


class Interrupted(Exception):
    """Somebody pressed Ctrl-C; the text says what became of the charge, if there was one."""


class Commands(click.Group):
    """Commands that end quietly when nobody reads on, and say what stands when they cannot go on."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **more)
        except OSError as error:  # help and version are printed here
            raise _unwritten(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            raise _unwritten(error, standing(ctx)) from None
        except (KeyboardInterrupt, click.exceptions.Abort):
            raise Interrupted(" ".join(["Interrupted.", standing(ctx)]).rstrip()) from None


def _unwritten(error: OSError, stands: str = "") -> Exception:
    """What becomes of a command whose output, or a file on its way, the system refuses.

    A release may have been paid for and written all the same: whoever repeats the command must know.
    """
    if isinstance(error, BrokenPipeError):
        return Gone()  # click would end as if something had failed
    what = f"The system refused to write the output, or to read a file: {error.strerror or type(error).__name__}."
    return DataError(" ".join([what, stands]).rstrip())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(dpfda.__version__, prog_name="dpfda")
def cli() -> None:
    """Private summaries of curves and points from sensitive records, with a guarantee that is true.

    \b
    Start here:
      dpfda demo
      dpfda check scans.csv
      dpfda plan mean --n 142 --epsilon 1 --delta 1e-6 --bound 1
      dpfda bounds scans.csv --unit ID --values 't*' --epsilon 0.1 --candidates 0.01,1000
      dpfda release mean scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release covariance scans.csv --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release components scans.csv --k 2 --unit ID --values 't*' --epsilon 1 --delta 0 --bound 1
      dpfda release regression scans.csv --covariates 'age,sex=female|male' --covariate-limits 18:90 \\
          --unit ID --values 't*' --epsilon 1 --delta 1e-6 --bound 1
      dpfda release density people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 0
      dpfda release classifier people.csv --points 'age,height' --label group --classes a,b \\
          --unit ID --domain '0,100;100,220' --epsilon 1 --delta 1e-6
      dpfda release function fit.csv --points t --value f --domain 0,1 --kernel matern-3/2,0.2 \\
          --sensitivity 0.003 --epsilon 1 --delta 1e-6
      dpfda budget create sqlite:///budget.db --dataset scans --epsilon 4 --delta 1e-6
      dpfda show scans-mean.json
      dpfda evaluate scans-mean.json --at 0,0.5,1
      dpfda report scans-mean.json
      dpfda sample people-density.json --size 1000
      dpfda ask people.csv --points age --unit ID --domain 0,100 --epsilon 1 --delta 1e-6 \\
          --kernel matern-3/2,10 --store oracle.db --at 20,40 --new
      dpfda predict people-classifier.json new.csv --points 'age,height'
      dpfda serve releases

    Exit codes: 0 done, 2 usage, 3 refused for privacy, 4 budget, 5 data or output,
    130 interrupted.

    Modules of your own with kernels, bases, noise laws or statistics are imported if the
    environment names them: DPFDA_MODULES=my_kernels,my_laws.
    """


@cli.command()
@click.option(
    "--out", default="demo-output", show_default=True, type=click.Path(file_okay=False, path_type=Path), help="Folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def demo(out: Path, as_json: bool) -> None:
    """Release a mean curve from bundled data: simulated electricity use of 2,500 households.

    \b
    Example:
      dpfda demo --out /tmp/demo
    """
    from matplotlib.figure import Figure

    from dpfda.page import page

    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except OSError:
        raise DataError(f"Cannot write to {str(out)!r}. Name another folder with --out.") from None
    with as_file(files("dpfda.cli") / "demo_load_curves.parquet") as path:
        curves = dpfda.read_curves(path, values="t*", unit="household", grid="header")
        est = dpfda.MeanFunction(
            epsilon=1.0, delta=1e-6, bound=1000.0, domain=(0.0, 23.5), dataset="simulated load curves (W)"
        )
        release = est.fit(curves).release_
    release.save(out / "mean.json")
    note_written(out / "mean.json")
    (out / "card.txt").write_text(release.certificate.text() + "\n", encoding="utf-8")
    (out / "mean.html").write_text(page(release, file="mean.json"), encoding="utf-8")
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    ax = release.plot(figure.subplots())
    ax.set_xlabel("hour of the day")
    ax.set_ylabel("electricity use in watts")
    figure.savefig(out / "mean.png", dpi=150)
    if as_json:
        click.echo(json.dumps(release.certificate.to_dict(), indent=1))
        return
    click.echo(release.certificate.text())
    click.echo(
        f"\nWritten: {out / 'mean.json'}, {out / 'card.txt'}, {out / 'mean.png'}, {out / 'mean.html'}"
        f"\nNext:    dpfda evaluate {quote(str(out / 'mean.json'))} --at 0,6,12,18"
    )


for command in (release_density, release_classifier, release_regressor, release_function):
    release.add_command(command)
for command in (plan_density, plan_classifier, plan_regressor, plan_function):
    plan.add_command(command)
for command in (
    ask,
    bounds,
    budget,
    check,
    compare,
    evaluate,
    plan,
    predict,
    release,
    report,
    sample,
    serve,
    show,
):
    cli.add_command(command)
for command in (card, verify):
    cli.add_command(command)
# Nothing imports the reproductions: where they are not installed, there is no such command.
if find_spec("dpfda.reproduce"):
    cli.add_command(import_module("dpfda.reproduce.catalogue").reproduce)


def main() -> None:
    """The command, with errors as one line and an exit code, never a traceback."""
    if not all(map(_is_text, sys.argv[1:])):
        _leave("A word of this command line is no text in UTF-8. Rename the file, or type it otherwise.", 2)
    try:
        load_modules(os.environ.get(MODULES, ""))
        code = cli.main(prog_name="dpfda", standalone_mode=False)
    except DpfdaError as error:
        _leave(in_words(error.message), error.exit_code)
    except Gone:
        # What is left in the buffer would be refused again when the process ends.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        sys.exit(0)
    except click.ClickException as error:
        _leave_usage(error)
    except Interrupted as stopped:
        _leave(str(stopped), 130)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _leave("Interrupted.", 130)  # before any command began
    except Exception as error:
        # Frames of a traceback could hold records.
        _leave(f"Something unforeseen happened ({type(error).__name__}). Please report it, without your data.", 1)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def load_modules(names: str) -> None:
    """Import modules that register kernels, bases, noise laws or statistics, by their names between commas.

    Nothing is imported that is not named; modules are found as Python finds them, so those beside the records are not
    unless PYTHONPATH says so.
    """
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            import_module(name)
        except Exception as error:  # whatever their code does
            raise UsageError(
                f"{MODULES} names the module {brief(name)}, which cannot be imported: {type(error).__name__}: "
                f"{brief(str(error))}. Its folder must be on PYTHONPATH.",
                parameter=MODULES,
                value=name,
            ) from None


def run() -> None:
    """The command as a process of its own: it ends as soon as all is said.

    Threads that libraries keep for reading files can abort a process that ends while they start, which would turn an
    exit code into another one.
    """
    code = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever read the output may be gone
            stream.flush()
    os._exit(code)


def _is_text(word: str) -> bool:
    """Whether a word can be written to a file or a screen; bytes that are no text cannot."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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
    notice(f"Error: {message}")
    sys.exit(code)
