"""The one table of mechanisms: names, settings, who takes them, and how others join."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import refusals
from sklearn.base import clone

import dpfda
from dpfda.bases import cosine
from dpfda.errors import UsageError
from dpfda.kernels import Matern
from dpfda.mechanisms import MECHANISMS, Laplace, Process, register_draw, register_mechanism, table
from dpfda.mechanisms.table import by_name, names_for, names_with, settings_of, typed_for
from dpfda.planning import law_for
from dpfda.planning.request import Design, Request
from dpfda.privacy import Budget, calibrate
from dpfda.privacy.norms import L1, L2, BlockNorm, Nuclear, Sensitivity, WeightedL2
from dpfda.statistics.maximiser.utilities import SquaredDistance

SOURCE = Path(__file__).parents[2] / "src" / "dpfda"
PEOPLE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
CURVES: dict[str, Any] = {**PEOPLE, "bound": 1.0}
ESTIMATORS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "mean": (dpfda.MeanFunction, CURVES),
    "covariance": (dpfda.CovarianceFunction, CURVES),
    "components": (dpfda.FPCA, CURVES),
    "regression": (dpfda.FunctionOnScalarRegression, {**CURVES, "covariate_limits": [(0, 1)]}),
    "density": (dpfda.DensityFunction, {**PEOPLE, "domain": (0, 1)}),
    "machine": (dpfda.KernelClassifier, PEOPLE),
    "maximiser": (dpfda.Maximiser, {"epsilon": 1.0, "bound": 1.0, "utility": SquaredDistance()}),
}
VALUES = {
    "kernel": Matern(1.5, 0.2),
    "eta": 1.5,
    "penalty": 0.01,
    "penalty_kernel": Matern(2.5, 0.2),
    "calibration": "published",
    "bandwidth": 0.1,
    "answers": 10,
    "base": "projected",
    "radius": 2.0,
    "spread": 0.5,
    "candidates": 16,
}
PROCESSES = [entry.make for entry in MECHANISMS.values() if not entry.is_law]
TAKEN = [(statistic, name) for statistic in ESTIMATORS for name in names_for(statistic)]


def made(statistic: str, **more: Any) -> Any:
    estimator, known = ESTIMATORS[statistic]
    return estimator(**{**known, **more})


def stated(process: type[Any]) -> Any:
    """The object with a value of its own for every setting."""
    values = VALUES | ({"candidates": [np.sin]} if process.name == "dictionary" else {})
    return process(**{each.name: values[each.name] for each in fields(process)})


@pytest.mark.parametrize(("statistic", "name"), TAKEN, ids=" ".join)
def test_a_name_is_shorthand_for_the_object_with_its_defaults(statistic: str, name: str) -> None:
    entry = MECHANISMS[name]
    if entry.is_law or not entry.complete:
        return  # plans shape a law where its name is stated, and candidates have no default
    one, other = made(statistic, mechanism=name).plan(500), made(statistic, mechanism=entry.make()).plan(500)
    assert one.to_dict() == other.to_dict()


@pytest.mark.parametrize(("statistic", "name"), TAKEN, ids=" ".join)
def test_every_setting_is_taken_or_refused_by_its_name(statistic: str, name: str) -> None:
    process = MECHANISMS[name].make
    for each in fields(process) if issubclass(process, Process) else ():
        given = [np.sin] if name == "dictionary" else VALUES[each.name]
        est = made(statistic, mechanism=process(**{each.name: given}))
        if each.name in settings_of(name, statistic):
            assert est._chosen() == (name, est._chosen()[1] | {each.name: given})
        else:
            with pytest.raises(UsageError) as refused:
                est.plan(500)
            assert refused.value.parameter == each.name


@pytest.mark.parametrize("statistic", ESTIMATORS)
def test_a_mechanism_of_other_statistics_is_refused(statistic: str) -> None:
    for name in set(MECHANISMS) - set(names_for(statistic)):
        with pytest.raises(UsageError) as refused:
            made(statistic, mechanism=name).plan(500)
        assert (refused.value.parameter, refused.value.value) == ("mechanism", repr(name))


@pytest.mark.parametrize("process", PROCESSES)
def test_objects_are_frozen_values_that_tell_themselves_as_plain_data(process: type[Any]) -> None:
    one = stated(process)
    assert one == stated(process)
    assert json.loads(json.dumps(one.describe()))["name"] == process.name
    assert set(one.describe()) == {"name", *(each.name for each in fields(process))}
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
    for each in fields(process):
        with pytest.raises(AttributeError):
            setattr(one, each.name, None)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ("kernel", "gaussian"),
        ("eta", -1.0),
        ("eta", "1"),
        ("penalty", float("nan")),
        ("calibration", "loose"),
        ("calibration", 1),
        ("base", "uniform"),
    ],
)
def test_objects_refuse_what_no_statistic_takes(process: type[Any], setting: str, wrong: object) -> None:
    if setting not in {each.name for each in fields(process)}:
        return
    with pytest.raises(UsageError) as refused:
        process(**{setting: wrong})
    assert refused.value.parameter == setting


MOVED = [
    (statistic, setting)
    for statistic, (estimator, _) in ESTIMATORS.items()
    for setting in VALUES
    if names_with(setting, statistic) and setting not in {each.name for each in fields(estimator)}
]


@pytest.mark.parametrize(("statistic", "setting"), MOVED, ids=" ".join)
def test_a_setting_in_the_place_of_a_parameter_is_told_where_it_belongs(statistic: str, setting: str) -> None:
    est = made(statistic)
    for call in (lambda: made(statistic, **{setting: VALUES[setting]}), lambda: est.set_params(**{setting: 1})):
        with pytest.raises(UsageError) as refused:
            call()
        owner = MECHANISMS[names_with(setting, statistic)[0]].make.__name__
        assert refused.value.parameter == setting
        assert refused.value.fix == f"Say mechanism=dpfda.mechanisms.{owner}({setting}=...)."


def test_the_mechanism_that_is_named_beside_a_setting_is_the_one_it_belongs_to() -> None:
    with pytest.raises(UsageError) as refused:
        made("mean", mechanism="iclp-ar", eta=2.0)
    assert refused.value.fix == "Say mechanism=dpfda.mechanisms.ThresholdedLaplaceProcess(eta=...)."


@pytest.mark.parametrize("statistic", ESTIMATORS)
@pytest.mark.parametrize("name", ["batch_rows", "workers", "progress"])
def test_how_records_are_read_is_one_object(statistic: str, name: str) -> None:
    with pytest.raises(UsageError) as refused:
        made(statistic, **{name: 1})
    assert (refused.value.parameter, refused.value.fix) == (name, f"Say reading=dpfda.Reading({name}=...).")
    with pytest.raises(UsageError) as refused:
        made(statistic, reading=7).plan(500)
    assert refused.value.parameter == "reading"


def test_a_parameter_that_nobody_knows_is_as_unknown_as_anywhere() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        made("mean", colour="red")


@pytest.mark.parametrize("statistic", ESTIMATORS)
def test_constructors_have_few_parameters(statistic: str) -> None:
    estimator, known = ESTIMATORS[statistic]
    most = {"mean": 18, "covariance": 19, "components": 21, "regression": 23, "density": 17, "machine": 17}
    assert len(estimator(**known).get_params()) <= most.get(statistic, 20)


def test_copies_of_an_estimator_keep_the_mechanism() -> None:
    process = stated(MECHANISMS["iclp-qr"].make)
    est = made("mean", mechanism=process)
    for other in (clone(est), copy.deepcopy(est), pickle.loads(pickle.dumps(est))):
        assert other.get_params() == est.get_params()
    assert est.set_params(mechanism="gp").mechanism == "gp"


def test_commands_offer_what_can_be_typed() -> None:
    assert "dictionary" in names_for("mean")
    assert "dictionary" not in typed_for("mean")
    assert "gp" in names_for("machine")
    assert "gp" not in typed_for("machine")
    assert by_name("gp", "mean", {"eta": None, "kernel": None}) == "gp"
    assert by_name("gp", "mean", {"eta": 2.0}).eta == 2.0
    with pytest.raises(UsageError) as refused:
        by_name("auto", "mean", {"eta": 2.0})
    assert refused.value.parameter == "eta"


# Joining from outside.


@dataclass(frozen=True, slots=True)
class Wide(Laplace):
    """Laplace noise under another name."""

    name: ClassVar[str] = "wide"


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstFew(Process):
    """Laplace noise on a stated number of cosines."""

    terms: int = 4

    name: ClassVar[str] = "first-few"

    def design(self, request: Request) -> Design:
        basis = cosine(request.domain.sides[0], self.terms)
        why = (("basis", f"{self.terms} cosines, stated by the user"),)
        return Design(self.name, basis, Laplace(), None, 0.0, 0, why)


@pytest.fixture
def joined() -> Iterator[None]:
    before = dict(MECHANISMS)
    register_mechanism("wide")(Wide)
    register_mechanism("first-few", serves={"mean": ("terms",)})(FirstFew)
    yield
    MECHANISMS.clear()
    MECHANISMS.update(before)


def test_a_law_and_a_process_from_outside_have_names(joined: None) -> None:
    assert {"wide", "first-few"} <= set(typed_for("mean"))
    assert "wide" in names_for("covariance")
    assert "first-few" not in names_for("covariance")
    wide = made("mean", mechanism="wide", delta=0.0).plan(500)
    assert wide.to_dict() == made("mean", mechanism=Wide(), delta=0.0).plan(500).to_dict()
    assert made("mean", mechanism="first-few", delta=0.0).plan(500).basis.size == 4
    assert made("mean", mechanism=FirstFew(terms=7), delta=0.0).plan(500).basis.size == 7
    assert by_name("first-few", "mean", {"terms": 7}) == FirstFew(terms=7)
    release = made("mean", mechanism=FirstFew(terms=3), delta=0.0).fit(np.zeros((500, 9))).release_
    assert (release.certificate.mechanism, release.basis.size) == ("first-few", 3)
    with pytest.raises(UsageError, match="wide"):
        made("mean", mechanism="narrow").plan(500)


def test_a_statistic_from_outside_takes_every_noise_law_that_its_norm_allows(joined: None) -> None:
    assert set(typed_for("of-mine")) == {"auto", "gaussian", "k-norm", "laplace", "wide"}
    assert set(names_for("of-mine", WeightedL2((1.0, 2.0)))) == {"gaussian", "k-norm", "laplace", "wide"}
    assert set(names_for("of-mine", L1())) == {"laplace", "wide"}
    assert set(names_for("of-mine", BlockNorm((2,), (1.0,)))) == {"k-norm"}
    assert names_for("of-mine", Nuclear()) == ()
    assert names_for("maximiser") == ("exponential",)
    register_mechanism("first-few", serves=("mean", "of-mine"))(FirstFew)
    assert set(typed_for("of-mine")) == {"auto", "gaussian", "k-norm", "laplace", "wide", "first-few"}


@pytest.mark.parametrize("name", ["gaussian", "k-norm", "laplace", "wide"])
def test_a_plan_from_outside_makes_a_law_of_each_name_that_is_offered(joined: None, name: str) -> None:
    law = law_for(name, "of-mine", size=30)
    assert law.name == name
    assert law_for(law, "of-mine", size=30) is law
    scale = calibrate(law, Sensitivity(1000.0, L2(), "stated"), Budget(1.0, 1e-6), size=30)
    assert law.noise(scale, 30).size == 30


@pytest.mark.parametrize("name", ["gp", "wishart", "narrow", "first-few", "auto"])
def test_a_plan_from_outside_refuses_other_names(joined: None, name: str) -> None:
    with refusals.refused(UsageError, "mechanism", name):
        law_for(name, "of-mine", size=30)


def test_a_name_is_given_once_and_is_the_name_of_its_class() -> None:
    with pytest.raises(UsageError) as refused:
        register_mechanism("gp")(FirstFew)
    assert refused.value.parameter == "name"
    with pytest.raises(UsageError) as refused:
        register_mechanism("few")(FirstFew)
    assert (refused.value.parameter, refused.value.value) == ("name", "'few'")
    assert "few" not in table.MECHANISMS


@pytest.mark.parametrize("mechanism", [1j, "gaussian", [1, "2"], type("Nameless", (), {"laws": ("a",)})])
def test_only_classes_with_a_name_and_laws_are_draws(mechanism: Any) -> None:
    with pytest.raises(UsageError) as refused:
        register_draw(mechanism)
    assert refused.value.parameter == "mechanism"
    with pytest.raises(UsageError) as refused:
        register_mechanism("one-of-mine")(mechanism)
    assert refused.value.parameter == "name"


def test_no_other_file_lists_names_of_mechanisms() -> None:
    """Names of the table stand in its registrations alone; elsewhere they are looked up."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in ("mechanisms", "reproduce", "releases"):
            continue  # the registrations, the papers' own tables, and words of cards of earlier versions
        for node in ast.walk(ast.parse(path.read_text())):
            items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
            names = {item.value for item in items if isinstance(item, ast.Constant)} & {"auto", *MECHANISMS}
            if len(names) >= 3:
                found.append((str(path.relative_to(SOURCE)), sorted(names)))
    assert found == []
