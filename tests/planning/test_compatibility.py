"""Whether any finite scale can be private, from decay exponents: against tails of the sums themselves."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import dpfda
from dpfda.bases import as_domain, mercer
from dpfda.errors import IncompatibleNoise, UsageError
from dpfda.kernels import BrownianMotion, Exponential, Gaussian, Kernel, Matern, Sobolev, Tensor
from dpfda.mechanisms import MECHANISMS
from dpfda.planning import Compatibility, Request, penalised
from dpfda.privacy import Budget
from dpfda.statistics.mean.plan import make_plan

KERNELS = {
    "exponential": (Exponential(0.3), 2.0),
    "Brownian motion": (BrownianMotion(), 2.0),
    "Matern 3/2": (Matern(1.5, 0.2), 4.0),
    "Sobolev": (Sobolev(2), 4.0),
    "Matern 5/2": (Matern(2.5, 0.2), 6.0),
    "Gaussian": (Gaussian(0.1), math.inf),
}
LAWS = {"gp": ("gaussian", False), "iclp-qr": ("laplace", False), "iclp-qr published": ("laplace", True)}


def least_eta(law, published, decay):
    """The threshold by hand: `eta b - b/2` must be at least 0, above 1/2, above 1 (powers of j)."""
    margin = 0.0 if law == "gaussian" else 1.0 if published else 0.5
    return 0.5 + margin / decay


def plan(mechanism, **changes):
    name, _, calibration = mechanism.partition(" ")
    facts = {
        "n": 500,
        "budget": Budget(1.0, 1e-6 if name == "gp" else 0.0),
        "bound": 1.0,
        "domain": as_domain((0, 1)),
        "neighbours": "replace-one",
        "mechanism": name,
        "calibration": calibration or "exact",
    }
    return make_plan(Request(**facts | changes))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mechanism", LAWS)
def test_a_power_above_the_threshold_is_planned_and_one_below_is_refused(kernel, mechanism):
    noise, decay = KERNELS[kernel]
    assert noise.decay(1) == decay
    law, published = LAWS[mechanism]
    least = least_eta(law, published, decay)
    assert plan(mechanism, kernel=noise, eta=least + 0.01).design.name == mechanism.partition(" ")[0]
    with pytest.raises(IncompatibleNoise, match="No finite scale"):
        plan(mechanism, kernel=noise, eta=least - 0.01)
    # Exactly there bounded is enough for Gaussian noise; a sum of 1/j is infinite.
    assert penalised(law, eta=least, penalty=0.1, decay=decay, published=published).possible == (law == "gaussian")


def test_the_default_power_is_compatible_with_every_kernel():
    for noise, _ in KERNELS.values():
        for mechanism in (*LAWS, "gp published", "iclp-ar", "iclp-ar published"):
            assert plan(mechanism, kernel=noise).predict().total < math.inf


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("decay", [2.0, 4.0, 6.0])
@pytest.mark.parametrize("beside", [-0.2, -0.05, 0.05, 0.2])
def test_the_decision_is_that_of_the_tails_of_the_sums(mechanism, decay, beside):
    """The sup, the sum of squares or the sum of `a_j / sqrt(lambda_j)` over [J, 2J] falls or grows with J."""
    law, published = LAWS[mechanism]
    eta = least_eta(law, published, decay) + beside
    pair = penalised(law, eta=eta, penalty=0.1, decay=decay, published=published)

    def tail(start):
        eigenvalues = np.arange(start, 2 * start, dtype=np.float64) ** -decay
        weights = eigenvalues**eta / (eigenvalues**eta + 0.1)
        ratios = weights / np.sqrt(eigenvalues)
        return ratios.max() if law == "gaussian" else ratios.sum() if published else float(ratios @ ratios)

    assert pair.possible == (tail(2**17) < tail(2**16))


@given(
    law=st.sampled_from(["gaussian", "laplace"]),
    published=st.booleans(),
    eta=st.floats(0.0, 4.0),
    more=st.floats(0.0, 4.0),
    decay=st.one_of(st.floats(1.1, 20.0), st.just(math.inf)),
)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_more_penalty_never_turns_a_possible_pair_into_an_impossible_one(law, published, eta, more, decay):
    one = penalised(law, eta=eta, penalty=0.1, decay=decay, published=published)
    other = penalised(law, eta=eta + more, penalty=0.1, decay=decay, published=published)
    assert one.possible <= other.possible
    assert not penalised(law, eta=eta, penalty=0.0, decay=decay, published=published).possible


@pytest.mark.parametrize(
    ("mechanism", "changes", "text"),
    [
        (
            "gp",
            {"kernel": Exponential(0.3), "eta": 0.4},
            "No finite scale of this gaussian process is private: a person's coordinates fall like j^-0.8 and the "
            "noise like j^-1, but they must fall at least as fast as the noise. Take eta of at least 0.5 with a "
            "penalty above 0, e.g. eta = 0.55, or state size to release finitely many coordinates.",
        ),
        (
            "iclp-qr",
            {"kernel": Matern(1.5, 0.2), "eta": 0.6},
            "No finite scale of this laplace process is private: a person's coordinates fall like j^-2.4 and the "
            "noise like j^-2, but they must fall faster by more than j^-0.5 than the noise. Take eta above 0.625 with "
            "a penalty above 0, e.g. eta = 0.7, or state size to release finitely many coordinates.",
        ),
        (
            "iclp-qr published",
            {"kernel": Matern(2.5, 0.2), "eta": 0.6},
            "No finite scale of this laplace process is private: a person's coordinates fall like j^-3.6 and the "
            "noise like j^-3, but they must fall faster by more than j^-1 than the noise. Take eta above 0.666667 "
            "with a penalty above 0, e.g. eta = 0.75, or state size to release finitely many coordinates.",
        ),
        (
            "gp",
            {"penalty": 0.0},
            "No finite scale of this gaussian process is private: a person's coordinates fall like j^-0 (not at all) "
            "and the noise like j^-2, but they must fall at least as fast as the noise. Take eta of at least 0.5 with "
            "a penalty above 0, e.g. eta = 0.55, or state size to release finitely many coordinates.",
        ),
        (
            "gp",
            {"kernel": Gaussian(0.1), "eta": 0.4},
            "No finite scale of this gaussian process is private: a person's coordinates fall like lambda_j^0.4 and "
            "the noise like lambda_j^0.5, but they must fall at least as fast as the noise. Take eta = 1 with a "
            "penalty above 0, or state size to release finitely many coordinates.",
        ),
        (
            "iclp-qr",
            {"kernel": Gaussian(0.1), "penalty": 0.0},
            "No finite scale of this laplace process is private: a person's coordinates fall like lambda_j^0 (not at "
            "all) and the noise like lambda_j^0.5, but they must fall faster than the noise. Take eta = 1 with a "
            "penalty above 0, or state size to release finitely many coordinates.",
        ),
        *(
            (
                "iclp-ar",
                nothing,
                "No finite scale of this laplace process is private: a person's coordinates fall like j^-0 (not at "
                "all) and the noise like j^-2, but they must fall faster by more than j^-0.5 than the noise. Take eta "
                "and penalty above 0, or state size to release finitely many coordinates.",
            )
            for nothing in ({"eta": 0.0}, {"penalty": 0.0})
        ),
    ],
)
def test_a_refusal_names_both_exponents_and_a_choice_that_works(mechanism, changes, text):
    with pytest.raises(IncompatibleNoise) as caught:
        plan(mechanism, **changes)
    assert str(caught.value) == text
    assert caught.value.exit_code == 3
    suggested = re.search(r"eta = ([\d.]+\d|\d)", text)
    if suggested:
        way_out = changes | {"eta": float(suggested.group(1)), "penalty": 0.01}
        assert plan(mechanism, **way_out).predict().total < math.inf


@given(decay=st.floats(1.01, 40.0), law=st.sampled_from(["gaussian", "laplace"]), published=st.booleans())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_power_that_is_suggested_is_always_compatible(decay, law, published):
    from dpfda.planning.papers import _way_out

    suggested = float(re.search(r"e\.g\. eta = ([\d.]+\d|\d+),", _way_out(law, decay, published=published)).group(1))
    assert penalised(law, eta=suggested, penalty=0.1, decay=decay, published=published).possible


# Truncation: private at any size, and said.

IMPOSSIBLE = {
    "gp": {"eta": 0.4},
    "iclp-qr": {"eta": 0.6},
    "iclp-qr published": {"penalty": 0.0, "kernel": Gaussian(0.1)},
    "iclp-ar": {"penalty": 0.0},
}


@pytest.mark.parametrize("mechanism", IMPOSSIBLE)
def test_finitely_many_coordinates_are_always_possible(mechanism):
    changes = IMPOSSIBLE[mechanism]
    made = plan(mechanism, size=8, **changes)
    assert made.basis.size == 8
    kernel = changes.get("kernel", Matern(1.5, 0.1))
    assert plan(mechanism, basis=mercer(kernel, (0, 1), 8), **changes).noise == made.noise


@pytest.mark.parametrize("mechanism", ["gp", "iclp-qr"])
def test_a_truncated_release_says_so_in_its_plan_and_on_its_card(mechanism):
    said = "truncated to 8 functions; in infinitely many no finite scale is known to be private"
    made = plan(mechanism, size=8, **IMPOSSIBLE[mechanism])
    assert dict(made.reasons)["basis"] == said
    assert f"  because     basis: {said}" in made.text()
    est = dpfda.MeanFunction(
        epsilon=1.0,
        delta=1e-6,
        bound=1.0,
        mechanism=MECHANISMS[mechanism].make(**IMPOSSIBLE[mechanism]),
        size=8,
        force=True,
    ).fit(np.zeros((30, 12)))
    assert dict(est.release_.certificate.chosen)["basis"] == said
    assert said in " ".join(est.release_.certificate.text().split())
    # The same size with a compatible pair is no truncation of anything impossible.
    assert dict(plan(mechanism, size=8).reasons)["basis"] == "the 8 leading eigenfunctions of the noise"


def test_a_stated_basis_says_what_is_wrong_with_it():
    with refused(UsageError, "basis"):
        plan("gp", basis=dpfda.bases.cosine((0, 1), 5))
    with refused(UsageError, "basis", "cosine"):
        plan("iclp-qr", basis="cosine")
    with refused(UsageError, "basis"):
        plan("gp", basis=mercer(Matern(1.5, 0.1), (0, 2), 5))
    # Doubles know 14 digits of this spectrum: beyond that there is nothing to draw noise from.
    with refused(UsageError, "size") as caught:
        plan("gp", basis=mercer(Gaussian(0.1), (0, 1), 60))
    assert 10 < int(caught.value.value) < 60  # functions that can carry noise


# Kernels that do not say how smooth they are.


@dataclass(frozen=True)
class Unknown(Kernel):
    """A kernel of the user's own, with the one method that is asked for."""

    def __call__(self, s, t):
        return np.exp(-np.abs(np.subtract.outer(np.ravel(s), np.ravel(t))))


@pytest.mark.parametrize("mechanism", ["gp", "iclp-qr", "iclp-ar"])
def test_a_kernel_of_unknown_smoothness_needs_everything_stated(mechanism):
    stated = {"eta": 1.0, "penalty": 0.01, "size": 6}
    made = plan(mechanism, kernel=Unknown(), **stated)
    assert made.basis.size == 6
    if mechanism != "iclp-ar":
        assert dict(made.reasons)["basis"].startswith("truncated to 6 functions")
    for missing in stated:
        with refused(UsageError, "kernel", Unknown()):
            plan(mechanism, kernel=Unknown(), **{name: stated[name] for name in stated if name != missing})


def test_a_tensor_kernel_must_fit_the_domain():
    with refused(UsageError, "dimension", 1):
        plan("gp", kernel=Tensor((Exponential(0.3), Exponential(0.3))))


# The value itself.


@pytest.mark.parametrize(
    ("pair", "possible"),
    [
        (Compatibility("gaussian", 2.0, 2.0), True),
        (Compatibility("gaussian", 1.99, 2.0), False),
        (Compatibility("laplace", 2.5, 2.0), False),
        (Compatibility("laplace", 2.51, 2.0), True),
        (Compatibility("laplace", 3.0, 2.0, published=True), False),
        (Compatibility("laplace", 3.01, 2.0, published=True), True),
        (Compatibility("laplace", 0.5, 0.5, of_eigenvalues=True), False),
        (Compatibility("laplace", 0.51, 0.5, of_eigenvalues=True), True),
        (Compatibility("laplace", 0.51, 0.5, published=True, of_eigenvalues=True), True),
        (Compatibility("gaussian", 0.5, 0.5, of_eigenvalues=True), True),
    ],
    ids=str,
)
def test_exponents_decide(pair, possible):
    assert pair.possible is possible
    if possible:
        pair.check("no way out is needed")
    else:
        with pytest.raises(IncompatibleNoise, match=r"Do something else\.$"):
            pair.check("Do something else.")


def test_wrong_laws_and_exponents_are_refused():
    with refused(UsageError, "law", "cauchy"):
        Compatibility("cauchy", 1.0, 1.0)
    for pair in ((math.nan, 1.0), (1.0, math.nan), (-1.0, 1.0)):
        with refused(UsageError, "summary", pair):
            Compatibility("laplace", *pair)
