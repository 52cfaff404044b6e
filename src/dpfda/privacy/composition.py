"""Come here for what many releases cost together: the least epsilon that can be proved for a data set's history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpfda.errors import UsageError
from dpfda.norms import up
from dpfda.privacy.parts import Parts
from dpfda.privacy.pld import Spectrum
from dpfda.privacy.profiles import Profile
from dpfda.privacy.quick import gaussian_epsilon, root_up
from dpfda.privacy.sampler import Sampler
from dpfda.privacy.sums import Sums
from dpfda.privacy.units import amount_of, exactly

SUM = "sum of epsilons"
QUICK = "basic or zero-concentrated composition"
CLOSED = "Gaussian closed form"
LAWS = "privacy loss distribution"

MOST_EPSILON = 1e5  # beyond, nobody asks how tight a statement is
MOST_LAWS = 200  # different laws are told apart; more are rounded up, which makes few of them


@dataclass(frozen=True, slots=True)
class Statement:
    """A composed guarantee: (epsilon, delta), with the pure and the concentrated statement beside it."""

    epsilon: float
    delta: float
    pure: float  # the epsilon that holds with delta = 0; inf where there is none
    rho: float  # inf where there is none
    method: str


def compose(losses: Iterable[Profile], *, delta: float, people: int = 1) -> Statement:
    """The guarantee of all these releases together, each of which may depend on what came before.

    `people` asks for the guarantee of a group of that many units. The epsilon is rounded up, and at most that of basic
    and of zero-concentrated composition.
    """
    if not 0 <= delta < 1:
        raise UsageError(f"delta must lie in [0, 1), got {delta!r}.")
    grouped = tuple(loss.grouped(people) for loss in losses)
    sums = Sums.nothing().plus(grouped)
    parts = [loss.parts() for loss in grouped]
    pure = sums.pure
    if math.isfinite(pure):
        # Without the rounding of each loss to whole units.
        pure = amount_of(sum((exactly(part.epsilon) for part in parts), Fraction()))
    found = [(pure, SUM), (sums.epsilon(delta), QUICK)]
    if delta > 0 and parts:
        found.append(_tight(parts, delta))
    epsilon, method = min(found, key=lambda pair: pair[0])
    return Statement(epsilon, delta, pure, sums.rho, method)


def _tight(parts: list[Parts], delta: float) -> tuple[float, str]:
    """Gaussian shifts in closed form, everything else by the law of its losses."""
    mu = root_up(sum((exactly(part.mu) ** 2 for part in parts), Fraction()))
    sampler = Sampler.of(parts)
    laws = Counter(part.law for part in parts if part.law is not None)
    if not laws:
        return sampler.least(lambda share: gaussian_epsilon(mu, share), delta), CLOSED
    if len(laws) > MOST_LAWS:
        laws = Counter(part.law.rounded() for part in parts if part.law is not None)
    # All is lost unless no loss that states a delta loses it.
    kept = math.prod(1 - part.delta for part in parts) * (1 - 2e-16 * len(parts))
    lost = up(1 - kept, 2) if any(part.delta for part in parts) else 0.0
    if lost >= delta or not math.isfinite(mu) or math.fsum(law.epsilon for law in laws.elements()) > MOST_EPSILON:
        return math.inf, QUICK

    def least(curve: Callable[[float], float], share: float) -> float:
        return solve(curve, (share - lost) / (1 - lost) * (1 - 1e-15)) if share > lost else math.inf

    curve = Spectrum.of(laws, mu, (delta - lost) / (1 - lost)).curve(mu)
    return sampler.least(lambda share: least(curve, share), delta), LAWS


def solve(curve: Callable[[float], float], delta: float) -> float:
    """An epsilon >= 0 at which a falling curve is at most delta, hardly above the least one."""
    low, high = 0.0, 1.0
    if curve(low) <= delta:
        return 0.0
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > 4 * MOST_EPSILON:
            return math.inf
    # Regula falsi on the logarithm, halving where one end stays: only ends at which the curve was seen are kept.
    above, below = math.log(curve(low) / delta), _log_ratio(curve(high), delta)
    stayed = 0
    for _ in range(100):
        if high - low <= 1e-7 * high:
            break
        middle = low + (high - low) * min(max(above / (above - below), 0.01), 0.99)
        value = _log_ratio(curve(middle), delta)
        if value > 0:
            low, above = middle, value
            below, stayed = (below / 2, 1) if stayed == 1 else (below, 1)
        else:
            high, below = middle, value
            above, stayed = (above / 2, -1) if stayed == -1 else (above, -1)
    return high


def _log_ratio(value: float, delta: float) -> float:
    return math.log(value / delta) if value > 0 and value / delta > 0 else -700.0
