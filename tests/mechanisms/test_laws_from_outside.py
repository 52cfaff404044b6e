"""A law of noise and its mechanism, defined here and registered from outside the package, go the whole way."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from refusals import refused
from scipy.optimize import brentq

import dpfda
from dpfda.arrays import Array, Integers
from dpfda.errors import DataError, UsageError
from dpfda.mechanisms import LAWS, Care, GaussianLaw, NoiseLaw, Randomness, SystemRandomness, register_law
from dpfda.mechanisms.base import check_coordinates, law_of
from dpfda.page import page
from dpfda.page.base import Asked, page_of
from dpfda.privacy import PureProfile
from dpfda.privacy.norms import L1, Norm, Sensitivity, up
from dpfda.releases.cards.facts import band
from dpfda.releases.detection import standard_draws
from dpfda.releases.documents import sealed
from dpfda.releases.verification import recompute, verify

LEVELS = np.linspace(0.0, 1.0, 30)


@dataclass(frozen=True, slots=True)
class DoubleLaplaceLaw(NoiseLaw):
    """Each coordinate of block b is a sum of two Laplace variables of scale `scales[b]`."""

    name: ClassVar[str] = "double-laplace"
    curves: ClassVar[tuple[str, ...]] = ("pure",)
    care: ClassVar[Care] = Care(1.5, 3.0)
    added: ClassVar[bool] = True
    independent: ClassVar[bool] = True

    @property
    def variances(self) -> Array:
        return 4 * np.repeat(np.square(self.scales), self.sizes)

    @property
    def dimension(self) -> int:
        return 2 * self.size

    def from_uniforms(self, uniforms: Array) -> Array:
        middle = uniforms - 0.5
        laplace = -np.sign(middle) * np.log1p(-2 * np.abs(middle))
        return np.asarray((laplace[:, : self.size] + laplace[:, self.size :]) * np.repeat(self.scales, self.sizes))

    def tail(self, failure: float) -> Array:
        # The density is (1 + |t|) exp(-|t|) / 4, so that |t| is exceeded with probability (1 + t/2) exp(-t).
        reach = brentq(lambda t: math.log1p(t / 2) - t - math.log(failure), 0.0, 2000.0)
        return np.asarray(reach * np.repeat(self.scales, self.sizes))

    def worst_loss(self, moved: float) -> float:
        return moved * math.sqrt(math.fsum(scale**-2.0 for scale in np.repeat(self.scales, self.sizes)))

    @property
    def text(self) -> str:
        return "sums of two Laplace variables in every coordinate"


class DoubleLaplace:
    """Laplace noise, twice: the second is post-processing, so that the first alone is paid for."""

    name = "double-laplace"
    norm: Norm = L1()
    pure = True

    def profile(self, sensitivity: Sensitivity, scale: float, *, size: int = 0) -> PureProfile:
        return PureProfile(up(sensitivity.to(self.norm, size).value / scale))

    def draw(self, coordinates: Integers, scale: float, *, randomness: Randomness) -> Integers:
        vector = check_coordinates(coordinates)
        return vector + randomness.laplace(scale, len(vector)) + randomness.laplace(scale, len(vector))

    def noise(self, scale: float, size: int) -> NoiseLaw:
        return DoubleLaplaceLaw((1,) * size, (scale,) * size)


@pytest.fixture
def registered() -> Iterator[None]:
    """The law is in the table for one test."""
    register_law(DoubleLaplaceLaw)
    yield
    del LAWS[DoubleLaplaceLaw.name]


def curves(n: int = 400) -> Array:
    return np.sin(2 * np.pi * LEVELS) + 0.1 * np.random.default_rng(1).standard_normal((n, 1))


def estimator(**more: Any) -> dpfda.MeanFunction:
    return dpfda.MeanFunction(
        epsilon=2.0, delta=0.0, bound=2.0, domain=(0, 1), size=9, mechanism=DoubleLaplace(), **more
    )


def fitted(**more: Any) -> dpfda.MeanFunction:
    return estimator(**more).fit(curves())


@pytest.mark.usefixtures("registered")
def test_a_law_from_outside_goes_from_calibration_to_a_verified_page(tmp_path: Path) -> None:
    mean = fitted(dataset="sines")
    release = mean.release_
    noise = release.noise
    assert isinstance(noise, DoubleLaplaceLaw)
    assert isinstance(mean.plan_.noise, DoubleLaplaceLaw)
    # One unit moves the mean by 2 bound / n in L2 norm: calibrated to the epsilon that was asked for.
    assert noise.worst_loss(2 * 2.0 / 400) == pytest.approx(2.0, rel=1e-6)

    card = release.certificate
    assert card.noise == noise.text
    assert noise.text in str(card)
    # What is said of one point holds under any law that states no more.
    alone = float(np.sqrt(release.basis.matrix(release.points(33)) ** 2 @ noise.variances).max()) * 4.48
    assert f"at one point alone within {alone:.4g}" in band(release)
    assert card.losses[0]["law"] == "pure"

    path = release.save(tmp_path / "release.json")
    again = dpfda.load(path)
    assert again.noise == noise
    assert np.array_equal(again(LEVELS), release(LEVELS))
    narrow, wider = again.band(0.9, LEVELS), again.band(0.99, LEVELS)
    assert np.array_equal(narrow.upper, release.band(0.9, LEVELS).upper)
    assert np.all(wider.upper - wider.lower > narrow.upper - narrow.lower)
    assert np.all(narrow.lower < again.smooth("none")(LEVELS))
    assert again.smooth("sobolev-2").smoothing.name == "sobolev-2"
    assert again.tested == card.detected

    report = recompute(path)
    assert report.ok, report.text()
    assert "double-laplace" in page(again)
    table = page_of(again).table(again, Asked("0.25,0.5", level=0.9))  # dpfda evaluate
    assert table["value"] == release([0.25, 0.5]).tolist()
    assert table["upper"] == release.band(0.9, [0.25, 0.5]).upper.tolist()


@pytest.mark.usefixtures("registered")
def test_a_release_under_a_law_from_outside_stands_in_its_ledger(tmp_path: Path) -> None:
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("sines", epsilon=5.0, delta=0.0)
    path = fitted(dataset="sines", ledger=ledger).release_.save(tmp_path / "release.json")
    report = verify(path, ledger)
    assert report.ok, report.text()


COVARIATES = np.random.default_rng(2).uniform(-1, 1, (400, 2))
CURVES: dict[str, Any] = {"epsilon": 2.0, "delta": 0.0, "bound": 2.0, "size": 4, "mechanism": DoubleLaplace()}
OTHERS = {
    "covariance": lambda: dpfda.CovarianceFunction(**CURVES).fit(curves()),
    "components": lambda: dpfda.FPCA(2, **CURVES).fit(curves()),
    "regression": lambda: dpfda.FunctionOnScalarRegression(covariate_limits=[(-1, 1)] * 2, **CURVES).fit(
        COVARIATES, curves()
    ),
    "machine": lambda: dpfda.KernelRegressor(
        epsilon=2.0, delta=0.0, response_bound=1.0, domain=[(-1, 1)] * 2, mechanism=DoubleLaplace()
    ).fit(COVARIATES, COVARIATES[:, 0]),
}


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("kind", OTHERS)
def test_every_statistic_that_takes_a_mechanism_takes_one_from_outside(kind: str, tmp_path: Path) -> None:
    release = OTHERS[kind]().release_
    path = release.save(tmp_path / "release.json")
    again = dpfda.load(path)
    assert getattr(again, "noise", None) == getattr(release, "noise", None)
    assert again.certificate.law == DoubleLaplaceLaw.name
    report = recompute(path)
    assert report.ok, report.text()
    assert page(again).count("sums of two Laplace variables") >= 1


@pytest.mark.usefixtures("registered")
def test_a_private_number_of_units_has_the_tail_of_the_law_from_outside(tmp_path: Path) -> None:
    release = fitted(neighbours="add-or-remove-one", planned_n=400).release_
    count = release.count
    assert isinstance(count.noise, DoubleLaplaceLaw)
    t = count.reach(0.01) / count.noise.scales[0]
    assert (1 + t / 2) * math.exp(-t) == pytest.approx(0.01)
    report = recompute(release.save(tmp_path / "release.json"))
    assert report.ok, report.text()


@pytest.mark.usefixtures("registered")
def test_a_forged_scale_of_a_law_from_outside_is_found(tmp_path: Path) -> None:
    path = fitted().release_.save(tmp_path / "release.json")
    data = json.loads(path.read_text())
    data["noise"]["scales"] = [2 * scale for scale in data["noise"]["scales"]]
    path.write_text(sealed({name: part for name, part in data.items() if name != "digest"}))
    rules = [finding.rule for finding in recompute(path).findings]
    assert "privacy curve is that of the noise in the file, bound and number of units" in rules


@pytest.mark.usefixtures("registered")
def test_densities_of_the_noise_are_simulated_without_a_sampler_of_its_own() -> None:
    """4096 draws; a relative error of a variance beyond 0.25 has a chance below 1e-6, and the seed is fixed."""
    drawn = standard_draws(DoubleLaplaceLaw((1, 1), (0.1, 7.0)))
    assert np.var(drawn, axis=0) == pytest.approx([1.0, 1.0], rel=0.25)


def test_a_law_that_is_in_no_table_is_refused_before_any_charge() -> None:
    mean = estimator()
    with refused(UsageError, "noise"):
        mean.fit(curves())
    assert mean.spent_ is None


def test_a_file_of_a_law_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    register_law(DoubleLaplaceLaw)
    try:
        path = fitted().release_.save(tmp_path / "release.json")
    finally:
        del LAWS[DoubleLaplaceLaw.name]
    with pytest.raises(DataError):
        dpfda.load(path)


def test_a_mechanism_whose_noise_is_no_law_is_refused() -> None:
    class Wordy(DoubleLaplace):
        def noise(self, scale: float, size: int) -> Any:
            return {"law": "gaussian", "sizes": [size], "scales": [scale]}

    with refused(UsageError, "noise", {"law": "gaussian", "sizes": [3], "scales": [1.0]}):
        law_of(Wordy(), 1.0, 3)


def test_a_law_that_lacks_a_duty_is_refused_when_it_is_registered_and_when_it_is_made() -> None:
    class Half(NoiseLaw):
        name: ClassVar[str] = "half"
        care = Care(1.0, 1.0)
        added = independent = True
        dimension, text = 1, "half a law"

    with pytest.raises(UsageError) as caught:
        register_law(Half)
    assert str(caught.value) == "The noise law Half lacks from_uniforms, tail, variances, worst_loss, curves."
    with pytest.raises(TypeError, match="abstract"):
        Half((1,), (1.0,))
    assert "half" not in LAWS


@pytest.mark.parametrize("law", [GaussianLaw((1,), (1.0,)), dict, "gaussian"])
def test_only_classes_of_laws_are_registered(law: Any) -> None:
    with refused(UsageError, "law", law):
        register_law(law)


def test_a_name_is_taken_once() -> None:
    with refused(UsageError, "name", "gaussian"):
        register_law(GaussianLaw)


def test_the_draw_has_the_variances_of_the_law() -> None:
    """Chi-square-like at five deviations with the fourth moment of the law, 60 for variance 4; system randomness, so a
    false alarm has a chance below 1e-6."""
    size, scale = 20_000, 50.0
    drawn = DoubleLaplace().draw(np.zeros(size, dtype=np.int64), scale, randomness=SystemRandomness())
    law = DoubleLaplace().noise(scale, size)
    spread = math.sqrt((72 - 16) / size) / 4
    assert np.mean(drawn.astype(np.float64) ** 2) / law.variances[0] == pytest.approx(1, abs=5 * spread)
