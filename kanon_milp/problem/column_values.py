"""Columns as text, which is what values are compared by, and their numbers as people write them: `1,234.50`,
`1.234,50`, `$1,200`, `45 %`, `1 234`, `−5`, `1e3`.

An entire column is read in one way: with a decimal point or with a decimal comma. What divides thousands is the other
of the two, a blank or an apostrophe. Whether `1,234` alone has thousands or decimals nobody can tell: where it makes a
difference, that is said instead of guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Ints


class NoTextError(ValueError):
    """Values of this kind have no text of their own; the message names the kind."""


def text_of(series: pl.Series) -> pl.Series:
    """Values as text, null where one is missing: what a CSV file holds, and what values are compared by.

    Raises NoTextError for lists, structures, bytes and objects.
    """
    if _has_no_text(series.dtype):
        raise NoTextError(str(series.dtype))
    if series.dtype in (pl.Duration, pl.Time):  # which have no cast of their own, or one that drops nanoseconds
        return series.dt.to_string("iso")
    if series.dtype.is_float():
        series = series.fill_nan(None)
    return series.cast(pl.String)


def without_text(frame: pl.DataFrame) -> list[str]:
    """The columns whose values have no text, so that no CSV file can hold them."""
    return [name for name, kind in frame.schema.items() if _has_no_text(kind)]


def _has_no_text(kind: pl.DataType) -> bool:
    return kind.is_nested() or kind in (pl.Object, pl.Binary)


def as_text(frame: nw.DataFrame[Any], names: Sequence[str], source: str) -> pl.DataFrame:
    """These columns as text, null where a value is missing; raises InputError for values that have no text."""
    columns: dict[str, pl.Series] = {}
    for name in names:
        try:
            columns[name] = text_of(_to_polars(frame[name]))
        except NoTextError as error:
            raise InputError(
                f'{source}: column "{name}" holds {error} values; '
                "only text, numbers, dates, times and truth values can be used"
            ) from None
        except pl.exceptions.PanicException:  # no Exception of Python's
            raise InputError(
                f'{source}: column "{name}" holds {getattr(frame.to_native()[name], "type", "unknown")} values, which '
                "cannot be used; make them text"
            ) from None
        except Exception as error:  # whatever backend: its own message may quote cells
            raise InputError(
                f'{source}: column "{name}" holds values of several kinds ({type(error).__name__}); make them all text'
            ) from None
    return pl.DataFrame(columns)


def _to_polars(series: nw.Series[Any]) -> pl.Series:
    """Raises TypeError for objects of which different ones become the same: times with a time zone and without one."""
    if (spelled := _spelled(series)) is not None:
        return spelled
    column = series.to_polars().alias("")
    merged = series.dtype == nw.Object and column.dtype.is_temporal()
    if merged and column.drop_nulls().n_unique() < series.drop_nulls().n_unique():
        raise TypeError
    return column


def _spelled(series: nw.Series[Any]) -> pl.Series | None:
    """Intervals and periods of pandas, such as `pd.cut` makes, as pandas writes them: (20, 30], 2024-01, 2024Q1. None
    for other values, which polars knows itself."""
    if not series.implementation.is_pandas_like():
        return None
    first = series.drop_nulls().head(1).to_list()
    if not first or not _is_of_pandas(first[0]):
        return None
    missing, values = series.is_null().to_list(), series.to_list()
    if not all(gone or _is_of_pandas(value) for value, gone in zip(values, missing, strict=True)):
        return None
    return pl.Series(
        [None if gone else str(value) for value, gone in zip(values, missing, strict=True)], dtype=pl.String
    )


def _is_of_pandas(value: object) -> bool:
    return type(value).__name__ in ("Interval", "Period") and type(value).__module__.startswith("pandas")


# blanks that do not break a line, the signs of minus and apostrophe: as on a keyboard
TYPED = str.maketrans("\u00a0\u2009\u202f−’", "   -'")
CURRENCY = re.compile(
    "AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN|MYR|NOK|NZD|PEN|PHP|PLN|RON|RSD|RUB|"
    "SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
PERCENT = "%"
FRACTION = re.compile(r"[+-]?\d+/\d+", re.ASCII)
# three digits of an exponent: a number of a billion digits would take all memory
WRITTEN = re.compile(
    r"(?P<sign>[+-]?) ?(?P<before>[^\d\s.,+'-]{1,3})? ?(?P<sign_after>[+-]?)"
    r"(?P<digits>[\d.,' ]*?)(?P<exponent>[eE][+-]?\d{1,3})? ?(?P<after>[^\d\s.,+'-]{1,3})?",
    re.ASCII,
)
# a zero begins no group; in India the groups before the last one have two digits
BY_POINT = r"[1-9]\d{0,2}(?P<by>[. '])\d{3}((?P=by)\d{3})*(,\d*)?"
BY_COMMA = r"([1-9]\d{0,2}(?P<by>[, '])\d{3}((?P=by)\d{3})*|[1-9]\d?(,\d\d)+,\d{3})(\.\d*)?"
THOUSANDS = {".": re.compile(BY_COMMA, re.ASCII), ",": re.compile(BY_POINT, re.ASCII)}
PLAIN = {mark: re.compile(rf"\d+(?:{re.escape(mark)}\d*)?|{re.escape(mark)}\d+", re.ASCII) for mark in ".,"}

Decimal = Literal["point", "comma"]
DECIMALS: tuple[Decimal, ...] = ("point", "comma")
UNCLEAR = (
    "it is not clear whether numbers such as 1,234 (or 1.234) have thousands or decimals; write thousands without a "
    "sign between them, or decimals with another number of digits than three"
)
SAY_WHICH = "; or say which: --numeric COLUMN=5,10,point, or comma (decimal=...)"
TWO_WAYS = "some numbers have a decimal comma and some a decimal point; write all in one way"
UNITS = "numbers have several units, such as $ and €, or 45 % beside 0.45; write all in one unit"


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column. of: value → number, of those that are numbers; `45 %` is 45, `$5` is 5. otherwise: the
    same read in the other way, where it is not clear which. doubt: why no number is certain; "" where all are. commas:
    whether decimals have a comma."""

    of: Mapping[str, Fraction]
    otherwise: Mapping[str, Fraction] | None = None
    doubt: str = ""
    commas: bool = False

    @property
    def is_proportional(self) -> bool:
        """Whether what is compared as a share of the range is certain: it is the same in both ways to read."""
        if self.otherwise is None:
            return not self.doubt
        pairs = [(each, self.otherwise[value]) for value, each in self.of.items()]
        first = next(((one, other) for one, other in pairs if one), (Fraction(1), Fraction(1)))
        return all(one * first[1] == other * first[0] for one, other in pairs)


def numbers_of(values: Collection[Label], decimal: Decimal | None = None, *, fractions: bool = False) -> Numbers:
    """Read the numbers of a column. values: the distinct ones. decimal: what stands before decimals, where that is
    known. fractions: whether 3/4 is a number."""
    read: dict[str, dict[str, Fraction]] = {".": {}, ",": {}}
    units: dict[str, bool] = {}  # and whether a number other than 0 has it
    for value in values:
        if value is None:
            continue
        plain = value.isascii() and value.isdigit()  # most numbers are
        if plain or (fractions and FRACTION.fullmatch(value.strip())):
            found, unit = dict.fromkeys(".,", _fraction(value.strip())), ""
        else:
            found, unit = _read(value)
        for mark, number in found.items():
            if number is not None:
                read[mark][value] = number
                units[unit] = units.get(unit, False) or number != 0
    point, comma = read["."], read[","]
    several = {unit for unit in units if unit}
    if len(several) > 1 or (PERCENT in units and units.get("")):
        return Numbers({**comma, **point}, doubt=UNITS)
    if decimal is not None:
        return Numbers(comma, commas=True) if decimal == "comma" else Numbers(point)
    by_point, by_comma = point.keys() - comma.keys(), comma.keys() - point.keys()
    if point == comma or (by_point and not by_comma):
        return Numbers(point)
    if by_point:
        return Numbers({**comma, **point}, doubt=TWO_WAYS)
    if by_comma:
        return Numbers(comma, commas=True)
    thousands = "," if any("," in value for value in point) else "."
    # amounts of money have no three decimals, but prices such as $3.459 have
    if several - {PERCENT} and (thousands == "," or not any("$" in unit or unit == "USD" for unit in several)):
        return Numbers(point) if thousands == "," else Numbers(comma, commas=True)
    return Numbers(point, comma, UNCLEAR)


def _read(value: str) -> tuple[dict[str, Fraction | None], str]:
    """A value as a number by what stands before the decimals, and its unit."""
    found = WRITTEN.fullmatch(value.strip().translate(TYPED))
    if found is None or not found["digits"] or (found["sign"] and found["sign_after"]):
        return {}, ""
    before, after = found["before"] or "", found["after"] or ""
    unit = before or after
    if (before and after) or (unit and not (_is_currency(unit) or (unit == PERCENT and after))):
        return {}, ""
    sign = "-" if (found["sign"] or found["sign_after"]) == "-" else ""
    read = {mark: _decimal(sign, found["digits"], found["exponent"] or "", mark) for mark in ".,"}
    return read, unit


def _is_currency(unit: str) -> bool:
    """Whether a unit is the code or the sign of a currency, perhaps of a country, such as US$."""
    sign = unicodedata.category(unit[-1]) == "Sc" and (not unit[:-1] or (unit[:-1].isalpha() and unit.isupper()))
    return sign or CURRENCY.fullmatch(unit) is not None


def _decimal(sign: str, digits: str, exponent: str, mark: str) -> Fraction | None:
    if PLAIN[mark].fullmatch(digits) is None and (exponent or THOUSANDS[mark].fullmatch(digits) is None):
        return None
    front, _, decimals = digits.partition(mark)
    return _fraction(f"{sign}{re.sub('[^0-9]', '', front) or '0'}.{decimals or '0'}{exponent}")


def _fraction(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):  # more digits than Python converts; 1/0
        return None


def mixed_key(columns: Sequence[NDArray[np.integer[Any]]], sizes: Sequence[int]) -> Ints:
    """One int64 per row that orders and tells apart rows as the tuple of their codes does."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size > 2**62:  # make room: renumber the keys seen so far
            seen, inverse = np.unique(key, return_inverse=True)
            key, span = inverse.astype(np.int64), len(seen)
        key *= size
        key += column
        span *= size
    return key
