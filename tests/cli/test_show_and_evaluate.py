"""`dpfda show` and `dpfda evaluate` print what the release says, for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.bases import cosine, tensor
from dpfda.mechanisms.noise import Noise
from dpfda.releases import Count, smooth
from dpfda.releases.documents import with_digest

Run = Callable[..., Any]


@pytest.fixture
def release(run: Run, csv: Path, tmp_path: Path) -> dpfda.Release:
    asked = ("--unit", "ID", "--values", "t*", "--epsilon", 1, "--delta", "1e-6", "--bound", 1, "--out", "mean.json")
    assert run("release", "mean", csv, *asked).code == 0
    return dpfda.load(tmp_path / "mean.json")


def test_show_prints_the_card(run: Run, release: dpfda.Release) -> None:
    done = run("show", "mean.json")
    assert (done.code, done.err) == (0, "")
    card, _, rest = done.out.rpartition("\n\n")
    assert card == release.certificate.text()
    assert re.fullmatch(
        r"The noise before smoothing, \S+ root mean square, was \S+ times as large as the released curve around the "
        r"centre, \S+\.",
        " ".join(rest.split()),
    )


def test_show_json_prints_the_card_as_data(run: Run, release: dpfda.Release) -> None:
    done = run("show", "mean.json", "--json")
    assert (done.code, done.err) == (0, "")
    assert dpfda.Certificate.from_dict(json.loads(done.out)) == release.certificate


def test_evaluate_prints_a_table(run: Run, release: dpfda.Release) -> None:
    done = run("evaluate", "mean.json", "--at", "0,0.5,1")
    assert (done.code, done.err) == (0, "")
    header, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert header == ["t", "value"]
    np.testing.assert_allclose(np.array(rows, dtype=float).T, [[0, 0.5, 1], release([0, 0.5, 1])], rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 16])
def test_evaluate_gives_derivatives(order: int, run: Run, release: dpfda.Release) -> None:
    done = run("evaluate", "mean.json", "--at", "0.25,0.75", "--derivative", order, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {"t": [0.25, 0.75], "value": release.derivative(order)([0.25, 0.75]).tolist()}


@pytest.mark.usefixtures("release")
def test_a_derivative_of_rounding_errors_is_refused(run: Run) -> None:
    done = run("evaluate", "mean.json", "--at", "0.25,0.75", "--derivative", 17, "--json")
    text = "A derivative on a domain with 1 side(s) needs one whole number, 0 to 16, for each side, got 17."
    assert (done.code, done.out, done.err) == (2, "", f"Error: {text}\n")


def test_evaluate_gives_the_band_at_a_level(run: Run, release: dpfda.Release) -> None:
    band = release.band(0.9, [0.0, 1.0])
    done = run("evaluate", "mean.json", "--at", "0,1", "--level", 0.9, "--json")
    assert (done.code, done.err) == (
        0,
        "Note: The noise band stands around the values before smoothing (auto), since only of those the noise is "
        "known: a value that is printed beside it may lie off its middle, or outside.\n",
    )
    assert json.loads(done.out) == {
        "t": [0.0, 1.0],
        "value": release([0.0, 1.0]).tolist(),
        "lower": band.lower.tolist(),
        "upper": band.upper.tolist(),
    }
    table = run("evaluate", "mean.json", "--at", "0,1", "--level", 0.9)
    assert table.out.splitlines()[0] == "t\tvalue\tlower\tupper"
    assert len(table.out.splitlines()) == 3
    release.smooth("none").save("rough.json")
    assert run("evaluate", "rough.json", "--at", "0,1", "--level", 0.9).err == ""


def test_evaluate_costs_nothing_and_says_the_same_again(run: Run, release: dpfda.Release, tmp_path: Path) -> None:
    before = (tmp_path / "mean.json").read_bytes()
    one, other = (run("evaluate", "mean.json", "--at", "0.3", "--level", 0.95) for _ in range(2))
    assert one == other
    assert (tmp_path / "mean.json").read_bytes() == before


def test_an_infinite_band_is_null_in_json_and_inf_in_a_table(run: Run, release: dpfda.Release, tmp_path: Path) -> None:
    replace(release, count=Count(2.0, Noise("gaussian", (1,), (2.0,)))).save(tmp_path / "few.json")
    done = run("evaluate", "few.json", "--at", "0.5", "--level", 0.95, "--json")
    assert done.code == 0
    found = json.loads(done.out, parse_constant=pytest.fail)
    assert (found["lower"], found["upper"]) == ([None], [None])
    assert run("evaluate", "few.json", "--at", "0.5", "--level", 0.95).out.splitlines()[1].endswith("\t-inf\tinf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--at", "2"),
            "Points must lie in the domain [0, 1], got points from 2 to 2. Leave these points out, or state a "
            "wider domain from the start.",
        ),
        (
            ("--at", "-1,0"),
            "Points must lie in the domain [0, 1], got points from -1 to 0. Leave these points out, or state a "
            "wider domain from the start.",
        ),
        (("--at", "nan"), "Points must be finite numbers, got NaN or infinity among them."),
        (("--at", "0;1"), "--at takes numbers separated by commas, e.g. --at 0,1; got '0;1'."),
        (("--at", ""), "--at takes numbers separated by commas, e.g. --at 0,1; got ''."),
        (("--at", "0", "--level", "1"), "level must lie strictly between 0 and 1, got 1.0. Common is 0.95."),
        (
            ("--at", "0", "--level", "0.9999"),
            "level = 0.9999 is beyond what the noise law is tabulated for: at most 0.998.",
        ),
        (
            ("--at", "0", "--level", "0.9", "--derivative", "1"),
            "--level gives the noise band of the curve itself: leave --derivative out.",
        ),
        (
            ("--at", "0", "--derivative", "-1"),
            "Invalid value for '--derivative': -1 is not in the range 0<=x<=20. Try 'dpfda evaluate --help'.",
        ),
        (
            ("--at", "0", "--derivative", "21"),
            "Invalid value for '--derivative': 21 is not in the range 0<=x<=20. Try 'dpfda evaluate --help'.",
        ),
    ],
)
@pytest.mark.usefixtures("release")
def test_a_mistake_in_evaluate_gives_one_line(arguments: tuple[str, ...], message: str, run: Run) -> None:
    for extra in ((), ("--json",)):
        done = run("evaluate", "mean.json", *arguments, *extra)
        assert (done.code, done.out, done.err) == (2, "", f"Error: {message}\n")


def test_evaluate_refuses_a_surface(run: Run, release: dpfda.Release, tmp_path: Path) -> None:
    basis = tensor(cosine((0, 1), 2), cosine((0, 1), 2))
    noise = Noise("gaussian", (4,), (0.1,))
    surface = replace(
        release,
        basis=basis,
        noisy=np.ones(4),
        centre=np.zeros(4),
        noise=noise,
        smoothing=smooth("none", np.ones(4), noise.variances, basis.frequencies),
        certificate=replace(release.certificate, domain=basis.domain.sides, size=4),
    )
    surface.save(tmp_path / "surface.json")
    done = run("evaluate", "surface.json", "--at", "0")
    assert (done.code, done.out) == (2, "")
    assert done.err == ("Error: evaluate knows releases on an interval; for a surface use dpfda.load(...) in Python.\n")


@pytest.mark.parametrize("command", [("show",), ("evaluate", "--at", "0")])
@pytest.mark.parametrize(
    ("content", "ending"),
    [
        ("{}", " is not a release of format dpfda-release-1. Write one with release.save().\n"),
        (
            with_digest('{"format": "dpfda-release-1"}'),
            " is damaged: a part of the release is missing or of another kind. Take a fresh copy of it.\n",
        ),
        (
            '{"format": "dpfda-release-1"}',
            " does not end with its digest, as every file of dpfda does: it was cut off or edited. Take a fresh copy "
            "of it.\n",
        ),
    ],
)
def test_a_file_that_is_no_release_is_a_data_error(
    command: tuple[str, ...], content: str, ending: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "other.json").write_text(content)
    done = run(command[0], "other.json", *command[1:])
    assert (done.code, done.out, done.err) == (5, "", f"Error: 'other.json'{ending}")


def test_a_derivative_of_rough_noise_is_refused_or_smoothed_first(tmp_path: Path, run: Run) -> None:
    t = np.linspace(0.0, 1.0, 40)
    curves = np.sin(2 * np.pi * t) + np.linspace(-0.3, 0.3, 3000)[:, None]
    mechanism = dpfda.mechanisms.GaussianProcess(kernel=dpfda.kernels.Exponential(0.2), eta=1.0, penalty=0.01)
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, mechanism=mechanism)
    rough = est.fit(curves, grid=t).release_
    rough.save(tmp_path / "rough.json")
    done = run("evaluate", "rough.json", "--at", "0.5", "--derivative", "1")
    assert done.code == 2
    assert "--smoothing sobolev-1" in done.err
    asked = ("evaluate", "rough.json", "--at", "0.5", "--derivative", "1")
    done = run(*asked, "--smoothing", "sobolev-1", "--json")
    assert done.code == 0
    assert "smoothed anew by 'sobolev-1' first" in done.err
    assert json.loads(done.out)["value"] == rough.smooth("sobolev-1").derivative(1)([0.5]).tolist()
    assert run("evaluate", "rough.json", "--at", "0.5", "--smoothing", "sobolev-9").code == 2
