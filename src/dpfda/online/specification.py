"""The public facts of an online release, and how much noise they need."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpfda.arrays import brief
from dpfda.bases.domain import Domain
from dpfda.bases.features import spread
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.kernels import Kernel, describe, from_dict
from dpfda.mechanisms import Gaussian
from dpfda.online.noise_ahead import STEPS
from dpfda.online.states import MarkovLine, line_of
from dpfda.privacy import Budget, GaussianProfile, calibrate
from dpfda.privacy.norms import L2, Sensitivity, up

MOST_ANSWERS = 2**24  # on a line with a Markov kernel
MOST_ROWS = 2**14  # for all other kernels: a row of a Cholesky factor an answer
MOST_BY_VALUES = 2**12  # for functions that are known by their values: sums over all earlier ones in whole numbers
FINE = 2**40  # steps in which a whitened section of norm 1 is measured
NUGGET = 2.0**-20  # of the largest variance, for kernels that are not Markov: see general.py
# How far a computed whitened section may be from the exact one, relative to its own length. Markov: products and
# well-conditioned solutions, 1e-12 at worst in tests/online/test_bridge.py. Others: general.py says why.
OWN_ERROR, OWN_ERROR_ROWS = 2.0**-33, 2.0**-20


@dataclass(frozen=True, slots=True)
class OnlineLaw:
    """Gaussian-process noise with covariance `scale^2 K` on a function that one unit moves by `sensitivity` at most.

    `moved` bounds the weight that changes place between neighbours, `sum |w_i - w_i'|`: roundings are in proportion to
    it. `answers` caps how many points will ever be answered. Made by `calibrated`.
    """

    kernel: Kernel
    domain: Domain
    sensitivity: float  # in the norm of the kernel's space
    moved: float
    budget: Budget
    answers: int
    mu: float  # what all answers together guarantee: noise of deviation 1 on a change of this length
    scale: float
    by_values: bool = False  # a function known by its values alone: the fast engine needs derivatives too

    @property
    def line(self) -> MarkovLine | None:
        """The Markov process of the kernel, if it is one of the three that have a fast engine; else None."""
        return line_of(self.kernel) if self.domain.dimension == 1 and not self.by_values else None

    @property
    def peak(self) -> float:
        """The largest variance of the kernel on the domain."""
        return peak_of(self.kernel, self.domain)

    @property
    def profile(self) -> GaussianProfile:
        """The privacy curve of all answers together: normal noise and a shift of mu deviations."""
        return GaussianProfile(self.mu)

    def describe(self) -> dict[str, Any]:
        """Plain data, fit for JSON, that a store is bound to."""
        return {
            "kernel": describe(self.kernel),
            "domain": [list(side) for side in self.domain.sides],
            "sensitivity": self.sensitivity,
            "moved": self.moved,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "answers": self.answers,
            "mu": self.mu,
            "scale": self.scale,
            **({"by_values": True} if self.by_values else {}),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> OnlineLaw:
        """The law that `describe` wrote."""
        return OnlineLaw(
            kernel=from_dict(data["kernel"]),
            domain=Domain(tuple((float(low), float(high)) for low, high in data["domain"])),
            sensitivity=float(data["sensitivity"]),
            moved=float(data["moved"]),
            budget=Budget(data["epsilon"], data["delta"]),
            answers=int(data["answers"]),
            mu=float(data["mu"]),
            scale=float(data["scale"]),
            by_values=data.get("by_values", False) is True,
        )

    def like(self, other: OnlineLaw) -> bool:
        """Whether two laws are equal, but for the last digits of what was calibrated."""
        return replace(self, mu=other.mu, scale=other.scale) == other and all(
            math.isclose(one, two, rel_tol=1e-9) for one, two in ((self.mu, other.mu), (self.scale, other.scale))
        )


def calibrated(
    kernel: Kernel,
    domain: Domain,
    *,
    sensitivity: float,
    moved: float,
    budget: Budget,
    answers: int | None = None,
    weight_step: float = 0.0,
    n: int = 0,
    by_values: bool = False,
) -> OnlineLaw:
    """The least noise under which all answers together, up to a public number of them, meet the budget.

    Whitened, the answers are independent normal numbers of deviation `scale` around coordinates that move by
    `sensitivity` at most, however many there are and however adaptively they were asked for (shifts that are bounded
    along every way the questions may go compose as fixed ones do: Smith and Thakurta 2022). Added to that: a record's
    own coordinates are computed up to a relative error and rounded, half a step of 2^-40 each; their exact sum is
    rounded once more, half a step of 2^-40 deviations for either neighbour. Weights on a lattice (`weight_step`, of n
    records) move the function by half a step each, for either neighbour.
    """
    line = line_of(kernel) if domain.dimension == 1 and not by_values else None
    most = MOST_BY_VALUES if by_values else MOST_ROWS if line is None else MOST_ANSWERS
    cap = most if answers is None else answers
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= most:
        raise UsageError(
            f"The number of answers must be a whole number between 1 and {most} here, got {brief(answers)}.",
            parameter="answers",
            value=answers,
        )
    for name, value in (("sensitivity", sensitivity), ("moved", moved)):
        if not 0 < value < math.inf:
            raise UsageError(parameter=name, value=value, rule="must be a positive finite number")
    coordinates = math.sqrt(cap * (1 if line is None else line.size))
    height = math.sqrt(peak_of(kernel, domain))
    own = (OWN_ERROR_ROWS if line is None else OWN_ERROR) + 0.5 * coordinates / FINE
    whole = up((sensitivity + height * (moved * own + n * weight_step)) * (1 + 2.0**-40))
    # The scale for a change of length 1 is 1 / mu, from above.
    mu = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "of one unit"), budget)
    left = mu - coordinates / STEPS
    if left <= 0.5 * mu:
        raise CannotMeetBudget(
            f"Online noise cannot meet {budget} for {cap} answers: roundings alone cost too much. "
            "Take a larger epsilon or delta, or fewer answers.",
            parameter="answers",
            value=cap,
        )
    scale = up(whole / left * (1 + 2.0**-40))
    return OnlineLaw(kernel, domain, sensitivity, moved, budget, cap, mu, scale, by_values)


@lru_cache(maxsize=64)
def peak_of(kernel: Kernel, domain: Domain) -> float:
    """The largest variance of a kernel on a domain, from above: stationary ones have it everywhere."""
    line = line_of(kernel) if domain.dimension == 1 else None
    if line is not None:
        return line.variance
    corners = domain.grid(2) if domain.dimension <= 10 else np.array(domain.sides).T
    where = np.concatenate([spread(domain, 1024), corners])
    diagonal = np.array([float(kernel(row[None, :], row[None, :])[0, 0]) for row in where])
    return float(diagonal.max()) * (1.0 if diagonal.min() == diagonal.max() else 1.5)
