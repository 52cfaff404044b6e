"""What every release is: a card and a public basis, points of its domain, tables, a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from dpfda.arrays import Array, ArrayLike
from dpfda.bases import Basis
from dpfda.errors import MissingExtra
from dpfda.releases.calculus import Function
from dpfda.releases.certificate import Certificate
from dpfda.releases.roughness import Roughness


class AnyRelease(ABC):
    """What was paid for, in a public basis, and its card.

    Nothing in it knows a record; every method is post-processing and costs nothing. Duties of a release: `kind`,
    `to_plain` and `from_plain`; card and basis are written the same way for all of them. One with methods `band` and
    `points` says so by `has_band = True`: else cards speak of the size of the noise.
    """

    basis: Basis
    certificate: Certificate

    kind: ClassVar[str]
    has_band: ClassVar[bool] = False
    computed: ClassVar[tuple[str, ...]] = ()  # numbers under "smoothing" that follow from the noisy coordinates
    axis: ClassVar[str] = "t"  # what points are called in tables
    sides: ClassVar[tuple[int, ...]] = (101, 41)  # points along the side of an interval, a rectangle, ...
    parts: ClassVar[str] = "coordinates"  # what stands in the basis

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """What makes this release, but for its card and basis, as plain data."""

    @staticmethod
    @abstractmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> Any:
        """The release that `to_plain` wrote; any ordinary exception where a part is missing or does not fit."""

    def points(self, size: int | None = None) -> Array:
        """Equally spaced points of the domain, (size^p, p); by default 101 on an interval, 41 on each side of a box.

        A density has 201 on an interval and 9 from three sides on, a covariance 41 and 9: it is drawn at pairs of them.
        """
        domain = self.basis.domain
        return domain.grid(self.sides[min(domain.dimension, len(self.sides)) - 1] if size is None else size)

    def _asked(self, points: ArrayLike | None) -> Array:
        """Points of the domain as rows, (m, p); by default those of `points()`."""
        return self.points() if points is None else self.basis.domain.points(points)

    def _named(self, rows: Array) -> dict[str, Array]:
        """Points as columns under their names: t, or t1, t2, ..."""
        names = [self.axis] if rows.shape[1] == 1 else [f"{self.axis}{side + 1}" for side in range(rows.shape[1])]
        return dict(zip(names, rows.T, strict=True))

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; `dpfda.load` reads it back with identical values."""
        from dpfda.releases.files import save

        return save(self, path)

    def _function(self, coordinates: Array, roughness: Roughness | None = None) -> Function:
        return Function(self.basis, coordinates, (0,) * self.basis.domain.dimension, roughness)

    def __repr__(self) -> str:
        card, name = self.certificate, type(self).__name__
        return f"{name}({card.what} of {card.dataset!r}, {card.guarantee}, {self.basis.size} {self.parts})"


def pandas() -> Any:
    """The module pandas, which is needed for tables alone."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("to_frame() needs pandas: pip install pandas.") from None
    return pd
