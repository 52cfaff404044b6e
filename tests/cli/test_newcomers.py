"""What somebody does who has never seen the command: pasting what it suggests, Ctrl-C, budgets that promise nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpfda.cli.charging import check_sense, safe, typed
from dpfda.cli.statements import Layout
from dpfda.errors import PrivacyRefused

Run = Callable[..., "object"]
ASKED = ("--unit", "ID", "--values", "t*", "--epsilon", 1, "--delta", 0, "--bound", 1)
SPACED = "sqlite:///my budget.db"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("postgresql:///led?host=/run/pg&port=5433", "postgresql:///led?host=/run/pg&port=5433"),
        ("postgresql://me:secret@host/db", "postgresql://me:...@host/db"),
    ],
)
def test_an_address_is_shown_as_it_can_be_typed(url: str, shown: str) -> None:
    assert safe(url) == shown
    assert shlex.split(typed(url, Path("my file"), "the scans")) == [
        *("--ledger", shown, "--dataset", "the scans", "--anchor", "my file")
    ]
    assert typed(None, None, "scans") == ""


def test_what_create_suggests_can_be_pasted(run: Run, csv: Path) -> None:
    made = run(
        "budget", "create", SPACED, "--dataset", "the scans", "--epsilon", 4, "--delta", 0, "--anchor", "my anchor"
    )
    last = made.out.splitlines()[-1]
    assert (
        last
        == "Next: add --ledger 'sqlite:///my budget.db' --dataset 'the scans' --anchor 'my anchor' to every release"
    )
    words = shlex.split(last.removeprefix("Next: add ").removesuffix(" to every release"))
    assert run("release", "mean", csv.name, *ASKED, *words).code == 0


def test_what_bounds_suggests_can_be_pasted(run: Run, csv: Path, tmp_path: Path) -> None:
    csv.rename(tmp_path / "my scans.csv")
    ledger = ("--ledger", SPACED, "--dataset", "scans", "--anchor", "my anchor")
    assert run("budget", "create", SPACED, *ledger[2:], "--epsilon", 4, "--delta", 0).code == 0
    done = run(
        "bounds", "my scans.csv", "--unit", "ID", "--values", "t*", "--epsilon", 1, "--candidates", "0.1,10", *ledger
    )
    (line,) = [line for line in done.out.splitlines() if line.startswith("Next:  dpfda ")]
    assert line.endswith("--ledger 'sqlite:///my budget.db' --dataset scans --anchor 'my anchor'")
    words = shlex.split(line.removeprefix("Next:  dpfda ").replace("EPSILON", "1").replace("DELTA", "0"))
    assert run(*words).code == 0


def test_the_command_for_ages_takes_them_as_places(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"p{i},1,2,3,4\n" for i in range(200))
    (tmp_path / "growth.csv").write_text("ID,age_1,age_1.25,age_2,age_18\n" + rows)
    for stated in ((), ("--values", "age_*"), ("--grid", "header")):
        done = run("check", "growth.csv", *stated, "--epsilon", 1, "--delta", 0, "--bound", 4)
        words = shlex.split(done.out.splitlines()[-1])
        if stated[:1] != ("--grid",):
            assert done.out.splitlines()[-1].count(" --grid header --domain 1,18 ") == 1
            assert run(*words[1:], "--overwrite").code == 0
    stated = run("check", "growth.csv", "--domain", "0,20", "--epsilon", 1, "--delta", 0, "--bound", 4).out
    assert "--domain 0,20 --epsilon" in stated
    assert "--domain 1,18" not in stated.splitlines()[-1]
    assert "--grid" not in run("check", "growth.csv", "--kind", "density").out.splitlines()[-1]


def test_uneven_ages_are_not_taken_as_even_without_a_word(run: Run, tmp_path: Path) -> None:
    (tmp_path / "growth.csv").write_text("ID,t1,t2,t8\n" + "".join(f"p{i},1,2,3\n" for i in range(200)))
    done = run("release", "mean", "growth.csv", *ASKED)
    assert (done.code, done.out) == (5, "")
    assert done.err == (
        "Error: The numbers in the names of the value columns do not increase by equal steps, and an even grid would "
        "put the points elsewhere. Say --grid header to take the numbers for places, or --grid even for equal steps "
        "all the same.\n"
    )
    (tmp_path / "bare.csv").write_text("ID,1.5,2.5,8.5\n" + "".join(f"p{i},1,2,3\n" for i in range(200)))
    asked = [word if word != "t*" else "[0-9]*" for word in ASKED]
    done = run("release", "mean", "bare.csv", *asked)
    assert done.code == 5
    assert "8.5" not in done.out + done.err


@pytest.mark.parametrize(
    ("names", "long"),
    [
        (("ID", "index", "t", "fa"), ("t", "fa")),
        (("ID", "time", "glucose"), ("time", "glucose")),
        (("ID", "age", "sex", "score"), None),
        (("ID", "age", "income"), None),
        (("ID", "date", "steps"), ("date", "steps")),
        (("ID", "day", "hour", "kWh"), ("hour", "kWh")),
        (("t", "index", "fa"), None),
        (("ID", "t", "visit"), None),
    ],
)
def test_a_long_table_is_known_by_persons_and_times(names: tuple[str, ...], long: tuple[str, str] | None) -> None:
    assert Layout(Path("a.csv"), names, None).long == long


def test_columns_that_nobody_is_called_by_are_no_units(run: Run, tmp_path: Path) -> None:
    (tmp_path / "deaths.csv").write_text("region_code,region,period,age_lo,age_hi,deaths\n")
    assert "no name sounds like that of a person." in run("check", "deaths.csv").out
    assert json.loads(run("check", "deaths.csv", "--json").out)["could_be_unit"] == []


def test_check_says_that_a_record_in_the_first_line_is_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("Maria Huber;female;Graz\n")
    said = " ".join(run("check", "words.csv").out.split())
    assert "unless that line is itself a record, which is then shown here: put a line of names above it" in said
    (tmp_path / "record.csv").write_text("Maria Huber;1971-03-02;0,41\n")
    for more in ((), ("--json",), ("--unit", "Maria")):
        done = run("check", "record.csv", *more)
        assert "Huber" not in done.out + done.err
        assert "1971" not in done.out + done.err


@pytest.mark.parametrize(
    ("epsilon", "delta", "warned"),
    [
        (4.0, 1e-6, 0),
        (10.0, 1e-5, 0),
        (11.0, 1e-6, 1),
        (4.0, 1e-3, 1),
        (100.0, 9e-3, 2),
        (float("nan"), 0.0, 0),
    ],
)
def test_budgets_that_promise_little_are_warned_about(epsilon: float, delta: float, warned: int) -> None:
    assert len(check_sense(epsilon, delta, force=False)) == warned


@pytest.mark.parametrize(("epsilon", "delta"), [(101.0, 0.0), (1.0, 0.01), (5000.0, 0.5)])
def test_budgets_that_promise_nothing_need_force(epsilon: float, delta: float) -> None:
    with pytest.raises(PrivacyRefused, match=r"protects nobody, and is never changed again\. Say --force if that is"):
        check_sense(epsilon, delta, force=False)
    assert check_sense(epsilon, delta, force=True)


def test_create_warns_refuses_and_says_that_it_is_adaptive(run: Run, tmp_path: Path) -> None:
    asked = ("budget", "create", "sqlite:///b.db", "--dataset", "scans", "--epsilon", 4, "--delta")
    for more in ((), ("--dry-run",)):
        done = run(*asked, 0.5, *more)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith("Error: delta = 0.5 would let 50% of all people be exposed outright.")
    assert not (tmp_path / "b.db").exists()
    done = run(*asked, 0.001, "--adaptive")
    assert done.err == "Warning: delta = 0.001 would let one person in 1000 be exposed outright. Use at most 1e-5.\n"
    assert "; prices may be chosen adaptively" in done.out
    forced = run(
        "budget", "create", "sqlite:///b.db", "--dataset", "x", "--epsilon", 200, "--delta", 0, "--force", "--json"
    )
    assert json.loads(forced.out)["warnings"] == [
        "epsilon = 200 promises next to nothing: an attacker may become e^200 times more certain. Use at most 10."
    ]


@pytest.mark.parametrize("where", ["before", "during", "after"])
def test_an_interrupted_release_says_whether_it_was_charged(
    where: str, run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda.ledger import Ledger

    def stop(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    assert run("budget", "create", "sqlite:///b.db", "--dataset", "scans", "--epsilon", 4, "--delta", 0).code == 0
    asked = ("release", "mean", csv.name, *ASKED, "--ledger", "sqlite:///b.db", "--key", "my key")
    target, name = {
        "before": ("dpfda.cli.charging", "note_charge"),
        "during": ("dpfda.ledger.durable.Ledger", "charge"),
        "after": ("dpfda.ledger.durable.Ledger", "store"),
    }[where]
    with monkeypatch.context() as patched:
        patched.setattr(f"{target}.{name}", stop)
        done = run(*asked)
    assert (done.code, done.out) == (130, "")
    told = {
        "before": "",
        "during": " If it was charged already, the same command with --key 'my key' goes on with it, free.",
        "after": " It was charged: the same command with --key 'my key' goes on with it, free.",
    }
    assert done.err == f"Error: Interrupted.{told[where]}\n"
    assert len(Ledger("sqlite:///b.db").history("scans")) == (2 if where == "after" else 1)
    assert run(*asked).code == 0
    charges = [entry for entry in Ledger("sqlite:///b.db").history("scans") if entry.kind == "charge"]
    assert len(charges) == 1


def test_an_interrupt_while_the_command_is_loaded_has_no_traceback() -> None:
    code = (
        "import builtins, sys\n"
        "real = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'dpfda.cli.main':\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "from dpfda.cli.command import run\n"
        "builtins.__import__ = slow\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Error: Interrupted.\n")


@pytest.mark.parametrize("kind", ["mean", "density"])
def test_what_can_be_refused_quickly_is_refused_before_estimators_are_loaded(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ID,t1,t2\np,1,2\n")
    (tmp_path / f"a-{kind}.json").touch()
    asked = {
        "mean": ["--values", "t*", "--bound", "1"],
        "density": ["--points", "t1", "--domain", "0,1"],
    }[kind]
    code = (
        "import sys\n"
        "from dpfda.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print([name for name in ('sklearn', 'scipy.linalg', 'pyarrow') if name in sys.modules])\n"
    )
    told = {
        "a.csv": f"Error: 'a-{kind}.json' exists. Say --overwrite, or name another file. Nothing was charged.\n",
        "none.csv": "Error: No file 'none.csv'. Check the path.\n",
    }
    for file, text in told.items():
        words = ["release", kind, file, "--unit", "ID", *asked, "--epsilon", "1", "--delta", "0"]
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert (done.returncode, done.stderr, done.stdout) == (5, text, "[]\n")


def test_numbers_that_do_not_increase_are_not_shown_as_places(run: Run, tmp_path: Path) -> None:
    (tmp_path / "record.csv").write_text("1001,17.25,female,0.491\n1002,18,male,1\n")
    stated = ("--unit", "row", "--values", "[0-9]*", "--grid", "header")
    done = run("check", "record.csv", *stated)
    assert done.code == 5
    assert "--grid header takes numbers that increase, and those in the first line do not" in " ".join(done.out.split())
    other = run("release", "mean", "record.csv", *stated, "--epsilon", 1, "--delta", 0, "--bound", 1)
    assert (other.code, other.out) == (5, "")
    assert "give the file a line of names." in other.err
    for cell in ("1001", "17.25", "female", "0.491"):
        assert cell not in done.out + other.err


@pytest.mark.parametrize("name", ["fa", "fa $x", "it's", 'so "called"'])
def test_the_way_to_a_wide_table_can_be_pasted_whatever_columns_are_called(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"ID;t;{name}\n1;0;0.5\n")
    (line,) = [line for line in run("check", "long.csv").out.splitlines() if line.startswith("  python -c ")]
    done = subprocess.run(
        ["sh", "-c", f'set -- {line.strip()}; printf %s "$3"'], capture_output=True, text=True, check=True
    )
    assert f"values={name!r})" in done.stdout
    compile(done.stdout, "typed", "exec")
