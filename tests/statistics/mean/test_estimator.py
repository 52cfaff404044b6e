"""The mean function: right when noise is small, the same bit for bit however it is read, and stamped when seeded."""

from __future__ import annotations

import numpy as np
import pytest

import dpfda
from dpfda.mechanisms import Gaussian, KNorm, Laplace, SeededRandomness
from dpfda.privacy import ADD_REMOVE, REPLACE
from dpfda.records import smallest_cap
from dpfda.releases import NOT_PRIVATE

WIDTH = 15
GRID = np.linspace(0, 1, WIDTH)
GOOD = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "domain": (0, 1)}


def example(people=40, seed=0):
    """Curves of people with one to four rows, some beyond the bound, some with gaps, one without any value."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(people), rng.integers(1, 5, people))
    size = rng.choice([0.2, 0.8, 3.0], (people, 1))[ids]
    table = size * np.sin(3 * GRID + rng.normal(size=(len(ids), 1))) + rng.normal(0, 0.1, (len(ids), WIDTH))
    table[rng.random(table.shape) < 0.05] = np.nan
    table[ids == 3] = np.nan
    order = rng.permutation(len(ids))
    return table[order], ids[order]


def clipped_mean(table, ids, basis, *, grid=GRID, bound=1.0, centre=0.0, limits=None):
    """Coordinates around the centre in plain numpy: fill, average each person, project, clip, average people."""
    cap = smallest_cap(bound, len(grid))
    total, people = np.zeros(basis.size), sorted(set(ids))
    centre = np.broadcast_to(centre, len(grid))
    for person in people:
        rows = []
        for row in table[ids == person]:
            known = np.isfinite(row)
            if known.any():
                low, high = limits or (centre[known] - cap, centre[known] + cap)
                rows.append(np.interp(grid, grid[known], np.clip(row[known], low, high)) - centre)
        if rows:
            vector = basis.projection(grid) @ np.mean(rows, axis=0)
            total += vector * min(1.0, bound / np.linalg.norm(vector))
    return total / len(people)


# Accuracy.


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("mechanism", ["laplace", "k-norm"])
@pytest.mark.parametrize("family", ["beam", "cosine", "fourier", "legendre", "bspline", "bernstein", "reinsch"])
def test_with_hardly_any_noise_the_release_is_the_clipped_mean(family, mechanism, neighbours):
    """At epsilon 1e6 noise is some millionths of the bound; what is left is rounding to the lattice."""
    table, ids = example()
    basis = dpfda.bases.by_name(family, (0, 1), 6)
    est = dpfda.MeanFunction(
        epsilon=1e6,
        delta=0.0,
        bound=1.0,
        centre=0.25,
        neighbours=neighbours,
        n=40 if neighbours == REPLACE else None,
        planned_n=40,
        mechanism=mechanism,
        basis=basis,
        smoothing="none",
        randomness=SeededRandomness(0),
    )
    release = est.fit(table, grid=GRID, units=ids).release_
    expected = clipped_mean(table, ids, basis, centre=0.25)
    assert np.linalg.norm(expected) > 0.1
    assert np.abs(release.noisy - expected).max() < 1e-5
    values = basis.evaluate(expected + basis.coordinates(np.full(WIDTH, 0.25), GRID), GRID)
    assert np.abs(release(GRID) - values).max() < 1e-4
    assert release.certificate.n == pytest.approx(40, abs=1e-3)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
def test_gaussian_noise_around_the_clipped_mean_has_the_stated_size(neighbours):
    """Six deviations in 5 coordinates of 10 releases: fails by chance less than once in ten million; seeded."""
    table, ids = example(300)
    basis = dpfda.bases.legendre((0, 1), 5)
    expected = clipped_mean(table, ids, basis)
    for seed in range(10):
        est = dpfda.MeanFunction(
            **{**GOOD, "epsilon": 8.0},
            neighbours=neighbours,
            planned_n=300,
            basis=basis,
            smoothing="none",
            randomness=SeededRandomness(seed),
        )
        release = est.fit(table, grid=GRID, units=ids).release_
        deviations = np.sqrt(release.noise.variances)
        assert deviations.max() < 0.01
        # A noisy count of 300 scales the mean by well under a percent.
        assert (np.abs(release.noisy - expected) < 6 * deviations + (0.01 if neighbours == ADD_REMOVE else 0)).all()


def test_limits_move_values_to_their_ends_point_by_point():
    table = np.array([[5.0, -7.0, 1.0], [2.0, np.nan, 0.0]])
    grid = np.array([0.0, 0.5, 1.0])
    basis = dpfda.bases.legendre((0, 1), 3)
    est = dpfda.MeanFunction(
        epsilon=1e6, delta=0.0, limits=(0.0, 2.0), basis=basis, smoothing="none", randomness=SeededRandomness(0)
    )
    release = est.fit(table, grid=grid).release_
    assert (release.certificate.bound, release.certificate.centre) == (1.0, "the constant 1")
    assert ("bound", "limits of values") in release.certificate.chosen
    moved = np.array([[2.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    vectors = (moved - 1) @ basis.projection(grid).T
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1), 1.0)[:, None]
    assert release.noisy == pytest.approx(vectors.mean(axis=0), abs=1e-5)


@pytest.mark.parametrize("centre", [0.5, np.full(WIDTH, 0.5), list(np.full(WIDTH, 0.5)), lambda t: 0.5 + 0 * t])
def test_a_centre_may_be_a_number_values_or_a_function(centre):
    est = dpfda.MeanFunction(**{**GOOD, "epsilon": 1e5, "delta": 0.0}, centre=centre, randomness=SeededRandomness(0))
    release = est.fit(np.full((50, WIDTH), 0.7)).release_
    assert release(GRID) == pytest.approx(np.full(WIDTH, 0.7), abs=1e-3)
    assert est.centre is centre


def test_a_centre_sees_points_of_a_box_as_rows():
    grid = np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 1.0, 2.0)])
    est = dpfda.MeanFunction(
        epsilon=1e5,
        delta=0.0,
        bound=1.0,
        domain=[(0, 1), (0, 2)],
        centre=lambda points: points[:, 0] + points[:, 1],
        basis=dpfda.bases.tensor(dpfda.bases.legendre((0, 1), 2), dpfda.bases.legendre((0, 2), 2)),
        smoothing="none",
    )
    table = (grid.sum(axis=1) + 0.1)[None, :].repeat(20, axis=0)
    table[:, 4] = np.nan
    release = est.fit(table, grid=grid).release_
    assert release(grid) == pytest.approx(grid.sum(axis=1) + 0.1, abs=0.05)
    assert release.certificate.domain == ((0.0, 1.0), (0.0, 2.0))


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_one_curve_and_one_grid_point_are_enough(n, width, delta):
    grid = [0.5] if width == 1 else None  # one point has to say where it lies
    release = dpfda.MeanFunction(**{**GOOD, "delta": delta}, force=True).fit(np.zeros((n, width)), grid=grid).release_
    assert release.basis.size <= width
    assert np.isfinite(release([0.0, 0.5, 1.0])).all()


# One release whatever the way of reading.


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_seeded_release_is_the_same_bit_for_bit_in_any_order_batch_and_thread(neighbours, delta):
    table, ids = example()
    expected = None
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(ids))
        for stated in ({}, {"batch_rows": 1}, {"batch_rows": 7, "workers": 3}, {"batch_rows": 1000, "workers": 2}):
            est = dpfda.MeanFunction(
                **{**GOOD, "delta": delta},
                neighbours=neighbours,
                planned_n=40,
                randomness=SeededRandomness(9),
                reading=dpfda.Reading(**stated),
            )
            release = est.fit(np.asfortranarray(table[order]), grid=GRID, units=ids[order]).release_
            got = (release.noisy.tobytes(), release.coordinates.tobytes(), release.certificate)
            expected = got if expected is None else expected
            assert got == expected


def test_private_noise_never_repeats():
    table, _ = example()
    est = dpfda.MeanFunction(**GOOD)
    assert len({est.fit(table).release_.noisy.tobytes() for _ in range(5)}) == 5


def test_a_seeded_release_is_stamped_and_a_private_one_is_not():
    table, _ = example()
    seeded = dpfda.MeanFunction(**GOOD, randomness=SeededRandomness(1)).fit(table).release_.certificate
    private = dpfda.MeanFunction(**GOOD).fit(table).release_.certificate
    assert seeded.randomness == NOT_PRIVATE
    assert NOT_PRIVATE in seeded.warnings
    assert "NOT PRIVATE" in seeded.text()
    assert "NOT PRIVATE" not in private.text()
    assert private.randomness == "system, exact integer samplers"


# Choices.


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize(
    ("n", "delta", "name"), [(40, 0.0, "k-norm"), (4000, 0.0, "k-norm"), (40, 1e-6, "k-norm"), (4000, 1e-6, "gaussian")]
)
def test_auto_is_k_norm_without_delta_and_else_what_has_the_least_predicted_error(n, delta, name, neighbours):
    """For few units K-norm noise is the smaller one even where delta allows Gaussian noise."""
    good = GOOD | {"delta": delta, "neighbours": neighbours, "planned_n": n}
    est = dpfda.MeanFunction(**good).fit(np.zeros((n, 60)))
    assert est.release_.certificate.mechanism == name
    assert est.plan_.mechanism.name == name
    if delta:
        rivals = [
            dpfda.MeanFunction(**good | {"mechanism": each, "delta": spent}).plan(n, grid_size=60)
            for each, spent in (("gaussian", delta), ("k-norm", 0.0))
        ]
        assert est.plan_.predict().total == min(rival.predict().total for rival in rivals)
        assert "has the least predicted error" in dict(est.plan_.reasons)["mechanism"]
    # K-norm noise gains next to nothing from delta, and spends none.
    assert est.release_.certificate.delta == (delta if name == "gaussian" else 0.0)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (Gaussian(), "gaussian"),
        (Laplace(), "laplace"),
        ("laplace", "laplace"),
        (KNorm((1, 2, 2), (0.5, 0.5, 0.7)), "k-norm"),
    ],
)
def test_mechanism_and_basis_objects_are_taken_as_they_are(mechanism, name, neighbours):
    size = 5 if neighbours == REPLACE else 4
    basis = dpfda.bases.fourier((0, 1), size)
    est = dpfda.MeanFunction(**GOOD, mechanism=mechanism, basis=basis, neighbours=neighbours, planned_n=40)
    release = est.fit(example()[0]).release_
    assert release.basis is basis
    assert release.certificate.mechanism == name
    assert dict(release.certificate.chosen)["mechanism"] == "stated by the user"


def test_a_delta_that_could_expose_someone_outright_is_warned_about_on_the_card():
    table = np.zeros((100, WIDTH))
    for delta, warned in ((0.01, True), (0.02, True), (0.0099, False)):
        card = dpfda.MeanFunction(**{**GOOD, "delta": delta}).fit(table).release_.certificate
        assert any("exposed outright" in warning for warning in card.warnings) is warned


def test_the_card_says_whether_the_unit_was_assumed():
    table, ids = example()
    assumed = dpfda.MeanFunction(**GOOD).fit(table).release_.certificate
    stated = dpfda.MeanFunction(**GOOD).fit(table, units=ids).release_.certificate
    assert (assumed.unit, assumed.unit_was_assumed, assumed.n) == ("row", True, len(table))
    # Rows without an identifier are one unit more, which always counts.
    assert (stated.unit, stated.unit_was_assumed, stated.n) == ("unit", False, 41)


def test_the_plan_of_a_fit_is_the_plan_made_without_data():
    table, ids = example()
    est = dpfda.MeanFunction(**GOOD).fit(table, units=ids)
    assert est.plan_.to_dict() == est.plan(41, grid_size=WIDTH).to_dict()
    curves = dpfda.records.as_curves(table, grid=None, units=ids)
    assert est.plan_for(curves).to_dict() == est.plan_.to_dict()
