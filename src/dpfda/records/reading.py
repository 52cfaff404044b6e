"""Come here for how records are read: in which batches, on how many threads, with or without a bar."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpfda.arrays import brief, is_whole
from dpfda.errors import UsageError


@dataclass(frozen=True, slots=True)
class Reading:
    """How records are read; nothing here changes a release, not by a bit."""

    batch_rows: int | None = None  # None: about a million values at a time
    workers: int | None = None  # None: one for each processor, at most four
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name, number, most in (("batch_rows", self.batch_rows, 2**20), ("workers", self.workers, 2**10)):
            if number is not None and not is_whole(number, 1, most):
                raise UsageError(f"{name} must be None or a whole number between 1 and {most}, got {brief(number)}.")

    @property
    def threads(self) -> int:
        return min(4, os.cpu_count() or 1) if self.workers is None else self.workers
