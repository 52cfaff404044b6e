"""`dpfda budget`: budgets are made once, shown with what was spent and is left, frozen for ever, and checked."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpfda.cli.charging import bar, down, left, safe, up
from dpfda.ledger import Charge, Ledger
from dpfda.privacy import Budget, Unit
from dpfda.privacy.profiles import GaussianProfile, PureProfile

Run = Callable[..., Any]
URL = "sqlite:///b.db"
USAGE, BUDGET, DATA = 2, 4, 5


@pytest.fixture
def made(run: Run) -> Run:
    """The command, in a folder with a ledger of one budget."""
    assert run("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", "1e-6").code == 0
    return run


def spend(epsilon: float, key: str, *, dataset: str = "scans", output: bytes | None = b"x") -> None:
    """A pure charge, and what became of it."""
    ledger = Ledger(URL)
    charge = Charge(
        dataset,
        "mean function, laplace",
        Budget(epsilon, 0.0),
        losses=(PureProfile(epsilon),),
        unit=Unit("ID", "replace-one"),
        key=key,
        request="r",
    )
    receipt = ledger.charge(charge)
    if output is None:
        ledger.burn(receipt)
    elif output:
        ledger.store(receipt, output)


def test_a_budget_is_made_once_and_says_what_to_do_next(run: Run, tmp_path: Path) -> None:
    asked = ("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", "1e-6")
    dry = run(*asked, "--dry-run")
    assert (dry.code, dry.err) == (0, "")
    assert dry.out.startswith("Would make a budget of epsilon 4, delta 1e-06 for 'scans' in sqlite:///b.db;")
    assert list(tmp_path.iterdir()) == []
    done = run(*asked, "--copies", "clean, old", "--unit", "ID")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Made a budget of epsilon 4, delta 1e-06 for 'scans' and its copies clean, old in sqlite:///b.db; protects "
        "each ID, replace-one\nNext: add --ledger sqlite:///b.db --dataset scans to every release\n"
    )
    for name, more in (("scans", ()), ("clean", ()), ("scans", ("--dry-run",)), ("old", ("--dry-run",))):
        again = run("budget", "create", URL, "--dataset", name, "--epsilon", 8, "--delta", 0, *more)
        assert (again.code, again.out) == (USAGE, "")
        assert f"has a budget for {name!r} already, and it is neither raised nor made again." in again.err
    (found,) = Ledger(URL).datasets()
    assert (found.name, found.copies, found.cap, found.unit) == ("scans", ("clean", "old"), Budget(4.0, 1e-6), "ID")


def test_making_a_budget_prints_json(run: Run) -> None:
    done = run("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", 0, "--json", "--dry-run")
    assert json.loads(done.out) == {
        "ledger": URL,
        "dataset": "scans",
        "copies": [],
        "epsilon": 4.0,
        "delta": 0.0,
        "unit": None,
        "neighbours": "replace-one",
        "adaptive": False,
        "anchor": None,
        "created": False,
        "warnings": [],
    }


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["real", "dry run"])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--epsilon": 0}, "--epsilon must be a positive finite number"),
        ({"--delta": 1}, "--delta must lie in [0, 1)"),
        ({"--copies": "scans"}, "A data set and its copies have a name each"),
        ({"--copies": "a,,b"}, "1 to 200 printable characters"),
        ({"--dataset": ""}, "1 to 200 printable characters"),
    ],
    ids=["epsilon", "delta", "copy of itself", "empty copy", "empty name"],
)
def test_a_mistake_makes_no_ledger(
    changed: dict[str, object], message: str, dry: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    good: dict[str, object] = {"--dataset": "scans", "--epsilon": 4, "--delta": 0}
    words = [word for pair in (good | changed).items() for word in pair]
    done = run("budget", "create", URL, *words, *dry)
    assert (done.code, done.out) == (USAGE, "")
    assert message in done.err
    assert list(tmp_path.iterdir()) == []


def test_show_says_of_an_adaptive_budget_what_its_filter_proves(run: Run) -> None:
    asked = ("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", "1e-6", "--adaptive")
    assert run(*asked).code == 0
    assert "  spent       epsilon 0.00 of 4.00 at delta 1e-06\n" in run("budget", "show", URL).out
    spend(1.0, "a")
    lines = run("budget", "show", URL, "--people", 2).out.splitlines()
    counted = "what the privacy filter has counted, which is no guarantee by itself"
    assert lines[4:9] == [
        "  [##########..............................] 25.0% counted",
        "  guarantee   epsilon 4.00 at delta 1e-06: the whole budget, since prices may depend on earlier releases",
        f"  counter     1.00 of 4.00 at delta 1e-06: {counted}",
        "  left        epsilon 3.00 by the counter",
        "  statements  no pure epsilon; no zCDP; (epsilon, delta) by privacy filter",
    ]
    assert lines[9].startswith("  2 people    together: epsilon 8.00 at delta 5.56e-05; no pure epsilon; no zCDP; ")
    assert "  99 people   together: no epsilon; " in run("budget", "show", URL, "--people", 99).out
    (facts,) = json.loads(run("budget", "show", URL, "--json").out)["datasets"]
    assert facts["spent"] == {
        "epsilon": 4.0,
        "delta": 1e-6,
        "pure": None,
        "rho": None,
        "method": "privacy filter",
        "nominal": False,
        "counter": 1.0,
    }
    history = run("budget", "history", URL).out
    assert f"counted: {counted}" in " ".join(history.split())
    assert "1.00 (counted)" in history
    assert "(counted)" not in run("budget", "history", URL, "--json").out


def test_every_number_that_show_prints_of_an_approximate_draw_is_nominal(made: Run) -> None:
    charge = Charge(
        "scans", "gibbs", Budget(0.5, 0.0), (PureProfile(0.5),), unit=Unit("ID", "replace-one"), nominal=True
    )
    Ledger(URL).charge(charge)
    shown = made("budget", "show", URL, "--people", 2).out
    assert "  statements  nominally pure epsilon 0.50; nominally 0.13-zCDP; (epsilon, delta) by " in shown
    assert (
        "together: nominally epsilon 1.00 at delta 1e-06; nominally pure epsilon 1.00; nominally 0.50-zCDP; " in shown
    )


def test_show_draws_what_is_spent_and_left(made: Run) -> None:
    spend(0.75, "a")
    spend(0.25, "b")
    done = made("budget", "show", URL)
    assert (done.code, done.err) == (0, "")
    identifier = Ledger(URL).id
    lines = done.out.splitlines()
    assert lines[0] == f"Ledger {identifier} at {URL}"
    assert lines[1] == "  anchor      none, so an old copy that was put back would not be noticed"
    assert lines[3:8] == [
        "'scans'",
        "  [##########..............................] 25.0% spent",
        "  spent       epsilon 1.00 of 4.00 at delta 1e-06",
        "  left        epsilon 3.00",
        lines[7],
    ]
    assert lines[7].startswith("  statements  pure epsilon 1.00; 0.32-zCDP; (epsilon, delta) by ")
    assert lines[8:] == [
        "  releases    2",
        "  protects    one ID",
        "  neighbours  replace-one",
        "  prices      do not depend on earlier releases",
        "  state       open",
    ]


def test_show_as_json_has_every_statement(made: Run) -> None:
    spend(1.0, "a")
    (found,) = json.loads(made("budget", "show", URL, "--people", 3, "--json").out)["datasets"]
    assert (found["name"], found["epsilon"], found["delta"]) == ("scans", 4.0, 1e-6)
    assert (found["spent"]["pure"], found["spent"]["rho"]) == pytest.approx((1.0, 0.5), rel=1e-9)
    assert 0.999 < found["spent"]["epsilon"] <= 1.0 <= 3.0 <= found["left"] < 3.001  # delta buys a little
    assert (found["people"]["size"], found["people"]["spent"]["pure"]) == (3, pytest.approx(3.0, rel=1e-9))
    assert (found["unit"], found["neighbours"], found["frozen"], found["releases"]) == ("ID", "replace-one", False, 1)


def test_what_has_no_pure_statement_says_so(made: Run) -> None:
    loss = GaussianProfile(0.2)
    charge = Charge("scans", "mean", Budget(1.0, 1e-6), losses=(loss,), unit=Unit("ID", "replace-one"), key="a")
    Ledger(URL).charge(charge)
    assert "no pure epsilon; 0.020-zCDP;" in made("budget", "show", URL).out
    (found,) = json.loads(made("budget", "show", URL, "--json").out)["datasets"]
    assert found["spent"]["pure"] is None


def test_show_for_groups_says_what_holds_for_them_together(made: Run) -> None:
    spend(1.0, "a")
    out = made("budget", "show", URL, "--people", 4).out
    assert re.search(
        r"\n  4 people    together: epsilon (3\.9\d|4\.00) at delta 1e-06; pure epsilon 4\.00; 8\.00-zCDP;", out
    )


def test_show_takes_one_data_set_by_any_of_its_names(made: Run) -> None:
    assert made("budget", "create", URL, "--dataset", "load", "--epsilon", 1, "--delta", 0).code == 0
    assert made("budget", "copy", URL, "--dataset", "load", "--name", "load-clean").code == 0
    both = made("budget", "show", URL).out
    assert "'scans'\n" in both
    assert "'load', also called load-clean\n" in both
    one = made("budget", "show", URL, "--dataset", "load-clean").out
    assert "'load'" in one
    assert "'scans'" not in one
    assert "  protects    as the first release will say" in one


def test_a_copy_spends_from_the_same_budget(made: Run) -> None:
    done = made("budget", "copy", URL, "--dataset", "scans", "--name", "clean")
    assert (done.code, done.out) == (0, "'clean' now spends from the budget of 'scans' in sqlite:///b.db\n")
    spend(1.0, "a", dataset="clean")
    assert 3.0 <= Ledger(URL).remaining("scans").epsilon < 3.001  # delta buys a little
    assert json.loads(made("budget", "copy", URL, "--dataset", "scans", "--name", "clean", "--json").out) == {
        "ledger": URL,
        "dataset": "scans",
        "copy": "clean",
    }
    assert made("budget", "copy", URL, "--dataset", "none", "--name", "other").code == BUDGET


def test_history_lists_charges_with_cost_total_key_and_fate(made: Run) -> None:
    spend(0.5, "first")
    spend(0.25, "second", output=None)
    spend(0.25, "third", output=b"")
    done = made("budget", "history", URL)
    assert (done.code, done.err) == (0, "")
    cells = [re.split(r"\s{2,}", line.strip()) for line in done.out.splitlines()]
    shown = [line for line in cells if line[0].isdigit()]
    assert [line[3] for line in shown] == ["budget of epsilon 4, delta 1e-06", *["mean function, laplace"] * 3]
    assert [line[4:] for line in shown[1:]] == [
        ["0.50", "0.50", "first", "stored"],
        ["0.25", "0.75", "second", "burnt"],
        ["0.25", "1.00", "third", "open"],
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown[0][1])
    entries = json.loads(made("budget", "history", URL, "--dataset", "scans", "--json").out)["entries"]
    assert [entry["kind"] for entry in entries] == ["create", "charge", "output", "charge", "burn", "charge"]


def test_a_long_history_shows_its_newest_entries(made: Run) -> None:
    for index in range(105):
        spend(0.001, f"key-{index}")
    out = made("budget", "history", URL).out
    assert "; the newest 100 of 106, --json has them all\n" in out
    assert "key-104" in out
    assert "key-4 " not in out
    assert len(json.loads(made("budget", "history", URL, "--json").out)["entries"]) == 211


def test_a_frozen_budget_stays_frozen_and_shows_it(made: Run) -> None:
    dry = made("budget", "freeze", URL, "--dataset", "scans", "--dry-run")
    assert (dry.code, dry.out) == (0, "Would freeze the budget of 'scans' in sqlite:///b.db, for ever\n")
    assert not Ledger(URL).datasets()[0].frozen
    done = made("budget", "freeze", URL, "--dataset", "scans", "--json")
    assert json.loads(done.out) == {"ledger": URL, "dataset": "scans", "frozen": True}
    assert Ledger(URL).datasets()[0].frozen
    shown = made("budget", "show", URL).out
    assert "  left        nothing, since it is frozen" in shown
    assert "  state       frozen" in shown
    assert "frozen" in made("budget", "history", URL).out
    for more in ((), ("--dry-run",)):
        assert made("budget", "freeze", URL, "--dataset", "none", *more).code == BUDGET


def test_export_holds_all_that_an_accountant_needs(made: Run, tmp_path: Path) -> None:
    spend(0.5, "a")
    printed = made("budget", "export", URL)
    facts = json.loads(printed.out)
    assert facts == Ledger(URL).export()
    done = made("budget", "export", URL, "--out", "b.json")
    assert (done.code, done.out) == (0, "Written: b.json\n")
    assert json.loads((tmp_path / "b.json").read_text()) == facts
    again = made("budget", "export", URL, "--out", "b.json")
    assert (again.code, again.err) == (DATA, "Error: 'b.json' exists. Say --overwrite, or name another file.\n")
    assert json.loads(made("budget", "export", URL, "--out", "b.json", "--overwrite", "--json").out) == {
        "written": ["b.json"]
    }


def test_check_finds_a_changed_entry(made: Run, tmp_path: Path) -> None:
    spend(0.5, "a")
    done = made("budget", "check", URL)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Intact: 3 entries of ledger {Ledger(URL).id}, their chain,")
    assert json.loads(made("budget", "check", URL, "--json").out)["intact"]
    with sqlite3.connect(tmp_path / "b.db") as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("UPDATE dpfda_events SET epsilon = 0.25 WHERE kind = 'charge'")
    database.close()
    bad = made("budget", "check", URL)
    assert (bad.code, bad.out) == (DATA, "")


def test_an_old_copy_that_was_put_back_is_noticed_with_an_anchor(run: Run, tmp_path: Path) -> None:
    anchored = ("--anchor", "b.anchor")
    done = run("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", 0, *anchored)
    assert done.out.endswith("Next: add --ledger sqlite:///b.db --dataset scans --anchor b.anchor to every release\n")
    shutil.copy(tmp_path / "b.db", tmp_path / "old.db")
    assert run("budget", "copy", URL, "--dataset", "scans", "--name", "clean", *anchored).code == 0
    intact = run("budget", "check", URL, *anchored)
    assert "; anchor: b.anchor agrees: the ledger holds all that it remembers since entry 1\n" in intact.out
    assert "\n  anchor      b.anchor agrees" in run("budget", "show", URL, *anchored).out
    blind = run("budget", "show", URL)
    assert "\n  anchor      not looked at (there is one since entry 1): say --anchor FILE, else an old" in blind.out
    state = {"state": "not looked at", "since_entry": 1, "file": None}
    assert json.loads(run("budget", "show", URL, "--json").out)["anchor"] == state
    assert json.loads(run("budget", "check", URL, "--json").out)["anchor"] == state
    without = run("budget", "copy", URL, "--dataset", "scans", "--name", "other")
    assert without.code != 0
    assert "open it with --anchor FILE" in without.err
    shutil.copy(tmp_path / "old.db", tmp_path / "b.db")
    for words in (("check",), ("show",), ("history",), ("freeze", "--dataset", "scans"), ("export",)):
        refused = run("budget", words[0], URL, *words[1:], *anchored)
        assert (refused.code, refused.out) == (DATA, "")
        assert "A backup was restored" in refused.err


def test_a_ledger_can_be_anchored_later(made: Run) -> None:
    spend(0.5, "a")
    done = made("budget", "anchor", URL, "--anchor", "late.anchor")
    assert (done.code, done.out) == (0, "sqlite:///b.db is anchored in late.anchor: say --anchor from here on\n")
    assert made("budget", "check", URL, "--anchor", "late.anchor").code == 0
    again = made("budget", "anchor", URL, "--anchor", "late.anchor", "--json")
    assert (again.code, again.out) == (USAGE, "")
    second = ("budget", "anchor", URL, "--anchor", "later.anchor")
    unsaid = made(*second)
    assert (unsaid.code, unsaid.out) == (USAGE, "")
    assert "Name it, so that it is closed: --former FILE; or say --lost, if it is gone" in unsaid.err
    assert made(*second, "--former", "late.anchor").code == 0
    closed = made("budget", "show", URL, "--anchor", "late.anchor")
    assert (closed.code, closed.out) == (USAGE, "")
    assert made("budget", "anchor", URL, "--anchor", "last.anchor", "--lost").code == 0
    assert "anchored anew: the anchor before was said to be lost" in made("budget", "history", URL).out


@pytest.mark.parametrize("anchored", [False, True], ids=["never anchored", "anchored"])
@pytest.mark.parametrize("words", [("show",), ("history",), ("check",), ("export",), ("freeze", "--dataset", "scans")])
def test_a_mistyped_anchor_is_an_error_for_every_command(words: tuple[str, ...], anchored: bool, made: Run) -> None:
    if anchored:
        made("budget", "anchor", URL, "--anchor", "right.anchor")
    done = made("budget", words[0], URL, *words[1:], "--anchor", "typo.anchor")
    assert (done.code, done.out) == (DATA, "")
    assert "There is no anchor at " in done.err
    assert ("--anchor FILE --lost" in done.err) is anchored


@pytest.mark.parametrize("words", [("show",), ("history",), ("check",), ("export",), ("freeze", "--dataset", "a")])
def test_without_a_ledger_the_way_to_one_is_said(words: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    done = run("budget", words[0], URL, *words[1:])
    assert (done.code, done.out) == (DATA, "")
    assert "make one with dpfda budget create URL --dataset NAME" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_without_a_budget_is_a_budget_error(made: Run) -> None:
    done = made("budget", "show", URL, "--dataset", "none")
    assert (done.code, done.out) == (BUDGET, "")
    assert "has no budget for 'none'. It has one for 'scans'. If the data are the same" in done.err
    assert "Ledger.create" not in done.err


@pytest.mark.parametrize(
    "words", [("show",), ("check",), ("create", "--dataset", "a", "--epsilon", "1", "--delta", "0")]
)
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:opensesame@127.0.0.1:1/x",
        "postgresql://127.0.0.1:1/x?password=opensesame",
        "x://a:opensesame@b",
    ],
)
def test_no_message_shows_a_password(url: str, words: tuple[str, ...], run: Run) -> None:
    done = run("budget", words[0], url, *words[1:])
    assert done.code in (USAGE, DATA)
    assert "opensesame" not in done.out + done.err


def test_addresses_are_shown_without_their_password() -> None:
    assert "secret" not in safe("postgresql://me:secret@host/db")
    assert safe("postgresql://me:secret@host/db").startswith("postgresql://me:")
    assert safe("sqlite:///b.db") == "sqlite:///b.db"


def test_bars_are_full_only_when_nothing_is_left() -> None:
    assert bar(0.0, 4.0) == f"[{'.' * 40}] 0.0% spent"
    assert bar(1e-9, 4.0).startswith("[#.")
    assert bar(3.999999, 4.0).startswith(f"[{'#' * 39}.]")
    assert bar(4.0, 4.0) == f"[{'#' * 40}] 100.0% spent"


def test_amounts_spent_round_up_and_amounts_left_down() -> None:
    assert (up(0.301), down(0.309)) == ("0.31", "0.30")
    assert (up(1.0), down(1.0)) == ("1.00", "1.00")
    assert (up(0.500000000001), up(0.500001)) == ("0.50", "0.51")
    assert (up(float("inf")), down(float("inf"))) == ("infinite", "infinite")
    assert left(1.0, 0.9) == 0.1  # doubles would leave 0.0999...
    assert left(1.0, float("inf")) == 0.0


def test_a_total_that_rests_on_an_approximate_draw_is_called_nominal(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = Ledger(url)
    ledger.create("scans", epsilon=2.0, delta=0.0)
    ledger.charge(Charge("scans", "frames", Budget(0.25, 0.0), (PureProfile(0.25),), nominal=True))
    shown = run("budget", "show", url).out
    assert "spent       nominally epsilon 0.25 of 2.00" in shown
    assert "left        nominally epsilon 1.75" in shown
    assert "no guarantee" in shown
    assert "0.25 (nominal)" in run("budget", "history", url).out
    found = json.loads(run("budget", "show", url, "--json").out)["datasets"][0]
    assert found["nominal"] is found["spent"]["nominal"] is True
