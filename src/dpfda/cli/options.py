"""The options of commands, made from `dpfda.parameters`, in the order in which help shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpfda.bases import LEAST_SIZES
from dpfda.cli.charging import LEDGER
from dpfda.kernels import BY_RANGE
from dpfda.mechanisms.table import EUCLIDEAN, names_with, typed_for
from dpfda.parameters import CLASSIFIER_LOSSES, PARAMETERS, REGRESSOR_LOSSES, Parameter
from dpfda.privacy.norms import Norm

NOT_ORTHONORMAL = ("bernstein",)
ORTHONORMAL_ONLY = ("covariance", "components", "regression")
SMOOTHED = ("mean", "covariance", "components", "regression", "density")
PATH = click.Path(path_type=Path)
BY_FILE = {"mean": ("dictionary",)}  # mechanisms with a setting that a command reads from a file: --candidates

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class MechanismName(click.ParamType):  # type: ignore[type-arg]
    """A name of the table of mechanisms; looked up when it is typed, so that what is registered later is taken too."""

    name = "mechanism"

    def __init__(self, statistic: str, norm: Norm) -> None:
        self.statistic, self.norm = statistic, norm

    @property
    def known(self) -> tuple[str, ...]:
        """What can be typed."""
        return (*typed_for(self.statistic, self.norm), *BY_FILE.get(self.statistic, ()))

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self.known)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        known = self.known
        if value not in known:
            self.fail(f"{value!r} is not one of {', '.join(map(repr, known))}.", param, ctx)
        return value


def option(
    parameter: str | Parameter,
    statistic: str = "",
    *,
    required: bool = False,
    default: Any = None,
    choices: tuple[str, ...] = (),
    multiple: bool = False,
    path: bool = False,
    norm: Norm = EUCLIDEAN,
) -> Option:
    """The option of a parameter, with the words that hold for a statistic."""
    stated = PARAMETERS[parameter] if isinstance(parameter, str) else parameter
    offered = typed_for(statistic)
    able = [name for name in names_with(stated.name, statistic) if name in offered]
    bases = [name for name in sorted(LEAST_SIZES) if not (statistic in ORTHONORMAL_ONLY and name in NOT_ORTHONORMAL)]
    text = stated.text(
        statistic,
        mechanisms=" and ".join(", ".join(able).rsplit(", ", 1)),
        kernels=", ".join(sorted(BY_RANGE)),
        bases=", ".join(bases),
    )
    if stated.kind is bool:
        return click.option(stated.option, is_flag=True, help=text)
    kind: Any = stated.kind
    if stated.name == "mechanism":
        kind = MechanismName(statistic, norm)
    elif choices or stated.choices:
        kind = click.Choice(choices or stated.choices)
    elif path:
        kind = PATH
    elif stated.kind is int:
        kind = click.IntRange(1, stated.most)
    # A default of None is a default for click, and would make a required option none.
    usual = {} if default is None else {"default": default, "show_default": True}
    return click.option(
        stated.option, type=kind, metavar=stated.metavar, required=required, multiple=multiple, help=text, **usual
    )


def mechanism_options(statistic: str, *settings: str, norm: Norm = EUCLIDEAN) -> list[Option]:
    """The mechanism, and the settings of mechanisms that this statistic takes; `norm` is that of its bound."""
    return [
        option("mechanism", statistic, default="auto", norm=norm),
        *(option(name, statistic) for name in settings),
    ]


# The file, and whose rows they are.
FILE = [
    click.argument("file", type=PATH),
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
POINT_FILE = [
    click.argument("file", type=PATH),
    click.option(
        "--points",
        required=True,
        multiple=True,
        metavar="COLUMN,...",
        help="Columns of coordinates, one for each side of the domain, in its order: names, or patterns such as 'x*'.",
    ),
]
WHOSE = "Who is protected: the column that says whose point a row is, or 'row' if every row is another person."
UNIT = click.option("--unit", required=True, metavar="COLUMN|row", help=WHOSE)
UNIT_OR_COUNTS = [
    click.option("--unit", metavar="COLUMN|row", help=WHOSE),
    click.option(
        "--counts",
        metavar="COLUMN",
        help="Instead of --unit: the column that says how many people a row stands for, one point each.",
    ),
]
LABEL = [click.option("--label", required=True, metavar="COLUMN", help="The column of labels.")]
RESPONSE = click.option("--response", required=True, metavar="COLUMN", help="The column of responses.")

# What is public, and what is asked for.
SPENT = [option("epsilon", required=True), option("delta", required=True)]
NEIGHBOURS = option("neighbours", default="replace-one")
STATED = [option("domain", default="0,1"), *SPENT, option("bound"), option("limits"), NEIGHBOURS]
CENTRE = option("centre", path=True)
DATASET = option("dataset")
MEAN = [
    *STATED,
    *mechanism_options("mean", "calibration", "kernel", "eta", "penalty", "penalty_kernel"),
    option("candidates", "mean", path=True),
    option("basis", "mean"),
    option("size"),
]
COVARIANCE = [
    *STATED,
    option("mean"),
    *mechanism_options("covariance", "kernel", "eta", "penalty"),
    option("basis", "covariance"),
    option("size"),
]
COMPONENTS = [
    option("n_components", default=2),
    *STATED,
    option("mean"),
    *mechanism_options("components", "kernel", "base"),
    option("explained_variance"),
    option("eta", "components"),
    option("penalty", "components"),
    option("basis", "components"),
    option("size"),
]
REGRESSION = [
    *STATED,
    *mechanism_options("regression", "kernel", "eta", "penalty"),
    option("basis", "regression"),
    option("size"),
]
COVARIATES = option("covariate_levels", required=True)
PLANNED_COVARIATES = click.option(
    "--covariates",
    metavar="NAME,NAME=A|B",
    help="Columns and declared levels, as for a release.  [default: as many as there are ranges]",
)
COVARIATE_LIMITS = [option("covariate_limits"), option("covariate_bound"), option("intercept")]
RIDGE = option("ridge")
POINT_DOMAIN = option("domain", "density", multiple=True)
OUTSIDE = option("outside", default="apart", choices=("apart", "edge"))
DENSITY = [
    POINT_DOMAIN,
    option("edges", multiple=True),
    OUTSIDE,
    *SPENT,
    NEIGHBOURS,
    *mechanism_options("density", "calibration", "kernel", "bandwidth"),
    option("bandwidth_epsilon"),
    option("eta", "density"),
    option("size", "density"),
]
CLASSES = option("classes", required=True)
RESPONSE_BOUND = [option("response_bound", required=True), option("threshold")]


def machine_options(task: str) -> list[Option]:
    """What a classifier or a regressor is told."""
    losses = CLASSIFIER_LOSSES if task == "classifier" else REGRESSOR_LOSSES
    return [
        option("domain", "machine", multiple=True),
        *SPENT,
        NEIGHBOURS,
        option("loss", task, default=losses[0], choices=losses),
        option("kernel", "machine"),
        option("penalty", "machine"),
        option("features"),
        *mechanism_options("machine", "eta"),
    ]


def output_options(kind: str) -> list[Option]:
    """The options that say how a release is made and where it goes; its name ends in its kind."""
    return [
        option("n"),
        option("planned_n"),
        *([option("smoothing", kind, default="auto")] if kind in SMOOTHED else []),
        DATASET,
        *LEDGER,
        click.option("--out", type=PATH, help=f"Release file.  [default: NAME-{kind}.json, in this folder]"),
        click.option("--plot", "picture", type=PATH, help="Also write a picture (png, pdf, svg)."),
        click.option("--overwrite", is_flag=True, help="Replace files that exist."),
        click.option("--dry-run", is_flag=True, help="Say what would be done: no values are read, nothing is charged."),
        option("force"),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        *([option("workers")] if kind in SMOOTHED else []),
    ]


# What a plan is told instead of a file.
PEOPLE = [click.option("--n", required=True, type=click.IntRange(min=1), help="Number of people, public or guessed.")]
GRID_SIZE = [
    click.option("--grid-size", type=click.IntRange(min=1), help="Number of points at which curves are known.")
]
JSON = [click.option("--json", "as_json", is_flag=True, help="Print JSON.")]


def options(*groups: list[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options to a command, in the order in which help shows them."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed([each for group in groups for each in group]):
            command = each(command)
        return command

    return add
