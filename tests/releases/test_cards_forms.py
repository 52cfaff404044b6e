"""A card in the forms that its readers need: facts, the registry's draft, and the questions of NIST SP 800-226."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from dpfda.bases import cosine
from dpfda.errors import DataError
from dpfda.mechanisms.noise import Noise
from dpfda.privacy import GaussianProfile
from dpfda.releases import Certificate, Release
from dpfda.releases.cards.document import document, json_text, read_card, text
from dpfda.releases.cards.facts import (
    afterwards,
    band,
    curves_per_unit,
    facts_of,
    groups,
    least,
    native,
    not_included,
    of_two,
    spent,
    unprotected,
)
from dpfda.releases.cards.nist import answers, nist_text
from dpfda.releases.cards.registry import registry_entry, registry_text
from dpfda.releases.cards.words import say
from dpfda.releases.entry import LedgerEntry
from dpfda.releases.verification.claims import epsilon_at

Of = Callable[[str], Any]
Card = Callable[..., Certificate]
CARDS = ["mean", "mean, laplace", "covariance", "components", "density", "machine", "regression", "choice", "online"]
ENTRY = LedgerEntry("f3a9", 7, "ab" * 32, "k1", (2.5, 1e-6), (4.0, 1e-6))


# Facts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CARDS)
def test_every_card_has_facts_with_words_in_them(kind: str, card_of: Of) -> None:
    found = facts_of(card_of(kind))
    assert all(label and said for label, said in found)
    assert {"estimated", "native", "method", "curves", "groups", "spent so far", "unprotected", "threats"} <= dict(
        found
    ).keys()


def test_native_parameters_are_those_of_the_mechanism(card: Card) -> None:
    gaussian = {"law": "gaussian", "mu": 0.25, "distance": 0.0, "size": 0, "steps": None}
    chosen = {"law": "range", "epsilon": 0.1}
    assert native(card(losses=(gaussian,))) == "normal noise, moved by at most 0.25 deviations (Gaussian privacy)"
    assert native(card(losses=(gaussian, chosen))).endswith(" and exponential mechanism of range 0.1")
    assert native(card(losses=({"law": "laplace", "epsilon": 0.5, "steps": 100.0},))) == "pure epsilon 0.5"
    stated = {"law": "stated", "epsilon": 1.0, "delta": 1e-6}
    assert native(card(losses=(stated,))) == "stated (epsilon = 1, delta = 1e-06)"
    assert native(card()) == "not kept: the card is from before they were"


def test_what_was_spent_in_all_is_said_or_not_known(card: Card) -> None:
    assert spent(card()) == "not known: no ledger counted what other releases of the same records cost"
    assert spent(card(entry=ENTRY)) == (
        "at most epsilon 2.50 at delta 1e-06, of a budget of 4, by all releases of 'scans' up to this one"
    )


def test_a_unit_with_many_rows_counts_as_one_only_if_it_was_named(card: Card) -> None:
    assert curves_per_unit(card()).startswith("any number: all rows of one household are averaged first")
    assert curves_per_unit(card(unit_was_assumed=True)).startswith("one: every row counts as another unit")
    assert curves_per_unit(card(curves_per_unit="two visits")) == "two visits"


def test_a_household_that_was_not_included_is_spoken_of(card: Card) -> None:
    assert not_included(card()) == (
        "had this household not been included, and another one stood in its place, the same holds: only the number of "
        "households is public"
    )
    assert "at all is protected too" in not_included(card(neighbours="add-or-remove-one"))
    assert not_included(card(randomness="seeded")) == ""
    assert not_included(card(nominal=True)) == ""


def test_groups_pay_in_proportion_or_by_squares(card: Card) -> None:
    assert groups(card(delta=0.0)) == "two households together have pure epsilon 2, and k of them k times the one"
    assert groups(card(rho=0.01)) == "two households together have 0.04-zCDP, and k of them k^2 times that of one"


def test_two_together_have_an_epsilon_where_the_curve_is_known(card: Card) -> None:
    """Normal noise that two move by 2 mu; a choice for pure epsilon counts twice on top."""
    gaussian = {"law": "gaussian", "mu": 0.25, "distance": 0.0, "size": 0, "steps": None}
    both = epsilon_at(GaussianProfile(0.5), 1e-6)
    assert of_two(card(losses=(gaussian,)), 1e-6) == pytest.approx(both, rel=1e-6)
    choice = {"law": "range", "epsilon": 0.125}
    assert of_two(card(losses=(gaussian, choice)), 1e-6) == pytest.approx(both + 0.25, rel=1e-6)
    said = groups(card(losses=(gaussian,)))
    assert said.startswith(
        f"two households together have (epsilon = {least(both, 4)}, delta = 1e-06); for composition "
    )
    assert of_two(card(losses=({"law": "none"},)), 1e-6) is None
    assert of_two(card(losses=(gaussian,), nominal=True), 1e-6) is None


def test_a_centre_that_was_bought_is_not_called_public(card: Card) -> None:
    guarantee = "(epsilon = 1, delta = 1e-06)"
    how = say("chosen", "bought-centre", what="mean function", dataset="scans", guarantee=guarantee)
    bought = card(centre=say("centre", "curve"), chosen=(("bound", "stated by the user"), ("centre", how)))
    assert "public curve" not in bought.text()
    assert f"around the centre: {how}" in " ".join(bought.text().split())
    assert "the bound and the centre" in unprotected(card())
    assert "the bound and the centre" not in unprotected(bought)
    assert unprotected(bought).endswith(f". The centre is a release: {how}")
    assert "public curve" not in registry_text(bought)
    assert card(chosen=(("centre", "stated by the user"),)).around == "zero"


def test_figures_are_those_that_people_read(card: Card) -> None:
    odd = card(n=142.0, sensitivity=33554432.00000002, noise_scale=141757744.00000003, lattice_step=0.5)
    assert "with 142 units, 0.000142 of them on average" in answers(odd)[1].text
    for said in (odd.text(), nist_text(odd), registry_text(odd)):
        assert "33554432 " in said
        assert "00000" not in said


def test_running_time_is_said_not_to_be_protected(card: Card) -> None:
    said = answers(card())[11].text
    assert "Running time is not protected" in said
    assert "No ledger was charged." in said
    charged = answers(card(entry=ENTRY))[11].text
    assert charged.startswith("Charged before records were read")
    assert "No ledger" not in charged
    threats = dict(facts_of(card()))["threats"]
    assert "may time" not in threats
    assert "Not covered: how long the program runs" in threats


def test_the_band_at_one_point_is_narrower_than_everywhere(make_release: Callable[..., Release]) -> None:
    basis = cosine((0, 1), 4)
    release = make_release(basis, np.zeros(4), Noise("gaussian", (4,), (0.1,)))
    # The deviation of the sum of 1 + 3 cosines of height sqrt 2 is largest at the ends: 0.1 sqrt 7 = 0.2646.
    assert "standard deviation of at most 0.2646 there" in band(release)
    said = band(release)
    everywhere, alone = (float(said.split("within ")[place].split()[0].rstrip(",")) for place in (1, 2))
    assert alone == pytest.approx(2.2 * 0.1 * np.sqrt(7), rel=1e-3)
    assert everywhere > alone
    assert band(None) == ""


def test_what_was_done_after_the_noise_is_told(release_of: Of) -> None:
    assert afterwards(release_of("mean").certificate, release_of("mean")).startswith("smoothing 'auto'")
    assert afterwards(release_of("mean").certificate, None).startswith("whatever was done after the noise")


def test_the_text_has_the_card_first_and_its_facts_below(card_of: Of, release_of: Of) -> None:
    said = text(card_of("mean"), release_of("mean"))
    assert said.startswith(card_of("mean").text())
    assert "\n  unprotected    the number of rows" in said
    assert max(map(len, said.splitlines())) <= 118


# NIST SP 800-226 -----------------------------------------------------------------------------------------------------

QUESTIONS = [
    "How strong is the guarantee (epsilon)?",
    "How often may it fail (delta)?",
    "Who or what is protected (unit of privacy)?",
    "What if one person contributes several records?",
    "What does it mean for groups, such as families?",
    "Which variant of differential privacy is it, and how was it converted?",
    "What can an attacker still do?",
    "How does it hold over several releases (budget over time)?",
    "Which algorithm is it, and why is it private?",
    "How was correctness made sure of?",
    "Are there gaps from floating-point arithmetic?",
    "What of timing and other side channels?",
    "How were public parameters chosen?",
    "What is not protected?",
    "What was done after the noise?",
    "How useful is the result?",
    "Whom does it treat worse (bias)?",
    "Who has to be trusted (trust model)?",
    "Who may ask, and how often (access)?",
    "How are the records kept safe (security)?",
    "What did collecting the data expose?",
]


@pytest.mark.parametrize("kind", CARDS)
def test_every_question_is_answered_for_every_card(kind: str, card_of: Of) -> None:
    found = answers(card_of(kind))
    assert [answer.question for answer in found] == QUESTIONS
    assert all(answer.text.endswith(".") and answer.text[0].isupper() for answer in found)


def test_what_the_software_cannot_know_is_said_to_be_unknown(card: Card) -> None:
    unknown = [answer for answer in answers(card()) if not answer.known]
    assert [answer.question for answer in unknown] == QUESTIONS[-3:]
    assert all("not known to the software" in answer.text.lower() for answer in unknown)


def test_answers_are_those_of_the_card(card: Card) -> None:
    def said(number: int, **changes: Any) -> str:
        return answers(card(**changes))[number - 1].text

    assert said(1) == "Epsilon = 1: anything becomes at most 2.72 times more or less likely."
    assert said(1, randomness="seed") == "None: the noise came from a seed and can be predicted."
    assert said(1, nominal=True).endswith("if the draw had followed its law exactly, which it does not.")
    assert said(2) == "It may fail with a chance of 1e-06 (delta); with 2500 units, 0.0025 of them on average."
    assert said(2, delta=0.0) == "It never fails (delta = 0)."
    assert said(3, unit_was_assumed=True).startswith("One household; no column of persons was named")
    assert said(3, neighbours="add-or-remove-one").endswith("their number is protected too.")
    assert said(8, entry=ENTRY).startswith("At most epsilon 2.50 at delta 1e-06, of a budget of 4")
    assert "no ledger was used, so nobody is stopped" in said(19)
    assert "the budget is kept in a ledger" in said(19, entry=ENTRY)


def test_the_questions_as_text_stand_below_their_level(card: Card) -> None:
    lines = nist_text(card()).splitlines()
    assert lines[0].startswith("mean function of 'scans'. After NIST SP 800-226")
    for level in ("The guarantee", "What could undermine it", "What it stands on"):
        assert level in lines
    assert "  21. What did collecting the data expose?" in lines


# The OpenDP registry -------------------------------------------------------------------------------------------------

TEXT, EMPTY = {"type": "string"}, {"const": ""}


def section(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


# The structure of opendp/deployments-registry-data, tests/good_deployments/template.yaml and its schema, in 2026; lists
# that a card cannot know are empty in a draft, and so is whatever else the curator has to say.
REGISTRY = section(
    url_slug={"type": "string", "pattern": "^[a-z0-9-]+$"},
    deployment=section(
        basic=section(
            name=TEXT,
            data_curators={"const": []},
            description=TEXT,
            intended_use=EMPTY,
            data_product_type={"enum": ["Summary statistics", "Machine learning model"]},
            data_product_region=EMPTY,
            publication_date=EMPTY,
        ),
        dp_variant=section(
            variant_name={"enum": ["Pure DP", "Approximate DP"]}, data_domain=EMPTY, unprotected_quantities=TEXT
        ),
        privacy_loss=section(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters={
                "type": "object",
                "additionalProperties": False,
                "required": ["epsilon"],
                "properties": {"epsilon": {"type": "number"}, "delta": {"type": "number"}},
            },
            privacy_parameters_details=TEXT,
            number_of_privacy_units={"type": "integer"},
        ),
        deployment_model=section(
            model_name={"const": "Central"},
            model_name_details=EMPTY,
            trust_assumptions=TEXT,
            actors=EMPTY,
            release_type={"const": "One release"},
            release_type_details=TEXT,
            data_source_type_details=EMPTY,
            access_type={"enum": ["Interactive", "Non-interactive"]},
            access_type_details=EMPTY,
        ),
        implementation=section(
            preprocessing_and_hyperparameter_tuning=TEXT,
            mechanisms=TEXT,
            composition=TEXT,
            post_processing=TEXT,
            justification=TEXT,
            utility=TEXT,
            additional_information=EMPTY,
        ),
        administrative=section(status={"const": "Draft"}, registry_authors={"const": []}, tier={"enum": [1, 2, 3]}),
    ),
)


@pytest.mark.parametrize("kind", CARDS)
def test_every_card_becomes_a_draft_for_the_registry(kind: str, card_of: Of) -> None:
    entry = json.loads(registry_text(replace(card_of(kind), randomness=say("randomness", "integers"))))
    Draft202012Validator(REGISTRY).validate(entry)
    parameters = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert parameters["epsilon"] == card_of(kind).epsilon
    assert ("delta" in parameters) == (entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP")


def test_the_registry_gets_what_the_card_knows_and_nothing_else(card: Card) -> None:
    entry = registry_entry(card(dataset="Scans & Sons!", n=2500.0, entry=ENTRY))
    deployment = entry["deployment"]
    assert entry["url_slug"] == "scans-sons-mean-function"
    assert deployment["basic"]["name"] == "mean function of Scans & Sons!"
    assert deployment["privacy_loss"]["number_of_privacy_units"] == 2500
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["deployment_model"]["release_type_details"].startswith("at most epsilon 2.50 at delta 1e-06")
    planned = registry_entry(card(n_is_planned=True))
    assert "number_of_privacy_units" not in planned["deployment"]["privacy_loss"]


def test_online_answers_are_interactive_and_machines_are_models(card_of: Of) -> None:
    assert registry_entry(card_of("online"))["deployment"]["deployment_model"]["access_type"] == "Interactive"
    assert registry_entry(card_of("mean"))["deployment"]["deployment_model"]["access_type"] == "Non-interactive"
    assert registry_entry(card_of("machine"))["deployment"]["basic"]["data_product_type"] == "Machine learning model"


# A card in a file of its own -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mean", "choice", "online"])
def test_a_card_is_read_from_its_document_and_from_its_plain_data(kind: str, card_of: Of, tmp_path: Path) -> None:
    card = card_of(kind)
    (tmp_path / "card.json").write_text(json_text(card, digest="ab" * 32))
    found, release, digest = read_card(tmp_path / "card.json")
    assert found.to_dict() == card.to_dict()
    assert (release, digest) == (None, "ab" * 32)
    (tmp_path / "bare.json").write_text(json.dumps(card.to_dict()))
    assert read_card(tmp_path / "bare.json")[0].to_dict() == card.to_dict()


def test_a_card_is_read_from_its_release(release_of: Of, tmp_path: Path) -> None:
    path = release_of("mean").save(tmp_path / "mean.json")
    card, release, digest = read_card(path)
    assert card == release_of("mean").certificate
    assert release.certificate == card
    assert digest in path.read_text().splitlines()[-2]
    assert document(card, release, digest=digest)["release"] == digest


def test_files_without_a_card_are_refused(card_of: Of, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    with pytest.raises(DataError, match=r"^No file '.*other\.json'\. Check the path\.$"):
        read_card(path)
    with pytest.raises(DataError, match=r"^Cannot read '.*': Is a directory\. Name the JSON file of a release\.$"):
        read_card(tmp_path)
    for content in ("", "{}", "[]", '{"format": "dpfda-claim-1"}'):
        path.write_text(content)
        with pytest.raises(DataError, match=r"is not a release of format dpfda-release-1\."):
            read_card(path)
    path.write_text(json.dumps(card_of("mean").to_dict() | {"epsilon": "one"}))
    with pytest.raises(
        DataError, match=r"^'.*other\.json' cannot be opened: on its card epsilon must be a finite number"
    ):
        read_card(path)
    path.write_text(json.dumps({key: part for key, part in card_of("mean").to_dict().items() if key != "unit"}))
    with pytest.raises(DataError, match=r"^The card in '.*other\.json' is damaged\. Take a fresh copy of it\.$"):
        read_card(path)
