"""The release of a mean: a private function, and what a verification can compare of it."""

from __future__ import annotations

from typing import Any

from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy import REPLACE
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate
from dpfda.releases.comparisons import EVEN, CurveComparisons, plain_law
from dpfda.releases.release import Release

RELEASE = Release


class MeanComparisons(CurveComparisons):
    """One unit moves a mean by `2 bound / n`; a maximiser of an objective is no sum, and has a step of its own."""

    divides_by_n = True

    def lattice_step(self, card: Certificate) -> float | None:
        return None if card.what.code == "maximiser" else super().lattice_step(card)

    def moves(self, card: Certificate, release: Any) -> Statement | None:
        if card.what.code == "maximiser":
            return None
        if card.neighbours == REPLACE:
            return say("moves", "mean", by=2 * card.bound / card.n)
        return say("moves", "sum-and-count", by=card.bound)

    def worst_loss(self, noise: NoiseLaw, card: Certificate) -> float | None:
        whole = card.what.code == "mean" and card.neighbours == REPLACE
        return noise.worst_loss(2 * card.bound / card.n) if whole else None

    def noise_scale(self, noise: NoiseLaw, card: Certificate) -> float | None:
        if card.what.code == "penalised-mean" or card.sensitivity_norm not in EVEN or card.n_is_planned:
            return None
        return max(noise.scales) * card.n / card.lattice_step if plain_law(card) and card.lattice_step > 0 else None

    def least_sensitivity(self, card: Certificate) -> float | None:
        return self.least_moved(card, 2.0) if card.what.code in ("mean", "penalised-mean") else None

    def step_in_coordinates(self, release: Any) -> float | None:
        card = release.certificate
        summed = card.what.code != "penalised-mean" and release.noise.added and not card.n_is_planned
        return float(card.lattice_step / card.n) if summed and card.lattice_step > 0 else None

    def misfits(self, card: Certificate) -> tuple[tuple[str, str, str], ...]:
        found = []
        if card.mechanism == "gp" and card.what.code != "penalised-mean":
            found.append(("a mean under the noise of a process is penalised", card.what.code, card.mechanism))
        if (card.what.code == "maximiser") != (card.moves.code == "objective"):
            found.append(("a unit moves the objective of a maximiser", card.what.code, card.moves.code))
        return tuple(found)


COMPARISONS = MeanComparisons()
