"""The identity of a row: which records belong to one privacy unit, and the average of the records of a unit.

Identifiers are made canonical once, here, and compared nowhere else: `spellings.py` has the rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.records.cell_values import BEYOND_ARROW, cells_of
from dpfda.records.spellings import DOUBLE_DIGITS, EXACT_DIGITS, NOT_PLAIN, PLAIN, UUID, UUID_DIGITS, canonical


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """The unit of every row, numbered by first appearance; -1 where a row does not say whose it is.

    What n is: under replace-one, neighbours have the same canonical identifiers and differ in the rows of one of them.
    Rows that say nobody are one more unit, which enters no sum and always counts, present or not, so that n is
    `size + 1`. A count that depended on whether such rows exist would tell it. Where n has to survive a replaced
    identifier it is stated, or the relation is add-or-remove-one.
    """

    codes: Integers  # (rows,)
    size: int  # how many identifiers there are

    @staticmethod
    def of(column: object) -> Identity | None:
        """The identity of rows from any vector of identifiers; None if it is no vector.

        It never fails because of an identifier: one that cannot be read says nobody.
        """
        with np.errstate(all="ignore"):
            categories = _of_categories(column)
            if categories is not None:
                return categories
            table = _arrow(column)
            if table is not None:
                return _of_arrow(table)
            cells = _cells(column)
            if cells is None:
                return None
            texts = _arrow(cells)
            return _numbered(_keys(cells)) if texts is None else _of_arrow(texts)

    @property
    def count(self) -> int:
        """The number of units under replace-one."""
        return self.size + 1

    @property
    def grouped(self) -> bool:
        """Whether the rows of each unit stand together."""
        return bool((np.diff(self.codes[self.codes >= 0]) >= 0).all())

    def __getitem__(self, order: Integers) -> Identity:
        return Identity(self.codes[order], self.size)


def _arrow(column: Any) -> Any:
    """The column as an Arrow array where that keeps its values as they are; None elsewhere."""
    import pyarrow as pa

    kind = getattr(column, "dtype", None)
    if str(kind) in BEYOND_ARROW:
        return None  # polars would hand out addresses in memory
    try:
        if type(kind).__name__ == "ArrowDtype":  # of pandas, which would fail at text that is no UTF-8
            return pa.chunked_array(column.array.__arrow_array__())
        if isinstance(column, pa.ChunkedArray):
            return column
        if isinstance(column, pa.Array):
            return pa.chunked_array([column])
        if hasattr(column, "__arrow_c_stream__") and not hasattr(column, "iloc"):
            return pa.chunked_array(column)
        if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iuf":
            return pa.chunked_array([pa.array(column, from_pandas=True)])
        if isinstance(column, list) and column and isinstance(column[0], str):
            return pa.chunked_array([pa.array(column, type=pa.large_string(), from_pandas=True)])
    except Exception:  # other identifiers among the texts, or text that is no valid Unicode
        return None
    return None


def _of_arrow(column: Any) -> Identity | None:
    import pyarrow as pa
    from pyarrow import compute

    try:
        if pa.types.is_run_end_encoded(column.type):
            column = pa.chunked_array(
                [compute.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type
            )
        if pa.types.is_nested(column.type):
            return None
        return _of_values(column)
    except Exception:  # a type that Arrow cannot number
        return _numbered(_keys(cells_of(column)))


def _of_values(column: Any) -> Identity:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        # By its values: chunks may have dictionaries of their own, in which one number means several people.
        column = column.cast(column.type.value_type)
    if "string" in str(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_floating(column.type):
        column = _whole_numbers(column)
    if pa.types.is_integer(column.type):
        return _numbered(_keys_of_whole_numbers(column))
    encoded = column.dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks:
        return Identity(np.empty(0, dtype=np.int64), 0)
    keys = _numbered(_keys_of_values(encoded.chunk(0).dictionary))
    return _chosen(keys, [np.asarray(chunk.indices.cast(pa.int64()).fill_null(-1)) for chunk in encoded.chunks])


def _chosen(keys: Identity, places: Sequence[Integers]) -> Identity:
    """The identity of rows that name the place of their identifier among distinct ones; -1 for none."""
    import pyarrow as pa

    # The last place is that of rows without a value.
    codes = np.append(keys.codes, -1)[np.concatenate(places)]
    return _numbered(pa.array(codes, mask=codes < 0))


def _of_categories(column: Any) -> Identity | None:
    """The identity of rows of a pandas category, by its categories; None for other columns.

    A missing value beside whole numbers would turn them into doubles, and merge large ones.
    """
    # An index of several levels has no array, and says so by an error.
    values = column if getattr(column, "nlevels", 1) > 1 else getattr(column, "array", column)
    if type(getattr(values, "dtype", None)).__name__ != "CategoricalDtype":
        return None
    keys = Identity.of(values.categories)
    return None if keys is None else _chosen(keys, [np.asarray(values.codes, dtype=np.int64)])


def _keys_of_whole_numbers(column: Any) -> Any:
    """The numbers themselves, which need not be looked at one by one, but for large ones that are doubles as written.

    A double is written by 17 digits at most, so that a larger number has zeros at its end.
    """
    import pyarrow as pa

    cells = np.asarray(column.fill_null(0))

    def beyond(digits: int) -> Any:
        return (cells >= 10**digits) | (cells <= -(10**digits))

    places = np.flatnonzero(beyond(EXACT_DIGITS) & ((cells % 10 == 0) | ~beyond(DOUBLE_DIGITS)))
    keys = {place: canonical(number) for place, number in zip(places.tolist(), cells[places].tolist(), strict=True)}
    other = {place: key for place, key in keys.items() if key != str(cells[place])}
    if not other:
        return column
    texts = column.cast(pa.large_string()).to_pylist()
    for place, key in other.items():
        texts[place] = key
    return _encoded(texts)


def _whole_numbers(column: Any) -> Any:
    """Floating-point identifiers as whole numbers, if they are; infinite ones say nobody."""
    import pyarrow as pa
    from pyarrow import compute

    known = compute.if_else(compute.is_finite(column), column, None)
    cells = np.asarray(known.cast(pa.float64()).fill_null(0.0))
    if not (np.abs(cells) < 2.0**63).all() or (np.rint(cells) != cells).any():
        return known
    return pa.chunked_array([pa.array(cells.astype(np.int64), mask=np.asarray(known.is_null()))])


def _keys_of_values(values: Any) -> Any:
    """Canonical keys of distinct Arrow values."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_floating(values.type) or pa.types.is_temporal(values.type):
        return _keys(list(values.to_numpy(zero_copy_only=False)))  # in their own precision
    if not pa.types.is_large_string(values.type):
        return _keys(cells_of(values))
    # Most identifiers are plain: trimmed and in lower case all at once, the rest one by one.
    trimmed = compute.utf8_trim_whitespace(values)
    text = compute.utf8_lower(trimmed)
    text = compute.replace_substring_regex(text, f"^{UUID.pattern}$", r"\1\2\3\4\5")
    plain = compute.and_kleene(
        compute.match_substring_regex(text, PLAIN),
        compute.invert(compute.is_in(text, pa.array(sorted(NOT_PLAIN), pa.large_string()))),
    )
    # Some letters of other alphabets have a plain one in lower case, which is not what they fold to.
    plain = compute.and_kleene(plain, compute.string_is_ascii(trimmed))
    plain = compute.and_not_kleene(plain, compute.match_substring_regex(text, f"^[0-9]{{{UUID_DIGITS}}}$"))
    odd = np.flatnonzero(~np.asarray(plain.fill_null(False), dtype=bool))
    if not len(odd):
        return text.cast(pa.large_binary())
    keys = text.to_pylist()
    for place in odd.tolist():
        keys[place] = canonical(values[place].as_py())
    return _encoded(keys)


def _cells(column: Any) -> list[object] | None:
    """The identifiers of a vector one by one; None if it is no vector."""
    try:
        if isinstance(column, np.ma.MaskedArray):
            hidden = np.ma.getmaskarray(column)
            column = np.array(column.data, dtype=object)
            column[hidden] = None
        if isinstance(column, Sequence | deque) and not isinstance(column, str | bytes | bytearray | memoryview):
            return list(column)
        if hasattr(column, "to_list") and not hasattr(column, "iloc"):
            return list(column.to_list())  # polars, where numpy has no such type
        # pandas columns of its own types keep their values as they are: next to a missing one, numpy would turn whole
        # numbers into doubles and merge large ones.
        by_numpy = isinstance(getattr(column, "dtype", None), np.dtype)
        array = np.asarray(column) if by_numpy else np.array(column, dtype=object)
    except Exception:
        return None
    return list(array) if array.ndim == 1 else None


def _keys(cells: Iterable[object]) -> Any:
    known: dict[tuple[type, object], str | None] = {}
    keys: list[str | None] = []
    for cell in cells:
        try:
            name = (type(cell), cell)
            key = known[name] if name in known else known.setdefault(name, canonical(cell))
        except Exception:  # not hashable, or a comparison of its own that fails
            key = canonical(cell)
        keys.append(key)
    return _encoded(keys)


def _encoded(keys: list[str | None]) -> Any:
    import pyarrow as pa

    # As bytes: text that is no valid Unicode would fail to convert, and the error would show it.
    parts = [None if key is None else key.encode("utf-8", "surrogatepass") for key in keys]
    return pa.array(parts, type=pa.large_binary())


def _numbered(keys: Any) -> Identity:
    """Numbers by first appearance for keys in an Arrow array."""
    encoded = keys.dictionary_encode()
    if hasattr(encoded, "chunks"):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if hasattr(encoded, "chunks"):
        encoded = encoded.chunk(0) if encoded.num_chunks else None
    if encoded is None:
        return Identity(np.empty(0, dtype=np.int64), 0)
    return Identity(np.asarray(encoded.indices.fill_null(-1), dtype=np.int64), len(encoded.dictionary))


LARGEST = 2.0**50  # a vector's coordinates before averaging; far beyond any that clipping would not cut


def named_units(units: object) -> tuple[object, str]:
    """Identifiers and what one of them is called: by a vector that has a name, or as {"ID": identifiers}; else "unit".

    >>> named_units({"ID": [1, 1, 2]})
    ([1, 1, 2], 'ID')
    """
    if isinstance(units, Mapping):
        if len(units) != 1 or not all(isinstance(name, str) and name for name in units):
            raise UsageError(
                arg("units"), ' with a name are given as {"ID": identifiers}: one name, one vector.', parameter="units"
            )
        ((name, ids),) = units.items()
        return ids, str(name)
    name = getattr(units, "name", None)
    return units, name if isinstance(name, str) and name else "unit"


def identify(ids: object, rows: int) -> Identity:
    """Who the rows belong to, from a vector with one identifier for each of them."""
    identity = Identity.of(ids)
    if identity is None or len(identity.codes) != rows:
        # No numbers here: that of the rows may be private.
        raise UsageError(
            parameter="units",
            rule="must hold one identifier for each row, no more and no fewer",
            fix="Pass a vector, or the name of a column if the curves are a table.",
        )
    return identity


def average(vectors: Array, present: Array, codes: Integers) -> tuple[Integers, Integers, Integers]:
    """Sums and counts of the records of each unit in a batch: the units, (size, units), (units,).

    Vectors are integers as doubles. As 64-bit integers their sums do not depend on the order of records nor on how
    batches cut a unit, not even beyond 2^53, where doubles would round.
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    weighted = (np.clip(vectors, -LARGEST, LARGEST) * present)[:, order].astype(np.int64)
    counts = np.add.reduceat(present[order].astype(np.int64), starts)
    return ordered[starts], np.add.reduceat(weighted, starts, axis=1), counts
