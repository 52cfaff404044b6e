"""The options of densities and kernel machines, in the order in which help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpfda.cli.options import NEIGHBOURS, SPENT, kernel_option, mechanism_option

CLASSIFIER_LOSSES = ("hinge", "smoothed-hinge", "logistic")
REGRESSOR_LOSSES = ("huber", "absolute", "squared")

POINT_FILE = [
    click.argument("file", type=click.Path(path_type=Path)),
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
DOMAIN = click.option(
    "--domain",
    multiple=True,
    metavar="LOW,HIGH",
    help="Public domain of the points; for a box one for each side, e.g. '0,1;0,2'. Points beyond are moved to its "
    "edge.",
)
MACHINE_DOMAIN = click.option(
    "--domain",
    multiple=True,
    metavar="LOW,HIGH",
    help="Public domain of the points: for every coordinate, or one for each, e.g. '0,1;18,90'. Points beyond are "
    "moved to its edge.",
)

DENSITY = [
    DOMAIN,
    click.option(
        "--edges",
        multiple=True,
        metavar="NUMBER,...",
        help="Instead of a domain: public edges of bins, e.g. 0,1,5:110:5, the last by steps of 5; people are "
        "counted between them. For points that are rounded, such as ages in years: 0:110.",
    ),
    *SPENT,
    NEIGHBOURS,
    mechanism_option("density"),
    click.option(
        "--calibration",
        type=click.Choice(("exact", "published")),
        help="Noise of the papers' mechanisms: as little as privacy needs, or as published.  [default: exact]",
    ),
    kernel_option("Kernel of gp, iclp-qr, frl and bernstein"),
    click.option(
        "--bandwidth",
        metavar="NUMBER|...",
        help="Instead of a kernel: their bandwidth, one for each side, for gp a matrix such as '1,0.5;0.5,2', or "
        "private-iqr, which is bought.  [default: n^(-1/(4+d))]",
    ),
    click.option("--bandwidth-epsilon", type=float, help="What private-iqr costs, on top of --epsilon."),
    click.option("--eta", type=float, help="Of iclp-qr: power of the kernel.  [default: by a rule]"),
    click.option("--size", type=click.IntRange(min=1), help="How many functions.  [default: the planner's choice]"),
]


def machine_options(losses: tuple[str, ...]) -> list[Any]:
    """What both kernel machines are told."""
    return [
        MACHINE_DOMAIN,
        *SPENT,
        NEIGHBOURS,
        click.option(
            "--loss",
            type=click.Choice(losses),
            default=losses[0],
            show_default=True,
            help="What is minimised" + (", and logistic gives probabilities." if "logistic" in losses else "."),
        ),
        kernel_option("Kernel of the space that the function lives in"),
        click.option(
            "--penalty", type=float, help="Of its squared norm; noise falls in proportion.  [default: by a rule]"
        ),
        click.option(
            "--features", type=click.IntRange(1, 4096), help="How many features carry it.  [default: by a rule]"
        ),
        mechanism_option("machine"),
        click.option("--eta", type=float, help="Of iclp-qr: power of the noise kernel.  [default: 2]"),
    ]


LABEL = [
    click.option("--label", required=True, metavar="COLUMN", help="The column of labels."),
]
CLASSES = click.option(
    "--classes",
    required=True,
    metavar="A,B",
    help="The two labels, known in advance; a row with another one is left out.",
)
RESPONSE = click.option("--response", required=True, metavar="COLUMN", help="The column of responses.")
RESPONSE_BOUND = [
    click.option(
        "--response-bound",
        required=True,
        type=float,
        help="Public bound on the size of responses, on both sides of zero: subtract a public centre first. Those "
        "beyond are moved to it. Not read from the data.",
    ),
    click.option(
        "--threshold",
        type=float,
        help="Of huber: residuals beyond it count linearly.  [default: a fifth of the bound]",
    ),
]
