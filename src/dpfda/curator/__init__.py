"""Come here for the one door between records and releases: check, charge, read, add noise once, keep, decode."""

from dpfda.curator.card import described, entry_of, is_private, recorded, with_choice
from dpfda.curator.door import Curator
from dpfda.curator.order import Order
from dpfda.curator.payment import GIVEN, Payment, Tape, check_ledger
from dpfda.curator.request import request_hash

__all__ = [
    "GIVEN",
    "Curator",
    "Order",
    "Payment",
    "Tape",
    "check_ledger",
    "described",
    "entry_of",
    "is_private",
    "recorded",
    "request_hash",
    "with_choice",
]
