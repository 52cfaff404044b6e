"""Come here for what has been spent: charges, receipts, and the ledgers that keep them."""

from dpfda.privacy.ledger.contract import AnyLedger, Charge, Receipt
from dpfda.privacy.ledger.durable import Ledger
from dpfda.privacy.ledger.given import as_ledger
from dpfda.privacy.ledger.keyed import Keyed
from dpfda.privacy.ledger.own import OwnSpend
from dpfda.privacy.ledger.session import SessionLedger
from dpfda.privacy.ledger.views import Dataset, Entry, Quote, Remaining

__all__ = [
    "AnyLedger",
    "Charge",
    "Dataset",
    "Entry",
    "Keyed",
    "Ledger",
    "OwnSpend",
    "Quote",
    "Receipt",
    "Remaining",
    "SessionLedger",
    "as_ledger",
]
