"""Come here for the table of all mechanisms, ranked by the error that is predicted for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpfda.planner.prediction import Prediction, SmoothnessClass
from dpfda.privacy import Budget

COLUMNS = ("mechanism", "calibration", "bias", "sampling", "privacy", "total", "ratio", "note")


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism, and the squared errors predicted for it; None where it cannot be used or predicted."""

    mechanism: str
    calibration: str
    prediction: Prediction | None
    chosen: bool
    note: str = ""

    def order(self) -> tuple[float, str, str]:
        return (math.inf if self.prediction is None else self.prediction.total, self.mechanism, self.calibration)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Mechanisms for one request, best first; errors are squared root mean squares in units of the curve."""

    n: int
    budget: Budget
    bound: float
    within: SmoothnessClass
    entries: tuple[Row, ...]

    @property
    def rows(self) -> tuple[tuple[object, ...], ...]:
        """Plain rows under `COLUMNS`; the ratio is to the least total."""
        found = []
        least = min((row.prediction.total for row in self.entries if row.prediction is not None), default=math.nan)
        for row in self.entries:
            p = row.prediction
            numbers: tuple[object, ...] = (None,) * 5
            if p is not None:
                square = self.bound**2
                numbers = (
                    p.bias * square,
                    p.sampling * square,
                    p.privacy * square,
                    p.total * square,
                    p.total / least,
                )
            note = ("chosen" + (": " if row.note else "") if row.chosen else "") + row.note
            found.append((row.mechanism, row.calibration, *numbers, note))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "n": self.n,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "bound": self.bound,
            "class": {"order": self.within.order, "radius": self.within.radius},
            "rows": [dict(zip(COLUMNS, row, strict=True)) for row in self.rows],
        }

    def text(self) -> str:
        """The table for people."""
        head = f"Predicted squared errors for {self.n} units at {self.budget}, worst case over {self.within.text}"
        lines = [head, "", f"  {'mechanism':<13}{'calibration':<13}" + "".join(f"{c:>11}" for c in COLUMNS[2:7])]
        for row in self.rows:
            cells = "".join(f"{'':>11}" if x is None else f"{x:>11.4g}" for x in row[2:7])
            lines.append(f"  {row[0]:<13}{row[1]:<13}{cells}  {row[7]}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()
