"""`dpfda ask`: a store is made once and on purpose, one point has one answer for ever, mistakes cost nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.cli.charging import unrecorded

Run = Callable[..., Any]
USAGE, PRIVACY, DATA = 2, 3, 5
PUBLIC = ("--domain", "0,100", "--epsilon", 1, "--delta", "1e-6", "--kernel", "matern-3/2,20", "--store", "oracle.db")
ASKED = ("people.csv", "--points", "age", "--unit", "person", *PUBLIC)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    ages = 100 * np.random.default_rng(8).beta(2, 4, 1000)
    path.write_text("person,age,deaths\n" + "".join(f"p{i},{age:.3f},2\n" for i, age in enumerate(ages)))
    return path


def values(out: str) -> dict[str, str]:
    return dict(line.split("\t") for line in out.splitlines()[1:])  # type: ignore[misc]


@pytest.mark.usefixtures("people")
def test_the_same_point_has_the_same_answer_and_the_card_comes_with_the_store(run: Run, tmp_path: Path) -> None:
    first = run("ask", *ASKED, "--at", "20,40", "--new")
    assert first.code == 0
    assert first.out.splitlines()[0] == "x\tvalue"
    with dpfda.open_store(tmp_path / "oracle.db") as oracle:
        card, kept = oracle.certificate, oracle([20.0, 40.0])
    told = f"{card.text()}\n\n\n{unrecorded('people')}\n"
    assert sorted(first.err.split("\n")) == sorted(told.split("\n"))  # a store keeps no order
    assert (card.dataset, card.unit, card.n) == ("people", "person", 1001.0)
    np.testing.assert_allclose([float(value) for value in values(first.out).values()], kept, rtol=1e-9)
    again = run("ask", *ASKED, "--at", "40,60,20")
    assert (again.code, again.err) == (0, "")
    found = values(again.out)
    assert {point: found[point] for point in ("20", "40")} == values(first.out)
    data = json.loads(run("ask", *ASKED, "--at", "20", "--json").out)
    assert (data["x"], data["card"]) == ([20.0], card.to_dict())
    assert data["value"] == [kept[0]]


@pytest.mark.usefixtures("people")
def test_rows_can_stand_for_many_people_and_points_have_sides(run: Run, tmp_path: Path) -> None:
    counted = ("people.csv", "--points", "age", "--counts", "deaths", *PUBLIC)
    assert run("ask", *counted, "--at", "20", "--new", "--dataset", "deaths").code == 0
    with dpfda.open_store(tmp_path / "oracle.db") as oracle:
        assert (oracle.certificate.n, oracle.certificate.dataset) == (2000.0, "deaths")
    box = ("people.csv", "--points", "age,deaths", "--unit", "person", "--domain", "0,100;0,10", *PUBLIC[2:-2])
    done = run("ask", *box, "--at", "20:5", "--new", "--store", "box.db", "--force")
    assert done.code == 0
    assert done.out.splitlines()[0] == "x1\tx2\tvalue"


@pytest.mark.usefixtures("people")
def test_a_dry_run_makes_no_store(run: Run, tmp_path: Path) -> None:
    done = run("ask", *ASKED, "--at", "20", "--new", "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Plan for a density of 1001 units")
    assert done.out.endswith("\n  protects    one person, replace-one\n  points      age\n")
    assert json.loads(run("ask", *ASKED, "--at", "20", "--new", "--dry-run", "--json").out)["n"] == 1001
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


MISTAKES: dict[str, tuple[tuple[object, ...], int, str]] = {
    "no store": (
        ("--at", "20"),
        DATA,
        "No store 'oracle.db'. Say --new to make it: that is a release, paid once for all answers. Nothing "
        "was charged.",
    ),
    "outside the domain": (
        ("--at", "200", "--new"),
        USAGE,
        "Points must lie in the domain [0, 100], got points from 200 to 200. Leave these points out, or state a wider "
        "domain from the start.",
    ),
    "no point": (("--at", "a", "--new"), USAGE, "--at takes points, separated by commas, e.g. --at 0,1; got 'a'."),
    "pure": (
        ("--at", "20", "--new", "--delta", 0),
        PRIVACY,
        "Answers are drawn with Gaussian noise, which needs delta > 0, e.g. --delta 1e-6. For delta = 0 release the "
        "whole density once, with dpfda release density, and evaluate it wherever you like, free. Nothing was charged.",
    ),
    "more columns than sides": (
        ("--at", "20", "--new", "--points", "deaths"),
        USAGE,
        "--points names 2 columns (age, deaths) and the domain has 1 side: one for each. Nothing was charged.",
    ),
}


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_one_line_and_makes_no_store(mistake: str, run: Run, tmp_path: Path) -> None:
    more, code, message = MISTAKES[mistake]
    done = run("ask", *ASKED, *more)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.usefixtures("people")
def test_a_store_is_made_once_and_asked_as_it_was_made(run: Run) -> None:
    assert run("ask", *ASKED, "--at", "20", "--new").code == 0
    again = run("ask", *ASKED, "--at", "20", "--new")
    text = "'oracle.db' exists. Leave --new out to ask it again, free, or name another store. Nothing was charged."
    assert (again.code, again.out, again.err) == (DATA, "", f"Error: {text}\n")
    other = run("ask", *ASKED, "--at", "20", "--epsilon", 2)
    assert (other.code, other.out) == (USAGE, "")
    assert other.err.startswith(
        "Error: The store 'sqlite:///oracle.db' belongs to another release (epsilon: 1.0 there, 2.0 "
    )


@pytest.mark.usefixtures("people")
def test_a_store_needs_a_folder(run: Run, tmp_path: Path) -> None:
    done = run("ask", *ASKED, "--at", "20", "--new", "--store", "there/oracle.db")
    text = f"No folder '{tmp_path}/there' to write to. Make it first. Nothing was charged."
    assert (done.code, done.err) == (DATA, f"Error: {text}\n")


@pytest.mark.usefixtures("people")
def test_outsiders_ask_over_http_and_get_what_the_store_keeps(run: Run, tmp_path: Path) -> None:
    assert run("ask", *ASKED, "--at", "20", "--new").code == 0
    command = [sys.executable, "-c", "from dpfda.cli.main import run; run()", "ask", *map(str, ASKED), "--serve", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            line = next(line for line in server.stdout if "http://" in line)
            address = re.search(r"http://[\d.:]+", line)
            assert address is not None
            request = urllib.request.Request(
                f"{address.group()}/releases/oracle/evaluate",
                data=b'{"points": [20.0, 55.5]}',
                headers={"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=30) as reply:
                answered = json.load(reply)["values"]
        finally:
            server.terminate()
        assert server.wait(30) == 0
    with dpfda.open_store(tmp_path / "oracle.db") as oracle:
        assert oracle([20.0, 55.5]).tolist() == answered


@pytest.mark.usefixtures("people")
def test_asking_nothing_is_refused(run: Run) -> None:
    done = run("ask", *ASKED, "--new")
    assert done.code == USAGE
    assert "Say where to ask, --at 20,40, or --serve 8000 to answer over HTTP." in done.err
