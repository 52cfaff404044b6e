"""The curves of published tables: electricity demand on Mondays, complete brain scans, unit norms."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError

Row = dict[str, str]


def mondays(path: Path) -> Array:
    """Half-hourly electricity demand in Adelaide on Mondays, (508, 48); columns day, week, h01 to h48."""
    return _read(path, r"h\d+", lambda row: row.get("day") == "monday")


def complete_scans(path: Path) -> Array:
    """Brain-scan profiles without gaps, one row a scan and not a person, (376, 93); columns t001 to t093."""
    return _read(path, r"t\d+", lambda row: all(row[name] != "" for name in row if re.fullmatch(r"t\d+", name)))


def unit_norm(curves: Array) -> Array:
    """Each curve less its mean and over its norm, both by the trapezoid rule on evenly spaced points of [0, 1].

    It looks at one curve at a time, so that "every norm is 1" is a public fact afterwards. Under equal weights the norm
    is a little different: up to 1.073 for curves with large ends.
    """
    size = curves.shape[1]
    weights = np.full(size, 1 / (size - 1))
    weights[[0, -1]] /= 2
    centred = curves - (curves @ weights)[:, None]
    return np.asarray(centred / np.sqrt(np.square(centred) @ weights)[:, None])


def _read(path: Path, columns: str, wanted: Callable[[Row], bool]) -> Array:
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        names = [name for name in reader.fieldnames or () if re.fullmatch(columns, name)]
        rows = [[float(row[name]) for name in names] for row in reader if wanted(row)]
    if not names or not rows:
        raise DataError(f"{path.name} has no curves of the expected layout: columns {columns}, one row for each curve.")
    return np.array(rows)
