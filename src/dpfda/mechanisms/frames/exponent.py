"""Come here for the exponent of a frame as a real number: integer sums over a scale, less a prior."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfda.arrays import Array
from dpfda.mechanisms.frames.interval import Arithmetic, Interval, cholesky, log_determinant_of
from dpfda.mechanisms.frames.rotation import Fixed


@dataclass(frozen=True, slots=True, eq=False)
class Exponent:
    """`sign tr V'(S / scale - diag(prior))V`, and where a precision P is given `-(m/2) log|V'PV|` beside it.

    Sign -1 stands for what is orthogonal to the frame: the two forms add up to a trace. By operator Jensen the
    logarithm is at least `tr V' log(P) V`, so the matrix with `(m/2) log P` taken off is one to propose with.
    """

    sums: npt.NDArray[Any]  # symmetric integers of Python, (m, m)
    scale: float
    prior: tuple[float, ...]
    precision: tuple[float, ...] | None
    sign: int

    def approximate(self) -> Array:
        """The matrix to propose with, in doubles."""
        return np.asarray(self.sign * (self._sums - np.diag(np.array(self.prior) + self._logs)))

    @property
    def size(self) -> float:
        """A bound on the sum of the Frobenius norms of its parts."""
        parts = (self._sums, np.array(self.prior), self._logs)
        return float(sum(np.linalg.norm(part) for part in parts)) * (1 + 1e-9)

    @property
    def _sums(self) -> Array:
        return np.asarray(self.sums.astype(np.float64) / self.scale)

    @property
    def _logs(self) -> Array:
        side = len(self.prior)
        return np.zeros(side) if self.precision is None else side / 2 * np.log(np.array(self.precision))

    def at(self, frame: Fixed, arithmetic: Arithmetic) -> Interval:
        """The exponent at a frame."""
        # The form of S in integers: a step in an entry moves it by at most twice a row of S, and a little.
        form = int((self.sums @ frame.columns * frame.columns).sum())
        reach = (2 * 2**frame.bits + 3 * frame.steps) * frame.steps * frame.columns.shape[1]
        moved = reach * int(np.abs(self.sums).sum()) + 1
        one = Decimal(2) ** (2 * frame.bits)
        middle, radius = (np.array([Decimal(number) / one], dtype=object) for number in (form, moved))
        value = arithmetic.interval(middle, radius, 4 * abs(middle)) / arithmetic.exact(self.scale)
        columns = frame.intervals(arithmetic)
        for column in columns:
            value = value - (arithmetic.exact(self.prior) * column * column).sum()
        if self.precision is not None:
            weighted = [arithmetic.exact(self.precision) * column for column in columns]
            gram = [[(one_ * other).sum() for other in columns] for one_ in weighted]
            half = arithmetic.exact(len(self.prior) / 2)
            value = value - half * log_determinant_of(cholesky(gram))
        return value if self.sign > 0 else arithmetic.exact(0.0) - value
