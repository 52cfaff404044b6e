"""Come here for mechanisms: noise on integer coordinates, exact.

A new mechanism is one class and two lines here: its import and its entry in `BY_NAME`.
"""

from __future__ import annotations

from collections.abc import Callable

from dpfda.errors import UsageError
from dpfda.mechanisms.base import Mechanism
from dpfda.mechanisms.gaussian import Gaussian
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace
from dpfda.mechanisms.randomness import Randomness, SeededRandomness, SystemRandomness

__all__ = [
    "BY_NAME",
    "Gaussian",
    "KNorm",
    "Laplace",
    "Mechanism",
    "Randomness",
    "SeededRandomness",
    "SystemRandomness",
    "by_name",
]

Design = tuple[tuple[int, ...], tuple[float, ...]]

# Each entry takes the public design of blocks: their sizes and shares.
BY_NAME: dict[str, Callable[[Design], Mechanism]] = {
    "gaussian": lambda design: Gaussian(),
    "k-norm": lambda design: KNorm(*design),
    "laplace": lambda design: Laplace(),
}


def by_name(name: str, design: Design) -> Mechanism:
    """The mechanism that people call by this name."""
    if name not in BY_NAME:
        known = ", ".join(repr(known) for known in ("auto", *sorted(BY_NAME)))
        raise UsageError(f"Unknown mechanism {name!r}. Known are {known}.")
    return BY_NAME[name](design)
