"""What a verification says of a statistic that states little about itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dpfda
from dpfda.curator.summary import Summary
from dpfda.mechanisms import NoiseLaw
from dpfda.page.render import card_page
from dpfda.releases import Band, Certificate, kinds
from dpfda.releases.cards.nist import answers
from dpfda.releases.cards.registry import registry_text
from dpfda.releases.cards.words import say
from dpfda.releases.comparisons import Comparisons
from dpfda.releases.decoded import added_noise, finite
from dpfda.releases.files import save
from dpfda.releases.verification import verify
from dpfda.releases.verification.report import Report
from dpfda.statistics.mean.summary import Mean

T = np.linspace(0, 1, 20)
CURVES = np.sin(np.pi * T) + np.linspace(-0.2, 0.2, 3000)[:, None]


@dataclass(frozen=True, eq=False)
class Bare:
    """A release with the least that it needs: no test of its own."""

    basis: Any
    noisy: Any
    noise: NoiseLaw
    certificate: Certificate

    kind: ClassVar[str] = "bare"
    computed: ClassVar[tuple[str, ...]] = ()

    def to_plain(self) -> dict[str, Any]:
        return {"noisy": self.noisy.tolist(), "noise": self.noise.describe()}

    @staticmethod
    def from_plain(data: Any, basis: Any, certificate: Certificate) -> Bare:
        return Bare(basis, finite(data["noisy"], basis.size), added_noise(data["noise"], basis.size), certificate)


def publish(self: Mean, decoded: Any, public: Any, basis: Any, certificate: Any, *, smoothing: str) -> Bare:
    return Bare(basis, decoded.noisy, decoded.noise, certificate)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[kinds.Statistic]:
    """The kind as it is registered; means are published as it."""
    statistic = kinds.Statistic("bare", "bare")
    statistic.__dict__.update(release=Bare, comparisons=kinds.NOTHING_KNOWN)
    monkeypatch.setitem(kinds._FOLDERS, "bare", "bare")
    monkeypatch.setitem(kinds._LOADED, "bare", statistic)
    monkeypatch.setattr(Mean, "publish", publish, raising=False)
    yield statistic
    monkeypatch.undo()
    assert Mean.publish is Summary.publish


def fitted() -> Bare:
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, size=6, dataset="curves")
    return est.fit(CURVES, grid=T, units={"person": np.arange(3000)}).release_


def verified(place: Path) -> tuple[Bare, Report]:
    ledger = dpfda.Ledger(f"sqlite:///{place}/budget.db")
    ledger.create("curves", epsilon=4.0, delta=1e-5, unit="person")
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, size=6, dataset="curves", ledger=ledger)
    release = est.fit(CURVES, grid=T, units={"person": np.arange(3000)}).release_
    return release, verify(save(release, place / "bare.json"), ledger)


def test_without_a_test_of_its_own_the_card_says_so_and_the_file_is_not_called_edited(
    known: kinds.Statistic, tmp_path: Path
) -> None:
    release, report = verified(tmp_path)
    assert release.certificate.detected.code == "not-tested"
    assert report.findings == ()
    alone = verify(tmp_path / "bare.json")
    assert alone.findings == ()
    assert "detected" in alone.missing[-1].split(": ")[1].split(", ")


@pytest.mark.parametrize("says", [None, False, True])
def test_a_card_speaks_of_a_band_where_the_release_says_that_it_has_one(
    known: kinds.Statistic, monkeypatch: pytest.MonkeyPatch, says: bool | None
) -> None:
    release = fitted()
    if says is not None:
        monkeypatch.setattr(Bare, "has_band", says, raising=False)
    if says:
        monkeypatch.setattr(
            Bare, "band", lambda self, level, points: Band(points, points - 1, points + 1, level), raising=False
        )
        monkeypatch.setattr(Bare, "points", lambda self, size: T, raising=False)
    card = release.certificate
    assert card.statistic == "bare"
    assert card.noise_rms > 0
    pages = card.text(), card_page(card, release), str(answers(card, release)), registry_text(card, release)
    assert [" band" in text for text in pages] == [bool(says)] * 4


@pytest.mark.parametrize("kind", [each.name for each in kinds.every()])
def test_a_class_of_releases_has_a_band_if_it_says_so(kind: str) -> None:
    assert kinds.has_band(kind) == hasattr(kinds.statistic(kind).release, "band")


def test_without_comparisons_the_sensitivity_is_not_compared_even_with_a_ledger(
    known: kinds.Statistic, tmp_path: Path
) -> None:
    release, report = verified(tmp_path)
    assert not report.ok
    assert report.exit_code
    assert [part.split(",")[0] for part in report.missing] == ["the sensitivity"]
    assert release.certificate.sensitivity_because in report.missing[0]


class Least(Comparisons):
    """Knows what the sensitivity cannot be below."""

    def least_sensitivity(self, card: Certificate) -> float | None:
        return 2 * card.bound / card.lattice_step


class Proven(Comparisons):
    sensitivity_is_proven = True


@pytest.mark.parametrize("answers", [Least(), Proven()], ids=lambda answers: type(answers).__name__)
def test_a_statistic_that_says_what_its_sensitivity_is_holds(
    answers: Comparisons, known: kinds.Statistic, tmp_path: Path
) -> None:
    known.__dict__["comparisons"] = answers
    assert verified(tmp_path)[1].ok


def test_a_mean_that_claims_that_nothing_was_tested_is_found_out(tmp_path: Path) -> None:
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, size=6)
    release = est.fit(CURVES, grid=T, units={"person": np.arange(3000)}).release_
    forged = replace(release, certificate=replace(release.certificate, detected=say("detected", "not-tested")))
    assert [finding.rule for finding in verify(forged).findings] == ["what was seen above the noise"]
