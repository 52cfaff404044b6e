"""Whole numbers of NumPy's narrow types mean what plain ones do: no arithmetic on them wraps round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda import bases, kernels, mechanisms
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.noise import Noise
from dpfda.privacy.norms import BlockNorm

GOOD = {"epsilon": 1.0, "delta": 1e-6, "randomness": SeededRandomness(1)}
POINTS = np.linspace(0, 1, 7)
Count = Callable[[int], Any]

CALLS: dict[str, Callable[[Count], Any]] = {
    "cosine": lambda whole: bases.cosine((0, 1), whole(100)).matrix(POINTS),
    "fourier": lambda whole: bases.fourier((0, 1), whole(101)).matrix(POINTS),
    "spline": lambda whole: bases.bspline((0, 1), whole(100), degree=whole(5)).matrix(POINTS),
    "reinsch": lambda whole: bases.reinsch((0, 1), whole(120)).matrix(POINTS),
    "box": lambda whole: bases.by_name("cosine", [(0, 1), (0, 1)], whole(100)).matrix(np.array([[0.2, 0.7]])),
    "steps": lambda whole: bases.equal_steps((0, 1), whole(127)).edges,
    "mercer": lambda whole: bases.mercer(kernels.Matern(1.5, 0.2), (0, 1), whole(100)).eigenvalues,
    "mercer on a box": lambda whole: bases.mercer(
        kernels.Tensor((kernels.Exponential(1.0),) * 2), [(0, 1)] * 2, whole(100)
    ).eigenvalues,
    "landmarks": lambda whole: bases.landmarks(kernels.Exponential(1.0), (0, 1), size=whole(100)).points,
    "waves": lambda whole: bases.fourier_features(kernels.Gaussian(1.0), [(0, 1)] * 3, whole(100)).waves,
    "block norm": lambda whole: BlockNorm((whole(100), whole(100)), (1.0, 2.0))(np.ones(200)),
    "noise": lambda whole: Noise("gaussian", (whole(100), whole(100)), (1.0, 2.0)).variances,
    "k-norm": lambda whole: mechanisms.KNorm((whole(20),) * 10, (1.0,) * 10).noise(3.0, 200).variances,
    "frames": lambda whole: mechanisms.draw_frames(
        np.eye(4), whole(3), size=whole(50), randomness=SeededRandomness(1)
    ),
    "gibbs": lambda whole: mechanisms.gibbs_frames(
        np.eye(4), whole(3), whole(20), size=whole(3), randomness=SeededRandomness(1)
    ),
    "plan of a mean": lambda whole: dpfda.MeanFunction(
        **GOOD, bound=1.0, domain=(0, 1), size=whole(100)
    ).plan(n=whole(120)).to_dict(),
    "plan of a covariance": lambda whole: dpfda.CovarianceFunction(
        **GOOD, bound=1.0, domain=(0, 1), size=whole(30)
    ).plan(n=whole(120)).to_dict(),
    "plan of components": lambda whole: dpfda.FPCA(
        n_components=whole(2), **GOOD, bound=1.0, domain=(0, 1), size=whole(30)
    ).plan(n=whole(120)).to_dict(),
    "plan of a regression": lambda whole: dpfda.FunctionOnScalarRegression(
        **GOOD, bound=1.0, domain=(0, 1), covariate_limits=[(0, 1)], size=whole(30)
    ).plan(n=whole(120), covariates=whole(1)).to_dict(),
    "plan of a density": lambda whole: dpfda.DensityFunction(**GOOD, domain=(0, 1), size=whole(100))
    .plan(n=whole(120))
    .to_dict(),
    "plan of a machine": lambda whole: dpfda.KernelClassifier(**GOOD, domain=(0, 1), features=whole(100))
    .plan(n=whole(120))
    .to_dict(),
    "a fit with a stated n": lambda whole: dpfda.MeanFunction(
        **GOOD | {"randomness": SeededRandomness(1)},
        bound=1.0,
        domain=(0, 1),
        size=whole(100),
        n=whole(120),
        reading=dpfda.Reading(batch_rows=whole(100)),
        force=True,
    ).fit(np.ones((120, 7)), grid=POINTS).release_(POINTS),
    "a fit of components": lambda whole: dpfda.FPCA(
        n_components=whole(2),
        **GOOD | {"randomness": SeededRandomness(1)},
        bound=1.0,
        domain=(0, 1),
        size=whole(5),
        force=True,
    ).fit(np.ones((120, 7)), grid=POINTS).release_.frame,
    "a drawn component": lambda whole: dpfda.FPCA(
        n_components=whole(1),
        **GOOD | {"randomness": SeededRandomness(1), "delta": 0.0},
        mechanism="exponential",
        bound=1.0,
        domain=(0, 1),
        size=whole(5),
        force=True,
    ).fit(np.ones((120, 7)), grid=POINTS).release_.frame,
    "components of a covariance": lambda whole: _covariance().components(whole(3)).frame,
    "scores on components of a covariance": lambda whole: _covariance().scores(np.ones((2, 7)), POINTS, whole(2)),
    "error of components": lambda whole: dpfda.CovarianceFunction(**GOOD, bound=1.0, domain=(0, 1), size=30)
    .plan(n=120)
    .subspace_error(whole(3)),
    "variance along a component": lambda whole: _covariance().components(3).explained(whole(2)),
    "derivative": lambda whole: _mean().derivative(whole(2))(POINTS),
    "grid": lambda whole: dpfda.bases.as_domain([(0, 1), (0, 2)]).grid(whole(100)),
    "marginal and sample": lambda whole: _density().marginal(whole(1)).sample(whole(100), seed=whole(5)),
}  # fmt: skip


def _mean() -> Any:
    est = dpfda.MeanFunction(**GOOD | {"randomness": SeededRandomness(1)}, bound=1.0, domain=(0, 1), force=True)
    return est.fit(np.ones((120, 7)), grid=POINTS).release_


def _covariance() -> Any:
    made = GOOD | {"randomness": SeededRandomness(1)}
    est = dpfda.CovarianceFunction(**made, bound=1.0, domain=(0, 1), size=5, force=True)
    return est.fit(np.ones((120, 7)), grid=POINTS).release_


def _density() -> Any:
    est = dpfda.DensityFunction(**GOOD | {"randomness": SeededRandomness(1)}, domain=[(0, 1)] * 2, force=True)
    return est.fit(np.full((120, 2), 0.5)).release_


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("narrow", [np.int8, np.uint8, np.int16])
def test_narrow_whole_numbers_mean_what_plain_ones_do(name: str, narrow: Count) -> None:
    np.testing.assert_equal(CALLS[name](narrow), CALLS[name](int))


def test_a_law_that_is_no_word_is_refused() -> None:
    for law in (np.array([1.0, 2.0]), None, 3, ["gaussian"]):
        with refused(UsageError, "law", law):
            Noise(law, (1,), (1.0,))
    with refused(UsageError, "sizes", None):
        Noise("gaussian", None, (1.0,))  # type: ignore[arg-type]
