"""Somebody else's figures: a stated claim of format dpfda-claim-1, recomputed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpfda.errors import DataError
from dpfda.privacy import GaussianProfile, Profile, PureProfile
from dpfda.privacy.profiles import LaplaceProfile, StatedProfile
from dpfda.releases.verification.guarantee import SLACK
from dpfda.releases.verification.report import GUARANTEE, UNREADABLE, Checks

CLAIM = "dpfda-claim-1"
# By the law, the norm in which its sensitivity counts.
NORMS = {"gaussian": "L2", "laplace": "L1"}
PART = {"what", "law", "scale", "sensitivity", "norm", "values", "times", "delta", "epsilon"}
FIELDS = {"format", "what", "unit", "neighbours", "n", "parts", "composition", "sampling", "epsilon", "delta"}
WORDS = {"sources", "known", "assumed"}


@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism of a claim: a law with scale and sensitivity, or what is stated of it."""

    what: str
    law: str
    times: int
    scale: float = 0.0
    sensitivity: float = 0.0
    norm: str = ""
    values: int = 1
    epsilon: float = 0.0
    delta: float = 0.0

    @property
    def moved(self) -> float:
        """The sensitivity in the norm of the law; for a bound on each value, that of all values together."""
        size = float(self.values)
        over = {
            ("L2", "L2"): 1.0,
            ("L1", "L1"): 1.0,
            ("Linf", "L2"): math.sqrt(size),
            ("Linf", "L1"): size,
            ("L2", "L1"): math.sqrt(size),
            ("L1", "L2"): 1.0,
        }
        return self.sensitivity * over[self.norm, NORMS[self.law]]

    def profile(self) -> Profile:
        if self.law == "gaussian":
            return GaussianProfile(self.moved / self.scale)
        if self.law == "laplace":
            return LaplaceProfile(self.moved / self.scale)
        return StatedProfile(self.epsilon, self.delta) if self.delta else PureProfile(self.epsilon)

    def alone(self) -> float:
        """Its epsilon, at its own delta."""
        return epsilon_at(self.profile(), self.delta)

    def told(self, whole: float) -> str:
        """Its epsilon in words, at its own delta or, if it has none and needs one, at that of the whole claim."""
        delta = self.delta if math.isfinite(self.alone()) else whole
        epsilon = epsilon_at(self.profile(), delta)
        if not math.isfinite(epsilon):
            return f"no epsilon at delta {delta:g}"
        return f"epsilon {epsilon:.6g}" + (f" at delta {delta:g}" if delta else "")


@dataclass(frozen=True, slots=True)
class Claim:
    """What was published: mechanisms, how they were added up, what was sampled, and the guarantee that was stated."""

    what: str
    n: int
    parts: tuple[Part, ...]
    composition: str  # "basic" or "tight"
    sampling: float  # the share of the population that was drawn at random; 1 where nobody was left out
    epsilon: Decimal
    delta: Decimal


def read_claim(content: bytes) -> Claim | str:
    """A claim from its file, with the digits as they were published; what is wrong with it, where it is none."""
    try:
        data = json.loads(content.decode("utf-8"), parse_float=Decimal)
        return _claim(data)
    except DataError as error:
        return str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        return "a field is missing or of another type"


def _claim(data: dict[str, Any]) -> Claim:
    unknown = sorted(set(data) - FIELDS - WORDS)
    if unknown:
        raise DataError(f"unknown fields: {', '.join(unknown)}")
    for name in ("what", "unit", "neighbours"):
        if not isinstance(data[name], str):
            raise DataError(f"{name} must be a text")
    composition = data.get("composition", "tight")
    if composition not in ("basic", "tight"):
        raise DataError("composition must be 'basic' or 'tight'")
    sampling = data.get("sampling", 1)
    claim = Claim(
        what=data["what"],
        n=_whole(data["n"], "n"),
        parts=tuple(_part(part) for part in data["parts"]),
        composition=composition,
        sampling=_positive(sampling, "sampling"),
        epsilon=_decimal(data["epsilon"]),
        delta=_decimal(data["delta"]),
    )
    if not claim.parts:
        raise DataError("parts must name at least one mechanism")
    if not (claim.epsilon > 0 and 0 <= claim.delta < 1 and claim.sampling <= 1):
        raise DataError("epsilon must be positive, delta below 1, sampling a share")
    return claim


def _part(data: dict[str, Any]) -> Part:
    unknown = sorted(set(data) - PART)
    if unknown:
        raise DataError(f"unknown fields of a part: {', '.join(unknown)}")
    law, times = data["law"], _whole(data.get("times", 1), "times")
    delta = float(_decimal(data.get("delta", 0)))
    if not isinstance(data["what"], str) or not 0 <= delta < 1:
        raise DataError("a part needs a text 'what', and its delta is below 1")
    if law == "stated":
        return Part(data["what"], law, times, epsilon=_positive(data["epsilon"], "epsilon"), delta=delta)
    if law not in NORMS:
        raise DataError(f"law must be one of {', '.join((*NORMS, 'stated'))}")
    if data["norm"] not in ("L1", "L2", "Linf"):
        raise DataError("norm must be one of L1, L2, Linf (a bound on each value)")
    return Part(
        data["what"],
        law,
        times,
        scale=_positive(data["scale"], "scale"),
        sensitivity=_positive(data["sensitivity"], "sensitivity"),
        norm=data["norm"],
        values=_whole(data["values"], "values"),
        delta=delta,
    )


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DataError(f"{name} must be a whole number, 1 or more")
    return value


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not Decimal(value).is_finite():
        raise DataError("epsilon and delta must be numbers")
    return Decimal(value)


def _positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 < float(value) < math.inf:
        raise DataError(f"{name} must be a positive number")
    return float(value)


def epsilon_at(profile: Profile, delta: float) -> float:
    """The least epsilon at which a curve has this delta, from above."""
    if delta == 0:
        return profile.pure
    if profile.delta(0.0) <= delta:
        return 0.0
    high = 1.0
    while profile.delta(high) > delta:
        high *= 2
        if high > 1e6:
            return math.inf
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if profile.delta(middle) <= delta else (middle, high)
    return high


def amplified(epsilon: float, share: float) -> float:
    """What is left of epsilon for somebody who was drawn into the sample with this chance: `log(1 + q (e^eps - 1))`."""
    if epsilon > 700:
        return epsilon + math.log(share)
    return math.log1p(share * math.expm1(epsilon))


def check_claim(claim: Claim | str, checks: Checks) -> None:
    """The stated epsilon and delta against those of the mechanisms, added up as the claim says they were."""
    if isinstance(claim, str):
        checks.rule(False, UNREADABLE, f"claim of format {CLAIM}", "readable", claim)
        return
    inner, delta = _added(claim)
    epsilon, delta = amplified(inner, claim.sampling), delta * claim.sampling
    how = f"{claim.composition} composition of {sum(part.times for part in claim.parts)} mechanisms: {inner:.6g}"
    if claim.sampling < 1:
        how += f"; sampled with chance {claim.sampling:g}: log(1 + {claim.sampling:g} (e^{inner:.6g} - 1))"
    checks.rule(epsilon <= _least(claim.epsilon), GUARANTEE, "epsilon", claim.epsilon, f"{epsilon:.6g} ({how})")
    checks.rule(delta <= _least(claim.delta), GUARANTEE, "delta", claim.delta, f"{delta:.6g}")
    for part in claim.parts:
        each = part.told(float(claim.delta) if claim.composition == "tight" else 0.0)
        checks.notes.append(f"{part.what}: {each}{f', {part.times} times' if part.times > 1 else ''}")
    if epsilon * SLACK < claim.epsilon:
        checks.notes.append(f"epsilon is stated as {claim.epsilon}, but {epsilon:.4g} would hold")
    _guess(claim, inner, checks)


def _least(stated: Decimal) -> float:
    """What a published figure may stand for: half a unit of its last digit more, as it was rounded."""
    exponent = stated.as_tuple().exponent
    assert isinstance(exponent, int)  # it is finite
    return float(stated + (Decimal(1).scaleb(exponent) / 2 if exponent < 0 else 0)) * (1 + 1e-12)


def _added(claim: Claim) -> tuple[float, float]:
    """Epsilon and delta of all mechanisms together, before sampling."""
    if claim.composition == "basic":
        return (
            math.fsum(part.times * part.alone() for part in claim.parts),
            math.fsum(part.times * part.delta for part in claim.parts),
        )
    from dpfda.privacy.composition import compose

    delta = min(float(claim.delta) / claim.sampling, 1 - 1e-12)
    losses = [part.profile() for part in claim.parts for _ in range(part.times)]
    return compose(losses, delta=delta).epsilon, delta


def _guess(claim: Claim, inner: float, checks: Checks) -> None:
    """Well-known mistakes that would give just the stated figure."""
    stated, near = float(claim.epsilon), _least(claim.epsilon)
    if near >= amplified(inner, claim.sampling):
        return
    digits = near - stated or stated * 1e-3

    def gives(value: float) -> bool:
        return abs(value - stated) <= digits * (1 + 1e-9)

    if claim.sampling < 1 and gives(claim.sampling * inner):
        checks.notes.append(
            f"{claim.epsilon} is {claim.sampling:g} times {inner:.6g}: sampling was taken to multiply epsilon, which "
            "holds for small epsilon only"
        )
    for part in claim.parts:
        if part.law in NORMS and part.values > 1 and gives(amplified(_one_value(part), claim.sampling)):
            checks.notes.append(f"{claim.epsilon} is that of one of the {part.values} values of '{part.what}' alone")


def _one_value(part: Part) -> float:
    """The epsilon that a mechanism would have if it released one of its values only, at its own delta."""
    alone = Part(part.what, part.law, 1, part.scale, part.sensitivity, part.norm, 1, delta=part.delta)
    if part.norm != "Linf":
        share = 1 / (math.sqrt(part.values) if part.norm == "L2" else part.values)
        alone = Part(part.what, part.law, 1, part.scale, part.sensitivity * share, part.norm, 1, delta=part.delta)
    return alone.alone()
