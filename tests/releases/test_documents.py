"""Files are read whole or refused: nothing hangs, nothing swells, and JSON says one thing or is none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import dpfda
from dpfda.errors import DataError, UsageError
from dpfda.releases import documents
from dpfda.releases.documents import parsed, read_content, read_document
from dpfda.releases.verification import verify


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is a pipe or a device, which may never end"):
        dpfda.load(pipe)
    report = verify(pipe)
    assert (report.exit_code, report.verdict) == (5, "COULD NOT BE CHECKED")


def test_an_endless_device_is_refused_at_once() -> None:
    with pytest.raises(DataError, match="is a pipe or a device, which may never end"):
        dpfda.load("/dev/zero")
    assert verify("/dev/zero").exit_code == 5


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as stream:
        stream.truncate(documents.MOST_BYTES + 1)  # takes no room on the disk
    with pytest.raises(DataError, match="has more than 64 MB, and no file of ours has"):
        dpfda.load(large)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none.json", "No file '.*none.json'. Check the path."),
        (".", "Cannot read"),
    ],
)
def test_what_cannot_be_read_is_a_data_error(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=text):
        read_content(f"{tmp_path}/{name}")


@pytest.mark.parametrize("path", [5, None, b"mean.json", ["mean.json"]])
def test_what_is_no_path_is_a_mistake_of_the_caller(path: Any) -> None:
    with pytest.raises(UsageError, match="A file is named by text"):
        dpfda.load(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 1, "a": 1}',
        '{"a": {"b": 1, "b": 2}}',
        '{"a": "\\ud800"}',
        "[" * 100_000 + "]" * 100_000,
        "[" * 100 + "]" * 100,
        '{"a": ' + "1" * 5000 + "}",
        '{"a": 1} {"a": 2}',
        "",
    ],
    ids=lambda text: text[:20],
)
def test_json_that_leaves_open_what_it_says_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(text)
    content, data = read_document(tmp_path / "odd.json")
    assert (content, data) == (text.encode(), None)


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        (b"[[], [], []]", b"[[], [], [], {}]"),
        (b"[0, 0, 0, 0, 0, 0]", b"[0, 0, 0, 0, 0, 0, 0]"),
        (b'{"a": 0, "b": 0, "c": [0.5, 0, 0]}', b'{"a": 0, "b": 0, "c": [0.5, 0, 0, 0]}'),
    ],
)
def test_parts_beyond_the_limit_are_refused_before_they_are_made(
    allowed: bytes, refused: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST_PARTS", 6)
    assert parsed(allowed)
    monkeypatch.setattr(documents.json, "loads", None)
    with pytest.raises(ValueError, match="more than 6 lists, objects and values in them"):
        parsed(refused)


def flat(ending: bytes) -> bytes:
    """A file of ours with five million numbers, by its first bytes."""
    return b'{\n "format": "dpfda-release-1",\n "noisy": [' + b"0," * 5_000_000 + b"1]" + ending


@pytest.mark.parametrize("ending", [b"\n}\n", b',\n "digest": "' + b"0" * 64 + b'"\n}\n'], ids=["cut off", "edited"])
def test_a_long_flat_file_is_never_parsed(ending: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flat.json").write_bytes(flat(ending))
    monkeypatch.setattr(documents.json, "loads", None)
    with pytest.raises(DataError, match=r"does not end with its digest|was changed after it was written"):
        dpfda.load(tmp_path / "flat.json")
    report = verify(tmp_path / "flat.json")
    assert report.verdict == "DOES NOT HOLD"
    assert report.exit_code != 0


def test_the_place_of_a_change_is_looked_for_in_short_files_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{\n "a":  1,\n "digest": "' + b"0" * 64 + b'"\n}\n'
    assert documents.broken(content) == (
        "0" * 64,
        f"{documents.digest_of(content[:10])}; line 2, column 7 is not written as dpfda writes it",
    )
    monkeypatch.setattr(documents, "LOOKED_THROUGH", len(content) - 1)
    assert documents.broken(content) == ("0" * 64, documents.digest_of(content[:10]))


def test_a_seal_is_checked_without_looking_for_the_place_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_where", None)
    with pytest.raises(DataError, match="was changed after it was written"):
        documents.check_seal(b'{\n "a": 1,\n "digest": "' + b"0" * 64 + b'"\n}\n', "a.json")
