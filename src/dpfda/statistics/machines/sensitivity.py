"""How far one unit can move the minimiser of a regularised risk."""

from __future__ import annotations

from dpfda.statistics.machines.losses import Loss

SPARE = 1 + 1e-9  # outweighs the roundings of constants, and of features scaled to their reach


def moved_by(loss: Loss, penalty: float, reach: float, units: float, *, replaced: bool) -> float:
    """How far one unit moves the minimiser in Euclidean norm, rounded up.

    A unit's loss is convex with slopes in w of at most `M reach`, for a loss with slopes up to M and features no
    longer than `reach`. Replacing a unit moves the minimiser by at most `M reach / (penalty n)`: strong convexity of
    both risks gives `2 penalty d^2 <= (loss(w') - loss(w) + loss'(w) - loss'(w')) / n <= 2 M reach d / n` for the
    distance d. With n planned instead of counted, adding or removing a unit moves it by half of that.
    """
    return loss.lipschitz * reach / (penalty * units * (1 if replaced else 2)) * SPARE
