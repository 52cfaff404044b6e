"""Data in the place of a public argument: the error tells type and length, never what is in it, and never fails."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

import dpfda
from dpfda import bases, kernels
from dpfda.arrays import as_path, brief, told, values_of
from dpfda.errors import UsageError
from dpfda.mechanisms import LaplaceProcess

X = np.linspace(0.0, 1.0, 500)
CURVES = np.full((500, 9), 0.5)
LABELS = ["HIV+", "HIV-"] * 250
AGES = [20 + 7 * i % 61 for i in range(500)]
ASKED = {"epsilon": 1.0, "delta": 0.0}
SECRET = 0.123456


def nested(depth: int) -> list[object]:
    made: list[object] = [SECRET]
    for _ in range(depth):
        made = [made]
    return made


class Bad:
    """An object that cannot even tell what it is."""

    def __repr__(self) -> str:
        raise RuntimeError(SECRET)

    def __len__(self) -> int:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    ("call", "about"),
    [
        (
            lambda: dpfda.KernelClassifier(**ASKED, domain=[(0, 1)], classes=LABELS).fit(X[:, None], LABELS),
            ("classes",),
        ),
        (
            lambda: dpfda.FunctionOnScalarRegression(**ASKED, bound=1.0, covariate_limits=AGES).fit(AGES, CURVES),
            ("covariate_limits",),
        ),
        (lambda: dpfda.DensityFunction(**ASKED, edges=AGES).fit(AGES), ("edges",)),
    ],
    ids=["classes", "covariate_limits", "edges"],
)
def test_data_as_a_public_argument_are_not_repeated(call, about):
    with refused(UsageError, *about) as caught:
        call()
    assert len(str(caught.value)) < 400


VALUES = {"nested lists": nested(100_000), "huge number": 10**5000, "array": np.full(3, SECRET), "list": [SECRET] * 9}
PLACES = {
    "epsilon": lambda v: dpfda.MeanFunction(epsilon=v, delta=0.0, bound=1.0).fit(CURVES),
    "delta": lambda v: dpfda.MeanFunction(epsilon=1.0, delta=v, bound=1.0).fit(CURVES),
    "limits": lambda v: dpfda.MeanFunction(**ASKED, bound=1.0, limits=v).fit(CURVES),
    "planned_n": lambda v: dpfda.MeanFunction(**ASKED, bound=1.0, planned_n=v).fit(CURVES),
    "classes": lambda v: dpfda.KernelClassifier(**ASKED, domain=[(0, 1)], classes=v).fit(X[:, None], LABELS),
    "edges": lambda v: dpfda.DensityFunction(**ASKED, edges=v).fit(X),
    "ridge": lambda v: dpfda.FunctionOnScalarRegression(**ASKED, bound=1.0, covariate_limits=[(0, 1)], ridge=v).fit(
        X, CURVES
    ),
    "quantile": lambda v: dpfda.private_bound(CURVES, epsilon=1.0, quantile=v, candidates=(0.1, 1)),
    "Budget": lambda v: dpfda.Budget(v, 0.0),
    "Ledger": dpfda.Ledger,
    "Unit": lambda v: dpfda.Unit(v, "replace-one"),
    "degree": lambda v: bases.bspline((0, 1), 5, degree=v),
    "power": lambda v: bases.mercer(kernels.Gaussian(1.0), (0, 1), 3, power=v),
    "matrix": lambda v: kernels.Anisotropic(kernels.Gaussian(1.0), [v, v]),
    "factors": lambda v: kernels.Tensor((kernels.Gaussian(1.0), v)),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_strange_value_gets_an_error_of_ours_that_does_not_show_it(place, value):
    with pytest.raises(UsageError) as caught:
        place(value)
    assert str(SECRET) not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_bandwidth_that_is_no_number_is_not_repeated():
    def window(bandwidth):
        return dpfda.DensityFunction(**ASKED, domain=(0, 1), mechanism=LaplaceProcess(bandwidth=bandwidth)).fit(X)

    with pytest.raises(UsageError) as caught:
        window([SECRET] * 9)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize("n", [500, None])
def test_a_planned_number_of_units_is_checked_under_replace_one_too(n):
    with refused(UsageError, "planned_n", 0):
        dpfda.MeanFunction(**ASKED, bound=1.0, planned_n=0, n=n).fit(CURVES)


@pytest.mark.parametrize("name", [["person"], np.array(["person"]), "", None, 3])
def test_the_name_of_a_unit_is_text(name):
    with refused(UsageError, "name", name):
        dpfda.Unit(name, "replace-one")


@pytest.mark.parametrize("degree", [np.array([1, 2]), 3.0, True, 0, 16, "3"])
def test_the_degree_of_a_spline_is_a_whole_number(degree):
    with refused(UsageError, "degree", degree):
        bases.bspline((0, 1), 20, degree=degree)


FRAME = pd.DataFrame({"age": [SECRET] * 4})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, "0.5"),
        (None, "None"),
        ("a  b\n", "'a  b\\n'"),
        ("x" * 10**6, f"'{'x' * 79}..."),
        (Decimal("0.5"), "Decimal('0.5')"),
        ((0, 1), "(0, 1)"),
        ((1,), "(1,)"),
        ([(18, 90), (0, 1)], "[(18, 90), (0, 1)]"),
        ({"sex": ("f", "m")}, "{'sex': ('f', 'm')}"),
        ({1}, "{1}"),
        (kernels.Gaussian(1.0), "Gaussian(rho=1.0)"),
        ([SECRET] * 7, "a list of length 7"),
        (["x" * 40] * 3, "a list of length 3"),
        (dict.fromkeys(range(7), SECRET), "a dict of length 7"),
        (np.full((4, 2), SECRET), "an ndarray of length 4"),
        (np.array(SECRET), "a value of type ndarray"),
        (np.array([(SECRET,)], dtype=[("age", float)])[0], "a void of length 1"),
        ([np.full(4, SECRET)], "[an ndarray of length 4]"),
        (FRAME, "a DataFrame of length 4"),
        (FRAME["age"], "a Series of length 4"),
        (pl.DataFrame(FRAME), "a DataFrame of length 4"),
        (pa.table({"age": [SECRET] * 4}), "a Table of length 4"),
        (FRAME.mean, "a value of type method"),
        (partial(np.add, FRAME), "a value of type partial"),
        (dpfda.KernelClassifier(**ASKED, classes=LABELS), "a value of type KernelClassifier"),
        (range(9), "a range of length 9"),
        (10**5000, "a value of type int"),
        (nested(10**5), "[[[a list of length 1]]]"),
        (Bad(), "a value of type Bad"),
        ([Bad()], "[a value of type Bad]"),
        (float, "<class 'float'>"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_a_value_is_told_briefly(value, said):
    assert brief(value) == said


def test_a_type_that_hides_its_name_is_told_as_well():
    class Nameless(type):
        @property
        def __name__(cls) -> str:
            raise RuntimeError

    assert brief(Nameless("Made", (), {})()) == "a value of an unknown type"


def test_a_list_that_holds_itself_is_told():
    endless: list[object] = []
    endless.append(endless)
    assert brief(endless) == "[[[a list of length 1]]]"


def test_an_error_of_a_function_of_the_users_is_told_briefly():
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fails() -> None:
        raise ValueError("x\n" * 10**6)

    assert told(Mute()) == "Mute"
    with pytest.raises(UsageError, match="centre failed with ValueError: x x ") as caught:
        values_of(fails, what="centre")
    assert len(str(caught.value)) < 200


def test_a_path_that_is_too_long_for_any_system_is_told_briefly():
    with refused(UsageError, "path") as caught:
        as_path("x" * 10**6)
    assert len(str(caught.value)) < 200
