"""The release card says everything that matters, in English, and never less than the truth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from dpfda.ledger import Receipt
from dpfda.privacy import Budget
from dpfda.releases import NOT_PRIVATE, Certificate
from dpfda.releases.cards.words import say
from dpfda.releases.documents import card_digest
from dpfda.releases.entry import LedgerEntry

Card = Callable[..., Certificate]


def test_the_text_of_a_card_is_this(card: Card) -> None:
    assert card(lattice_step=3.576e-07, statistic="mean").text().splitlines() == [
        "Release card: mean function of 'scans'",
        "",
        "  guarantee      (epsilon = 1, delta = 1e-06); for composition 0.02802-zCDP",
        "  protects       one household (neighbours: replace-one)",
        "  units          2500",
        "  domain         [0, 1]",
        "  bound          6, on the root mean square around the centre: zero",
        "  mechanism      gaussian",
        "  noise          0.1405 root mean square before smoothing, 0.023 times a curve as large as the bound; scale "
        "0.02028,",
        "                 the largest standard deviation of a coordinate",
        "  sensitivity    one household moves the mean by at most 0.0048 root mean square. In the integers that are "
        "summed:",
        "                 33554432 lattice steps of 3.576e-07 in L2, because a unit's integer vector has norm at most "
        "16777216",
        "                 and replacing it moves two of them",
        "  basis          beam, 48 functions",
        "  missing data   gaps by straight lines within the curve, ends by its nearest value, empty curves by the "
        "centre",
        "  randomness     system, exact integer samplers",
        "  ledger         nothing was recorded: no ledger was given",
        "  attacker       detects one household with probability at most 0.0796 at 5 % false alarms",
        "  chosen         bound: stated by the user",
        "  chosen         basis: 48 functions by a rule of n",
        "  software       dpfda 0.1.0, opendp 0.16.0",
        "",
        "  Whatever a reader concludes would be at most 2.72 times more or less likely had this household been another "
        "one, but",
        "  for a chance of 1e-06.",
        "  The noise band does not cover what clipping, the finite basis or the sampling of people did.",
    ]


def test_a_card_survives_json(card: Card) -> None:
    one = card(domain=((0.0, 1.0), (-2.5, 1 / 3)), warnings=("first", "second"), rho=0.1 + 0.2)
    assert Certificate.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))) == one
    assert list(one.to_dict()["chosen"]) == ["bound", "basis"]
    assert hash(one) == hash(Certificate.from_dict(one.to_dict()))


def test_the_sentence_for_replace_one_speaks_of_another_one(card: Card) -> None:
    assert card(delta=0.0).sentence == (
        "Whatever a reader concludes would be at most 2.72 times more or less likely had this household been another "
        "one."
    )


def test_the_sentence_for_add_or_remove_one_speaks_of_not_being_included(card: Card) -> None:
    assert card(delta=0.0, neighbours="add-or-remove-one", unit="patient", epsilon=0.1).sentence == (
        "Whatever a reader concludes would be at most 1.11 times more or less likely had this patient not been "
        "included."
    )


def test_a_seeded_release_promises_nothing_and_says_so_first(card: Card) -> None:
    seeded = card(randomness=NOT_PRIVATE, warnings=(NOT_PRIVATE,))
    assert not seeded.private
    assert seeded.sentence == "The noise can be predicted, so this release promises nothing to anybody."
    assert seeded.text().splitlines()[1] == f"Warning: {NOT_PRIVATE}"
    assert seeded.text().count("Warning:") == 1
    forgotten = card(randomness=NOT_PRIVATE)
    assert forgotten.text() == seeded.text()


def test_warnings_stand_below_the_title(card: Card) -> None:
    lines = card(warnings=("delta is large.", "and so on.")).text().splitlines()
    assert lines[1:3] == ["Warning: delta is large.", "Warning: and so on."]


def test_a_noisy_number_of_units_is_called_noisy(card: Card) -> None:
    text = card(n=301.7, n_is_noisy=True, neighbours="add-or-remove-one").text()
    assert "  units          about 302 (noisy: the number itself is private)" in text.splitlines()
    assert "  protects       one household (neighbours: add-or-remove-one)" in text.splitlines()


def test_rows_that_count_as_persons_are_said_to(card: Card) -> None:
    text = " ".join(card(unit="row", unit_was_assumed=True).text().split())
    wanted = "one row (neighbours: replace-one); no column of persons was named, so every row counts as another person"
    assert wanted in text


def test_a_mechanism_with_a_law_of_another_name_shows_both(card: Card) -> None:
    text = card(mechanism="k-norm", noise="radial in blocks of 3, 8", size=1).text()
    assert "  mechanism      k-norm, radial in blocks of 3, 8" in text.splitlines()
    assert "  basis          beam, 1 function" in text.splitlines()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 0.7123456, 10.0])
def test_numbers_that_promise_are_rounded_up_and_never_down(epsilon: float, card: Card) -> None:
    one = card(epsilon=epsilon, delta=0.0, rho=epsilon**2 / 2, attacker_power=0.123456)
    said = float(one.sentence.split("at most ")[1].split(" times")[0])
    exact = math.exp(min(epsilon, 700.0))
    assert exact <= said <= exact * 1.01
    rho = float(one.text().split("for composition ")[1].split("-zCDP")[0])
    assert epsilon**2 / 2 <= rho <= epsilon**2 / 2 * 1.001
    assert "probability at most 0.124 at" in one.text()


def test_a_factor_beyond_doubles_is_written_as_a_power(card: Card) -> None:
    assert "at most e^1000 times more or less likely" in card(epsilon=1000.0, delta=0.0).sentence


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        (1.0, 1e-6, "(epsilon = 1, delta = 1e-06)"),
        (0.1234564321, 0.0, "pure epsilon = 0.1234564321"),
        (2, 0.0, "pure epsilon = 2"),
        (0.3, 1.23456789e-7, "(epsilon = 0.3, delta = 1.23456789e-07)"),
    ],
)
def test_the_guarantee_is_not_rounded_at_all(epsilon: float, delta: float, said: str, card: Card) -> None:
    assert card(epsilon=epsilon, delta=delta).guarantee == said


def test_no_line_is_longer_than_a_screen(card: Card) -> None:
    blocks = ", ".join(["8"] * 120)
    long = card(
        dataset="a data set " * 20,
        noise=f"radial in blocks of {blocks}",
        warnings=("a warning that goes on " * 12,),
        chosen=(("basis", "because " * 40),),
        unit="household",
    )
    assert max(map(len, long.text().splitlines())) <= 118
    assert all(line == line.rstrip() for line in long.text().splitlines())


def test_a_word_that_is_longer_than_a_line_is_not_broken(card: Card) -> None:
    name = "file-" * 40
    assert name in card(dataset=name).text()


def test_a_card_of_a_choice_speaks_of_no_noise_and_no_band(card: Card) -> None:
    one = card(noise="none added: a choice among public candidates", noise_rms=0.0, scale=0.0)
    assert dict(one.entries)["noise"] == "none"
    assert one.text().endswith("There is no noise band: the release was drawn as a whole, not disturbed by noise.")


ENTRY = LedgerEntry("f3a9", 7, "ab" * 32, "k1", (2.5, 1e-6), (4.0, 1e-6))


def test_a_card_with_losses_and_an_entry_survives_json(card: Card) -> None:
    losses = (
        {"law": "gaussian", "mu": 0.25, "distance": 0.0, "size": 0, "steps": None},
        {"law": "range", "epsilon": 0.1},
    )
    one = card(losses=losses, noise_scale=134217728.0, entry=ENTRY, curves_per_unit="one")
    other = Certificate.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False)))
    assert other == one
    assert hash(other) == hash(one)
    assert other.losses == losses
    assert other.entry == ENTRY
    assert card(losses=losses[:1]) != card(losses=losses)


def test_a_card_from_before_there_were_losses_still_loads(card: Card) -> None:
    first = card(schema="dpfda-card-1")
    data = first.to_dict()
    for name in ("losses", "noise_scale", "curves_per_unit", "entry", "schema"):
        del data[name]
    again = Certificate.from_dict(data)
    assert replace(again, older_record="", statistic="") == first
    assert (again.losses, again.entry, again.noise_scale, again.schema) == ((), None, 0.0, "dpfda-card-1")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            "charged before reading as entry 7 of ledger f3a9; with it the data set has spent at most epsilon 2.50 of "
            "4 at delta 1e-06",
        ),
        (
            {"cap": None, "spent": (0.75, 0.0)},
            "charged before reading as entry 7 of ledger f3a9; with it the data set has spent at most epsilon 0.75",
        ),
        ({"spent": None}, "charged before reading as entry 7 of ledger f3a9"),
        ({"ledger": "", "spent": None}, "charged before reading as entry 7 of a ledger that ended with its process"),
    ],
    ids=["whole", "no cap", "nobody composes", "session"],
)
def test_an_entry_says_in_words_where_it_stands(changes: dict[str, object], text: str) -> None:
    assert replace(ENTRY, **changes).text == text  # type: ignore[arg-type]


def test_an_entry_keeps_all_of_a_receipt_but_what_was_drawn() -> None:
    receipt = Receipt("scans", "k1", "f3a9", 7, "ab" * 32, Budget(2.5, 1e-6), Budget(4.0, 1e-6), b"noisy")
    assert LedgerEntry.of(receipt) == ENTRY
    assert LedgerEntry.of(replace(receipt, spent=None, cap=None)).cap is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ledger", 5),
        ("number", "7"),
        ("number", -1),
        ("number", True),
        ("spent", ["2.5", 0.0]),
        ("spent", 5),
        ("cap", [True, 0.0]),
        ("cap", [-1.0, 0.0]),
    ],
    ids=str,
)
def test_an_entry_of_other_types_is_none(field: str, value: object) -> None:
    with pytest.raises(TypeError):
        LedgerEntry.from_dict(ENTRY.to_dict() | {field: value})


def test_the_digest_of_a_card_is_that_of_all_it_says_but_what_may_change_later(card: Card) -> None:
    one = card(n=2500, losses=({"law": "pure", "epsilon": 0.2},))
    digest = card_digest(one)
    assert len(digest) == 32
    # A file may hold a whole number as a double; another version or a later step may add words.
    assert card_digest(Certificate.from_dict(json.loads(json.dumps(one.to_dict())))) == digest
    assert card_digest(replace(one, n=2500.0)) == digest
    assert card_digest(replace(one, software=(), warnings=("more",))) == digest
    for changes in (
        {"n": 2501},
        {"noise_rms": 0.1},
        {"moves": say("moves", "mean", by=1.0)},
        {"chosen": (("bound", "read from the data"),)},
        {"randomness": say("randomness", "points")},
        {"unit_was_assumed": True},
        {"what": say("what", "covariance")},
        {"losses": ({"law": "pure", "epsilon": 0.1},)},
    ):
        assert card_digest(replace(one, **changes)) != digest, changes
