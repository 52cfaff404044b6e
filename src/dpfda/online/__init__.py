"""Private functions that answer queries for ever, one point at a time, under one guarantee."""

from dpfda.online.card import Facts
from dpfda.online.engine import Sections, weight_step
from dpfda.online.oracle import FiniteOracle, Oracle, check_store, law_in, open_finite, open_online, open_store
from dpfda.online.specification import OnlineLaw, calibrated
from dpfda.online.store import MemoryStore, SqliteStore, Store, as_store, header_of

__all__ = [
    "Facts",
    "FiniteOracle",
    "MemoryStore",
    "OnlineLaw",
    "Oracle",
    "Sections",
    "SqliteStore",
    "Store",
    "as_store",
    "calibrated",
    "check_store",
    "header_of",
    "law_in",
    "open_finite",
    "open_online",
    "open_store",
    "weight_step",
]
