"""Releases without any records: exact coordinates, a noise law, a seed, and a card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.mechanisms import SeededRandomness
from dpfda.privacy import Noise
from dpfda.releases import Certificate, Count, Release, smooth

SYSTEM = "system, exact integer samplers"


def make_card(**changes: Any) -> Certificate:
    """A card of a plausible release, with some fields changed."""
    fields: dict[str, Any] = {
        "what": "mean function",
        "dataset": "scans",
        "domain": ((0.0, 1.0),),
        "unit": "household",
        "unit_was_assumed": False,
        "neighbours": "replace-one",
        "n": 2500.0,
        "n_is_noisy": False,
        "bound": 6.0,
        "centre": "zero",
        "epsilon": 1.0,
        "delta": 1e-6,
        "rho": 0.0280123,
        "mechanism": "gaussian",
        "noise": "gaussian",
        "noise_rms": 0.1405,
        "scale": 0.02028,
        "lattice_step": 0.0,
        "sensitivity": 33554432.0,
        "sensitivity_norm": "L2",
        "moves": "moves the mean by at most 0.0048 root mean square",
        "sensitivity_because": "a unit's integer vector has norm at most 16777216 and replacing it moves two of them",
        "attacker_power": 0.0795123,
        "basis": "beam",
        "size": 48,
        "chosen": (("bound", "stated by the user"), ("basis", "48 functions by a rule of n")),
        "missing": "gaps by straight lines within the curve, ends by its nearest value, empty curves by the centre",
        "randomness": SYSTEM,
        "recorded": "nothing was recorded: no ledger was given",
        "software": (("dpfda", "0.1.0"), ("opendp", "0.16.0")),
        "warnings": (),
    }
    return Certificate(**fields | changes)


def draw(noise: Noise, size: int, randomness: SeededRandomness) -> Array:
    """Noise from its density, not through the code under test: a direction and a radius for each block, (m, size)."""
    columns = []
    for block, scale in zip(noise.sizes, noise.scales, strict=True):
        normals = randomness.normal((size, block))
        if noise.law == "radial":
            # Density exp(-r) in M dimensions: the radius is a sum of M exponentials.
            radius = -np.log1p(-randomness.uniform((size, block))).sum(axis=1)
            normals *= (radius / np.linalg.norm(normals, axis=1))[:, None]
        columns.append(scale * normals)
    return np.concatenate(columns, axis=1)


def make(
    basis: Basis,
    exact: Any,
    noise: Noise,
    *,
    seed: int = 0,
    smoothing: str = "none",
    centre: Any = None,
    count: Count | None = None,
    **card: Any,
) -> Release:
    """A release of exact coordinates with seeded noise."""
    noisy = np.asarray(exact, dtype=np.float64) + draw(noise, 1, SeededRandomness(seed))[0]
    return Release(
        basis=basis,
        noisy=noisy,
        centre=np.zeros(basis.size) if centre is None else np.asarray(centre, dtype=np.float64),
        noise=noise,
        count=count,
        smoothing=smooth(smoothing, noisy, noise.variances, basis.frequencies),
        certificate=make_card(
            **{"domain": basis.domain.sides, "size": basis.size, "basis": basis.family, "mechanism": "test"} | card
        ),
    )


@pytest.fixture
def make_release() -> Callable[..., Release]:
    return make


@pytest.fixture
def card() -> Callable[..., Certificate]:
    return make_card


@pytest.fixture
def draw_noise() -> Callable[[Noise, int, SeededRandomness], Array]:
    return draw
