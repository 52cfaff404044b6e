"""Commands of statistics that have none written for them, in the package or outside, made from their estimators."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from dpfda.cli.options import CENTRE, FILE, GRID_SIZE, JSON, PEOPLE, STATED, Option, mechanism_options, option, options
from dpfda.mechanisms.table import by_name, settings_of, typed_for
from dpfda.parameters import PARAMETERS, Parameter
from dpfda.releases import kinds

TYPED = ("calibration", "kernel", "eta", "penalty", "base")  # settings of mechanisms that have an option
# Kernel machines are `classifier` and `regressor`; a function of the user's own is not read from a table.
NOT_DERIVED = ("machine", "function")
EXAMPLE = "--epsilon 1 --delta 1e-6 --bound 1"


class Statistics(click.Group):
    """A group with the commands that were written, and one for each other statistic of curves that is registered."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._derived()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._derived():
            return (release_command if self.name == "release" else plan_command)(cmd_name)
        return found

    def _derived(self) -> list[str]:
        """Statistics without a command of their own whose folder has an `estimator.py`."""
        left = [name for name in kinds.kinds() if name not in self.commands and name not in NOT_DERIVED]
        return [name for name in left if find_spec(f"{kinds.statistic(name).folder}.estimator")]


def _parts(name: str) -> tuple[Any, tuple[Parameter, ...], list[Option]]:
    """The estimator of a statistic, the parameters that it alone has, and the options of all its parameters."""
    module = import_module(f"{kinds.statistic(name).folder}.estimator")
    estimator, own = module.ESTIMATOR, tuple(getattr(module, "OPTIONS", ()))
    taken = {each.name for each in fields(estimator) if each.init}
    offered = typed_for(estimator.statistic, estimator.bounds_norm)
    settings = [name for name in TYPED if any(name in settings_of(each, estimator.statistic) for each in offered)]
    return (
        estimator,
        own,
        [
            *(option(parameter, required=parameter.name in _required(estimator)) for parameter in own),
            *STATED,
            *mechanism_options(estimator.statistic, *settings, norm=estimator.bounds_norm),
            *(option(each, estimator.statistic) for each in ("basis", "size") if each in taken),
        ],
    )


def _required(estimator: Any) -> set[str]:
    """The parameters without a default."""
    return {each.name for each in fields(estimator) if each.default is MISSING and each.default_factory is MISSING}


def _example(estimator: Any, own: tuple[Parameter, ...]) -> str:
    """What must be stated, as it is typed."""
    needed = [each for each in own if each.name in _required(estimator)]
    return " ".join([EXAMPLE, *(f"{each.option} {each.metavar or each.kind.__name__.upper()}" for each in needed)])


def _stated(estimator: Any, own: tuple[Parameter, ...], typed: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator that options say."""
    from dpfda.arrays import numbers
    from dpfda.cli.values import interval, kernel_of

    values = {name: value for name, value in typed.items() if value is not None}
    settings = {name: values.pop(name) for name in TYPED if name in values}
    if "kernel" in settings:
        settings["kernel"] = kernel_of(settings["kernel"])
    values["mechanism"] = by_name(values["mechanism"], estimator.statistic, settings)
    for name in ("domain", "limits"):
        if name in values:
            values[name] = interval(values[name], PARAMETERS[name].option)
    for parameter in own:
        if parameter.many and parameter.name in values:
            values[parameter.name] = list(numbers(values[parameter.name], parameter.option, count=None))
    return values


def _help(name: str, estimator: Any, verb: str, example: str) -> str:
    """What a command does, by the first line of its estimator's docstring, and how it is typed."""
    said = (estimator.__doc__ or f"{name}.").strip().splitlines()[0]
    return f"{verb} {said[0].lower()}{said[1:]}\n\n\b\nExample:\n  {example}"


def release_command(name: str) -> click.Command:
    """`dpfda release NAME`."""
    from dpfda.cli.options import output_options
    from dpfda.cli.release import centre_of, release_curves
    from dpfda.cli.releasing import opened, output_parameters
    from dpfda.cli.values import OutputOptions, SourceOptions, check_bound, grouped

    estimator, own, asked = _parts(name)

    @grouped(SourceOptions, OutputOptions)
    def command(source: SourceOptions, output: OutputOptions, **typed: Any) -> None:
        check_bound(typed["bound"], typed["limits"], what=estimator.what, source=source)
        typed["centre"] = centre_of(typed["centre"])
        table = opened(source.file)
        made = output_parameters(table, typed["neighbours"], output, kind=name)
        release_curves(estimator(**_stated(estimator, own, typed) | made), table, source, output, kind=name)

    example = f"dpfda release {name} scans.csv --unit ID --values 't*' {_example(estimator, own)}"
    text = _help(name, estimator, "Release", example)
    return _command(name, command, text, FILE, asked, [CENTRE], output_options(name))


def plan_command(name: str) -> click.Command:
    """`dpfda plan NAME`."""
    from dpfda.cli.values import check_bound

    estimator, own, asked = _parts(name)

    def command(n: int, grid_size: int | None, as_json: bool, **typed: Any) -> None:
        check_bound(typed["bound"], typed["limits"], what=estimator.what)
        made = estimator(**_stated(estimator, own, typed)).plan(n, grid_size=grid_size)
        click.echo(json.dumps(made.to_dict(), indent=1) if as_json else made.text())

    text = _help(name, estimator, "Plan", f"dpfda plan {name} --n 5000 {_example(estimator, own)}")
    return _command(name, command, text, PEOPLE, asked, GRID_SIZE, JSON)


def _command(name: str, call: Callable[..., None], text: str, *groups: list[Any]) -> click.Command:
    made: click.Command = click.command(name, help=text)(options(*groups)(call))
    return made
