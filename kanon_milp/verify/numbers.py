"""Numbers as users write them, and as reports show them; read by the verifier itself."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Collection, Iterable
from fractions import Fraction

from kanon_milp.errors import InputError, kind_of

# four digits of exponent, and the number has thousands of digits
HUGE = re.compile(r"[eE][+-]?[0-9_]*[1-9][0-9_]{3}")
QUOTIENT = re.compile(r"[+-]?\d+/\d+", re.ASCII)
DIGITS, GROUP, MARKS = frozenset("0123456789"), 3, (".", ",")
# other signs for the same: of minus, of blanks that do not break a line, of the apostrophe
ALIKE = str.maketrans(
    {"\N{MINUS SIGN}": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\N{RIGHT SINGLE QUOTATION MARK}": "'"}
)
FRONT = re.compile(r"([+-]?) ?([^\d\s.,+'-]{1,3})? ?([+-]?)", re.ASCII)
BACK = re.compile(r" ?([^\d\s.,+'-]{1,3})?", re.ASCII)
EXPONENT = re.compile(r"[+-]?\d{1,3}", re.ASCII)
CODE_OF_MONEY = re.compile(
    "AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN|MYR|NOK|NZD|PEN|PHP|PLN|RON|RSD|RUB|"
    "SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)


def exact(value: object, what: str) -> Fraction:
    """Any number exactly; a float stands for its shortest decimal form. what: beginning of the error message."""
    text = "" if isinstance(value, bool) else str(value)
    try:
        if HUGE.search(text):
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{what}: a number is expected, found {kind_of(value)}") from None


def integer(value: object, what: str) -> int:
    """An integer, of Python or numpy."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InputError(f"{what} must be an integer, found {kind_of(value)}")


def numbers_in(cell: str | None) -> list[Fraction]:
    """The numbers that a cell may be: with a decimal point, and with a decimal comma; none of a fraction."""
    found = (_written((cell or "").strip(), mark)[0] for mark in MARKS)
    return list(dict.fromkeys(number for number in found if number is not None))


def numberings(values: Iterable[str | None], *, quotients: bool = False) -> list[dict[str, Fraction]]:
    """How the numbers of a column may be read, value → number: one way or, where each number may have thousands or
    decimals, two, that with a decimal point first. None where they are written in two ways, or in several units.

    All numbers of a column have the same sign before their decimals. Amounts of money have no three decimals, unless
    they are dollars with a point. quotients: whether 3/4 is a number.
    """
    ways: list[dict[str, Fraction]] = [{}, {}]
    units = set()
    for value in values:
        text = "" if value is None else value.strip()
        simple = (text.isascii() and text.isdigit()) or (quotients and QUOTIENT.fullmatch(text))
        quotient = _quotient(text) if simple else None
        for way, mark in zip(ways, MARKS, strict=True):
            number, unit = (quotient, "") if quotient is not None else _written(text, mark)
            if number is not None and value is not None:
                way[value] = number
                units.add(unit if unit or number else "0")
    money = {unit for unit in units if unit not in ("", "0", "%")}
    if len(money) + ("%" in units) > 1 or {"", "%"} <= units:
        return []
    point, comma = ways
    all_of_them = {**comma, **point}
    fitting = [way for way in ways if len(way) == len(all_of_them)]
    if point == comma:
        return [point]
    if len(fitting) == len(MARKS) and money:
        with_comma = any("," in value for value in point)
        if with_comma or not ("USD" in money or any("$" in unit for unit in money)):
            return [point if with_comma else comma]
    return fitting


def ranged(values: Collection[str | None]) -> dict[str, Fraction]:
    """The numbers of a column, of which it is certain what share of the range two of them are apart; none where it is
    not."""
    ways = numberings(values)
    if len(ways) > 1:
        one, other = ways
        unit = next(((each, other[value]) for value, each in one.items() if each), (Fraction(1), Fraction(1)))
        if any(each * unit[1] != other[value] * unit[0] for value, each in one.items()):
            return {}
    return ways[0] if ways else {}


def _written(text: str, mark: str) -> tuple[Fraction | None, str]:
    """The number that a text is if this stands before its decimals, and its unit: %, or of money."""
    text = text.translate(ALIKE)
    digits = [at for at, each in enumerate(text) if each in DIGITS]
    if not digits:
        return None, ""
    first, last = digits[0], digits[-1] + 1
    first -= text[first - 1 : first] == mark
    last += text[last : last + 1] == mark
    front, back = FRONT.fullmatch(text[:first]), BACK.fullmatch(text[last:])
    if front is None or back is None or (front[1] and front[3]) or (front[2] and back[1]):
        return None, ""
    unit = front[2] or back[1] or ""
    if unit and not (_is_money(unit) or (back[1] == "%")):
        return None, ""
    body, letter, exponent = text[first:last].replace("E", "e").partition("e")
    plain = _plain(body, mark, grouped=not letter)
    if plain is None or (letter and not EXPONENT.fullmatch(exponent)):
        return None, ""
    try:
        return Fraction(f"{front[1]}{front[3]}{plain}{letter}{exponent}"), unit
    except ValueError:  # more digits than Python converts
        return None, ""


def _plain(body: str, mark: str, *, grouped: bool) -> str | None:
    """Digits with one point at most, from digits with this mark and, if grouped, with signs between thousands."""
    whole, *decimals = body.split(mark)
    if len(decimals) > 1 or not set("".join(decimals)) <= DIGITS:
        return None
    between = set(whole) - DIGITS
    if between:
        sign = between.pop()
        first, *groups = whole.split(sign)
        sizes = [len(group) for group in groups]
        in_threes = 1 <= len(first) <= GROUP and set(sizes) == {GROUP}
        as_in_india = sign == "," and 1 <= len(first) < GROUP and sizes == [2] * (len(sizes) - 1) + [GROUP]
        possible = grouped and not between and sign in (MARKS[MARKS.index(mark) - 1], " ", "'") and first[:1] != "0"
        if not possible or not (in_threes or as_in_india):
            return None
        whole = first + "".join(groups)
    return f"{whole or '0'}.{''.join(decimals) or '0'}"


def _is_money(unit: str) -> bool:
    country, sign = unit[:-1], unit[-1]
    has_sign = unicodedata.category(sign) == "Sc" and (not country or (country.isalpha() and unit.isupper()))
    return has_sign or CODE_OF_MONEY.fullmatch(unit) is not None


def _quotient(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):  # more digits than Python converts; 1/0
        return None


def plain(value: Fraction | None) -> int | float | None:
    """As int where it is one, else as float."""
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else float(value)


def both(name: str, value: Fraction | None) -> dict[str, object]:
    """A number as plain data, and under NAME_exact its exact text."""
    return {name: plain(value), f"{name}_exact": None if value is None else str(value)}


def in_words(value: Fraction) -> str:
    """An exact number for people: 54, 3011.25, or 1/3 (0.3333) where no decimal number of a computer is exact."""
    if value.denominator == 1:
        return str(value)
    if Fraction(decimal := str(float(value))) == value:
        return decimal
    return f"{value} ({float(value):.{max(4, len(str(int(value))) + 3)}g})"
