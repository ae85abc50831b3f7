"""Exact statements about numbers whose logarithms are rational combinations of logarithms of integers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from functools import cached_property, lru_cache

Powers = Mapping[int, Fraction]
DIGITS = 50
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
        power = Context(prec=DIGITS).exp(Context(prec=DIGITS).divide(low.numerator, low.denominator))
        return float_below(Fraction(power) * (1 - Fraction(10) ** (5 - DIGITS)))

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
    digits = DIGITS
    while True:
        low, high = bounds(left, digits)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        digits *= 2


def log_below(ratio: Fraction, limit: Fraction, base: str) -> bool:
    """Whether the logarithm of a ratio that is at least 1 is below a limit; base: "natural" or "base2". Exact."""
    exponent = ratio.numerator.bit_length() - 1
    if ratio == 1 or (base == "base2" and ratio == 2**exponent):
        return exponent < limit
    # the logarithm of any other rational is irrational, so enough digits decide
    powers, constant = dict(of_fraction(ratio)), limit
    if base == "base2":
        powers[2], constant = powers.get(2, Fraction(0)) - limit, Fraction(0)
    digits = DIGITS
    while True:
        low, high = bounds(powers, digits)
        if high < constant or low > constant:
            return high < constant
        digits *= 2


def bounds(powers: Powers, digits: int = DIGITS) -> tuple[Fraction, Fraction]:
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
