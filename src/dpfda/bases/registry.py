"""The one table of families of bases: how each is built from plain data, and which of them people name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isabstract
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dpfda.arrays import brief, is_whole, told
from dpfda.bases.domain import as_domain
from dpfda.errors import UsageError

if TYPE_CHECKING:
    from dpfda.bases.base import Basis

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
        made: Basis = basis(as_domain(domain), *rest, **fields)  # type: ignore[call-arg]
        return made

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
