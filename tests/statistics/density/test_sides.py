"""Kernel densities on boxes of three and more sides: points are known by thousands of places along each side."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.bases import as_domain
from dpfda.curator.summary import Public
from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Tensor
from dpfda.mechanisms import GaussianProcess, SeededRandomness
from dpfda.online import header_of
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget, Counting, Unit
from dpfda.records.labelled import as_points
from dpfda.records.reading import Reading
from dpfda.statistics.density.plan import DensityPlan, DensityRequest, plan_density
from dpfda.statistics.density.sides import SideTables
from dpfda.statistics.density.summary import density_of

RNG = np.random.default_rng(7)
CUBE = RNG.normal(0.5, 0.3, (1500, 3))  # some lie outside
WIDE = GaussianProcess(bandwidth=0.3)


def density(sides: int = 3, **changes: Any) -> dpfda.DensityFunction:
    known = {"epsilon": 200.0, "delta": 1e-5, "domain": [(0.0, 1.0)] * sides, "mechanism": WIDE, "dataset": "d"}
    return dpfda.DensityFunction(**{**known, **changes}, force=True)


def kernel_estimate(asked: Any, points: Any, width: float) -> Any:
    squares = ((asked[:, None, :] - points[None]) ** 2).sum(axis=-1)
    return np.exp(-squares / (2 * width**2)).mean(axis=1) / (2 * np.pi * width**2) ** (points.shape[1] / 2)


def planned(neighbours: str, outside: str = "apart", kernel: Any = None) -> DensityPlan:
    return plan_density(
        DensityRequest(
            n=20,
            budget=Budget(1.0, 1e-6),
            domain=as_domain([(0.0, 1.0), (-1.0, 1.0), (0.0, 4.0)]),
            neighbours=neighbours,
            mechanism="gp",
            kernel=kernel or Tensor((Gaussian.from_length(0.4), Gaussian.from_length(0.7), Exponential(3.0))),
            size=80,
            outside=outside,
        )
    )


def gathered(plan: DensityPlan, people: list[list[Any]], batch_rows: int | None = None) -> list[int]:
    unit = Unit("person", plan.request.neighbours)
    rows = np.array([point for points in people for point in points], dtype=float).reshape(-1, 3)
    curves = as_points(rows, 3, units=[who for who, points in enumerate(people) for _ in points])
    n = len(people) if unit.size_is_public else None
    public = Public.of_points(unit, n, 20, width=3, counting=Counting.STATED)
    reading = Reading(progress=False, batch_rows=batch_rows)
    found = density_of(plan.features, counted=False).gather(curves, public, plan.basis, reading)
    return [int(x) for x in found]


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("outside", ["apart", "edge"])
def test_the_worst_people_nearly_reach_the_stated_bound_and_never_pass_it(neighbours: str, outside: str) -> None:
    """Corners, the middle, points outside, several a person, none that can be read; moves are exact integers."""
    plan = planned(neighbours, outside)
    stated = plan.features.sensitivity(replaced=neighbours == REPLACE)
    corners = [[(x, y, z)] for x in (0.0, 0.5, 1.0) for y in (-1.0, 0.01, 1.0) for z in (0.0, 4.0)]
    people = [*corners, [(0.5, 0.0, 9.0)], [(np.inf, 0.0, 0.0)], [(np.nan, 0.0, 0.0)]]
    people += [[corners[0][0], corners[-1][0], (0.3, 0.3, 0.3)], [corners[1][0], (np.nan, np.nan, np.nan), (9, 9, 9)]]
    rest = gathered(plan, corners[:9])
    alone = [[x - y for x, y in zip(gathered(plan, [*corners[:9], each]), rest, strict=True)] for each in people]
    moves = (
        [[x - y for x, y in zip(one, two, strict=True)] for one in alone for two in alone]
        if neighbours == REPLACE
        else alone
    )
    largest = max(Decimal(sum(x * x for x in move)).sqrt() for move in moves)
    assert largest <= Decimal(stated.value)
    assert largest >= Decimal(stated.value) * Decimal("0.9")


def test_the_sum_is_the_same_in_any_order_and_in_any_batches() -> None:
    plan = planned(REPLACE)
    people = [[tuple(RNG.normal(0.4, 0.6, 3)) for _ in range(k)] for k in (1, 3, 2, 5, 1)]
    turned = [points[::-1] for points in people]
    assert gathered(plan, people) == gathered(plan, turned) == gathered(plan, people, batch_rows=2)


def test_the_bound_on_tables_holds_for_all_pairs_also_where_inner_products_are_negative() -> None:
    """Random tables, far from any kernel: distances of all pairs of points against the bound."""
    tables = tuple(RNG.normal(1.0, 0.8, (6, 4)) for _ in range(3))
    index = np.array([(a, b, c) for a in range(4) for b in range(4) for c in range(4)])
    places = [np.array(each) for each in np.indices((6, 6, 6)).reshape(3, -1)]
    for chosen in (index, index[RNG.permutation(64)[:20]]):
        sides = SideTables(tables, chosen)
        vectors = sides.products(places)
        gaps = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
        assert gaps.max() <= sides.diameter
        assert np.linalg.norm(vectors, axis=1).max() <= sides.longest * (1 + 1e-12)


def test_a_kernel_density_of_three_sides_is_the_exact_one_but_for_its_noise() -> None:
    points = CUBE[((CUBE >= 0) & (CUBE <= 1)).all(axis=1)]
    release = density(mechanism=GaussianProcess(bandwidth=0.25)).fit(points).release_
    asked = RNG.random((200, 3))
    exact = kernel_estimate(asked, points, 0.25)
    assert np.sqrt(np.mean((release.raw(asked) / exact - 1) ** 2)) < 0.01


def test_the_density_itself_is_computed_at_the_points_and_agrees_with_its_mesh_at_the_nodes() -> None:
    release = density(epsilon=5.0, randomness=SeededRandomness(1)).fit(CUBE).release_
    nodes = np.stack([axis[[0, 3, 20, 33, 40]] for axis in release.mesh.axes], axis=1)
    assert release(nodes) == pytest.approx(release.inside * release.mesh(nodes), rel=1e-9, abs=1e-12)
    assert (release(RNG.random((500, 3))) >= 0).all()
    assert release.raw(nodes[2:3]) - release(nodes[2:3]) == pytest.approx(release.raw(nodes[1:2]) - release(nodes[1:2]))


@pytest.mark.parametrize("sides", [7, 10])
def test_more_sides_work_and_their_files_are_read_again(sides: int, tmp_path: Path) -> None:
    points = RNG.random((400, sides))
    est = density(sides, mechanism=GaussianProcess(bandwidth=0.8), size=60, randomness=SeededRandomness(1))
    release = est.fit(points).release_
    asked = RNG.random((50, sides))
    assert release.raw(asked) == pytest.approx(kernel_estimate(asked, points, 0.8), rel=0.05)
    release.save(tmp_path / "density.json")
    again = dpfda.load(tmp_path / "density.json")
    assert again(asked).tolist() == release(asked).tolist()
    assert again.sample(5, seed=1).shape == (5, sides)


def test_a_bandwidth_is_bought_on_more_sides_too() -> None:
    est = density(mechanism=GaussianProcess(bandwidth="private-iqr"), bandwidth_epsilon=30.0, size=20)
    est.fit(CUBE)
    assert len(est.bandwidth_choice_.widths) == 3


def test_counts_are_rows_that_stand_there_so_often() -> None:
    points, counts = RNG.random((30, 3)), RNG.integers(1, 9, 30)
    once = density(size=30, randomness=SeededRandomness(1)).fit(np.repeat(points, counts, axis=0)).release_
    told = density(size=30, randomness=SeededRandomness(1)).fit(points, counts=counts).release_
    assert told.noisy == pytest.approx(once.noisy, rel=1e-6)


def test_a_person_without_any_readable_point_lies_in_the_middle() -> None:
    plan = planned(REPLACE)
    nobody, middle = gathered(plan, [[(np.nan, 1.0, 1.0)]]), gathered(plan, [[(0.5, 0.0, 2.0)]])
    assert nobody == middle


@pytest.mark.parametrize("visits", [1, 3])
def test_answers_point_by_point_are_of_the_points_themselves(visits: int, tmp_path: Path) -> None:
    store, units = f"sqlite:///{tmp_path / 'answers.db'}", np.arange(len(CUBE)) // visits
    est = density(mechanism=GaussianProcess(bandwidth=0.3, answers=64), epsilon=500.0)
    asked = RNG.random((20, 3))
    with est.open(store, CUBE, units=None if visits == 1 else units) as oracle:
        found, deviation = oracle(asked), oracle.certificate.noise_rms
    # With persons, rows of nobody are one more of them, in the middle.
    points = CUBE if visits == 1 else np.concatenate([CUBE, np.full((visits, 3), 0.5)])
    assert found == pytest.approx(kernel_estimate(asked, points, 0.3), abs=6 * deviation)
    assert (header_of(store) or {})["places"] == "points"


def test_a_kernel_that_is_no_product_keeps_cells_and_few_sides() -> None:
    matrix = (0.1 * np.eye(3) + 0.02).tolist()
    plan = density(mechanism=GaussianProcess(bandwidth=matrix)).plan(1000)
    assert plan.cells.shape == (12, 12, 12)
    with pytest.raises(UsageError, match="at most 6 sides"):
        density(7, mechanism=GaussianProcess(bandwidth=(0.5 * np.eye(7) + 0.02).tolist())).plan(1000)
