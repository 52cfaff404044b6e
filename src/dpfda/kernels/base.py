"""What a kernel is: the base classes, the registry, sums and products, and kernels as plain data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from inspect import isabstract
from numbers import Real
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_points, as_real, brief, is_whole, public_numbers, values_of
from dpfda.errors import UsageError


class Kernel(ABC):
    """A positive-definite function of two points.

    Duties of a subclass: a frozen dataclass (kernels are keys of the cache of decompositions) with `__call__`, and
    `@register`, by which files and the command line find it. It may say more: `smoothness`, the exponent b of its
    eigenvalues' decay `j^-b` on an interval (inf if faster than every power, nan if not known), and `markov`, whether
    value and derivatives at two neighbours tell all about what lies between.
    """

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # so that np.float64(2.0) * kernel asks the kernel, not numpy

    @abstractmethod
    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        """The matrix of values, (m, p) and (n, p) to (m, n); on a line plain sequences will do."""

    @property
    def smoothness(self) -> float:
        """The exponent b of the decay `j^-b` of the eigenvalues on an interval; inf if faster, nan if not known."""
        return math.nan

    @property
    def markov(self) -> bool:
        """Whether the process with this covariance is Markov on a line, in its value and some derivatives.

        Noise for such a process can be drawn point by point in logarithmic time.
        """
        return False

    def decay(self, dimension: int = 1) -> float:
        """The exponent of the eigenvalues' decay on a box; a stationary kernel's `b` becomes `(b - 1 + p) / p`."""
        count(dimension, "dimension", "e.g. 2")
        return (self.smoothness - 1 + dimension) / dimension

    # Sum, Product and Scaled stand below in this file: each needs the other, so neither file could come first.
    def __add__(self, other: Kernel) -> Sum:
        if isinstance(other, Kernel):
            return Sum(self, other)
        return NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        if isinstance(other, Kernel):
            return Product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, factor: float) -> Scaled:
        if isinstance(factor, Real):
            return Scaled(self, factor)
        return NotImplemented


K = TypeVar("K", bound=Kernel)

# All kernels that files know, by the name of their class in small letters; and the names that people type with a range.
FAMILIES: dict[str, type[Kernel]] = {}
BY_RANGE: dict[str, Callable[[float], Kernel]] = {}
_EXAMPLES: dict[str, Callable[[], Kernel]] = {}


@overload
def register(kernel: type[K]) -> type[K]: ...


@overload
def register(
    kernel: None = None,
    *,
    by_range: Mapping[str, Callable[[float], Kernel]] | None = None,
    example: Callable[[], Kernel] | None = None,
) -> Callable[[type[K]], type[K]]: ...


def register(
    kernel: type[K] | None = None,
    *,
    by_range: Mapping[str, Callable[[float], Kernel]] | None = None,
    example: Callable[[], Kernel] | None = None,
) -> type[K] | Callable[[type[K]], type[K]]:
    """Make a class of kernels known to files, the command line, error messages and the contract tests.

    Write it above `@dataclass`. `by_range` has the names under which `--kernel NAME,RANGE` makes one. `example` makes
    the kernel, for the unit interval, on which the contract tests run; without it that is one of `by_range`, at range
    0.5, or the class without arguments.
    """
    if kernel is not None:
        return _entered(kernel, {}, None)
    named = {} if by_range is None else by_range
    if not (isinstance(named, Mapping) and all(_is_named(name, build) for name, build in named.items())):
        raise UsageError(
            f"by_range has names without commas and functions of a range, got {brief(by_range)}.",
            parameter="by_range",
            value=by_range,
        )
    if not (example is None or callable(example)):
        raise UsageError(
            f"example must be a function that makes a kernel, got {brief(example)}.", parameter="example", value=example
        )
    return lambda made: _entered(made, named, example)


def _is_named(name: object, build: object) -> bool:
    return isinstance(name, str) and bool(name) and "," not in name and callable(build)


def _entered(
    kernel: type[K], by_range: Mapping[str, Callable[[float], Kernel]], example: Callable[[], Kernel] | None
) -> type[K]:
    joins = isinstance(kernel, type) and issubclass(kernel, Kernel) and not isabstract(kernel)
    if not joins or not is_dataclass(kernel) or not kernel.__dataclass_params__.frozen:
        raise UsageError(
            parameter="kernel", value=kernel, rule="must be a frozen dataclass and a Kernel with all its methods"
        )
    family = kernel.__name__.lower()
    known = FAMILIES.get(family)
    if known is not None and (known.__module__, known.__qualname__) != (kernel.__module__, kernel.__qualname__):
        raise UsageError(
            f"The kernel name {brief(family)} is taken by {known.__module__}. Rename the class.",
            parameter="family",
            value=family,
        )
    clash = sorted(set(by_range) & set(BY_RANGE)) if known is None else []
    if clash:
        raise UsageError(
            f"The name {brief(clash[0])} of a kernel with a range is taken. Choose another one.",
            parameter="by_range",
            value=clash[0],
        )
    FAMILIES[family] = kernel
    BY_RANGE.update(by_range)
    if example is not None:
        _EXAMPLES[family] = example
    elif by_range:
        first = next(iter(by_range.values()))
        _EXAMPLES[family] = lambda: first(0.5)
    return kernel


def example_of(family: str) -> Kernel:
    """A kernel of this family for the unit interval, on which the contract tests run."""
    if not isinstance(family, str) or family not in FAMILIES:
        raise UsageError(
            f"A family of kernels is one of {', '.join(sorted(FAMILIES))}, got {brief(family)}.",
            parameter="family",
            value=family,
        )
    try:
        return _EXAMPLES.get(family, FAMILIES[family])()
    except TypeError:
        raise UsageError(
            f"The kernel {brief(family)} takes arguments. Register it with example=, a function that makes one.",
            parameter="family",
            value=family,
        ) from None


def as_kernel(value: object) -> Kernel:
    """The kernel itself, or an error that says what was given instead."""
    if not isinstance(value, Kernel):
        raise UsageError(
            f"A kernel is needed here, got {brief(value)}. Write for example Gaussian(rho=1.0).",
            parameter="kernel",
            value=value,
        )
    return value


def slowest(*exponents: float) -> float:
    """The least exponent; one that is not known makes the answer not known, as Python's own `min` would not."""
    return float(np.min(exponents))


class _TwoKernels(Kernel):
    """What sums and products share: the rougher of the two kernels decides how eigenvalues decay.

    For a sum this is Weyl's inequality; a product convolves the spectra, and the heavier tail stays.
    """

    __slots__ = ()
    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        as_kernel(self.left)
        as_kernel(self.right)

    @property
    def smoothness(self) -> float:
        return slowest(self.left.smoothness, self.right.smoothness)

    def decay(self, dimension: int = 1) -> float:
        """That of the rougher kernel."""
        return slowest(self.left.decay(dimension), self.right.decay(dimension))


@register
@dataclass(frozen=True, slots=True)
class Sum(_TwoKernels):
    """The sum of two kernels: the covariance of a sum of independent processes."""

    left: Kernel
    right: Kernel
    # Not Markov, even if both sides are: the value of the sum does not tell the values of its parts.

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return values_of(self.left, s, t, what="a kernel") + values_of(self.right, s, t, what="a kernel")


@register
@dataclass(frozen=True, slots=True)
class Product(_TwoKernels):
    """The product of two kernels: the covariance of a product of independent processes."""

    left: Kernel
    right: Kernel
    # Not said to be Markov: a few products are (two exponentials), most are not, and a wrong yes would break noise
    # that is drawn online.

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return values_of(self.left, s, t, what="a kernel") * values_of(self.right, s, t, what="a kernel")


@register
@dataclass(frozen=True, slots=True)
class Scaled(Kernel):
    """A kernel times a positive number: the variance of its process, times that number."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        as_kernel(self.kernel)
        object.__setattr__(self, "factor", positive(self.factor, "factor", "e.g. 2.0 * kernel"))

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return self.factor * values_of(self.kernel, s, t, what="a kernel")

    @property
    def smoothness(self) -> float:
        return self.kernel.smoothness

    @property
    def markov(self) -> bool:
        return self.kernel.markov

    def decay(self, dimension: int = 1) -> float:
        """That of the kernel: a factor moves all eigenvalues alike."""
        return self.kernel.decay(dimension)


SMALLEST, LARGEST = 1e-60, 1e60  # squares of ratios of them are still doubles


def number(value: object, name: str, example: str) -> float:
    """A finite number as a plain float, so that equal kernels are written to files alike."""
    found = as_real(value)
    if not math.isfinite(found):
        raise UsageError(parameter=name, value=value, rule="must be a finite number", fix=f"Write {example}.")
    return found


def positive(value: object, name: str, example: str) -> float:
    """A positive finite number as a plain float."""
    found = as_real(value)
    if not 0 < found < math.inf:
        raise UsageError(parameter=name, value=value, rule="must be a positive finite number", fix=f"Write {example}.")
    if not SMALLEST <= found <= LARGEST:
        raise UsageError(
            parameter=name,
            value=found,
            rule=f"must lie between {SMALLEST:g} and {LARGEST:g}",
            fix="Change the units.",
        )
    return found


def count(value: object, name: str, example: str) -> int:
    """A whole number, at least 1, as a plain int."""
    if not is_whole(value, 1, 2**31):
        raise UsageError(parameter=name, value=value, rule="must be a whole number, 1 or more", fix=f"Write {example}.")
    return int(value)


class Isotropic(Kernel):
    """A kernel that depends on the Euclidean distance alone. Duties of a subclass: `at_distance`."""

    __slots__ = ()

    @abstractmethod
    def at_distance(self, distance: Array) -> Array:
        """Values by distance; overflow is silent here, since a square of infinity still gives the right limit."""

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return self.at_distance(distances(s, t))


def distances(s: ArrayLike, t: ArrayLike) -> Array:
    """Euclidean distances of all pairs, (m, p) and (n, p) to (m, n).

    >>> distances([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[5., 1.]])
    """
    # Whichever side has rows says the dimension: then one point may stand alone as a plain sequence.
    sides = (public_numbers(s, "Points"), public_numbers(t, "Points"))
    dimension = max((side.shape[1] for side in sides if side.ndim == 2), default=1)
    one, other = as_points(s, dimension), as_points(t, dimension)
    # Differences first: |s|^2 + |t|^2 - 2 s't loses all digits for close points, and the kernel its definiteness.
    total = np.zeros((len(one), len(other)))
    for axis in range(dimension):
        total = np.hypot(total, one[:, axis, None] - other[None, :, axis])
    return total


class OnLine(Kernel):
    """A kernel on a line, or on part of it. Duties of a subclass: `at`; it may say more: `interval`."""

    __slots__ = ()

    @abstractmethod
    def at(self, s: Array, t: Array) -> Array:
        """Values at checked points, (m, 1) and (1, n) to (m, n)."""

    @property
    def interval(self) -> tuple[float, float]:
        """Where the kernel is positive definite."""
        return -math.inf, math.inf

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return self.at(self._inside(s), self._inside(t).T)

    def decay(self, dimension: int = 1) -> float:
        """The smoothness; a kernel on a line has no other dimension."""
        if not is_whole(dimension, 1, 1):
            raise UsageError(
                f"{type(self).__name__} lives on a line, got dimension {brief(dimension)}. "
                "Use Tensor() with one kernel for each axis.",
                parameter="dimension",
                value=dimension,
            )
        return self.smoothness

    def _inside(self, points: ArrayLike) -> Array:
        low, high = self.interval
        rows = as_points(points, 1)
        slack = 1e-9 * (high - low) if math.isfinite(high - low) else 0.0  # the last digit of a printed grid
        if not (np.isfinite(rows) & (rows >= low - slack) & (rows <= high + slack)).all():
            # No point in the message: points may be records.
            raise UsageError(
                f"{type(self).__name__} is a kernel on [{low:g}, {high:g}], got points outside or not finite. "
                "Move the points into the interval or choose a stationary kernel, e.g. Matern(1.5, rho=1.0).",
                parameter="points",
            )
        return np.clip(rows, low, high)


def describe(kernel: Kernel) -> dict[str, Any]:
    """Plain data, fit for JSON, from which `from_dict` builds an equal kernel: the family's name and the fields.

    >>> from dpfda.kernels import Gaussian
    >>> describe(2.0 * Gaussian(rho=0.5))
    {'family': 'scaled', 'kernel': {'family': 'gaussian', 'rho': 0.5}, 'factor': 2.0}
    """
    family = type(kernel).__name__.lower()
    if FAMILIES.get(family) is not type(kernel):
        # A file that nothing could read back is worse than an error now.
        raise UsageError(
            f"Only kernels of dpfda.kernels and registered ones can be written to a file, got {brief(kernel)}. "
            "Write @dpfda.kernels.register above the class.",
            parameter="kernel",
            value=kernel,
        )
    # mypy does not know that each family is a dataclass.
    return {"family": family} | {
        field.name: _write_value(getattr(kernel, field.name))
        for field in fields(kernel)  # type: ignore[arg-type]
    }


def from_dict(data: Mapping[str, Any]) -> Kernel:
    """The kernel that `describe` wrote.

    >>> from_dict({"family": "matern", "order": 1.5, "rho": 0.2})
    Matern(order=1.5, rho=0.2)
    """
    family = data.get("family") if isinstance(data, Mapping) else None
    if not isinstance(family, str) or family not in FAMILIES:
        raise UsageError(
            f"A kernel's description must name its family, one of {', '.join(sorted(FAMILIES))}, got {brief(family)}.",
            parameter="family",
            value=family,
        )
    known = fields(FAMILIES[family])  # type: ignore[arg-type]
    given = {name: _read_value(value) for name, value in data.items() if name != "family"}
    needed = {field.name for field in known if field.default is MISSING}
    if not needed <= set(given) <= {field.name for field in known}:
        raise UsageError(
            f"The kernel {brief(family)} has the fields {[field.name for field in known]}, got {sorted(given)}. "
            "Write descriptions with dpfda.kernels.describe().",
            parameter="family",
            value=family,
        )
    return FAMILIES[family](**given)


def _write_value(value: Any) -> Any:
    if isinstance(value, Kernel):
        return describe(value)
    return [_write_value(item) for item in value] if isinstance(value, tuple) else value


def _read_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return from_dict(value)
    return tuple(_read_value(item) for item in value) if isinstance(value, list | tuple) else value


def covariance_at(kernel: Kernel, points: Array) -> Array:
    """The kernel at all pairs of points, (q, q); one of a user's own may give no such matrix, and that is said."""
    values = values_of(kernel, points, points, what="the kernel")
    if values.shape != (len(points), len(points)) or not np.isfinite(values).all():
        raise UsageError(
            f"A kernel gives finite numbers of shape (m, n) for m and n points, got shape {values.shape} for "
            f"{len(points)} and {len(points)}.",
            parameter="kernel",
        )
    return values
