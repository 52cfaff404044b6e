"""Releases without any records: exact coordinates, a noise law, a seed, and a card."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpfda.arrays import Array
from dpfda.bases import Basis
from dpfda.bases.symmetric import pack, packed_size, side_of
from dpfda.mechanisms import DictionaryDraw, GaussianProcess, SeededRandomness
from dpfda.mechanisms.noise import Noise, NoiseLaw
from dpfda.releases import Certificate, Count, Release, smooth
from dpfda.releases.cards.words import say
from dpfda.statistics.components.release import ComponentsRelease
from dpfda.statistics.covariance.release import CovarianceRelease


def make_card(**changes: Any) -> Certificate:
    """A card of a plausible release, with some fields changed."""
    fields: dict[str, Any] = {
        "what": say("what", "mean"),
        "dataset": "scans",
        "domain": ((0.0, 1.0),),
        "unit": "household",
        "unit_was_assumed": False,
        "neighbours": "replace-one",
        "n": 2500.0,
        "n_is_noisy": False,
        "bound": 6.0,
        "centre": say("centre", "zero"),
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
        "randomness": say("randomness", "integers"),
        "software": (("dpfda", "0.1.0"), ("opendp", "0.16.0")),
        "warnings": (),
    }
    return Certificate(**fields | changes)


def draw(noise: NoiseLaw, size: int, randomness: SeededRandomness) -> Array:
    """Noise from its density, not through the code under test: a direction and a radius for each block, (m, size)."""
    if noise.name == "wishart":
        # Density exp(-tr W / b) of each matrix: (b/2) G'G with one row more than columns.
        side = side_of(noise.size)
        roots = randomness.normal((2, size, side + 1, side))
        one, other = np.swapaxes(roots, -1, -2) @ roots * noise.scales[0] / 2
        return pack(one - other)
    columns = []
    for block, scale in zip(noise.sizes, noise.scales, strict=True):
        normals = randomness.normal((size, block))
        if noise.name == "radial":
            # Density exp(-r) in M dimensions: the radius is a sum of M exponentials.
            radius = -np.log1p(-randomness.uniform((size, block))).sum(axis=1)
            normals *= (radius / np.linalg.norm(normals, axis=1))[:, None]
        columns.append(scale * normals)
    return np.concatenate(columns, axis=1)


def make(
    basis: Basis,
    exact: Any,
    noise: NoiseLaw,
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


def matrix_noise(law: str, size: int, scale: float) -> NoiseLaw:
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
def draw_noise() -> Callable[[NoiseLaw, int, SeededRandomness], Array]:
    return draw


TIMES = np.linspace(0, 1, 24)
PEOPLE = 200


def curves() -> Array:
    """Curves of root mean square below one."""
    generator = np.random.default_rng(0)
    return 0.5 * np.sin(np.pi * TIMES) + generator.normal(0, 0.1, (PEOPLE, 1))


def points() -> Array:
    """Points of the unit interval, one a person."""
    return np.random.default_rng(1).beta(2, 3, (PEOPLE, 1))


def fitted(kind: str) -> Any:
    """A release of every kind and law from records that were made up; not private, for the seed."""
    import dpfda

    seed = {"randomness": SeededRandomness(1), "dataset": "scans"}
    approximate, pure = {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0, "delta": 0.0}
    mean = {"bound": 1.0, "size": 5, **seed}
    of_means: dict[str, dict[str, Any]] = {
        "mean": {"mechanism": "gaussian", **approximate},
        "mean, laplace": {"mechanism": "laplace", **pure},
        "mean, k-norm": {"mechanism": "k-norm", **pure},
        "mean, gp": {"mechanism": "gp", **approximate},
        "mean, exponential": {"mechanism": "exponential", **pure},
        "mean, dictionary": {"mechanism": DictionaryDraw(candidates=[np.zeros_like, np.ones_like]), **pure},
        "mean, private number": {
            "mechanism": "gaussian",
            "neighbours": "add-or-remove-one",
            "planned_n": PEOPLE,
            **approximate,
        },
    }
    if kind in of_means:
        return dpfda.MeanFunction(**of_means[kind], **mean).fit(curves(), grid=TIMES).release_
    if kind.startswith("covariance"):
        law = {"covariance": ("gaussian", 1e-6), "covariance, wishart": ("wishart", 0.0)}[kind]
        wishes = {"epsilon": 1.0, "mechanism": law[0], "delta": law[1], "bound": 1.0, "size": 3}
        return dpfda.CovarianceFunction(**wishes, **seed, force=True).fit(curves(), grid=TIMES).release_
    if kind.startswith("components"):
        more = {"explained_variance": 0.25} if kind == "components, with variances" else {}
        wishes = {"mechanism": "exponential", "bound": 1.0, "size": 3, **pure, **more}
        return dpfda.FPCA(1, **wishes, **seed, force=True).fit(curves(), grid=TIMES).release_
    if kind == "density":
        return dpfda.DensityFunction(domain=(0, 1), **pure, **seed, force=True).fit(points()).release_
    if kind == "density, bought bandwidth":
        wishes = {"mechanism": GaussianProcess(bandwidth="private-iqr"), "bandwidth_epsilon": 0.25, **approximate}
        return dpfda.DensityFunction(domain=(0, 1), **wishes, **seed, force=True).fit(points()).release_
    if kind == "machine":
        labels = (points()[:, 0] > 0.4).astype(int)
        wishes = {"domain": (0, 1), "classes": (0, 1), **approximate}
        return dpfda.KernelClassifier(**wishes, **seed, force=True).fit(points(), labels).release_
    assert kind == "regression"
    wishes = {"bound": 1.0, "covariate_limits": [(0, 1)], "mechanism": "gaussian", "size": 4, **approximate}
    return dpfda.FunctionOnScalarRegression(**wishes, **seed, force=True).fit(points(), curves(), grid=TIMES).release_


def chosen_card() -> Any:
    """The card of a private choice."""
    import dpfda

    return dpfda.private_bound(
        curves(),
        epsilon=0.5,
        quantile=0.9,
        candidates=(0.25, 0.5, 1.0, 2.0),
        grid=TIMES,
        dataset="scans",
        randomness=SeededRandomness(1),
        force=True,
    ).card


def online_card() -> Any:
    """The card of a density that is answered point by point."""
    import dpfda
    from dpfda.kernels import Matern

    wishes = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "domain": (0, 1),
        "mechanism": GaussianProcess(kernel=Matern(1.5, rho=0.3), answers=100),
    }
    est = dpfda.DensityFunction(**wishes, randomness=SeededRandomness(1), dataset="ages", force=True)
    with est.fit(points()).open() as oracle:
        return oracle.certificate


@pytest.fixture(scope="session")
def release_of() -> Callable[[str], Any]:
    """Releases from made-up records by the name of their kind; each is made once."""
    return cache(fitted)


@pytest.fixture(scope="session")
def card_of(release_of: Callable[[str], Any]) -> Callable[[str], Any]:
    """Cards by the name of their kind, those of choices and online answers too."""
    others = {"choice": cache(chosen_card), "online": cache(online_card)}
    return lambda kind: others[kind]() if kind in others else release_of(kind).certificate
