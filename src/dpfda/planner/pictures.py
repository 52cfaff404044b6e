"""Come here for pictures of plans: what error to expect, and how a release would look."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DpfdaError
from dpfda.privacy import Budget
from dpfda.releases.bands import multiplier

if TYPE_CHECKING:
    from dpfda.planner.plan import Plan

INK, NOISE = "#1b4965", "#9fc5dc"
POINTS = 7  # of each curve of errors


def plot(plan: Plan, figure: Any) -> Any:
    """Three panels; returns the figure. The curve in the third is simulated: no data are known to a plan."""
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 4.2), layout="constrained")
    by_epsilon, by_n, picture = figure.subplots(1, 3)
    epsilons = plan.budget.epsilon * np.geomspace(0.125, 8, POINTS)
    sizes = np.unique(np.rint(plan.n * np.geomspace(0.125, 8, POINTS)).astype(int).clip(1))
    _errors(by_epsilon, [(float(e), _at(plan, epsilon=float(e))) for e in epsilons], "epsilon", plan.budget.epsilon)
    _errors(by_n, [(float(n), _at(plan, n=int(n))) for n in sizes], "number of units", plan.n)
    figure.legend(*by_n.get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    _band(picture, plan)
    return figure


def _at(plan: Plan, *, epsilon: float | None = None, n: int | None = None) -> dict[str, float]:
    """Predicted root mean square errors of every mechanism for another epsilon or another number of units."""
    from dpfda.planner.plan import make_plan

    budget = plan.budget if epsilon is None else Budget(epsilon, plan.budget.delta)
    request = replace(plan.request, budget=budget, n=plan.n if n is None else n)
    try:
        ranking = make_plan(request).table()
    except DpfdaError:
        # What was stated does not go with every epsilon and every n; the others do.
        ranking = make_plan(replace(request, mechanism="auto", calibration="exact", basis=None, size=None)).table()
    return {
        f"{row.mechanism}{'' if row.calibration == 'exact' else ', published'}": plan.bound
        * float(np.sqrt(row.prediction.total))
        for row in ranking.entries
        if row.prediction is not None
    }


def _errors(ax: Any, found: list[tuple[float, dict[str, float]]], label: str, now: float) -> None:
    names = sorted({name for _, errors in found for name in errors})
    mechanisms = sorted({name.split(",")[0] for name in names})
    for name in names:
        place = mechanisms.index(name.split(",")[0])
        known = [(x, errors[name]) for x, errors in found if name in errors]
        style = "--" if name.endswith("published") else "-"
        ax.loglog(*zip(*known, strict=True), style, lw=1.4, color=f"C{place}", marker=".", ms=4, label=name)
    ax.axvline(now, color="0.6", lw=0.8)
    # Few labels, in plain numbers: those of a logarithmic axis that is short run into each other.
    shown = [found[place][0] for place in (0, len(found) // 2, -1)]
    ax.set_xticks(shown, [f"{x:g}" for x in shown])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(label)
    ax.set_ylabel("expected error, root mean square")
    ax.grid(alpha=0.25)


def _band(ax: Any, plan: Plan) -> None:
    domain = plan.basis.domain
    ax.set_title("a simulated curve, and what the noise may do to it", fontsize=9)
    if domain.dimension > 1 or plan.noise.law == "choice":
        ax.text(0.5, 0.5, "no band to draw", ha="center", transform=ax.transAxes)
        return
    points = domain.grid(201)
    t = domain.to_unit(points)[:, 0]
    curve: Array = 0.6 * plan.bound * np.sin(2 * np.pi * t) * np.exp(-t)
    deviation = np.sqrt(plan.basis.matrix(points) ** 2 @ plan.noise.variances)
    reach = multiplier(plan.basis, plan.noise, 0.95) * deviation
    ax.fill_between(points[:, 0], curve - reach, curve + reach, color=NOISE, alpha=0.5, lw=0, label="95 % noise band")
    ax.plot(points[:, 0], curve, color=INK, lw=2, label="simulated curve")
    ax.set_xlabel("t")
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, frameon=False)
