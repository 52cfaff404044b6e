"""Come here to ask whether a noise process can protect a function at any finite scale, decided from decay exponents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpfda.errors import IncompatibleNoise, UsageError

Law = Literal["gaussian", "laplace"]


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Coordinates of a change fall like `j^-summary`, deviations of the noise like `j^-noise`; inf: faster than any.

    In infinitely many coordinates a finite scale exists if the change, divided by the noise, is bounded in square sum
    (Gaussian noise: Mirshani et al., Theorem 3.1) or in absolute sum (Laplace noise: Lin and Reimherr, Theorems 5, 7
    and 8), uniformly over changes `a_j u_j` with `|u|_2 <= 1`. So Gaussian noise needs `a_j / sqrt(lambda_j)` bounded,
    and Laplace noise needs it square summable; under the published sensitivity, which adds up, summable.
    """

    law: Law
    summary: float
    noise: float
    published: bool = False

    def __post_init__(self) -> None:
        if self.law not in ("gaussian", "laplace"):
            raise UsageError(f"A noise process is 'gaussian' or 'laplace', got {self.law!r}.")

    @property
    def margin(self) -> float:
        """By how much the summary's exponent must exceed the noise's."""
        if self.law == "gaussian":
            return 0.0
        return 1.0 if self.published else 0.5

    @property
    def possible(self) -> bool:
        """Whether some finite scale is private in infinitely many coordinates."""
        if math.isinf(self.summary):
            return True
        gap = self.summary - self.noise
        return gap >= 0 if self.law == "gaussian" else gap > self.margin

    def check(self, way_out: str) -> None:
        """Refuse a pair for which no scale is private, naming both exponents and a choice that works."""
        if self.possible:
            return
        more = "at least as fast as" if self.law == "gaussian" else f"faster by more than j^-{self.margin:g} than"
        raise IncompatibleNoise(
            f"No finite scale of this {self.law} process is private: a person's coordinates fall like "
            f"{_power(self.summary)} and the noise like {_power(self.noise)}, but they must fall {more} the noise. "
            f"{way_out}"
        )


def penalised(law: Law, *, eta: float, penalty: float, decay: float, published: bool = False) -> Compatibility:
    """The pair of a mean penalised by the power eta of a kernel and of that kernel's noise.

    Weights are `lambda^eta / (lambda^eta + penalty)`, so they fall like `j^(-eta b)` where eigenvalues fall like
    `j^-b`, and noise deviations like `j^(-b/2)`. Without a penalty weights do not fall at all.

    >>> penalised("gaussian", eta=0.5, penalty=0.1, decay=4.0).possible
    True
    >>> penalised("laplace", eta=0.5, penalty=0.1, decay=4.0).possible
    False
    """
    falls = eta * decay if penalty > 0 and eta > 0 else 0.0
    if math.isinf(decay) and falls:
        # Eigenvalues fall faster than any power, and so does lambda^(eta - 1/2) for eta above one half.
        enough = eta > 0.5 or (law == "gaussian" and eta == 0.5)
        return Compatibility(law, math.inf if enough else 0.0, math.inf, published)
    return Compatibility(law, falls, decay / 2, published)


def _power(exponent: float) -> str:
    if exponent == 0:
        return "j^-0 (not at all)"
    return "any power of 1/j" if math.isinf(exponent) else f"j^-{exponent:g}"
