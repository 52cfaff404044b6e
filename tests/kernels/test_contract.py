"""Every registered kernel passes here: those listed below, and of all others the example that they registered with."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import dpfda.kernels as kernels
from dpfda.errors import UsageError
from dpfda.kernels import (
    Anisotropic,
    BrownianBridge,
    BrownianMotion,
    Exponential,
    Gaussian,
    Kernel,
    Matern,
    Periodic,
    Product,
    RationalQuadratic,
    Scaled,
    Sobolev,
    Sum,
    Tensor,
    describe,
    from_dict,
)

ON_A_LINE: list[Kernel] = [
    Gaussian(rho=0.2),
    Gaussian.from_length(0.3),
    RationalQuadratic(length=0.4, shape=1.5),
    Matern(0.3, rho=2.0),
    Matern(0.5, rho=2.0),
    Matern(1.0, rho=2.0),
    Matern(1.5, rho=2.0),
    Matern(1.7, rho=2.0),
    Matern(2.5, rho=2.0),
    Matern(120.0, rho=0.3),
    Exponential(rho=2.0),
    Periodic(length=0.8, period=0.5),
    BrownianMotion(),
    BrownianBridge(),
    BrownianBridge(length=3.0),
    Sobolev(1),
    Sobolev(2),
    Sobolev(3),
    Sobolev(2, start=-1.0, length=2.5),
    Sum(BrownianMotion(), Gaussian(rho=0.2)),
    Product(Matern(1.5, rho=2.0), Sobolev(1)),
    Scaled(Exponential(rho=1.0), 3.0),
    Anisotropic(Matern(1.5, rho=1.0), [2.0]),
]
IN_A_PLANE: list[Kernel] = [
    Gaussian(rho=0.2),
    RationalQuadratic(length=0.4, shape=1.5),
    Matern(0.8, rho=1.0),
    Matern(2.5, rho=1.0),
    Exponential(rho=1.0),
    Tensor((Exponential(rho=0.5), Sobolev(2))),
    Anisotropic(Matern(1.5, rho=1.0), [[0.5, 0.0], [0.2, 2.0]]),
    Anisotropic(Gaussian(rho=1.0), [0.5, 2.0]),
    Scaled(Tensor((BrownianMotion(), Periodic(length=1.0, period=1.0))), 0.5),
    Sum(Gaussian(rho=1.0), Product(Exponential(rho=1.0), Matern(1.5, rho=2.0))),
]
# Whatever else is registered, also from outside: `pytest -p my_kernels tests/kernels/test_contract.py`.
LISTED = {type(kernel) for kernel in (*ON_A_LINE, *IN_A_PLANE)}
OTHERS = [kernels.example_of(family) for family, kind in kernels.FAMILIES.items() if kind not in LISTED]
ON_A_LINE += OTHERS
# A function of the distance is offered in any dimension: it may be definite on a line, and not in the plane.
IN_A_PLANE += [kernel for kernel in OTHERS if isinstance(kernel, kernels.Isotropic)]
IN_SPACE = [kernel for kernel in IN_A_PLANE if isinstance(kernel, kernels.Isotropic)]
MEMBERS = [
    *((kernel, 1) for kernel in ON_A_LINE),
    *((kernel, 2) for kernel in IN_A_PLANE),
    *((kernel, 3) for kernel in IN_SPACE),
]
every_member = pytest.mark.parametrize(("kernel", "dimension"), MEMBERS, ids=repr)
on_a_line = pytest.mark.parametrize("kernel", ON_A_LINE, ids=repr)


def unit_points(size: int, dimension: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(size, dimension))


def test_the_contract_has_every_registered_kernel_and_every_public_one_is_registered() -> None:
    public = {value for name in kernels.__all__ if inspect.isclass(value := getattr(kernels, name))}
    concrete = {value for value in public if not inspect.isabstract(value)}
    assert {type(kernel) for kernel, _ in MEMBERS} == set(kernels.FAMILIES.values())
    assert concrete <= set(kernels.FAMILIES.values())


@pytest.mark.parametrize("name", sorted(kernels.BY_RANGE))
def test_a_kernel_that_is_typed_with_its_range_is_registered(name: str) -> None:
    assert type(kernels.BY_RANGE[name](0.25)) in kernels.FAMILIES.values()


SIMPLE = [name for name, kind in kernels.FAMILIES.items() if kind not in (Anisotropic, Product, Scaled, Sum, Tensor)]


@pytest.mark.parametrize("family", SIMPLE)
def test_a_kernel_that_is_made_of_no_other_has_an_example(family: str) -> None:
    assert type(kernels.example_of(family)) is kernels.FAMILIES[family]


@every_member
def test_a_kernel_is_symmetric(kernel: Kernel, dimension: int) -> None:
    s, t = unit_points(5, dimension), unit_points(7, dimension, seed=8)
    np.testing.assert_allclose(kernel(s, t), kernel(t, s).T, rtol=1e-14, atol=1e-15)


@every_member
def test_a_kernel_is_positive_semidefinite(kernel: Kernel, dimension: int) -> None:
    """No eigenvalue of 210 points, random or close pairs, lies below -1e-13 times the trace."""
    points = unit_points(200, dimension)
    points = np.vstack([points, np.clip(points[:10] + 1e-9, 0, 1)])
    gram = kernel(points, points)
    assert np.linalg.eigvalsh(gram).min() >= -1e-13 * np.trace(gram)


@pytest.mark.parametrize("kernel", [k for k, p in MEMBERS if p == 1 and not isinstance(k, Anisotropic)], ids=repr)
@given(points=st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_a_kernel_is_positive_semidefinite_at_any_points(kernel: Kernel, points: list[float]) -> None:
    gram = kernel(points, points)
    assert np.linalg.eigvalsh(gram).min() >= -1e-13 * (np.trace(gram) + 1e-3)


@every_member
def test_points_are_rows_and_values_a_matrix(kernel: Kernel, dimension: int) -> None:
    s, t = unit_points(4, dimension), unit_points(6, dimension, seed=8)
    assert kernel(s, t).shape == (4, 6)
    assert kernel(s, t).dtype == np.float64
    assert kernel(s[:0], t).shape == (0, 6)
    np.testing.assert_array_equal(kernel(s, t)[1:3, 2:5], kernel(s[1:3], t[2:5]))


@on_a_line
def test_on_a_line_plain_sequences_will_do(kernel: Kernel) -> None:
    s, t = [0.25, 0.5, 0.75], [0.0, 1.0]
    expected = kernel(np.array(s)[:, None], np.array(t)[:, None])
    np.testing.assert_array_equal(kernel(s, t), expected)
    np.testing.assert_array_equal(kernel(s, np.array(t)[:, None]), expected)
    assert kernel(0.25, 0.5).shape == (1, 1)


@pytest.mark.parametrize("kernel", IN_A_PLANE, ids=repr)
def test_in_a_plane_one_point_may_stand_alone(kernel: Kernel) -> None:
    t = unit_points(6, 2)
    np.testing.assert_array_equal(kernel([0.25, 0.5], t), kernel([[0.25, 0.5]], t))


@every_member
def test_points_of_different_dimension_are_an_error(kernel: Kernel, dimension: int) -> None:
    with refused(UsageError, "points"):
        kernel(unit_points(4, dimension), unit_points(4, dimension + 1))


@pytest.mark.parametrize("kernel", [k for k, _ in MEMBERS if isinstance(k, kernels.Isotropic | Periodic)], ids=repr)
def test_a_stationary_kernel_is_exactly_one_at_distance_zero_and_falls_from_there(kernel: Kernel) -> None:
    values = kernel([0.3], [0.3, 0.3 + 1e-12, 0.3 + 1e-4, 0.4, 0.5])[0]
    assert values[0] == 1.0
    assert (np.diff(values) <= 0).all()
    assert values[-1] < 1.0


@every_member
def test_a_kernel_is_a_frozen_value(kernel: Kernel, dimension: int) -> None:
    copy = from_dict(describe(kernel))
    assert copy is not kernel
    assert copy == kernel
    assert hash(copy) == hash(kernel)
    assert not hasattr(kernel, "__dict__")
    for field in fields(kernel):  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(kernel, field.name, 2.0)


def test_all_members_differ() -> None:
    assert len({kernel for kernel, _ in MEMBERS}) == len({repr(kernel) for kernel, _ in MEMBERS})


@every_member
def test_a_kernel_survives_json(kernel: Kernel, dimension: int) -> None:
    text = json.dumps(describe(kernel))
    back = from_dict(json.loads(text))
    assert back == kernel
    assert json.dumps(describe(back)) == text
    points = unit_points(4, dimension)
    np.testing.assert_array_equal(back(points, points), kernel(points, points))


def eigenvalues(kernel: Kernel, size: int = 400) -> np.ndarray:
    nodes = (np.arange(size) + 0.5) / size
    return np.linalg.eigvalsh(kernel(nodes, nodes) / size)[::-1]


@on_a_line
def test_eigenvalues_fall_at_the_stated_smoothness(kernel: Kernel) -> None:
    """The slope between the 8th and 30th eigenvalue; within 12 %, since higher terms have not died out there."""
    if math.isnan(kernel.smoothness):
        pytest.skip("its smoothness is not known")
    found = eigenvalues(kernel)
    if not math.isfinite(kernel.smoothness) or kernel.smoothness > 100:
        assert found[40] < 1e-8 * found[0]
        return
    j = np.arange(8, 30)
    j = j[found[j] > 1e-13 * found[0]]
    slope = -np.polyfit(np.log(j + 0.5), np.log(found[j]), 1)[0]
    assert slope == pytest.approx(kernel.smoothness, rel=0.12)


@every_member
def test_a_kernel_knows_its_decay_in_its_own_dimension(kernel: Kernel, dimension: int) -> None:
    if math.isnan(kernel.smoothness):
        pytest.skip("its smoothness is not known")
    assert kernel.decay(dimension) > 1.0
    if dimension == 1:
        assert kernel.decay() == kernel.smoothness
