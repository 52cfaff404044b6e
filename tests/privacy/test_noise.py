"""The public law of the noise: its variances, its quantile map, its parts, its file form."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import gamma, kstest, norm

from dpfda.errors import UsageError
from dpfda.privacy import Noise

# The single list of laws: each passes every test below.
MEMBERS = [
    Noise("gaussian", (1,), (2.0,)),
    Noise("gaussian", (5,), (0.3,)),
    Noise("gaussian", (1, 2, 3), (1.0, 2.0, 0.5)),
    Noise("radial", (1,), (2.0,)),
    Noise("radial", (1, 1, 1), (1.0, 2.0, 0.5)),
    Noise("radial", (4,), (0.3,)),
    Noise("radial", (1, 8, 3), (1.0, 2.0, 0.5)),
    Noise("radial", (16,), (1.0,)),
]
every = pytest.mark.parametrize("noise", MEMBERS, ids=str)


def drawn(noise: Noise, draws: int, seed: int) -> np.ndarray:
    uniforms = np.random.default_rng(seed).random((draws, noise.size + len(noise.sizes)))
    return noise.quantiles(uniforms)


@every
def test_the_variances_follow_the_formula_of_each_block(noise: Noise) -> None:
    expected = []
    for size, scale in zip(noise.sizes, noise.scales, strict=True):
        # In M dimensions |z|/scale is Gamma(M): E|z|^2 = M (M+1) scale^2, shared by M coordinates.
        per_coordinate = scale**2 if noise.law == "gaussian" else gamma(size).moment(2) * scale**2 / size
        expected += [per_coordinate] * size
    assert noise.size == len(expected)
    assert noise.variances.dtype == np.float64
    np.testing.assert_allclose(noise.variances, expected, rtol=1e-14)


def test_a_radial_block_of_one_coordinate_is_laplace_noise() -> None:
    assert Noise("radial", (1,), (3.0,)).variances.tolist() == [2 * 9.0]


@every
def test_scaling_the_law_scales_every_coordinate(noise: Noise) -> None:
    np.testing.assert_allclose(noise.scaled(3.0).variances, 9 * noise.variances, rtol=1e-14)
    uniforms = np.random.default_rng(0).random((10, noise.size + len(noise.sizes)))
    np.testing.assert_allclose(noise.scaled(3.0).quantiles(uniforms), 3 * noise.quantiles(uniforms), rtol=1e-14)


@every
def test_quantiles_have_the_moments_of_the_law(noise: Noise) -> None:
    """Means and variances of every coordinate at level 1e-6 each by the normal approximation; the seed is fixed."""
    z, draws = drawn(noise, 40_000, 1), 40_000
    assert z.shape == (draws, noise.size)
    reach = norm.isf(5e-7) / math.sqrt(draws)
    deviations = np.sqrt(noise.variances)
    assert np.all(np.abs(z.mean(axis=0)) < reach * deviations)
    squares = (z / deviations) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - 1) < reach * squares.std(axis=0))


@every
def test_quantiles_of_a_block_have_its_radius_and_no_preferred_direction(noise: Noise) -> None:
    """Kolmogorov-Smirnov tests at level 1e-6 each; the seed is fixed."""
    z = drawn(noise, 20_000, 2)
    edges = np.cumsum([0, *noise.sizes])
    for low, high, scale in zip(edges[:-1], edges[1:], noise.scales, strict=True):
        block, size = z[:, low:high] / scale, high - low
        radius = np.linalg.norm(block, axis=1)
        law = gamma(size).cdf if noise.law == "radial" else lambda r, size=size: gamma(size / 2).cdf(r**2 / 2)
        assert kstest(radius, law).pvalue > 1e-6
        along = (block / radius[:, None]) @ np.ones(size) / math.sqrt(size)
        if size == 1:
            assert abs(np.mean(along > 0) - 0.5) < norm.isf(5e-7) * 0.5 / math.sqrt(len(along))
        else:
            # The first coordinate of a uniform direction t has (1 + t)/2 ~ Beta((M-1)/2, (M-1)/2).
            half = (size - 1) / 2
            assert kstest((1 + along) / 2, "beta", args=(half, half)).pvalue > 1e-6


@every
def test_blocks_are_uncorrelated(noise: Noise) -> None:
    """Squares too, so that no mixing weight is shared between blocks: level 1e-6 a pair; the seed is fixed."""
    z = drawn(noise, 20_000, 3)
    block = np.repeat(np.arange(len(noise.sizes)), noise.sizes)
    reach = norm.isf(5e-7) / math.sqrt(len(z))
    for values in (z, np.argsort(np.argsort(np.abs(z), axis=0), axis=0)):
        between = np.atleast_2d(np.corrcoef(values, rowvar=False))[block[:, None] != block]
        assert np.all(np.abs(between) < reach)


def test_quantiles_are_a_map_and_not_a_generator() -> None:
    for noise in MEMBERS:
        middle = np.full((3, noise.size + len(noise.sizes)), 0.5)
        assert np.all(noise.quantiles(middle) == 0)
        uniforms = np.random.default_rng(4).random((5, noise.size + len(noise.sizes)))
        before = uniforms.copy()
        assert np.array_equal(noise.quantiles(uniforms), noise.quantiles(uniforms))
        assert np.array_equal(uniforms, before)


@every
def test_the_file_form_keeps_the_law_bit_for_bit(noise: Noise) -> None:
    assert Noise.from_dict(json.loads(json.dumps(noise.describe()))) == noise


def test_the_first_coordinate_is_split_off_where_it_is_independent() -> None:
    for noise, first, rest in (
        (MEMBERS[1], Noise("gaussian", (1,), (0.3,)), Noise("gaussian", (4,), (0.3,))),
        (MEMBERS[2], Noise("gaussian", (1,), (1.0,)), Noise("gaussian", (2, 3), (2.0, 0.5))),
        (MEMBERS[6], Noise("radial", (1,), (1.0,)), Noise("radial", (8, 3), (2.0, 0.5))),
    ):
        assert noise.split_first() == (first, rest)
        np.testing.assert_array_equal(np.concatenate([first.variances, rest.variances]), noise.variances)


@every
def test_weights_multiply_every_coordinate_of_independent_noise(noise: Noise) -> None:
    weights = np.linspace(0.1, 2.0, noise.size)
    if noise.law == "radial" and max(noise.sizes) > 1:
        text = f"Coordinates that share a block of {max(noise.sizes)} cannot be weighted one by one."
        with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
            noise.weighted(weights)
        return
    weighted = noise.weighted(weights)
    assert weighted.law == noise.law
    assert weighted.sizes == (1,) * noise.size
    np.testing.assert_allclose(weighted.variances, weights**2 * noise.variances, rtol=1e-14)
    # The same points of the cube give the same noise, weighted; blocks of one share their points with these.
    blocks = noise.size if noise.law == "radial" else 0
    uniforms = np.random.default_rng(5).random((20, noise.size + blocks))
    np.testing.assert_allclose(weighted.quantiles(uniforms), weights * noise.quantiles(uniforms), rtol=1e-13)


def test_a_choice_adds_nothing() -> None:
    choice = Noise("choice", (5,), (3.0,))
    assert choice.variances.tolist() == [0.0] * 5
    assert choice.text == "none added: a choice among public candidates"
    assert Noise.from_dict(json.loads(json.dumps(choice.describe()))) == choice
    assert choice.scaled(2.0) == Noise("choice", (5,), (6.0,))


ERRORS: list[tuple[Callable[[], object], str]] = [
    (lambda: Noise("cauchy", (1,), (1.0,)), "A noise law is 'gaussian', 'radial' or 'choice', got 'cauchy'."),  # type: ignore[arg-type]
    (lambda: Noise("radial", (1, 2), (1.0,)), "Noise needs one scale for each block, got 2 and 1."),
    (lambda: Noise("gaussian", (), ()), "Noise needs one scale for each block, got 0 and 0."),
    (lambda: Noise("gaussian", (1,), (1.0,)).split_first(), "Noise needs one scale for each block, got 0 and 0."),
    (
        lambda: Noise("radial", (4, 1), (1.0, 1.0)).split_first(),
        "The first coordinate shares a radial block of 4: it cannot be split off.",
    ),
    (
        lambda: Noise.from_dict({"law": "uniform", "sizes": [1], "scales": [1.0]}),
        "A noise law is 'gaussian', 'radial' or 'choice', got 'uniform'.",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_every_error_says_the_rule_and_the_value(call: Callable[[], object], text: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        call()


@pytest.mark.parametrize(
    ("sizes", "scales"), [((0,), (1.0,)), ((1,), (0.0,)), ((1, 2), (1.0, np.inf)), ((1,), (np.nan,))]
)
def test_blocks_without_coordinates_and_scales_that_are_no_scales_are_refused(sizes, scales) -> None:
    with pytest.raises(UsageError, match="Noise needs blocks of at least 1 and positive scales, got"):
        Noise("radial", sizes, scales)


def test_the_law_is_said_in_words() -> None:
    assert Noise("radial", (1, 8, 8, 5), (1.0,) * 4).text == "radial in 1 block of 1, 2 blocks of 8, 1 block of 5"
    assert Noise("gaussian", (5,), (1.0,)).text == "independent normal noise in every coordinate"
    assert Noise("gaussian", (1, 1), (1.0, 2.0)).text == "independent normal noise in every coordinate"
    assert Noise("radial", (1, 1), (1.0, 2.0)).text == "independent Laplace noise in every coordinate"
