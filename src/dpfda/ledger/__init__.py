"""Durable budgets: charges, receipts, and the ledgers that keep them."""

from dpfda.ledger.contract import AnyLedger, Charge, Dataset, Entry, KeyedLedger, Quote, Receipt, Remaining
from dpfda.ledger.durable import Ledger, as_ledger
from dpfda.ledger.session import OwnSpend, SessionLedger

__all__ = [
    "AnyLedger",
    "Charge",
    "Dataset",
    "Entry",
    "KeyedLedger",
    "Ledger",
    "OwnSpend",
    "Quote",
    "Receipt",
    "Remaining",
    "SessionLedger",
    "as_ledger",
]
