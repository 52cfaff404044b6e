"""Every error of the kernels says the rule, the value and the way out; about points it shows no value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

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
    (lambda v: Gaussian(v), "rho must be a positive finite number, got {}. Write e.g. Gaussian(rho=1.0)."),
    (
        lambda v: Gaussian.from_length(v),
        "A length scale must be a positive finite number, got {}. Write e.g. Gaussian.from_length(0.5).",
    ),
    (
        lambda v: RationalQuadratic(v, 1.0),
        "A length scale must be a positive finite number, got {}. Write e.g. RationalQuadratic(length=1.0, shape=2.0).",
    ),
    (
        lambda v: RationalQuadratic(1.0, v),
        "shape must be a positive finite number, got {}. Write e.g. RationalQuadratic(length=1.0, shape=2.0).",
    ),
    (
        lambda v: Matern(v, 1.0),
        "A Matérn order must be a positive finite number, got {}. Write e.g. Matern(1.5, rho=1.0).",
    ),
    (lambda v: Matern(1.5, v), "rho must be a positive finite number, got {}. Write e.g. Matern(1.5, rho=1.0)."),
    (lambda v: Exponential(v), "rho must be a positive finite number, got {}. Write e.g. Exponential(rho=1.0)."),
    (
        lambda v: Periodic(v, 1.0),
        "A length scale must be a positive finite number, got {}. Write e.g. Periodic(length=1.0, period=24.0).",
    ),
    (
        lambda v: Periodic(1.0, v),
        "A period must be a positive finite number, got {}. Write e.g. Periodic(length=1.0, period=24.0).",
    ),
    (
        lambda v: BrownianBridge(v),
        "The length of a bridge must be a positive finite number, got {}. Write e.g. BrownianBridge(length=1.0).",
    ),
    (
        lambda v: Sobolev(1, length=v),
        "The length of an interval must be a positive finite number, got {}. "
        "Write e.g. Sobolev(order=2, start=0.0, length=1.0).",
    ),
    (
        lambda v: Scaled(BrownianMotion(), v),
        "The factor of a kernel must be a positive finite number, got {}. Write e.g. 2.0 * kernel.",
    ),
]


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize(("make", "text"), POSITIVE)
def test_scales_must_be_positive(make: Callable[[Any], Kernel], text: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(text.format(repr(value)))}$"):
        make(value)


@pytest.mark.parametrize("order", [0, -1, 1.0, 1.5, "2", None, True])
def test_a_sobolev_order_is_a_whole_number(order: Any) -> None:
    text = (
        f"A Sobolev order must be a whole number, 1 or more, got {order!r}. "
        "Write e.g. Sobolev(order=2, start=0.0, length=1.0)."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        Sobolev(order)


@pytest.mark.parametrize("start", [math.nan, math.inf, "0", None])
def test_an_interval_starts_at_a_number(start: Any) -> None:
    text = f"The start of an interval must be a finite number, got {start!r}. Write e.g. Sobolev(order=2"
    with pytest.raises(UsageError, match=f"^{re.escape(text)}"):
        Sobolev(1, start=start)


@pytest.mark.parametrize(
    ("kernel", "points", "interval"),
    [
        (BrownianMotion(), [0.5, -1.25], "BrownianMotion is a kernel on [0, inf]"),
        (BrownianMotion(), [math.nan], "BrownianMotion is a kernel on [0, inf]"),
        (BrownianBridge(length=2.0), [2.125], "BrownianBridge is a kernel on [0, 2]"),
        (Sobolev(1, start=-1.0, length=3.0), [-1.125], "Sobolev is a kernel on [-1, 2]"),
        (Periodic(length=1.0, period=1.0), [math.inf], "Periodic is a kernel on [-inf, inf]"),
    ],
)
def test_points_outside_are_an_error_that_does_not_show_them(
    kernel: Kernel, points: list[float], interval: str
) -> None:
    text = (
        f"{interval}, got points outside or not finite. "
        "Move the points into the interval or choose a stationary kernel, e.g. Matern(1.5, rho=1.0)."
    )
    for s, t in ((points, [1.0]), ([1.0], points)):
        with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
            kernel(s, t)


def test_a_sobolev_order_that_would_take_minutes_is_refused() -> None:
    with pytest.raises(UsageError, match=r"A Sobolev order must be at most 64, got 1000000"):
        Sobolev(1_000_000)
    # Orders beyond the tenth differ by less than rounding: nothing is lost.
    np.testing.assert_allclose(Sobolev(64)([0.3], [0.6]), Sobolev(12)([0.3], [0.6]), rtol=1e-15)


def test_the_last_digit_of_a_printed_grid_is_not_outside() -> None:
    np.testing.assert_array_equal(Sobolev(2)([1 + 1e-12], [0.5]), Sobolev(2)([1.0], [0.5]))
    np.testing.assert_array_equal(BrownianBridge()([1 + 1e-12], [0.5]), 0.0)


@pytest.mark.parametrize("kernel", [BrownianMotion(), BrownianBridge(), Sobolev(2), Periodic(1.0, 1.0)], ids=repr)
def test_a_kernel_on_a_line_has_no_decay_on_a_box(kernel: Kernel) -> None:
    text = f"{type(kernel).__name__} lives on a line, got dimension 2. Use Tensor() with one kernel for each axis."
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        kernel.decay(2)


def test_a_tensor_has_a_decay_in_its_own_dimension_only() -> None:
    with pytest.raises(UsageError, match=r"^This tensor product has 2 axes, got dimension 1. Ask for decay\(2\).$"):
        Tensor((Gaussian(1.0), Gaussian(1.0))).decay()


def test_an_anisotropic_kernel_has_a_decay_in_its_own_dimension_only() -> None:
    with pytest.raises(UsageError, match=r"^This length matrix has 2 axes, got dimension 1. Ask for decay\(2\).$"):
        Anisotropic(Gaussian(1.0), [1.0, 2.0]).decay()


@pytest.mark.parametrize("factors", [(), [], None, Gaussian(1.0)])
def test_a_tensor_needs_factors(factors: Any) -> None:
    text = (
        f"Tensor needs one kernel for each axis, got {factors!r}. "
        "Write e.g. Tensor((Gaussian(rho=1.0), BrownianMotion()))."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
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
    with pytest.raises(UsageError, match=r"^A kernel is needed here, got 3.0. Write for example Gaussian\(rho=1.0\).$"):
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
    text = (
        f"A length matrix must be square and invertible, with finite numbers, got {matrix!r}. "
        "Write p positive lengths, e.g. (0.5, 2.0), or p rows, e.g. ((0.5, 0.0), (0.1, 2.0))."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        Anisotropic(Gaussian(1.0), matrix)


@pytest.mark.parametrize("data", [{}, {"family": "cubic"}, {"family": "kernel"}, {"family": 3}, None, [1.0]])
def test_a_description_must_name_a_family(data: Any) -> None:
    family = data.get("family") if isinstance(data, dict) else None
    families = (
        "anisotropic, brownianbridge, brownianmotion, exponential, gaussian, matern, periodic, product, "
        "rationalquadratic, scaled, sobolev, sum, tensor"
    )
    text = f"A kernel's description must name its family, one of {families}, got {family!r}."
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        from_dict(data)


@pytest.mark.parametrize("given", [{}, {"rho": 1.0, "length": 1.0}, {"length": 1.0}])
def test_a_description_has_the_fields_of_its_family(given: dict[str, float]) -> None:
    text = (
        f"The kernel 'gaussian' has the fields ['rho'], got {sorted(given)}. "
        "Write descriptions with dpfda.kernels.describe()."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        from_dict({"family": "gaussian"} | given)


def test_a_field_with_a_default_may_be_left_out() -> None:
    assert from_dict({"family": "sobolev", "order": 2}) == Sobolev(2)


def test_values_in_a_description_are_checked_like_any_others() -> None:
    with pytest.raises(UsageError, match=r"^rho must be a positive finite number, got 'one'"):
        from_dict({"family": "scaled", "factor": 2.0, "kernel": {"family": "gaussian", "rho": "one"}})


def test_a_kernel_of_ones_own_cannot_be_written_unless_it_is_registered() -> None:
    @dataclass(frozen=True)
    class Mine(Kernel):
        def __call__(self, s: ArrayLike, t: ArrayLike) -> Array:
            return np.ones((np.size(s), np.size(t)))

    with pytest.raises(UsageError, match=r"^Only kernels of dpfda.kernels and registered ones can be written"):
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
    with pytest.raises(UsageError, match="a frozen dataclass and a Kernel with all its methods"):
        register(wrong)  # type: ignore[call-overload]


def test_a_name_is_registered_once() -> None:
    other = type("Gaussian", (Gaussian2,), {})
    with pytest.raises(UsageError, match=r"^The kernel name 'gaussian' is taken by dpfda.kernels.gaussian"):
        register(other)
    with pytest.raises(UsageError, match=r"^The name 'gaussian' of a kernel with a range is taken"):
        register(by_range={"gaussian": lambda rho: Gaussian2()})(Gaussian2)
    assert "gaussian2" not in FAMILIES
    for wrong in ({"a,b": Gaussian}, {"a": 3}, {3: Gaussian}, frozenset({1}), "gaussian"):
        with pytest.raises(UsageError, match="names without commas and functions of a range"):
            register(by_range=wrong)  # type: ignore[call-overload]


def test_an_example_is_a_function() -> None:
    with pytest.raises(UsageError, match=r"^example must be a function that makes a kernel, got 3"):
        register(example=3)  # type: ignore[call-overload]


def test_a_class_that_is_made_anew_may_be_registered_again() -> None:
    assert register(Gaussian) is Gaussian
    assert FAMILIES["gaussian"] is Gaussian


@pytest.mark.parametrize(("family", "text"), [("linear", "one of anisotropic, .*, got 'linear'"), (3, "got 3")])
def test_an_unknown_family_has_no_example(family: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        example_of(family)


def test_a_kernel_of_others_has_no_example_by_itself() -> None:
    with pytest.raises(UsageError, match=r"^The kernel 'sum' takes arguments. Register it with example="):
        example_of("sum")
