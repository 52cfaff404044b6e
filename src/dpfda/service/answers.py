"""Whatever can be asked: releases of every kind, and oracles, each asked in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
    """A release or an oracle in the form that the service asks, whatever its kind."""

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
        """Raise if the ends and the middle of the domain have no values: better now than when it is asked."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        points = np.stack([lower, (lower + upper) / 2, upper])
        with np.errstate(all="ignore"):
            values = np.asarray(self.evaluate(points))
        if values.shape not in ((3,), (3, len(self.names))):
            raise ValueError


def answerer(thing: Any) -> Answerer:
    """The service's view of a release, an oracle or any `Answers`."""
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
        f"{type(thing).__name__}.",
        parameter="thing",
    )


def check_private(certificate: Certificate) -> None:
    """Refuse a release whose noise came from a seeded source: anybody could remove it again."""
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


Evaluate = Callable[[Array], Array]
Waiting = list[tuple[Array, "asyncio.Future[Array]"]]


class Worker:
    """One thread that asks one oracle; requests that come while it works wait for its next turn.

    Those that wait are asked in one call, so that one durable write serves them all.
    """

    def __init__(self, evaluate: Evaluate, *, most: int) -> None:
        self.evaluate, self.most = evaluate, most
        self.waiting: Waiting = []
        self.turn: asyncio.Task[None] | None = None
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="oracle")

    async def ask(self, points: Array) -> Array:
        """The answers at these points, when the oracle has them."""
        answer: asyncio.Future[Array] = asyncio.get_running_loop().create_future()
        self.waiting.append((points, answer))
        if self.turn is None:
            self.turn = asyncio.create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        try:
            while self.waiting:
                batch = self._next()
                await self._answer(batch)
        except RuntimeError:
            # The thread has been closed: whoever still waits is told so.
            for _, answer in self.waiting:
                _settle(answer, UsageError("This oracle is closed."))
            self.waiting.clear()
        finally:
            self.turn = None

    def _next(self) -> Waiting:
        """Those whose turn it is: as many as one request may ask for, and at least one."""
        size, many = 0, 0
        for points, _ in self.waiting:
            size += len(points)
            if many and size > self.most:
                break
            many += 1
        batch, self.waiting = self.waiting[:many], self.waiting[many:]
        return batch

    async def _answer(self, batch: Waiting) -> None:
        outcomes: list[Array | Exception] = [UsageError("This oracle is closed.")] * len(batch)
        try:
            parts = [points for points, _ in batch]
            outcomes = await asyncio.get_running_loop().run_in_executor(self.thread, _together, self.evaluate, parts)
        finally:
            for (_, answer), outcome in zip(batch, outcomes, strict=True):
                _settle(answer, outcome)

    def close(self) -> None:
        """Wait for the oracle to finish what it was asked, then end the thread."""
        self.thread.shutdown(wait=True)


def _settle(answer: asyncio.Future[Array], outcome: Array | Exception) -> None:
    if answer.done():  # whoever asked has gone; what was stored stays
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)


def _together(evaluate: Evaluate, parts: list[Array]) -> list[Array | Exception]:
    """Answers to several questions: in one call, and one by one if that fails, so that each fails for itself."""
    if len(parts) > 1:
        try:
            values = np.asarray(evaluate(np.concatenate(parts)))
            return list(np.split(values, np.cumsum([len(part) for part in parts])[:-1]))
        except Exception:  # one by one below; asking again is free, since answers stay the same
            pass
    return [_alone(evaluate, part) for part in parts]


def _alone(evaluate: Evaluate, points: Array) -> Array | Exception:
    try:
        return np.asarray(evaluate(points))
    except Exception as error:
        return error


async def leave_at(arrived: float, deadline: float) -> None:
    """Wait until a whole number of deadlines has passed since a question came, at least one.

    So what a reader can time is that number, and it is one unless work took longer than the deadline.
    """
    loop = asyncio.get_running_loop()
    turns = max(1, math.ceil((loop.time() - arrived) / deadline))
    await asyncio.sleep(max(0.0, arrived + turns * deadline - loop.time()))
