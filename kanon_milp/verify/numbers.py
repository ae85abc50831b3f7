"""Exact numbers: as users write them and as reports show them, many ratios at once, and logarithms."""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError, kind_of
from kanon_milp.system.arrays import Flags, Floats, Ints

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


def ncp(values: Sequence[str | None]) -> Callable[[Sequence[str | None]], Fraction]:
    """NCP of a cell that stands for some of these values: their share of the range, or of the number of values."""
    numbers = ranged(values)
    span = max(numbers.values()) - min(numbers.values()) if len(numbers) == len(values) else Fraction(0)
    # fractions are compared once, not for each cell
    order = {value: place for place, value in enumerate(sorted(numbers, key=numbers.__getitem__))}

    def penalty(some: Sequence[str | None]) -> Fraction:
        if len(some) < 2:
            return Fraction(0)
        if not span:
            return Fraction(len(some), len(values))
        inside = [value for value in some if value is not None]
        return (numbers[max(inside, key=order.__getitem__)] - numbers[min(inside, key=order.__getitem__)]) / span

    return penalty


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


LARGEST_SHOWN = 10**6  # denominator of a number in a text for people


def in_words(value: Fraction) -> str:
    """An exact number for people: 54, 3011.25, or 1/3 (0.3333) where no decimal number of a computer is exact; a
    decimal alone for a denominator of more than six digits."""
    decimal = plain(value)
    if value.denominator == 1 or value.denominator > LARGEST_SHOWN or Fraction(str(decimal)) == value:
        return f"{decimal:,}"
    return f"{value.numerator:,}/{value.denominator:,} ({decimal:,.{max(4, len(str(int(value))) + 3)}g})"


def said(value: object) -> object:
    """A fraction in words, exactly, as a decimal number that is rounded would be another claim; anything else as it
    is."""
    if not isinstance(value, Fraction):
        return value
    return in_words(value) if value.denominator <= LARGEST_SHOWN else str(value)


# what rounding can move a quotient of integers of 64 bits, with a wide margin
NEAR = 1e-9
SAFE = 1 << 62


@dataclass(frozen=True, eq=False)
class Ratios:
    """above / below, one ratio a position; int64, or Python's integers where those are too small. below > 0."""

    above: NDArray[Any]
    below: NDArray[Any]

    @property
    def least(self) -> Fraction:
        """The smallest, exactly."""
        return min(self._fractions(self._near(largest=False)))

    @property
    def largest(self) -> Fraction:
        """The largest, exactly."""
        return max(self._fractions(self._near(largest=True)))

    def at_most(self, bound: Fraction) -> Flags:
        """Which are not above a bound; exact."""
        left, right = self._cross(bound)
        return np.asarray(left <= right, dtype=bool)

    def at_least(self, bound: Fraction) -> Flags:
        """Which are not below a bound; exact."""
        left, right = self._cross(bound)
        return np.asarray(left >= right, dtype=bool)

    def reduced(self) -> Ratios:
        """In lowest terms."""
        divisor = np.gcd(self.above, self.below)
        return Ratios(self.above // divisor, self.below // divisor)

    def floats(self) -> Floats:
        """As floats, each within a few units of the last place."""
        if self.above.dtype == object:
            return np.array([float(Fraction(a, b)) for a, b in zip(self.above, self.below, strict=True)])
        return np.asarray(self.above / self.below, dtype=np.float64)

    def texts(self) -> list[str]:
        """Each as an exact text, such as 3/2 or 2."""
        least = self.reduced()
        pairs = zip(least.above.tolist(), least.below.tolist(), strict=True)
        return [str(above) if below == 1 else f"{above}/{below}" for above, below in pairs]

    def take(self, positions: NDArray[Any]) -> Ratios:
        """The ratios at some positions."""
        return Ratios(self.above[positions], self.below[positions])

    def largest_in(self, starts: Ints) -> Ratios:
        """The largest of each run of positions, runs given by where they start; exactly."""
        values = self.floats()
        best = np.maximum.reduceat(values, starts)
        run = np.zeros(len(values), dtype=np.int64)
        run[starts[1:]] = 1
        run = np.cumsum(run)
        near = np.flatnonzero(values >= best[run] * (1 - NEAR))
        least = self.take(near).reduced()
        chosen = np.empty(len(starts), dtype=np.int64)
        chosen[run[near][::-1]] = near[::-1]  # the first of each run
        position = np.searchsorted(near, chosen[run[near]])
        same = (least.above == least.above[position]) & (least.below == least.below[position])
        for other in near[~same]:  # floats too close to tell
            held = chosen[run[other]]
            if self.above[other] * self.below[held] > self.above[held] * self.below[other]:
                chosen[run[other]] = other
        return self.take(chosen)

    def _cross(self, bound: Fraction) -> tuple[NDArray[Any], NDArray[Any]]:
        """What to compare: above · denominator and below · numerator."""
        above, below = self.above, self.below
        largest = max(int(above.max(initial=0)) * bound.denominator, int(below.max(initial=0)) * abs(bound.numerator))
        if largest >= SAFE:
            above, below = above.astype(object), below.astype(object)
        return above * bound.denominator, below * bound.numerator

    def _near(self, *, largest: bool) -> Ratios:
        """Those that floats cannot tell from the extreme one."""
        values = self.floats()
        chosen = values >= values.max() * (1 - NEAR) if largest else values <= values.min() * (1 + NEAR)
        return self.take(np.flatnonzero(chosen))

    @staticmethod
    def _fractions(ratios: Ratios) -> list[Fraction]:
        pairs = set(zip(ratios.above.tolist(), ratios.below.tolist(), strict=True))
        return [Fraction(above, below) for above, below in pairs]


Powers = Mapping[int, Fraction]
PRECISION = 50
SHORT_TEXT = 40


@dataclass(frozen=True)
class LogRatio:
    """|ln(q/p)| of a ratio that is at least 1.

    δ-disclosure privacy holds for every δ > ln(ratio), or, with logarithms of base 2, for every δ > log2(ratio).
    """

    ratio: Fraction

    @property
    def natural(self) -> float:
        """ln(ratio), rounded up."""
        return 0.0 if self.ratio == 1 else float_above(bounds(of_fraction(self.ratio))[1])

    @property
    def base2(self) -> float:
        """log2(ratio), rounded up."""
        exponent = self.ratio.numerator.bit_length() - 1
        if self.ratio == 2**exponent:
            return float(exponent)
        return float_above(bounds(of_fraction(self.ratio))[1] / bounds({2: Fraction(1)})[0])


@dataclass(frozen=True)
class EntropyDiversity:
    """exp(entropy) of a group with these counts, S / Π c^(c/S): the l of entropy l-diversity, mostly irrational.

    l-diversity in the entropy form (Machanavajjhala et al. 2007, Definition 4.1) holds for l exactly if
    l^S · Π c^c ≤ S^S. counts: in falling order.
    """

    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """Rows S of the group."""
        return sum(self.counts)

    @cached_property
    def powers(self) -> Powers:
        """The number as a product of primes to rational powers; in this form no two are equal numbers."""
        found: defaultdict[int, Fraction] = defaultdict(Fraction)
        for prime, power in prime_powers(self.size):
            found[prime] += power
        for count in self.counts:
            for prime, power in prime_powers(count):
                found[prime] -= Fraction(power * count, self.size)
        return {prime: power for prime, power in sorted(found.items()) if power}

    def holds(self, l: int | Fraction) -> bool:  # noqa: E741
        """Whether the group is l-diverse in the entropy form; exact."""
        return l <= 1 or sign(self.powers, Fraction(l)) >= 0

    @cached_property
    def floor(self) -> int:
        """The largest integer l for which it holds."""
        guess = max(1, round(self.value))
        return next(number for number in (guess + 1, guess, guess - 1) if self.holds(number))

    @cached_property
    def value(self) -> float:
        """The number as a float, rounded down."""
        if all(power.denominator == 1 for power in self.powers.values()):
            return float_below(_product({prime: int(power) for prime, power in self.powers.items()}))
        low = bounds(self.powers)[0]
        power = Context(prec=PRECISION).exp(Context(prec=PRECISION).divide(low.numerator, low.denominator))
        return float_below(Fraction(power) * (1 - Fraction(10) ** (5 - PRECISION)))

    @cached_property
    def text(self) -> str:
        """The number exactly, such as 2 or (3125/108)^(1/5), or by its primes where that would be long."""
        root = math.lcm(*(power.denominator for power in self.powers.values()))
        integers = {prime: int(power * root) for prime, power in self.powers.items()}
        digits = sum(abs(power) * math.log10(prime) for prime, power in integers.items())
        if digits <= SHORT_TEXT:
            base = str(_product(integers))
        else:
            base = "·".join(str(prime) if power == 1 else f"{prime}^{power}" for prime, power in integers.items())
        if root == 1:
            return base
        return f"{base if base.isdigit() else f'({base})'}^(1/{root})"


def less(left: EntropyDiversity, right: EntropyDiversity) -> bool:
    """Whether left < right; exact."""
    difference = {
        prime: left.powers.get(prime, Fraction(0)) - right.powers.get(prime, Fraction(0))
        for prime in {*left.powers, *right.powers}
    }
    return sign(difference, Fraction(1)) < 0


def sign(powers: Powers, number: Fraction) -> int:
    """-1, 0 or 1 as Π prime^power is below, equal to or above the positive number."""
    left = dict(powers)
    for prime in powers:
        while number.numerator % prime == 0:
            number /= prime
            left[prime] -= 1
        while number.denominator % prime == 0:
            number *= prime
            left[prime] += 1
    # what is left shares no prime, so the two are equal only if nothing is left
    left = {base: power for base, power in left.items() if power}
    if not left and number == 1:
        return 0
    for base, power in ((number.numerator, -1), (number.denominator, 1)):
        if base > 1:
            left[base] = left.get(base, Fraction(0)) + power
    return _sign(left, Fraction(0))


def log_below(ratio: Fraction, limit: Fraction, base: str) -> bool:
    """Whether the logarithm of a ratio that is at least 1 is below a limit; base: "natural" or "base2". Exact."""
    exponent = ratio.numerator.bit_length() - 1
    if ratio == 1 or (base == "base2" and ratio == 2**exponent):
        return exponent < limit
    # the logarithm of any other rational is irrational
    powers, constant = dict(of_fraction(ratio)), limit
    if base == "base2":
        powers[2], constant = powers.get(2, Fraction(0)) - limit, Fraction(0)
    return _sign(powers, constant) < 0


def _sign(powers: Powers, constant: Fraction) -> int:
    """-1 or 1 as Σ power · ln(base) is below or above a constant, to which it is not equal: enough digits decide."""
    digits = PRECISION
    while True:
        low, high = bounds(powers, digits)
        if low > constant or high < constant:
            return 1 if low > constant else -1
        digits *= 2


def bounds(powers: Powers, digits: int = PRECISION) -> tuple[Fraction, Fraction]:
    """A lower and an upper bound on Σ power · ln(base)."""
    context = Context(prec=digits)
    total, margin = Fraction(0), Fraction(0)
    for base, power in powers.items():
        term = power * Fraction(context.ln(base))
        total += term
        margin += abs(term)
    margin *= Fraction(10) ** (1 - digits)  # ln is rounded correctly, so this is more than its error
    return total - margin, total + margin


def of_fraction(number: Fraction) -> Powers:
    """A positive fraction as powers of its numerator and its denominator."""
    return {base: Fraction(power) for base, power in ((number.numerator, 1), (number.denominator, -1)) if base > 1}


def _product(powers: Mapping[int, int]) -> Fraction:
    found = Fraction(1)
    for prime, power in powers.items():
        found *= Fraction(prime) ** power
    return found


def float_above(number: Fraction) -> float:
    """The smallest float that is not below the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def float_below(number: Fraction) -> float:
    """The largest float that is not above the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


@lru_cache(maxsize=1 << 16)
def prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """The prime factors of an integer with their powers."""
    found = []
    prime = 2
    while prime * prime <= number:
        power = 0
        while number % prime == 0:
            number //= prime
            power += 1
        if power:
            found.append((prime, power))
        prime += 1 + (prime > 2)
    if number > 1:
        found.append((number, 1))
    return tuple(found)
