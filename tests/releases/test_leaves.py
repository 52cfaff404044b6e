"""Whoever changes any leaf of a release file and makes its digest anew is found out by the ledger."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.ledger.durable import Ledger
from dpfda.releases.cards.document import json_text
from dpfda.releases.documents import sealed, with_digest
from dpfda.releases.verification import recompute, verify

GRID = np.linspace(0, 1, 12)
SIZE = 200
CURVES = 0.5 * np.sin(np.pi * GRID) + np.linspace(-0.3, 0.3, SIZE)[:, None]
POINTS = np.linspace(0.05, 0.95, SIZE)[:, None]
APPROXIMATE, PURE = {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0, "delta": 0.0}


def _mean(**wishes: Any) -> Callable[[Any], Any]:
    return lambda book: dpfda.MeanFunction(bound=1.0, size=3, **book, **wishes).fit(CURVES, grid=GRID).release_


def _covariance(**wishes: Any) -> Callable[[Any], Any]:
    return lambda book: (
        dpfda.CovarianceFunction(bound=1.0, size=2, force=True, **book, **wishes).fit(CURVES, grid=GRID).release_
    )


def _components(**wishes: Any) -> Callable[[Any], Any]:
    return lambda book: dpfda.FPCA(1, bound=1.0, size=2, force=True, **book, **wishes).fit(CURVES, grid=GRID).release_


def _density(**wishes: Any) -> Callable[[Any], Any]:
    return lambda book: dpfda.DensityFunction(domain=(0, 1), size=4, **book, **wishes).fit(POINTS).release_


def _classifier(book: Any) -> Any:
    wishes: dict[str, Any] = {"domain": (0, 1), "classes": ("low", "high"), **APPROXIMATE}
    labels = np.where(POINTS[:, 0] > 0.4, "high", "low")
    return dpfda.KernelClassifier(**wishes, **book).fit(POINTS, labels).release_


def _regressor(book: Any) -> Any:
    wishes: dict[str, Any] = {"domain": (0, 1), "response_bound": 1.0, **APPROXIMATE}
    return dpfda.KernelRegressor(**wishes, **book).fit(POINTS, POINTS[:, 0]).release_


def _regression(book: Any) -> Any:
    wishes: dict[str, Any] = {"bound": 1.0, "covariate_limits": [(0, 1)], "mechanism": "gaussian", "size": 2}
    return dpfda.FunctionOnScalarRegression(**wishes, **APPROXIMATE, **book).fit(POINTS, CURVES, grid=GRID).release_


def _half(points: Any) -> Any:
    return 0.5 * np.sin(np.pi * np.asarray(points))


MADE: dict[str, Callable[[Any], Any]] = {
    "mean": _mean(mechanism="gaussian", **APPROXIMATE),
    "mean, k-norm": _mean(mechanism="k-norm", **PURE),
    "mean, exponential": _mean(mechanism="exponential", **PURE),
    "mean, around a curve": _mean(mechanism="gaussian", centre=_half, **APPROXIMATE),
    "mean, private number": _mean(neighbours="add-or-remove-one", planned_n=SIZE, mechanism="gaussian", **APPROXIMATE),
    "covariance": _covariance(mechanism="gaussian", **APPROXIMATE),
    "covariance, wishart": _covariance(mechanism="wishart", **PURE),
    "covariance, exponential": _covariance(mechanism="exponential", **PURE),
    "components": _components(mechanism="gaussian", **APPROXIMATE),
    "components, exponential": _components(mechanism="exponential", **PURE),
    "components, with variances": _components(mechanism="exponential", explained_variance=0.25, **PURE),
    "density": _density(**PURE),
    "classifier": _classifier,
    "regressor": _regressor,
    "regression": _regression,
}
# Made from the above for nothing.
AFTERWARDS: dict[str, Callable[[Any], Any]] = {
    "mean, smoothed afterwards": lambda book: MADE["mean"](book).smooth("sobolev-2"),
    "covariance, smoothed afterwards": lambda book: MADE["covariance"](book).smooth("none"),
    "density, smoothed afterwards": lambda book: MADE["density"](book).smooth("james-stein"),
    "regression, changed afterwards": lambda book: MADE["regression"](book).with_ridge(0.25).smooth("none"),
}
KINDS = [*MADE, *AFTERWARDS]


class Remembered:
    """A ledger that is read once: what it answers does not change while files are forged."""

    def __init__(self, ledger: Ledger) -> None:
        self.id, self._history, self._datasets = ledger.id, ledger.history(), ledger.datasets()
        self.output = cache(ledger.output)
        ledger.check()

    def check(self) -> None:
        """It was checked when it was read."""

    def history(self) -> Any:
        return self._history

    def datasets(self) -> Any:
        return self._datasets


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Remembered]]:
    """A release by the name of its kind, and the ledger that it was charged to; each is made once."""

    @cache
    def once(kind: str) -> tuple[Any, Remembered]:
        ledger = Ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}")
        relation = "add-or-remove-one" if "private number" in kind else "replace-one"
        ledger.create("scans", epsilon=10.0, delta=1e-3, neighbours=relation)
        release = (MADE | AFTERWARDS)[kind]({"dataset": "scans", "ledger": ledger})
        return release, Remembered(ledger)

    return once


def others(leaf: Any) -> list[Any]:
    """Values that stand for something else than this leaf, or are written otherwise."""
    if isinstance(leaf, bool):
        return [not leaf, int(leaf), str(leaf), None]
    if isinstance(leaf, int | float):
        near = [math.nextafter(leaf, math.inf), leaf * 1.5]
        spelled = [float(leaf)] if isinstance(leaf, int) else [int(leaf)] if leaf.is_integer() else []
        return [*near, leaf + 1, -leaf, 0, *spelled, str(leaf), None, True]
    if isinstance(leaf, str):
        return [f"{leaf} ", leaf[:-1], leaf.upper(), "", "none", "auto", None, 0]
    return [0, 0.0, 1.0, "", "auto", False, [], {}]  # of null


def changes(data: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every part of the data with every change: leaves changed, names and places added, removed and moved."""
    if isinstance(data, dict):
        yield f"{where} + a name", data | {"surprise": 1}
        for name in data:
            yield f"{where}.{name} removed", {key: part for key, part in data.items() if key != name}
            yield f"{where}.{name} renamed", {f"{key}x" if key == name else key: part for key, part in data.items()}
            for said, part in changes(data[name], f"{where}.{name}"):
                yield said, data | {name: part}
        turned = dict(reversed(data.items()))
        if len(data) > 1:
            yield f"{where} in another order", turned
    elif isinstance(data, list):
        yield f"{where} + a place", [*data, data[-1] if data else 0.0]
        if data:
            yield f"{where} without its end", data[:-1]
            yield f"{where} without its start", data[1:]
            yield f"{where} + zero", [0.0, *data]
        if data != data[::-1]:
            yield f"{where} turned", data[::-1]
        for place, leaf in enumerate(data):
            for said, part in changes(leaf, f"{where}[{place}]"):
                yield said, [*data[:place], part, *data[place + 1 :]]
    else:
        for other in others(data):
            if json.dumps(other) != json.dumps(data):
                yield f"{where}: {data!r} -> {other!r}", other


def forged(data: dict[str, Any], path: Path) -> Path:
    path.write_text(sealed(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_as_it_was_handed_out_holds(kind: str, made: Callable[..., Any], tmp_path: Path) -> None:
    release, ledger = made(kind)
    report = verify(release.save(tmp_path / "release.json"), ledger)
    assert (report.exit_code, report.verdict) == (0, "holds"), report.text()
    assert verify(release, ledger).ok
    assert verify(dpfda.load(tmp_path / "release.json"), ledger).ok


@pytest.mark.parametrize("kind", KINDS)
def test_no_leaf_can_be_changed(kind: str, made: Callable[..., Any], tmp_path: Path) -> None:
    """Sixty changes, drawn with a seed; the audit makes all of them."""
    release, ledger = made(kind)
    found = list(changes(plain(release)))
    some = np.random.default_rng(sum(map(ord, kind))).permutation(len(found))[:60]
    check_all([found[place] for place in some], ledger, tmp_path)


# What passed as "holds" with a ledger before whole files were compared.
SHOWN: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("mean, around a curve", lambda data: data["centre"].__setitem__(0, data["centre"][0] + 100.0)),
    ("covariance", lambda data: data["centre"].__setitem__(1, 5.0)),
    ("components", lambda data: data.update(frame=[[0.0], [1.0]])),
    ("components, exponential", lambda data: data.update(frame=[[1.0], [0.0]])),
    ("components, with variances", lambda data: data.update(variances=[9.0])),
    ("regression", lambda data: data["covariates"].update(scales=[0.001])),
    ("regression", lambda data: data["covariates"].update(middles=[40.0])),
    ("classifier", lambda data: data.update(classes=["high", "low"])),
    ("regressor", lambda data: data.update(bound=100.0)),
    ("density", lambda data: data["certificate"]["software"].update(opendp="9.9.9")),
    ("mean", lambda data: data["certificate"]["warnings"].append("all is well")),
]


@pytest.mark.parametrize(("kind", "forge"), SHOWN, ids=[f"{place}, {kind}" for place, (kind, _) in enumerate(SHOWN)])
def test_a_file_that_was_altered_as_a_whole_does_not_pass(
    kind: str, forge: Callable[[dict[str, Any]], Any], made: Callable[..., Any], tmp_path: Path
) -> None:
    release, ledger = made(kind)
    data = plain(release)
    forge(data)
    report = verify(forged(data, tmp_path / "forged.json"), ledger)
    assert report.exit_code in (3, 4), report.text()
    assert report.verdict == "DOES NOT HOLD"


@pytest.mark.audit
@pytest.mark.parametrize("kind", KINDS)
def test_no_leaf_can_be_changed_in_any_way(kind: str, made: Callable[..., Any], tmp_path: Path) -> None:
    release, ledger = made(kind)
    check_all(list(changes(plain(release))), ledger, tmp_path)


def plain(release: Any) -> dict[str, Any]:
    from dpfda.releases.files import to_dict

    data: dict[str, Any] = json.loads(json.dumps(to_dict(release)))
    return data


def check_all(found: list[tuple[str, Any]], ledger: Any, tmp_path: Path) -> None:
    assert len(found) >= 60
    passed = [said for said, data in found if verify(forged(data, tmp_path / "forged.json"), ledger).exit_code == 0]
    assert passed == []


STATED = (".certificate.chosen", ".certificate.software")  # lists of what somebody said, as long as they like
LOSSES = ".certificate.losses[0] in another order"  # says the same


@pytest.mark.parametrize("kind", ["mean", "mean, private number", "components", "density", "classifier", "regression"])
def test_without_a_ledger_no_part_can_be_added_removed_or_moved(
    kind: str, made: Callable[..., Any], tmp_path: Path
) -> None:
    """What a file alone tells: its form, whatever the numbers are."""
    release, _ = made(kind)
    endings = ("+ a name", "removed", "renamed", "in another order")
    found = [
        (said, data)
        for said, data in changes(plain(release))
        if said.endswith(endings) and not said.startswith(STATED) and said != LOSSES
    ]
    assert len(found) > 100
    passed = [said for said, data in found if recompute(forged(data, tmp_path / "forged.json")).exit_code == 0]
    assert passed == []


def bought(folder: Path) -> tuple[dict[str, Any], Remembered]:
    """The document of a bound that was bought."""
    ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
    ledger.create("scans", epsilon=10.0, delta=1e-3)
    wishes: dict[str, Any] = {"epsilon": 0.5, "quantile": 0.9, "candidates": (0.25, 0.5, 1.0, 2.0), "dataset": "scans"}
    choice = dpfda.private_bound(CURVES, grid=GRID, ledger=ledger, **wishes)
    data: dict[str, Any] = json.loads(json_text(choice.card))
    del data["digest"]
    return data, Remembered(ledger)


def test_no_leaf_of_a_bound_that_was_bought_can_be_changed(tmp_path: Path) -> None:
    """Sixty changes, drawn with a seed; the audit makes all of them."""
    data, ledger = bought(tmp_path)
    assert verify(forged(data, tmp_path / "bound.json"), ledger).exit_code == 0
    found = list(changes(data))
    check_all([found[place] for place in np.random.default_rng(1).permutation(len(found))[:60]], ledger, tmp_path)


@pytest.mark.audit
def test_no_leaf_of_a_bound_that_was_bought_can_be_changed_in_any_way(tmp_path: Path) -> None:
    data, ledger = bought(tmp_path)
    check_all(list(changes(data)), ledger, tmp_path)


def test_a_claim_in_the_place_of_a_release_does_not_pass_with_a_ledger(tmp_path: Path) -> None:
    claim = Path(__file__).parents[2] / "docs" / "examples" / "load-curve-corrected-claim.json"
    assert verify(claim).exit_code == 0
    _, ledger = bought(tmp_path)
    report = verify(claim, ledger)
    assert (report.exit_code, report.missing) == (5, ("the ledger: a claim names no entry of one",))


def test_a_name_that_stands_twice_does_not_pass(made: Callable[..., Any], tmp_path: Path) -> None:
    release, ledger = made("mean")
    text = sealed(plain(release))
    body = text[: text.rindex(',\n "digest"')].replace('"epsilon": 1.0', '"epsilon": 0.1,\n  "epsilon": 1.0', 1)
    path = tmp_path / "forged.json"
    path.write_text(with_digest(f"{body}\n}}"))
    assert verify(path, ledger).exit_code == 3
    assert recompute(path).exit_code == 3
