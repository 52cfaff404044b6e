"""One charge pays for one draw: kept before it is handed out, and the same under the same key ever after."""

from __future__ import annotations

import json
import os
import pickle
import re
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpfda
from dpfda.curator import GIVEN, DrawLog, Payment, exact_hash, payment, request_hash
from dpfda.curator.payment import STORE
from dpfda.errors import ReleaseFailed, UsageError
from dpfda.ledger import Charge, OwnSpend, Receipt
from dpfda.ledger.outputs import unpack
from dpfda.mechanisms import GaussianProcess, LaplaceProcess
from dpfda.privacy import Budget
from dpfda.releases.documents import stated_digest
from dpfda.releases.files import text_of, to_dict

CURVES = np.sin(np.arange(40 * 12)).reshape(40, 12)
PLANE = np.sin(np.arange(80)).reshape(40, 2) / 2 + 0.5
LABELS = np.arange(40) % 2


class Book:
    """A ledger of one key in memory, which notes what happens to it and may have been written to by another."""

    def __init__(self, output=None, first=None):
        self.events, self.output, self.first = [], output, first

    def charge(self, entry):
        self.events.append(("charge", entry.what))
        return Receipt(entry.dataset, "key", "book", 1, "", None, None, self.output)

    def store(self, receipt, output):
        self.events.append(("store", len(output)))
        self.output = self.first or self.output or output
        return self.output

    def burn(self, receipt):
        self.events.append(("burn", receipt.key))


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), max_size=4))
def test_a_tape_comes_back_as_it_was_recorded(drawn):
    tape = DrawLog()
    for vector in drawn:
        tape.take(lambda vector=vector: np.array(vector, dtype=np.int64))
    again = DrawLog.of(tape.to_bytes())
    for vector in drawn:
        assert again.take(lambda: pytest.fail("drawn again")).tolist() == vector


@pytest.mark.parametrize(
    "stored", [b"", b"nonsense", DrawLog().to_bytes()[:-1], b"\0" * 50], ids=["empty", "words", "cut", "zeros"]
)
def test_a_damaged_output_is_no_release(stored):
    with pytest.raises(UsageError, match=r"^What the ledger keeps under this key is no such release\. Take"):
        DrawLog.of(stored)


def test_a_tape_that_ends_early_gives_nothing_more():
    with pytest.raises(ReleaseFailed):
        DrawLog.of(DrawLog().to_bytes()).take(lambda: pytest.fail("drawn"))


def test_what_is_drawn_is_stored_before_it_is_handed_out():
    book = Book()
    payment = Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0))))
    assert payment.spend(lambda tape: tape.take(lambda: np.arange(3)).tolist()) == [0, 1, 2]
    assert [event for event, _ in book.events] == ["charge", "store"]
    assert DrawLog.of(book.output).take(lambda: pytest.fail("drawn")).tolist() == [0, 1, 2]


def test_whoever_is_second_under_a_key_hands_out_what_the_first_has_drawn():
    other = DrawLog()
    other.take(lambda: np.array([7]))
    book = Book(first=other.to_bytes())
    payment = Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0))))
    assert payment.spend(lambda tape: tape.take(lambda: np.array([1])).tolist()) == [7]


def test_a_failure_burns_the_charge_and_its_text_is_constant():
    book = Book()
    payment = Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0))))
    with pytest.raises(ReleaseFailed, match="the charge stays") as caught:
        payment.spend(lambda tape: 1 / 0)
    assert caught.value.__context__ is None
    assert [event for event, _ in book.events] == ["charge", "burn"]


def test_an_interruption_burns_nothing_so_that_its_key_can_go_on():
    book = Book()
    payment = Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0))))

    def interrupted(tape):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        payment.spend(interrupted)
    assert [event for event, _ in book.events] == ["charge"]


def test_an_output_that_cannot_be_stored_is_not_handed_out():
    class Full(Book):
        def store(self, receipt, output):
            raise dpfda.errors.DataError("the disk is full")

    book = Full()
    payment = Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0))))
    with pytest.raises(ReleaseFailed):
        payment.spend(lambda tape: tape.take(lambda: np.arange(3)))


def test_a_payment_is_spent_once_whatever_the_thread():
    payment, made = Payment(None, None), []

    def run():
        try:
            made.append(payment.spend(lambda tape: 1))
        except UsageError as error:
            made.append(str(error))

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, made)) == sorted(["1"] + [GIVEN] * 7)


def test_a_forked_child_cannot_spend_what_its_parent_paid_for():
    payment = Payment(None, None)
    child = os.fork()
    if child == 0:
        try:
            payment.spend(lambda tape: 1)
            os._exit(0)
        except UsageError:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_payment_cannot_be_pickled():
    with pytest.raises(TypeError, match="it would be given out twice"):
        pickle.dumps(Payment(None, None))


def test_noise_drawn_into_a_store_is_given_out_once():
    book = Book()
    Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0)))).hand_over()
    assert book.output.startswith(STORE)
    for again in ("hand_over", "spend"):
        payment = Payment(book, book.charge(Charge("d", "w", Budget(1.0, 0.0))))
        with pytest.raises(UsageError, match=re.escape(GIVEN)):
            payment.hand_over() if again == "hand_over" else payment.spend(lambda tape: 1)


KNOWN = {"epsilon": 2.0, "delta": 1e-6, "dataset": "d"}
ESTIMATORS = {
    "mean": lambda book: dpfda.MeanFunction(**KNOWN, bound=1.0, ledger=book).fit(CURVES),
    "mean, frl": lambda book: dpfda.MeanFunction(**KNOWN, bound=1.0, ledger=book, mechanism="frl").fit(CURVES),
    "private number": lambda book: dpfda.MeanFunction(
        **KNOWN, bound=1.0, ledger=book, neighbours="add-or-remove-one", planned_n=40
    ).fit(CURVES),
    "covariance": lambda book: dpfda.CovarianceFunction(**KNOWN, bound=1.0, ledger=book, force=True).fit(CURVES),
    "components": lambda book: dpfda.FPCA(2, **KNOWN, bound=1.0, ledger=book, force=True).fit(CURVES),
    "drawn components": lambda book: dpfda.FPCA(
        1,
        epsilon=2.0,
        delta=0.0,
        dataset="d",
        bound=1.0,
        ledger=book,
        mechanism="exponential",
        explained_variance=0.3,
        mean="centre",
        force=True,
    ).fit(CURVES),
    "regression": lambda book: dpfda.FunctionOnScalarRegression(
        **KNOWN, bound=1.0, covariate_bound=1.0, ledger=book, force=True
    ).fit(PLANE, CURVES),
    "density": lambda book: dpfda.DensityFunction(**KNOWN, domain=(0, 1), ledger=book, force=True).fit(PLANE[:, 0]),
    "bought bandwidth": lambda book: dpfda.DensityFunction(
        **KNOWN,
        domain=(0, 1),
        ledger=book,
        bandwidth_epsilon=0.5,
        mechanism=LaplaceProcess(bandwidth="private-iqr"),
        force=True,
    ).fit(PLANE[:, 0]),
    "gp": lambda book: dpfda.DensityFunction(
        **KNOWN, domain=(0, 1), ledger=book, mechanism=GaussianProcess(bandwidth=0.2), force=True
    ).fit(PLANE[:, 0]),
    "classifier": lambda book: dpfda.KernelClassifier(
        **KNOWN, domain=[(0, 1), (0, 1)], kernel=dpfda.kernels.Gaussian(0.5), penalty=0.1, ledger=book, force=True
    ).fit(PLANE, LABELS),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_key_gives_the_same_file_again_and_reads_no_record(name, monkeypatch):
    book = Book()
    first = json.dumps(to_dict(ESTIMATORS[name](book).release_))
    size = len(book.output)
    again = json.dumps(to_dict(ESTIMATORS[name](book).release_))
    assert again == first
    assert [event for event, _ in book.events] == ["charge", "store", "charge"]
    assert len(book.output) == size < 4000


def test_the_same_key_gives_the_same_file_under_other_versions_of_what_drew_it(monkeypatch):
    book = Book()
    first = text_of(ESTIMATORS["density"](book).release_)
    monkeypatch.setattr(payment, "_installed", lambda: (("dpfda", "9.0"), ("opendp", "9.1"), ("numpy", "9.2")))
    assert text_of(ESTIMATORS["density"](book).release_) == first
    other = ESTIMATORS["density"](Book()).release_
    assert dict(other.certificate.software) == {"dpfda": "9.0", "opendp": "9.1", "numpy": "9.2"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_ledger_keeps_the_digest_of_the_file_that_is_handed_out(name):
    book = Book()
    made = ESTIMATORS[name](book).release_
    kept = unpack(book.output)
    assert bytes.fromhex(stated_digest(text_of(made).encode())) in {document.whole for document in kept.documents}
    assert tuple(kept.software.items()) == made.certificate.software


def test_a_release_that_cannot_be_written_is_handed_out_and_has_no_digest(monkeypatch):
    monkeypatch.setattr(payment, "file_digest", lambda release: json.dumps(object()))
    book = Book()
    assert ESTIMATORS["density"](book).release_.certificate.entry is not None
    assert [document.whole for document in unpack(book.output).documents] == [bytes(32)]


@pytest.mark.parametrize("make", [dpfda.private_bound, dpfda.private_choice], ids=["bound", "choice"])
def test_the_same_key_gives_the_same_choice_again(make):
    book = Book()
    wishes = {"epsilon": 0.01, "ledger": book, "force": True}
    if make is dpfda.private_bound:
        wishes |= {"quantile": 0.9, "candidates": (0.01, 100.0)}
    else:
        settings = [dpfda.MeanFunction(**KNOWN, bound=1.0, mechanism="frl", size=size) for size in (1, 2, 3, 5)]
        wishes |= {"candidates": settings}
    found = {str(make(CURVES, **wishes)) for _ in range(5)}
    assert len(found) == 1
    assert [event for event, _ in book.events] == ["charge", "store", *["charge"] * 4]


def test_a_bought_bandwidth_of_a_process_is_shown_once():
    wishes = {"domain": (0, 1), "bandwidth_epsilon": 0.5, "mechanism": GaussianProcess(bandwidth="private-iqr")}
    book = Book()
    est = dpfda.DensityFunction(**KNOWN, **wishes, ledger=book, force=True).fit(PLANE[:, 0])
    assert est.bandwidth_choice_.widths
    assert [event for event, _ in book.events] == ["charge", "store"]
    with pytest.raises(UsageError, match=re.escape(GIVEN)):
        dpfda.DensityFunction(**KNOWN, **wishes, ledger=book, force=True).fit(PLANE[:, 0])
    assert est.release_(0.5) >= 0


def test_without_a_ledger_an_estimator_counts_its_own_spend_and_the_card_says_so():
    est = dpfda.MeanFunction(epsilon=0.1, delta=0.0, bound=1.0, force=True)
    assert est.spent_ is None
    for _ in range(10):
        est.fit(CURVES)
    assert est.spent_ == Budget(1.0, 0.0)
    assert est.release_.certificate.recorded == (
        "nothing was recorded: no ledger was given; 10 fits of this estimator and its clones add up to "
        "(epsilon = 1, delta = 0)"
    )
    assert est.release_.certificate.entry is None
    assert pickle.loads(pickle.dumps(est)).spent_ == Budget(1.0, 0.0)


def test_own_spend_never_adds_up_to_a_delta_of_one():
    own = OwnSpend()
    for _ in range(3):
        receipt = own.charge(Charge("d", "w", Budget(1.0, 0.5)))
    assert receipt.spent.delta < 1
    assert not receipt.recorded


ORDER = {"what": "mean", "array": np.arange(3.0), "charge": replace(Charge("d", "w", Budget(1.0, 0.0)), key="k")}


@pytest.mark.parametrize(
    "other",
    [
        {"what": "meen"},
        {"array": np.arange(4.0)},
        {"array": np.arange(3)},
        {"array": np.array([0.0, 1.0, 2.00000001])},
        {"array": np.array([1.0, 0.0, 2.0])},
        {"charge": replace(ORDER["charge"], budget=Budget(1.0, 1e-300))},
        {"charge": replace(ORDER["charge"], dataset="e")},
        {"more": None},
    ],
    ids=["word", "length", "type", "digit", "places", "budget", "data set", "another part"],
)
def test_whatever_differs_in_a_request_changes_its_hash(other):
    assert request_hash(ORDER) == request_hash(dict(reversed(ORDER.items())))
    assert request_hash(ORDER) != request_hash({**ORDER, **other})


@pytest.mark.parametrize("size", [1, 3, 16, 17, 500])
def test_the_last_digits_of_computed_numbers_are_no_part_of_a_request(size):
    """Level: with this seed no number lies at an edge of rounding."""
    numbers = np.random.default_rng(1).normal(size=size)
    rounded = numbers * (1 + 4e-15)
    assert request_hash(numbers, numbers[0].item()) == request_hash(rounded, rounded[0].item())
    assert exact_hash(numbers) != exact_hash(rounded)
    for place in range(size):
        other = numbers.copy()
        other[place] += 1e-5 * np.abs(numbers).max()
        assert request_hash(other) != request_hash(numbers)


def test_numbers_that_are_not_finite_are_told_apart():
    found = [request_hash(np.array(row)) for row in ([1.0, np.nan], [1.0, np.inf], [1.0, -np.inf], [np.nan, 1.0])]
    assert len(set(found)) == 4


def test_a_request_has_the_same_hash_in_every_process():
    """No address in memory and no order of a set goes in."""
    assert request_hash({"b", "a"}, print, object) == request_hash({"a", "b"}, print, object)
    assert request_hash(np.sin) != request_hash(np.cos)
