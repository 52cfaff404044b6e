"""Fields of a card as a file may hold them: each of its type and in its range, or a `DataError` that names it.

Every card that is read passes here, so that whatever computes with one later need not ask what a number is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from dpfda.arrays import as_real, brief
from dpfda.errors import DataError, UsageError
from dpfda.ledger.amounts import LAWS, loss_from
from dpfda.privacy.budget import RELATIONS

# Squares of numbers between these are doubles. What may be stated lies far inside: bounds and sides of domains from
# 1e-60 to 1e60, epsilon from 1e-15 on, so that even noise on squares of bounds stays below 1e140.
SMALLEST, LARGEST = 1e-150, 1e150

Rule = tuple[Callable[[Any], bool], str]
POSITIVE: Rule = (lambda value: SMALLEST <= value <= LARGEST, f"a number from {SMALLEST:g} to {LARGEST:g}")
# Zero is said by cards from before a number was kept, or where nothing was added.
NOT_NEGATIVE: Rule = (lambda value: 0 <= value <= LARGEST, f"a number from 0 to {LARGEST:g}")
AT_LEAST_ONE: Rule = (lambda value: value >= 1, "a whole number of 1 or more")
RANGES: dict[str, Rule] = {
    "neighbours": (lambda value: value in RELATIONS, " or ".join(map(repr, RELATIONS))),
    "n": POSITIVE,
    "bound": POSITIVE,
    "epsilon": POSITIVE,
    "delta": (lambda value: 0 <= value < 1, "a number of 0 or more, below 1"),
    "rho": NOT_NEGATIVE,
    "noise_rms": NOT_NEGATIVE,
    "scale": NOT_NEGATIVE,
    "lattice_step": NOT_NEGATIVE,
    "sensitivity": NOT_NEGATIVE,
    "noise_scale": NOT_NEGATIVE,
    "attacker_power": (lambda value: 0 <= value <= 1, "a number from 0 to 1"),
    "size": AT_LEAST_ONE,
    "candidates": AT_LEAST_ONE,
    "power": (lambda value: value in (1, 2), "1 or 2"),
}


def is_number(value: object) -> bool:
    """Whether a value from a file is a finite number: no text, no truth value, and no whole number beyond doubles."""
    return math.isfinite(as_real(value))


def is_moderate(value: object) -> bool:
    """Whether a value is a number whose square is a double."""
    return abs(as_real(value)) <= LARGEST


def is_whole_number(value: object) -> bool:
    return is_number(value) and isinstance(value, int)


# By the annotation of a field; lists and objects are read one by one, by the functions below.
TYPES: dict[str, Rule] = {
    "str": (lambda value: isinstance(value, str), "a text"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "float": (is_number, "a finite number"),
    "int": (is_whole_number, "a whole number"),
}


def check_fields(card: type, data: dict[str, Any], *, schema: str, sentences: bool = False) -> None:
    """Refuse plain data of a card of another schema, or with a field that is not of its type or out of its range.

    With `sentences` statements are texts, as they were in the first schema.
    """
    if data.get("schema", schema) != schema:
        raise DataError(
            f"its card has the schema {brief(data['schema'])}, and this version reads {schema}: use a newer version of "
            "dpfda, or take a fresh copy of it."
        )
    texts = {"Statement": "str"} if sentences else {}
    for field in fields(card):
        annotation = str(field.type)
        for rule in (TYPES.get(texts.get(annotation, annotation)), RANGES.get(field.name)):
            if rule is not None and field.name in data:
                check(field.name, data[field.name], rule)


def check(name: str, value: Any, rule: Rule) -> None:
    """Refuse a value that breaks the rule."""
    holds, said = rule
    if not holds(value):
        raise DataError(f"on its card {name} must be {said}, got {brief(value)}. Take a fresh copy of it.")


def read_domain(data: Any) -> tuple[tuple[float, float], ...]:
    """The sides of a domain, each from low to high."""
    for side in data:
        low, high = side
        check("domain", [low, high], (lambda ends: all(map(is_number, ends)) and ends[0] < ends[1], "pairs low < high"))
    return tuple((float(low), float(high)) for low, high in data)


def read_texts(name: str, data: Any) -> tuple[str, ...]:
    """A list of texts."""
    check(name, data, (lambda found: isinstance(found, list | tuple) and all(map(_is_text, found)), "a list of texts"))
    return tuple(data)


def read_named(name: str, data: Any) -> tuple[tuple[str, str], ...]:
    """Texts under names, in their order."""
    check(name, data, (lambda found: isinstance(found, dict) and all(map(_is_text, found.values())), "texts by name"))
    return tuple(data.items())


def read_losses(data: Any) -> tuple[dict[str, Any], ...]:
    """Privacy curves as they were described; laws of others' own are kept as they are, if their numbers are numbers."""
    losses = tuple(map(dict, data))
    for loss in losses:
        check("losses", loss, (_is_loss, "privacy curves, each a law by its name and the numbers of that law"))
    return losses


def _is_loss(loss: dict[str, Any]) -> bool:
    law = loss.get("law")
    if not _is_text(law) or law not in LAWS:
        return _is_text(law) and all(map(_is_leaf, loss.values()))
    try:
        loss_from(loss)
    except UsageError:
        return False
    return True


def read_change(*, what: Any, was: Any, now: Any) -> dict[str, Any]:
    """A change that was made after the release; TypeError where a file holds another one."""
    if not _is_text(what) or not (_is_leaf(was) and _is_leaf(now)):
        raise TypeError
    return {"what": what, "was": was, "now": now}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_leaf(value: object) -> bool:
    return value is None or _is_text(value) or is_number(value)
