"""Budgets that charges state, beside the privacy curves that they carry: a price is never below its curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpfda.errors import UsageError
from dpfda.privacy.budget import Budget
from dpfda.privacy.composition import compose
from dpfda.privacy.ledger.amounts import MOST_EPSILON
from dpfda.privacy.losses import is_kept
from dpfda.privacy.profiles import Profile
from dpfda.privacy.sums import Sums

SLACK = 1 + 1e-9  # sums of doubles and safe roundings of an accountant


def check_stated(budget: Budget, losses: Sequence[Profile]) -> None:
    """Refuse a price below what is drawn for it, whichever budget it is charged to."""
    if covers(budget, losses):
        return
    raise UsageError(
        f"A charge cannot cost less than its curves: they come to {_found(budget, losses)}, and its budget states "
        f"epsilon {budget.epsilon:g}{f', delta {budget.delta:g}' if budget.delta else ''}. Nothing was charged."
    )


def covers(budget: Budget, losses: Sequence[Profile]) -> bool:
    """Whether (epsilon, delta) holds for all these losses together; those that cannot be kept are taken one by one.

    An epsilon beyond all budgets is refused by the budget, in its own words.
    """
    if not losses or budget.epsilon > MOST_EPSILON:
        return True
    epsilon, delta = budget.epsilon * SLACK, budget.delta * SLACK
    kept = [loss for loss in losses if is_kept(loss)]
    if len(kept) < len(losses):
        return covers(budget, kept) and all(_alone(loss, epsilon, delta) for loss in losses)
    bounded = math.fsum(loss.pure for loss in losses if math.isfinite(loss.pure))
    others = [loss for loss in losses if not math.isfinite(loss.pure)]
    if not others and bounded <= epsilon:
        return True
    if budget.pure:
        return False
    # (a, 0) and (b, delta) make (a + b, delta): how a release with a private choice before it is priced.
    if len(others) == 1 and bounded < epsilon and others[0].delta(epsilon - bounded) <= delta:
        return True
    if len(losses) == 1:
        return losses[0].delta(epsilon) <= delta
    quick = Sums.nothing().plus(losses).epsilon(budget.delta)
    return quick <= epsilon or compose(losses, delta=budget.delta).epsilon <= epsilon


def _alone(loss: Profile, epsilon: float, delta: float) -> bool:
    """Whether a curve of one's own lies under the stated guarantee, as far as it says anything."""
    try:
        return loss.delta(epsilon) <= delta
    except (AttributeError, NotImplementedError):
        return True


def _found(budget: Budget, losses: Sequence[Profile]) -> str:
    if not all(map(is_kept, losses)):
        return "more"
    if budget.pure:
        return f"pure epsilon {math.fsum(loss.pure for loss in losses):g}"
    return f"epsilon {compose(losses, delta=budget.delta).epsilon:g} at delta {budget.delta:g}"
