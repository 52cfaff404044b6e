"""Kernel machines: accuracy against epsilon beside scikit-learn's and our own without noise, and how time grows."""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_circles, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from dpfda.kernels import Gaussian
from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor
from dpfda.statistics.machines.losses import loss_of
from dpfda.statistics.machines.release import into
from dpfda.statistics.machines.solver import minimise

EPSILONS = (0.1, 0.3, 1.0, 3.0)
PENALTIES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)


def moons(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two half-moons in the plane."""
    x, y = make_moons(n, noise=0.25, random_state=seed)
    return x, y


def circles(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two circles in the plane."""
    x, y = make_circles(n, noise=0.12, factor=0.5, random_state=seed)
    return x, y


def mixture(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four Gaussian clouds in ten dimensions, two of each class."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(4, 10))
    cloud = rng.integers(0, 4, n)
    return 0.9 * centres[cloud] + 0.8 * rng.normal(size=(n, 10)), cloud % 2


PROBLEMS = {
    "moons, 2-D": (moons, [(-2.0, 3.0), (-1.5, 2.0)], Gaussian(0.6)),
    "circles, 2-D": (circles, [(-1.6, 1.6)] * 2, Gaussian(0.6)),
    "mixture, 10-D": (mixture, [(-4.0, 4.0)] * 10, Gaussian(10.0)),
}


def without_noise(
    est: KernelClassifier, x: np.ndarray, y: np.ndarray, others: np.ndarray, theirs: np.ndarray
) -> tuple[float, float]:
    """The best accuracy of the same features without noise over many penalties, and that penalty."""
    basis = est.release_.basis
    table, test = (basis.matrix(into(basis.domain, points)) for points in (x, others))
    found = []
    for penalty in PENALTIES:
        tolerance = 0.05 / (penalty * len(x))
        shares = np.full(len(x), 1 / len(x))
        fitted = minimise(table, 2.0 * y - 1, shares, loss=loss_of("hinge"), penalty=penalty, tolerance=tolerance)
        found.append((float(np.mean((test @ fitted.weights > 0) == theirs)), penalty))
    return max(found)


def accuracy(console: Console, *, n: int, repetitions: int) -> None:
    """Print accuracies on fresh records, penalties by the public rule."""
    for name, (make, domain, kernel) in PROBLEMS.items():
        (x, y), (others, theirs) = make(n, 1), make(5000, 2)
        peer = SVC(C=1.0, gamma=1 / kernel.rho).fit(x, y).score(others, theirs)
        table = Table("epsilon", "delta", "mechanism", "features", "penalty", "accuracy", title=f"{name}, n = {n}")
        for delta in (1e-6, 0.0):
            for epsilon in EPSILONS:
                est = KernelClassifier(
                    epsilon=epsilon, delta=delta, kernel=kernel, domain=domain, classes=(0, 1), force=True
                )
                scores = [est.fit(x, y).score(others, theirs) for _ in range(repetitions)]
                plan = est.plan_
                table.add_row(
                    f"{epsilon:g}",
                    f"{delta:g}",
                    plan.name,
                    f"{plan.basis.size} {plan.basis.family}",
                    f"{plan.penalty:.2g}",
                    f"{np.mean(scores):.4f} ± {np.std(scores):.4f}",
                )
            best, penalty = without_noise(est, x, y, others, theirs)
            table.add_row(
                "no noise", "", "", f"{est.plan_.basis.size} {est.plan_.basis.family}", f"{penalty:g}", f"{best:.4f}"
            )
        table.add_row("no noise", "", "SVC of scikit-learn, C = 1", "", "", f"{peer:.4f}")
        console.print(table)


def penalties(console: Console, *, n: int, repetitions: int) -> None:
    """Print what the public rule for the penalty gains or loses against penalties chosen by hand, at (1, 1e-6)."""
    table = Table("problem", *(f"{penalty:g}" for penalty in PENALTIES[1:5]), "rule", title="accuracy by penalty")
    for name, (make, domain, kernel) in PROBLEMS.items():
        (x, y), (others, theirs) = make(n, 1), make(5000, 2)
        row = []
        for penalty in (*PENALTIES[1:5], None):
            est = KernelClassifier(
                epsilon=1.0, delta=1e-6, kernel=kernel, domain=domain, penalty=penalty, classes=(0, 1), force=True
            )
            row.append(f"{np.mean([est.fit(x, y).score(others, theirs) for _ in range(repetitions)]):.4f}")
        table.add_row(name, *row)
    console.print(table)


def regression(console: Console, *, repetitions: int) -> None:
    """Print errors of regressors whose penalty is by the public rule beside penalties that are larger or smaller."""
    factors = (0.3, 1.0, 3.0)
    table = Table(
        "loss", "delta", "n", *(f"{factor:g} times" for factor in factors), "kernel ridge", title="error of sin(6x)"
    )
    for loss in ("huber", "squared", "absolute"):
        for delta, n in ((1e-6, 1000), (1e-6, 20_000), (0.0, 1000), (0.0, 20_000)):
            known = {"epsilon": 1.0, "delta": delta, "response_bound": 1.5, "loss": loss, "force": True}
            ruled = KernelRegressor(**known).plan(n, dimension=1)
            errors = []
            for factor in factors:
                est = KernelRegressor(**known, penalty=factor * ruled.penalty)
                errors.append(_sine_error(est, n, repetitions))
            # Of scikit-learn, without noise, on as many records as it takes in a moment.
            peer = KernelRidge(alpha=1.0, kernel="rbf", gamma=1 / ruled.request.known_kernel.rho)
            errors.append(_sine_error(peer, min(n, 2000), 1))
            table.add_row(loss, f"{delta:g}", f"{n}", *(f"{error:.3f}" for error in errors))
    console.print(table)


def _sine_error(est: KernelRegressor | KernelRidge, n: int, repetitions: int) -> float:
    """Root mean square over the line and over repetitions."""
    points, squares = np.linspace(0, 1, 500)[:, None], []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 1, (n, 1))
        est.fit(x, np.sin(6 * x[:, 0]) + 0.2 * rng.normal(size=n))
        squares.append(np.mean((est.predict(points) - np.sin(6 * points[:, 0])) ** 2))
    return float(np.sqrt(np.mean(squares)))


def growth(console: Console, *, most: int) -> None:
    """Print how long a fit takes as n grows: 500 features, ten dimensions."""
    table = Table("n", "seconds", title="time of a fit, 500 features in 10-D")
    n = 10_000
    while n <= most:
        x, y = mixture(n, 3)
        est = KernelClassifier(
            epsilon=1.0, delta=1e-6, kernel=Gaussian(10.0), domain=[(-4.0, 4.0)] * 10, features=500, force=True
        )
        start = time.perf_counter()
        est.fit(x, y)
        table.add_row(f"{n}", f"{time.perf_counter() - start:.1f}")
        n = round(n * 10**0.5)
    console.print(table)


def run(console: Console, *, quick: bool = False) -> None:
    """All of it; quick in a minute or two."""
    accuracy(console, n=10_000, repetitions=2 if quick else 10)
    penalties(console, n=10_000, repetitions=1 if quick else 5)
    regression(console, repetitions=2 if quick else 10)
    growth(console, most=32_000 if quick else 100_000)


if __name__ == "__main__":
    run(Console(width=120), quick=True)
