"""Come here for what a card says twice: which curve its noise has, who is counted, and what its words promise."""

from __future__ import annotations

import json
import math
from typing import Any

from dpfda.privacy import REPLACE
from dpfda.releases.cards.document import document
from dpfda.releases.cards.facts import Card
from dpfda.releases.cards.report import EDITED, GUARANTEE, Checks
from dpfda.releases.certificate import Certificate
from dpfda.releases.choices import ChoiceCard
from dpfda.releases.files import to_dict
from dpfda.releases.seal import sealed

# Mechanisms that draw the result as a whole, whatever its law looks like afterwards.
WHOLE = ("exponential", "dictionary", "gibbs")
ONLINE = "Gaussian process drawn at the points asked for"


def laws_of(card: Card) -> tuple[str, ...]:
    """The privacy curves that this noise can have; none for noise that is not ours."""
    if isinstance(card, ChoiceCard) or card.mechanism in WHOLE or card.noise.startswith("none added"):
        return ("range",)
    if "normal noise" in card.noise or ONLINE in card.noise:
        return ("gaussian",)
    if card.noise.startswith("independent Laplace noise"):
        return ("laplace", "pure")
    if card.noise.startswith(("radial", "two-sided Wishart")):
        return ("pure",)
    return ("range",) if card.noise_rms == 0 else ()


def check_consistency(card: Card, checks: Checks) -> None:
    """What must fit before any number is computed."""
    laws = laws_of(card)
    if card.losses:
        law = card.losses[0].get("law")
        said = " or ".join(laws) or "of a law that this version does not know, so nothing can be computed"
        checks.rule(law in laws, GUARANTEE, "law of the privacy curve is that of the noise", law, said)
    if not isinstance(card, Certificate):
        return
    # Without them rules below would be passed over.
    off = [name for name in ("epsilon", "n", "bound", "lattice_step", "rho") if not 0 < getattr(card, name) < math.inf]
    checks.rule(not off, GUARANTEE, "numbers are positive", ", ".join(off), "positive and finite")
    if ONLINE not in card.noise:
        hidden = card.n_is_noisy or card.n_is_planned
        checks.rule(
            hidden == (card.neighbours != REPLACE),
            GUARANTEE,
            "number of units is public or private by the relation of neighbours",
            "private" if hidden else "public",
            card.neighbours,
        )
    if card.mechanism == "gibbs":
        checks.rule(card.nominal, GUARANTEE, "an approximate draw is called nominal", "exact", "approximate")


def check_written(data: dict[str, Any], content: bytes, checks: Checks) -> None:
    """A file is as we write it, whoever made its digest: no other spaces, no field twice, no number that is none."""
    try:
        text = sealed({name: part for name, part in data.items() if name != "digest"})
    except (ValueError, RecursionError):
        text = ""
    checks.rule(text.encode() == content, EDITED, "written as dpfda writes it", "the file", "other spaces or fields")


def check_whole(data: dict[str, Any], release: Any, checks: Checks) -> None:
    """Nothing stands in a release file that is not read from it; later versions may write more than stands there."""
    kept = json.loads(json.dumps(to_dict(release)))
    card = data.get("certificate", {})
    strange = [name for name in data if name != "certificate" and data[name] != kept.get(name) and name != "digest"]
    strange += [f"certificate.{name}" for name in card if card[name] != kept["certificate"].get(name)]
    checks.rule(
        not strange, EDITED, "every part of the file is one of a release", ", ".join(strange), "not of this release"
    )


def check_words(data: dict[str, Any], card: Card, checks: Checks) -> None:
    """A card as a document says in words what its fields say; in full where the same version wrote it."""
    made = document(card)
    for name in ("sentence", "warnings", *(("bound",) if "bound" in {*data, *made} else ())):
        stated, due = data.get(name), made.get(name)
        checks.rule(stated == due, EDITED, f"{name} of the card", stated, due)
    strange = [name for name in data if name not in made and name not in ("digest", "bound")]
    checks.rule(not strange, EDITED, "every part of the file is one of a card", ", ".join(strange), "not of this card")
    from importlib.metadata import version

    if dict(card.software).get("dpfda") != version("dpfda"):
        checks.notes.append("facts and answers were worded by another version, and were not compared")
        return
    # They need the release; or are said otherwise of answers point by point, by a class of their own.
    free = {"band", "noise and signal", "afterwards", "What was done after the noise?"}
    if isinstance(card, Certificate) and ONLINE in card.noise:
        free |= {"not covered", "How useful is the result?"}
    said, due = data.get("facts", {}), made["facts"]
    off = [name for name in {*said, *due} - free if said.get(name) != due.get(name)]
    off += [
        one.get("question", "")
        for one, other in zip(data.get("nist", []), made["nist"], strict=True)
        if one != other and other["question"] not in free
    ]
    checks.rule(not off, EDITED, "facts and answers follow from the card", ", ".join(off), "otherwise worded")
