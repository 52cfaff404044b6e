"""The private side of a perturbed function: its values, and the whole numbers that become of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, ArrayLike, Integers
from dpfda.bases import Basis
from dpfda.curator.summary import Public, Summary
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy.norms import Sensitivity
from dpfda.records import Curves
from dpfda.records.fold import Encode
from dpfda.records.identity import Identity
from dpfda.records.reading import Reading
from dpfda.releases import Certificate, smoothed
from dpfda.releases.cards.words import say
from dpfda.releases.decoded import Decoded
from dpfda.statistics.function.plan import ExactMap
from dpfda.statistics.function.release import FunctionRelease

FARTHEST = 2**60  # steps; coordinates beyond it are moved to it, and stay in 64 bits


@dataclass(frozen=True, eq=False, repr=False)
class GivenFunction:
    """A private function as the one row of a source: its values are asked for after the charge."""

    points: Array  # (q, p)
    function: Callable[[Array], ArrayLike] | Array

    @property
    def width(self) -> int:
        return len(self.function) if isinstance(self.function, np.ndarray) else len(self.points)

    def rows(self) -> int:
        return 1

    def identity(self) -> Identity | None:
        return None

    def batches(self, rows: int) -> Iterator[Array]:
        yield self.values()[None, :]

    def values(self) -> Array:
        """The values at the points, or the coordinates; what is no finite number fails here, after the charge."""
        if isinstance(self.function, np.ndarray):
            values = self.function
        else:
            points = self.points[:, 0] if self.points.shape[1] == 1 else self.points
            values = np.asarray(self.function(points.copy()), dtype=np.float64).reshape(-1)
        if values.shape != (self.width,) or not np.isfinite(values).all():
            # The claim is about finite functions: whether this one is may depend on a record.
            raise ValueError
        return values


@dataclass(frozen=True, eq=False)
class StatedFunction(Summary):
    """The coordinates of a function in lattice steps, by an exact map; its sensitivity is the user's claim."""

    claim: float
    norm: str
    exact: ExactMap
    steps: tuple[float, ...]  # what one lattice step is in each coordinate
    moved: tuple[Sensitivity, ...]

    adds_vectors: ClassVar[bool] = False  # it was computed elsewhere
    missing: ClassVar[str] = say("missing", "none-read", nobody="")
    bounded: ClassVar[str] = "none: how far one unit moves the function is the user's claim"

    @property
    def name(self) -> str:
        return say("what", "function")

    def encode(self, public: Public, basis: Basis) -> Encode:
        # No record passes here; `gather` has the function itself.
        return lambda values: (np.zeros((basis.size, len(values))), np.ones(len(values)))

    def gather(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Integers:
        source: Any = curves.source
        whole = self.exact(source.values())
        return np.array([min(max(step, -FARTHEST), FARTHEST) for step in whole], dtype=np.int64)

    def size(self, public: Public, basis: Basis) -> int:
        return basis.size

    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        return self.moved

    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        steps = np.array(self.steps)
        return Decoded(sums.astype(np.float64) * steps, noise.weighted(steps), None)

    def lattice_step(self, public: Public) -> float:
        return max(self.steps)

    def moves(self, public: Public, card_n: float) -> str:
        return say("moves", "claimed", by=self.claim, norm=self.norm)

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        return FunctionRelease(
            basis=basis,
            noisy=decoded.noisy,
            centre=np.zeros(basis.size),
            noise=decoded.noise,
            count=None,
            smoothing=smoothed(smoothing, decoded.noisy, decoded.noise, basis),
            certificate=certificate,
        )
