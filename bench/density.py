"""Integrated squared error of the default density on the two settings of Lin and Reimherr, beside the papers' own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dpfda.arrays import Array
from dpfda.bases import Domain
from dpfda.mechanisms import SeededRandomness
from dpfda.privacy import REPLACE, Budget
from dpfda.statistics.density.mesh import proper
from dpfda.statistics.density.plan import DensityPlan, DensityRequest, plan_density
from dpfda.statistics.density.smoothing import density_smoothing, frame_of, mesh_axes, on_mesh

ETAS = {1: (1.0001, 1.01, 1.05, 1.25, 2.0), 2: (1.25, 1.5, 2.0, 3.0, 4.0, 6.0)}  # the best lies between, or at one
POINTS = {1: 2048, 2: 128}  # of the rule that integrates, along each side


@dataclass(frozen=True)
class Setting:
    """A mixture of two normal laws, cut to a box: Lin and Reimherr, Section 6.2."""

    name: str
    domain: Domain
    shares: tuple[float, float]
    means: tuple[tuple[float, ...], tuple[float, ...]]
    covariance: tuple[tuple[float, ...], ...]

    def density(self, points: Array) -> Array:
        """The density, on the grid of `rule` with integral one."""
        values = self._mixture(points)
        grid, weight = self.rule()
        return values / float(weight * self._mixture(grid).sum())

    def _mixture(self, points: Array) -> Array:
        precision = np.linalg.inv(np.array(self.covariance))
        total = np.zeros(len(points))
        for share, mean in zip(self.shares, self.means, strict=True):
            gaps = points - np.array(mean)
            total += share * np.exp(-0.5 * np.einsum("ij,jk,ik->i", gaps, precision, gaps))
        return total

    def rule(self) -> tuple[Array, float]:
        """Middles of equal cells, and the volume of each."""
        size = POINTS[self.domain.dimension]
        axes = [low + (high - low) * (np.arange(size) + 0.5) / size for low, high in self.domain.sides]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        return grid, math.prod(self.domain.lengths) / len(grid)

    def sample(self, n: int, randomness: SeededRandomness) -> Array:
        """Points of the mixture that fall into the box, (n, p)."""
        root = np.linalg.cholesky(np.array(self.covariance))
        lows, highs = np.array(self.domain.sides).T
        kept = np.empty((0, len(lows)))
        while len(kept) < n:
            first = randomness.uniform((n,)) < self.shares[0]
            centres = np.where(first[:, None], self.means[0], self.means[1])
            points = centres + randomness.normal((n, len(lows))) @ root.T
            kept = np.concatenate([kept, points[((points >= lows) & (points <= highs)).all(axis=1)]])
        return kept[:n]


SETTINGS = (
    Setting("line", Domain(((0.0, 1.0),)), (0.6, 0.4), ((0.3,), (0.7,)), ((0.01,),)),
    Setting(
        "plane",
        Domain(((-5.0, 5.0), (-5.0, 5.0))),
        (0.6, 0.4),
        ((-3.0, -3.0), (3.0, 2.0)),
        ((1.0, 0.5), (0.5, 1.0)),
    ),
)


def errors(setting: Setting, plan: DensityPlan, *, repetitions: int, seed: int, raw: bool = False) -> Array:
    """Integrated squared errors of fresh samples with fresh noise of the planned law; raw as the papers have it."""
    randomness = SeededRandomness(seed)
    grid, weight = setting.rule()
    truth = setting.density(grid)
    features = plan.design.features[:, plan.features.leading :]  # nobody lies outside
    basis, volume = plan.basis, plan.volume
    at_grid = basis.matrix(grid) if raw else np.empty(0)
    found = []
    for _ in range(repetitions):
        counts = np.bincount(plan.cells.index(setting.sample(plan.n, randomness)), minlength=plan.cells.places)
        exact = counts @ features / plan.n * plan.design.decode
        noisy = exact + plan.noise.from_uniforms(randomness.uniform((1, plan.noise.dimension)))[0]
        if raw:
            values = at_grid @ noisy / volume
        else:
            smoothing = density_smoothing("auto", noisy, plan.noise, basis, plan.n)
            frame = frame_of(noisy, plan.noise.variances, basis, plan.n)
            axes = mesh_axes(frame.basis)
            values = proper(axes, on_mesh(frame.basis, smoothing.weights * frame.noisy, axes) / volume)(grid)
        found.append(weight * float(np.sum((values - truth) ** 2)))
    return np.array(found)


def request(setting: Setting, n: int, delta: float, mechanism: str, **more: float | str) -> DensityRequest:
    """Epsilon = 1, n public."""
    return DensityRequest(
        n=n,
        budget=Budget(1.0, delta),
        domain=setting.domain,
        neighbours=REPLACE,
        mechanism=mechanism,
        **more,  # type: ignore[arg-type]
    )


def run(console: Console, *, repetitions: int) -> dict[tuple[str, int, float], tuple[float, float]]:
    """Print the table; how many times below Hall's mechanism and below ICLP-QR the default is, in every case."""
    table = Table(
        "setting",
        "n",
        "delta",
        "default",
        "Hall, published",
        "ratio, bar 3",
        "Hall, exact",
        "ratio",
        "ICLP-QR, best eta",
        "ratio, bar 1",
        title=f"integrated squared error x 1000 (standard error), epsilon = 1, {repetitions} repetitions",
    )
    ratios = {}
    cases = [(setting, n) for setting in SETTINGS for n in (1000, 10_000)]
    for setting, n in track(cases, "densities", console=console, transient=True):

        def total(
            delta: float, mechanism: str, raw: bool, setting: Setting = setting, n: int = n, **more: float | str
        ) -> tuple[float, float]:
            plan = plan_density(request(setting, n, delta, mechanism, **more))
            each = errors(setting, plan, repetitions=repetitions, seed=n, raw=raw)
            return float(each.mean()), float(each.std() / math.sqrt(repetitions))

        width = n ** (-1 / (4 + setting.domain.dimension))  # as published, in the units of the points
        hall = total(0.01, "gp", True, calibration="published", bandwidth=width)
        exact = total(0.01, "gp", True, bandwidth=width)
        etas = ETAS[setting.domain.dimension]
        laplace, eta = min((total(0.0, "iclp-qr", True, eta=eta, bandwidth=width), eta) for eta in etas)
        for delta in (0.01, 0.0):
            own = total(delta, "auto", False)
            ratios[setting.name, n, delta] = (hall[0] / own[0], laplace[0] / own[0])
            table.add_row(
                setting.name,
                str(n),
                f"{delta:g}",
                _told(own),
                _told(hall),
                f"{hall[0] / own[0]:.2f}",
                _told(exact),
                f"{exact[0] / own[0]:.2f}",
                f"{_told(laplace)} at {eta:g}",
                f"{laplace[0] / own[0]:.2f}",
            )
    console.print(table)
    return ratios


def _told(number: tuple[float, float]) -> str:
    return f"{1000 * number[0]:.4g} ({1000 * number[1]:.2g})"


if __name__ == "__main__":
    run(Console(width=160), repetitions=50)
