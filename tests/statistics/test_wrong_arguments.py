"""Mistakes in public arguments: one error of our own with the rule, the value and the way out, and nothing charged."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import dpfda
from dpfda.errors import CannotMeetBudget, DataError, DpfdaError, IncompatibleNoise, UsageError
from dpfda.mechanisms import DictionaryDraw, Gaussian, GaussianProcess, KNorm, LaplaceProcess
from dpfda.records import Curves

WIDTH = 6
NAN, INF = float("nan"), float("inf")
GOOD = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "domain": (0.0, 1.0), "force": True}
ADD = {"neighbours": "add-or-remove-one", "planned_n": 100}


class Untouched:
    """A ledger that must never be charged."""

    def charge(self, entry):
        raise AssertionError("charged")

    store = burn = charge


class Unread:
    """A source whose records must never be read."""

    width = WIDTH

    def rows(self):
        return 4

    def identity(self):
        return None

    def batches(self, rows):
        raise AssertionError("read")


def fit(parameters=None, *, X=None, **arguments):
    X = Curves(Unread(), None, None) if X is None else X
    return dpfda.MeanFunction(**{**GOOD, "ledger": Untouched(), **(parameters or {})}).fit(X, **arguments)


def table(*shape):
    return np.zeros(shape)


# What is passed to the constructor, what to fit, the error and its text.
MISTAKES = {
    "epsilon zero": ({"epsilon": 0}, {}, UsageError, r"epsilon must be a positive finite number, got 0\. Most people"),
    "epsilon negative": ({"epsilon": -1.0}, {}, UsageError, "epsilon must be a positive finite number, got -1.0"),
    "epsilon infinite": ({"epsilon": INF}, {}, UsageError, "epsilon must be a positive finite number, got inf"),
    "epsilon not a number": ({"epsilon": NAN}, {}, UsageError, "epsilon must be a positive finite number, got nan"),
    "epsilon a word": ({"epsilon": "1"}, {}, UsageError, "epsilon must be a positive finite number, got '1'"),
    "delta negative": ({"delta": -1e-9}, {}, UsageError, r"delta must lie in \[0, 1\), got -1e-09\. Use 0 for pure"),
    "delta one": ({"delta": 1.0}, {}, UsageError, r"delta must lie in \[0, 1\), got 1.0"),
    "delta not a number": ({"delta": NAN}, {}, UsageError, r"delta must lie in \[0, 1\), got nan"),
    "delta missing": ({"delta": None}, {}, UsageError, r"delta must lie in \[0, 1\), got None"),
    "bound missing": ({"bound": None}, {}, UsageError, "needs exactly one of bound and limits, known in advance"),
    "bound and limits": (
        {"bound": 1.0, "limits": (0, 1)},
        {},
        UsageError,
        r"got bound=1.0 and limits=\(0, 1\)\. Neither may be read",
    ),
    "bound negative": ({"bound": -2.0}, {}, UsageError, "bound must be a positive finite number, .*, got -2.0"),
    "bound not a number": ({"bound": NAN}, {}, UsageError, "bound must be a positive finite number, .*, got nan"),
    "bound a word": ({"bound": "max"}, {}, UsageError, "bound must be .*, got 'max'. It may not be read from the data"),
    "bound too small": ({"bound": 1e-200}, {}, UsageError, r"bound must lie between .*, got 1e-200\. Change the units"),
    "limits reversed": (
        {"bound": None, "limits": (2, 1)},
        {},
        UsageError,
        r"limits must be two finite numbers \(low, high\) with low < high, got \(2, 1\)",
    ),
    "limits equal": ({"bound": None, "limits": (1, 1)}, {}, UsageError, r"with low < high, got \(1, 1\)"),
    "limits of three": ({"bound": None, "limits": (1, 2, 3)}, {}, UsageError, r"with low < high, got \(1, 2, 3\)"),
    "limits infinite": ({"bound": None, "limits": (0, INF)}, {}, UsageError, r"with low < high, got \(0, inf\)"),
    "limits a number": ({"bound": None, "limits": 3.0}, {}, UsageError, "with low < high, got 3.0"),
    "limits too wide": ({"bound": None, "limits": (-1e308, 1e308)}, {}, UsageError, "bound must be a positive finite"),
    "limits and centre": (
        {"bound": None, "limits": (0, 1), "centre": 0.5},
        {},
        UsageError,
        "limits imply their own centre, half-way: leave centre out, or use bound with it",
    ),
    "domain reversed": (
        {"domain": (1, 0)},
        {},
        UsageError,
        r"finite ends with low < high on each side, got \(1.0, 0.0\)",
    ),
    "domain a word": ({"domain": "unit"}, {}, UsageError, "A domain is an interval .*, got 'unit'"),
    "domain empty": ({"domain": []}, {}, UsageError, r"A domain is an interval .*, got \[\]"),
    "box without grid": (
        {"domain": [(0, 1), (0, 1)]},
        {},
        UsageError,
        "On a box the grid must be stated: pass grid= with one point in each row",
    ),
    "grid outside": (
        {},
        {"X": table(4, 3), "grid": [0, 0.5, 2]},
        UsageError,
        r"Points must lie in the domain \[0, 1\], got points from 0 to 2\. Leave these points out",
    ),
    "grid of another length": (
        {},
        {"X": table(4, 3), "grid": [0, 1]},
        UsageError,
        "Grid and values must have the same length, got 2 grid points and 3 values a curve",
    ),
    "grid in two dimensions": ({}, {"X": table(4, 3), "grid": table(3, 2)}, UsageError, r"must have shape \(m, 1\)"),
    "grid not finite": (
        {},
        {"X": table(4, 2), "grid": [0, NAN]},
        UsageError,
        "A grid is a non-empty sequence of finite",
    ),
    "grid of words": (
        {},
        {"X": table(4, 2), "grid": ["a", "b"]},
        UsageError,
        "A grid is a non-empty sequence of finite",
    ),
    "grid twice": ({}, {"grid": [0, 1]}, UsageError, "These Curves have their own grid and units"),
    "units too few": (
        {},
        {"X": table(4, 3), "units": [1, 2]},
        UsageError,
        "units must hold one identifier for each row",
    ),
    "units a name": (
        {},
        {"X": table(4, 3), "units": "id"},
        UsageError,
        "or the name of a column if the curves are a table",
    ),
    "unknown mechanism": (
        {"mechanism": "noise"},
        {},
        UsageError,
        "Unknown mechanism 'noise' for a mean. Known are 'auto', 'gaussian', 'k-norm', 'laplace'",
    ),
    "published beyond its proof": (
        {"mechanism": GaussianProcess(calibration="published"), "epsilon": 3.0},
        {},
        CannotMeetBudget,
        r"proven for epsilon up to 1, got 3\.0\. Use calibration='exact', which holds for every epsilon",
    ),
    "size zero": ({"size": 0}, {}, UsageError, "size must be a whole number of functions, at least 1, got 0"),
    "size broken": ({"size": 2.5}, {}, UsageError, "size must be a whole number of functions, at least 1, got 2.5"),
    "size against basis": (
        {"size": 3, "basis": dpfda.bases.cosine((0, 1), 4)},
        {},
        UsageError,
        r"The basis has 4 functions, but size=3\. Leave size out",
    ),
    "noise too smooth": (
        {"mechanism": LaplaceProcess(eta=0.6), "delta": 0.0},
        {},
        IncompatibleNoise,
        r"fall like j\^-2\.4 and the noise like j\^-2, .* Take eta above 0\.625",
    ),
    "noise without penalty": (
        {"mechanism": GaussianProcess(penalty=0.0)},
        {},
        IncompatibleNoise,
        r"fall like j\^-0 \(not at all\) and the noise like j\^-2",
    ),
    "basis for a process": (
        {"mechanism": "gp", "basis": "cosine"},
        {},
        UsageError,
        "A noise process brings its kernel's own basis: leave basis='cosine' out",
    ),
    "basis for bernstein": ({"mechanism": "bernstein", "basis": "cosine"}, {}, UsageError, "brings its own basis"),
    "no candidates": ({"mechanism": "dictionary"}, {}, UsageError, "chooses among candidates: say mechanism="),
    "candidates of numbers": (
        {"mechanism": DictionaryDraw(candidates=[1.0])},
        {},
        UsageError,
        "candidates must be a list of functions of the points",
    ),
    "choice without a number": (
        {"mechanism": DictionaryDraw(candidates=[np.sin]), **ADD},
        {},
        UsageError,
        "mechanism='dictionary' needs the number of units to be public",
    ),
    "gp without delta": ({"mechanism": "gp", "delta": 0.0}, {}, CannotMeetBudget, "it needs delta > 0"),
    "mechanism a number": ({"mechanism": 5}, {}, UsageError, r"mechanism must be a name, .*Laplace\(\), got 5\."),
    "mechanism a class": ({"mechanism": []}, {}, UsageError, r"mechanism must be a name, .*, got \[\]\."),
    "unknown basis": ({"basis": "wave"}, {}, UsageError, "A basis is one of beam, .*, got 'wave'"),
    "basis a list": ({"basis": [1]}, {}, UsageError, r"basis must be None, a name, .*, got \[1\]\."),
    "basis elsewhere": (
        {"basis": dpfda.bases.cosine((0, 2), 4)},
        {},
        UsageError,
        r"The basis lives on \(\(0.0, 2.0\),\), the estimator on \(\(0.0, 1.0\),\)\. Make the domains equal",
    ),
    "unknown smoothing": ({"smoothing": "much"}, {}, UsageError, "Unknown smoothing 'much'. Known are 'auto', 'none'"),
    "smoothing a list": ({"smoothing": []}, {}, UsageError, r"smoothing is chosen by its name, .*, got \[\]\."),
    "smoothing none": ({"smoothing": None}, {}, UsageError, "smoothing is chosen by its name, .*, got None"),
    "unknown neighbours": (
        {"neighbours": "swap"},
        {},
        UsageError,
        "neighbours must be one of 'replace-one', 'add-or-remove-one', got 'swap'",
    ),
    "gaussian without delta": (
        {"mechanism": "gaussian", "delta": 0.0},
        {},
        CannotMeetBudget,
        "gaussian noise cannot meet .* it needs delta > 0. For delta = 0 use mechanism='k-norm' or 'laplace'",
    ),
    "a Gaussian without delta": ({"mechanism": Gaussian(), "delta": 0}, {}, CannotMeetBudget, "it needs delta > 0"),
    "blocks of another size": (
        {"mechanism": KNorm((3,), (1.0,)), "basis": dpfda.bases.cosine((0, 1), 5)},
        {},
        UsageError,
        r"The blocks \(3,\) hold 3 coordinates, not 5",
    ),
    "count in a block": (
        {"mechanism": KNorm((6,), (1.0,)), "basis": dpfda.bases.cosine((0, 1), 5), **ADD},
        {},
        UsageError,
        "a block of 6 holds both",
    ),
    "planned n missing": (
        {"neighbours": "add-or-remove-one"},
        {},
        UsageError,
        "the number of units is private, so n is unknown to the plan. State a public guess, e.g. planned_n=5000",
    ),
    "planned n zero": ({**ADD, "planned_n": 0}, {}, UsageError, "n must be a whole number of units, at least 1, got 0"),
    "planned n broken": ({**ADD, "planned_n": 2.5}, {}, UsageError, "n must be a whole number of units, .*, got 2.5"),
    "nobody": ({}, {"X": table(0, 3)}, DataError, "There are no curves: a release needs at least one"),
    "one dimension": (
        {},
        {"X": table(7)},
        UsageError,
        r"got 1 dimension\(s\). Reshape your data: a single curve with X.reshape\(1, -1\)",
    ),
    "no columns": ({}, {"X": table(4, 0)}, UsageError, r"0 feature\(s\)"),
    "sparse": ({}, {"X": scipy.sparse.eye(3)}, UsageError, r"Sparse input is not supported.* Use X.toarray\(\)"),
    "dates": (
        {},
        {"X": table(4, 3).astype("datetime64[s]")},
        UsageError,
        r"The curves are an array of type datetime64\[s\], not of numbers",
    ),
    "records of fields": ({}, {"X": np.zeros((4, 3), dtype="f8,f8")}, UsageError, "an array of type record, not of"),
    "pairs": ({}, {"X": table(4, 3, 2)}, UsageError, r"got 3 dimension\(s\)"),
    "one point": ({}, {"X": table(4, 1)}, UsageError, r"1 feature\(s\): these curves have one value each, as the"),
    "no data": ({}, {"X": "file.csv"}, UsageError, "Curves are a matrix, one row a curve"),
    "centre too short": (
        {"centre": [0.0, 1.0]},
        {},
        UsageError,
        r"centre must be a number, 6 values on the grid, or a function that gives them, .*; got shape \(2,\)",
    ),
    "centre not finite": ({"centre": NAN}, {}, UsageError, "centre must be a number, .* all finite and at most 1e100"),
    "centre enormous": ({"centre": -1e300}, {}, UsageError, "centre must be a number, .* all finite and at most 1e100"),
    "centre a word": ({"centre": "mean"}, {}, UsageError, "centre must be a number, 6 values on the grid"),
    "centre of pairs": (
        {"centre": lambda t: np.stack([t, t])},
        {},
        UsageError,
        r"centre must be .*; got shape \(2, 6\)",
    ),
    "seed": ({"randomness": 42}, {}, UsageError, "randomness must be None or a source such as .*, got 42"),
    "epsilon too small": (
        {"epsilon": 1e-13, "delta": 0.0},
        {},
        UsageError,
        "A noise scale must lie between .* lattice",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_the_way_out_and_nothing_is_charged_or_read(mistake):
    parameters, arguments, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=text):
        fit(parameters, **arguments)


def touched(mistake):
    """What a mistake is about; a grid and a domain are right or wrong together."""
    names = set(MISTAKES[mistake][0]) | set(MISTAKES[mistake][1])
    return names | {"grid", "domain"} if names & {"grid", "domain"} else names


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(sorted(MISTAKES)), min_size=2, max_size=6, unique=True))
def test_several_mistakes_together_are_still_one_error_of_our_own(chosen):
    parameters, arguments, named = {}, {}, set()
    for mistake in chosen:
        if not touched(mistake) & named:  # two about the same argument could cure each other
            named |= touched(mistake)
            parameters |= MISTAKES[mistake][0]
            arguments |= MISTAKES[mistake][1]
    with pytest.raises(DpfdaError) as caught:
        fit(parameters, **arguments)
    assert str(caught.value)
    assert isinstance(caught.value, UsageError | DataError | CannotMeetBudget | IncompatibleNoise)


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, True, "9", None])
def test_a_plan_takes_a_whole_number_of_units(n):
    est = dpfda.MeanFunction(**GOOD)
    if n == 1 and n is not True:
        assert est.plan(n).n == 1
    else:
        with refused(UsageError, "n", n):
            est.plan(n)


def test_every_argument_but_the_data_goes_by_name_and_privacy_has_no_default():
    with pytest.raises(TypeError, match="positional"):
        dpfda.MeanFunction(1.0, 1e-6)
    with pytest.raises(TypeError, match="epsilon"):
        dpfda.MeanFunction(delta=1e-6, bound=1.0)
    with pytest.raises(TypeError, match="delta"):
        dpfda.MeanFunction(epsilon=1.0, bound=1.0)
    with refused(UsageError, "bound", None):
        dpfda.MeanFunction(epsilon=1.0, delta=1e-6).plan(5)
