"""Smoothing after the noise: its risk estimates are right, its weights are shares, and it helps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpfda.arrays import Array
from dpfda.bases import bernstein, cosine, fourier, legendre, tensor
from dpfda.errors import UsageError
from dpfda.mechanisms import GaussianLaw, RadialLaw, SeededRandomness
from dpfda.mechanisms.noise import LAWS, Care, Noise, NoiseLaw
from dpfda.releases import FAMILIES, Release, smooth, smoothed
from dpfda.releases.smoothing import james_stein, unbiased_risk

SIZE = 48
J = np.arange(1, SIZE + 1)
FREQUENCIES = np.arange(SIZE, dtype=np.float64)
EQUAL = np.ones(SIZE)
RISING = np.sqrt(J / 10)
# Means from nothing but noise to nothing but signal, in units of the noise.
MEANS: dict[str, Array] = {
    "zero": np.zeros(SIZE),
    "analytic": 30 * np.exp(-J / 2),
    "smooth": 20.0 / J**2,
    "kinked": 10.0 / J,
    "rough": np.ones(SIZE),
    "spike": np.where(J == 40, 8.0, 0.0),
    "large": np.full(SIZE, 10.0),
}
NAMES = ["auto", *FAMILIES]
Draw = Callable[[NoiseLaw, int, SeededRandomness], Array]


def simulate(
    name: str, mean: Array, noise: Array, variances: Array, care: Care = GaussianLaw.care
) -> tuple[Array, Array]:
    """Estimated risks and actual squared errors, one of each for every row of noise."""
    risks, losses = np.empty(len(noise)), np.empty(len(noise))
    for row, z in enumerate(noise):
        found = smooth(name, mean + z, variances, FREQUENCIES, care=care)
        risks[row], losses[row] = found.risk, np.sum((found.weights * (mean + z) - mean) ** 2)
    return risks, losses


def standard_errors(differences: Array) -> float:
    """How many standard errors a sample mean is away from zero."""
    return float(differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences))))


def normals(size: int, variances: Array, seed: int) -> Array:
    return SeededRandomness(seed).normal((size, SIZE)) * np.sqrt(variances)


def test_the_risk_of_fixed_weights_is_unbiased_whatever_the_noise_law() -> None:
    """The estimate is linear in squares, so its mean is its value at the mean of the squares: exact, no simulation."""
    weights = np.random.default_rng(1).uniform(size=(5, SIZE))
    for mean in MEANS.values():
        of_mean_square = unbiased_risk(weights, np.sqrt(mean**2 + RISING), RISING)
        true = (1 - weights) ** 2 @ mean**2 + weights**2 @ RISING
        np.testing.assert_allclose(of_mean_square, true, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 4, 8])
def test_the_risk_of_fixed_weights_is_unbiased_under_radial_noise(draw_noise: Draw, block: int) -> None:
    """The stated variances are those of the noise; at 5 standard errors a false alarm has chance 6e-7, seed fixed."""
    noise = Noise("radial", (block,) * (SIZE // block), tuple(np.linspace(0.5, 1.0, SIZE // block)))
    drawn = draw_noise(noise, 20000, SeededRandomness(block))
    weights, mean = np.linspace(1, 0, SIZE)[None, :], MEANS["kinked"]
    risks = np.array([unbiased_risk(weights, mean + z, noise.variances)[0] for z in drawn])
    losses = np.sum((weights * (mean + drawn) - mean) ** 2, axis=1)
    assert abs(standard_errors(risks - losses)) < 5


@pytest.mark.parametrize("mean", ["zero", "analytic", "rough"])
@pytest.mark.parametrize("name", ["auto", "james-stein", "sobolev-2"])
def test_the_estimated_risk_is_steins_under_gaussian_noise(name: str, mean: str) -> None:
    """Also where weights depend on the coordinates; at 5 standard errors a false alarm has chance 6e-7, seed fixed."""
    risks, losses = simulate(name, MEANS[mean], normals(1500, EQUAL, 2), EQUAL)
    assert abs(standard_errors(risks - losses)) < 5


def test_the_estimated_risk_would_be_caught_without_steins_terms() -> None:
    """The test above has power: the plain average of the candidates' risks is off by more than 5 standard errors."""
    mean, gaps = MEANS["rough"], []
    for z in normals(1500, EQUAL, 2):
        every = [family(mean + z, EQUAL, FREQUENCIES) for family in FAMILIES.values()]
        weights, risks = np.concatenate([c.weights for c in every]), np.concatenate([c.risks for c in every])
        shares = np.exp(-(risks - risks.min()) / 2)
        shares /= shares.sum()
        gaps.append(shares @ risks - np.sum(((shares @ weights) * (mean + z) - mean) ** 2))
    assert standard_errors(np.array(gaps)) < -5


@pytest.mark.audit
@pytest.mark.parametrize("variances", [EQUAL, RISING], ids=["equal", "rising"])
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("name", NAMES)
def test_every_estimated_risk_is_steins_under_gaussian_noise(name: str, mean: str, variances: Array) -> None:
    """All families and means; with unequal variances James-Stein takes their mean in a block, an approximation.

    At 5 standard errors a false alarm has chance 6e-7, seed fixed.
    """
    risks, losses = simulate(name, MEANS[mean], normals(4000, variances, 3), variances)
    close = abs(risks.mean() - losses.mean()) < 0.1 * losses.mean()
    exact = name not in ("auto", "james-stein") or variances is EQUAL
    assert abs(standard_errors(risks - losses)) < 5 or (not exact and close)


@pytest.mark.audit
@pytest.mark.parametrize("block", [8, 12])
def test_under_radial_noise_the_estimate_is_low_but_not_by_much(draw_noise: Draw, block: int) -> None:
    """Stein's identity is Gaussian: with such blocks the root mean square error is up to a third larger than said."""
    blocks = SIZE // block
    noise = Noise("radial", (block,) * blocks, ((block + 1) ** -0.5,) * blocks)
    assert noise.variances == pytest.approx(EQUAL)
    for mean in ("analytic", "kinked", "rough"):
        drawn = draw_noise(noise, 1500, SeededRandomness(4))
        risks, losses = simulate("auto", MEANS[mean], drawn, EQUAL, RadialLaw.care)
        ratio = np.sqrt(risks.mean() / losses.mean())
        assert 0.75 < ratio < 1.02, ratio


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_shares(name: str) -> None:
    generator = np.random.default_rng(5)
    for scale in (0.0, 1e-150, 1e-3, 1.0, 30.0, 1e6, 1e150):
        for variances in (EQUAL, RISING, 1e-3 * RISING):
            found = smooth(name, scale * generator.normal(size=SIZE), variances, FREQUENCIES)
            assert found.name == name
            assert found.weights.shape == (SIZE,)
            assert (found.weights >= 0).all()
            assert (found.weights <= 1).all()
            assert np.isfinite(found.risk) or scale == 1e150


@pytest.mark.parametrize("factor", [1e-60, 1e-9, 1e60])
@pytest.mark.parametrize("name", NAMES)
def test_weights_do_not_depend_on_units_and_risks_go_with_their_square(name: str, factor: float) -> None:
    noisy = MEANS["smooth"] + normals(1, RISING, 6)[0]
    one = smooth(name, noisy, RISING, FREQUENCIES)
    other = smooth(name, factor * noisy, factor**2 * RISING, FREQUENCIES)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-9, atol=1e-12)
    assert other.risk == pytest.approx(factor**2 * one.risk, rel=1e-9)


@pytest.mark.audit
def test_auto_is_never_much_worse_than_the_best_family() -> None:
    """Mean losses over the same 250 draws: auto stays within a quarter, or half a coordinate's noise, of the best."""
    for label, mean in MEANS.items():
        noise = normals(250, EQUAL, 7)
        losses = {name: simulate(name, mean, noise, EQUAL)[1].mean() for name in NAMES}
        best = min(loss for name, loss in losses.items() if name != "auto")
        assert losses["auto"] < 1.25 * best + 0.5, label


@pytest.mark.parametrize("mean", ["zero", "analytic", "smooth", "kinked"])
def test_auto_is_three_times_better_than_none_on_a_smooth_mean(mean: str) -> None:
    """Mean losses over the same 250 draws, seed fixed: no false alarm."""
    noise = normals(250, EQUAL, 8)
    smoothed, plain = (simulate(name, MEANS[mean], noise, EQUAL)[1].mean() for name in ("auto", "none"))
    assert plain > 3 * smoothed


@pytest.mark.parametrize("name", NAMES)
def test_a_basis_without_an_order_of_roughness_is_left_alone(name: str, make_release: Callable[..., Release]) -> None:
    basis = bernstein((0, 1), 12)
    release = make_release(basis, np.zeros(12), Noise("gaussian", (12,), (1.0,)), smoothing=name)
    np.testing.assert_allclose(release.smoothing.weights, np.ones(12), rtol=1e-14)
    assert release.smoothing.risk == pytest.approx(12.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_coordinate_is_left_alone(name: str) -> None:
    found = smooth(name, np.array([0.3]), np.array([4.0]), np.zeros(1))
    assert found.weights == pytest.approx([1.0], rel=1e-14)
    assert found.risk == pytest.approx(4.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_constant_is_never_shrunk(name: str) -> None:
    for basis in (cosine((0, 1), 20), fourier((0, 1), 20), tensor(cosine((0, 1), 5), legendre((0, 1), 5))):
        noisy = np.random.default_rng(9).normal(size=basis.size)
        assert smooth(name, noisy, np.ones(basis.size), basis.frequencies).weights[0] == pytest.approx(1.0, rel=1e-14)


def test_james_stein_shrinks_each_octave_by_its_own_signal() -> None:
    """Octaves 1, 2-3, 4-7, 8-15: the first two are too short, the third is all signal, the fourth all noise."""
    noisy = np.array([5.0, 5.0, 0.1, 0.1, 100.0, 100.0, 100.0, 100.0, *[0.1] * 8])
    found = james_stein(noisy, np.ones(16), np.arange(16.0))
    np.testing.assert_array_equal(found.weights[0, :4], np.ones(4))
    np.testing.assert_allclose(found.weights[0, 4:8], 1 - 2 / 40000)
    np.testing.assert_array_equal(found.weights[0, 8:], np.zeros(8))
    assert found.risks[0] == pytest.approx(4 + (4 - 4 / 40000) + (0.08 - 8))


def test_smoother_families_shrink_rough_coordinates_more() -> None:
    noisy = MEANS["smooth"] + normals(1, EQUAL, 10)[0]
    for name in ("sobolev-1", "sobolev-2", "sobolev-4", "sobolev-8"):
        weights = smooth(name, noisy, EQUAL, FREQUENCIES).weights
        assert (np.diff(weights) <= 1e-15).all()
        assert weights[-1] < 0.5


def test_an_unknown_smoothing_is_refused_by_name() -> None:
    known = "'none', 'sobolev-1', 'sobolev-2', 'sobolev-4', 'sobolev-8', 'james-stein'"
    with pytest.raises(UsageError, match=f"^Unknown smoothing 'lowess'. Known are 'auto', {known}.$"):
        smooth("lowess", np.ones(3), np.ones(3), np.arange(3.0))


def test_a_release_can_be_smoothed_again_from_what_was_paid_for(make_release: Callable[..., Release]) -> None:
    basis = cosine((0, 1), SIZE)
    release = make_release(basis, MEANS["smooth"], Noise("gaussian", (SIZE,), (1.0,)), smoothing="auto")
    plain = release.smooth("none")
    np.testing.assert_array_equal(plain.coordinates, plain.noisy)
    again = plain.smooth()
    assert again.smoothing.name == "auto"
    np.testing.assert_array_equal(again.coordinates, release.coordinates)
    assert again.certificate == release.certificate
    assert plain.certificate.afterwards == ({"what": "smoothing", "was": "auto", "now": "none"},)
    assert " changed since  smoothing: 'none' instead of 'auto', from the noisy numbers" in plain.certificate.text()


def test_the_estimated_error_is_the_root_of_the_estimated_risk(make_release: Callable[..., Release]) -> None:
    basis = cosine((0, 3), SIZE)
    release = make_release(basis, MEANS["kinked"], Noise("gaussian", (SIZE,), (1.0,)), smoothing="auto")
    assert release.estimated_error == pytest.approx(np.sqrt(release.smoothing.risk))
    assert release.smooth("none").estimated_error == pytest.approx(np.sqrt(SIZE))


def test_the_estimated_error_is_never_below_what_is_left_of_the_noise(make_release: Callable[..., Release]) -> None:
    """Where there is only noise the unbiased risk is often negative; the error is then what weights leave of it."""
    basis = cosine((0, 1), SIZE)
    negative = 0
    for seed in range(30):
        release = make_release(basis, MEANS["zero"], Noise("gaussian", (SIZE,), (1.0,)), seed=seed, smoothing="auto")
        negative += release.smoothing.risk < 0
        assert release.estimated_error >= np.linalg.norm(release.smoothing.weights) * (1 - 1e-12)
    assert negative > 5


def test_the_estimated_error_is_that_of_the_curve_in_a_basis_that_is_not_orthonormal(
    make_release: Callable[..., Release],
) -> None:
    """Mean over 2000 draws of the squared distance of curves, at 5 standard errors (chance 6e-7, seed fixed)."""
    basis, noise = bernstein((0, 2), 9), Noise("gaussian", (4, 5), (1.0, 3.0))
    release = make_release(basis, np.zeros(9), noise, smoothing="auto")
    drawn = SeededRandomness(11).normal((2000, 9)) * np.sqrt(noise.variances)
    squares = np.einsum("ij,jk,ik->i", drawn, basis.gram(), drawn)
    assert abs(standard_errors(squares - release.estimated_error**2)) < 5
    assert release.estimated_error < 0.8 * np.sqrt(noise.variances.sum())


@pytest.mark.parametrize("name", ["auto", "sobolev-2"])
def test_more_caution_keeps_less_noise_and_no_caution_is_the_plain_average(name: str) -> None:
    """Shares are tilted by the noise that a candidate keeps, so the average keeps less and less of it."""
    noisy = np.array([3.0, 1.0, -0.5, 0.3, 0.2, -0.2, 0.1, 0.15])
    variances, frequencies = np.full(8, 0.02), np.arange(8.0)
    kept = [
        float(smooth(name, noisy, variances, frequencies, care=Care(caution, 2.0)).weights @ variances)
        for caution in (1.0, 1.25, 1.75, 3.0)
    ]
    assert all(np.diff(kept) < 0)
    assert kept[-1] > 0.02  # the constant is never shrunk


@pytest.mark.parametrize("law", ["gaussian", "radial"])
def test_a_release_is_smoothed_with_the_care_that_its_noise_asks_for(
    law: str, make_release: Callable[..., Release]
) -> None:
    basis = cosine((0, 1), 9)
    release = make_release(basis, 1 / np.arange(1, 10), Noise(law, (1, 8), (0.1, 0.1)))
    expected = smooth("auto", release.noisy, release.noise.variances, basis.frequencies, care=LAWS[law].care)
    np.testing.assert_array_equal(release.smooth().smoothing.weights, expected.weights)
    np.testing.assert_array_equal(smoothed("auto", release.noisy, release.noise, basis).weights, expected.weights)
    assert RadialLaw.care.caution > GaussianLaw.care.caution > 1


@pytest.mark.parametrize(
    "name",
    [np.array(["sobolev-2", "none"]), np.zeros((2, 2)), np.zeros(2, "V8"), np.array([], object), ["none"], {}, None, 5],
    ids=repr,
)
def test_what_is_no_name_of_a_smoothing_is_refused(name: object, make_release: Callable[..., Release]) -> None:
    release = make_release(cosine((0, 1), SIZE), MEANS["smooth"], Noise("gaussian", (SIZE,), (1.0,)))
    with pytest.raises(UsageError, match=r"^Unknown smoothing"):
        release.smooth(name)  # type: ignore[arg-type]
