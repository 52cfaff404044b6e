"""Time and tightness of composition, beside dp-accounting's privacy loss distributions, on a hundred mixed releases."""

from __future__ import annotations

import math
import time
from typing import Any

from rich.console import Console

from dpfda.privacy.composition import Composed
from dpfda.privacy.profiles import GaussianProfile, LaplaceProfile, Profile, PureProfile

DELTA = 1e-6
INTERVAL = 1e-4  # of dp-accounting's grid, its default


def run(console: Console) -> None:
    """Print seconds and epsilons; the peer rounds each loss up to its grid, and down, so that it brackets the truth."""
    from dp_accounting.pld import privacy_loss_distribution as accountant

    sizes = [0.05 + 0.3 * (37 * i % 100) / 100 for i in range(100)]
    losses: list[Profile] = [
        (GaussianProfile(size / 3), PureProfile(size), LaplaceProfile(size, 1e9))[i % 3] for i, size in enumerate(sizes)
    ]
    start = time.perf_counter()
    history = Composed.nothing(DELTA).plus(losses)
    whole = time.perf_counter() - start
    start = time.perf_counter()
    history.plus([PureProfile(0.1)])
    one = time.perf_counter() - start

    bracket = []
    start = time.perf_counter()
    for pessimistic in (False, True):
        rounding = {"value_discretization_interval": INTERVAL, "pessimistic_estimate": pessimistic}
        total = accountant.identity(**rounding)
        for i, size in enumerate(sizes):
            total = total.compose(_peer(i % 3, size, rounding))
        bracket.append(total.get_epsilon_for_delta(DELTA))
    peer = (time.perf_counter() - start) / 2
    epsilon = history.statement.epsilon
    console.print(
        f"100 mixed releases at delta {DELTA:g}: epsilon {epsilon:.5f} in {whole:.3f} s, one more {one:.4f} s; "
        f"dp-accounting {bracket[0]:.5f} to {bracket[1]:.5f} in {peer:.2f} s; "
        f"ratio to its middle {2 * epsilon / sum(bracket):.6f}"
    )


def _peer(kind: int, size: float, rounding: dict[str, Any]) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as accountant

    if kind == 0:
        return accountant.from_gaussian_mechanism(3 / size, use_connect_dots=False, **rounding)
    if kind == 1:
        return accountant.from_randomized_response(2 / (1 + math.exp(size)), 2, **rounding)
    return accountant.from_laplace_mechanism(1 / size, use_connect_dots=False, **rounding)
