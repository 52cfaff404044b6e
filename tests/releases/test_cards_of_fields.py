"""Cards are codes and numbers: sentences are made of them, rules compare them, and old cards are read into them."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.releases import Certificate
from dpfda.releases.cards import first_schema, words
from dpfda.releases.cards.document import card_from
from dpfda.releases.cards.plain import HIDDEN, SCHEMA
from dpfda.releases.cards.words import SAID, WORDS, Statement, say, values_of
from dpfda.releases.certificate import STATEMENTS
from dpfda.releases.comparisons import Comparisons
from dpfda.releases.documents import sealed
from dpfda.releases.files import text_of, to_dict
from dpfda.releases.kinds import comparisons_of, statistic
from dpfda.releases.verification import recompute, verify

Of = Callable[[str], Any]
SOURCE = Path(dpfda.__file__).parent
GOLDEN = Path(__file__).parents[1] / "golden" / "texts"
KINDS = [
    *("mean", "mean, laplace", "mean, k-norm", "mean, gp", "mean, exponential", "mean, dictionary"),
    *("mean, private number", "covariance", "covariance, wishart", "components", "components, with variances"),
    *("density", "density, bought bandwidth", "machine", "regression"),
]
CARDS = [*KINDS, "choice", "online"]

# Texts for people ----------------------------------------------------------------------------------------------------


def steady(text: str) -> str:
    """A text without what changes with the versions that are installed: these, and what doubles round off."""
    text = re.sub(r"\d(\.\d+)?e-1[3-6]\b", "(rounding)", text)
    return re.sub(r"(?m)^  software .*(\n {17}.*)*", "  software       (versions)", text)


@pytest.mark.parametrize("kind", CARDS)
def test_the_text_of_every_card_is_the_one_on_file(kind: str, card_of: Of, request: pytest.FixtureRequest) -> None:
    """Records and noise are seeded; `pytest tests/releases/test_cards_of_fields.py --rewrite-golden` writes them."""
    path = GOLDEN / f"{re.sub(r'[^a-z-]+', '-', kind)}.txt"
    text = steady(card_of(kind).text()) + "\n"
    if request.config.getoption("--rewrite-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def examples() -> Iterator[tuple[str, str, Statement]]:
    """Every statement that the table has, with some values."""
    some: dict[str, Any] = {"str": "left-out", "bool": True, "int": 2, "float": 2.0, "list[str]": ["age", "dose"]}
    for field, codes in WORDS.items():
        for code, said in codes.items():
            values = {name: some[kind] for name, kind in values_of(said).items()} | (
                {"filled": "zero"} if "filled" in values_of(said) else {}
            )
            yield field, code, say(field, code, **values)


every_statement = pytest.mark.parametrize(
    ("field", "code", "said"), list(examples()), ids=[f"{field}: {code}" for field, code, _ in examples()]
)


@every_statement
def test_a_statement_comes_back_from_plain_data(field: str, code: str, said: Statement) -> None:
    again = words.read(field, json.loads(json.dumps(said.to_dict())))
    assert (again.code, again.values, str(again)) == (code, said.values, str(said))
    assert (copy.deepcopy(said).code, copy.deepcopy(said)) == (code, said)


LATER = (("moves", "claimed"), ("missing", "none-read"))  # than the first schema: no card of it says so


@every_statement
def test_a_sentence_of_the_first_schema_gives_its_statement(field: str, code: str, said: Statement) -> None:
    """As far as a sentence tells its values: blocks and caps were not all in it. The sentence stays as it is."""
    if (field, code) in LATER:
        assert str(first_schema.recognised(field, str(said))) == str(said)
        return
    if field == "chosen":
        again = words.statement(first_schema._chosen(str(said)))
    else:
        again = first_schema.recognised(field, str(said))
    assert str(again) == str(said)
    if (field, code) in (("noise", "none"), ("missing", "curves-and-covariates")):
        return  # free sentences: nothing looks at them
    assert again.code == code
    for name, value in again.values.items():
        assert value == (pytest.approx(said.values[name], rel=2e-3) if isinstance(value, float) else said.values[name])


# Old cards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CARDS)
def test_a_card_of_the_first_schema_is_written_again_as_it_was(kind: str, card_of: Of) -> None:
    first = replace(card_of(kind), schema=first_schema.SCHEMA)
    data = json.loads(json.dumps(first.to_dict()))
    assert data["schema"] == first_schema.SCHEMA
    again = card_from(data)
    assert json.dumps(again.to_dict()) == json.dumps(data)
    assert again.private is first.private
    codes = ("what", "randomness") if kind == "choice" else STATEMENTS
    for name in codes:
        if getattr(first, name).code != SAID and name not in ("missing",):
            assert getattr(again, name).code == getattr(first, name).code, name


@pytest.mark.parametrize("kind", ["mean", "density", "regression", "covariance"])
def test_an_old_release_that_is_changed_stays_of_its_schema(kind: str, release_of: Of, tmp_path: Path) -> None:
    release = release_of(kind)
    old = replace(release, certificate=replace(release.certificate, schema=first_schema.SCHEMA))
    path = old.save(tmp_path / "old.json")
    loaded = dpfda.load(path)
    changed = loaded.smooth("none").save(tmp_path / "changed.json")
    back = dpfda.load(changed).smooth("auto")
    assert json.loads(changed.read_text())["certificate"]["schema"] == first_schema.SCHEMA
    assert json.loads(changed.read_text())["certificate"]["afterwards"][0]["what"] == "smoothing"
    assert text_of(back) == path.read_text()
    assert recompute(path).findings == recompute(changed).findings == ()


def test_what_an_earlier_version_handed_out_under_a_key_comes_again_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("scans", epsilon=3.0, delta=1e-5)

    def released() -> Any:
        asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "size": 3, "dataset": "scans"}
        return dpfda.MeanFunction(**asked, ledger=ledger.under("one")).fit(np.zeros((200, 12))).release_

    with monkeypatch.context() as before:
        before.setattr("dpfda.curator.card.SCHEMA", first_schema.SCHEMA)
        before.setattr("dpfda.ledger.outputs.VERSION", 2)
        old = released().save(tmp_path / "old.json")
    again = released().save(tmp_path / "again.json")
    assert again.read_bytes() == old.read_bytes()
    assert json.loads(old.read_text())["certificate"]["schema"] == first_schema.SCHEMA
    report = verify(again, ledger)
    assert (report.verdict, report.exit_code) == ("holds", 0), report.text()


def test_a_key_of_now_gives_the_same_card_of_fields_again(tmp_path: Path) -> None:
    ledger = dpfda.Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.create("scans", epsilon=3.0, delta=1e-5)
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "size": 3, "dataset": "scans"}
    one, other = (
        dpfda.MeanFunction(**asked, ledger=ledger.under("one")).fit(np.zeros((200, 12))).release_ for _ in range(2)
    )
    assert text_of(one) == text_of(other)
    assert one.certificate.schema == SCHEMA
    assert verify(one, ledger).ok


MOVES = "how far one unit moves the summary"
SENTENCES_FORGED: list[tuple[str, dict[str, Any], str]] = [
    ("mean", {"noise": "independent Laplace noise in every coordinate"}, "law of the noise in the file"),
    ("mean, k-norm", {"noise": "independent Laplace noise in every coordinate"}, "law of the noise in the file"),
    ("mean", {"noise": "noise of my own"}, "law of the privacy curve is that of the noise"),
    ("mean", {"recorded": "charged before reading"}, "words about the ledger"),
    ("mean", {"moves": "moves the mean by at most 0.001 root mean square"}, MOVES),
    ("mean", {"moves": "moves the objective by at most 1 at every point"}, MOVES),
    ("covariance", {"moves": "moves nothing"}, MOVES),
    ("density", {"moves": "moves at most 1/300 of all points from anywhere to anywhere"}, MOVES),
    ("mean", {"mechanism": "laplace"}, "mechanism has this noise"),
    ("mean", {"mechanism": "gp"}, "a mean under the noise of a process is penalised"),
    ("components", {"mechanism": "gibbs"}, "an approximate draw is called nominal"),
    ("mean", {"randomness": "system dice"}, "source of randomness is one of ours"),
    ("mean", {"randomness": "system, exact sampler"}, "warnings follow from the card"),
    ("mean", {"epsilon": 25.0}, "warnings follow from the card"),
    ("mean", {"what": "density"}, "statistic is that of the file"),
    ("mean", {"detected": "shape detected"}, "what was seen above the noise"),
    (
        "mean, k-norm",
        {"losses": [{"law": "laplace", "epsilon": 1.0, "steps": None}]},
        "law of the privacy curve is that of the noise",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "rule"), SENTENCES_FORGED, ids=str)
def test_a_forged_sentence_of_an_old_card_is_found(
    kind: str, changes: dict[str, Any], rule: str, release_of: Of, tmp_path: Path
) -> None:
    release = release_of(kind)
    old = replace(release, certificate=replace(release.certificate, schema=first_schema.SCHEMA))
    whole = json.loads(json.dumps(to_dict(old)))
    whole["certificate"] |= changes
    (tmp_path / "forged.json").write_text(sealed(whole))
    report = recompute(tmp_path / "forged.json")
    assert rule in [finding.rule for finding in report.findings], report.text()
    assert report.exit_code == 3


# Every field is compared, or said not to be --------------------------------------------------------------------------

NAMED = {"lattice_step": "lattice_step and bound", "bound": "lattice_step and bound"}


def others(value: Any, field: str) -> Iterator[Any]:
    """Other values that a field may well have."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value * 0.5, value * 1.25)
    elif isinstance(value, str):
        yield "another"
    elif isinstance(value, dict) and "code" in value:
        yield {"code": SAID, "text": "a sentence of somebody's own"}
        yield from (said.to_dict() for known, _, said in examples() if known == field)
        for name, part in value.items():
            if isinstance(part, float):
                yield value | {name: part * 0.5}


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_is_altered_is_found_or_listed_as_not_compared(kind: str, release_of: Of, tmp_path: Path) -> None:
    """Every field, with every other code, and other numbers, by somebody who makes the digest anew."""
    whole = json.loads(json.dumps(to_dict(release_of(kind))))
    card, passed = whole["certificate"], []
    assert list(card) == [field.name for field in fields(Certificate) if field.name not in HIDDEN]
    for name, stated in card.items():
        for other in others(stated, name):
            if other == stated:
                continue
            (tmp_path / "forged.json").write_text(sealed(whole | {"certificate": card | {name: other}}))
            report = recompute(tmp_path / "forged.json")
            limits = report.limits[-1].split(": ")[-1].split(", ") if report.limits else []
            if (
                not report.findings
                and not {name, NAMED.get(name, name)} & set(limits)
                and not holds(name, stated, other)
            ):
                passed.append((name, stated, other))
    assert passed == []


def holds(name: str, stated: Any, other: Any) -> bool:
    """A card may promise less than it could; at a smaller delta its epsilon may be large enough still, recomputed."""
    return name == "delta" or (name in ("epsilon", "rho", "attacker_power") and other > stated)


def test_a_statistic_that_states_nothing_is_listed_and_raises_nothing(
    release_of: Of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(statistic("mean").__dict__, "comparisons", Comparisons())
    report = recompute(release_of("mean"))
    assert report.findings == ()
    assert {"noise_rms", "lattice_step and bound", "moves", "n"} <= set(report.limits[-1].split(": ")[-1].split(", "))
    assert isinstance(comparisons_of("nobody's"), Comparisons)


# No rule keys on a sentence ------------------------------------------------------------------------------------------

VERIFICATION = sorted((SOURCE / "releases" / "verification").glob("*.py"))
RULES = sorted(
    [
        *VERIFICATION,
        *(SOURCE / "statistics").rglob("*.py"),
        SOURCE / "releases" / "comparisons.py",
        SOURCE / "releases" / "certificate.py",
    ]
)
SENTENCES = {*STATEMENTS, "recorded", "sensitivity_because", "bounded", "curves_per_unit", "sentence", "text"}
MATCHES = {"startswith", "endswith", "find", "index", "replace", "removeprefix", "removesuffix", "split", "partition"}


def is_sentence(node: ast.AST) -> bool:
    """Whether an expression is a sentence of a card: `card.what`, `release.certificate.noise`, ..."""
    if not isinstance(node, ast.Attribute) or node.attr not in SENTENCES:
        return False
    owner = node.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name in ("card", "certificate", "stated", "more")


def keyed(tree: ast.AST) -> Iterator[int]:
    """Lines where a sentence of a card is compared, searched or parsed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(map(is_sentence, (node.left, *node.comparators))):
            yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_text = node.func.attr in MATCHES and is_sentence(node.func.value)
            of_pattern = getattr(node.func.value, "id", "") == "re" and any(map(is_sentence, node.args))
            if of_text or of_pattern:
                yield node.lineno
        if isinstance(node, ast.Subscript) and (is_sentence(node.slice) or is_sentence(node.value)):
            yield node.lineno


@pytest.mark.parametrize("file", RULES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_rule_keys_on_a_sentence(file: Path) -> None:
    assert list(keyed(ast.parse(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "rule",
    [
        'card.what.startswith("penalised")',
        '"principal component" not in card.what',
        'release.certificate.noise == "none"',
        're.sub("[0-9]", "#", card.moves)',
        'card.recorded in ("", "nothing")',
        "WORDS[card.what]",
    ],
)
def test_the_scan_finds_rules_that_would(rule: str) -> None:
    assert list(keyed(ast.parse(rule)))


@pytest.mark.parametrize("file", VERIFICATION, ids=lambda file: file.name)
def test_verification_names_no_kind_of_release(file: Path) -> None:
    kinds = {"mean", "covariance", "components", "density", "machine", "regression"}
    found = {node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant)}
    assert not {value for value in found if isinstance(value, str)} & kinds


def test_the_published_schema_is_what_the_script_writes() -> None:
    """If this fails: `python scripts/make_schemas.py`."""
    import importlib.util

    path = Path(__file__).parents[2] / "scripts" / "make_schemas.py"
    found = importlib.util.spec_from_file_location("make_schemas", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert module.TARGET.read_text(encoding="utf-8") == module.make()
