"""One place has every parameter: fields of estimators, settings of mechanisms and options of commands agree with it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click
import pytest

import dpfda
from dpfda.cli.main import cli
from dpfda.cli.options import BY_FILE
from dpfda.mechanisms import MECHANISMS
from dpfda.mechanisms.table import settings_of, typed_for
from dpfda.parameters import PARAMETERS

ESTIMATORS: dict[str, type[Any]] = {
    "mean": dpfda.MeanFunction,
    "covariance": dpfda.CovarianceFunction,
    "components": dpfda.FPCA,
    "regression": dpfda.FunctionOnScalarRegression,
    "density": dpfda.DensityFunction,
    "classifier": dpfda.KernelClassifier,
    "regressor": dpfda.KernelRegressor,
    "maximiser": dpfda.Maximiser,
    "function": dpfda.PerturbedFunction,
}
OPTIONS = {parameter.option: parameter for parameter in PARAMETERS.values()}
# Options that say where records are, where results go, or what else a command does.
OF_COMMANDS = {
    *("--unit", "--values", "--grid", "--rows", "--points", "--counts", "--label", "--response", "--anchor", "--key"),
    *("--out", "--plot", "--overwrite", "--dry-run", "--json", "--grid-size", "--covariate-count", "--dimension"),
    *("--value", "--covariance", "--coordinates", "--open"),
}


def stated(estimator: type[Any]) -> list[str]:
    return [each.name for each in fields(estimator) if each.init]


def commands() -> Iterator[tuple[str, str, click.Command]]:
    for group in ("release", "plan"):
        made = cli.commands[group]
        assert isinstance(made, click.Group)
        for name, command in made.commands.items():
            yield group, name, command


def test_every_field_and_every_setting_is_a_parameter() -> None:
    named = {name for estimator in ESTIMATORS.values() for name in stated(estimator)}
    named |= {each.name for each in fields(dpfda.Reading)}
    named |= {each.name for entry in MECHANISMS.values() if not entry.is_law for each in fields(entry.make)}
    assert named == set(PARAMETERS)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_field_is_documented(kind: str) -> None:
    described = (ESTIMATORS[kind].__doc__ or "").split("Parameters\n")[1].split("Examples\n")[0]
    heads = re.findall(r"^    ([a-z_, \n]+?) :", described, re.MULTILINE)
    listed = {name for head in heads for name in re.split(r"[,\s]+", head)}
    assert set(stated(ESTIMATORS[kind])) - listed == set()


@pytest.mark.parametrize(("group", "kind", "command"), [*commands()])
def test_every_option_is_a_parameter_with_its_words(group: str, kind: str, command: click.Command) -> None:
    statistic = "machine" if kind in ("classifier", "regressor") else kind
    known = {*stated(ESTIMATORS[kind]), "workers"}
    taken = (*typed_for(statistic), *BY_FILE.get(statistic, ()))
    known |= {setting for name in taken for setting in settings_of(name, statistic)}
    for option in command.params:
        if not isinstance(option, click.Option) or option.opts[0] in OF_COMMANDS:
            continue
        parameter = OPTIONS[option.opts[0]]
        assert parameter.name in known
        if (group, parameter.name) in {("plan", "n"), ("plan", "covariate_levels"), ("release", "ledger")}:
            continue  # which mean something else there, or belong to the ledger's own options
        words = {parameter.help, *parameter.variants.values()}
        patterns = [re.sub(r"\\{\w+\\}", ".+", re.escape(each)) for each in words]
        assert any(re.match(pattern, option.help or "") for pattern in patterns), option.help


def test_settings_that_a_statistic_takes_can_be_typed() -> None:
    for kind, statistic in (("mean", "mean"), ("covariance", "covariance"), ("components", "components")):
        release = cli.commands["release"]
        assert isinstance(release, click.Group)
        typed = {option.opts[0] for option in release.commands[kind].params}
        for name in typed_for(statistic):
            assert {PARAMETERS[setting].option for setting in settings_of(name, statistic)} <= typed


def test_no_help_is_a_riddle() -> None:
    """Each says the noun: it begins with a capital, ends with a full stop, and with no pronoun for what is meant."""
    for parameter in PARAMETERS.values():
        for text in (parameter.help, *parameter.variants.values()):
            assert re.match(r"[A-Z]", text), text
            assert text.endswith("."), text
            assert not re.match(r"(Their|Its|It|They|Of|How much|How many)\b", text), text
            assert len(text.split()) >= 3, text


def test_the_texts_load_nothing() -> None:
    code = "import sys, dpfda.parameters; print([m for m in ('numpy', 'click', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
