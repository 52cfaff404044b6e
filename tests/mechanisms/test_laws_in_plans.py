"""A noise law that is registered from outside stands in every table of errors, with its own error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dpfda
from dpfda.arrays import Integers
from dpfda.cli.main import cli
from dpfda.mechanisms import LAWS, MECHANISMS, NoiseLaw, RadialLaw, Randomness, register_law, register_mechanism
from dpfda.mechanisms.base import DRAWS
from dpfda.privacy import PureProfile
from dpfda.privacy.norms import L1, Norm, Sensitivity, up

NAME = "laplace-of-three-times-the-scale"


@dataclass(frozen=True, slots=True)
class WideLaw(RadialLaw):
    """Laplace noise under another name."""

    name = NAME


class Wide:
    """Laplace noise three times as wide as is paid for."""

    name = NAME
    laws = (NAME,)
    norm: Norm = L1()
    pure = True

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> PureProfile:
        return PureProfile(up(sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        return coordinates + randomness.laplace(3 * scale, len(coordinates))

    def noise(self, scale: float, size: int) -> NoiseLaw:
        return WideLaw((1,) * size, (3 * scale,) * size)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The law and its mechanism are in the tables for one test."""
    register_law(WideLaw)
    register_mechanism(NAME)(Wide)
    yield
    del LAWS[NAME], MECHANISMS[NAME], DRAWS[NAME]


STATED: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0}


def mean(mechanism: str) -> dict[str, float | None]:
    table = dpfda.MeanFunction(**STATED, mechanism=mechanism).plan(3000).table()
    return {row.mechanism: row.prediction and row.prediction.total for row in table.entries}


def covariance(mechanism: str) -> dict[str, float | None]:
    table = dpfda.CovarianceFunction(**STATED, mechanism=mechanism).plan(3000).table()
    return {name: error for name, error, _ in table}


def regression(mechanism: str) -> dict[str, float | None]:
    table = (
        dpfda.FunctionOnScalarRegression(**STATED, mechanism=mechanism, covariate_limits=[(18, 90)]).plan(3000).table()
    )
    return {name: error for name, error, _ in table}


def machine(mechanism: str) -> dict[str, float | None]:
    stated = {"epsilon": 1.0, "delta": 1e-6, "domain": (0, 1), "classes": ("a", "b"), "penalty": 0.1}
    table = dpfda.KernelClassifier(**stated, mechanism=mechanism).plan(3000).table()
    return {name: error for name, error, _ in table}


@pytest.mark.parametrize("table", [mean, covariance, regression, machine])
def test_a_law_has_its_own_error_whether_it_is_chosen_or_not(table: Any) -> None:
    listed = table("auto")
    assert listed[NAME] == pytest.approx(table(NAME)[NAME], rel=1e-9)
    assert listed[NAME] > 1.1 * listed["laplace"]


def shown(*words: str) -> str:
    done = CliRunner().invoke(cli, [*words, "--n", "3000", "--epsilon", "1", "--delta", "1e-6", "--bound", "1"])
    assert done.exit_code == 0, done.exception
    return done.output


@pytest.mark.parametrize("kind", [("mean",), ("covariance",), ("components", "--k", "1")], ids=lambda kind: kind[0])
def test_the_command_lists_it(kind: tuple[str, ...]) -> None:
    (other,) = (line for line in shown("plan", *kind).splitlines() if line.strip().startswith(NAME))
    (chosen,) = (
        line
        for line in shown("plan", *kind, "--mechanism", NAME).splitlines()
        if line.strip().startswith(NAME) and "chosen" in line
    )
    assert chosen.replace("chosen", "").split() == other.split()


def test_columns_of_a_long_name_stand_apart() -> None:
    text = dpfda.MeanFunction(**STATED).plan(3000).table().text()
    (line,) = (line for line in text.splitlines() if NAME in line)
    assert line.split()[:2] == [NAME, "exact"]
    assert np.ptp([line.index("exact") for line in text.splitlines() if " exact " in line]) == 0


def test_a_module_that_is_loaded_anew_replaces_its_law_and_its_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (tmp_path / "laws_to_reload.py").write_text(guide.split("```python my_laws.py\n")[1].split("```")[0])
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module("laws_to_reload")
    try:
        first = module.DoubleLaplaceLaw
        again = reload(module)
        assert again.DoubleLaplaceLaw is not first
        assert LAWS["double-laplace"] is again.DoubleLaplaceLaw
        assert MECHANISMS["double-laplace"].make is again.DoubleLaplace
        assert DRAWS["double-laplace"] == (again.DoubleLaplace,)
    finally:
        del LAWS["double-laplace"], MECHANISMS["double-laplace"], DRAWS["double-laplace"], sys.modules["laws_to_reload"]
