"""The texts of all errors about bases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from refusals import refused

from dpfda.arrays import Array
from dpfda.bases import (
    Basis,
    Domain,
    as_domain,
    beam,
    bernstein,
    bspline,
    by_name,
    cosine,
    fourier_features,
    from_dict,
    galerkin,
    landmarks,
    legendre,
    mercer,
    register,
    reinsch,
    tensor,
)
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.kernels import Tensor as TensorKernel

BOX = [(0, 1), (0, 1)]


@dataclass(frozen=True, slots=True)
class Own(Basis):
    """A basis that a user wrote: the constant function."""

    domain: Domain
    size: int = 1

    def functions(self, points: Array, order: tuple[int, ...]) -> Array:
        return np.full((len(points), 1), 0.0 if any(order) else 1.0)


OWN = Own(Domain(((0.0, 1.0), (0.0, 2.0))))

CASES: dict[str, tuple[Callable[[], object], str]] = {
    "no functions": (lambda: cosine((0, 1), 0), ("size", 0)),
    "half a function": (lambda: beam((0, 1), 2.5), ("size", 2.5)),  # type: ignore[arg-type]
    "yes for a size": (lambda: cosine((0, 1), True), ("size", True)),
    "few splines": (lambda: bspline((0, 1), 3), ("size", 3)),
    "many cosines": (
        lambda: cosine((0, 1), 4097),
        ("size", 4097),
    ),
    "many modes": (
        lambda: reinsch((0, 1), 1025),
        ("size", 1025),
    ),
    "many splines": (lambda: bspline((0, 1), 4096), ("size", 4096)),
    "many Bernstein": (lambda: bernstein((0, 1), 257), ("size", 257)),
    "many polynomials": (lambda: legendre((0, 1), 2049), ("size", 2049)),
    "many Mercer": (lambda: mercer(Exponential(1.0), (0, 1), 1025), ("size", 1025)),
    "many landmarks": (lambda: landmarks(Exponential(1.0), (0, 1), size=1025), ("size", 1025)),
    "many given landmarks": (
        lambda: landmarks(Exponential(1.0), (0, 1), np.linspace(0, 1, 5000)),
        ("size", 5000),
    ),
    "many waves": (
        lambda: fourier_features(Exponential(1e-9), (0, 1), 100).means(),
        ("size",),
    ),
    "many nodes": (
        lambda: by_name("cosine", [(0, 1)] * 6, 64).nodes(),
        ("size", 1073741824),
    ),
    "many products in a file": (
        lambda: from_dict({"family": "tensor", "factors": [{"family": "bspline", "size": 1000}] * 3, "size": 9}),
        ("factors", 3),
    ),
    "degree 0": (lambda: bspline((0, 1), 5, degree=0), ("degree", 0)),
    "line on a box": (lambda: cosine(BOX, 4), ("domain", 2)),
    "no kernel": (lambda: mercer("gaussian", (0, 1), 4), ("kernel", "gaussian")),  # type: ignore[arg-type]
    "power 0": (lambda: mercer(Gaussian(1.0), (0, 1), 4, power=0), ("power", 0)),
    "large Mercer": (lambda: mercer(Gaussian(1.0), (0, 1), 800), ("size", 800)),
    "large box": (lambda: mercer(Matern(2.5, 1.0), BOX, 300), ("size", 300)),
    "four sides": (lambda: mercer(Matern(2.5, 1.0), BOX * 2, 3), ("domain", 4)),
    "factors": (lambda: mercer(TensorKernel((Gaussian(1.0),)), BOX, 3), ("kernel", 1)),
    "empty product": (lambda: tensor(), ("factors", ())),
    "large product": (lambda: tensor(cosine((0, 1), 2), size=3), ("size", 3)),
    "cut bernstein": (lambda: tensor(bernstein((0, 1), 2), size=1), ("size", 1)),
    "unknown family": (
        lambda: from_dict({"family": "wavelet"}),
        ("family", "wavelet"),
    ),
    "no family": (lambda: from_dict({}), ("family", None)),
    "half a description": (lambda: from_dict({"family": "cosine"}), ("description", {"family": "cosine"})),
    "unknown name": (lambda: by_name("mercer", (0, 1), 3), ("name", "mercer")),
    "no size on a box": (lambda: by_name("beam", BOX, 0), ("size", 0)),
    "backwards integral": (lambda: cosine((0, 1), 3).integrals(0.7, 0.2), ("low", (0.7, 0.2))),
    "no family name": (OWN.describe, ("family", "")),
    "empty domain": (lambda: Domain(()), ("sides", 0)),
    "backwards domain": (lambda: as_domain((1, 0)), ("sides", (1.0, 0.0))),
    "endless domain": (lambda: as_domain((0, float("inf"))), ("sides",)),
    "odd domain": (lambda: as_domain((0, 1, 2)), ("domain", (0, 1, 2))),
    "words for a domain": (lambda: as_domain("all"), ("domain", "all")),
    "not a number": (lambda: cosine((0, 1), 3).matrix([float("nan")]), ("points",)),
    "outside": (
        lambda: cosine((0, 1), 3).matrix([0.5, 1.5]),
        ("points",),
    ),
}


@pytest.mark.parametrize(("act", "about"), CASES.values(), ids=CASES.keys())
def test_a_wrong_argument_is_told_the_rule_the_value_and_the_way_out(act: Callable[[], object], about: Any) -> None:
    with refused(UsageError, *about):
        act()


def test_a_kernel_of_too_short_a_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galerkin, "INTERVAL_DEGREES", (32, 48))
    with refused(UsageError, "size", 5):
        mercer(Matern(1.5, 1e-4), (0, 1), 5)
    monkeypatch.setattr(galerkin, "BOX_DEGREES", {2: (6, 8)})
    with refused(UsageError, "size", 5):
        mercer(Exponential(1e-2), BOX, 5)


def test_a_basis_of_your_own_needs_one_function_only() -> None:
    grid = OWN.domain.grid(4)
    assert OWN.coordinates(np.full(16, 3.0), grid) == pytest.approx([3.0])
    assert OWN.evaluate([2.0], [(0.5, 0.5)]) == pytest.approx([2.0])
    assert OWN.integrals((0, 0), (0.5, 2)) == pytest.approx([1.0])


@dataclass(frozen=True)
class Flat(Basis):
    """One constant; its class has a name, but nobody has registered it."""

    domain: Domain
    size: int
    family: ClassVar[str] = "flat"

    def functions(self, points: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
        return np.full((len(points), self.size), float(not any(order)))


def test_a_basis_that_is_not_registered_is_not_written_to_a_file() -> None:
    with refused(UsageError, "family", "flat"):
        Flat(as_domain((0, 1)), 1).describe()


@pytest.mark.parametrize("wrong", [3, "flat", int, Basis, OWN, type(OWN)], ids=repr)
def test_what_is_no_class_of_bases_with_a_family_is_not_registered(wrong: object) -> None:
    with refused(UsageError, "basis", wrong):
        register(wrong)  # type: ignore[call-overload]


def test_a_family_is_registered_once_and_with_a_size() -> None:
    other = dataclass(frozen=True)(type("Other", (Flat,), {"family": "cosine"}))
    with refused(UsageError, "family", "cosine"):
        register(other)
    for wrong in ({"least_size": 0}, {"least_size": "two"}, {"build": 3}):
        with refused(UsageError, "least_size"):
            register(**wrong)  # type: ignore[call-overload]
