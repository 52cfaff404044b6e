"""Come here for what commands say about budgets: bars, lines and refusals; amounts spent round up, those left down."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfda.errors import BudgetExceeded

if TYPE_CHECKING:
    from dpfda.privacy.ledger import Receipt

BAR = 40  # characters
PASSWORD = re.compile(r"(?<=://)([^:/@]*):(.*)@(?=[^@]*$)")
SECRET = re.compile(r"([?&]password=)[^&]*", re.IGNORECASE)


def opened(url: str, anchor: Path | None) -> Any:
    """The ledger at an address."""
    from dpfda.privacy.ledger import Ledger

    return Ledger(url, anchor=anchor)


def safe(url: str) -> str:
    """An address without its password."""
    return SECRET.sub(r"\1***", PASSWORD.sub(r"\1:***@", url))


def up(amount: float) -> str:
    """An amount that was spent, as people read it: no less than it was."""
    return _shown(amount, up=True)


def down(amount: float) -> str:
    """An amount that is left, as people read it: no more than it is."""
    return _shown(amount, up=False)


def _shown(amount: float, *, up: bool) -> str:
    from dpfda.privacy.ledger.amounts import shown, units_down, units_up

    if amount == float("inf"):
        return "infinite"
    # Amounts are whole units that went through a double: half a unit to either side is the same one.
    return shown(units_up(float(amount)) if up else units_down(float(amount)), up=up)


def delta_text(delta: float) -> str:
    return f" at delta {delta:g}" if delta else ""


def bar(spent: float, cap: float) -> str:
    """A bar of what is spent of a budget; full only when nothing is left, and empty only when nothing is spent."""
    share = min(spent / cap, 1.0)
    full = round(share * BAR)
    if spent > 0:
        full = max(full, 1)
    if spent < cap:
        full = min(full, BAR - 1)
    return f"[{'#' * full}{'.' * (BAR - full)}] {share:.1%} spent"


def unrecorded(dataset: str) -> str:
    """One line for a release without a ledger."""
    name = shlex.quote(dataset)
    return (
        "Ledger:  nothing was recorded. To keep one: dpfda budget create sqlite:///budget.db --dataset "
        f"{name} --epsilon TOTAL --delta DELTA, then --ledger sqlite:///budget.db"
    )


def left_after(receipt: Receipt) -> str:
    """One line for a release that was charged."""
    entry = f"Ledger:  entry {receipt.number} of {receipt.ledger}, key {receipt.key}"
    if receipt.spent is None or receipt.cap is None:
        return entry
    left = down(max(receipt.cap.epsilon - receipt.spent.epsilon, 0.0))
    return (
        f"{entry}; '{receipt.dataset}' has spent epsilon {up(receipt.spent.epsilon)} of {down(receipt.cap.epsilon)}"
        f"{delta_text(receipt.cap.delta)}, left {left}"
    )


def quote_lines(quote: Any) -> tuple[tuple[str, str], ...]:
    """What a dry run says about the ledger, as labels and texts."""
    cap = quote.cap
    state = f"spent {up(quote.spent.epsilon)} of {down(cap.epsilon)}{delta_text(cap.delta)}, left {down(_left(quote))}"
    after = f"spent {up(quote.after.epsilon)}, left {down(max(cap.epsilon - quote.after.epsilon, 0.0))}"
    return (
        ("costs", f"epsilon {up(quote.cost.epsilon)}{delta_text(cap.delta)}"),
        ("before", state),
        ("after", after if quote.allowed else "it would be refused: nothing would be charged"),
    )


def quote_facts(quote: Any) -> dict[str, Any]:
    """The same for machines."""
    return {
        "cost": _pair(quote.cost),
        "spent": _pair(quote.spent),
        "after": _pair(quote.after),
        "cap": _pair(quote.cap),
        "left": _left(quote),
        "allowed": bool(quote.allowed),
    }


def refuse(quote: Any) -> None:
    """End as the release itself would, if it would be refused."""
    if not quote.allowed:
        raise BudgetExceeded(str(quote.refusal))


def _left(quote: Any) -> float:
    return max(float(quote.cap.epsilon) - float(quote.spent.epsilon), 0.0)


def _pair(amount: Any) -> dict[str, float]:
    return {"epsilon": float(amount.epsilon), "delta": float(amount.delta)}
