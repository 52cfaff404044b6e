"""Come here for budgets as people read them: bars with their statements, and the table of what was entered."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpfda.apps.budget_words import APPROXIMATE, COUNTER, at, bar, down, nominally, up
from dpfda.privacy.ledger.rules import ADAPTIVE

if TYPE_CHECKING:
    from pathlib import Path

    from dpfda.privacy.budget import Budget
    from dpfda.privacy.composition import Statement
    from dpfda.privacy.ledger import Dataset, Entry, Ledger, Remaining
    from dpfda.studies.reproduction import Table


def anchor_state(since: int | None, anchor: Path | None) -> dict[str, Any]:
    """Whether an old copy of the ledger would have been noticed, for machines; what disagrees was refused before."""
    state = "none" if since is None else "not looked at" if anchor is None else "agrees"
    return {"state": state, "since_entry": since, "file": None if anchor is None else str(anchor)}


def anchor_text(since: int | None, anchor: Path | None) -> str:
    """The same in words."""
    if since is None:
        return "none, so an old copy that was put back would not be noticed"
    if anchor is None:
        return f"not looked at (there is one since entry {since}): say --anchor FILE, else an old copy goes unnoticed"
    return f"{anchor} agrees: the ledger holds all that it remembers since entry {since}"


def budget_text(ledger: Ledger, budget: Dataset, people: int | None) -> str:
    """One budget: a bar, and what stands behind it."""
    spent, left = ledger.spent(budget.name), ledger.remaining(budget.name)
    copies = f", also called {', '.join(budget.copies)}" if budget.copies else ""
    cap = budget.cap
    amount, word = (spent.epsilon, "spent") if spent.counter is None else (spent.counter, "counted")
    lines = [
        *_spent_lines(spent, cap),
        *((("nominal", APPROXIMATE),) if spent.nominal else ()),
        ("left", _left(left, frozen=budget.frozen)),
        ("statements", _statements(spent)),
        *(((f"{people} people", _group(ledger, budget, people)),) if people is not None and people > 1 else ()),
        ("releases", str(budget.charges)),
        ("protects", f"one {budget.unit}" if budget.unit is not None else "as the first release will say"),
        ("neighbours", budget.neighbours),
        ("prices", "may depend on earlier releases" if budget.adaptive else "do not depend on earlier releases"),
        ("state", "frozen" if budget.frozen else "open"),
    ]
    return "\n".join(
        [f"'{budget.name}'{copies}", f"  {bar(amount, cap.epsilon, word=word)}"]
        + [f"  {label:<11} {text}" for label, text in lines]
    )


def _spent_lines(spent: Statement, cap: Budget) -> tuple[tuple[str, str], ...]:
    """What was spent of a cap; where a filter counts, the cap, and its counter for what it is."""
    of = f"of {down(cap.epsilon)}{at(cap.delta)}"
    if spent.counter is None:
        return (("spent", f"{nominally(spent)}epsilon {up(spent.epsilon)} {of}"),)
    whole = f"{nominally(spent)}epsilon {down(cap.epsilon)}{at(cap.delta)}"
    return (
        ("guarantee", f"{whole}: the whole budget, since prices may depend on earlier releases"),
        ("counter", f"{up(spent.counter)} {of}: {COUNTER}"),
    )


def _left(left: Remaining, *, frozen: bool) -> str:
    by = " by the counter" if left.adaptive else ""
    return "nothing, since it is frozen" if frozen else f"{nominally(left)}epsilon {down(left.epsilon)}{by}"


def _statements(spent: Statement) -> str:
    """The pure and the concentrated statement, side by side."""
    pure = f"{nominally(spent)}pure epsilon {up(spent.pure)}" if math.isfinite(spent.pure) else "no pure epsilon"
    concentrated = f"{nominally(spent)}{up(spent.rho)}-zCDP" if math.isfinite(spent.rho) else "no zCDP"
    return f"{pure}; {concentrated}; (epsilon, delta) by {spent.method}"


def _group(ledger: Ledger, budget: Dataset, people: int) -> str:
    from dpfda.releases.wording import up as at_most

    found = ledger.spent(budget.name, people=people)
    delta = at(found.delta) if found.delta == budget.cap.delta else f" at delta {at_most(found.delta, 3)}"
    amount = f"epsilon {up(found.epsilon)}{delta}" if math.isfinite(found.epsilon) else "no epsilon"
    return f"together: {nominally(found)}{amount}; {_statements(found)}"


def budget_facts(ledger: Ledger, budget: Dataset, people: int | None) -> dict[str, Any]:
    """The same for machines; what has no number is null."""
    facts = {
        "name": budget.name,
        "copies": list(budget.copies),
        "epsilon": budget.cap.epsilon,
        "delta": budget.cap.delta,
        "spent": _facts(ledger.spent(budget.name)),
        "left": ledger.remaining(budget.name).epsilon,
        "nominal": budget.nominal,
        "releases": budget.charges,
        "unit": budget.unit,
        "neighbours": budget.neighbours,
        "frozen": budget.frozen,
        "adaptive": budget.adaptive,
    }
    if people is not None:
        facts["people"] = {"size": people, "spent": _facts(ledger.spent(budget.name, people=people))}
    return facts


def _facts(spent: Statement) -> dict[str, Any]:
    numbers = {"epsilon": spent.epsilon, "delta": spent.delta, "pure": spent.pure, "rho": spent.rho}
    found: dict[str, Any] = {name: each if math.isfinite(each) else None for name, each in numbers.items()}
    return found | {"method": spent.method, "nominal": spent.nominal, "counter": spent.counter}


def history_table(entries: tuple[Entry, ...], where: str) -> Table:
    """Entries as a table; what became of a charge stands beside it, not in a row of its own."""
    from dpfda.apps.tables import MOST_ROWS
    from dpfda.studies.reproduction import Table

    adaptive = {entry.dataset for entry in entries if entry.kind == "create" and entry.what == ADAPTIVE}
    fates = {entry.charged: {"output": "stored", "burn": "burnt"}[entry.kind] for entry in entries if entry.charged}
    rows = [
        (
            str(entry.number),
            entry.at.replace("T", " ").split(".")[0],
            entry.dataset or "",
            _what(entry),
            _amount(entry.cost, nominal=entry.nominal, counted=entry.dataset in adaptive),
            _amount(entry.total, nominal=entry.total_nominal, counted=entry.dataset in adaptive),
            entry.key or "",
            fates.get(entry.number, "open") if entry.kind == "charge" else "",
        )
        for entry in entries
        if entry.charged is None
    ]
    title = f"Entries of {where}; epsilons at the delta of the data set, at most: dpfda budget show composes tightly"
    if adaptive:
        title += f"; counted: {COUNTER}"
    if len(rows) > MOST_ROWS:
        title += f"; the newest {MOST_ROWS} of {len(rows)}, --json has them all"
    columns = ("entry", "when (UTC)", "data set", "what", "cost", "total", "key", "output")
    return Table(title, columns, tuple(rows[-MOST_ROWS:]))


def _amount(epsilon: float | None, *, nominal: bool, counted: bool) -> str:
    words = ", ".join([*(["counted"] if counted else []), *(["nominal"] if nominal else [])])
    return "" if epsilon is None else f"{up(epsilon)}{f' ({words})' if words else ''}"


def _what(entry: Entry) -> str:
    if entry.kind == "create" and entry.budget is not None:
        prices = ", prices may depend on earlier releases" if entry.what == ADAPTIVE else ""
        return f"budget of epsilon {entry.budget.epsilon:g}, delta {entry.budget.delta:g}{prices}"
    anchored = "anchored" if entry.what is None else f"anchored anew: {entry.what}"
    texts = {"copy": f"copy '{entry.name}'", "freeze": "frozen", "anchor": anchored, "charge": entry.what or ""}
    return texts.get(entry.kind, entry.kind)
