"""Come here for the two tables of Mirshani et al. by name."""

from __future__ import annotations

from dpfda.studies import mirshani_table_1, mirshani_table_2
from dpfda.studies.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (
    Reproduction(
        "mirshani-table-1", "Table 1 of Mirshani et al.: ranges by cross-validation, brain scans", mirshani_table_1.run
    ),
    Reproduction(
        "mirshani-table-2", "Table 2 of Mirshani et al.: private cross-validation, brain scans", mirshani_table_2.run
    ),
)
