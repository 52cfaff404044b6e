"""Come here for whether a release and its card speak of the same noise: the law in the file against the card."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.privacy import REPLACE, Noise
from dpfda.releases.cards.guarantee import CLOSE, parameter_of
from dpfda.releases.cards.report import GUARANTEE, Checks
from dpfda.releases.certificate import Certificate
from dpfda.releases.wording import plain

# Norms in which noise of the largest scale meets the sensitivity: one deviation for all, or one that is smaller only
# where an entry of a symmetric matrix stands twice.
EVEN = ("L1", "L2", "Nuclear")
PACKED = (*EVEN, "WeightedL1", "WeightedL2")


def check_release(release: Any, kind: str, card: Certificate, checks: Checks) -> None:
    """Basis, domain, size and law of the noise: what a file holds twice must be the same both times."""
    basis = release.basis
    domain = " x ".join(f"[{low!r}, {high!r}]" for low, high in basis.domain.sides)
    stated = " x ".join(f"[{low!r}, {high!r}]" for low, high in card.domain)
    checks.rule(card.domain == basis.domain.sides, GUARANTEE, "domain is that of the basis", stated, domain)
    checks.rule(card.size == basis.size, GUARANTEE, "size is that of the basis", card.size, basis.size)
    checks.rule(
        card.basis == basis.describe()["family"], GUARANTEE, "family is that of the basis", card.basis, basis.family
    )
    count = getattr(release, "count", None)
    if count is not None:
        checks.rule(card.n_is_noisy and card.n == count.value, GUARANTEE, "noisy number of units", card.n, count.value)
    noise = getattr(release, "noise", None)
    if isinstance(noise, Noise):
        _check_text(noise, kind, card, checks)
        _check_scale(noise, kind, card, checks)


def _check_text(noise: Noise, kind: str, card: Certificate, checks: Checks) -> None:
    if noise.law == "choice":
        return
    checks.rule(card.noise == noise.text, GUARANTEE, "law of the noise in words", card.noise, noise.text)
    if kind != "regression":  # there the card speaks of the products alone
        largest = float(np.sqrt(noise.variances.max()))
        checks.rule(
            math.isclose(card.scale, largest, rel_tol=CLOSE),
            GUARANTEE,
            "largest deviation of a coordinate",
            plain(card.scale),
            f"{largest:.10g}",
        )


def _check_scale(noise: Noise, kind: str, card: Certificate, checks: Checks) -> None:
    """The scale that the guarantee is computed from, against the noise that is in the file."""
    if not card.losses or card.noise_scale <= 0 or noise.law in ("choice", "frame") or _drawn_as_a_whole(card):
        return
    if card.what == "mean function" and card.neighbours == REPLACE:
        _check_moved(noise, card, checks)
        return
    found = scale_in_file(noise, kind, card)
    if found is None:
        checks.notes.append("the noise in the file has a shape of its own: its scale was not compared with the card's")
        return
    checks.rule(
        math.isclose(card.noise_scale, found, rel_tol=CLOSE),
        GUARANTEE,
        "scale is that of the noise in the file, in lattice steps",
        plain(card.noise_scale),
        f"{found:.10g}",
    )


def _drawn_as_a_whole(card: Certificate) -> bool:
    """An exponential mechanism adds no noise, even where what it draws is normal around the mean."""
    return str(card.losses[0].get("law")) == "range"


def _check_moved(noise: Noise, card: Certificate, checks: Checks) -> None:
    """For a mean everything is at hand: one unit moves it by 2 bound / n, and the noise of the file hides that."""
    moved, scales = 2 * card.bound / card.n, np.array(noise.scales)
    # Normal noise is worst where it is smallest; a block of exp(-|z| / s) costs |v| / s, by Cauchy at most this in all.
    found = moved / scales.min() if noise.law == "gaussian" else moved * math.sqrt(float((1 / scales**2).sum()))
    stated = parameter_of(card.losses[0])
    checks.rule(
        math.isclose(stated, found, rel_tol=1e-7),
        GUARANTEE,
        "privacy curve is that of the noise in the file, bound and number of units",
        plain(stated),
        f"{found:.10g}",
    )


def scale_in_file(noise: Noise, kind: str, card: Certificate) -> float | None:
    """The noise scale that a file was drawn with, in lattice steps; None where its shape is not known."""
    if card.lattice_step <= 0 or card.what.startswith("penalised"):
        return None
    sums = {"mean": EVEN, "covariance": PACKED}
    plain_law = card.mechanism in ("gaussian", "laplace", "wishart") or card.sensitivity_norm in EVEN
    if kind in sums and card.sensitivity_norm in sums[kind] and plain_law and not card.n_is_planned:
        return max(noise.scales) * card.n / card.lattice_step
    if kind in ("density", "machine") and card.sensitivity_norm in EVEN and card.neighbours == REPLACE:
        return max(noise.scales) / card.lattice_step
    if kind == "machine" and card.sensitivity_norm == "BlockNorm":
        # Shares are such that their squares add up to one.
        return 1 / (card.lattice_step * math.sqrt(math.fsum(scale**-2 for scale in noise.scales)))
    return None
