"""Come here for deaths by age in 19 regions, and for Table 3 of Lin and Reimherr as printed."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import DataError

FILE = "wpp2019_deaths_by_age_region_2015_2020.csv"
METHODS = ("ICLP-QR, 1.01", "ICLP-QR, 1.05", "FRL", "Bernstein, 10", "Bernstein, 20")

# Lin and Reimherr, Table 3: expected squared distance to the kernel estimate that nobody protects, epsilon = 1, in the
# order of METHODS. Units are not printed.
PUBLISHED: dict[str, tuple[float, float, float, float, float]] = {
    "Eastern Africa": (1.685, 5.249, 5.252, 3.823, 2.400),
    "Middle Africa": (1.122, 5.281, 4.870, 3.969, 2.090),
    "Northern Africa": (2.398, 8.873, 3.991, 11.315, 5.710),
    "Southern Africa": (2.487, 6.427, 2.990, 3.964, 2.395),
    "Western Africa": (1.588, 5.775, 5.752, 4.347, 2.609),
    "Central Asia": (5.804, 11.829, 7.319, 13.163, 8.116),
    "Eastern Asia": (3.551, 13.446, 3.900, 15.878, 8.162),
    "Southern Asia": (2.040, 8.619, 2.968, 10.044, 4.962),
    "South-Eastern Asia": (2.259, 9.498, 2.566, 10.428, 5.157),
    "Western Asia": (2.195, 8.689, 3.768, 9.380, 4.640),
    "Eastern Europe": (3.990, 13.501, 4.817, 15.542, 8.438),
    "Northern Europe": (7.318, 19.087, 7.174, 22.846, 13.339),
    "Southern Europe": (7.457, 21.076, 7.137, 27.500, 15.873),
    "Western Europe": (6.819, 19.959, 6.445, 25.606, 14.760),
    "Caribbean": (6.453, 11.247, 5.981, 10.714, 7.231),
    "Central America": (1.636, 7.777, 1.146, 5.637, 2.616),
    "South America": (2.244, 9.461, 2.886, 9.294, 4.700),
    "Northern America": (2.205, 10.605, 1.537, 10.028, 4.746),
    "Australia/New Zealand": (23.525, 29.495, 22.782, 28.339, 23.983),
}


@dataclass(frozen=True, eq=False)
class Deaths:
    """Deaths of one region by age group."""

    region: str
    edges: Array  # (22 + 1,) in years
    counts: Array  # whole deaths in each group

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def middles(self) -> Array:
        """The middle of each group, (22, 1)."""
        return ((self.edges[1:] + self.edges[:-1]) / 2)[:, None]

    @property
    def widths(self) -> Array:
        return np.diff(self.edges)

    def thousands(self) -> Deaths:
        """The same with a thousand deaths as one, rounded."""
        return Deaths(self.region, self.edges, np.rint(self.counts / 1000))


def read_deaths(path: Path) -> tuple[Deaths, ...]:
    """The 19 regions of the table in its order, from the file of deaths in thousands."""
    groups: dict[str, list[tuple[float, float, float]]] = {}
    try:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                group = (float(row["age_lo"]), float(row["age_hi"]), 1000 * float(row["deaths_thousand"]))
                groups.setdefault(row["region"], []).append(group)
    except (KeyError, ValueError) as error:
        raise DataError(f"{path.name} needs columns region, age_lo, age_hi and deaths_thousand.") from error
    missing = [region for region in PUBLISHED if region not in groups]
    if missing:
        raise DataError(f"{path.name} has no rows for {', '.join(missing)}.")
    result = []
    for region in PUBLISHED:
        low, high, counts = np.array(sorted(groups[region])).T
        if not np.array_equal(low[1:], high[:-1]):
            raise DataError(f"The age groups of {region} in {path.name} do not follow one another.")
        result.append(Deaths(region, np.append(low, high[-1]), np.rint(counts)))
    return tuple(result)
