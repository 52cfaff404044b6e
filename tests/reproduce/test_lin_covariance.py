"""The illustration of private covariance functions: what is true, what is measured and what is shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce import lin_covariance
from dpfda.studies.outcome import Setting
from dpfda.studies.simulators import ICLP_KERNEL, karhunen_loeve, norms

(REPRODUCTION,) = lin_covariance.REPRODUCTIONS


@pytest.fixture(scope="module")
def outcome():
    return REPRODUCTION.run(Setting(quick=True, seed=3))


@pytest.fixture(scope="module")
def rows(outcome):
    return [dict(zip(outcome.tables[0].columns, row, strict=True)) for row in outcome.tables[0].rows]


def test_the_stated_truth_is_the_covariance_of_the_curves():
    """At 40,000 curves a sample covariance errs by about 0.0003, the truth has size 0.053."""
    curves = karhunen_loeve(40_000, SeededRandomness(1), kernel=ICLP_KERNEL, decay=lin_covariance.DECAY)
    exact = lin_covariance.truth()
    assert lin_covariance.size_of(np.cov(curves.T, bias=True) - exact) < 0.001
    assert lin_covariance.size_of(exact) == pytest.approx(
        0.64 / 12 * math.sqrt(sum(j**-8.0 for j in range(1, 51))), 0.02
    )
    assert norms(curves).max() < lin_covariance.BOUND


def test_sizes_are_root_mean_squares_over_the_square():
    assert lin_covariance.size_of(np.full((100, 100), -3.0)) == pytest.approx(3.0)


@pytest.mark.audit
def test_every_method_stands_at_every_size(rows):
    assert {(row["method"], row["n"]) for row in rows} == {
        (method, n) for method in lin_covariance.COLOURS for n in (500, 5000)
    }
    for row in rows:
        assert row["error to truth"] > 0
        assert row["standard error"] > 0
        size = lin_covariance.size_of(lin_covariance.truth())
        assert row["over size of truth"] == pytest.approx(row["error to truth"] / size)
        assert (row["error to sample"] == 0) == (row["method"] == lin_covariance.SAMPLE)


@pytest.mark.audit
def test_the_defaults_err_several_times_less_than_the_process_and_all_gain_from_more_curves(rows):
    error = {(row["method"], row["n"]): row["error to truth"] for row in rows}
    process, pure, approximate = lin_covariance.METHODS
    for n in (500, 5000):
        assert error[pure, n] < error[process, n] / 3
        assert error[approximate, n] < error[process, n] / 3
    for method in lin_covariance.METHODS:
        assert error[method, 5000] < error[method, 500] / 2


def test_methods_keep_to_their_guarantee():
    curves = karhunen_loeve(500, SeededRandomness(2), kernel=ICLP_KERNEL)
    used = {method: lin_covariance.private(method, curves, SeededRandomness(3))[0] for method in lin_covariance.METHODS}
    process, pure, approximate = used.values()
    assert process == "iclp-qr"
    assert pure in ("wishart", "k-norm", "laplace")
    assert approximate in ("gaussian", "wishart", "k-norm", "laplace")
    deltas = [terms["delta"] for terms in lin_covariance.METHODS.values()]
    assert deltas == [0.0, 0.0, 1e-6]


@pytest.mark.audit
def test_the_same_seed_gives_the_same_table(outcome):
    assert REPRODUCTION.run(Setting(quick=True, seed=3)).tables == outcome.tables


@pytest.mark.audit
def test_it_writes_a_table_contours_and_errors(outcome, tmp_path):
    contours, errors = outcome.figures
    assert [text.get_text() for text in errors.axes[0].get_xticklabels()] == ["500", "5,000"]
    assert [ax.get_title() for ax in contours.axes[:5]] == ["truth", "not private", *lin_covariance.METHODS]
    assert len(errors.axes[0].lines) == 5
    _, paths = REPRODUCTION.write(Setting(quick=True), tmp_path)
    assert [path.name for path in paths] == ["lin-covariance.csv", "lin-covariance.png", "lin-covariance-2.png"]
    assert "NOT PRIVATE" in paths[0].read_text().splitlines()[0]
