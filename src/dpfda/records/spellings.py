"""What an identifier is compared by: one key for all spellings of it, whatever type holds it.

Two spellings that become one key are one unit. Merging two people can only lower what one of them changes; splitting
one person into two would double it. So every rule merges:

- text is trimmed, in Unicode's compatibility form (NFKC), without invisible signs, with single spaces, in lower case,
  without quotation marks around it, with one kind of hyphens, apostrophes, dots, slashes and digits;
- numbers have one spelling: 1, 1.0, 1,0, 01, +1 and True, as numbers or as text, are one unit;
- dates and times have one spelling, at midnight that of the date; UUIDs are compared by their 32 digits;
- bytes are read as text in UTF-8; 16 bytes that are none as a UUID, others as Windows and Excel write it (cp1252);
- an empty cell, NaN, NA and the like say nobody.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
import unicodedata
import uuid
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

# What tools write where a row does not say whose it is, in canonical form.
NOBODY = frozenset(
    {"", "na", "<na>", "n/a", "#na", "#n/a", "#n/a n/a", "nan", "-nan", "+nan", "nat", "none", "null", "."}
    | {f"{sign}1.#{kind}" for sign in ("", "-") for kind in ("ind", "qnan")}
    | {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
)
TRUTH = {"true": "1", "false": "0"}  # numpy makes numbers of truth values that stand beside one
WHOLE = re.compile(r"([+-]?)0*(\d+)")
DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,4})?")
GROUPED = re.compile(r"([+-]?\d{1,3})((?:([ ',._])\d{3})(?:\3\d{3})*)(?:([.,])(\d+))?")  # 1 000, 1'000, 1,000,000.5
FRACTION_SLASH = "\u2044"  # in the compatibility form of a half
FRACTION = re.compile(rf"([+-]?\d{{1,15}}){FRACTION_SLASH}(\d{{1,15}})")
_CLOCK = r"(\d\d?)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?)?(?: ?([ap])\.?m\.?)?"
_ZONE = r"(?: ?(z|utc|gmt|[+-]\d\d(?::?\d\d(?::?\d\d)?)?))?"
MOMENT = re.compile(rf"(\d{{4,}})[-/.](\d\d?)[-/.](\d\d?)(?:(?:[t ]|, ){_CLOCK})?{_ZONE}")
DAY_FIRST = re.compile(rf"(\d\d?)[-/.](\d\d?)[-/.](\d{{4}})(?:(?:[t ]|, ){_CLOCK})?")  # or month first: nobody can tell
TIME = re.compile(rf"(?=\d\d?:){_CLOCK}{_ZONE}")
UUID = re.compile(
    r"(?:urn:uuid:|0x)?[{(]?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})[})]?"
)
# Canonical after trimming and lower case alone: no date, no UUID, no sign that Unicode could change, no number that may
# be a double as written (those have 17 digits at most, and zeros after them).
PLAIN = r"^(?:[a-z][a-z0-9_.:/#-]{0,30}|-?[1-9][0-9]{0,14}|-?[1-9][0-9]{16,29}[1-9]|[1-9a-f][0-9a-f]{31}|0)$"
NOT_PLAIN = frozenset({*NOBODY, *TRUTH})  # though they look so
UUID_DIGITS, UUID_BYTES = 32, 16
EXACT_DIGITS, DOUBLE_DIGITS, MOST_DIGITS = 15, 17, 309  # that doubles keep, that they are written by, that any has
QUOTES = re.compile("['\"`]+")  # a double mark may be written as two single ones
# Around an identifier; one may be left open. Excel writes ="001", so that no number is made of it.
AROUND = re.compile("^(?:='|[' ])+|[' ]+$")
SPACING_ACCENT = re.compile(
    " [\u0301\u0313\u0314]"
)  # the compatibility form of an accent that stands for an apostrophe
MIDNIGHT = " 00:00:00"
NOON = 12
COARSE = ("Y", "M", "W", "D", "h", "m")  # units of time that are written without seconds
# Signs that are not seen: joiners, byte order marks, NUL by their categories; fillers, variation selectors and the
# Braille blank by their numbers.
INVISIBLE = ("Cf", "Cc")
FILLERS = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x2800, 0x3164, 0xFFA0}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}
)
# Signs that programs and keyboards put in the place of a plain one; by categories: dashes, connectors, quotation marks.
ALIKE_BY_CATEGORY = {"Pd": "-", "Pc": "_", "Pi": "'", "Pf": "'"}
ALIKE = {
    "-": "\u2212\u2043\u02d7\u2796",
    "'": "\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\u02ee\u055a\u05f3\u05f4\u066c\u07f4\u07f5"
    "\u201a\u201e\u2032\u2033\u2034\u2035\u2036\u2037\u275b\u275c\u275d\u275e\u275f\u2760\u301d\u301e\u301f\ua78b\ua78c",
    ".": "\u00b7\u066b\u06d4\u2022\u2027\u2219\u22c5\u2e31\u2e33\u3002\u30fb",
    "/": "\u2215\u2571\u29f8",
    ":": "\u02d0\u02d1\u0589\u05c3\u2236\ua789",
    ",": "\u060c\u2e32\u3001",
    "~": "\u2053\u223c\u301c",
    "*": "\u204e\u2217\u2731",
    "|": "\u01c0\u2223\u2758",
    "+": "\u2795",
    "i": "\u0131",  # the lower case of I in Turkish, where that of others is i
}
DOT_ABOVE = "\u0307"
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # bytes that no text holds
PADDING = b"\x00\x1a \t\r\n"  # at the end of text of a fixed length, or of a file


def canonical(identifier: object) -> str | None:
    """What an identifier is compared by; None if it does not say whose row it is.

    >>> {canonical(spelling) for spelling in (1, 1.0, "1", " 01", "+1", b"1", "1.0", "１", True)}
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
    if isinstance(identifier, np.void):
        identifier = identifier.item()  # bytes, or the parts of a record
    if isinstance(identifier, dict | set | frozenset | list | tuple | np.ndarray):
        return _written_parts(identifier)
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
    plain = type(identifier).__repr__ is object.__repr__ and type(identifier).__str__ is object.__str__
    # An address in memory is no identifier: two objects of one person would have two.
    return None if plain else str(identifier)


def _written_parts(identifier: Any) -> str | None:
    """An identifier of several parts as text; mappings and sets are sorted first. One part alone is that part."""
    if isinstance(identifier, dict):
        identifier = sorted(f"{canonical(name)}: {canonical(part)}" for name, part in identifier.items())
    if isinstance(identifier, set | frozenset):
        identifier = sorted(canonical(part) or "" for part in identifier)
    if isinstance(identifier, np.ndarray):
        identifier = identifier.ravel().tolist()
    parts = [canonical(part) for part in identifier]
    if len(parts) == 1:
        return parts[0]
    return f"({', '.join(part or '' for part in parts)})" if any(parts) else None


def _text_of(identifier: bytes) -> str:
    """Bytes as the text that they are; those that are no text as their digits.

    Of 16 bytes that are no UTF-8, a UUID is more likely than a text of that length in cp1252.
    """
    padless = identifier.rstrip(PADDING)
    if not CONTROL.search(padless) and (len(identifier) != UUID_BYTES or _is_utf_8(padless)):
        return decoded(padless)
    return str(uuid.UUID(bytes=identifier)) if len(identifier) == UUID_BYTES else f"0x{identifier.hex()}"


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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
        seen = SPACING_ACCENT.sub("'", seen)
    seen = AROUND.sub("", QUOTES.sub("'", " ".join(seen.split())))
    if seen in NOBODY:
        return None
    if seen in TRUTH:
        return TRUTH[seen]
    seen = _fraction(seen) or seen.replace(FRACTION_SLASH, "/")
    if seen[0].isalpha() and len(seen) < UUID_DIGITS:
        return seen
    seen = _uuid(seen) or _ungrouped(seen) or seen
    return _whole(seen) or _decimal(seen) or _moment(seen) or _day_first(seen) or _time(seen) or seen


class _Signs(dict[int, int | str | None]):
    """What stands for each sign, for `str.translate`: itself, another one, or nothing where it is not seen."""

    def __missing__(self, number: int) -> int | str | None:
        sign = chr(number)
        kind = unicodedata.category(sign)
        if kind == "Nd":
            self[number] = str(unicodedata.digit(sign))
        elif kind in ALIKE_BY_CATEGORY:
            self[number] = ALIKE_BY_CATEGORY[kind]
        elif number in FILLERS or (kind in INVISIBLE and not sign.isspace()):
            self[number] = None
        else:
            self[number] = number
        return self[number]


SIGNS = _Signs({ord(sign): plain for plain, signs in ALIKE.items() for sign in signs})


def _whole(text: str) -> str | None:
    found = WHOLE.fullmatch(text)
    if found is None:
        return None
    digits = found.group(2).lstrip("0") or "0"
    if EXACT_DIGITS < len(digits) <= MOST_DIGITS:
        digits = _as_double_if_written_so(int(digits))
    return f"-{digits}" if found.group(1) == "-" and digits != "0" else digits


def _ungrouped(text: str) -> str | None:
    """A number without the signs between its thousands; `1,000` may be 1 and is left alone."""
    found = GROUPED.fullmatch(text)
    if found is None:
        return None
    first, groups, sign, point, decimals = found.groups()
    several = groups.count(sign) > 1 or (point is not None and point != sign)
    if sign in ",." and (not several or point == sign):
        return None
    return first + groups.replace(sign, "") + (f".{decimals}" if point else "")


def _fraction(text: str) -> str | None:
    """One half as a number, which its sign is in the compatibility form; `1/2` with a plain slash is text."""
    found = FRACTION.fullmatch(text)
    if found is None or not int(found[2]):
        return None
    return _written_number(Fraction(int(found[1]), int(found[2])))


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
    try:
        double = float(whole)
    except OverflowError:
        return str(whole)
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
    year, month, day, hour, minute, second, fraction, half, zone = found.groups()
    try:
        moment = datetime.datetime(
            int(year), int(month), int(day), _hour(hour, half), int(minute or 0), int(second or 0)
        )
        if zone not in (None, "z", "utc", "gmt"):
            hours, minutes, seconds = (int(part or 0) for part in re.findall(r"\d\d", f"{zone}0000")[:3])
            shift = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
            moment += shift if zone[0] == "-" else -shift
    except (ValueError, OverflowError):
        return None
    return f"{moment:%Y-%m-%d %H:%M:%S}{_rest(fraction)}".removesuffix(MIDNIGHT)


def _day_first(text: str) -> str | None:
    """A date whose year stands last: 1/3/2020 and 01.03.2020 are one, be that in January or in March."""
    found = DAY_FIRST.fullmatch(text)
    if found is None:
        return None
    first, second, year, *clock = found.groups()
    time = "" if clock[0] is None else _clock(*clock)
    return None if time is None else f"{int(first)}.{int(second)}.{year} {time}".strip().removesuffix(MIDNIGHT)


def _time(text: str) -> str | None:
    """A time of day."""
    found = TIME.fullmatch(text)
    if found is None:
        return None
    *clock, zone = found.groups()
    time = _clock(*clock)
    return None if time is None else time + (zone or "")


def _clock(hour: str, minute: str | None, second: str | None, fraction: str | None, half: str | None) -> str | None:
    try:
        time = datetime.time(_hour(hour, half), int(minute or 0), int(second or 0))
    except ValueError:
        return None
    return f"{time:%H:%M:%S}{_rest(fraction)}"


def _hour(hour: str | None, half: str | None) -> int:
    """The hour of the day; of half a day where am or pm is written."""
    whole = int(hour or 0)
    if half is None:
        return whole
    if not 1 <= whole <= NOON:
        raise ValueError
    return whole % NOON + (NOON if half == "p" else 0)


def _rest(fraction: str | None) -> str:
    """The fraction of a second."""
    digits = (fraction or "").rstrip("0")
    return f".{digits}" if digits else ""
