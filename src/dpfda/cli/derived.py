"""Commands of statistics that were registered from outside the package, made from their estimators."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from dpfda.cli.options import CENTRE, FILE, GRID_SIZE, JSON, PEOPLE, STATED, Option, mechanism_options, option, options
from dpfda.mechanisms.table import by_name, settings_of, typed_for
from dpfda.parameters import PARAMETERS, Parameter
from dpfda.releases import kinds

TYPED = ("calibration", "kernel", "eta", "penalty", "base")  # settings of mechanisms that have an option
EXAMPLE = "--epsilon 1 --delta 1e-6 --bound 1"


class Statistics(click.Group):
    """A group with a command for each statistic of the package, and for each of curves that was registered since."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_outside()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in _outside():
            return (release_command if self.name == "release" else plan_command)(cmd_name)
        return found


def _outside() -> list[str]:
    """Statistics from outside the package whose folder has an `estimator.py`."""
    folders = {name: kinds.statistic(name).folder for name in kinds.kinds()}
    return [
        name for name, folder in folders.items() if not folder.startswith("dpfda.") and find_spec(f"{folder}.estimator")
    ]


def _parts(name: str) -> tuple[Any, tuple[Parameter, ...], list[Option]]:
    """The estimator of a statistic, the parameters that it alone has, and the options of all its parameters."""
    module = import_module(f"{kinds.statistic(name).folder}.estimator")
    estimator, own = module.ESTIMATOR, tuple(getattr(module, "OPTIONS", ()))
    taken = {each.name for each in fields(estimator) if each.init}
    offered = typed_for(estimator.statistic)
    settings = [name for name in TYPED if any(name in settings_of(each, estimator.statistic) for each in offered)]
    return (
        estimator,
        own,
        [
            *(option(parameter) for parameter in own),
            *STATED,
            *mechanism_options(estimator.statistic, *settings),
            *(option(each, estimator.statistic) for each in ("basis", "size") if each in taken),
        ],
    )


def _stated(estimator: Any, own: tuple[Parameter, ...], typed: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator that options say."""
    from dpfda.cli.values import interval, kernel_of
    from dpfda.page.evaluation import numbers

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
    return f"{verb}: {said[0].lower()}{said[1:]}\n\n\b\nExample:\n  {example}"


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

    example = f"dpfda release {name} scans.csv --unit ID --values 't*' {EXAMPLE}"
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

    text = _help(name, estimator, "Plan", f"dpfda plan {name} --n 5000 {EXAMPLE}")
    return _command(name, command, text, PEOPLE, asked, GRID_SIZE, JSON)


def _command(name: str, call: Callable[..., None], text: str, *groups: list[Any]) -> click.Command:
    made: click.Command = click.command(name, help=text)(options(*groups)(call))
    return made
