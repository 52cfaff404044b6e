"""Come here for what has been spent: charges, receipts, and the ledgers that keep them."""

from dpfda.privacy.ledger.contract import AnyLedger, Charge, Receipt
from dpfda.privacy.ledger.session import SessionLedger

__all__ = ["AnyLedger", "Charge", "Receipt", "SessionLedger"]
