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
from dpfda.releases.components import ComponentsRelease
from dpfda.releases.covariance import CovarianceRelease
from dpfda.symmetric import pack, packed_size, side_of

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
    if noise.law == "wishart":
        # Density exp(-tr W / b) of each matrix: (b/2) G'G with one row more than columns.
        side = side_of(noise.size)
        roots = randomness.normal((2, size, side + 1, side))
        one, other = np.swapaxes(roots, -1, -2) @ roots * noise.scales[0] / 2
        return pack(one - other)
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


def moments_of(covariance: Array, mean: Array, lead: float) -> Array:
    """The matrix of moments that a covariance and a mean have, packed, with the row of the mean if lead > 0."""
    second = covariance + np.outer(mean, mean)
    if not lead:
        return pack(second)
    return pack(np.block([[np.full((1, 1), lead**2), lead * mean[None, :]], [lead * mean[:, None], second]]))


def matrix_noise(law: str, size: int, scale: float) -> Noise:
    """A law of noise on the entries of a symmetric matrix, of about this size in each."""
    if law == "gaussian":
        return Noise("gaussian", (size,), (scale,))
    if law == "wishart":
        return Noise("wishart", (size,), (scale / np.sqrt(side_of(size) + 1),))
    sizes = (4,) * (size // 4) + ((size % 4,) if size % 4 else ())
    return Noise("radial", sizes, (scale / np.sqrt(5),) * len(sizes))


def make_moments(
    basis: Basis,
    covariance: Any,
    *,
    mean: Any = None,
    lead: float = 0.0,
    law: str = "gaussian",
    scale: float = 1e-3,
    seed: int | None = None,
    smoothing: str = "none",
    centre: Any = None,
    count: Count | None = None,
    **card: Any,
) -> CovarianceRelease:
    """A covariance release of an exact covariance and mean; with a seed there is noise in it."""
    middle = np.zeros(basis.size) if mean is None else np.asarray(mean, dtype=np.float64)
    noisy = moments_of(np.asarray(covariance, dtype=np.float64), middle, lead)
    noise = matrix_noise(law, packed_size(basis.size + (1 if lead else 0)), scale)
    if seed is not None:
        noisy = noisy + draw(noise, 1, SeededRandomness(seed))[0]
    return CovarianceRelease(
        basis=basis,
        noisy=noisy,
        noise=noise,
        lead=lead,
        count=count,
        centre=np.zeros(basis.size) if centre is None else np.asarray(centre, dtype=np.float64),
        smoothing_name=smoothing,
        certificate=make_card(
            **{
                "what": "covariance function",
                "domain": basis.domain.sides,
                "size": basis.size,
                "basis": basis.family,
                "power": 2,
            }
            | card
        ),
    )


def make_frame(basis: Basis, frame: Any, *, variances: Any = None, total: Any = None, **card: Any) -> ComponentsRelease:
    """A components release with these columns."""
    columns = np.asarray(frame, dtype=np.float64)
    return ComponentsRelease(
        basis=basis,
        frame=columns,
        variances=None if variances is None else np.asarray(variances, dtype=np.float64),
        total=total,
        centre=np.zeros(basis.size),
        certificate=make_card(
            **{
                "what": f"{columns.shape[1]} principal components",
                "domain": basis.domain.sides,
                "size": basis.size,
                "basis": basis.family,
            }
            | card
        ),
    )


@pytest.fixture
def make_covariance() -> Callable[..., CovarianceRelease]:
    return make_moments


@pytest.fixture
def make_components() -> Callable[..., ComponentsRelease]:
    return make_frame


@pytest.fixture
def make_release() -> Callable[..., Release]:
    return make


@pytest.fixture
def card() -> Callable[..., Certificate]:
    return make_card


@pytest.fixture
def draw_noise() -> Callable[[Noise, int, SeededRandomness], Array]:
    return draw
