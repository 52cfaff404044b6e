"""The solver: always within a public tolerance, by a proof that holds against independent solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from dpfda.statistics.machines.losses import CLASSIFIERS, REGRESSORS, Smooth, loss_of
from dpfda.statistics.machines.solver import minimise, tolerance_of

NAMES = [*CLASSIFIERS, *REGRESSORS]


def problem(name, n, p, seed, kind="plain", bound=1.0, reach=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, p))
    if kind == "duplicates":
        z[:] = z[0]
    if kind == "three points":
        z = z[rng.integers(0, min(n, 3), n)]
    if kind == "axes":
        z = np.eye(p)[rng.integers(0, p, n)]
    if kind == "tiny coordinates":
        z[:, 1:] *= 1e-9
    z *= reach / np.maximum(np.linalg.norm(z, axis=1), 1e-300)[:, None]
    if kind == "nothing":
        z[:] = 0.0
    if name in CLASSIFIERS:
        y = np.where(rng.random(n) < rng.choice([0.0, 0.5, 0.9]), 1.0, -1.0)
        return loss_of(name), z, y
    y = np.clip(rng.normal(size=n) * bound, -bound, bound)
    return loss_of(name, bound=bound), z, np.round(y) if seed % 2 else y


def solved(loss, z, y, penalty, shares=None, reach=1.0):
    n, p = z.shape
    moved = loss.lipschitz * reach / (penalty * n)
    tolerance = tolerance_of(loss, penalty=penalty, reach=reach, units=n, size=p, moved=moved)
    shares = np.full(n, 1 / n) if shares is None else shares
    return minimise(z, y, shares, loss=loss, penalty=penalty, tolerance=tolerance), tolerance


KINDS = ["plain", "duplicates", "three points", "axes", "tiny coordinates", "nothing"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_tolerance_is_always_proven_whatever_the_records(name, kind):
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        n, p = int(10 ** rng.uniform(0, 3)), int(10 ** rng.uniform(0, 2))
        reach, bound = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-2, 2)
        loss, z, y = problem(name, n, p, seed, kind, bound, reach)
        penalty = 10 ** rng.uniform(-5, 2) * reach**2 * loss.lipschitz / loss.scale
        found, tolerance = solved(loss, z, y, penalty, reach=reach)
        assert found.distance <= tolerance


@pytest.mark.parametrize("name", NAMES)
def test_one_record_and_no_share_at_all_are_no_problem(name):
    loss, z, y = problem(name, 1, 3, 0)
    found, tolerance = solved(loss, z, y, 0.1)
    assert found.distance <= tolerance
    loss, z, y = problem(name, 40, 3, 0)
    found, _ = solved(loss, z, y, 0.1, shares=np.zeros(40))
    assert not found.weights.any()
    empty, _ = solved(loss, z[:1], y[:1], 0.1, shares=np.zeros(1))
    assert not empty.weights.any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("penalty", [1.0, 0.03, 0.001])
def test_no_independent_solver_finds_less_and_the_proven_distance_holds(name, penalty):
    loss, z, y = problem(name, 60, 4, 3)
    narrow = Smooth(1e-9, loss.smooth(60).centres)

    def risk(w):
        return float(np.mean(loss.value(loss.argument(z @ w, y), narrow)) + penalty * w @ w)

    found, _ = solved(loss, z, y, penalty)
    start = found.weights
    best = min(
        (minimize(risk, start, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-15, "maxiter": 20_000}),),
        key=lambda result: result.fun,
    )
    # Strong convexity: a point whose risk is lower by g is at most sqrt(g / penalty) nearer to the minimiser.
    assert risk(start) - best.fun <= penalty * found.distance**2 + 2e-9
    assert np.linalg.norm(best.x - start) <= found.distance + np.sqrt(3e-9 / penalty)


def test_squares_have_the_closed_form_of_ridge_regression():
    loss, z, y = problem("squared", 500, 6, 2)
    penalty = 0.3  # at least a quarter: nothing is continued in straight lines
    found, _ = solved(loss, z, y, penalty)
    exact = np.linalg.solve(z.T @ z / len(z) + penalty * np.eye(6), z.T @ y / len(z))
    assert np.linalg.norm(found.weights - exact) <= found.distance + 1e-13
    assert np.linalg.norm(exact) <= 1 / (2 * np.sqrt(penalty))  # the bound that makes squares admissible


def test_many_records_begin_with_a_guess_and_end_at_the_same_place():
    loss, z, y = problem("hinge", 9000, 5, 4)
    found, tolerance = solved(loss, z, y, 0.01)
    again, _ = solved(loss, z[::-1], y[::-1], 0.01)
    assert found.distance <= tolerance
    assert np.linalg.norm(found.weights - again.weights) <= found.distance + again.distance


def test_the_proof_grows_where_weights_are_wrong():
    from dpfda.statistics.machines.solver import _Problem

    for name in NAMES:
        loss, z, y = problem(name, 80, 4, 5)
        found, _ = solved(loss, z, y, 0.05)
        shifted = found.weights + 0.01
        claimed, _ = _Problem(z, y, np.full(80, 1 / 80), loss, 0.05).proven(
            shifted, Smooth(1e-4, loss.smooth(80).centres)
        )
        assert claimed.distance >= np.linalg.norm(shifted - found.weights) - found.distance


def test_the_tolerance_is_a_hundredth_until_doubles_run_out():
    loss = loss_of("hinge")
    wide = tolerance_of(loss, penalty=0.01, reach=1.0, units=1e4, size=100, moved=0.01)
    assert wide == 0.0001
    tight = tolerance_of(loss, penalty=1e-4, reach=1.0, units=1e7, size=1000, moved=1e-3)
    assert tight > 1e-5
