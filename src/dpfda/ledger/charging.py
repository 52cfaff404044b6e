"""One charge inside its transaction: known by its key, or checked and entered."""

from __future__ import annotations

from dpfda.errors import ReleaseFailed, UsageError
from dpfda.ledger.accounting import Tight
from dpfda.ledger.anchor import Anchor, Mark
from dpfda.ledger.book import Book
from dpfda.ledger.chain import stored
from dpfda.ledger.contract import Receipt
from dpfda.ledger.events import ANCHOR, BURN, CHARGE, OUTPUT, Event
from dpfda.ledger.names import check_distinct
from dpfda.ledger.rules import CountedCharge, account_of, check_fits, count, is_nominal, losses_text, spent_of, sums_row
from dpfda.messages import Words, arg

LOST = "the anchor before was said to be lost"  # what an entry says


def enter(order: CountedCharge, tight: Tight | None, book: Book) -> Receipt | None:
    """A charge inside its transaction; None where only the slow accountant can tell."""
    entry = order.charge
    account = account_of(book, entry.dataset)
    known = book.charge_under(entry.key)
    if known is not None:
        return _again(book, order, known, account.created.number)
    check_fits(account, entry)
    found = count(account, entry.budget, order.losses, order.people(account))
    total, cost = found.total, found.cost
    if tight is not None and tight.account.newest.number == account.newest.number:
        total = tight.total if total is None else min(total, tight.total)
        cost = tight.cost if cost is None else cost
    if total is None or cost is None or total > account.cap:
        return None
    if not account.pure:
        cost = min(cost, total)  # alone it is no more than together with others
    event = book.append(
        CHARGE,
        dataset=account.created.number,
        key=entry.key,
        digest=order.digest,
        what=entry.what,
        unit=entry.unit.name,
        neighbours=entry.unit.neighbours,
        epsilon=entry.budget.epsilon,
        delta=entry.budget.delta,
        losses=losses_text(order),
        sums=sums_row(found.sums),
        cost=cost,
        total=total,
    )
    return Receipt(
        entry.dataset,
        entry.key,
        book.id,
        event.number,
        event.hash.hex(),
        spent_of(account, total),
        account.budget,
        nominal=account.nominal or entry.nominal,
        adaptive=account.adaptive,
    )


def check_new(book: Book, name: str, dataset: int | None = None) -> None:
    """Refuse a name that is taken, or that people would take for another data set's."""
    if book.named(name) is not None:
        raise UsageError(
            f"The ledger {book.name} has a budget for {name!r} already, and it is neither raised nor made again. "
            "Nothing was entered."
        )
    check_distinct(name, [known for known, owner in book.names().items() if owner != dataset], book.name)


def charge_of(book: Book, receipt: Receipt) -> Event:
    found = book.charge_under(receipt.key)
    if found is None or (receipt.ledger, receipt.number, receipt.digest) != (book.id, found.number, found.hash.hex()):
        raise UsageError(f"The ledger {book.name} has no such charge under the key {receipt.key!r}. Charge first.")
    return found


def begin_anchor(former: Anchor | None, lost: bool, book: Book) -> Mark:
    """Enter that an anchor begins; where there was one, it is at hand or said to be lost."""
    if book.anchored is None:
        if former is not None or lost:
            raise UsageError(
                f"The ledger {book.name} never had an anchor, so none is given up or lost: begin one without ",
                arg("former="),
                " and ",
                arg("lost="),
                ". Nothing was entered.",
            )
    elif former is not None:
        former.check_former(book, former.seen())
    elif not lost:
        raise UsageError(
            f"The ledger {book.name} has an anchor since entry {book.anchored}. Name it, so that it is closed: ",
            Words("former='...'", "--former FILE"),
            "; or say ",
            arg("lost", True),
            ", if it is gone, which stands in the history. Nothing was entered.",
        )
    event = book.append(ANCHOR, what=LOST if lost else None)
    return Mark(book.id, event.number, event.hash)


def _again(book: Book, order: CountedCharge, known: Event, dataset: int) -> Receipt:
    """The receipt of the first call under this key; the same request only."""
    if known.dataset != dataset or known.digest != order.digest:
        raise UsageError(
            f"The key {order.charge.key!r} stands for another request already. The same key gives the same release "
            "again; for a new one use a new key. Nothing was charged."
        )
    fate = book.fate_of(known)
    if fate is not None and fate.kind == BURN:
        raise ReleaseFailed
    account = account_of(book, order.charge.dataset)
    output = stored(book, known, fate) if fate is not None and fate.kind == OUTPUT else None
    return Receipt(
        order.charge.dataset,
        known.key or "",
        book.id,
        known.number,
        known.hash.hex(),
        spent_of(account, known.total or 0),
        account.budget,
        output,
        nominal=any(is_nominal(event) for event in book.charges(dataset) if event.number <= known.number),
        adaptive=account.adaptive,
    )
