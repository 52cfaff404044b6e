"""The options that plans and releases share, in the order in which help shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpfda.bases import LEAST_SIZES
from dpfda.cli.charging import LEDGER
from dpfda.kernels import BY_RANGE
from dpfda.mechanisms import GaussianProcess
from dpfda.mechanisms.table import typed_for

NOT_ORTHONORMAL = ("bernstein",)
SMOOTHINGS = ("auto", "none", "sobolev-1", "sobolev-2", "sobolev-4", "sobolev-8", "james-stein")


FILE = [
    click.argument("file", type=click.Path(path_type=Path)),
    click.option(
        "--unit",
        required=True,
        metavar="COLUMN|row",
        help="Who is protected: the column that says whose curve a row is, or 'row' if every row is another person.",
    ),
    click.option(
        "--values",
        help="Pattern of the value columns, which must look alike, e.g. 't*', or their names, separated by commas.  "
        "[default: all, if they look alike]",
    ),
    click.option(
        "--grid",
        type=click.Choice(["even", "header"]),
        help="Positions of the value columns: evenly over the domain, or the numbers in their names.  [default: even, "
        "refused where the numbers are not]",
    ),
    click.option(
        "--rows",
        type=click.Choice(["average"]),
        help="Average rows of all kinds, although a column that is not used says by its name that they differ, e.g. "
        "'joint'.",
    ),
]
SPENT = [
    click.option("--epsilon", required=True, type=float, help="Privacy loss, e.g. 1."),
    click.option("--delta", required=True, type=float, help="0 for pure privacy, else e.g. 1e-6."),
]
NEIGHBOURS = click.option(
    "--neighbours",
    type=click.Choice(["replace-one", "add-or-remove-one"]),
    default="replace-one",
    show_default=True,
    help="Under add-or-remove-one the number of units is private too.",
)
STATED = [
    click.option("--domain", default="0,1", show_default=True, metavar="LOW,HIGH", help="Public domain of the curves."),
    *SPENT,
    click.option("--bound", type=float, help="Public bound on a curve's root mean square; not read from the data."),
    click.option("--limits", metavar="LOW,HIGH", help="Instead of a bound: the public range of values."),
    NEIGHBOURS,
]
PARTS = click.option("--size", type=click.IntRange(min=1), help="Their number.  [default: the planner's choice]")
PENALTY = click.option("--penalty", type=float, help="How much it does.  [default: by a rule of n and epsilon]")
CALIBRATION = click.option(
    "--calibration",
    type=click.Choice(GaussianProcess.calibrations),
    help="Noise of the papers' mechanisms: as little as privacy needs, or as published; simple is for gp.  [default: "
    "exact]",
)
MEAN_OPTION = click.option(
    "--mean",
    type=click.Choice(["joint", "centre"]),
    help="Release the mean along, or take the public centre for it.  [default: joint where that can be done]",
)

CENTRE = click.option(
    "--centre",
    type=click.Path(path_type=Path),
    help="File of a mean release that is subtracted first; it has been paid for.  [default: zero, or half-way]",
)


def mechanism_option(statistic: str) -> Any:
    return click.option(
        "--mechanism",
        type=click.Choice(typed_for(statistic)),
        default="auto",
        show_default=True,
        help="How privacy is reached; auto takes what the planner expects to err least.",
    )


def kernel_option(use: str) -> Any:
    names = ", ".join(sorted(BY_RANGE))
    return click.option("--kernel", metavar="NAME,RANGE", help=f"{use}: {names}, e.g. matern-3/2,0.1.")


def eta_option(users: str) -> Any:
    return click.option(
        "--eta",
        type=float,
        help=f"Of {users}: power of the kernel that penalises the mean.  [default: by a rule]",
    )


def basis_option(*, but: tuple[str, ...] = ()) -> Any:
    # No click.Choice: bases that are registered later, from outside the package, are taken too.
    names = ", ".join(name for name in sorted(LEAST_SIZES) if name not in but)
    return click.option(
        "--basis", metavar="NAME", help=f"Functions that carry the curve: {names}.  [default: the planner's choice]"
    )


# What is asked of each kind of summary, in the order in which help shows it.
MEAN = [
    *STATED,
    mechanism_option("mean"),
    CALIBRATION,
    kernel_option("Noise kernel of gp, iclp-qr, iclp-ar, frl and exponential"),
    eta_option("gp, iclp-qr and iclp-ar"),
    PENALTY,
    basis_option(),
    PARTS,
]
COVARIANCE = [
    *STATED,
    MEAN_OPTION,
    mechanism_option("covariance"),
    kernel_option("Noise kernel of iclp-qr"),
    eta_option("iclp-qr"),
    PENALTY,
    basis_option(but=NOT_ORTHONORMAL),
    PARTS,
]
COMPONENTS = [
    click.option("--k", default=2, show_default=True, type=click.IntRange(min=1), help="How many components."),
    *STATED,
    MEAN_OPTION,
    mechanism_option("components"),
    kernel_option("Base measure of exponential and gibbs, or noise kernel of iclp-qr"),
    click.option(
        "--base",
        type=click.Choice(["bingham", "projected"]),
        help="How exponential makes frames of the kernel: two laws, both private.  [default: bingham]",
    ),
    click.option(
        "--explained-variance",
        type=float,
        metavar="SHARE",
        help="Share of epsilon that exponential spends on the variances, e.g. 0.2.  [default: none are released]",
    ),
    eta_option("iclp-qr"),
    PENALTY,
    basis_option(but=NOT_ORTHONORMAL),
    PARTS,
]
REGRESSION = [*STATED, mechanism_option("regression"), basis_option(but=NOT_ORTHONORMAL), PARTS]


DATASET = click.option(
    "--dataset", help="Name of the data set, on the card and in the ledger.  [default: the file's name]"
)


def output_options(kind: str) -> list[Any]:
    """The options that say how a release is made and where it goes; its name ends in its kind."""
    smoothing = click.option(
        "--smoothing",
        type=click.Choice(SMOOTHINGS),
        default="auto",
        show_default=True,
        help=f"How the noisy {SMOOTHED.get(kind)} smoothed; free, because it sees only what was released.",
    )
    workers = click.option(
        "--workers", type=click.IntRange(min=1), help="Threads that encode.  [default: processors, at most 4]"
    )
    return [
        click.option(
            "--n",
            type=click.IntRange(min=1),
            help="Public number of units, stated rather than counted; for replace-one.  [default: counted]",
        ),
        click.option(
            "--planned-n",
            type=click.IntRange(min=1),
            help="Public guess of the number of units, for add-or-remove-one.",
        ),
        *([smoothing] if kind in SMOOTHED else []),
        DATASET,
        *LEDGER,
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help=f"Release file.  [default: NAME-{kind}.json, in this folder]",
        ),
        click.option(
            "--plot", "picture", type=click.Path(path_type=Path), help="Also write a picture (png, pdf, svg)."
        ),
        click.option("--overwrite", is_flag=True, help="Replace files that exist."),
        click.option("--dry-run", is_flag=True, help="Say what would be done: no values are read, nothing is charged."),
        click.option("--force", is_flag=True, help="Go on although next to nothing but noise is expected."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        *([workers] if kind in SMOOTHED else []),
    ]


SMOOTHED = {
    "mean": "curve is",
    "covariance": "covariance is",
    "components": "covariance behind the components is",
    "regression": "coefficients are",
    "density": "density is",
}


def options(*groups: list[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options to a command, in the order in which help shows them."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return add
