"""Names that no file system can hold get one error, before anything is done."""

from __future__ import annotations

import pytest

LONG = "10" * 200


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["new", "overwrite"])
def test_a_name_that_is_too_long_is_refused(run, overwrite):
    assert run("budget", "create", "sqlite:///l.db", "--dataset", "d", "--epsilon", 1, "--delta", 0).code == 0
    done = run("budget", "export", "sqlite:///l.db", "--out", LONG, *overwrite)
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("Error: Cannot write '1010")
    assert done.err.endswith(": File name too long. Name another file.\n")


def test_a_release_under_such_a_name_is_refused_before_the_charge(run, tmp_path):
    (tmp_path / "a.csv").write_text("t1,t2,t3\n" + "0.1,0.2,0.3\n" * 200)
    asked = ("--unit", "row", "--values", "t*", "--epsilon", 1, "--delta", 0, "--bound", 1)
    done = run("release", "mean", "a.csv", *asked, "--out", f"{LONG}.json")
    assert (done.code, done.out) == (5, "")
    assert done.err.endswith("File name too long. Name another file. Nothing was charged.\n")
