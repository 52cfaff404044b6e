"""Come here for the options that releases from files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.kernels import Kernel

# Written out, since looking them up would load the numeric libraries for --help; a test compares them.
MECHANISMS = (
    "auto",
    "gaussian",
    "k-norm",
    "laplace",
    "gp",
    "iclp-qr",
    "iclp-ar",
    "frl",
    "bernstein",
    "exponential",
)
CALIBRATIONS = ("exact", "published", "simple")
KERNELS = ("exponential", "matern-3/2", "matern-5/2", "gaussian")
BASES = ("beam", "bernstein", "bspline", "cosine", "fourier", "legendre", "reinsch")
SMOOTHINGS = ("auto", "none", "sobolev-1", "sobolev-2", "sobolev-4", "sobolev-8", "james-stein")

FILE = [
    click.argument("file", type=click.Path(path_type=Path)),
    click.option(
        "--unit",
        required=True,
        metavar="COLUMN|row",
        help="Who is protected: the column that says whose curve a row is, or 'row' if every row is another person.",
    ),
    click.option("--values", help="Pattern of the value columns, e.g. 't*'.  [default: all, if they look alike]"),
    click.option(
        "--grid",
        type=click.Choice(["even", "header"]),
        default="even",
        show_default=True,
        help="Positions of the value columns: evenly over the domain, or the numbers in their names.",
    ),
]
PUBLIC = [
    click.option("--domain", default="0,1", show_default=True, metavar="LOW,HIGH", help="Public domain of the curves."),
    click.option("--epsilon", required=True, type=float, help="Privacy loss, e.g. 1."),
    click.option("--delta", required=True, type=float, help="0 for pure privacy, else e.g. 1e-6."),
    click.option("--bound", type=float, help="Public bound on a curve's root mean square; not read from the data."),
    click.option("--limits", metavar="LOW,HIGH", help="Instead of a bound: the public range of values."),
    click.option(
        "--neighbours",
        type=click.Choice(["replace-one", "add-or-remove-one"]),
        default="replace-one",
        show_default=True,
        help="Under add-or-remove-one the number of units is private too.",
    ),
    click.option(
        "--mechanism",
        type=click.Choice(MECHANISMS),
        default="auto",
        show_default=True,
        help="How privacy is reached; auto takes what the planner expects to err least.",
    ),
    click.option(
        "--calibration",
        type=click.Choice(CALIBRATIONS),
        default="exact",
        show_default=True,
        help="Noise of the papers' mechanisms: as little as privacy needs, or as published; simple is for gp.",
    ),
    click.option(
        "--kernel",
        metavar="NAME,RANGE",
        help=f"Noise kernel of gp, iclp-qr, iclp-ar, frl and exponential: {', '.join(KERNELS)}, e.g. matern-3/2,0.1.",
    ),
    click.option(
        "--eta",
        type=float,
        help="Of gp, iclp-qr and iclp-ar: power of the kernel that penalises the mean.  [default: by a rule]",
    ),
    click.option("--penalty", type=float, help="How much it does.  [default: by a rule of n and epsilon]"),
    click.option(
        "--basis", type=click.Choice(BASES), help="Functions that carry the curve.  [default: the planner's choice]"
    ),
    click.option("--size", type=click.IntRange(min=1), help="Their number.  [default: the planner's choice]"),
]
OUTPUT = [
    click.option(
        "--planned-n", type=click.IntRange(min=1), help="Public guess of the number of units, for add-or-remove-one."
    ),
    click.option(
        "--smoothing",
        type=click.Choice(SMOOTHINGS),
        default="auto",
        show_default=True,
        help="How the noisy curve is smoothed; free, because it sees only what was released.",
    ),
    click.option("--dataset", help="Name of the data set on the card.  [default: the file's name]"),
    click.option(
        "--out", type=click.Path(path_type=Path), help="Release file.  [default: NAME-mean.json, in this folder]"
    ),
    click.option("--plot", "picture", type=click.Path(path_type=Path), help="Also write a picture (png, pdf, svg)."),
    click.option("--overwrite", is_flag=True, help="Replace files that exist."),
    click.option("--dry-run", is_flag=True, help="Say what would be done: no values are read, nothing is charged."),
    click.option("--force", is_flag=True, help="Go on although the noise is larger than the bound."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option(
        "--workers", type=click.IntRange(min=1), help="Threads that encode.  [default: processors, at most 4]"
    ),
]


def release_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a release from a file, in the order in which help shows them."""
    return _add(command, [*FILE, *PUBLIC, *OUTPUT])


def public_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is public and what is wished for, which plans need too."""
    return _add(command, PUBLIC)


def _add(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def kernel_of(text: str | None) -> Kernel | None:
    """The kernel that a name and a range stand for."""
    if text is None:
        return None
    from dpfda.kernels import Exponential, Gaussian, Matern

    name, _, length = text.partition(",")
    made: dict[str, Callable[[float], Kernel]] = {
        "exponential": Exponential,
        "matern-3/2": lambda rho: Matern(1.5, rho),
        "matern-5/2": lambda rho: Matern(2.5, rho),
        "gaussian": Gaussian,
    }
    try:
        return made[name](float(length))
    except (KeyError, ValueError):
        raise UsageError(
            f"--kernel takes a name and a range, e.g. --kernel matern-3/2,0.1; got {text!r}. Names are "
            f"{', '.join(KERNELS)}."
        ) from None


def numbers(text: str, option: str, *, count: int | None) -> tuple[float, ...]:
    """Numbers separated by commas."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or (count is not None and len(values) != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise UsageError(f"{option} takes {wanted} separated by commas, e.g. {option} 0,1; got {text!r}.")
    return values


def check_bound(bound: float | None, limits: str | None) -> None:
    """What the estimator would refuse too, here in the words of the command line."""
    if bound is None and limits is None:
        raise UsageError(
            "A mean curve needs a bound known in advance, e.g. --bound 6, or the range of values, e.g. --limits 0,12. "
            "It may not be read from the data."
        )
    if bound is not None and limits is not None:
        raise UsageError(f"--bound {bound:g} and --limits {limits} both bound the curves. Leave one of them out.")
