"""How an online oracle is asked: in its own thread, all who wait at once, never in the event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpfda.arrays import Array
from dpfda.errors import UsageError

Evaluate = Callable[[Array], Array]
Waiting = list[tuple[Array, "asyncio.Future[Array]"]]


class Worker:
    """One thread that asks one oracle; whoever comes while it works waits for the next turn.

    Those who wait are asked in one call, so that one durable write serves them all.
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
