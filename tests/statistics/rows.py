"""Records in memory that tests of neighbours build row by row."""

from __future__ import annotations

from dpfda.records.identity import Identity


class Rows:
    """Rows where they are, with the persons they belong to."""

    def __init__(self, table, ids):
        self.table, self.of, self.width = table, ids, table.shape[1]

    def rows(self):
        return len(self.table)

    def identity(self):
        return None if self.of is None else Identity.of(self.of)

    def batches(self, rows):
        for start in range(0, len(self.table), rows):
            yield self.table[start : start + rows]
