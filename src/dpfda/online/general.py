"""The engine for any kernel, on lines and boxes: each answer adds one row to a Cholesky factor.

Why it is private though kernel matrices are singular in doubles. Let K be the exact matrix of the kernel at all points
ever asked, M its largest entry, u = 2^-53, m the number of points, at most 2^14. Noise has covariance
`scale^2 (K + nugget)`: the nugget is independent noise on every value. A record's whitened section is `v = L^-1 k_x`.

- Rows and sections are computed by substitution, whose result is exact for a factor `L + D` with `|D| <= m u |L|`, and
  `L L'` is `K + nugget + E` with `|E| <= (m + 1) u |L| |L'|` (Higham 2002, Theorems 8.5 and 10.3). All together each
  computed v is the exact one for a matrix `K + nugget + E_x` with `|E_x| <= 4 m^2 u M`, below `2^-23 M`; the nugget is
  `2^-20 M`. So that matrix is at least K, and `v'v <= k_x' K^-1 k_x <= K(x, x)`: roundings do not matter.
- Two records share L. Their sections differ from `L^-1 (k_x - k_y)` by `L^-1 (D_x v_x - D_y v_y)`, and by the kernel's
  own roundings: at most `2 m^1.5 u sqrt(M / nugget)` of either one's length, which `OWN_ERROR_ROWS` bounds.
- Rows are kept in the store, so that all processes use the same L.

A function of the user's own has no sections. Its whitened values are `W f`, W the inverse of L: W is public, its
entries are rounded to `FINE_BITS` bits, values as whole numbers of `unit`, and the sums of their products
are exact. So two neighbours' functions differ by `W (f - f')` and roundings of values, whatever their size; and
`W K W' <= (1 + 2^-20) I` by the same analysis.

`Higham 2002` is Accuracy and Stability of Numerical Algorithms, second edition.
"""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array
from dpfda.online.engine import Answer, OwnFunction, Sections, check_answer, exact_sums, lattice_ratio, to_lattice
from dpfda.online.noise_ahead import STEPS, NoiseAhead
from dpfda.online.specification import NUGGET, OnlineLaw

PANEL = 128  # rows at a time
FINE_BITS = 64  # of an entry of the inverse of the factor, for a kernel of height 1


class WhitenedValues:
    """`W f` for the values of a function, W the inverse of the factor, row by row and exact in whole numbers."""

    def __init__(self, own: OwnFunction, step: float, peak: float) -> None:
        self._own = own
        self._bits = FINE_BITS + math.frexp(math.sqrt(peak))[1]
        self._inverse = np.zeros((64, 64))
        self._values: list[int] = []
        over, under = lattice_ratio(own.unit / step)
        self._ratio = over, under << self._bits

    def add(self, rows: Array, points: Array) -> list[int]:
        """The whitened values of more points, in steps of the noise; `rows` are theirs in the factor, (m, size)."""
        found = []
        for row, value in zip(rows, self._own.values(points), strict=True):
            old = len(self._values)
            if old == len(self._inverse):
                self._inverse = np.pad(self._inverse, (0, old))
            self._inverse[old, :old] = -(row[:old] @ self._inverse[:old, :old]) / row[old]
            self._inverse[old, old] = 1 / row[old]
            self._values.append(value)
            entries = (round(math.ldexp(entry, self._bits)) for entry in self._inverse[old, : old + 1].tolist())
            total = sum(entry * each for entry, each in zip(entries, self._values, strict=True))
            found.append(to_lattice(total, self._ratio))
        return found


class RowEngine:
    """Answers `L xi`, xi the noisy whitened coordinates: a new point adds one row to L and one number to xi.

    The state of an answer is its value, its xi and its row.
    """

    def __init__(self, law: OnlineLaw, sections: Sections | OwnFunction | None, noise: NoiseAhead) -> None:
        self._kernel = law.kernel
        self._noise = noise
        self._peak = law.peak
        self._nugget = NUGGET * self._peak
        self._step = law.scale / STEPS
        self._size = 0
        self._index: dict[tuple[float, ...], int] = {}
        self._dimension = law.domain.dimension
        self._points = np.empty((0, self._dimension))
        self._values, self._noisy = np.empty(0), np.empty(0)
        self._rows = np.empty((0, 0))  # the lower triangular factor
        self._places, self._masses = np.empty((0, self._dimension)), np.empty(0, dtype=np.int64)
        self._ratio = (0, 1)
        self._own: WhitenedValues | None = None
        if isinstance(sections, OwnFunction):
            self._own = WhitenedValues(sections, self._step, self._peak)
        elif sections is not None:
            self._places, self._masses = sections.inside(law.domain)
            self._ratio = lattice_ratio(sections.weight * math.sqrt(self._peak) / law.scale)
        # Whitened sections of the records, one row an answer.
        self._sections = np.empty((0, len(self._places)))

    def __len__(self) -> int:
        return self._size

    def value(self, point: tuple[float, ...]) -> float | None:
        index = self._index.get(point)
        return None if index is None else float(self._values[index])

    def points(self) -> Array:
        return self._points[: self._size].copy()

    def fold(self, answers: list[Answer]) -> None:
        """Take in answers of the store; records' sections are whitened anew, with the rows that stand there."""
        if not answers:
            return
        old, new = self._size, self._size + len(answers)
        self._grow(new)
        for index, answer in enumerate(answers, start=old):
            check_answer(answer, dimension=self._dimension, size=index + 3)
            self._points[index] = answer.point
            self._values[index], self._noisy[index] = answer.state[:2]
            self._rows[index, : index + 1] = answer.state[2:]
            self._index[answer.point] = index
        right = self._kernel(self._points[old:new], self._places) if len(self._places) else None
        self._size = new
        if right is not None:
            self._substitute(right, self._sections, old)
        if self._own is not None:
            self._own.add(self._rows[old:new, :new], self._points[old:new])

    def extend(self, points: Array) -> list[Answer]:
        """Answers at distinct new points, (m, d)."""
        self._grow(self._size + len(points))
        found: list[Answer] = []
        for start in range(0, len(points), PANEL):
            found += self._add(points[start : start + PANEL])
        return found

    def _add(self, points: Array) -> list[Answer]:
        """A few new points at once: their rows on the earlier ones, then the factor of what is left of their matrix."""
        old, new = self._size, self._size + len(points)
        across = np.empty((old, len(points)))
        if old:
            self._substitute(self._kernel(self._points[:old], points), across, 0)
        left = self._kernel(points, points) - across.T @ across
        left[np.diag_indices_from(left)] += self._nugget
        # At least the nugget but for roundings far below it: see above.
        self._rows[old:new, old:new] = np.linalg.cholesky(left)
        self._rows[old:new, :old] = across.T
        self._points[old:new] = points
        whole = [0] * len(points)
        if self._own is not None:
            whole = self._own.add(self._rows[old:new, :new], points)
        elif len(self._places):
            right = self._kernel(points, self._places)
            self._size = new
            self._substitute(right, self._sections, old)
            ends, height = np.array([0, len(self._places)]), math.sqrt(self._peak)
            columns = tuple(self._sections[old:new] / height)
            totals = exact_sums(columns, self._masses, ends)
            whole = [to_lattice(sums[0], self._ratio) for sums in totals]
        noise = self._noise.take(len(points))
        self._noisy[old:new] = [self._step * (steps + z) for steps, z in zip(whole, noise, strict=True)]
        self._values[old:new] = self._rows[old:new, :new] @ self._noisy[:new]
        self._size = new
        keys = list(map(tuple, points.tolist()))
        self._index.update(zip(keys, range(old, new), strict=True))
        return [
            Answer(key, (float(self._values[row]), float(self._noisy[row]), *self._rows[row, : row + 1].tolist()))
            for row, key in enumerate(keys, start=old)
        ]

    def _substitute(self, right: Array, solution: Array, start: int) -> None:
        """Rows of `L^-1 right` from `start` on, whose earlier rows stand in `solution`; panel by panel."""
        from scipy.linalg import solve_triangular

        stop = start + len(right)
        for begin in range(start, stop, PANEL):
            rows = slice(begin, min(begin + PANEL, stop))
            rest = right[begin - start : rows.stop - start] - self._rows[rows, :begin] @ solution[:begin]
            solution[rows] = solve_triangular(self._rows[rows, rows], rest, lower=True, check_finite=False)

    def _grow(self, size: int) -> None:
        """Room for so many answers; arrays double, so that each row is copied a few times at most."""
        have = len(self._values)
        if size <= have:
            return
        room = max(size, 2 * have, 64)

        def grown(old: Array, shape: tuple[int, ...]) -> Array:
            new: Array = np.zeros(shape)
            new[tuple(slice(side) for side in old.shape)] = old
            return new

        self._points = grown(self._points, (room, self._dimension))
        self._values, self._noisy = grown(self._values, (room,)), grown(self._noisy, (room,))
        self._rows = grown(self._rows, (room, room))
        self._sections = grown(self._sections, (room, len(self._places)))
