"""Come here for a ledger that charges under one key: the same request again costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpfda.privacy.ledger.contract import AnyLedger, Charge, Receipt
from dpfda.privacy.ledger.names import check_key


@dataclass(frozen=True, slots=True)
class Keyed:
    """A view of a ledger under one idempotency key; as safe to copy and pickle as the ledger itself."""

    ledger: AnyLedger
    key: str

    def __post_init__(self) -> None:
        check_key(self.key)

    def charge(self, entry: Charge) -> Receipt:
        return self.ledger.charge(replace(entry, key=self.key))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        return self.ledger.store(receipt, output)

    def burn(self, receipt: Receipt) -> None:
        self.ledger.burn(receipt)
