"""Public arguments at their edges: every one gets one of our errors, and nothing hangs, breaks or warns."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import dpfda
from dpfda import bases, kernels, mechanisms
from dpfda.errors import DpfdaError, UsageError
from dpfda.mechanisms import draw_frames

T = np.linspace(0, 1, 7)
CURVES = 0.5 * np.sin(np.pi * T) + np.linspace(-0.1, 0.1, 40)[:, None]
POINTS = np.linspace(0.1, 0.9, 40)


def made(form, **more):
    stated = {"epsilon": 50.0, "delta": 1e-6, "bound": 1.0, "domain": (0.0, 1.0), "force": True} | more
    taken = form(epsilon=1.0, delta=0.0).get_params()
    return form(**{name: value for name, value in stated.items() if name in taken})


@pytest.fixture(scope="module")
def mean():
    return made(dpfda.MeanFunction).fit(CURVES, grid=T).release_


@pytest.fixture(scope="module")
def density():
    return made(dpfda.DensityFunction).fit(POINTS).release_


@pytest.mark.parametrize("epsilon", [1e300, 1e-300, 5e-324, 1e18, 10**400, np.timedelta64(1, "D"), pd.NA])
@pytest.mark.parametrize("form", [dpfda.MeanFunction, dpfda.CovarianceFunction, dpfda.DensityFunction])
def test_an_epsilon_that_no_noise_can_meet_is_refused(form, epsilon):
    with pytest.raises(DpfdaError):
        made(form, epsilon=epsilon).fit(POINTS if form is dpfda.DensityFunction else CURVES)


@pytest.mark.parametrize("delta", [1e-320, 1e-300, 1 - 1e-16])
def test_an_extreme_delta_is_released_or_refused(delta):
    try:
        release = made(dpfda.MeanFunction, delta=delta).fit(CURVES).release_
    except DpfdaError:
        return
    assert release.certificate.delta <= delta
    assert np.isfinite(release(0.5))


@pytest.mark.parametrize(
    "domain",
    [
        (0, 1e-300),
        (-1e308, 1e308),
        (0, 5e-324),
        (1e15, 1e15 + 1e-3),
        (0, 10**400),
        (1j, 2),
        ("0", "1"),
        [(0, 1e-50)] * 5,
    ],
)
def test_a_domain_beyond_doubles_is_refused(domain):
    with pytest.raises(UsageError):
        made(dpfda.MeanFunction, domain=domain).fit(CURVES)


@pytest.mark.parametrize("size", [2**70, 10**9, 10**400, 1.5, "3", None, True])
def test_a_size_of_a_basis_is_a_whole_number_within_reason(size):
    for build in (bases.cosine, bases.legendre, bases.bspline, bases.fourier, bases.equal_steps, bases.reinsch):
        with pytest.raises(UsageError):
            build((0, 1), size)


@pytest.mark.parametrize("order", [10**6, 10**18, 17, 2**70, 1.0, -1, "1", None, (1, 1), True])
def test_a_derivative_has_a_highest_order(mean, order):
    with refused(UsageError, "order", order):
        mean.derivative(order)


def test_derivatives_of_derivatives_count_together(mean):
    with refused(UsageError, "order", (20,)):
        mean.derivative(10).derivative(10)


@pytest.mark.parametrize("family", ["cosine", "fourier", "legendre", "bspline", "bernstein", "reinsch", "beam"])
def test_every_basis_has_finite_derivatives_or_says_that_there_are_none(family):
    for domain in ((0, 1), (0, 1e-40), (0, 1e40)):
        basis = bases.by_name(family, domain, 12)
        for order in range(17):
            try:
                table = basis.matrix([domain[1] / 3], order)
            except UsageError:
                continue
            assert np.isfinite(table).all()


@pytest.mark.parametrize(
    "points",
    ["0.5", ["a"], [1j], [[[0.5]]], [[1, 2], [3]], np.datetime64("2020"), np.array(["2020"], "M8[D]"), object(), {},
     {0.5}, np.array([1], "m8[s]"), [None], 10**400, pd.NaT, int, b"x", Decimal("0.5")],
)  # fmt: skip
def test_points_that_are_no_numbers_are_refused(mean, density, points):
    kernel = kernels.Gaussian(0.1)
    for ask in (
        mean,
        density,
        mean.derivative(1),
        density.raw,
        density.distribution,
        lambda given: kernel(given, [0.5]),
    ):
        with pytest.raises(UsageError):
            ask(points)


@pytest.mark.parametrize(
    "points", [0.5, [0, 1], Fraction(1, 3), [Fraction(1, 3)], np.float32(0.5), pd.Series([0.5]), range(2)]
)
def test_points_of_any_kind_of_number_are_taken(mean, points):
    assert np.isfinite(mean(points)).all()


@pytest.mark.parametrize("size", [10**12, 2**70, 10**400, -1, 1.5, "3", None])
def test_as_many_records_are_drawn_as_fit_into_memory(density, size):
    with refused(UsageError, "size", size):
        density.sample(size)


@pytest.mark.parametrize("size", [10**12, 2**70, 0, -1, "x", np.array([1, 2])])
def test_a_grid_of_points_is_of_moderate_size(mean, density, size):
    for release in (mean, density):
        with refused(UsageError, "size", size):
            release.points(size)


def fails(*_):
    raise KeyError("a mistake of the user's")


@pytest.mark.parametrize("function", [fails, lambda t: "text", lambda t: None, lambda t: 1j, lambda t: [[1], [2, 3]]])
def test_a_public_function_that_fails_is_told_so(mean, function):
    with pytest.raises(UsageError):
        mean.inner(function)
    with pytest.raises(UsageError):
        made(dpfda.MeanFunction, centre=function).fit(CURVES, grid=T)


def test_the_error_of_a_public_function_is_its_cause(mean):
    with pytest.raises(UsageError, match="failed with KeyError") as caught:
        mean.inner(fails)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "value", [None, 3, [], {}, mechanisms.Laplace, np.array([1, 2]), pd.DataFrame(), object(), 1j, pd.NA]
)
@pytest.mark.parametrize("form", [dpfda.MeanFunction, dpfda.CovarianceFunction, dpfda.FPCA, dpfda.DensityFunction])
def test_a_mechanism_is_a_name_or_an_object(form, value):
    with pytest.raises(UsageError):
        made(form, mechanism=value).plan(100)


ODD = [
    np.array([1.0, 2.0]),
    pd.Series([1, 2]),
    pd.NA,
    np.datetime64("2020"),
    np.timedelta64(1, "D"),
    10**5000,
    object(),
    1j,
    {},
    "é",
]
FORMS = [dpfda.MeanFunction, dpfda.CovarianceFunction, dpfda.FPCA, dpfda.DensityFunction]


@pytest.mark.parametrize("form", FORMS)
def test_every_parameter_of_an_odd_type_gets_one_of_our_errors_or_a_plan(form):
    # With a stated size plans of moments are quick; asked for the best of all, they take half a second.
    stated = {"size": 4} if form in (dpfda.CovarianceFunction, dpfda.FPCA) else {}
    for name in made(form).get_params():
        for value in ODD:
            try:
                plan = made(form, **stated).set_params(**{name: value}).plan(100)
            except DpfdaError:
                continue
            assert plan.n == 100, (name, value)


@pytest.mark.parametrize(
    "arguments", [{"A": "x", "k": 1}, {"A": np.eye(3), "k": 10**30}, {"A": np.eye(3), "k": 1, "size": 10**12}]
)
def test_frames_are_drawn_for_matrices_in_moderate_numbers(arguments):
    with pytest.raises(UsageError):
        draw_frames(**arguments)


@pytest.mark.parametrize("odd", [pd.Series([1, 2]), pd.NA, np.array(["average"] * 2), 3], ids=repr)
def test_words_are_asked_for_by_words_alone(odd, tmp_path, density):
    (tmp_path / "a.csv").write_text("t1,t2\n1,2\n")
    with refused(UsageError, "rows", odd):
        dpfda.read_curves(tmp_path / "a.csv", rows=odd)
    with pytest.raises(UsageError):
        density.smooth(odd)


def test_candidates_beyond_doubles_are_refused():
    with refused(UsageError, "candidates"):
        dpfda.private_bound(CURVES, epsilon=1.0, quantile=0.9, candidates=10**400)


@pytest.mark.parametrize("weights", [[1.0], pd.Series(["2020"], dtype="M8[us]"), "word"], ids=repr)
def test_a_score_without_a_weight_for_each_point_is_refused(weights):
    est = dpfda.KernelClassifier(epsilon=50.0, delta=1e-6, domain=(0, 1), features=3, classes=(0, 1), force=True)
    est.fit(POINTS[:, None], np.arange(len(POINTS)) % 2)
    assert 0 <= est.score(POINTS[:, None], np.arange(len(POINTS)) % 2) <= 1
    with pytest.raises(UsageError, match="have no score"):
        est.score(POINTS[:, None], np.arange(len(POINTS)) % 2, weights)


def test_a_span_of_time_is_no_whole_number():
    with refused(UsageError, "n"):
        made(dpfda.MeanFunction, n=np.timedelta64(40, "D")).fit(CURVES)
    with refused(UsageError, "batch_rows"):
        dpfda.Reading(batch_rows=np.timedelta64(40, "D"))
    covariates = np.linspace(0, 1, 40)[:, None]
    est = made(dpfda.FunctionOnScalarRegression, covariate_limits=[(0, 1)]).fit(covariates, CURVES)
    with pytest.raises(UsageError, match=r"^A coefficient is 'intercept'"):
        est.release_.coefficient(np.timedelta64(0, "D"))


def test_a_path_that_no_file_system_can_write_is_refused():
    for path in ("\ud800", "a\0b", b"bytes", 3):
        with refused(UsageError, "path", path):
            dpfda.load(path)


def test_masked_and_written_numbers_are_none_where_two_or_more_are_asked_for() -> None:
    """They were read as NaN with a warning, or as numbers."""
    for pair in (np.ma.masked_array([0.0, 0.2], mask=[True, False]), ("-4", "0")):
        est = dpfda.Maximiser(epsilon=1.0, bound=1.0, utility=lambda unit, point: 0.0, utility_range=pair, force=True)
        with refused(UsageError, "utility_range", pair):
            est.fit(np.zeros((20, 5)), grid=np.linspace(0, 1, 5))
    for edges in (np.ma.masked_array([0.0, 0.5, 1.0], mask=[False, True, False]), ["0", "0.5", "1"]):
        with refused(UsageError, "edges", edges):
            dpfda.DensityFunction(epsilon=1.0, delta=0.0, edges=edges, force=True).fit(np.zeros(50))
