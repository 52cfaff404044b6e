"""Whatever can be asked: releases of every kind, and oracles that answer online."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError
from dpfda.page.base import page_of
from dpfda.releases import Certificate
from dpfda.releases.files import text_of
from dpfda.releases.kinds import is_release, statistic_of
from dpfda.service.refusals import MISFIT, Refused


@runtime_checkable
class Answers(Protocol):
    """Anything that has a card and answers points, the same for ever: an online oracle, or your own."""

    def describe(self) -> dict[str, Any]:
        """The card as plain data, with the entry `domain`: a list of [low, high]."""

    def evaluate(self, points: Array) -> Array:
        """Values at points (m, p) of the domain, (m,) or (m, k); durable before it returns, callable in any thread."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """What stands behind an id, whatever its kind."""

    kind: str
    card: dict[str, Any]
    text: str  # the card for people
    lower: tuple[float, ...]  # least coordinates of a point
    upper: tuple[float, ...]
    names: tuple[str, ...]  # of the numbers in a value; empty: a value is one number
    public: bool  # computed from a finite release alone: an answer may leave at once, since its time tells nothing
    evaluate: Callable[[Array], Array]
    close: Callable[[], None]
    file: bytes | None = None  # a finite release as its file has it

    def fit(self, rows: list[list[float]]) -> Array:
        """Points as an array, (m, p), if all of them are points of this release."""
        if any(len(row) != len(self.lower) for row in rows):
            raise Refused(MISFIT)
        points = np.array(rows, dtype=np.float64)
        if not ((points >= self.lower) & (points <= self.upper)).all():
            raise Refused(MISFIT)
        return points

    def probe(self) -> None:
        """Fails here, rather than when somebody asks, if both ends and the middle of the domain have no values."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        points = np.stack([lower, (lower + upper) / 2, upper])
        with np.errstate(all="ignore"):
            values = np.asarray(self.evaluate(points))
        if values.shape not in ((3,), (3, len(self.names))):
            raise ValueError


def answerer(thing: Any) -> Answerer:
    """Something to be asked, from a release, an oracle or any `Answers`."""
    # An oracle over a finite release has all its answers from the start: it is that release.
    release = getattr(thing, "release", thing)
    if is_release(release):
        return _published(release, getattr(thing, "close", _nothing))
    if isinstance(thing, Answers):
        card = dict(thing.describe())
        return _online(card, json.dumps(card, indent=1), thing.evaluate, thing)
    certificate = getattr(thing, "certificate", None)
    if isinstance(certificate, Certificate) and callable(thing):
        check_private(certificate)
        return _online(_card(certificate), certificate.text(), thing, thing)
    raise UsageError(
        f"The service answers for releases, oracles and objects with describe() and evaluate(points), got "
        f"{type(thing).__name__}."
    )


def check_private(certificate: Certificate) -> None:
    """Nothing that a seeded source drew is served: anybody could take its noise off again."""
    if not certificate.private:
        raise UsageError("The noise of this release came from a seeded source: it is not private and is not served.")


def _online(card: dict[str, Any], text: str, evaluate: Callable[[Array], Array], thing: Any) -> Answerer:
    try:
        sides = [(float(low), float(high)) for low, high in card["domain"]]
    except (LookupError, TypeError, ValueError):
        raise UsageError("The card of an oracle needs the entry domain, a list of [low, high].") from None
    lower, upper = zip(*sides, strict=True)
    close = getattr(thing, "close", _nothing)
    return Answerer("online", card, text, lower, upper, (), False, evaluate, close)


def _published(release: Any, close: Callable[[], None]) -> Answerer:
    certificate: Certificate = release.certificate
    check_private(certificate)
    kind, page = statistic_of(release).name, page_of(release)
    lower, upper = zip(*certificate.domain, strict=True)
    times, names, evaluate = page.answers(release)
    card = {**_card(certificate), **page.facts(release)}
    # Written anew from what was understood: whatever else stood in a file, or stands there later, does not leave.
    file = text_of(release).encode()
    return Answerer(kind, card, certificate.text(), lower * times, upper * times, names, True, evaluate, close, file)


def _card(certificate: Certificate) -> dict[str, Any]:
    """The card as plain data, with what was released in words, as the list of releases has it."""
    return certificate.to_dict() | {"what": str(certificate.what)}


def _nothing() -> None:
    """There is nothing to close."""
