"""Private components are orthonormal functions with fixed signs; scores and curves are each other's inverse."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpfda.arrays import Array
from dpfda.bases import cosine, legendre, tensor
from dpfda.errors import MissingExtra, UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.statistics.components.release import ComponentsRelease, principal, smoothest_first, with_signs

Make = Callable[..., ComponentsRelease]
BASIS = cosine((0.0, 24.0), 5)
BOX = tensor(cosine((0, 1), 2), legendre((10, 40), 2))


def some_frame(size: int, k: int, seed: int = 1) -> Array:
    return with_signs(np.linalg.qr(SeededRandomness(seed).normal((size, k)))[0])


def test_components_are_functions_with_norm_one(make_components: Make) -> None:
    release = make_components(BASIS, some_frame(5, 3))
    points, weights = BASIS.nodes()
    values = np.stack([component(points) for component in release.components])
    np.testing.assert_allclose((values * weights) @ values.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(release(points), values, rtol=1e-12)
    assert release([1.0, 2.0]).shape == (3, 2)
    assert release(1.0).shape == (3,)
    assert [component.norm() for component in release.components] == pytest.approx([1.0] * 3)


def test_components_have_derivatives(make_components: Make) -> None:
    first = make_components(BASIS, np.eye(5)[:, 1:2]).components[0]
    t = np.linspace(0, 24, 9)
    np.testing.assert_allclose(first(t), np.sqrt(2) * np.cos(np.pi * t / 24), atol=1e-12)
    slope = -np.sqrt(2) * np.pi / 24 * np.sin(np.pi * t / 24)
    np.testing.assert_allclose(first.derivative(1)(t), slope, atol=1e-12)


def test_scores_and_curves_are_inverse(make_components: Make) -> None:
    release = replace(make_components(BASIS, some_frame(5, 2)), centre=np.arange(5.0))
    grid, scores = np.linspace(0, 24, 50), np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 0.0]])
    curves = release.curves(scores, grid)
    np.testing.assert_allclose(release.scores(curves, grid), scores, atol=1e-9)
    np.testing.assert_allclose(curves[2], release.mean(grid), rtol=1e-12)
    assert release.scores(curves[0], grid).shape == (2,)
    assert release.curves(scores[0], grid).shape == (50,)


def test_scores_keep_what_lies_in_the_span_and_drop_the_rest(make_components: Make) -> None:
    release = make_components(BASIS, np.eye(5)[:, :2])
    grid = np.linspace(0, 24, 50)
    curve = BASIS.evaluate([3.0, -1.0, 5.0, 0.0, 7.0], grid)
    np.testing.assert_allclose(release.scores(curve, grid), [3.0, -1.0], atol=1e-9)


def test_scores_of_another_number_are_refused(make_components: Make) -> None:
    with pytest.raises(UsageError, match=r"^There are 2 components, got scores of shape \(4, 3\)\.$"):
        make_components(BASIS, some_frame(5, 2)).curves(np.zeros((4, 3)), [0.0])


def test_values_and_grid_of_scores_must_agree(make_components: Make) -> None:
    with pytest.raises(UsageError, match=r"^Values and grid must have the same length"):
        make_components(BASIS, some_frame(5, 2)).scores(np.zeros((4, 3)), np.linspace(0, 24, 9))


def test_variances_that_were_not_paid_for_are_refused(make_components: Make) -> None:
    release = make_components(BASIS, some_frame(5, 2))
    text = (
        "The explained variance was not released: it costs budget. Ask for it with explained_variance=0.2, the share "
        "of epsilon that it may take, or use mechanism='covariance', which has it for nothing."
    )
    for name in ("explained_variance", "explained_ratio"):
        with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
            getattr(release, name)
    assert release.explained(0) == ""


def test_shares_of_a_total_that_was_not_paid_for_are_refused(make_components: Make) -> None:
    """Dividing by the sum of what is known would say that k components explain everything."""
    release = make_components(BASIS, some_frame(5, 2), variances=[3.0, 1.0])
    assert release.explained_variance.tolist() == [3.0, 1.0]
    assert release.explained(0) == "variance 3"
    text = (
        "The variance of whole curves was not released, so shares of it are unknown: explained_variance has the "
        "variances themselves. With mechanism='covariance' both come for nothing."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        release.explained_ratio  # noqa: B018


@pytest.mark.parametrize(
    ("variances", "total", "shares"),
    [([3.0, 1.0], 8.0, [0.375, 0.125]), ([3.0, 1.0], 2.0, [0.75, 0.25]), ([0.0, 0.0], 0.0, [0.0, 0.0])],
    ids=["known", "total too small", "nothing varies"],
)
def test_shares_never_add_up_to_more_than_one(
    variances: list[float], total: float, shares: list[float], make_components: Make
) -> None:
    release = make_components(BASIS, some_frame(5, 2), variances=variances, total=total)
    assert release.explained_ratio.tolist() == shares
    said = f"{100 * shares[0]:g} %" if shares[0] else "less than 0.1 %"
    assert release.explained(0) == f"{said} of the variance"


def test_signs_are_no_property_of_a_component() -> None:
    frame = some_frame(5, 3)
    for signs in ([1, -1, 1], [-1, -1, -1]):
        np.testing.assert_array_equal(with_signs(frame * np.array(signs)), frame)
    assert (frame[np.abs(frame).argmax(axis=0), np.arange(3)] > 0).all()


def test_a_span_has_one_frame_whatever_columns_it_is_given_by() -> None:
    frequencies = np.arange(6.0)
    for seed in range(20):
        frame, turn = some_frame(6, 3, seed), some_frame(3, 3, seed + 100)
        one, other = smoothest_first(frame, frequencies), smoothest_first(frame @ turn, frequencies)
        np.testing.assert_allclose(one, other, atol=1e-9)
        np.testing.assert_allclose(one @ one.T, frame @ frame.T, atol=1e-9)
        roughness = np.einsum("ij,i,ij->j", one, 1 / (1 + frequencies**2), one)
        assert (np.diff(roughness) < 0).all()


def test_where_noise_hides_everything_smooth_functions_go_first() -> None:
    """Nothing but a prior: the smoothest functions in their order; nothing but signal: the eigenvectors."""
    np.testing.assert_allclose(principal(np.zeros((4, 4)), np.arange(4.0), 1.0, 3), np.eye(4)[:, :3], atol=1e-12)
    matrix = np.diag([1.0, 5.0, 3.0, 2.0])
    np.testing.assert_allclose(principal(matrix, np.arange(4.0), 1e-9, 2), np.eye(4)[:, [1, 2]], atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("matrix", [np.zeros((4, 4)), np.eye(4), np.ones((4, 4))], ids=["zero", "ties", "rank one"])
def test_odd_matrices_have_orthonormal_components(matrix: Array, noise: float) -> None:
    for k in (1, 2, 4):
        frame = principal(matrix, np.arange(4.0), noise, k)
        np.testing.assert_allclose(frame.T @ frame, np.eye(k), atol=1e-9)


def test_a_frame_has_a_column_for_each_component(make_components: Make) -> None:
    release = make_components(BASIS, some_frame(5, 2))
    frame = release.to_frame([0.0, 6.0, 24.0])
    assert list(frame.columns) == ["t", "component_1", "component_2"]
    np.testing.assert_array_equal(frame["t"], [0.0, 6.0, 24.0])
    np.testing.assert_array_equal(frame["component_2"], release([0.0, 6.0, 24.0])[1])
    assert len(release.to_frame()) == 101


def test_a_frame_on_a_box_has_a_column_for_each_side(make_components: Make) -> None:
    frame = make_components(BOX, np.eye(4)[:, :1]).to_frame()
    assert list(frame.columns) == ["t1", "t2", "component_1"]
    assert len(frame) == 41**2
    np.testing.assert_allclose(frame["component_1"], 1.0)


def test_a_frame_without_pandas_names_what_to_install(make_components: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"^to_frame\(\) needs pandas: pip install pandas\.$"):
        make_components(BASIS, some_frame(5, 2)).to_frame()


def test_a_release_prints_in_one_line_without_its_numbers(make_components: Make) -> None:
    assert (
        repr(make_components(BASIS, some_frame(5, 2)))
        == "ComponentsRelease(2 of 'scans', (epsilon = 1, delta = 1e-06))"
    )
