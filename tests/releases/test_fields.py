"""Every field of a card that is read is of its type and in its range, whoever made the digest of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpfda
from dpfda.errors import DataError
from dpfda.releases import Certificate
from dpfda.releases.cards.document import json_text, read_card, schema
from dpfda.releases.cards.facts import native
from dpfda.releases.certificate import ChoiceCard
from dpfda.releases.documents import with_digest
from dpfda.releases.fields import RANGES
from dpfda.releases.files import to_dict
from dpfda.releases.verification import recompute

Of = Callable[[str], Any]
HUGE = "1" + "0" * 400  # a whole number beyond doubles
NUMBER, WHOLE, POSITIVE = "a finite number", "a whole number", "a number from 1e-150 to 1e+150"
NOT_NEGATIVE = "a number from 0 to 1e+150"
KINDS = ["mean", "covariance", "components", "density", "machine", "regression"]


def resealed(data: dict[str, Any], path: Path, place: tuple[str | int, ...], spelled: str) -> Path:
    """A file with one value in its place, spelled as JSON, and a digest that fits."""
    inner: Any = data
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = "@value@"
    path.write_text(with_digest(json.dumps(data, indent=1).replace('"@value@"', spelled)))
    return path


def altered(release: Any, path: Path, place: tuple[str | int, ...], spelled: str) -> Path:
    return resealed(json.loads(json.dumps(to_dict(release))), path, place, spelled)


WRONG: list[tuple[str, str, str]] = [
    ("epsilon", "-1", POSITIVE),
    ("epsilon", "0", POSITIVE),
    ("epsilon", "true", NUMBER),
    ("epsilon", '"0.5"', NUMBER),
    ("epsilon", "null", NUMBER),
    ("epsilon", "1e300", POSITIVE),
    ("n", "0", POSITIVE),
    ("n", "-5", POSITIVE),
    ("n", "1e308", POSITIVE),
    ("bound", "1e308", POSITIVE),
    ("bound", "-1e308", POSITIVE),
    ("bound", "1e-308", POSITIVE),
    ("bound", "0", POSITIVE),
    ("delta", "1", "a number of 0 or more, below 1"),
    ("rho", "-1", NOT_NEGATIVE),
    ("rho", "1e308", NOT_NEGATIVE),
    ("noise_scale", '"0.5"', NUMBER),
    ("noise_scale", "-1", NOT_NEGATIVE),
    ("noise_rms", "1e308", NOT_NEGATIVE),
    ("scale", "false", NUMBER),
    ("lattice_step", "-1", NOT_NEGATIVE),
    ("sensitivity", "-1", NOT_NEGATIVE),
    ("attacker_power", "2", "a number from 0 to 1"),
    ("size", "0", "a whole number of 1 or more"),
    ("size", "5.0", WHOLE),
    ("power", "3", "1 or 2"),
    ("neighbours", '"replace-two"', "'replace-one' or 'add-or-remove-one'"),
    ("unit", "5", "a text"),
    ("randomness", "null", "a code with the values that it has"),
    ("randomness", '{"code": "integers", "more": 1}', "a code with the values that it has"),
    ("moves", '{"code": "mean"}', "a code with the values that it has"),
    ("moves", '{"code": "mean", "by": "far"}', "a code with the values that it has"),
    ("noise", '{"code": "radial", "blocks": [[0.5, 1]], "besides": ""}', "a code with the values that it has"),
    ("detected", '{"code": 5}', "a code with the values that it has"),
    ("nominal", "1", "true or false"),
    ("warnings", "[5]", "a list of texts"),
    ("warnings", '"none"', "a list of texts"),
    ("chosen", "[]", "texts by name"),
    ("software", '{"dpfda": 5}', "texts by name"),
    ("domain", "[[1, 0]]", "pairs low < high"),
    ("domain", '[["0", 1]]', "pairs low < high"),
    ("losses", '[{"epsilon": 1}]', "privacy curves, each a law by its name and the numbers of that law"),
    ("losses", '[{"law": "pure", "epsilon": 0}]', "privacy curves, each a law by its name and the numbers of that law"),
    ("losses", '[{"law": "own", "x": true}]', "privacy curves, each a law by its name and the numbers of that law"),
]


@pytest.mark.parametrize(("name", "spelled", "rule"), WRONG, ids=[f"{row[0]} = {row[1]}" for row in WRONG])
def test_a_field_that_breaks_its_rule_is_refused_by_name(
    name: str, spelled: str, rule: str, release_of: Of, tmp_path: Path
) -> None:
    path = altered(release_of("mean"), tmp_path / "forged.json", ("certificate", name), spelled)
    for opened in (dpfda.load, read_card):
        with pytest.raises(DataError) as found:
            opened(path)
        said = str(found.value)
        assert said.startswith(f"{str(path)!r} cannot be opened: on its card {name} must be {rule}, got ")
        assert said.endswith(" Take a fresh copy of it.")
    finding = recompute(path).findings[-1]  # the one before: not spelled as we write it
    assert (finding.rule, recompute(path).exit_code) == ("parts of the file", 3)
    assert f"{name} must be {rule}" in finding.recomputed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place",
    [("rho",), ("noise_scale",), ("n",), ("losses", 0, "mu"), ("losses", 0, "epsilon")],
    ids=lambda place: ".".join(map(str, place)),
)
def test_a_whole_number_beyond_doubles_is_refused(
    kind: str, place: tuple[str | int, ...], release_of: Of, tmp_path: Path
) -> None:
    path = altered(release_of(kind), tmp_path / "forged.json", ("certificate", *place), HUGE)
    for opened in (dpfda.load, read_card):
        with pytest.raises(DataError, match="is damaged: a part of the release is missing or of another kind"):
            opened(path)
    assert recompute(path).exit_code == 3


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("mean", ("noisy", 0)),
        ("mean", ("centre", 0)),
        ("mean", ("smoothing", "weights", 0)),
        ("mean", ("noise", "scales", 0)),
        ("covariance", ("noisy", 0)),
        ("components", ("frame", 0, 0)),
        ("density", ("noisy", 0)),
        ("machine", ("noisy", 0)),
        ("regression", ("products", 0, 0)),
        ("regression", ("moments", 0)),
        ("regression", ("covariates", "middles", 0)),
        ("regression", ("covariates", "scales", 0)),
        ("regression", ("covariates", "limits", 0, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("spelled", ["1e308", "-1e308", '"0.5"', "true", "null"])
def test_numbers_of_a_release_are_numbers_that_can_be_computed_with(
    kind: str, place: tuple[str | int, ...], spelled: str, release_of: Of, tmp_path: Path
) -> None:
    """Doubles whose squares are none gave infinities and NaN in what was shown and evaluated."""
    path = altered(release_of(kind), tmp_path / "forged.json", place, spelled)
    with pytest.raises(DataError, match="is damaged: a part of the release is missing or of another kind"):
        dpfda.load(path)


def test_a_card_of_another_schema_is_refused_with_the_way_out(release_of: Of, card_of: Of, tmp_path: Path) -> None:
    path = altered(release_of("mean"), tmp_path / "newer.json", ("certificate", "schema"), '"dpfda-card-3"')
    said = (
        f"{str(path)!r} cannot be opened: its card has the schema 'dpfda-card-3', and this version reads dpfda-card-2: "
        "use a newer version of dpfda, or take a fresh copy of it."
    )
    for opened in (dpfda.load, read_card):
        with pytest.raises(DataError, match=f"^{re.escape(said)}$") as found:
            opened(path)
        assert found.value.exit_code == 5
    document = json.loads(json_text(card_of("choice")))
    del document["digest"]
    with pytest.raises(DataError):
        read_card(resealed(document, tmp_path / "choice.json", ("card", "schema"), '"dpfda-card-3"'))


@pytest.mark.parametrize(
    ("name", "spelled"),
    [("n", "0"), ("candidates", "0"), ("epsilon", "-1"), ("neighbours", '"add-or-remove-one"'), ("n", "2.5")],
)
def test_the_card_of_a_choice_follows_the_same_rules(name: str, spelled: str, card_of: Of, tmp_path: Path) -> None:
    document = json.loads(json_text(card_of("choice")))
    del document["digest"]
    path = resealed(document, tmp_path / "choice.json", ("card", name), spelled)
    with pytest.raises(DataError, match=f"cannot be opened: on its card {name} must be "):
        read_card(path)
    assert recompute(path).exit_code == 3


@pytest.mark.parametrize("spelled", ['"much"', '"1e400"'])
def test_a_bound_that_was_bought_is_a_number(spelled: str, card_of: Of, tmp_path: Path) -> None:
    document = json.loads(json_text(card_of("choice")))
    del document["digest"]
    path = resealed(document, tmp_path / "choice.json", ("card", "result"), spelled)
    with pytest.raises(DataError):
        read_card(path)


def test_a_law_of_somebody_elses_is_kept_and_said_to_be_unknown(card_of: Of) -> None:
    data = card_of("mean").to_dict() | {"losses": [{"law": "cauchy", "width": 2.0}]}
    card = Certificate.from_dict(data)
    assert card.to_dict()["losses"] == data["losses"]
    assert native(card) == "a privacy curve 'cauchy', which this version does not know"


@pytest.mark.parametrize(("name", "of"), [("certificate", Certificate), ("choice", ChoiceCard)])
def test_fields_with_a_range_are_those_of_the_published_schema(name: str, of: type) -> None:
    published = schema("card")["$defs"][name]["properties"]
    ranged = {field for field, rule in published.items() if {"enum", "minimum", "exclusiveMinimum"} & set(rule)}
    # How units are counted is checked by its own type.
    assert ranged - {"counting"} == set(RANGES) & set(of.__dataclass_fields__)
