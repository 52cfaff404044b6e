"""Figure 3 of Hall et al.: a kernel support vector machine in the plane, before and after its noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.kernels import Gaussian
from dpfda.mechanisms.randomness import SeededRandomness
from dpfda.statistics.machines.estimator import KernelClassifier
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table, leave_room

LENGTH, PENALTY, DELTA = 0.15, 0.01, 1e-6
KERNEL = Gaussian.from_length(LENGTH)
DOMAIN = ((0.0, 1.0), (0.0, 1.0))
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = (1000, 10_000)
SHOWN = 1000  # points in the picture, at epsilon = 1
TESTED = 5000
EXACT = 2000  # records up to which the exact minimiser is asked for
ASKED = 1000  # new points of which the process is asked: each answer is one more draw
SIDE = 60  # answers along each side of the picture
COLUMNS = (
    "n",
    "epsilon",
    "not private",
    "the paper's mechanism",
    "private, same kernel and penalty",
    "standard error",
    "private, all by rules",
)
NOTES = (
    "The paper says: Gaussian kernel, hinge loss, two classes in the plane; it prints neither points, n, penalty, "
    "bandwidth nor the guarantee, and no number. Here: two interleaved half-moons in the unit square, kernel length "
    f"{LENGTH:g}, penalty {PENALTY:g} on the squared norm, delta = 1e-6.",
    "The paper's mechanism is the exact minimiser with the Gaussian process of its kernel, drawn where it is asked: "
    'KernelClassifier(mechanism="gp"). Its sensitivity is 1/(penalty n) of Section 4.3 with what the solver may be off '
    "added to it; noise is by the exact privacy curve, less than c(beta)/alpha of Proposition 3. It is in the picture, "
    f"and in the table for n up to {EXACT}.",
    "The other private machines are minimisers in public features of the kernel, with Gaussian noise on the weights: "
    "on the span of the features that is the law of the process, for any number of records.",
    f"Accuracies are shares of {TESTED} new points, of {ASKED} for the process, means over samples, one release each. "
    "Not private: scikit-learn's SVC with C = 1/(2 penalty n). The last column has kernel, penalty and noise from "
    "public rules alone.",
)


def half_moons(n: int, randomness: SeededRandomness) -> tuple[Array, Integers]:
    """Points of two interleaved half-circles, blurred, in the unit square, and which of them each belongs to."""
    upper = np.asarray(randomness.uniform((n,)) < 0.5)
    angle = np.pi * randomness.uniform((n,))
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    points = np.stack([x, y], axis=1) + 0.2 * randomness.normal((n, 2))
    return np.clip((points + np.array([1.5, 1.25])) / np.array([4.0, 3.0]), 0.0, 1.0), upper.astype(np.int64)


def machine(
    epsilon: float, randomness: SeededRandomness, *, stated: bool, mechanism: str = "gaussian"
) -> KernelClassifier:
    """The private machine, with the kernel and penalty of the other, or with all of it by rules."""
    settings: dict[str, Any] = {"kernel": KERNEL, "penalty": PENALTY, "mechanism": mechanism} if stated else {}
    return KernelClassifier(
        epsilon=epsilon, delta=DELTA, domain=DOMAIN, classes=(0, 1), randomness=randomness, **settings, force=True
    )


def of_the_paper(epsilon: float, randomness: SeededRandomness) -> KernelClassifier:
    """The exact minimiser with process noise at the points asked for (Hall et al., Corollary 9 and Section 5)."""
    return machine(epsilon, randomness, stated=True, mechanism="gp")


def unprotected(n: int) -> Any:
    """The machine that nobody protects."""
    from sklearn.svm import SVC

    return SVC(C=1 / (2 * PENALTY * n), gamma=1 / KERNEL.rho)


def run(setting: Setting) -> Outcome:
    """Accuracy against epsilon, and the two halves of the picture."""
    randomness = SeededRandomness(setting.seed)
    tested, labels = half_moons(TESTED, randomness)
    rows: list[tuple[object, ...]] = []
    repetitions = 2 if setting.quick else 4
    for n in SIZES[:1] if setting.quick else SIZES:
        samples = [half_moons(n, randomness) for _ in range(repetitions)]
        plain = float(np.mean([unprotected(n).fit(*sample).score(tested, labels) for sample in samples]))
        for epsilon in setting.track(EPSILONS[::3] if setting.quick else EPSILONS, f"{n} points, values of epsilon"):
            scores = [
                [machine(epsilon, randomness, stated=stated).fit(*sample).score(tested, labels) for sample in samples]
                for stated in (True, False)
            ]
            spread = float(np.std(scores[0], ddof=1)) / repetitions**0.5
            process = None
            if n <= EXACT:
                fitted = [of_the_paper(epsilon, randomness).fit(*sample) for sample in samples]
                process = float(np.mean([each.score(tested[:ASKED], labels[:ASKED]) for each in fitted]))
            rows.append((n, epsilon, plain, process, float(np.mean(scores[0])), spread, float(np.mean(scores[1]))))
    title = "Figure 3 of Hall et al.: accuracy of a kernel support vector machine against epsilon, delta = 1e-6"
    return Outcome((Table(title, COLUMNS, tuple(rows)),), (draw(randomness),), NOTES)


def draw(randomness: SeededRandomness) -> Any:
    """The plane coloured by the predicted class, before and after."""
    from matplotlib.figure import Figure

    points, labels = half_moons(SHOWN, randomness)
    side = np.linspace(0, 1, SIDE)
    plane = np.stack([axis.ravel() for axis in np.meshgrid(side, side)], axis=1)
    figure = Figure(figsize=(8, 12), layout="constrained")
    leave_room(figure)
    predicted = {
        "not private": unprotected(SHOWN).fit(points, labels).predict(plane),
        "the paper's mechanism, epsilon = 1, delta = 1e-6": of_the_paper(1.0, randomness)
        .fit(points, labels)
        .predict(plane),
    }
    for ax, (name, classes) in zip(figure.subplots(2, 1), predicted.items(), strict=True):
        ax.contourf(side, side, classes.reshape(SIDE, SIDE), levels=[-0.5, 0.5, 1.5], colors=["#cfe0f3", "#f6d3cf"])
        for label, mark, colour in ((0, "o", "C0"), (1, "x", "C3")):
            mine = labels == label
            ax.plot(points[mine, 0], points[mine, 1], mark, color=colour, ms=3)
        ax.set_title(name, fontsize=10)
        ax.set_aspect("equal")
    figure.suptitle(f"Figure 3 of Hall et al., on {SHOWN} simulated points", fontsize=10)
    return figure


REPRODUCTIONS = (
    Reproduction("hall-figure-3", "Figure 3 of Hall et al.: a kernel machine before and after its noise", run),
)
