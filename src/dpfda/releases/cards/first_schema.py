"""Cards of the first schema, dpfda-card-1, which kept sentences: read into fields, and written again as they were.

The only place where sentences are recognised. A statement that was read here keeps its text to the letter, since
digests in ledgers are over it; numbers in it are as rounded as they were printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from dpfda.releases.cards.words import NOBODY, WORDS, Statement, say
from dpfda.releases.entry import NOTHING, Fits, LedgerEntry
from dpfda.releases.fields import check, check_fields, read_change, read_domain, read_losses, read_named, read_texts

SCHEMA = "dpfda-card-1"
# Fields in the order of files. Those that joined later are left out where they say nothing.
CERTIFICATE = (
    *("what", "dataset", "domain", "unit", "unit_was_assumed", "neighbours", "n", "n_is_noisy", "bound", "centre"),
    *("epsilon", "delta", "rho", "mechanism", "noise", "noise_rms", "scale", "lattice_step", "sensitivity"),
    *("sensitivity_norm", "sensitivity_because", "attacker_power", "basis", "size", "chosen", "missing", "randomness"),
    *("recorded", "software", "warnings", "moves", "nominal", "n_is_planned", "power", "shrunk_by", "bounded"),
    *("losses", "noise_scale", "curves_per_unit", "entry", "counting", "detected", "schema", "afterwards"),
)
CHOICE = (
    *("what", "dataset", "unit", "unit_was_assumed", "n", "candidates", "epsilon", "rho", "attacker_power", "chosen"),
    *("randomness", "recorded", "software", "warnings", "losses", "sensitivity", "noise_scale", "entry", "counting"),
    *("schema", "neighbours"),
)
LATER = frozenset({"counting", "detected", "afterwards"})
LISTS = frozenset({"chosen", "warnings"})  # of sentences
KINDS = {
    **dict.fromkeys(("mean", "penalised-mean", "maximiser"), "mean"),
    **dict.fromkeys(("covariance", "second-moment"), "covariance"),
    **dict.fromkeys(("classifier", "regressor"), "machine"),
    **{name: name for name in ("components", "density", "regression")},
}


def written(card: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The plain data of a card in the names and the order of the first schema, with its sentences."""
    names = CHOICE if "candidates" in found else CERTIFICATE
    told = found | {"recorded": card.recorded, "neighbours": card.neighbours}
    told |= {name: str(getattr(card, name)) for name in WORDS if name in found and name not in LISTS}
    told |= {"chosen": {name: str(said) for name, said in card.chosen}, "warnings": list(map(str, card.warnings))}
    return {name: told[name] for name in names if name not in LATER or told[name]}


def read(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a card from data of the first schema."""
    check_fields(kind, data, schema=SCHEMA, sentences=True)
    choice = any(field.name == "candidates" for field in fields(kind))
    names = CHOICE if choice else CERTIFICATE
    if set(data) - set(names):
        raise TypeError
    check("recorded", data["recorded"], (lambda said: isinstance(said, str), "a text"))
    known = {field.name for field in fields(kind)}
    found = {name: value for name, value in data.items() if name in known}
    entry = None if data.get("entry") is None else LedgerEntry.from_dict(data["entry"])
    found |= {
        "chosen": tuple((name, _chosen(said)) for name, said in read_named("chosen", data["chosen"])),
        "software": read_named("software", data["software"]),
        "warnings": tuple(_warning(said) for said in read_texts("warnings", data["warnings"])),
        "losses": read_losses(data.get("losses", ())),
        "entry": entry,
        "fits": _fits(data["recorded"]),
        "older_record": data["recorded"],
        "schema": SCHEMA,
    }
    found |= {name: recognised(name, data[name]) for name in WORDS if name in data and name not in LISTS}
    if choice:
        return found | {"result": _result(data)}
    return found | {
        "domain": read_domain(data["domain"]),
        "statistic": KINDS.get(found["what"].code, ""),
        "afterwards": tuple(read_change(**change) for change in data.get("afterwards", ())),
    }


def _result(data: dict[str, Any]) -> float | None:
    """A bound that was bought stood first among what was chosen."""
    first = next(iter(data["chosen"].items()), ("", ""))
    if data["what"] != "bound" or first[0] != "bound":
        return None
    value = float(first[1])
    if not abs(value) <= 1e150:
        raise ValueError
    return value


def ledger_words(card: Any) -> tuple[bool, bool]:
    """Whether what a card says of the ledger is what its entry says, and whether as cards from before had it."""
    said, entry = card.older_record, card.entry
    if entry is None:
        return said.startswith(NOTHING), False
    older = said != entry.text and said == entry.older_text
    return older or said == entry.text, older


def _fits(recorded: str) -> Fits | None:
    found = re.fullmatch(
        rf"{re.escape(NOTHING)}; (\d+) fits of this estimator and its clones add up to (nominally )?"
        r"\(epsilon = (\S+), delta = (\S+)\)",
        recorded,
    )
    if found is None:
        return None
    return Fits(int(found[1]), float(found[3]), float(found[4]), bool(found[2]))


def _warning(said: str) -> str:
    found = recognised("warnings", said)
    return found if found.code in WORDS["warnings"] else said


def _chosen(said: str) -> str:
    found = re.fullmatch(r"the (.+) of '(.*)', (.+), whose cost adds to this one", said)
    if found is None:
        return said
    return Statement(said, "bought-centre", {"what": found[1], "dataset": found[2], "guarantee": found[3]})


NUMBER = r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_PRODUCTS = (
    rf"at most {NUMBER} in Frobenius norm, where z is its covariates in the unit ball(?: led by {NUMBER})?, y its "
    rf"curve in units of the bound, and z y' is weighed {NUMBER}"
)


def _blocks(text: str) -> list[list[int]]:
    """Blocks of noise, of a sentence like "3 blocks of 8, 1 block of 5": how many, of which size."""
    return [[int(count), int(size)] for count, size in re.findall(r"(\d{1,9}) blocks? of (\d{1,9})", text)]


def _number(text: str | None) -> float:
    return 0.0 if text is None else float(text)


def _numbers(*names: str) -> Callable[[re.Match[str]], dict[str, Any]]:
    return lambda found: {name: _number(text) for name, text in zip(names, found.groups(), strict=True)}


# By field: sentences with numbers in them, their codes, and how values are read; the others stand in `WORDS`.
_BY = _numbers("by")
PATTERNS: dict[str, list[tuple[str, str, Callable[[re.Match[str]], dict[str, Any]]]]] = {
    "what": [
        (r"maximiser of (.+)", "maximiser", lambda found: {"utility": found[1]}),
        (
            r"(\d+) principal components?( with their variances)?",
            "components",
            lambda found: {"count": int(found[1]), "variances": bool(found[2])},
        ),
    ],
    "noise": [
        (r"independent normal noise.*", "gaussian", lambda found: {}),
        (r"independent Laplace noise.*", "radial", lambda found: {"blocks": [[1, 1]]}),  # how many it did not say
        (r"radial in (?:\d+ blocks? of \d+(?:, )?)+", "radial", lambda found: {"blocks": _blocks(found[0])}),
        (r"two-sided Wishart.*", "wishart", lambda found: {}),
        (r"none added: a frame.*", "frame", lambda found: {}),
        (r"none added: a choice.*", "choice", lambda found: {}),
        (r"none added.*|a curve drawn exactly.*", "none", lambda found: {"how": found[0]}),
        (r".*Gaussian process drawn at the points asked for.*", "online", lambda found: {}),
    ],
    "moves": [
        (rf"moves the mean by at most {NUMBER} root mean square", "mean", _BY),
        (rf"adds at most {NUMBER} root mean square to the sum, and itself to the count", "sum-and-count", _BY),
        (rf"moves the objective by at most {NUMBER} at every point", "objective", _BY),
        (rf"moves the weights of the features by at most {NUMBER} in Euclidean norm", "weights", _BY),
        (rf"moves the matrix of moments by at most {NUMBER} in Frobenius norm", "moments", _BY),
        (
            rf"adds at most {NUMBER} in Frobenius norm to the sum of moments(, its count included)?",
            "sum-of-moments",
            lambda found: {"by": float(found[1]), "counted": bool(found[2])},
        ),
        (rf"moves at most 1/{NUMBER} of all points from anywhere to anywhere", "points", _numbers("units")),
        (rf"moves the sums of z z' and z y' by {_PRODUCTS}", "products", _numbers("by", "lead", "weight")),
        (rf"adds to the sums of z z' and z y' {_PRODUCTS}", "sum-of-products", _numbers("by", "lead", "weight")),
        (rf"moves the function by at most {NUMBER} in the norm of the kernel's space", "function", _BY),
    ],
    "centre": [(rf"the constant {NUMBER}", "constant", _numbers("value"))],
    "warnings": [
        (rf"epsilon = {NUMBER} promises next to nothing: .*", "large-epsilon", _numbers("epsilon")),
        (rf"delta = {NUMBER} is not below one over the number of units: .*", "large-delta", _numbers("delta")),
    ],
    "detected": [
        (
            r"coefficients detected: (.*?)(?:; not distinguishable from zero: (.*))? \(at most .*",
            "coefficients",
            lambda found: {"seen": found[1].split(", "), "unseen": (found[2] or "").split(", ") if found[2] else []},
        ),
        (
            r"coefficients detected, but none by itself: (.*) \(at most .*",
            "coefficients",
            lambda found: {"seen": [], "unseen": found[1].split(", ")},
        ),
    ],
}
_MISSING = {
    (says := say("missing", code, nobody=nobody)): says
    for code in ("curves", "points", "labelled-points")
    for nobody in NOBODY
}


def recognised(field: str, said: str) -> Statement:
    """The statement of a sentence, which stays as it is to the letter; one of nobody's if no rule knows it."""
    for code, words in WORDS[field].items():
        if words == said:
            return Statement(said, code, {})
    if field == "missing" and said in _MISSING:
        return _MISSING[Statement(said)]
    for pattern, code, values in PATTERNS.get(field, ()):
        found = re.fullmatch(pattern, said, flags=re.DOTALL)
        if found is not None:
            return Statement(said, code, values(found))
    return Statement(said)
