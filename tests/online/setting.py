"""The small release that tests of oracles share, and for engines whose private numbers can be seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpfda.arrays import Array
from dpfda.bases.domain import as_domain
from dpfda.kernels import Kernel, Matern
from dpfda.online import Facts, OnlineLaw, Sections, calibrated
from dpfda.online.markov import MarkovEngine
from dpfda.online.specification import FINE
from dpfda.privacy import Budget

N = 400
BUDGET = Budget(epsilon=1.0, delta=1e-6)
LINE = as_domain((0.0, 1.0))
ORDERS = (0.5, 1.5, 2.5)


def places(n: int = N, seed: int = 5) -> Array:
    """Two heaps and many duplicates."""
    generator = np.random.default_rng(seed)
    return np.round(
        np.clip(np.concatenate([generator.normal(0.3, 0.1, n // 2), generator.random(n - n // 2)]), 0, 1), 2
    )


def law_for(kernel: Kernel, domain=LINE, n: int = N, **more) -> OnlineLaw:
    return calibrated(kernel, domain, sensitivity=np.sqrt(2.0) / n, moved=2 / n, budget=BUDGET, **more)


def facts(**changes) -> Facts:
    plain = Facts(
        what="density",
        dataset="ages",
        unit="person",
        unit_was_assumed=False,
        neighbours="replace-one",
        n=N,
        because="two sections of a kernel without negative values differ by sqrt(2) at most",
    )
    return replace(plain, **changes)


def sections_for(kernel: Kernel, points: Array | None = None) -> Sections:
    return Sections.counted(places() if points is None else points, 1 / N, kernel)


class Silence:
    """Noise that is none, for tests of what it would hide."""

    def take(self, size: int) -> list[int]:
        return [0] * size


class Watched(MarkovEngine):
    """An engine without noise that remembers the whitened integers of its one record."""

    def __init__(self, order: float, record: float, rho: float = 0.3) -> None:
        kernel = Matern(order, rho=rho)
        # At this scale the second rounding is finer than the first.
        law = replace(law_for(kernel, as_domain((-1e6, 1e6))), scale=2.0**-10)
        super().__init__(law, Sections.counted([record], 1.0, kernel), Silence())
        self.seen: list[int] = []

    def _sums_inside(self, *gap) -> list[list[int]]:
        totals = super()._sums_inside(*gap)
        self.seen += [x for row in totals for x in row]
        return totals

    def _one_inside(self, *gap):
        added = super()._one_inside(*gap)
        self.seen += [round(FINE * x) for x in added]
        return added

    @property
    def length(self) -> float:
        """The squared length of all that its record has added, in units of `K(x, x)`."""
        return sum(x * x for x in self.seen) / FINE**2
