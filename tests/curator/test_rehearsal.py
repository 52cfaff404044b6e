"""What a summary and a release say of themselves is tried before the charge, and the error names the duty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.curator.rehearsal import rehearse_file
from dpfda.curator.summary import Summary
from dpfda.errors import UsageError
from dpfda.releases import Release, kinds
from dpfda.statistics.mean.summary import Mean

T = np.linspace(0, 1, 20)
CURVES = np.sin(np.pi * T) + np.linspace(-0.2, 0.2, 3000)[:, None]


def fit(monkeypatch: pytest.MonkeyPatch, place: Path, **methods: Callable[..., Any]) -> dpfda.Ledger:
    """A fit of a mean some of whose duties are done otherwise; the ledger that it would have been charged to."""
    for name, method in methods.items():
        monkeypatch.setattr(Mean, name, method, raising=False)
    ledger = dpfda.Ledger(f"sqlite:///{place}/budget.db")
    ledger.create("curves", epsilon=4.0, delta=1e-5, unit="person")
    est = dpfda.MeanFunction(
        epsilon=1.0, delta=1e-6, bound=1.5, size=6, mechanism="gaussian", dataset="curves", ledger=ledger
    )
    try:
        est.fit(CURVES, grid=T, units={"person": np.arange(3000)})
    finally:
        if methods:
            assert not [row for row in ledger.history() if row.kind == "charge"]
    return ledger


def test_an_honest_mean_is_charged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [row for row in fit(monkeypatch, tmp_path).history() if row.kind == "charge"]


def vectors_only(self: Mean, public: Any, basis: Any) -> Any:
    return lambda values: np.zeros((basis.size, len(values)))


def present_of_two(self: Mean, public: Any, basis: Any) -> Any:
    return lambda values: (np.zeros((basis.size, len(values))), np.ones(2 * len(values)))


def rows_for_columns(self: Mean, public: Any, basis: Any) -> Any:
    return lambda values: (np.zeros((len(values), basis.size)), np.ones(len(values)))


class Shorter:
    """Leaves a coordinate out."""

    def clip(self, vectors: Any, out: Any = None) -> Any:
        return np.trunc(vectors[1:])


FIELDS = [field.name for field in fields(Release)]
DECODE = Mean.decode
FAULTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "encoded_size": ("encode", lambda self, basis: 7),
    "sums": ("sums", lambda self, public, basis: basis.size + 1),
    "encode gives no presence": ("encode", vectors_only),
    "encode gives presence of others": ("encode", present_of_two),
    "encode gives rows": ("encode", rows_for_columns),
    "clipping": ("sums", lambda self, public: Shorter()),
    "collect": ("size", lambda self, total, units, public: total[:-1]),
    "decode": ("decode", lambda self, *all: replace(DECODE(self, *all), noisy=np.zeros(3))),
    "noise_rms": ("noise_rms", lambda self, decoded, basis: decoded.noise.variances @ np.zeros(2)),
    "noise_rms that is none": ("noise_rms", lambda self, decoded, basis: float("nan")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_shape_that_is_not_as_stated_is_refused_before_the_charge(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    duty, method = FAULTS[fault]
    with refused(UsageError, duty):
        fit(monkeypatch, tmp_path, **{fault.split()[0]: method})


def test_the_error_says_both_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Mean\.encoded_size says 7, encode gives 6 for one record"):
        fit(monkeypatch, tmp_path, encoded_size=lambda self, basis: 7)


@dataclass(frozen=True, eq=False)
class Odd(Release):
    """A release whose file is not what its reader asks for."""

    kind: ClassVar[str] = "odd"


def published(monkeypatch: pytest.MonkeyPatch, **methods: Any) -> Odd:
    """A release of a registered kind, with these methods."""
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, size=6)
    release = est.fit(CURVES, grid=T, units={"person": np.arange(3000)}).release_
    odd = Odd(**{name: getattr(release, name) for name in FIELDS})
    for name, method in ({"from_plain": staticmethod(reads)} | methods).items():
        monkeypatch.setattr(Odd, name, method, raising=False)
    known = kinds.Statistic("odd", "odd")
    known.__dict__["release"] = Odd
    monkeypatch.setitem(kinds._FOLDERS, "odd", "odd")
    monkeypatch.setitem(kinds._LOADED, "odd", known)
    return odd


def reads(data: Any, basis: Any, certificate: Any) -> Odd:
    release = Release.from_plain(data, basis, certificate)
    return Odd(**{name: getattr(release, name) for name in FIELDS})


def test_a_release_whose_file_can_be_read_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    rehearse_file(published(monkeypatch))


def test_a_file_that_load_would_refuse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    without_centre = lambda self: Release.to_plain(self) | {"centre": []}  # noqa: E731
    with refused(UsageError, "to_plain"):
        rehearse_file(published(monkeypatch, to_plain=without_centre))


def test_what_is_no_plain_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = lambda self: Release.to_plain(self) | {"noisy": self.noisy}  # noqa: E731
    with refused(UsageError, "to_plain"):
        rehearse_file(published(monkeypatch, to_plain=arrays))


def test_a_file_that_is_read_as_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = staticmethod(lambda data, basis, card: reads(data | {"noisy": [0.0] * basis.size}, basis, card))
    with refused(UsageError, "from_plain"):
        rehearse_file(published(monkeypatch, from_plain=other))


def test_the_file_is_tried_before_the_charge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Release, "to_plain", lambda self: {"noisy": []})
    with refused(UsageError, "to_plain"):
        fit(monkeypatch, tmp_path, publish=Summary.publish)
