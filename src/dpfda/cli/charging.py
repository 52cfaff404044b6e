"""The ledger of a command: its options, the key of a request, and what is said of budgets.

Amounts that were spent round up, those that are left round down.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import click

from dpfda.cli.words import note_charge, notice
from dpfda.errors import BudgetExceeded, DpfdaError, PrivacyRefused, UsageError

if TYPE_CHECKING:
    from dpfda.ledger import Charge, Quote, Receipt, Remaining
    from dpfda.privacy.composition import Statement

LEDGER = [
    click.option(
        "--ledger",
        metavar="URL",
        help="Where the budget of --dataset is kept, e.g. sqlite:///budget.db; made by dpfda budget create.",
    ),
    click.option(
        "--anchor",
        type=click.Path(path_type=Path),
        help="File outside of the ledger that remembers its newest entry: an old copy put back is noticed.",
    ),
    click.option(
        "--key",
        help="Name of this request: with the same key the same command gives the same output again, free.  [default: "
        "a random one, which is printed]",
    ),
]


class LedgerOptions(Protocol):
    """Where the options of a ledger stand."""

    @property
    def ledger(self) -> str | None: ...
    @property
    def anchor(self) -> Path | None: ...
    @property
    def key(self) -> str | None: ...
    @property
    def dry_run(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LedgerChoice:
    """The options of a ledger, for commands that have no other output."""

    ledger: str | None
    anchor: Path | None
    key: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class LedgerQuote:
    """What a ledger says to a charge that was not entered."""

    charge: Charge
    quote: Quote
    known: bool  # whether the key was charged before


@dataclass(slots=True)
class CommandLedger:
    """A ledger as one command sees it: all under one key."""

    ledger: Any
    key: str
    receipt: Receipt | None = None
    told: bool = False  # whether the user chose the key

    def charge(self, entry: Charge) -> Receipt:
        note_charge(self.key, "If it was charged already, the same command with")
        self.receipt = self.ledger.under(self.key).charge(entry)
        note_charge(self.key, "It was charged: the same command with")
        if not self.told:
            # Before anything is read or written: whoever loses the output can have it again.
            notice(
                f"Key of this request: --key {self.key} gives the output of this command again, free, once it has one."
            )
        return self.receipt

    def asked(self, price: Charge) -> LedgerQuote:
        """What the ledger would say to a charge, for a dry run; what it would refuse outright is refused here."""
        entry, entries = replace(price, key=self.key), self.ledger.history()
        return LedgerQuote(entry, self.ledger.quote(entry), any(each.key == entry.key for each in entries))

    def store(self, receipt: Receipt, output: bytes) -> bytes:
        return bytes(self.ledger.store(receipt, output))

    def burn(self, receipt: Receipt) -> None:
        self.ledger.burn(receipt)

    def __deepcopy__(self, memo: object) -> CommandLedger:
        return self  # a clone of an estimator charges the same ledger


def check_books(order: LedgerOptions, paths: list[Path]) -> None:
    """Nothing is written over the ledger or its anchor: what was spent would be forgotten."""
    from dpfda.cli.targets import same_file
    from dpfda.ledger.names import SQLITE, sqlite_path

    books = [] if order.anchor is None else [order.anchor]
    if order.ledger is not None and order.ledger.startswith(SQLITE):
        file = sqlite_path(order.ledger).resolve()
        # The newest charges may stand in the log beside it.
        books += [file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal", "-head"))]
    if any(same_file(path, book) for path in paths for book in books):
        raise UsageError(
            "An output cannot be written over the ledger or its anchor. Name another. Nothing was charged."
        )


def ledger_of(order: LedgerOptions) -> CommandLedger | None:
    """The ledger of a command; None where nothing is to be charged and nothing asked."""
    for name in ("anchor", "key"):
        if getattr(order, name) is not None and order.ledger is None:
            raise UsageError(f"--{name} goes with --ledger, e.g. --ledger sqlite:///budget.db. Nothing was charged.")
    if order.key is not None and not order.key.strip():
        raise UsageError("--key is a word of your own for this request, e.g. --key mean-2026. Nothing was charged.")
    if order.ledger is None:
        return None
    return CommandLedger(
        opened(order.ledger, order.anchor),
        order.key or uuid4().hex,
        told=order.key is not None,
    )


BAR = 40  # characters
WARN_DELTA, MOST_DELTA = 1e-5, 1e-2  # from here on one person in a hundred may be exposed
MOST_EPSILON = 100.0  # beyond, e^100: nothing is promised that any computation could tell from no promise
COUNTER = "what the privacy filter has counted, which is no guarantee by itself"
APPROXIMATE = "a release was drawn approximately: what was spent is what it aimed at, and no guarantee"
FREE = "this key was charged before: with the same request it is free, with another it is refused"


def opened(url: str, anchor: Path | None) -> Any:
    """The ledger at an address."""
    from dpfda.ledger import Ledger

    return Ledger(url, anchor=anchor)


def safe(url: str) -> str:
    """An address without its password."""
    from dpfda.ledger.names import SQLITE, without_password

    if url.startswith(SQLITE):
        return url
    kind, _, rest = without_password(url).partition(":")
    # Where no host is named, as in postgresql:///name?host=/run, two slashes of three would be lost.
    return f"{kind}:{rest}" if rest.startswith("//") else f"{kind}://{rest}"


def typed(url: str | None, anchor: Path | None, dataset: str) -> str:
    """The options of a ledger as they can be pasted into a shell."""
    words = [] if url is None else ["--ledger", safe(url), "--dataset", dataset]
    return shlex.join([*words, *([] if anchor is None or url is None else ["--anchor", str(anchor)])])


def up(amount: float) -> str:
    """An amount that was spent, as people read it."""
    from dpfda.ledger.amounts import shown_spent

    return shown_spent(amount)


def down(amount: float) -> str:
    """An amount that is left, as people read it: no more than it is."""
    from dpfda.ledger.amounts import shown, units_down

    return "infinite" if math.isinf(amount) else shown(units_down(amount), up=False)


def check_sense(epsilon: float, delta: float, *, force: bool) -> tuple[str, ...]:
    """What should be said before a budget is made, which is never changed; what promises nothing needs --force."""
    from dpfda.privacy import Budget

    if not (0 < epsilon < math.inf and 0 <= delta < 1):
        return ()  # no budget at all: the ledger says so
    warnings = Budget(epsilon, delta).warnings(0)
    if delta > WARN_DELTA:
        odds = f"one person in {1 / delta:.0f}" if delta < MOST_DELTA else f"{delta:.0%} of all people"
        warnings += (f"delta = {delta:g} would let {odds} be exposed outright. Use at most 1e-5.",)
    if (epsilon > MOST_EPSILON or delta >= MOST_DELTA) and not force:
        raise PrivacyRefused(
            f"{' '.join(warnings)} A budget beyond epsilon {MOST_EPSILON:g} or from delta {MOST_DELTA:g} on protects "
            "nobody, and is never changed again. Say --force if that is meant. Nothing was entered."
        )
    return warnings


def left(cap: float, spent: float) -> float:
    """What is left of a cap: as exact as the ledger counts, which doubles are not."""
    from dpfda.ledger.amounts import epsilon_of, units_down, units_up

    return 0.0 if math.isinf(spent) else epsilon_of(max(units_down(cap) - units_up(spent), 0))


def nominally(total: Statement | Remaining | Quote) -> str:
    """Begins an amount that rests on an approximate draw."""
    return "nominally " if total.nominal else ""


def at(delta: float) -> str:
    return f" at delta {delta:g}" if delta else ""


def bar(spent: float, cap: float, *, word: str = "spent") -> str:
    """A bar of what is spent of a budget, or counted: full only when nothing is left, empty only when nothing is spent.

    >>> bar(1.0, 4.0)
    '[##########..............................] 25.0% spent'
    """
    share = min(spent / cap, 1.0)
    full = min(max(round(share * BAR), 1 if spent > 0 else 0), BAR if spent >= cap else BAR - 1)
    return f"[{'#' * full}{'.' * (BAR - full)}] {share:.1%} {word}"


def unrecorded(dataset: str) -> str:
    """One line for a release without a ledger."""
    return (
        "Ledger:  nothing was recorded. To keep one: dpfda budget create sqlite:///budget.db --dataset "
        f"{shlex.quote(dataset)} --epsilon TOTAL --delta DELTA, then --ledger sqlite:///budget.db"
    )


def left_after(book: CommandLedger, receipt: Receipt) -> str:
    """One line for a release that was charged: its entry, and what all charges come to by the best accountant."""
    entry = f"Ledger:  entry {receipt.number} of {receipt.ledger}, key {receipt.key}"
    try:
        spent, rest = book.ledger.spent(receipt.dataset), book.ledger.remaining(receipt.dataset)
    except DpfdaError:  # the release stands, whatever has become of the ledger
        return entry
    cap = "" if receipt.cap is None else f" of {down(receipt.cap.epsilon)}"
    if spent.counter is not None:
        return (
            f"{entry}; the guarantee for '{receipt.dataset}' is {nominally(spent)}its whole budget, epsilon "
            f"{down(spent.epsilon)}{at(spent.delta)}; its filter counts {up(spent.counter)}, left {down(rest.epsilon)}"
        )
    return (
        f"{entry}; '{receipt.dataset}' has spent {nominally(spent)}epsilon {up(spent.epsilon)}{cap}{at(rest.delta)}, "
        f"left {down(rest.epsilon)}"
    )


def quote_lines(asked: LedgerQuote) -> tuple[tuple[str, str], ...]:
    """What a dry run says about the ledger, as labels and texts."""
    quote = asked.quote
    cap = quote.cap.epsilon
    word = "counted" if quote.adaptive else "spent"
    after = f"{word} {nominally(quote)}{up(quote.after)}, left {down(left(cap, quote.after))}"
    return (
        ("costs", f"epsilon {up(quote.cost)}{at(quote.cap.delta)}, charged to '{asked.charge.dataset}'"),
        ("before", f"{word} {up(quote.spent)} of {down(cap)}, left {down(left(cap, quote.spent))}"),
        ("after", FREE if asked.known else after if quote.allowed else "it would be refused"),
    )


def quote_facts(asked: LedgerQuote) -> dict[str, Any]:
    """The same for machines; what has no number is null."""
    quote = asked.quote
    return {
        "dataset": asked.charge.dataset,
        "key": asked.charge.key,
        "charged_before": asked.known,
        "cost": _finite(quote.cost),
        "spent": quote.spent,
        "after": _finite(quote.after),
        "left": left(quote.cap.epsilon, quote.spent),
        "left_after": left(quote.cap.epsilon, quote.after),
        "epsilon": quote.cap.epsilon,
        "delta": quote.cap.delta,
        "allowed": quote.allowed,
        "affordable": quote.affordable,
        "nominal": quote.nominal,
        "adaptive": quote.adaptive,
    }


def refuse(asked: LedgerQuote) -> None:
    """End as the release itself would, if it would be refused."""
    if asked.quote.refusal is not None and not asked.known:
        raise BudgetExceeded(asked.quote.refusal)


def _finite(amount: float) -> float | None:
    return amount if math.isfinite(amount) else None
