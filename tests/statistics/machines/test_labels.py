"""Labels of classifiers: what is one, what is none, and that all containers and scikit-learn agree."""

from __future__ import annotations

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from dpfda.errors import AssumptionWarning, UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.records.labelled import label_of, responses, signs
from dpfda.statistics.machines.estimator import KernelClassifier, KernelRegressor

KNOWN = {"epsilon": 1000.0, "delta": 1e-6, "domain": (0, 1), "features": 8, "penalty": 1e-3}
X = np.linspace(0, 1, 80)[:, None]
INSIDE = np.abs(X[:, 0] - 0.5) < 0.25


def fitted(labels, **wishes):
    return KernelClassifier(**KNOWN, **wishes, randomness=SeededRandomness(1)).fit(X, labels)


# Without classes.


def test_without_classes_a_warning_says_that_labels_are_taken_to_be_0_and_1():
    for labels in (INSIDE, INSIDE.astype(int), np.where(INSIDE, 2, 1), np.where(INSIDE, "a", "b"), np.full(80, np.nan)):
        with pytest.warns(AssumptionWarning, match="labels are taken to be 0 and 1") as found:
            est = fitted(labels)
        assert [warning.filename for warning in found] == [__file__]
        assert "none were stated, so 0 and 1" in dict(est.release_.certificate.chosen)["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "labels" not in dict(fitted(INSIDE, classes=(0, 1)).release_.certificate.chosen)


@pytest.mark.parametrize("labels", [(1, 2), (-1, 1), (5, 7), ("a", "b")], ids=str)
def test_without_classes_other_labels_are_left_out_and_never_taken_for_others(labels):
    """They were "above zero or not": labels 1 and 2 were one class, and -1 and 1 were called 0 and 1."""
    given = np.where(INSIDE, labels[1], labels[0])
    seen = [float(label in (0, 1)) for label in labels]
    assert np.isfinite(signs(given, (0, 1))).tolist() == [seen[1] if inside else seen[0] for inside in INSIDE]
    stated = fitted(given, classes=labels)
    assert stated.score(X, given) > 0.95
    assert stated.predict(X).dtype == given.dtype
    if labels == (1, 2):
        assert fitted(given).score(X, given) < 0.6  # it was 1.0 with one constant answer


# The same label in every container, and each by itself.

ONE = [1, 1.0, True, np.int8(1), np.float32(1), np.bool_(True), "1", " 1.0 ", "+1", b"1", "True", "TRUE", 1 + 0j, [1]]
ONE += [(1.0,), np.array(1), np.array([1]), np.longdouble(1), decimal.Decimal("1.0"), np.complex64(1), "1e0"]
NO_LABEL = [
    None,
    np.nan,
    np.inf,
    "",
    " ",
    "nan",
    "1_0",
    2,
    -1,
    1j,
    [1, 0],
    [[1]],
    [],
    {},
    object(),
    "x",
    b"\xff",
    pd.NA,
]
NO_LABEL += [pd.NaT, datetime.date(2020, 1, 1), np.datetime64(1, "ns"), np.timedelta64(1, "ns"), 10**400, "9" * 400]


@pytest.mark.parametrize("cell", ONE, ids=repr)
def test_one_label_has_many_spellings(cell):
    assert signs([cell, 0], (0, 1)).tolist() == [1, -1]
    assert signs([cell, 0], (True, False)).tolist() == [-1, 1]
    assert signs([cell, 0], ("1", "0")).tolist() == [-1, 1]


@pytest.mark.parametrize("cell", NO_LABEL, ids=lambda cell: repr(cell)[:20])
def test_anything_else_is_no_label(cell):
    assert np.isnan(signs([cell, 0], (0, 1))[0])
    assert signs([cell, 0], (0, 1))[1] == -1


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda cells: np.array(cells, dtype=object),
    "column": lambda cells: np.array(cells)[:, None],
    "series": pd.Series,
    "frame": lambda cells: pd.DataFrame({"y": cells}),
    "category": lambda cells: pd.Series(pd.Categorical(cells)),
    "nullable": lambda cells: pd.Series(cells).convert_dtypes(),
    "arrow": pa.array,
    "chunked": lambda cells: pa.chunked_array([pa.array(cells)]),
    "table": lambda cells: pa.table({"y": cells}),
    "dictionary": lambda cells: pa.array(cells).dictionary_encode(),
    "polars": lambda cells: pl.Series(cells, strict=False),
    "polars frame": lambda cells: pl.DataFrame({"y": pl.Series(cells, strict=False)}),
}
CASES = {
    "booleans": ((0, 1), [True, False, True, False]),
    "whole numbers": ((1, 2), [2, 1, 2, 1]),
    "numbers": ((0.1, 0.25), [0.25, 0.1, 0.25, 0.1]),
    "texts": (("ill", "well"), ["well", "ill", "well", "ill"]),
    "figures": (("1", "2"), ["2", "1", "2", "1"]),
}
ODD = [None, "word", 1 + 2j, b"bytes", np.nan, float("inf"), 10**30, datetime.date(2020, 1, 1), [1, 2]]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_holds_the_same_labels(case, container):
    classes, cells = CASES[case]
    assert signs(CONTAINERS[container](cells), classes).tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_one_odd_cell_changes_no_other_label(case, container, odd):
    """It may turn the whole container into text, complex numbers or objects; whoever cannot hold it is no container."""
    classes, cells = CASES[case]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = CONTAINERS[container]([*cells[:3], odd])
    except Exception:
        return
    assert signs(given, classes).tolist()[:3] == [1, -1, 1]


def test_small_floats_are_compared_as_they_are_written():
    cells = np.array([0.25, 0.1], dtype=np.float32)
    assert signs(cells, (0.1, 0.25)).tolist() == signs(cells.astype(str), (0.1, 0.25)).tolist() == [1, -1]


def test_masked_labels_are_missing():
    masked = np.ma.masked_array([1, 1, 0], mask=[False, True, False])
    assert np.isnan(signs(masked, (0, 1))[1])
    assert np.isnan(responses(masked)[1])


def test_one_odd_response_changes_no_other_response():
    for odd in ("x", 1j, None, b"x", True, datetime.date(2020, 1, 1)):
        got = responses(np.array([0.5, -np.inf, 0.25, odd]))
        assert got[:3].tolist() == [0.5, -np.inf, 0.25]
    assert KernelRegressor(**KNOWN, response_bound=1.0).fit(X, np.r_[X[:-1, 0], 1j]).score(X, X[:, 0]) > 0.9


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([datetime.date(2020, 1, 1)] * 80),
        pa.array([[1]] * 80),
        pl.Series([datetime.date(2020, 1, 1)] * 80),
        pl.Series([[1, 2]] * 80),
        pa.chunked_array([pa.array([{"a": 1}] * 80)]),
    ],
    ids=["dates", "lists", "polars dates", "polars lists", "structures"],
)
def test_a_declared_type_that_holds_no_labels_is_refused(labels):
    with refused(UsageError, "y"):
        fitted(labels, classes=(0, 1))


@pytest.mark.parametrize(
    "classes", [("1", "1.0"), (" a", "a"), ("nan", "a"), ("", "a"), ("inf", "a"), (2**53, 2**53 + 1), ("True", "1")]
)
def test_classes_that_a_table_cannot_tell_apart_are_refused(classes):
    with refused(UsageError, "classes", classes):
        fitted(INSIDE, classes=classes)


def test_a_label_is_compared_by_its_number_or_its_text():
    assert label_of("ＩＬＬ") == "ILL"
    assert label_of("e\u0301") == label_of("\u00e9")


# To the letter of scikit-learn.

LETTER = {
    "whole numbers": (np.array([-1, 1]), (1, -1)),
    "others": (np.array([1, 2]), (1, 2)),
    "numbers": (np.array([2.0, 4.0]), [2.0, 4.0]),
    "booleans": (np.array([False, True]), (True, False)),
    "codes": (np.array([0, 1]), (0, 1)),
    "texts": (np.array(["ill", "well"]), ("well", "ill")),
    "objects": (np.array(["ill", "well"], dtype=object), np.array(["well", "ill"], dtype=object)),
    "small": (np.array([3, 4], dtype=np.int8), np.array([4, 3], dtype=np.int8)),
}


@pytest.mark.parametrize("case", LETTER)
def test_a_classifier_answers_as_that_of_scikit_learn(case):
    """The peer has no noise; at epsilon 1000 decisions are the same but near the border. Seeded."""
    both, classes = LETTER[case]
    labels = both[INSIDE.astype(int)]
    est, peer = fitted(labels, classes=classes, loss="logistic"), SVC().fit(X, labels)
    assert est.classes_.tolist() == peer.classes_.tolist()
    assert est.classes_.dtype == peer.classes_.dtype
    assert est.predict(X).dtype == peer.predict(X).dtype
    assert type(est.predict(X)[0]) is type(peer.predict(X)[0])
    assert (est.predict(X) == est.classes_[(est.decision_function(X) > 0).astype(int)]).all()
    assert (est.predict(X) == est.classes_[est.predict_proba(X).argmax(axis=1)]).all()
    assert est.score(X, labels) == accuracy_score(labels, est.predict(X)) > 0.95
    assert est.score(X, labels, sample_weight=np.arange(80)) == pytest.approx(
        accuracy_score(labels, est.predict(X), sample_weight=np.arange(80))
    )
    assert roc_auc_score(labels, est.decision_function(X)) > 0.99


def test_parameters_that_are_set_after_the_fit_change_no_answer():
    labels = np.where(INSIDE, "in", "out")
    est = fitted(labels, classes=("out", "in"))
    before = est.predict(X), est.decision_function(X)
    est.set_params(classes=("in", "out"))
    assert (est.predict(X) == before[0]).all()
    assert (est.decision_function(X) == before[1]).all()
    assert est.classes_.tolist() == ["in", "out"]


@pytest.mark.filterwarnings("ignore::dpfda.errors.SpendingWarning")
@pytest.mark.parametrize("case", LETTER)
def test_cross_validation_pipelines_and_calibration_know_the_classes(case):
    both, classes = LETTER[case]
    labels = both[INSIDE.astype(int)]
    est = KernelClassifier(**KNOWN, classes=classes, loss="logistic")
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for scoring in ("accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy"):
        assert np.isfinite(cross_val_score(est, X, labels, cv=folds, scoring=scoring, error_score="raise")).all()
    assert cross_val_score(est, X, labels, cv=folds, scoring="roc_auc").min() > 0.9
    guessed = cross_val_predict(est, X, labels, cv=folds)
    assert guessed.dtype == labels.dtype
    assert accuracy_score(labels, guessed) > 0.85
    # scikit-learn numbers the labels before it fits for these.
    for method in ("decision_function", "predict_proba") if set(both.tolist()) == {0, 1} else ():
        values = cross_val_predict(est, X, labels, cv=folds, method=method)
        values = values if values.ndim == 1 else values[:, 1]
        assert roc_auc_score(labels, values) > 0.9
    whole = make_pipeline(FunctionTransformer(), clone(est)).fit(X, labels)
    assert whole.classes_.tolist() == both.tolist()
    assert whole.score(X, labels) > 0.9
    calibrated = CalibratedClassifierCV(est, cv=folds).fit(X, labels)
    assert calibrated.score(X, labels) > 0.85
    search = GridSearchCV(est, {"penalty": [1e-3, 1e-2]}, cv=folds, error_score="raise").fit(X, labels)
    assert search.classes_.tolist() == both.tolist()
    assert search.score(X, labels) > 0.85


@pytest.mark.parametrize("classes", [None, (0, 1), ("0", "1"), (False, True)], ids=str)
@pytest.mark.parametrize("kind", [int, float, bool, str, object], ids=lambda kind: kind.__name__)
def test_score_takes_every_label_that_fit_takes(classes, kind):
    """Labels "0" and "1" as texts were fitted, and had no score."""
    points = np.linspace(0, 1, 400)[:, None]
    labels = (points[:, 0] > 0.5).astype(int)
    spelt = np.array([str(label) for label in labels]) if kind is str else labels.astype(kind)
    est = KernelClassifier(epsilon=50.0, delta=1e-3, classes=classes).fit(points, spelt)
    stated = np.asarray(est.classes_)[labels]
    assert est.score(points, spelt) == np.mean(est.predict(points) == stated) > 0.9
    assert est.score(points, ["neither"] * 400) == 0.0
