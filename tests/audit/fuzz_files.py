"""Files for fuzzed calls and command lines: good ones, damaged ones, and some that are no files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_values import COLUMNS, COVARIATES, CURVES, FRAME, IDS, LABELS, POINTS, T

import dpfda


def write_files(folder: Path) -> dict[str, list[Path]]:
    """Files in a folder, by the function that reads them; most can be read."""
    folder.mkdir(parents=True, exist_ok=True)
    table = FRAME.assign(
        age=COVARIATES[:, 0], dose=COVARIATES[:, 1], label=LABELS, point=POINTS, word=[f"w{n}" for n in LABELS]
    )
    table.to_csv(folder / "scans.csv", index=False)
    table.to_csv(folder / "semicolons.csv", index=False, sep=";")
    table.to_parquet(folder / "scans.parquet")
    content = (folder / "scans.csv").read_bytes()
    whole = (folder / "scans.parquet").read_bytes()
    rng = np.random.default_rng(11)
    curves = [folder / "scans.csv"] * 6 + [folder / "scans.parquet"] * 6 + [folder / "semicolons.csv"]

    def put(name: str, data: bytes) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    curves += [
        put("empty.csv", b""),
        put("header.csv", content.split(b"\n")[0] + b"\n"),
        put("latin.csv", content.replace(b"p0", b"p\xe9")),
        put("zeros.csv", content.replace(b"p0", b"\x00")),
        put("quotes.csv", content.replace(b"p0", b'"p0')),
        put("short.csv", content[: len(content) // 2]),
        put("wide.csv", b"a," * 5000 + b"b\n" + b"1," * 5000 + b"2\n"),
        put("bom.csv", b"\xef\xbb\xbf" + content),
        put("wide16.csv", content.decode().encode("utf-16")),
        put("cut.parquet", whole[: len(whole) // 2]),
        put("text.parquet", content),
        put("parquet.csv", whole),
        put("twice.csv", content.replace(b"t1", b"t0", 1)),
    ]
    for number in range(12):
        data = bytearray(whole)
        start = len(data) - 8 - int.from_bytes(data[-8:-4], "little") if number % 2 else 0
        for _ in range(1 + number // 4):
            data[rng.integers(start, len(data))] = rng.integers(256)
        curves.append(put(f"damaged{number}.parquet", bytes(data)))
    odd = pa.table({"t0": pa.array([[1.0], [2.0]]), "t1": pa.array([{"x": 1}, {"x": 2}]), "id": pa.array([b"a", None])})
    pq.write_table(odd, folder / "nested.parquet")
    dates = pa.table(
        {"t0": pa.array([1, 2], pa.timestamp("s")), "t1": pa.array([1, 2], pa.duration("s")), "id": [1, 2]}
    )
    pq.write_table(dates, folder / "dates.parquet")
    curves += [folder / "nested.parquet", folder / "dates.parquet", folder, folder / "missing.csv", Path("/dev/null")]
    stated = {"epsilon": 1e3, "delta": 1e-6, "bound": 1.0}
    dpfda.MeanFunction(**stated).fit(CURVES, grid=T, units=IDS).release_.save(folder / "mean.json")
    dpfda.CovarianceFunction(**stated).fit(CURVES, grid=T).release_.save(folder / "covariance.json")
    dpfda.FPCA(n_components=2, **stated).fit(CURVES, grid=T).release_.save(folder / "components.json")
    dpfda.FunctionOnScalarRegression(covariate_limits=[(-1, 1)] * 2, **stated).fit(
        COVARIATES, CURVES, grid=T
    ).release_.save(folder / "regression.json")
    density = dpfda.DensityFunction(epsilon=1e3, delta=1e-6, domain=(0, 1)).fit(POINTS)
    density.release_.save(folder / "density.json")
    dpfda.KernelClassifier(epsilon=1e3, delta=1e-6, features=4, penalty=0.1, domain=(0, 1), classes=(0, 1)).fit(
        POINTS[:, None], LABELS
    ).release_.save(folder / "classifier.json")
    density.open(f"sqlite:///{folder}/oracle.db")
    kinds = ["mean", "covariance", "components", "regression", "density", "classifier"]
    releases = [folder / f"{kind}.json" for kind in kinds] * 4
    text = (folder / "mean.json").read_bytes()
    releases += [
        put("empty.json", b""),
        put("list.json", b"[]"),
        put("deep.json", b"[" * 100_000),
        put("number.json", b"1" * 100_000),
        put("nan.json", text.replace(b"0.", b"NaN", 1)),
        put("half.json", text[: len(text) // 2]),
        put("flipped.json", text.replace(b'"epsilon": 1000', b'"epsilon": 1', 1)),
        put("bytes.json", bytes(rng.integers(0, 256, 500, dtype=np.uint8))),
        folder,
        folder / "missing.json",
        Path("/dev/null"),
    ]
    stores = [folder / "oracle.db"]
    store = (folder / "oracle.db").read_bytes()
    for number in range(6):
        data = bytearray(store)
        for place in rng.integers(0, len(data), 1 + 4 * number):
            data[place] = rng.integers(256)
        stores.append(put(f"oracle{number}.db", bytes(data)))
    stores += [put("text.db", b"no database"), put("zeros.db", bytes(4096)), folder, folder / "missing.db"]
    shutil.copy(folder / "mean.json", folder / "mean.db")
    return {"read_curves": curves, "load": releases, "open_store": [*stores, folder / "mean.db"]}


assert len(COLUMNS) == len(T)
