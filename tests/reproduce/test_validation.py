"""Cross-validation: against dense algebra, against drawn noise, on cases with a known answer, and always stamped."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda.errors import UsageError
from dpfda.kernels import Exponential, Gaussian, Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.studies import published, simulators, validation
from dpfda.studies.outcome import STAMP
from dpfda.studies.validation import mechanism, plain, validate

GRID = np.linspace(0.0, 1.0, 25)
WEIGHTS = simulators.weights(GRID)
CURVES = np.sin(4 * GRID) + 0.3 * SeededRandomness(1).normal((30, 4)) @ np.cos(np.outer(np.arange(4), 3 * GRID))
KERNELS = (Gaussian(0.05), Matern(1.5, rho=0.3), Exponential(0.5))
PENALTIES = (0.001, 0.01, 0.1)
TERMS = published.spectrum(KERNELS[0], GRID, WEIGHTS)
SAMPLE = published.take(CURVES, TERMS)
GUARANTEE = {"epsilon": 0.5, "delta": 0.05, "eta": 1.0, "penalty": 0.01}


def search(release, *, kernels=KERNELS, parameters=PENALTIES, curves=CURVES, seed=3, **options):
    return validate(
        curves,
        GRID,
        release=release,
        kernels=kernels,
        parameters=parameters,
        randomness=SeededRandomness(seed),
        **options,
    )


@pytest.mark.parametrize("noisy", [False, True], ids=["CV", "PCV"])
def test_leaving_one_out_agrees_with_dense_algebra(noisy):
    """Independent of the spectrum: the estimate as a solve, the noise as a trace, the supremum from eigenvalues."""
    curves, kernel, penalty, epsilon, delta = CURVES[:7], Matern(1.5, rho=0.3), 0.02, 0.8, 0.05
    release = mechanism("gp", epsilon=epsilon, delta=delta) if noisy else plain()
    found = search(release, kernels=[kernel], parameters=[penalty], curves=curves, folds=7)
    operator = kernel(GRID, GRID) * WEIGHTS
    scores = []
    for i in range(7):
        others = np.delete(curves, i, axis=0)
        fitted = np.linalg.solve(operator + penalty * np.eye(25), operator @ others.mean(axis=0))
        score = WEIGHTS @ (fitted - curves[i]) ** 2
        if noisy:
            eigenvalues = np.maximum(np.linalg.eigvals(operator).real, 0)
            tau = math.sqrt((others**2 @ WEIGHTS).max())
            squared = 4 * tau**2 / 36 * (eigenvalues / (eigenvalues + penalty) ** 2).max()
            score += 2 * math.log(2 / delta) / epsilon**2 * squared * np.trace(operator)
        scores.append(score)
    assert found.scores[0, 0] == pytest.approx(np.mean(scores), rel=1e-9)


@pytest.mark.parametrize(
    ("release", "parameters"),
    [
        (mechanism("gp", epsilon=0.5, delta=0.05), PENALTIES),
        (mechanism("iclp-qr", epsilon=2.0, eta=1.5), PENALTIES),
        (mechanism("iclp-ar", epsilon=2.0, eta=3.0), PENALTIES),
        (mechanism("frl", epsilon=2.0), (1, 2, 4)),
    ],
    ids=["gp", "iclp-qr", "iclp-ar", "frl"],
)
def test_the_closed_form_agrees_with_drawn_noise(release, parameters):
    """Relative error of 20,000 draws: at most 1.6 % for one Laplace coordinate; 8 % are five of them. Seeded."""
    exact = search(release, kernels=KERNELS[1:2], parameters=parameters, folds=3)
    drawn = search(release, kernels=KERNELS[1:2], parameters=parameters, folds=3, draws=20_000)
    free = search(
        lambda sample, terms, parameter: release_without_noise(release, sample, terms, parameter),
        kernels=KERNELS[1:2],
        parameters=parameters,
        folds=3,
    )
    noise = exact.scores - free.scores
    assert (noise > 0).all()
    assert (np.abs(drawn.scores - exact.scores) <= 0.08 * noise).all()


def release_without_noise(release, sample, terms, parameter):
    noisy = release(sample, terms, parameter)
    return published.NoisyMean(noisy.summary, noisy.functions, 0 * noisy.scales, noisy.law, noisy.weights)


def test_without_noise_the_least_penalty_wins_and_with_much_noise_the_largest():
    """A smooth mean seen by many curves needs no shrinking; noise that dwarfs it leaves nothing but shrinking."""
    assert search(plain()).best[1] == min(PENALTIES)
    assert search(mechanism("gp", epsilon=1e-4, delta=0.05)).best[1] == max(PENALTIES)


def test_the_kernel_whose_space_holds_the_mean_wins():
    """Curves that oscillate are lost on a kernel of long range, constant ones need no short one."""
    fast = np.sin(25 * GRID) + 0.01 * SeededRandomness(2).normal((20, 25))
    slow = np.ones(25) + 0.01 * SeededRandomness(2).normal((20, 25))
    kernels = (Gaussian(0.01), Gaussian(1.0))
    assert search(plain(), kernels=kernels, parameters=[0.01], curves=fast).best == (kernels[0], 0.01)
    assert search(plain(), kernels=kernels, parameters=[0.01], curves=slow).best == (kernels[1], 0.01)


def test_the_number_of_terms_is_found_where_curves_have_so_many():
    """Three functions carry the mean; each term beyond costs noise and brings nothing."""
    terms = published.spectrum(KERNELS[1], GRID, WEIGHTS)
    curves = np.full((40, 1), 1.0) @ terms.functions[:, :3].sum(axis=1)[None, :]
    found = search(mechanism("frl", epsilon=1.0), kernels=[KERNELS[1]], parameters=range(1, 8), curves=curves)
    assert found.best == (KERNELS[1], 3.0)


def test_the_authors_score_is_the_distance_and_not_its_square():
    """Without noise by hand; with noise of almost no size it is the distance to the mean of the fold."""
    found = search(plain(), kernels=KERNELS[:1], parameters=[0.01], curves=CURVES[:6], folds=6, score="distance")
    expected = []
    for i in range(6):
        sample = published.take(np.delete(CURVES[:6], i, axis=0), TERMS)
        summary = published.plain(sample, TERMS, eta=1.0, penalty=0.01).summary
        expected.append(math.sqrt(WEIGHTS @ (CURVES[i] - summary) ** 2))
    assert found.scores[0, 0] == pytest.approx(np.mean(expected))
    tiny = mechanism("gp", epsilon=0.9, delta=0.05)
    quiet = search(
        lambda sample, terms, penalty: published.NoisyMean(
            *(tiny(sample, terms, penalty).summary, terms.functions, np.full(25, 1e-12), "normal", terms.weights)
        ),
        kernels=KERNELS[:1],
        parameters=[0.01],
        curves=CURVES[:6],
        folds=6,
        score="distance",
        draws=3,
    )
    assert quiet.scores == pytest.approx(found.scores, rel=1e-9)


def test_other_weights_change_the_decomposition_and_not_the_distance():
    equal = np.full(25, 1 / 25)
    one = search(plain(), weights=equal, kernels=KERNELS[:1], parameters=[1e-9])
    same = search(plain(), kernels=KERNELS[:1], parameters=[1e-9])
    other = search(plain(), weights=equal, kernels=KERNELS[:1], parameters=[0.1])
    # Without shrinking both reproduce the mean of the others, so scores agree; with it they do not.
    assert one.scores == pytest.approx(same.scores, rel=1e-3)
    assert other.scores != pytest.approx(search(plain(), kernels=KERNELS[:1], parameters=[0.1]).scores, rel=1e-3)


def test_folds_and_draws_repeat_with_a_seed_and_change_with_another():
    release = mechanism("gp", epsilon=0.5, delta=0.05)
    one, same, other = (search(release, seed=seed, draws=20, folds=5) for seed in (1, 1, 2))
    assert np.array_equal(one.scores, same.scores)
    assert not np.array_equal(one.scores, other.scores)


def test_every_output_is_stamped_not_private(tmp_path):
    found = search(plain())
    assert STAMP.startswith("NOT PRIVATE")
    for output in (repr(found), str(found), found.text(), f"{found}", found.to_table().title):
        assert STAMP in output
    assert "NOT PRIVATE" in found.to_table().save(tmp_path / "scores.csv").read_text().splitlines()[0]
    assert repr(found.best[0]) in found.text()


def test_the_table_and_the_excess_hold_the_scores():
    found = search(plain())
    table = found.to_table()
    assert table.columns == ("kernel", "0.001", "0.01", "0.1")
    assert [row[0] for row in table.rows] == [repr(kernel) for kernel in KERNELS]
    assert np.array_equal(np.array([row[1:] for row in table.rows]), found.scores)
    assert found.excess(*found.best) == 0
    assert found.excess(KERNELS[1], 0.1) == pytest.approx(found.scores[1, 2] / found.scores.min() - 1)
    assert found.best_kernels == tuple(KERNELS[i] for i in found.scores.argmin(axis=0))
    with pytest.raises(ValueError, match="read-only"):
        found.scores[0, 0] = 0.0


@pytest.mark.parametrize("folds", [1, 31, 0])
def test_folds_out_of_range_are_refused(folds):
    text = rf"^Cross-validation needs from 2 to 30 folds for 30 curves, got {folds}\.$"
    with pytest.raises(UsageError, match=text):
        search(plain(), folds=folds)


def test_unknown_scores_mechanisms_and_a_distance_without_draws_are_refused():
    with pytest.raises(UsageError, match=r"^A score is one of 'squared distance', 'distance', got 'likelihood'\.$"):
        search(plain(), score="likelihood")
    with pytest.raises(UsageError, match=r"^Cross-validation knows 'gp', 'iclp-qr', 'iclp-ar' and 'frl', got 'knn'\.$"):
        mechanism("knn", epsilon=1.0)
    text = r"^The expected distance has no closed form: say how many releases to draw, e\.g\. draws=1000\.$"
    with pytest.raises(UsageError, match=text):
        search(mechanism("gp", epsilon=0.5, delta=0.05), score="distance")


def test_progress_is_told_once_for_each_kernel():
    seen = []

    def track(items, what):
        for item in items:
            seen.append((what, item))
            yield item

    validate(
        CURVES,
        GRID,
        release=plain(),
        kernels=KERNELS,
        parameters=PENALTIES,
        randomness=SeededRandomness(1),
        folds=2,
        track=track,
    )
    assert seen == [("cross-validation", kernel) for kernel in KERNELS]


def test_the_simple_bound_is_above_the_supremum_and_meets_it_where_an_eigenvalue_is_the_penalty():
    """Theorem 4.1: for eta = 1 the bound is tau / (n sqrt(penalty)), attained at an eigenvalue equal to the penalty."""
    for penalty in (0.003, float(TERMS.eigenvalues[2])):
        given = {**GUARANTEE, "penalty": penalty}
        right = published.gaussian_process(SAMPLE, TERMS, **given, calibration="published")
        simple = published.simple_bound(SAMPLE, TERMS, **given)
        sigma = simple.scales / np.sqrt(TERMS.eigenvalues)
        expected = math.sqrt(2 * math.log(2 / 0.05)) / 0.5 * SAMPLE.l2 / SAMPLE.n / math.sqrt(penalty)
        assert sigma == pytest.approx(np.full(25, expected))
        assert published.shortfall(right, simple) >= 1 - 1e-12
        assert np.array_equal(simple.summary, right.summary)
    assert published.shortfall(right, simple) == pytest.approx(1)


@pytest.mark.parametrize("eta", [1.0, 1.5, 3.0])
def test_the_simple_bound_is_the_largest_value_over_all_eigenvalues(eta):
    given = {**GUARANTEE, "eta": eta}
    simple = published.simple_bound(SAMPLE, TERMS, **given)
    x = np.geomspace(1e-6, 1e2, 200_001)
    largest = (x ** (eta - 0.5) / (x**eta + 0.01)).max()
    sigma = math.sqrt(2 * math.log(2 / 0.05)) / 0.5 * 2 * SAMPLE.l2 / SAMPLE.n * largest
    assert simple.scales / np.sqrt(TERMS.eigenvalues) == pytest.approx(np.full(25, sigma), rel=1e-7)


def test_the_authors_program_adds_too_little_noise_by_the_root_of_the_grid_less_the_sum():
    right = published.gaussian_process(SAMPLE, TERMS, **GUARANTEE, calibration="published")
    programmed = published.as_programmed(SAMPLE, TERMS, **GUARANTEE)
    squares = TERMS.eigenvalues / (TERMS.eigenvalues + 0.01) ** 2
    factor = math.sqrt(25 * squares.max() / squares.sum())
    assert factor > 1.5
    assert published.shortfall(programmed, right) == pytest.approx(factor)
    assert np.array_equal(programmed.summary, right.summary)


def test_the_penalised_mean_is_shrunk_towards_zero_and_has_no_noise():
    mean = published.plain(SAMPLE, TERMS, eta=1.0, penalty=1e-12)
    assert mean.summary == pytest.approx(SAMPLE.mean, abs=1e-3)
    assert mean.privacy_error == 0
    sizes = [np.abs(published.plain(SAMPLE, TERMS, eta=1.0, penalty=p).summary).max() for p in (0.1, 1.0, 10.0, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-5


def test_validation_scores_are_public_names():
    assert validation.SCORES == ("squared distance", "distance")
