"""Come here for what Mirshani et al. print about the brain scans: Tables 1 and 2, and how their scans are read."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError
from dpfda.kernels import Exponential, Gaussian, Kernel, Matern

EPSILON, DELTA = 1.0, 0.1
FILE = "dti_cca.csv"

FAMILIES: Mapping[str, Callable[[float], Kernel]] = MappingProxyType(
    {"C_1 Gaussian": Gaussian, "C_3 Matérn 3/2": partial(Matern, 1.5), "C_4 exponential": Exponential}
)

# Table 1: for each penalty the range chosen by cross-validation.
PENALTIES_1 = (0.0001, 0.001, 0.01, 0.03)
TABLE_1: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "C_1 Gaussian": (0.01, 0.01, 0.03, 0.05),
        "C_3 Matérn 3/2": (0.10, 0.15, 0.15, 0.30),
        "C_4 exponential": (0.25, 0.20, 0.30, 0.80),
    }
)
# Table 2: the ends of the ranges searched, and the penalty and range chosen by private cross-validation.
ENDS_2: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"C_1 Gaussian": (0.01, 0.1), "C_3 Matérn 3/2": (0.05, 0.5), "C_4 exponential": (0.2, 1.0)}
)
TABLE_2: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"C_1 Gaussian": (0.005, 0.030), "C_3 Matérn 3/2": (0.005, 0.250), "C_4 exponential": (0.010, 0.466)}
)


def scans(path: Path, *, gaps: str) -> Array:
    """Profiles of the corpus callosum, one row a scan, (n, 93): with `gaps` "left out" or "filled" on a line.

    The paper speaks of 382 patients: there are 382 scans of 142 people, and 376 scans without gaps.
    """
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        names = [name for name in reader.fieldnames or () if re.fullmatch(r"t\d+", name)]
        rows = [[float(row[name]) if row[name] else np.nan for name in names] for row in reader]
    curves = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    missing = np.isnan(curves)
    complete = ~missing.any(axis=1)
    if len(names) < 2 or not complete.any():
        raise DataError(f"{path.name} holds no complete scan. It needs columns t001, t002, ... and one row for a scan.")
    if gaps == "left out":
        return np.asarray(curves[complete])
    places = np.arange(len(names))
    for i in np.flatnonzero(~complete & ~missing.all(axis=1)):
        curves[i, missing[i]] = np.interp(places[missing[i]], places[~missing[i]], curves[i, ~missing[i]])
    return np.asarray(curves[~missing.all(axis=1)])
