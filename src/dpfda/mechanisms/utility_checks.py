"""Checks of a user's utility before anything is charged, on made-up units."""

from __future__ import annotations

import math
import warnings

import numpy as np

from dpfda.arrays import Array, brief, told
from dpfda.errors import UsageError
from dpfda.mechanisms.concave import UNEVENNESS, Target, best_envelope
from dpfda.mechanisms.objective import BLOCK, POINTS, UTILITY_STEPS, Curvature, Objective, Total, answers, bends
from dpfda.mechanisms.randomness import SeededRandomness

POINTS_TRIED = 24
PLANNED = 256  # made-up units that stand for all, in a guess of the share of proposals that are accepted
MOST_PAIRS = 32  # coordinates of which all pairs are looked at for it
CLOSE = 1e-9  # of the range of the utility
APART = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)  # of the radius: how far to both sides of a point the utility is asked
ALONE = 2.0**-41  # of it: so that rounding down to a step changes by one step at most, as the sensitivity counts on


def check_declared(objective: Objective, bound: float) -> None:
    """Refuse a utility that fails on made-up units of the ball, looks at others, or bends less than was stated.

    A trial, not a proof: it catches mistakes, and a false statement that it misses can still break the guarantee.
    """
    source = SeededRandomness(1)
    units = _ball(source.normal((BLOCK, objective.size)), source.uniform((BLOCK,)), bound)
    points = _ball(
        source.normal((POINTS_TRIED, objective.size)), source.uniform((POINTS_TRIED,)), POINTS * objective.step
    )
    for array in (units, points):
        array.flags.writeable = False
    table = np.stack([_values(objective, units, point) for point in points])
    low, high = objective.limits
    if not np.ptp(np.clip(table, low, high)) > 0:
        raise UsageError(
            f"Moved into utility_range={brief(objective.limits)}, all utilities of made-up units are equal: no two "
            "points could be told apart. State the range of one unit's utility.",
            parameter="limits",
            value=objective.limits,
        )
    _check_alone(objective, units, points, table)
    if objective.curvature is not None:
        _check_curvature(objective, units, points, np.clip(table, low, high), bound)


def _ball(directions: Array, uniforms: Array, radius: float) -> Array:
    """Vectors inside a ball, one in four of them on its sphere; the first is its centre."""
    lengths = np.where(np.arange(len(uniforms)) % 4, uniforms, 1.0) * radius
    vectors: Array = directions * (lengths / np.sqrt((directions**2).sum(axis=1)))[:, None]
    vectors[0] = 0.0
    return vectors


def _values(objective: Objective, units: Array, point: Array) -> Array:
    try:
        values = np.asarray(objective.utility(units, point), dtype=np.float64)
    except Exception as error:
        raise UsageError(
            f"The utility fails on made-up units, with {told(error)}. It takes units (n, "
            f"{objective.size}) and a point ({objective.size},), which it may not change, and returns (n,).",
            parameter="utility",
        ) from None
    if values.shape != (len(units),):
        raise UsageError(
            f"The utility of {len(units)} units must be {len(units)} numbers, got shape {values.shape}.",
            parameter="utility",
        )
    if not np.isfinite(values).all():
        raise UsageError("The utility of made-up units within the bound is not finite everywhere.", parameter="utility")
    return values


def _check_alone(objective: Objective, units: Array, points: Array, table: Array) -> None:
    """A unit's utility depends on itself and the point: not on other units, their order, or earlier calls."""
    low, high = objective.limits
    half = BLOCK // 2
    # The second half again, after and between other units.
    mixed = np.concatenate([units[half:][::-1], np.zeros((half, objective.size))])
    mixed.flags.writeable = False
    for point, before in zip(points, table, strict=True):
        after = _values(objective, mixed, point)[:half][::-1]
        if not (np.abs(after - before[half:]) <= ALONE * (high - low)).all():
            raise UsageError(
                "The utility of a unit must depend on that unit and the point alone; on made-up units it changes with "
                "the others, or from call to call. The sensitivity would not hold.",
                parameter="utility",
            )


def _check_curvature(objective: Objective, units: Array, points: Array, table: Array, bound: float) -> None:
    low, high = objective.limits
    assert objective.curvature is not None
    reach = np.linspace(0.0, 2 * (bound + POINTS * objective.step), 257)
    along = _stated(objective.curvature, reach, "curvature")
    if objective.across is not None and not (_stated(objective.across, reach, "curvature across") >= along).all():
        raise UsageError(
            "The curvature across the line to a unit may not be smaller than that in all directions.",
            parameter="across",
        )
    _check_nearby(objective, units, points)
    for one, other, first, second in zip(points[:-1], points[1:], table[:-1], table[1:], strict=True):
        middle = np.clip(_values(objective, units, (one + other) / 2), low, high)
        farthest = np.maximum(*(np.sqrt(((units - point) ** 2).sum(axis=1)) for point in (one, other)))
        least = bends(objective.curvature, farthest) * float(((one - other) ** 2).sum()) / 8
        if not (middle - (first + second) / 2 >= least - CLOSE * (high - low)).all():
            raise _bends_less()


def _stated(curvature: Curvature, reach: Array, name: str) -> Array:
    try:
        stated = np.broadcast_to(np.asarray(curvature(reach), dtype=np.float64), reach.shape)
    except Exception as error:
        raise UsageError(
            f"The {name} must be a number or a function of distances, and fails with {told(error)}"
        ) from None
    if not (np.isfinite(stated).all() and (stated >= 0).all() and (np.diff(stated) <= 0).all()):
        raise UsageError(
            f"The {name} must be finite, 0 or more, and may not grow with the distance between unit and point."
        )
    return stated


def _bends_less() -> UsageError:
    return UsageError(
        "The utility bends less than was stated, or leaves its range and bends the other way there: so it does on "
        "made-up units. State a smaller curvature, a wider utility_range, or no curvature at all.",
        parameter="utility",
    )


def _check_nearby(objective: Objective, units: Array, points: Array) -> None:
    """Second differences over short ways: the curvature along and across, and roundings that hide it.

    Envelopes count on utilities that differ by `UNEVENNESS` steps at most from concave functions. Values at three
    points of a line then bend upwards by at most twice that.
    """
    low, high = objective.limits
    radius, rounding = POINTS * objective.step, 2 * UNEVENNESS * (high - low) / UTILITY_STEPS
    directions = SeededRandomness(2).normal((len(APART), *points.shape))
    directions /= np.sqrt((directions**2).sum(axis=2))[:, :, None]
    for apart, ways in zip(APART, directions, strict=True):
        far = apart * radius
        # So much nearer to the centre that both sides lie in the ball.
        for point, way in zip(points * (1 - apart), ways, strict=True):
            before, here, after = (
                np.clip(_values(objective, units, point + far * side * way), low, high) for side in (-1, 0, 1)
            )
            upwards = (before + after) / 2 - here
            if not (upwards <= rounding).all():
                raise UsageError(
                    "The utility is not concave, or its roundings are too coarse for an exact draw: so it is on "
                    "made-up units. Compute it in double precision; subtract large constants; state a wider "
                    "utility_range where it leaves its own; or state no curvature at all.",
                    parameter="utility",
                )
            if not (upwards <= rounding - _least(objective, units - point, way, far) * far**2 / 2 * (1 - 1e-6)).all():
                raise _bends_less()


def _least(objective: Objective, lines: Array, way: Array, far: float) -> Array:
    """How strongly utilities were said to bend at least in this direction, at all points up to so far away, (n,)."""
    assert objective.curvature is not None
    distances = np.sqrt((lines**2).sum(axis=1))
    along = bends(objective.curvature, distances + far)
    if objective.across is None:
        return along
    # The square of the cosine of way and line to the unit is at most this anywhere on the way.
    nearest = np.maximum(distances - far, far / 1e6)
    share = np.minimum((np.abs(lines @ way) + far) / nearest, 1.0) ** 2
    return np.asarray(bends(objective.across, distances + far) * (1 - share) + along * share)


def planned_acceptances(objective: Objective, bound: float, n: int, rate: float) -> tuple[float, float]:
    """About the share of proposals that is accepted for n made-up units, spread by a fifth of the bound and all alike.

    Each of a few units stands for many. The mass of the law is that of a normal one that bends as the law does at its
    maximum (Laplace), at most the ball's; the envelope knows its own. NaN where the utility fails.
    """
    units = SeededRandomness(3).normal((PLANNED, objective.size)) * (bound / 5 / math.sqrt(objective.size))
    units *= np.minimum(1.0, bound / np.sqrt((units**2).sum(axis=1)))[:, None]
    ball = objective.size * math.log(POINTS) - math.lgamma(objective.size / 2 + 1)
    shares = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for some in (units, units[:1]):
            total = Total(objective, some)
            if np.isnan(answers(objective.utility, some, np.zeros(objective.size))).any():
                return math.nan, math.nan
            target = Target(total, rate * n / len(some), objective.precisions_at(rate), POINTS)
            envelope = best_envelope(target, total.bend)
            mass = min(_log_mass(target, envelope.place.astype(np.float64)), ball)
            shares.append(math.exp(min(mass - envelope.log_mass, 0.0)))
    return shares[0], shares[1]


def _log_mass(target: Target, place: Array) -> float:
    """Of the normal law that bends like the target at a place, but for `pi^(m/2)`, as an envelope's."""
    size, base = len(place), target.total(place)
    steps = np.minimum(np.sqrt(0.5 / target.precisions), target.radius / 2.0)

    def second(one: Array, other: Array) -> float:
        """Minus the mixed second difference of the rate times the objective."""
        corners = [target.total(place + a * one + b * other) - base for a in (-1, 1) for b in (-1, 1)]
        return -target.rate * (corners[3] - corners[2] - corners[1] + corners[0]) / 4

    # At first too wide, where nothing was stated: as wide as the law itself after some rounds.
    for _ in range(8):
        bent = [max(second(step / 2, step / 2), 0.0) / (step @ step / 4) for step in np.diag(steps)]
        steps = 1 / np.sqrt(2 * target.precisions + np.array(bent))
        steps = np.minimum(steps, target.radius / 2.0)
    matrix = np.diag(2 * target.precisions + np.array(bent))
    if size <= MOST_PAIRS:
        ways = np.diag(steps / 2)
        for j in range(size):
            for k in range(j):
                matrix[j, k] = matrix[k, j] = second(ways[j], ways[k]) / (ways[j, j] * ways[k, k])
    # Roundings of pairs may take what the base measure gives to a direction, and no more.
    shape = np.sqrt(np.outer(2 * target.precisions, 2 * target.precisions))
    values = np.maximum(np.linalg.eigvalsh(matrix / shape), 1.0)
    return float(-0.5 * (np.log(values).sum() + np.log(target.precisions).sum()))
