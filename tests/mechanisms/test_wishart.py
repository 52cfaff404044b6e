"""Two-sided Wishart noise: rounded exactly, with the right law, and private by its cell probabilities.

The system's source cannot be seeded: each test of it fails by chance once in a million runs. Seeded tests state the
same level and never fail by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.special import k0, kve
from scipy.stats import beta, binom, chisquare, gamma, kstest, laplace, norm

from dpfda.arrays import Array, Integers
from dpfda.bases.symmetric import multiplicities, pack, packed_size, places, unpack
from dpfda.errors import UsageError
from dpfda.mechanisms import Randomness, SeededRandomness, SystemRandomness, wishart
from dpfda.mechanisms.noise import Noise
from dpfda.mechanisms.normals import Reals, draw_normals
from dpfda.mechanisms.wishart import Wishart, draw_noise, round_in_doubles, round_in_integers
from dpfda.privacy.norms import L2, Nuclear, Sensitivity

LEVEL = 1e-6
LARGE = 1e9  # a scale at which the lattice cannot be told from the continuum


@cache
def drawn(side: int, scale: float, draws: int, seed: int | None) -> Integers:
    """Noise matrices by their entries, (draws, size); no seed means the system's source."""
    source: Randomness = SystemRandomness() if seed is None else SeededRandomness(seed)
    zeros = np.zeros(packed_size(side), dtype=np.int64)
    return np.array([Wishart().draw(zeros, scale, randomness=source) for _ in range(draws)])


# Rounding -------------------------------------------------------------------------------------------------------------


def bounds(numbers: list[tuple[Fraction, Fraction]], side: int, scale: float) -> list[tuple[Fraction, Fraction]]:
    """Bounds on the entries of `W_1 - W_2` from bounds on the normal numbers, in rational numbers."""
    matrices = np.empty((2, side + 1, side), dtype=object)
    matrices.ravel()[:] = numbers
    entries = []
    for i, j in zip(*(x.tolist() for x in places(side)), strict=True):
        low = high = Fraction(0)
        for sign, matrix in zip((1, -1), matrices, strict=True):
            for row in matrix:
                ends = [sign * a * b for a in row[i] for b in row[j]]
                low, high = low + min(ends), high + max(ends)
        entries.append((low * Fraction(scale) / 2, high * Fraction(scale) / 2))
    return entries


def nearest(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


def exactly_rounded(normals: Reals, side: int, scale: float) -> list[int]:
    """The rounded entries from 80 digits of every normal number; where they leave it open the test must fail."""
    closest = [normals.refine(index, 80) for index in range(len(normals.words))]
    rounded = bounds([(Fraction(low), Fraction(high)) for low, high in closest], side, scale)
    assert [nearest(low) for low, _ in rounded] == [nearest(high) for _, high in rounded]
    return [nearest(low) for low, _ in rounded]


def compare(side: int, scale: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """What was drawn, and what should have been drawn from the same normal numbers."""
    kept: list[Reals] = []

    def keep(size: int, randomness: Randomness) -> Reals:
        kept.append(draw_normals(size, randomness))
        return kept[-1]

    with monkeypatch.context() as patch:
        patch.setattr(wishart, "draw_normals", keep)
        noise = draw_noise(side, scale, SeededRandomness(seed)).tolist()
    return noise, exactly_rounded(kept[0], side, scale)


@pytest.mark.parametrize("scale", [1e-3, 0.4, 3.7, 1e6, 2.0**34 / 3, 2.0**44, 2.0**53])
@pytest.mark.parametrize("side", [1, 2, 3, 6])
def test_the_noise_is_the_real_matrix_rounded(side: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        noise, expected = compare(side, scale, seed, monkeypatch)
        assert noise == expected


@pytest.mark.parametrize("side", [1, 2, 3])
def test_whole_numbers_alone_give_the_same_matrix(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is decided in doubles; at moderate scales nearly all would be."""
    for scale in (0.4, 1e3, 1e8):
        plain = draw_noise(side, scale, SeededRandomness(11))
        with monkeypatch.context() as patch:
            nothing = np.zeros(packed_size(side), dtype=np.int64), np.zeros(packed_size(side), dtype=bool)
            patch.setattr(wishart, "round_in_doubles", lambda *_, nothing=nothing: nothing)
            assert np.array_equal(draw_noise(side, scale, SeededRandomness(11)), plain)


def test_doubles_decide_nearly_everything_at_moderate_scales_and_nothing_at_the_largest() -> None:
    normals = draw_normals(2 * 11 * 10, SeededRandomness(12))
    assert round_in_doubles(normals, 10, 1e9)[1].all()
    assert not round_in_doubles(normals, 10, 2.0**53)[1].any()


def test_a_rounding_that_trusts_doubles_too_far_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same comparison fails if doubles decide all entries at a scale at which they cannot."""
    honest = wishart.round_in_doubles

    def rash(normals: Reals, side: int, scale: float) -> tuple[Integers, object]:
        values = normals.values.reshape(2, side + 1, side)
        squares = values.transpose(0, 2, 1) @ values
        return np.rint(scale / 2 * pack(squares[0] - squares[1])).astype(np.int64), np.ones(packed_size(side), bool)

    monkeypatch.setattr(wishart, "round_in_doubles", rash)
    noise, expected = compare(3, 2.0**53, 0, monkeypatch)
    assert noise != expected
    monkeypatch.setattr(wishart, "round_in_doubles", honest)


@pytest.mark.parametrize("fault", ["one cell off", "bits of another number", "one sign for all"])
def test_numbers_that_are_refined_wrongly_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same comparison fails if the bits that decide are not those of the numbers."""
    honest = Reals.integers

    def faulty(self: Reals, indices: range, bits: int) -> list[int]:
        centres = honest(self, indices, bits)
        if fault == "one cell off":
            return [centre + (2 << (bits - 53)) for centre in centres]
        if fault == "bits of another number":
            low = (2 << (bits - 53)) - 1
            return [a - (a & low) + (b & low) for a, b in zip(centres, centres[1:] + centres[:1], strict=True)]
        return [abs(centre) for centre in centres]

    with monkeypatch.context() as patch:
        patch.setattr(wishart.Reals, "integers", faulty)
        noise = draw_noise(3, 2.0**53, SeededRandomness(0))
    assert noise.tolist() != compare(3, 2.0**53, 0, monkeypatch)[1]
    assert draw_noise(3, 2.0**53, SeededRandomness(0)).tolist() == compare(3, 2.0**53, 0, monkeypatch)[1]


WORDS = st.one_of(st.integers(0, 2**53 - 1), st.integers(0, 2**20), st.sampled_from([0, 1, 2**53 - 1]))
NUMBER = st.tuples(st.sampled_from([-1, 1]), st.sampled_from([0, 0, 0, 1, 2, 9]), WORDS)


@st.composite
def near_halves(draw: st.DrawFn) -> tuple[Reals, int, float]:
    """Normal numbers and a scale at which some entry is as near to a half as doubles allow."""
    side = draw(st.integers(1, 3))
    count = 2 * (side + 1) * side
    signs, wholes, words = np.array(draw(st.lists(NUMBER, min_size=count, max_size=count)), dtype=np.int64).T
    normals = Reals(signs, wholes, words, SeededRandomness(0))
    numbers = [Fraction(c, 2**54) for c in normals.integers(range(count), 53)]
    entries = [abs(low) for low, _ in bounds([(x, x) for x in numbers], side, 2.0)]
    entry = draw(st.sampled_from(entries))
    half = draw(st.integers(0, 2**40)) + Fraction(1, 2)
    scale = float(2 * half / entry) if entry else 1.0
    for _ in range(draw(st.integers(0, 3))):
        scale = math.nextafter(scale, draw(st.sampled_from([0.0, math.inf])))
    return normals, side, min(max(scale, 1e-3), 2.0**53)


def wrongly_decided(normals: Reals, side: int, scale: float) -> list[int]:
    """Entries that doubles decided otherwise than all real numbers do that begin with the known bits."""
    cells = [(Fraction(c - 1, 2**54), Fraction(c + 1, 2**54)) for c in normals.integers(range(len(normals.words)), 53)]
    rounded, decided = round_in_doubles(normals, side, scale)
    sure = zip(bounds(cells, side, scale), rounded.tolist(), decided.tolist(), strict=True)
    return [z for (low, high), z, known in sure if known and not nearest(low) == z == math.ceil(high - Fraction(1, 2))]


@pytest.mark.audit
@given(case=near_halves())
@settings(derandomize=True, deadline=None, max_examples=500)
def test_doubles_decide_nothing_that_unknown_bits_could_change(case: tuple[Reals, int, float]) -> None:
    assert wrongly_decided(*case) == []


def test_doubles_without_their_error_bound_are_caught_by_the_same_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small numbers have few known digits: without `errors` the doubles are sure of what nobody knows."""
    words = np.array([2**30 + 1, 2**29 + 3, 2**27, 2**26 + 9], dtype=np.int64)
    normals = Reals(np.ones(4, dtype=np.int64), np.zeros(4, dtype=np.int64), words, SeededRandomness(0))
    middles = [Fraction(c, 2**54) for c in normals.integers(range(4), 53)]
    [(entry, _)] = bounds([(x, x) for x in middles], 1, 2.0)
    # The middle lies just above a half.
    scale = float(1 / entry) * (1 + 1e-13)
    assert wrongly_decided(normals, 1, scale) == []
    monkeypatch.setattr(Reals, "errors", property(lambda self: np.zeros(len(self.words))))
    assert wrongly_decided(normals, 1, scale) == [1]


@pytest.mark.parametrize("side", [1, 2, 5])
def test_more_bits_decide_more_and_never_otherwise(side: int) -> None:
    normals = draw_normals(2 * (side + 1) * side, SeededRandomness(13))
    entries = list(range(packed_size(side)))
    found: dict[int, int] = {}
    counts = []
    for bits in (53, 60, 106, 212):
        now = round_in_integers(normals, side, 2.0**53, entries, bits)
        assert found.items() <= now.items()
        found = now
        counts.append(len(now))
    assert counts[-1] == len(entries)
    assert found == dict(enumerate(exactly_rounded(normals, side, 2.0**53)))


def test_entries_that_106_bits_leave_open_are_decided_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    honest = wishart.round_in_integers

    def stubborn(normals: Reals, side: int, scale: float, entries: list[int], bits: int) -> dict[int, int]:
        asked.append(bits)
        found = honest(normals, side, scale, entries, bits)
        return found if bits > 300 else {entry: z for entry, z in found.items() if entry == 1}

    plain = draw_noise(2, 2.0**53, SeededRandomness(14))
    monkeypatch.setattr(wishart, "round_in_integers", stubborn)
    assert np.array_equal(draw_noise(2, 2.0**53, SeededRandomness(14)), plain)
    assert asked == [106, 212, 424]


def test_noise_beyond_64_bits_wraps_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be seen at any scale that is allowed, but it would be a function of the noisy sum alone."""
    nothing = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=bool)
    monkeypatch.setattr(wishart, "round_in_doubles", lambda *_: nothing)
    monkeypatch.setattr(wishart, "round_in_integers", lambda *_: {0: 2**63, 1: -(2**63) - 1, 2: 3 * 2**64 - 5})
    assert draw_noise(2, 1.0, SeededRandomness(0)).tolist() == [-(2**63), 2**63 - 1, -5]


# The face of the mechanism --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, -1.0, 9e-4, 2.0**53 * 1.001, math.inf, math.nan])
def test_scales_that_cannot_be_drawn_are_refused(scale: float) -> None:
    with refused(UsageError, "scale", scale):
        Wishart().draw(np.zeros(3, dtype=np.int64), scale, randomness=SystemRandomness())


@pytest.mark.parametrize("size", [0, 2, 4, 5])
def test_vectors_that_are_no_symmetric_matrix_are_refused(size: int) -> None:
    with refused(UsageError, "size", size):
        Wishart().draw(np.zeros(size, dtype=np.int64), 1.0, randomness=SystemRandomness())
    if size:
        with refused(UsageError, "size", size):
            Wishart().noise(1.0, size)
    with refused(UsageError, "size", size):
        Wishart().profile(Sensitivity(1.0, L2(), "a move"), 1.0, size=size)


def test_the_profile_is_the_nuclear_norm_over_the_scale_rounded_up() -> None:
    profile = Wishart().profile(Sensitivity(2.0, Nuclear(), "two"), 8.0)
    assert profile.epsilon == math.nextafter(0.25, 1.0)
    assert Wishart().profile(Sensitivity(2.0, L2(), "two"), 8.0, size=3).epsilon == pytest.approx(0.5, rel=1e-15)


def test_the_law_of_the_noise_is_public() -> None:
    assert Wishart().noise(7.0, 10) == Noise("wishart", (10,), (7.0,))


# The law --------------------------------------------------------------------------------------------------------------


def check_moments(z: Array, side: int) -> None:
    """No mean, variances `(m+1) / multiplicity`, no correlation: each at level 1e-6 by the normal approximation."""
    draws, reach = len(z), norm.isf(LEVEL / 2) / math.sqrt(len(z))
    deviations = np.sqrt((side + 1) / multiplicities(side))
    assert np.all(np.abs(z.mean(axis=0)) < reach * deviations)
    for i in range(z.shape[1]):
        for j in range(i + 1):
            products = z[:, i] * z[:, j]
            expected = deviations[i] ** 2 if i == j else 0.0
            assert abs(products.mean() - expected) < reach * products.std()
    # The squared Frobenius norm has the mean m (m+1)^2 / 2; with scale = 2 tau^2/epsilon 2 m (m+1)^2 tau^4/epsilon^2.
    squares = z**2 @ multiplicities(side)
    assert abs(squares.mean() - side * (side + 1) ** 2 / 2) < norm.isf(LEVEL / 2) * squares.std() / math.sqrt(draws)


def difference(shape: float) -> Callable[[Array], Array]:
    """The distribution function of the difference of two independent Gamma(shape) variables, by quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    points = gamma(shape).ppf((nodes + 1) / 2)
    grid = np.linspace(-12, 12, 2001) * math.sqrt(2 * shape)
    values = gamma(shape).cdf(grid[:, None] + points) @ weights / 2
    return lambda x: np.interp(x, grid, values)


def check_directions(z: Array, side: int) -> None:
    """v'Wv is `Gamma((m+1)/2)` for every unit v, and the trace `Gamma(m(m+1)/2)`: Kolmogorov-Smirnov, 1e-6 in all."""
    matrices = unpack(z)
    mixed = np.arange(1.0, side + 1) * (-1.0) ** np.arange(side)
    for v in (np.eye(side)[0], np.eye(side)[-1], np.full(side, side**-0.5), mixed / np.linalg.norm(mixed)):
        along = np.einsum("i,nij,j->n", v, matrices, v)
        assert kstest(along, difference((side + 1) / 2)).pvalue > LEVEL / 5
    trace = np.trace(matrices, axis1=1, axis2=2)
    assert kstest(trace, difference(side * (side + 1) / 2)).pvalue > LEVEL / 5


def definite(matrices: Array) -> Array:
    return np.linalg.eigvalsh(matrices)[..., 0] >= 0


def check_definite(z: Array, side: int) -> None:
    """`W_1 - W_2` is positive semidefinite with chance `2^(-m(m+1)/2)`, and then it is another such Wishart matrix.

    Its density is `c^2 exp(-tr T) int exp(-2 tr W) dW = 2^(-m(m+1)/2) c exp(-tr T)` on the cone. Binomial test and
    Kolmogorov-Smirnov test of the trace, each at half of 1e-6.
    """
    matrices = unpack(z)
    inside = definite(matrices)
    chance = 0.5 ** packed_size(side)
    assert binom.cdf(inside.sum(), len(z), chance) > LEVEL / 4
    assert binom.sf(inside.sum() - 1, len(z), chance) > LEVEL / 4
    trace = np.trace(matrices[inside], axis1=1, axis2=2)
    assert kstest(trace, gamma(side * (side + 1) / 2).cdf).pvalue > LEVEL / 2


CHECKS = pytest.mark.parametrize("check", [check_moments, check_directions, check_definite])


@pytest.mark.audit
@CHECKS
@pytest.mark.parametrize("side", [1, 2, 3])
def test_seeded_noise_has_the_law_at_a_large_scale(check: Callable[[Array, int], None], side: int) -> None:
    """15,000 draws, level 1e-6 a test; the seed is fixed."""
    check(drawn(side, LARGE, 15_000, 1) / LARGE, side)


@pytest.mark.audit
@CHECKS
@pytest.mark.parametrize("side", [1, 3])
def test_the_systems_noise_has_the_law_at_a_large_scale(check: Callable[[Array, int], None], side: int) -> None:
    """6,000 draws, level 1e-6 a test, anew in each run."""
    check(drawn(side, LARGE, 6_000, None) / LARGE, side)


@pytest.mark.audit
@pytest.mark.parametrize(
    ("check", "side"),
    # At side 5 one in 32,768 is definite: too few to tell.
    [(check, side) for check in (check_moments, check_directions, check_definite) for side in (2, 3)]
    + [(check_moments, 5), (check_directions, 5)],
)
def test_much_noise_has_the_law_at_a_large_scale(check: Callable[[Array, int], None], side: int) -> None:
    """60,000 draws, level 1e-6 a test, anew in each run."""
    check(drawn(side, LARGE, 60_000, None) / LARGE, side)


def simulated(side: int, rows: int, draws: int, seed: int) -> tuple[Array, Array]:
    """Two independent Wishart matrices of a scale of 1 with so many rows, by their entries, each (draws, size)."""
    normals = np.random.default_rng(seed).standard_normal((2, draws, rows, side))
    squares = pack(normals.transpose(0, 1, 3, 2) @ normals / 2)
    return squares[0], squares[1]


def test_faults_in_the_law_are_caught_by_the_same_checks() -> None:
    """One row less, one matrix only, a scale 5 % off; each at level 1e-6."""
    side = 3
    honest, fewer = (np.subtract(*simulated(side, rows, 15_000, 2)) for rows in (side + 1, side))
    for check in (check_moments, check_directions, check_definite):
        check(honest, side)
    for fault in (fewer, simulated(side, side + 1, 15_000, 3)[0]):
        for check in (check_moments, check_directions):
            with pytest.raises(AssertionError):
                check(fault, side)
    with pytest.raises(AssertionError):
        check_moments(honest * 1.05, side)


def test_noise_on_one_entry_is_laplace_noise() -> None:
    """Half a chi-square of 2 degrees is exponential. Kolmogorov-Smirnov, 15,000 draws, level 1e-6; seeded."""
    assert kstest(drawn(1, LARGE, 15_000, 1)[:, 0] / LARGE, laplace.cdf).pvalue > LEVEL


# Probabilities of lattice points, side 1 and 2 -----------------------------------------------------------------------
# A function of integers (points, size) and a scale that gives logarithms of probabilities, (points,).
LogChances = Callable[[Integers, float], Array]


def of_one(z: Integers, scale: float) -> Array:
    """The Laplace law rounded: its integrals over cells in closed form."""
    size = np.abs(z[:, 0])
    outer = -(size - 0.5) / scale + math.log(-math.expm1(-1 / scale) / 2)
    return np.where(size == 0, math.log(-math.expm1(-0.5 / scale)), outer)


def log_density(entries: Array, scale: float) -> Array:
    """The density of `W_1 - W_2`, 2 by 2, at matrices with these entries, (..., 3), up to quadrature in one dimension.

    It is `c^2 exp(tr T / scale) int exp(-2 tr W / scale) dW` over W and W - T in the cone. Write W by half its trace z
    and a point p of the plane, |p| <= z: two cones of the usual kind with tips in the plane at distance d, half the
    distance of the eigenvalues of T. Elliptic coordinates around the tips separate the integral.
    """
    middle = (entries[..., 0] + entries[..., 1]) / 2
    apart = np.hypot((entries[..., 0] - entries[..., 1]) / 2, entries[..., 2])
    logs = -2 * np.abs(middle) / scale - math.log(4 * math.pi * scale**3)  # for definite T
    mixed = apart > np.abs(middle)
    z, d, rate = middle[mixed], apart[mixed], 2 / scale
    nodes, weights = np.polynomial.legendre.leggauss(24)
    plain = squared = np.zeros(len(z))
    edge = np.arccos(z / d)  # where the exponent has its kink
    for low, high in ((0 * edge, edge), (edge, np.full(len(z), np.pi))):
        angle = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * nodes
        part = np.exp(-rate * np.abs(d[:, None] * np.cos(angle) - z[:, None])) * weights * (high - low)[:, None]
        plain, squared = plain + part.sum(axis=1), squared + (part * np.cos(angle) ** 2).sum(axis=1)
    first, third = kve(0, rate * d), kve(2, rate * d)
    integral = d**2 * ((first + third) / 2 * plain - first * squared)
    logs[mixed] = np.log(integral / (2 * math.pi**2 * scale**5)) - rate * d
    return logs


def of_two(z: Integers, scale: float, count: int = 7) -> Array:
    """Integrals of the density over the cells of entries that are rounded to z, by so many nodes in each direction.

    The nodes of two cells are apart by an integer vector too: no ratio of these sums exceeds the worst of densities.
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    offsets = np.array(list(product(nodes / 2, repeat=3)))
    shares = np.array([math.prod(w) for w in product(weights / 2, repeat=3)])
    return np.log(sum(w * np.exp(log_density(z + o, scale) + 1.0) for o, w in zip(offsets, shares, strict=True))) - 1.0


def one_row_less(z: Integers, scale: float) -> Array:
    """A planted fault at side 1: half chi-squares of one degree of freedom, whose difference has density K_0 / pi."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    halves = (nodes + 1) / 4
    # Two halves of each cell, so that the pole at zero is an end.
    size = np.abs(z[:, 0]).astype(np.float64)
    cells = sum(k0(np.abs(size[:, None] + sign * halves) / scale) @ weights for sign in (-1, 1))
    return np.log(cells / (4 * math.pi * scale))


def one_sided(z: Integers, scale: float) -> Array:
    """A planted fault at side 2: W_1 alone, with density `exp(-tr W / scale)` on the cone, at the cells' middles."""
    with np.errstate(divide="ignore"):
        return np.log(definite(unpack(z.astype(np.float64)))) - z[:, :2].sum(axis=1) / scale


def fit(z: Integers, chances: LogChances, scale: float, reach: int) -> float:
    """The p-value of a chi-square test over single lattice points, the rest pooled."""
    points = np.array(list(product(range(-reach, reach + 1), repeat=z.shape[1])))
    expected = len(z) * np.exp(chances(points, scale))
    inside = (np.abs(z) <= reach).all(axis=1)
    weights = (2 * reach + 1) ** np.arange(z.shape[1])[::-1]
    seen = np.bincount((z[inside] + reach) @ weights, minlength=len(points))
    cells = expected >= 25
    observed = np.append(seen[cells], len(z) - seen[cells].sum())
    return float(chisquare(observed, np.append(expected[cells], len(z) - expected[cells].sum())).pvalue)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.5])
def test_seeded_noise_on_one_entry_has_the_exact_probabilities(scale: float) -> None:
    """Chi-square over the integers, 15,000 draws, level 1e-6; the seed is fixed."""
    assert fit(drawn(1, scale, 15_000, 4), of_one, scale, 60) > LEVEL


@pytest.mark.audit
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_seeded_noise_on_two_by_two_matrices_has_the_probabilities_of_cells(scale: float) -> None:
    """Chi-square over lattice points, 15,000 draws, level 1e-6; the seed is fixed."""
    assert fit(drawn(2, scale, 15_000, 5), of_two, scale, 4) > LEVEL


@pytest.mark.audit
@pytest.mark.parametrize(("side", "chances"), [(1, of_one), (2, of_two)], ids=["1", "2"])
def test_much_noise_has_the_probabilities_of_cells(side: int, chances: LogChances) -> None:
    """Chi-square over lattice points, 100,000 draws, level 1e-6, anew in each run."""
    assert fit(drawn(side, 1.0, 100_000, None), chances, 1.0, 4) > LEVEL


def test_noise_of_one_row_less_has_other_probabilities() -> None:
    """The same chi-square tests at 15,000 draws tell it; at side 1 it has those of the planted fault."""
    one = np.rint(np.subtract(*simulated(1, 1, 15_000, 6)) * 4.5).astype(np.int64)
    assert fit(one, of_one, 4.5, 60) < LEVEL
    assert fit(one, one_row_less, 4.5, 60) > LEVEL
    two = np.rint(np.subtract(*simulated(2, 2, 15_000, 6))).astype(np.int64)
    assert fit(two, of_two, 1.0, 4) < LEVEL


def test_the_probabilities_of_cells_add_up_to_one() -> None:
    """At side 2 up to what lies beyond 10 steps and quadrature."""
    assert np.exp(of_one(np.arange(-200, 201)[:, None], 3.0)).sum() == pytest.approx(1, abs=1e-12)
    assert np.exp(one_row_less(np.arange(-200, 201)[:, None], 3.0)).sum() == pytest.approx(1, abs=1e-4)
    inner, outer = range(-2, 3), range(-10, 11)
    points = np.array(list(product(outer, repeat=3)))
    near = (np.abs(points) <= 2).all(axis=1)
    assert len(inner) ** 3 == near.sum()
    total = np.exp(of_two(points[near], 1.0)).sum() + np.exp(of_two(points[~near], 1.0, 2)).sum()
    assert total == pytest.approx(1, abs=1e-3)


def test_the_density_is_continuous_where_a_matrix_becomes_indefinite() -> None:
    for edge in ([1.0, 1.0, 1.0], [2.0, 0.0, 0.0], [0.0, -3.0, 0.0], [0.0, 0.0, 0.0], [4.0, 1.0, 2.0]):
        inside, outside = (log_density(np.array([[edge[0], edge[1], edge[2] + step]]), 2.0) for step in (-1e-9, 1e-9))
        assert inside == pytest.approx(outside, abs=1e-6)


def worst_loss(chances: LogChances, moves: list[tuple[int, ...]], points: Integers, scale: float) -> list[float]:
    """For every move the largest absolute log ratio of the probabilities of an output, over given outputs."""
    base = chances(points, scale)
    losses = []
    for move in moves:
        with np.errstate(invalid="ignore"):
            ratios = np.abs(chances(points - np.array(move), scale) - base)
        losses.append(float(ratios[~np.isnan(ratios)].max()))
    return losses


def replacements(side: int, square: int) -> list[tuple[int, ...]]:
    """All changes `xx' - yy'` of integer vectors whose squared norm is at most `square`, and not zero."""
    ball = [v for v in product(range(-square, square + 1), repeat=side) if sum(x * x for x in v) <= square]
    moves = {tuple(pack(np.outer(x, x) - np.outer(y, y)).tolist()) for x in ball for y in ball}
    return sorted(move for move in moves if any(move))


CASES: list[tuple[int, LogChances, int]] = [(1, of_one, 4), (2, partial(of_two, count=3), 4)]


def outputs(side: int) -> Integers:
    """A box of outputs around zero, and some far ones along the axes, where losses are largest."""
    box = list(product(range(-4, 5), repeat=packed_size(side)))
    far = [
        tuple(int(step * x) for x in ray)
        for step in (10, 20, 40, 60)
        for ray in (pack(np.diag(signs)) for signs in product((-1, 0, 1), repeat=side))
    ]
    return np.array(box + far + [(0, 0, step) for step in (-40, 40)] * (side == 2))


@pytest.mark.parametrize(("side", "chances", "square"), CASES, ids=["1", "2"])
@pytest.mark.parametrize("scale", [2.0, pytest.param(8.0, marks=pytest.mark.audit)])
def test_no_ratio_of_probabilities_exceeds_epsilon_and_some_come_near(
    side: int, chances: LogChances, square: int, scale: float
) -> None:
    """For all replacements within a ball; the worst one, by orthogonal vectors, within 10 % of e^epsilon."""
    moves = replacements(side, square)
    stated = [
        Wishart().profile(Sensitivity(Nuclear()(move), Nuclear(), "a move"), scale, size=packed_size(side)).epsilon
        for move in moves
    ]
    losses = worst_loss(chances, moves, outputs(side), scale)
    for loss, epsilon in zip(losses, stated, strict=True):
        assert loss <= epsilon * (1 + 1e-9)
    assert max(stated) == pytest.approx((2 if side > 1 else 1) * square / scale, rel=1e-12)
    assert math.exp(max(losses)) >= 0.9 * math.exp(max(stated))


@pytest.mark.parametrize(
    ("side", "fault"),
    [
        (1, one_row_less),
        (2, one_sided),
        (1, lambda z, scale: of_one(z, 0.95 * scale)),
        (2, lambda z, scale: of_two(z, 0.95 * scale, 1)),
    ],
    ids=["one row less", "one-sided", "scale 5 % off, 1", "scale 5 % off, 2"],
)
def test_faults_in_the_noise_break_the_bound_on_ratios(side: int, fault: LogChances) -> None:
    moves = replacements(side, 4)
    losses = worst_loss(fault, moves, outputs(side), 2.0)
    assert any(loss > Nuclear()(move) / 2.0 * (1 + 1e-3) for loss, move in zip(losses, moves, strict=True))


# Audit of whole draws ------------------------------------------------------------------------------------------------
# Clopper-Pearson at 1e-6 on each side, for an event and its opposite and in both directions: a sound mechanism proves
# too much less than once in 100,000 runs, and too little about as seldom.
DRAWS = 60_000


def proven(hits: int, others: int) -> float:
    """The least log ratio of chances under which these two counts are possible."""
    at_least = float(beta.ppf(LEVEL, hits, DRAWS - hits + 1)) if hits else 0.0
    at_most = float(beta.ppf(1 - LEVEL, others + 1, DRAWS - others)) if others < DRAWS else 1.0
    return math.log(at_least / at_most) if at_least else -math.inf


def proven_epsilon(hits: Array, others: Array) -> float:
    """The least epsilon under which the frequencies of an event and of its opposite are possible."""
    one, other = int(hits.sum()), int(others.sum())
    pairs = ((one, other), (other, one), (DRAWS - one, DRAWS - other), (DRAWS - other, DRAWS - one))
    return max(proven(*pair) for pair in pairs)


def sure_to_prove(chances: tuple[float, float]) -> float:
    """What an event of these chances proves, but for one run in 500,000: its counts at their quantiles of 1e-6."""
    return proven(int(binom.ppf(LEVEL, DRAWS, chances[0])), int(binom.isf(LEVEL, DRAWS, chances[1])))


SQUARE = 2**32  # one unit's largest squared norm in lattice steps


def added(noise: Array, move: Array, scale: float) -> Array:
    """Whether the sum is at least the move: for a positive move each such output costs exactly epsilon."""
    return definite(unpack(noise - move))


def replaced(noise: Array, move: Array, scale: float) -> Array:
    """Whether the likelihood ratio is beyond e^(0.7 epsilon)."""
    epsilon = Nuclear()(move) / scale
    return log_density(noise - move, scale) - log_density(noise, scale) > 0.7 * epsilon


# The chances of each event for two neighbours at epsilon = 2. The first are exact: 1/8 of all noise is definite. The
# second are those of four million simulated pairs, within 0.0002 each.
AUDITS = pytest.mark.parametrize(
    ("event", "move", "chances"),
    [
        (added, (SQUARE, 0, 0), (0.125, 0.125 * math.exp(-2))),
        (replaced, (SQUARE, -SQUARE, 0), (0.1981, 0.0394)),
    ],
    ids=["added", "replaced"],
)


@pytest.mark.audit
@AUDITS
def test_an_attacker_proves_no_more_than_epsilon_and_nearly_as_much(
    event: Callable[[Array, Array, float], Array], move: tuple[int, ...], chances: tuple[float, float]
) -> None:
    """60,000 draws for each of two neighbours, the system's source, epsilon = 2: at least 1.61 and 1.35 are proven."""
    vector, scale = np.array(move, dtype=np.int64), Nuclear()(move) / 2.0
    source = SystemRandomness()
    start = np.array([2**40, 2**41, -(2**39)], dtype=np.int64)
    one, other = (
        np.array([Wishart().draw(start + shift, scale, randomness=source) for _ in range(DRAWS)]) - start
        for shift in (vector, 0 * vector)
    )
    assert sure_to_prove(chances) <= proven_epsilon(event(one, vector, scale), event(other, vector, scale)) <= 2.0


@AUDITS
@pytest.mark.parametrize(("rows", "factor", "sides"), [(2, 1.0, 2), (3, 0.5**0.5, 2), (3, 1.0, 1)])
def test_an_attacker_catches_planted_faults(
    event: Callable[[Array, Array, float], Array],
    move: tuple[int, ...],
    chances: tuple[float, float],
    rows: int,
    factor: float,
    sides: int,
) -> None:
    """One row less, noise smaller by the root of two, one-sided noise: 60,000 seeded draws prove more than 2."""
    assert 1.3 < sure_to_prove(chances) < 2.0
    vector, scale = np.array(move, dtype=np.float64), Nuclear()(move) / 2.0

    def noise(seed: int) -> Array:
        first, second = simulated(2, rows, DRAWS, seed)
        return factor * scale * (first - second if sides == 2 else first)

    one, other = event(noise(7) + vector, vector, scale), event(noise(8), vector, scale)
    assert proven_epsilon(one, other) > 2.0
