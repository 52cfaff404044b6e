"""FunctionOnScalarRegression from records to coefficients: what it estimates, what it refuses, what it shows."""

from __future__ import annotations

import copy
import gc
import pickle
import types
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from sklearn.base import clone

import dpfda
from dpfda.errors import BudgetExceeded, DataError, PrivacyRefused, ReleaseFailed, UsageError
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import Gaussian, KNorm, SeededRandomness
from dpfda.privacy import Budget
from dpfda.records import as_curves, read_curves
from dpfda.statistics.regression.estimator import FunctionOnScalarRegression

GRID = np.linspace(0, 1, 25)
EXACT = {"epsilon": 1e7, "delta": 1e-6, "smoothing": "none", "ridge": 0.0}  # so little noise that it may be neglected
GOOD = {"epsilon": 1.0, "delta": 1e-6, "bound": 2.0, "covariate_limits": [(0, 10), (0, 1)]}


def data(people=300, seed=0):
    """A dose, a group and curves that depend on both."""
    rng = np.random.default_rng(seed)
    z = np.c_[rng.uniform(0, 10, people), rng.integers(0, 2, people)]
    beta = np.stack([0.05 * np.sin(np.pi * GRID), 0.3 * (GRID - 0.5)])
    return z, 0.4 + z @ beta + 0.1 * rng.normal(size=(people, 1)) * np.cos(np.pi * GRID)


def least_squares(z, values, basis, *, intercept=True):
    """Coefficients of basis coordinates by plain least squares, the intercept first if there is one."""
    columns = np.c_[np.ones(len(z)), z] if intercept else z
    return np.linalg.lstsq(columns, basis.coordinates(values, GRID), rcond=None)[0] @ basis.matrix(GRID).T


def fit(z, values, **wishes):
    wishes = {**GOOD, **wishes}
    return FunctionOnScalarRegression(**wishes, force=True).fit(z, values, grid=GRID)


# What it estimates.


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"neighbours": "add-or-remove-one", "planned_n": 1000},
        {"covariate_limits": None, "covariate_bound": 12.0},
        {"bound": None, "limits": (-3.0, 3.0)},
        {"mechanism": "k-norm"},
        {"mechanism": "laplace"},
        {"reading": dpfda.Reading(batch_rows=7, workers=3)},
        {"basis": "cosine", "size": 9},
    ],
    ids=["limits", "private n", "bound", "limits of values", "k-norm", "laplace", "batches", "basis"],
)
def test_with_next_to_no_noise_it_is_least_squares_in_the_covariates_own_units(wishes):
    z, values = data()
    est = fit(z, values, **{**EXACT, **wishes})
    expected = least_squares(z, values, est.release_.basis)
    np.testing.assert_allclose(est.intercept_(GRID), expected[0], atol=2e-3)
    for own, beta in zip(est.coef_, expected[1:], strict=True):
        np.testing.assert_allclose(own(GRID), beta, atol=2e-3)
    np.testing.assert_allclose(est.predict(z[:4]), np.c_[np.ones(4), z[:4]] @ expected, atol=5e-3)
    assert est.predict([[5.0, 1.0]], points=[0.5]).shape == (1, 1)


@pytest.mark.parametrize("units", [None, np.arange(60) // 2], ids=["rows", "people"])
def test_a_covariate_beyond_all_bounds_causes_no_warning(units):
    """Its ratio to the bound would be infinite; warnings are errors here."""
    far = np.linspace(-1, 1, 60)[:, None]
    far[3, 0] = 1e300
    est = dpfda.FunctionOnScalarRegression(epsilon=1.0, delta=1e-6, bound=1.0, covariate_bound=1e-10, force=True)
    est.fit(far, np.ones((60, 9)), units=units)
    assert np.isfinite(est.coef_[0](0.5))


@pytest.mark.parametrize("bounds", [{}, {"covariate_limits": None, "covariate_bound": 12.0}], ids=["limits", "bound"])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_without_an_intercept_it_goes_through_the_centre(bounds, neighbours):
    z, values = data()
    wishes = {**EXACT, **bounds, "intercept": False, "centre": 0.4, "neighbours": neighbours, "planned_n": 300}
    est = fit(z, values, **wishes)
    expected = least_squares(z, values - 0.4, est.release_.basis, intercept=False)
    for own, beta in zip(est.coef_, expected, strict=True):
        np.testing.assert_allclose(own(GRID), beta, atol=2e-3)
    np.testing.assert_allclose(est.intercept_(GRID), 0.4, atol=1e-12)
    card = est.release_.certificate.text()
    assert ("the number itself is private" in card) is (neighbours == "add-or-remove-one")


def test_a_person_is_one_observation_with_the_averages_of_covariates_and_curves():
    z, values = data(60)
    people = np.repeat(np.arange(20), 3)
    order = np.random.default_rng(1).permutation(60)
    est = FunctionOnScalarRegression(**{**GOOD, **EXACT}, n=20, force=True).fit(
        z[order], values[order], grid=GRID, units=people[order]
    )
    averages = z.reshape(20, 3, 2).mean(axis=1), values.reshape(20, 3, -1).mean(axis=1)
    expected = least_squares(*averages, est.release_.basis)
    np.testing.assert_allclose(est.coef_[0](GRID), expected[1], atol=2e-3)
    card = est.release_.certificate
    assert card.n == 20
    assert not card.unit_was_assumed
    assert dict(card.chosen)["observation"] == (
        "each person counts once, with the averages of covariates and curve: coefficients compare people, not visits "
        "of one person"
    )


def test_values_beyond_the_limits_count_as_the_limits():
    z, values = data()
    far = z.copy()
    far[:10, 0], far[10:20, 0], far[20:25, 1] = 1e300, -5.0, 7.0
    inside = np.clip(far, [0, 0], [10, 1])
    seeded = {"randomness": SeededRandomness(1)}
    one = fit(far, values, **seeded).release_
    other = fit(inside, values, randomness=SeededRandomness(1)).release_
    np.testing.assert_array_equal(one.moments, other.moments)
    np.testing.assert_array_equal(one.products, other.products)


def test_releases_do_not_depend_on_how_records_are_read():
    z, values = data(100)
    first = fit(z, values, randomness=SeededRandomness(3)).release_
    for reading in (dpfda.Reading(batch_rows=1), dpfda.Reading(workers=3, batch_rows=11)):
        other = fit(z, values, randomness=SeededRandomness(3), reading=reading).release_
        np.testing.assert_array_equal(other.products, first.products)


# Missing and odd records.


def test_missing_covariates_are_filled_by_the_middle_of_their_limits_and_the_card_says_so():
    z, values = data(50)
    gaps = z.copy()
    gaps[:5, 0], gaps[5, 1] = np.nan, np.inf
    filled = z.copy()
    filled[:5, 0], filled[5, 1] = 5.0, 0.5
    one = fit(gaps, values, randomness=SeededRandomness(1)).release_
    other = fit(filled, values, randomness=SeededRandomness(1)).release_
    np.testing.assert_array_equal(one.products, other.products)
    said = "a covariate that is no number counts as missing and is filled by the middle of its limits"
    assert said in one.certificate.missing
    assert "records with empty curves are left out" in one.certificate.missing
    ball = fit(z, values, covariate_limits=None, covariate_bound=12.0).release_
    assert "a covariate that is no number counts as missing and is filled by zero" in ball.certificate.missing


def test_records_with_empty_curves_are_left_out():
    z, values = data(80)
    values[:30] = np.nan
    est = fit(z, values, **EXACT)
    np.testing.assert_allclose(est.coef_[1](GRID), least_squares(z[30:], values[30:], est.release_.basis)[2], atol=2e-3)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda z, y: (z * np.nan, y),
        lambda z, y: (z, y * np.nan),
        lambda z, y: (z * 0 + 3, y),
        lambda z, y: (z, y * 0 + 1e308),
        lambda z, y: (z * 1e308, -y * np.inf),
        lambda z, y: (z[:1], y[:1]),
        lambda z, y: (z[:2], y[:2]),
    ],
    ids=["no covariates", "no curves", "constant covariates", "huge curves", "infinite", "one person", "two people"],
)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_odd_records_give_a_release_of_the_same_shape_without_a_warning(spoil, delta):
    z, values = data(40)
    with np.errstate(all="ignore"):
        z, values = spoil(z, values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = fit(z, values, delta=delta, size=4).release_
        band = release.band("intercept")
    assert release.products.shape == (3, 4)
    assert np.isfinite(release.coefficient(0)(GRID)).all()
    assert not np.isnan(band.lower).any()


def test_more_covariates_than_people_and_dependent_ones_give_a_finite_answer_and_no_band():
    rng = np.random.default_rng(0)
    est = FunctionOnScalarRegression(epsilon=50.0, delta=1e-6, bound=1.0, covariate_limits=[(-1, 1)] * 6, force=True)
    est.fit(rng.uniform(-1, 1, (4, 6)), rng.normal(size=(4, 25)) * 0.3, grid=GRID)
    assert np.isfinite(est.predict(np.zeros((1, 6)))).all()
    assert np.isinf(est.release_.band(0).upper).all()
    z, values = data(5000)
    wishes = {**GOOD, "covariate_limits": [(0, 10)] * 2, "randomness": SeededRandomness(1)}
    same = FunctionOnScalarRegression(**wishes, force=True)
    same.fit(z[:, [0, 0]], values, grid=GRID)
    assert np.isinf(same.release_.band(0).upper).all()
    # What can be told is told all the same: the two coefficients share the one that there is.
    together = same.coef_[0](GRID) + same.coef_[1](GRID)
    assert np.sqrt(np.mean((together - 0.05 * np.sin(np.pi * GRID)) ** 2)) < 0.02


def test_a_constant_covariate_cannot_be_told_from_the_intercept_but_predictions_can():
    z, values = data(5000)
    z[:, 1] = 1.0
    est = fit(z, values, randomness=SeededRandomness(1))
    assert np.isinf(est.release_.band(1).upper).all()
    mean = est.predict([[5.0, 1.0]])[0]
    np.testing.assert_allclose(mean, values.mean(axis=0), atol=0.1)


def test_curves_of_one_point_and_a_basis_of_one_function_are_fine():
    z, values = data(2000)
    est = FunctionOnScalarRegression(**GOOD, force=True).fit(z, values[:, :1], grid=[0.5])
    assert est.release_.basis.size == 1
    assert np.isfinite(est.release_.band(0).upper).all()


def test_surfaces_are_fine():
    side = np.linspace(0, 1, 5)
    points = np.stack([a.ravel() for a in np.meshgrid(side, side, indexing="ij")], axis=1)
    z = np.linspace(0, 1, 3000)
    est = FunctionOnScalarRegression(
        epsilon=1.0,
        delta=1e-6,
        bound=1.0,
        covariate_limits=[(0, 1)],
        domain=[(0, 1), (0, 1)],
        randomness=SeededRandomness(1),
        force=True,
    ).fit(z, 0.5 * z[:, None] * points[:, 0], grid=points)
    assert est.coef_[0]([[0.9, 0.5]])[0] == pytest.approx(0.45, abs=0.15)
    assert est.release_.band(0, points=points).upper.shape == (25,)
    assert {"t1", "t2"} <= set(est.release_.to_frame(points).columns)


# Kinds of input.


def frames():
    z, values = data(40)
    table = pd.DataFrame(values, columns=[f"t{i}" for i in range(25)])
    table["who"] = np.arange(40) // 2
    own = pd.DataFrame(z, columns=["dose", "group"])
    own["group"] = own["group"].astype(int)
    return own, table


def test_tables_and_arrays_give_the_same_release_and_names_are_kept():
    own, table = frames()
    wishes = {**GOOD, "dataset": "trial"}

    def release(z, y, **options):
        est = FunctionOnScalarRegression(**wishes, randomness=SeededRandomness(1), force=True)
        return est.fit(z, y, **options)

    plain = release(own.to_numpy(), table.to_numpy()[:, :-1], units=table["who"].to_numpy())
    assert plain.release_.names == ("intercept", "z1", "z2")
    others = [
        release(own, table, units="who"),
        release(own, table.drop(columns="who"), units=table["who"]),
        release(pl.from_pandas(own), pl.from_pandas(table), units="who"),
        release(pa.table(own), pa.table(table), units="who"),
        release(own.astype({"group": "Int64"}), table, units="who"),
        release(own.astype({"group": bool}), table, units="who"),
        release(np.ma.array(own.to_numpy()), table, units="who"),
        release(own.to_numpy().tolist(), table, units="who"),
    ]
    for other in others:
        np.testing.assert_array_equal(other.release_.products, plain.release_.products)
    for named in others[:4]:
        assert named.release_.names == ("intercept", "dose", "group")
        assert named.feature_names_in_.tolist() == ["dose", "group"]
    assert others[0].release_.certificate.unit == "who"
    assert "dose in [0, 10], group in [0, 1]" in others[0].release_.certificate.text()


@pytest.mark.parametrize(
    "kind",
    [np.asarray, list, lambda z: pd.Series(z, name="dose"), lambda z: pl.Series("dose", z), lambda z: z[:, None]],
)
def test_one_covariate_may_be_a_vector(kind):
    z, values = data(40)
    est = FunctionOnScalarRegression(epsilon=1.0, delta=1e-6, bound=2.0, covariate_limits=(0, 10), force=True)
    assert est.fit(kind(z[:, 0]), values, grid=GRID).n_features_in_ == 1


def test_scattered_rows_of_people_keep_their_covariates():
    """Sorting curves by person must not leave covariates behind."""
    own, table = frames()
    shuffled = np.random.default_rng(2).permutation(40)
    one = FunctionOnScalarRegression(**GOOD, randomness=SeededRandomness(1), force=True).fit(own, table, units="who")
    other = FunctionOnScalarRegression(**GOOD, randomness=SeededRandomness(1), force=True).fit(
        own.iloc[shuffled], table.iloc[shuffled], units="who"
    )
    np.testing.assert_array_equal(one.release_.products, other.release_.products)


def test_curves_may_stay_in_a_file(tmp_path):
    own, table = frames()
    table.to_csv(tmp_path / "curves.csv", index=False)
    table.to_parquet(tmp_path / "curves.parquet")
    memory = FunctionOnScalarRegression(**GOOD, randomness=SeededRandomness(1), force=True).fit(own, table, units="who")
    for name in ("curves.csv", "curves.parquet"):
        curves = read_curves(tmp_path / name, values="t*", unit="who")
        est = FunctionOnScalarRegression(**GOOD, randomness=SeededRandomness(1), force=True).fit(own, curves)
        np.testing.assert_array_equal(est.release_.products, memory.release_.products)


def test_objects_of_scikit_fda_are_welcome():
    """Read by the attributes that an FDataGrid has, so one with these attributes stands for it."""
    z, values = data(40)
    grid = types.SimpleNamespace(
        data_matrix=values[:, :, None], grid_points=(np.asarray(GRID).ravel(),), domain_range=((0.0, 1.0),)
    )
    est = FunctionOnScalarRegression(**GOOD, randomness=SeededRandomness(1), force=True).fit(z, grid)
    np.testing.assert_array_equal(
        est.release_.products, fit(z, values, randomness=SeededRandomness(1)).release_.products
    )


# Mistakes: one clear error, before anything is charged.

TEXT = pd.DataFrame({"dose": np.arange(40.0), "group": ["a", "b"] * 20})
Z, Y = data(40)
CATEGORY = TEXT.astype({"group": "category"})
TWICE = pd.DataFrame({"group=b": np.zeros(40), "group": TEXT["group"]})
LEVELS = {"covariate_limits": [(0, 10)], "covariate_levels": {"group": ("a", "b")}}
MISTAKES = {
    "no covariate bound": ({"covariate_limits": None}, Z, Y, {}, "exactly one of covariate_limits and covariate_bound"),
    "both covariate bounds": (
        {"covariate_bound": 1.0},
        Z,
        Y,
        {},
        "exactly one of covariate_limits and covariate_bound",
    ),
    "covariate bound": ({"covariate_limits": None, "covariate_bound": -1.0}, Z, Y, {}, "must be a positive finite"),
    "covariate bound text": ({"covariate_limits": None, "covariate_bound": "1"}, Z, Y, {}, "must be a positive finite"),
    "covariate limits": ({"covariate_limits": [(0, 1), (1, 1)]}, Z, Y, {}, r"one pair \(low, high\)"),
    "number of limits": ({"covariate_limits": [(0, 1)] * 3}, Z, Y, {}, "2 covariate.s. in Z and 3 pair.s."),
    "no bound": ({"bound": None}, Z, Y, {}, "A regression of curves needs exactly one of bound and limits"),
    "intercept": ({"intercept": "yes"}, Z, Y, {}, "intercept must be True or False, got 'yes'"),
    "ridge": ({"ridge": -0.5}, Z, Y, {}, "ridge must be 'auto' or a number of 0 or more"),
    "smoothing": ({"smoothing": "silk"}, Z, Y, {}, "Unknown smoothing 'silk'"),
    "mechanism": ({"mechanism": "exponential"}, Z, Y, {}, "Unknown mechanism 'exponential' for a regression"),
    "planned n": ({"neighbours": "add-or-remove-one"}, Z, Y, {}, "State a public guess"),
    "basis": ({"basis": "bernstein"}, Z, Y, {}, "needs an orthonormal basis"),
    "delta": ({"mechanism": "gaussian", "delta": 0.0}, Z, Y, {}, "needs delta > 0"),
    "category": ({}, CATEGORY, Y, {}, "Column 'group' of the covariates is a category.*covariate_levels=.*get_dummies"),
    "category arrow": ({}, pa.table(CATEGORY), Y, {}, "Column 'group' of the covariates is a category"),
    "levels of a matrix": ({"covariate_levels": {"a": (0, 1)}}, Z, Y, {}, "pass covariates as a data frame or table"),
    "levels of no column": (
        {**LEVELS, "covariate_levels": {"a": (0, 1)}},
        TEXT,
        Y,
        {},
        "'a', which must be one column",
    ),
    "limits for levels": ({**LEVELS, "covariate_limits": [(0, 1)] * 2}, TEXT, Y, {}, "1 covariate.s. without levels"),
    "one level": ({"covariate_levels": {"group": ("a",)}}, TEXT, Y, {}, "two or more that differ.*got {'group'"),
    "equal levels": ({"covariate_levels": {"group": ("1", 1.0)}}, TEXT, Y, {}, "two or more that differ"),
    "empty level": ({"covariate_levels": {"group": ("a", " ")}}, TEXT, Y, {}, "two or more that differ"),
    "levels as text": ({"covariate_levels": "sex"}, TEXT, Y, {}, "two or more that differ"),
    "levels make a column twice": (LEVELS, TWICE, Y, {}, "two covariates of one name: group=b, group=b"),
    "cube": ({}, Z[:, :, None], Y, {}, r"got 3 dimension\(s\)"),
    "no columns": ({}, Z[:, :0], Y, {}, "and no columns"),
    "empty frame": ({}, pd.DataFrame(index=range(40)), Y, {}, "There are no covariates"),
    "list": ({"covariate_limits": None, "covariate_bound": 1.0}, Z.tolist(), Y, {}, "A list has no public width"),
    "fewer rows": ({}, Z[:-1], Y, {}, "the same number of rows: covariates or counts, one for each"),
    "one curve": ({}, Z, Y[0], {}, "Curves are a matrix"),
    "unit column of a matrix": ({}, Z, Y, {"units": "who"}, "names a column, and a matrix has none"),
    "unknown unit column": ({}, Z, pd.DataFrame(Y), {"units": "who"}, "No column 'who' for the privacy unit"),
    "units": ({}, Z, Y, {"units": [1, 2]}, "units must hold one identifier for each row"),
    "grid": ({}, Z, Y, {"grid": np.linspace(0, 2, 25)}, "Points must lie in the domain"),
    "no people": ({}, Z[:0], Y[:0], {}, "There are no curves"),
    "many covariates": ({"covariate_limits": [(0, 1)] * 65}, np.zeros((40, 65)), Y, {}, "between 1 and 64 covariates"),
    "own mechanism": ({"mechanism": KNorm((4, 14), (1.0, 1.0)), "size": 4}, Z, Y, {}, "a block of 14 holds both"),
    "blocks": ({"mechanism": KNorm((4,), (1.0,)), "size": 4}, Z, Y, {}, "hold 4 coordinates, not 18"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_one_clear_error_and_cost_nothing(name):
    wishes, z, y, options, text = MISTAKES[name]
    ledger = SessionLedger()
    est = FunctionOnScalarRegression(**{**GOOD, **wishes}, ledger=ledger, force=True)
    with pytest.raises((UsageError, DataError, PrivacyRefused), match=text):
        est.fit(z, y, **options)
    assert not ledger.entries
    assert not hasattr(est, "release_")


def test_curves_that_were_put_in_order_are_refused_rather_than_mixed_up():
    z, values = data(40)
    curves = as_curves(values, grid=GRID, units=np.arange(40) % 7)
    with refused(UsageError, "units"):
        FunctionOnScalarRegression(**GOOD, force=True).fit(z, curves)
    FunctionOnScalarRegression(**GOOD, force=True).fit(z, as_curves(values, grid=GRID, units=None))


def test_what_is_in_a_cell_never_decides_whether_there_is_an_error():
    """A word, a gap or a nested list in a list of records is a missing value."""
    z, values = data(40)
    rows = [list(row) for row in z]
    rows[3][0], rows[4], rows[5] = "unknown", [], [1.0, 2.0, 3.0]
    release = FunctionOnScalarRegression(**GOOD, force=True).fit(rows, values, grid=GRID).release_
    assert release.certificate.n == 40


def spoilt(z, cell):
    """The same covariates in every container, one cell of which may have made text or objects of the whole."""
    rows = [list(map(float, row)) for row in z]
    rows[3][0] = cell
    frame = pd.DataFrame(rows, columns=["dose", "group"])
    objects = np.array(rows, dtype=object)
    text = pa.array([str(row[0]) for row in rows])
    return {
        "list": rows,
        "objects": objects,
        "text": np.array([[str(c) for c in row] for row in rows]),
        "masked": np.ma.array(objects),
        "pandas": frame,
        "strings": frame.astype({"dose": "string"}),
        "polars": pl.DataFrame({"dose": [str(row[0]) for row in rows], "group": frame["group"]}),
        "arrow": pa.table({"dose": text, "group": frame["group"]}),
    }


@pytest.mark.parametrize("cell", ["unknown", "", "5 mg", None, pd.Timestamp("2020-01-01"), 1j, float("nan")], ids=repr)
@pytest.mark.parametrize("kind", spoilt(np.zeros((4, 2)), 0.0))
def test_a_cell_that_is_no_number_is_missing_whatever_type_it_makes_of_its_column(kind, cell):
    """Neighbouring data sets give the same exception or none, and everybody else keeps their numbers."""
    z, values = data(40)
    z[3, 0] = np.nan
    expected = fit(z, values, randomness=SeededRandomness(1)).release_
    found = fit(spoilt(z, cell)[kind], values, randomness=SeededRandomness(1)).release_
    np.testing.assert_array_equal(found.moments, expected.moments)
    np.testing.assert_array_equal(found.products, expected.products)


def test_numbers_survive_what_one_cell_makes_of_an_array():
    """One complex number makes all complex, one word makes True text, one date makes objects of a column."""
    z, values = data(40)
    whole = fit(z, values, randomness=SeededRandomness(1)).release_.moments
    truth = z.astype(str)
    truth[:, 1] = np.where(z[:, 1] == 1, "True", "False")
    for same in (z.astype(complex), truth, pd.DataFrame(z).astype({1: bool}).astype({1: object})):
        np.testing.assert_array_equal(fit(same, values, randomness=SeededRandomness(1)).release_.moments, whole)
    dates = pd.DataFrame({"dose": z[:, 0], "group": pd.date_range("2020", periods=40)})
    missing = np.c_[z[:, 0], np.full(40, np.nan)]
    found = fit(dates.assign(group=dates["group"].astype(object)), values, randomness=SeededRandomness(1)).release_
    np.testing.assert_array_equal(found.moments, fit(missing, values, randomness=SeededRandomness(1)).release_.moments)
    for column in (dates["group"], dates["group"] - dates["group"][0]):
        with pytest.raises(DataError, match=r"^Column 'group' of the covariates holds no numbers\."):
            fit(dates.assign(group=column), values)


# Declared levels.


SITES = np.array(["north", "south", "west"])


def surveyed(people=60):
    z, values = data(people)
    site = np.arange(people) % 3
    frame = pd.DataFrame({"sex": np.where(z[:, 1] == 1, "male", "female"), "dose": z[:, 0], "site": SITES[site]})
    return frame, np.c_[z[:, 1], z[:, 0], site == 1, site == 2], values


DECLARED = {"sex": ("female", "male"), "site": tuple(SITES.tolist())}


def test_declared_levels_become_columns_of_zeros_and_ones():
    frame, table, values = surveyed()
    limits = [(0, 1), (0, 10), (0, 1), (0, 1)]
    expected = fit(table, values, covariate_limits=limits, randomness=SeededRandomness(1)).release_
    wishes = {"covariate_limits": [(0, 10)], "covariate_levels": DECLARED}
    for kind in (frame, pl.from_pandas(frame), pa.table(frame), frame.astype({"site": "category"})):
        est = fit(kind, values, **wishes, randomness=SeededRandomness(1))
        np.testing.assert_array_equal(est.release_.moments, expected.moments)
        np.testing.assert_array_equal(est.release_.products, expected.products)
        assert est.release_.names == ("intercept", "sex=male", "dose", "site=south", "site=west")
        assert est.feature_names_in_.tolist() == ["sex", "dose", "site"]
        assert est.n_features_in_ == 3
    np.testing.assert_array_equal(est.predict(frame[:2]), est.predict(table[:2]))
    text = " ".join(est.release_.certificate.text().split())
    assert "sex=male in [0, 1], dose in [0, 10], site=south in [0, 1], site=west in [0, 1]" in text
    assert (
        "declared: sex is female, male, compared with female; site is north, south, west, compared with north" in text
    )
    assert "a cell that is none of them counts as missing" in text
    assert "levels: declared: sex is" in " ".join(est.plan(100).text().split())


def test_a_cell_that_is_no_level_is_missing_and_levels_need_neither_limits_nor_numbers():
    frame, _, values = surveyed()
    frame = frame[["sex"]].astype(object)
    frame.loc[:3, "sex"] = ["unknown", None, 7.0, pd.Timestamp("2020-01-01")]
    filled = (frame["sex"] == "male").astype(float)
    filled[:4] = np.nan
    wishes = {"covariate_limits": None, "randomness": SeededRandomness(1)}
    found = fit(frame, values, **wishes, covariate_levels={"sex": ("female", "male")}).release_
    wishes = {"covariate_limits": (0, 1), "randomness": SeededRandomness(1)}
    np.testing.assert_array_equal(found.moments, fit(filled, values, **wishes).release_.moments)


def test_levels_that_are_numbers_are_found_however_one_cell_made_them_be_written():
    _, values = data(40)
    codes = np.arange(40) % 2 + 1
    written = [codes, codes.astype(float), codes.astype(str), codes.astype(float).astype(str), codes.astype(object)]
    wishes = {"covariate_limits": None, "covariate_levels": {"g": (1, 2)}}
    found = [
        fit(pd.DataFrame({"g": column}), values, **wishes, randomness=SeededRandomness(1)).release_.moments
        for column in written
    ]
    for other in found:
        np.testing.assert_array_equal(other, found[0])
    assert found[0].any()


def test_levels_go_with_a_common_bound_and_with_plans():
    frame, _, values = surveyed()
    wishes = {"covariate_limits": None, "covariate_bound": 12.0, "covariate_levels": DECLARED}
    assert fit(frame, values, **wishes).release_.covariates.size == 4
    est = FunctionOnScalarRegression(**{**GOOD, **wishes}, force=True)
    assert est.plan(100, covariates=3).covariates.size == 4
    named = FunctionOnScalarRegression(
        **{**GOOD, "covariate_limits": [(0, 10)], "covariate_levels": DECLARED}, force=True
    )
    assert named.plan(100).covariates.size == 4
    assert named.plan(100, covariates=["sex", "dose", "site"]).covariates.names[:2] == ("sex=male", "dose")
    for wrong in (["sex", "dose", "site", "age"], ["sex", "site"]):
        with refused(UsageError, "covariate_limits", [(0, 10)]):
            named.plan(100, covariates=wrong)


class Broken:
    """Rows that can be counted but not read."""

    width = 25

    def rows(self):
        return 40

    def identity(self):
        return None

    def batches(self, rows):
        raise OSError("the disk says 42")


def test_a_failure_after_records_were_read_has_one_constant_text_and_keeps_the_charge():
    ledger = SessionLedger()
    with pytest.raises(ReleaseFailed) as failure:
        FunctionOnScalarRegression(**GOOD, ledger=ledger, force=True).fit(Z, dpfda.Curves(Broken(), GRID, None))
    assert "42" not in str(failure.value)
    assert failure.value.__cause__ is failure.value.__context__ is None
    assert len(ledger.entries) == 1


def test_the_ledger_is_charged_once_with_what_is_spent():
    z, values = data(40)
    ledger = SessionLedger(cap=Budget(1.5, 1e-5))
    fit(z, values, ledger=ledger, dataset="trial", mechanism="gaussian")
    (entry,) = ledger.entries
    assert entry.budget == Budget(1.0, 1e-6)
    assert entry.what == "regression coefficient functions, gaussian"
    with pytest.raises(BudgetExceeded):
        fit(z, values, ledger=ledger, dataset="trial")


# The card and the plan.


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_card_says_what_was_released_and_how_covariates_were_limited(neighbours, delta):
    z, values = data(2000)
    est = fit(z, values, neighbours=neighbours, planned_n=2500, delta=delta)
    card = est.release_.certificate
    text = card.text()
    assert "Release card: regression coefficient functions of 'unnamed'" in text
    assert "z1 in [0, 10], z2 in [0, 1]; values beyond are moved to the ends" in text
    assert "ridge: after the noise, from noisy moments" in text
    assert card.delta == delta
    assert ("moves the sums of z z' and z y' by at most" in card.moves) is (neighbours == "replace-one")
    assert ("adds to the sums of z z' and z y' at most" in card.moves) is (neighbours != "replace-one")
    assert card.n_is_noisy is (neighbours != "replace-one")
    assert card.n == pytest.approx(2000, rel=0.1)
    assert 0 < card.noise_rms < card.bound
    assert card.to_dict()["chosen"]["ridge"]
    assert repr(est.release_).startswith("RegressionRelease(regression coefficient functions of 'unnamed'")


def test_pure_noise_spends_no_delta():
    z, values = data(40)
    assert fit(z, values, mechanism="k-norm").release_.certificate.delta == 0


def test_the_papers_process_is_not_smoothed_again_and_the_card_names_its_penalty():
    z, values = data(2000)
    release = fit(z, values, mechanism="iclp-qr", delta=0.0).release_
    assert release.smoothing_name == "none"
    assert "the penalty" in release.certificate.shrunk_by
    assert release.certificate.mechanism == "iclp-qr"


def test_a_mechanism_of_the_users_own_is_welcome():
    z, values = data(40)
    release = fit(z, values, mechanism=Gaussian(), size=4).release_
    assert release.noise.name == "gaussian"
    blocks = KNorm((6, 4, 4, 4), (1.0, 1.0, 1.0, 1.0))
    assert fit(z, values, mechanism=blocks, size=4, delta=0.0).release_.noise.name == "radial"


def test_a_plan_reads_nothing_and_says_what_to_expect():
    est = FunctionOnScalarRegression(**GOOD, force=True)
    plan = est.plan(1000)
    assert "Plan for a regression on 2 covariates of 1000 units" in plan.text()
    z, values = data(1000)
    est.fit(z, values, grid=GRID)
    assert est.plan_.n == 1000
    with pytest.raises(UsageError, match="has to be told the number of covariates"):
        FunctionOnScalarRegression(epsilon=1.0, delta=0.0, bound=1.0, covariate_bound=1.0).plan(100)
    other = FunctionOnScalarRegression(epsilon=1.0, delta=0.0, bound=1.0, covariate_bound=1.0).plan(100, covariates=3)
    assert other.covariates.size == 3


# scikit-learn, and nothing fitted remembers a record.


def test_parameters_clones_and_pickles_are_as_scikit_learn_knows_them():
    z, values = data(40)
    est = FunctionOnScalarRegression(**GOOD, ledger=None, force=True)
    before = est.get_params()
    assert est.fit(z, values, grid=GRID) is est
    assert all(before[name] is value for name, value in est.get_params().items())
    other = clone(est)
    assert not hasattr(other, "release_")
    assert other.get_params() == est.get_params()
    back = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(back.predict(z[:2]), est.predict(z[:2]))
    assert copy.copy(est).release_ is est.release_
    tags = est.__sklearn_tags__()
    assert tags.target_tags.required
    assert tags.non_deterministic
    assert tags.input_tags.allow_nan
    assert est.set_params(epsilon=2.0).epsilon == 2.0


def reachable(start):
    """Everything that garbage collection can reach, but for modules, classes and the globals of functions."""
    seen, waiting = {}, [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | type):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, types.FunctionType):
            waiting.extend(cell.cell_contents for cell in thing.__closure__ or ())
        else:
            waiting.extend(gc.get_referents(thing))
        if isinstance(thing, np.ndarray) and thing.base is not None:
            waiting.append(thing.base)
    return seen.values()


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_no_record_can_be_reached_from_a_fitted_estimator(neighbours):
    z, values = data(321)
    est = fit(z, values, neighbours=neighbours, planned_n=100, ledger=SessionLedger())
    est.release_.band(0)
    found = list(reachable(est))
    assert any(thing is est.release_.products for thing in found)
    assert not any(isinstance(thing, dpfda.Curves | dpfda.Curator) for thing in found)
    private = set(z[:, 0].tolist()) | set(values.ravel().tolist())
    for thing in found:
        if isinstance(thing, np.ndarray):
            assert 321 not in thing.shape
            if thing.dtype == np.float64:
                assert not private & set(thing.ravel().tolist())


def test_a_seed_stamps_the_release_not_private():
    z, values = data(40)
    card = fit(z, values, randomness=SeededRandomness(1)).release_.certificate
    assert not card.private
    assert "NOT PRIVATE" in card.text()
