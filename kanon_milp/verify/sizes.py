"""What requirements, as they are written down, ask of a group at least: its size, and sensitive values to take from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kanon_milp.errors import InputError
from kanon_milp.verify.original import Original
from kanon_milp.verify.stated import K_ANONYMITY, exact, integer

Value = str | None
Counts = Mapping[Value, int]
SEARCHED = 10_000  # sizes tried; the next one is a lower bound as well


@dataclass(frozen=True)
class Supply:
    """Σ_σ min(N_σ, limit_σ) ≥ need for the rows N_σ by sensitive value that a group is taken from.

    It holds for more rows whenever it holds for fewer. Numbers are integers after multiplication by `scale`: limits and
    need are given so.
    """

    attribute: str
    scale: int
    limits: Mapping[Value, int]
    need: int

    @classmethod
    def of(cls, attribute: str, limits: Mapping[Value, Fraction], need: Fraction | int) -> Supply:
        """From exact numbers."""
        needed = Fraction(need)
        scale = math.lcm(needed.denominator, *(limit.denominator for limit in limits.values()))
        return cls(attribute, scale, {v: int(limit * scale) for v, limit in limits.items()}, int(needed * scale))


@dataclass(frozen=True)
class Least:
    """What every group of a released row needs. size: κ. supplies: what the rows must hold that it can stand for."""

    size: int
    supplies: tuple[Supply, ...]


@dataclass(frozen=True)
class SizeConditions:
    """What groups of fully suppressed rows need, and all others. possible: False only where no table has what is
    asked for, since the table as one group has more of a value than its share, and every union of groups would not."""

    exempt: Least
    strict: Least
    possible: bool


def size_conditions(requirements: Sequence[Mapping[str, Any]], table: Original, suppressed_rows: str) -> SizeConditions:
    """What the requirements ask of a group at least; fully suppressed rows are exempt from k alone.

    requirements: as `kanon_milp.verify.stated` reads them. Raises InputError for what makes no sense for the table.

    A group of s ≥ κ rows that has a requirement about shares is within them still if it is scaled down to κ rows, so
    the rows it is taken from hold that many: that is a supply, and so is a number of different values.
    """
    rules = [(_Rule.of(requirement, table), requirement["name"] == K_ANONYMITY) for requirement in requirements]
    most = table.n + 1  # as good as any larger number: there is no such group
    strict = min(max((rule.size for rule, _ in rules), default=1), most)
    besides_k = min(max((rule.size for rule, is_k in rules if not is_k), default=1), most)
    exempt = besides_k if suppressed_rows == "exempt" else strict
    first, second = (Least(k, tuple(s for rule, _ in rules for s in rule.supplies(k))) for k in (exempt, strict))
    return SizeConditions(first, second, all(rule.possible for rule, _ in rules))


@dataclass(frozen=True)
class _Rule:
    """The smallest size of a group, and what the rows it is taken from must supply for a group of κ rows.

    possible: whether the table as one group has what every union of groups has."""

    size: int
    supplies: Callable[[int], list[Supply]] = lambda _: []
    possible: bool = True

    @classmethod
    def of(cls, requirement: Mapping[str, Any], table: Original) -> _Rule:
        name = requirement["name"]
        readers: dict[str, Callable[[Mapping[str, Any], Original], _Rule]] = {
            K_ANONYMITY: _anonymous,
            "p_sensitivity": lambda r, table: _different(integer(r["p"]), [r["sensitive"]], table),
            "l_diversity": _diverse,
            "alpha_k_anonymity": _alpha,
            "beta_likeness": _beta,
            "delta_disclosure": _delta,
            "t_closeness": _close,
        }
        try:
            return readers[name](requirement, table)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"the parameters of {name} cannot be read") from None


def _anonymous(requirement: Mapping[str, Any], table: Original) -> _Rule:
    """So many rows; where some of the quasi-identifiers are meant, rows of several groups can be alike in them."""
    if "quasi_identifiers" not in requirement:
        return _Rule(integer(requirement["k"]))
    if not set(requirement["quasi_identifiers"]) <= set(table.quasi_identifiers):
        raise ValueError
    return _Rule(1)


def _different(number: int, attributes: Sequence[str], table: Original) -> _Rule:
    """So many different values of each attribute."""
    counts = {name: _counts(name, table) for name in attributes}
    return _Rule(
        number,
        lambda _: [Supply.of(name, dict.fromkeys(found, Fraction(1)), number) for name, found in counts.items()],
    )


def _within(shares: Mapping[Value, Fraction], attribute: str, counts: Counts) -> _Rule:
    """No value has more than its share. κ: the smallest s that integers of rows make up,
    Σ min(N_σ, ⌊share_σ·s⌋) ≥ s."""
    pairs = [(shares[value].numerator, shares[value].denominator, rows) for value, rows in counts.items()]
    n = sum(counts.values())
    size = _first(lambda s: sum(min(rows, a * s // b) for a, b, rows in pairs) >= s, n)
    return _Rule(
        size,
        lambda k: [Supply.of(attribute, {v: share * k for v, share in shares.items()}, k)],
        all(rows <= shares[value] * n for value, rows in counts.items()),
    )


def _diverse(requirement: Mapping[str, Any], table: Original) -> _Rule:
    """Frequency l-diversity is about shares of 1/l; the other forms need ⌈l⌉ different values."""
    number, sensitive = exact(requirement["l"]), requirement["sensitive"]
    if requirement["form"] != "frequency":
        return _different(math.ceil(number), [sensitive] if isinstance(sensitive, str) else sensitive, table)
    counts = _counts(sensitive, table)
    return _within(dict.fromkeys(counts, 1 / number), sensitive, counts)


def _alpha(requirement: Mapping[str, Any], table: Original) -> _Rule:
    """Which values are meant is not written down, so only shares of all of them say something."""
    k, counts = integer(requirement["alpha_k"]), _counts(requirement["sensitive"], table)
    if "values" in requirement:
        return _Rule(k)
    shares = _within(dict.fromkeys(counts, exact(requirement["alpha"])), requirement["sensitive"], counts)
    return _Rule(max(k, shares.size), shares.supplies, shares.possible)


def _beta(requirement: Mapping[str, Any], table: Original) -> _Rule:
    """Shares of 1+β times those of the entire table."""
    counts, factor = _counts(requirement["sensitive"], table), 1 + exact(requirement["beta"])
    shares = {value: factor * Fraction(rows, table.n) for value, rows in counts.items()}
    return _within(shares, requirement["sensitive"], counts)


def _delta(requirement: Mapping[str, Any], table: Original) -> _Rule:
    """Where an absent value is a violation, each must be there; the bounds on shares are not rational."""
    counts = _counts(requirement["sensitive"], table)
    return (
        _different(len(counts), [requirement["sensitive"]], table) if requirement["absent"] == "violation" else _Rule(1)
    )


def _close(requirement: Mapping[str, Any], table: Original) -> _Rule:
    """Equal distance: a group of s rows shares at least (1-t)·s with the reference, Σ min(S_σ, s·r_σ/n).

    Whole numbers of rows nearest to s·r_σ/n are all ⌊s·r_σ/n⌋ and one more where the fractional part is largest; what
    they share with it is the floors and these fractional parts. Other distances are not written down.
    """
    attribute, t = requirement["sensitive"], exact(requirement["t"])
    counts, n = _counts(attribute, table), table.n
    if requirement["distance"] != "equal":
        return _Rule(1)

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


def _counts(attribute: object, table: Original) -> dict[Value, int]:
    """Rows of each value of a sensitive attribute."""
    if attribute not in table.sensitive:
        raise ValueError
    return {value: int(rows) for value, rows in table.keys[str(attribute)].alias("").value_counts().iter_rows()}
