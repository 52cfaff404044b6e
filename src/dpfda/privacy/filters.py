"""Come here for budgets whose prices may be chosen after seeing what earlier releases gave."""

from __future__ import annotations

import math
from fractions import Fraction

from dpfda.privacy.budget import Budget
from dpfda.privacy.quick import gaussian_epsilon, root_up, zcdp_epsilon
from dpfda.privacy.sums import Sums
from dpfda.privacy.units import DELTA_UNITS, EPSILON_UNITS, amount_of

SHARE = 3 / 8  # of delta for each of two filters; a quarter is left for what integer samplers cost


def filtered_epsilon(sums: Sums, cap: Budget) -> float:
    """A counter that stays below the cap's epsilon only while the cap holds, however the prices came about.

    The cap is all that is proved. The counter itself is no guarantee: whoever looks at the releases and stops where
    they tell much has learnt more than it shows, so no epsilon below the cap holds of what was released so far.

    Three filters stand side by side, each with a limit that is fixed with the cap: epsilons that add up (Rogers et al.
    2016), concentrated losses that add up (Feldman and Zrnic 2021), Gaussian shifts whose squares add up (Smith and
    Thakurta 2022). A charge is granted while one of them holds; once a filter has been passed it stays so. What was
    released belongs to one of three kinds of histories, each cut off by its own filter, so their deltas add up.

    >>> from dpfda.privacy.profiles import PureProfile
    >>> filtered_epsilon(Sums.nothing().plus([PureProfile(0.5)] * 2), Budget(1.0, 1e-6))
    1.0
    """
    found = [sums.pure]
    drawn = amount_of(Fraction(sums.distance, DELTA_UNITS))
    if cap.delta > 0 and cap.epsilon < 700 and drawn * (1 + math.exp(cap.epsilon)) * (1 + 1e-12) <= cap.delta / 4:
        delta = SHARE * cap.delta
        if math.isfinite(sums.rho):
            found.append(zcdp_epsilon(sums.rho, delta))
        if not (sums.bounded or sums.stated or sums.lost):
            found.append(gaussian_epsilon(root_up(Fraction(sums.squares, EPSILON_UNITS)), delta))
    return min(found)
