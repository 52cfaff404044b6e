"""Oddities in the records are repaired inside their own unit: two neighbouring data sets look alike from outside."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpfda
from dpfda.mechanisms import DictionaryDraw

WIDTH, PEOPLE = 6, 5
GRID = np.linspace(0, 1, WIDTH)
NAN, INF = np.nan, np.inf
ODDITIES = {
    "ordinary": [0.1, 0.2, 0.3, 0.2, 0.1, 0.0],
    "empty": [NAN] * WIDTH,
    "infinite": [INF] * WIDTH,
    "both infinities": [INF, -INF] * 3,
    "one point": [NAN, NAN, 0.5, NAN, NAN, NAN],
    "constant": [0.5] * WIDTH,
    "zero": [0.0] * WIDTH,
    "huge": [1e308] * WIDTH,
    "huge and alternating": [1e308, -1e308] * 3,
    "denormal": [5e-324] * WIDTH,
    "beyond the bound": [3.0, -3.0] * 3,
}
REPLACE = {"neighbours": "replace-one"}
ADD = {"neighbours": "add-or-remove-one", "planned_n": 5}
RELATIONS = pytest.mark.parametrize("relation", [REPLACE, ADD], ids=["replace-one", "add-or-remove-one"])


def seen(data, relation=REPLACE, *, units=None, grid=GRID, **parameters):
    """All that is visible of a fit apart from the noisy numbers themselves."""
    known = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "domain": (0, 1), "force": True}
    est = dpfda.MeanFunction(**{**known, **relation, **parameters})
    out, err, error, card = io.StringIO(), io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("always")
        try:
            release = est.fit(data, grid=grid, units=units).release_
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
    shapes = None
    if error is None:
        # Whether anything was detected is read off the noisy numbers.
        card = replace(release.certificate, detected="")
        if card.n_is_noisy:
            # The count and what is divided by it are part of what was paid for.
            assert card.n >= 1
            card = replace(card, n=0.0, scale=0.0, noise_rms=0.0)
        assert np.isfinite(release.noisy).all()
        assert np.isfinite(release(GRID)).all()
        shapes = (
            release.noisy.shape,
            release.noise.sizes,
            release.basis,
            len(release.smoothing.weights),
            repr(release),
        )
    return {
        "error": error,
        "warnings": [str(warning.message) for warning in caught],
        "out": out.getvalue(),
        "err": err.getvalue(),
        "card": card,
        "shapes": shapes,
        "fields": sorted(name for name in vars(est) if name.endswith("_")),
    }


def people(last):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(PEOPLE - 1, WIDTH)), np.array([last], dtype=float)])


ORDINARY = people(ODDITIES["ordinary"])


@RELATIONS
@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_odd_curve_cannot_be_told_from_outside(oddity, relation):
    expected = seen(ORDINARY, relation)
    assert (expected["error"], expected["warnings"], expected["out"], expected["err"]) == (None, [], "", "")
    assert seen(people(ODDITIES[oddity]), relation) == expected
    assert seen(np.tile(people(ODDITIES[oddity])[-1], (PEOPLE, 1)), relation) == expected


NAMED = ["gp", "iclp-qr", "iclp-ar", "frl", "bernstein", "exponential", "dictionary"]
CANDIDATES = DictionaryDraw(candidates=[np.sin, np.cos])


@RELATIONS
@pytest.mark.parametrize("mechanism", NAMED)
def test_an_odd_curve_cannot_be_told_from_outside_whatever_the_mechanism(mechanism, relation):
    """Where a choice needs a public number of units both are refused alike."""
    chosen = {"mechanism": CANDIDATES if mechanism == "dictionary" else mechanism}
    expected = seen(ORDINARY, relation, **chosen)
    if relation is REPLACE or mechanism not in ("exponential", "dictionary"):
        assert (expected["error"], expected["warnings"], expected["out"], expected["err"]) == (None, [], "", "")
    for oddity in ODDITIES.values():
        assert seen(people(oddity), relation, **chosen) == expected
        assert seen(np.tile(oddity, (PEOPLE, 1)), relation, **chosen) == expected


@pytest.mark.parametrize("mechanism", ["gp", "iclp-qr", "iclp-ar", "frl", "bernstein"])
def test_nothing_visible_of_a_named_mechanism_depends_on_how_many_there_are(mechanism):
    expected = seen(ORDINARY, ADD, mechanism=mechanism)
    assert expected["error"] is None
    for n in (0, 1, 4, 50):
        assert seen(np.resize(ORDINARY, (n, WIDTH)), ADD, mechanism=mechanism) == expected


@RELATIONS
@settings(max_examples=40, deadline=None)
@given(curve=arrays(np.float64, WIDTH, elements=st.floats(width=64)))
def test_no_curve_whatever_can_be_told_from_outside(relation, curve):
    assert seen(people(curve), relation) == seen(ORDINARY, relation)


@RELATIONS
@pytest.mark.parametrize(
    "cells",
    [
        ["x"] * WIDTH,
        [None] * WIDTH,
        [10**400] * WIDTH,
        [1 + 2j] * WIDTH,
        [np.complex128(2j)] * WIDTH,
        [np.ones(2)] * WIDTH,
        [object()] * WIDTH,
        [pd.NA] * WIDTH,
        [True, "1_0", b"2", " 3 ", "NaN", ""],
    ],
    ids=lambda cells: type(cells[0]).__name__,
)
def test_an_odd_cell_of_an_object_table_or_frame_cannot_be_told_from_outside(cells, relation):
    table = ORDINARY.astype(object)
    expected = seen(table, relation)
    for place, cell in enumerate(cells):
        table[-1, place] = cell
    assert seen(table, relation) == expected
    frame = pd.DataFrame(ORDINARY.astype(object))
    expected = seen(frame, relation, grid=None)
    assert seen(pd.DataFrame(table), relation, grid=None) == expected


@RELATIONS
@pytest.mark.parametrize("row", [[], [1.0], [1.0] * 3, [1.0] * 50, ["x"], [[1.0]] * WIDTH, [None] * WIDTH], ids=repr)
def test_a_row_of_another_length_in_a_list_cannot_be_told_from_outside(row, relation):
    expected = seen(ORDINARY.tolist(), relation)
    assert expected["error"] is None
    assert seen([*ORDINARY[:-1].tolist(), row], relation) == expected


@RELATIONS
@pytest.mark.parametrize("name", ["a", None, NAN, 7, 1e300, b"\xff", "\ud800", (1, 2), pd.NA, INF], ids=repr)
def test_an_odd_identifier_cannot_be_told_from_outside(name, relation):
    """Under replace-one for a stated n: neighbours have the same identifiers where n is counted from them."""
    stated = {"n": 4} if relation is REPLACE else {}
    ids = np.array(["p", "p", "q", "r", "s"], dtype=object)
    expected = seen(ORDINARY, relation, units=ids, **stated)
    assert expected["error"] is None
    ids[-1] = name
    assert seen(ORDINARY, relation, units=ids, **stated) == expected
    frame = pd.DataFrame(ORDINARY).assign(who=pd.Series(ids, dtype=object))
    assert seen(frame, relation, grid=None, units="who")["error"] is None


@RELATIONS
@pytest.mark.parametrize("name", [None, NAN, "", " NA ", "null", pd.NA, INF], ids=repr)
def test_a_row_that_loses_its_identifier_cannot_be_told_from_outside(name, relation):
    """The person has other rows; rows of nobody are one unit that counts, present or not."""
    ids = np.array(["p", "p", "q", "r", "s"], dtype=object)
    expected = seen(ORDINARY, relation, units=ids)
    assert expected["error"] is None
    assert relation is not REPLACE or expected["card"].n == 5
    ids[1] = name
    assert seen(ORDINARY, relation, units=ids) == expected


@RELATIONS
def test_a_person_with_many_rows_or_few_cannot_be_told_from_outside(relation):
    one = seen(ORDINARY, relation, units=["p", "q", "r", "s", "t"])
    many = np.concatenate([ORDINARY, np.full((7, WIDTH), NAN), ORDINARY[:3]])
    assert seen(many, relation, units=["p", "q", "r", "s", "t"] + ["t"] * 10) == one
    assert seen(many[::-1], relation, units=(["p", "q", "r", "s", "t"] + ["t"] * 10)[::-1]) == one


@pytest.mark.parametrize("with_units", [False, True])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("n", [0, 1, 2, 4, 6, 50])
def test_under_add_or_remove_one_nothing_visible_depends_on_how_many_there_are(n, delta, with_units):
    table = np.resize(ORDINARY, (n, WIDTH))
    units = [f"p{i}" for i in range(n)] if with_units else None
    expected = seen(ORDINARY, ADD, units=list("abcde") if with_units else None, delta=delta)
    assert expected["error"] is None
    assert seen(table, ADD, units=units, delta=delta) == expected
    assert seen(table.tolist(), ADD, units=units, delta=delta) == expected


def test_under_add_or_remove_one_files_without_rows_are_released_like_others(tmp_path):
    names = ",".join(f"t{i}" for i in range(WIDTH))
    cards = []
    for n in (0, 1, 30):
        (tmp_path / "c.csv").write_text("\n".join([f"id,{names}", *(f"{i}" + ",0.5" * WIDTH for i in range(n))]))
        curves = dpfda.read_curves(tmp_path / "c.csv", values="t*", unit="id")
        cards.append(seen(curves, ADD, grid=None))
    assert cards[0]["error"] is None
    assert cards[0] == cards[1] == cards[2]


@RELATIONS
def test_an_odd_line_of_a_file_cannot_be_told_from_outside(tmp_path, relation):
    names = ",".join(f"t{i}" for i in range(WIDTH))
    lines = [f"id,{names}", *(f"{i}" + ",0.5" * WIDTH for i in range(4))]
    expected = None
    for last in ("9" + ",0.5" * WIDTH, '"9', "9", "9," + "x" * 200_000, '9,"', "9" + ",1" * 40, "9,\\,,\0,''", "é,1,2"):
        (tmp_path / "c.csv").write_text("\n".join([*lines, last]))
        got = seen(dpfda.read_curves(tmp_path / "c.csv", values="t*", unit="id"), relation, grid=None)
        expected = got if expected is None else expected
        assert got == expected
    assert expected["error"] is None
