"""Come here for one thing that is served: its card made in advance, and the thread that asks it if it needs one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpfda.apps.service.answers import Answerer, answerer
from dpfda.apps.service.worker import Worker
from dpfda.arrays import Array
from dpfda.errors import UsageError


class Entry:
    """What stands behind an id, where it came from, and its answers to questions about itself."""

    __slots__ = ("_worker", "answers", "card", "file", "id", "stamp", "summary")

    def __init__(self, name: str, answers: Answerer, file: Path | None, stamp: object) -> None:
        self.id, self.answers, self.file, self.stamp = name, answers, file, stamp
        self._worker: Worker | None = None
        here = f"/releases/{name}"
        links = {"self": here, "card": f"{here}/card", "evaluate": f"{here}/evaluate"}
        self.summary = {
            "id": name,
            "kind": answers.kind,
            "what": str(answers.card.get("what", answers.kind)),
            "dataset": str(answers.card.get("dataset", "")),
            "links": links | ({} if answers.file is None else {"file": f"{here}/file"}),
        }
        asked = {
            "coordinates": len(answers.lower),
            "lower": list(answers.lower),
            "upper": list(answers.upper),
            "names": list(answers.names),
            "answers": "at once" if answers.public else "at the deadline",
        }
        self.card = json.dumps({**answers.card, **self.summary, **asked}, allow_nan=False).encode()

    async def ask(self, points: Array, *, most: int) -> Array:
        """What an online oracle answers, in its own thread, together with whoever else waits."""
        if self._worker is None:
            self._worker = Worker(self.answers.evaluate, most=most)
        return await self._worker.ask(points)

    def close(self) -> None:
        """Let the thread finish what it does, then close what it asks."""
        if self._worker is not None:
            self._worker.close()
        self.answers.close()


def entry(name: str, thing: Any, file: Path | None = None, stamp: object = None) -> Entry:
    """An entry for a release, an oracle or any `Answers`."""
    made = answerer(thing)
    try:
        return Entry(name, made, file, stamp)
    except (TypeError, ValueError):
        raise UsageError("The card is no JSON: it holds something that is not finite, or no number or text.") from None
