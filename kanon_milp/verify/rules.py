"""The verifier's own definition of each privacy requirement, over counts, for all groups at once.

Nothing but the parameters that the user gave is taken from a requirement: numbers are read here, and which sensitive
attributes are meant is settled here. Only a requirement of the user's own making is asked whether it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError, kind_of, term
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.ground import Ground, built_in, ground
from kanon_milp.verify.logarithms import log_below
from kanon_milp.verify.numbers import both, exact, integer
from kanon_milp.verify.original import Original
from kanon_milp.verify.pairwise import have_partners
from kanon_milp.verify.plain import TableData
from kanon_milp.verify.ratios import NEAR

Bools = NDArray[np.bool_]
LARGE = 10**6  # no logarithm of a ratio of numbers of rows comes near


@dataclass(frozen=True)
class SizeRule:
    """k-anonymity of what is released of some columns; None: of all quasi-identifiers."""

    k: int
    columns: tuple[str, ...] | None = None

    @property
    def described(self) -> dict[str, object]:
        """Its parameters as plain data."""
        return {"k": self.k, **({} if self.columns is None else {"quasi_identifiers": list(self.columns)})}


@dataclass(frozen=True, eq=False)
class ValueRule:
    """What each group's sensitive values must be like.

    attributes: whose joint values are counted. holds: per group, from counts of these. parameters: fractions, and
    plain data. ground: the ground distance, where there is one. own: of a requirement of the user's making, which is
    asked itself, the attributes that it names.
    """

    name: str
    attributes: tuple[str, ...]
    parameters: Mapping[str, object]
    holds: Callable[[Counts], Bools] = field(repr=False)
    ground: Ground | None = None
    own: tuple[str, ...] | None = None

    @property
    def described(self) -> dict[str, object]:
        """Its parameters as plain data."""
        found: dict[str, object] = {}
        for key, value in self.parameters.items():
            found |= both(key, value) if isinstance(value, Fraction) else {key: value}
        return found

    @property
    def text(self) -> str:
        """Such as 'l-diversity (l = 3/2, form = frequency) of "disease"'."""
        given = self.parameters
        shown = {
            key: given.get(f"{key}_exact", value)
            for key, value in given.items()
            if key != "sensitive" and not key.endswith("_exact")
        }
        parameters = ", ".join(f"{key} = {value}" for key, value in shown.items())
        of = " and ".join(f'"{name}"' for name in (self.attributes if self.own is None else self.own))
        name = self.name if self.own is not None else term(self.name)
        return f"{name} ({parameters})" + (f" of {of}" if of else "")


Rule = SizeRule | ValueRule


def rules_of(requirement: Any, table: Original, given: TableData) -> list[Rule]:
    """What a requirement says of a table: one rule for each sensitive attribute that it is about.

    given: the table as the user's own requirements want to see it. Raises InputError where it makes no sense.
    """
    read = BUILT_IN.get(built_in(requirement) or "")
    return list(_own(requirement, table, given) if read is None else read(requirement, table))


# ----------------------------------------------------------------------------------------------- definitions


def _k_anonymity(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least k rows (Samarati 2001), or at least k rows that are released alike in some columns."""
    given = requirement.quasi_identifiers
    if given is None:
        return [SizeRule(integer(requirement.k, "k"))]
    named = {given} if isinstance(given, str) else set(given)
    if not named or not named <= set(table.quasi_identifiers):
        raise InputError(f"{table.source}: k-anonymity of a set of quasi-identifiers: one of its names is none")
    columns = tuple(name for name in table.quasi_identifiers if name in named)
    everything = len(columns) == len(table.quasi_identifiers)
    return [SizeRule(integer(requirement.k, "k"), None if everything else columns)]


def _p_sensitivity(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least p different values (Truta, Vinay 2006)."""
    p = integer(requirement.p, "p")
    return [
        ValueRule("p_sensitivity", (name,), {"p": p, "sensitive": name}, lambda counts: counts.distinct >= p)
        for name in _meant(requirement.sensitive, table)
    ]


def _l_diversity(requirement: Any, table: Original) -> Sequence[Rule]:
    """Frequency: no value has more than 1/l of the rows. Distinct: at least l values. Blocki-Williams: see pairwise."""
    number, form = exact(requirement.l, "l"), requirement.form
    names = _meant(requirement.sensitive, table)

    def rule(attributes: tuple[str, ...], sensitive: object, holds: Callable[[Counts], Bools]) -> Rule:
        return ValueRule("l_diversity", attributes, {"l": number, "form": form, "sensitive": sensitive}, holds)

    if form == "frequency":
        return [rule((name,), name, lambda counts: counts.frequency.at_least(number)) for name in names]
    ceiling = -(-number.numerator // number.denominator)
    if form == "distinct":
        return [rule((name,), name, lambda counts: counts.distinct >= ceiling) for name in names]
    if form == "blocki-williams":
        return [rule(names, list(names), lambda counts: have_partners(counts, ceiling))]
    raise InputError(f"the form of l-diversity is unknown to the verifier, found {kind_of(form)}")


def _alpha_k_anonymity(requirement: Any, table: Original) -> Sequence[Rule]:
    """At least k rows, and no value (of those named) has more than the share α of them (Wong et al. 2006)."""
    alpha, k = exact(requirement.alpha, "alpha"), integer(requirement.k, "k")
    values = None if requirement.values is None else frozenset(requirement.values)

    def holds(counts: Counts) -> Bools:
        meant = np.array([values is None or value in values for value in counts.values], dtype=bool)
        return (counts.size >= k) & counts.every(~meant[counts.value] | counts.entry_shares.at_most(alpha))

    named = {} if values is None else {"values": len(requirement.values)}
    return [
        ValueRule("alpha_k_anonymity", (name,), {"alpha": alpha, "alpha_k": k, "sensitive": name, **named}, holds)
        for name in _meant(requirement.sensitive, table)
    ]


def _beta_likeness(requirement: Any, table: Original) -> Sequence[Rule]:
    """(q - p)/p ≤ β for the shares q in the group and p in the table of each value (Cao, Karras 2012, basic form)."""
    beta = exact(requirement.beta, "beta")
    return [
        ValueRule(
            "beta_likeness",
            (name,),
            {"beta": beta, "sensitive": name},
            lambda counts: counts.every(counts.gains.at_most(1 + beta)),
        )
        for name in _meant(requirement.sensitive, table)
    ]


def _delta_disclosure(requirement: Any, table: Original) -> Sequence[Rule]:
    """|log(q/p)| < δ for each value of the table (Brickell, Shmatikov 2008), or of the group (absent "ignored")."""
    delta, log, absent = exact(requirement.delta, "delta"), requirement.log, requirement.absent
    if log not in ("natural", "base2") or absent not in ("violation", "ignored"):
        raise InputError("delta-disclosure: the logarithm, or the reading of absent values, is unknown to the verifier")

    def holds(counts: Counts) -> Bools:
        close = counts.every(_logs_below(counts, delta, log))
        return close if absent == "ignored" else close & (counts.distinct == len(counts.labels))

    return [
        ValueRule(
            "delta_disclosure",
            (name,),
            {"delta": delta, "log": log, "absent": absent, "sensitive": name},
            holds,
        )
        for name in _meant(requirement.sensitive, table)
    ]


def _logs_below(counts: Counts, delta: Fraction, log: str) -> Bools:
    """Per entry; floats decide where they are far from δ."""
    ratios = counts.changes
    logs = (np.log2 if log == "base2" else np.log)(ratios.floats())
    limit = float(min(delta, Fraction(LARGE)))
    below = np.asarray(logs < limit, dtype=bool)
    decided: dict[tuple[int, int], bool] = {}
    for entry in np.flatnonzero(np.abs(logs - limit) <= NEAR * (1 + limit)).tolist():
        pair = int(ratios.above[entry]), int(ratios.below[entry])
        if pair not in decided:
            decided[pair] = log_below(Fraction(*pair), delta, log)
        below[entry] = decided[pair]
    return below


def _t_closeness(requirement: Any, table: Original) -> Sequence[Rule]:
    """The earth mover's distance to the entire table is at most t (Li, Li, Venkatasubramanian 2007)."""
    t, distance = exact(requirement.t, "t"), ground(requirement.distance, "t-closeness: distance")

    def rule(name: str) -> Rule:
        values = table.keys[name].alias("").unique().sort(nulls_last=True).to_list()
        geometry = distance.over(values, f'{table.source}: column "{name}"')
        parameters = {"t": t, "distance": distance.name, "form": requirement.form, "sensitive": name}
        return ValueRule("t_closeness", (name,), parameters, lambda counts: geometry.within(counts, t), distance)

    return [rule(name) for name in _meant(requirement.sensitive, table)]


BUILT_IN: Mapping[str, Callable[[Any, Original], Sequence[Rule]]] = {
    "KAnonymity": _k_anonymity,
    "PSensitivity": _p_sensitivity,
    "LDiversity": _l_diversity,
    "TCloseness": _t_closeness,
    "AlphaKAnonymity": _alpha_k_anonymity,
    "BetaLikeness": _beta_likeness,
    "DeltaDisclosure": _delta_disclosure,
}


def _own(requirement: Any, table: Original, given: TableData) -> Sequence[Rule]:
    """A requirement of the user's making, asked about each kind of group once; it sees all sensitive attributes where
    it names none."""

    def judged(bound: Any, group: object) -> bool:
        found = bound.holds(group)
        if not isinstance(found, bool | np.bool_):
            raise InputError(f"{type(bound).__name__}.holds must return True or False, found {kind_of(found)}")
        return bool(found)

    def rule(bound: Any) -> Rule:
        def holds(counts: Counts) -> Bools:
            first, kind = counts.alike
            return np.array([judged(bound, counts.as_group(g)) for g in first.tolist()], dtype=bool)[kind]

        names = tuple(bound.attributes)
        return ValueRule(str(bound.name), names or table.sensitive, dict(bound.describe()), holds, own=names)

    found = requirement.bind(given)
    if not isinstance(found, tuple | list) or not found:
        raise InputError(f"{type(requirement).__name__}.bind must return a tuple of requirements, such as (self,)")
    return [rule(bound) for bound in found]


def _meant(named: object, table: Original) -> tuple[str, ...]:
    """The sensitive attributes that are meant, by default all."""
    names = table.sensitive if named is None else (named,) if isinstance(named, str) else tuple(named)  # type: ignore[arg-type]
    unknown = [name for name in names if name not in table.sensitive]
    if unknown or not names:
        what = f'"{unknown[0]}" is none of its sensitive attributes' if unknown else "it has no sensitive attribute"
        raise InputError(f"{table.source}: a requirement is about sensitive values, and {what}")
    return names
