"""Failures in the middle of a release: the charge stands, the key is burnt, and nothing is said about the records."""

from __future__ import annotations

import gc
import re
import sqlite3
import statistics
import subprocess
import sys
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from everyone import CURVES, DATASET, EVERYONE, WIDTH
from test_objects import gatherers

import dpfda
from dpfda.cli.main import main
from dpfda.errors import ReleaseFailed, UsageError
from dpfda.ledger.chain import Transaction
from dpfda.ledger.durable import Ledger
from dpfda.mechanisms import Gaussian
from dpfda.records import Curves

CONSTANT = (
    "The release failed after records were read. Nothing more can be said without saying something about them; "
    "the charge stays, and its key gives nothing any more: take a new one."
)
SECRET = 123456.789
ALL = pytest.mark.parametrize("name", EVERYONE, ids=list(EVERYONE))


def ledger_at(url: str) -> Ledger:
    ledger = Ledger(url)
    ledger.create(DATASET, epsilon=100.0, delta=1e-5)
    return ledger


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.history(DATASET)]


def says_nothing(caught: pytest.ExceptionInfo[ReleaseFailed]) -> None:
    assert str(caught.value) == CONSTANT
    assert caught.value.exit_code == 5
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert str(SECRET) not in "".join(traceback.format_exception(caught.value))


@ALL
def test_a_failure_while_records_are_read_leaves_the_charge_and_burns_the_key(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ledger, member = ledger_at(sqlite_url), EVERYONE[name]
    with monkeypatch.context() as broken:
        for place, method in gatherers():
            broken.setattr(place, method, fails)
        with pytest.raises(ReleaseFailed) as caught:
            member.release(ledger.under("a key"))
    says_nothing(caught)
    assert kinds(ledger) == ["create", "charge", "burn"]
    spent = ledger.spent(DATASET)
    # The same key gives nothing ever again, and costs nothing; another one is a new charge.
    with pytest.raises(ReleaseFailed) as caught:
        member.release(ledger.under("a key"))
    says_nothing(caught)
    assert ledger.spent(DATASET) == spent
    member.release(ledger.under("another"))
    assert kinds(ledger) == ["create", "charge", "burn", "charge", "output"]
    ledger.check()


def fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError(f"row 2 holds {SECRET}")


class Broken:
    """A source that fails when it has given half of its rows."""

    width = WIDTH

    def __init__(self, first: float) -> None:
        self.table = CURVES.copy()
        self.table[0] = first

    def rows(self) -> int:
        return len(self.table)

    def identity(self) -> None:
        return None

    def batches(self, rows: int) -> Iterator[np.ndarray]:
        for start in range(0, len(self.table), rows):
            if start >= len(self.table) // 2:
                raise ValueError(f"the largest value so far was {SECRET}")
            yield self.table[start : start + rows]


class Failing(Gaussian):
    """Noise that fails once there is something to be disturbed."""

    def draw(self, coordinates: Any, scale: float, *, randomness: Any) -> Any:
        if np.any(coordinates):
            raise RuntimeError(f"out of luck at {coordinates} {SECRET}")
        return super().draw(coordinates, scale, randomness=randomness)


def mean(ledger: Any, **changes: Any) -> dpfda.MeanFunction:
    known = {"epsilon": 0.5, "delta": 1e-7, "bound": 1.0, "size": 3, "ledger": ledger}
    return dpfda.MeanFunction(**{**known, "dataset": DATASET, "reading": dpfda.Reading(batch_rows=7), **changes})


BREAKS: dict[str, Callable[[Any, float], Any]] = {
    "a source that fails while it is read": lambda ledger, first: mean(ledger).fit(Curves(Broken(first), None, None)),
    "a mechanism that fails after reading": lambda ledger, first: mean(ledger, mechanism=Failing()).fit(
        np.vstack([np.full((1, WIDTH), first), CURVES[1:]])
    ),
}


@pytest.mark.parametrize("way", BREAKS, ids=list(BREAKS))
def test_failures_of_neighbouring_data_sets_cannot_be_told_apart(url: str, way: str) -> None:
    """One unit is ordinary, missing, infinite or huge; the error, the warnings and the entries are the same."""
    ledger, seen = ledger_at(url), []
    for first in (0.5, np.nan, np.inf, 1e308):
        before = len(ledger.history(DATASET))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(ReleaseFailed) as caught:
                BREAKS[way](ledger, first)
        says_nothing(caught)
        new = ledger.history(DATASET)[before:]
        seen.append(
            (
                str(caught.value),
                [str(warning.message) for warning in warned],
                [(entry.kind, entry.what, entry.budget, entry.losses, entry.request, entry.cost) for entry in new],
            )
        )
    assert all(other == seen[0] for other in seen)
    assert [entry[0] for entry in seen[0][2]] == ["charge", "burn"]
    ledger.check()


def test_an_output_cannot_be_stored_under_a_burnt_key(url: str) -> None:
    from dpfda.ledger import Charge
    from dpfda.privacy import Budget

    ledger = ledger_at(url)
    receipt = ledger.charge(Charge(DATASET, "noise", Budget(0.5, 0.0), key="k"))
    ledger.burn(receipt)
    ledger.burn(receipt)  # twice is once
    with pytest.raises(ReleaseFailed):
        ledger.store(receipt, b"late")
    assert kinds(ledger) == ["create", "charge", "burn"]


def test_a_key_that_gave_an_output_cannot_be_burnt(url: str) -> None:
    """Another process may fail where this one did not: what was handed out stays what it is."""
    from dpfda.ledger import Charge
    from dpfda.privacy import Budget

    ledger = ledger_at(url)
    charge = Charge(DATASET, "noise", Budget(0.5, 0.0), key="k")
    receipt = ledger.charge(charge)
    ledger.store(receipt, b"first")
    ledger.burn(receipt)
    assert ledger.charge(charge).output == b"first"
    assert kinds(ledger) == ["create", "charge", "output"]


def test_the_same_key_for_another_request_is_refused_and_costs_nothing(url: str) -> None:
    ledger = ledger_at(url)
    mean(ledger.under("k")).fit(CURVES)
    spent = ledger.spent(DATASET)
    with pytest.raises(UsageError, match=r"key 'k' stands for another request"):
        mean(ledger.under("k"), bound=2.0).fit(CURVES)
    assert ledger.spent(DATASET) == spent


def test_an_interrupt_leaves_a_charge_that_can_be_resumed_under_its_key(url: str) -> None:
    ledger = ledger_at(url)

    class Interrupted(Broken):
        def batches(self, rows: int) -> Iterator[np.ndarray]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mean(ledger.under("k")).fit(Curves(Interrupted(0.5), None, None))
    assert kinds(ledger) == ["create", "charge"]
    mean(ledger.under("k")).fit(CURVES)
    assert kinds(ledger) == ["create", "charge", "output"]


# Failures while an output is stored: what was drawn is private, since nobody has paid for seeing it twice.


class Watched(Gaussian):
    """Noise that remembers, without keeping it, what was drawn on records."""

    drawn: ClassVar[list[weakref.ref[Any]]] = []

    def draw(self, coordinates: Any, scale: float, *, randomness: Any) -> Any:
        noisy = super().draw(coordinates, scale, randomness=randomness)
        self.drawn.append(weakref.ref(noisy))
        return noisy


def frames_of(error: BaseException | None) -> Iterator[Any]:
    """All frames that an exception keeps alive: its own, and those of what it was caused by or raised during."""
    while error is not None:
        step = error.__traceback__
        while step is not None:
            yield step.tb_frame
            step = step.tb_next
        error = error.__cause__ or error.__context__


def holds_nothing_drawn(error: BaseException) -> None:
    gc.collect()
    assert Watched.drawn
    assert [found() for found in Watched.drawn if found() is not None] == []
    inside = [frame for frame in frames_of(error) if "/dpfda/" in frame.f_code.co_filename]
    assert inside
    for frame in inside:
        # The records are the caller's own; no release, tape or stored draw is in any frame.
        assert not {"made", "kept", "drawn", "output", "tape"} & set(frame.f_locals), frame


def full(*_: Any) -> Any:
    raise sqlite3.OperationalError("database or disk is full")


STORING: dict[str, tuple[list[tuple[Any, str]], list[str]]] = {
    "the disk is full for an output": ([(Transaction, "keep")], ["create", "charge", "burn"]),
    "the ledger is gone": ([(Transaction, "keep"), (Transaction, "burn")], ["create", "charge"]),
    "the ledger fails in a way of its own": ([(Ledger, "store")], ["create", "charge", "burn"]),
}


@pytest.mark.parametrize("way", STORING, ids=list(STORING))
def test_a_failure_while_an_output_is_stored_leaves_nothing_of_the_draw(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    ledger = ledger_at(sqlite_url)
    broken, entered = STORING[way]
    Watched.drawn.clear()
    with monkeypatch.context() as patch:
        for place, method in broken:
            patch.setattr(place, method, full)
        with pytest.raises(ReleaseFailed) as caught:
            mean(ledger.under("k"), mechanism=Watched()).fit(CURVES)
    says_nothing(caught)
    holds_nothing_drawn(caught.value)
    assert kinds(ledger) == entered
    # A burnt key gives nothing; an open one gives one output, the first that anybody sees, and the same ever after.
    if "burn" in entered:
        with pytest.raises(ReleaseFailed):
            mean(ledger.under("k"), mechanism=Watched()).fit(CURVES)
        return
    found = [mean(ledger.under("k"), mechanism=Watched()).fit(CURVES).release_.coordinates for _ in range(2)]
    assert np.array_equal(*found)
    assert kinds(ledger) == ["create", "charge", "output"]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_while_an_output_is_stored_leaves_nothing_of_the_draw(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, ending: type[BaseException]
) -> None:
    def interrupted(*_: Any) -> Any:
        raise ending

    ledger = ledger_at(sqlite_url)
    Watched.drawn.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "keep", interrupted)
        with pytest.raises(ending) as caught:
            mean(ledger.under("k"), mechanism=Watched()).fit(CURVES)
    holds_nothing_drawn(caught.value)
    assert kinds(ledger) == ["create", "charge"]


# The command line: for an ordinary record as a process, for all others within this one, which says the same.

RUN = "from dpfda.cli.main import run; run()"
CELLS = 6
ROWS: dict[str, str] = {
    "ordinary": ",".join(["0.2"] * CELLS),
    "not a number": ",".join(["nan"] * CELLS),
    "huge": ",".join(["1e308", "-1e308"] * (CELLS // 2)),
    "beyond numbers": ",".join(["1e999"] * CELLS),
    "a word": ",".join(["secret", *["0.1"] * (CELLS - 1)]),
    "a short row": "0.1",
    "a long row": ",".join(["0.1"] * (CELLS + 4)),
}


def command(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.fixture
def within(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command in this process: starting one takes a second. Its exit code and its words."""
    monkeypatch.chdir(tmp_path)

    def once(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dpfda", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), *capsys.readouterr()

    return once


def shape(text: str) -> str:
    """The text with keys, digests and numbers replaced, and without what noise decides: whether it hid the curve."""
    text = re.sub(r"\n  detected .*(?:\n {17}.*)*", "", text)
    text = re.sub(r"\b[0-9a-f]{12,}\b", "HEX", text)
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "#", text)


def wish(file: Path) -> tuple[object, ...]:
    known = ("--values", "t*", "--epsilon", 0.5, "--delta", 0, "--bound", 1, "--overwrite")
    return ("release", "mean", file, "--unit", "ID", *known, "--ledger", "sqlite:///ledger.db", "--dataset", DATASET)


def prepared(folder: Path) -> None:
    Ledger(f"sqlite:///{folder / 'ledger.db'}").create(DATASET, epsilon=100.0, delta=1e-6)


def test_a_broken_record_changes_neither_words_nor_exit_code_of_the_command(
    tmp_path: Path, within: Callable[..., tuple[int, str, str]]
) -> None:
    """A record that is missing, huge, no number or of another length, in an otherwise equal file."""
    prepared(tmp_path)
    seen = {}
    for name, row in ROWS.items():
        header = "ID," + ",".join(f"t{place}" for place in range(CELLS))
        others = [f"p{place}," + ",".join(["0.1"] * CELLS) for place in range(60)]
        (tmp_path / "scans.csv").write_text("\n".join([header, *others[:9], f"x,{row}", *others[9:]]) + "\n")
        wanted = (*wish(Path("scans.csv")), "--out", "mean.json")
        if name == "ordinary":
            ran = command(tmp_path, *wanted)
            found = (ran.returncode, ran.stdout, ran.stderr)
        else:
            found = within(*wanted)
        seen[name] = (found[0], shape(found[1]), shape(found[2]))
    assert seen["ordinary"][0] == 0, seen["ordinary"]
    assert {name: found for name, found in seen.items() if found != seen["ordinary"]} == {}
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    assert kinds(ledger) == ["create", *["charge", "output"] * len(ROWS)]


def garbled(path: Path, first: float) -> None:
    """A file of Parquet whose second half cannot be read; the first record is somebody's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = np.random.default_rng(0).uniform(-1, 1, size=(4000, CELLS))
    values[0] = first
    table = pa.table({"ID": [f"p{place}" for place in range(4000)]} | {f"t{j}": values[:, j] for j in range(CELLS)})
    pq.write_table(table, path, row_group_size=2000, compression="snappy", use_dictionary=False)
    pages = pq.ParquetFile(path).metadata.row_group(1).column(3)
    data = bytearray(path.read_bytes())
    start = pages.data_page_offset
    data[start + 40 : start + pages.total_compressed_size] = bytes(pages.total_compressed_size - 40)
    path.write_bytes(bytes(data))


def test_a_file_that_cannot_be_read_to_its_end_fails_with_the_same_words_whoever_stands_in_it(
    tmp_path: Path, within: Callable[..., tuple[int, str, str]]
) -> None:
    prepared(tmp_path)
    seen = []
    for number, first in enumerate((0.5, -0.25, np.nan, 1e308)):
        garbled(tmp_path / "scans.parquet", first)
        wanted = (*wish(Path("scans.parquet")), "--out", "mean.json", "--key", f"k{number}")
        if number == 0:
            ran = command(tmp_path, *wanted)
            seen.append((ran.returncode, ran.stdout, ran.stderr))
        else:
            seen.append(within(*wanted))
    assert seen[0][0] == 5, seen[0]
    assert CONSTANT in seen[0][2].replace("\n", " ")
    assert all(other == seen[0] for other in seen)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    assert kinds(ledger) == ["create", *["charge", "burn"] * 4]
    assert not (tmp_path / "mean.json").exists()


@pytest.mark.audit
@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e308], ids=["missing", "infinite", "huge"])
@pytest.mark.parametrize("way", [None, *BREAKS], ids=["a release", *BREAKS])
def test_a_broken_record_does_not_change_how_long_a_release_takes(
    tmp_path: Path, way: str | None, broken: float
) -> None:
    """The Mann-Whitney test at level 1e-6, and a ratio of medians beyond 1.2: both must speak for a failure.

    Ordinary and broken data sets take turns, so that whatever else the machine does is done to both.
    """
    from scipy.stats import mannwhitneyu

    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create(DATASET, epsilon=1e6, delta=0.5)

    def took(first: float) -> float:
        begun = time.perf_counter()
        try:
            if way is None:
                mean(ledger).fit(np.vstack([np.full((1, WIDTH), first), CURVES[1:]]))
            else:
                BREAKS[way](ledger, first)
        except ReleaseFailed:
            pass
        return time.perf_counter() - begun

    took(0.5), took(broken)
    times = np.array([(took(0.5), took(broken)) for _ in range(150)])
    ratio = statistics.median(times[:, 1]) / statistics.median(times[:, 0])
    alike = mannwhitneyu(times[:, 0], times[:, 1]).pvalue
    print(f"ratio of medians {ratio:.3f}, p = {alike:.3g}")
    assert alike > 1e-6 or 1 / 1.2 < ratio < 1.2
