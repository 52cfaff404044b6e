"""Table 1 of Lin and Reimherr: the time that a hundred paths of a noise process take."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array
from dpfda.kernels import Exponential, Gaussian, Kernel, Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.studies.outcome import Outcome, Reproduction, Setting, Table
from dpfda.studies.simulators import Law, draw_process, forget_processes

DRAWS = 100
CACHED = 41  # runs of what takes a millisecond
KERNELS: dict[str, Kernel] = {
    "Exponential": Exponential(0.1),
    "Gaussian": Gaussian(0.1),
    "Matérn 3/2": Matern(1.5, 0.1),
    "Matérn 5/2": Matern(2.5, 0.1),
}
LAWS: dict[str, Law] = {"ICLP": "laplace", "GP": "gaussian"}
# Seconds for 100 paths, ICLP and GP, as printed in Table 1 of Lin and Reimherr (2026).
PUBLISHED: dict[tuple[str, int], tuple[float, float]] = {
    ("Exponential", 100): (0.567688, 0.273463),
    ("Exponential", 200): (2.778597, 1.683808),
    ("Exponential", 500): (29.98454, 20.90210),
    ("Gaussian", 100): (0.553025, 0.268379),
    ("Gaussian", 200): (2.617800, 1.610193),
    ("Gaussian", 500): (29.26284, 20.41770),
    ("Matérn 3/2", 100): (0.571014, 0.270682),
    ("Matérn 3/2", 200): (2.636642, 1.617183),
    ("Matérn 3/2", 500): (29.38142, 20.56870),
    ("Matérn 5/2", 100): (0.551222, 0.271477),
    ("Matérn 5/2", 200): (2.618398, 1.615180),
    ("Matérn 5/2", 500): (29.29077, 20.53389),
}
COLUMNS = (
    "kernel",
    "K",
    "process",
    "published",
    "authors' way here",
    "with decomposition",
    "basis cached",
    "numbers and product",
    "cached / numbers and product",
    "published / with decomposition",
)
NOTES = (
    "Seconds for 100 paths with K terms at K points of [0, 1], range 0.1 (the paper does not say which). Ours and the "
    "authors' way are timed on this machine, the least of several runs; published times are the authors' R on theirs.",
    "Authors' way here: the eigendecomposition of the K x K kernel matrix made anew for every path, in numpy; a few "
    "paths, scaled up to 100.",
    "With decomposition: the caches of decompositions and of tables are emptied before each run. Nodes of Gauss rules, "
    "which depend on no kernel, are kept.",
    "Numbers and product: drawing 100 x K random numbers and multiplying them with a K x K table. Below it for the "
    "Gaussian kernel: its eigenvalues beyond some twenty are zero in double precision, and their terms are left out.",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one cell of the table."""

    kernel: str
    terms: int
    process: str
    published: float
    authors: float
    decomposed: float
    cached: float
    floor: float  # random numbers and one product

    def row(self) -> tuple[object, ...]:
        """A row under COLUMNS."""
        seconds = (self.published, self.authors, self.decomposed, self.cached, self.floor)
        ratios = (self.cached / self.floor, self.published / self.decomposed)
        return (self.kernel, self.terms, self.process, *seconds, *ratios)


def authors_way(kernel: Kernel, points: Array, *, law: Law, size: int, randomness: SeededRandomness) -> Array:
    """Paths at points from an eigendecomposition of the kernel matrix, made anew for each of them, (size, m)."""
    paths = np.empty((size, len(points)))
    for path in paths:
        eigenvalues, vectors = np.linalg.eigh(kernel(points, points))
        shape = (len(points),)
        variables = randomness.normal(shape) if law == "gaussian" else randomness.laplace_variables(shape)
        path[:] = vectors @ (np.sqrt(np.maximum(eigenvalues, 0.0)) * variables)
    return paths


def time_cell(kernel: str, terms: int, process: str, *, repetitions: int, randomness: SeededRandomness) -> Timing:
    """Time one cell of the table in every way."""
    law, points, few = LAWS[process], np.linspace(0.0, 1.0, terms), max(1, repetitions // 3)
    table = np.ones((terms, terms))

    def ours() -> Array:
        return draw_process(KERNELS[kernel], points, law=law, size=DRAWS, terms=terms, randomness=randomness)

    def numbers_and_product() -> Array:
        shape = (DRAWS, terms)
        return (randomness.normal(shape) if law == "gaussian" else randomness.laplace_variables(shape)) @ table

    def authors() -> Array:
        return authors_way(KERNELS[kernel], points, law=law, size=1, randomness=randomness)

    decomposed = []
    for _ in range(repetitions):
        forget_processes()
        decomposed.append(_seconds(ours))
    # The last of these runs left its basis in the cache. In turn, so that a busy moment of the machine meets both.
    cached, floor = np.array([(_seconds(ours), _seconds(numbers_and_product)) for _ in range(CACHED)]).T
    return Timing(
        kernel=kernel,
        terms=terms,
        process=process,
        published=PUBLISHED[kernel, terms][list(LAWS).index(process)],
        authors=DRAWS * min(_seconds(authors) for _ in range(few)),
        decomposed=min(decomposed),
        cached=float(cached.min()),
        floor=float(floor.min()),
    )


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def time_table(setting: Setting) -> list[Timing]:
    """Time all 24 cells; a first run of each kernel, not counted, loads what is loaded once."""
    randomness, repetitions = SeededRandomness(setting.seed), 5 if setting.quick else 21
    cells = list(itertools.product(KERNELS, (100, 200, 500), LAWS))
    for kernel in KERNELS.values():
        draw_process(kernel, [0.5], law="gaussian", size=1, terms=500, randomness=randomness)
    return [
        time_cell(kernel, terms, process, repetitions=repetitions, randomness=randomness)
        for kernel, terms, process in setting.track(cells, "cells of Table 1")
    ]


def whole_ratio(timings: list[Timing]) -> float:
    """All published seconds over all of ours, decompositions included."""
    return sum(timing.published for timing in timings) / sum(timing.decomposed for timing in timings)


def run(setting: Setting) -> Outcome:
    """Table 1, timed on this machine, beside the published seconds."""
    timings = time_table(setting)
    seconds = ("published", "authors", "decomposed", "cached", "floor")
    total = Timing("all", 0, "all", *(sum(getattr(timing, way) for timing in timings) for way in seconds))
    rows = (*(timing.row() for timing in timings), ("all", None, *total.row()[2:]))
    least = min(timing.published / timing.decomposed for timing in timings)
    large = max(timing.cached / timing.floor for timing in timings if timing.terms == 500)
    summary = (
        f"The whole table takes {total.decomposed:.2f} s with decompositions, published {total.published:.0f} s: "
        f"{whole_ratio(timings):.0f} times faster; the least gain of a cell is {least:.0f}. With a cached basis 100 "
        f"paths of 500 terms take at most {large:.2f} times the random numbers and one product."
    )
    table = Table("Table 1 of Lin and Reimherr: seconds for 100 paths", COLUMNS, rows)
    return Outcome((table,), (picture(timings),), (*NOTES, summary))


def picture(timings: list[Timing]) -> Any:
    """Seconds against K, a panel for each process, a line for each way and kernel."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    stamped = ConstrainedLayoutEngine(rect=(0, 0.03, 1, 0.97))  # with room for the stamp below
    figure = Figure(figsize=(9, 4.5), layout=stamped)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    ways = {"published": "C3", "authors": "C1", "decomposed": "C0", "cached": "C2"}
    names = ("published", "authors' way here", "ours with decomposition", "ours, basis cached")
    for ax, process in zip(panels, LAWS, strict=True):
        for (way, colour), name in zip(ways.items(), names, strict=True):
            for kernel in KERNELS:
                here = [timing for timing in timings if (timing.kernel, timing.process) == (kernel, process)]
                seconds = [getattr(timing, way) for timing in here]
                label = name if kernel == "Exponential" else None
                ax.plot([timing.terms for timing in here], seconds, "o-", color=colour, ms=3, lw=1, label=label)
        ax.set(title=process, xlabel="terms and points K", xscale="log", yscale="log")
        ax.set_xticks([100, 200, 500], ["100", "200", "500"])
        ax.minorticks_off()
        ax.grid(alpha=0.25)
    panels[0].set_ylabel("seconds for 100 paths")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


REPRODUCTION = Reproduction("lin-table-1", "Table 1 of Lin and Reimherr: time for 100 paths of a noise process", run)
