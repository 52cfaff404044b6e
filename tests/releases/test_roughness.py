"""Derivatives of releases with rough noise: refused by the decay of the noise, or smoothed first."""

from typing import Any

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda import bases, kernels, mechanisms
from dpfda.errors import UsageError
from dpfda.kernels import BrownianMotion, Exponential, Gaussian, Matern, Tensor
from dpfda.releases import Release
from dpfda.releases.roughness import roughness_of
from dpfda.releases.smoothing import smooth

GRID = np.linspace(0.0, 1.0, 60)
CURVES = np.sin(2 * np.pi * GRID) + np.linspace(-0.3, 0.3, 3000)[:, None]


def mean(**changes: Any) -> Release:
    stated: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.5, "domain": (0.0, 1.0)}
    return dpfda.MeanFunction(**stated | changes).fit(CURVES, grid=GRID).release_


def process(kernel: Any, **changes: Any) -> Release:
    return mean(mechanism=mechanisms.GaussianProcess(kernel=kernel, eta=1.0, penalty=0.01), **changes)


@pytest.mark.parametrize(
    ("kernel", "most"),
    [
        (Exponential(0.2), 0),
        (Matern(0.5, 0.2), 0),
        (BrownianMotion(), 0),
        (Matern(1.5, 0.2), 1),
        (Matern(2.5, 0.2), 2),
        (Matern(3.5, 0.2), 3),
        (Gaussian(0.2), 16),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [6, 40])
def test_a_process_has_as_many_derivatives_as_its_kernel_says_whatever_the_size(kernel: Any, most: int, size: int):
    release = process(kernel, size=size if not isinstance(kernel, Gaussian) else 6)
    for order in range(1, most + 1):
        assert np.isfinite(release.derivative(order)(0.5))
    if most < 16:
        with refused(UsageError, "order", most + 1):
            release.derivative(most + 1)
        with refused(UsageError, "order", most + 1):  # nor step by step, nor from the function
            release.function.derivative(most).derivative(1)


def test_smoothing_after_the_noise_gives_what_was_refused_and_the_message_says_which():
    rough = process(Exponential(0.2))
    with pytest.raises(UsageError, match=r"release\.smooth\('sobolev-1'\)\.derivative\(1\).*--smoothing sobolev-1"):
        rough.derivative(1)
    assert np.isfinite(rough.smooth("sobolev-1").derivative(1)(0.5))
    assert np.isfinite(rough.smooth("auto").derivative(3)(0.5))
    with refused(UsageError, "order", 3):  # 2 + 4 - 6 is nothing
        rough.smooth("sobolev-1").derivative(3)
    assert np.isfinite(rough.smooth("sobolev-2").derivative(3)(0.5))


@pytest.mark.parametrize("smoothing", ["none", "james-stein"])
def test_raw_white_noise_has_no_derivative(smoothing: str):
    release = mean(mechanism="gaussian", smoothing=smoothing)
    with refused(UsageError, "order", 1):
        release.derivative(1)
    assert np.isfinite(release.smooth("auto").derivative(1)(0.5))
    assert np.isfinite(release.derivative(0)(0.5))
    assert np.isfinite(release.integral(0.2, 0.4))
    assert np.isfinite(release.inner(np.cos))


def test_the_order_of_the_ridge_decides_for_white_noise_and_more_of_it_for_polynomials():
    white = np.ones(30)
    cosines, polynomials = bases.cosine((0, 1), 30), bases.legendre((0, 1), 30)
    orders = {(m, k) for m in (1, 2, 4) for k in range(1, 9)}
    # Sums of f^(2k) f^(-4m), and of j^(4k + 1) j^(-4m) at the ends of the domain.
    assert {
        (m, k)
        for m, k in orders
        if roughness_of(cosines, white, f"sobolev-{m}").has((k,))  # type: ignore[union-attr]
    } == {(m, k) for m, k in orders if 2 * k - 4 * m < -1}
    assert {
        (m, k)
        for m, k in orders
        if roughness_of(polynomials, white, f"sobolev-{m}").has((k,))  # type: ignore[union-attr]
    } == {(m, k) for m, k in orders if 4 * k + 1 - 4 * m < -1}


def test_on_a_box_each_side_has_its_own_decay():
    kernel = Tensor((Matern(0.5, 0.3), Matern(2.5, 0.3)))
    basis = bases.mercer(kernel, [(0, 1), (0, 2)], 40)
    noise = roughness_of(basis, 3.0 * np.asarray(basis.eigenvalues), "none")
    assert noise is not None
    assert [noise.has(order) for order in [(0, 1), (0, 2), (1, 0), (0, 3), (1, 1)]] == [True, True, False, False, False]
    white = roughness_of(basis, np.ones(40), "sobolev-1")
    assert white is not None
    assert not white.has((1, 0))  # 2 + 2 sides is not below 4
    assert white.has((1, 0), "sobolev-2")


def test_a_kernel_that_states_no_decay_has_no_derivative():
    kernel = kernels.Matern(1.5, 0.3) + kernels.Matern(0.5, 0.3)
    basis = bases.mercer(kernel, (0, 1), 20)
    noise = roughness_of(basis, np.asarray(basis.eigenvalues), "none")
    assert noise is not None
    assert not noise.has((1,))


@pytest.mark.parametrize("mechanism", ["frl", "bernstein"])
def test_mechanisms_whose_few_coordinates_are_their_smoothing_have_derivatives(mechanism: str):
    assert np.isfinite(mean(mechanism=mechanism, delta=0.0).derivative(1)(0.5))


def test_a_draw_of_the_exponential_mechanism_is_as_rough_as_its_base_measure():
    smooth_one = mean(mechanism=mechanisms.ExponentialDraw(kernel=Matern(1.5, 0.3)), delta=0.0, size=8)
    rough = mean(mechanism=mechanisms.ExponentialDraw(kernel=Exponential(0.3)), delta=0.0, size=8)
    assert np.isfinite(smooth_one.derivative(1)(0.5))
    for release, order in ((smooth_one, 2), (rough, 1)):
        with refused(UsageError, "order", order):
            release.derivative(order)


def test_components_are_as_rough_as_what_they_were_drawn_or_computed_from():
    rng = np.random.default_rng(3)
    curves = rng.standard_normal((3000, 1)) * np.sin(2 * np.pi * GRID) / 3

    def components(**changes: Any) -> Any:
        stated: dict[str, Any] = {"n_components": 1, "epsilon": 1.0, "delta": 0.0, "bound": 1.0, "domain": (0.0, 1.0)}
        return dpfda.FPCA(**stated | changes).fit(curves, grid=GRID).release_.components[0]

    drawn = {
        kernel: components(mechanism=mechanisms.ExponentialDraw(kernel=kernel))
        for kernel in (Exponential(0.2), Matern(1.5, 0.2))
    }
    assert np.isfinite(components().derivative(2)(0.5))
    assert np.isfinite(drawn[Matern(1.5, 0.2)].derivative(1)(0.5))
    with refused(UsageError, "order", 1):
        drawn[Exponential(0.2)].derivative(1)
    moments = dpfda.CovarianceFunction(
        epsilon=4.0, delta=0.0, bound=1.0, mechanism=mechanisms.LaplaceProcess(kernel=Matern(1.5, 0.2)), force=True
    )
    function = moments.fit(curves, grid=GRID).release_.eigenfunctions[0]
    assert np.isfinite(function.derivative(1)(0.5))
    with refused(UsageError, "order", 2):
        function.derivative(2)


def test_a_basis_without_an_order_of_roughness_cannot_be_smoothed():
    release = mean(mechanism="gaussian", basis="bernstein", size=8)
    with pytest.raises(UsageError, match="ordered by frequency"):
        release.derivative(1)


def test_coefficients_of_a_regression_and_means_beside_covariances_are_held_too():
    z = np.linspace(-1.0, 1.0, 3000)[:, None]
    fitted = dpfda.FunctionOnScalarRegression(
        epsilon=1.0, delta=1e-6, bound=1.5, covariate_limits=[(-1.0, 1.0)], domain=(0.0, 1.0)
    ).fit(z, CURVES, grid=GRID)
    release = fitted.release_
    assert np.isfinite(release.coefficient(0).derivative(1)(0.5))
    raw = release.smooth("none")
    for made in (lambda: raw.coefficient(0).derivative(1), lambda: raw.curves([[0.1]])[0].derivative(1)):
        with refused(UsageError, "order", 1):
            made()
    covariance = dpfda.CovarianceFunction(
        epsilon=1.0, delta=1e-6, bound=1.5, domain=(0.0, 1.0), mean="joint", smoothing="none"
    )
    with refused(UsageError, "order", 1):
        covariance.fit(CURVES, grid=GRID).release_.mean.derivative(1)


def test_a_function_of_the_users_own_is_held_by_its_kernel():
    est = dpfda.PerturbedFunction(epsilon=1.0, delta=1e-6, sensitivity=0.01, kernel=Exponential(0.3), domain=(0, 1))
    with refused(UsageError, "order", 1):
        est.fit(np.sin).release_.derivative(1)


def test_with_auto_the_noise_in_derivatives_stays_while_coordinates_become_many():
    # Root mean square error of the first and second derivative over 30 draws with fixed seeds: nothing random is left.
    def error(size: int, name: str, order: int) -> float:
        rng = np.random.default_rng(20261118)
        frequencies = np.arange(size, dtype=np.float64)
        exact = 3 / (1 + frequencies) ** 4
        variances = np.full(size, 1e-4)
        off = []
        for _ in range(30):
            noisy = exact + 0.01 * rng.standard_normal(size)
            weights = smooth(name, noisy, variances, frequencies).weights
            off.append(float(np.sum(frequencies ** (2 * order) * (weights * noisy - exact) ** 2)))
        return float(np.sqrt(np.mean(off)))

    for order in (1, 2):
        assert error(1024, "auto", order) < 2 * error(64, "auto", order)  # 1.2 and 1.7 times
        assert error(1024, "none", order) > 30 * error(64, "none", order)
        assert error(1024, "james-stein", order) > 5 * error(64, "james-stein", order)


def test_a_release_says_which_smoothing_a_derivative_needs():
    rough = process(Exponential(0.2))
    assert [rough.smoothing_for(order) for order in (0, 1, 3)] == ["none", "sobolev-1", "sobolev-2"]
    assert mean().smoothing_for(2) == "auto"
    assert mean(mechanism="gaussian", basis="bernstein", size=8).smoothing_for(1) is None
    with refused(UsageError, "order", -1):
        rough.smoothing_for(-1)


def test_the_page_shows_the_line_that_works():
    from dpfda.page import page

    rough = process(Exponential(0.2))
    assert "release.smooth(&#x27;sobolev-1&#x27;).derivative(1)" in page(rough, file="rough.json")
    assert "release.derivative(1)" in page(mean(), file="mean.json")
