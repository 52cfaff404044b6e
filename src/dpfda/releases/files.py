"""Come here for releases in files: JSON and back, with identical values."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpfda.bases import from_dict as basis_from_dict
from dpfda.errors import DataError
from dpfda.privacy import Noise
from dpfda.releases.certificate import Certificate
from dpfda.releases.release import Count, Release
from dpfda.releases.smoothing import Smoothing

FORMAT = "dpfda-release-1"


def to_dict(release: Release) -> dict[str, Any]:
    """A release as plain data; doubles are written in full, so nothing is lost."""
    return {
        "format": FORMAT,
        "certificate": release.certificate.to_dict(),
        "basis": release.basis.describe(),
        "noisy": release.noisy.tolist(),
        "centre": release.centre.tolist(),
        "noise": release.noise.describe(),
        "count": None
        if release.count is None
        else {"value": release.count.value, "noise": release.count.noise.describe()},
        "smoothing": {
            "name": release.smoothing.name,
            "weights": release.smoothing.weights.tolist(),
            "risk": release.smoothing.risk,
        },
    }


def from_dict(data: dict[str, Any]) -> Release:
    """The release that `to_dict` wrote."""
    count, smoothing = data["count"], data["smoothing"]
    return Release(
        basis=basis_from_dict(data["basis"]),
        noisy=np.array(data["noisy"], dtype=np.float64),
        centre=np.array(data["centre"], dtype=np.float64),
        noise=Noise.from_dict(data["noise"]),
        count=None if count is None else Count(count["value"], Noise.from_dict(count["noise"])),
        smoothing=Smoothing(smoothing["name"], np.array(smoothing["weights"], dtype=np.float64), smoothing["risk"]),
        certificate=Certificate.from_dict(data["certificate"]),
    )


def _check(release: Release) -> None:
    """A file may be damaged and still be JSON: what is read must fit together and be printable."""
    size = release.basis.size
    for vector in (release.noisy, release.centre, release.smoothing.weights, release.noise.variances):
        if vector.shape != (size,) or not np.isfinite(vector).all():
            raise ValueError
    spread = (release.noise.variances > 0).all() or release.noise.law == "choice"
    if not spread or not np.isfinite(release.smoothing.risk):
        raise ValueError
    if release.certificate.domain != release.basis.domain.sides or release.certificate.size != size:
        raise ValueError
    release.certificate.text()  # fails where a number is no number


def save(release: Release, path: str | Path) -> Path:
    """Write a release as JSON, whole or not at all."""
    target = Path(path)
    text = json.dumps(to_dict(release), indent=1, allow_nan=False)
    draft = Path(f"{target}.part")
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise DataError(f"Cannot write {str(target)!r}: {error.strerror}. Name another file.") from None
    return target


def load(path: str | Path) -> Release:
    """Read a release that was saved as JSON."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"No release file {str(path)!r}. Check the path.") from None
    except OSError as error:
        raise DataError(f"Cannot read {str(path)!r}: {error.strerror}. Name the JSON file of a release.") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DataError(f"{str(path)!r} is not a release of format {FORMAT}. Write one with release.save().")
    try:
        release = from_dict(data)
        _check(release)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise DataError(
            f"{str(path)!r} is damaged: a part of the release is missing or of another kind. Take a fresh copy of it."
        ) from None
    return release
