"""The identity of a row: which records belong to one privacy unit, and the average of the records of a unit.

Identifiers are made canonical once, here, and compared nowhere else. Two spellings that become one key are one unit.
Merging two people can only lower what one of them changes; splitting one person into two would double it. So every rule
below merges:

- text is trimmed, in Unicode's compatibility form (NFKC), without invisible signs, with single spaces, in lower case,
  with one kind of hyphens and digits, without quotation marks around it;
- numbers have one spelling: 1, 1.0, 1,0, 01 and +1, as numbers or as text, are one unit;
- dates and times have one spelling, at midnight that of the date; UUIDs are compared by their 32 digits;
- bytes are read as text, in UTF-8 or else as Windows and Excel write it (cp1252); 16 bytes that are no text as a UUID;
- an empty cell, NaN, NA and the like say nobody.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
import unicodedata
import uuid
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.errors import UsageError
from dpfda.messages import arg
from dpfda.records.cell_values import BEYOND_ARROW, cells_of

# What tools write where a row does not say whose it is, in canonical form.
NOBODY = frozenset(
    {"", "na", "<na>", "n/a", "#na", "#n/a", "#n/a n/a", "nan", "-nan", "+nan", "nat", "none", "null", "."}
    | {f"{sign}1.#{kind}" for sign in ("", "-") for kind in ("ind", "qnan")}
    | {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
)
WHOLE = re.compile(r"([+-]?)0*(\d+)")
DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,4})?")
MOMENT = re.compile(
    r"(\d{4,})[-/.](\d\d?)[-/.](\d\d?)"
    r"(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?)?(?: ?(z|utc|[+-]\d\d(?::?\d\d)?))?"
)
UUID = re.compile(r"(?:urn:uuid:)?\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?")
# Canonical after trimming and lower case alone: no date, no UUID, no sign that Unicode could change, no number that may
# be a double as written (those have 17 digits at most, and zeros after them).
PLAIN = r"^(?:[a-z][a-z0-9_.:/#-]{0,30}|-?[1-9][0-9]{0,14}|-?[1-9][0-9]{16,29}[1-9]|[1-9a-f][0-9a-f]{31}|0)$"
UUID_DIGITS, UUID_BYTES = 32, 16
EXACT_DIGITS, DOUBLE_DIGITS, MOST_DIGITS = 15, 17, 300  # that doubles keep, that they are written by, that any has
QUOTES = " \"'`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e"  # around an identifier; one may be left open
TEXT_IN_EXCEL = '="'  # so that no number is made of it: ="001"
MIDNIGHT = " 00:00:00"
COARSE = ("Y", "M", "W", "D", "h", "m")  # units of time that are written without seconds
# Signs that are not seen: joiners, byte order marks, NUL by their categories; fillers, variation selectors and the
# Braille blank by their numbers.
INVISIBLE = ("Cf", "Cc")
FILLERS = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x2800, 0x3164, 0xFFA0}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}
)
MINUS, DOTLESS_I, DOT_ABOVE = 0x2212, 0x0131, "\u0307"
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # bytes that no text holds
PADDING = b"\x00\x1a \t\r\n"  # at the end of text of a fixed length, or of a file


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


def canonical(identifier: object) -> str | None:
    """What an identifier is compared by; None if it does not say whose row it is.

    >>> {canonical(spelling) for spelling in (1, 1.0, "1", " 01", "+1", b"1", "1.0", "１")}
    {'1'}
    >>> canonical("Zo\\u00eb ") == canonical("ZOE\\u0308"), canonical("NA")
    (True, None)
    """
    try:
        text = written(identifier)
        return None if text is None else _canonical_text(text)
    except Exception:
        return None  # whatever cannot be written: an error would be about one person


def written(identifier: object) -> str | None:
    """An identifier as text, so that equal values of any type have equal texts once they are canonical."""
    if isinstance(identifier, str):
        return str.__str__(identifier)  # of an enumeration, too, its text
    if identifier is None or bool(identifier != identifier):
        return None
    if isinstance(identifier, bool | np.bool_):
        return str(bool(identifier))
    if isinstance(identifier, datetime.timedelta | np.timedelta64):
        return f"{np.timedelta64(identifier).astype('m8[ns]').astype(np.int64)} ns"
    if isinstance(identifier, Decimal):
        return str(identifier)  # its exponent may be in the millions
    if isinstance(identifier, numbers.Number):
        return _written_number(identifier)
    if isinstance(identifier, bytes | bytearray | memoryview):
        return _text_of(bytes(identifier))
    if isinstance(identifier, np.datetime64):
        coarse = np.datetime_data(identifier.dtype)[0] in COARSE
        return str(np.datetime_as_string(identifier.astype("M8[s]") if coarse else identifier))
    if isinstance(identifier, datetime.date | datetime.time | uuid.UUID):
        return identifier.isoformat() if hasattr(identifier, "isoformat") else str(identifier)
    if isinstance(identifier, dict | set | frozenset | list | tuple | np.ndarray):
        return _written_parts(identifier)
    plain = type(identifier).__repr__ is object.__repr__ and type(identifier).__str__ is object.__str__
    # An address in memory is no identifier: two objects of one person would have two.
    return None if plain else str(identifier)


def _written_parts(identifier: Any) -> str | None:
    """An identifier of several parts as text; of mappings and sets in an order that does not depend on how they are."""
    if isinstance(identifier, dict):
        identifier = sorted(f"{canonical(name)}: {canonical(part)}" for name, part in identifier.items())
    if isinstance(identifier, set | frozenset):
        identifier = sorted(canonical(part) or "" for part in identifier)
    parts = [canonical(part) for part in identifier]
    return f"({', '.join(part or '' for part in parts)})" if any(parts) else None


def _text_of(identifier: bytes) -> str:
    """Bytes as the text that they are; those that are no text as their digits."""
    padless = identifier.rstrip(PADDING)
    if not CONTROL.search(padless):
        return decoded(padless)
    return str(uuid.UUID(bytes=identifier)) if len(identifier) == UUID_BYTES else f"0x{identifier.hex()}"


def decoded(text: bytes) -> str:
    """Text in UTF-8, or else as Windows writes it (cp1252); what is neither sign by sign (Latin-1)."""
    for encoding in ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            return text.decode(encoding)
    return text.decode("latin-1")


def _written_number(number: Any) -> str | None:
    if isinstance(number, complex | np.complexfloating):
        if number.imag:
            return f"{_written_number(number.real)} + {_written_number(number.imag)}i"
        number = number.real
    if isinstance(number, float | np.floating):
        if not math.isfinite(number):
            return None
        # In its own precision: the 32-bit number 0.1 is the text "0.1".
        return str(int(number)) if number == int(number) else str(number)
    return str(int(number)) if number == int(number) else str(float(number))


def _canonical_text(text: str) -> str | None:
    seen = unicodedata.normalize("NFKC", text).casefold()
    if not (seen.isascii() and seen.isprintable()):
        # Once more afterwards: an accent may have stood behind an invisible sign.
        seen = unicodedata.normalize("NFKC", seen.translate(SIGNS))
        seen = unicodedata.normalize("NFKC", seen.casefold()).replace(f"i{DOT_ABOVE}", "i")
    seen = " ".join(seen.split()).removeprefix(TEXT_IN_EXCEL).strip(QUOTES)
    if seen in NOBODY:
        return None
    if seen[0].isalpha() and len(seen) < UUID_DIGITS:
        return seen
    seen = _uuid(seen) or seen
    return _whole(seen) or _decimal(seen) or _moment(seen) or seen


class _Signs(dict[int, int | str | None]):
    """What stands for each sign, for `str.translate`: itself, another one, or nothing where it is not seen."""

    def __missing__(self, number: int) -> int | str | None:
        sign, found = chr(number), number
        kind = unicodedata.category(sign)
        if kind == "Nd":
            self[number] = str(unicodedata.digit(sign))
        elif kind == "Pd" or number == MINUS:
            self[number] = "-"
        elif number == DOTLESS_I:
            self[number] = "i"  # the lower case of I in Turkish, where that of others is i
        elif number in FILLERS or (kind in INVISIBLE and not sign.isspace()):
            self[number] = None
        else:
            self[number] = found
        return self[number]


SIGNS = _Signs()


def _whole(text: str) -> str | None:
    found = WHOLE.fullmatch(text)
    if found is None:
        return None
    digits = found.group(2).lstrip("0") or "0"
    if EXACT_DIGITS < len(digits) <= MOST_DIGITS:
        digits = _as_double_if_written_so(int(digits))
    return f"-{digits}" if found.group(1) == "-" and digits != "0" else digits


def _decimal(text: str) -> str | None:
    """A number with a point, a decimal comma or an exponent: whole to its last digit, or by the nearest double."""
    text = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    if UUID.fullmatch(text) or not DECIMAL.fullmatch(text):
        return None
    value, exact = float(text), Decimal(text)
    if not math.isfinite(value):
        return None
    if abs(value) < 10.0**EXACT_DIGITS or exact != exact.to_integral_value():
        return _written_number(value)
    return ("-" if value < 0 else "") + _as_double_if_written_so(int(exact.copy_abs()))


def _as_double_if_written_so(whole: int) -> str:
    """The digits of a large whole number; of the double, if the number is what that one is written as.

    1e23 is written for the double 99999999999999991611392: the two are one identifier. Any other number keeps all of
    its digits.
    """
    digits = len(str(whole).rstrip("0"))
    double = float(whole)
    written_so = digits <= DOUBLE_DIGITS and Decimal(f"{double:.{digits - 1}e}") == whole
    return str(int(double)) if written_so else str(whole)


def _uuid(text: str) -> str | None:
    found = UUID.fullmatch(text)
    return None if found is None else "".join(found.groups())


def _moment(text: str) -> str | None:
    """A date, with its time unless that is midnight; a time zone is taken off, so that one moment has one spelling."""
    found = MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime.datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
        if zone not in (None, "z", "utc"):
            shift = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))
            moment += shift if zone[0] == "-" else -shift
    except (ValueError, OverflowError):
        return None
    rest = (fraction or "").rstrip("0")
    said = f"{moment:%Y-%m-%d %H:%M:%S}{f'.{rest}' if rest else ''}"
    return said.removesuffix(MIDNIGHT)


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

    if pa.types.is_nested(column.type):
        return None
    try:
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
    values = getattr(column, "array", column)
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
        compute.invert(compute.is_in(text, pa.array(sorted(NOBODY), pa.large_string()))),
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
