"""`--ledger`, `--anchor` and `--key` on every command that costs: charged once, asked for free, refused in time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.ledger import Ledger

Run = Callable[..., Any]
USAGE, PRIVACY, BUDGET, DATA = 2, 3, 4, 5
URL = "sqlite:///b.db"
SPENT = ("--epsilon", 1, "--delta", "1e-6")
CURVES = ("patients.csv", "--unit", "person", "--values", "t[0-9]*", *SPENT, "--bound", 1, "--force")
POINTS = ("patients.csv", "--unit", "person", "--points", "age", "--domain", "0,100", *SPENT, "--force")
COSTLY: dict[str, tuple[object, ...]] = {
    "mean": ("release", "mean", *CURVES),
    "covariance": ("release", "covariance", *CURVES),
    "components": ("release", "components", *CURVES, "--k", 1),
    "regression": ("release", "regression", *CURVES, "--covariates", "age", "--covariate-limits", "18:90"),
    "levels": ("release", "regression", *CURVES, "--covariates", "treated=0|1"),
    "density": ("release", "density", *POINTS),
    "kernel density": ("release", "density", *POINTS, "--mechanism", "gp", "--kernel", "matern-3/2,10"),
    "classifier": ("release", "classifier", *POINTS, "--label", "treated", "--classes", "0,1"),
    "regressor": ("release", "regressor", *POINTS, "--response", "t3", "--response-bound", 2),
    "bound": ("bounds", *CURVES[:5], "--epsilon", "0.5", "--candidates", "0.01,100"),
}
LEDGER = ("--ledger", URL, "--dataset", "trial")


@pytest.fixture
def paid(run: Run, patients: Path) -> Run:
    """The command, in a folder with records and a ledger."""
    made = run("budget", "create", URL, "--dataset", "trial", "--epsilon", 4, "--delta", "1e-6", "--unit", "person")
    assert made.code == 0
    return run


def charges() -> list[Any]:
    return [entry for entry in Ledger(URL).history() if entry.kind == "charge"]


@pytest.mark.parametrize("kind", COSTLY)
def test_a_dry_run_asks_the_ledger_reads_no_values_and_charges_nothing(
    kind: str, paid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records import csv_files as csvfile

    def broken(*arguments: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(csvfile.CsvSource, "batches", broken)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = paid(*COSTLY[kind], *LEDGER, "--dry-run")
    assert (done.code, done.err) == (0, "")
    cost = "0.5" if kind == "bound" else "1"
    assert re.search(rf"\n  costs       epsilon ({cost}\.?0*|0\.\d+) at delta 1e-06, charged to 'trial'", done.out)
    assert "\n  before      spent 0.00 of 4.00, left 4.00" in done.out
    assert re.search(r"\n  after       spent \d\.\d+, left 3\.\d+", done.out)
    facts = json.loads(paid(*COSTLY[kind], *LEDGER, "--dry-run", "--json").out)["ledger"]
    assert facts["allowed"]
    assert (facts["dataset"], facts["spent"], facts["left"], facts["epsilon"]) == ("trial", 0.0, 4.0, 4.0)
    assert 0 < facts["cost"] == facts["after"] <= 1.0
    assert charges() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", COSTLY)
def test_the_same_key_gives_the_same_file_again_for_one_charge(kind: str, paid: Run, tmp_path: Path) -> None:
    asked = (*COSTLY[kind], *LEDGER, "--key", "mine", "--out", "out.json")
    first = paid(*asked)
    assert (first.code, first.err) == (0, "")
    assert re.search(
        r"\nLedger:  entry 2 of [0-9a-f]{32}, key mine; 'trial' has spent epsilon \d\.\d+ of 4\.00", first.out
    )
    file = (tmp_path / "out.json").read_bytes()
    unasked = paid(*asked)
    assert (unasked.code, unasked.out) == (DATA, "")
    again = paid(*asked, "--overwrite")
    assert (again.code, again.err) == (0, "")
    assert (tmp_path / "out.json").read_bytes() == file
    assert len(charges()) == 1
    free = paid(*asked, "--dry-run")
    assert (free.code, free.err) == (0, "")
    assert "this key was charged before: with the same request it is free" in free.out
    other = paid(*asked, "--overwrite", "--epsilon", 0.75)
    assert (other.code, other.out) == (USAGE, "")
    assert other.err.startswith("Error: The key 'mine' stands for another request already.")
    assert (tmp_path / "out.json").read_bytes() == file
    assert len(charges()) == 1


@pytest.mark.parametrize("kind", ["mean", "regression", "bound"])
def test_what_the_budget_does_not_allow_is_refused_before_values_are_read(kind: str, paid: Run, tmp_path: Path) -> None:
    assert paid(*COSTLY["mean"], *LEDGER, "--epsilon", "3.4", "--delta", 0, "--out", "first.json").code == 0
    asked = (*COSTLY[kind], *LEDGER, "--epsilon", "1", *(() if kind == "bound" else ("--delta", 0)))
    text = (
        r"Error: This release costs epsilon 1\.00; spent 3\.40 of 4\.00 for 'trial', left 0\.60\. Lower it to "
        r"--epsilon 0\.(59|6\d)\d*\. Nothing was charged\.\n"
    )
    dry = paid(*asked, "--dry-run")
    assert (dry.code, bool(re.fullmatch(text, dry.err))) == (BUDGET, True), dry.err
    assert "  after       it would be refused" in dry.out
    done = paid(*asked, "--out", "second.json")
    assert (done.code, done.out, bool(re.fullmatch(text, done.err))) == (BUDGET, "", True), done.err
    assert not (tmp_path / "second.json").exists()
    assert len(charges()) == 1
    lower = done.err.split("--epsilon ")[1].split(". ")[0]
    assert paid(*asked, "--epsilon", lower, "--out", "second.json").code == 0


def test_a_pure_budget_refuses_delta(run: Run, patients: Path) -> None:
    assert run("budget", "create", URL, "--dataset", "trial", "--epsilon", 4, "--delta", 0).code == 0
    asked = (*COSTLY["mean"], *LEDGER, "--mechanism", "gaussian")
    for more in ((), ("--dry-run",)):
        done = run(*asked, *more)
        assert done.code == BUDGET
        assert (
            "The budget of 'trial' is pure (delta = 0), and this release has delta 1e-06. Ask for --delta 0" in done.err
        )
        assert "Nothing was charged." in done.err
    facts = json.loads(run(*asked, "--dry-run", "--json").out)["ledger"]
    assert (facts["cost"], facts["after"], facts["allowed"]) == (None, None, False)


def test_a_key_that_was_not_given_is_random_and_said(paid: Run) -> None:
    done = paid(*COSTLY["mean"], *LEDGER)
    (entry,) = charges()
    assert re.fullmatch(r"[0-9a-f]{32}", entry.key)
    assert (
        done.err
        == f"Key of this request: --key {entry.key} gives the output of this command again, free, once it has one.\n"
    )
    assert f", key {entry.key}; " in done.out
    paid(*COSTLY["mean"], *LEDGER, "--overwrite")
    first, second = charges()
    assert first.key != second.key


def test_the_card_has_the_entry(paid: Run, tmp_path: Path) -> None:
    assert paid(*COSTLY["mean"], *LEDGER, "--key", "mine", "--out", "m.json").code == 0
    entry = dpfda.load(tmp_path / "m.json").certificate.entry
    ledger = Ledger(URL)
    assert entry is not None
    assert (entry.ledger, entry.number, entry.key) == (ledger.id, 2, "mine")
    assert entry.digest == ledger.entry(2).digest


def test_without_a_ledger_one_line_says_how_to_keep_one(run: Run, patients: Path) -> None:
    done = run(*COSTLY["mean"], "--dataset", "my trial")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == (
        "Ledger:  nothing was recorded. To keep one: dpfda budget create sqlite:///budget.db --dataset 'my trial' "
        "--epsilon TOTAL --delta DELTA, then --ledger sqlite:///budget.db"
    )
    assert "nothing was recorded: no ledger was given" in done.out


@pytest.mark.parametrize("kind", ["mean", "classifier", "bound"])
@pytest.mark.parametrize("target", ["b.db", "b.anchor"])
def test_no_output_replaces_the_ledger_or_its_anchor(kind: str, target: str, run: Run, patients: Path) -> None:
    anchor = ("--anchor", "b.anchor")
    assert run("budget", "create", URL, "--dataset", "trial", "--epsilon", 4, "--delta", "1e-6", *anchor).code == 0
    text = "An output cannot be written over the ledger or its anchor. Name another. Nothing was charged."
    for words in (
        (*COSTLY[kind], *LEDGER, *anchor, "--out", target, "--overwrite"),
        ("budget", "export", URL, *anchor, "--out", target, "--overwrite"),
    ):
        done = run(*words)
        assert (done.code, done.out, done.err) == (USAGE, "", f"Error: {text}\n")
    assert run("budget", "check", URL, *anchor).code == 0


@pytest.mark.parametrize("kind", ["mean", "bound"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--key", "a"), "--key goes with --ledger, e.g. --ledger sqlite:///budget.db. Nothing was charged."),
        (("--anchor", "a"), "--anchor goes with --ledger, e.g. --ledger sqlite:///budget.db. Nothing was charged."),
        (
            (*LEDGER, "--key", " "),
            "--key is a word of your own for this request, e.g. --key mean-2026. Nothing was charged.",
        ),
    ],
    ids=["key", "anchor", "empty key"],
)
def test_options_of_a_ledger_go_with_one(
    kind: str, options: tuple[str, ...], message: str, run: Run, patients: Path
) -> None:
    done = run(*COSTLY[kind], *options)
    assert (done.code, done.out, done.err) == (USAGE, "", f"Error: {message}\n")


def test_a_ledger_or_a_budget_that_is_not_there_is_found_in_a_dry_run_too(run: Run, patients: Path) -> None:
    for more in ((), ("--dry-run",)):
        done = run(*COSTLY["mean"], *LEDGER, *more)
        assert done.code == DATA
        assert "make one with dpfda budget create URL" in done.err
    assert run("budget", "create", URL, "--dataset", "other", "--epsilon", 4, "--delta", 0).code == 0
    for more in ((), ("--dry-run",)):
        done = run(*COSTLY["mean"], *LEDGER, *more)
        assert done.code == BUDGET
        assert "has no budget for 'trial'. It has one for 'other'. If the data are the same" in done.err
        assert ": --dataset other, or once and for all dpfda budget copy " in done.err


def test_another_unit_than_the_budgets_is_refused(paid: Run) -> None:
    asked = [word if word != "person" else "row" for word in COSTLY["mean"]]
    for more in ((), ("--dry-run",)):
        done = paid(*asked, *LEDGER, *more)
        assert done.code == PRIVACY
        assert "Release with --unit person. Nothing was charged." in done.err
    assert charges() == []


def test_a_frozen_budget_gives_what_was_stored_and_nothing_new(paid: Run, tmp_path: Path) -> None:
    asked = (*COSTLY["mean"], *LEDGER, "--key", "mine", "--out", "m.json")
    assert paid(*asked).code == 0
    file = (tmp_path / "m.json").read_bytes()
    assert paid("budget", "freeze", URL, "--dataset", "trial").code == 0
    (tmp_path / "m.json").unlink()
    assert paid(*asked).code == 0
    assert (tmp_path / "m.json").read_bytes() == file
    new = paid(*COSTLY["mean"], *LEDGER, "--key", "new", "--out", "n.json")
    assert (new.code, new.err) == (
        BUDGET,
        "Error: The budget of 'trial' is frozen: nothing more is released from it. Nothing was charged.\n",
    )


def test_a_release_that_fails_after_reading_burns_its_charge(
    paid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records import csv_files as csvfile

    asked = (*COSTLY["mean"], *LEDGER, "--key", "mine", "--out", "m.json")
    with monkeypatch.context() as patch:

        def broken(*arguments: object) -> None:
            raise ZeroDivisionError("p7 has 0.1234")

        patch.setattr(csvfile.CsvSource, "batches", broken)
        failed = paid(*asked)
    constant = (
        "Error: The release failed after records were read. Nothing more can be said without saying something about "
        "them; the charge stays, and its key gives nothing any more: take a new one.\n"
    )
    assert (failed.code, failed.out, failed.err) == (DATA, "", constant)
    assert len(charges()) == 1
    again = paid(*asked)
    assert (again.code, again.err) == (DATA, constant)
    assert not (tmp_path / "m.json").exists()
    assert "burnt" in paid("budget", "history", URL).out


def test_an_anchor_is_used_by_releases(run: Run, patients: Path, tmp_path: Path) -> None:
    import shutil

    anchor = ("--anchor", "b.anchor")
    assert run("budget", "create", URL, "--dataset", "trial", "--epsilon", 4, "--delta", 0, *anchor).code == 0
    shutil.copy(tmp_path / "b.db", tmp_path / "old.db")
    asked = (*COSTLY["mean"], *LEDGER, *anchor, "--delta", 0)
    assert run(*asked, "--out", "a.json").code == 0
    for more in ((), ("--dry-run",)):
        done = run(*COSTLY["mean"], *LEDGER, "--delta", 0, *more, "--out", "b.json")
        assert (done.code, done.out) == (USAGE, "")
        assert "--anchor FILE, the file that was named when it was made. Nothing was " in done.err
    for more in ((), ("--dry-run",)):
        done = run(*COSTLY["mean"], *LEDGER, "--anchor", "typo.anchor", "--delta", 0, *more, "--out", "b.json")
        assert (done.code, done.out) == (DATA, "")
        assert "There is no anchor at " in done.err
    shutil.copy(tmp_path / "old.db", tmp_path / "b.db")
    for more in ((), ("--dry-run",)):
        done = run(*asked, *more, "--out", "b.json")
        assert done.code == DATA
        assert "A backup was restored" in done.err


ASK = (
    "ask",
    *(word for word in POINTS if word != "--force"),
    "--kernel",
    "matern-3/2,20",
    "--store",
    "o.db",
    "--at",
    40,
)


def test_a_store_is_charged_when_it_is_made_and_asked_for_nothing(paid: Run) -> None:
    dry = paid(*ASK, *LEDGER, "--new", "--dry-run")
    assert (dry.code, dry.err) == (0, "")
    assert "\n  after       spent 1.00, left 3.00" in dry.out
    assert charges() == []
    done = paid(*ASK, *LEDGER, "--new", "--key", "store")
    assert done.code == 0
    assert "\nLedger:  entry 2 of " in done.err
    again = paid(*ASK, "--dataset", "trial")
    assert (again.code, again.err) == (0, "")
    assert again.out == done.out
    assert len(charges()) == 1
    useless = paid(*ASK, *LEDGER)
    assert (useless.code, useless.err) == (
        USAGE,
        "Error: --ledger goes with --new: a store was paid for when it was made, and asking it again is free. Nothing "
        "was charged.\n",
    )
    second = paid(*ASK, *LEDGER, "--new", "--key", "store", "--store", "second.db")
    assert (second.code, second.out) == (USAGE, "")
    assert (
        "To go on with a store, ask it without --new, which is free; for another release use another --key"
        in second.err
    )


def test_a_density_that_cannot_be_seen_is_refused_by_its_expected_error(run: Run, tmp_path: Path) -> None:
    ages = np.random.default_rng(2).uniform(0, 100, 5)
    (tmp_path / "few.csv").write_text("ID,age\n" + "".join(f"{i},{age:.1f}\n" for i, age in enumerate(ages)))
    asked = ("release", "density", "few.csv", "--points", "age", "--unit", "ID", "--domain", "0,100", "--delta", 0)
    done = run(*asked, "--epsilon", 1)
    assert (done.code, done.out) == (USAGE, "")
    assert re.fullmatch(
        r"Error: With n = 6 and epsilon 1 the error expected would be \d{3}% of what .* differs by from a uniform "
        r"density\. About n = \d+.* would do\. Say --force to release it all the same\. Nothing was charged\.\n",
        done.err,
    )
    assert run(*asked, "--epsilon", 1, "--force").code == 0


@pytest.mark.parametrize("command", [("show",), ("evaluate", "--at", "0.5"), ("report",), ("sample", "--size", "3")])
def test_a_database_is_no_release_and_says_who_reads_it(command: tuple[str, ...], paid: Run) -> None:
    done = paid(command[0], "b.db", *command[1:])
    assert (done.code, done.out) == (USAGE, "")
    assert done.err == (
        "Error: 'b.db' is a database, not a release: a store of answers is asked by `dpfda ask FILE ... --store b.db "
        "--at 0.5`, a ledger is shown by `dpfda budget show sqlite:///b.db`.\n"
    )
