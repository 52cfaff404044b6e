"""Releases as frames, scikit-fda grids, pictures and one-liners hold the right numbers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from dpfda.bases import Basis, cosine, legendre, tensor
from dpfda.errors import MissingExtra, UsageError
from dpfda.mechanisms.noise import Noise
from dpfda.releases import NOT_PRIVATE, Count, Release, load, smooth

mpl.use("Agg")

INTERVAL = legendre((0.0, 23.5), 6)
BOX = tensor(cosine((0, 1), 3), cosine((10, 40), 3))
CUBE = tensor(cosine((0, 1), 2), cosine((0, 1), 2), cosine((0, 1), 2))
MakeRelease = Callable[..., Release]


def release_on(basis: Basis, make: MakeRelease, **changes: Any) -> Release:
    noise = Noise("gaussian", (basis.size,), (0.1,))
    return make(basis, 1.0 / np.arange(1, basis.size + 1), noise, smoothing="auto", **changes)


@pytest.fixture
def curve(make_release: MakeRelease) -> Release:
    return release_on(INTERVAL, make_release)


@pytest.fixture
def surface(make_release: MakeRelease) -> Release:
    return release_on(BOX, make_release)


@pytest.fixture
def ax() -> Iterator[Any]:
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_points_are_a_grid_of_the_asked_size(curve: Release, surface: Release) -> None:
    assert curve.points().shape == (101, 1)
    assert surface.points().shape == (41 * 41, 2)
    np.testing.assert_allclose(curve.points(3)[:, 0], [0.0, 11.75, 23.5])
    np.testing.assert_allclose(surface.points(2), [[0, 10], [0, 40], [1, 10], [1, 40]])


def test_a_frame_has_points_values_and_band(curve: Release) -> None:
    frame = curve.to_frame([0.0, 6.0, 23.5], level=0.9)
    band = curve.band(0.9, [0.0, 6.0, 23.5])
    assert list(frame.columns) == ["t", "value", "lower", "upper"]
    np.testing.assert_array_equal(frame["t"], [0.0, 6.0, 23.5])
    np.testing.assert_array_equal(frame["value"], curve([0.0, 6.0, 23.5]))
    np.testing.assert_array_equal(frame["lower"], band.lower)
    np.testing.assert_array_equal(frame["upper"], band.upper)
    assert len(curve.to_frame()) == 101


def test_a_frame_of_a_surface_has_a_column_for_each_side(surface: Release) -> None:
    frame = surface.to_frame()
    assert list(frame.columns) == ["t1", "t2", "value", "lower", "upper"]
    np.testing.assert_array_equal(frame["value"], surface(frame[["t1", "t2"]].to_numpy()))


@pytest.fixture
def chosen(make_release: MakeRelease) -> Release:
    """A function chosen among candidates: exact coordinates, no noise."""
    release = release_on(INTERVAL, make_release)
    return replace(
        release,
        noise=Noise("choice", (6,), (1.0,)),
        smoothing=smooth("none", release.noisy, np.zeros(6), np.arange(6.0)),
    )


def test_a_frame_of_a_chosen_function_has_no_band(chosen: Release) -> None:
    frame = chosen.to_frame([0.0, 6.0, 23.5])
    assert list(frame.columns) == ["t", "value"]
    np.testing.assert_array_equal(frame["value"], chosen([0.0, 6.0, 23.5]))


def test_a_picture_of_a_chosen_function_has_no_band(chosen: Release, ax: Any) -> None:
    chosen.plot(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "private curve, drawn as a whole, no noise added"
    ]
    assert not ax.collections
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), chosen(chosen.points(401)))


@pytest.mark.parametrize("name", ["auto", "sobolev-2", "james-stein", "none"])
def test_without_noise_there_is_nothing_to_smooth(name: str) -> None:
    noisy = np.array([3.0, -1.0, 0.5])
    found = smooth(name, noisy, np.zeros(3), np.arange(3.0))
    assert found.weights.tolist() == [1.0] * 3
    assert found.risk == 0


def test_a_chosen_function_comes_back_from_its_file(chosen: Release, tmp_path: Path) -> None:
    other = load(chosen.save(tmp_path / "chosen.json"))
    assert other.noise == chosen.noise
    np.testing.assert_array_equal(other.coordinates, chosen.coordinates)


def test_a_frame_without_pandas_names_what_to_install(curve: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"^to_frame\(\) needs pandas: pip install pandas\.$"):
        curve.to_frame()


class FakeGrid:
    """What scikit-fda 0.10 takes: values (n, q1, ...), grid points, the range of each side."""

    def __init__(self, data_matrix: Any, grid_points: Any, *, domain_range: Any) -> None:
        self.data_matrix, self.grid_points, self.domain_range = np.asarray(data_matrix), grid_points, domain_range


@pytest.fixture
def fake_skfda(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("skfda")
    module.FDataGrid = FakeGrid  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "skfda", module)


def test_a_grid_without_scikit_fda_names_what_to_install(curve: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skfda", None)
    text = "to_fdatagrid() needs scikit-fda: pip install 'dpfda[fda]'."
    with pytest.raises(MissingExtra, match=f"^{re.escape(text)}$"):
        curve.to_fdatagrid()


@pytest.mark.usefixtures("fake_skfda")
def test_a_grid_holds_one_curve_in_the_order_of_the_points(curve: Release) -> None:
    grid = curve.to_fdatagrid([6.0, 0.0, 23.5, 6.0])
    np.testing.assert_array_equal(grid.grid_points, [0.0, 6.0, 23.5])
    np.testing.assert_array_equal(grid.data_matrix, curve([0.0, 6.0, 23.5])[None, :])
    assert grid.domain_range == [(0.0, 23.5)]
    assert curve.to_fdatagrid().data_matrix.shape == (1, 101)


@pytest.mark.usefixtures("fake_skfda")
def test_a_grid_of_a_surface_has_an_axis_for_each_side(surface: Release) -> None:
    grid = surface.to_fdatagrid()
    assert grid.data_matrix.shape == (1, 41, 41)
    assert grid.domain_range == [(0.0, 1.0), (10.0, 40.0)]
    for i, j in [(0, 0), (0, 40), (40, 0), (7, 31)]:
        point = [grid.grid_points[0][i], grid.grid_points[1][j]]
        assert grid.data_matrix[0, i, j] == pytest.approx(surface(point)[0], rel=1e-12)


@pytest.mark.usefixtures("fake_skfda")
def test_a_grid_of_a_surface_takes_no_points(surface: Release) -> None:
    text = "On a box to_fdatagrid() takes no points: scikit-fda wants a full grid, which it makes."
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        surface.to_fdatagrid([[0.5, 20.0]])


def test_a_picture_shows_curve_band_and_estimated_error(curve: Release, ax: Any) -> None:
    assert curve.plot(ax, level=0.9) is ax
    (line,) = ax.get_lines()
    t = np.linspace(0, 23.5, 401)
    np.testing.assert_allclose(line.get_xdata(), t)
    np.testing.assert_allclose(line.get_ydata(), curve(t))
    (filled,) = ax.collections
    corners = filled.get_paths()[0].vertices
    band = curve.band(0.9, t)
    for ends in (band.lower, band.upper):
        for point in zip(t[::50], ends[::50], strict=True):
            assert np.abs(corners - point).max(axis=1).min() < 1e-9
    assert corners[:, 1].min() == pytest.approx(band.lower.min())
    assert corners[:, 1].max() == pytest.approx(band.upper.max())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "90 % noise band, everywhere, of the curve before smoothing",
        f"private curve (smoothing: auto), error about {curve.estimated_error:.2g} root mean square",
    ]
    assert ax.get_xlim() == (0.0, 23.5)
    assert ax.get_title() == "mean function of 'scans', (epsilon = 1, delta = 1e-06)"


@pytest.mark.parametrize(("level", "said"), [(0.95, "95 %"), (0.995, "99.5 %"), (0.5, "50 %")])
def test_the_legend_says_the_level_without_rounding_it(level: float, said: str, curve: Release, ax: Any) -> None:
    curve.plot(ax, level=level)
    assert ax.get_legend().get_texts()[0].get_text() == f"{said} noise band, everywhere, of the curve before smoothing"


def test_a_picture_without_axes_makes_its_own(curve: Release) -> None:
    from matplotlib import pyplot

    ax = curve.plot()
    assert len(ax.get_lines()) == 1
    pyplot.close(ax.figure)


def test_a_picture_of_a_surface_fits_a_rectangular_domain(surface: Release, ax: Any) -> None:
    surface.plot(ax)
    (mesh,) = ax.collections
    corners = mesh.get_coordinates()
    assert corners.shape == (41, 41, 2)
    values = np.asarray(mesh.get_array()).reshape(41, 41)
    for i, j in [(0, 0), (0, 40), (40, 0), (40, 40), (7, 31)]:
        np.testing.assert_allclose(corners[i, j], [i / 40, 10 + 30 * j / 40])
        assert values[i, j] == pytest.approx(surface(corners[i, j])[0], rel=1e-9)
    bar = next(other for other in ax.figure.axes if other is not ax)
    assert (
        bar.get_ylabel()
        == f"private surface (smoothing: auto), error about {surface.estimated_error:.2g} root mean square"
    )
    ax.figure.canvas.draw()


def test_a_release_in_three_dimensions_has_no_picture(make_release: MakeRelease) -> None:
    text = "plot() draws curves and surfaces; this release lives in 3 dimensions. Evaluate it."
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        release_on(CUBE, make_release).plot()


def test_a_seeded_release_is_stamped_in_its_picture(make_release: MakeRelease, ax: Any) -> None:
    release_on(INTERVAL, make_release, randomness=NOT_PRIVATE).plot(ax)
    assert ax.get_title().endswith("-  NOT PRIVATE")


def test_a_data_set_may_be_named_with_dollars(make_release: MakeRelease, ax: Any) -> None:
    release_on(INTERVAL, make_release, dataset=r"$ per \frac $").plot(ax)
    ax.figure.canvas.draw()
    assert r"'$ per \frac $'" in ax.get_title()


def test_a_picture_with_an_infinite_band_still_shows_the_curve(make_release: MakeRelease, ax: Any) -> None:
    release = release_on(INTERVAL, make_release, count=Count(2.0, Noise("gaussian", (1,), (2.0,))))
    release.plot(ax)
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    assert low < ax.get_lines()[0].get_ydata().min()
    assert ax.get_lines()[0].get_ydata().max() < high
    assert high - low < 100


def test_a_release_prints_in_one_line_without_its_numbers(curve: Release, make_release: MakeRelease) -> None:
    assert repr(curve) == "Release(mean function of 'scans', (epsilon = 1, delta = 1e-06), 6 coordinates)"
    pure = release_on(INTERVAL, make_release, delta=0.0, epsilon=0.5)
    assert repr(pure) == "Release(mean function of 'scans', pure epsilon = 0.5, 6 coordinates)"
