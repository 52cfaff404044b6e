"""Private functions that answer queries for ever, one point at a time, under one guarantee.

The files:

    oracle.py         `Oracle`: opens a store, answers, keeps what it answered
    specification.py  the public law of an online release, and its noise
    engine.py         what an engine is, the private function, exact sums
    markov.py         the engine for Matérn processes on a line
    states.py         their states in closed form
    general.py        the engine for any kernel
    noise_ahead.py    noise that is drawn before it is asked for
    store.py          answers in SQLite or in memory
    card.py           the release card
"""

from dpfda.online.card import Facts
from dpfda.online.engine import OwnFunction, Sections, weight_step
from dpfda.online.oracle import FiniteOracle, Oracle, check_store, law_in, open_finite, open_online, open_store
from dpfda.online.specification import OnlineLaw, calibrated
from dpfda.online.store import MemoryStore, SqliteStore, Store, as_store, header_of

__all__ = [
    "Facts",
    "FiniteOracle",
    "MemoryStore",
    "OnlineLaw",
    "Oracle",
    "OwnFunction",
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
