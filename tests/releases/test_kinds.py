"""Every kind of release comes back from its file with identical bits, or with one clear error."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.bases import cosine, legendre, mercer, reinsch, tensor
from dpfda.errors import DataError, UsageError
from dpfda.kernels import Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.mechanisms.noise import Noise
from dpfda.releases import Count, Release
from dpfda.releases.documents import with_digest
from dpfda.releases.files import to_dict
from dpfda.releases.kinds import statistic, statistic_of
from dpfda.statistics.components.release import ComponentsRelease
from dpfda.statistics.covariance.release import CovarianceRelease

MakeCovariance = Callable[..., CovarianceRelease]
MakeComponents = Callable[..., ComponentsRelease]
BASES = {
    "cosine": cosine((-1, 1), 5),
    "reinsch": reinsch((-3, 1 / 7), 5),
    "mercer": mercer(Matern(1.5, rho=0.3), (0, 1), 5),
    "tensor": tensor(cosine((0, 1), 2), legendre((0, 2), 3), size=5),
}
SMOOTH = np.diag([1.0, 0.5, 0.2, 0.1, 1 / 30])
COUNT = Count(1234.5678, Noise("gaussian", (1,), (1 / 3,)))


@pytest.fixture
def covariance(make_covariance: MakeCovariance) -> CovarianceRelease:
    return make_covariance(
        BASES["cosine"],
        SMOOTH,
        mean=np.ones(5) / 3,
        lead=0.7,
        law="radial",
        scale=0.1,
        seed=1,
        smoothing="auto",
        centre=np.arange(5) / 7,
        count=COUNT,
    )


@pytest.fixture
def components(make_components: MakeComponents) -> ComponentsRelease:
    frame = np.linalg.qr(SeededRandomness(2).normal((5, 2)))[0]
    return make_components(BASES["cosine"], frame, variances=[1 / 3, 0.1], total=0.7)


def same(one: CovarianceRelease, other: CovarianceRelease) -> None:
    """Everything that a covariance release can say is the same, bit for bit."""
    points = one.points(4)
    assert other.basis == one.basis
    assert other.certificate == one.certificate
    assert other.noise == one.noise
    assert other.count == one.count
    assert (other.lead, other.smoothing_name) == (one.lead, one.smoothing_name)
    for first, second in [
        (one.noisy, other.noisy),
        (one.centre, other.centre),
        (one.coordinates, other.coordinates),
        (one(points, points), other(points, points)),
        (one.noise_deviation(points, points), other.noise_deviation(points, points)),
        (one.mean(points), other.mean(points)),
        (one.components(2).frame, other.components(2).frame),
        (one.smooth("none")(points, points), other.smooth("none")(points, points)),
    ]:
        np.testing.assert_array_equal(first, second)
    assert one.estimated_error == other.estimated_error


@pytest.mark.parametrize("count", [None, COUNT], ids=["n", "noisy n"])
@pytest.mark.parametrize("law", ["gaussian", "radial", "wishart"])
@pytest.mark.parametrize("lead", [0.0, 1 / 3], ids=["centre", "mean"])
@pytest.mark.parametrize("family", BASES)
def test_a_loaded_covariance_has_identical_bits(
    family: str, lead: float, law: str, count: Count | None, make_covariance: MakeCovariance, tmp_path: Path
) -> None:
    release = make_covariance(
        BASES[family],
        SMOOTH,
        lead=lead,
        law=law,
        scale=0.1,
        seed=3,
        smoothing="auto",
        centre=np.ones(5) / 3,
        count=count,
    )
    loaded = dpfda.load(release.save(tmp_path / "covariance.json"))
    assert type(loaded) is CovarianceRelease
    same(release, loaded)


@pytest.mark.parametrize("paid", [(None, None), ([1 / 3, 0.1], None), ([1 / 3, 0.1], 0.7)], ids=["no", "part", "all"])
@pytest.mark.parametrize("family", BASES)
def test_loaded_components_have_identical_bits(
    family: str, paid: tuple[Any, Any], make_components: MakeComponents, tmp_path: Path
) -> None:
    frame = np.linalg.qr(SeededRandomness(4).normal((5, 2)))[0]
    one = make_components(BASES[family], frame, variances=paid[0], total=paid[1])
    other = dpfda.load(one.save(tmp_path / "components.json"))
    assert type(other) is ComponentsRelease
    assert other.basis == one.basis
    assert other.certificate == one.certificate
    assert other.total == one.total
    points = one.points(4)
    np.testing.assert_array_equal(one(points), other(points))
    np.testing.assert_array_equal(one.frame, other.frame)
    np.testing.assert_array_equal(one.centre, other.centre)
    assert (other.variances is None) == (one.variances is None)
    if one.variances is not None:
        np.testing.assert_array_equal(one.variances, other.variances)


def test_saving_twice_writes_the_same_text(
    covariance: CovarianceRelease, components: ComponentsRelease, tmp_path: Path
) -> None:
    for release in (covariance, components):
        first = release.save(tmp_path / "a.json")
        second = dpfda.load(first).save(tmp_path / "b.json")
        assert first.read_bytes() == second.read_bytes()


def test_a_file_says_its_kind_and_one_that_does_not_is_a_mean(
    covariance: CovarianceRelease,
    components: ComponentsRelease,
    make_release: Callable[..., Release],
    tmp_path: Path,
) -> None:
    mean = make_release(BASES["cosine"], np.arange(5.0), Noise("gaussian", (5,), (0.1,)))
    for release, kind in ((mean, "mean"), (covariance, "covariance"), (components, "components")):
        assert to_dict(release)["kind"] == statistic_of(release).name == kind
        assert statistic(kind).release is type(release)
    old = to_dict(mean)
    del old["kind"]
    path = tmp_path / "old.json"
    path.write_text(with_digest(json.dumps(old)))
    loaded = dpfda.load(path)
    assert type(loaded) is Release
    np.testing.assert_array_equal(loaded.coordinates, mean.coordinates)


def test_a_kind_from_the_future_is_named(components: ComponentsRelease, tmp_path: Path) -> None:
    path = tmp_path / "newer.json"
    path.write_text(with_digest(json.dumps(to_dict(components) | {"kind": "manifold"})))
    with pytest.raises(DataError, match=r"does not know the kind of release 'manifold'\. Import the module"):
        dpfda.load(path)


def test_what_is_no_release_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^Releases can be written to files, and dict is none of them\.$"):
        dpfda.releases.save({}, tmp_path / "other.json")
    assert list(tmp_path.iterdir()) == []


COMMON: list[tuple[str, Any]] = [
    ("kind", None),
    ("kind", 5),
    ("kind", "mean"),
    ("basis", None),
    ("basis.size", 4),
    ("basis.family", "bernstein"),
    ("basis.domain", [[1, 0]]),
    ("centre", [1.0]),
    ("centre", [float("nan")] * 5),
    ("certificate", None),
    ("certificate.size", 6),
    ("certificate.domain", [[0, 1]]),
]
COVARIANCE: list[tuple[str, Any]] = [
    *COMMON,
    ("kind", "components"),
    ("noisy", []),
    ("noisy", [1.0] * 15),
    ("noisy", ["a"] * 21),
    ("noisy", [float("inf")] * 21),
    ("noisy", [[1.0] * 21]),
    ("noisy", [1e300] * 21),
    ("noise", "wishart"),
    ("noise.law", None),
    ("noise.law", "choice"),
    ("noise.law", "frame"),
    ("noise.sizes", [15]),
    ("noise.scales", [0.1]),
    ("noise.scales", [0.0] * 6),
    ("lead", None),
    ("lead", 0),
    ("lead", -0.7),
    ("lead", "0.7"),
    ("lead", True),
    ("lead", float("nan")),
    ("lead", 1e-300),
    ("count", 5),
    ("count", {"value": 5.0}),
    ("count.value", "many"),
    ("count.value", 0.0),
    ("count.value", float("nan")),
    ("count.noise.sizes", [2]),
    ("smoothing", None),
    ("smoothing", "lowess"),
    ("smoothing", ["auto"]),
]
COMPONENTS: list[tuple[str, Any]] = [
    *COMMON,
    ("kind", "covariance"),
    ("frame", None),
    ("frame", []),
    ("frame", [[]] * 5),
    ("frame", [[1.0, 0.0]] * 5),
    ("frame", [[1.0], [0.0]]),
    ("frame", [[1.0, 0.0], [0.0]]),
    ("frame", [["a"]] * 5),
    ("frame", [1.0, 0.0, 0.0, 0.0, 0.0]),
    ("frame", np.eye(5, 6).tolist()),
    ("frame", [[float("nan")] * 2] * 5),
    ("variances", [1.0]),
    ("variances", 1.0),
    ("variances", [1.0, float("inf")]),
    ("total", "all"),
    ("total", float("nan")),
    ("total", [1.0]),
]


def damaged(data: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    whole = inner = copy.deepcopy(data)
    *parents, last = place.split(".")
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    return whole


def refuses(data: dict[str, Any], path: Path) -> None:
    path.write_text(with_digest(json.dumps(data)))
    text = f"{str(path)!r} is damaged: a part of the release is missing or of another kind. Take a fresh copy of it."
    with pytest.raises(DataError, match=f"^{re.escape(text)}$"):
        dpfda.load(path)


@pytest.mark.parametrize(
    ("place", "value"), COVARIANCE, ids=[f"{place} = {value!r:.20}" for place, value in COVARIANCE]
)
def test_a_damaged_covariance_is_found_when_loading_and_not_later(
    place: str, value: Any, covariance: CovarianceRelease, tmp_path: Path
) -> None:
    refuses(damaged(to_dict(covariance), place, value), tmp_path / "damaged.json")


@pytest.mark.parametrize(
    ("place", "value"), COMPONENTS, ids=[f"{place} = {value!r:.20}" for place, value in COMPONENTS]
)
def test_damaged_components_are_found_when_loading_and_not_later(
    place: str, value: Any, components: ComponentsRelease, tmp_path: Path
) -> None:
    refuses(damaged(to_dict(components), place, value), tmp_path / "damaged.json")


@pytest.mark.parametrize("kind", ["covariance", "components"])
def test_a_missing_part_is_damage(
    kind: str, covariance: CovarianceRelease, components: ComponentsRelease, tmp_path: Path
) -> None:
    data = to_dict(covariance if kind == "covariance" else components)
    for part in set(data) - {"format", "kind"}:
        refuses({name: value for name, value in data.items() if name != part}, tmp_path / "damaged.json")


def test_a_wishart_law_must_be_that_of_the_whole_matrix(make_covariance: MakeCovariance, tmp_path: Path) -> None:
    data = to_dict(make_covariance(BASES["cosine"], SMOOTH, law="wishart", seed=5))
    for noise in (
        {"law": "wishart", "sizes": [10], "scales": [0.1]},
        {"law": "wishart", "sizes": [14], "scales": [0.1]},
        {"law": "wishart", "sizes": [6, 9], "scales": [0.1, 0.1]},
    ):
        refuses(data | {"noise": noise}, tmp_path / "damaged.json")
