"""The release of a function of the user's own, and what a verification can compare of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from dpfda.bases import Basis
from dpfda.bases.lattice import RADIUS
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.certificate import Certificate
from dpfda.releases.comparisons import CurveComparisons
from dpfda.releases.release import Release


@dataclass(frozen=True, eq=False)
class FunctionRelease(Release):
    """A private function whose sensitivity was claimed by whoever computed it."""

    kind: ClassVar[str] = "function"

    @staticmethod
    def from_plain(data: dict[str, Any], basis: Basis, certificate: Certificate) -> FunctionRelease:
        """The release that `to_plain` wrote."""
        plain = Release.from_plain(data, basis, certificate)
        return FunctionRelease(**{field.name: getattr(plain, field.name) for field in fields(plain)})


class FunctionComparisons(CurveComparisons):
    """The claim itself cannot be compared with anything; that the noise is enough for it can."""

    def lattice_step(self, card: Certificate) -> float | None:
        return None  # each coordinate has its own

    def moves(self, card: Certificate, release: Any) -> Statement | None:
        return say("moves", "claimed", by=card.bound, norm=card.moves.values.get("norm", ""))

    def least_sensitivity(self, card: Certificate) -> float | None:
        return float(RADIUS)  # a change as large as the claim


RELEASE = FunctionRelease
COMPARISONS = FunctionComparisons()
