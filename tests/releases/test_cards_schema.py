"""The published schemas hold for every kind of release, card and claim, and for nothing that was altered."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpfda.releases.cards.document import FILES, SCHEMAS, document, json_text, schema, schema_text
from dpfda.releases.files import text_of

KINDS = [
    "mean",
    "mean, laplace",
    "mean, k-norm",
    "mean, gp",
    "mean, exponential",
    "mean, dictionary",
    "mean, private number",
    "covariance",
    "covariance, wishart",
    "components",
    "components, with variances",
    "density",
    "density, bought bandwidth",
    "machine",
    "regression",
]
CARDS = [*KINDS, "choice", "online"]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
Of = Callable[[str], Any]


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def fits(name: str, data: Any) -> bool:
    return bool(validator(name).is_valid(data))


def stored(data: Any) -> Any:
    """Data as they come back from a file: lists and plain numbers."""
    return json.loads(json.dumps(data, allow_nan=False))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema(name)["$id"] == f"urn:dpfda:{FILES[name]}"
    assert schema_text(name).endswith("}\n")


def test_every_schema_can_be_used_alone(release_of: Of) -> None:
    for name in SCHEMAS:
        assert "urn:dpfda" not in json.dumps({key: part for key, part in schema(name).items() if key != "$id"})
    alone = Draft202012Validator(json.loads(schema_text("release")))
    data = json.loads(text_of(release_of("mean")))
    assert alone.is_valid(data)
    data["certificate"]["epsilon"] = "one"
    assert not alone.is_valid(data)


@pytest.mark.parametrize("kind", CARDS)
def test_the_card_of_every_kind_fits_its_schema(kind: str, card_of: Of) -> None:
    card = card_of(kind)
    validator("card").validate(stored(card.to_dict()))
    validator("card").validate(json.loads(json_text(card, digest="0" * 64)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_of_every_kind_fits_its_schema(kind: str, release_of: Of) -> None:
    validator("release").validate(json.loads(text_of(release_of(kind))))


@pytest.mark.parametrize("kind", CARDS)
def test_a_card_without_one_of_its_fields_or_with_another_name_for_it_does_not_fit(kind: str, card_of: Of) -> None:
    data = stored(card_of(kind).to_dict())
    for name in data:
        less = {key: value for key, value in data.items() if key != name}
        assert not fits("card", less), name
        assert not fits("card", less | {f"{name}_": data[name]}), name
        assert not fits("card", data | {f"{name}_": data[name]}), name


@pytest.mark.parametrize("kind", ["mean", "choice", "online"])
def test_a_card_with_a_field_of_another_type_does_not_fit(kind: str, card_of: Of) -> None:
    data = stored(card_of(kind).to_dict())
    for name, value in data.items():
        wrong: tuple[Any, ...] = (5, [5], {"a": 5}) if isinstance(value, str) else ("text", ["text"], {"a": ["text"]})
        if isinstance(value, list):
            wrong = ("text", 5, [5], [None])
        for other in wrong:
            assert not fits("card", data | {name: other}), (name, other)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0),
        ("epsilon", -1.0),
        ("delta", 1.0),
        ("delta", -1e-9),
        ("attacker_power", 1.01),
        ("size", 0),
        ("size", 2.5),
        ("n", 0),
        ("noise_scale", 0),
        ("sensitivity", 0.0),
        ("neighbours", "neighbours"),
        ("power", 3),
        ("schema", "dpfda-card-1"),
        ("moves", {"code": "mean"}),
        ("moves", {"code": "mean", "by": "far"}),
        ("moves", {"code": "nowhere"}),
        ("randomness", {"code": "dice"}),
        ("losses", []),
        ("losses", [{"law": "pure", "epsilon": 0}]),
        ("losses", [{"law": "pure", "epsilon": 1.0, "delta": 0.0}]),
        ("losses", [{"law": "cauchy", "epsilon": 1.0}]),
        ("losses", [{"law": "gaussian", "mu": 1.0}]),
        ("domain", []),
        ("domain", [[0]]),
        ("domain", [[0, 1, 2]]),
        ("entry", {"ledger": "a"}),
    ],
    ids=str,
)
def test_a_number_out_of_range_does_not_fit(field: str, value: Any, card_of: Of) -> None:
    assert not fits("card", stored(card_of("mean").to_dict()) | {field: value})


def test_an_entry_of_a_ledger_fits_and_altered_ones_do_not(card_of: Of) -> None:
    data = stored(card_of("mean").to_dict())
    entry = {"ledger": "a", "number": 3, "digest": "ab" * 32, "key": "k", "spent": [1.0, 1e-6], "cap": None}
    assert fits("card", data | {"entry": entry})
    for name, value in [("number", -1), ("digest", "xyz"), ("spent", [1.0]), ("spent", 1.0), ("key", 5), ("more", 1)]:
        assert not fits("card", data | {"entry": entry | {name: value}}), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_lacks_a_part_or_has_one_more_does_not_fit(kind: str, release_of: Of) -> None:
    data = json.loads(text_of(release_of(kind)))
    for name in data:
        assert not fits("release", {key: value for key, value in data.items() if key != name}), name
    assert not fits("release", data | {"more": 1})
    for place in ("certificate", "basis"):
        altered = copy.deepcopy(data)
        altered[place]["more"] = 1
        assert not fits("release", altered), place


def test_a_document_says_all_that_a_card_should(card_of: Of, release_of: Of) -> None:
    """Everything in the list of UX.md, "The release card", has a place: in the card, its facts or its answers."""
    facts = document(card_of("mean"), release_of("mean"))["facts"]
    assert list(facts) == [
        "estimated",
        "native",
        "method",
        "curves",
        "groups",
        "spent so far",
        "lattice",
        "band",
        "noise and signal",
        "not covered",
        "afterwards",
        "unprotected",
        "threats",
    ]


@pytest.mark.parametrize("name", ["load-curve-claim.json", "load-curve-corrected-claim.json"])
def test_the_examples_fit_the_schema_of_claims(name: str) -> None:
    data = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    validator("claim").validate(data)
    for field in ("what", "unit", "n", "parts", "epsilon", "delta"):
        assert not fits("claim", {key: value for key, value in data.items() if key != field}), field
    assert not fits("claim", data | {"sampling": 1.5})
    assert not fits("claim", data | {"more": 1})
