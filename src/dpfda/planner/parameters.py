"""Come here for parameters that may be chosen without the data: from n, epsilon and the kernel alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpfda.arrays import brief
from dpfda.errors import UsageError


@dataclass(frozen=True, slots=True)
class Parameters:
    """The power and the size of a penalty, or the number of terms, chosen before any record is read."""

    eta: float
    penalty: float
    terms: int | None = None


def privacy_safe(mechanism: str, *, n: int, epsilon: float, decay: float) -> Parameters:
    """The choice of Lin and Reimherr, Corollary 15, with constant one; curves are measured in units of their bound.

    `iclp-qr`: `eta = 1 + 2/b` and the least penalty at which the privacy error stays of order 1/n; `iclp-ar` the same
    with `eta = 2 (1 + 2/b)`; `frl`: `n^(1/3)` terms. For `gp` (Mirshani et al., Theorem 4.2) `eta = 1`, `penalty =
    1/n`. Here b is the decay of the kernel's eigenvalues.

    >>> privacy_safe("iclp-qr", n=1000, epsilon=1.0, decay=4.0)
    Parameters(eta=1.5, penalty=0.001, terms=None)
    """
    if not (n >= 1 and 0 < epsilon < math.inf and not decay <= 0):  # an unknown decay is no number
        raise UsageError(
            f"Parameters are chosen for at least one unit, a positive epsilon and a positive decay, got n={brief(n)}, "
            f"epsilon={brief(epsilon)}, decay={brief(decay)}."
        )
    inverse = 0.0 if math.isinf(decay) else 1 / decay
    # (n epsilon^2)^(-eta b / (b + 2)) with eta = 1 + 2/b is 1 / (n epsilon^2); more penalty than 1/n only where needed.
    penalty = max(1 / n, 1 / (n * epsilon * epsilon))
    if mechanism == "iclp-qr":
        return Parameters(1 + 2 * inverse, penalty)
    if mechanism == "iclp-ar":
        return Parameters(2 * (1 + 2 * inverse), penalty)
    if mechanism == "frl":
        return Parameters(1.0, 0.0, max(1, math.floor(round(n ** (1 / 3), 9))))
    if mechanism == "gp":
        return Parameters(1.0, 1 / n)
    raise UsageError(f"Parameters are chosen for 'gp', 'iclp-qr', 'iclp-ar' and 'frl', got {brief(mechanism)}.")
