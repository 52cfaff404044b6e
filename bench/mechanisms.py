"""Every named mechanism on S-1 to S-4: the planner's choice should have the least error, and beat published ones."""

from __future__ import annotations

from rich.console import Console
from rich.progress import track
from rich.table import Table

from dpfda.studies.comparison import compare


def run(console: Console, *, repetitions: int) -> None:
    """Print total errors as ratios to the planner's choice, same curves, n = 1000, pure epsilon = 1 and (1, 0.01)."""
    for delta in (0.0, 0.01):
        found = {}
        for scenario in track(("S-1", "S-2", "S-3", "S-4"), f"delta = {delta:g}", console=console, transient=True):
            result = compare(scenario, n=1000, epsilon=1.0, delta=delta, calibration="both", repetitions=repetitions)
            found[scenario] = {(row.mechanism, row.calibration): row.total for row in result.rows if row.total}
        table = Table(
            "mechanism",
            "calibration",
            *found,
            title=f"total error over that of the planner's choice, (1, {delta:g}), {repetitions} repetitions",
        )
        for case in sorted({case for errors in found.values() for case in errors}):
            ratios = [errors[case] / errors["auto", "exact"] for errors in found.values()]
            table.add_row(*case, *(f"{ratio:.2f}" for ratio in ratios))
        console.print(table)
