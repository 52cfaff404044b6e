"""The Gaussian process around regressions: noise by closed forms, its law, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused
from scipy.stats import chi2

import dpfda
from dpfda.bases.symmetric import multiplicities, packed_size
from dpfda.errors import CannotMeetBudget, IncompatibleNoise, UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.mechanisms import Gaussian as GaussianNoise
from dpfda.mechanisms import GaussianProcess, SeededRandomness
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.releases.verification import verify
from dpfda.statistics.regression.sensitivity import STEPS, longest_change

KERNELS = {"exponential": Exponential(0.3), "Matern 3/2": Matern(1.5, 0.1), "Gaussian": Gaussian(0.1)}
BUDGET = Budget(1.0, 1e-6)
MU = 1 / calibrate(GaussianNoise(), Sensitivity(1.0, L2(), "one"), BUDGET)
T = np.linspace(0, 1, 20)


def estimator(kernel, *, settings=(), **changes):
    noise = GaussianProcess(kernel=KERNELS[kernel], **dict(settings))
    stated = {"epsilon": 1.0, "delta": 1e-6, "bound": 2.0, "mechanism": noise, "covariate_limits": [(0, 1)] * 2}
    return dpfda.FunctionOnScalarRegression(**stated | changes)


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("eta", "penalty"), [(1.0, 0.01), (0.5, 0.01), (2.0, 1e-4)])
def test_noise_of_every_coefficient_is_the_kernels_process(relation, kernel, eta, penalty):
    """Coordinate j of each row has deviation `sigma sqrt(lambda_j)`, `sigma = D max(a_j / sqrt(lambda_j)) / (w mu)`."""
    plan = estimator(
        kernel, settings={"eta": eta, "penalty": penalty}, neighbours=relation, planned_n=500, size=8
    ).plan(500)
    eigenvalues = plan.basis.eigenvalues
    weights = eigenvalues**eta / (eigenvalues**eta + penalty)
    np.testing.assert_allclose(plan.design.weights, weights, rtol=1e-9)
    longest = longest_change(plan.design.lead, plan.design.weight, replaced=relation == REPLACE) / STEPS**2 / 500
    moments, products = plan.noise.split(packed_size(3))
    sigma = 2.0 * longest / plan.design.weight / MU * np.max(weights / np.sqrt(eigenvalues))
    expected = np.tile(sigma * np.sqrt(eigenvalues), 3)
    np.testing.assert_allclose(np.sqrt(products.variances), expected, rtol=1e-6)
    halves = np.sqrt(np.where(multiplicities(3) == 2, 0.5, 1.0))
    np.testing.assert_allclose(np.sqrt(moments.variances), longest / MU * halves, rtol=1e-6)


def test_releases_carry_noise_with_this_law():
    """Chi-square test at level 1e-6 of moments and products of 60 releases of nobody, each over its own deviation."""
    total, count = 0.0, 0
    for seed in range(60):
        est = estimator("Matern 3/2", size=6, randomness=SeededRandomness(seed), force=True, n=40)
        est.fit(np.full((40, 2), np.nan), np.full((40, 20), np.nan), grid=T)
        release, deviations = est.release_, np.sqrt(est.release_.noise.variances)
        noisy = np.concatenate([release.moments, release.products.ravel()]) / deviations
        total, count = total + float(noisy @ noisy), count + len(noisy)
    low, high = chi2.ppf([5e-7, 1 - 5e-7], df=count)
    assert low < total < high


@pytest.mark.parametrize("settings", [{"eta": 0.45}, {"penalty": 0.0}])
def test_pairs_that_no_finite_scale_protects_are_refused_with_the_way_out(settings):
    with pytest.raises(IncompatibleNoise) as refusal:
        estimator("Matern 3/2", settings=settings).plan(500)
    assert "e.g. eta = 0.55, or state size" in refusal.value.message
    assert estimator("Matern 3/2", settings=settings, size=4).plan(500).design.name == "gp"


def test_without_delta_and_with_settings_of_others_it_is_refused():
    with refused(CannotMeetBudget, "delta"):
        estimator("Gaussian", delta=0.0).plan(500)
    with refused(UsageError, "calibration"):
        estimator("Gaussian", settings={"calibration": "published"}).plan(500)


def test_a_release_is_written_read_and_verified(tmp_path):
    z = np.linspace(0, 1, 50_000)
    curves = 0.5 * z[:, None] * np.sin(np.pi * T)
    noise = GaussianProcess(kernel=Matern(1.5, 0.5))
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("scans", epsilon=40.0, delta=1e-5)
    est = dpfda.FunctionOnScalarRegression(
        epsilon=20.0,
        delta=1e-6,
        bound=1.0,
        covariate_limits=[(0, 1)],
        mechanism=noise,
        ledger=ledger,
        dataset="scans",
    ).fit(z, curves, grid=T)
    # The smoothing moves it by 0.006; the noise in it has a deviation of 0.006, so ten of them do.
    assert math.isclose(est.coef_[0](0.5), 0.5, abs_tol=0.07)
    est.release_.save(tmp_path / "coefficients.json")
    again = dpfda.load(tmp_path / "coefficients.json")
    assert (again.products == est.release_.products).all()
    assert again.certificate.mechanism == "gp"
    assert verify(tmp_path / "coefficients.json", ledger).ok
