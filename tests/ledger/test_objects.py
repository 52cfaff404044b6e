"""Every estimator charges its ledger once a fit, whatever becomes of it: clones, copies, pickles, forks, threads."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from everyone import BOTH, CHOICES, CURVES, DATASET, ESTIMATORS, EVERYONE
from sklearn.base import clone

import dpfda
from dpfda.errors import BudgetExceeded, NoBudget, UsageError
from dpfda.ledger.amounts import loss_from
from dpfda.ledger.durable import Ledger
from dpfda.mechanisms import GaussianProcess
from dpfda.privacy import Budget

ALL = pytest.mark.parametrize("name", EVERYONE, ids=list(EVERYONE))
FITTED = pytest.mark.parametrize("name", ESTIMATORS, ids=list(ESTIMATORS))


@pytest.fixture
def ledger(sqlite_url: str) -> Ledger:
    found = Ledger(sqlite_url)
    found.create(DATASET, epsilon=100.0, delta=1e-5)
    return found


def charges(ledger: Ledger) -> list[Any]:
    return [entry for entry in ledger.history(DATASET) if entry.kind == "charge"]


def card_of(result: Any) -> Any:
    """The card of a release or of a choice."""
    return result.release_.certificate if hasattr(result, "release_") else result.card


@ALL
def test_a_release_is_charged_once_with_its_budget_and_its_losses(ledger: Ledger, name: str) -> None:
    member = EVERYONE[name]
    member.release(ledger)
    (entry,) = charges(ledger)
    assert entry.budget == member.budget
    assert entry.dataset == DATASET
    assert entry.losses
    # What the losses say of themselves meets what was ordered.
    losses = [loss_from(described) for described in entry.losses]
    assert len(losses) > 1 or losses[0].meets(member.budget)
    assert 0 < entry.cost <= member.budget.epsilon * (1 + 1e-9)
    assert [other.kind for other in ledger.history(DATASET)] == ["create", "charge", "output"]
    ledger.check()


@ALL
def test_the_card_names_the_entry(ledger: Ledger, name: str) -> None:
    member = EVERYONE[name]
    card = card_of(member.release(ledger))
    (entry,) = charges(ledger)
    assert (card.entry.ledger, card.entry.number, card.entry.digest) == (ledger.id, entry.number, entry.digest)
    assert card.entry.key == entry.key
    assert "nothing was recorded" not in card.text()


@ALL
def test_a_release_beyond_the_cap_is_refused_and_no_record_is_read(sqlite_url: str, name: str) -> None:
    ledger, member = Ledger(sqlite_url), EVERYONE[name]
    ledger.create(DATASET, epsilon=member.budget.epsilon * 1.5, delta=member.budget.delta)
    member.release(ledger)
    before = ledger.history()
    with Watched() as seen:
        for _ in range(20):  # several Gaussians may fit into a cap where two epsilons do not
            seen.reads.clear()
            try:
                member.release(ledger)
            except BudgetExceeded:
                break
        else:
            pytest.fail("it was never refused")
    assert seen.reads == []
    assert len(charges(ledger)) >= 1
    assert ledger.history()[: len(before)] == before
    assert ledger.spent(DATASET).epsilon <= member.budget.epsilon * 1.5
    ledger.check()


class Watched:
    """Notes whenever records are gathered, whichever way."""

    def __init__(self) -> None:
        self.reads: list[str] = []
        self.patch = pytest.MonkeyPatch()

    def __enter__(self) -> Watched:
        for place, method in gatherers():
            honest = getattr(place, method)

            def noted(*args: Any, _honest: Any = honest, _name: str = method, **more: Any) -> Any:
                self.reads.append(_name)
                return _honest(*args, **more)

            self.patch.setattr(place, method, noted)
        return self

    def __exit__(self, *_: object) -> None:
        self.patch.undo()


def gatherers() -> list[tuple[Any, str]]:
    """Every method of a summary or a selection that reads records."""
    import dpfda

    found = []
    source = Path(dpfda.__file__).parent
    for path in (*source.glob("statistics/**/*.py"), source / "curator" / "summary.py"):
        part = import_module("dpfda." + ".".join(path.relative_to(source).with_suffix("").parts))
        for kind in vars(part).values():
            if isinstance(kind, type) and "gather" in vars(kind) and kind.__module__ == part.__name__:
                found.append((kind, "gather"))
    return found


@ALL
def test_the_watch_sees_records_being_read(name: str) -> None:
    """Else the refusals above would show nothing."""
    with Watched() as seen:
        EVERYONE[name].release(None)
    assert seen.reads


@ALL
def test_a_data_set_without_a_budget_is_refused(sqlite_url: str, name: str) -> None:
    ledger = Ledger(sqlite_url)
    ledger.create("another", epsilon=1.0, delta=0.0)
    with pytest.raises(NoBudget, match=DATASET):
        EVERYONE[name].release(ledger)


@ALL
def test_the_same_key_gives_the_same_release_again_and_is_charged_once(ledger: Ledger, name: str) -> None:
    member = EVERYONE[name]
    first, second = (card_of(member.release(ledger.under("a key"))) for _ in range(2))
    assert len(charges(ledger)) == 1
    assert first == second


def through_pickle(est: Any) -> Any:
    return pickle.loads(pickle.dumps(est))


COPIES: dict[str, Callable[[Any], Any]] = {
    "clone": clone,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": through_pickle,
    "clone of a pickle of a copy": lambda est: clone(through_pickle(copy.deepcopy(est))),
}


@FITTED
@pytest.mark.parametrize("how", COPIES, ids=list(COPIES))
def test_fits_of_copies_are_charged_to_the_one_ledger(ledger: Ledger, name: str, how: str) -> None:
    member = ESTIMATORS[name]
    est = member.make(ledger=ledger, dataset=DATASET)
    for number in range(1, 4):
        member.fit(est)
        assert len(charges(ledger)) == number
        est = COPIES[how](est)
    ledger.check()


@FITTED
def test_a_fitted_estimator_can_be_pickled_with_its_ledger(ledger: Ledger, name: str) -> None:
    member = ESTIMATORS[name]
    back = through_pickle(member.release(ledger))
    assert back.ledger.id == ledger.id
    assert len(charges(ledger)) == 1


def test_refits_of_a_search_over_parameters_are_all_charged(ledger: Ledger) -> None:
    """What scikit-learn's searches do: clone, set, fit, in this process and in others."""
    from joblib import Parallel, delayed

    base = dpfda.MeanFunction(epsilon=0.5, delta=1e-7, bound=1.0, size=3, ledger=ledger, dataset=DATASET)
    settings = [1.0, 2.0, 3.0, 4.0]
    for backend in ("sequential", "threading", "loky"):
        before = len(charges(ledger))
        with Parallel(n_jobs=2, backend=backend) as parallel:
            fitted = parallel(delayed(_refit)(base, bound) for bound in settings)
        assert len(charges(ledger)) - before == len(settings)
        assert [est.bound for est in fitted] == settings
    _end_workers()
    ledger.check()


def _refit(est: Any, bound: float) -> Any:
    return clone(est).set_params(bound=bound).fit(CURVES)


def _end_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def test_a_grid_search_charges_every_fit(ledger: Ledger) -> None:
    from everyone import LABELS, POINTS
    from sklearn.model_selection import GridSearchCV

    est = ESTIMATORS["KernelClassifier"].make(ledger=ledger, dataset=DATASET)
    GridSearchCV(est, {"penalty": [0.01, 0.1]}, cv=3).fit(POINTS, LABELS)
    assert len(charges(ledger)) == 2 * 3 + 1


@FITTED
def test_threads_that_fit_at_once_are_charged_each(ledger: Ledger, name: str) -> None:
    member = ESTIMATORS[name]
    est = member.make(ledger=ledger, dataset=DATASET)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: member.fit(clone(est)), range(6)))
    assert len(charges(ledger)) == 6
    ledger.check()


FORKED = """
import os, sys, json
sys.path.insert(0, sys.argv[1])
from everyone import DATASET, EVERYONE
from dpfda.ledger.durable import Ledger
ledger = Ledger(sys.argv[2])
ledger.create(DATASET, epsilon=100.0, delta=1e-5)
for name, member in EVERYONE.items():
    member.release(ledger)
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                member.release(ledger)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children), name
    member.release(ledger)
    print(name, sum(entry.kind == "charge" for entry in ledger.history(DATASET)), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_children_charge_the_ledger_of_their_parent(url: str) -> None:
    """Before and after the fork the parent charges as well; every estimator in turn, four charges each."""
    command = [sys.executable, "-c", FORKED, str(Path(__file__).parent), url]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [f"{name} {4 * (place + 1)}" for place, name in enumerate(EVERYONE)]
    Ledger(url).check()


# Without a ledger.


@FITTED
def test_without_a_ledger_an_estimator_counts_its_own_spend_and_the_card_says_that_nothing_was_recorded(
    name: str,
) -> None:
    member = ESTIMATORS[name]
    est = member.make(dataset=DATASET)
    for number in range(1, 4):
        member.fit(est)
        delta = float(f"{number}e-7") if member.budget.delta else 0.0  # added up as it is typed
        assert est.spent_ == Budget(number * member.budget.epsilon, delta)
    assert "nothing was recorded" in card_of(est).text()
    assert clone(est).spent_ is None


@pytest.mark.parametrize("name", CHOICES, ids=list(CHOICES))
def test_without_a_ledger_the_card_of_a_choice_says_that_nothing_was_recorded(name: str) -> None:
    member = CHOICES[name]
    assert "nothing was recorded" in member.release(None).card.text()


def test_a_private_bandwidth_is_charged_with_its_density_once(ledger: Ledger) -> None:
    from everyone import POINTS

    est = dpfda.DensityFunction(
        epsilon=0.5,
        delta=1e-7,
        domain=[(0.0, 1.0)],
        bandwidth_epsilon=0.25,
        mechanism=GaussianProcess(bandwidth="private-iqr"),
        ledger=ledger,
        dataset=DATASET,
        force=True,
    )
    est.fit(POINTS)
    (entry,) = charges(ledger)
    assert entry.budget.epsilon == pytest.approx(BOTH.epsilon + 0.25)
    assert len(entry.losses) == 2


def test_what_is_drawn_is_what_the_ledger_keeps(ledger: Ledger) -> None:
    """The output that is stored is a function of the integers drawn: fits under a key agree bit for bit."""
    member = ESTIMATORS["MeanFunction"]
    releases = [member.release(ledger.under("k")).release_ for _ in range(3)]
    assert len({release.noisy.tobytes() for release in releases}) == 1
    other = member.release(ledger.under("another")).release_
    assert not np.array_equal(other.noisy, releases[0].noisy)
    assert json.dumps([entry.kind for entry in ledger.history(DATASET)]) == json.dumps(
        ["create", "charge", "output", "charge", "output"]
    )


@ALL
def test_the_address_of_a_ledger_is_a_ledger(ledger: Ledger, sqlite_url: str, name: str) -> None:
    result = EVERYONE[name].release(sqlite_url)
    (entry,) = charges(ledger)
    assert card_of(result).entry.ledger == ledger.id
    assert card_of(result).entry.number == entry.number


@ALL
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "budget.db",
            r"^A ledger is named 'sqlite:///ledger\.db' or 'postgresql://.*, got 'budget\.db'\.$",
        ),
        (7, r"^ledger must be None, an address such as .*, got a int\. Nothing was charged\.$"),
        (Ledger, r"^ledger must be None, an address such as .*, got a type\. Nothing was charged\.$"),
    ],
    ids=["a file", "a number", "a class"],
)
def test_what_is_no_ledger_is_refused(name: str, given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        EVERYONE[name].release(given)
