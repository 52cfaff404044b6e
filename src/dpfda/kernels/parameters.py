"""Come here for the checks that a kernel's parameters pass."""

from __future__ import annotations

import math
from numbers import Integral, Real

from dpfda.errors import UsageError


def number(value: object, what: str, example: str) -> float:
    """A finite number as a plain float, so that equal kernels are written to files alike."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise UsageError(f"{what} must be a finite number, got {value!r}. Write {example}.")
    return float(value)


def positive(value: object, what: str, example: str) -> float:
    """A positive finite number as a plain float."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < math.inf:
        raise UsageError(f"{what} must be a positive finite number, got {value!r}. Write {example}.")
    return float(value)


def count(value: object, what: str, example: str) -> int:
    """A whole number, at least 1, as a plain int."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{what} must be a whole number, 1 or more, got {value!r}. Write {example}.")
    return int(value)
