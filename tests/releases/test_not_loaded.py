"""A file that needs a module which is not imported is neither damaged nor wrong: what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dpfda
from dpfda.cli import serve as serving
from dpfda.cli.main import cli
from dpfda.errors import DataError
from dpfda.kernels import Matern
from dpfda.mechanisms import GaussianProcess
from dpfda.releases.documents import sealed
from dpfda.releases.files import text_of
from dpfda.releases.verification import verify
from dpfda.releases.verification.report import UNREADABLE

T = np.linspace(0, 1, 30)
CURVES = np.sin(np.pi * T) + np.linspace(-0.3, 0.3, 3000)[:, None] * T


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    stated = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.5}
    release = dpfda.MeanFunction(**stated, mechanism="gaussian", size=5).fit(CURVES, grid=T).release_
    process = GaussianProcess(kernel=Matern(2.5, rho=0.5))
    drawn = dpfda.MeanFunction(**stated, mechanism=process, size=5).fit(CURVES, grid=T).release_
    return {"mean": json.loads(text_of(release)), "process": json.loads(text_of(drawn))}


def changed(plain: dict[str, Any], part: str) -> dict[str, Any]:
    """The file as another installation wrote it, where a module had registered what is named "elsewhere"."""
    name = "process" if part == "kernel" else "mean"
    data = json.loads(json.dumps(plain[name]))
    del data["digest"]
    if part == "kind":
        data["kind"] = "elsewhere"
    elif part == "law":
        data["noise"]["law"] = "elsewhere"
    elif part == "basis":
        data["basis"]["family"] = "elsewhere"
    else:
        data["basis"]["kernel"]["family"] = "elsewhere"
    return data


every = pytest.mark.parametrize("part", ["kind", "law", "basis", "kernel"])


@every
def test_it_is_told_what_to_import(plain: dict[str, Any], part: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(sealed(changed(plain, part)), encoding="utf-8")
    with pytest.raises(DataError, match=r"'elsewhere'\. Import the module that registers it"):
        dpfda.load(path)
    report = verify(path)
    assert [finding.kind for finding in report.findings] == [UNREADABLE]
    assert "elsewhere" in report.findings[0].recomputed
    assert (report.exit_code, report.verdict) == (5, "COULD NOT BE CHECKED")


def test_an_edited_file_is_still_found_out(plain: dict[str, Any], tmp_path: Path) -> None:
    """Its digest does not fit: whatever it needs, it is not as it was written."""
    path = tmp_path / "a.json"
    data = changed(plain, "law")
    path.write_text(sealed(data).replace("elsewhere", "somewhere"), encoding="utf-8")
    assert verify(path).verdict == "DOES NOT HOLD"
    with pytest.raises(DataError) as caught:
        dpfda.load(path)
    assert "Import" not in str(caught.value)


def test_a_card_of_an_unknown_law_could_not_be_checked(plain: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    card = json.loads(json.dumps(plain["mean"]["certificate"]))
    assert card["noise"]["code"] == "gaussian"
    card["noise"]["code"] = card["mechanism"] = "elsewhere"
    path.write_text(json.dumps(card), encoding="utf-8")
    report = verify(path)
    assert report.findings
    assert {finding.kind for finding in report.findings} == {UNREADABLE}


def test_the_service_says_it_too(plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(sealed(changed(plain, "kind")), encoding="utf-8")
    (tmp_path / "b.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("dpfda.service.run", lambda *arguments, **more: None)
    said: list[str] = []
    monkeypatch.setattr(serving, "notice", said.append)
    done = CliRunner().invoke(cli, ["serve", str(tmp_path), "--quiet"])
    assert done.exit_code == 0, done.exception
    assert ["elsewhere" in line for line in said] == [True, False]
