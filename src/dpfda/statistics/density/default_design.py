"""The default density: a noisy histogram on cells by a rule, smoothed as cosines afterwards."""

from __future__ import annotations

import math

import numpy as np

from dpfda.arrays import Array, brief
from dpfda.bases import Basis, tensor
from dpfda.bases.cells import Cells
from dpfda.bases.domain import Domain
from dpfda.bases.piecewise_constant import Steps, equal_steps
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import Gaussian, KNorm, Laplace, Mechanism
from dpfda.mechanisms.table import AUTO
from dpfda.privacy import ADD_REMOVE, Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.density.papers import DensityDesign
from dpfda.statistics.density.smoothing import places_of

# Steps in all at n epsilon = 1000, by the number of sides: the best compromise over smooth, steep, peaked and clawed
# densities with 100 to a million people. They grow with its root. Twice as many cost a fifth; half as many cost nothing
# where the density is smooth, and much where it is not.
STEPS = {1: 58.0, 2: 137.0, 3: 216.0}
BEYOND = 256.0
MOST_STEPS = 1024  # beyond a million people; what is finer is not worth its time


def own_density(
    n: int,
    budget: Budget,
    cells: Cells,
    *,
    neighbours: str,
    size: int | None = None,
    mechanism: str = AUTO,
    edges: bool = False,
) -> DensityDesign:
    """How many of the people lie in each step, with noise, and the choice of everything else afterwards.

    One person moves two counts by one, however many steps there are: pure noise is as small as any, and does not grow
    with the resolution as that on cosine coefficients does. With `edges` the cells are the steps.
    """
    counted = neighbours == ADD_REMOVE
    name, per_count = chosen_noise(budget, mechanism, counted=counted)
    if edges:
        sides, why = [Steps(Domain((side,)), along) for side, along in _sided(cells)], "the stated edges"
    else:
        counts = step_counts(n * math.sqrt(8 / per_count), cells.shape, size)
        sides = [equal_steps(Domain((side,)), count) for (side, _), count in zip(_sided(cells), counts, strict=True)]
        grid = " x ".join(map(str, counts))
        why = f"{grid} equal steps, {'stated by the user' if size is not None else 'by a rule of n and the budget'}"
    basis: Basis = sides[0] if len(sides) == 1 else tensor(*sides)
    features, decode = one_hot(sides, cells, basis)
    if cells.apart:  # one more step
        features = np.pad(features, ((0, 1), (1, 0)))
        features[-1, 0] = 1.0
    if counted:
        share = count_share(basis.size, gaussian=name == Gaussian.name)
        features = np.concatenate([np.full((len(features), 1), share), features], axis=1)
    width = features.shape[1]
    # In blocks of one: a person never moves more than two steps, so that larger blocks would only add noise.
    blocks = KNorm((1,) * width, (1.0,) * width)
    shaped: dict[str, Mechanism] = {law.name: law for law in (Gaussian(), Laplace(), blocks)}
    # Under add-or-remove-one the number of all has its share too.
    told = "" if counted else f"a count has variance {per_count:.4g}, whatever the number of steps"
    reasons = (("basis", why), *((("noise", told),) if told else ()))
    return DensityDesign(
        name=name,
        cells=cells,
        basis=basis,
        features=features,
        decode=decode,
        mechanism=shaped[name],
        reasons=reasons,
        smoothing=not edges,  # between stated edges it is constant, as promised
    )


def chosen_noise(budget: Budget, mechanism: str, *, counted: bool) -> tuple[str, float]:
    """The law of the noise and the variance it gives every count; "auto" takes the least, Laplace unless delta helps.

    Replacing a person moves the counts by 2 in L1 and `sqrt 2` in L2; adding one by 1, the share of the count aside.
    """
    pure = 2 * ((1 if counted else 2) / budget.epsilon) ** 2
    if mechanism in (Laplace.name, KNorm.name):
        return mechanism, pure
    if mechanism not in (AUTO, Gaussian.name):
        raise UsageError(
            "A density by steps takes the mechanism 'auto', 'gaussian', 'laplace' or 'k-norm', got "
            f"{brief(mechanism)}.",
            parameter="mechanism",
            value=mechanism,
        )
    try:
        moved = 1.0 if counted else math.sqrt(2)
        normal = calibrate(Gaussian(), Sensitivity(moved, L2(), "one person"), budget) ** 2
    except CannotMeetBudget:
        if mechanism == Gaussian.name:
            raise
        return Laplace.name, pure
    return (Gaussian.name, normal) if mechanism == Gaussian.name or normal < pure else (Laplace.name, pure)


def step_counts(resolution: float, shape: tuple[int, ...], size: int | None = None) -> tuple[int, ...]:
    """How many steps along each side, each of them a whole number of cells; `size` states how many in all, about.

    `resolution` is n epsilon, or n over what deviation the noise of a count has at epsilon = 1.
    """
    dimension = len(shape)
    if size is not None and dimension == 1:
        return (min(int(size), shape[0]),)
    rule = min(STEPS.get(dimension, BEYOND) * math.sqrt(resolution / 1000), MOST_STEPS)
    wanted = (rule if size is None else float(size)) ** (1 / dimension)
    return tuple(_divisor(wanted, cells) for cells in shape)


def _divisor(wanted: float, cells: int) -> int:
    """The divisor of a number of cells that is nearest in ratio, and not one if there is another."""
    divisors = [k for k in range(2, cells + 1) if cells % k == 0] or [1]
    return min(divisors, key=lambda k: abs(math.log(k / wanted)))


def one_hot(sides: list[Steps], cells: Cells, basis: Basis) -> tuple[Array, Array]:
    """The share of every cell that lies in each step, (G, size), and what takes probabilities to coordinates."""
    table = np.ones((1, 1))
    shares = np.ones(1)
    for side, along in zip(sides, cells.edges, strict=True):
        part = overlaps(np.array(along), np.array(side.edges))
        table = (table[:, None, :, None] * part[None, :, None, :]).reshape(len(table) * len(part), -1)
        shares = np.multiply.outer(shares, side.shares).ravel()
    order = np.ravel_multi_index(places_of(basis), [side.size for side in sides])
    return table[:, order], 1 / np.sqrt(shares[order])


def overlaps(cells: Array, steps: Array) -> Array:
    """Which share of each cell lies in each step, both given by their edges, (cells, steps); rows sum to one."""
    low = np.maximum(cells[:-1, None], steps[None, :-1])
    high = np.minimum(cells[1:, None], steps[None, 1:])
    width = np.diff(cells)[:, None]
    # Edges that are equal but for rounding are equal: a sliver would be a feature of its own.
    shares = np.where(high - low > 1e-9 * width, (high - low) / width, 0.0)
    rows: Array = shares / shares.sum(axis=1, keepdims=True)
    return rows


def count_share(size: int, *, gaussian: bool) -> float:
    """The weight x of a private count beside the steps: its noise multiplies a density whose mean square is about two.

    Laplace noise: `(1 + x)^2 (size + 2/x^2)` is least at `x^3 = 2/size`; Gaussian: `(1 + x^2)(size + 2/x^2)` at
    `x^4 = 2/size`.
    """
    return float(min(1.0, (2 / size) ** (1 / 4 if gaussian else 1 / 3)))


def _sided(cells: Cells) -> list[tuple[tuple[float, float], tuple[float, ...]]]:
    return list(zip(cells.domain.sides, cells.edges, strict=True))
