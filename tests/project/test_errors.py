"""Errors are data: fields that tests and the command line read, and texts that are rendered from them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pickle
from pathlib import Path

import click
import numpy as np
import pytest

import dpfda
from dpfda import arrays, bases, errors, kernels, ledger, mechanisms, online, planning, privacy, records
from dpfda.cli.main import cli
from dpfda.cli.words import in_words, option_of
from dpfda.errors import BudgetExceeded, CannotMeetBudget, DpfdaError, PrivacyRefused, ReleaseFailed, UsageError
from dpfda.ledger.database import Lost, NoLedger
from dpfda.messages import Message, Words, arg
from dpfda.statistics.function import sensitivity
from dpfda.statistics.maximiser.utilities import RobustDistance
from dpfda.studies.release_density import ReleaseDensity

LONG = list(range(1000))
ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
SOURCE = Path(__file__).parents[2] / "src" / "dpfda"
NAMED = {name for name, thing in vars(errors).items() if isinstance(thing, type) and issubclass(thing, DpfdaError)}


def test_an_error_keeps_its_fields_and_reads_as_a_sentence() -> None:
    with pytest.raises(UsageError) as refused:
        dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=-1.0).plan(100)
    error = refused.value
    assert (error.parameter, error.value) == ("bound", "-1.0")
    assert error.rule == "must be a positive finite number, in the units of the curves"
    assert error.fix == "It may not be read from the data."
    assert str(error) == f"bound {error.rule}, got -1.0. {error.fix}"
    assert in_words(error.message) == f"--bound {error.rule}, got -1.0. {error.fix}"
    assert error.args == (str(error),)


@pytest.mark.parametrize(
    ("error", "python", "command"),
    [
        (
            UsageError(
                parameter="bound", value=-1, rule="must be positive", fix=("Or take ", arg("bound", "private"), ".")
            ),
            "bound must be positive, got -1. Or take bound='private'.",
            "--bound must be positive, got -1. Or take --bound private.",
        ),
        (
            UsageError(parameter="n_components", rule="must be whole"),
            "n_components must be whole.",
            "--k must be whole.",
        ),
        (UsageError("State ", arg("size="), " for more."), "State size= for more.", "State --size for more."),
        (
            CannotMeetBudget("Use ", arg("mechanism", "k-norm", "laplace"), "."),
            "Use mechanism='k-norm' or 'laplace'.",
            "Use --mechanism k-norm or laplace.",
        ),
        (
            UsageError(arg("mechanism", "gp", "frl", "iclp-qr")),
            "mechanism='gp', 'frl' or 'iclp-qr'",
            "--mechanism gp, frl or iclp-qr",
        ),
        (UsageError(arg("planned_n", 5000)), "planned_n=5000", "--planned-n 5000"),
        (UsageError(arg("force", True)), "force=True", "--force"),
        (UsageError(arg("bandwidth", ...)), "bandwidth=...", "--bandwidth ..."),
        (UsageError(arg("limits", (0.0, 12.0))), "limits=(0.0, 12.0)", "--limits 0.0,12.0"),
        (UsageError(arg("edges", [0, 1, 5])), "edges=[0, 1, 5]", "--edges 0,1,5"),
        (
            UsageError(arg("covariate_limits", [(18, 90), (0, 1)])),
            "covariate_limits=[(18, 90), (0, 1)]",
            "--covariate-limits 18:90,0:1",
        ),
        (
            UsageError(arg("covariate_levels", {"sex": ("a", "b")})),
            "covariate_levels={'sex': ('a', 'b')}",
            "--covariates 'sex=a|b'",
        ),
        (UsageError(arg("units", "ID")), "units='ID'", "--unit ID"),
        (UsageError(arg("decay", 2.0)), "decay=2.0", "decay=2.0"),
        (
            BudgetExceeded(Words("Lower epsilon to 0.6", "Lower it to --epsilon 0.6"), "."),
            "Lower epsilon to 0.6.",
            "Lower it to --epsilon 0.6.",
        ),
        (UsageError("the size and a kernel stay, grid=1 too"),) + ("the size and a kernel stay, grid=1 too",) * 2,
        (UsageError(), "", ""),
    ],
)
def test_python_and_the_command_line_have_words_of_their_own(error: DpfdaError, python: str, command: str) -> None:
    assert (str(error), in_words(error.message)) == (python, command)


def test_messages_keep_their_parts_inside_each_other() -> None:
    inner = Message("take ", arg("mechanism", "auto"))
    outer = UsageError(Message("Or ", inner), fix=(inner, "."))
    assert str(outer) == "Or take mechanism='auto' take mechanism='auto'."
    assert in_words(outer.message) == "Or take --mechanism auto take --mechanism auto."
    assert in_words(str(inner)) == "take mechanism='auto'"


@pytest.mark.parametrize("data", [np.arange(1000.0), LONG, {"ID": LONG}, [LONG], "x" * 1000, ENDLESS])
def test_an_error_holds_no_value_that_may_be_data(data: object) -> None:
    error = UsageError("Got ", arg("grid", data), ".", parameter="grid", value=data, rule="is short")
    assert error.value == arrays.brief(data)
    held = repr((error.args, error.__dict__, error.message.parts))
    assert "998" not in held
    assert "x" * 100 not in held


@pytest.mark.parametrize(
    "error",
    [
        UsageError(parameter="bound", value=-1, rule="is positive", fix=("Or ", arg("bound", "private"), ".")),
        PrivacyRefused("A text, ", arg("force", True), "."),
        ReleaseFailed(),
        NoLedger("sqlite:///a.db"),
        Lost("sqlite:///a.db", "gone"),
        errors.MissingExtra("It needs pandas."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_be_sent_to_another_process(error: DpfdaError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), back.__dict__, back.message.parts) == (str(error), error.__dict__, error.message.parts)
    assert in_words(back.message) == in_words(error.message)


def test_a_plan_that_refuses_names_the_pure_mechanisms_of_its_statistic() -> None:
    told = {}
    for made in (dpfda.MeanFunction, dpfda.CovarianceFunction, dpfda.FunctionOnScalarRegression):
        more = {"covariate_bound": 1.0} if made is dpfda.FunctionOnScalarRegression else {}
        asked = {"covariates": 2} if more else {}
        with pytest.raises(CannotMeetBudget) as refused:
            made(epsilon=1.0, delta=0.0, bound=1.0, mechanism="gaussian", **more).plan(100, **asked)  # type: ignore[arg-type]
        told[made] = in_words(refused.value.message).partition(" use ")[2]
    assert list(told.values()) == [
        "--mechanism k-norm or laplace.",
        "--mechanism wishart or k-norm.",
        "--mechanism k-norm or laplace.",
    ]


def fields(tree: ast.AST) -> set[str]:
    """The parameters that errors in a file name: fields `parameter=`, and arguments inside of messages."""
    found = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        stated = [each.value for each in node.keywords if each.arg == "parameter"] if node.func.id in NAMED else []
        stated += node.args[:1] if node.func.id == "arg" else []
        stated += node.args[1:2] if node.func.id == "check_flag" else []
        found |= {each.value.removesuffix("=") for each in stated if isinstance(each, ast.Constant)}
    return found


# Objects that are built in Python: their errors name arguments that need no option.
BUILT = ("kernels", "bases", "mechanisms", "privacy", "service")


def all_fields(*, built: bool = False) -> set[str]:
    paths = (path for path in SOURCE.rglob("*.py") if (path.relative_to(SOURCE).parts[0] in BUILT) == built)
    return set().union(*(fields(ast.parse(path.read_text())) for path in paths))


def arguments() -> set[str]:
    """The arguments of all functions, and the fields of all classes, of what is built in Python."""
    found = set()
    for path in (path for folder in BUILT for path in (SOURCE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            found |= {node.arg} if isinstance(node, ast.arg) else set()
            found |= (
                {node.target.id} if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else set()
            )
    return found


def parameters() -> set[str]:
    """The parameters of all public functions, classes and their methods."""
    found = set()
    for module in (dpfda, bases, kernels, ledger, mechanisms, online, planning, privacy, records, sensitivity):
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name)
            made = (
                [getattr(thing, each) for each in vars(thing) if not each.startswith("_")]
                if inspect.isclass(thing)
                else []
            )
            for each in filter(callable, (thing, *made)):
                try:
                    found |= set(inspect.signature(each).parameters)
                except (TypeError, ValueError):
                    continue
    return found


# Parameters of Python alone: a command has none of them, or reads them from its file.
WITHOUT_OPTION = {"curvature", "decay", "intercept", "knot", "progress", "randomness", "reading", "utility"}
WITHOUT_OPTION |= {"nominal", "path", "y", "X", "axis", "columns", "degree", "description", "law", "masses"}
WITHOUT_OPTION |= {"Z", "number", "order", "summary", "total", "weight", "within", "derivatives", "f", "height"}
WITHOUT_OPTION |= {"plan", "released", "lipschitz", "slope"}


def test_every_parameter_that_an_error_names_is_one_of_a_public_function() -> None:
    named = all_fields()
    public = parameters() | {field.name for field in dataclasses.fields(RobustDistance)}
    public |= {"plan", *inspect.signature(ReleaseDensity.log).parameters}
    assert named - public == set()
    assert len(named) > 40
    assert {name for name in named if option_of(name) is None} == WITHOUT_OPTION
    assert all_fields(built=True) - arguments() - public == set()


def test_an_argument_has_the_same_option_in_every_command() -> None:
    """The words of the command line are found by the name of an argument alone, whichever command is running."""
    flags: dict[str, set[str]] = {}
    waiting: list[click.Command] = [cli]
    while waiting:
        command = waiting.pop()
        waiting += command.commands.values() if isinstance(command, click.Group) else ()
        for option in command.params:
            if isinstance(option, click.Option):
                flags.setdefault(str(option.name), set()).add(max(option.opts, key=len))
    assert {name for name in all_fields() if len(flags.get(name, ())) > 1} == set()
