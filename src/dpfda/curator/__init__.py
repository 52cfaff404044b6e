"""The one way from records to releases: check, charge, read, add noise once, store, decode."""

from dpfda.curator.card import described, is_private, with_choice
from dpfda.curator.checking import check_summary
from dpfda.curator.curator import Curator
from dpfda.curator.fingerprint import exact_hash, request_hash
from dpfda.curator.order import ChoiceOrder, Order, ReleaseOrder
from dpfda.curator.payment import GIVEN, DrawLog, Payment, check_ledger

__all__ = [
    "GIVEN",
    "ChoiceOrder",
    "Curator",
    "DrawLog",
    "Order",
    "Payment",
    "ReleaseOrder",
    "check_ledger",
    "check_summary",
    "described",
    "exact_hash",
    "is_private",
    "request_hash",
    "with_choice",
]
