"""Attacks on one charge: a second noise for it, another request under its key, answers of another function."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from dataclasses import replace
from threading import Barrier, Thread

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.cli.main import main
from dpfda.curator import GIVEN, request_hash
from dpfda.errors import UsageError
from dpfda.kernels import Gaussian
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import DictionaryDraw, GaussianProcess
from dpfda.statistics.maximiser.estimator import Maximiser

POINTS = np.random.default_rng(5).uniform(size=(60, 1))
LABELS = (POINTS[:, 0] > 0.5).astype(int)
CURVES = np.sin(np.arange(40 * 6)).reshape(40, 6)
KNOWN = {"epsilon": 1.0, "delta": 1e-6, "dataset": "d", "domain": (0, 1), "mechanism": "gp"}
NARROW = GaussianProcess(bandwidth=0.2)


def classifier(ledger, **changes):
    wishes = {**KNOWN, "kernel": Gaussian(0.5), "penalty": 0.1, "ledger": ledger, **changes}
    return dpfda.KernelClassifier(**wishes, force=True)


def density(ledger, **changes):
    return dpfda.DensityFunction(**{**KNOWN, "ledger": ledger, **changes}, force=True)


ONLINE = {
    "classifier": (lambda ledger: classifier(ledger).fit(POINTS, LABELS), lambda est: est.decision_function([[0.3]])),
    "density": (lambda ledger: density(ledger, mechanism=NARROW).fit(POINTS[:, 0]), lambda est: est.open()(0.3)),
}


@pytest.mark.parametrize("name", ONLINE)
def test_two_fits_under_one_key_do_not_answer_with_two_noises(name):
    """Both were charged before either was asked: only one of them may draw."""
    ledger = SessionLedger()
    fit, ask = ONLINE[name]
    first, second = fit(ledger.under("k")), fit(ledger.under("k"))
    assert len(ledger.entries) == 1
    assert np.isfinite(ask(first)).all()
    with pytest.raises(UsageError, match=re.escape(GIVEN)):
        ask(second)


@pytest.mark.parametrize("way", ["whole first", "points first"])
def test_one_of_two_fits_under_one_key_as_a_whole_and_one_by_points_is_refused(way):
    ledger = SessionLedger()
    one, other = (density(ledger.under("k"), mechanism=NARROW).fit(POINTS[:, 0]) for _ in range(2))
    asked = [lambda: one.release_, other.open]
    first, second = asked if way == "whole first" else reversed(asked)
    assert first() is not None
    with pytest.raises(UsageError, match=re.escape(GIVEN)):
        second()


class Together:
    """A ledger whose charges are all entered before any of them goes on."""

    def __init__(self, ledger, barrier):
        self.ledger, self.barrier = ledger, barrier

    def charge(self, entry):
        receipt = self.ledger.charge(entry)
        self.barrier.wait(timeout=30)
        return receipt

    def store(self, receipt, output):
        return self.ledger.store(receipt, output)

    def burn(self, receipt):
        self.ledger.burn(receipt)


def test_two_that_buy_a_bandwidth_under_one_key_at_once_do_not_both_draw_a_density():
    """Also where both come to the same bandwidth, as with an epsilon of 40 they do."""
    ledger, barrier, found = SessionLedger(), Barrier(2), []

    def run():
        wishes = {"mechanism": GaussianProcess(bandwidth="private-iqr"), "bandwidth_epsilon": 40.0}
        try:
            fitted = density(Together(ledger.under("k"), barrier), **wishes).fit(POINTS[:, 0])
            found.append(str(fitted.release_(0.3)))
        except UsageError as error:
            found.append(str(error))

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.entries) == 1
    assert len(found) == 2
    assert found.count(GIVEN) == 1


@pytest.mark.parametrize(
    "changes",
    [{"classes": ("b", "a")}, {"classes": ("a", "c")}, {"loss": "logistic"}, {"loss": "smoothed-hinge"}],
    ids=["classes exchanged", "another class", "logistic", "smoothed hinge"],
)
def test_a_store_of_one_machine_does_not_answer_for_another_with_the_same_noise(changes, tmp_path):
    """Their slopes are the same, and so is the law of their noise: two functions of one data set for one charge."""
    store, words = f"sqlite:///{tmp_path / 'store.db'}", np.array(["a", "b", "c"])[np.arange(60) % 3]
    ledger = SessionLedger()
    with classifier(ledger, classes=("a", "b")).open(store, POINTS, words) as oracle:
        answer = oracle(0.3)
    with classifier(ledger, classes=("a", "b")).open(store, POINTS, words) as oracle:
        assert oracle(0.3) == answer
    with pytest.raises(UsageError, match="belongs to another release"):
        classifier(ledger, **{"classes": ("a", "b"), **changes}).open(store, POINTS, words)
    assert len(ledger.entries) == 1


def test_a_session_s_ledger_pays_for_nothing_in_a_forked_child():
    """Parent and child would draw a noise each under one key, and neither know of the other's charge."""
    ledger = SessionLedger()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, ledger=ledger.under("k")).fit(CURVES)
        except UsageError as error:
            code = 7 if str(error).startswith("A SessionLedger counts for the process that made it") else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert ledger.entries == []


class Asked(Exception):
    """A charge that was not entered."""


class Counter:
    """A ledger that enters nothing: it only shows what it was asked for."""

    def charge(self, entry):
        raise Asked(repr(replace(entry, key="")))

    def store(self, receipt, output):
        pytest.fail("stored")

    def burn(self, receipt):
        pytest.fail("burnt")


def request_of(fit) -> str:
    with pytest.raises(Asked) as asked:
        fit(Counter())
    return str(asked.value)


def as_it_is(table):
    return table


def without_one(table):
    """A person and all that is known of them less."""
    return table[2:]


def with_odd(cell):
    """Somebody else in the place of the first person."""
    return lambda table: np.concatenate([np.full((2, *table.shape[1:]), cell), table[2:]])


TABLE, PLANE, TWO = CURVES / 2, POINTS[:40], np.arange(40) % 2
MEMBERS = {
    "mean": lambda k, f: dpfda.MeanFunction(**k, bound=1.0).fit(f(TABLE), units=f(TWICE)),
    "covariance": lambda k, f: dpfda.CovarianceFunction(**k, bound=1.0, force=True).fit(f(TABLE), units=f(TWICE)),
    "components": lambda k, f: dpfda.FPCA(1, **k, bound=1.0, force=True).fit(f(TABLE), units=f(TWICE)),
    "regression": lambda k, f: dpfda.FunctionOnScalarRegression(**k, bound=1.0, covariate_bound=1.0, force=True).fit(
        f(PLANE), f(TABLE), units=f(TWICE)
    ),
    "density": lambda k, f: dpfda.DensityFunction(**k, domain=(0, 1), force=True).fit(f(PLANE)[:, 0], units=f(TWICE)),
    "classifier": lambda k, f: dpfda.KernelClassifier(
        **k, domain=(0, 1), kernel=Gaussian(0.5), penalty=0.1, force=True
    ).fit(f(PLANE), f(TWO), units=f(TWICE)),
}
TWICE = np.repeat(np.arange(20), 2)


@pytest.mark.parametrize("name", MEMBERS)
def test_what_a_ledger_is_asked_does_not_tell_neighbours_apart(name):
    """Under add-or-remove-one not even their number; what is asked is entered, and stays for ever."""
    known = {"epsilon": 1.0, "delta": 1e-6}
    private = known | {"neighbours": "add-or-remove-one", "planned_n": 20}
    asked = {
        request_of(lambda ledger, f=f: MEMBERS[name](private | {"ledger": ledger}, f)) for f in (as_it_is, without_one)
    }
    assert len(asked) == 1
    odd = [as_it_is, *(with_odd(cell) for cell in (np.nan, np.inf, 1e300))]
    identities = TWICE.copy()

    def replaced(f):
        # Whose rows these are stays as it was.
        return lambda table: identities if table is TWICE else f(table)

    assert (
        len({request_of(lambda ledger, f=f: MEMBERS[name](known | {"ledger": ledger}, replaced(f))) for f in odd}) == 1
    )


def dictionary(functions):
    wishes = {"epsilon": 1.0, "delta": 0.0, "bound": 1.0, "mechanism": DictionaryDraw(candidates=functions)}
    return lambda ledger: dpfda.MeanFunction(**wishes, ledger=ledger).fit(CURVES)


def maximiser(utility):
    wishes = {"epsilon": 1.0, "bound": 1.0, "size": 2, "utility_range": (-4.0, 0.0), "utility": utility}
    return lambda ledger: Maximiser(**wishes, ledger=ledger, force=True).fit(CURVES)


def power(exponent):
    return lambda t: np.asarray(t) ** exponent


class Far:
    """A utility with a parameter, and no words of its own."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, units, point):
        return -self.factor * np.abs(units - point).sum(axis=1)


PAIRS = {
    "candidates": (dictionary([lambda t: t, lambda t: t**2]), dictionary([lambda t: t, lambda t: t**3])),
    "their order": (dictionary([power(1), power(2)]), dictionary([power(2), power(1)])),
    "what candidates hold": (dictionary([power(1), power(2)]), dictionary([power(1), power(3)])),
    "utilities": (
        maximiser(lambda units, point: -np.sum((units - point) ** 2, axis=1)),
        maximiser(lambda units, point: -np.sum(np.abs(units - point), axis=1)),
    ),
    "what a utility holds": (maximiser(Far(0.5)), maximiser(Far(0.25))),
    "parts of utilities": (
        maximiser(functools.partial(lambda far, units, point: far(units, point), Far(0.5))),
        maximiser(functools.partial(lambda far, units, point: far(units, point) / 2, Far(0.5))),
    ),
    "methods": (maximiser(Far(0.5).__call__), maximiser(Far(0.25).__call__)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_one_name_are_not_one_request(name):
    """All lambdas are called alike; the release of one of them must not be handed out for another."""
    one, other = PAIRS[name]
    assert request_of(one) == request_of(one)
    assert request_of(one) != request_of(other)


def test_a_function_that_knows_itself_has_a_hash():
    def down(n):
        return down(n - 1) if n else 0

    def later():
        return unbound  # noqa: F821

    assert request_hash(down) == request_hash(down) != request_hash(later)


def test_functions_have_the_same_hash_in_every_process():
    code = (
        "from dpfda.curator import request_hash\n"
        "f = lambda k: lambda t: (t * k, t in {'a', 'b', 'c'})\n"
        "class Plain:\n    def __init__(self): self.words = {'x', 'y', 'z'}\n"
        "print(request_hash(f(2.5), Plain(), {'d', 'e', 'f'}))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1


def test_columns_between_the_first_and_the_last_are_part_of_the_request(tmp_path):
    file = tmp_path / "curves.csv"
    file.write_text("t1,t2,t3,t4\n" + "0.1,0.2,0.3,0.4\n" * 5)

    def mean(pattern):
        curves = dpfda.read_curves(file, values=pattern, grid="even")
        return lambda ledger: dpfda.MeanFunction(epsilon=9.0, delta=0.0, bound=1.0, ledger=ledger).fit(curves)

    assert request_of(mean("t[124]")) != request_of(mean("t[134]"))


@pytest.mark.parametrize("kind", ["classifier", "regressor", "density"])
def test_another_column_beside_the_points_is_another_request(kind, tmp_path, monkeypatch, capsys):
    """The same key with another label, response or count is an error, not the release of the first one again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("x,a,b\n" + "".join(f"0.{i % 10},{i % 2},{(i + 1) % 2}\n" for i in range(60)))
    url = f"sqlite:///{tmp_path / 'l.db'}"
    dpfda.Ledger(url).create("p", epsilon=10.0, delta=1e-5)
    beside = {
        "classifier": ("--classes", "0,1", "--label"),
        "regressor": ("--response-bound", "1", "--response"),
        "density": ("--counts",),
    }[kind]
    common = f"release {kind} p.csv --points x --domain 0,1 --epsilon 1 --delta 1e-6 --overwrite --force --key k"
    common += f" --ledger {url}"
    who = () if kind == "density" else ("--unit", "row")
    codes = []
    for column in "ab":
        monkeypatch.setattr(sys, "argv", ["dpfda", *common.split(), *who, *beside, column])
        with pytest.raises(SystemExit) as left:
            main()
        codes.append(left.value.code or 0)
    assert codes == [0, 2], capsys.readouterr().err
    assert "stands for another request already" in capsys.readouterr().err


def test_folds_under_one_key_get_one_release_and_no_second_noise():
    """As the documentation says: a key is one fit, whoever clones the estimator."""
    from sklearn.base import clone

    ledger = SessionLedger()
    est = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, ledger=ledger.under("k"))
    first, second = (clone(est).fit(fold).release_ for fold in (CURVES[:20], CURVES[20:]))
    assert len(ledger.entries) == 1
    assert first.coordinates.tolist() == second.coordinates.tolist()
    with pytest.raises(UsageError, match="stands for another request already"):
        clone(est).fit(CURVES[:19])


@pytest.mark.parametrize("kind", ["estimator", "online", "bound"])
@pytest.mark.parametrize(
    "ledger", [b"sqlite:///budget.db", type("Half", (), {"charge": lambda self, entry: None})()], ids=["bytes", "half"]
)
def test_what_cannot_keep_an_output_is_no_ledger(kind, ledger):
    """A charge that is entered, and a release that is drawn and cannot be stored, would both be lost."""
    fits = {
        "estimator": lambda: dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, ledger=ledger).fit(CURVES),
        "online": lambda: classifier(ledger).fit(POINTS, LABELS),
        "bound": lambda: dpfda.private_bound(
            CURVES, epsilon=1.0, quantile=0.9, candidates=(0.1, 9.0), ledger=ledger, force=True
        ),
    }
    with refused(UsageError, "ledger"):
        fits[kind]()
