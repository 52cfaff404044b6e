"""What a study gives: tables and figures, stamped as not private."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dpfda.errors import DataError

STAMP = "NOT PRIVATE: a study. Parameters are taken from the data or noise is seeded; publish none of it as private."

Item = TypeVar("Item")


def no_progress(items: Iterable[Item], what: str) -> Iterator[Item]:
    """The items as they are, for those who want no bar."""
    yield from items


@dataclass(frozen=True, slots=True)
class Setting:
    """What a reproduction is given."""

    data: Path | None = None  # the folder of the data files
    quick: bool = False  # seconds rather than minutes: fewer repetitions, the same code
    seed: int = 1
    track: Callable[[Iterable[Any], str], Iterable[Any]] = no_progress  # shows how far a long loop has come

    def file(self, name: str) -> Path:
        """A data file, or an error that says where to say where it is."""
        if self.data is None or not (self.data / name).is_file():
            raise DataError(f"This needs the file {name}. Name its folder: --data FOLDER.")
        return self.data / name


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and rows of plain values; a cell is a number, a text or None."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def save(self, path: Path) -> Path:
        """Write the table as CSV, led by a comment that it is a study."""
        with path.open("w", newline="") as file:
            file.write(f"# {self.title}. {STAMP}\n")
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: tables, pictures and what has to be said about them."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Any, ...] = ()  # matplotlib figures
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A published table or figure that can be computed again."""

    name: str
    title: str
    run: Callable[[Setting], Outcome]

    def write(self, setting: Setting, folder: Path) -> tuple[Outcome, tuple[Path, ...]]:
        """Run it and write NAME.csv and NAME.png into a folder, numbered where there are several."""
        outcome = self.run(setting)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [table.save(folder / f"{self._stem(i)}.csv") for i, table in enumerate(outcome.tables)]
        for i, figure in enumerate(outcome.figures):
            paths.append(folder / f"{self._stem(i)}.png")
            figure.text(0.005, 0.003, STAMP, fontsize=6, color="0.4")
            figure.savefig(paths[-1], dpi=150)
        return outcome, tuple(paths)

    def _stem(self, index: int) -> str:
        return self.name if index == 0 else f"{self.name}-{index + 1}"


def leave_room(figure: Any) -> None:
    """Leave a strip free below and above a figure, for the stamp that says that it is not private."""
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
