"""What a verification can ask a statistic: numbers of its card that follow from the rest of its file.

Every answer may be None: then the number could not be compared, and the report says so. A statistic states what it
knows in a class derived from `Comparisons`, as `COMPARISONS` in its `release.py`; one that states nothing is verified
by what all releases share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.mechanisms.noise import LAWS, NoiseLaw, NothingAdded
from dpfda.privacy import REPLACE
from dpfda.releases.cards.words import Statement
from dpfda.releases.certificate import Certificate

# Norms in which noise of the largest scale meets the sensitivity: one deviation for all.
EVEN = ("L1", "L2", "Nuclear")


def nothing_added(card: Certificate) -> bool:
    """Whether the card says that the release was drawn as a whole, and no noise added."""
    return card.law == "none" or (card.law in LAWS and issubclass(LAWS[card.law], NothingAdded))


class Comparisons:
    """Nothing is known of a statistic but what is on its card."""

    divides_by_n: bool = False  # whether the noise in the file was divided by the number of units
    # Whether docs/mathematics.md proves the sensitivity; without that and without `least_sensitivity` it is listed as
    # not compared.
    sensitivity_is_proven: bool = False
    # Reasons on the card that follow from the numbers in the file, which says them as `told`.
    told: tuple[str, ...] = ()

    def noise_rms(self, release: Any) -> tuple[float, ...]:
        """What the noise over the domain may be, from the law in the file; empty where the file does not hold it."""
        return ()

    def largest_deviation(self, noise: NoiseLaw) -> float | None:
        """The largest standard deviation of a coordinate, which the card calls its scale."""
        return None

    def lattice_step(self, card: Certificate) -> float | None:
        """The lattice step that belongs to the bound."""
        return None

    def moves(self, card: Certificate, release: Any) -> Statement | None:
        """How far one unit moves the summary."""
        return None

    def units(self, release: Any) -> float | None:
        """The number of units, where the file holds it beside the card."""
        return None

    def worst_loss(self, noise: NoiseLaw, card: Certificate) -> float | None:
        """Epsilon of the privacy curve, or mu of a Gaussian one, from the noise in the file and one unit's move."""
        return None

    def noise_scale(self, noise: NoiseLaw, card: Certificate) -> float | None:
        """The scale that the noise in the file was drawn with, in lattice steps."""
        return None

    def least_sensitivity(self, card: Certificate) -> float | None:
        """What the Euclidean sensitivity cannot be below, in lattice steps."""
        return None

    def step_in_coordinates(self, release: Any) -> float | None:
        """What one lattice step is in the coordinates of a release, where these are multiples of it."""
        return None

    def made_from(self, card: Certificate) -> tuple[Certificate, ...]:
        """Cards of other releases that it may have been made from after the noise, for nothing."""
        return ()

    def misfits(self, card: Certificate) -> tuple[tuple[str, str, str], ...]:
        """Fields that cannot stand together: the rule, what is stated, and what does not fit it."""
        return ()


class CurveComparisons(Comparisons):
    """What statistics share whose coordinates are those of functions in a basis."""

    power: int = 1  # of the bound, in lattice steps
    steps: float = 2.0**24  # that the bound to its power has

    def noise_rms(self, release: Any) -> tuple[float, ...]:
        if not isinstance(getattr(release, "noise", None), NoiseLaw):
            return ()
        return (float(np.sqrt(np.trace(release.basis.gram() * release.noise.variances))),)

    def largest_deviation(self, noise: NoiseLaw) -> float | None:
        return float(np.sqrt(noise.variances.max()))

    def lattice_step(self, card: Certificate) -> float | None:
        return card.bound**self.power / self.steps

    def least_moved(self, card: Certificate, longest: float) -> float | None:
        """In lattice steps: `longest` times the bound to its power where a unit is replaced, once where it is added."""
        if card.lattice_step <= 0:
            return None
        return (longest if card.neighbours == REPLACE else 1.0) * card.bound**self.power / card.lattice_step


def plain_law(card: Certificate) -> bool:
    """Whether the largest scale of the noise is the one that it was drawn with."""
    return card.mechanism in ("gaussian", "laplace", "wishart") or card.sensitivity_norm in EVEN


def from_shares(scales: tuple[float, ...], step: float) -> float:
    """The scale of blocks whose shares of it are such that their squares add up to one, in lattice steps."""
    return 1 / (step * math.sqrt(math.fsum(scale**-2 for scale in scales)))
