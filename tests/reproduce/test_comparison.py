"""Mechanisms are compared on the same curves, and those that cannot meet the budget say why."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.statistics.mean.estimator import MeanFunction
from dpfda.studies.comparison import COLUMNS, MECHANISMS, OFFSET, Comparison, compare
from dpfda.studies.outcome import STAMP
from dpfda.studies.simulators import GRID, MEANS, norms, sample, weights

OWN = ("auto", "gaussian", "k-norm", "laplace")


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare("S-2", n=200, epsilon=2.0, delta=0.0, mechanisms=OWN, repetitions=4, seed=3)


def test_the_errors_are_those_of_the_releases(found: Comparison) -> None:
    """The same estimator on the same curves with the same noise, written out."""
    source, noise, truth = SeededRandomness(3), SeededRandomness(OFFSET + 3), MEANS["S-2"](GRID)
    totals, parts, sampling = [], [], []
    for _ in range(4):
        curves = sample("S-2", 200, source)
        est = MeanFunction(
            epsilon=2.0, delta=0.0, bound=float(norms(curves).max()), mechanism="laplace", randomness=noise
        )
        values, mean = est.fit(curves, grid=GRID).release_(GRID), curves.mean(axis=0)
        totals.append(weights() @ (values - truth) ** 2)
        parts.append(weights() @ (values - mean) ** 2)
        sampling.append(weights() @ (mean - truth) ** 2)
    (row,) = [row for row in found.rows if row.mechanism == "laplace"]
    assert row.total == pytest.approx(np.mean(totals), rel=1e-12)
    assert row.total_standard_error == pytest.approx(np.std(totals, ddof=1) / 2, rel=1e-12)
    assert row.privacy == pytest.approx(np.mean(parts), rel=1e-12)
    assert row.privacy_standard_error == pytest.approx(np.std(parts, ddof=1) / 2, rel=1e-12)
    assert found.sampling == pytest.approx(np.mean(sampling), rel=1e-12)
    assert found.sampling_standard_error == pytest.approx(np.std(sampling, ddof=1) / 2, rel=1e-12)


def test_the_best_comes_first_and_all_others_are_measured_by_it(found: Comparison) -> None:
    done = [row for row in found.rows if row.total is not None]
    assert [row.ratio for row in done] == sorted(row.total / done[0].total for row in done)
    assert done[0].ratio == 1.0
    assert [row.total is None for row in found.rows] == sorted(row.total is None for row in found.rows)


def test_a_mechanism_that_cannot_meet_the_budget_says_why(found: Comparison) -> None:
    (row,) = [row for row in found.rows if row.total is None]
    assert row.mechanism == "gaussian"
    assert row.note.startswith("not applicable: gaussian noise cannot meet (epsilon = 2, delta = 0) at any scale")
    assert (row.ratio, row.privacy) == (None, None)


def test_auto_says_what_it_chose(found: Comparison) -> None:
    (row,) = [row for row in found.rows if row.mechanism == "auto"]
    chosen = MeanFunction(epsilon=2.0, delta=0.0, bound=1.0).plan(200, grid_size=len(GRID)).mechanism.name
    assert row.note == f"chose {chosen}"


def test_all_mechanisms_run_in_both_calibrations() -> None:
    rows = compare("S-2", n=100, epsilon=1.0, delta=1e-3, calibration="both", repetitions=2).rows
    both = {"gp", "iclp-qr", "iclp-ar", "frl"}
    assert {(row.mechanism, row.calibration) for row in rows} == {(name, "exact") for name in MECHANISMS} | {
        (name, "published") for name in both
    }
    assert all(row.total is not None for row in rows)


def test_as_published_there_is_more_noise() -> None:
    """At this n and epsilon by a factor above 2; noise has the same seed in both, so chance plays no part."""
    for name in ("gp", "iclp-qr"):
        exact, published = (
            compare("S-2", n=1000, epsilon=1.0, delta=0.01, mechanisms=[name], calibration=how, repetitions=4).rows[0]
            for how in ("exact", "published")
        )
        assert (exact.calibration, published.calibration) == ("exact", "published")
        assert published.privacy > 2 * exact.privacy


def test_what_others_are_asked_for_changes_nothing(found: Comparison) -> None:
    alone = compare("S-2", n=200, epsilon=2.0, delta=0.0, mechanisms=["laplace"], repetitions=4, seed=3)
    (row,) = [row for row in found.rows if row.mechanism == "laplace"]
    assert alone.rows[0].total == row.total
    assert alone.rows[0].ratio == 1.0


def test_the_seed_decides_everything(found: Comparison) -> None:
    again = compare("S-2", n=200, epsilon=2.0, delta=0.0, mechanisms=OWN, repetitions=4, seed=3)
    assert again == found
    other = compare("S-2", n=200, epsilon=2.0, delta=0.0, mechanisms=OWN, repetitions=4, seed=4)
    assert other.sampling != found.sampling


def test_a_stated_bound_clips() -> None:
    """At a bound of a hundredth of the curves' size the release is next to nothing, whatever the noise."""
    tiny = compare("S-1", n=100, epsilon=1.0, delta=1e-6, mechanisms=["gaussian"], repetitions=2, bound=0.01)
    assert tiny.rows[0].total == pytest.approx(weights() @ MEANS["S-1"](GRID) ** 2, rel=0.05)
    assert any("The bound is 0.01" in note for note in tiny.notes)


def test_heavy_errors_are_larger() -> None:
    plain, heavy = (
        compare("S-1", n=100, epsilon=1.0, delta=1e-6, mechanisms=["gaussian"], repetitions=2, errors=errors)
        for errors in ("gaussian", "heavy")
    )
    assert heavy.sampling > 10 * plain.sampling
    assert heavy.title.startswith("S-1 with heavy errors, n = 100, ")
    assert (plain.to_dict()["errors"], heavy.to_dict()["errors"]) == ("gaussian", "heavy")


def test_the_table_holds_every_row(found: Comparison, tmp_path: Path) -> None:
    table = found.table()
    assert table.columns == COLUMNS
    assert [row[0] for row in table.rows] == [row.mechanism for row in found.rows]
    head, names, *rows = table.save(tmp_path / "c.csv").read_text().splitlines()
    assert head == f"# Total error on S-2, n = 200, (epsilon = 2, delta = 0), 4 repetitions. {STAMP}"
    assert next(csv.reader([names])) == list(COLUMNS)
    assert float(next(csv.reader([rows[0]]))[2]) == found.rows[0].total


def test_the_plain_data_carry_the_stamp(found: Comparison) -> None:
    data = found.to_dict()
    assert data["stamp"] == STAMP
    assert data["rows"][0]["total"] == found.rows[0].total
    assert data["budget"] == {"epsilon": 2.0, "delta": 0.0}


def test_the_picture_shows_errors_and_says_not_private(found: Comparison) -> None:
    from matplotlib.figure import Figure

    ax = found.plot(Figure().subplots())
    assert ax.get_title().endswith("NOT PRIVATE")
    assert ax.get_xscale() == "log"
    dots = ax.lines[0].get_xdata()
    assert sorted(dots) == sorted(row.total for row in found.rows if row.total is not None)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == found.rows[0].mechanism


def test_the_picture_makes_its_own_axes(found: Comparison) -> None:
    from matplotlib import pyplot

    figure = found.plot().figure
    assert figure.axes
    pyplot.close(figure)


def test_progress_goes_by_repetitions() -> None:
    seen = []

    def track(items, what):
        for item in items:
            seen.append((what, item))
            yield item

    compare("S-3", n=20, epsilon=1.0, delta=0.0, mechanisms=["laplace"], repetitions=3, track=track)
    assert seen == [("S-3", 0), ("S-3", 1), ("S-3", 2)]


GOOD = {"n": 100, "epsilon": 1.0, "delta": 0.0, "repetitions": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scenario": "S-9"}, "The scenarios are S-1, S-2, S-3, S-4, got 'S-9'."),
        ({"mechanisms": ["auto", "cauchy"]}, f"Mechanisms to compare are {', '.join(MECHANISMS)}; got cauchy."),
        ({"mechanisms": []}, f"Mechanisms to compare are {', '.join(MECHANISMS)}; got none."),
        ({"calibration": "rough"}, "calibration must be one of exact, published, both, got 'rough'."),
        ({"n": 0}, "A comparison needs n of at least 1 and 2 repetitions, got 0 and 2."),
        ({"repetitions": 1}, "A comparison needs n of at least 1 and 2 repetitions, got 100 and 1."),
        ({"epsilon": math.nan}, "epsilon must be a positive finite number, got nan. Most people choose 0.1 to 10."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_mistake_is_named(changes, message) -> None:
    arguments = {"scenario": "S-1"} | GOOD | changes
    with pytest.raises(UsageError) as raised:
        compare(arguments.pop("scenario"), **arguments)
    assert str(raised.value) == message


def test_where_no_mechanism_can_meet_the_budget_the_reason_is_raised() -> None:
    with pytest.raises(CannotMeetBudget, match=r"^gaussian noise cannot meet"):
        compare("S-1", n=100, epsilon=1.0, delta=0.0, mechanisms=["gaussian"], repetitions=2)
