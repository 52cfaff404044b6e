"""Exact draws of principal components: time, acceptance, and the Markov chain they replace."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from dpfda.arrays import Array
from dpfda.bases.symmetric import pack
from dpfda.mechanisms import SeededRandomness, SystemRandomness
from dpfda.mechanisms.frames import Frames, draw_frames, gibbs_frames
from dpfda.mechanisms.frames.stiefel import SpanEnvelopes

STEPS = 20_000  # of the Markov chain, as Awan et al. have it
SAMPLES = (100, 1_000, 5_000, 10_000, 100_000, 1_000_000)


def spectrum(side: int) -> Array:
    """Shares of variance j^-3, as smooth curves have them."""
    values = np.arange(1, side + 1) ** -3.0
    return np.asarray(values / values.sum())


def matrix(side: int, n: int, epsilon: float = 1.0) -> Array:
    """The exponent for n unit curves under replace-one, in a basis that is not their own."""
    vectors = np.linalg.qr(SeededRandomness(0).normal((side, side)))[0]
    return np.asarray(vectors * (n * epsilon / 2 * spectrum(side)) @ vectors.T)


def median_time(work: Callable[[], object], repetitions: int = 15) -> float:
    times = []
    for _ in range(repetitions):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def run(console: Console) -> None:
    """Print the time of one draw with set-up and of one among 5000, and what share of proposals is accepted."""
    table = Table(
        "m", "k", "one", "one of 5000", "private, on the lattice", "Gibbs", "ratio", title="n = 5000, epsilon 1"
    )
    source = SystemRandomness()
    for side, k in ((5, 1), (5, 2), (40, 1), (40, 3), (100, 3)):
        exponent = matrix(side, 5_000)
        sums = pack(np.rint(exponent * 2.0**33).astype(np.int64))
        one = median_time(lambda a=exponent, k=k: draw_frames(a, k, randomness=source))
        many = median_time(lambda a=exponent, k=k: draw_frames(a, k, 5_000, randomness=source), 3) / 5_000
        private = median_time(lambda s=sums, k=k: Frames(k).draw(s, 2.0**33, randomness=source), 5)
        chain = median_time(lambda a=exponent, k=k: gibbs_frames(a, k, 20, randomness=source), 1) * STEPS / 20
        table.add_row(
            str(side),
            str(k),
            f"{1e3 * one:.2f} ms",
            f"{1e6 * many:.1f} µs",
            f"{1e3 * private:.0f} ms",
            f"{chain:.0f} s",
            f"{chain / one:,.0f}",
        )
    console.print(table)
    console.print(
        f"Gibbs: {STEPS} steps from 20 that were timed, in numpy like the exact draws; the ratio is to one of these."
    )
    accepted = Table("m", "k", *(f"n = {n:,}" for n in SAMPLES), title="share of proposals accepted, epsilon 1")
    for side in (5, 10, 40, 100, 200):
        for k in range(1, min(5, side - 1) + 1):
            shares = []
            for n in SAMPLES:
                values = spectrum(side) * n / 2
                # What is orthogonal to the frame is drawn where it is smaller.
                excess = values.max() - values if k <= side - k else values - values.min()
                spans = SpanEnvelopes.of(excess, min(k, side - k))
                shares.append(len(spans.propose(1_000, SeededRandomness(1))) / 1_000)
            accepted.add_row(str(side), str(k), *(f"{share:.2f}" for share in shares))
    console.print(accepted)
