"""Files and ledgers of an earlier version still load, show and verify."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dpfda
from dpfda.cli.main import cli
from dpfda.releases.documents import sealed
from dpfda.releases.files import text_of
from dpfda.releases.verification import recompute, verify

PRESENT = Path(__file__).parent / "present"
DOCUMENTS = ("bounds", "card-of-mean")
FILES = sorted(file.stem for file in PRESENT.glob("*.json"))
RELEASES = [name for name in FILES if name not in DOCUMENTS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy that may be written to."""
    return shutil.copytree(PRESENT, tmp_path / "present")


def test_there_is_a_file_of_every_kind() -> None:
    kinds = {type(dpfda.load(PRESENT / f"{name}.json")).__name__ for name in RELEASES}
    assert kinds == {
        "Release",
        "CovarianceRelease",
        "ComponentsRelease",
        "DensityRelease",
        "MachineRelease",
        "RegressionRelease",
    }


@pytest.mark.parametrize("name", RELEASES)
def test_a_file_loads_and_is_written_again_byte_for_byte(name: str) -> None:
    file = PRESENT / f"{name}.json"
    assert text_of(dpfda.load(file)).encode() == file.read_bytes()


@pytest.mark.parametrize("name", RELEASES)
def test_a_file_is_shown(name: str) -> None:
    shown = CliRunner().invoke(cli, ["show", str(PRESENT / f"{name}.json")])
    assert shown.exit_code == 0
    assert shown.output.startswith("Release card: ")


def test_a_ledger_goes_on(folder: Path) -> None:
    ledger = dpfda.Ledger(f"sqlite:///{folder / 'ledger.db'}")
    curves = np.zeros((400, 24))
    estimator = dpfda.MeanFunction(epsilon=0.5, delta=1e-6, bound=1.0, size=5, dataset="scans", ledger=ledger)
    assert estimator.fit(curves, grid=np.linspace(0, 1, 24)).release_.certificate.entry is not None
    ledger.check()


@pytest.mark.parametrize("name", FILES)
def test_a_file_verifies_as_far_as_its_ledger_kept_it(name: str, folder: Path) -> None:
    """The guarantee holds, the card is the one that was handed out, and what the ledger did not keep is listed."""
    report = verify(folder / f"{name}.json", dpfda.Ledger(f"sqlite:///{folder / 'ledger.db'}"))
    assert report.findings == ()
    assert (report.exit_code, report.verdict.split(":")[0]) == (5, "INCOMPLETE")
    assert report.missing
    # A process whose bandwidth was bought is drawn after the output was stored.
    kept = "card that was handed out under the entry"
    assert (kept in report.held) == (name != "density-bought-bandwidth")


@pytest.mark.parametrize("name", FILES)
def test_a_file_alone_holds(name: str) -> None:
    report = recompute(PRESENT / f"{name}.json")
    assert (report.findings, report.exit_code) == ((), 0)
    assert report.limits


@pytest.mark.parametrize("name", FILES)
def test_a_card_that_was_altered_disagrees_with_the_old_ledger(name: str, folder: Path) -> None:
    data = json.loads((folder / f"{name}.json").read_text())
    del data["digest"]
    data["card" if name in DOCUMENTS else "certificate"]["missing" if name != "bounds" else "what"] = "nothing"
    (folder / "forged.json").write_text(sealed(data))
    report = verify(folder / "forged.json", dpfda.Ledger(f"sqlite:///{folder / 'ledger.db'}"))
    assert report.exit_code in ((5,) if name == "density-bought-bandwidth" else (3, 4))
