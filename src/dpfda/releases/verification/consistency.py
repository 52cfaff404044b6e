"""Facts that a card and its file state twice: the noise, its privacy curve, who is counted."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from dpfda.mechanisms.base import mechanism_with
from dpfda.mechanisms.noise import LAWS, Noise, NoiseLaw
from dpfda.privacy import REPLACE
from dpfda.releases.cards import first_schema
from dpfda.releases.cards.document import WORDING, document
from dpfda.releases.cards.facts import Card
from dpfda.releases.cards.words import of_law
from dpfda.releases.certificate import Certificate, ChoiceCard
from dpfda.releases.documents import sealed
from dpfda.releases.files import to_dict
from dpfda.releases.kinds import statistic_of
from dpfda.releases.verification.guarantee import parameter_of
from dpfda.releases.verification.report import EDITED, GUARANTEE, UNREADABLE, Checks


def laws_of(card: Card) -> tuple[str, ...]:
    """The privacy curves that this noise can have; none for a law that is not registered."""
    if isinstance(card, ChoiceCard):
        return ("range",)
    if getattr(mechanism_with(card.mechanism, card.law), "whole", False) or card.law == "none":
        return ("range",)
    if card.law == "online":
        return ("gaussian",)
    if card.law not in LAWS:
        return ()
    sizes = tuple(size for _, size in card.noise.values.get("blocks", ()))  # one of each kind decides
    return Noise(card.law, sizes, (1.0,) * len(sizes)).possible_curves if sizes else LAWS[card.law].curves


def check_consistency(card: Card, checks: Checks) -> None:
    """What must fit before any number is computed."""
    laws = laws_of(card)
    if card.losses:
        law = card.losses[0].get("law")
        said = " or ".join(laws) or "of a law that this version does not know, so nothing can be computed"
        # Of a law that is not registered here nothing can be said, neither for nor against it.
        kind = GUARANTEE if laws else UNREADABLE
        checks.rule(law in laws, kind, "law of the privacy curve is that of the noise", law, said)
    if not isinstance(card, Certificate):
        return
    # Without them rules below would be passed over.
    off = [name for name in ("epsilon", "n", "bound", "lattice_step", "rho") if not 0 < getattr(card, name) < math.inf]
    checks.rule(not off, GUARANTEE, "numbers are positive", ", ".join(off), "positive and finite")
    checks.rule(
        not (card.n_is_noisy and card.n_is_planned), GUARANTEE, "number of units is noisy or planned", "both", "one"
    )
    if card.law != "online":
        hidden = card.n_is_noisy or card.n_is_planned
        checks.rule(
            hidden == (card.neighbours != REPLACE),
            GUARANTEE,
            "number of units is public or private by the relation of neighbours",
            "private" if hidden else "public",
            card.neighbours,
        )
    if getattr(mechanism_with(card.mechanism, card.law), "warning", ""):
        checks.rule(card.nominal, GUARANTEE, "an approximate draw is called nominal", "exact", "approximate")


def check_written(data: dict[str, Any], content: bytes, checks: Checks) -> None:
    """A file is as we write it, whoever made its digest: no other spaces, no field twice, no number that is none."""
    try:
        text = sealed({name: part for name, part in data.items() if name != "digest"})
    except (ValueError, RecursionError):
        text = ""
    checks.rule(text.encode() == content, EDITED, "written as dpfda writes it", "the file", "other spaces or fields")


def check_whole(data: dict[str, Any], release: Any, checks: Checks) -> None:
    """A release file is what its release would be written as: no part more or less, each in its place and as it is."""
    kept = to_dict(release)
    card, due = dict(data["certificate"]), kept.pop("certificate")
    others = {name: part for name, part in data.items() if name != "certificate"}
    strange = [*_differing(others, kept), *(f"certificate.{name}" for name in _differing(card, due))]
    checks.rule(
        not strange, EDITED, "every part of the file is one of a release", ", ".join(strange), "not of this release"
    )


def _differing(stated: dict[str, Any], due: dict[str, Any]) -> list[str]:
    """Names of parts that are not the same in JSON: 1 and 1.0 differ, and so do names in another order."""
    off = [name for name in {**stated, **due} if not (name in stated and name in due)]
    off += [name for name in stated if name in due and json.dumps(stated[name]) != json.dumps(due[name])]
    return off or ([] if list(stated) == list(due) else ["order of names"])


def check_words(data: dict[str, Any], card: Card, checks: Checks) -> None:
    """A card as a document says in words what its fields say; in full where the same version wrote it."""
    made = document(card)
    belongs = data["release"]
    whole = isinstance(belongs, str) and re.fullmatch("([0-9a-f]{64})?", belongs) is not None
    checks.rule(whole, EDITED, "release of the card", belongs, "the digest of a file, or none")
    for name in ("warnings", *(("bound",) if "bound" in {*data, *made} else ())):
        stated, due = data.get(name), made.get(name)
        checks.rule(stated == due, EDITED, f"{name} of the card", stated, due)
    strange = [name for name in data if name not in made and name not in ("digest", "bound")]
    strange += [f"card.{name}" for name in _differing(data["card"], json.loads(json.dumps(made["card"])))]
    checks.rule(not strange, EDITED, "every part of the file is one of a card", ", ".join(strange), "not of this card")
    from importlib.metadata import version

    if (data.get("wording"), dict(card.software).get("dpfda")) != (WORDING, version("dpfda")):
        checks.missing.append("sentence, facts and answers: they were worded by another version")
        return
    checks.rule(
        data["sentence"] == made["sentence"], EDITED, "sentence of the card", data["sentence"], made["sentence"]
    )
    free = _need_release(card)
    if not free:
        # Nothing is left to a release: the document is what the card makes of it, to the order of its parts.
        stated = json.dumps({name: part for name, part in data.items() if name != "digest"})
        checks.rule(stated == json.dumps(made), EDITED, "the document is that of its card", "this file", "another one")
        return
    checks.missing.append(f"words that need the release, not its card alone: {', '.join(sorted(free))}")
    said, due = data.get("facts", {}), made["facts"]
    off = [name for name in {*said, *due} - free if said.get(name) != due.get(name)]
    off += [
        one.get("question", "")
        for one, other in zip(data.get("nist", []), made["nist"], strict=True)
        if json.dumps(one) != json.dumps(other) and other["question"] not in free
    ]
    checks.rule(not off, EDITED, "facts and answers follow from the card", ", ".join(off), "otherwise worded")


def _need_release(card: Card) -> set[str]:
    """Facts and answers that a card alone does not tell; or that answers point by point say in words of their own."""
    if not isinstance(card, Certificate):
        return set()
    found = {"band", "noise and signal", "afterwards", "What was done after the noise?"}
    return found | {"not covered", "How useful is the result?"} if card.law == "online" else found


def check_release(release: Any, checks: Checks) -> None:
    """Basis, domain, size and law of the noise: what a file holds twice must be the same both times."""
    basis, card, statistic = release.basis, release.certificate, statistic_of(release)
    domain = " x ".join(f"[{low!r}, {high!r}]" for low, high in basis.domain.sides)
    stated = " x ".join(f"[{low!r}, {high!r}]" for low, high in card.domain)
    if card.statistic or card.schema != first_schema.SCHEMA:  # sentences of others' statistics had no kind
        checks.rule(
            card.statistic == statistic.name, GUARANTEE, "statistic is that of the file", card.statistic, statistic.name
        )
    checks.rule(card.domain == basis.domain.sides, GUARANTEE, "domain is that of the basis", stated, domain)
    checks.rule(card.size == basis.size, GUARANTEE, "size is that of the basis", card.size, basis.size)
    checks.rule(
        card.basis == basis.describe()["family"], GUARANTEE, "family is that of the basis", card.basis, basis.family
    )
    count = getattr(release, "count", None)
    if count is not None:
        checks.rule(card.n_is_noisy and card.n == count.value, GUARANTEE, "noisy number of units", card.n, count.value)
    noise = getattr(release, "noise", None)
    if isinstance(noise, NoiseLaw) and noise.added:
        _check_law(noise, card, checks)


def _check_law(noise: NoiseLaw, card: Certificate, checks: Checks) -> None:
    """The law on the card is that of the noise in the file; cards of the first schema knew single coordinates alone."""
    stated, due = card.noise.values.get("blocks"), of_law(noise).values["blocks"]
    if card.schema == first_schema.SCHEMA:
        same = stated is None or _is_single(stated) == _is_single(due)
    else:
        same = stated == due
    checks.rule(
        card.law == noise.name and same,
        GUARANTEE,
        "law of the noise in the file",
        f"{card.law} {stated or ''}",
        f"{noise.name} {due}",
    )


def _is_single(blocks: list[list[int]]) -> bool:
    return all(size == 1 for _, size in blocks)


def check_scale(release: Any, checks: Checks) -> bool:
    """The scale that the guarantee is computed from, against the noise in the file; whether it was compared."""
    card, noise = release.certificate, getattr(release, "noise", None)
    if not isinstance(noise, NoiseLaw) or not noise.added or not card.losses or card.noise_scale <= 0:
        return False
    if card.losses[0].get("law") == "range":  # drawn as a whole, even where that is normal around the mean
        return False
    known = statistic_of(release).comparisons
    # Where everything is at hand: one unit moves the release by so much, and the noise of the file hides that.
    loss = known.worst_loss(noise, card)
    if loss is not None:
        rule = "privacy curve is that of the noise in the file, bound and number of units"
        return checks.number(rule, parameter_of(card.losses[0]), loss, within=1e-7)
    rule = "scale is that of the noise in the file, in lattice steps"
    compared = checks.number(rule, card.noise_scale, known.noise_scale(noise, card))
    if not compared:
        checks.notes.append(
            "the scale on the card was not compared with the noise in the file: the statistic gives no way to"
        )
    return compared
