"""Approximate draws: whatever total rests on one is called nominal, and cannot lose that word."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from everyone import CURVES, DATASET

import dpfda
from dpfda.errors import LedgerDamaged
from dpfda.ledger import Charge, Ledger, SessionLedger
from dpfda.privacy import Budget, PureProfile
from dpfda.releases.cards.facts import facts_of
from dpfda.releases.cards.nist import nist_text
from dpfda.releases.cards.registry import registry_entry
from dpfda.releases.certificate import NOMINAL, NOT_PRIVATE
from dpfda.releases.verification import verify

GIBBS = "gibbs"


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Markov chain is approximate after any number of steps."""
    monkeypatch.setattr("dpfda.statistics.components.plan.STEPS", 5)


def cost(key: str, *, nominal: bool, epsilon: float = 0.25) -> Charge:
    return Charge("scans", "frames", Budget(epsilon, 0.0), (PureProfile(epsilon),), key=key, nominal=nominal)


def components(ledger: Any, mechanism: Any, **changes: Any) -> dpfda.FPCA:
    known = {"n_components": 1, "epsilon": 0.5, "delta": 0.0, "bound": 1.0, "basis": "cosine", "size": 3}
    return dpfda.FPCA(**known, mechanism=mechanism, ledger=ledger, dataset=DATASET, force=True, **changes).fit(CURVES)


def totals(ledger: Ledger) -> list[bool]:
    return [
        ledger.spent().nominal,
        ledger.remaining().nominal,
        ledger.spent(people=2).nominal,
        ledger.datasets()[0].nominal,
        ledger.quote(cost("q", nominal=False)).nominal,
    ]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_total_that_rests_on_an_approximate_draw_is_nominal(url: str, delta: float) -> None:
    ledger = Ledger(url)
    ledger.create("scans", epsilon=2.0, delta=delta)
    assert not ledger.charge(cost("a", nominal=False)).nominal
    assert not any(totals(ledger))
    assert ledger.quote(cost("q", nominal=True)).nominal
    assert ledger.charge(cost("b", nominal=True)).nominal
    assert all(totals(ledger))
    assert ledger.charge(cost("c", nominal=False)).nominal
    found = [(entry.nominal, entry.total_nominal) for entry in ledger.history("scans")[1:]]
    assert found == [(False, False), (True, True), (False, True)]
    assert ledger.entry(4).total_nominal
    assert [dict(loss) for loss in ledger.entry(3).losses] == [{"law": "pure", "epsilon": 0.25}]
    # The receipt of a key is what it was: what came later does not change it.
    assert [ledger.charge(cost(key, nominal=key == "b")).nominal for key in "abc"] == [False, True, True]
    ledger.check()
    assert all(totals(Ledger(url)))


def test_other_budgets_of_the_same_ledger_are_not_nominal(sqlite_url: str) -> None:
    ledger = Ledger(sqlite_url)
    for name in ("scans", "others"):
        ledger.create(name, epsilon=2.0, delta=0.0)
    ledger.charge(cost("a", nominal=True))
    assert [budget.nominal for budget in ledger.datasets()] == [True, False]
    assert not ledger.spent("others").nominal


def test_the_word_is_part_of_the_chain(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("scans", epsilon=2.0, delta=0.0)
    ledger.charge(cost("a", nominal=True))
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER dpfda_events_update")
        connection.execute('UPDATE dpfda_events SET losses = \'[{"epsilon":0.25,"law":"pure"}]\' WHERE number = 2')
    with pytest.raises(LedgerDamaged, match="entry 2 does not have its hash"):
        Ledger(f"sqlite:///{tmp_path / 'ledger.db'}").remaining()


@pytest.mark.parametrize("make", [SessionLedger, None], ids=["in memory", "counted by the estimator"])
def test_totals_without_a_database_are_nominal_too(make: Callable[[], Any] | None) -> None:
    ledger = None if make is None else make()
    exact = components(ledger, "exponential")
    assert not (exact.spent_is_nominal_ if ledger is None else ledger.nominal)
    exact.set_params(mechanism=GIBBS).fit(CURVES)
    assert exact.spent_is_nominal_ if ledger is None else ledger.nominal
    said = exact.set_params(mechanism="exponential").fit(CURVES).release_.certificate.recorded
    assert "nominally" in said


def test_cards_after_an_approximate_draw_say_so_and_verify(sqlite_url: str) -> None:
    ledger = Ledger(sqlite_url)
    ledger.create(DATASET, epsilon=4.0, delta=0.0)
    releases = [components(ledger, name).release_ for name in ("exponential", GIBBS, "exponential")]
    cards = [release.certificate for release in releases]
    assert [card.entry.nominal for card in cards] == [False, True, True]
    assert "nominal" not in cards[0].to_dict()["entry"]
    assert "has spent nominally epsilon 1.50 of 4" in cards[2].recorded
    for release in releases:
        assert verify(release, ledger=ledger).ok


def test_a_check_of_an_approximate_draw_notes_that_its_epsilon_is_nominal(sqlite_url: str) -> None:
    """Everything holds as stated, and what is stated is no guarantee."""
    ledger = Ledger(sqlite_url)
    ledger.create(DATASET, epsilon=4.0, delta=0.0)
    exact, approximate, after = (components(ledger, name).release_ for name in ("exponential", GIBBS, "exponential"))
    notes = [verify(release, ledger=ledger).notes for release in (exact, approximate, after)]
    total = "what the data set had spent rests on an approximate draw, and is no guarantee"
    assert [(NOMINAL in found, total in found) for found in notes] == [(False, False), (True, False), (False, True)]


def test_no_form_of_a_card_states_a_nominal_number_plainly() -> None:
    card = components(None, GIBBS).release_.certificate
    loss = registry_entry(card)["deployment"]["privacy_loss"]
    assert "variant_name" not in registry_entry(card)["deployment"]["dp_variant"]
    assert loss["privacy_parameters"] == {}
    assert loss["privacy_parameters_details"].startswith(f"{NOMINAL} Native: nominally ")
    said = [card.text(), nist_text(card), loss["privacy_parameters_details"], *(text for _, text in facts_of(card))]
    for text in (" ".join(each.split()) for each in said):
        for amount in re.findall(
            r"\S+ (?:pure epsilon|exponential mechanism of range|\S+-zCDP|at most \S+ at 5 %)", text
        ):
            assert amount.startswith("nominally "), amount
    assert "None exactly; pure differential privacy for the law that was aimed at" in nist_text(card)


def test_a_seeded_release_has_no_parameters_in_the_registry() -> None:
    seeded_card = replace(components(None, "exponential").release_.certificate, randomness=NOT_PRIVATE)
    deployment = registry_entry(seeded_card)["deployment"]
    assert "variant_name" not in deployment["dp_variant"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {}
    assert "NOT PRIVATE" in deployment["privacy_loss"]["privacy_parameters_details"]
