"""The guarantee recomputed from the fields of a card: sensitivity, scale, privacy curves."""

from __future__ import annotations

import math
from typing import Any

from dpfda.mechanisms.base import mechanism_with
from dpfda.privacy import Profile, PureProfile
from dpfda.releases.cards import first_schema
from dpfda.releases.cards.words import plain
from dpfda.releases.certificate import NOMINAL, NOT_PRIVATE, Certificate, ChoiceCard
from dpfda.releases.comparisons import nothing_added
from dpfda.releases.entry import recorded
from dpfda.releases.kinds import comparisons_of, kinds
from dpfda.releases.verification.report import CLOSE, GUARANTEE, Checks

Card = Certificate | ChoiceCard

SPARE = 1e-4  # relative: what a curve may have in hand for errors of a solver or of a kernel's nugget
SLACK = 2.0  # a stated epsilon this many times above the recomputed one is worth a word
PER_COORDINATE = 0.0203  # distance of the integer sampler from the rounded normal law, times deviation squared
LEAST_STEPS = 16.0  # of lattice, from which on that is claimed


def check_guarantee(card: Card, checks: Checks) -> None:
    """Every number of the guarantee, from the sensitivity and the scale of the noise up."""
    if not card.private:
        checks.notes.append(NOT_PRIVATE)
    if getattr(card, "nominal", False):
        checks.notes.append(NOMINAL)
    elif card.entry is not None and card.entry.nominal:
        checks.notes.append("what the data set had spent rests on an approximate draw, and is no guarantee")
    if not card.losses:
        checks.rule(False, GUARANTEE, "privacy curves", "none", "cannot be computed: the card keeps no curve")
        return
    losses = _read(card, checks)
    if losses is None:
        return
    _check_parameter(card, checks)
    if isinstance(card, Certificate):
        _check_sampler(card, checks)
        _check_sensitivity(card, checks)
    _check_epsilon(card, losses, checks)
    _check_others(card, losses, checks)
    _note_stated(card, checks)
    _check_words(card, checks)


def _read(card: Card, checks: Checks) -> tuple[Profile, ...] | None:
    from dpfda.ledger.amounts import loss_from

    found = []
    for place, loss in enumerate(card.losses, 1):
        try:
            found.append(loss_from(loss))
        except Exception:
            checks.rule(False, GUARANTEE, f"privacy curve {place}", loss, "no curve that this version knows")
            return None
    return tuple(found)


def parameter_of(loss: dict[str, Any]) -> float:
    """What a curve has for a parameter: deviations that normal noise is moved by, or epsilon."""
    return float(loss["mu"] if "mu" in loss else loss["epsilon"])


def _check_parameter(card: Card, checks: Checks) -> None:
    """The first curve is that of one unit's move over the scale of the noise."""
    stated = parameter_of(card.losses[0])
    if not (0 < card.noise_scale < math.inf and 0 < card.sensitivity < math.inf):
        checks.rule(
            False, GUARANTEE, "scale of the noise", f"{card.noise_scale!r} for {card.sensitivity!r}", "both positive"
        )
        return
    times = reach(card)
    exact = times * card.sensitivity / card.noise_scale
    often = "" if times == 1 else f"{plain(times)} x "
    name = "mu of the privacy curve" if "mu" in card.losses[0] else "epsilon of the privacy curve"
    checks.rule(
        exact * (1 - CLOSE) <= stated <= exact * (1 + SPARE),
        GUARANTEE,
        f"{name} is sensitivity over scale",
        plain(stated),
        f"{often}{plain(card.sensitivity)} / {plain(card.noise_scale)} = {exact:.10g}",
    )


def reach(card: Card) -> float:
    """How often the move of one unit counts, over the scale, in the range of log likelihood ratios; noise: once.

    The mechanism says it: a choice by distances counts it twice, up and down; `mechanisms/exponential.py` has a proof.
    """
    if isinstance(card, ChoiceCard) or card.losses[0].get("law") != "range":
        return 1.0
    stated = getattr(mechanism_with(card.mechanism, card.law, card.sensitivity_norm), "reach", None)
    return 1.0 if stated is None else float(stated(card.bound, card.lattice_step))


def _check_sampler(card: Certificate, checks: Checks) -> None:
    """Normal noise on a lattice: how far the integer sampler is from the normal law, and on how many coordinates.

    For Laplace noise the lattice is coarser than the curve says only if its scale is smaller.
    """
    loss = card.losses[0]
    if loss.get("law") == "laplace" and card.sensitivity_norm == "L1":
        steps = math.inf if loss["steps"] is None else float(loss["steps"])
        checks.rule(
            steps <= card.noise_scale * (1 + CLOSE),
            GUARANTEE,
            "scale of the noise in lattice steps",
            plain(steps),
            plain(card.noise_scale),
        )
    if "mu" not in loss or not loss.get("size"):
        return
    size, steps, distance = (float(loss[name]) for name in ("size", "steps", "distance"))
    least = 1.0 if steps < LEAST_STEPS else PER_COORDINATE * size / steps**2
    checks.rule(
        distance >= least * (1 - CLOSE), GUARANTEE, "distance of the sampler from the normal law", distance, least
    )
    if card.sensitivity_norm == "L2":
        checks.rule(
            math.isclose(steps, card.noise_scale, rel_tol=CLOSE),
            GUARANTEE,
            "deviation of the noise in lattice steps",
            plain(steps),
            plain(card.noise_scale),
        )


def _check_sensitivity(card: Certificate, checks: Checks) -> None:
    known = comparisons_of(card.statistic)
    least = None if nothing_added(card) else known.least_sensitivity(card)
    if least is None and card.statistic in kinds() and not (known.sensitivity_is_proven or nothing_added(card)):
        # No ledger can show it either: it keeps what was charged, and that was computed from this number.
        checks.missing.append(
            "the sensitivity, and epsilon and the scale of the noise, which are computed from it: the statistic "
            f"'{card.statistic}' gives nothing to compare it with but its reason, \"{card.sensitivity_because}\""
        )
        return
    if least is None or card.sensitivity_norm not in ("L1", "L2"):
        checks.notes.append(
            f"the sensitivity was not computed anew; the reason that the card gives: {card.sensitivity_because}"
        )
        return
    if card.sensitivity_norm == "L1":
        least *= math.sqrt(card.size) if card.power == 1 else 1.0
    checks.rule(
        card.sensitivity >= least * (1 - CLOSE),
        GUARANTEE,
        "sensitivity covers one unit at the bound",
        plain(card.sensitivity),
        f"at least {least:.10g} lattice steps",
    )


def _check_epsilon(card: Card, losses: tuple[Profile, ...], checks: Checks) -> None:
    from dpfda.privacy.composition import compose

    delta = getattr(card, "delta", 0.0)
    found = compose(losses, delta=delta).epsilon
    at = "" if delta == 0 else f" at delta = {plain(delta)}"
    checks.rule(found <= card.epsilon * (1 + CLOSE), GUARANTEE, f"epsilon{at}", plain(card.epsilon), f"{found:.10g}")
    if found * SLACK < card.epsilon:
        checks.notes.append(f"epsilon is stated as {plain(card.epsilon)}, but {found:.4g} would hold{at}")


def _note_stated(card: Card, checks: Checks) -> None:
    if any(loss.get("law") == "stated" for loss in card.losses[1:]):
        checks.notes.append("a later draw under the same card has no curve there: its part of epsilon is as stated")


def _check_others(card: Card, losses: tuple[Profile, ...], checks: Checks) -> None:
    rho = math.fsum(loss.rho for loss in losses)
    checks.rule(card.rho >= rho * (1 - CLOSE), GUARANTEE, "rho for composition", plain(card.rho), f"{rho:.10g}")
    power = least_power(losses)
    checks.rule(
        card.attacker_power >= power * (1 - 1e-6),
        GUARANTEE,
        "power of an attacker at 5 % false alarms",
        plain(card.attacker_power),
        f"{power:.10g}",
    )


def least_power(losses: tuple[Profile, ...]) -> float:
    """The best of what is known: all but one of the curves as factors `e^epsilon`, or all together as pure epsilon."""
    pure = [loss.pure for loss in losses]
    found = [PureProfile(math.fsum(pure)).power(0.05)] if all(map(math.isfinite, pure)) else [1.0]
    for place, loss in enumerate(losses):
        others = math.fsum(pure[:place] + pure[place + 1 :])
        found.append(min(1.0, math.exp(min(others, 700.0)) * loss.power(0.05)))
    return min(found)


def _check_words(card: Card, checks: Checks) -> None:
    """A card of the first schema said in words what its entry says in numbers; now they are made of it."""
    both = card.entry is not None and card.fits is not None
    checks.rule(not both, GUARANTEE, "a release was charged to a ledger or to none", "both", "one of them")
    if card.schema != first_schema.SCHEMA:
        return
    said, older = first_schema.ledger_words(card)
    due = recorded(card.entry, None)
    checks.rule(said, GUARANTEE, "words about the ledger", card.recorded, due)
    if older and card.entry is not None:
        checks.notes.append(f"the card takes what a filter counts for a total; {card.entry.capped}")
