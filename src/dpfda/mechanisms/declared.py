"""Come here for what is asked of a user's utility before anything is charged: made-up units, never real ones."""

from __future__ import annotations

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.mechanisms.objective import BLOCK, POINTS, Objective, bends
from dpfda.mechanisms.randomness import SeededRandomness

POINTS_TRIED = 24
CLOSE = 1e-9  # of the range of the utility
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
            f"Moved into utility_range={objective.limits!r}, all utilities of made-up units are equal: no two points "
            "could be told apart. State the range of one unit's utility."
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
            f"The utility fails on made-up units, with {type(error).__name__}: {error}. It takes units (n, "
            f"{objective.size}) and a point ({objective.size},), which it may not change, and returns (n,)."
        ) from None
    if values.shape != (len(units),):
        raise UsageError(f"The utility of {len(units)} units must be {len(units)} numbers, got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise UsageError("The utility of made-up units within the bound is not finite everywhere.")
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
                "the others, or from call to call. The sensitivity would not hold."
            )


def _check_curvature(objective: Objective, units: Array, points: Array, table: Array, bound: float) -> None:
    low, high = objective.limits
    assert objective.curvature is not None
    reach = np.linspace(0.0, 2 * (bound + POINTS * objective.step), 257)
    try:
        stated = np.broadcast_to(np.asarray(objective.curvature(reach), dtype=np.float64), reach.shape)
    except Exception as error:
        raise UsageError(
            f"The curvature must be a number or a function of distances, and fails with {type(error).__name__}: {error}"
        ) from None
    if not (np.isfinite(stated).all() and (stated >= 0).all() and (np.diff(stated) <= 0).all()):
        raise UsageError(
            "The curvature must be finite, 0 or more, and may not grow with the distance between unit and point."
        )
    for one, other, first, second in zip(points[:-1], points[1:], table[:-1], table[1:], strict=True):
        middle = np.clip(_values(objective, units, (one + other) / 2), low, high)
        farthest = np.maximum(*(np.sqrt(((units - point) ** 2).sum(axis=1)) for point in (one, other)))
        least = bends(objective.curvature, farthest) * float(((one - other) ** 2).sum()) / 8
        if not (middle - (first + second) / 2 >= least - CLOSE * (high - low)).all():
            raise UsageError(
                "The utility bends less than was stated, or leaves its range and bends the other way there: so it does "
                "on made-up units. State a smaller curvature, a wider utility_range, or no curvature at all."
            )
