"""Fields of a card that follow from the rest of its file.

Whoever forges one of them must forge others with it; whoever forges all of them is found out by a ledger alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.errors import DpfdaError
from dpfda.mechanisms.base import DRAWS, mechanism_with
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy import REPLACE, Budget
from dpfda.releases.cards import first_schema
from dpfda.releases.cards.facts import Card
from dpfda.releases.cards.words import WORDS, Statement, plain, statement
from dpfda.releases.certificate import NOT_PRIVATE, Certificate
from dpfda.releases.comparisons import Comparisons, nothing_added
from dpfda.releases.kinds import comparisons_of, statistic_of
from dpfda.releases.verification.consistency import check_scale
from dpfda.releases.verification.report import CLOSE, EDITED, GUARANTEE, Checks

ROUNDED = 2e-3  # relative: figures in sentences of the first schema
# Said by whoever ran the program: nothing else in the file knows of them.
SAID = (
    *("what", "dataset", "unit", "unit_was_assumed", "chosen", "missing", "randomness", "warnings", "software"),
    *("counting", "fits"),
)
# Those of a release beside them.
OPEN = ("centre", "sensitivity_because", "bounded", "curves_per_unit", "shrunk_by", "power", "nominal")
# Those that its file would tell.
IN_FILE = (
    *("statistic", "detected", "n", "bound", "moves", "noise_rms", "scale", "lattice_step", "basis", "size", "domain"),
)


def check_stated(card: Card, release: Any, checks: Checks) -> tuple[str, ...]:
    """Compare what can be compared; the names of the fields for which there was nothing to compare them with."""
    # Also where nothing is promised: a source that was given another name is unknown, not seeded.
    checks.rule(
        card.randomness.code in WORDS["randomness"],
        GUARANTEE,
        "source of randomness is one of ours",
        card.randomness,
        " or ".join(WORDS["randomness"]),
    )
    _check_warnings(card, checks)
    if not isinstance(card, Certificate):
        return (*SAID, "n", "candidates", "result")
    open_fields = [*SAID, *OPEN]
    if card.mechanism in DRAWS:
        mechanism = mechanism_with(card.mechanism, card.law, card.sensitivity_norm)
        checks.rule(mechanism is not None, GUARANTEE, "mechanism has this noise", card.mechanism, card.law)
    else:
        mechanism = None
        open_fields.append("mechanism")
    norms = getattr(mechanism, "norms", ())
    if norms:
        fits = card.sensitivity_norm in norms
        due = " or ".join(norms)
        checks.rule(fits, GUARANTEE, "sensitivity is in the norm of the mechanism", card.sensitivity_norm, due)
    else:
        open_fields.append("sensitivity_norm")
    for rule, stated, due in comparisons_of(card.statistic).misfits(card):
        checks.rule(False, GUARANTEE, rule, stated, due)
    if release is None:
        return (*open_fields, *IN_FILE)
    known = statistic_of(release).comparisons
    for name, found in (
        ("noise_rms", _check_noise(card, release, known, checks)),
        ("scale", checks.number("largest deviation of a coordinate", card.scale, _deviation(card, release, known))),
        (
            "lattice_step and bound",
            checks.number("lattice step is that of the bound", card.lattice_step, known.lattice_step(card)),
        ),
        ("moves", _check_moves(card, release, known, checks)),
        ("n", _check_number(card, release, known, checks)),
        ("detected", _check_detected(card, release, checks)),
    ):
        if not found:
            open_fields.append(name)
    _check_smoothing(release, checks)
    for label in known.told:
        due = dict(release.told).get(label, "")
        said = " or ".join(text for name, text in card.chosen if name == label)
        checks.rule(said == due, GUARANTEE, f"what the card says of {label}", said or "nothing", due or "nothing")
    return tuple(open_fields)


def _check_warnings(card: Card, checks: Checks) -> None:
    """Warnings that follow from the numbers stand on the card, with these numbers."""
    due: tuple[str, ...] = () if card.private else (NOT_PRIVATE.code,)
    if isinstance(card, Certificate) and len(card.losses) == 1 and card.neighbours == REPLACE:
        due += Budget(card.epsilon, card.delta).cautions(int(card.n))
    stated = {said.code: said.values for said in map(statement, card.stamps)}
    lost = [code for code in due if code not in stated]
    if card.private and NOT_PRIVATE.code in stated:
        lost.append(f"no {NOT_PRIVATE.code}")
    if not lost and len(card.losses) == 1:
        amounts = {"epsilon": card.epsilon, "delta": getattr(card, "delta", 0.0)}
        lost = [code for code in due if any(not _close(value, amounts[name]) for name, value in stated[code].items())]
    checks.rule(not lost, GUARANTEE, "warnings follow from the card", ", ".join(stated) or "none", ", ".join(lost))


def _close(one: float, other: float) -> bool:
    """Equal but for the digits in which a warning was printed."""
    return math.isclose(one, other, rel_tol=ROUNDED)


def _check_noise(card: Certificate, release: Any, known: Comparisons, checks: Checks) -> bool:
    found = known.noise_rms(release)
    if not found and not nothing_added(card):
        return False
    checks.rule(
        any(math.isclose(card.noise_rms, due, rel_tol=1e-7, abs_tol=1e-300) for due in found or (0.0,)),
        GUARANTEE,
        "noise over the domain is that of the law in the file",
        plain(card.noise_rms),
        f"{(found or (0.0,))[0]:.10g}",
    )
    return True


def _deviation(card: Certificate, release: Any, known: Comparisons) -> float | None:
    """The largest deviation of a coordinate, by the noise in the file."""
    if nothing_added(card):
        return 0.0
    noise = getattr(release, "noise", None)
    return known.largest_deviation(noise) if isinstance(noise, NoiseLaw) else None


def _check_moves(card: Certificate, release: Any, known: Comparisons, checks: Checks) -> bool:
    due = known.moves(card, release)
    if due is None:
        return False
    within = ROUNDED if card.schema == first_schema.SCHEMA else CLOSE
    checks.rule(
        same_statement(card.moves, due, within), GUARANTEE, "how far one unit moves the summary", card.moves, due
    )
    return True


def same_statement(stated: Statement, due: Statement, within: float) -> bool:
    """Whether two statements have the same code and values; numbers within a relative tolerance."""
    if stated.code != due.code or stated.values.keys() != due.values.keys():
        return False
    return all(_same_value(stated.values[name], value, within) for name, value in due.values.items())


def _same_value(stated: Any, due: Any, within: float) -> bool:
    if isinstance(due, float):
        return isinstance(stated, int | float) and math.isclose(stated, due, rel_tol=within)
    if isinstance(due, list) and isinstance(stated, list):  # names, which a sentence may have parted otherwise
        return ", ".join(map(str, stated)) == ", ".join(map(str, due))
    return bool(stated == due)


def _check_number(card: Certificate, release: Any, known: Comparisons, checks: Checks) -> bool:
    """Some files hold their number of units; sums were divided by theirs, which the curve of the noise shows."""
    compared = check_scale(release, checks)
    units = known.units(release)
    if units is not None:
        checks.rule(card.n == units, GUARANTEE, "number of units in the file", plain(card.n), plain(units))
        return True
    if getattr(release, "count", None) is not None:
        return True  # compared with the noisy number in the file
    return known.divides_by_n and compared


def _check_detected(card: Certificate, release: Any, checks: Checks) -> bool:
    """What stands out from the noise is computed anew from the noisy numbers, where the statistic has a test of it.

    Cards from before it was kept say neither that nor how n is known.
    """
    said = card.detected.code != "not-said"
    checks.rule(
        said == bool(card.counting),
        EDITED,
        "the card says whether anything was seen above the noise",
        "yes" if said else "no",
        "cards that say how the number of units is known say it, and older ones do not",
    )
    due = getattr(release, "tested", None)
    if due is None or not said:
        return not said
    same = same_statement(card.detected, statement(due), CLOSE)
    checks.rule(same, GUARANTEE, "what was seen above the noise", card.detected, due)
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
