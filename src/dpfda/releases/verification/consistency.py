"""Facts that a card and its file state twice: the noise, its privacy curve, who is counted."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from dpfda.mechanisms.noise import LAWS, NoiseLaw
from dpfda.privacy import REPLACE
from dpfda.releases.cards.document import WORDING, document
from dpfda.releases.cards.facts import Card
from dpfda.releases.certificate import Certificate
from dpfda.releases.choices import ChoiceCard
from dpfda.releases.files import to_dict
from dpfda.releases.seal import sealed
from dpfda.releases.verification.guarantee import CLOSE, parameter_of
from dpfda.releases.verification.report import EDITED, GUARANTEE, Checks
from dpfda.releases.wording import plain

# Mechanisms that draw the result as a whole, whatever its law looks like afterwards.
WHOLE = ("exponential", "dictionary", "gibbs")
ONLINE = "Gaussian process drawn at the points asked for"


def laws_of(card: Card) -> tuple[str, ...]:
    """The privacy curves that this noise can have; none for noise that is not ours."""
    if isinstance(card, ChoiceCard) or card.mechanism in WHOLE:
        return ("range",)
    if ONLINE in card.noise:
        return ("gaussian",)
    known = next(filter(None, (law.curves_of(card.noise) for law in LAWS.values())), ())
    return known or (("range",) if card.noise_rms == 0 else ())


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
    return found | {"not covered", "How useful is the result?"} if ONLINE in card.noise else found


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
    if isinstance(noise, NoiseLaw):
        _check_text(noise, kind, card, checks)
        _check_scale(noise, kind, card, checks)


def _check_text(noise: NoiseLaw, kind: str, card: Certificate, checks: Checks) -> None:
    if not noise.added:
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


def _check_scale(noise: NoiseLaw, kind: str, card: Certificate, checks: Checks) -> None:
    """The scale that the guarantee is computed from, against the noise that is in the file."""
    if not card.losses or card.noise_scale <= 0 or not noise.added or _drawn_as_a_whole(card):
        return
    whole = card.what == "mean function" and card.neighbours == REPLACE
    # For a mean everything is at hand: one unit moves it by 2 bound / n, and the noise of the file hides that.
    loss = noise.worst_loss(2 * card.bound / card.n) if whole else None
    if loss is not None:
        _check_loss(loss, card, checks)
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


def _check_loss(found: float, card: Certificate, checks: Checks) -> None:
    stated = parameter_of(card.losses[0])
    checks.rule(
        math.isclose(stated, found, rel_tol=1e-7),
        GUARANTEE,
        "privacy curve is that of the noise in the file, bound and number of units",
        plain(stated),
        f"{found:.10g}",
    )


def scale_in_file(noise: NoiseLaw, kind: str, card: Certificate) -> float | None:
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
