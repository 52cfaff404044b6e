"""What a page shows of a release of any kind: table, picture, caption, and code to go on with."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from dpfda.arrays import Array

Places = list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Content:
    """The parts of a page that differ from kind to kind; all of it is text and numbers of the release."""

    names: tuple[str, ...]  # of the columns of the table
    columns: Array  # (m, number of columns)
    sides: tuple[int, ...]  # how many points there are along each of the leading columns, which say where
    places: Places  # where each row lies in the picture; empty: there is none
    drawing: str  # markup; empty: there is no picture
    caption: str
    listed: str  # what the table lists
    python: tuple[str, ...]  # lines of code that use `release`
    evaluate: str  # options of `dpfda evaluate`; empty: it cannot
    commands: tuple[str, ...] = ()  # what else `dpfda` can do with it; FILE stands for the release

    def csv(self) -> str:
        """The table as CSV, numbers in full."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(self.columns.tolist())
        return file.getvalue()


def spots(sides: tuple[tuple[float, float], ...]) -> list[float] | list[list[float]]:
    """Both ends and the middle of a domain, as code on a page writes points."""
    ends = [[low, low + (high - low) / 2, high] for low, high in sides]
    points = [list(spot) for spot in zip(*ends, strict=True)]
    return [point[0] for point in points] if len(sides) == 1 else points


def typed(sides: tuple[tuple[float, float], ...]) -> str:
    """The same points as `dpfda evaluate` takes them."""
    points = [point if isinstance(point, list) else [point] for point in spots(sides)]
    return ",".join(":".join(map(str, point)) for point in points)
