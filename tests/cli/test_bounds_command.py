"""`dpfda bounds`: a bound is bought among public candidates, charged, and comes with the command that uses it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpfda
from dpfda.errors import UsageError
from dpfda.ledger import Ledger
from dpfda.statistics.private_bound import GRID, check_heard

Run = Callable[..., Any]
USAGE, DATA = 2, 5
URL = "sqlite:///b.db"
ASKED = ("scans.csv", "--unit", "ID", "--values", "t*", "--epsilon", 1, "--candidates", "0.01,100")


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    """Constant curves of 2000 people, whose norms lie evenly between 0 and 2."""
    rows = [f"p{i}," + ",".join([f"{2 * i / 2000:.4f}"] * 5) for i in range(2000)]
    path = tmp_path / "flat.csv"
    path.write_text("\n".join(["ID,t0,t1,t2,t3,t4", *rows]) + "\n")
    return path


def test_a_bound_near_the_quantile_is_chosen_and_leads_to_a_release(run: Run, flat: Path, tmp_path: Path) -> None:
    """Candidates lie 12 % apart, so that the best misses 0.9 of 2000 units by at most 120.

    Those below 1.4 or above 2 miss by 200 or more: at epsilon 2 the chance of one of them is below 64 exp(-80).
    """
    asked = ("--unit", "ID", "--values", "t*", "--candidates", "0.05,50", "--epsilon", 2, "--quantile", 0.9)
    done = run("bounds", "flat.csv", *asked, "--out", "bound.json")
    assert (done.code, done.err) == (0, "")
    facts = json.loads((tmp_path / "bound.json").read_text())
    assert 1.4 < facts["bound"] < 2.0
    card = facts["card"]
    assert (card["epsilon"], card["unit"], card["dataset"], card["n"]) == (2.0, "ID", "flat", 2001)
    assert run("verify", "bound.json", "--file-only").code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Card of a choice: bound for 'flat'"
    assert f"Bound: {facts['bound']:.6g}" in lines
    assert "Written: bound.json" in lines
    assert lines[-2].startswith("Ledger:  nothing was recorded.")
    assert lines[-1] == (
        "Next:  dpfda release mean flat.csv --unit ID --values 't*' --epsilon EPSILON --delta DELTA --bound "
        f"{facts['bound']:.6g}"
    )
    typed = shlex.split(lines[-1].removeprefix("Next:  dpfda "))
    words = [{"EPSILON": "1", "DELTA": "0"}.get(word, word) for word in typed]
    assert run(*words).code == 0
    assert dpfda.load(tmp_path / "flat-mean.json").certificate.bound == float(f"{facts['bound']:.6g}")


def test_a_dry_run_says_cost_and_accuracy_and_reads_no_values(
    run: Run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.records import csv_files as csvfile

    def broken(*arguments: object) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(csvfile.CsvSource, "batches", broken)
    done = run("bounds", *ASKED, "--dry-run", "--out", "bound.json")
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert said.startswith(
        "Plan for the choice of a bound; no values read, nothing charged price pure epsilon 1, on top"
    )
    assert "candidates 64 bounds from 0.01 to 100" in said
    assert "chooses a bound that holds 0.95 of 301 units" in said
    assert (
        "accuracy of 301 units 285.95 should lie within it; with probability 0.95 the number that does is off by at "
        "most 15 units (5.0%) more than for the best candidate, and by 1.11 more for each candidate below that one"
    ) in said
    facts = json.loads(run("bounds", *ASKED, "--dry-run", "--json").out)
    assert (facts["n"], facts["epsilon"], facts["quantile"], len(facts["candidates"])) == (301, 1.0, 0.95, 64)
    assert "ledger" not in facts
    assert [path.name for path in tmp_path.iterdir()] == ["scans.csv"]


def test_too_little_epsilon_is_said_before_it_is_spent(run: Run, csv: Path) -> None:
    done = run("bounds", *ASKED, "--epsilon", "0.1", "--dry-run")
    assert "it may come out much too large: more epsilon or a lower quantile" in " ".join(done.out.split())


def test_a_bound_that_would_be_drawn_blindly_is_refused_unless_forced(run: Run, csv: Path) -> None:
    done = run("bounds", *ASKED, "--epsilon", "0.04")
    assert done.code == 2
    assert done.err == (
        "Error: With n = 301 and epsilon 0.04 the bound would be drawn almost blindly: it may miss the quantile by 358 "
        "units. About n = 754 or epsilon 0.1 would do, or candidates that are fewer. Say --force to choose all the "
        "same. Nothing was charged.\n"
    )
    assert run("bounds", *ASKED, "--epsilon", "0.04", "--force").code == 0


def test_json_is_the_card_with_the_bound(run: Run, csv: Path) -> None:
    done = run("bounds", *ASKED, "--json", "--dataset", "lungs")
    assert (done.code, done.err) == (0, "")
    facts = json.loads(done.out)
    assert (facts["dataset"], facts["candidates"], facts["chosen"]["bound"]) == ("lungs", 64, f"{facts['bound']:.6g}")


def test_a_bound_is_charged_before_the_release_and_on_top_of_it(run: Run, csv: Path) -> None:
    assert run("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", 0).code == 0
    done = run("bounds", *ASKED, "--ledger", URL, "--key", "bound", "--grid", "header", "--domain", "0,19")
    assert (done.code, done.err) == (0, "")
    assert re.search(
        r"\nLedger:  entry 2 of [0-9a-f]{32}, key bound; 'scans' has spent epsilon 1\.00 of 4\.00, left 3\.00\n",
        done.out,
    )
    assert done.out.splitlines()[-1].startswith(
        "Next:  dpfda release mean scans.csv --unit ID --values 't*' --grid header --domain 0,19 --epsilon EPSILON "
        "--delta DELTA --bound "
    )
    assert done.out.endswith(f" --ledger {URL} --dataset scans\n")
    assert Ledger(URL).remaining("scans").epsilon == 3.0


def test_a_bound_in_a_file_is_the_one_that_the_ledger_let_out(run: Run, csv: Path, tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator

    from dpfda.releases.documents import sealed

    Ledger(URL).create("scans", epsilon=4.0, delta=0.0, unit="ID")
    assert run("bounds", *ASKED, "--ledger", URL, "--out", "bound.json").code == 0
    assert run("verify", "bound.json", "--ledger", URL).code == 0
    data = json.loads((tmp_path / "bound.json").read_text())
    Draft202012Validator(json.loads(run("card", "--schema").out)).validate(data)
    del data["digest"]
    chosen = data["card"]["chosen"]
    data |= {"bound": 123.0, "card": data["card"] | {"result": 123.0, "chosen": chosen | {"bound": "123"}}}
    data["nist"] = json.loads(json.dumps(data["nist"]).replace(f"bound: {chosen['bound']};", "bound: 123;"))
    data["nist"] = json.loads(json.dumps(data["nist"]).replace(f"Bound: {chosen['bound']};", "Bound: 123;"))
    (tmp_path / "bound.json").write_text(sealed(data))
    assert run("verify", "bound.json", "--file-only").code == 0  # nobody knows better
    forged = run("verify", "bound.json", "--ledger", URL)
    assert forged.code == 4
    assert "card that was handed out under the entry: stated this card, recomputed another one" in forged.out


def test_a_bound_around_a_public_centre_is_for_what_is_released_around_it(run: Run, csv: Path) -> None:
    asked = ("--unit", "ID", "--values", "t*", "--epsilon", 50, "--delta", 0, "--bound", 1)
    assert run("release", "mean", csv.name, *asked, "--out", "m.json").code == 0
    told = run("bounds", *ASKED, "--centre", "m.json").out.splitlines()[-1]
    assert " covariance scans.csv " in told
    assert told.endswith(" --centre m.json")


MISTAKES = {
    "no candidates": (
        {"--candidates": None},
        USAGE,
        "Missing option '--candidates'. Try 'dpfda bounds --help'.",
    ),
    "candidates of words": (
        {"--candidates": "a,b"},
        USAGE,
        "--candidates takes numbers separated by commas, e.g. --candidates 0,1; got 'a,b'.",
    ),
    "candidates turned round": (
        {"--candidates": "100,0.01"},
        USAGE,
        "--candidates are bounds known in advance: 2 to 65536 increasing numbers between 1e-100 and 1e100, the last at "
        "most 1e+09 times the first; two are the ends of a grid of 64, got (100.0, 0.01).",
    ),
    "no epsilon": (
        {"--epsilon": 0},
        USAGE,
        "--epsilon must be a positive finite number, got 0.0. Most people choose 0.1 to 10.",
    ),
    "a quantile beyond one": ({"--quantile": 2}, USAGE, "--quantile must lie in (0, 1], e.g. 0.95, got 2.0."),
    "no such column": (
        {"--unit": "id"},
        DATA,
        "No column 'id' for the privacy unit. Columns are: ID, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, ... (21 in "
        "all).",
    ),
    "the data as the card": (
        {"--out": "scans.csv"},
        USAGE,
        "The data and the card must be different files. Name another with --out. Nothing was charged.",
    ),
    "no folder": (
        {"--out": "there/b.json"},
        DATA,
        "No folder '{folder}/there' to write to. Make it first. Nothing was charged.",
    ),
}


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["real", "dry run"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_costs_nothing(mistake: str, dry: tuple[str, ...], run: Run, csv: Path, tmp_path: Path) -> None:
    changed, code, message = MISTAKES[mistake]
    assert run("budget", "create", URL, "--dataset", "scans", "--epsilon", 4, "--delta", 0).code == 0
    good = dict(zip(ASKED[1::2], ASKED[2::2], strict=True))
    words = [word for name, value in (good | changed).items() if value is not None for word in (name, value)]
    done = run("bounds", "scans.csv", *words, "--ledger", URL, *dry)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message.format(folder=tmp_path)}\n")
    assert len(Ledger(URL).history()) == 1


def test_an_existing_card_is_not_replaced_unasked(run: Run, csv: Path, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("mine")
    done = run("bounds", *ASKED, "--out", "b.json")
    assert (done.code, done.out) == (DATA, "")
    assert done.err == "Error: 'b.json' exists. Say --overwrite, or name another file. Nothing was charged.\n"
    assert run("bounds", *ASKED, "--out", "b.json", "--overwrite").code == 0


@pytest.mark.parametrize("kind", ["mean", "covariance", "components"])
def test_the_way_to_a_bound_is_said_where_one_is_missing_and_can_be_typed(kind: str, run: Run, csv: Path) -> None:
    missing = run("release", kind, "scans.csv", "--unit", "ID", "--values", "t*", "--epsilon", 1, "--delta", 0)
    assert missing.code == USAGE
    typed = missing.err.split("Spend a little: dpfda ")[1].removesuffix(".\n").replace("LOW,HIGH", "0.01,100")
    assert run(*shlex.split(typed), "--dry-run").code == 0


def test_the_price_of_a_bound_that_is_told_would_do_and_much_less_would_not() -> None:
    for n in (30, 300, 3000):
        check_heard(n, 30 / n, 0.95, GRID)
        with pytest.raises(UsageError, match=r"About n = \d+ or epsilon [\d.]+ would do.* Nothing was charged\.$"):
            check_heard(n, 14 / n, 0.95, GRID)
