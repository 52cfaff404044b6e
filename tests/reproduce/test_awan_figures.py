"""Figures 1 to 3 of Awan et al.: what is simulated, what is drawn and what the tables say of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce import awan_figures
from dpfda.reproduce.paper_curves import READINGS, encode, simulate, true_frame
from dpfda.studies.components import leading_frame, subspace_distance
from dpfda.studies.outcome import Setting
from dpfda.studies.simulators import GRID

(REPRODUCTION,) = awan_figures.REPRODUCTIONS


@pytest.fixture(scope="module")
def outcome():
    return REPRODUCTION.run(Setting(quick=True, seed=2))


def rows_of(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize("reading", READINGS)
def test_curves_have_the_printed_variances(reading):
    """Mean squares of 4,000 curves in plain sums over the grid, each within 5 standard errors."""
    values = simulate(4000, SeededRandomness(1), reading=reading)[:, :-1]  # 99 points of one whole period
    t = GRID[:-1]
    waves = {
        0: np.ones(99),
        1: math.sqrt(2) * np.cos(2 * math.pi * t),
        3: math.sqrt(2) * np.cos(4 * math.pi * t),
        30: math.sqrt(2) * np.sin(30 * math.pi * t),
    }
    # Scores 0.1 j^-4, errors 1/99; the fourth function has 64 instead, by chance or not.
    for place, square in {0: 0.1, 1: 0.1 / 16, 30: 0.0}.items():
        found = np.square(values @ waves[place] / 99)
        assert abs(found.mean() - square - 1 / 99) < 5 * found.std() / math.sqrt(4000)
    fourth = values @ waves[3] / 99
    assert np.square(fourth).mean() == pytest.approx(64, rel=0.1)
    assert (np.std(fourth) < 0.2) == (reading == "mean")


@pytest.mark.parametrize("reading", READINGS)
def test_forty_functions_hold_99_percent_as_printed(reading):
    sample = encode(simulate(500, SeededRandomness(3), reading=reading))
    assert 0.985 < sample.kept < 0.995
    assert sample.curves.shape == (500, 40)
    assert sample.eigenvalues[:3].tolist() == [1.0, 2.0**-3, 3.0**-3]
    longest = np.linalg.norm(sample.curves, axis=1).max()
    assert 0.97 < longest <= 1


def test_coordinates_of_a_combination_of_functions_are_its_coefficients():
    curve = 3 * math.sqrt(2) * np.sin(2 * math.pi * GRID) + 4 * math.sqrt(2) * np.cos(38 * math.pi * GRID)
    expected = np.zeros(40)
    expected[[2, 37]] = 0.6, 0.8
    sample = encode(curve[None])
    assert sample.curves[0] == pytest.approx(expected, abs=1e-12)
    assert sample.kept == pytest.approx(1.0)


@pytest.mark.parametrize("reading", READINGS)
def test_the_first_component_without_privacy_is_the_true_one(reading):
    sample = encode(simulate(500, SeededRandomness(5), reading=reading))
    assert subspace_distance(leading_frame(sample.curves, 1), true_frame()) < 1e-3


def test_every_size_and_epsilon_has_both_measures(outcome):
    rows = rows_of(outcome.tables[0])
    assert len(rows) == len({(row["weight"], row["n"], row["epsilon"]) for row in rows}) == 2 * 4 * 5
    for row in rows:
        assert all(math.isfinite(value) for value in row.values() if not isinstance(value, str))
        assert 0 <= row["ratio, all draws"] <= 1
        # For one component of centred or uncentred curves dominated by it, the two measures add up to about 1.
        assert row["ratio, all draws"] + row["distance, all draws"] == pytest.approx(1, abs=0.02)


def test_larger_samples_and_epsilons_find_the_component(outcome):
    found = {(row["weight"], row["n"], row["epsilon"]): row["ratio, all draws"] for row in rows_of(outcome.tables[0])}
    in_mean, in_scores = awan_figures.TITLES.values()
    assert found[in_mean, 100, 0.125] < 0.1 < 0.9 < found[in_mean, 1000, 0.125]
    assert found[in_mean, 100, 0.25] < 0.1 < 0.8 < found[in_mean, 100, 1.0]
    assert found[in_scores, 1000, 0.25] < 0.1 < 0.9 < found[in_scores, 1000, 2.0]


def test_the_shape_is_found_at_500_and_epsilon_1_with_the_weight_in_the_mean_only(outcome):
    rows = {(row["weight"], row["n"]): row for row in rows_of(outcome.tables[1])}
    in_mean, in_scores = awan_figures.TITLES.values()
    assert rows[in_mean, 500]["mean over 100 draws"] < 0.05
    assert rows[in_scores, 500]["mean over 100 draws"] > 0.3
    for words in (in_mean, in_scores):
        assert rows[words, 5000]["mean over 100 draws"] < rows[words, 500]["mean over 100 draws"] / 3
        assert rows[words, 5000]["non-private to true"] < 1e-4


def test_pictures_turn_components_the_way_of_the_true_one():
    frames = np.concatenate([true_frame()[None], -true_frame()[None]])
    assert (awan_figures._turned(frames) == true_frame()).all()
    assert (awan_figures._turned(-true_frame()) == true_frame()).all()


def test_the_pictures_show_100_curves_and_100_draws(outcome):
    curves, averages, instances = outcome.figures
    assert [len(ax.lines) for ax in curves.axes] == [100, 100]
    assert [len(ax.containers) for ax in averages.axes] == [5] * 4  # a line with error bars for each epsilon
    assert all(len(ax.lines) >= 100 + 3 for ax in instances.axes)


def test_the_same_seed_gives_the_same_tables_and_another_others(outcome):
    assert REPRODUCTION.run(Setting(quick=True, seed=2)).tables == outcome.tables
    assert REPRODUCTION.run(Setting(quick=True, seed=3)).tables != outcome.tables


@pytest.mark.audit
def test_it_writes_two_tables_and_three_pictures(tmp_path):
    _, paths = REPRODUCTION.write(Setting(quick=True), tmp_path)
    stem = "awan-figures-1-2-3"
    names = [f"{stem}.csv", f"{stem}-2.csv", f"{stem}.png", f"{stem}-2.png", f"{stem}-3.png"]
    assert [path.name for path in paths] == names
    assert "NOT PRIVATE" in paths[0].read_text().splitlines()[0]
