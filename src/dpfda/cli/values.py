"""What the options of a command mean: groups of them, and texts turned into numbers, kernels and mechanisms."""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpfda
from dpfda.arrays import brief, numbers
from dpfda.errors import UsageError
from dpfda.mechanisms import DictionaryDraw
from dpfda.mechanisms.table import by_name, resolve

if TYPE_CHECKING:
    from dpfda.arrays import Array
    from dpfda.kernels import Kernel
    from dpfda.planning.request import Request

BOUGHT = ("private-iqr", "private-loo")
MOST_EDGES = 4096


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The file and its layout."""

    file: Path
    unit: str
    values: str | None
    grid: str | None
    rows: str | None


@dataclass(frozen=True, slots=True)
class CurveOptions:
    """What is public and what is asked for; plans need it too."""

    domain: str
    epsilon: float
    delta: float
    bound: float | None
    limits: str | None
    neighbours: str
    mechanism: str
    basis: str | None
    size: int | None

    def parameters(self, statistic: str, **settings: Any) -> dict[str, Any]:
        """The parameters of an estimator that say all this; settings go onto the mechanism."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "bound": self.bound,
            "limits": None if self.limits is None else interval(self.limits, "--limits"),
            "domain": interval(self.domain),
            "neighbours": self.neighbours,
            "mechanism": by_name(self.mechanism, statistic, settings),
            "basis": self.basis,
            "size": self.size,
        }

    def request(self, statistic: str, n: int, grid_size: int | None, **settings: Any) -> Request:
        """What the estimator with these parameters asks its plan for.

        Made without the estimator: scikit-learn, from which it derives, takes longer to load than a plan to make.
        """
        from dpfda.bases import as_domain
        from dpfda.bases.lattice import Lattice
        from dpfda.planning.request import Request
        from dpfda.privacy.budget import stated_budget

        stated = self.parameters(statistic, **settings)
        budget = stated_budget(stated.pop("epsilon"), stated.pop("delta"))
        bound, limits = stated.pop("bound"), stated.pop("limits")
        stated["mechanism"], chosen = resolve(stated["mechanism"], statistic)
        return Request(
            **stated | {"domain": as_domain(stated["domain"])},
            n=n,
            budget=budget,
            bound=Lattice(bound if limits is None else (limits[1] - limits[0]) / 2).bound,
            grid_size=grid_size,
            **chosen,
        )


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """What is asked for of the papers' noise processes."""

    kernel: str | None
    eta: float | None
    penalty: float | None

    def settings(self) -> dict[str, Any]:
        """The settings of a mechanism that say this."""
        return {"kernel": kernel_of(self.kernel), "eta": self.eta, "penalty": self.penalty}


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How a release is made and where it goes."""

    n: int | None
    planned_n: int | None
    dataset: str | None
    out: Path | None
    picture: Path | None
    overwrite: bool
    dry_run: bool
    force: bool
    as_json: bool
    smoothing: str = "auto"  # not every kind of release is smoothed,
    workers: int | None = None  # nor encoded in threads
    ledger: str | None = None
    anchor: Path | None = None
    key: str | None = None

    @property
    def reading(self) -> dpfda.Reading:
        """How records are read."""
        return dpfda.Reading(workers=self.workers)


@dataclass(frozen=True, slots=True)
class PointSourceOptions:
    """The file, and the columns that hold points."""

    file: Path
    points: tuple[str, ...]
    unit: str | None

    @property
    def column(self) -> str | None:
        """The column that says whose row it is; None where every row is another person."""
        return None if self.unit == "row" else self.unit


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """What is public, and what is asked for, of a density."""

    domain: tuple[str, ...]
    edges: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    mechanism: str
    calibration: str | None
    kernel: str | None
    bandwidth: str | None
    bandwidth_epsilon: float | None
    eta: float | None
    size: int | None
    outside: str
    answers: int | None = None

    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator that say all this."""
        if bool(self.domain) == bool(self.edges):
            raise UsageError(
                "A density needs a domain known in advance, e.g. --domain 0,100, or else the edges of bins, e.g. "
                "--edges 0,1,5,10, and not both. Neither may be read from the data."
            )
        return {
            "domain": domain_of(self.domain) if self.domain else None,
            "edges": edges_of(self.edges) if self.edges else None,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "mechanism": by_name(
                self.mechanism,
                "density",
                {
                    "calibration": self.calibration,
                    "kernel": kernel_of(self.kernel),
                    "bandwidth": bandwidth_of(self.bandwidth),
                    "eta": self.eta,
                    "answers": self.answers,
                },
            ),
            "bandwidth_epsilon": self.bandwidth_epsilon,
            "size": self.size,
            "outside": self.outside,
        }


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """What is public, and what is asked for, of a kernel machine."""

    domain: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    loss: str
    kernel: str | None
    penalty: float | None
    features: int | None
    mechanism: str
    eta: float | None

    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator that say all this."""
        if not self.domain:
            raise UsageError(
                "A kernel machine needs a domain known in advance: one interval for every coordinate, e.g. --domain "
                "0,1, or one for each, e.g. --domain '0,1;18,90'. It may not be read from the data."
            )
        return {
            "domain": domain_of(self.domain),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "loss": self.loss,
            "kernel": kernel_of(self.kernel),
            "penalty": self.penalty,
            "features": "auto" if self.features is None else self.features,
            "mechanism": by_name(self.mechanism, "machine", {"eta": self.eta}),
        }


def grouped(*groups: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Hand options to a command in groups, one object each; what belongs to none comes by its name."""

    def wrap(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(**options: Any) -> Any:
            given = [[field.name for field in fields(group) if field.name in options] for group in groups]
            made = [
                group(**{name: options.pop(name) for name in names}) for group, names in zip(groups, given, strict=True)
            ]
            return command(*made, **options)

        return call

    return wrap


def kernel_of(text: str | None, parameter: str = "kernel") -> Kernel | None:
    """The kernel that a name and a range stand for."""
    if text is None:
        return None
    from dpfda.kernels import BY_RANGE
    from dpfda.parameters import PARAMETERS

    name, _, length = text.partition(",")
    try:
        return BY_RANGE[name](float(length))
    except (KeyError, ValueError):
        raise UsageError(
            f"{PARAMETERS[parameter].option} takes a name and a range, e.g. {PARAMETERS[parameter].option} "
            f"matern-3/2,0.1; got {brief(text)}. Names are {', '.join(sorted(BY_RANGE))}.",
            parameter=parameter,
            value=text,
        ) from None


@dataclass(frozen=True, slots=True, eq=False)
class Interpolated:
    """A public function of the points of an interval: straight lines between values on a grid."""

    grid: Array  # (q,)
    values: Array  # (q,)

    def __call__(self, points: Array) -> Array:
        import numpy as np

        return np.interp(points, self.grid, self.values)


def candidates_of(mechanism: str, file: Path | None, domain: str) -> tuple[Interpolated, ...] | None:
    """The public functions that a dictionary chooses among: the rows of a table, on equally spaced points."""
    if file is None:
        if mechanism == DictionaryDraw.name:
            raise UsageError(
                f"--mechanism {mechanism} chooses among public functions: name the file that has one in each row, "
                "--candidates shapes.csv.",
                parameter="candidates",
            )
        return None
    import numpy as np

    from dpfda.records.files import open_table

    low, high = interval(domain)
    table = open_table(file)
    names = tuple(table.columns)
    rows = np.concatenate([np.empty((0, len(names))), *table.source(names, None).batches(2**12)])
    if len(names) < 2 or not len(rows) or not np.isfinite(rows).all():
        raise UsageError(
            f"--candidates takes a table of finite numbers, a row for each function and a column for each of at least "
            f"two equally spaced points, got {len(rows)} rows and {len(names)} columns with numbers or gaps.",
            parameter="candidates",
        )
    grid = np.linspace(low, high, len(names))
    return tuple(Interpolated(grid, row) for row in rows)


def interval(text: str, option: str = "--domain") -> tuple[float, ...]:
    """Two ends, the lower one first."""
    low, high = numbers(text, option, count=2)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        example = f"{high:g},{low:g}" if -math.inf < high < low < math.inf else "0,1"
        raise UsageError(
            f"{option} takes two finite ends, the lower one first, e.g. {option} {example}; got {brief(text)}.",
            parameter=option.removeprefix("--"),
            value=text,
        )
    return low, high


def bounds_command(source: SourceOptions) -> str:
    """The command that buys a bound for the curves of a file."""
    words = ["dpfda", "bounds", str(source.file), "--unit", source.unit]
    words += ["--values", source.values] if source.values is not None else []
    return f"{shlex.join(words)} --epsilon 0.1 --candidates LOW,HIGH"


# By `check_heard` of dpfda.statistics.private_bound, for the quantile and the number of candidates of the command.
PRICE_OF_BOUND = "An epsilon of about 30 over the number of people buys one, e.g. 0.1 for 300."


def check_bound(
    bound: float | None, limits: str | None, *, what: str = "A mean curve", source: SourceOptions | None = None
) -> None:
    """What the estimator would refuse too, here in the words of the command line; with a file, how to buy a bound."""
    if bound is None and limits is None:
        unknown = ""
        if source is not None:
            unknown = f" Nothing was charged. Unknown? {PRICE_OF_BOUND} Spend a little: {bounds_command(source)}."
        raise UsageError(
            f"{what} needs a bound known in advance, e.g. --bound 6, or the range of values, e.g. --limits 0,12. "
            f"It may not be read from the data.{unknown}",
            parameter="bound",
        )
    if bound is not None and limits is not None:
        raise UsageError(
            f"--bound {bound:g} and --limits {limits} both bound the curves. Leave one of them out.",
            parameter="limits",
            value=limits,
        )


def domain_of(texts: tuple[str, ...]) -> list[tuple[float, ...]]:
    """The sides of a domain: stated one after the other, or separated by semicolons."""
    return [interval(part) for text in texts for part in text.split(";")]


def edges_of(texts: tuple[str, ...]) -> list[list[float]]:
    """Edges along each side: numbers, and stretches of equal steps such as 0:100:5, by default of steps of one."""
    sides = [part for text in texts for part in text.split(";")]
    try:
        return [[edge for item in side.split(",") for edge in _stretch(item)] for side in sides]
    except ValueError:
        raise UsageError(
            "--edges takes increasing numbers separated by commas, or stretches FIRST:LAST:STEP of at most "
            f"{MOST_EDGES} of them, e.g. --edges 0,1,5:100:5; got {brief(' '.join(texts))}."
        ) from None


def _stretch(item: str) -> list[float]:
    first, *rest = (float(part) for part in item.split(":"))
    if not rest:
        return [first]
    last, step = (*rest, 1.0)[:2]
    steps = (last - first) / step
    if len(rest) > 2 or not 1 <= steps <= MOST_EDGES or abs(steps - round(steps)) > 1e-9 * steps:
        raise ValueError
    return [*(first + index * step for index in range(round(steps))), last]


def bandwidth_of(text: str | None) -> Any:
    """A number, one for each side, rows of a matrix separated by semicolons, or the name of a private choice."""
    if text is None or text in BOUGHT:
        return text
    rows = [numbers(part, "--bandwidth", count=None) for part in text.split(";")]
    if len(rows) > 1:
        return rows
    return rows[0] if len(rows[0]) > 1 else rows[0][0]


def classes_of(text: str) -> tuple[str, str]:
    """Two labels separated by a comma."""
    labels = tuple(label.strip() for label in text.split(","))
    if len(labels) != 2 or not all(labels) or labels[0] == labels[1]:
        raise UsageError(
            "--classes takes two different labels separated by a comma, e.g. --classes healthy,ill; got "
            f"{brief(text)}. They may not be read from the data."
        )
    return labels[0], labels[1]
