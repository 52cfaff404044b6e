"""Pictures of covariances and components show the released numbers, their error, and whether they are private."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from dpfda.bases import cosine, legendre, tensor
from dpfda.errors import UsageError
from dpfda.releases import NOT_PRIVATE
from dpfda.releases.plots import around_zero, contour_levels
from dpfda.statistics.components.release import ComponentsRelease, plot_components
from dpfda.statistics.covariance.release import CovarianceRelease, plot_covariance

mpl.use("Agg")

BASIS = cosine((0.0, 24.0), 5)
BOX = tensor(cosine((0, 1), 2), legendre((10, 40), 2))
SMOOTH = np.diag([1.0, 0.5, 0.2, 0.1, 0.05])
T = np.linspace(0, 24, 101)
MakeCovariance = Callable[..., CovarianceRelease]
MakeComponents = Callable[..., ComponentsRelease]


@pytest.fixture
def ax() -> Any:
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


def test_contours_show_the_covariance_with_colours_from_its_least_to_its_largest_value(
    make_covariance: MakeCovariance, ax: Any
) -> None:
    release = make_covariance(BASIS, SMOOTH, scale=0.02, seed=1, smoothing="auto")
    assert release.plot(ax) is ax
    filled, lines = ax.collections
    side = np.linspace(0, 24, 101)
    values = release(side, side)
    top = values.max()
    step = filled.levels[1] - filled.levels[0]
    assert filled.levels[-1] >= top > filled.levels[-1] - step
    assert filled.levels[0] <= values.min() < filled.levels[0] + step
    assert filled.get_cmap().name == ("RdBu_r" if values.min() < -0.25 * top else "YlOrRd")
    assert filled.get_clim() == (filled.levels[0], filled.levels[-1])
    assert 3 <= len(lines.levels) <= 15
    # Every line lies where the covariance has its level; the grid is fine enough for two digits.
    drawn = 0
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        for s, t in path.vertices[::25]:
            assert release(s, t) == pytest.approx(level, abs=0.02 * top)
            drawn += 1
    assert drawn > 20
    ax.figure.canvas.draw()


def test_the_first_argument_runs_across(make_covariance: MakeCovariance, ax: Any) -> None:
    release = make_covariance(BASIS, SMOOTH)
    release.plot(ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("s", "t")
    assert ax.get_xlim() == pytest.approx((0.0, 24.0))
    assert ax.get_ylim() == pytest.approx((0.0, 24.0))
    assert ax.get_aspect() == 1.0


def test_contours_carry_their_numbers_and_the_bar_the_error(make_covariance: MakeCovariance, ax: Any) -> None:
    release = make_covariance(BASIS, SMOOTH, scale=0.02, seed=1, smoothing="auto")
    release.plot(ax)
    labels = [text.get_text() for text in ax.texts]
    assert labels
    assert set(map(float, labels)) <= set(contour_levels(release(T, T)).tolist())
    bar = next(other for other in ax.figure.axes if other is not ax)
    error = f"{release.estimated_error:.2g}"
    assert bar.get_ylabel() == f"private second moment (smoothing: auto),\nerror about {error} root mean square"
    assert ax.get_title() == "covariance function of 'scans', (epsilon = 1, delta = 1e-06)"


def test_what_was_shrunk_before_the_noise_is_not_called_an_error(make_covariance: MakeCovariance, ax: Any) -> None:
    make_covariance(BASIS, SMOOTH, shrunk_by="a penalty").plot(ax)
    bar = next(other for other in ax.figure.axes if other is not ax)
    assert re.search(r",\nnoise about [0-9.e-]+ root mean square$", bar.get_ylabel())


@pytest.mark.parametrize("top", [1e-200, 0.0103, 0.799999, 0.8, 1.0, 3.0, 8e4, 1e200])
def test_levels_are_round_and_reach_just_beyond_the_values(top: float) -> None:
    levels = contour_levels(np.array([-top, top / 2]))
    assert 9 <= len(levels) <= 17
    assert levels[len(levels) // 2] == 0
    assert around_zero(levels)
    assert levels[-1] * (1 + 1e-9) >= top > levels[-2] * (1 - 1e-9)
    for low in (-0.2 * top, 0.0, 0.2 * top, 0.9 * top):
        levels = contour_levels(np.array([low, top]))
        assert not around_zero(levels)
        step = levels[1] - levels[0]
        assert 6 <= len(levels) <= 15
        assert levels[0] - 1e-6 * step <= low < levels[0] + step * (1 + 1e-6)
        assert levels[-1] + 1e-6 * step >= top > levels[-1] - step * (1 + 1e-6)
        assert f"{step:.0e}"[0] in "125"
    assert contour_levels(np.zeros(3))[-1] >= 1
    flat = contour_levels(np.array([top, top]))
    assert flat[0] < top < flat[-1]


def test_colours_are_symmetric_where_negative_values_are_of_note(make_covariance: MakeCovariance, ax: Any) -> None:
    release = make_covariance(BASIS, np.diag([0.0, 1.0, 0.0, 0.0, 0.0]))
    release.plot(ax)
    filled = ax.collections[0]
    np.testing.assert_array_equal(filled.levels, -filled.levels[::-1])
    assert filled.get_cmap().name == "RdBu_r"


def test_a_second_moment_is_not_called_a_covariance(make_covariance: MakeCovariance) -> None:
    from dpfda.releases.cards.words import say
    from dpfda.statistics.covariance.release import name_of

    release = make_covariance(BASIS, SMOOTH, scale=0.02, seed=1)
    for lead, centre, said in (
        (1.0, say("centre", "zero"), "covariance"),
        (0.0, say("centre", "zero"), "second moment"),
        (0.0, say("centre", "curve"), "second moment around the centre"),
    ):
        card = replace(release.certificate, centre=centre)
        assert name_of(replace(release, lead=lead, certificate=card)) == said


def test_a_covariance_of_zero_says_that_nothing_was_seen(make_covariance: MakeCovariance, ax: Any) -> None:
    make_covariance(BASIS, np.zeros((5, 5))).plot(ax)
    assert "zero everywhere: nothing was seen above the noise" in [text.get_text() for text in ax.texts]


def test_components_of_no_variance_say_that_nothing_was_seen(make_components: MakeComponents) -> None:
    from matplotlib.figure import Figure

    for variances, said in (([0.0, 0.0], "nothing was seen above the noise"), ([1.0, 0.0], "")):
        release = make_components(BASIS, np.eye(5)[:, :2], variances=variances, total=1.0)
        legend = release.plot(Figure().subplots()).get_legend()
        assert legend.get_title().get_text() == said
    assert "less than 0.1 %" in legend.get_texts()[1].get_text()


def test_nothing_is_cut_off_in_the_default_picture(make_covariance: MakeCovariance) -> None:
    from matplotlib import pyplot

    drawn = plot_covariance(make_covariance(BASIS, SMOOTH, scale=0.02, seed=1, smoothing="auto"))
    figure = drawn.figure
    figure.canvas.draw()
    inside = figure.bbox
    for ax in figure.axes:
        for part in (ax.xaxis.label, ax.yaxis.label, ax.title):
            box = part.get_window_extent()
            assert box.width == 0 or (box.x0 >= inside.x0 and box.x1 <= inside.x1)
            assert box.height == 0 or (box.y0 >= inside.y0 and box.y1 <= inside.y1)
    pyplot.close(figure)


@pytest.mark.parametrize(
    "exact", [np.zeros((5, 5)), np.diag([2.0, 0, 0, 0, 0]), 1e-200 * np.eye(5)], ids=["zero", "constant", "tiny"]
)
def test_a_covariance_that_does_not_vary_can_be_drawn(exact: Any, make_covariance: MakeCovariance, ax: Any) -> None:
    release = make_covariance(BASIS, exact)
    release.plot(ax)
    ax.figure.canvas.draw()
    assert ax.get_title()


def test_components_are_curves_around_zero(make_components: MakeComponents, ax: Any) -> None:
    release = make_components(BASIS, np.eye(5)[:, 1:4])
    assert release.plot(ax) is ax
    zero, *curves = ax.get_lines()
    assert set(zero.get_ydata()) == {0.0}
    t = np.linspace(0, 24, 401)
    for line, values in zip(curves, release(t), strict=True):
        np.testing.assert_allclose(line.get_xdata(), t)
        np.testing.assert_allclose(line.get_ydata(), values)
    assert len({line.get_linestyle() for line in curves}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"private component {index}" for index in (1, 2, 3)
    ]
    assert ax.get_xlim() == (0.0, 24.0)
    assert ax.get_title() == "3 principal components of 'scans', (epsilon = 1, delta = 1e-06)"
    ax.figure.canvas.draw()


def test_labels_say_what_is_known_of_the_variance(make_components: MakeComponents) -> None:
    from matplotlib.figure import Figure

    for total, said in (
        (8.0, ["37.5 % of the variance", "12.5 % of the variance"]),
        (None, ["variance 3", "variance 1"]),
    ):
        ax = make_components(BASIS, np.eye(5)[:, :2], variances=[3.0, 1.0], total=total).plot(Figure().subplots())
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts == [f"private component {index + 1}, {what}" for index, what in enumerate(said)]


def test_pictures_without_axes_make_their_own(make_covariance: MakeCovariance, make_components: MakeComponents) -> None:
    from matplotlib import pyplot

    for ax in (plot_covariance(make_covariance(BASIS, SMOOTH)), plot_components(make_components(BASIS, np.eye(5)))):
        assert ax.get_title()
        pyplot.close(ax.figure)


def test_seeded_releases_are_stamped(make_covariance: MakeCovariance, make_components: MakeComponents) -> None:
    from matplotlib.figure import Figure

    for release in (
        make_covariance(BASIS, SMOOTH, randomness=NOT_PRIVATE),
        make_components(BASIS, np.eye(5)[:, :1], randomness=NOT_PRIVATE),
    ):
        assert release.plot(Figure().subplots()).get_title().endswith("-  NOT PRIVATE")


def test_on_a_box_there_is_no_picture_but_a_way_out(
    make_covariance: MakeCovariance, make_components: MakeComponents
) -> None:
    text = "plot() draws {} on an interval; this release lives in 2 dimensions. Evaluate it with {}."
    with pytest.raises(UsageError, match=f"^{re.escape(text.format('a covariance function', 'release(s, t)'))}$"):
        make_covariance(BOX, np.eye(4)).plot()
    with pytest.raises(UsageError, match=f"^{re.escape(text.format('principal components', 'release(points)'))}$"):
        make_components(BOX, np.eye(4)).plot()


def test_a_data_set_may_be_named_with_dollars(make_covariance: MakeCovariance, ax: Any) -> None:
    make_covariance(BASIS, SMOOTH, dataset=r"$ per \frac $").plot(ax)
    ax.figure.canvas.draw()
    assert r"'$ per \frac $'" in ax.get_title()
