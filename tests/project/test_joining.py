"""Kernels, bases, laws and statistics that are registered from outside the package go the whole way."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dpfda
from dpfda import bases, kernels
from dpfda.arrays import Array
from dpfda.bases import base as basis_table
from dpfda.cli.main import main
from dpfda.errors import UsageError
from dpfda.kernels import base as kernel_base
from dpfda.mechanisms import MECHANISMS, GaussianProcess, Laplace, register_mechanism
from dpfda.page import page
from dpfda.privacy.norms import L1, L2, Norm
from dpfda.releases import kinds

T = np.linspace(0, 1, 30)
CURVES = 0.8 * np.sin(np.pi * T / 2) + np.linspace(-0.2, 0.2, 3000)[:, None] * T
STATED: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0}
PEOPLE = {"person": np.arange(3000)}


@dataclass(frozen=True, slots=True)
class Bump(kernels.Isotropic):
    """Wendland's kernel of compact support."""

    rho: float

    def at_distance(self, distance: Array) -> Array:
        near = np.minimum(distance / self.rho, 1.0)
        return (1 - near) ** 4 * (1 + 4 * near)

    @property
    def smoothness(self) -> float:
        return 4.0


@dataclass(frozen=True, slots=True)
class Quarters(bases.IntervalBasis):
    """Sines that begin at zero and end flat."""

    domain: bases.Domain
    size: int
    family: ClassVar[str] = "quarters"

    def unit_functions(self, unit: Array, order: int) -> Array:
        speed = np.pi * (np.arange(self.size) + 0.5)
        return np.sqrt(2) * speed**order * np.sin(unit[:, None] * speed + order * np.pi / 2)


@pytest.fixture
def joined() -> Iterator[None]:
    """Both are registered, and forgotten afterwards."""
    tables = (
        *(kernels.FAMILIES, kernels.BY_RANGE, kernel_base._EXAMPLES),
        *(basis_table.FAMILIES, basis_table._CLASSES, basis_table.LEAST_SIZES),
    )
    before = [dict(table) for table in tables]
    kernels.register(by_range={"bump": Bump})(Bump)
    bases.register(least_size=1)(Quarters)
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "curves.csv"
    header = "ID," + ",".join(f"t{j}" for j in range(len(T)))
    path.write_text(
        "\n".join([header, *(f"p{i}," + ",".join(f"{v:.4f}" for v in row) for i, row in enumerate(CURVES))])
    )
    return path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints; it must end well."""
    before = sys.argv
    sys.argv = ["dpfda", *words]
    try:
        with pytest.raises(SystemExit) as left:
            main()
    finally:
        sys.argv = before
    captured = capsys.readouterr()
    assert not left.value.code, captured.err
    return captured.out


MADE = {
    "the basis by its name": {"basis": "quarters", "size": 6},
    "the basis as an object": {"basis": Quarters(bases.as_domain((0, 1)), 5)},
    "noise with the kernel": {"mechanism": GaussianProcess(kernel=Bump(0.5))},
}


@pytest.mark.parametrize("more", MADE.values(), ids=MADE.keys())
def test_from_the_plan_to_the_page(more: dict[str, Any], joined: None, table: Path, capsys: Any) -> None:
    ledger = dpfda.Ledger("sqlite:///budget.db")
    ledger.create("curves", epsilon=4.0, delta=1e-5, unit="person")
    est = dpfda.MeanFunction(**STATED, **more, dataset="curves", ledger=ledger)
    assert est.plan(n=3000).predict().total > 0
    release = est.fit(CURVES, grid=T, units=PEOPLE).release_
    # Eight times the noise is exceeded with a chance below 1e-9; the rest is what the penalty does at the ends.
    missed = np.sqrt(np.mean((release(T) - CURVES.mean(axis=0)) ** 2))
    assert missed < 0.2 + 8 * release.certificate.noise_rms
    assert release.certificate.basis == release.basis.family
    release.save("mean.json")
    loaded = dpfda.load("mean.json")
    assert loaded.basis == release.basis
    assert (loaded(T) == release(T)).all()
    assert release.certificate.text() in run(capsys, "show", "mean.json")
    found = json.loads(run(capsys, "verify", "mean.json", "--ledger", "sqlite:///budget.db", "--json"))
    assert found
    rows = json.loads(run(capsys, "evaluate", "mean.json", "--at", "0.5,1", "--json"))
    assert "value" in json.dumps(rows)
    run(capsys, "report", "mean.json", "-o", "mean.html")
    assert Path("mean.html").read_text() == page(loaded, file="mean.json")


def test_the_command_line_takes_both_by_name(joined: None, table: Path, capsys: Any) -> None:
    public = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "1e-6", "--bound", "1")
    run(capsys, "release", "mean", table.name, *public, "--basis", "quarters", "--size", "6", "--out", "one.json")
    assert dpfda.load("one.json").basis == Quarters(bases.as_domain((0, 1)), 6)
    run(
        capsys, "release", "mean", table.name, *public, "--mechanism", "gp", "--kernel", "bump,0.5", "--out", "two.json"
    )
    assert dpfda.load("two.json").basis.kernel == Bump(0.5)


def test_messages_name_what_is_registered(joined: None) -> None:
    with pytest.raises(UsageError, match=r"one of beam, .*quarters.*, got 'wavelet'"):
        bases.by_name("wavelet", (0, 1), 3)
    with pytest.raises(UsageError, match=r"one of .*bump.*, got 'linear'"):
        kernels.from_dict({"family": "linear"})


def test_nothing_of_it_is_known_where_it_was_not_registered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="register"):
        dpfda.MeanFunction(**STATED, basis=Quarters(bases.as_domain((0, 1)), 5)).fit(CURVES, grid=T, units=PEOPLE)
    with pytest.raises(UsageError, match="register"):
        dpfda.MeanFunction(**STATED, mechanism=GaussianProcess(kernel=Bump(0.5))).fit(CURVES, grid=T, units=PEOPLE)


# A noise law and a statistic.


@dataclass(frozen=True, slots=True)
class Wide(Laplace):
    """Laplace noise under a name of its own."""

    name: ClassVar[str] = "wide"


@pytest.fixture
def named() -> Iterator[None]:
    before = dict(MECHANISMS)
    register_mechanism("wide")(Wide)
    yield
    MECHANISMS.clear()
    MECHANISMS.update(before)


def test_the_command_line_takes_a_law_by_its_name(named: None, table: Path, capsys: Any) -> None:
    public = ("--unit", "ID", "--values", "t*", "--epsilon", "1", "--delta", "0", "--bound", "1")
    run(capsys, "release", "mean", table.name, *public, "--mechanism", "wide", "--size", "5", "--out", "wide.json")
    assert dpfda.load("wide.json").certificate.mechanism == "wide"
    assert "wide" in run(capsys, "plan", "mean", "--help")


ESTIMATOR_FILE = """
from dataclasses import dataclass
from importlib import import_module

import dpfda
from dpfda.parameters import Parameter


@dataclass(kw_only=True, eq=False, repr=False)
class Twice(dpfda.MeanFunction):
    '''The mean of curves in a basis of twice as many functions as are stated.'''

    half: int

    def plan(self, n, *, grid_size=None):
        self.size = 2 * self.half
        return super().plan(n, grid_size=grid_size)


ESTIMATOR = Twice
OPTIONS = (Parameter("half", "Half the number of functions.", kind=int),)
"""


@pytest.fixture
def statistic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "twice_as_many"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "estimator.py").write_text(ESTIMATOR_FILE)
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(kinds._FOLDERS)
    kinds.register("twice", "twice_as_many")
    yield "twice"
    kinds._FOLDERS.clear()
    kinds._FOLDERS.update(before)


def test_a_statistic_has_its_commands_from_its_estimator(statistic: str, table: Path, capsys: Any) -> None:
    stated = ("--epsilon", "1", "--delta", "1e-6", "--bound", "1", "--half", "3")
    plan = json.loads(run(capsys, "plan", statistic, "--n", "3000", *stated, "--json"))
    assert plan["basis"]["size"] == 6
    asked = ("release", statistic, table.name, "--unit", "ID", "--values", "t*", *stated)
    assert "basis: its size stated by the user" in run(capsys, *asked, "--dry-run")
    run(capsys, *asked, "--mechanism", "gp", "--eta", "1.5", "--out", "twice.json")
    card = dpfda.load("twice.json").certificate
    assert (card.mechanism, card.size) == ("gp", 6)
    assert "eta = 1.5" in dict(card.chosen)["penalty"]
    for group in ("plan", "release"):
        assert statistic in run(capsys, group, "--help")
        assert "Half the number of functions." in run(capsys, group, statistic, "--help")


@pytest.mark.parametrize(
    ("norm", "offered"), [(L2(), "[auto|gaussian|k-norm|laplace|wide]"), (L1(), "[auto|laplace|wide]")]
)
def test_under_a_name_of_its_own_it_offers_the_noise_laws_that_its_norm_allows(
    named: None, statistic: str, norm: Norm, offered: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator = import_module("twice_as_many.estimator").ESTIMATOR
    monkeypatch.setattr(estimator, "statistic", "twice")
    monkeypatch.setattr(estimator, "bounds_norm", norm)
    for group in ("plan", "release"):
        assert offered in run(capsys, group, statistic, "--help")


def test_a_required_option_is_marked_and_asked_for(
    statistic: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    help_text = run(capsys, "plan", statistic, "--help")
    assert "required]" in help_text.split("--half")[2].split("--", 1)[0]
    assert "--bound 1 --half INT" in help_text
    monkeypatch.setattr(sys, "argv", ["dpfda", "plan", statistic, "--n", "3000", "--epsilon", "1", "--delta", "1e-6"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "--half" in capsys.readouterr().err


def test_a_folder_of_the_package_has_its_commands_by_its_line_in_the_table(
    statistic: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfda import statistics

    monkeypatch.setattr(statistics, "__path__", [*statistics.__path__, str(tmp_path)])
    monkeypatch.setitem(kinds._FOLDERS, "inside", "dpfda.statistics.twice_as_many")
    for group in ("plan", "release"):
        listed = run(capsys, group, "--help").split("Commands:")[1].split()
        assert "inside" in listed
        assert "machine" not in listed
    stated = ("--epsilon", "1", "--delta", "1e-6", "--bound", "1", "--half", "3")
    assert json.loads(run(capsys, "plan", "inside", "--n", "3000", *stated, "--json"))["basis"]["size"] == 6


def test_a_parameter_of_its_own_may_be_an_array_where_the_class_says_so() -> None:
    @dataclass(kw_only=True, eq=False, repr=False)
    class Weighted(dpfda.MeanFunction):
        """A mean with a list of its own."""

        lists: ClassVar[tuple[str, ...]] = ("harmonics",)
        harmonics: Any = None

    assert Weighted(**STATED, harmonics=np.arange(3)).plan(3000).n == 3000
    Weighted.lists = ()
    with pytest.raises(UsageError) as caught:
        Weighted(**STATED, harmonics=np.arange(3)).plan(3000)
    assert caught.value.parameter == "harmonics"
