"""Every error of the kernels says the rule, the value and the way out; about points it shows no value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from refusals import refused

from dpfda.arrays import Array, ArrayLike
from dpfda.errors import UsageError
from dpfda.kernels import (
    FAMILIES,
    Anisotropic,
    BrownianBridge,
    BrownianMotion,
    Exponential,
    Gaussian,
    Isotropic,
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
    example_of,
    from_dict,
    register,
)

POSITIVE: list[tuple[Callable[[Any], Kernel], str]] = [
    (lambda v: Gaussian(v), "rho"),
    (lambda v: Gaussian.from_length(v), "length"),
    (lambda v: RationalQuadratic(v, 1.0), "length"),
    (lambda v: RationalQuadratic(1.0, v), "shape"),
    (lambda v: Matern(v, 1.0), "order"),
    (lambda v: Matern(1.5, v), "rho"),
    (lambda v: Exponential(v), "rho"),
    (lambda v: Periodic(v, 1.0), "length"),
    (lambda v: Periodic(1.0, v), "period"),
    (lambda v: BrownianBridge(v), "length"),
    (lambda v: Sobolev(1, length=v), "length"),
    (lambda v: Scaled(BrownianMotion(), v), "factor"),
]


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize(("make", "parameter"), POSITIVE)
def test_scales_must_be_positive(make: Callable[[Any], Kernel], parameter: str, value: object) -> None:
    with refused(UsageError, parameter, value):
        make(value)


@pytest.mark.parametrize("order", [0, -1, 1.0, 1.5, "2", None, True])
def test_a_sobolev_order_is_a_whole_number(order: Any) -> None:
    with refused(UsageError, "order", order):
        Sobolev(order)


@pytest.mark.parametrize("start", [math.nan, math.inf, "0", None])
def test_an_interval_starts_at_a_number(start: Any) -> None:
    with refused(UsageError, "start", start):
        Sobolev(1, start=start)


@pytest.mark.parametrize(
    ("kernel", "points"),
    [
        (BrownianMotion(), [0.5, -1.25]),
        (BrownianMotion(), [math.nan]),
        (BrownianBridge(length=2.0), [2.125]),
        (Sobolev(1, start=-1.0, length=3.0), [-1.125]),
        (Periodic(length=1.0, period=1.0), [math.inf]),
    ],
)
def test_points_outside_are_an_error_that_does_not_show_them(kernel: Kernel, points: list[float]) -> None:
    for s, t in ((points, [1.0]), ([1.0], points)):
        with refused(UsageError, "points") as caught:
            kernel(s, t)
        assert caught.value.value is None
        assert not any(f"{point:g}" in str(caught.value) for point in points if math.isfinite(point) and point % 0.5)


def test_a_sobolev_order_that_would_take_minutes_is_refused() -> None:
    with refused(UsageError, "order", 1000000):
        Sobolev(1_000_000)
    # Orders beyond the tenth differ by less than rounding: nothing is lost.
    np.testing.assert_allclose(Sobolev(64)([0.3], [0.6]), Sobolev(12)([0.3], [0.6]), rtol=1e-15)


def test_the_last_digit_of_a_printed_grid_is_not_outside() -> None:
    np.testing.assert_array_equal(Sobolev(2)([1 + 1e-12], [0.5]), Sobolev(2)([1.0], [0.5]))
    np.testing.assert_array_equal(BrownianBridge()([1 + 1e-12], [0.5]), 0.0)


@pytest.mark.parametrize("kernel", [BrownianMotion(), BrownianBridge(), Sobolev(2), Periodic(1.0, 1.0)], ids=repr)
def test_a_kernel_on_a_line_has_no_decay_on_a_box(kernel: Kernel) -> None:
    with refused(UsageError, "dimension", 2):
        kernel.decay(2)


def test_a_tensor_has_a_decay_in_its_own_dimension_only() -> None:
    with refused(UsageError, "dimension", 1):
        Tensor((Gaussian(1.0), Gaussian(1.0))).decay()


def test_an_anisotropic_kernel_has_a_decay_in_its_own_dimension_only() -> None:
    with refused(UsageError, "dimension", 1):
        Anisotropic(Gaussian(1.0), [1.0, 2.0]).decay()


@pytest.mark.parametrize("factors", [(), [], None, Gaussian(1.0)])
def test_a_tensor_needs_factors(factors: Any) -> None:
    with refused(UsageError, "factors", factors):
        Tensor(factors)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sum(3.0, BrownianMotion()),  # type: ignore[arg-type]
        lambda: Sum(BrownianMotion(), 3.0),  # type: ignore[arg-type]
        lambda: Product(3.0, BrownianMotion()),  # type: ignore[arg-type]
        lambda: Product(BrownianMotion(), 3.0),  # type: ignore[arg-type]
        lambda: Scaled(3.0, 1.0),  # type: ignore[arg-type]
        lambda: Tensor((BrownianMotion(), 3.0)),  # type: ignore[arg-type]
        lambda: Anisotropic(3.0, [1.0]),  # type: ignore[arg-type]
    ],
)
def test_parts_of_a_kernel_must_be_kernels(make: Callable[[], Kernel]) -> None:
    with refused(UsageError, "kernel", 3.0):
        make()


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        [0.0, 1.0],
        [-1.0, 1.0],
        [math.nan],
        2.0,
        "ab",
        [[1.0, 2.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[1.0, 0.0], [0.0, 0.0]],
        [[1.0, 0.0], [0.0, math.inf]],
        [[1.0], [1.0, 2.0]],
    ],
)
def test_a_length_matrix_must_be_invertible(matrix: Any) -> None:
    with refused(UsageError, "matrix", matrix):
        Anisotropic(Gaussian(1.0), matrix)


@pytest.mark.parametrize("data", [{}, {"family": "cubic"}, {"family": "kernel"}, {"family": 3}, None, [1.0]])
def test_a_description_must_name_a_family(data: Any) -> None:
    family = data.get("family") if isinstance(data, dict) else None
    with refused(UsageError, "family", family):
        from_dict(data)


@pytest.mark.parametrize("given", [{}, {"rho": 1.0, "length": 1.0}, {"length": 1.0}])
def test_a_description_has_the_fields_of_its_family(given: dict[str, float]) -> None:
    with refused(UsageError, "family", "gaussian"):
        from_dict({"family": "gaussian"} | given)


def test_a_field_with_a_default_may_be_left_out() -> None:
    assert from_dict({"family": "sobolev", "order": 2}) == Sobolev(2)


def test_values_in_a_description_are_checked_like_any_others() -> None:
    with refused(UsageError, "rho", "one"):
        from_dict({"family": "scaled", "factor": 2.0, "kernel": {"family": "gaussian", "rho": "one"}})


def test_a_kernel_of_ones_own_cannot_be_written_unless_it_is_registered() -> None:
    @dataclass(frozen=True)
    class Mine(Kernel):
        def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
            return np.ones((np.size(s), np.size(t)))

    with refused(UsageError, "kernel"):
        describe(Mine())
    try:
        register(Mine)
        assert from_dict(describe(Mine())) == Mine()
        assert example_of("mine") == Mine()
    finally:
        FAMILIES.pop("mine", None)


@dataclass(frozen=True)
class Gaussian2(Kernel):
    def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
        return np.ones((np.size(s), np.size(t)))


@pytest.mark.parametrize("wrong", [3, "gaussian", int, Kernel, Isotropic, Gaussian(1.0)], ids=repr)
def test_what_is_no_class_of_kernels_is_not_registered(wrong: object) -> None:
    with refused(UsageError, "kernel", wrong):
        register(wrong)  # type: ignore[call-overload]


def test_a_name_is_registered_once() -> None:
    other = type("Gaussian", (Gaussian2,), {})
    with refused(UsageError, "family", "gaussian"):
        register(other)
    with refused(UsageError, "by_range", "gaussian"):
        register(by_range={"gaussian": lambda rho: Gaussian2()})(Gaussian2)
    assert "gaussian2" not in FAMILIES
    for wrong in ({"a,b": Gaussian}, {"a": 3}, {3: Gaussian}, frozenset({1}), "gaussian"):
        with refused(UsageError, "by_range", wrong):
            register(by_range=wrong)  # type: ignore[call-overload]


def test_an_example_is_a_function() -> None:
    with refused(UsageError, "example", 3):
        register(example=3)  # type: ignore[call-overload]


def test_a_class_that_is_made_anew_may_be_registered_again() -> None:
    assert register(Gaussian) is Gaussian
    assert FAMILIES["gaussian"] is Gaussian


@pytest.mark.parametrize(("family", "about"), [("linear", ("family", "linear")), (3, ("family", 3))])
def test_an_unknown_family_has_no_example(family: Any, about: Any) -> None:
    with refused(UsageError, *about):
        example_of(family)


def test_a_kernel_of_others_has_no_example_by_itself() -> None:
    with refused(UsageError, "family", "sum"):
        example_of("sum")
