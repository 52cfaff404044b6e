"""The files that commands write: everything about them is checked before anything is done."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from dpfda.arrays import may_never_end
from dpfda.cli.words import note_written
from dpfda.errors import DataError, UsageError

PICTURES = (".png", ".pdf", ".svg")
TABLES = (".csv", ".parquet")


def check_picture(path: Path | None, *, after: str = "") -> None:
    """A picture's name must end in a kind that can be drawn."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise UsageError(f"--plot writes {', '.join(PICTURES)}, got {str(path)!r}.{after}")


def check_table(path: Path) -> None:
    """A table's name must end in a kind that can be written."""
    if path.suffix.lower() not in TABLES:
        raise UsageError(f"--out writes {' or '.join(TABLES)}, got {str(path)!r}.")


def check_targets(paths: list[Path], *, overwrite: bool, after: str = "") -> None:
    """Every file can be written, and none is replaced unasked; `after` ends each message."""
    for path in paths:
        folder = path.absolute().parent
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except OSError as error:  # a name that is too long
            from dpfda.arrays import brief

            raise DataError(f"Cannot write {brief(str(path))}: {error.strerror}. Name another file.{after}") from None
        if is_folder:
            raise DataError(f"{str(path)!r} is a folder. Name a file in it.{after}")
        if may_never_end(path):  # a file would take the place of the device
            raise DataError(f"{str(path)!r} is a device or a pipe. Name a file.{after}")
        if exists and not overwrite:
            raise DataError(f"{str(path)!r} exists. Say --overwrite, or name another file.{after}")
        if not folder.is_dir():
            raise DataError(f"No folder {str(folder)!r} to write to. Make it first.{after}")
        check_folder(folder, after=after)


def check_folder(folder: Path, *, after: str = "") -> None:
    """Files can be made in a folder."""
    try:
        TemporaryFile(dir=folder).close()
    except OSError:
        raise DataError(f"Cannot write to {str(folder)!r}. Name another folder.{after}") from None


def same_file(*paths: Path) -> bool:
    """Whether two of the paths are one file."""
    return len({os.path.realpath(path) for path in paths}) < len(paths)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, whole or not at all."""
    return _whole(path, lambda draft: draft.write_text(text, encoding="utf-8", newline="\n"))


def write_table(path: Path, columns: Mapping[str, Any]) -> Path:
    """Write columns of numbers and texts as CSV or Parquet, numbers in full, whole or not at all."""
    if path.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(dict(columns))
        return _whole(path, lambda draft: pq.write_table(table, draft))

    def as_csv(draft: Path) -> None:
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            # Python's own numbers are written three times as fast as numpy's.
            plain = (cells.tolist() if hasattr(cells, "tolist") else list(cells) for cells in columns.values())
            writer.writerows(zip(*plain, strict=True))

    return _whole(path, as_csv)


def _whole(path: Path, write: Callable[[Path], object]) -> Path:
    draft = Path(f"{path}.part")
    try:
        write(draft)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise DataError(f"Cannot write {str(path)!r}: {error.strerror}. Name another file.") from None
    note_written(path)
    return path


def save_picture(drawn: Any, path: Path, *, panels: int = 1) -> None:
    """Save what can draw itself on axes: a release, a plan, a comparison; in panels, one below the other, if many."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8 if panels == 1 else 1.2 + 2.3 * panels), layout="constrained")
    drawn.plot(figure.subplots(panels))
    figure.savefig(path, dpi=150)
    note_written(path)
