"""The exponential mechanism over frames: exact decisions, exact rounding, and the law of what comes out."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import chi2, norm

from dpfda.arrays import Array, Integers
from dpfda.bases.symmetric import pack
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness, SystemRandomness
from dpfda.mechanisms.decision import wide
from dpfda.mechanisms.frames import LATTICE, Frames, Gibbs, draw_frames, draw_projected
from dpfda.mechanisms.frames import exact as exactly
from dpfda.mechanisms.frames.exact import Exponent, Replay, Rotation, normals_needed
from dpfda.mechanisms.frames.interval import Arithmetic, Interval, TooWide
from dpfda.mechanisms.frames.stiefel import SpanEnvelopes
from dpfda.mechanisms.noise import Noise
from dpfda.mechanisms.normals import Reals, draw_normals
from dpfda.privacy.norms import Nuclear, Sensitivity
from dpfda.privacy.profiles import RangeProfile

LEVEL = 1e-6


def packed(matrix: Array) -> Integers:
    return pack(np.rint(matrix).astype(np.int64))


def frames_of(mechanism: Frames | Gibbs, matrix: Array, scale: float, draws: int, seed: int) -> Array:
    source = SeededRandomness(seed)
    cells = [mechanism.draw(packed(matrix), scale, randomness=source) for _ in range(draws)]
    return np.array(cells).reshape(draws, len(matrix), mechanism.k) / LATTICE


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is accepted does not depend on how many are proposed at a time; tests are faster with few."""
    monkeypatch.setattr(exactly, "BATCH", 3)
    monkeypatch.setattr(exactly, "BATCH_PROJECTED", 3)


# Sums are whole and scales moderate: eigenvalues differ by nothing or by more than 1e-20. Closer ones doubles know
# nothing about, and decimals decide them.
spectra = st.one_of(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-20, 300)), min_size=3, max_size=9),
    st.lists(st.sampled_from([0.0, 1e-3, 5.0, 5.0, 1e3, 1e6]), min_size=3, max_size=9),
)


@given(spectra, st.integers(1, 4), st.integers(0, 2**20))
@settings(max_examples=60, deadline=None)
def test_no_acceptance_exceeds_one_and_decimals_agree_with_doubles(values: list[float], k: int, seed: int) -> None:
    """Whatever the spectrum: else what is accepted would not have the law that was asked for."""
    excess = np.array(values) - min(values)
    spans = SpanEnvelopes.of(excess, min(k, len(values) - 1))
    rows, count = 20, normals_needed(spans)
    normals = draw_normals(rows * count, SeededRandomness(seed))
    doubles = Arithmetic()
    with np.errstate(all="ignore"):
        numbers = Interval(normals.values.reshape(rows, count), normals.errors.reshape(rows, count), doubles)
        replay = Replay(spans, doubles, numbers)
        log, columns = replay.run()
    inside = ~np.broadcast_to(replay.outside, (rows,))
    # Where doubles know nothing the radius is no number, and decimals decide.
    assert np.all(((log.middle - log.radius) <= 0)[inside] | np.isnan(log.radius[inside]))
    # Doubles know most proposals well, radii far below the decisions that hang on them: decimals are slow.
    assert not inside.any() or np.median(log.radius[inside]) < 1e-6
    closer, true_log, true_columns, digits = closely(spans, normals, count)
    with localcontext(wide(digits)):
        assert bool(np.any(closer.outside)) == (not inside[0])
        assert np.any(closer.outside) or true_log.middle[0] - true_log.radius[0] <= 0
        if inside[0] and np.isfinite(log.radius[0]):
            assert abs(float(true_log.middle[0]) - log.middle[0]) <= log.radius[0] * (1 + 1e-9) + 1e-300
            assert true_log.radius[0] < Decimal("1e-20")
            for one, other in zip(columns, true_columns, strict=True):
                apart = np.abs(one.middle[0] - other.middle[0].astype(np.float64))
                assert np.all(apart <= one.radius[0] + 2e-16)
            gram = [[float((one * other).sum().middle[0]) for other in true_columns] for one in true_columns]
            np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-15)


@pytest.mark.parametrize("small", [6e-71, 1e-30, 1e-28])
def test_eigenvalues_closer_than_doubles_know_are_drawn_all_the_same(small: float) -> None:
    """Nothing is known of their proposals in doubles: every one is decided in decimals."""
    excess = np.array([0.0, 2.0, small])
    spans = SpanEnvelopes.of(excess, 2)
    count = normals_needed(spans)
    exponent = Exponent(np.zeros((3, 3), dtype=object), 1.0, tuple(excess), None, 1)
    normals = draw_normals(4 * count, SeededRandomness(1))
    proposals = exactly.Proposals(exponent, spans, Rotation.near(np.eye(3)), 0.0, 1e-12, normals)
    low, high = proposals.first_bounds()
    assert np.all((low == 0) & (high >= 0))
    for row in range(4):
        least, most = proposals.bounds(row, 160)
        assert 0 <= least <= most <= 1
        assert most - least < Decimal("1e-20")


def test_tied_spectra_leave_room_for_the_rounding_of_logarithms() -> None:
    """A relative margin alone would be nothing where all excesses are nearly zero: acceptance would pass 1."""
    values = 0.39328083324195223 * (1 + np.array([0, 1, -1, 2, -2, 3]) * 2.0**-52)
    spans = SpanEnvelopes.of(values.max() - values, 3)
    normals = draw_normals(normals_needed(spans), SeededRandomness(7))
    _, log, _, digits = closely(spans, normals, normals_needed(spans))
    with localcontext(wide(digits)):
        assert log.middle[0] + log.radius[0] < 0


def test_doubles_that_cannot_tell_inside_from_outside_know_nothing() -> None:
    spans = SpanEnvelopes.of(np.array([0.0, 2.0, 2.5, 3.0]), 2)
    numbers = Interval(np.zeros((1, 1)), np.zeros((1, 1)), Arithmetic())
    replay = Replay(spans, Arithmetic(), numbers)
    near = Interval(np.array([[0.5, 0.5 - 1e-17]]), np.array([[1e-16, 1e-16]]), Arithmetic())
    assert np.isinf(replay._inside(near).radius).all()
    assert not np.any(replay.outside)
    known = Interval(np.array([[0.5, 0.4]]), np.array([[1e-16, 1e-16]]), Arithmetic())
    assert np.isfinite(replay._inside(known).radius).all()


def closely(spans: SpanEnvelopes, normals: Reals, count: int) -> tuple[Replay, Interval, list[Interval], int]:
    """The first proposal in decimals: as many as it takes, since a spectrum may have numbers of any smallness."""
    for digits in (40, 80, 160, 320, 640):
        with localcontext(wide(digits)):
            arithmetic = Arithmetic(digits)
            closer = Replay(spans, arithmetic, exactly.refined(normals, 0, count, arithmetic))
            try:
                log, columns = closer.run()
            except TooWide:
                continue
            return closer, log, columns, digits
    raise AssertionError("640 digits were not enough")


def test_every_operation_on_intervals_holds_the_true_number() -> None:
    """Doubles against decimals of 60 digits, on random numbers."""
    source = SeededRandomness(4)
    one, other = np.abs(source.normal((2, 500))) + 0.01
    spread = 1e-9 * source.uniform((2, 500))
    doubles = Arithmetic()
    first, second = Interval(one, spread[0], doubles), Interval(other, spread[1], doubles)
    inside = [np.array([Decimal(float(x)) for x in a]) for a in (one + 0.9 * spread[0], other - 0.9 * spread[1])]
    with localcontext(wide(60)):
        results = {
            "sum": (first + second, inside[0] + inside[1]),
            "difference": (first - second, inside[0] - inside[1]),
            "product": (first * second, inside[0] * inside[1]),
            "quotient": (first / second, inside[0] / inside[1]),
            "root": (first.sqrt(), np.array([x.sqrt() for x in inside[0]])),
            "logarithm": (first.log(), np.array([x.ln() for x in inside[0]])),
            "total": (first.sum(), np.array(sum(inside[0]))),
        }
        for name, (found, true) in results.items():
            low = np.vectorize(Decimal)(found.middle) - np.vectorize(Decimal)(found.radius)
            high = np.vectorize(Decimal)(found.middle) + np.vectorize(Decimal)(found.radius)
            assert np.all((low <= true) & (true <= high)), name
            assert np.max(found.radius / (np.abs(found.middle) + 1)) < 2e-7, name


def test_a_rotation_is_orthogonal_to_all_digits() -> None:
    vectors = np.linalg.qr(SeededRandomness(2).normal((12, 12)))[0]
    rotation = Rotation.near(vectors)
    digits = 50
    arithmetic = Arithmetic(digits)
    with localcontext(wide(digits)):
        axes = [arithmetic.exact(row)[None, :] for row in np.eye(12)]
        turned = rotation.turn(axes, digits).intervals(arithmetic)
        for i, one in enumerate(turned):
            for j, other in enumerate(turned):
                inner = (one * other).sum()
                assert abs(inner.middle[0] - (i == j)) <= inner.radius[0]
                assert inner.radius[0] < Decimal("1e-45")
            np.testing.assert_allclose(one.middle[0].astype(np.float64), vectors[:, i], atol=1e-14)


def test_vectors_that_are_not_orthonormal_make_no_rotation() -> None:
    with pytest.raises(RuntimeError, match="far from orthonormal"):
        Rotation.near(np.eye(3) * 0.9)


@pytest.mark.parametrize("base", ["bingham", "projected"])
@pytest.mark.parametrize("k", [1, 2])
def test_bounds_close_in_on_one_probability(base: str, k: int) -> None:
    """Decimals of more digits lie inside of what fewer digits and doubles said."""
    sums = np.array([[40, 7, 0], [7, 9, -3], [0, -3, 2]])
    precision = (1.0, 3.0, 8.0)
    prior = (0.0,) * 3 if base == "projected" else tuple(p / 2 for p in precision)
    exponent = Exponent(sums.astype(object), 3.0, prior, precision if base == "projected" else None, 1)
    proposals, row = exactly.draw_span(exponent, k, SeededRandomness(3))
    low, high = proposals.first_bounds()
    for digits in (40, 60, 90):
        closer = proposals.bounds(row, digits)
        assert low[row] <= closer[0] <= closer[1] <= high[row]
        assert closer[1] - closer[0] < Decimal(10) ** (12 - digits)
        low[row], high[row] = (
            math.nextafter(float(closer[0]), 0.0),
            math.nextafter(float(closer[1]), 2.0),
        )


def circle_chances(matrix: Array, edges: Array) -> Array:
    """Chances of arcs of the half circle under `exp(v'Av)`, by a fine midpoint rule."""
    angles = (np.arange(200_000) + 0.5) * np.pi / 200_000
    vectors = np.stack([np.cos(angles), np.sin(angles)])
    density = np.exp(np.einsum("in,ij,jn->n", vectors, matrix, vectors))
    return np.histogram(angles, edges, weights=density)[0] / density.sum()


@pytest.mark.audit
@pytest.mark.parametrize("wrong", [0.0, 0.12], ids=["true eigenvectors", "wrong eigenvectors"])
def test_the_angle_on_a_circle_has_its_law(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi-square over 12 arcs, level 1e-6, seeded. Eigenvectors turned by mistake change only the acceptance."""
    small_batches(monkeypatch)
    true_eigh = np.linalg.eigh

    def turned(matrix: Array) -> tuple[Array, Array]:
        values, vectors = true_eigh(matrix)
        turn = np.array([[math.cos(wrong), -math.sin(wrong)], [math.sin(wrong), math.cos(wrong)]])
        return values, vectors @ turn

    monkeypatch.setattr(exactly.np.linalg, "eigh", turned)
    sums, scale, precision = np.array([[90.0, 40.0], [40.0, 30.0]]), 50.0, (0.5, 2.0)
    draws = 1_200
    frames = frames_of(Frames(1, precision), sums, scale, draws, seed=7)[:, :, 0]
    np.testing.assert_allclose(np.linalg.norm(frames, axis=1), 1, atol=2e-6)
    angles = np.arctan2(frames[:, 1], frames[:, 0]) % np.pi
    edges = np.linspace(0, np.pi, 13)
    expected = draws * circle_chances(sums / scale - np.diag(precision) / 2, edges)
    found = np.histogram(angles, edges)[0]
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(LEVEL, 11)


CASES = {
    "one": (4, 1, "bingham", True),
    "two": (5, 2, "bingham", True),
    "two, uniform": (4, 2, "bingham", False),
    "three of four": (4, 3, "bingham", True),
    "four of six": (6, 4, "bingham", False),
    "projected, one": (4, 1, "projected", True),
    "projected, two": (4, 2, "projected", True),
    "projected, three": (4, 3, "projected", True),
}


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_mechanism_has_the_law_of_the_sampler(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean projection on the span, every entry, against 40,000 draws in doubles, level 1e-6; seeded."""
    small_batches(monkeypatch)
    side, k, base, informed = CASES[case]
    precision = tuple(0.7 * j**2 for j in range(1, side + 1)) if informed else None
    noise = SeededRandomness(side).normal((side, side))
    sums, scale, source = np.rint(40 * (noise + noise.T)), 25.0, SeededRandomness(11)
    mechanism = Frames(k, precision, base)  # type: ignore[arg-type]
    frames = frames_of(mechanism, sums, scale, 150 if base == "projected" else 300, seed=k)
    if base == "projected":
        assert precision is not None
        theirs = draw_projected(sums / scale, precision, k, 40_000, randomness=source)
    else:
        prior = np.diag(precision) / 2 if precision else 0.0
        theirs = draw_frames(sums / scale - prior, k, 40_000, randomness=source)
    one, other = (np.einsum("nia,nja->nij", f, f).reshape(len(f), -1) for f in (frames, theirs))
    deviation = np.sqrt(other.var(axis=0) * (1 / len(one) + 1 / len(other)))
    scores = (one.mean(axis=0) - other.mean(axis=0)) / deviation
    assert np.abs(scores).max() < norm.isf(LEVEL / 2 / side**2), scores
    # Uniform among the frames of a span: no column is preferred, no sign either.
    columns = frames[:, :, 0]
    scores = columns.mean(axis=0) / columns.std(axis=0) * np.sqrt(len(columns))
    assert np.abs(scores).max() < norm.isf(LEVEL / 2 / side), scores


@pytest.mark.parametrize("side", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("base", ["bingham", "projected"])
def test_neighbours_have_cells_within_the_stated_range(side: int, epsilon: float, base: str) -> None:
    """Chances of cells by quadrature: log ratios of neighbours span at most epsilon, and reach nine tenths of it."""
    radius = 100
    profile = Frames(1, (1.0,) * side).profile(
        Sensitivity(2.0 * radius**2, Nuclear(), "replace-one"), 2.0 * radius**2 / epsilon
    )
    scale = 2.0 * radius**2 / epsilon
    assert profile.epsilon >= epsilon
    if side == 2:
        angles = (np.arange(4_000) + 0.5) * np.pi / 4_000
        points, cells = np.stack([np.cos(angles), np.sin(angles)]), np.arange(4_000) // 10
    else:
        heights, turns = np.meshgrid((np.arange(200) + 0.5) / 200, (np.arange(800) + 0.5) * 2 * np.pi / 800)
        flat = np.sqrt(1 - heights**2)
        points = np.stack([flat * np.cos(turns), flat * np.sin(turns), heights]).reshape(3, -1)
        cells = _cells(points)  # heights and turns are uniform on a sphere: every point stands for the same area
    others = radius**2 * np.diag([3.0, 1.0, 2.0][:side])
    for one, other in ((0, 1), (1, 0), (side - 1, 0)):
        log_chances = []
        for axis in (one, other):
            unit = np.zeros((side, side))
            unit[axis, axis] = radius**2
            exponent = np.einsum("in,ij,jn->n", points, (others + unit) / scale, points)
            weights = np.diag(1.0 + np.arange(side))
            form = np.einsum("in,ij,jn->n", points, weights, points)
            exponent -= form / 2 if base == "bingham" else side / 2 * np.log(form)
            density = np.exp(exponent - exponent.max())
            chances = np.bincount(cells, density)
            log_chances.append(np.log(chances[chances > 0] / chances.sum()))
        ratios = log_chances[0] - log_chances[1]
        spread = ratios.max() - ratios.min()
        assert spread <= epsilon * (1 + 1e-9)
        assert np.abs(ratios).max() <= epsilon * (1 + 1e-9)
        assert spread >= 0.9 * epsilon


def _cells(points: Array) -> Integers:
    """Numbers of the boxes of a coarse lattice."""
    steps = np.rint(20 * points).astype(np.int64) + 20
    return np.unique(steps, axis=1, return_inverse=True)[1].reshape(-1)


def test_a_decision_too_close_for_doubles_is_made_in_decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    """With doubles that know nothing the same numbers decide, and the same frame comes out."""
    sums = np.array([[900.0, 100.0, 0.0], [100.0, 300.0, 50.0], [0.0, 50.0, 10.0]])
    monkeypatch.setattr(exactly, "BATCH", 4)
    quick = frames_of(Frames(2, (1.0, 2.0, 3.0)), sums, 40.0, 4, seed=1)
    plain = exactly.Proposals.first_bounds

    def ignorant(self: exactly.Proposals) -> tuple[Array, Array]:
        low, high = plain(self)
        return np.zeros_like(low), np.ones_like(high)

    monkeypatch.setattr(exactly.Proposals, "first_bounds", ignorant)
    asked: list[int] = []
    true_bounds = exactly.Proposals.bounds

    def counted(self: exactly.Proposals, row: int, digits: int) -> tuple[Decimal, Decimal]:
        asked.append(digits)
        return true_bounds(self, row, digits)

    monkeypatch.setattr(exactly.Proposals, "bounds", counted)
    # Further bits of normal numbers are drawn when they are looked at, so only the first draw sees the same source.
    slow = frames_of(Frames(2, (1.0, 2.0, 3.0)), sums, 40.0, 1, seed=1)
    assert asked
    assert slow.shape == (1, 3, 2)
    np.testing.assert_allclose(quick[0].T @ quick[0], slow[0].T @ slow[0], atol=1e-5)


def test_a_rounding_too_close_to_call_gets_more_digits() -> None:
    arithmetic = Arithmetic(40)
    half = np.array([[Decimal("0.5") / LATTICE, Decimal("0.25")]], dtype=object)
    close = Interval(half, np.array([[Decimal("1e-30")] * 2], dtype=object), arithmetic)
    assert exactly._cells([close], 40) is None
    clear = Interval(half + Decimal("1e-29"), close.radius, arithmetic)
    np.testing.assert_array_equal(exactly._cells([clear], 40), [[1], [LATTICE // 4]])


ODD_SUMS: dict[str, tuple[Any, int]] = {
    "zero": (np.zeros((4, 4)), 2),
    "one dimension": (np.array([[-5.0]]), 1),
    "rank one": (2.0**40 * np.ones((5, 5)), 3),
    "tied": (2.0**40 * np.diag([1.0, 1, 1, 0, 0]), 2),
    "negative": (-(2.0**40) * np.diag([1.0, 2, 3, 4]), 1),
    "every column": (np.diag([1.0, 5.0, 9.0]), 3),
}


@pytest.mark.parametrize("case", ODD_SUMS, ids=str)
def test_odd_sums_give_frames_from_the_system(case: str) -> None:
    sums, k = ODD_SUMS[case]
    cells = Frames(k).draw(packed(sums), 2.0**33, randomness=SystemRandomness())
    assert cells.dtype == np.int64
    assert cells.shape == (len(sums) * k,)
    frame = cells.reshape(len(sums), k) / LATTICE
    np.testing.assert_allclose(frame.T @ frame, np.eye(k), atol=1e-5)


@pytest.mark.audit
def test_many_columns_are_decided_in_decimals() -> None:
    """Twelve columns: errors of doubles have grown too far, decimals have digits enough."""
    sums = 2.0**43 * np.diag(np.arange(1.0, 26.0) ** -2)
    frame = Frames(12).draw(packed(sums), 2.0**33, randomness=SeededRandomness(1)).reshape(25, 12) / LATTICE
    np.testing.assert_allclose(frame.T @ frame, np.eye(12), atol=1e-5)
    assert np.sum(frame[:2] ** 2) > 1.9


def test_large_exponents_are_drawn_like_any_others() -> None:
    """At 1e11 doubles leave an error of about one tenth: acceptance falls, nothing is refused for what the sums are."""
    sums = np.diag([4, 2, 1]).astype(np.int64) * 2**40
    frame = Frames(1).draw(pack(sums), 2.0**40 / 2.5e10, randomness=SystemRandomness()) / LATTICE
    assert abs(frame[0]) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "mechanism", [Frames(2, (1.0, 2.0, 3.0)), Gibbs(2, (1.0, 2.0, 3.0), steps=3)], ids=["exact", "gibbs"]
)
def test_the_price_is_the_nuclear_norm_over_the_scale(mechanism: Frames | Gibbs) -> None:
    profile = mechanism.profile(Sensitivity(8.0, Nuclear(), "eight"), 4.0)
    assert profile == RangeProfile(math.nextafter(2.0, 3.0))
    assert mechanism.noise(4.0, 6) == Noise("frame", (6,), (4.0,))
    assert mechanism.norm == Nuclear()
    assert mechanism.pure


def test_the_markov_chain_says_that_it_is_approximate() -> None:
    assert "approximately" in Gibbs(1).warning
    assert Frames(1).warning == ""
    frames = frames_of(Gibbs(1, None, steps=30), 1e4 * np.diag([9.0, 1.0, 0.0]), 10.0, 3, seed=2)
    np.testing.assert_allclose(np.abs(frames[:, 0, 0]), 1, atol=0.01)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"k": 0}, ("k", 0)),
        ({"k": 3, "precision": (1.0, 2.0)}, ("k", 3)),
        ({"k": 1, "precision": (1.0, -2.0)}, ("precision", (1.0, -2.0))),
        ({"k": 1, "base": "haar"}, ("base", "haar")),
        ({"k": 1, "base": "projected"}, ("precision",)),
        (
            {"k": 2, "precision": (1.0,) * 7, "base": "projected"},
            ("precision", 7),
        ),
    ],
    ids=["no column", "too many columns", "negative", "unknown", "no precision", "too many coordinates"],
)
def test_wrong_mechanisms_are_refused(arguments: dict[str, Any], about: Any) -> None:
    with refused(UsageError, *about):
        Frames(**arguments)


def test_wrong_chains_are_refused() -> None:
    with refused(UsageError, "steps", 0):
        Gibbs(1, steps=0)


@pytest.mark.parametrize(
    ("mechanism", "size", "scale", "about"),
    [
        (Frames(4), 6, 1.0, ("k", 4)),
        (Frames(1, (1.0, 1.0)), 6, 1.0, ("precision", 2)),
        (Frames(1), 6, 0.0, ("scale", 0.0)),
        (Frames(1), 6, math.nan, ("scale", float("nan"))),
        (Frames(1), 5, 1.0, ("size", 5)),
    ],
    ids=["columns", "coordinates", "no scale", "nan", "no matrix"],
)
def test_what_does_not_fit_is_refused_by_public_facts(mechanism: Frames, size: int, scale: float, about: Any) -> None:
    with refused(UsageError, *about):
        mechanism.draw(np.zeros(size, dtype=np.int64), scale, randomness=SeededRandomness(1))
