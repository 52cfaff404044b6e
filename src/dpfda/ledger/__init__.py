"""Durable budgets: charges, receipts, and the ledgers that keep them.

The files, in the order in which a charge meets them:

    contract.py    charges, receipts, quotes: what a ledger takes and gives
    durable.py     `Ledger`: create a budget, charge, store an output, anchor
    reports.py     what a ledger tells: spent, remaining, history, and whether it is intact
    accounting.py  the budget of a data set, and what a charge makes of it
    amounts.py     epsilon in whole units, privacy curves as plain data, the least price
    chain.py       entries and their hashes, and the transaction that reads and adds them
    database.py    what a ledger asks of a database; forks
    schema.py      tables and triggers in SQL
    sqlite.py      ledgers in a file
    postgres.py    ledgers on a server
    anchor.py      files beside the database by which a restored backup is noticed
    outputs.py     the integers that were drawn, as bytes
    names.py       names, keys and addresses
    session.py     a ledger in memory; what an estimator without a ledger has spent
"""

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
