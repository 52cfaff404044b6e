"""Figures 1 and 2 of Hall et al.: noise by the paper's formula, and less of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce import hall_densities as hall_figures
from dpfda.studies.outcome import Setting

FIGURES = {made.name: made for made in hall_figures.REPRODUCTIONS if made.name in ("hall-figure-1", "hall-figure-2")}


@pytest.fixture(scope="module", params=sorted(FIGURES))
def outcome(request):
    return FIGURES[request.param].run(Setting(quick=True, seed=3))


@pytest.fixture(scope="module")
def rows(outcome):
    return {row[0]: dict(zip(outcome.tables[0].columns, row, strict=True)) for row in outcome.tables[0].rows}


def test_points_are_those_of_the_mixture():
    """The mean of 100 points is within 5 standard errors, 0.1, of 0.5."""
    points = hall_figures.sample(SeededRandomness(1))
    assert points.shape == (100, 1)
    assert abs(points.mean() - 0.5) < 0.112
    grid = np.linspace(0, 1, 2001)
    assert np.trapezoid(hall_figures.truth(grid), grid) == pytest.approx(0.9986, abs=2e-4)


def test_the_published_noise_is_that_of_the_papers_formula(rows):
    """alpha = 1, beta = 0.1, n = 100, h = 0.1: 2.448 sqrt(2) / (100 sqrt(2 pi) 0.1) = 0.1381 in Figure 1."""
    (published,) = (row for name, row in rows.items() if name.endswith("published"))
    assert published["deviation of the noise"] == pytest.approx(published["by the paper's formula"], rel=5e-3)
    if published["method"].startswith("gp"):
        assert published["by the paper's formula"] == pytest.approx(0.1381, abs=1e-4)
    else:
        assert published["by the paper's formula"] == pytest.approx(math.sqrt(2 * math.log(20)) * 2 / 1.5832 / 10, 1e-3)


def test_exact_noise_is_less_and_the_default_is_nearer_to_the_truth(rows):
    (published,) = (row for name, row in rows.items() if name.endswith("published"))
    (exact,) = (row for name, row in rows.items() if name.endswith("exact"))
    assert exact["deviation of the noise"] < published["deviation of the noise"] / 2
    assert exact["sensitivity times n"] <= published["sensitivity times n"] * (1 + 1e-9)
    assert exact["error to non-private"] == pytest.approx(exact["integral of squared noise"], rel=0.05)
    assert rows[hall_figures.OURS]["error to truth"] < exact["error to truth"] < published["error to truth"]


def test_a_picture_has_a_panel_for_each_way(outcome, tmp_path):
    (figure,) = outcome.figures
    assert len(figure.axes) == len(outcome.tables[0].rows)
    assert any("Not printed, so chosen: deviation 0.1" in " ".join(note.split()) for note in outcome.notes)


@pytest.mark.audit
def test_the_same_seed_gives_the_same_table(outcome):
    (again,) = (made for made in FIGURES.values() if outcome.tables[0].title.startswith(made.title.split(":")[0]))
    assert again.run(Setting(quick=True, seed=3)).tables == outcome.tables
