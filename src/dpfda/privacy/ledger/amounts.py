"""Come here for epsilon in whole units: costs are rounded up, caps down, and shown the same way."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

from dpfda.privacy.units import EPSILON_UNITS, exactly

MOST_EPSILON = 1e6  # 1e18 units fit into the 64 bits of a database


def units_up(amount: float) -> int:
    """Units that are no less than the amount as it was typed."""
    return math.ceil(exactly(amount) * EPSILON_UNITS)


def units_down(amount: float) -> int:
    """Units that are no more than the amount as it was typed."""
    return math.floor(exactly(amount) * EPSILON_UNITS)


def epsilon_of(units: int) -> float:
    """The double nearest to so many units; up to a thousand it reads back as the same units."""
    return units / EPSILON_UNITS


def shown_spent(amount: float) -> str:
    """An epsilon that was spent, as people read it everywhere: no less than it was, but for a billionth of the whole.

    Safe roundings of an accountant leave 0.500000000001 where a half was spent; 0.51 would not help anybody.

    >>> shown_spent(0.500000000001), shown_spent(3.08406260537)
    ('0.50', '3.09')
    """
    return "infinite" if math.isinf(amount) else shown(units_up(amount * (1 - 1e-9)), up=True)


def shown(units: int, *, up: bool, digits: int = 2) -> str:
    """Units as people read them: two decimals, or more where that would leave nothing.

    >>> shown(600_000_000_000, up=False), shown(1, up=True), shown(123_456_789, up=False)
    ('0.60', '0.000000000001', '0.00012')
    """
    with localcontext(prec=400, rounding=ROUND_CEILING if up else ROUND_FLOOR):  # any double has fewer digits
        value = Decimal(units).scaleb(-12)
        if value.adjusted() > 15:
            return f"{value:.3e}"
        places = digits if value == 0 else max(digits, digits - 1 - value.adjusted())
        return f"{value.quantize(Decimal(1).scaleb(-min(places, 12))):f}"
