"""Figure 3 of Hall et al.: a machine that loses little, and less the larger epsilon is."""

from __future__ import annotations

import numpy as np
import pytest

from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce import hall_machine
from dpfda.studies.outcome import Setting

(REPRODUCTION,) = hall_machine.REPRODUCTIONS


@pytest.fixture(scope="module")
def outcome():
    return REPRODUCTION.run(Setting(quick=True, seed=3))


@pytest.fixture(scope="module")
def rows(outcome):
    return {row[1]: dict(zip(outcome.tables[0].columns, row, strict=True)) for row in outcome.tables[0].rows}


def test_points_lie_in_the_square_and_both_classes_are_there():
    points, labels = hall_machine.half_moons(2000, SeededRandomness(1))
    assert points.min() >= 0
    assert points.max() <= 1
    assert 0.4 < labels.mean() < 0.6
    # The upper moon lies higher and to the left.
    upper, lower = points[labels == 1].mean(axis=0), points[labels == 0].mean(axis=0)
    assert upper[0] < lower[0]
    assert upper[1] > lower[1]


@pytest.mark.audit
def test_accuracy_stands_against_epsilon(rows):
    assert list(rows) == [0.1, 1.0, 8.0]
    for row in rows.values():
        assert row["n"] == 1000
        assert 0.9 < row["not private"] < 1
        assert 0.4 < row["private, all by rules"] <= 1
    assert rows[8.0]["the paper's mechanism"] > rows[8.0]["not private"] - 0.04
    # At epsilon = 8 and n = 1000 next to nothing is lost.
    assert rows[8.0]["private, same kernel and penalty"] > rows[8.0]["not private"] - 0.03
    assert rows[1.0]["private, same kernel and penalty"] > 0.85


def test_both_machines_have_the_same_kernel_and_penalty():
    """SVC minimises `C sum hinge + |f|^2 / 2`: C = 1/(2 penalty n) makes it the mean hinge loss plus the penalty."""
    svc = hall_machine.unprotected(500)
    assert pytest.approx(1 / (2 * 0.01 * 500)) == svc.C
    assert svc.gamma * hall_machine.KERNEL.rho == pytest.approx(1)
    stated = hall_machine.machine(1.0, SeededRandomness(1), stated=True)
    assert (stated.kernel, stated.penalty, stated.delta) == (hall_machine.KERNEL, 0.01, 1e-6)
    assert hall_machine.machine(1.0, SeededRandomness(1), stated=False).kernel is None


def test_the_papers_mechanism_is_the_exact_minimiser_with_a_gaussian_process():
    randomness = SeededRandomness(1)
    made = hall_machine.of_the_paper(8.0, randomness)
    assert (made.mechanism, made.kernel, made.penalty) == ("gp", hall_machine.KERNEL, 0.01)
    points, labels = hall_machine.half_moons(400, randomness)
    assert made.fit(points, labels).score(*hall_machine.half_moons(200, randomness)) > 0.85


@pytest.mark.audit
def test_the_picture_has_two_planes_with_all_points(outcome, tmp_path):
    (figure,) = outcome.figures
    assert [ax.get_title() for ax in figure.axes] == ["not private", "the paper's mechanism, epsilon = 1, delta = 1e-6"]
    for ax in figure.axes:
        assert sum(len(np.atleast_1d(line.get_xdata())) for line in ax.get_lines()) == hall_machine.SHOWN
