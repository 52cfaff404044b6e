"""Come here for the public facts about curves that an estimator was told or may see."""

from __future__ import annotations

from dpfda.bases import as_domain
from dpfda.errors import UsageError
from dpfda.estimators.mean import MeanFunction
from dpfda.privacy import REPLACE, Unit
from dpfda.records import Curves, smallest_cap
from dpfda.summaries import Public


def public_facts(estimator: MeanFunction, curves: Curves) -> Public:
    """What a choice for this estimator may look at; the number of units is among it, as it is under replace-one."""
    if estimator.neighbours != REPLACE:
        raise UsageError(
            f"A private choice needs neighbours='replace-one', where the number of units is public, got "
            f"{estimator.neighbours!r}."
        )
    lattice, middle, limited = estimator._clipping()
    points = estimator._grid(curves, as_domain(estimator.domain))
    unit = Unit(curves.unit or "row", estimator.neighbours)
    planned, n = estimator._sizes(curves, unit)
    return Public(
        unit=unit,
        n=n,
        planned=planned,
        grid=points,
        centre=estimator._centre(points, middle),
        cap=lattice.bound if limited else smallest_cap(lattice.bound, len(points)),
        lattice=lattice,
        count_weight=0,
    )
