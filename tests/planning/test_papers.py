"""The papers' mechanisms: noise by closed forms that are written here again, for both neighbour relations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import dpfda
from dpfda.bases import as_domain, mercer
from dpfda.bases.lattice import RADIUS
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.kernels import Exponential, Gaussian, Matern, Tensor
from dpfda.mechanisms import Gaussian as GaussianNoise
from dpfda.mechanisms import SeededRandomness, SoftThreshold
from dpfda.mechanisms.table import by_name, names_for
from dpfda.planning import Parameters, Request, privacy_safe
from dpfda.planning.papers import simple_bound
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget, calibrate
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.mean.plan import make_plan

LINE, BOX = as_domain((0, 2)), as_domain([(0, 1), (0, 2)])
APPROXIMATE, PURE = Budget(0.8, 1e-5), Budget(0.8, 0.0)
KERNELS = {
    "exponential": Exponential(0.5),
    "Matern 3/2": Matern(1.5, 0.2),
    "Matern 5/2": Matern(2.5, 0.2),
    "Gaussian": Gaussian(0.2),
}
relations = pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
kernels = pytest.mark.parametrize("kernel", KERNELS)


def plan(mechanism, **changes):
    facts = {
        "n": 400,
        "budget": APPROXIMATE if mechanism == "gp" else PURE,
        "bound": 3.0,
        "domain": LINE,
        "neighbours": REPLACE,
        "mechanism": mechanism,
    }
    return make_plan(Request(**facts | changes))


def reach(made):
    """D of the formulas: by how much one unit moves the mean in norm; beside the count, which weighs half a bound."""
    return made.bound / made.n * (2.0 if made.request.neighbours == REPLACE else math.sqrt(1.25))


def mu(budget):
    """The parameter of the exact Gaussian curve."""
    return 1 / calibrate(GaussianNoise(), Sensitivity(1.0, L2(), "one"), budget)


def spectrum(made, eta, penalty):
    """Roots of the eigenvalues, and weights of the penalised mean."""
    eigenvalues = made.basis.eigenvalues
    return np.sqrt(eigenvalues), eigenvalues**eta / (eigenvalues**eta + penalty)


def sum_with_count(made, ratios, power):
    """`(sum ratios^power)^(1/power)`, with a private count as one more coordinate, of the least noise."""
    more = [ratios.max()] if made.request.neighbours == ADD_REMOVE else []
    return float(np.sum(np.append(ratios, more) ** power) ** (1 / power))


# Gaussian process.


@relations
@kernels
@pytest.mark.parametrize(("eta", "penalty"), [(None, None), (0.75, 0.01), (2.0, 1e-4)])
def test_gp_noise_is_the_process_at_the_exact_supremum_of_theorem_4_1(relation, kernel, eta, penalty):
    """`sigma^2 lambda_j` with `sigma = D max(a_j / sqrt(lambda_j)) / mu`; by default eta = 1 and penalty = 1/n."""
    made = plan("gp", neighbours=relation, kernel=KERNELS[kernel], eta=eta, penalty=penalty)
    roots, weights = spectrum(made, eta or 1.0, penalty or 1 / made.n)
    sigma = reach(made) * np.max(weights / roots) / mu(APPROXIMATE)
    np.testing.assert_allclose(made.noise.variances, (sigma * roots) ** 2, rtol=1e-7)
    assert made.noise.name == "gaussian"
    np.testing.assert_allclose(made.design.weights, weights, rtol=1e-12)
    # The supremum over more eigenvalues is the same one: nothing that was cut off moves further.
    more = mercer(KERNELS[kernel], LINE, 150).eigenvalues
    more = more[more > 0]
    powers = more ** (eta or 1.0)
    assert np.max(powers / (powers + (penalty or 1 / made.n)) / np.sqrt(more)) <= np.max(weights / roots) * (1 + 1e-9)


@relations
@kernels
def test_published_gp_noise_has_the_scale_of_theorem_3_2(relation, kernel):
    """`sqrt(2 log(2/delta)) / epsilon` in place of `1/mu`, and otherwise the same."""
    made, exact = (
        plan("gp", neighbours=relation, kernel=KERNELS[kernel], calibration=calibration)
        for calibration in ("published", "exact")
    )
    roots, weights = spectrum(made, 1.0, 1 / made.n)
    sigma = math.sqrt(2 * math.log(2 / APPROXIMATE.delta)) / APPROXIMATE.epsilon * reach(made) * np.max(weights / roots)
    np.testing.assert_allclose(made.noise.variances, (sigma * roots) ** 2, rtol=1e-9)
    assert made.noise_rms > 1.1 * exact.noise_rms
    assert dict(made.reasons)["calibration"] == "as published, more noise than privacy needs"


@relations
@pytest.mark.parametrize("eta", [0.6, 1.0, 1.5, 3.0])
def test_the_simpler_bound_of_theorem_4_1_is_never_below_the_exact_one(relation, eta):
    """`tau / (n phi^(1/2 eta)) sqrt((2 eta - 1)^(2 - 1/eta)) / eta` where the exact one has the supremum over j."""
    for penalty in (1e-5, 1e-3, 0.1, 10.0):
        made, exact = (
            plan("gp", neighbours=relation, eta=eta, penalty=penalty, calibration=calibration)
            for calibration in ("simple", "exact")
        )
        roots, _ = spectrum(made, eta, penalty)
        largest = math.sqrt((2 * eta - 1) ** (2 - 1 / eta)) / (2 * eta) * penalty ** (-1 / (2 * eta))
        assert simple_bound(eta, penalty) == pytest.approx(largest, rel=1e-12)
        sigma = reach(made) * largest / mu(APPROXIMATE)
        np.testing.assert_allclose(made.noise.variances, (sigma * roots) ** 2, rtol=1e-7)
        assert made.noise_rms >= exact.noise_rms * (1 - 1e-9)
    assert dict(made.reasons)["calibration"] == "the simpler bound of Theorem 4.1"


@given(eta=st.floats(0.51, 8.0), penalty=st.floats(1e-12, 1e3), eigenvalue=st.floats(1e-12, 1e3))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_no_eigenvalue_whatever_exceeds_the_simpler_bound_and_one_attains_it(eta, penalty, eigenvalue):
    def ratio(x):
        return x ** (eta - 0.5) / (x**eta + penalty)

    assert ratio(eigenvalue) <= simple_bound(eta, penalty) * (1 + 1e-9)
    assert ratio((penalty * (2 * eta - 1)) ** (1 / eta)) == pytest.approx(simple_bound(eta, penalty), rel=1e-9)


# Laplace processes.


@relations
@kernels
@pytest.mark.parametrize(("eta", "penalty"), [(None, None), (1.25, 0.01), (3.0, 1e-4)])
@pytest.mark.parametrize("calibration", ["exact", "published"])
def test_iclp_qr_noise_has_the_root_of_a_sum_of_squares_and_as_published_the_sum(
    relation, kernel, eta, penalty, calibration
):
    """`b_j = sqrt(lambda_j) D sqrt(sum a^2/lambda) / epsilon`; Theorem 12 has `sum a/sqrt(lambda)`."""
    made = plan(
        "iclp-qr", neighbours=relation, kernel=KERNELS[kernel], eta=eta, penalty=penalty, calibration=calibration
    )
    decay = KERNELS[kernel].decay(1)
    # Corollary 15 for epsilon = 0.8.
    eta, penalty = eta or 1 + 2 / decay, penalty or 1 / (made.n * 0.64)
    roots, weights = spectrum(made, eta, penalty)
    total = sum_with_count(made, weights / roots, 2 if calibration == "exact" else 1)
    scales = roots * reach(made) * total / PURE.epsilon
    assert made.noise.sizes == (1,) * made.basis.size
    np.testing.assert_allclose(made.noise.scales, scales, rtol=1e-9)
    np.testing.assert_allclose(made.design.weights, weights, rtol=1e-12)


@relations
@kernels
@pytest.mark.parametrize("calibration", ["exact", "published"])
def test_iclp_ar_protects_the_coordinates_that_its_threshold_leaves(relation, kernel, calibration):
    """`b_j = sqrt(lambda_j) D sqrt(sum 1/lambda) / epsilon` over `j <= J*`; Theorem 12 has `sum 1/sqrt(lambda)`."""
    made = plan("iclp-ar", neighbours=relation, kernel=KERNELS[kernel], calibration=calibration)
    eta, penalty = 2 + 4 / KERNELS[kernel].decay(1), 1 / (made.n * 0.64)
    every = mercer(KERNELS[kernel], LINE, 100).eigenvalues
    every = every[every > 0]
    thresholds = penalty / (2 * every ** (eta / 2))
    last = int(np.sum(thresholds < 1))
    assert made.basis.size == last < 100
    roots = np.sqrt(every[:last])
    total = sum_with_count(made, 1 / roots, 2 if calibration == "exact" else 1)
    np.testing.assert_allclose(made.noise.scales, roots * reach(made) * total / PURE.epsilon, rtol=1e-9)
    np.testing.assert_allclose(made.design.thresholds, thresholds[:last], rtol=1e-12)
    # In the integer sum of n units, a bound being RADIUS steps; nothing is taken from a private count.
    assert isinstance(made.mechanism, SoftThreshold)
    steps = np.array(made.mechanism.thresholds)[made.request.counted :]
    np.testing.assert_allclose(steps, thresholds[:last] * made.n * RADIUS, atol=1.0)
    assert made.mechanism.thresholds[0] == 0 or not made.request.counted


# Finitely many coordinates.


@relations
@pytest.mark.parametrize("size", [None, 1, 4, 150])
def test_frl_noise_grows_like_the_root_of_the_size_and_as_published_like_the_size(relation, size):
    """`2 sqrt(M) tau / (n epsilon)` against `2 M tau / (n epsilon)`; by default M is the cube root of n."""
    terms = size or math.floor(400 ** (1 / 3))
    exact, published = (plan("frl", neighbours=relation, size=size, calibration=c) for c in ("exact", "published"))
    assert exact.basis.size == published.basis.size == terms
    counted = relation == ADD_REMOVE
    for made, total in ((exact, math.sqrt(terms + counted)), (published, terms + counted)):
        assert made.noise.scales == pytest.approx([reach(made) * total / PURE.epsilon] * terms, rel=1e-9)


def test_frl_keeps_a_stated_size_and_basis():
    assert plan("frl", size=30, grid_size=20).basis.size == 30
    assert plan("frl", grid_size=3).basis.size == 3
    basis = dpfda.bases.cosine(LINE, 5)
    assert plan("frl", basis=basis).basis is basis
    assert plan("frl", basis="legendre", size=6).basis == dpfda.bases.legendre(LINE, 6)
    said = dict(plan("frl", size=30).reasons)["basis"]
    assert said == "30 eigenfunctions: stated by the user"
    assert dict(plan("frl").reasons)["basis"] == "7 eigenfunctions: the cube root of n, privacy-safe (Corollary 15)"


@relations
@pytest.mark.parametrize(("domain", "degree"), [(LINE, 20), (BOX, 8)], ids=["interval", "box"])
def test_bernstein_noise_is_that_of_values_at_the_points_of_a_lattice(relation, domain, degree):
    """A value gets `(K+1)^d D / epsilon`: what Aldà and Rubinstein state, and under a bound on values it is exact."""
    made = plan("bernstein", neighbours=relation, domain=domain)
    size = (degree + 1) ** domain.dimension
    assert made.basis.size == size
    of_values = np.array(made.noise.scales) * math.sqrt(size)
    expected = math.sqrt(size * (size + (relation == ADD_REMOVE))) * reach(made) / PURE.epsilon
    np.testing.assert_allclose(of_values, expected, rtol=1e-9)
    published = plan("bernstein", neighbours=relation, domain=domain, calibration="published")
    assert published.noise == made.noise
    assert dict(published.reasons)["calibration"] == "as published, which is exact"
    assert dict(made.reasons)["basis"] == f"Bernstein polynomials: degree {degree}, a rule"


# What holds for all.


@given(
    mechanism=st.sampled_from(["gp", "iclp-qr", "iclp-ar", "frl"]),
    n=st.integers(1, 10**7),
    epsilon=st.floats(0.01, 1.0),
    delta=st.floats(1e-10, 1e-2),
    kernel=st.sampled_from(list(KERNELS)),
    relation=st.sampled_from([REPLACE, ADD_REMOVE]),
)
@settings(derandomize=True, deadline=None, max_examples=120)
def test_published_noise_is_never_less_than_exact_noise(mechanism, n, epsilon, delta, kernel, relation):
    budget = Budget(epsilon, delta if mechanism == "gp" else 0.0)
    published, exact = (
        plan(mechanism, n=n, budget=budget, kernel=KERNELS[kernel], neighbours=relation, calibration=calibration)
        for calibration in ("published", "exact")
    )
    assert published.basis == exact.basis
    assert (np.array(published.noise.scales) >= np.array(exact.noise.scales)).all()
    if mechanism != "gp" and exact.basis.size > 1:
        assert published.noise_rms > exact.noise_rms


CANDIDATES = (lambda t: 0 * t, lambda t: np.sin(t))


@relations
@pytest.mark.parametrize("mechanism", names_for("mean"))
def test_every_design_is_what_a_release_does_under_both_relations(mechanism, relation):
    budget = APPROXIMATE if mechanism in ("gaussian", "gp") else PURE
    est = dpfda.MeanFunction(
        epsilon=budget.epsilon,
        delta=budget.delta,
        bound=2.0,
        domain=LINE,
        neighbours=relation,
        planned_n=300,
        mechanism=by_name(mechanism, "mean", {"candidates": CANDIDATES} if mechanism == "dictionary" else {}),
        randomness=SeededRandomness(1),
    )
    if relation == ADD_REMOVE and mechanism in ("exponential", "dictionary"):
        with refused(UsageError, "mechanism", mechanism):
            est.plan(300, grid_size=30)
        return
    made = est.plan(300, grid_size=30)
    release = est.fit(np.zeros((300, 30))).release_
    assert release.basis == made.basis
    assert release.certificate.mechanism == made.design.name == mechanism
    assert release.noise.name == made.noise.name
    assert release.noise.sizes == made.noise.sizes
    # Under add-or-remove-one the release divides by its own noisy count.
    tolerance = 1e-9 if relation == REPLACE else 0.3
    if mechanism != "dictionary":
        assert release.noise.scales == pytest.approx(made.noise.scales, rel=tolerance)
        assert release.certificate.noise_rms == pytest.approx(made.noise_rms, rel=tolerance)


@pytest.mark.parametrize("mechanism", names_for("mean"))
@pytest.mark.parametrize("n", [1, 2, 10**6, 2**38])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_every_design_can_be_planned_and_drawn_for_any_number_of_units_and_any_usual_epsilon(mechanism, n, epsilon):
    budget = Budget(epsilon, 1e-6 if mechanism in ("gaussian", "gp") else 0.0)
    made = plan(
        mechanism, n=n, budget=budget, grid_size=40, candidates=CANDIDATES if mechanism == "dictionary" else None
    )
    assert 1 <= made.basis.size <= 40
    assert np.isfinite(made.noise_rms)
    assert made.predict() is None or 0 < made.predict().total < math.inf
    # Every scale can be drawn with the private sampler.
    steps = np.array(made.noise.scales) / np.array(made.design.weights or 1.0) * n * RADIUS / made.bound
    assert made.noise.name == "choice" or steps.max() <= 2.0**53
    assert "at most" in made.text() or made.predict() is None


@relations
@pytest.mark.parametrize("mechanism", ["gp", "iclp-qr", "iclp-ar", "frl", "bernstein"])
def test_surfaces_are_planned_and_released(mechanism, relation):
    grid = BOX.grid(7)
    budget = Budget(20.0, 1e-6 if mechanism == "gp" else 0.0)
    est = dpfda.MeanFunction(
        epsilon=budget.epsilon,
        delta=budget.delta,
        bound=2.0,
        domain=BOX,
        mechanism=by_name(mechanism, "mean", {"penalty": 1e-4} if mechanism in ("gp", "iclp-qr", "iclp-ar") else {}),
        neighbours=relation,
        planned_n=2000,
        randomness=SeededRandomness(0),
    )
    release = est.fit(np.tile(1 + grid[:, 0] * grid[:, 1] / 4, (2000, 1)), grid=grid).release_
    made = est.plan(2000, grid_size=len(grid))
    assert release.basis == made.basis
    # Far from the noise: mean square distance over the box, by the release's own quadrature.
    points, weights = release.basis.nodes()
    error = math.sqrt(float(weights @ (release(points) - 1 - points[:, 0] * points[:, 1] / 4) ** 2))
    assert error < 0.35


@pytest.mark.parametrize("mechanism", ["gp", "iclp-qr"])
@pytest.mark.parametrize(
    "kernel",
    [None, Gaussian(0.5), Matern(1.5, 0.5), Tensor((Exponential(0.5), Matern(2.5, 0.4)))],
    ids=["default", "gaussian", "matern", "tensor"],
)
def test_noise_processes_on_a_box_have_the_closed_forms_too(mechanism, kernel):
    made = plan(mechanism, domain=BOX, kernel=kernel, eta=1.5, penalty=0.01, size=15)
    roots, weights = spectrum(made, 1.5, 0.01)
    if mechanism == "gp":
        np.testing.assert_allclose(
            np.sqrt(made.noise.variances),
            roots * reach(made) * np.max(weights / roots) / mu(APPROXIMATE),
            rtol=1e-7,
        )
    else:
        total = math.sqrt(np.sum((weights / roots) ** 2))
        np.testing.assert_allclose(made.noise.scales, roots * reach(made) * total / PURE.epsilon, rtol=1e-9)


def test_the_default_kernel_follows_the_domain():
    made = plan("gp")
    assert dict(made.reasons)["kernel"] == "Matern 3/2, range a tenth of the domain: a rule"
    assert made.basis == mercer(Matern(1.5, 0.2), LINE, made.basis.size)
    box = plan("gp", domain=BOX)
    assert box.basis == mercer(Tensor((Matern(1.5, 0.1), Matern(1.5, 0.2))), BOX, box.basis.size)
    assert dict(plan("gp", kernel=Exponential(0.5)).reasons)["kernel"] == f"{Exponential(0.5)}, stated by the user"


def test_coordinates_whose_noise_is_beyond_all_scales_are_left_out_and_no_others():
    """A high power of eigenvalues vanishes in doubles; a small penalty leaves the first coordinates the loudest."""
    steep = plan("gp", kernel=Gaussian(0.2), eta=30.0)
    assert 1 <= steep.basis.size < 10
    flat = plan("gp", kernel=Gaussian(0.2), penalty=1e-40, size=12)
    assert flat.basis.size == 12
    assert flat.noise.scales[0] == max(flat.noise.scales)
    mild = plan("iclp-qr", n=10**6)
    assert mild.basis.size == 100


@pytest.mark.parametrize(
    ("given", "how"),
    [
        ({}, "eta = 1, penalty = 0.0025; privacy-safe: by a rule of n, epsilon and the kernel"),
        ({"eta": 0.75, "penalty": 0.01}, "eta = 0.75, penalty = 0.01; stated by the user"),
        (
            {"eta": 0.75},
            "eta = 0.75, penalty = 0.0025; eta stated by the user, the other privacy-safe: by a rule of n, epsilon and "
            "the kernel",
        ),
        (
            {"penalty": 0.01},
            "eta = 1, penalty = 0.01; penalty stated by the user, the other privacy-safe: by a rule of n, epsilon and "
            "the kernel",
        ),
    ],
    ids=["rule", "both", "eta", "penalty"],
)
def test_the_plan_says_how_its_penalty_came_about(given, how):
    assert dict(plan("gp", **given).reasons)["penalty"] == how


# Privacy-safe parameters.


@given(
    n=st.integers(1, 10**9),
    epsilon=st.floats(0.01, 20.0),
    decay=st.one_of(st.floats(1.1, 40.0), st.just(math.inf)),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_privacy_safe_parameters_are_those_of_corollary_15(n, epsilon, decay):
    """Penalties between `(n eps^2)^(-eta b / (b+2))`, for the absolute one with twice b+2, and 1/n if there are any."""
    least = 1 + 2 / decay
    share = 1 / least  # b / (b + 2)
    for mechanism, eta, exponent in (("iclp-qr", least, share), ("iclp-ar", 2 * least, share / 2)):
        chosen = privacy_safe(mechanism, n=n, epsilon=epsilon, decay=decay)
        assert chosen.eta == pytest.approx(eta, rel=1e-12)
        lower = (n * epsilon**2) ** (-eta * exponent)
        assert chosen.penalty == pytest.approx(max(lower, 1 / n), rel=1e-9)
        assert chosen.terms is None
    terms = privacy_safe("frl", n=n, epsilon=epsilon, decay=decay).terms
    assert terms**3 <= n < (terms + 1) ** 3
    assert privacy_safe("gp", n=n, epsilon=epsilon, decay=decay) == Parameters(1.0, 1 / n)


def test_parameters_for_other_mechanisms_are_refused():
    with refused(UsageError, "mechanism", "k-norm"):
        privacy_safe("k-norm", n=10, epsilon=1.0, decay=2.0)


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"epsilon": 0.0}, {"epsilon": math.inf}, {"epsilon": math.nan}, {"decay": 0.0}], ids=str
)
def test_parameters_need_units_a_budget_and_a_decay(wrong):
    facts = {"n": 10, "epsilon": 1.0, "decay": 2.0} | wrong
    with refused(UsageError, "n", facts["n"]):
        privacy_safe("gp", **facts)


# Refusals.


@pytest.mark.parametrize(
    ("mechanism", "changes", "kind", "text"),
    [
        (
            "gp",
            {"budget": PURE},
            CannotMeetBudget,
            "gaussian noise cannot meet (epsilon = 0.8, delta = 0) at any scale",
        ),
        (
            "gp",
            {"budget": PURE, "calibration": "published"},
            CannotMeetBudget,
            "A Gaussian process cannot meet (epsilon = 0.8, delta = 0): it needs delta > 0.",
        ),
        (
            "gp",
            {"budget": Budget(1.5, 1e-5), "calibration": "published"},
            CannotMeetBudget,
            "The published scale of the Gaussian process is proven for epsilon up to 1, got 1.5. Use "
            "calibration='exact', which holds for every epsilon.",
        ),
        (
            "gp",
            {"calibration": "simple", "eta": 0.5, "penalty": 0.01},
            UsageError,
            "The simpler bound needs a penalty above 0 and eta above 0.5, got 0.01 and 0.5. Use calibration='exact'.",
        ),
        (
            "gp",
            {"calibration": "simple", "penalty": 0.0, "size": 4},
            UsageError,
            "The simpler bound needs a penalty above 0 and eta above 0.5, got 0 and 1. Use calibration='exact'.",
        ),
        *(
            (
                name,
                {"calibration": "simple"},
                UsageError,
                "calibration='simple' is the simpler bound of mechanism='gp'.",
            )
            for name in ("iclp-qr", "iclp-ar", "frl", "bernstein")
        ),
        *(
            (
                name,
                {"calibration": calibration, "budget": APPROXIMATE},
                UsageError,
                f"calibration={calibration!r} is for the papers' mechanisms, e.g. 'gp' or 'iclp-qr'; {name!r} is "
                "always calibrated exactly.",
            )
            for name in ("gaussian", "laplace", "k-norm", "exponential")
            for calibration in ("published", "simple")
        ),
        (
            "bernstein",
            {"basis": "cosine"},
            UsageError,
            "mechanism='bernstein' brings its own basis: leave basis out, and state size instead.",
        ),
        (
            "dictionary",
            {},
            UsageError,
            "mechanism='dictionary' chooses among candidates: say mechanism=dpfda.mechanisms.DictionaryDraw(candidates="
            "[function, ...]), each a function of the points, e.g. lambda t: np.interp(t, grid, values). They must be "
            "public.",
        ),
        (
            "dictionary",
            {"candidates": CANDIDATES, "basis": "bernstein"},
            UsageError,
            "A dictionary measures distances: take an orthonormal basis, e.g. 'cosine'.",
        ),
        *(
            (
                "dictionary",
                {"candidates": (candidate,), "n": n},
                UsageError,
                f"A candidate must give a finite number for each point, within {most} bounds of the centre.",
            )
            for candidate, n, most in (
                (lambda t: t[:2], 400, "1000"),
                (lambda t: "two", 400, "1000"),
                (lambda t: np.where(t > 1, np.nan, 0.0), 400, "1000"),
                (lambda t: 3100 * t, 400, "1000"),
                (lambda t: 10 + 0 * t, 2**38, "1"),
            )
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_with_its_text(mechanism, changes, kind, text):
    with pytest.raises(kind) as caught:
        plan(mechanism, **changes)
    assert str(caught.value) == text or (kind is CannotMeetBudget and str(caught.value).startswith(text))


def test_gp_is_exact_for_every_epsilon_and_published_up_to_one():
    for epsilon in (0.1, 1.0, 5.0, 30.0):
        assert plan("gp", budget=Budget(epsilon, 1e-5)).noise_rms > 0
    assert plan("gp", budget=Budget(1.0, 1e-5), calibration="published").noise_rms > 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calibration", "loose"),
        ("kernel", "matern"),
        *((name, value) for name in ("eta", "penalty") for value in (-0.1, math.inf, math.nan, "1", True)),
        *(("size", size) for size in (0, -3, 2.0, "5", True)),
    ],
)
def test_wrong_wishes_are_refused_with_the_value(name, value):
    with refused(UsageError, name, value):
        plan("gp", **{name: value})


def test_a_size_beside_a_basis_of_another_size_is_refused():
    with refused(UsageError, "size"):
        plan("gp", size=4, basis=dpfda.bases.cosine((0, 2), 5))


def test_numbers_of_numpy_are_numbers():
    one = plan("gp", eta=np.float32(0.75), penalty=np.int64(1), size=np.int64(9))
    other = plan("gp", eta=0.75, penalty=1.0, size=9)
    assert one.noise == other.noise
