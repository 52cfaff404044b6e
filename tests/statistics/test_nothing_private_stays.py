"""After a fit nothing alive holds a record: no estimator, release, closure, cache or traceback.

Records are marked by numbers that nothing else has. They are looked for in everything that can be reached from the
estimator, and once for each estimator in everything that the garbage collector knows of in the whole process.
"""

from __future__ import annotations

import gc
import pickle
import sys
import types
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpfda
from dpfda.errors import ReleaseFailed, UsageError
from dpfda.kernels import Gaussian, Matern
from dpfda.mechanisms import ExponentialDraw, GaussianProcess
from dpfda.records.forgetting import forgets_records
from dpfda.statistics.density.online import NoRecords
from dpfda.statistics.maximiser.utilities import SquaredDistance

ROWS = 61
FORCED = {"epsilon": 1.0, "force": True}
BOTH = {**FORCED, "delta": 1e-6}
SMALL = {"bound": 1.0, "size": 3}
LINE = {"domain": [(0.0, 1.0)]}


class Marked(np.ndarray):
    """An array that can be told from all others."""


def marks(width, seed=0):
    """Numbers in (0, 1) with all their digits, as no rule of the package makes them."""
    return np.random.default_rng(seed).uniform(0.05, 0.95, size=(ROWS, width))


def known(table):
    return set(np.asarray(table, dtype=float).ravel().tolist())


def people():
    return {"person": np.arange(ROWS) // 2 + 10**7}


CONTAINERS = {
    "array": lambda table: table.view(Marked),
    "objects": lambda table: table.astype(object),
    "texts": lambda table: table.astype(str),
    "columns first": np.asfortranarray,
    "frame": lambda table: pd.DataFrame(table, columns=[f"t{i}" for i in range(table.shape[1])]),
    "arrow": lambda table: pa.table({f"t{i}": column for i, column in enumerate(table.T)}),
    "polars": lambda table: pl.DataFrame({f"t{i}": column for i, column in enumerate(table.T)}),
    "curves": lambda table: dpfda.records.as_curves(table, grid=None, units=None),
}


def labels():
    return np.arange(ROWS) % 2


MEMBERS = {
    "MeanFunction": lambda: dpfda.MeanFunction(**BOTH, **SMALL),
    "MeanFunction pure": lambda: dpfda.MeanFunction(**FORCED, delta=0.0, bound=1.0),
    "MeanFunction papers": lambda: dpfda.MeanFunction(
        **BOTH, bound=1.0, mechanism=GaussianProcess(kernel=Matern(1.5, 0.3))
    ),
    "CovarianceFunction": lambda: dpfda.CovarianceFunction(**BOTH, **SMALL),
    "FPCA": lambda: dpfda.FPCA(**BOTH, **SMALL, n_components=1),
    "FPCA frames": lambda: dpfda.FPCA(**FORCED, delta=0.0, **SMALL, n_components=1, mechanism="exponential"),
    "Maximiser": lambda: dpfda.Maximiser(
        utility=SquaredDistance(),
        epsilon=0.5,
        bound=1.0,
        mechanism=ExponentialDraw(kernel=Matern(1.5, 0.3)),
        size=2,
        force=True,
    ),
    "FunctionOnScalarRegression": lambda: dpfda.FunctionOnScalarRegression(**BOTH, **SMALL, covariate_limits=[(0, 1)]),
    "DensityFunction": lambda: dpfda.DensityFunction(**BOTH, **LINE),
    "DensityFunction gp": lambda: dpfda.DensityFunction(
        **BOTH, **LINE, mechanism=GaussianProcess(kernel=Matern(1.5, 0.2))
    ),
    "KernelClassifier": lambda: dpfda.KernelClassifier(**BOTH, **LINE, features=5, classes=(0, 1)),
    "KernelRegressor": lambda: dpfda.KernelRegressor(**BOTH, **LINE, features=5, response_bound=1.0),
}


def records_of(name):
    """The tables that a member is fitted to, the one that containers hold first."""
    if name == "FunctionOnScalarRegression":
        return marks(5), marks(1, seed=1)
    if name.startswith("Density"):
        return (marks(1),)
    if name == "KernelClassifier":
        return marks(1), labels()
    if name == "KernelRegressor":
        return marks(1), marks(1, seed=1)[:, 0]
    return (marks(5),)


def fitted(name, est, container="array"):
    """A fit to marked records, none of which is referred to by anybody afterwards; and their numbers."""
    first, *rest = records_of(name)
    values = known(first) | (known(rest[0]) if rest and rest[0].dtype == float else set())
    held = CONTAINERS[container](first.copy())
    alive = weakref.ref(held)
    units = None if container == "curves" else people()
    if name == "FunctionOnScalarRegression":
        est.fit(rest[0], held, units=units)
    elif rest:
        est.fit(held, rest[0], units=units)
    else:
        est.fit(held, units=units)
    del held
    return est, values, alive


def referents(thing):
    if isinstance(thing, types.FunctionType):
        cells = [cell for cell in thing.__closure__ or () if cell != types.CellType()]
        return [*(cell.cell_contents for cell in cells), thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
    found = gc.get_referents(thing)
    return [*found, thing.base] if isinstance(thing, np.ndarray) and thing.base is not None else found


def reachable(start):
    """Everything that can be reached, but for modules, classes and the globals of functions."""
    seen, waiting = {}, [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) not in seen and not isinstance(thing, types.ModuleType | type):
            seen[id(thing)] = thing
            waiting.extend(referents(thing))
    return seen.values()


def anywhere():
    """Everything that the garbage collector knows of, and what that refers to."""
    known_of = gc.get_objects()
    return [*known_of, *gc.get_referents(*known_of)]


def holders(things, values):
    """What of these holds one of the marked numbers, in whatever form."""
    ordered = np.sort(np.array(list(values)))
    some = ordered[:3].tolist()
    raw = [np.float64(value).tobytes() for value in some]
    found = []
    for thing in things:
        if isinstance(thing, float):
            held = thing in values
        elif isinstance(thing, np.ndarray) and thing.dtype == np.float64:
            few = thing.size < 500
            held = not values.isdisjoint(thing.ravel().tolist()) if few else bool(np.isin(thing, ordered).any())
        elif isinstance(thing, np.ndarray) and thing.dtype == object:
            held = any(isinstance(cell, float) and cell in values for cell in thing.ravel().tolist())
        elif isinstance(thing, bytes | bytearray):
            held = any(each in thing for each in raw)
        elif isinstance(thing, str):
            held = len(thing) < 10**5 and any(repr(value) in thing for value in some)
        else:
            read = isinstance(thing, dpfda.Curves) and isinstance(thing.source, NoRecords)
            held = isinstance(thing, dpfda.Curves | dpfda.Curator | Marked) and not read
        if held:
            found.append(type(thing))
    return found


HOLDERS = (np.ndarray, dpfda.Curves, dpfda.Curator)


@pytest.fixture
def fresh_heap():
    """Collections look at what is made from here on: all that a run has imported takes a tenth of a second each."""
    gc.freeze()
    yield
    gc.unfreeze()


READERS = ("MeanFunction", "FunctionOnScalarRegression", "DensityFunction gp", "KernelClassifier")


@pytest.mark.parametrize(
    ("name", "container"),
    [(name, container) for name in MEMBERS for container in (CONTAINERS if name in READERS else ["array", "frame"])],
)
@pytest.mark.usefixtures("fresh_heap")
def test_no_record_can_be_reached_from_what_was_fitted(name, container):
    est, values, alive = fitted(name, MEMBERS[name](), container)
    gc.collect()
    assert alive() is None
    assert holders(reachable(est), values) == []
    release = est.release_
    assert est.holds_ == ""
    assert holders(reachable((est, release)), values) == []
    assert holders([pickle.dumps(est), pickle.dumps(release), repr(est)], values) == []


def test_no_record_is_anywhere_in_the_process_after_fits():
    """Caches of modules, threads and frames included; single numbers and texts are looked for above.

    What other tests keep is left out. It is held until the end, so that nothing new has the address of something old.
    """
    gc.collect()
    before = [thing for thing in anywhere() if isinstance(thing, HOLDERS)]
    old = {id(thing) for thing in before}
    made = [fitted(name, MEMBERS[name]()) for name in MEMBERS]
    gc.collect()
    assert [alive() for _, _, alive in made] == [None] * len(made)
    values = set().union(*(values for _, values, _ in made))
    new = {id(thing): thing for thing in anywhere() if isinstance(thing, HOLDERS) and id(thing) not in old}
    assert holders(new.values(), values) == []


def test_the_search_finds_what_is_hidden():
    table = marks(2)
    values = known(table)
    hidden = {"a": [lambda: table[3]]}
    assert holders(reachable(hidden), values)
    assert holders(reachable((table[2:5].T,)), values)
    assert holders([table.tobytes(), str(table.tolist()), table.astype(object)], values) == [bytes, str, np.ndarray]
    assert holders((thing for thing in anywhere() if isinstance(thing, np.ndarray)), values)


# What waits for its noise.


def test_a_density_that_waits_holds_sums_over_cells_and_says_so_until_it_is_drawn():
    est, values, alive = fitted("DensityFunction gp", MEMBERS["DensityFunction gp"]())
    assert alive() is None
    assert est.holds_.startswith("what all records add up to in each of ")
    assert "until release_ or open() asks for it" in est.holds_
    assert holders(reachable(est), values) == []
    assert "Held" not in repr(est)
    est.release_  # noqa: B018
    assert (est.holds_, est._held) == ("", None)


def exact(**wishes):
    return dpfda.KernelClassifier(
        **BOTH, domain=[(0.0, 1.0)], classes=(0, 1), mechanism="gp", kernel=Gaussian(0.3), features=None, **wishes
    )


def test_an_exact_machine_says_what_it_holds_and_its_oracle_erases_it():
    est, values, alive = fitted("KernelClassifier", exact())
    assert alive() is None
    assert est.holds_ == (
        "the points of all records and their weights, without noise, until open() or predict() hands them to an oracle"
    )
    assert holders(reachable(est), values), "it must hold them: they are the function"
    oracle = est.open()
    assert est._held.sections is None
    assert oracle.holds
    assert est.holds_.endswith("in its oracle, until open().close()")
    oracle([[0.5], [0.25]])
    assert "holds the exact function in memory" in oracle.certificate.text().replace("\n  ", " ")
    oracle.close()
    assert est.holds_ == ""
    gc.collect()
    assert holders(reachable((est, oracle)), values) == []


@pytest.mark.parametrize("name", ["DensityFunction gp", "KernelClassifier"])
def test_an_attempt_to_open_that_fails_erases_what_was_held(name, monkeypatch):
    est, values, _ = fitted(name, exact() if name == "KernelClassifier" else MEMBERS[name]())
    monkeypatch.setattr("dpfda.statistics.pending.open_online", interrupted)
    with pytest.raises(KeyboardInterrupt) as found:
        est.open()
    assert est.holds_ == ""
    assert holders(reachable((est, *frames_of(found.value))), values) == []
    with pytest.raises(UsageError, match="given out already"):
        est.open()


def test_a_refit_with_another_mechanism_lets_go_of_what_was_held():
    est, values, _ = fitted("KernelClassifier", exact())
    fitted("KernelClassifier", est.set_params(mechanism="gaussian", features=5))
    assert est.holds_ == ""
    assert holders(reachable(est), values) == []


# Errors.


def interrupted(*arguments, **options):
    raise KeyboardInterrupt


def broken(*arguments, **options):
    raise ArithmeticError(f"about {arguments!r}")


def frames_of(error):
    """The local variables of all frames of an error and of what it came from, but for those of this module."""
    found, waiting = [], [error]
    while waiting:
        error = waiting.pop()
        if error is None:
            continue
        found += [error.args, error.__dict__]
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename != __file__:
                found.append(dict(trace.tb_frame.f_locals))
            trace = trace.tb_next
        waiting += [error.__cause__, error.__context__]
    return found


FAILURES = {
    "in the middle of reading": ("dpfda.records.memory.ArraySource.batches", broken, ReleaseFailed),
    "interrupted": ("dpfda.records.memory.ArraySource.batches", interrupted, KeyboardInterrupt),
    "while it is charged": ("dpfda.ledger.session.OwnSpend.charge", broken, ArithmeticError),
    "interrupted while it is stored": ("dpfda.ledger.session.OwnSpend.store", interrupted, KeyboardInterrupt),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", MEMBERS)
def test_no_traceback_holds_a_record_or_a_sum(name, failure, monkeypatch):
    where, broken_by, error = FAILURES[failure]
    monkeypatch.setattr(where, broken_by)
    values = known(records_of(name)[0])
    est = MEMBERS[name]()
    try:
        fitted(name, est)
        est.release_  # noqa: B018
    except BaseException as raised:
        found = raised
    assert type(found) is error
    left = frames_of(found)
    assert holders(reachable((est, *left)), values) == []
    assert not [thing for thing in reachable(left) if isinstance(thing, np.ndarray) and _is_vector(thing)]
    assert sys.exc_info() == (None, None, None)


def _is_vector(array):
    """Sums and draws are vectors of 64-bit integers; public tables are not."""
    return array.dtype == np.int64 and array.ndim == 1


@pytest.mark.parametrize("choice", ["bound", "choice"])
@pytest.mark.parametrize("failure", ["in the middle of reading", "interrupted"])
def test_no_traceback_of_a_private_choice_holds_a_record(choice, failure, monkeypatch):
    where, broken_by, error = FAILURES[failure]
    monkeypatch.setattr(where, broken_by)
    table = marks(5)
    settings = [dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, mechanism="frl", size=size) for size in (1, 2)]
    with pytest.raises(error) as found:  # noqa: PT012
        if choice == "bound":
            dpfda.private_bound(table, epsilon=1.0, quantile=0.9, candidates=(0.1, 10.0))
        else:
            dpfda.private_choice(table, epsilon=1.0, candidates=settings)
    assert holders(reachable(frames_of(found.value)), known(table)) == []


@pytest.mark.parametrize("name", MEMBERS)
def test_no_traceback_of_a_refusal_holds_a_record(name):
    values = known(records_of(name)[0])
    try:
        fitted(name, MEMBERS[name]().set_params(epsilon=-1.0))
    except UsageError as raised:
        found = raised
    assert holders(reachable(frames_of(found)), values) == []


def test_tracebacks_keep_their_files_and_lines_and_lose_their_locals():
    @forgets_records
    def reads(table):
        inside = table * 2
        try:
            raise KeyError("inner")
        except KeyError:
            raise ValueError("outer") from ZeroDivisionError(str(len(inside)))

    with pytest.raises(ValueError, match="outer") as found:
        reads(marks(2))
    names = [entry.name for entry in found.traceback]
    assert names[-1] == "reads"
    inner = found.value.__traceback__
    while inner.tb_next is not None:
        inner = inner.tb_next
    assert inner.tb_frame.f_locals == {}
    assert reads.__name__ == "reads"


def test_an_error_that_the_caller_handles_keeps_its_locals():
    def parses():
        mine = "mine"
        raise ValueError(mine)

    try:
        try:
            parses()
        except ValueError:
            MEMBERS["MeanFunction"]().set_params(epsilon=-1.0).fit(marks(5))
    except UsageError as raised:
        found = raised
    assert found.__context__.__traceback__.tb_next.tb_frame.f_locals == {"mine": "mine"}
