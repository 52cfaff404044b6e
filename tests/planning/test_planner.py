"""The planner's rules: from n, the budget and the grid alone."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.bases import as_domain, bernstein, cosine
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import Gaussian, Laplace, SeededRandomness
from dpfda.planning import Request
from dpfda.planning.default_design import BLOCK, default_size, design_weights, optimal_blocks, shape_weights
from dpfda.privacy import Budget
from dpfda.statistics.mean.plan import make_plan

LINE, BOX = as_domain((0, 1)), as_domain([(0, 1), (0, 1)])
APPROXIMATE, PURE = Budget(1.0, 1e-6), Budget(1.0, 0.0)


def request(**changes):
    facts = {"budget": APPROXIMATE, "n": 1000, "bound": 2.0, "domain": LINE, "neighbours": "replace-one"}
    return Request(**facts | changes)


def plan(**changes):
    return make_plan(request(**changes))


def cost(sizes, weights):
    edges = np.cumsum([0, *sizes])
    return sum(
        math.sqrt((high - low + 1) * float(np.sum(weights[low:high] ** 2))) for low, high in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("size", [1, 2, 5, 9, 11])
def test_blocks_are_the_best_of_all_contiguous_cuts(size):
    weights = np.random.default_rng(size).uniform(0.1, 1, size)
    sizes, terms = optimal_blocks(weights)
    every = [cuts for cuts in compositions(size) if max(cuts) <= BLOCK]
    assert sum(sizes) == size
    assert cost(sizes, weights) == pytest.approx(min(cost(cuts, weights) for cuts in every), rel=1e-12)
    assert sum(terms) == pytest.approx(cost(sizes, weights), rel=1e-12)


def compositions(total):
    for length in range(1, total + 1):
        for cuts in itertools.combinations(range(1, total), length - 1):
            yield tuple(np.diff([0, *cuts, total]))


def test_shares_spend_the_whole_of_pure_epsilon():
    made = plan(budget=PURE)
    assert made.mechanism.name == "k-norm"
    assert sum(share**2 for share in made.mechanism.shares) == pytest.approx(1, rel=1e-12)
    assert sum(made.mechanism.sizes) == made.basis.size


def test_pure_noise_has_the_error_of_the_closed_form():
    made = plan(budget=PURE)
    weights = design_weights(made.request, made.basis)
    expected = cost(made.mechanism.sizes, weights) ** 2 * (2 * made.bound / made.n) ** 2
    # Weighted by the design, as the shares were chosen.
    assert float(weights**2 @ made.noise.variances) == pytest.approx(expected, rel=1e-9)


def size_of(n=1000, budget=APPROXIMATE, domain=LINE, grid_size=None):
    return default_size(request(n=n, budget=budget, domain=domain, grid_size=grid_size), pure=budget.pure)


def test_the_size_of_gaussian_noise_balances_noise_and_tail():
    """`(n mu)^(2/3)`, with mu = 0.5279 at (1, 0.01) from the exact Gaussian curve."""
    assert size_of(budget=Budget(1.0, 0.01)) == 66


def test_the_size_of_pure_noise_is_about_the_root_of_n_epsilon():
    sizes = [size_of(n=n, budget=Budget(epsilon, 0.0)) for n, epsilon in ((1000, 1.0), (1000, 4.0), (100_000, 1.0))]
    roots = np.sqrt([1000, 4000, 100_000])
    assert (np.abs(np.array(sizes) / roots - 1) < 0.35).all()


def test_the_size_grows_with_n_and_never_exceeds_the_grid():
    for budget in (APPROXIMATE, PURE):
        sizes = [size_of(n=n, budget=budget) for n in (1, 10, 100, 10_000, 10**9)]
        assert sizes == sorted(sizes)
        assert sizes[0] >= 1
        assert sizes[-1] == 1024
        assert size_of(n=10**6, budget=budget, grid_size=48) == 48
    assert size_of(n=10_000, budget=PURE, domain=BOX) > size_of(n=10_000, budget=PURE)


def test_the_plan_is_what_a_release_does():
    for budget, neighbours in itertools.product((APPROXIMATE, PURE), ("replace-one", "add-or-remove-one")):
        est = dpfda.MeanFunction(
            epsilon=budget.epsilon,
            delta=budget.delta,
            bound=2.0,
            neighbours=neighbours,
            planned_n=400,
            randomness=SeededRandomness(1),
        )
        made = est.plan(400, grid_size=30)
        release = est.fit(np.zeros((400, 30))).release_
        assert release.basis == made.basis
        assert release.certificate.mechanism == made.design.name
        assert release.noise.sizes == made.noise.sizes
        # Under add-or-remove-one the release divides by its own noisy count.
        tolerance = 1e-9 if neighbours == "replace-one" else 0.3
        assert release.noise.scales == pytest.approx(made.noise.scales, rel=tolerance)


@pytest.mark.parametrize("budget", [APPROXIMATE, PURE], ids=["approximate", "pure"])
def test_the_weight_of_a_private_count_is_the_best_one(budget):
    """The error of sum and count together, count errors weighed by the bound, is least near the planned weight."""
    made = plan(budget=budget, neighbours="add-or-remove-one", mechanism="k-norm" if budget.pure else "gaussian")
    share = made.count_weight / 2**24

    def total(x):
        if budget.pure:
            terms = sum(optimal_blocks(design_weights(made.request, made.basis))[1])
            return (terms + math.sqrt(2) / x) ** 2 * (1 + x**2)
        return (made.basis.size + 1 / x**2) * (1 + x**2)

    assert total(share) <= min(total(0.9 * share), total(1.1 * share))


def test_add_or_remove_one_needs_about_half_the_noise():
    """One vector is added instead of two exchanged, at the price of a count."""
    one, other = (plan(neighbours=relation, mechanism="gaussian") for relation in ("add-or-remove-one", "replace-one"))
    ratio = one.noise_rms / other.noise_rms
    assert 0.5 < ratio < 0.6


def test_a_basis_without_order_gets_equal_weights():
    assert (design_weights(request(), bernstein((0, 1), 5)) == 1).all()
    np.testing.assert_allclose(shape_weights(4, 0.5), [1, 2**-0.5, 3**-0.5, 0.5])


def test_choices_of_the_user_are_kept_and_said():
    made = plan(basis=cosine((0, 1), 7), mechanism=Laplace())
    assert made.basis == cosine((0, 1), 7)
    assert made.mechanism == Laplace()
    assert dict(made.reasons) == {"basis": "stated by the user", "mechanism": "stated by the user"}
    assert plan(basis="legendre").basis.describe()["family"] == "legendre"
    assert plan(mechanism="laplace").mechanism == Laplace()


@pytest.mark.parametrize("family", ["beam", "bernstein", "bspline", "cosine", "fourier", "legendre", "reinsch"])
@pytest.mark.parametrize("n", [1, 2, 142, 10**6])
def test_every_family_can_be_planned_for_any_number_of_units(family, n):
    made = plan(basis=family, n=n, grid_size=20)
    assert made.basis.size >= 1
    assert np.isfinite(made.noise_rms)


@pytest.mark.parametrize("n", [0, -1, 2.5, "many", True, 2**39, None])
def test_n_must_be_a_number_of_units(n):
    with refused(UsageError, "n", n):
        plan(n=n)


def test_wrong_choices_are_refused_with_the_way_out():
    for name in ("", "gauss", "Gaussian", "ICLP-QR"):
        with refused(UsageError, "mechanism", name):
            plan(mechanism=name)
    with refused(UsageError, "basis"):
        plan(basis=cosine((0, 2), 7))
    with refused(CannotMeetBudget, "delta", 0.0):
        plan(budget=PURE, mechanism=Gaussian())


def test_the_plan_speaks_to_people_and_to_programs():
    made = plan(budget=PURE)
    assert "no values read, nothing charged" in made.text()
    assert made.noise.text.startswith("radial in 1 block of ")
    assert f"  mechanism   k-norm, {made.noise.text}\n" in str(made)
    assert json.loads(json.dumps(made.to_dict()))["n"] == 1000


@pytest.mark.parametrize("mechanism", ["k-norm", "laplace", Laplace()], ids=str)
def test_pure_noise_gets_the_size_of_pure_noise_whatever_delta(mechanism):
    pure, gaussian = plan(budget=PURE).basis.size, plan(mechanism="gaussian").basis.size
    assert plan(mechanism=mechanism).basis.size == pure < gaussian
