"""Table 2 of Lin and Reimherr on simulated files of the same layout; the data themselves are not in the repository."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.errors import DataError
from dpfda.kernels import Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce import lin_figure_5, lin_table_2
from dpfda.reproduce import lin_table_2 as published_table_2
from dpfda.reproduce.paper_curves import unit_norm
from dpfda.studies.outcome import Setting

REPRODUCTION = lin_table_2.REPRODUCTIONS[0]


def curves(n, size, seed):
    t = np.linspace(0, 1, size)
    draws = SeededRandomness(seed).normal((n, 3))
    return 5 + np.sin(3 * t) + draws @ np.array([np.cos(2 * t), t**2, 0.3 * np.sin(9 * t)])


def lines(values, leading):
    return [",".join([*leading(i), *(f"{v:.9f}" for v in row)]) for i, row in enumerate(values)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Both files, small: 120 Mondays of 24 values between other days, 90 scans of 31 values, one with a gap."""
    path = tmp_path_factory.mktemp("data")
    days = lines(curves(240, 24, 1), lambda i: ("sunday" if i % 2 else "monday", str(i // 2)))
    header = ",".join(["day", "week", *(f"h{j:02d}" for j in range(1, 25))])
    (path / "adelaide_electricity.csv").write_text("\n".join([header, *days]) + "\n")
    scans = lines(curves(91, 31, 2), lambda i: (str(i), "0.5"))
    scans[7] = scans[7].rpartition(",")[0] + ","
    header = ",".join(["ID", "visit", *(f"t{j:03d}" for j in range(1, 32))])
    (path / "dti_cca.csv").write_text("\n".join([header, *scans]) + "\n")
    return path


@pytest.fixture(scope="module")
def outcome(folder):
    return REPRODUCTION.run(Setting(data=folder, quick=True, seed=4))


@pytest.fixture(scope="module")
def rows(outcome):
    return [dict(zip(outcome.tables[0].columns, row, strict=True)) for row in outcome.tables[0].rows]


def test_there_are_96_cells_and_none_is_missing(rows):
    places = {(row["data set"], row["kernel"], row["mechanism"], row["epsilon"]) for row in rows}
    assert len(rows) == len(places) == 96
    assert all(math.isfinite(value) for row in rows for value in row.values() if not isinstance(value, str))


def test_simulation_lies_within_four_standard_errors_of_the_closed_form(rows):
    """96 tests at 4 standard errors: a false alarm in 160 runs, none with this seed."""
    assert max(abs(row["z"]) for row in rows) < 4
    for row in rows:
        z = (row["simulated mean"] - row["closed form as computed"]) / row["standard error"]
        assert row["z"] == pytest.approx(z)


@pytest.mark.parametrize(("name", "order"), [("Matérn 3/2", 1.5), ("Matérn 5/2", 2.5)])
def test_the_cells_follow_the_printed_settings_in_plain_algebra(name, order):
    """The formulas of the table once more, with sums over plain vectors and the program's halved eigenvalues."""
    x = unit_norm(curves(50, 24, 3))
    n, q = x.shape
    t = np.linspace(0.001, 0.999, q)
    values, vectors = np.linalg.eigh(Matern(order, rho=0.1)(t, t) / q)
    values, vectors = values[::-1], vectors[:, ::-1] * math.sqrt(q)
    mean, coordinates = x.mean(axis=0), x @ vectors / q
    m = coordinates.mean(axis=0)
    tau = np.linalg.norm(coordinates, axis=1).max()
    expected = {"FRL": (m[4:] ** 2).sum() + 4 * 2 * (2 * 4 * tau / n) ** 2}

    halved = values / 2
    thresholds = tau / n / (2 * halved**1.5)
    last = next(j for j in range(q) if tau <= thresholds[j]) + 1
    kept = np.sign(m) * np.maximum(np.abs(m) - thresholds, 0)
    noise = (2 * tau / n * (halved[:last] ** -0.5).sum()) ** 2 * 2 * halved[:last].sum()
    expected["ICLP-AR"] = ((m - kept) ** 2).sum() + noise

    psi = 2 * (n / tau) ** -1.25
    a = values**1.25 / (values**1.25 + psi)
    delta = 2 * np.abs(coordinates).sum(axis=1).max() / n * (a / np.sqrt(values)).max()
    expected["ICLP-QR"] = ((1 - a) ** 2 * m**2).sum() + delta**2 * values.sum()

    basis = np.array([math.comb(20, k) * t**k * (1 - t) ** (20 - k) for k in range(21)])
    at = [min(range(q), key=lambda i: abs(t[i] - k / 20)) for k in range(21)]
    scale = 2 * np.abs(x).max() / n * 21
    expected["Bernstein"] = ((mean[at] @ basis - mean) ** 2).mean() + 2 * scale**2 * (basis**2).mean(axis=1).sum()

    found = {
        cell.mechanism: cell.release["published"].error(cell.target)
        for cell in lin_table_2.cells("DTI", x)
        if (cell.kernel, cell.epsilon) == (name, 1.0)
    }
    assert found == pytest.approx(expected, rel=1e-9)


def test_only_iclp_qr_changes_with_correct_noise_and_exact_sensitivity_lowers_all_that_use_the_ball(rows):
    for row in rows:
        computed, correct, exact = row["closed form as computed"], row["correct noise"], row["exact sensitivity"]
        assert (correct > computed) == (row["mechanism"] == "ICLP-QR")
        if row["mechanism"] in ("FRL", "ICLP-AR"):
            assert exact < correct


def test_the_default_stands_beside_every_mechanism_and_does_not_depend_on_kernels(rows):
    for data in lin_table_2.DATA:
        for epsilon in published_table_2.EPSILONS:
            mine = {row["our default"] for row in rows if (row["data set"], row["epsilon"]) == (data, epsilon)}
            assert len(mine) == 1
            assert mine.pop() > 0


def test_the_default_error_is_the_distance_of_its_releases_to_the_mean():
    """At epsilon 10,000 noise is nothing: what is left is what basis and smoothing lose of a smooth mean."""
    errors = lin_table_2.default_errors(unit_norm(curves(80, 24, 5)), 10_000.0, 3, SeededRandomness(1))
    assert errors.shape == (3,)
    assert errors.max() < 1e-3


@pytest.mark.audit
def test_the_same_seed_gives_the_same_table(folder, outcome):
    again = REPRODUCTION.run(Setting(data=folder, quick=True, seed=4))
    assert again.tables[0] == outcome.tables[0]


@pytest.mark.audit
def test_it_writes_a_table_and_a_picture(folder, tmp_path):
    _, paths = REPRODUCTION.write(Setting(data=folder, quick=True), tmp_path)
    assert [path.name for path in paths] == ["lin-table-2.csv", "lin-table-2.png"]
    text = paths[0].read_text().splitlines()
    assert "NOT PRIVATE" in text[0]
    assert len(text) == 2 + 96


def test_without_data_it_says_which_file_it_needs():
    with pytest.raises(DataError, match=r"This needs the file adelaide_electricity\.csv\."):
        REPRODUCTION.run(Setting())


def test_printed_columns_stand_under_the_names_of_what_they_hold():
    """Only Bernstein knows no kernel, so its printed values for the two kernels differ by simulation noise alone."""
    for data in lin_table_2.DATA:
        first, second = (np.array(published_table_2.PRINTED[data, kernel]) for kernel in lin_table_2.KERNELS)
        column = published_table_2.MECHANISMS.index("Bernstein")
        assert first.shape == second.shape == (6, 4)
        assert first[:, column] == pytest.approx(second[:, column], rel=0.02)
        assert (np.diff(first, axis=0) < 0).all()


def test_figure_5_draws_one_mean_by_each_mechanism_with_the_errors_of_table_2(folder):
    (reproduction,) = lin_figure_5.REPRODUCTIONS
    outcome = reproduction.run(Setting(data=folder, quick=True))
    (table,) = outcome.tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    names = [*lin_table_2.MECHANISMS, lin_figure_5.OURS]
    assert [(row["data set"], row["mechanism"]) for row in rows] == [
        (d, m) for d in ("electricity", "DTI") for m in names
    ]
    for row in rows:
        drawn = row["squared distance of the drawn mean"]
        assert row["smallest of the draws"] <= drawn <= row["largest of the draws"]
        assert row["smallest of the draws"] <= 1.05 * row["expected"] <= 1.1 * row["largest of the draws"]
        if row["mechanism"] != lin_figure_5.OURS:
            place = (row["data set"], row["kernel"])
            printed = lin_table_2.PRINTED[place][lin_table_2.EPSILONS.index(1.0)]
            assert row["printed in Table 2"] == printed[lin_table_2.MECHANISMS.index(row["mechanism"])]
    (figure,) = outcome.figures
    assert len(figure.axes) == 10
    # A private mean and the mean stand before the curves in every panel.
    assert all(len(ax.get_lines()) > 10 for ax in figure.axes)
