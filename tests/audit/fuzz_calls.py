"""Random calls of the Python interface: which functions, with which values, and what may come of them."""

from __future__ import annotations

import contextlib
import inspect
import resource
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_files import write_files
from fuzz_values import (
    BASES,
    COVARIATES,
    CURVE_DATA,
    CURVES,
    IDS,
    KERNELS,
    LABELS,
    MECHANISMS,
    POINTS,
    T,
    odd,
    valid,
)
from matplotlib import pyplot
from sklearn.base import BaseEstimator

import dpfda
from dpfda import bases, kernels, mechanisms
from dpfda.errors import DpfdaError, DpfdaWarning
from dpfda.mechanisms import GaussianProcess

LIMIT = 20  # seconds of the processor that a case may take
SWELL = 1_000_000  # kilobytes by which one case may make the process larger

# What stands in the signatures for other parts of the package, under checks of their own, and what only copies.
INNER = {
    "breaks",
    "burn",
    "charge",
    "facts",
    "from_dict",
    "from_plain",
    "functions",
    "get_metadata_routing",
    "get_params",
    "plan_for",
    "project",
    "quote",
    "set_params",
    "store",
    "to_plain",
    "to_fdatagrid",
    "unit_functions",
    "at",
    "at_distance",
    "at_nodes",
    "summed",
    "to_unit",
}
SLOW = {"plot", "to_frame"}


class TooLong(BaseException):
    """A case that did not end in time; nothing may catch it."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """An end to what does not end by itself: so much time of the processor, and much more of waiting.

    The processor's time, so that a busy machine makes no case fail.
    """

    def stop(*_: Any) -> None:
        raise TooLong

    before = [signal.signal(kind, stop) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for kind, former in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(kind, former)


@dataclass
class Tally:
    """What came of all cases."""

    cases: int = 0
    reached: int = 0  # ended with a release, or with an answer from one
    refused: int = 0
    slowest: float = 0.0
    slowest_case: str = ""
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, case: str, seconds: float, fault: str | None) -> None:
        self.cases += 1
        if seconds > self.slowest:
            self.slowest, self.slowest_case = seconds, case
        if fault is not None:
            self.faults[fault] += 1
            self.examples.setdefault(fault, case)

    def text(self) -> str:
        share = self.reached / max(self.cases, 1)
        lines = [
            f"{self.cases} cases, {self.reached} ({share:.1%}) reached a release, {self.refused} were refused, "
            f"slowest {self.slowest:.2f} s: {self.slowest_case}"
        ]
        lines += [f"{count} x {fault}\n      {self.examples[fault]}" for fault, count in self.faults.most_common()]
        return "\n".join(lines)


def shown(value: Any) -> str:
    """A value in few words."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return " ".join(text.split())[:90]


def written(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={shown(value)}' for key, value in arguments.items())})"


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """What a function takes, but for itself and open-ended ones."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one for one in found if one.name != "self" and one.kind not in open_ended and not one.name.startswith("_")]


class Caller:
    """One seeded series of calls."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = np.random.default_rng(seed)
        self.folder = folder
        self.files = write_files(folder)
        self.tally = Tally()
        self.estimators = sorted(
            name
            for name in dpfda.__all__
            if inspect.isclass(getattr(dpfda, name)) and issubclass(getattr(dpfda, name), BaseEstimator)
        )
        self.fitted: dict[str, list[Any]] = {}
        for name in self.estimators:
            for _ in range(3):
                est = getattr(dpfda, name)(**self.sound(name))
                self.fitted.setdefault(name, []).append(est.fit(**self.records(name)))
        self.ledgers = 0
        self.ledger = self.new_ledger()
        self.actions: list[tuple[float, Callable[[], tuple[str, Callable[[], Any], bool]]]] = [
            (20, self.fit),
            (60, self.ask),
            (6, self.plan),
            (6, self.kernel),
            (7, self.basis),
            (5, self.mechanism),
            (4, self.function),
            (4, self.file),
            (4, self.book),
        ]

    def new_ledger(self) -> dpfda.Ledger:
        self.ledgers += 1
        made = dpfda.Ledger(f"sqlite:///{self.folder}/ledger{self.ledgers}.db")
        made.create("scans", epsilon=1e4, delta=1e-3, unit=None)
        return made

    def some(self, options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def sound(self, name: str) -> dict[str, Any]:
        """Parameters under which an estimator of this name can be fitted on few records."""
        taken = {one.name for one in parameters(getattr(dpfda, name))}
        said: dict[str, Any] = {
            "epsilon": 1e3,
            "delta": 1e-6,
            "bound": 1.0,
            "domain": (0.0, 1.0),
            "covariate_limits": [(-1, 1), (-1, 1)],
            "response_bound": 1.0,
            "utility": valid(self.rng, "utility"),
            "force": True,
            "size": 5,
            "n_components": 2,
            "features": 4,
            "penalty": 0.1,
        }
        if name == "Maximiser":
            said["epsilon"] = 5.0
        if name == "PerturbedFunction":
            said |= {"sensitivity": 0.1, "kernel": dpfda.kernels.Matern(1.5, 0.2)}
        if "features" not in taken:
            del said["penalty"]
        return {key: value for key, value in said.items() if key in taken}

    def records(self, name: str) -> dict[str, Any]:
        """Records that fit an estimator."""
        taken = {one.name for one in parameters(getattr(dpfda, name).fit)}
        if "Z" in taken:
            return {"Z": valid(self.rng, "Z"), "Y": self.some(CURVE_DATA), "grid": T}
        if "f" in taken:
            return self.some([{"f": np.cos}, {"f": np.cos(T), "grid": T}, {"f": np.arange(5.0)}])
        if "grid" in taken:
            return {"X": self.some(CURVE_DATA), "grid": T}
        points = self.some([POINTS, POINTS[:, None], POINTS.tolist()])
        if name == "KernelClassifier":
            return {"X": POINTS[:, None], "y": self.some([LABELS, LABELS.tolist(), LABELS.astype(bool)])}
        if name == "KernelRegressor":
            return {"X": POINTS[:, None], "y": self.some([POINTS, POINTS.tolist()])}
        return {"X": points}

    def filled(
        self, function: Callable[..., Any], given: dict[str, Any], *, optional: float, oddly: float
    ) -> dict[str, Any]:
        """Arguments for a function: what is given, what it requires, some of what it may take, oddly at times."""
        found = dict(given)
        for one in parameters(function):
            if one.name not in found and (one.default is inspect.Parameter.empty or self.rng.random() < optional):
                found[one.name] = valid(self.rng, one.name)
        if found and self.rng.random() < oddly:
            for _ in range(self.some([1, 1, 1, 2, 3])):
                name = self.some(list(found))
                if name not in ("ax", "axes", "figure"):  # of matplotlib, which says itself what it takes
                    found[name] = odd(self.rng, name)
        return found

    def fit(self) -> tuple[str, Callable[[], Any], bool]:
        name = self.some(self.estimators)
        form = getattr(dpfda, name)
        made = self.filled(form, self.sound(name), optional=0.06, oddly=0.45)
        data = self.filled(form.fit, self.records(name), optional=0.1, oddly=0.2)
        if "y" in data and name not in ("KernelClassifier", "KernelRegressor") and self.rng.random() < 0.95:
            data["y"] = None

        def call() -> Any:
            est = form(**made).fit(**data)
            # Machines with process noise answer at points, and have no release as a whole.
            release = est.release_ if hasattr(est, "release_") else est.predict([[0.5]])
            if hasattr(est, "release_") and self.rng.random() < 0.05:
                self.fitted[name][self.rng.integers(3)] = est
            return release

        return f"{written(name, made)}.fit({', '.join(f'{k}={shown(v)}' for k, v in data.items())})", call, True

    def ask(self) -> tuple[str, Callable[[], Any], bool]:
        """Something of a fitted estimator, of its release, of its card, or of a part of the release."""
        est = self.some(self.fitted[self.some(self.estimators)])
        release = est.release_
        target = self.some([est, release, release, release, release, release, release.certificate])
        if self.rng.random() < 0.3:
            parts = [getattr(release, part, None) for part in ("function", "mean", "mesh")]
            parts += list(getattr(release, "components", ()) if not callable(getattr(release, "components", 0)) else ())
            parts = [part for part in parts if part is not None and not inspect.ismethod(part)]
            target = self.some(parts) if parts else target
        return self.method(target, oddly=0.3)

    def method(self, target: Any, *, oddly: float, reaches: bool = True) -> tuple[str, Callable[[], Any], bool]:
        """A public method or property of an object."""
        form = type(target)
        names = [
            name
            for name in dir(form)
            if (not name.startswith("_") or name == "__call__")
            and name not in INNER
            and not (name.startswith("set_") and name.endswith("_request"))
            and not (name in SLOW and self.rng.random() < 0.97)
            and name not in ("fit", "open", "release_", "fit_predict")
        ]
        name = self.some([name for name in names if hasattr(form, name)])
        what = f"{form.__name__}.{name}"
        if name == "predict_proba" and not hasattr(target, name):
            return what, lambda: None, False
        found = inspect.getattr_static(form, name)
        if not callable(found) and not isinstance(found, staticmethod | classmethod):
            return what, lambda: getattr(target, name, None), reaches
        try:
            function = getattr(target, name)
        except AttributeError:
            return f"{form.__name__} has no {name} now", lambda: None, False
        if name == "save":
            path = self.some([self.folder / "saved.json", str(self.folder / "saved.json")])
            if self.rng.random() < 0.3:
                path = self.some(
                    [self.folder, "/no/such/folder/x", "", "\x00", None, 3, b"x", self.folder / ("x" * 300)]
                )
            return f"{what}({path!r})", lambda: function(path), reaches
        given: dict[str, Any] = {}
        taken = {one.name for one in parameters(function)}
        if name in ("predict", "decision_function", "predict_proba", "score", "score_samples") and "X" in taken:
            given["X"] = self.some([[[0.5]], POINTS[:, None], [[0.1], [0.9]]])
            if "y" in taken:
                given["X"], given["y"] = POINTS[:, None], LABELS
        if name == "sample":
            given["size"] = self.some([1, 5, 100])
            if self.rng.random() < 0.1:
                given["size"] = self.some([10**12, 2**70, 0, -1, 1.5, None, "3", True, np.int64(4), 10**400])
        if name == "scores":
            given |= {"values": CURVES, "grid": T}
        if name == "curves" and "scores" not in taken:
            given["values"] = COVARIATES
        if name == "predict" and "values" in taken:
            given["values"] = COVARIATES
        arguments = self.filled(function, given, optional=0.4, oddly=oddly)
        return written(what, arguments), lambda: function(**arguments), reaches

    def plan(self) -> tuple[str, Callable[[], Any], bool]:
        name = self.some(self.estimators)
        form = getattr(dpfda, name)
        made = self.filled(form, self.sound(name), optional=0.05, oddly=0.3)
        asked = self.filled(form.plan, {}, optional=0.4, oddly=0.3)
        if name == "FunctionOnScalarRegression":
            asked.setdefault("covariates", 2)

        def call() -> Any:
            plan = form(**made).plan(**asked)
            if self.rng.random() < 0.5:
                plan.text(), plan.to_dict()
            else:
                self.method(plan, oddly=0.4)[1]()
            return plan

        return f"{written(name, made)}.plan({', '.join(f'{k}={shown(v)}' for k, v in asked.items())})", call, False

    def kernel(self) -> tuple[str, Callable[[], Any], bool]:
        if self.rng.random() < 0.5:
            return self.method(self.some(KERNELS), oddly=0.6, reaches=False)
        names = [
            name
            for name in kernels.__all__
            if callable(getattr(kernels, name)) and not inspect.isabstract(getattr(kernels, name))
        ]
        name = self.some(names)
        function = getattr(kernels, name)
        arguments = self.filled(function, {}, optional=0.5, oddly=0.6)

        def call() -> Any:
            made = function(**arguments)
            return made([0.0, 0.5], [0.25]) if isinstance(made, kernels.Kernel) else made

        return written(name, arguments), call, False

    def basis(self) -> tuple[str, Callable[[], Any], bool]:
        if self.rng.random() < 0.5:
            return self.method(self.some(BASES), oddly=0.5, reaches=False)
        names = [
            name
            for name in bases.__all__
            if callable(getattr(bases, name)) and not inspect.isabstract(getattr(bases, name))
        ]
        name = self.some(names)
        function = getattr(bases, name)
        if name == "tensor":
            factors = [self.some(BASES) for _ in range(self.some([1, 2, 2, 3]))]
            if self.rng.random() < 0.3:
                factors[0] = odd(self.rng, "basis")
            size = self.some([None, 3, 5]) if self.rng.random() < 0.7 else odd(self.rng, "size")
            return f"tensor({shown(factors)}, size={shown(size)})", lambda: function(*factors, size=size), False
        arguments = self.filled(
            function, {"size": self.some([3, 5])} if _takes(function, "size") else {}, optional=0.3, oddly=0.6
        )
        if arguments.get("kernel", 0) is None:
            arguments["kernel"] = self.some(KERNELS)
        return written(name, arguments), lambda: function(**arguments), False

    def mechanism(self) -> tuple[str, Callable[[], Any], bool]:
        if self.rng.random() < 0.5:
            return self.method(self.some(MECHANISMS), oddly=0.5, reaches=False)
        names = [
            name
            for name in mechanisms.__all__
            if name not in ("Mechanism", "Randomness")
            and callable(getattr(mechanisms, name))
            and not inspect.isabstract(getattr(mechanisms, name))
        ]
        name = self.some(names)
        function = getattr(mechanisms, name)
        given: dict[str, Any] = {}
        if name in ("draw_frames", "draw_projected", "gibbs_frames"):
            given = {"size": self.some([1, 2])}
            if name == "draw_projected":
                given |= {"A": np.diag([5.0, 2.0, 1.0]), "precision": np.eye(3)}
        arguments = self.filled(function, given, optional=0.3, oddly=0.5)
        return written(name, arguments), lambda: function(**arguments), False

    def function(self) -> tuple[str, Callable[[], Any], bool]:
        name = self.some(["private_bound", "private_choice", "Budget", "Unit", "Domain", "as_domain"])
        if name == "as_domain":
            value = odd(self.rng, "domain")
            return f"as_domain({shown(value)})", lambda: bases.as_domain(value), False
        function = getattr(dpfda, name)
        given: dict[str, Any] = {}
        if name == "private_bound":
            given = {"X": self.some(CURVE_DATA), "candidates": self.some([(0.01, 100.0), (0.1, 1.0, 3.0)]), "grid": T}
        if name == "private_choice":
            listed = [
                dpfda.MeanFunction(
                    epsilon=1.0, delta=1e-6, bound=1.0, mechanism=GaussianProcess(kernel=KERNELS[1], penalty=p)
                )
                for p in (0.01, 0.1)
            ]
            given = {"X": self.some(CURVE_DATA), "candidates": listed, "grid": T}
        if name == "Unit":
            given = {"name": "person"}
        arguments = self.filled(function, given, optional=0.1, oddly=0.4)
        return written(name, arguments), lambda: function(**arguments), name.startswith("private")

    def file(self) -> tuple[str, Callable[[], Any], bool]:
        name = self.some(["read_curves", "read_curves", "load", "open_store"])
        path = self.some(self.files[name])
        if self.rng.random() < 0.05:
            path = odd(self.rng, "path")
        if name != "read_curves":
            function = getattr(dpfda, name)
            return f"{name}({shown(path)})", lambda: function(path), name == "load"
        given = {"path": path, "values": self.some(["t*", None, "t0,t1"]), "unit": self.some(["id", None])}
        arguments = self.filled(dpfda.read_curves, given, optional=0.2, oddly=0.3)

        def call() -> Any:
            curves = dpfda.read_curves(**arguments)
            extra = {"force": True} if _takes(dpfda.MeanFunction, "force") else {}
            return dpfda.MeanFunction(epsilon=1e3, delta=1e-6, bound=1.0, **extra).fit(curves).release_

        return written(name, arguments), call, True

    def book(self) -> tuple[str, Callable[[], Any], bool]:
        """Something of a ledger, or a release that is charged to it."""
        if self.rng.random() < 0.02 or self.ledgers > 40:
            self.ledger.close()
            self.ledger = self.new_ledger()
        kind = self.rng.random()
        if kind < 0.4:
            made = self.sound("MeanFunction") | {"ledger": self.ledger, "dataset": "scans", "epsilon": 0.5}
            made |= {"dataset": odd(self.rng, "dataset")} if self.rng.random() < 0.2 else {}
            key = self.some([None, "a", "b", *([odd(self.rng, "key")] if self.rng.random() < 0.2 else [])])

            def call() -> Any:
                ledger = self.ledger if key is None else self.ledger.under(key)
                return dpfda.MeanFunction(**made | {"ledger": ledger}).fit(CURVES, grid=T, units=IDS).release_

            return f"{written('MeanFunction', made)} under {shown(key)}", call, True
        if kind < 0.5:
            url = self.some([f"sqlite:///{path}" for path in self.files["open_store"]] + [odd(self.rng, "url")])
            return f"Ledger({shown(url)})", lambda: dpfda.Ledger(url).datasets(), False
        case, call, _ = self.method(self.ledger, oddly=0.5, reaches=False)
        return (
            (case, lambda: None, False)
            if case.startswith(("Ledger.close", "Ledger.start_anchor"))
            else (case, call, False)
        )

    def run(self, cases: int) -> Tally:
        """So many calls; every one ends with a value or one of our errors, in time and in bounds."""
        weights = np.array([weight for weight, _ in self.actions])
        chosen = self.rng.choice(len(self.actions), size=cases, p=weights / weights.sum())
        for number in chosen:
            case, call, reaches = self.actions[number][1]()
            self.one(case, call, reaches)
            pyplot.close("all")  # of many open figures matplotlib warns
        return self.tally

    def one(self, case: str, call: Callable[[], Any], reaches: bool) -> None:
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        fault = None
        try:
            with warnings.catch_warnings(), limited(LIMIT):
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", DpfdaWarning)  # that no classes were stated, or that a search spends
                call()
            self.tally.reached += reaches
        except DpfdaError:
            self.tally.refused += 1
        except TooLong:
            fault = f"TooLong: {case.partition('(')[0]}"
        except Exception as error:
            fault = f"{where(error)}: {type(error).__name__}"
            case = f"{str(error)[:150]}\n      {case}"
        seconds = time.process_time() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if grown > SWELL:
            fault = f"{fault or ''} grew by {grown // 1000} MB"
        self.tally.add(case, seconds, fault)


def where(error: BaseException) -> str:
    """The last line of ours that an error came from."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/dpfda/" in file:
            place = f"{file.rpartition('/dpfda/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _takes(function: Callable[..., Any], name: str) -> bool:
    return any(one.name == name for one in parameters(function))
