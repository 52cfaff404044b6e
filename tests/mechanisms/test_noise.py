"""The public law of the noise: its variances, its quantile map, its parts, its file form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy.stats import binom, gamma, ks_2samp, kstest, laplace, norm

from dpfda.bases.symmetric import multiplicities, pack, unpack
from dpfda.errors import UsageError
from dpfda.ledger import amounts
from dpfda.mechanisms import wishart
from dpfda.mechanisms.noise import LAWS, Noise, NoiseLaw

# Noise in blocks of coordinates, and noise on symmetric matrices; together the single list of laws that add noise.
BLOCKS = [
    Noise("gaussian", (1,), (2.0,)),
    Noise("gaussian", (5,), (0.3,)),
    Noise("gaussian", (1, 2, 3), (1.0, 2.0, 0.5)),
    Noise("radial", (1,), (2.0,)),
    Noise("radial", (1, 1, 1), (1.0, 2.0, 0.5)),
    Noise("radial", (4,), (0.3,)),
    Noise("radial", (1, 8, 3), (1.0, 2.0, 0.5)),
    Noise("radial", (16,), (1.0,)),
]
MATRICES = [Noise("wishart", (size,), (scale,)) for size, scale in ((1, 2.0), (3, 0.3), (6, 1.0), (15, 40.0))]
MEMBERS = BLOCKS + MATRICES
every = pytest.mark.parametrize("noise", MEMBERS, ids=str)
in_blocks = pytest.mark.parametrize("noise", BLOCKS, ids=str)
on_matrices = pytest.mark.parametrize("noise", MATRICES, ids=str)


OWN = {"gaussian", "radial", "wishart", "choice", "frame"}


def test_every_law_of_the_package_that_adds_noise_is_a_member_here() -> None:
    assert set(LAWS) >= OWN
    assert {noise.name for noise in MEMBERS} == {name for name in OWN if LAWS[name].added}


def drawn(noise: NoiseLaw, draws: int, seed: int) -> np.ndarray:
    return noise.from_uniforms(np.random.default_rng(seed).random((draws, noise.dimension)))


@in_blocks
def test_the_variances_follow_the_formula_of_each_block(noise: NoiseLaw) -> None:
    expected = []
    for size, scale in zip(noise.sizes, noise.scales, strict=True):
        # In M dimensions |z|/scale is Gamma(M): E|z|^2 = M (M+1) scale^2, shared by M coordinates.
        per_coordinate = scale**2 if noise.name == "gaussian" else gamma(size).moment(2) * scale**2 / size
        expected += [per_coordinate] * size
    assert noise.size == len(expected)
    assert noise.variances.dtype == np.float64
    np.testing.assert_allclose(noise.variances, expected, rtol=1e-14)


def test_a_radial_block_of_one_coordinate_is_laplace_noise() -> None:
    assert Noise("radial", (1,), (3.0,)).variances.tolist() == [2 * 9.0]


@every
def test_scaling_the_law_scales_every_coordinate(noise: NoiseLaw) -> None:
    np.testing.assert_allclose(noise.scaled(3.0).variances, 9 * noise.variances, rtol=1e-14)
    uniforms = np.random.default_rng(0).random((10, noise.dimension))
    np.testing.assert_allclose(noise.scaled(3.0).from_uniforms(uniforms), 3 * noise.from_uniforms(uniforms), rtol=1e-14)


@every
def test_noise_from_uniforms_has_the_moments_of_the_law(noise: NoiseLaw) -> None:
    """Means and variances of every coordinate at level 1e-6 each by the normal approximation; the seed is fixed."""
    z, draws = drawn(noise, 40_000, 1), 40_000
    assert z.shape == (draws, noise.size)
    reach = norm.isf(5e-7) / math.sqrt(draws)
    deviations = np.sqrt(noise.variances)
    assert np.all(np.abs(z.mean(axis=0)) < reach * deviations)
    squares = (z / deviations) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - 1) < reach * squares.std(axis=0))


@every
def test_standard_draws_have_variance_one_and_the_shape_of_the_law(noise: NoiseLaw) -> None:
    """Variances at level 1e-6 each by the normal approximation, deciles of absolute values at 1e-6; seeds are fixed."""
    draws = 20_000
    z = noise.standard_draws(np.random.default_rng(11), draws)
    assert z.shape == (draws, noise.size)
    squares = z**2
    reach = norm.isf(5e-7) / math.sqrt(draws)
    assert np.all(np.abs(squares.mean(axis=0) - 1) < reach * squares.std(axis=0))
    other = drawn(noise, draws, 12) / np.sqrt(noise.variances)
    for j in range(noise.size):
        assert ks_2samp(z[:, j], other[:, j]).pvalue > 1e-6


@every
@pytest.mark.parametrize("failure", [0.3, 0.05, 0.005])
def test_no_coordinate_goes_beyond_its_tail_more_often_than_stated(noise: NoiseLaw, failure: float) -> None:
    """Binomial at level 1e-6 for each coordinate; the seed is fixed. Alone a coordinate goes there just as often."""
    draws = 40_000
    beyond = np.count_nonzero(np.abs(drawn(noise, draws, 13)) > noise.tail(failure), axis=0)
    assert noise.tail(failure).shape == (noise.size,)
    assert np.all(beyond <= binom.isf(1e-6, draws, failure))
    if noise.independent:
        assert np.all(beyond >= binom.ppf(1e-6, draws, failure))


@every
def test_a_normal_tail_would_be_too_short_for_all_but_normal_noise(noise: NoiseLaw) -> None:
    normal = norm.isf(5e-6) * np.sqrt(noise.variances)
    tail = noise.tail(1e-5)
    assert np.all(tail == pytest.approx(normal) if noise.stable else tail > normal)


@every
def test_a_law_says_which_privacy_curves_it_can_have(noise: NoiseLaw) -> None:
    assert set(noise.possible_curves) <= set(noise.curves) <= set(amounts.LAWS)
    assert ("laplace" in noise.possible_curves) is (noise.name == "radial" and noise.independent)


@every
def test_laws_follow_each_other_as_they_were_split(noise: NoiseLaw) -> None:
    if noise.name == "wishart" or len(noise.sizes) == 1:
        return
    first, rest = noise.split(noise.sizes[0])
    assert first.followed_by(rest) == noise


@every
def test_ratios_and_standard_scales_keep_the_shape(noise: NoiseLaw) -> None:
    assert max(noise.in_ratios().scales) == 1.0
    assert noise.scaled(1e-30).in_ratios() == noise.in_ratios()
    assert set(noise.standard().scales) == {1.0}
    assert noise.standard().sizes == noise.sizes


@in_blocks
def test_a_block_from_uniforms_has_its_radius_and_no_preferred_direction(noise: NoiseLaw) -> None:
    """Kolmogorov-Smirnov tests at level 1e-6 each; the seed is fixed."""
    z = drawn(noise, 20_000, 2)
    edges = np.cumsum([0, *noise.sizes])
    for low, high, scale in zip(edges[:-1], edges[1:], noise.scales, strict=True):
        block, size = z[:, low:high] / scale, high - low
        radius = np.linalg.norm(block, axis=1)
        law = gamma(size).cdf if noise.name == "radial" else lambda r, size=size: gamma(size / 2).cdf(r**2 / 2)
        assert kstest(radius, law).pvalue > 1e-6
        along = (block / radius[:, None]) @ np.ones(size) / math.sqrt(size)
        if size == 1:
            assert abs(np.mean(along > 0) - 0.5) < norm.isf(5e-7) * 0.5 / math.sqrt(len(along))
        else:
            # The first coordinate of a uniform direction t has (1 + t)/2 ~ Beta((M-1)/2, (M-1)/2).
            half = (size - 1) / 2
            assert kstest((1 + along) / 2, "beta", args=(half, half)).pvalue > 1e-6


@in_blocks
def test_blocks_are_uncorrelated(noise: NoiseLaw) -> None:
    """Squares too, so that no mixing weight is shared between blocks: level 1e-6 a pair; the seed is fixed."""
    z = drawn(noise, 20_000, 3)
    block = np.repeat(np.arange(len(noise.sizes)), noise.sizes)
    reach = norm.isf(5e-7) / math.sqrt(len(z))
    for values in (z, np.argsort(np.argsort(np.abs(z), axis=0), axis=0)):
        between = np.atleast_2d(np.corrcoef(values, rowvar=False))[block[:, None] != block]
        assert np.all(np.abs(between) < reach)


def test_from_uniforms_is_a_map_and_not_a_generator() -> None:
    for noise in MEMBERS:
        middle = np.full((3, noise.dimension), 0.5)
        assert np.all(noise.from_uniforms(middle) == 0)
        uniforms = np.random.default_rng(4).random((5, noise.dimension))
        before = uniforms.copy()
        assert np.array_equal(noise.from_uniforms(uniforms), noise.from_uniforms(uniforms))
        assert np.array_equal(uniforms, before)


@every
def test_the_file_form_keeps_the_law_bit_for_bit(noise: NoiseLaw) -> None:
    assert NoiseLaw.from_dict(json.loads(json.dumps(noise.describe()))) == noise


def test_the_first_coordinate_is_split_off_where_it_is_independent() -> None:
    for noise, first, rest in (
        (MEMBERS[1], Noise("gaussian", (1,), (0.3,)), Noise("gaussian", (4,), (0.3,))),
        (MEMBERS[2], Noise("gaussian", (1,), (1.0,)), Noise("gaussian", (2, 3), (2.0, 0.5))),
        (MEMBERS[6], Noise("radial", (1,), (1.0,)), Noise("radial", (8, 3), (2.0, 0.5))),
    ):
        assert noise.split(1) == (first, rest)
        np.testing.assert_array_equal(np.concatenate([first.variances, rest.variances]), noise.variances)


@in_blocks
def test_weights_multiply_every_coordinate_of_independent_noise(noise: NoiseLaw) -> None:
    weights = np.linspace(0.1, 2.0, noise.size)
    if noise.name == "radial" and max(noise.sizes) > 1:
        (
            f"Coordinates that share a block of {max(noise.sizes)} cannot be weighted one by one: the noise of "
            "all of them needs the same weight."
        )
        with refused(UsageError, "weights"):
            noise.weighted(weights)
        return
    weighted = noise.weighted(weights)
    assert weighted.name == noise.name
    assert weighted.sizes == (1,) * noise.size
    np.testing.assert_allclose(weighted.variances, weights**2 * noise.variances, rtol=1e-14)
    # The same points of the cube give the same noise, weighted; blocks of one share their points with these.
    uniforms = np.random.default_rng(5).random((20, weighted.dimension))
    np.testing.assert_allclose(weighted.from_uniforms(uniforms), weights * noise.from_uniforms(uniforms), rtol=1e-13)


@pytest.mark.parametrize(
    ("law", "text"),
    [
        ("choice", "none added: a choice among public candidates"),
        ("frame", "none added: a frame drawn by the exponential mechanism"),
    ],
)
def test_a_choice_or_a_frame_adds_nothing(law: str, text: str) -> None:
    choice = Noise(law, (5,), (3.0,))
    assert choice.variances.tolist() == [0.0] * 5
    assert choice.dimension == 0
    assert choice.from_uniforms(np.zeros((3, 0))).tolist() == [[0.0] * 5] * 3
    assert choice.text == text
    assert NoiseLaw.from_dict(json.loads(json.dumps(choice.describe()))) == choice
    assert choice.scaled(2.0) == Noise(law, (5,), (6.0,))
    assert not choice.added
    assert choice.tail(0.01).tolist() == [0.0] * 5
    assert choice.standard_draws(np.random.default_rng(1), 2).tolist() == [[0.0] * 5] * 2
    assert choice.worst_loss(1.0) is None
    assert choice.possible_curves == ("range",)


def test_the_number_of_uniforms_is_known_beforehand() -> None:
    """One for each normal variable and for each radius; each of two Wishart matrices has as many as it has entries."""
    assert [noise.dimension for noise in BLOCKS] == [1, 5, 6, 1 + 1, 3 + 3, 4 + 1, 12 + 3, 16 + 1]
    assert [noise.dimension for noise in MATRICES] == [2, 6, 12, 30]


# Symmetric matrices --------------------------------------------------------------------------------------------------


def difference(shape: float) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of the difference of two independent Gamma(shape) variables, by quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    points = gamma(shape).ppf((nodes + 1) / 2)
    grid = np.linspace(-12, 12, 2001) * math.sqrt(2 * shape)
    values = gamma(shape).cdf(grid[:, None] + points) @ weights / 2
    return lambda x: np.interp(x, grid, values)


def test_noise_on_a_matrix_of_one_entry_is_laplace_noise() -> None:
    """Kolmogorov-Smirnov at level 1e-6; the seed is fixed. A chi-square of 2 degrees of freedom is exponential."""
    assert MATRICES[0].variances.tolist() == Noise("radial", (1,), (2.0,)).variances.tolist()
    assert kstest(drawn(MATRICES[0], 40_000, 6)[:, 0] / 2.0, laplace.cdf).pvalue > 1e-6
    assert difference(1.0)(np.linspace(-3, 3, 9)) == pytest.approx(laplace.cdf(np.linspace(-3, 3, 9)), abs=3e-5)


@on_matrices
def test_the_variances_of_a_matrix_add_up_to_the_formula(noise: NoiseLaw) -> None:
    """`m (m+1)^2 scale^2 / 2`; with scale = 2 tau^2 / epsilon this is `2 m (m+1)^2 tau^4 / epsilon^2`, Wishart noise's
    expected squared Frobenius norm for second moments of curves of norm tau."""
    side, tau, epsilon = len(unpack(np.zeros(noise.size))), 3.0, 0.7
    whole = multiplicities(side) @ noise.variances
    assert whole == pytest.approx(side * (side + 1) ** 2 * noise.scales[0] ** 2 / 2, rel=1e-14)
    calibrated = Noise("wishart", noise.sizes, (2 * tau**2 / epsilon,))
    expected = 2 * side * (side + 1) ** 2 * tau**4 / epsilon**2
    assert multiplicities(side) @ calibrated.variances == pytest.approx(expected, rel=1e-14)
    # Off the diagonal half of that on it.
    on, off = noise.variances[:side], noise.variances[side:]
    assert on.tolist() == [noise.scales[0] ** 2 * (side + 1)] * side
    assert off.tolist() == [on[0] / 2] * (noise.size - side)


@on_matrices
def test_entries_of_a_matrix_are_uncorrelated(noise: NoiseLaw) -> None:
    """Level 1e-6 a pair by the normal approximation with empirical fourth moments; the seed is fixed."""
    z = drawn(noise, 40_000, 7) / np.sqrt(noise.variances)
    for i in range(noise.size):
        for j in range(i):
            products = z[:, i] * z[:, j]
            assert abs(products.mean()) < norm.isf(5e-7) * products.std() / math.sqrt(len(z))


@on_matrices
def test_a_matrix_has_the_same_law_in_every_direction_and_the_right_trace(noise: NoiseLaw) -> None:
    """Kolmogorov-Smirnov at 1e-6 each: v'Wv is Gamma((m+1)/2) times the scale for unit v, and tr W Gamma(m(m+1)/2)."""
    matrices = unpack(drawn(noise, 20_000, 8)) / noise.scales[0]
    side = matrices.shape[-1]
    rest = np.arange(1.0, side + 1) * (-1.0) ** np.arange(side)
    for direction in (np.eye(side)[0], np.eye(side)[-1], np.full(side, side**-0.5), rest / np.linalg.norm(rest)):
        along = np.einsum("i,nij,j->n", direction, matrices, direction)
        assert kstest(along, difference((side + 1) / 2)).pvalue > 1e-6
    assert kstest(np.trace(matrices, axis1=1, axis2=2), difference(side * (side + 1) / 2)).pvalue > 1e-6


def test_one_row_less_or_one_matrix_only_is_caught_by_the_same_statistics() -> None:
    """m degrees of freedom instead of m+1, and W without its counterpart: each fails at level 1e-6."""
    normals = np.random.default_rng(9).standard_normal((2, 20_000, 4, 3))
    squares = normals.transpose(0, 1, 3, 2) @ normals / 2
    fewer = normals[:, :, 1:].transpose(0, 1, 3, 2) @ normals[:, :, 1:] / 2
    assert kstest((squares[0] - squares[1])[:, 0, 0], difference(2.0)).pvalue > 1e-6
    assert kstest((fewer[0] - fewer[1])[:, 0, 0], difference(2.0)).pvalue < 1e-6
    assert kstest(squares[0][:, 0, 0] - 2.0, difference(2.0)).pvalue < 1e-6


def test_large_samples_of_matrices_are_made_in_parts_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = MATRICES[2]
    whole = drawn(noise, 1_000, 10)
    monkeypatch.setattr(wishart, "LARGEST_BATCH", 700)
    np.testing.assert_allclose(drawn(noise, 1_000, 10), whole, rtol=1e-12)
    assert drawn(noise, 0, 10).shape == (0, 6)


def test_the_entries_stand_where_packing_puts_them() -> None:
    """Two factors by hand, A A' - B B', from uniforms that give chosen normals and chi-squares; m = 2."""
    below, above = 0.3, -1.2
    roots = np.array([[1.0, 2.0], [0.5, 1.5]])
    uniforms = np.concatenate(
        [[*gamma((1.5, 1.0)).cdf(roots[k] ** 2 / 2), norm.cdf(b)] for k, b in enumerate((below, above))]
    )
    first, second = (np.array([[r[0], 0.0], [b, r[1]]]) for r, b in zip(roots, (below, above), strict=True))
    expected = pack(first @ first.T - second @ second.T) * 0.3 / 2
    np.testing.assert_allclose(MATRICES[1].from_uniforms(uniforms[None]), expected[None], rtol=1e-12)


ERRORS: list[tuple[Callable[[], object], str]] = [
    (lambda: Noise("wishart", (3, 3), (1.0, 1.0)), ("sizes", 2)),
    (
        lambda: Noise("wishart", (5,), (1.0,)),
        ("size", 5),
    ),
    *(
        (
            lambda noise=noise: noise.weighted(np.ones(noise.size)),
            ("weights",),
        )
        for noise in MATRICES
    ),
    *(
        (
            lambda noise=noise: noise.split(1),
            ("first",),
        )
        for noise in MATRICES
    ),
    (lambda: Noise("radial", (1, 2), (1.0,)), ("scales", 1)),
    (lambda: Noise("gaussian", (), ()), ("scales", 0)),
    (lambda: Noise("gaussian", (1,), (1.0,)).split(1), ("scales", 0)),
    (
        lambda: Noise("radial", (4, 1), (1.0, 1.0)).split(1),
        ("first", 1),
    ),
]


@pytest.mark.parametrize(("call", "about"), ERRORS)
def test_every_error_says_the_rule_and_the_value(call: Callable[[], object], about: Any) -> None:
    with refused(UsageError, *about):
        call()


@pytest.mark.parametrize("name", ["cauchy", "Gaussian", ["gaussian"], None])
def test_a_name_that_is_in_no_table_is_refused_with_those_that_are(name) -> None:
    with pytest.raises(UsageError) as caught:
        NoiseLaw.from_dict({"law": name, "sizes": [1], "scales": [1.0]})
    assert str(caught.value) == f"A noise law is one of {', '.join(map(repr, LAWS))}, got {name!r}."


@pytest.mark.parametrize(
    ("sizes", "scales", "about"),
    [
        ((0,), (1.0,), ("sizes", (0,))),
        ((1,), (0.0,), ("scales", (0.0,))),
        ((1, 2), (1.0, np.inf), ("scales", (1.0, np.inf))),
        ((1,), (np.nan,), ("scales", (np.nan,))),
    ],
)
def test_blocks_without_coordinates_and_scales_that_are_no_scales_are_refused(sizes, scales, about) -> None:
    with refused(UsageError, *about):
        Noise("radial", sizes, scales)


def test_the_law_is_said_in_words() -> None:
    assert Noise("radial", (1, 8, 8, 5), (1.0,) * 4).text == "radial in 1 block of 1, 2 blocks of 8, 1 block of 5"
    assert Noise("gaussian", (5,), (1.0,)).text == "independent normal noise in every coordinate"
    assert Noise("gaussian", (1, 1), (1.0, 2.0)).text == "independent normal noise in every coordinate"
    assert Noise("radial", (1, 1), (1.0, 2.0)).text == "independent Laplace noise in every coordinate"
    assert MATRICES[0].text == "two-sided Wishart noise on a symmetric matrix, 1 by 1"
    assert MATRICES[3].text == "two-sided Wishart noise on a symmetric matrix, 5 by 5"
