"""Come here for how kernels are written to plain data, fit for JSON, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.kernels.base import Kernel

Families = Mapping[str, type[Kernel]]


def write(kernel: Kernel, families: Families) -> dict[str, Any]:
    """The family's name and the fields, nested kernels alike."""
    family = type(kernel).__name__.lower()
    if families.get(family) is not type(kernel):
        # A file that nothing could read back is worse than an error now.
        raise UsageError(f"Only kernels of dpfda.kernels can be written to a file, got {brief(kernel)}.")
    # mypy does not know that each family is a dataclass.
    return {"family": family} | {
        field.name: _write_value(getattr(kernel, field.name), families)
        for field in fields(kernel)  # type: ignore[arg-type]
    }


def read(data: Mapping[str, Any], families: Families) -> Kernel:
    """The kernel that `write` described."""
    family = data.get("family") if isinstance(data, Mapping) else None
    if not isinstance(family, str) or family not in families:
        raise UsageError(
            f"A kernel's description must name its family, one of {', '.join(sorted(families))}, got {brief(family)}."
        )
    known = fields(families[family])  # type: ignore[arg-type]
    given = {name: _read_value(value, families) for name, value in data.items() if name != "family"}
    needed = {field.name for field in known if field.default is MISSING}
    if not needed <= set(given) <= {field.name for field in known}:
        raise UsageError(
            f"The kernel {brief(family)} has the fields {[field.name for field in known]}, got {sorted(given)}. "
            "Write descriptions with dpfda.kernels.describe()."
        )
    return families[family](**given)


def _write_value(value: Any, families: Families) -> Any:
    if isinstance(value, Kernel):
        return write(value, families)
    return [_write_value(item, families) for item in value] if isinstance(value, tuple) else value


def _read_value(value: Any, families: Families) -> Any:
    if isinstance(value, Mapping):
        return read(value, families)
    return tuple(_read_value(item, families) for item in value) if isinstance(value, list | tuple) else value
