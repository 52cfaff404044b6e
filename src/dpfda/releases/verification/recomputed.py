"""Fields of a card that follow from the rest of its file.

Whoever forges one of them must forge others with it; whoever forges all of them is found out by a ledger alone.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from dpfda.bases.symmetric import multiplicities, places
from dpfda.errors import DpfdaError
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy import REPLACE, Budget
from dpfda.releases.cards.facts import Card
from dpfda.releases.certificate import CANDIDATES, INTEGERS, NOT_PRIVATE, POINTS, Certificate, as_handed_out
from dpfda.releases.verification.guarantee import CLOSE
from dpfda.releases.verification.report import EDITED, GUARANTEE, Checks
from dpfda.releases.wording import plain, up

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
# The bound to its power, in lattice steps: 2^24 for sums of curves, 2^32 for sums of products.
STEPS = {"mean": 2.0**24, "covariance": 2.0**32, "components": 2.0**32, "regression": 2.0**32}
# What our own mechanisms say of their noise; those of the papers have several.
WORDS = {
    "gaussian": ("independent normal noise",),
    "laplace": ("independent Laplace noise",),
    "k-norm": ("radial", "independent Laplace noise"),
    "wishart": ("two-sided Wishart",),
    "exponential": ("none added", "independent normal noise"),
    "dictionary": ("none added",),
}
SOURCES = (INTEGERS, CANDIDATES, POINTS)
# Said by whoever ran the program: nothing else in the file knows of them.
SAID = ("what", "dataset", "unit", "unit_was_assumed", "chosen", "missing", "randomness", "warnings", "software")


def check_stated(card: Card, release: Any, kind: str, checks: Checks) -> tuple[str, ...]:
    """Compare what can be compared; the names of the fields for which there was nothing to compare them with."""
    # Also where nothing is promised: a source that was given another name is unknown, not seeded.
    source = card.randomness in (*SOURCES, NOT_PRIVATE)
    checks.rule(source, GUARANTEE, "source of randomness is one of ours", card.randomness, " or ".join(SOURCES))
    _check_warnings(card, checks)
    if not isinstance(card, Certificate):
        return (*SAID, "n", "candidates")
    open_fields = [*SAID, "centre", "sensitivity_because", "bounded", "curves_per_unit", "shrunk_by"]
    if card.mechanism in WORDS:
        said = WORDS[card.mechanism]
        checks.rule(card.noise.startswith(said), GUARANTEE, "mechanism has this noise", card.mechanism, card.noise)
    else:
        open_fields.append("mechanism")
    if release is None:
        return (
            *open_fields,
            "detected",
            "n",
            "bound",
            "moves",
            "noise_rms",
            "scale",
            "lattice_step",
            "basis",
            "size",
            "domain",
        )
    if kind == "mean" and card.mechanism == "gp":
        drawn = card.what.startswith("penalised")
        checks.rule(drawn, GUARANTEE, "a mean under the noise of a process is penalised", card.what, card.mechanism)
    for name, found in (
        ("noise_rms", _check_noise(card, release, kind, checks)),
        ("lattice_step and bound", _check_lattice(card, kind, checks)),
        ("moves", _check_moves(card, release, kind, checks)),
        ("n", _check_number(card, release, kind, checks)),
        ("detected", _check_detected(card, release, checks)),
    ):
        if not found:
            open_fields.append(name)
    _check_smoothing(release, checks)
    return tuple(open_fields)


def _check_warnings(card: Card, checks: Checks) -> None:
    """Warnings that follow from the numbers stand on the card."""
    due = [] if card.private else [NOT_PRIVATE]
    if isinstance(card, Certificate) and len(card.losses) == 1 and card.neighbours == REPLACE:
        due += Budget(card.epsilon, card.delta).warnings(int(card.n))
    lost = [text for text in due if text not in card.stamps]
    lost += [text for text in card.warnings if text == NOT_PRIVATE and card.private]
    checks.rule(
        not lost, GUARANTEE, "warnings follow from the card", "; ".join(card.warnings) or "none", "; ".join(lost)
    )


def noise_rms(release: Any, kind: str) -> float | None:
    """The noise over the domain before smoothing, from its law in the file; None where the file does not hold it."""
    noise, basis = getattr(release, "noise", None), release.basis
    if kind == "regression":
        return float(as_handed_out(release).noise_rms)
    if not isinstance(noise, NoiseLaw):
        return None
    if kind == "covariance":
        side = basis.size + (1 if release.lead else 0)
        first, _ = places(side)
        # The row of the mean is no part of the covariance function.
        return float(np.sqrt((multiplicities(side) * (first > 0 if release.lead else 1)) @ noise.variances))
    found = float(np.sqrt(np.trace(basis.gram() * noise.variances)))
    return found / math.prod(basis.domain.lengths) if kind == "density" else found


def _check_noise(card: Certificate, release: Any, kind: str, checks: Checks) -> bool:
    found = noise_rms(release, kind)
    if found is None and not card.noise.startswith("none added"):
        return False
    due = found or 0.0
    if kind == "regression" and not math.isclose(card.noise_rms, due, rel_tol=1e-7):
        # Files from before changes were noted: the ridge may have been another one when the card was written.
        due = float(release.with_ridge("auto").noise_rms)
    checks.rule(
        math.isclose(card.noise_rms, due, rel_tol=1e-7, abs_tol=1e-300),
        GUARANTEE,
        "noise over the domain is that of the law in the file",
        plain(card.noise_rms),
        f"{due:.10g}",
    )
    return True


def _check_lattice(card: Certificate, kind: str, checks: Checks) -> bool:
    if kind not in STEPS or card.moves.startswith("moves the objective"):
        return False
    power = 2 if kind in ("covariance", "components") else 1
    due = card.bound**power / STEPS[kind]
    checks.rule(
        math.isclose(card.lattice_step, due, rel_tol=CLOSE),
        GUARANTEE,
        "lattice step is that of the bound",
        plain(card.lattice_step),
        f"{due:.10g}",
    )
    return True


def moves_of(card: Certificate, release: Any, kind: str) -> str | None:
    """How far one unit moves the summary, in the words of its card; None where the file does not tell."""
    public = card.neighbours == REPLACE
    if kind == "mean" and not card.moves.startswith("moves the objective"):
        if public:
            return f"moves the mean by at most {up(2 * card.bound / card.n, 4)} root mean square"
        return f"adds at most {plain(card.bound)} root mean square to the sum, and itself to the count"
    if kind in ("covariance", "components"):
        lead = getattr(release, "lead", None)
        if lead is None and not card.noise.startswith("none added"):
            return None
        square = card.bound**2 + (lead or 0.0) ** 2
        if public:
            return f"moves the matrix of moments by at most {up(math.sqrt(2) * square / card.n, 4)} in Frobenius norm"
        return (
            f"adds at most {up(square, 6)} in Frobenius norm to the sum of moments{', its count included' * bool(lead)}"
        )
    if kind == "density":
        if public:
            return f"moves at most 1/{card.n:.0f} of all points from anywhere to anywhere"
        return "adds its point, or its several points together as one, anywhere"
    return None


def _check_moves(card: Certificate, release: Any, kind: str, checks: Checks) -> bool:
    due = moves_of(card, release, kind)
    if due is None:
        return False
    # Figures on the card are rounded, and roundings of ours may differ in the last digit.
    stated, found = NUMBER.findall(card.moves), NUMBER.findall(due)
    same = NUMBER.sub("#", card.moves) == NUMBER.sub("#", due) and all(
        math.isclose(float(one), float(other), rel_tol=2e-3) for one, other in zip(stated, found, strict=True)
    )
    checks.rule(same, GUARANTEE, "how far one unit moves the summary", card.moves, due)
    return True


def _check_number(card: Certificate, release: Any, kind: str, checks: Checks) -> bool:
    """Densities hold their number of units; sums were divided by theirs, which the curve of the noise shows."""
    if kind == "density":
        checks.rule(card.n == release.n, GUARANTEE, "number of units in the file", plain(card.n), plain(release.n))
        return True
    if getattr(release, "count", None) is not None:
        return True  # compared with the noisy number in the file
    drawn = bool(card.losses) and card.losses[0].get("law") == "range"  # as a whole: no noise was divided by it
    return kind in ("mean", "covariance") and not drawn and "its scale was not compared" not in " ".join(checks.notes)


def _check_detected(card: Certificate, release: Any, checks: Checks) -> bool:
    """What stands out from the noise is computed anew from the noisy numbers; cards from before say neither word."""
    checks.rule(
        bool(card.detected) == bool(card.counting),
        EDITED,
        "a card says what was seen if it says how n is known",
        card.detected or "nothing",
        "both, or neither on cards from before they were kept",
    )
    due = getattr(release, "tested", None)
    if due is None or not card.detected:
        return not card.detected
    checks.rule(card.detected == due, GUARANTEE, "what was seen above the noise", card.detected, due)
    return True


def _check_smoothing(release: Any, checks: Checks) -> None:
    """The smoothing in the file is what its name makes of the noisy coordinates."""
    stated = getattr(release, "smoothing", None)
    if stated is None or not hasattr(release, "smooth"):
        return
    try:
        due = release.smooth(stated.name).smoothing
    except DpfdaError:
        checks.rule(False, GUARANTEE, "smoothing", stated.name, "no smoothing that this version knows")
        return
    same = np.allclose(stated.weights, due.weights, rtol=1e-6, atol=1e-9)
    same = same and math.isclose(
        stated.risk, due.risk, rel_tol=1e-6, abs_tol=1e-12 * float(np.abs(release.noisy).max())
    )
    checks.rule(
        same, GUARANTEE, "smoothing is that of the noisy coordinates", f"risk {stated.risk:.6g}", f"{due.risk:.6g}"
    )
