"""Come here for what may be given as a ledger: one, its address, or nothing."""

from __future__ import annotations

from typing import cast

from dpfda.errors import UsageError
from dpfda.privacy.ledger.contract import AnyLedger
from dpfda.privacy.ledger.durable import Ledger


def as_ledger(thing: object) -> AnyLedger | None:
    """The ledger that was given, or the one at this address; what cannot keep an output would lose it, and is refused.

    >>> as_ledger("sqlite:///budget.db") == Ledger("sqlite:///budget.db")
    True
    """
    if thing is None:
        return None
    if isinstance(thing, str):
        return Ledger(thing)
    if isinstance(thing, type) or not all(callable(getattr(thing, name, None)) for name in ("charge", "store", "burn")):
        raise UsageError(
            "ledger must be None, an address such as 'sqlite:///budget.db' or a ledger such as "
            f"dpfda.Ledger('sqlite:///budget.db'), got a {type(thing).__name__}. Nothing was charged."
        )
    return cast(AnyLedger, thing)
