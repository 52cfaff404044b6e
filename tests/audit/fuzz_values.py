"""Values for fuzzed calls: valid ones by the name of a parameter, values at the edge, and rubbish of every type."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import dpfda
from dpfda import bases, kernels, mechanisms
from dpfda.planning import SmoothnessClass
from dpfda.privacy.norms import L2, Sensitivity
from dpfda.statistics.maximiser.utilities import RobustDistance, SquaredDistance

NAN, INF = math.nan, math.inf
T = np.linspace(0.0, 1.0, 7)
PEOPLE = 12
RNG = np.random.default_rng(5)
CURVES = 0.3 * np.sin(np.pi * T) + 0.1 * RNG.normal(size=(PEOPLE, 7))
COVARIATES = RNG.uniform(-1, 1, (PEOPLE, 2))
POINTS = RNG.uniform(0, 1, PEOPLE)
LABELS = np.arange(PEOPLE) % 2
IDS = [f"p{number // 2}" for number in range(PEOPLE)]
COLUMNS = [f"t{number}" for number in range(7)]
FRAME = pd.DataFrame(CURVES, columns=COLUMNS).assign(id=IDS)


class Boom(Exception):
    """What a public function of a careless user raises."""


def raises(*values: Any) -> Any:
    raise Boom("a public function failed")


def endless(*values: Any) -> Any:
    return endless(*values)


class Strange:
    """An object that refuses whatever is asked of it."""

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise Boom("no array")

    def __float__(self) -> float:
        raise Boom("no number")

    def __repr__(self) -> str:
        return "Strange()"


class Mute(mechanisms.Laplace):
    """A mechanism of a user's own whose profile fails."""

    def profile(self, *arguments: Any, **options: Any) -> Any:
        raise Boom("no profile")


class BadKernel(kernels.Kernel):
    """A kernel of a user's own that fails."""

    def __call__(self, s: Any, t: Any) -> Any:
        raise Boom("no kernel")


class Flat(kernels.Kernel):
    """A kernel of a user's own that returns no matrix."""

    def __call__(self, s: Any, t: Any) -> Any:
        return "flat"


RUBBISH: list[Any] = [
    None, "", "x", "auto", "\x00", "\ud800", b"x", [], {}, (), set(), object(), int, raises, endless,
    lambda *values: "text", lambda *values: None, lambda *values: NAN, lambda *values: 1j,
    lambda *values: [[1], [2, 3]],
    NAN, INF, -INF, True, False, 0, -1, 1, 2, 10**400, -(10**400), 2**70, 2**31, 1e300, -1e300, 1e-300, 5e-324, 0.5,
    Fraction(1, 3), Decimal("0.5"), Decimal("NaN"), Decimal("1e500"), 1j, np.float64(NAN), np.float32(0.5),
    np.int8(3), np.uint64(2**63), np.bool_(True), np.str_("a"), np.array([]), np.array("x"), np.array(0.5),
    np.array([0.1, 0.2]), np.array(["a", "b"]), np.array([1j, 0.2]), np.array([[0.1, 0.2], [0.3, 0.4]]),
    np.zeros((0, 3)), np.zeros((2, 2, 2)), np.datetime64("2020-01-01"), np.timedelta64(1, "D"),
    np.datetime64("NaT", "s"),
    np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), np.array([1, 2], dtype="timedelta64[s]"),
    [[1, 2], [3]], [[[[[[1]]]]]], [None, 1], ["a", 2], [1, "2"], {"a": 1}, {1: [2]}, range(3), iter([1, 2]), (1, 2, 3),
    (0, 1), (1.0, 0.0), (NAN, 1), (0, INF), [10**400], [object()], [0.0, 0.5, 1.0], [True, False], pd.NA, pd.NaT, None,
    pd.Timestamp("2020-01-01"), pd.Series([0.1, 0.2]), pd.Series(["a", "b"]), pd.Series([1, 2]).astype("category"),
    pd.to_datetime(pd.Series(["2020-01-01"])), pd.DataFrame(), FRAME, datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1), datetime.timedelta(1), np.ma.masked, np.ma.array([0.1, 0.2], mask=[True, False]),
    pl.Series([0.1, 0.2]), pl.DataFrame({"a": [1.0]}), pa.array([0.1, None]), pa.table({"a": [1.0]}), Strange(),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), np.array([object(), 1], dtype=object), Path("x"),
    -0.0, 1e15,
    slice(0, 1), ..., NotImplemented, memoryview(b"abc"), bytearray(b"ab"), frozenset({1}), "0.5", "nan", "1e400", "é",
]  # fmt: skip

DOMAINS: list[Any] = [(0.0, 1.0), (0, 1), [(0.0, 1.0)], dpfda.Domain(((0.0, 1.0),)), np.array([0.0, 1.0])]
ODD_DOMAINS: list[Any] = [
    (0, 1e-300), (-1e308, 1e308), (1e-320, 1), (0, 5e-324), (1e100, 1.1e100), (-1e100, 1e100), (1, 1 + 1e-16), "0,1",
    [(0, 1), (0, 2)], [(0, 1)] * 3, [(0, 1)] * 40, (0, 1e-90), (1e15, 1e15 + 1), ("0", "1"), (0, 1, 2), [(0, 1), 2],
    (None, 1), (True, False), (False, True), (1j, 2), (np.datetime64("2020"), np.datetime64("2021")), (0, 10**400),
    (-1.0, 2.0),
]  # fmt: skip
KERNELS: list[Any] = [
    kernels.Gaussian(0.1), kernels.Matern(1.5, 0.3), kernels.Exponential(0.5), kernels.BrownianMotion(),
    kernels.Sobolev(1), kernels.Periodic(0.5, 1.0), kernels.RationalQuadratic(0.3, 1.0),
    kernels.Gaussian(0.3) + kernels.Exponential(1.0), 2.0 * kernels.Matern(2.5, 0.5),
]  # fmt: skip
BASES: list[Any] = [
    bases.cosine((0, 1), 5), bases.fourier((0, 1), 5), bases.legendre((0, 1), 4), bases.bspline((0, 1), 6),
    bases.bernstein((0, 1), 5), bases.reinsch((0, 1), 5), bases.equal_steps((0, 1), 4), bases.beam((0, 1), 4),
    bases.mercer(kernels.Matern(1.5, 0.3), (0, 1), 5), bases.landmarks(kernels.Gaussian(0.2), (0, 1), size=4),
    bases.tensor(bases.cosine((0, 1), 3), bases.cosine((0, 1), 3)),
    bases.fourier_features(kernels.Gaussian(0.2), (0, 1), 4),
    bases.combined(bases.cosine((0, 1), 4), np.eye(4)[:2]), bases.mercer_features(kernels.Matern(1.5, 0.3), (0, 1), 4),
]  # fmt: skip
MECHANISMS: list[Any] = [mechanisms.Gaussian(), mechanisms.Laplace(), mechanisms.KNorm((2,), (1.0,))]
ON_LINE: list[Any] = [0.5, 0, [0.0, 0.5, 1.0], T, T[:, None], [[0.25]], (0.1, 0.9), np.float32(0.5), range(2), []]
CURVE_DATA: list[Any] = [
    CURVES, CURVES.tolist(), FRAME[COLUMNS], pl.DataFrame(CURVES, schema=COLUMNS),
    pa.table(dict(zip(COLUMNS, CURVES.T, strict=True))), CURVES.astype(np.float32), np.asfortranarray(CURVES),
    np.ma.array(CURVES, mask=CURVES > 0.4), CURVES.astype(object), np.where(CURVES > 0.4, NAN, CURVES),
    FRAME[COLUMNS].astype("float64[pyarrow]"),
]  # fmt: skip
ODD_CURVE_DATA: list[Any] = [
    CURVES.astype(str), CURVES * 1e308, CURVES + 1j, CURVES[:, 0], CURVES[:0], CURVES[:, :0], CURVES[None],
    CURVES.astype("datetime64[s]"), CURVES.astype("timedelta64[s]"), FRAME, FRAME[COLUMNS].astype(str),
    np.full((4, 7), "word"), np.full((4, 7), None), FRAME[COLUMNS].map(lambda cell: pd.Timestamp("2020-01-01")),
    pa.table({"a": pa.array([1, 2], pa.timestamp("s")), "b": pa.array([1, 2], pa.duration("s"))}),
    pl.DataFrame({"a": [datetime.date(2020, 1, 1)], "b": [datetime.timedelta(1)]}), np.full((3, 7), 1 + 2j),
    pa.table({"a": pa.array([[1.0], [2.0]]), "b": pa.array([{"x": 1}, {"x": 2}])}), [[1, 2], [3]], [list("abc")] * 3,
    [[[1, 2], [3, 4]]] * 3, pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), CURVES[:1], np.full((3, 7), INF),
    np.array([[10**400] * 3], dtype=object), [{"t": [0, 1], "y": [2, 3]}], np.zeros((3, 7), dtype="S3"),
    np.zeros((3, 7), dtype="V4"), CURVES.astype(np.float16), CURVES.astype(np.longdouble), np.zeros((4, 7), dtype=bool),
]  # fmt: skip

# What a parameter of this name takes, and what lies at the edge of it.
VALID: dict[str, list[Any]] = {
    "epsilon": [1e3, 50.0, 1.0, 8, np.float64(20.0)],
    "delta": [1e-6, 0.01, 0.0, 1e-9],
    "bound": [1.0, 0.5, 2, np.float32(1.0)],
    "limits": [(-1.0, 1.0), [0, 1], np.array([-2.0, 2.0])],
    "domain": DOMAINS,
    "edges": [[0.0, 0.25, 1.0], np.linspace(0, 1, 5)],
    "centre": [None, 0.1, T * 0.1, np.sin, lambda t: 0.1 * t],
    "neighbours": ["replace-one", "add-or-remove-one"],
    "planned_n": [None, 12, 100],
    "basis": [None, "cosine", "fourier", "legendre", "bspline", *BASES[:4]],
    "size": [None, 3, 5, 7],
    "kernel": [None, *KERNELS[:3]],
    "penalty": [None, 0.1, 1e-3],
    "smoothing": ["auto", "none", "shrink"],
    "dataset": ["unnamed", "scans"],
    "ledger": [None],
    "randomness": [None, mechanisms.SystemRandomness(), mechanisms.SeededRandomness(3)],
    "reading": [None, dpfda.Reading(batch_rows=5, workers=1, progress=False)],
    "batch_rows": [None, 5, 100],
    "workers": [None, 1],
    "progress": [None, False],
    "eta": [None, 1.0, 1.5],
    "calibration": ["exact", "published"],
    "force": [True],
    "n_components": [1, 2],
    "mean": [None, "private"],
    "base": ["bingham", "projected"],
    "explained_variance": [None, 0.2],
    "covariate_limits": [[(-1, 1), (-1, 1)]],
    "covariate_bound": [None],
    "covariate_levels": [None],
    "intercept": [True, False],
    "ridge": [None, 0.1, "auto"],
    "bandwidth": [None, 0.1],
    "bandwidth_epsilon": [None],
    "answers": [None, 10],
    "loss": ["hinge", "logistic", "huber", "squared"],
    "threshold": [None, 0.5],
    "classes": [None, (0, 1)],
    "features": ["auto", 4],
    "response_bound": [1.0],
    "utility": [SquaredDistance(), RobustDistance(0.5)],
    "utility_range": [None, (-4.0, 0.0)],
    "curvature": [None, 2.0],
    "radius": [None, 1.0],
    "spread": [None, 0.5],
    "quantile": [0.9, 1, 0.5],
    "grid": [None, T],
    "units": [None, IDS, np.arange(PEOPLE), np.array(IDS, dtype=object)],
    "counts": [None, np.ones(PEOPLE, dtype=int)],
    "points": ON_LINE,
    "s": ON_LINE,
    "t": ON_LINE,
    "order": [0, 1, 2, (1,)],
    "level": [0.95, 0.5, 0.99],
    "low": [None, 0.0, 0.25],
    "high": [None, 1.0, 0.75],
    "other": [np.sin, lambda t: 1 + 0 * t],
    "name": ["auto", "none", "cosine", "scans"],
    "values": [CURVES, CURVES[0], COVARIATES],
    "scores": [np.zeros((3, 2)), [0.1, 0.2]],
    "Z": [COVARIATES, COVARIATES.tolist(), pd.DataFrame(COVARIATES, columns=["a", "b"])],
    "k": [1, 2],
    "which": [0, 1, "intercept", "z1"],
    "index": [0, 1],
    "probabilities": [0.5, [0.1, 0.9], []],
    "seed": [None, 3, 0],
    "axis": [0],
    "n": [12, 100, 10**6],
    "grid_size": [None, 7, 48],
    "dimension": [None, 1],
    "covariates": [None, 2, ["a", "b"]],
    "within": [SmoothnessClass(), SmoothnessClass(2.0, 0.5)],
    "A": [np.diag([5.0, 2.0, 1.0]), np.eye(4)],
    "precision": [None, (1.0, 2.0, 3.0)],
    "steps": [3, 20],
    "scale": [1.0, 10.0, 1000],
    "coordinates": [np.array([1, -2], dtype=np.int64), np.zeros(5), np.ones(4)],
    "sensitivity": [Sensitivity(2.0, L2, "a test")],
    "shape": [None, (1.0, 2.0)],
    "sizes": [(2, 3), (1,)],
    "shares": [(0.6, 0.8), (1.0,)],
    "prior": [(1.0, 2.0)],
    "rho": [0.5, 1],
    "length": [1.0, 0.5],
    "period": [1.0],
    "start": [0.0],
    "factor": [2.0],
    "left": KERNELS,
    "right": KERNELS,
    "factors": [(KERNELS[0], KERNELS[1])],
    "matrix": [[[1.0]], [[1.0, 0.0], [0.0, 2.0]]],
    "degree": [3, 1],
    "power": [1.0],
    "columns": [np.eye(5)[:2], np.eye(4)[:1]],
    "whole": BASES,
    "people": [1, 2],
    "number": [1],
    "copies": [(), ("copy",)],
    "adaptive": [False, True],
    "unit": [None, "id", "person"],
    "method": ["auto"],
    "weights": [np.sin],
    "X": CURVE_DATA,
    "y": [None],
    "Y": CURVE_DATA,
    "sample_weight": [None, np.ones(PEOPLE)],
    "sides": [((0.0, 1.0),)],
    "mechanism": [
        "auto",
        "gaussian",
        "laplace",
        "k-norm",
        "gp",
        "iclp-qr",
        "frl",
        "exponential",
        *MECHANISMS[:2],
        mechanisms.GaussianProcess(eta=1.5, penalty=0.1),
        mechanisms.LaplaceProcess(kernel=KERNELS[0], calibration="published"),
        mechanisms.ExponentialDraw(kernel=KERNELS[1]),
    ],
    "candidates": [None],
    "ax": [None],
    "axes": [None],
    "figure": [None],
    "cap": [None, dpfda.Budget(3.0, 1e-6)],
    "data": [{"family": "cosine", "domain": [[0, 1]], "size": 3}, kernels.describe(KERNELS[1])],
    "description": [{"family": "cosine", "domain": [[0, 1]], "size": 3}],
    "store": [None],
    "radius_": [100],
    "lost": [False],
    "dataset_": ["scans"],
    "ridge_": ["auto", 0.1],
    "bandwidth_": [0.1],
    "tolerance": [1e-6],
    "count": [3],
}
EDGE: dict[str, list[Any]] = {
    "epsilon": [1e300, 1e-300, 5e-324, 1e-9, 1e6, 1e18, 700, 3],
    "delta": [1e-320, 1e-300, 0.999999, 1 - 1e-16, 1e-12, 0.5],
    "bound": [1e-100, 1e100, 1e-12, 1e308, 1e12],
    "limits": [(0, 1e-300), (-1e308, 1e308), (1e15, 1e15 + 1), (0, 1e-80)],
    "domain": ODD_DOMAINS,
    "edges": [[0, 1e-300], [0, 1, 1], [1, 0], [[0, 1], [0, 1, 2]], list(range(2000)), [0]],
    "centre": [1e100, 1e300, raises, np.zeros(3), CURVES, lambda t: "x", lambda t: t[:1], [1j] * 7],
    "planned_n": [1, 2**70, 10**18, 1.5, 12.0],
    "basis": [*BASES[4:], "bernstein", "reinsch", "beam", "mercer", "steps", "tensor", "rubbish"],
    "size": [1, 2, 40, 10**6, 2**70, 10**9, 3.0, 0, 300],
    "kernel": [*KERNELS[3:], BadKernel(), Flat(), "gaussian", kernels.Gaussian(1e-60), kernels.Gaussian(1e60),
    kernels.Matern(1.5, 1e-9)],
    "eta": [1e300, 1e-300, 0, 50.0],
    "penalty": [1e300, 1e-300, 0],
    "order": [10**6, 10**18, (1, 1), (0, 10**9), 100, 3, 7, 20, 1.5, -1, (0,), 12, 16, 2**70],
    "level": [1e-300, 1 - 1e-16, 0, 1, 0.999999999],
    "size_": [10**12],
    "n": [1, 2**70, 10**18, 0, 3.0, 2],
    "grid_size": [1, 10**9, 2**70, 0, 2000],
    "dimension": [2, 40, 10**6],
    "mechanism": [*MECHANISMS[2:], "iclp-ar", "bernstein", "rubbish", Mute(), None, mechanisms.Wishart(), "covariance",
    mechanisms.GaussianProcess(bandwidth=1e-300), mechanisms.LaplaceProcess(eta=1e300, penalty=0),
    mechanisms.ExponentialDraw(base="projected", radius=1e300, spread=1e-300, candidates=10**9),
    mechanisms.DictionaryDraw(candidates=[raises]), mechanisms.GibbsChain(kernel=BadKernel()),
    mechanisms.FiniteLaplace(bandwidth="private-iqr"), mechanisms.GaussianProcess(answers=2**70)],
    "randomness": ["seed", 3, np.random.default_rng(1)],
    "n_components": [3, 7, 100, 10**9],
    "grid": [T[::-1], np.zeros(7), T * 2, [0.0, 0.5], T.tolist(), "even", np.full(7, NAN), list("abcdefg"), T + 1j],
    "units": [[1, 2], "id", np.full(PEOPLE, None), np.full(PEOPLE, NAN), [object()] * PEOPLE, "missing"],
    "counts": [np.full(PEOPLE, 10**18), np.full(PEOPLE, -1), np.full(PEOPLE, NAN), "id", np.full(PEOPLE, 1.5)],
    "points": [2.0, -1, [NAN], [[0.1, 0.2]], ["a"], [1j], [[[0.5]]], "0.5", [None], np.zeros((0, 1)), [0.5] * 3000],
    "X": ODD_CURVE_DATA,
    "Y": ODD_CURVE_DATA,
    "Z": [COVARIATES * 1e308, COVARIATES[:, :1], COVARIATES[:3], COVARIATES.astype(str), COVARIATES.astype("M8[s]")],
    "kernels": [],
    "k": [3, 10**9, 0, -1, 5],
    "steps": [0, 10**12, 1.5],
    "scale": [1e300, 1e-300, 0, 2**70, 1e18],
    "A": [np.diag([1e300, 1.0]), np.zeros((3, 3)), [[1, 2], [3, 4]], np.eye(200) * 1e6, [[NAN]], np.eye(1)],
    "seed": [2**200, -1],
    "which": [100, "missing", -1],
    "index": [100, -1, 10**30],
    "axis": [1, -1, 10**9],
    "probabilities": [2.0, -1, [NAN], [[0.5]], 0, 1],
    "bandwidth": [1e-300, 1e300, [0.1, 0.2], [[0.1]], "private-iqr", 10.0, 1e-6],
    "bandwidth_epsilon": [0.5, 1e300],
    "smoothing": ["rubbish", "wavelet"],
    "features": ["mercer", "fourier", "landmarks", None, 10**9, 1, BASES[9]],
    "classes": [("a", "b"), (1, 1), (0, 1, 2), "ab", (0,)],
    "covariate_limits": [(-1, 1), [(-1, 1)], [(0, 1e-300), (0, 1)], [(-1e308, 1e308)] * 2, [(1, 0), (0, 1)]],
    "covariate_bound": [1.0, 1e300, 1e-300],
    "covariate_levels": [{"a": ["x", "y"]}, {"a": []}, {"b": "xy"}],
    "utility": [lambda X, b: -np.abs(X - b).sum(axis=1), raises, lambda X, b: "x", lambda X, b: X, endless],
    "utility_range": [(0, 1e-300), (-1e308, 1e308), (1, 0)],
    "candidates": [
        2048, 1, 10**9, 0, (0.01, 100.0), (0.1, 0.2, 0.4), (1e-300, 1e300), [np.sin, np.cos], [raises], [lambda t: "x"],
        [dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0)], (1, 1), list(range(5000)), [np.sin, None],
    ],
    "rho": [1e300, 1e-300, 1e-5, 1e5],
    "length": [1e300, 1e-300],
    "dimension_": [],
    "answers": [1, 2**70, 0],
    "batch_rows": [1, 2**70, 10**9],
    "workers": [2, 2**70, 10**6],
    "other": [raises, lambda t: "x", lambda t: t[:2], lambda t: None, endless, np.sqrt],
    "people": [2**70, 10**6, 0],
    "number": [2**70, 0, -1, 2, 10**6],
    "covariates": [1, 10**9, [], ["a", "a"], 0],
    "ridge": [1e300, 1e-300, 0.0, -1],
    "threshold": [1e-300, 1e300],
    "quantile": [0, 2, 1e-300],
    "degree": [0, 50, 10**6],
    "sides": [((0.0, 1e-300),), ((0, 1), (0, 1)), ((1, 0),), (), ((0, 1, 2),)],
    "within": [SmoothnessClass(0.1, 1e-300)],
    "name": ["shrink", "wavelet", "rubbish", "a" * 5000],
    "dataset": ["a" * 5000, "\n", "a b", "../x"],
}  # fmt: skip


def valid(rng: np.random.Generator, name: str) -> Any:
    """A value that a parameter of this name may well take."""
    pool = VALID.get(name, RUBBISH)
    return pool[rng.integers(len(pool))]


def odd(rng: np.random.Generator, name: str) -> Any:
    """A value at the edge of what the parameter takes, or beyond it."""
    pool = EDGE.get(name, ())
    if pool and rng.random() < 0.55:
        return pool[rng.integers(len(pool))]
    return RUBBISH[rng.integers(len(RUBBISH))]
