"""Files at the edge: headers of a million columns, lines without end, damaged Parquet, and what is no file at all."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import dpfda
from dpfda.errors import DataError, DpfdaError, UsageError
from dpfda.records import csv_files as csvfile
from dpfda.records.columns import choose_columns, header_grid, in_few_words, listed, may_be_record

MANY = 100_000  # names; a search for each of them among all would take minutes, for a million of them hours


def released(curves):
    made = dpfda.MeanFunction(epsilon=50.0, delta=1e-6, bound=1.0, size=3)
    if "force" in made.get_params():
        made.set_params(force=True)
    return made.fit(curves).release_


def test_a_header_of_very_many_columns_is_read_in_linear_time():
    names = [f"t{number}" for number in range(MANY)]
    chosen = choose_columns(["id", *names], "t*", "id")
    assert len(chosen) == MANY
    assert len(header_grid(chosen)) == MANY
    assert not may_be_record(names)
    assert in_few_words(names, ["id", *names]) == "100000 columns, t0 to t99999"
    assert listed(names).endswith("(100000 in all)")


def test_columns_without_names_are_counted_in_linear_time():
    numbers = [str(number) for number in range(MANY)]
    assert in_few_words(numbers, ["id", *numbers]) == "100000 columns, from number 2 to number 100001 of 100001"


def test_a_csv_header_of_many_columns_is_read_once(tmp_path, monkeypatch):
    width = 5_000
    file = tmp_path / "wide.csv"
    file.write_text(",".join(f"t{number}" for number in range(width)) + "\n" + "0.5,x\n" * 40)
    read = []
    former = csvfile._Lines.cells
    monkeypatch.setattr(csvfile._Lines, "cells", lambda lines, row: read.append(1) or former(lines, row))
    curves = dpfda.read_curves(file, values="t*")
    assert [batch.shape for batch in curves.source.batches(100)] == [(40, width)]
    assert len(read) <= 40 + 3  # each line, and the header a few times; not once for each line


def test_a_wide_frame_is_read_in_linear_time():
    frame = pd.DataFrame(np.zeros((2, 10_000)), columns=[f"t{number}" for number in range(10_000)])
    assert dpfda.records.from_frame(frame, values="t*").source.width == 10_000


def test_a_first_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csvfile, "LONGEST_LINE", 2**20)
    file = tmp_path / "endless.csv"
    with file.open("wb") as stream:
        stream.truncate(2**33)  # eight gigabytes of zeros that take no room
    began = os.times().user
    with pytest.raises(DataError, match="has no end within 1048576 bytes"):
        dpfda.read_curves(file, values="t*")
    assert os.times().user - began < 60


def test_a_line_that_is_too_long_is_cut_and_the_next_ones_are_read(tmp_path, monkeypatch):
    file = tmp_path / "long.csv"
    file.write_text("t0,t1\n0.5,0.5\n0.25," + "1" * 5000 + "\n0.5,0.5\n")
    monkeypatch.setattr(csvfile, "LONGEST_LINE", 1000)
    monkeypatch.setattr(csvfile, "BLOCK", 500)
    batches = list(dpfda.read_curves(file, values="t*").source.batches(10))
    assert np.concatenate(batches)[[0, -1]].tolist() == [[0.5, 0.5]] * 2


@pytest.mark.parametrize("kind", ["/dev/zero", "/dev/null", "pipe", "folder"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind, suffix):
    path = tmp_path / f"thing.{suffix}"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(kind)
    with pytest.raises(DataError, match="is a folder" if kind == "folder" else "is a pipe, a socket or a device"):
        dpfda.read_curves(path)


@pytest.mark.parametrize("path", [None, 3, b"x.csv", ["x.csv"], {}, "x\0.csv", 1j])
def test_a_path_is_text(path):
    for reader in (dpfda.read_curves, dpfda.load):
        with refused(UsageError, "path", path):
            reader(path)


def small_parquet(tmp_path):
    columns = {f"t{number}": np.linspace(0, 1, 6) for number in range(3)} | {"id": [f"p{row}" for row in range(6)]}
    pq.write_table(pa.table(columns), tmp_path / "whole.parquet")
    return (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_parquet_is_refused_or_released_but_never_breaks(tmp_path, seed):
    whole, rng = small_parquet(tmp_path), np.random.default_rng(seed)
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    file = tmp_path / "damaged.parquet"
    for number in range(60):
        data = bytearray(whole)
        first = footer if number % 3 else 0
        for place in rng.integers(first, len(data), 1 + number % 4):
            data[place] = rng.integers(256)
        file.write_bytes(data)
        try:
            release = released(dpfda.read_curves(file, values="t*", unit="id"))
        except DpfdaError:
            continue
        assert np.isfinite(release(0.5))


@pytest.mark.parametrize("unit", ["datetime64[s]", "timedelta64[s]"])
@pytest.mark.parametrize(
    "container", [np.asarray, pd.DataFrame, lambda table: pa.table({"a": table[:, 0], "b": table[:, 1]})]
)
def test_dates_and_durations_are_no_curves_and_end_in_our_words(unit, container):
    table = np.arange(20).reshape(10, 2).astype(unit)
    try:
        release = released(container(table))
    except DpfdaError:
        return
    assert np.isfinite(release(0.5))
