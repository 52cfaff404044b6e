"""The texts of all errors about bases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

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
    "no functions": (lambda: cosine((0, 1), 0), "size of a Cosine basis must be a whole number, at least 1, got 0"),
    "half a function": (lambda: beam((0, 1), 2.5), "at least 1, got 2.5"),  # type: ignore[arg-type]
    "yes for a size": (lambda: cosine((0, 1), True), "at least 1, got True"),
    "few splines": (lambda: bspline((0, 1), 3), "size of a BSpline basis must be a whole number, at least 4, got 3"),
    "many cosines": (
        lambda: cosine((0, 1), 4097),
        "must be at most 4096, got 4097: more would take minutes. Take fewer functions.",
    ),
    "many modes": (
        lambda: reinsch((0, 1), 1025),
        "Reinsch basis must be at most 1024, got 1025: more would take minutes. Take fewer functions, or cosines, of "
        "which there may be 2048.",
    ),
    "many splines": (lambda: bspline((0, 1), 4096), "BSpline basis must be at most 1024, got 4096"),
    "many Bernstein": (lambda: bernstein((0, 1), 257), "Bernstein basis must be at most 256, got 257"),
    "many polynomials": (lambda: legendre((0, 1), 2049), "Legendre basis must be at most 2048, got 2049"),
    "many Mercer": (lambda: mercer(Exponential(1.0), (0, 1), 1025), "Mercer basis must be at most 1024, got 1025"),
    "many landmarks": (lambda: landmarks(Exponential(1.0), (0, 1), size=1025), "landmarks .* at most 1024, got 1025"),
    "many given landmarks": (
        lambda: landmarks(Exponential(1.0), (0, 1), np.linspace(0, 1, 5000)),
        "at most 4096, got 5000",
    ),
    "many waves": (
        lambda: fourier_features(Exponential(1e-9), (0, 1), 100).means(),
        "half-waves over the domain, and means are taken over at most 65536. Take a kernel with a longer range",
    ),
    "many nodes": (
        lambda: by_name("cosine", [(0, 1)] * 6, 64).nodes(),
        "over a domain with 6 side.s. take 1073741824 points, and at most 8388608 can be taken. Use fewer functions",
    ),
    "many products in a file": (
        lambda: from_dict({"family": "tensor", "factors": [{"family": "bspline", "size": 1000}] * 3, "size": 9}),
        "at most 64 factors with at most 4194304 products",
    ),
    "degree 0": (lambda: bspline((0, 1), 5, degree=0), "degree of a spline must be a whole number from 1 to 15, got 0"),
    "line on a box": (lambda: cosine(BOX, 4), r"Cosine lives on an interval, got a domain with 2 sides.*by_name\(\)"),
    "no kernel": (lambda: mercer("gaussian", (0, 1), 4), "needs a kernel of dpfda.kernels, got 'gaussian'"),  # type: ignore[arg-type]
    "power 0": (lambda: mercer(Gaussian(1.0), (0, 1), 4, power=0), "must be positive and finite, got 0"),
    "large Mercer": (lambda: mercer(Gaussian(1.0), (0, 1), 800), "computed up to size 760, got 800. Take a smaller"),
    "large box": (lambda: mercer(Matern(2.5, 1.0), BOX, 300), "at most 288 eigenfunctions are computed, got 300"),
    "four sides": (lambda: mercer(Matern(2.5, 1.0), BOX * 2, 3), "in up to 3 dimensions, got 4. Use a Tensor kernel"),
    "factors": (lambda: mercer(TensorKernel((Gaussian(1.0),)), BOX, 3), "has 1 factors, but the domain has 2 side"),
    "empty product": (lambda: tensor(), "A tensor product needs at least one basis"),
    "large product": (lambda: tensor(cosine((0, 1), 2), size=3), "have 2 products, got size 3. Enlarge the factors"),
    "cut bernstein": (lambda: tensor(bernstein((0, 1), 2), size=1), "Only orthonormal factors can be cut"),
    "unknown family": (
        lambda: from_dict({"family": "wavelet"}),
        "one of the families beam, bernstein, bspline, combined, cosine, fourier, fourier-features, landmarks, "
        "legendre, mercer, mercer-features, reinsch, steps, tensor, got 'wavelet'",
    ),
    "no family": (lambda: from_dict({}), "one of the families .*, got None"),
    "half a description": (lambda: from_dict({"family": "cosine"}), "This is no description of a cosine basis"),
    "unknown name": (lambda: by_name("mercer", (0, 1), 3), "one of beam, .*, reinsch, got 'mercer'"),
    "no size on a box": (lambda: by_name("beam", BOX, 0), "at least 1, got 0"),
    "backwards integral": (lambda: cosine((0, 1), 3).integrals(0.7, 0.2), "got 0.7 to 0.2"),
    "no family name": (OWN.describe, "Own cannot be written to a file: it has no family name"),
    "empty domain": (lambda: Domain(()), "A domain needs at least one side"),
    "backwards domain": (lambda: as_domain((1, 0)), r"finite ends with low < high on each side, got \(1.0, 0.0\)"),
    "endless domain": (lambda: as_domain((0, float("inf"))), "finite ends"),
    "odd domain": (lambda: as_domain((0, 1, 2)), r"A domain is an interval .*, got \(0, 1, 2\)"),
    "words for a domain": (lambda: as_domain("all"), "A domain is an interval .*, got 'all'"),
    "not a number": (lambda: cosine((0, 1), 3).matrix([float("nan")]), "Points must be finite numbers"),
    "outside": (
        lambda: cosine((0, 1), 3).matrix([0.5, 1.5]),
        r"\[0, 1\], got points from 0.5 to 1.5. Leave these points out",
    ),
}


@pytest.mark.parametrize(("act", "text"), CASES.values(), ids=CASES.keys())
def test_a_wrong_argument_is_told_the_rule_the_value_and_the_way_out(act: Callable[[], object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        act()


def test_a_kernel_of_too_short_a_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galerkin, "INTERVAL_DEGREES", (32, 48))
    with pytest.raises(UsageError, match=r"eigenvalues of Matern.* do not settle with polynomials of degree 48"):
        mercer(Matern(1.5, 1e-4), (0, 1), 5)
    monkeypatch.setattr(galerkin, "BOX_DEGREES", {2: (6, 8)})
    with pytest.raises(UsageError, match=r"leading eigenvalues of Exponential.* do not settle on this box"):
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
    with pytest.raises(UsageError, match=r"^Flat cannot be written to a file: its family 'flat' is not registered"):
        Flat(as_domain((0, 1)), 1).describe()


@pytest.mark.parametrize("wrong", [3, "flat", int, Basis, OWN, type(OWN)], ids=repr)
def test_what_is_no_class_of_bases_with_a_family_is_not_registered(wrong: object) -> None:
    with pytest.raises(UsageError, match="a Basis with all its methods and a `family` name"):
        register(wrong)  # type: ignore[call-overload]


def test_a_family_is_registered_once_and_with_a_size() -> None:
    other = dataclass(frozen=True)(type("Other", (Flat,), {"family": "cosine"}))
    with pytest.raises(UsageError, match=r"^The family 'cosine' is taken by dpfda.bases.trigonometric"):
        register(other)
    for wrong in ({"least_size": 0}, {"least_size": "two"}, {"build": 3}):
        with pytest.raises(UsageError, match="a least size of 1 or more and a function that builds it"):
            register(**wrong)  # type: ignore[call-overload]
