"""The four mean functions S-1 to S-4 of Lin and Reimherr, and their generator: mean plus a Gaussian process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GRID = np.linspace(0.0, 1.0, 100)
LENGTH = 0.2  # of the process's radial basis function kernel; the paper does not print one


def _normal(t: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    return np.exp(-0.5 * ((t - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))


def _fourier(t: np.ndarray, size: int) -> np.ndarray:
    waves = [np.ones_like(t)]
    for k in range(1, size // 2 + 1):
        waves += [np.sqrt(2) * np.sin(2 * np.pi * k * t), np.sqrt(2) * np.cos(2 * np.pi * k * t)]
    return np.array(waves[:size])


COEFFICIENTS = np.random.default_rng(2026).uniform(-1, 1, 25)

MEANS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "S-1": lambda t: 10 * t * np.exp(-t),
    "S-2": lambda t: 0.3 * _normal(t, 0.3, 0.05) + 0.7 * _normal(t, 0.8, 0.05),
    "S-3": lambda t: (
        0.2
        * (
            _normal(t, 0, 0.03)
            + _normal(t, 0.2, 0.05)
            + _normal(t, 0.5, 0.05)
            - _normal(t, 0.75, 0.03)
            + _normal(t, 1, 0.03)
        )
    ),
    "S-4": lambda t: COEFFICIENTS @ _fourier(t, 25),
}


def trapezoid() -> np.ndarray:
    """Weights of the grid, adding up to one."""
    steps = np.diff(GRID)
    return np.concatenate([steps[:1] / 2, (steps[1:] + steps[:-1]) / 2, steps[-1:] / 2])


def sample(mean: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Curves on the grid, (n, 100)."""
    covariance = np.exp(-((GRID[:, None] - GRID) ** 2) / (2 * LENGTH**2))
    values, vectors = np.linalg.eigh(covariance)
    keep = values > 1e-10 * values.max()
    return mean + rng.standard_normal((n, keep.sum())) @ (vectors[:, keep] * np.sqrt(values[keep])).T
