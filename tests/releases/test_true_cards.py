"""Sentences on cards that were not true once: cells of densities, filters of ledgers, noise against a signal."""

from __future__ import annotations

import numpy as np
import pytest

import dpfda
from dpfda.releases.cards import first_schema
from dpfda.releases.entry import FILTERED, LedgerEntry

SPENT = {"epsilon": 1.0, "delta": 1e-6}


def words(card):
    return " ".join(card.text().split())


@pytest.mark.parametrize(("sides", "said"), [(1, "1920 cells"), (3, "12 x 12 x 12 cells")])
def test_a_card_of_a_density_says_how_far_points_are_moved(sides, said):
    points = np.random.default_rng(0).random((2000, sides))
    est = dpfda.DensityFunction(**SPENT, domain=[(0, 1)] * sides)
    card = est.fit(points).release_.certificate
    assert f"to the middle of its cell; there are {said}, each" in words(card)
    coarse = "Cells are coarse: 12 x 12 x 12 cells, each 8.3 % of a side wide, so a point is moved by at most 4.2 %"
    for text in (words(card), " ".join(est.plan_.text().split())):
        assert (coarse in text) is (sides == 3)


def test_a_card_of_answers_point_by_point_says_so_too():
    points = np.random.default_rng(0).random((2000, 3))
    with dpfda.DensityFunction(**SPENT, domain=[(0, 1)] * 3, mechanism="gp", force=True).fit(points).open() as oracle:
        text = words(oracle.certificate)
    assert "every point counts where it is, at most a thousand sides away" in text
    assert "coarse" not in text
    assert "nothing is cut off" not in text
    assert "detected not tested: the noise is drawn at the points that are asked for" in text


def test_stated_edges_are_no_coarse_cells():
    est = dpfda.DensityFunction(**SPENT, edges=[0.0, 1.0, 5.0, 10.0])
    card = est.fit(np.linspace(0, 10, 500)).release_.certificate
    assert "coarse" not in words(card)
    assert "3 cells, the widest 50 % of the domain wide, so a point is moved by at most 25 % of it" in words(card)


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_card_under_adaptive_prices_says_what_that_means(adaptive, tmp_path):
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("scans", epsilon=3.0, delta=1e-5, unit="row", neighbours="replace-one", adaptive=adaptive)
    est = dpfda.MeanFunction(**SPENT, bound=1.0, dataset="scans", ledger=ledger)
    card = est.fit(np.zeros((500, 12))).release_.certificate
    assert (FILTERED in words(card)) is adaptive
    whole = "the guarantee of the data set is its whole budget, epsilon 3 at delta 1e-05: "
    assert (whole in words(card)) is (whole in card.recorded) is adaptive
    assert ("with it the data set has spent at most" in card.recorded) is not adaptive
    assert card.to_dict()["entry"].get("adaptive", False) is adaptive
    assert type(card).from_dict(card.to_dict()) == card


def test_a_card_that_took_a_filter_for_a_total_still_verifies_with_a_note(tmp_path, monkeypatch):
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("scans", epsilon=3.0, delta=1e-5, unit="row", neighbours="replace-one", adaptive=True)
    est = dpfda.MeanFunction(**SPENT, bound=1.0, dataset="scans", ledger=ledger)
    with monkeypatch.context() as before:
        before.setattr(LedgerEntry, "text", LedgerEntry.older_text)
        before.setattr("dpfda.curator.card.SCHEMA", first_schema.SCHEMA)
        before.setattr("dpfda.ledger.outputs.VERSION", 2)
        est.fit(np.zeros((500, 12))).release_.save(tmp_path / "mean.json")
    assert "the total is what the filter proves" in (tmp_path / "mean.json").read_text()
    report = dpfda.releases.verification.verify(tmp_path / "mean.json", ledger)
    assert (report.verdict, report.exit_code) == ("holds", 0)
    assert any(
        note.startswith("the card takes what a filter counts for a total; the guarantee") for note in report.notes
    )
    present = dpfda.releases.verification.verify(est.fit(np.zeros((500, 12))).release_, ledger)
    assert present.ok
    assert not any("total" in note for note in present.notes)


def test_the_noise_of_a_covariance_is_compared_with_a_covariance():
    est = dpfda.CovarianceFunction(**SPENT, bound=2.0, force=True)
    card = est.fit(np.zeros((142, 12))).release_.certificate
    times = card.noise_rms / (2.0 / 4) ** 2
    assert f"{times:.2g} times the covariance of curves that vary around their mean by a quarter of" in words(card)
    assert "bound squared" not in words(card)
