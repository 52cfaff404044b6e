"""Run all benchmarks: `python -m bench`, or `make bench DATA=folder-with-dti_cca.csv`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from bench import (
    components,
    composition,
    density,
    dti,
    frames,
    ledger,
    machines,
    mean_error,
    mechanisms,
    million,
    online,
    processes,
    service,
    startup,
)


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="Folder with dti_cca.csv (from R's refund package).")
@click.option("--repetitions", default=50, show_default=True, help="Samples of S-1 to S-4.")
@click.option("--rows", default=1_000_000, show_default=True, help="Curves in the Parquet file.")
@click.option("--quick", is_flag=True, help="Seconds instead of minutes: five repetitions, 100,000 curves.")
def main(data: Path | None, repetitions: int, rows: int, quick: bool) -> None:
    """Error and speed of the defaults against named peers, in one run."""
    console = Console(width=120)
    if quick:
        repetitions, rows = 5, 100_000
    mean_error.run(console, repetitions=repetitions)
    if data is not None and (data / "dti_cca.csv").is_file():
        dti.run(console, data=data, repetitions=4 * repetitions)
        components.run(console, data=data, repetitions=max(4, repetitions // 2))
    else:
        console.print("DTI: not run. Say --data FOLDER (make bench DATA=FOLDER) with dti_cca.csv in it.")
    mechanisms.run(console, repetitions=max(2, repetitions // 2))
    processes.run(console, quick=quick)
    frames.run(console)
    million.run(console, folder=Path("bench-output"), rows=rows)
    density.run(console, repetitions=max(4, repetitions // 2))
    machines.run(console, quick=quick)
    online.run(console, quick=quick)
    ledger.run(console, quick=quick)
    composition.run(console)
    service.run(console, seconds=5 if quick else 30)
    startup.run(console)


main()
