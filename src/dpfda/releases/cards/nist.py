"""The questions of NIST SP 800-226 about a guarantee, answered one by one from a card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfda.privacy import REPLACE, Counting
from dpfda.releases.cards.facts import (
    Card,
    afterwards,
    curves_per_unit,
    factor,
    groups,
    least,
    method,
    native,
    nominally,
    spent,
    unprotected,
)
from dpfda.releases.cards.words import neighbours_are, plain, steps, up, wrapped
from dpfda.releases.certificate import Certificate

SOURCE = (
    "After NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025): the factors of its "
    "pyramid from the top down, in our own words."
)
CHARGED = "Charged before records were read; an error after that has one constant text, and the charge stays."
UNCHARGED = "An error after records were read has one constant text. No ledger was charged."
TOP, MIDDLE, BASE = "the guarantee", "what could undermine it", "what it stands on"


@dataclass(frozen=True, slots=True)
class NistAnswer:
    """One question, and what the card can say to it; `known` is False where the software cannot know."""

    level: str
    question: str
    text: str
    known: bool = True


def answers(card: Card, release: Any = None) -> tuple[NistAnswer, ...]:
    """The questions in the order of the pyramid, from its tip to its base."""
    return (*_guarantee(card), *_undermined(card, release), *_ground(card))


def _guarantee(card: Card) -> tuple[NistAnswer, ...]:
    delta = card.delta if isinstance(card, Certificate) else 0.0
    strength = f"epsilon = {plain(card.epsilon)}: anything becomes at most {factor(card)} times more or less likely"
    if not card.private:
        strength = "none: the noise came from a seed and can be predicted"
    elif getattr(card, "nominal", False):
        strength += ", if the draw had followed its law exactly, which it does not"
    failure = "never fails (delta = 0)" if delta == 0 else f"may fail with a chance of {plain(delta)} (delta)"
    if nominally(card):
        failure += " for the law that was aimed at; how far the draw is from it is not known"
    n = card.n if not getattr(card, "n_is_noisy", False) else None
    crowd = "" if not delta or n is None else f"; with {n:.0f} units, {least(n * delta, 3)} of them on average"
    assumed = "; no column of persons was named, so this was assumed" if card.unit_was_assumed else ""
    return (
        NistAnswer(TOP, "How strong is the guarantee (epsilon)?", _sentence(strength)),
        NistAnswer(TOP, "How often may it fail (delta)?", f"It {failure}{crowd}."),
        NistAnswer(TOP, "Who or what is protected (unit of privacy)?", f"One {card.unit}{assumed}; {_relation(card)}."),
        NistAnswer(TOP, "What if one person contributes several records?", _sentence(curves_per_unit(card))),
        NistAnswer(TOP, "What does it mean for groups, such as families?", _sentence(groups(card))),
        NistAnswer(
            TOP,
            "Which variant of differential privacy is it, and how was it converted?",
            f"{_variant(card)}, and {nominally(card)}{up(card.rho, 4)}-zCDP for composition. Native: {native(card)}. "
            f"Converted: {method(card) or 'not told'}.",
        ),
        NistAnswer(
            TOP,
            "What can an attacker still do?",
            f"Detect one {card.unit} with probability {nominally(card)}at most {up(card.attacker_power, 3)} at 5 % "
            "false alarms. What is true of people in general can be learned, and used about anybody, whether in the "
            "data or not.",
        ),
        NistAnswer(TOP, "How does it hold over several releases (budget over time)?", _sentence(spent(card))),
    )


def _variant(card: Card) -> str:
    named = f"{'Approximate' if getattr(card, 'delta', 0.0) else 'Pure'} differential privacy"
    return f"None exactly; {named.lower()} for the law that was aimed at" if nominally(card) else named


def _undermined(card: Card, release: Any) -> tuple[NistAnswer, ...]:
    software = ", ".join(f"{name} {version}" for name, version in card.software)
    if isinstance(card, Certificate):
        algorithm = f"{card.mechanism} ({card.noise}); sensitivity {steps(card.sensitivity)} lattice steps in "
        algorithm += f"{card.sensitivity_norm}, because {card.sensitivity_because}"
        seen = f" Above the noise: {card.detected}." if card.detected else ""
        utility = f"Noise of {card.noise_rms:.4g} root mean square before smoothing.{seen} {card.not_covered}"
        bias = (
            "Units beyond the bound are scaled down to it, gaps are filled, and smoothing pulls towards smooth "
            "functions: groups that are small or unlike the rest are hit most, and noise alike for all is relatively "
            "larger for them. Nothing was measured by group."
        )
    else:
        algorithm = f"exponential mechanism on {card.candidates} candidates, drawn exactly"
        utility = "One candidate was chosen; how close it is to the best one depends on the records and is not known."
        bias = "A choice that suits most units may suit a small group badly. Nothing was measured by group."
    chosen = "; ".join(f"{name}: {how}" for name, how in dict(card.chosen).items()) or "not told"
    return (
        NistAnswer(MIDDLE, "Which algorithm is it, and why is it private?", _sentence(algorithm)),
        NistAnswer(
            MIDDLE,
            "How was correctness made sure of?",
            f"Made with {software}. The numbers above can be computed anew from the card: dpfda verify. That the "
            "program ran unchanged is not shown by a card.",
        ),
        NistAnswer(
            MIDDLE,
            "Are there gaps from floating-point arithmetic?",
            f"Sums are of whole numbers and noise is drawn on a lattice; randomness: {card.randomness}.",
        ),
        NistAnswer(
            MIDDLE,
            "What of timing and other side channels?",
            f"{CHARGED if card.entry is not None else UNCHARGED} Running time is not protected: whoever can watch the "
            "program run can learn from it how many rows there are, and whether some line of a file is odd; draws of "
            "the exponential mechanism take longer for some data. Power, memory and the machine's other users are "
            "outside what the software controls.",
        ),
        NistAnswer(MIDDLE, "How were public parameters chosen?", _sentence(chosen)),
        NistAnswer(MIDDLE, "What is not protected?", _sentence(unprotected(card))),
        NistAnswer(MIDDLE, "What was done after the noise?", _sentence(afterwards(card, release))),
        NistAnswer(MIDDLE, "How useful is the result?", utility),
        NistAnswer(MIDDLE, "Whom does it treat worse (bias)?", bias),
    )


def _ground(card: Card) -> tuple[NistAnswer, ...]:
    counted = "the budget is kept in a ledger" if card.entry is not None else "no ledger was used, so nobody is stopped"
    return (
        NistAnswer(
            BASE,
            "Who has to be trusted (trust model)?",
            "The central model: whoever runs the program sees all records and has to be trusted with them, and with "
            "running it as it is. Readers of the release need no trust.",
        ),
        NistAnswer(
            BASE,
            "Who may ask, and how often (access)?",
            f"From the card: {counted}. Who could reach the records or the ledger is not known to the software.",
            known=False,
        ),
        NistAnswer(
            BASE,
            "How are the records kept safe (security)?",
            "Not known to the software: where the records lie, who else reads them, whether copies are encrypted.",
            known=False,
        ),
        NistAnswer(
            BASE,
            "What did collecting the data expose?",
            "Not known to the software: how records were collected, with what consent, and who saw them on the way. "
            "The guarantee begins when they are read.",
            known=False,
        ),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def nist_text(card: Card, release: Any = None) -> str:
    """Questions and answers for people."""
    lines = [wrapped("", f"{card.what} of '{card.dataset}'. {SOURCE}")]
    level = ""
    for number, answer in enumerate(answers(card, release), 1):
        if answer.level != level:
            level = answer.level
            lines += ["", level[:1].upper() + level[1:]]
        lines += [wrapped(f"  {number:>2}. ", answer.question), wrapped("      ", answer.text)]
    return "\n".join(lines)


def _relation(card: Card) -> str:
    if card.counting:
        return f"neighbours are {neighbours_are(Counting(card.counting), card.unit, card.neighbours)}"
    if card.neighbours == REPLACE:
        return "two data sets are neighbours if one unit is replaced by another; their number is public"
    return "two data sets are neighbours if one has one unit more; their number is protected too"
