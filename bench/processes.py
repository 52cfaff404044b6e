"""A hundred paths of a noise process: a cached basis against random numbers and one product, and all of Table 1."""

from __future__ import annotations

from rich.console import Console
from rich.progress import track
from rich.table import Table

from dpfda.reproduce.lin_table_1 import Timing, time_table, whole_ratio
from dpfda.studies.outcome import Setting


def run(console: Console, *, quick: bool = False) -> list[Timing]:
    """Print the times for 500 terms and the two ratios; the timings of all cells."""

    def shown(cells, what):
        return track(cells, what, console=console, transient=True)

    timings = time_table(Setting(quick=quick, track=shown))
    table = Table(
        "kernel",
        "process",
        "published, s",
        "authors' way here, s",
        "with decomposition, ms",
        "cached, ms",
        "cached / numbers and product, bar 1.5",
        title="100 paths with 500 terms at 500 points (Lin and Reimherr, Table 1)",
    )
    large = [timing for timing in timings if timing.terms == 500]
    for timing in large:
        table.add_row(
            timing.kernel,
            timing.process,
            f"{timing.published:.1f}",
            f"{timing.authors:.2f}",
            f"{1e3 * timing.decomposed:.1f}",
            f"{1e3 * timing.cached:.2f}",
            f"{timing.cached / timing.floor:.2f}",
        )
    console.print(table)
    least = min(timing.published / timing.decomposed for timing in timings)
    ours, published = (sum(getattr(timing, way) for timing in timings) for way in ("decomposed", "published"))
    console.print(
        f"whole of Table 1 (24 cells) with decompositions: {ours:.3f} s against published {published:.0f} s, "
        f"ratio {whole_ratio(timings):.0f} (bar 300); least of a cell {least:.0f}"
    )
    return timings
