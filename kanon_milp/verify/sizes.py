"""What requirements, as they are written down, ask of a group at least: its size, and sensitive values to take from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.table import Table

Value = str | None
Counts = Mapping[Value, int]
SEARCHED = 10_000  # sizes tried; the next one is a lower bound as well
K_ANONYMITY = "k_anonymity"
EXACT = re.compile(r"[0-9]{1,100}(/[0-9]{1,100})?")


@dataclass(frozen=True)
class Supply:
    """Σ_σ min(N_σ, limit_σ) ≥ need for the rows N_σ by sensitive value that a group is taken from.

    It holds for more rows whenever it holds for fewer. Numbers are whole after multiplication by `scale`: limits and
    need are given so.
    """

    attribute: str
    scale: int
    limits: Mapping[Value, int]
    need: int

    @classmethod
    def of(cls, attribute: str, limits: Mapping[Value, Fraction], need: Fraction | int) -> Supply:
        """From exact numbers."""
        exact = Fraction(need)
        scale = math.lcm(exact.denominator, *(limit.denominator for limit in limits.values()))
        return cls(attribute, scale, {v: int(limit * scale) for v, limit in limits.items()}, int(exact * scale))


@dataclass(frozen=True)
class Least:
    """What every group of a released row needs. size: κ. supplies: what the rows must hold that it can stand for."""

    size: int
    supplies: tuple[Supply, ...]


def least_demands(requirements: Sequence[Mapping[str, Any]], table: Table, suppressed_rows: str) -> tuple[Least, Least]:
    """What fully suppressed rows need, and what all other released rows need; what is exempt is so from k alone.

    requirements: name and parameters of each. Raises InputError for parameters that cannot be read.

    A group of s ≥ κ rows that has a requirement about shares is within them still if it is scaled down to κ rows, so
    the rows it is taken from hold that many: that is a supply, and so is a number of different values.
    """
    rules = [(_Rule.of(requirement, table), requirement.get("name") == K_ANONYMITY) for requirement in requirements]
    strict = max((rule.size for rule, _ in rules), default=1)
    exempt = max((rule.size for rule, is_k in rules if not is_k), default=1) if suppressed_rows == "exempt" else strict
    first, second = (Least(k, tuple(s for rule, _ in rules for s in rule.supplies(k))) for k in (exempt, strict))
    return first, second


@dataclass(frozen=True)
class _Rule:
    """The smallest size of a group, and what the rows it is taken from must supply for a group of κ rows."""

    size: int
    supplies: Callable[[int], list[Supply]] = lambda _: []

    @classmethod
    def of(cls, requirement: Mapping[str, Any], table: Table) -> _Rule:
        name = str(requirement.get("name"))
        readers: dict[str, Callable[[Mapping[str, Any], Table], _Rule]] = {
            K_ANONYMITY: lambda r, _: cls(1 if "quasi_identifiers" in r else _whole(r["k"])),
            "p_sensitivity": lambda r, table: _different(_whole(r["p"]), [r["sensitive"]], table),
            "l_diversity": _diverse,
            "alpha_k_anonymity": _alpha,
            "beta_likeness": _beta,
            "delta_disclosure": _delta,
            "t_closeness": _close,
        }
        if name not in readers:
            return cls(1)
        try:
            return readers[name](requirement, table)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise InputError(f"the parameters of {name} cannot be read") from None


def _different(number: int, attributes: Sequence[str], table: Table) -> _Rule:
    """So many different values of each attribute."""
    counts = {name: _counts(name, table) for name in attributes}
    return _Rule(
        number,
        lambda _: [Supply.of(name, dict.fromkeys(found, Fraction(1)), number) for name, found in counts.items()],
    )


def _within(shares: Mapping[Value, Fraction], attribute: str, counts: Counts) -> _Rule:
    """No value has more than its share. κ: the smallest s that whole numbers of rows make up,
    Σ min(N_σ, ⌊share_σ·s⌋) ≥ s."""
    pairs = [(shares[value].numerator, shares[value].denominator, rows) for value, rows in counts.items()]
    size = _first(lambda s: sum(min(rows, a * s // b) for a, b, rows in pairs) >= s, sum(counts.values()))
    return _Rule(size, lambda k: [Supply.of(attribute, {v: share * k for v, share in shares.items()}, k)])


def _diverse(requirement: Mapping[str, Any], table: Table) -> _Rule:
    """Frequency l-diversity is about shares of 1/l; the other forms need ⌈l⌉ different values."""
    l_exact, sensitive = _number(requirement["l_exact"]), requirement["sensitive"]
    if requirement["form"] != "frequency":
        return _different(math.ceil(l_exact), [sensitive] if isinstance(sensitive, str) else sensitive, table)
    counts = _counts(sensitive, table)
    return _within(dict.fromkeys(counts, 1 / l_exact), sensitive, counts)


def _alpha(requirement: Mapping[str, Any], table: Table) -> _Rule:
    """Which values are meant is not written down, so only shares of all of them say something."""
    k, counts = _whole(requirement["alpha_k"]), _counts(requirement["sensitive"], table)
    if "values" in requirement:
        return _Rule(k)
    shares = _within(dict.fromkeys(counts, _number(requirement["alpha_exact"])), requirement["sensitive"], counts)
    return _Rule(max(k, shares.size), shares.supplies)


def _beta(requirement: Mapping[str, Any], table: Table) -> _Rule:
    """Shares of 1+β times those of the whole table."""
    counts, factor = _counts(requirement["sensitive"], table), 1 + _number(requirement["beta_exact"])
    shares = {value: factor * Fraction(rows, table.n) for value, rows in counts.items()}
    return _within(shares, requirement["sensitive"], counts)


def _delta(requirement: Mapping[str, Any], table: Table) -> _Rule:
    """Where an absent value is a violation, each must be there; the bounds on shares are not rational."""
    if requirement["absent"] != "violation":
        return _Rule(1)
    return _different(len(_counts(requirement["sensitive"], table)), [requirement["sensitive"]], table)


def _close(requirement: Mapping[str, Any], table: Table) -> _Rule:
    """Equal distance: a group of s rows shares at least (1-t)·s with the reference, Σ min(S_σ, s·r_σ/n).

    Whole numbers of rows nearest to s·r_σ/n are all ⌊s·r_σ/n⌋ and one more where the fractional part is largest; what
    they share with it is the floors and these fractional parts. Other distances are not written down.
    """
    if requirement["distance"] != "equal":
        return _Rule(1)
    attribute, t = requirement["sensitive"], _number(requirement["t_exact"])
    counts, n = _counts(attribute, table), table.n

    def close(s: int) -> bool:
        floors = sum(s * rows // n for rows in counts.values())
        fractions = sorted((s * rows % n for rows in counts.values()), reverse=True)
        return bool(floors * n + sum(fractions[: s - floors]) >= (1 - t) * s * n)

    return _Rule(
        _first(close, n),
        lambda k: [Supply.of(attribute, {v: Fraction(k * rows, n) for v, rows in counts.items()}, (1 - t) * k)],
    )


def _first(holds: Callable[[int], bool], n: int) -> int:
    last = min(n, SEARCHED)
    return next((s for s in range(1, last + 1) if holds(s)), last)


def _counts(attribute: object, table: Table) -> dict[Value, int]:
    """Rows of each value of a sensitive attribute."""
    if attribute not in table.sensitive:
        raise ValueError
    return {value: int(rows) for value, rows in table.column(str(attribute)).value_counts().iter_rows()}


def _whole(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _number(value: object) -> Fraction:
    if not isinstance(value, str) or not EXACT.fullmatch(value):
        raise ValueError
    return Fraction(value)
