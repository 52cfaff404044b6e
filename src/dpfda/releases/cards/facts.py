"""What a card implies beyond its fields: method, bands, unprotected facts, threats, post-processing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.errors import DpfdaError
from dpfda.ledger.amounts import shown_spent
from dpfda.privacy import REPLACE
from dpfda.releases.cards.words import plain, up
from dpfda.releases.certificate import Certificate, ChoiceCard

Card = Certificate | ChoiceCard
Facts = tuple[tuple[str, str], ...]
LEVEL = 0.95

THREATS = (
    "The attacker sees this release and all others, the source code, every public parameter and all records but those "
    "of one unit; he may read the program's errors and send requests of his own. He must not learn more of that unit "
    "than the guarantee allows. Not covered: how long the program runs, whoever can read the records themselves, and "
    "what others publish of them outside the ledger."
)
TWICE = (
    "a release under add-or-remove-one counts for two there, since replacing a unit is removing it and adding another"
)


def facts_of(card: Card, release: Any = None) -> Facts:
    """Labels and texts, in the order in which a page shows them; some need the release, not only its card."""
    found = [
        ("estimated", estimated(card)),
        ("native", native(card)),
        ("method", method(card)),
        ("curves", curves_per_unit(card)),
        ("not included", not_included(card)),
        ("groups", groups(card)),
        ("spent so far", spent(card)),
        ("lattice", lattice(card)),
        ("band", band(release)),
        ("noise and signal", getattr(release, "against_noise", "")),
        ("not covered", card.not_covered if isinstance(card, Certificate) else ""),
        ("afterwards", afterwards(card, release)),
        ("unprotected", unprotected(card)),
        ("threats", THREATS),
    ]
    return tuple((label, text) for label, text in found if text)


def estimated(card: Card) -> str:
    """What was estimated, where, and in which units."""
    if isinstance(card, ChoiceCard):
        return f"{card.what}, one of {card.candidates} public candidates"
    domain = " x ".join(f"[{low:g}, {high:g}]" for low, high in card.domain)
    power = " squared" if card.power == 2 else ""
    return f"{card.what} on {domain}, in the units of the records{power}; the card names no others"


def nominally(card: Card) -> str:
    """Begins an amount that the law of an approximate draw would keep, had it been drawn exactly."""
    return "nominally " if getattr(card, "nominal", False) else ""


def native(card: Card) -> str:
    """The guarantee in the parameters that the mechanism has by itself."""
    words = []
    for loss in card.losses:
        if "mu" in loss:
            words.append(f"normal noise, moved by at most {least(float(loss['mu']), 6)} deviations (Gaussian privacy)")
        elif loss.get("law") == "range":
            words.append(f"exponential mechanism of range {least(float(loss['epsilon']), 6)}")
        elif loss.get("law") == "stated":
            words.append(f"stated (epsilon = {plain(loss['epsilon'])}, delta = {plain(loss['delta'])})")
        elif "epsilon" not in loss:
            words.append(f"a privacy curve '{loss.get('law')}', which this version does not know")
        else:
            words.append(f"pure epsilon {least(float(loss['epsilon']), 6)}")
    return nominally(card) + " and ".join(words) if words else "not kept: the card is from before they were"


def method(card: Card) -> str:
    """How the native parameters became the stated ones."""
    if not card.losses:
        return ""
    delta = card.delta if isinstance(card, Certificate) else 0.0
    if delta == 0:
        return "pure epsilons add up" if len(card.losses) > 1 else "none is needed: the statement is the native one"
    more = ", to which the epsilon of a private choice was added" if len(card.losses) > 1 else ""
    if "mu" in card.losses[0]:
        return f"exact privacy curve of normal noise, and what the integer sampler adds to delta{more}"
    return f"privacy curve of the mechanism at this delta{more}"


def curves_per_unit(card: Card) -> str:
    """How many curves of one unit there may be."""
    if isinstance(card, Certificate) and card.curves_per_unit:
        return card.curves_per_unit
    if card.unit_was_assumed:
        return "one: every row counts as another unit, so whoever has several rows is protected row by row only"
    return f"any number: all rows of one {card.unit} are averaged first, and count as one"


def not_included(card: Card) -> str:
    """The sentence for a citizen, who asks what would be had she not been included at all."""
    if not card.private or getattr(card, "nominal", False):
        return ""
    if card.neighbours == REPLACE:
        return (
            f"had this {card.unit} not been included, and another one stood in its place, the same holds: only the "
            f"number of {card.unit}s is public"
        )
    return f"whether this {card.unit} was included at all is protected too"


def groups(card: Card) -> str:
    """What is left for people who are in the data together; pure epsilons multiply."""
    delta = card.delta if isinstance(card, Certificate) else 0.0
    if delta == 0 and not getattr(card, "nominal", False):
        return f"two {card.unit}s together have pure epsilon {plain(2 * card.epsilon)}, and k of them k times the one"
    composed = f"{nominally(card)}{least(4 * card.rho, 4)}-zCDP, and k of them k^2 times that of one"
    pair = of_two(card, delta)
    if pair is None:
        return f"two {card.unit}s together have {composed}"
    stated = f"(epsilon = {least(pair, 4)}, delta = {plain(delta)})"
    return f"two {card.unit}s together have {stated}; for composition {composed}"


def of_two(card: Card, delta: float) -> float | None:
    """Epsilon for two units together at the card's delta: pure choices count twice, on top of the release itself.

    None where a curve is not known, or has no epsilon of its own.
    """
    from dpfda.ledger.amounts import loss_from
    from dpfda.privacy.composition import compose

    if not card.losses or getattr(card, "nominal", False):
        return None
    try:
        first, *others = map(loss_from, card.losses)
        found = compose((first,), delta=delta, people=2).epsilon + 2 * math.fsum(loss.pure for loss in others)
    except (DpfdaError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def spent(card: Card) -> str:
    """What the data set had spent in all, this release included."""
    entry = card.entry
    if entry is None or entry.spent is None:
        return "not known: no ledger counted what other releases of the same records cost"
    more = "" if card.neighbours == REPLACE else f"; if that budget is under replace-one, {TWICE}"
    if entry.adaptive:
        return f"{entry.capped}, with all releases of '{card.dataset}' up to this one{more}"
    of = "" if entry.cap is None else f", of a budget of {plain(entry.cap[0])}"
    at = f" at delta {plain(entry.spent[1])}" if entry.spent[1] else ""
    bound = "nominally (an approximate draw is among them)" if entry.nominal else "at most"
    amount = f"{bound} epsilon {shown_spent(entry.spent[0])}{at}{of}"
    return f"{amount}, by all releases of '{card.dataset}' up to this one{more}"


def lattice(card: Card) -> str:
    """On which numbers the noise was drawn."""
    if isinstance(card, ChoiceCard):
        return "scores are whole numbers, and the choice among them is drawn exactly"
    if card.lattice_step <= 0:
        return ""
    return f"records are rounded to steps of {card.lattice_step:.6g}, summed as whole numbers, and noise is one too"


def band(release: Any) -> str:
    """How far the noise may have moved a function: everywhere at once, and at one point alone."""
    # A regression has a band for each of its coefficients.
    if not getattr(release, "has_band", False) or hasattr(release, "coefficient"):
        return ""
    try:
        found = release.band(LEVEL, release.points(33 if release.basis.domain.dimension == 1 else 9))
    except DpfdaError:  # nothing was added
        return ""
    half = (np.asarray(found.upper) - np.asarray(found.lower)) / 2
    everywhere = f"within {float(half.max()):.4g} everywhere at once" if np.isfinite(half).all() else "not bounded"
    deviation = float(np.sqrt(release.basis.matrix(found.points) ** 2 @ release.noise.variances).max())
    volume = getattr(release, "volume", 1.0)
    if getattr(release, "count", None) is not None:
        return f"{everywhere} with probability {LEVEL}, the noise in the number of units included"
    alone = release.noise.at_one_point * deviation / volume
    return (
        f"{everywhere} with probability {LEVEL}; at one point alone within {alone:.4g}, for a "
        f"standard deviation of at most {deviation / volume:.4g} there"
    )


def afterwards(card: Card, release: Any) -> str:
    """What was done after the noise, which costs nothing."""
    if isinstance(card, ChoiceCard):
        return "nothing"
    name = getattr(release, "smoothing_name", None) or getattr(getattr(release, "smoothing", None), "name", None)
    if not isinstance(name, str):
        return "whatever was done after the noise used the noisy numbers alone, and costs nothing"
    return f"smoothing '{name}', computed from the noisy coordinates alone, which are in the file as they were drawn"


def unprotected(card: Card) -> str:
    """What the release shows as it is, because it was taken for public."""
    found = []
    if card.neighbours == REPLACE:
        found.append(f"the number of {card.unit}s")
    if isinstance(card, Certificate):
        found += ["the domain and the grid", "the bound" if card.bought_centre else "the bound and the centre"]
        found.append("the basis and its size")
    else:
        found.append("the candidates")
    found += [
        f"the name '{card.dataset}', the columns that were named",
        "that the records were asked, when and for what",
    ]
    bought = card.bought_centre if isinstance(card, Certificate) else ""
    more = f". The centre is a release: {bought}" if bought else ""
    return ", ".join(found) + f". They were stated, not computed from records, as far as the card says how{more}"


def least(value: float, digits: int) -> str:
    """A number in few digits that is no smaller: rounded to the nearest if that is above, else up."""
    near = f"{value:.{digits}g}"
    return near if float(near) >= value else up(value, digits)


def factor(card: Card) -> str:
    """How much more or less likely anything may become."""
    return up(math.exp(card.epsilon), 3) if card.epsilon < 700 else f"e^{plain(card.epsilon)}"
