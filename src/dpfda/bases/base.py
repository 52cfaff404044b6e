"""What a basis is, and the one table of families of bases."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from inspect import isabstract
from itertools import islice
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from dpfda.arrays import Array, ArrayLike, as_plain_ints, brief, is_whole, public_numbers, told
from dpfda.bases.domain import MOST_ASKED, MOST_SIDES, Domain, as_domain, check_asked
from dpfda.bases.projection import Method, composite, product, project, projection, waves
from dpfda.errors import UsageError

# Of one basis: a release and its band then take some seconds. Families that take longer or less have their own `most`.
MOST_FUNCTIONS = 2048
MOST_CELLS = 4096  # of steps, and of the cosines that smooth them
MOST_FEATURES = 4096  # of a feature map: all their pairs are integrated
MOST_NODES = 2**23  # for means over the domain
AT_ONCE = 2**22  # values of functions in one table
MOST_VALUES = 2**27  # of functions at points in one call: some seconds
FEWEST_ASKED = 100_000  # points at which any basis is evaluated in one call
HIGHEST_ORDER = 16  # of a derivative, along one side: beyond it rounding errors are all that is left


class Basis(ABC):
    """A finite family of functions on a public domain.

    Norms and inner products are means over the domain, so the norm of a curve is its root mean square, whatever the
    length of the domain. Duties of a subclass: a frozen dataclass with fields `domain` and `size` and the method
    `functions`; a `family` name and `@register`, by which files and the command line find it. Its functions are
    orthonormal in that inner product; if they are not it says so by `orthonormal`, and then their Gram matrix is at
    most the identity, so that a function is never larger than its coordinates. It may say more: `frequencies`, by which
    smoothing orders the coordinates, from 0 upwards, and `breaks`, where integration has to be cut.
    """

    __slots__ = ()

    family: ClassVar[str] = ""
    most: ClassVar[int] = MOST_FUNCTIONS
    steepness: ClassVar[int] = 1  # derivatives grow like this power of the frequency, at the ends of the domain too
    domain: Domain
    size: int

    def __post_init__(self) -> None:
        check_size(type(self).__name__, self.size, most=self.most)
        as_plain_ints(self, "size")

    @abstractmethod
    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        """Values of all functions, or of a derivative, at checked points, (m, p) -> (m, size)."""

    @property
    def orthonormal(self) -> bool:
        """Whether the functions are orthonormal.

        If not, their Gram matrix must be at most the identity: then a function is never larger than its coordinates,
        and a sensitivity in coordinates holds for the function too.
        """
        return True

    @property
    def frequencies(self) -> Array:
        """How rough each function is, in half-waves over the domain; smoothing shrinks rough ones more, (size,)."""
        return np.arange(self.size, dtype=np.float64)

    @property
    def eigenvalues(self) -> Array | None:
        """The eigenvalues that order the functions, largest first, where they come from a kernel, (size,)."""
        return None

    def breaks(self, axis: int) -> Array:
        """Where integration along one side is cut so that 16 Gauss nodes in each panel are enough, in [0, 1]."""
        return waves(self.frequencies.max() + 1)

    def matrix(self, points: ArrayLike, order: int | tuple[int, ...] = 0) -> Array:
        """Values of all functions at any points of the domain, derivatives by order, (m, size)."""
        orders = self.order(order)
        rows = self.domain.points(points)
        if not any(orders):
            return self.functions(rows, orders)
        with np.errstate(all="ignore"):
            table = self.functions(rows, orders)
        if not np.isfinite(table).all():
            raise UsageError(
                f"The derivative of order {orders} on this domain is beyond double precision. Ask for a lower order, "
                "or state the domain in other units.",
                parameter="order",
                value=orders,
            )
        return table

    def tables(self, points: Array) -> Iterator[Array]:
        """Values of all functions at many points, some points at a time so that memory stays bounded, (b, size)."""
        rows = self.rows_at_once
        for start in range(0, max(len(points), 1), rows):
            yield self.matrix(points[start : start + rows])

    @property
    def rows_at_once(self) -> int:
        """The number of points at which all functions are tabulated together."""
        return max(1, AT_ONCE // self.size)

    def order(self, order: int | tuple[int, ...]) -> tuple[int, ...]:
        """A derivative order as one number for each side of the domain."""
        # Some at most, whatever length a list of the user's own kind says that it has.
        orders = tuple(islice(order, MOST_SIDES + 1)) if isinstance(order, tuple | list) else (order,)
        if len(orders) == 1 and is_whole(orders[0], 0, 0):
            orders = (0,) * self.domain.dimension
        if len(orders) != self.domain.dimension or not all(is_whole(o, 0, HIGHEST_ORDER) for o in orders):
            raise UsageError(
                f"A derivative on a domain with {self.domain.dimension} side(s) needs one whole number, 0 to "
                f"{HIGHEST_ORDER}, for each side, got {brief(order)}.",
                parameter="order",
                value=order,
            )
        return tuple(int(o) for o in orders)

    def evaluate(self, coordinates: ArrayLike, points: ArrayLike, order: int | tuple[int, ...] = 0) -> Array:
        """Values at any points of the domain, (..., size) -> (..., m)."""
        table = public_numbers(coordinates, "Coordinates")
        if table.shape[-1:] != (self.size,):
            raise UsageError(
                f"This basis has {self.size} coordinates, got an array of shape {table.shape}.",
                parameter="coordinates",
                value=table.shape,
            )
        where = self.asked(points)
        check_asked(math.prod(table.shape[:-1]) * len(where), what="values")
        return self._values(table, where, order)

    def _values(self, table: Array, points: Array, order: int | tuple[int, ...]) -> Array:
        rows = self.rows_at_once
        if len(points) <= rows:
            return table @ self.matrix(points, order).T
        values = np.empty((*table.shape[:-1], len(points)))
        for start in range(0, len(points), rows):
            values[..., start : start + rows] = table @ self.matrix(points[start : start + rows], order).T
        return values

    def asked(self, points: ArrayLike) -> Array:
        """Checked points as rows, no more of them than all functions can be evaluated at in some seconds."""
        rows = self.domain.points(points)
        check_asked(len(rows), min(MOST_ASKED, max(MOST_VALUES // self.size, FEWEST_ASKED)))
        return rows

    def projection(self, grid: ArrayLike, *, method: Method = "auto") -> Array:
        """The matrix that takes values on a grid to coordinates, read-only and cached, (size, q).

        Least squares where it is well conditioned, so that functions in the span come back exactly; else inner
        products with the natural cubic spline through the values. Points in any order; at repeated ones values are
        averaged.
        """
        return projection(self, self.domain.points(grid), method)

    def project(self, points: Array, method: Method) -> Array:
        """The projection for distinct and sorted points, before caching, (size, q)."""
        return project(self, points, method)

    def coordinates(self, values: ArrayLike, grid: ArrayLike) -> Array:
        """Coordinates of curves known on a grid, regular or not, (..., q) -> (..., size)."""
        table = public_numbers(values, "Values of curves")
        points = self.domain.points(grid)
        if table.shape[-1:] != (len(points),):
            raise UsageError(
                f"Values and grid must have the same length, got values of shape {table.shape} and {len(points)} grid "
                "points.",
                parameter="grid",
            )
        return table @ self.projection(points).T

    def gram(self) -> Array:
        """Inner products of all pairs of functions, (size, size)."""
        return np.eye(self.size) if self.orthonormal else _gram(self).copy()

    def nodes(self) -> tuple[Array, Array]:
        """Points (m, p) and weights (m,) that give means over the domain of products of two of the functions."""
        rules = []
        for axis, (low, high) in enumerate(self.domain.sides):
            nodes, weights = composite(self.breaks(axis))
            rules.append((low + (high - low) * nodes.ravel(), weights.ravel()))
        check_nodes(rules)
        return product(rules)

    def at_nodes(self, coordinates: Array, order: tuple[int, ...]) -> Array:
        """Values of a function, or of a derivative, at the nodes, (size,) -> (m,)."""
        return self._values(coordinates, self.nodes()[0], order)

    def means(self) -> Array:
        """The mean of each function over the domain, (size,)."""
        points, weights = self.nodes()
        return self.summed(points, weights)

    def summed(self, points: Array, weights: Array) -> Array:
        """Weighted sums over points of each function, (size,)."""
        rows, result = self.rows_at_once, np.zeros(self.size)
        for number, table in enumerate(self.tables(points)):
            result += weights[number * rows : (number + 1) * rows] @ table
        return result

    def peaks(self) -> Array:
        """Points at which noise is looked at for its largest value: sixteen in every half-wave, and the corners."""
        return np.concatenate([self.nodes()[0], self.domain.grid(2)])

    def integrals(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The integral of each function over the interval or box from low to high, (size,).

        Over the whole domain it is the mean of the function times the volume of the domain.
        """
        corners = self.corners(low, high)
        rules = []
        for axis, (start, stop) in enumerate(corners.T):
            left, right = self.domain.sides[axis]
            inner = left + (right - left) * self.breaks(axis)
            panels = np.concatenate([[start], inner[(inner > start) & (inner < stop)], [stop]])
            nodes, weights = composite(panels)
            rules.append((nodes.ravel(), weights.ravel()))
        check_nodes(rules)
        return self.summed(*product(rules))

    def corners(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The lowest and the highest point of a box within the domain, (2, p)."""
        ends = [public_numbers(end, "The ends of an integral").reshape(-1) for end in (low, high)]
        if any(len(end) != self.domain.dimension for end in ends):
            raise UsageError(
                f"The ends of an integral are points with {self.domain.dimension} coordinate(s), got {brief(low)} and "
                f"{brief(high)}.",
                parameter="low",
                value=(low, high),
            )
        corners = self.domain.points(np.stack(ends))
        for start, stop in corners.T:
            if start > stop:
                raise UsageError(
                    f"An integral goes from a lower to an upper end, got {start:g} to {stop:g}.",
                    parameter="low",
                    value=(float(start), float(stop)),
                )
        return corners

    def describe(self) -> dict[str, Any]:
        """Plain data from which `dpfda.bases.from_dict` builds the same basis."""
        if not self.family:
            raise UsageError(
                f"{type(self).__name__} cannot be written to a file: it has no family name. Give the class a `family` "
                "and write @dpfda.bases.register above it.",
                parameter="family",
                value=self.family,
            )
        if not is_registered(self):
            # A file that nothing could read back is worse than an error now.
            raise UsageError(
                f"{type(self).__name__} cannot be written to a file: its family {brief(self.family)} is not "
                "registered. Write @dpfda.bases.register above the class.",
                parameter="family",
                value=self.family,
            )
        return {"family": self.family, "domain": [list(side) for side in self.domain.sides], "size": self.size}


class IntervalBasis(Basis):
    """A basis on an interval, written once for [0, 1]: the duty of a subclass is `unit_functions`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_size(type(self).__name__, self.size, most=self.most)
        as_plain_ints(self, "size")
        if self.domain.dimension != 1:
            raise UsageError(
                f"{type(self).__name__} lives on an interval, got a domain with {self.domain.dimension} sides. "
                "On a box use tensor() of one basis for each side, or by_name().",
                parameter="domain",
                value=self.domain.dimension,
            )

    @abstractmethod
    def unit_functions(self, unit: Array, order: int) -> Array:
        """Values of all functions of [0, 1], or of a derivative there, (m,) -> (m, size)."""

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        """The functions of [0, 1] moved to the domain; each derivative divides by its length."""
        unit = self.domain.to_unit(points)[:, 0]
        return self.unit_functions(unit, order[0]) / np.float64(self.domain.lengths[0]) ** order[0]


def check_size(name: str, size: int, *, least: int = 1, most: int = MOST_FUNCTIONS) -> None:
    """Refuse a size that is no whole number, too small for its family, or too large for memory and time."""
    if is_whole(size, most + 1, 2**62):
        other = "" if most >= MOST_FUNCTIONS else f", or cosines, of which there may be {MOST_FUNCTIONS}"
        raise UsageError(
            f"The size of a {name} basis must be at most {most}, got {brief(size)}: more would take minutes. Take "
            f"fewer functions{other}.",
            parameter="size",
            value=size,
        )
    if not is_whole(size, least, most):
        raise UsageError(
            f"The size of a {name} basis must be a whole number, at least {least}, got {brief(size)}.",
            parameter="size",
            value=size,
        )


def check_nodes(rules: Sequence[tuple[Array, Array]]) -> None:
    """Means over a box take the product of the points along its sides: beyond some millions it is refused."""
    count = math.prod(len(nodes) for nodes, _ in rules)
    if count > MOST_NODES:
        raise UsageError(
            f"Means of these functions over a domain with {len(rules)} side(s) take {count} points, and at most "
            f"{MOST_NODES} can be taken. Use fewer functions, or fewer sides.",
            parameter="size",
            value=count,
        )


@lru_cache(maxsize=16)
def _gram(basis: Basis) -> Array:
    points, weights = basis.nodes()
    rows, result = basis.rows_at_once, np.zeros((basis.size, basis.size))
    for number, table in enumerate(basis.tables(points)):
        result += (table.T * weights[number * rows : (number + 1) * rows]) @ table
    return (result + result.T) / 2


B = TypeVar("B", bound="Basis")

# The functions that build a basis from the plain data of `describe`, and the classes that they build.
FAMILIES: dict[str, Callable[..., Basis]] = {}
_CLASSES: dict[str, type[Basis]] = {}
# Feature maps of a kernel: made for points, whose inner products they give, rather than for curves.
FEATURE_MAPS: set[str] = set()
# Those that a domain and a size determine, with the least size each needs on one side: these have names to type.
LEAST_SIZES: dict[str, int] = {}


@overload
def register(basis: type[B]) -> type[B]: ...


@overload
def register(
    basis: None = None,
    *,
    least_size: int | None = None,
    build: Callable[..., Basis] | None = None,
    feature_map: bool = False,
) -> Callable[[type[B]], type[B]]: ...


def register(
    basis: type[B] | None = None,
    *,
    least_size: int | None = None,
    build: Callable[..., Basis] | None = None,
    feature_map: bool = False,
) -> type[B] | Callable[[type[B]], type[B]]:
    """Make a class of bases known to files, `by_name`, the command line, error messages and the contract tests.

    Write it above `@dataclass`; the class says its name as `family`. `least_size` is stated for a basis that a domain
    and a size determine, as `Class(domain, size)`: it then has a name for `basis=` and `--basis`. `build` makes a basis
    from what its `describe` wrote, given as keywords, without the family; the default calls the class with them.
    """
    if basis is not None:
        return _entered(basis, None, None, False)
    if not (least_size is None or is_whole(least_size, 1, 2**20)) or not (build is None or callable(build)):
        raise UsageError(
            f"A basis is registered with a least size of 1 or more and a function that builds it, got "
            f"{brief(least_size)} and {brief(build)}.",
            parameter="least_size",
            value=least_size,
        )
    return lambda made: _entered(made, least_size, build, feature_map)


def _entered(basis: type[B], least_size: int | None, build: Callable[..., Basis] | None, feature_map: bool) -> type[B]:
    family = getattr(basis, "family", None)
    complete = isinstance(basis, type) and callable(getattr(basis, "functions", None)) and not isabstract(basis)
    if not (complete and isinstance(family, str) and family):
        raise UsageError(
            f"A basis that is registered is a Basis with all its methods and a `family` name, got {brief(basis)}.",
            parameter="basis",
            value=basis,
        )
    known = _CLASSES.get(family)
    if known is not None and (known.__module__, known.__qualname__) != (basis.__module__, basis.__qualname__):
        raise UsageError(
            f"The family {brief(family)} is taken by {known.__module__}. Choose another name.",
            parameter="family",
            value=family,
        )

    def from_fields(domain: Any, *rest: Any, **fields: Any) -> Basis:
        make: Callable[..., Basis] = basis
        return make(as_domain(domain), *rest, **fields)

    _CLASSES[family] = basis
    FAMILIES[family] = from_fields if build is None else build
    if least_size is not None:
        LEAST_SIZES[family] = int(least_size)
    if feature_map:
        FEATURE_MAPS.add(family)
    return basis


def is_registered(basis: Basis) -> bool:
    """Whether a file with this basis could be read back."""
    return _CLASSES.get(basis.family) is type(basis)


def from_dict(description: Mapping[str, Any]) -> Basis:
    """The basis that `describe` wrote down.

    >>> from_dict({"family": "legendre", "domain": [[0, 1]], "size": 5}).size
    5
    """
    rest = dict(description) if isinstance(description, Mapping) else {}
    family = rest.pop("family", None)
    if not isinstance(family, str) or family not in FAMILIES:
        raise UsageError(
            f"A basis is one of the families {', '.join(sorted(FAMILIES))}, got {brief(family)}.",
            parameter="family",
            value=family,
        )
    try:
        return FAMILIES[family](**rest)
    except TypeError as error:
        raise UsageError(
            f"This is no description of a {family} basis: {brief(description)} ({told(error)}).",
            parameter="description",
            value=description,
        ) from error
