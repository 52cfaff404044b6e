"""Come here for the checks that a kernel's parameters pass."""

from __future__ import annotations

import math

from dpfda.arrays import as_real, brief, is_whole
from dpfda.errors import UsageError

SMALLEST, LARGEST = 1e-60, 1e60  # squares of ratios of them are still doubles


def number(value: object, what: str, example: str) -> float:
    """A finite number as a plain float, so that equal kernels are written to files alike."""
    found = as_real(value)
    if not math.isfinite(found):
        raise UsageError(f"{what} must be a finite number, got {brief(value)}. Write {example}.")
    return found


def positive(value: object, what: str, example: str) -> float:
    """A positive finite number as a plain float."""
    found = as_real(value)
    if not 0 < found < math.inf:
        raise UsageError(f"{what} must be a positive finite number, got {brief(value)}. Write {example}.")
    if not SMALLEST <= found <= LARGEST:
        raise UsageError(f"{what} must lie between {SMALLEST:g} and {LARGEST:g}, got {brief(found)}. Change the units.")
    return found


def count(value: object, what: str, example: str) -> int:
    """A whole number, at least 1, as a plain int."""
    if not is_whole(value, 1, 2**31):
        raise UsageError(f"{what} must be a whole number, 1 or more, got {brief(value)}. Write {example}.")
    return int(value)  # type: ignore[call-overload,no-any-return]
