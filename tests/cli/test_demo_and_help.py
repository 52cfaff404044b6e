"""The demonstration runs, help helps, and asking for it loads nothing heavy; as real processes too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import dpfda
from dpfda.cli.main import cli
from dpfda.cli.options import NOT_ORTHONORMAL
from dpfda.cli.values import kernel_of
from dpfda.page import page
from dpfda.parameters import SMOOTHINGS

Run = Callable[..., Any]
HEAVY = ("matplotlib", "sklearn", "scipy", "opendp", "pyarrow", "pandas")
MAIN = "from dpfda.cli.main import main; main()"


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command and group, with the words that lead to it."""
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))


ALL = dict(commands())


def process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_demo_writes_release_card_picture_and_page(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--out", "a demo")
    assert (done.code, done.err) == (0, "")
    folder = tmp_path / "a demo"
    assert sorted(path.name for path in folder.iterdir()) == ["card.txt", "mean.html", "mean.json", "mean.png"]
    card = dpfda.load(folder / "mean.json").certificate
    assert (folder / "card.txt").read_text() == card.text() + "\n"
    assert done.out.startswith(card.text())
    assert done.out.endswith("Next:    dpfda evaluate 'a demo/mean.json' --at 0,6,12,18\n")
    assert (card.n, card.unit, card.epsilon, card.delta) == (2501.0, "household", 1.0, 1e-6)
    assert card.private
    assert (folder / "mean.html").read_text() == page(dpfda.load(folder / "mean.json"), file="mean.json")
    picture = (folder / "mean.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.endswith(b"IEND\xaeB`\x82")
    assert len(picture) > 20_000
    assert run("evaluate", "a demo/mean.json", "--at", "0,6,12,18").code == 0
    again = run("demo", "--out", "a demo", "--json")
    assert (again.code, again.err) == (0, "")
    assert json.loads(again.out) == json.loads((folder / "mean.json").read_text())["certificate"]


def test_everything_that_prints_can_print_json() -> None:
    # A service prints where it listens, and goes on.
    printing = [command for path, command in ALL.items() if not isinstance(command, click.Group) and path != ("serve",)]
    assert all("--json" in {option for each in command.params for option in each.opts} for command in printing)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_help_has_an_example_and_documents_every_option(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*path, "--help"])
    assert shown.exit_code == 0
    assert "dpfda " in shown.output.split("Options:")[0].split("\n", 1)[1], "no example"
    for parameter in ALL[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert parameter.opts[0] in shown.output
    assert max(map(len, shown.output.splitlines())) <= 100


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_short_help_is_the_same_help(path: tuple[str, ...]) -> None:
    one, other = (CliRunner().invoke(cli, [*path, flag]).output for flag in ("-h", "--help"))
    assert one == other


@pytest.mark.parametrize(
    "path", [path for path, command in ALL.items() if isinstance(command, click.Group)], ids=" ".join
)
def test_a_group_without_a_command_shows_its_help(path: tuple[str, ...], run: Run) -> None:
    done = run(*path)
    assert "Commands:" in done.out + done.err
    assert "Error" not in done.out + done.err


def test_the_names_in_options_are_those_of_the_libraries() -> None:
    from dpfda import bases
    from dpfda.releases import FAMILIES

    assert set(SMOOTHINGS) == {"auto", *FAMILIES}
    assert set(NOT_ORTHONORMAL) == {
        name for name in bases.LEAST_SIZES if not bases.by_name(name, (0, 1), 5).orthonormal
    }
    for name in bases.LEAST_SIZES:
        assert bases.by_name(name, (0, 1), 5).family == name


@pytest.mark.parametrize("name", ["exponential", "gaussian", "matern-3/2", "matern-5/2"])
def test_a_kernel_is_named_with_its_range(name: str) -> None:
    from dpfda import kernels

    made = {
        "exponential": kernels.Exponential(0.25),
        "matern-3/2": kernels.Matern(1.5, 0.25),
        "matern-5/2": kernels.Matern(2.5, 0.25),
        "gaussian": kernels.Gaussian(0.25),
    }
    assert kernel_of(f"{name},0.25") == made[name]
    assert kernel_of(None) is None


def test_the_version_is_the_packages(run: Run) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"dpfda, version {dpfda.__version__}\n")


LIGHT = (
    "--help",
    "release mean --help",
    "release covariance --help",
    "release components --help",
    "release regression --help",
    "plan regression --help",
    "release density --help",
    "release classifier --help",
    "plan regressor --help",
    "sample --help",
    "check --help",
    "bounds --help",
    "budget --help",
    "budget show --help",
    "predict --help",
    "serve --help",
    "plan mean --help",
    "compare --help",
    "report --help",
    "reproduce --list",
    "--version",
    "nonsense",
)
ONE_BY_ONE = f"""
import sys
for words in {LIGHT!r}:
    sys.argv = ["dpfda", *words.split()]
    try:
        from dpfda.cli.main import main
        main()
    except SystemExit:
        pass
    print("LOADED", words, [name for name in {HEAVY!r} if name in sys.modules])
"""


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    """One after another in one process: what is loaded stays loaded, so the first that loads something is found."""
    done = process("-c", ONE_BY_ONE, cwd=tmp_path)
    loaded = [line for line in done.stdout.splitlines() if line.startswith("LOADED ")]
    assert loaded == [f"LOADED {words} []" for words in LIGHT], done.stderr


def test_a_whole_session_works_as_real_processes(csv: Path, tmp_path: Path) -> None:
    """The installed script if it is there, and the function behind it."""
    script = Path(sys.executable).with_name("dpfda")
    start = [str(script)] if script.exists() else ["-c", MAIN]
    asked = ["--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "0", "--bound", "1", "--json"]
    done = process(*start, "release", "mean", csv.name, *asked, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["mechanism"] == "k-norm"
    shown = process("-c", MAIN, "show", "scans-mean.json", cwd=tmp_path)
    assert shown.returncode == 0
    text = dpfda.load(tmp_path / "scans-mean.json").certificate.text()
    assert shown.stdout.startswith(text + "\n\n  The noise before smoothing, ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "none.json"], 5, "Error: No release file 'none.json'. Check the path.\n"),
        (["release", "mean"], 2, "Error: Missing argument 'FILE'. Try 'dpfda release mean --help'.\n"),
    ],
)
def test_a_real_process_ends_with_one_line_and_its_code(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    done = process("-c", MAIN, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", message)
