"""Smoothing of densities sees noisy coordinates and n alone, and finds smooth shapes along sides and diagonals."""

from __future__ import annotations

import numpy as np
import pytest

from dpfda.arrays import Array
from dpfda.bases import Basis, cosine, tensor
from dpfda.bases.piecewise_constant import equal_steps, steps
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.noise import Noise, NoiseLaw
from dpfda.releases import FAMILIES
from dpfda.statistics.density.smoothing import (
    averaged,
    density_smoothing,
    forms,
    frame_of,
    mesh_axes,
    on_mesh,
    places_of,
    ridges,
    smoothing_of,
)


def laplace(size: int, deviation: float) -> NoiseLaw:
    return Noise("radial", (1,) * size, (deviation / np.sqrt(2),) * size)


@pytest.mark.parametrize("shape", [(12,), (5, 7), (3, 4, 5)], ids=["line", "plane", "box"])
def test_the_frame_of_equal_steps_has_the_coordinates_of_a_smooth_density(shape: tuple[int, ...]) -> None:
    """A sum of cosines, averaged over steps by brute force: its frame holds the cosines' own coordinates."""
    sides = [equal_steps((0.0, 1.0 + axis), size) for axis, size in enumerate(shape)]
    smooth = [cosine(side.domain, side.size) for side in sides]
    basis: Basis = sides[0] if len(shape) == 1 else tensor(*sides)
    cosines: Basis = smooth[0] if len(shape) == 1 else tensor(*smooth)
    coordinates = SeededRandomness(1).normal((basis.size,)) * 0.1
    coordinates[0] = 1.0
    fine = 60
    tables = [
        side.matrix(side.domain.sides[0][1] * (np.arange(size * fine) + 0.5) / (size * fine))
        for side, size in zip(smooth, shape, strict=True)
    ]
    values = np.zeros([factor.size for factor in smooth])
    values[places_of(cosines)] = coordinates
    for axis, table in enumerate(tables):
        means = table.reshape(shape[axis], fine, -1).mean(axis=1)
        values = np.moveaxis(np.tensordot(means, values, (1, axis)), 0, axis)
    noisy = values[places_of(basis)] / np.sqrt(basis.size)
    frame = frame_of(noisy, np.zeros(basis.size), basis, 100.0)
    assert frame.basis == cosines
    np.testing.assert_allclose(frame.noisy, coordinates, rtol=0, atol=3e-4)


def test_noise_of_steps_is_white_in_the_frame_but_for_the_sinc() -> None:
    """Chi-square over 4000 draws of 15 coordinates at level 1e-6 each, seeded."""
    basis = equal_steps((0, 1), 16)
    noise = laplace(16, 0.3)
    draws = noise.from_uniforms(SeededRandomness(2).uniform((4000, noise.dimension)))
    stated = frame_of(np.zeros(16), noise.variances, basis, 10.0).noise_variances
    found = np.array([frame_of(draw, noise.variances, basis, 10.0).noisy for draw in draws])
    np.testing.assert_allclose(stated[1:], 0.09 / np.sinc(np.arange(1, 16) / 32) ** 2, rtol=1e-12)
    np.testing.assert_allclose(found[:, 1:].var(axis=0), stated[1:], rtol=0.16)
    assert stated[0] == 0.0
    assert (found[:, 0] == 1.0).all()


def test_sampling_variances_are_those_of_people_drawn_anew() -> None:
    """Sample variances over 3000 samples of 200 people in 12 steps: within 16 percent, six standard errors."""
    basis, n = equal_steps((0, 1), 12), 200
    probabilities = np.linspace(2.0, 0.1, 12)
    probabilities /= probabilities.sum()
    randomness = SeededRandomness(3)
    cumulated = np.cumsum(probabilities)
    counts = [
        np.bincount(np.searchsorted(cumulated, randomness.uniform((n,))).clip(0, 11), minlength=12) for _ in range(3000)
    ]
    frames = [frame_of(count / n * np.sqrt(12), np.ones(12), basis, n) for count in counts]
    exact = frame_of(probabilities * np.sqrt(12), np.ones(12), basis, n)
    found = np.array([frame.noisy for frame in frames]).var(axis=0)
    np.testing.assert_allclose(exact.sampling_variances[1:], found[1:], rtol=0.16)


def test_unequal_steps_are_their_own_frame_with_binomial_sampling() -> None:
    basis = steps((0, 10), [0, 1, 4, 10])
    probabilities = np.array([0.2, 0.5, 0.3])
    frame = frame_of(probabilities / np.sqrt(basis.shares), np.ones(3), basis, 50.0)
    assert frame.basis == basis
    np.testing.assert_allclose(
        frame.sampling_variances, probabilities * (1 - probabilities) / basis.shares / 50, rtol=1e-12
    )
    assert not frame.known.any()


def test_the_average_is_near_the_best_candidate() -> None:
    weights = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    quiet, loud = np.array([1.0, 0.01, 0.01]), np.array([1.0, 3.0, 2.0])
    variances = np.array([0.0, 0.04, 0.04])
    np.testing.assert_allclose(averaged(weights, loud, variances), [1, 1, 1], atol=1e-6)
    assert averaged(weights, quiet, variances)[1] < 0.2
    assert averaged(weights, quiet, variances)[0] == 1.0


def test_pure_noise_is_smoothed_to_nearly_nothing_and_strong_signals_stay() -> None:
    basis = equal_steps((0, 1), 64)
    noise = laplace(64, 0.05)
    noisy = np.full(64, 1 / 8) + noise.from_uniforms(SeededRandomness(4).uniform((1, noise.dimension)))[0]
    flat = density_smoothing("auto", noisy, noise, basis, 1e6)
    assert flat.weights[0] == 1.0
    assert flat.weights[4:].max() < 0.2
    waves = np.cos(np.pi * 9 * (np.arange(64) + 0.5) / 64)
    strong = density_smoothing("auto", noisy + 0.3 * waves, noise, basis, 1e6)
    assert strong.weights[9] > 0.8


def test_smoothing_is_a_function_of_the_release_alone() -> None:
    basis = tensor(equal_steps((0, 1), 6), equal_steps((0, 1), 6))
    noise = laplace(36, 0.1)
    noisy = noise.from_uniforms(SeededRandomness(5).uniform((1, noise.dimension)))[0] + 1 / 6
    one, other = (density_smoothing("auto", noisy.copy(), noise, basis, 100.0) for _ in range(2))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.risk == other.risk


def correlated(size: int, deviation: float) -> Array:
    """Probabilities of a correlated normal law in the middle of a square."""
    middles = (np.arange(size) + 0.5) / size - 0.5
    along = (middles[:, None] + middles[None, :]) / np.sqrt(2)
    across = (middles[:, None] - middles[None, :]) / np.sqrt(2)
    values = np.exp(-0.5 * (along / (3 * deviation)) ** 2 - 0.5 * (across / deviation) ** 2)
    return np.asarray(values / values.sum())


def test_slanted_ridges_serve_densities_along_a_diagonal() -> None:
    """The least risk that a known density leaves: clearly lower with slanted ridges than with round ones."""
    side = equal_steps((0, 1), 20)
    basis = tensor(side, side)
    table = correlated(20, 0.06)
    frame = frame_of(table[places_of(basis)] * 20, np.zeros(400), basis, 1e9)
    variances = np.full(400, 2e-3)
    weights = ridges(frame.basis)
    risks = (1 - weights) ** 2 @ frame.noisy**2 + weights**2 @ variances
    round_ones = 1 / (1 + (frame.basis.frequencies / np.geomspace(0.5, 60, 200)[:, None]) ** 8)
    best_round = ((1 - round_ones) ** 2 @ frame.noisy**2 + round_ones**2 @ variances).min()
    assert risks.min() < 0.93 * best_round


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_quadratic_forms_of_roughness_are_never_negative_on_frequencies(dimension: int) -> None:
    frequencies = SeededRandomness(6).uniform((200, dimension)) * 10
    for form in forms(dimension):
        assert np.einsum("ij,jk,ik->i", frequencies, np.array(form), frequencies).min() >= 0


def test_candidates_are_weights_between_zero_and_one_with_all_kept_among_them() -> None:
    for basis in (cosine((0, 1), 30), tensor(cosine((0, 1), 6), cosine((0, 1), 6))):
        weights = ridges(basis)
        assert weights.min() >= 0
        assert weights.max() <= 1
        assert (weights == 1).all(axis=1).any()
        np.testing.assert_array_equal(weights[:, 0], 1.0)


def test_every_family_of_the_package_can_be_asked_for_by_name() -> None:
    basis = equal_steps((0, 1), 20)
    noise = laplace(20, 0.1)
    for name in FAMILIES:
        found = density_smoothing(name, np.full(20, 0.3), noise, basis, 100.0)
        assert found.name == name
        assert found.weights.shape == (20,)
        assert found.risk > 0


@pytest.mark.parametrize("basis", [equal_steps((0, 1), 20), steps((0, 1), [0, 0.1, 1])], ids=["equal", "unequal"])
def test_an_unknown_name_is_refused_whatever_the_steps(basis: Basis) -> None:
    with pytest.raises(UsageError, match="Unknown smoothing 'lowess'"):
        density_smoothing("lowess", np.ones(basis.size), laplace(basis.size, 1.0), basis, 10.0)


def test_a_basis_of_cosines_is_its_own_frame() -> None:
    basis = cosine((0, 2), 9)
    frame = frame_of(np.arange(9.0), np.ones(9), basis, 4.0)
    assert frame.basis == basis
    np.testing.assert_array_equal(frame.sampling_variances, np.full(9, 0.25))
    assert smoothing_of("auto", frame).weights.shape == (9,)


def test_values_on_a_mesh_are_those_of_the_basis_at_its_nodes() -> None:
    """Products by sides, steps by doubled nodes, and any other basis point by point."""
    for basis in (
        tensor(cosine((0, 1), 4), cosine((0, 2), 5), size=11),
        tensor(tensor(cosine((0, 1), 2), cosine((0, 1), 2)), cosine((0, 2), 3)),
        cosine((0, 3), 7),
    ):
        axes = tuple(axis[::8] for axis in mesh_axes(basis))
        coordinates = SeededRandomness(7).normal((basis.size,))
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        np.testing.assert_allclose(
            on_mesh(basis, coordinates, axes).ravel(), basis.evaluate(coordinates, points), rtol=0, atol=1e-12
        )


def test_meshes_are_finer_than_the_functions() -> None:
    assert len(mesh_axes(cosine((0, 1), 500))[0]) >= 4 * 499
    assert len(mesh_axes(tensor(cosine((0, 1), 60), cosine((0, 1), 60)))[0]) == 257
    assert [len(axis) for axis in mesh_axes(tensor(*(cosine((0, 1), 2),) * 4))] == [17] * 4
