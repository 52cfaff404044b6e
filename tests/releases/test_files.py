"""A release in a file is the same release: identical bits, or an error that says what is wrong with the file."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.bases import (
    FAMILIES,
    FEATURE_MAPS,
    Basis,
    IntervalBasis,
    beam,
    bernstein,
    bspline,
    combined,
    contracted,
    cosine,
    fourier,
    legendre,
    mercer,
    reinsch,
    steps,
    tensor,
)
from dpfda.errors import DataError, UsageError
from dpfda.kernels import Matern
from dpfda.mechanisms.noise import Noise
from dpfda.releases import Count, Release, load, save
from dpfda.releases.documents import sealed, with_digest
from dpfda.releases.files import text_of, to_dict
from dpfda.releases.verification import verify

BASES: dict[str, Basis] = {
    "beam": beam((0, 23.5), 9),
    "bernstein": bernstein((2, 5), 9),
    "bspline": bspline((0.1, 0.7), 9, degree=2),
    "combined": combined(legendre((0, 2), 12), np.linalg.qr(np.cos(np.arange(108.0)).reshape(12, 9))[0].T),
    "contracted": contracted(cosine((0, 1), 9), np.diag(1 / np.arange(1.0, 10.0))),
    "cosine": cosine((-1, 1), 9),
    "fourier": fourier((0, 24), 9),
    "legendre": legendre((0, 1 / 3), 9),
    "mercer": mercer(Matern(1.5, rho=0.3), (0, 1), 9),
    "reinsch": reinsch((-3, 1 / 7), 9),
    "steps": steps((0, 1), [0, 0.1, 0.2, 1 / 3, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
    "tensor": tensor(cosine((0, 1), 4), bernstein((0, 2), 3)),
}
NOISES = {"gaussian": Noise("gaussian", (4, 5), (0.1, 1 / 3)), "radial": Noise("radial", (1, 8), (0.1, 1 / 7))}
MakeRelease = Callable[..., Release]


@pytest.fixture
def release(make_release: MakeRelease) -> Release:
    return make_release(BASES["beam"], np.arange(9) / 7, NOISES["radial"], smoothing="auto", centre=np.ones(9) / 3)


def test_every_family_of_bases_is_tried() -> None:
    assert set(BASES) == set(FAMILIES) - set(FEATURE_MAPS)


@pytest.mark.parametrize("law", NOISES)
@pytest.mark.parametrize("family", BASES)
def test_a_loaded_release_has_identical_bits(family: str, law: str, make_release: MakeRelease, tmp_path: Path) -> None:
    basis, noise = BASES[family], NOISES[law]
    if basis.size != 9:
        noise = Noise(noise.name, (basis.size - 5, 5), noise.scales)
    count = Count(1234.5678, Noise(noise.name, (1,), (0.1,))) if law == "radial" else None
    exact, centre = np.random.default_rng(1).normal(size=(2, basis.size))
    one = make_release(basis, exact, noise, smoothing="auto", centre=centre, count=count, rho=0.1, scale=1 / 3)
    other = dpfda.load(one.save(tmp_path / "mean.json"))
    points = one.points(7)
    order = (1,) * basis.domain.dimension
    assert other.basis == one.basis
    assert other.certificate == one.certificate
    assert other.noise == one.noise
    assert other.count == one.count
    assert other.smoothing.name == "auto"
    assert other.smoothing.risk == one.smoothing.risk
    for first, second in [
        (one.noisy, other.noisy),
        (one.coordinates, other.coordinates),
        (one(points), other(points)),
        (one.band(0.9, points).lower, other.band(0.9, points).lower),
        (one.band(0.9, points).upper, other.band(0.9, points).upper),
        (one.smooth("none")(points), other.smooth("none")(points)),
    ]:
        np.testing.assert_array_equal(first, second)
    rough = one.function.roughness
    if rough is None or rough.has(order):
        np.testing.assert_array_equal(one.derivative(order)(points), other.derivative(order)(points))
    else:
        for each in (one, other):
            with refused(UsageError, "order"):
                each.derivative(order)
    assert one.integral() == other.integral()
    assert one.norm() == other.norm()
    assert one.estimated_error == other.estimated_error


def test_a_pipe_is_never_replaced_by_a_file(release: Release, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(DataError):
        release.save(tmp_path / "pipe.json")
    assert (tmp_path / "pipe.json").is_fifo()


def test_saving_twice_writes_the_same_text(release: Release, tmp_path: Path) -> None:
    first = release.save(tmp_path / "a.json")
    second = load(first).save(tmp_path / "b.json")
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text(encoding="utf-8").endswith("}\n")


def test_saving_replaces_an_older_file_and_leaves_nothing_else(release: Release, tmp_path: Path) -> None:
    target = tmp_path / "mean.json"
    target.write_text("old")
    assert save(release, str(target)) == target
    assert load(target).norm() == release.norm()
    assert [path.name for path in tmp_path.iterdir()] == ["mean.json"]


def test_a_failed_write_keeps_the_old_file_and_cleans_up(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "mean.json"
    target.write_text("old")

    def full_disk(self: Path, text: str, **options: Any) -> int:
        with self.open("w") as half:
            half.write(text[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    text = f"Cannot write {str(target)!r}: No space left on device. Name another file."
    with pytest.raises(DataError, match=f"^{re.escape(text)}$"):
        release.save(target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["mean.json"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("folder", "Is a directory"),
        ("missing/mean.json", "No such file or directory"),
        ("plain/mean.json", "Not a directory"),
    ],
)
def test_a_target_that_cannot_be_written_is_named(target: str, reason: str, release: Release, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("a file")
    text = f"Cannot write {str(tmp_path / target)!r}: {reason}. Name another file."
    with pytest.raises(DataError, match=f"^{re.escape(text)}$"):
        release.save(tmp_path / target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "plain"]


def test_an_empty_file_name_is_a_data_error(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"^Cannot write '\.': .*Name another file\.$"):
        release.save("")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(DataError, match=f"^{re.escape(f'No release file {str(path)!r}. Check the path.')}$"):
        load(path)


def test_a_folder_is_no_release(tmp_path: Path) -> None:
    text = f"Cannot read {str(tmp_path)!r}: Is a directory. Name the JSON file of a release."
    with pytest.raises(DataError, match=f"^{re.escape(text)}$"):
        load(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"mean", b"\xff\xfe\x00", b"[]", b"{}", b"null", b'"text"', b'{"format": "dpfda-release-9"}', b"[" * 100_000],
    ids=["empty", "word", "binary", "list", "object", "null", "text", "newer", "deep"],
)
def test_other_files_are_not_releases(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    text = f"{str(path)!r} is not a release of format dpfda-release-1. Write one with release.save()."
    with pytest.raises(DataError, match=f"^{re.escape(text)}$"):
        load(path)


def set_at(data: dict[str, Any], place: str, value: Any) -> None:
    *parents, last = place.split(".")
    for parent in parents:
        data = data[parent]
    data[last] = value


DAMAGE: list[tuple[str, Any]] = [
    ("basis", None),
    ("basis", {"family": 5, "domain": [[0, 1]], "size": 9}),
    ("basis.size", 8),
    ("basis.size", "9"),
    ("basis.domain", [[1, 0]]),
    ("noisy", []),
    ("noisy", [1.0] * 8),
    ("noisy", ["a"] * 9),
    ("noisy", [[1.0] * 9]),
    ("noisy", [float("nan")] * 9),
    ("centre", [1.0]),
    ("centre", None),
    ("noise", "gaussian"),
    ("noise.law", None),
    ("noise.sizes", [1]),
    ("noise.sizes", [1, 7]),
    ("noise.scales", [0.1, float("inf")]),
    ("noise.scales", [0.1, 0.0]),
    ("noise.scales", [0.1, "1"]),
    ("count", 5),
    ("count", {"value": "many", "noise": {"law": "radial", "sizes": [1], "scales": [1.0]}}),
    ("count", {"value": 0.0, "noise": {"law": "radial", "sizes": [1], "scales": [1.0]}}),
    ("noise.law", "frame"),
    ("smoothing", None),
    ("smoothing.weights", [1.0]),
    ("smoothing.risk", float("nan")),
    ("smoothing.risk", "small"),
    ("certificate", None),
    ("certificate.domain", [[0, 1]]),
    ("certificate.domain", 5),
    ("certificate.size", 10),
    ("certificate.surprise", 1),
]


@pytest.mark.parametrize(("place", "value"), DAMAGE, ids=[f"{place} = {value!r:.20}" for place, value in DAMAGE])
def test_a_damaged_part_is_found_when_loading_and_not_later(
    place: str, value: Any, release: Release, tmp_path: Path
) -> None:
    data = json.loads(json.dumps(to_dict(release)))
    set_at(data, place, value)
    path = tmp_path / "damaged.json"
    path.write_text(with_digest(json.dumps(data)))
    text = f"{str(path)!r} is damaged: a part of the release is missing or of another kind. Take a fresh copy of it."
    with pytest.raises(DataError, match=f"^{re.escape(text)}$"):
        load(path)


@pytest.mark.parametrize("part", ["certificate", "basis", "noisy", "centre", "noise", "count", "smoothing"])
def test_a_missing_part_is_damage(part: str, release: Release, tmp_path: Path) -> None:
    data = to_dict(release)
    del data[part]
    path = tmp_path / "damaged.json"
    path.write_text(with_digest(json.dumps(data)))
    with pytest.raises(DataError, match=r"is damaged: a part of the release is missing or of another kind\."):
        load(path)


def test_a_cut_file_is_not_a_release(release: Release, tmp_path: Path) -> None:
    path = release.save(tmp_path / "mean.json")
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(DataError, match=r"does not end with its digest, .*: it was cut off or edited\."):
        load(path)


def test_a_file_ends_with_the_digest_of_every_byte_before_it(release: Release, tmp_path: Path) -> None:
    content = release.save(tmp_path / "mean.json").read_bytes()
    start = content.rindex(b',\n "digest": "')
    digest = hashlib.sha256(content[:start]).hexdigest()
    assert content[start:] == f',\n "digest": "{digest}"\n}}\n'.encode()
    assert text_of(release).encode() == content


def test_a_file_whose_digest_was_taken_off_is_refused(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(to_dict(release), indent=1) + "\n")
    with pytest.raises(DataError, match=r"does not end with its digest") as found:
        load(path)
    assert found.value.exit_code == 5


def test_a_file_with_one_changed_byte_is_refused(release: Release, tmp_path: Path) -> None:
    path = release.save(tmp_path / "mean.json")
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DataError):
            load(path)
    path.write_bytes(content.replace(b'"epsilon": 1.0', b'"epsilon": 0.1'))
    with pytest.raises(DataError, match=r"was changed after it was written: its bytes do not fit the digest at its"):
        load(path)


@pytest.mark.parametrize("family", ["bspline", "reinsch", "bernstein"])
def test_a_basis_beyond_the_limit_of_its_family_is_not_made_from_a_file(
    family: str, make_release: MakeRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 4096
    plain = make_release(cosine((0, 1), size), np.zeros(size), Noise("gaussian", (size,), (1.0,)))
    data = {**to_dict(plain), "basis": {"family": family, "domain": [[0.0, 1.0]], "size": size}}
    (tmp_path / "large.json").write_text(sealed(data))
    monkeypatch.setattr(IntervalBasis, "functions", None)
    with pytest.raises(DataError, match=r"its basis cannot be made\. The size of a .* at most .*, got 4096"):
        dpfda.load(tmp_path / "large.json")
    assert verify(tmp_path / "large.json").verdict == "DOES NOT HOLD"
