"""What every ledger keeps to, in memory, in a file and on a server; then what the durable ones add."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import shlex
import sys
import traceback
from dataclasses import replace
from typing import Any

import pytest
from scipy.special import ndtr
from sklearn.base import BaseEstimator, clone

from dpfda.errors import BudgetExceeded, DataError, MissingExtra, NoBudget, PrivacyRefused, ReleaseFailed, UsageError
from dpfda.ledger import AnyLedger, Charge, Ledger, OwnSpend, SessionLedger
from dpfda.ledger.accounting import CountedCharge, Tight
from dpfda.ledger.database import Lost
from dpfda.privacy import Budget, GaussianProfile, Profile, PureProfile, RangeProfile, StatedProfile, Unit

FAILED = "The release failed after records were read."


def cost(key: str = "k", epsilon: float = 0.25, request: str = "r", dataset: str = "scans") -> Charge:
    return Charge(dataset, "mean", Budget(epsilon, 0.0), losses=(PureProfile(epsilon),), key=key, request=request)


def gaussian(epsilon: float, mu: float, *, key: str = "g", dataset: str = "scans") -> Charge:
    return Charge(dataset, "mean", Budget(epsilon, 1e-6), losses=(GaussianProfile(mu),), key=key)


def exactly(text: str) -> str:
    return f"^{re.escape(text)}$"


@pytest.fixture
def ledger(url: str) -> Ledger:
    """A durable ledger with a pure budget of 1 for 'scans' and its copy."""
    made = Ledger(url)
    made.create("scans", epsilon=1.0, delta=0.0, copies=["scans.csv"])
    return made


@pytest.fixture(params=["session", "sqlite", "postgresql"])
def either(request: pytest.FixtureRequest) -> AnyLedger:
    """Any ledger with a pure cap of 1."""
    if request.param == "session":
        return SessionLedger(cap=Budget(1.0, 0.0))
    url = request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param])
    made = Ledger(url)
    made.create("scans", epsilon=1.0, delta=0.0)
    return made


# Every ledger.


def test_a_cap_is_filled_to_the_last_unit_and_no_further(either: AnyLedger) -> None:
    for number in range(10):
        receipt = either.charge(cost(f"k{number}", 0.1))
    assert receipt.spent == Budget(1.0, 0.0)
    assert receipt.cap == Budget(1.0, 0.0)
    with pytest.raises(BudgetExceeded, match=r"Nothing was charged\.$"):
        either.charge(cost("more", 1e-9))


def test_the_same_key_and_request_give_the_same_receipt_for_nothing(either: AnyLedger) -> None:
    first = either.charge(cost("k", 0.75))
    assert first.output is None
    assert either.charge(cost("k", 0.75)) == first
    either.charge(cost("other", 0.25))  # fits: the second call cost nothing
    assert either.charge(cost("k", 0.75)) == first


@pytest.mark.parametrize(
    "other",
    [
        cost("k", 0.25, request="another"),
        cost("k", 0.5),
        replace(cost("k"), what="covariance"),
        replace(cost("k"), losses=(PureProfile(0.125),)),
    ],
    ids=["request", "budget", "what", "losses"],
)
def test_the_same_key_with_another_request_is_an_error_and_costs_nothing(either: AnyLedger, other: Charge) -> None:
    either.charge(cost("k"))
    text = (
        "The key 'k' stands for another request already. The same key gives the same release again; for a new one use "
        "a new key. Nothing was charged."
    )
    with pytest.raises(UsageError, match=exactly(text)):
        either.charge(other)
    either.charge(cost("rest", 0.75))


def test_the_first_output_stands_and_is_given_again(either: AnyLedger) -> None:
    receipt = either.charge(cost())
    assert either.store(receipt, b"first") == b"first"
    assert either.store(receipt, b"second") == b"first"
    again = either.charge(cost())
    assert again.output == b"first"
    assert replace(again, output=None) == receipt


def test_an_empty_output_is_an_output(either: AnyLedger) -> None:
    receipt = either.charge(cost())
    assert either.store(receipt, b"") == b""
    assert either.store(receipt, b"second") == b""
    assert either.charge(cost()).output == b""


def test_a_burnt_charge_stays_and_gives_nothing_ever_again(either: AnyLedger) -> None:
    receipt = either.charge(cost("k", 0.75))
    either.burn(receipt)
    either.burn(receipt)
    for act in (lambda: either.charge(cost("k", 0.75)), lambda: either.store(receipt, b"late")):
        with pytest.raises(ReleaseFailed, match=f"^{re.escape(FAILED)}"):
            act()
    with pytest.raises(BudgetExceeded):
        either.charge(cost("more", 0.5))


def test_a_burn_after_an_output_changes_nothing(either: AnyLedger) -> None:
    receipt = either.charge(cost())
    either.store(receipt, b"output")
    either.burn(receipt)
    assert either.charge(cost()).output == b"output"


def test_a_receipt_of_another_ledger_is_refused(either: AnyLedger) -> None:
    receipt = replace(either.charge(cost()), number=77)
    for act in (lambda: either.store(receipt, b"output"), lambda: either.burn(receipt)):
        with pytest.raises(UsageError, match=r"has no such charge under the key 'k'\. Charge first\.$"):
            act()


class Estimator(BaseEstimator):
    def __init__(self, ledger: AnyLedger | None = None) -> None:
        self.ledger = ledger


def test_clones_and_deep_copies_charge_the_same_ledger(either: AnyLedger) -> None:
    clone(Estimator(either)).ledger.charge(cost("clone", 0.5))
    copy.deepcopy([either])[0].charge(cost("deep", 0.5))
    with pytest.raises(BudgetExceeded):
        either.charge(cost("more"))


def test_a_view_under_a_key_charges_under_it(either: AnyLedger) -> None:
    view = copy.deepcopy(either.under("mine"))  # type: ignore[attr-defined]
    receipt = view.charge(cost("whatever"))
    assert receipt.key == "mine"
    view.store(receipt, b"output")
    assert either.charge(cost("mine")).output == b"output"
    view.burn(receipt)
    assert clone(Estimator(view)).ledger.charge(cost()).output == b"output"


def test_a_view_needs_a_key(either: AnyLedger) -> None:
    with pytest.raises(UsageError, match=r"^A key has 1 to 200 printable characters and no spaces at its ends, got ''"):
        either.under("")  # type: ignore[attr-defined]


# Durable ones.


def test_a_ledger_is_another_process_s_by_its_address(ledger: Ledger) -> None:
    other = pickle.loads(pickle.dumps(ledger))
    other.charge(cost("a", 0.5))
    pickle.loads(pickle.dumps(ledger.under("b"))).charge(cost("ignored", 0.5))
    assert other == ledger
    assert hash(other) == hash(ledger)
    assert ledger != "a ledger"
    with pytest.raises(BudgetExceeded):
        copy.copy(ledger).charge(cost("c"))
    assert [entry.key for entry in ledger.history() if entry.kind == "charge"] == ["a", "b"]


def test_a_copy_leads_to_the_same_budget(ledger: Ledger) -> None:
    ledger.charge(cost("a", 0.5, dataset="scans.csv"))
    ledger.add_copy("scans.csv", "scans.parquet")
    ledger.add_copy("scans", "scans.parquet")  # known: nothing to do
    ledger.charge(cost("b", 0.5, dataset="scans.parquet"))
    assert ledger.charge(cost("a", 0.5, dataset="scans")).dataset == "scans"  # the same request for the same data
    with pytest.raises(BudgetExceeded, match=r"for 'scans', left 0\.00"):
        ledger.charge(cost("c", dataset="scans"))
    (found,) = ledger.datasets()
    assert (found.name, found.copies, found.charges) == ("scans", ("scans.csv", "scans.parquet"), 2)
    assert (found.spent, found.cap, found.frozen, found.unit) == (1.0, Budget(1.0, 0.0), False, "row")


def test_a_key_of_one_data_set_is_not_another_s(ledger: Ledger) -> None:
    ledger.create("other", epsilon=1.0, delta=0.0)
    ledger.charge(cost("k"))
    with pytest.raises(UsageError, match="stands for another request"):
        ledger.charge(cost("k", dataset="other"))
    assert ledger.spent("other").epsilon == 0


@pytest.mark.parametrize("name", ["scans", "scans.csv"])
def test_a_name_that_is_taken_is_refused_in_every_part(ledger: Ledger, name: str) -> None:
    text = f"has a budget for {name!r} already, and it is neither raised nor made again. Nothing was entered."
    ledger.create("other", epsilon=1.0, delta=0.0)
    for act in (
        lambda: ledger.create(name, epsilon=9.0, delta=0.0),
        lambda: ledger.create("new", epsilon=9.0, delta=0.0, copies=[name]),
        lambda: ledger.add_copy("other", name),
    ):
        with pytest.raises(UsageError, match=f"{re.escape(text)}$"):
            act()
    assert [found.name for found in ledger.datasets()] == ["scans", "other"]


def test_an_unknown_name_says_how_to_make_a_budget(ledger: Ledger) -> None:
    for act in (
        lambda: ledger.charge(cost(dataset="scan")),
        lambda: ledger.remaining("scan"),
        lambda: ledger.spent("scan"),
        lambda: ledger.quote(cost(dataset="scan")),
        lambda: ledger.history("scan"),
        lambda: ledger.freeze("scan"),
        lambda: ledger.add_copy("scan", "copy"),
    ):
        with pytest.raises(NoBudget, match=r"has no budget for 'scan'\. It has .*: dataset='scans', or .* charged\.$"):
            act()


def test_a_name_without_a_budget_is_led_to_the_budgets_that_exist(url: str) -> None:
    """Not to a second one for the same people; at most five are named, and the one most like it is suggested."""
    ledger = Ledger(url)
    ledger.create("dti", epsilon=1.0, delta=0.0)
    name = re.escape(ledger._database.name)
    where = re.escape(shlex.quote(ledger._database.name))
    with pytest.raises(
        NoBudget,
        match=rf"^The ledger {name} has no budget for 'dti cca'\. It has one for 'dti'\. If the data are the same or "
        rf"of the same people, say so: dataset='dti', or once and for all dpfda budget copy {where} --dataset dti "
        r"--name 'dti cca'\. Only for other people: dpfda budget create\. Nothing was charged\.$",
    ):
        ledger.charge(cost(dataset="dti cca"))
    for number in range(6):
        ledger.create(f"load{number}", epsilon=1.0, delta=0.0)
    with pytest.raises(
        NoBudget, match=r"It has some for 'dti', 'load0', .*, 'load3' and 2 more\. .* dataset='load5', or once"
    ):
        ledger.charge(cost(dataset="Load5"))


def test_a_ledger_without_budgets_says_how_one_is_made(url: str) -> None:
    ledger = Ledger(url)
    ledger._database.make()
    with pytest.raises(
        NoBudget,
        match=r"'scans'\. Make one: dpfda budget create .* --dataset scans .*, or Ledger\.create\. Nothing",
    ):
        ledger.charge(cost())


def test_a_budget_is_not_named_like_another_but_for_capitals(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("scans", epsilon=1.0, delta=0.0, copies=["Scans"])  # one budget: nobody is misled
    ledger.create("other", epsilon=1.0, delta=0.0)
    ledger.add_copy("scans", "scANS")
    for act in (
        lambda: ledger.create("SCANS", epsilon=1.0, delta=0.0),
        lambda: ledger.create("new", epsilon=1.0, delta=0.0, copies=["SCANS"]),
        lambda: ledger.add_copy("other", "SCANS"),
    ):
        with pytest.raises(
            UsageError,
            match=r"has a budget for 'scans', which differs from 'SCANS' in case alone\. If the data are the same, use "
            r"dataset='scans'; else take a name that nobody mistakes for it\. Nothing was entered\.$",
        ):
            act()
    assert [(each.name, each.copies) for each in ledger.datasets()] == [("scans", ("Scans", "scANS")), ("other", ())]


def test_a_frozen_budget_gives_what_was_paid_for_and_nothing_new(ledger: Ledger) -> None:
    receipt = ledger.charge(cost("k"))
    ledger.freeze("scans.csv")
    ledger.freeze("scans")  # once is enough
    text = "The budget of 'scans' is frozen: nothing more is released from it. Nothing was charged."
    for act in (lambda: ledger.charge(cost("new")), lambda: ledger.quote(cost("new"))):
        with pytest.raises(NoBudget, match=exactly(text)):
            act()
    ledger.store(receipt, b"output")
    assert ledger.charge(cost("k")).output == b"output"
    assert ledger.remaining("scans").epsilon == 0
    assert ledger.datasets()[0].frozen
    assert [entry.kind for entry in ledger.history()] == ["create", "copy", "charge", "freeze", "output"]
    ledger.check()


def test_the_refusal_names_the_cost_the_spent_the_left_and_what_would_be_granted(ledger: Ledger) -> None:
    ledger.create("jan26", epsilon=4.0, delta=0.0)
    ledger.charge(cost("a", 3.4, dataset="jan26"))
    text = (
        "This release costs epsilon 1.00; spent 3.40 of 4.00 for 'jan26', left 0.60. Lower epsilon to 0.60. Nothing "
        "was charged."
    )
    with pytest.raises(BudgetExceeded, match=exactly(text)):
        ledger.charge(cost("b", 1.0, dataset="jan26"))
    ledger.charge(cost("b", 0.6, dataset="jan26"))
    text = (
        "This release costs epsilon 0.10; spent 4.00 of 4.00 for 'jan26', left 0.00. No epsilon would be granted any "
        "more. Nothing was charged."
    )
    with pytest.raises(BudgetExceeded, match=exactly(text)):
        ledger.charge(cost("c", 0.1, dataset="jan26"))


def test_what_a_refusal_suggests_for_normal_noise_is_granted(ledger: Ledger) -> None:
    """The same release, calibrated to the suggested epsilon, fits: so the next attempt is not refused again."""
    from dpfda.ledger.accounting import _mu

    ledger.create("noisy", epsilon=2.0, delta=1e-6)
    ledger.charge(gaussian(1.5, _mu(Budget(1.5, 1e-6)), key="a", dataset="noisy"))
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 1\.90; spent 1\.5\d of 2\.00 for 'noisy'") as caught:
        ledger.charge(gaussian(1.9, _mu(Budget(1.9, 1e-6)), key="b", dataset="noisy"))
    found = re.search(
        r"Lower epsilon to ([\d.]+)\. That is more than what is left, since releases compose to less than their sum\. "
        r"Nothing was charged\.$",
        str(caught.value),
    )
    assert found is not None
    suggested = float(found[1])
    # Squares of shifts add: far more than the difference of the epsilons is left.
    assert 1.0 < suggested < 1.9
    quote = ledger.quote(gaussian(suggested, _mu(Budget(suggested, 1e-6)), dataset="noisy"))
    assert quote.allowed
    assert quote.after <= 2.0
    ledger.charge(gaussian(suggested, _mu(Budget(suggested, 1e-6)), key="c", dataset="noisy"))


def test_a_refusal_states_the_price_of_the_quote(ledger: Ledger) -> None:
    """The price is that at the delta of the budget; the release itself was ordered at another."""
    ledger.create("noisy", epsilon=2.0, delta=1e-6)
    ledger.charge(gaussian(1.5, 0.33, key="a", dataset="noisy"))
    asked = replace(gaussian(2.0, 0.4, key="b", dataset="noisy"), budget=Budget(1.1, 1e-3))
    quote = ledger.quote(asked)
    with pytest.raises(
        BudgetExceeded, match=r"^This release costs epsilon 1\.77 at the budget's delta 1e-06; spent 1\.44 of 2\.00 "
    ) as caught:
        ledger.charge(asked)
    assert 1.76 < quote.cost <= 1.77
    assert quote.refusal == str(caught.value)
    assert ledger.quote(gaussian(0.11, 0.03, dataset="noisy")).refusal is None


def test_a_refusal_says_why_what_is_left_does_not_help(ledger: Ledger) -> None:
    """A release that states its delta alone uses it up: then no other of that kind is granted."""
    ledger.create("stated", epsilon=2.0, delta=1e-6)
    ledger.charge(Charge("stated", "mean", Budget(0.5, 1e-6), key="a"))
    with pytest.raises(
        BudgetExceeded,
        match=exactly(
            "This release costs epsilon 0.50; spent 0.50 of 2.00 for 'stated', left 1.50. Together that is more than "
            "their sum, since deltas add up too. No epsilon with delta 1e-06 would be granted any more. Nothing was "
            "charged."
        ),
    ):
        ledger.charge(Charge("stated", "mean", Budget(0.5, 1e-6), key="b"))
    with pytest.raises(
        BudgetExceeded,
        match=exactly(
            "This release has no epsilon at delta 1e-06, that of the budget of 'stated': its own delta is 1e-05. Ask "
            "for less delta. Nothing was charged."
        ),
    ):
        ledger.charge(Charge("stated", "mean", Budget(0.5, 1e-5), key="c"))


def test_a_pure_budget_takes_no_delta(ledger: Ledger) -> None:
    text = (
        "The budget of 'scans' is pure (delta = 0), and this release has delta 1e-06. Ask for delta=0 with a mechanism "
        "for pure epsilon. Nothing was charged."
    )
    with pytest.raises(BudgetExceeded, match=exactly(text)):
        ledger.charge(gaussian(0.5, 0.1))
    assert ledger.quote(gaussian(0.5, 0.1)).affordable == 0


def test_a_quote_says_what_a_charge_does_and_does_nothing(ledger: Ledger) -> None:
    ledger.charge(cost("a", 0.5))
    quote = ledger.quote(cost("b", 0.25))
    assert (quote.cost, quote.spent, quote.after, quote.allowed) == (0.25, 0.5, 0.75, True)
    assert (quote.cap, quote.affordable) == (Budget(1.0, 0.0), 0.25)
    quote = ledger.quote(cost("b", 0.75))
    assert (quote.after, quote.allowed, quote.affordable) == (1.25, False, 0.5)
    assert len(ledger.history()) == 3


def test_a_charge_to_its_whole_budget_is_granted(ledger: Ledger) -> None:
    """A cap of (1, 1e-6) takes one release of (1, 1e-6), whatever the last digit of its curve."""
    ledger.create("once", epsilon=1.0, delta=1e-6)
    receipt = ledger.charge(Charge("once", "mean", Budget(1.0, 1e-6)))
    assert receipt.spent == Budget(1.0, 1e-6)


def test_normal_noise_composes_by_squares_beyond_the_sum_of_epsilons(ledger: Ledger) -> None:
    """100 shifts of 0.1 are one of 1, whose curve is `Phi(1/2 - eps) - e^eps Phi(-1/2 - eps)`: not 100 times 0.4."""
    ledger.create("noisy", epsilon=6.0, delta=1e-6)
    for number in range(100):
        receipt = ledger.charge(gaussian(0.4, 0.1, key=str(number), dataset="noisy"))
    assert receipt.spent is not None
    statement = ledger.spent("noisy")
    assert statement.epsilon <= receipt.spent.epsilon < 4.887
    epsilon = statement.epsilon
    assert ndtr(0.5 - epsilon) - math.exp(epsilon) * ndtr(-0.5 - epsilon) == pytest.approx(1e-6, rel=1e-6)
    assert statement.rho == pytest.approx(0.5, rel=1e-9)
    left = ledger.remaining("noisy")
    assert left.delta == 1e-6
    assert left.epsilon == pytest.approx(6.0 - statement.epsilon, abs=1e-9)
    assert ledger.spent("noisy", people=2).epsilon > 2 * statement.epsilon
    assert ledger.remaining("noisy", people=2).epsilon == 0
    ledger.check()


def test_a_charge_that_others_keep_overtaking_is_given_up(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfda.ledger import durable

    ledger.create("noisy", epsilon=1.0, delta=1e-6)
    monkeypatch.setattr(durable, "PATIENCE", -1.0)
    ledger.charge(gaussian(0.4, 0.1, key="a", dataset="noisy"))  # needs no slow accountant
    with pytest.raises(DataError, match=r"^Other charges to 'noisy' were faster for .* Nothing was charged; try"):
        ledger.charge(gaussian(2.3, 0.5, key="b", dataset="noisy"))


def test_what_was_charged_meanwhile_is_counted_by_the_slow_accountant_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another charge comes in between its count and the entry: what was found before does not hold any more."""
    ledger.create("mixed", epsilon=1.15, delta=1e-6)

    def mixed(key: str) -> Charge:
        return Charge("mixed", "mean", Budget(0.3, 0.0), losses=(RangeProfile(0.3),), key=key)

    for number in range(3):
        ledger.charge(mixed(f"first {number}"))
    tight, counts = Ledger._tight, []

    def slow(self: Ledger, order: CountedCharge) -> Tight:
        found = tight(self, order)
        counts.append(found.total)
        if len(counts) == 1:
            Ledger(self._url).charge(mixed("meanwhile"))
        return found

    with monkeypatch.context() as patched:
        ways = {"mine": slow}
        patched.setattr(Ledger, "_tight", lambda self, order: ways.get(order.charge.key, tight)(self, order))
        with pytest.raises(BudgetExceeded, match=r"of 1\.15 for 'mixed'"):
            ledger.charge(mixed("mine"))
    first, second = counts
    assert first <= 1_150_000_000_000 < second
    keys = [entry.key for entry in ledger.history("mixed") if entry.kind == "charge"]
    assert keys == ["first 0", "first 1", "first 2", "meanwhile"]
    # Four of 0.3 make 1.2 by addition: only the slow accountant, found again here, could grant the last of them.
    assert ledger.history("mixed")[-1].total == first / 10**12
    ledger.check()


# Relation and unit.


def rows(name: str = "person", neighbours: str = "replace-one", epsilon: float = 0.25, key: str = "u") -> Charge:
    return replace(cost(key, epsilon, dataset="people"), unit=Unit(name, neighbours))


def test_another_unit_than_the_budget_s_is_refused(ledger: Ledger) -> None:
    ledger.create("people", epsilon=1.0, delta=0.0, unit="person")
    with pytest.raises(PrivacyRefused, match=r"Release with unit='person'\. Nothing was charged\.$") as refused:
        ledger.charge(rows("scan"))
    assert (refused.value.parameter, refused.value.value) == ("unit", "'scan'")
    ledger.charge(rows("person"))


def test_the_first_charge_pins_a_unit_that_was_left_open(ledger: Ledger) -> None:
    ledger.create("people", epsilon=1.0, delta=0.0)
    assert ledger.datasets()[1].unit is None
    ledger.charge(rows("household"))
    assert ledger.datasets()[1].unit == "household"
    with pytest.raises(PrivacyRefused, match="protects each 'household'"):
        ledger.charge(rows("person", key="v"))


def test_adding_or_removing_counts_twice_on_a_budget_for_replacing(ledger: Ledger) -> None:
    ledger.create("people", epsilon=1.0, delta=0.0)
    receipt = ledger.charge(rows(neighbours="add-or-remove-one"))
    assert receipt.spent == Budget(0.5, 0.0)
    assert ledger.spent("people").epsilon == 0.5
    text = (
        "This release costs epsilon 0.60 (counted twice: the budget is for neighbours='replace-one'); spent 0.50 of "
        "1.00 for 'people', left 0.50. Lower epsilon to 0.25. Nothing was charged."
    )
    with pytest.raises(BudgetExceeded, match=exactly(text)):
        ledger.charge(rows(neighbours="add-or-remove-one", epsilon=0.3, key="v"))
    ledger.charge(rows(neighbours="add-or-remove-one", epsilon=0.25, key="v"))
    ledger.check()


def test_replacing_is_refused_on_a_budget_for_adding_or_removing(ledger: Ledger) -> None:
    ledger.create("people", epsilon=1.0, delta=0.0, neighbours="add-or-remove-one")
    text = (
        "The budget of 'people' is for neighbours='add-or-remove-one', where the number of persons is private, and "
        "this release for neighbours='replace-one', which makes it public. Release with "
        "neighbours='add-or-remove-one'. Nothing was charged."
    )
    with pytest.raises(PrivacyRefused, match=exactly(text)):
        ledger.charge(rows())
    assert ledger.charge(rows(neighbours="add-or-remove-one")).spent == Budget(0.25, 0.0)


# What may be created.


@pytest.mark.parametrize("name", ["", " scans", "a\nb", "x" * 201, 7], ids=["empty", "space", "line", "long", "number"])
def test_a_name_is_short_and_printable(ledger: Ledger, name: object) -> None:
    for act in (
        lambda: ledger.create(name, epsilon=1.0, delta=0.0),  # type: ignore[arg-type]
        lambda: ledger.create("new", epsilon=1.0, delta=0.0, copies=[name]),  # type: ignore[list-item]
        lambda: ledger.add_copy("scans", name),  # type: ignore[arg-type]
        lambda: ledger.remaining(name),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match=r"^The name of a data set has 1 to 200 printable characters"):
            act()
    assert len(ledger.history()) == 2


@pytest.mark.parametrize(
    ("epsilon", "delta", "text"),
    [
        (0.0, 0.0, "epsilon must be a positive finite number"),
        (float("nan"), 0.0, "epsilon must be a positive finite number"),
        (1.1e6, 0.0, "The epsilon of a budget lies between 1e-12 and 1e6, got 1100000.0."),
        (1e-13, 0.0, "The epsilon of a budget lies between 1e-12 and 1e6, got 1e-13."),
        (1.0, 1.0, "delta must lie in [0, 1)"),
        (1.0, -1e-9, "delta must lie in [0, 1)"),
    ],
)
def test_a_cap_is_a_budget_that_can_be_counted(ledger: Ledger, epsilon: float, delta: float, text: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(text)}"):
        ledger.create("new", epsilon=epsilon, delta=delta)
    assert len(ledger.history()) == 2


def test_other_mistakes_in_a_budget_are_refused(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match=r"^A data set and its copies have a name each, got 'a', 'a'\.$"):
        ledger.create("a", epsilon=1.0, delta=0.0, copies=["a"])
    with pytest.raises(UsageError, match=r"^neighbours must be one of"):
        ledger.create("a", epsilon=1.0, delta=0.0, neighbours="swap")
    with pytest.raises(UsageError, match=r"^The name of a unit has 1 to 200"):
        ledger.create("a", epsilon=1.0, delta=0.0, unit="")
    with pytest.raises(UsageError, match=r"^What is charged has 1 to 200"):
        ledger.charge(replace(cost(), what=""))
    with pytest.raises(UsageError, match=r"has no entry 9\.$"):
        ledger.entry(9)


# What it shows.


def test_an_export_has_all_that_another_accountant_needs(ledger: Ledger) -> None:
    ledger.store(ledger.charge(cost("k")), b"output")
    found = json.loads(json.dumps(ledger.export(), allow_nan=False))
    assert (found["schema"], found["units_in_epsilon"], found["ledger"]) == (1, 10**12, ledger.id)
    charge = found["events"][2]
    assert charge["losses"] == [{"law": "pure", "epsilon": 0.25}]
    assert (charge["cost"], charge["total"], charge["epsilon"], charge["delta"]) == (
        250 * 10**9,
        250 * 10**9,
        0.25,
        0.0,
    )
    assert found["events"][0]["cap"] == 10**12
    assert dict(zip(found["sums"], charge["sums"], strict=True))["bounded"] == 250 * 10**9
    assert [event["previous"] for event in found["events"][1:]] == [event["hash"] for event in found["events"][:-1]]


def test_entries_show_what_was_entered(ledger: Ledger) -> None:
    receipt = ledger.charge(cost("k"))
    entry = ledger.entry(receipt.number)
    assert (entry.kind, entry.dataset, entry.key, entry.what) == ("charge", "scans", "k", "mean")
    assert (entry.digest, entry.cost, entry.total, entry.budget) == (receipt.digest, 0.25, 0.25, Budget(0.25, 0.0))
    assert entry == ledger.history("scans.csv")[-1] == ledger.history()[-1]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry.at)
    assert receipt.ledger == ledger.id
    ledger.close()
    assert ledger.entry(1).kind == "create"


# On a server.


def test_a_password_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (
        "postgresql://me:sec%21ret@localhost:1/x",
        "postgresql://me@localhost:1/x?password=sec%21ret&connect_timeout=2",
        "postgresql://me:sec!ret/with@slash@localhost:1/x",
        "postgresql://me:sec!ret?with@question@localhost:1/x",
    ):
        ledger = Ledger(url)
        with pytest.raises(DataError, match=r"cannot be used: .*\. Nothing was entered\.$") as caught:
            ledger.charge(cost())
        for text in (repr(ledger), str(caught.value), "".join(traceback.format_exception(caught.value))):
            assert "sec%21ret" not in text
            assert "sec!ret" not in text
            assert "question" not in text


def test_without_psycopg_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    text = "Ledgers on a PostgreSQL server need psycopg. Install it: pip install 'dpfda[postgres]'."
    with pytest.raises(MissingExtra, match=exactly(text)):
        Ledger("postgresql://localhost/x")


def test_a_database_without_a_ledger_says_so(postgres_url: str) -> None:
    ledger = Ledger(postgres_url)
    for act in (lambda: ledger.charge(cost()), ledger.datasets, ledger.check):
        with pytest.raises(DataError, match=r"^There is no ledger at postgresql://.*: make one with Ledger\.create"):
            act()


def ended(url: str) -> None:
    """End all other connections to a database."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_connection_that_was_lost_in_between_is_opened_again(postgres_url: str) -> None:
    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ended(postgres_url)
    receipt = ledger.charge(cost())
    ended(postgres_url)
    assert ledger.store(receipt, b"output") == b"output"
    ended(postgres_url)
    assert ledger.spent("scans").epsilon == 0.25
    ended(postgres_url)
    ledger.create("other", epsilon=1.0, delta=0.0)  # nothing had begun: it is safe to begin again
    ended(postgres_url)
    ledger.check()


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_connection_that_is_lost_at_the_commit_is_looked_after(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """Whether the charge was committed is found under the lock of the ledger, by its key: it is entered once."""
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    execute, left = psycopg.Connection.execute, [1]  # commits until one is lost; 0 for none

    def lost(self: object, query: object, *values: object) -> object:
        if query == "COMMIT" and left[0]:
            left[0] -= 1
            if not left[0]:
                if done:
                    execute(self, query)  # type: ignore[arg-type, call-overload]
                ended(postgres_url)
        return execute(self, query, *values)  # type: ignore[arg-type, call-overload]

    monkeypatch.setattr(psycopg.Connection, "execute", lost)
    receipt = ledger.charge(cost())
    assert left == [0]
    assert (receipt.number, receipt.spent) == (2, Budget(0.25, 0.0))
    assert [entry.kind for entry in ledger.history()] == ["create", "charge"]
    ledger.check()
    left[0] = 2  # the first looks for tables
    with pytest.raises(Lost, match=r"was lost in the middle: .*\. Whether something was entered is not known; repeat"):
        ledger.create("other", epsilon=1.0, delta=0.0)  # it would find its own name taken
    assert len(ledger.datasets()) == 1 + done


def test_a_ledger_that_others_keep_busy_is_given_up(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    from dpfda.ledger import postgres

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    monkeypatch.setattr(postgres, "WRITE", postgres.WRITE.replace("lock_timeout = '60s'", "lock_timeout = '200ms'"))
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT * FROM dpfda_ledger FOR UPDATE")
        with pytest.raises(DataError, match=r"was kept busy by others for 60 seconds\. Nothing was entered; try again"):
            ledger.charge(cost())
        assert ledger.remaining("scans").epsilon == 1.0  # readers do not wait
    assert ledger.charge(cost()).number == 2


def test_a_role_that_may_only_read_is_told_so(postgres_url: str) -> None:
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchone()[0]  # type: ignore[index]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        role = f"reader_{name}"
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}".encode())
    try:
        reader = Ledger(postgres_url.replace("postgres@", f"{role}@"))
        assert reader.remaining("scans").epsilon == 1.0
        with pytest.raises(DataError, match=r"cannot be written: permission denied for table dpfda_ledger\. Noth"):
            reader.charge(cost())
        reader.close()
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"DROP OWNED BY {role}".encode())
            connection.execute(f"DROP ROLE {role}".encode())


def test_a_temporary_table_of_the_same_name_does_not_blind_the_guards(postgres_url: str) -> None:
    import psycopg

    ledger = Ledger(postgres_url)
    ledger.create("scans", epsilon=1.0, delta=0.0)
    ledger.charge(cost())
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE dpfda_events AS SELECT * FROM public.dpfda_events")
        connection.execute("UPDATE dpfda_events SET cap = 9000000000000 WHERE number = 1")
        with pytest.raises(psycopg.errors.IntegrityError, match="an entry has the number after the last one"):
            connection.execute("INSERT INTO public.dpfda_events SELECT * FROM public.dpfda_events WHERE number = 2")
        # Nor does the setting for replicas, which turns ordinary triggers off.
        connection.execute("SET session_replication_role = replica")
        with pytest.raises(psycopg.errors.IntegrityError, match="what is entered is never changed"):
            connection.execute("DELETE FROM public.dpfda_events")
    ledger.check()


def test_a_ledger_of_one_budget_needs_no_name(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("scans", epsilon=1.0, delta=0.0, copies=["scans-2026"])
    ledger.charge(cost())
    assert ledger.remaining() == ledger.remaining("scans")
    assert ledger.spent() == ledger.spent("scans")
    ledger.create("load", epsilon=1.0, delta=0.0)
    for ask in (ledger.remaining, ledger.spent):
        with pytest.raises(UsageError, match=r"^Name the data set: the budgets of .* are 'scans', .*'load'\.$"):
            ask()


NORMAL = GaussianProfile(1.0)  # epsilon 4.89 at delta 1e-6


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("stated", "losses"),
    [
        (Budget(0.1, 0.0), (PureProfile(0.5),)),
        (Budget(0.1, 0.0), (NORMAL,)),
        (Budget(0.1, 1e-6), (NORMAL,)),
        (Budget(4.8, 1e-6), (NORMAL,)),
        (Budget(0.9, 1e-6), (PureProfile(0.5), PureProfile(0.5))),
        (Budget(4.9, 1e-6), (PureProfile(0.5), NORMAL)),
        (Budget(0.1, 1e-6), (StatedProfile(0.1, 1e-5),)),
    ],
)
def test_a_charge_that_states_less_than_its_curves_is_refused(
    sqlite_url: str, stated: Budget, losses: tuple[Profile, ...], delta: float, adaptive: bool
) -> None:
    """By every kind of budget, as the first charge or a later one."""
    ledger = Ledger(sqlite_url)
    ledger.create("scans", epsilon=1.0, delta=delta, adaptive=adaptive)
    for _ in range(2):
        left = ledger.remaining()
        with pytest.raises(UsageError, match=r"^A charge cannot cost less than its curves: they come to .* its budget"):
            ledger.charge(Charge("scans", "mean", stated, losses))
        assert ledger.remaining() == left
        ledger.charge(Charge("scans", "mean", Budget(0.1, 0.0), (PureProfile(0.1),)))


@pytest.mark.parametrize("kind", [SessionLedger, OwnSpend])
def test_ledgers_in_memory_refuse_a_charge_below_its_curves_too(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"they come to epsilon 4\.88655 at delta 1e-06, and its budget states"):
        kind().charge(Charge("scans", "mean", Budget(0.1, 1e-6), (NORMAL,)))


def test_a_curve_that_cannot_be_kept_is_compared_with_its_budget_too() -> None:
    class Own:
        def delta(self, epsilon: float) -> float:
            return 1e-3

    with pytest.raises(UsageError, match=r"they come to more, and its budget states epsilon 0\.1, delta 1e-06"):
        Charge("scans", "mean", Budget(0.1, 1e-6), (Own(),))  # type: ignore[arg-type]
    Charge("scans", "mean", Budget(0.1, 1e-2), (Own(),))  # type: ignore[arg-type]
