"""Two pandas objects whose indexes differ are not paired by their places: rows would be read as other people's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpfda
from dpfda.errors import UsageError

ROWS = 40
IDS = pd.Series([f"P{row // 2}" for row in range(ROWS)], name="ID")
FRAME = pd.DataFrame({f"t{place}": np.arange(ROWS) / ROWS for place in range(3)})
TURNED = FRAME.sort_values("t0", ascending=False)
NAMED = [f"r{row}" for row in range(ROWS)]
SETTINGS = {"epsilon": 50.0, "delta": 1e-3, "force": True}


def mean(data, beside):
    return dpfda.MeanFunction(**SETTINGS, bound=1.0).fit(data, units=beside)


def named(data, beside):
    return mean(data, {"who": beside})


def density(data, beside):
    return dpfda.DensityFunction(**SETTINGS, domain=[(0, 1)] * 3).fit(data, units=beside)


def column(data, beside):
    return dpfda.DensityFunction(**SETTINGS, domain=(0, 1)).fit(data["t0"], units=beside)


def counts(data, beside):
    whole = beside if not isinstance(beside, pd.Series) else pd.Series(1, index=beside.index)
    whole = whole if isinstance(whole, pd.Series) else np.ones(ROWS)
    return dpfda.DensityFunction(**SETTINGS, domain=[(0, 1)] * 3).fit(data, counts=whole)


def labels(data, beside):
    numbers = beside.str[1:].astype(float) if isinstance(beside, pd.Series) else np.zeros(ROWS)
    return dpfda.KernelRegressor(**SETTINGS, response_bound=20.0, domain=[(0, 1)] * 3).fit(data, numbers)


def units_of_labels(data, beside):
    est = dpfda.KernelRegressor(**SETTINGS, response_bound=20.0, domain=[(0, 1)] * 3)
    return est.fit(data, np.zeros(ROWS), units=beside)


def covariates(data, beside):
    numbers = beside.str[1:].astype(float) if isinstance(beside, pd.Series) else np.zeros(ROWS)
    est = dpfda.FunctionOnScalarRegression(**SETTINGS, bound=1.0, covariate_limits=[(0, 20)])
    return est.fit(numbers, data)


def units_of_covariates(data, beside):
    est = dpfda.FunctionOnScalarRegression(**SETTINGS, bound=1.0, covariate_limits=[(0, 20)])
    return est.fit(np.zeros(ROWS), data, units=beside)


FITS = [mean, named, density, column, counts, labels, units_of_labels, covariates, units_of_covariates]


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.__name__)
def test_another_index_is_refused_and_the_ways_out_are_taken(fit):
    with pytest.raises(UsageError) as caught:
        fit(TURNED, IDS)
    assert caught.value.parameter in {"units", "counts", "y", "Z"}
    for data, beside in (
        (TURNED, IDS.loc[TURNED.index]),
        (TURNED, IDS.loc[TURNED.index].to_numpy()),
        (TURNED.to_numpy(), IDS) if fit is not column else (FRAME, IDS),
        (FRAME, IDS),
        (FRAME.set_axis(NAMED), IDS.set_axis(NAMED)),
        (FRAME.set_axis([0.0] * ROWS), IDS.set_axis([0] * ROWS)),
    ):
        assert fit(data, beside).release_ is not None


@pytest.mark.parametrize("cell", ["word", None, 1e308, np.nan, True, "2020-03-01"])
def test_no_cell_decides_whether_indexes_agree(cell):
    data, ids = FRAME.astype(object), IDS.astype(object)
    data.iloc[3, 1], ids.iloc[3] = cell, cell
    assert mean(data, ids).release_ is not None
    with pytest.raises(UsageError) as caught:
        mean(data.iloc[::-1], ids)
    assert caught.value.parameter == "units"
