"""Oracles over what a store already holds: a finite release, or answers that were given online."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpfda.arrays import Array, ArrayLike
from dpfda.bases.domain import Domain
from dpfda.errors import DataError, UsageError
from dpfda.mechanisms import SystemRandomness
from dpfda.online.noise import NoiseAhead
from dpfda.online.oracle import Oracle, card_in, law_in
from dpfda.online.store import FORMAT, SqliteStore, Store, as_store
from dpfda.releases import Certificate
from dpfda.releases.files import from_dict, to_dict


class FiniteOracle:
    """A finite release behind the face of an oracle: it has an answer at every point from the start."""

    def __init__(self, release: Any, store: Store) -> None:
        self.release = release
        self._store = store
        self._open = True

    @property
    def certificate(self) -> Certificate:
        certificate: Certificate = self.release.certificate
        return certificate

    @property
    def domain(self) -> Domain:
        return Domain(self.certificate.domain)

    @property
    def asked(self) -> int:
        """No answer is made by asking."""
        return 0

    def points(self) -> Array:
        return np.empty((0, self.domain.dimension))

    def __call__(self, points: ArrayLike) -> Array:
        """Values at points of the domain, (m,)."""
        if not self._open:
            raise UsageError("This oracle is closed. Open the store again to ask more.")
        values: Array = self.release(points)
        return values

    def refresh(self) -> None:
        """Nothing to take in: a release does not change."""

    def close(self) -> None:
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
