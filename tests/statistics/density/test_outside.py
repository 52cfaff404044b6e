"""Points outside the domain of a density: counted apart or moved to its edge, and what was ordered before goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.curator import Payment
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.ledger import Ledger
from dpfda.mechanisms import Bernstein, FiniteLaplace, GaussianProcess, SeededRandomness, SobolevProcess
from dpfda.online import header_of
from dpfda.statistics.density.windows import FORMER

KNOWN: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "domain": (-5.0, 5.0), "dataset": "d"}
POINTS = np.round(np.random.default_rng(3).normal(0, 3, 2000), 3)
OUTSIDE = float(np.mean(np.abs(POINTS) > 5))
PROCESS = GaussianProcess(kernel=Matern(1.5, 1.0))


def density(**changes: Any) -> dpfda.DensityFunction:
    return dpfda.DensityFunction(**{**KNOWN, **changes}, force=True)


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As the version before points outside were counted apart understood the same call; `undo` ends it."""
    order = dpfda.DensityFunction._order

    def former(est: Any, *facts: Any, **more: Any) -> Any:
        return order(est, *facts, **{**more, "edition": FORMER})

    monkeypatch.setattr(dpfda.DensityFunction, "_order", former)
    return monkeypatch


def test_the_density_integrates_to_the_share_inside_and_the_card_says_so() -> None:
    release = density(randomness=SeededRandomness(1)).fit(POINTS).release_
    deviation = float(np.sqrt(release.outside.noise.variances[0])) / len(POINTS)
    assert release.inside == pytest.approx(1 - OUTSIDE, abs=6 * deviation)
    assert release.integral() == pytest.approx(release.inside, rel=1e-12)
    assert release.distribution(5.0) == pytest.approx(1.0)
    assert np.abs(release.sample(500, seed=1)).max() <= 5
    (said,) = [text for name, text in release.certificate.chosen if name == "outside"]
    assert f"the integral of the density is {release.inside:.3g}" in said
    # No atoms: at the ends it is about what it is a little further in.
    assert release(4.9) < 2 * release(4.0)


def test_at_its_edge_all_points_are_in_the_domain() -> None:
    release = density(outside="edge", randomness=SeededRandomness(1)).fit(POINTS).release_
    assert release.outside is None
    assert release.integral() == pytest.approx(1.0, abs=1e-12)
    assert release(4.99) > 2 * release(4.0)


def test_where_nobody_lies_outside_the_integral_is_one() -> None:
    inside = POINTS[np.abs(POINTS) <= 5]
    assert density(randomness=SeededRandomness(1)).fit(inside).release_.integral() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "kernel", "mass"),
    [
        (GaussianProcess(bandwidth=1.0), Gaussian.from_length(1.0), np.sqrt(2 * np.pi)),
        (FiniteLaplace(bandwidth=1.0), Gaussian.from_length(1.0), np.sqrt(2 * np.pi)),
        (SobolevProcess(bandwidth=1.0), Gaussian.from_length(1.0), np.sqrt(2 * np.pi)),
        (Bernstein(kernel=Exponential(1.0)), Exponential(1.0), 2.0),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_kernel_estimate_hears_points_beyond_the_ends_of_a_line(mechanism: Any, kernel: Any, mass: float) -> None:
    """Nearly without noise it is the estimate from all points, also at the ends."""
    size = {"bernstein": 200, "frl": 24}.get(mechanism.name)
    release = density(epsilon=2000.0, mechanism=mechanism, size=size).fit(POINTS).release_
    t = np.array([-5.0, -4.0, 0.0, 3.0, 5.0])
    exact = kernel(t[:, None], POINTS[:, None]).mean(axis=1) / mass
    assert release.raw(t) == pytest.approx(exact, rel=0.02, abs=3e-4)
    assert release.inside == pytest.approx(1 - OUTSIDE, abs=0.005)


@pytest.mark.parametrize("mechanism", [PROCESS, GaussianProcess(bandwidth=1.0)], ids=["markov", "rows"])
def test_answers_point_by_point_are_of_all_points_where_they_are(mechanism: Any) -> None:
    with density(epsilon=2000.0, mechanism=mechanism).fit(POINTS).open() as oracle:
        t = np.array([-5.0, -4.0, 0.0, 3.0, 5.0])
        kernel, mass = (
            (PROCESS.kernel, 4 / np.sqrt(3))
            if mechanism is PROCESS
            else (Gaussian.from_length(1.0), np.sqrt(2 * np.pi))
        )
        exact = kernel(t[:, None], POINTS[:, None]).mean(axis=1) / mass
        assert oracle(t) == pytest.approx(exact, rel=0.01, abs=6 * oracle.certificate.noise_rms + 1e-4)


def test_a_store_says_what_became_of_points_outside_and_is_opened_that_way_alone(tmp_path: Path) -> None:
    """Else one noise would hide two functions of the same records, and their difference would be seen exactly."""
    store = f"sqlite:///{tmp_path / 'answers.db'}"
    with density(mechanism=PROCESS).open(store, POINTS) as oracle:
        answer = oracle(4.9)
    header = header_of(store)
    assert header is not None
    assert header["outside"] == "apart"
    with pytest.raises(UsageError, match='outside: "apart" there, "edge" here'):
        density(mechanism=PROCESS, outside="edge").open(store, POINTS)
    with density(mechanism=PROCESS).open(store, POINTS) as oracle:
        assert oracle(4.9) == answer


def test_a_store_from_before_is_opened_again_as_it_was_made(tmp_path: Path, before: Any) -> None:
    store = f"sqlite:///{tmp_path / 'answers.db'}"
    great = {"epsilon": 2000.0, "mechanism": PROCESS}
    with density(**great).open(store, POINTS) as oracle:
        answer = oracle(-4.9)
    before.undo()
    assert "outside" not in (header_of(store) or {})
    exact = PROCESS.kernel(np.array([[4.9]]), np.clip(POINTS, -5, 5)[:, None]).mean() / (4 / np.sqrt(3))
    for outside in ("apart", "edge"):
        with density(**great, outside=outside).open(store, POINTS) as oracle:
            assert oracle(-4.9) == answer
            assert oracle(4.9) == pytest.approx(exact, abs=6 * oracle.certificate.noise_rms + 1e-4)
    # A fit is paid for, and of the new function: it does not go on in an old store.
    with pytest.raises(UsageError, match='outside: "edge" there, "apart" here'):
        density(**great).fit(POINTS).open(store)


@pytest.mark.parametrize(
    ("changes", "drawn"),
    [
        ({}, True),
        ({}, False),
        ({"mechanism": GaussianProcess(bandwidth=1.0)}, True),
        ({"mechanism": GaussianProcess()}, True),
        ({"mechanism": FiniteLaplace(bandwidth="private-iqr"), "bandwidth_epsilon": 0.5}, True),
    ],
    ids=["default", "charged and not drawn", "process", "bandwidth by a rule", "bought bandwidth"],
)
def test_a_key_from_before_goes_on_and_costs_nothing(changes: Any, drawn: bool, tmp_path: Path, before: Any) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("d", epsilon=2.0, delta=1e-4, neighbours="replace-one")
    wishes = {"ledger": ledger.under("k"), **changes}
    if drawn:
        known = density(**wishes).fit(POINTS).release_
    else:
        density(**wishes).order(POINTS).order.pay()
        known = None
    before.undo()
    left = ledger.remaining("d")
    again = density(**wishes).fit(POINTS).release_
    assert ledger.remaining("d") == left
    assert again.outside is None
    if known is not None:
        assert json.dumps(again.to_plain()) == json.dumps(known.to_plain())
    fresh = density(**(wishes | {"ledger": None})).fit(POINTS).release_
    assert fresh.outside is not None


def test_a_key_of_one_way_with_points_outside_does_not_stand_for_the_other(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("d", epsilon=4.0, delta=1e-4, neighbours="replace-one")
    for first, second in (("edge", "apart"), ("apart", "edge")):
        made = density(ledger=ledger.under(first), outside=first).fit(POINTS).release_
        with pytest.raises(UsageError, match="stands for another request already"):
            density(ledger=ledger.under(first), outside=second).fit(POINTS)
        again = density(ledger=ledger.under(first), outside=first).fit(POINTS).release_
        assert again.noisy.tolist() == made.noisy.tolist()


@pytest.mark.parametrize("mechanism", ["auto", "gp", "sobolev", "frl", "bernstein"])
def test_no_coordinate_decides_where_a_program_has_told_numpy_to_raise(mechanism: str) -> None:
    """A coordinate so small that a quotient of it vanishes is read as any other."""
    for odd in (-2e-320, 2e-320):
        points = np.where(np.arange(len(POINTS)) == 0, odd, np.abs(POINTS))
        order = density(mechanism=mechanism, domain=(0.0, 5.0)).order(points).order
        with np.errstate(all="raise"):
            released = order.spend(Payment(None, None))
        assert released.whole is not None or released.held is not None


def test_another_way_with_points_outside_is_refused_by_name() -> None:
    with refused(UsageError, "outside", "far"):
        density(outside="far").plan(100)
