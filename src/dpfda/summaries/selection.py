"""Come here for questions with finitely many answers: scores of exact integer sums, and how far a unit moves them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.mechanisms.choice import Scores
from dpfda.norms import up
from dpfda.records import RADIUS, Curves, Lattice, exact_sum
from dpfda.records.reading import Reading
from dpfda.records.sums import Clipping, Encode
from dpfda.summaries.base import Public
from dpfda.summaries.mean import Mean

SHARES = 2**24  # weights are rounded down to this many parts of one


class Selection(ABC):
    """A choice among candidates by their scores, the lower the better.

    If one unit is replaced, the changes of all scores lie in an interval of length `spread`.
    """

    name: ClassVar[str]
    spread: ClassVar[float]

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of a unit's vector."""

    @property
    @abstractmethod
    def sums(self) -> int:
        """The length of a unit's contribution, and of their sum."""

    @abstractmethod
    def encode(self, public: Public) -> Encode:
        """The map from a batch of records to vectors, each a function of its own record alone."""

    @abstractmethod
    def clipping(self, public: Public) -> Clipping:
        """What makes a unit's contribution of its vector."""

    @abstractmethod
    def scores(self, total: Integers, public: Public) -> Scores: ...

    def gather(self, curves: Curves, public: Public, reading: Reading) -> Integers:
        """The sum of all contributions: here records are read, after the charge."""
        return exact_sum(
            curves,
            self.encode(public),
            self.clipping(public),
            units=curves.units,
            size=self.size,
            sums=self.sums,
            batch_rows=reading.batch_rows,
            workers=reading.threads,
            progress=reading.progress,
        )


@dataclass(frozen=True, eq=False)
class Residuals(Selection):
    """What each of several settings would leave out of the mean, plus its own error: the norm of a residual.

    Setting i keeps the share `weights[i, j]` of coordinate j, or all but `thresholds[i, j]` of it, and is off by
    `errors[i]` anyway, all in the units of the curve. Its score is `|min((1 - a) |S|, n threshold)|_2 + n error`, S the
    sum in lattice steps. Along the way from S to a neighbour, two radii at most, the gradients of two scores are no
    longer than 1 and have the signs of S, so they are at most a right angle and the root of two apart: so much of the
    way two scores can move against each other.
    """

    basis: Basis
    weights: Array  # (m, size)
    errors: Array  # (m,)
    thresholds: Array | None = None  # (m, size); infinite where nothing is cut
    # Integers from here on, in lattice steps times SHARES.
    left: Integers = field(init=False)

    name: ClassVar[str] = "choice among settings"
    spread: ClassVar[float] = up(2 * math.sqrt(2) * RADIUS * SHARES)

    def __post_init__(self) -> None:
        shapes = {np.shape(self.weights), (len(self.errors), self.basis.size)}
        cut = np.full(np.shape(self.weights), np.inf) if self.thresholds is None else np.asarray(self.thresholds)
        inside = np.all((np.asarray(self.weights) >= 0) & (np.asarray(self.weights) <= 1)) and np.all(cut >= 0)
        if len(shapes) > 1 or cut.shape != np.shape(self.weights) or not inside or not self.basis.orthonormal:
            raise UsageError(
                "Settings need an orthonormal basis, weights between 0 and 1 for each of its functions, thresholds of "
                f"0 or more and an error each, got weights of shape {np.shape(self.weights)}, {len(self.errors)} "
                f"errors and {self.basis.size} functions."
            )
        if not np.all((np.asarray(self.errors) >= 0) & np.isfinite(self.errors)):
            raise UsageError(f"The error of a setting must be finite, 0 or more, got {list(self.errors)}.")
        object.__setattr__(self, "thresholds", cut)
        # Rounded down, so that no share exceeds one.
        object.__setattr__(self, "left", np.floor((1 - np.asarray(self.weights)) * SHARES).astype(np.int64))

    @property
    def size(self) -> int:
        return self.basis.size

    @property
    def sums(self) -> int:
        return self.basis.size

    def encode(self, public: Public) -> Encode:
        return Mean().encode(public, self.basis)

    def clipping(self, public: Public) -> Lattice:
        return public.lattice

    def scores(self, total: Integers, public: Public) -> Scores:
        parts = int(public.n or public.planned) * SHARES
        steps = 1 / public.lattice.step
        # A residual never exceeds the bound itself: cuts beyond that are none.
        cut = np.rint(np.minimum(np.asarray(self.thresholds) * steps, 2.0 * RADIUS)).astype(np.int64).astype(object)
        residuals = np.minimum(self.left.astype(object) * np.abs(total.astype(object)), cut * parts)
        squares = tuple(int(square) for square in (residuals * residuals).sum(axis=1))
        errors = np.rint(np.minimum(self.errors * steps, 2.0**40)).astype(np.int64)
        return Scores(squares, tuple(int(error) * parts for error in errors))
