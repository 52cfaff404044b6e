"""Whether a noise process can protect a function at any finite scale, decided from decay exponents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpfda.arrays import brief, is_one_of
from dpfda.errors import IncompatibleNoise, UsageError

Law = Literal["gaussian", "laplace"]


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Coordinates of a change fall like `j^-summary`, deviations of the noise like `j^-noise`.

    Where eigenvalues fall faster than any power of j, `of_eigenvalues` says that both exponents are powers of these.

    In infinitely many coordinates a finite scale exists if the change, divided by the noise, is bounded in square sum
    (Gaussian noise: Mirshani et al., Theorem 3.1) or in absolute sum (Laplace noise: Lin and Reimherr, Theorems 5, 7
    and 8), uniformly over changes `a_j u_j` with `|u|_2 <= 1`. So Gaussian noise needs `a_j / sqrt(lambda_j)` bounded,
    and Laplace noise needs it square summable; under the published sensitivity, which adds up, summable.
    """

    law: Law
    summary: float
    noise: float
    published: bool = False
    of_eigenvalues: bool = False

    def __post_init__(self) -> None:
        if not is_one_of(self.law, ("gaussian", "laplace")):
            raise UsageError(
                f"A noise process is 'gaussian' or 'laplace', got {brief(self.law)}.", parameter="law", value=self.law
            )
        if not (self.summary >= 0 and self.noise >= 0):
            raise UsageError(
                f"Exponents of decay are numbers, 0 or more, got {brief(self.summary)} and {brief(self.noise)}.",
                parameter="summary",
                value=(self.summary, self.noise),
            )

    @property
    def margin(self) -> float:
        """By how much the summary's exponent must exceed the noise's."""
        if self.law == "gaussian" or self.of_eigenvalues:
            return 0.0
        return 1.0 if self.published else 0.5

    @property
    def possible(self) -> bool:
        """Whether some finite scale is private in infinitely many coordinates."""
        gap = self.summary - self.noise
        return gap >= 0 if self.law == "gaussian" else gap > self.margin

    def check(self, way_out: str) -> None:
        """Refuse a pair for which no scale is private, naming both exponents and a choice that works."""
        if self.possible:
            return
        more = "at least as fast as" if self.law == "gaussian" else "faster than"
        if self.margin:
            more = f"faster by more than j^-{self.margin:g} than"
        raise IncompatibleNoise(
            f"No finite scale of this {self.law} process is private: a person's coordinates fall like "
            f"{self._power(self.summary)} and the noise like {self._power(self.noise)}, but they must fall {more} the "
            f"noise. {way_out}"
        )

    def _power(self, exponent: float) -> str:
        power = f"lambda_j^{exponent:g}" if self.of_eigenvalues else f"j^-{exponent:g}"
        return power if exponent > 0 else f"{power} (not at all)"


def penalised(law: Law, *, eta: float, penalty: float, decay: float, published: bool = False) -> Compatibility:
    """The pair of a mean penalised by the power eta of a kernel and of that kernel's noise.

    Weights are `lambda^eta / (lambda^eta + penalty)`, so they fall like `j^(-eta b)` where eigenvalues fall like
    `j^-b`, and noise deviations like `j^(-b/2)`. Without a penalty weights do not fall at all.

    >>> penalised("gaussian", eta=0.5, penalty=0.1, decay=4.0).possible
    True
    >>> penalised("laplace", eta=0.5, penalty=0.1, decay=4.0).possible
    False
    """
    falls = eta if penalty > 0 else 0.0
    if math.isinf(decay):
        # lambda^(eta - 1/2) falls faster than any power of j for eta above one half.
        return Compatibility(law, falls, 0.5, published, of_eigenvalues=True)
    return Compatibility(law, falls * decay, decay / 2, published)
