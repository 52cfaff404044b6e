"""A private function that answers queries for ever: the same point, the same answer."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.bases.domain import Domain
from dpfda.errors import DataError, DpfdaError, ReleaseFailed, UsageError
from dpfda.mechanisms import Randomness, SystemRandomness
from dpfda.online.card import ENCODING_BEFORE, Facts, OnlineCard, card
from dpfda.online.engine import Answer, Engine, OwnFunction, Sections
from dpfda.online.general import RowEngine
from dpfda.online.markov import MarkovEngine
from dpfda.online.noise_ahead import NoiseAhead
from dpfda.online.specification import OnlineLaw
from dpfda.online.store import FORMAT, SqliteStore, Store, as_store, check_header, header_of
from dpfda.releases import Certificate
from dpfda.releases.files import from_dict, to_dict


class Oracle:
    """Answers at any points of the domain, one by one or in batches, for ever consistent and under one guarantee.

    A new answer is durable in the store before it leaves. Made by `open_online`; safe to use from several threads, and
    together with other processes on the same store. For new answers it holds the exact function in memory, which of a
    kernel machine is the points of records with their weights; `close` erases it.
    """

    def __init__(
        self,
        law: OnlineLaw,
        sections: Sections | OwnFunction | None,
        store: Store,
        certificate: Certificate,
        noise: NoiseAhead,
    ) -> None:
        self._law, self._sections, self._store, self._noise = law, sections, store, noise
        self.certificate = certificate
        self._engine = self._fresh()
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._open = True
        self._low, self._high = law.domain.sides[0]
        self._flat = law.domain.dimension == 1
        self.refresh()

    @property
    def domain(self) -> Domain:
        """The public interval or box in which points may be asked for."""
        return self._law.domain

    @property
    def holds(self) -> bool:
        """Whether it holds the exact function in memory, for new answers: until it is closed."""
        return self._sections is not None

    @property
    def asked(self) -> int:
        """How many points have answers, as far as this process has seen."""
        return len(self._engine)

    def points(self) -> Array:
        """Points that have answers, (asked, d)."""
        with self._guard():
            return self._engine.points()

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,)."""
        if self._flat and type(points) is float and self._low <= points <= self._high:
            keys = [(points + 0.0,)]  # -0.0 and 0.0 are one point
        else:
            keys = list(map(tuple, (self._law.domain.points(points) + 0.0).tolist()))
        with self._guard():
            values = [self._engine.value(key) for key in keys]
            if None in values:
                self._answer(list(dict.fromkeys(key for key, v in zip(keys, values, strict=True) if v is None)))
                values = [self._engine.value(key) for key in keys]
        return np.array(values, dtype=np.float64)

    def refresh(self) -> None:
        """Take in the answers that other processes have given meanwhile."""
        with self._guard():
            self._engine.fold(self._store.since(len(self._engine)))

    def close(self) -> None:
        """Forget the records and close the store; answers stay there."""
        with self._lock:
            self._open, self._sections = False, None
            self._engine = self._fresh()
            self._store.close()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = self.certificate
        return f"Oracle({shown.what} of {shown.dataset!r}, {shown.guarantee}, {self._store.name!r})"

    def __getstate__(self) -> object:
        raise TypeError("An oracle cannot be copied or pickled: two copies would answer the same question twice.")

    def _fresh(self) -> Engine:
        engine: Engine | None = None
        with suppress(Exception):
            if self._law.line is None or isinstance(self._sections, OwnFunction):
                engine = RowEngine(self._law, self._sections, self._noise)
            else:
                engine = MarkovEngine(self._law, self._sections, self._noise)
        if engine is None:
            # Records were read, so nothing more is said.
            raise ReleaseFailed
        return engine

    def _guard(self) -> threading.RLock:
        if self._process != os.getpid():
            # A thread of the parent may have held the lock; it does not exist here.
            self._lock, self._process = threading.RLock(), os.getpid()
            if self._open:
                # Nor does what that thread had drawn and not committed: only what stands in the store is an answer.
                self._engine = self._fresh()
                self._engine.fold(self._store.since(0))
        if not self._open:
            raise UsageError("This oracle is closed. Open the store again to ask more.")
        return self._lock

    def _answer(self, keys: list[tuple[float, ...]]) -> None:
        """Answers at points that this process knows none for: read what others gave, then add, store, commit."""
        done = False
        problem: DpfdaError | None = None
        try:
            with self._store.writing():
                self._engine.fold(self._store.since(len(self._engine)))
                fresh = [key for key in keys if self._engine.value(key) is None]
                if fresh:
                    self._check_room(len(fresh))
                    before = len(self._engine)
                    answers = self._extended(fresh)
                    if answers is None:
                        problem = ReleaseFailed()
                    else:
                        self._store.append(before, answers)
            done = problem is None
        except DpfdaError as error:
            problem = type(error)(*(() if isinstance(error, ReleaseFailed) else error.args))
        finally:
            if not done:
                # Whatever was drawn and not committed never left; it is thrown away and would be drawn anew.
                self._engine = self._fresh()
        if problem is not None:
            # A new error, raised out here: a chain of frames would carry answers that were not committed.
            raise problem

    def _extended(self, fresh: list[tuple[float, ...]]) -> list[Answer] | None:
        """Where records are read; None if anything at all goes wrong."""
        try:
            return self._engine.extend(np.array(fresh, dtype=np.float64))
        except Exception:
            return None

    def _check_room(self, more: int) -> None:
        if self._sections is None:
            raise UsageError(
                f"The store {self._store.name!r} has no answer at {more} of these points, and new answers need the "
                "records: open it with the data, or ask for points that have answers.",
                parameter="points",
            )
        if len(self._engine) + more > self._law.answers:
            raise UsageError(
                f"{len(self._engine)} answers were given and {more} more asked for; the guarantee covers "
                f"{self._law.answers}. Points that have answers can still be asked for.",
                parameter="answers",
            )


def open_online(
    sections: Sections | OwnFunction | None,
    law: OnlineLaw,
    store: str | Path | Store | None,
    *,
    facts: Facts,
    randomness: Randomness | None = None,
    must_exist: bool = False,
) -> Oracle:
    """An oracle for a private function, on a new store or one that was made for the same release.

    An existing store keeps its card and its scale. Without sections an oracle answers what stands in the store, and
    nothing else. `must_exist` says that a new store has not been paid for.
    """
    source = SystemRandomness() if randomness is None else randomness
    if sections is not None and (sections.kernel != law.kernel or sections.dimension != law.domain.dimension):
        raise UsageError("Sections and law must have the same kernel and the same dimension.", parameter="law")
    certificate = card(law, facts, source)
    where = as_store(store)
    with where.writing():
        found = where.header()
        if found is None and must_exist:
            raise DataError(f"The store {where.name!r} is gone. Nothing was charged; look for it, or make a new one.")
        if found is None:
            where.bind(_header(law, facts, certificate) | {"card": certificate.to_dict()})
    if found is not None:
        law = _checked(found, law, facts, certificate, where.name)
        certificate = card_in(found, where)
    return Oracle(law, sections, where, certificate, NoiseAhead(source))


def check_store(
    store: str | Path | Store | None, law: OnlineLaw, facts: Facts, *, randomness: Randomness | None = None
) -> None:
    """Refuse a store that belongs to another release; a new one, or none at all, is fine, and nothing is made."""
    found = header_of(store)
    if found is not None:
        certificate = card(law, facts, SystemRandomness() if randomness is None else randomness)
        _checked(found, law, facts, certificate, as_store(store).name)


def _header(law: OnlineLaw, facts: Facts, certificate: Certificate) -> dict[str, Any]:
    """What a store is bound to."""
    return {
        "format": FORMAT,
        "kind": "online",
        "what": facts.what,
        "dataset": facts.dataset,
        "n": facts.n,
        "unit": facts.unit,
        "neighbours": facts.neighbours,
        "private": certificate.private,
        "columns": facts.columns,
        "law": law.describe(),
        **dict(facts.encoding),
    }


def _checked(found: dict[str, Any], law: OnlineLaw, facts: Facts, certificate: Certificate, name: str) -> OnlineLaw:
    """The law of a store that was made for the same release; its own, if they differ in the last digits only."""
    expected, kept = _header(law, facts, certificate), law_in(found)
    if not (expected["columns"] and found.get("columns")):
        del expected["columns"]  # records without names cannot be told by them
    if kept is not None and law.like(kept):
        law, expected["law"] = kept, found["law"]
    if facts.statistic == "density":
        # The same records make another function where points outside lie elsewhere: noise of one charge would hide
        # two. A header that does not say it is of the time when there was one way.
        found, expected = ENCODING_BEFORE | found, ENCODING_BEFORE | expected
    check_header(found, expected, name)
    return law


def card_in(header: dict[str, Any], where: Store) -> OnlineCard:
    """The card in the header of a store."""
    try:
        return OnlineCard.from_dict(header["card"])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise DataError(f"The store {where.name!r} is damaged. Take a fresh copy of it.") from None


def law_in(header: dict[str, Any]) -> OnlineLaw | None:
    """The law in a store's header; None if it holds another kind of release, or is damaged."""
    try:
        return OnlineLaw.from_dict(header["law"])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None


class FiniteOracle:
    """A finite release with the interface of an oracle: it has an answer at every point from the start."""

    def __init__(self, release: Any, store: Store) -> None:
        self.release = release
        self._store = store
        self._open = True

    @property
    def certificate(self) -> Certificate:
        """The card of the release."""
        certificate: Certificate = self.release.certificate
        return certificate

    @property
    def domain(self) -> Domain:
        """The public interval or box in which points may be asked for."""
        return Domain(self.certificate.domain)

    @property
    def asked(self) -> int:
        """0: asking makes no answers here."""
        return 0

    def points(self) -> Array:
        """No points: asking does not make answers here, (0, d)."""
        return np.empty((0, self.domain.dimension))

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,)."""
        if not self._open:
            raise UsageError("This oracle is closed. Open the store again to ask more.")
        values: Array = self.release(points)
        return values

    def refresh(self) -> None:
        """Nothing to do: a release does not change."""

    def close(self) -> None:
        """Let go of the store; further questions are refused."""
        self._open = False
        self._store.close()

    def __enter__(self) -> FiniteOracle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FiniteOracle({self.release!r}, {self._store.name!r})"


def open_finite(release: Any, store: str | Path | Store | None) -> FiniteOracle:
    """An oracle over a release, kept in a store; a store that holds another release is refused."""
    header = {"format": FORMAT, "kind": "finite", "release": to_dict(release)}
    where = as_store(store)
    with where.writing():
        found = where.header()
        if found is None:
            where.bind(header)
    if found is not None and found != header:
        raise UsageError(
            f"The store {where.name!r} holds another release. Open it without this one, or name a new store.",
            parameter="store",
            value=where.name,
        )
    return FiniteOracle(release, where)


def open_store(store: str | Path | Store) -> Oracle | FiniteOracle:
    """An oracle over what a store holds, without any records: a finite release, or the answers given so far."""
    where = as_store(store)
    if isinstance(where, SqliteStore) and not where.path.is_file():
        raise DataError(f"No store {where.name!r}. Check the path.")
    header = where.header()
    if header is None:
        raise DataError(f"The store {where.name!r} is empty. Open it with a release first.")
    law = law_in(header)
    try:
        if header["kind"] == "finite":
            return FiniteOracle(from_dict(header["release"]), where)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        law = None
    if law is None:
        raise DataError(f"The store {where.name!r} is damaged. Take a fresh copy of it.")
    return Oracle(law, None, where, card_in(header, where), NoiseAhead(SystemRandomness()))
