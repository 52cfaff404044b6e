"""Come here for noise bands: how far the noise may have moved a release, everywhere at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpfda.arrays import Array, as_real, brief
from dpfda.bases import Basis
from dpfda.errors import UsageError
from dpfda.privacy import Noise

HIGHEST_LEVEL = 0.998  # beyond it the sample has too few paths


def check_level(level: float) -> None:
    """A level is a probability that the sample of paths can tell."""
    if not 0 < as_real(level) < 1:
        raise UsageError(f"level must lie strictly between 0 and 1, got {brief(level)}. Common is 0.95.")
    if level > HIGHEST_LEVEL:
        raise UsageError(
            f"level = {brief(level)} is beyond what the noise law is tabulated for: at most {HIGHEST_LEVEL}."
        )


@dataclass(frozen=True, eq=False)
class Band:
    """A simultaneous band: it holds the exact clipped summary at all points at once, with probability `level`.

    It does not cover what clipping, the finite basis or the sampling of people did, nor a penalty or threshold before
    the noise: then it holds what that left of the clipped summary, and the card says so.
    """

    points: Array  # (m,) or (m, p)
    lower: Array  # (m,)
    upper: Array  # (m,)
    level: float


@lru_cache(maxsize=16)
def studentised_suprema(basis: Basis, noise: Noise) -> Array:
    """Sorted suprema over the domain of `|noise(t)| / deviation(t)` for a deterministic sample of the noise law.

    A low-discrepancy sequence instead of random numbers: the band of a release is a function of the release.
    """
    from scipy.stats import qmc

    size = sample_size(noise.size)
    blocks = len(noise.sizes) if noise.law == "radial" else 0
    cube = qmc.Sobol(noise.size + blocks, scramble=False).random(size)
    # The sequence lies on multiples of 1/size: each point moves to the middle of its cell.
    sample = noise.quantiles(cube + 0.5 / size)
    # Sixteen points for every half-wave of the roughest function: between them a path rises by half a percent at most.
    functions = basis.matrix(np.concatenate([basis.nodes()[0], basis.domain.grid(2)]))
    deviation = np.sqrt(functions**2 @ noise.variances)
    # Six digits of a supremum are plenty, and half the time and memory.
    scaled = (functions / np.maximum(deviation, 1e-300)[:, None]).T.astype(np.float32)
    parts = np.split(sample.astype(np.float32), 64)
    suprema = np.concatenate([np.abs(part @ scaled).max(axis=1) for part in parts])
    return np.sort(suprema).astype(np.float64) * 1.005


def sample_size(coordinates: int) -> int:
    """How many paths: more where they are cheap, because few coordinates have the heaviest tails."""
    return 2**16 if coordinates <= 16 else 2**13


def multiplier(basis: Basis, noise: Noise, level: float) -> float:
    """The number of deviations that covers the whole noise path with at least this probability."""
    # Only ratios of scales matter: tiny and huge units lose no digits, and equal laws in other units share a table.
    ratios = tuple(float(f"{scale / max(noise.scales):.9g}") for scale in noise.scales)
    suprema = studentised_suprema(basis, Noise(noise.law, noise.sizes, ratios))
    size = len(suprema)
    # Three standard errors of an empirical level on the safe side.
    rank = level * size + 3 * np.sqrt(size * level * (1 - level)) + 1
    return float(suprema[min(int(np.ceil(rank)), size) - 1])
