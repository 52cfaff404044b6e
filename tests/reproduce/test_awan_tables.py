"""Tables 1 and 2 of Awan et al. on simulated files of the same layout; the data themselves are elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.errors import DataError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.frames import draw_frames
from dpfda.reproduce import awan_tables, paper_curves
from dpfda.reproduce import awan_tables as awan_published
from dpfda.reproduce.awan_tables import ComponentCell, MeanOfDraws
from dpfda.studies.components import subspace_distance, variance_ratio
from dpfda.studies.outcome import Setting

AGES = [1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13.5, 15, 16, 17, 18]
TABLES = {made.name: made for made in awan_tables.REPRODUCTIONS}


def curves(n, points, seed):
    t = (np.array(points) - 1) / (points[-1] - 1)
    draws = SeededRandomness(seed).normal((n, 3))
    return 80 + 90 * t + draws @ np.array([4 + 6 * t, 3 * np.sin(5 * t), 2 * np.cos(9 * t)])


def write(path, header, rows):
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join([",".join(header), *lines]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Both files, small: 40 children at 17 ages, 90 scans of 31 values of which one has a gap."""
    path = tmp_path_factory.mktemp("data")
    heights = curves(40, AGES, 1)
    header = ["id", "sex", *(f"age_{age:g}" for age in AGES)]
    write(path / "berkeley_growth.csv", header, [[f"c{i}", "f", *row] for i, row in enumerate(heights)])
    profiles = [list(row) for row in curves(90, range(1, 32), 2)]
    profiles[7][3] = ""
    header = ["ID", "visit", *(f"t{j:03d}" for j in range(1, 32))]
    write(path / "dti_cca.csv", header, [[i, 1, *row] for i, row in enumerate(profiles)])
    return path


@pytest.fixture(scope="module")
def outcomes(folder):
    return {name: made.run(Setting(data=folder, quick=True, seed=4)) for name, made in TABLES.items()}


def rows_of(outcome):
    return [dict(zip(outcome.tables[0].columns, row, strict=True)) for row in outcome.tables[0].rows]


@pytest.mark.audit
@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_30_cells_and_none_is_missing(outcomes, name):
    rows = rows_of(outcomes[name])
    assert len(rows) == len({(row["data set"], row["k"], row["epsilon"]) for row in rows}) == 30
    assert all(math.isfinite(value) for row in rows for value in row.values() if not isinstance(value, str))


@pytest.mark.audit
@pytest.mark.parametrize("name", TABLES)
def test_every_z_is_a_difference_over_its_standard_error(outcomes, name):
    for row in rows_of(outcomes[name]):
        published, error = row["published"], row["published se"]
        assert row["z"] == pytest.approx((row["exact mean"] - published) / error)
        assert row["z of 100"] == pytest.approx((row["mean of 100"] - published) / error)
        both = math.sqrt(error**2 + row["se of 100"] ** 2)
        assert row["z of difference"] == pytest.approx((row["mean of 100"] - published) / both)


@pytest.mark.audit
@pytest.mark.parametrize("name", TABLES)
def test_means_of_100_draws_are_as_far_from_the_exact_ones_as_chance_allows(outcomes, name):
    """Thirty cells, 2,000 draws for the near-exact mean: a chi-square above 30 + 75 has level 1e-9 if normal."""
    off = [(row["mean of 100"] - row["exact mean"]) / row["se of 100"] for row in rows_of(outcomes[name])]
    assert 5 < np.square(off).sum() < 105


def test_published_values_stand_in_their_cells():
    """Corners and centre of the printed tables, read once more from the paper."""
    ratio, distance = awan_published.VARIANCE_RATIO, awan_published.SUBSPACE_DISTANCE
    assert ratio["Berkeley"][0] == ((0.264, 0.024), (0.494, 0.023), (0.672, 0.020))
    assert ratio["Berkeley"][3] == ((0.550, 0.025), (0.680, 0.018), (0.775, 0.015))
    assert ratio["DTI"][4] == ((0.933, 0.006), (0.928, 0.004), (0.939, 0.003))
    assert distance["Berkeley"][0] == ((0.776, 0.025), (1.115, 0.036), (1.100, 0.034))
    assert distance["DTI"][2] == ((0.296, 0.021), (0.861, 0.027), (0.982, 0.030))
    assert distance["DTI"][4] == ((0.073, 0.006), (0.640, 0.030), (0.758, 0.035))
    for rows in (*ratio.values(), *distance.values()):
        assert np.array(rows).shape == (5, 3, 2)


# Source: long Markov chains by the authors' procedure at settings that give the tables, run once for comparison: means
# of (variance ratio, subspace distance), by data set, k and epsilon.
LONG_CHAIN = {
    ("DTI", 1, 0.5): (0.7247, 0.2975),
    ("DTI", 2, 1.0): (0.8870, 0.7505),
    ("DTI", 3, 0.25): (0.8037, 1.0707),
    ("Berkeley", 1, 2.0): (0.7371, 0.2805),
    ("Berkeley", 2, 0.25): (0.5148, 1.0656),
}


@pytest.mark.parametrize("place", LONG_CHAIN, ids=lambda place: f"{place[0]} k={place[1]} epsilon={place[2]}")
def test_published_values_lie_within_three_standard_errors_of_a_long_chain(place):
    data, k, epsilon = place
    i = awan_published.EPSILONS.index(epsilon)
    printed = (awan_published.VARIANCE_RATIO, awan_published.SUBSPACE_DISTANCE)
    for table, mean in zip(printed, LONG_CHAIN[place], strict=True):
        value, error = table[data][i][k - 1]
        assert abs(value - mean) < 3 * error


def test_coordinates_follow_the_settings_in_plain_algebra():
    """Sums point by point: eigenfunctions of the kernel with equal weights 17/16, norms with weights 1."""
    heights, points = curves(12, AGES, 3), np.array(AGES, dtype=float)
    found = paper_curves.coordinates(points, heights, 0.03)
    centred = heights - heights.mean(axis=0)
    centred = centred / max(math.sqrt(sum(value**2 for value in row)) for row in centred)
    step = 17 / 16
    kernel = np.array([[math.exp(-0.03 * (s - t) ** 2) for t in AGES] for s in AGES])
    # The kernel's operator takes f to the sum of k(s, t) f(t) times the step.
    values, vectors = np.linalg.eigh(kernel * step)
    order = np.argsort(values)[::-1][:5]
    assert found.eigenvalues == pytest.approx(values[order], rel=1e-9)
    functions = vectors[:, order] / math.sqrt(step)
    expected = (centred * step) @ functions
    assert np.abs(found.curves) == pytest.approx(np.abs(expected), abs=1e-9)
    assert found.kept == pytest.approx(values[order].sum() / (17 * step), rel=1e-9)
    squares = np.sort(np.linalg.eigvalsh(expected.T @ expected))[::-1]
    assert found.explained == pytest.approx(np.cumsum(squares) / squares.sum(), rel=1e-9)


def test_the_base_measure_carries_no_epsilon():
    sample = paper_curves.Coordinates(np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([2.0, 0.5]), 1.0)
    assert sample.exponent(0.5).tolist() == [[(4.5 - 0.5) / 2, 0.75], [0.75, (2.5 - 2) / 2]]


def test_draws_follow_the_density_by_weighing_uniform_frames():
    """Importance weights on 200,000 uniform frames against 20,000 exact draws: level 1e-6, seeded."""
    scores = SeededRandomness(8).normal((60, 5)) * np.array([0.3, 0.2, 0.15, 0.1, 0.05])
    sample = paper_curves.Coordinates(scores, np.array([4.0, 2.0, 1.0, 0.5, 0.3]), 1.0)
    uniform = draw_frames(np.zeros((5, 5)), 2, 200_000, randomness=SeededRandomness(9))
    exponent = np.einsum("sik,ij,sjk->s", uniform, sample.exponent(1.0), uniform)
    weights = np.exp(exponent - exponent.max())
    weights /= weights.sum()
    drawn = awan_tables.measure(sample, awan_tables.exponential(sample, 2, 1.0, 20_000, SeededRandomness(10)))
    for name, values in awan_tables.measure(sample, uniform).items():
        mean = weights @ values
        variance = np.square(weights) @ np.square(values - mean) + drawn[name].var() / 20_000
        assert abs(drawn[name].mean() - mean) < 4.9 * math.sqrt(variance)


def test_both_measures_are_taken_against_the_components_of_the_same_curves():
    sample = paper_curves.Coordinates(np.diag([3.0, 2.0, 1.0]), np.ones(3), 1.0)
    frames = np.eye(3)[None, :, [0, 2]]
    found = awan_tables.measure(sample, frames)
    assert found["variance ratio"] == pytest.approx([10 / 13])
    assert found["subspace distance"] == pytest.approx([1.0])
    assert variance_ratio(sample.curves, frames, np.eye(3)[:, :2]) == pytest.approx(found["variance ratio"])
    assert subspace_distance(frames, np.eye(3)[:, :2]) == pytest.approx(found["subspace distance"])


def test_the_summary_takes_the_root_of_mean_squares_over_both_tables():
    def cell(z, measure):
        return ComponentCell(
            "DTI",
            1,
            1.0,
            measure,
            MeanOfDraws(0.5, 0.03),
            MeanOfDraws(0.5 + 0.05 * z, 0.04),
            MeanOfDraws(0.5 + 0.03 * z, 0.001),
        )

    here, there = cell(3.0, "variance ratio"), cell(-4.0, "subspace distance")
    text = awan_tables.summary([here, there], [here], 1)
    assert "The 1 cells of Table 1: root mean square z 3.00; z of difference 3.00; z of 100 5.00." in text
    assert "The 2 cells of Tables 1 and 2: root mean square z 3.54; z of difference 3.54; z of 100 5.89." in text
    assert text.endswith("The largest z of all is 4.0.")


@pytest.mark.audit
def test_the_two_tables_tell_of_the_same_draws(outcomes):
    ends = {outcome.notes[-1].split("The 60 cells")[1] for outcome in outcomes.values()}
    assert len(ends) == 1


def test_methods_beside_add_their_mean_and_error_to_every_row():
    sample = paper_curves.coordinates(np.array(AGES, dtype=float), curves(40, AGES, 1), 0.03)

    def without_privacy(given, k, epsilon, size, randomness):
        return np.broadcast_to(awan_tables.leading_frame(given.curves, k), (size, 5, k))

    found = list(awan_tables.cells("Berkeley", sample, SeededRandomness(1), many=10, beside={"none": without_privacy}))
    assert len(found) == 30
    for cell in found:
        best = 1.0 if cell.measure == "variance ratio" else 0.0
        assert cell.row[len(awan_tables.COLUMNS) :] == pytest.approx((best, 0.0), abs=1e-12)


@pytest.mark.audit
def test_the_same_seed_gives_the_same_table_and_another_another(folder, outcomes):
    made = TABLES["awan-table-1"]
    assert made.run(Setting(data=folder, quick=True, seed=4)).tables == outcomes["awan-table-1"].tables
    assert made.run(Setting(data=folder, quick=True, seed=5)).tables != outcomes["awan-table-1"].tables


@pytest.mark.audit
def test_it_writes_a_table_and_a_picture(folder, tmp_path):
    _, paths = TABLES["awan-table-2"].write(Setting(data=folder, quick=True), tmp_path)
    assert [path.name for path in paths] == ["awan-table-2.csv", "awan-table-2.png"]
    text = paths[0].read_text().splitlines()
    assert "NOT PRIVATE" in text[0]
    assert len(text) == 2 + 30


def test_without_data_it_says_which_file_it_needs(tmp_path):
    with pytest.raises(DataError, match=r"This needs the file berkeley_growth\.csv\."):
        TABLES["awan-table-1"].run(Setting(data=tmp_path))


def test_a_file_without_ages_is_refused(tmp_path):
    write(tmp_path / "berkeley_growth.csv", ["id", "h1"], [["a", 1.0]])
    with pytest.raises(DataError, match=r"berkeley_growth\.csv has no curves of the expected layout: columns age_\*"):
        paper_curves.read("Berkeley", tmp_path / "berkeley_growth.csv")
