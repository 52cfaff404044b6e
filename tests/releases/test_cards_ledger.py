"""A card and its ledger agree entry by entry, and whatever a forger changes on the card stands otherwise there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.ledger.durable import Ledger
from dpfda.ledger.outputs import pack, unpack
from dpfda.mechanisms import SeededRandomness
from dpfda.releases.cards.document import json_text
from dpfda.releases.cards.facts import facts_of
from dpfda.releases.documents import card_digest, sealed
from dpfda.releases.files import to_dict
from dpfda.releases.verification import recompute, verify
from dpfda.releases.verification.entries import alike

GRID = np.linspace(0, 1, 12)
CURVES = 0.5 * np.sin(np.pi * GRID) + np.linspace(-0.2, 0.2, 100)[:, None]


HANDED_OUT = "card that was handed out under the entry"
FILE = "file that was handed out under the entry"


def estimator(ledger: Any, **wishes: Any) -> dpfda.MeanFunction:
    defaults: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "size": 4, "mechanism": "gaussian"}
    seed = SeededRandomness(1)
    return dpfda.MeanFunction(**defaults | wishes, dataset="scans", ledger=ledger, randomness=seed)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("scans", epsilon=4.0, delta=1e-5)
    return ledger


@pytest.fixture
def release(ledger: Ledger) -> Any:
    return estimator(ledger).fit(CURVES, grid=GRID).release_


def test_a_release_stands_in_its_ledger(release: Any, ledger: Ledger, tmp_path: Path) -> None:
    report = verify(release.save(tmp_path / "mean.json"), ledger)
    assert report.findings == ()
    for rule in (
        "identifier of the ledger",
        "digest of the entry",
        "key of the entry",
        "data set",
        "unit",
        "neighbours",
        "budget",
        "privacy curves",
        "spent up to the entry",
        "output under the entry",
        HANDED_OUT,
    ):
        assert rule in report.held
    assert (report.missing, report.exit_code) == ((), 0)
    assert FILE in report.held


def test_the_card_says_what_the_data_set_has_spent(release: Any, ledger: Ledger) -> None:
    entry = release.certificate.entry
    assert entry.ledger == ledger.id
    assert entry.number == next(row.number for row in ledger.history() if row.kind == "charge")
    assert entry.cap == (4.0, 1e-5)
    # Composed at the delta of the data set, which is larger than that of the release: less than 1.
    assert 0 < entry.spent[0] <= 1.0
    assert f"entry {entry.number} of ledger {ledger.id}" in release.certificate.recorded


FORGED: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 1.5}, "budget"),
    ({"delta": 2e-6}, "budget"),
    ({"dataset": "other"}, "data set"),
    ({"unit": "household"}, "unit"),
    ({"neighbours": "add-or-remove-one"}, "neighbours"),
]


@pytest.mark.parametrize(("changes", "rule"), FORGED, ids=[str(changes) for changes, _ in FORGED])
def test_a_card_that_was_altered_with_care_disagrees_with_the_ledger(
    changes: dict[str, Any], rule: str, release: Any, ledger: Ledger, tmp_path: Path
) -> None:
    data = json.loads(json.dumps(to_dict(release)))
    data["certificate"] |= changes
    path = tmp_path / "forged.json"
    path.write_text(sealed(data))
    found = [finding for finding in verify(path, ledger).findings if finding.kind == "ledger"]
    assert [finding.rule for finding in found] == [rule, HANDED_OUT]


# What nobody can compute from the file alone, changed with care by whoever makes the digest anew.
WORDS: list[dict[str, Any]] = [
    {"noise_rms": 1e-9},
    {"moves": {"code": "mean", "by": 1e-9}},
    {"chosen": {"bound": "read from the data"}},
    {"unit_was_assumed": False},
    {"randomness": {"code": "integers"}},
    {"missing": {"code": "said", "text": "none"}},
    {"centre": {"code": "curve"}},
    {"sensitivity_because": "it is so"},
    {"n": 100000},
    {"bound": 0.5},
]


@pytest.mark.parametrize("changes", WORDS, ids=[next(iter(changes)) for changes in WORDS])
def test_no_word_of_a_card_can_be_changed_behind_the_back_of_the_ledger(
    changes: dict[str, Any], release: Any, ledger: Ledger, tmp_path: Path
) -> None:
    data = json.loads(json.dumps(to_dict(release)))
    data["certificate"] |= changes
    path = tmp_path / "forged.json"
    path.write_text(sealed(data))
    report = verify(path, ledger)
    assert HANDED_OUT in [finding.rule for finding in report.findings]
    assert report.exit_code in (3, 4)


FITS: list[tuple[str, Any]] = [
    (
        "covariance",
        lambda **more: dpfda.CovarianceFunction(bound=1.0, size=3, mechanism="gaussian", **more, force=True),
    ),
    ("components", lambda **more: dpfda.FPCA(1, bound=1.0, size=3, mechanism="gaussian", **more, force=True)),
]


@pytest.mark.parametrize(("kind", "make"), FITS, ids=[kind for kind, _ in FITS])
def test_what_is_made_after_the_noise_still_stands_in_the_ledger(kind: str, make: Any, ledger: Ledger) -> None:
    wishes: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "dataset": "scans",
        "ledger": ledger,
        "randomness": SeededRandomness(1),
    }
    release = make(**wishes).fit(CURVES, grid=GRID).release_
    made = [release] if kind == "components" else [release, release.smooth("none"), release.components(2)]
    for one in made:
        report = verify(one, ledger)
        assert report.findings == ()
        assert HANDED_OUT in report.held
        # Components of a covariance that was handed out alone are no part of what the ledger knows.
        assert report.exit_code == (5 if one is made[-1] and kind == "covariance" else 0), report.text()


def test_a_choice_stands_in_the_ledger_and_no_other_bound_does(ledger: Ledger, tmp_path: Path) -> None:
    ends = (0.25, 0.5, 1.0, 2.0)
    wishes: dict[str, Any] = {"epsilon": 0.5, "quantile": 0.9, "dataset": "scans", "randomness": SeededRandomness(1)}
    choice = dpfda.private_bound(CURVES, candidates=ends, grid=GRID, ledger=ledger, **wishes, force=True)
    path = tmp_path / "bound.json"
    path.write_text(json_text(choice.card))
    report = verify(path, ledger)
    assert report.ok
    assert FILE in report.held
    path.write_text(json_text(replace(choice.card, software=(("dpfda", "0.1.0"), ("opendp", "9.9")))))
    assert [finding.rule for finding in verify(path, ledger).findings] == [FILE]
    chosen = (("bound", "123"), *choice.card.chosen[1:])
    path.write_text(json_text(replace(choice.card, chosen=chosen)))
    assert recompute(path).ok
    report = verify(path, ledger)
    assert [finding.rule for finding in report.findings] == [HANDED_OUT]
    assert report.exit_code == 4


def test_a_release_whose_size_was_chosen_after_the_charge_stands_in_its_ledger(ledger: Ledger) -> None:
    """A bandwidth that was bought sets the size of the basis, and with it how many coordinates the sampler drew."""
    wishes: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "domain": (0, 1), "dataset": "scans"}
    bought: dict[str, Any] = {"bandwidth_epsilon": 0.25, "randomness": SeededRandomness(1)}
    wishes["mechanism"] = dpfda.mechanisms.GaussianProcess(bandwidth="private-iqr")
    points = np.random.default_rng(1).beta(2, 3, (200, 1))
    release = dpfda.DensityFunction(**wishes, **bought, ledger=ledger, force=True).fit(points).release_
    assert verify(release, ledger).findings == ()


def test_curves_are_alike_if_they_promise_the_same() -> None:
    gaussian = {"law": "gaussian", "mu": 0.25, "distance": 1e-17, "size": 31, "steps": 1e8}
    assert alike(gaussian, gaussian | {"size": 37, "distance": 2e-17})
    assert not alike(gaussian, gaussian | {"mu": 0.2500001})
    assert not alike(gaussian, gaussian | {"distance": 1e-9})
    assert not alike(gaussian, {"law": "range", "epsilon": 0.25})
    laplace = {"law": "laplace", "epsilon": 0.25, "steps": 1e7}
    assert alike(laplace | {"steps": 2e7}, laplace)
    assert alike(laplace | {"steps": None}, laplace)
    assert not alike(laplace, laplace | {"steps": 2e7})
    assert not alike(laplace | {"epsilon": 0.26}, laplace)
    assert not alike({"law": "range", "epsilon": 0.25}, {"law": "range", "epsilon": 0.26})


class Bare(Ledger):
    """A ledger whose outputs are as another version kept them."""

    kept: bytes | None = None

    def output(self, number: int) -> bytes | None:
        return self.kept


def test_what_could_not_be_compared_makes_a_report_incomplete(release: Any, ledger: Ledger, tmp_path: Path) -> None:
    old = Bare(f"sqlite:///{tmp_path / 'ledger.db'}")
    stored = ledger.output(release.certificate.entry.number)
    assert stored is not None
    kept = unpack(stored)
    assert kept.cards == (card_digest(release.certificate),)
    for output, part in (
        (pack(kept.vectors), "the card: the ledger keeps no digest of it"),
        (b"another version", "what was handed out under the entry: the ledger shows no digest of it"),
    ):
        old.kept = output
        report = verify(release, old)
        assert (report.findings, report.exit_code) == ((), 5)
        assert report.verdict.startswith("INCOMPLETE: ")
        assert part in report.missing


def test_a_whole_new_card_that_is_true_to_itself_disagrees_with_the_ledger(release: Any, ledger: Ledger) -> None:
    """A forger who has drawn larger noise himself, and would have it taken for the one that was paid for."""
    quiet = estimator(None, epsilon=0.25).fit(CURVES, grid=GRID).release_
    entry = release.certificate.entry
    forged = replace(quiet, certificate=replace(quiet.certificate, entry=entry))
    assert recompute(forged).ok
    report = verify(forged, ledger)
    rules = [finding.rule for finding in report.findings]
    assert rules == ["budget", "privacy curves", HANDED_OUT, "numbers drawn under the entry"]
    assert report.exit_code == 4


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"ledger": "elsewhere"}, "identifier of the ledger"),
        ({"number": 1}, "entry of the ledger"),
        ({"number": 99}, "entry of the ledger"),
        ({"digest": "00" * 32}, "digest of the entry"),
        ({"key": "other"}, "key of the entry"),
        ({"spent": (0.1, 1e-5)}, "spent up to the entry"),
    ],
    ids=str,
)
def test_an_entry_that_is_not_there_or_not_so_is_named(
    changes: dict[str, Any], rule: str, release: Any, ledger: Ledger
) -> None:
    entry = replace(release.certificate.entry, **changes)
    card = replace(release.certificate, entry=entry)
    report = verify(replace(release, certificate=card), ledger)
    more = [HANDED_OUT] if rule not in ("identifier of the ledger", "entry of the ledger") else []
    assert [finding.rule for finding in report.findings] == [rule, *more]
    assert report.exit_code == 4


def test_a_card_without_an_entry_disagrees_with_any_ledger(ledger: Ledger) -> None:
    unpaid = estimator(None).fit(CURVES, grid=GRID).release_
    (finding,) = verify(unpaid, ledger).findings
    assert (finding.rule, finding.recomputed) == ("entry of the ledger", "the card names no entry of a kept ledger")


def test_a_ledger_that_is_not_there_speaks_against_nobody(release: Any, tmp_path: Path) -> None:
    report = verify(release, Ledger(f"sqlite:///{tmp_path / 'none.db'}"))
    (finding,) = report.findings
    assert finding.rule == "the ledger itself"
    assert report.exit_code == 5
    assert report.verdict == "COULD NOT BE CHECKED"
    assert "\n  unchecked  the ledger itself: entry " in report.text()


def test_a_damaged_ledger_speaks_against_nobody(release: Any, ledger: Ledger, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("DROP TABLE dpfda_outputs")
    report = verify(release, Ledger(f"sqlite:///{tmp_path / 'ledger.db'}"))
    assert report.exit_code == 5
    assert report.verdict == "COULD NOT BE CHECKED"


def test_a_charge_whose_draw_failed_has_no_release(release: Any, ledger: Ledger) -> None:
    from dpfda.ledger import Charge
    from dpfda.ledger.amounts import loss_from
    from dpfda.privacy import Budget, Unit
    from dpfda.releases.entry import LedgerEntry

    losses = tuple(loss_from(loss) for loss in release.certificate.losses)
    unit = Unit(release.certificate.unit, release.certificate.neighbours)
    said = ["nothing was drawn on it", "the draw failed, and nothing was handed out"]
    receipt = ledger.charge(Charge("scans", "mean function, gaussian", Budget(1.0, 1e-6), losses, unit, request="r"))
    entry = LedgerEntry.of(receipt)
    stolen = replace(release, certificate=replace(release.certificate, entry=entry))
    assert [finding.recomputed for finding in verify(stolen, ledger).findings] == said[:1]
    ledger.burn(receipt)
    assert [finding.recomputed for finding in verify(stolen, ledger).findings] == said[1:]


def test_a_release_of_a_copy_stands_under_the_data_set(ledger: Ledger) -> None:
    ledger.add_copy("scans", "scans-2026")
    est = dpfda.MeanFunction(epsilon=0.5, delta=1e-6, bound=1.0, size=4, dataset="scans-2026", ledger=ledger)
    assert verify(est.fit(CURVES, grid=GRID).release_, ledger).findings == ()


@pytest.mark.parametrize(
    "wishes",
    [
        {"mechanism": "gaussian"},
        {"mechanism": "k-norm", "delta": 0.0},
        {"mechanism": "exponential", "delta": 0.0},
        {"neighbours": "add-or-remove-one", "planned_n": 100},
    ],
    ids=["gaussian", "k-norm", "exponential", "private number"],
)
def test_coordinates_are_those_that_were_drawn_under_the_entry(wishes: dict[str, Any], tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'open.db'}")
    ledger.create("scans", epsilon=4.0, delta=1e-5, neighbours=wishes.get("neighbours", "replace-one"))
    release = estimator(ledger, **wishes).fit(CURVES, grid=GRID).release_
    rule = "numbers drawn under the entry"
    assert rule in verify(release, ledger).held
    moved = release.noisy.copy()
    moved[1] *= 1 + 1e-9
    found = verify(replace(release, noisy=moved), ledger).findings
    assert [(finding.rule, finding.recomputed) for finding in found if finding.rule == rule] == [
        (rule, "other numbers")
    ]


def test_a_release_that_counts_for_two_says_why(ledger: Ledger) -> None:
    wishes: dict[str, Any] = {"neighbours": "add-or-remove-one", "planned_n": 100, "epsilon": 0.25}
    release = estimator(ledger, **wishes).fit(CURVES, grid=GRID).release_
    why = "since replacing a unit is removing it and adding another"
    assert [note for note in verify(release, ledger).notes if note.endswith(why)]
    assert why in dict(facts_of(release.certificate))["spent so far"]
