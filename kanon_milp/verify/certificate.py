"""The checker of dual certificates: it recomputes a lower bound from the table and the multipliers alone.

What the bound is, and its proof, stands in `kanon_milp.verify.dual`. The file format is described in
`kanon_milp.bounds.certificate`, of which nothing is used here, nor of the steps that build and solve a model.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, kind_of, printable
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.cells import ColumnRule, Rules
from kanon_milp.verify.claims import SEVERAL, WHAT, Claim, HasDict, Stated, spelled, stated
from kanon_milp.verify.definitions import SizeConditions, size_conditions
from kanon_milp.verify.dual import Charge, Held, LevelVectors, Released, Values, dual_value, every_row_has_a_place
from kanon_milp.verify.group_costs import LIMIT, Asked
from kanon_milp.verify.tables import BoundProblem, KeyedTable, Original, RecodingData, SuppressedRows, TableData


def distinct(frame: pl.DataFrame) -> pl.DataFrame:
    """Distinct rows as c0, c1, ... with their number of copies, sorted, missing values last."""
    names = [f"c{j}" for j in range(frame.width)]
    renamed = frame.rename(dict(zip(frame.columns, names, strict=True)))
    return renamed.group_by(names).agg(pl.len().alias("rows")).sort(names, nulls_last=True)


def table_hash(table: KeyedTable, values: Sequence[str]) -> str:
    """Hash of the quasi-identifiers and the columns whose values may be asked about, whatever the order of the rows."""
    names = [*table.quasi_identifiers, *values]
    rows = distinct(table.keys[names])
    return _hash(itertools.chain([names], ([rows, *values] for *values, rows in rows.iter_rows())))


def hierarchy_hash(rule: ColumnRule) -> str | None:
    """Hash of a hierarchy without its top; None where cells are kept or suppressed."""
    if rule.paths is None:
        return None
    paths = (list(path[:-1]) for path in rule.paths.values())
    return _hash(sorted(paths, key=lambda path: (path[0] is None, path[0] or "")))


def _hash(lines: Iterable[Sequence[object]]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def held_values(table: KeyedTable, types: pl.DataFrame, attribute: str) -> Held:
    """Which sensitive values the distinct rows hold, and how often."""
    keys = [name for name in types.columns if name != "rows"]
    pairs = distinct(table.keys[[*table.quasi_identifiers, attribute]])
    value = f"c{len(keys)}"
    found = pairs.join(types.select(keys).with_row_index("row"), on=keys, nulls_equal=True, how="left")
    values = found[value].unique(maintain_order=True).to_list()
    number = {each: position for position, each in enumerate(values)}
    return Held(
        found["row"].to_numpy().astype(np.int64),
        np.array([number[each] for each in found[value]], dtype=np.int64),
        found["rows"].to_numpy().astype(np.int64),
        values,
    )


@dataclass(frozen=True)
class CertificateReport:
    """What a certificate proves.

    valid: it belongs to this table and problem, and proves what it claims. vacuous: what is proven says nothing, since
    it is true of every table, or there is no such table. bound: the loss that is proven to be necessary, recomputed; 0
    for a certificate of something else. claimed: what the certificate says. statement: what is proven, in words.
    problems: what is wrong with it. quasi_identifiers, requirements: what the statement is about; requirements of a
    user's own are not among them, nothing is known of these.
    """

    valid: bool
    vacuous: bool
    bound: Fraction
    claimed: Fraction
    statement: str
    problems: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    requirements: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data; exact numbers as text."""
        return {
            "valid": self.valid,
            "vacuous": self.vacuous,
            "bound": str(self.bound),
            "claimed": str(self.claimed),
            "statement": self.statement,
            "problems": list(self.problems),
            "quasi_identifiers": list(self.quasi_identifiers),
            "requirements": list(self.requirements),
        }

    def summary(self) -> str:
        """A few lines for a person."""
        lines = [f"certificate: {'valid' if self.valid else 'NOT VALID'}", f"  {self.statement}"]
        lines += [f"  quasi-identifiers: {', '.join(self.quasi_identifiers)}"]
        return "\n".join(map(printable, [*lines, *(f"  problem: {text}" for text in self.problems)]))


def check_certificate(
    problem: BoundProblem, certificate: HasDict | Mapping[str, Any] | str | Path
) -> CertificateReport:
    """Check a certificate (as an object, as plain data, or its file) against a problem.

    Requirements of a user's own play no part: what is proven without them holds with them. Side constraints and the
    objective of the problem play none either: the bound is on the loss of every table that has what is required. Raises
    InputError for something that is no certificate.
    """
    if any(not hasattr(problem, name) for name in ("table", "requirements", "recoding", "suppressed_rows")):
        raise InputError(f"check_certificate takes a Problem, found {kind_of(problem)}")
    requirements = stated(problem.requirements)
    return check_claim(problem.table, problem.recoding, requirements, problem.suppressed_rows, Claim.of(certificate))


def check_claim(
    table: TableData,
    recoding: RecodingData,
    requirements: Sequence[Stated],
    suppressed_rows: SuppressedRows,
    claim: Claim,
) -> CertificateReport:
    """Check what a certificate claims against a table, its recoding, the requirements as `stated`, and the reading of
    fully suppressed rows."""
    return _check(_Expected.of(Original.of(table), recoding, requirements, suppressed_rows), claim)


@dataclass(frozen=True, eq=False)
class _Expected:
    """What the certificate must be about, and what that asks of groups."""

    table: Original
    rules: Rules
    problem: dict[str, Any]
    asked: SizeConditions

    @classmethod
    def of(
        cls, table: Original, recoding: RecodingData, requirements: Sequence[Stated], suppressed_rows: str
    ) -> _Expected:
        rules = Rules.of(table, recoding)
        described = {
            "quasi_identifiers": list(table.quasi_identifiers),
            "sensitive": list(table.sensitive),
            "requirements": list(requirements),
            "suppressed_rows": suppressed_rows,
            "columns": [
                {"name": rule.name, "costs": [str(cost) for cost in rule.costs], "hierarchy": hierarchy_hash(rule)}
                for rule in rules.columns
            ],
            "patterns": None if rules.allowed is None else sorted(map(list, rules.allowed)),
        }
        return cls(table, rules, described, size_conditions(requirements, table, suppressed_rows))

    @property
    def vectors(self) -> list[tuple[int, ...]]:
        """All level vectors that are allowed."""
        if self.rules.allowed is not None:
            return sorted(self.rules.allowed)
        return list(itertools.product(*(range(rule.height + 1) for rule in self.rules.columns)))

    def by_value(self, types: pl.DataFrame, charges: Sequence[Charge]) -> tuple[dict[str, Held], Values | None]:
        """What rows hold that are told apart by their sensitive values, and the limits on these."""
        rows, held, asked = types["rows"].to_numpy().astype(np.int64), {}, {}
        for j, name in enumerate(self.values, start=len(self.table.quasi_identifiers)):
            column = types[f"c{j}"].to_list()
            number = {each: position for position, each in enumerate(dict.fromkeys(column))}
            value = np.array([number[each] for each in column], dtype=np.int64)
            held[name] = Held(np.arange(len(value)), value, rows, list(number))
            if name in self.asked.limits:
                asked[name] = Asked.of(self.asked.limits[name], value, list(number), rows)
        return held, Values(asked, charges)

    @property
    def values(self) -> list[str]:
        """The columns whose values may be asked about: the sensitive ones, and the unit where units are counted."""
        counted = any("unit" in requirement for requirement in self.problem["requirements"])
        return [*self.table.sensitive, *(self.table.units if counted else ())]

    @property
    def spelled(self) -> list[str]:
        """The requirements in words."""
        return [spelled(requirement) for requirement in self.problem["requirements"]]

    def differences(self, claim: Claim) -> list[str]:
        """What the certificate says of another problem or another table."""
        found = []
        for key in sorted({*self.problem, *claim.problem}):
            mine, other = self.problem.get(key), claim.problem.get(key)
            if key == "requirements":
                mine, other = _sorted(mine), _sorted(claim.requirements)
            # as text: 1, 1.0 and true are the same in Python, and three things in JSON
            if key not in self.problem or _as_text(mine) != _as_text(other):
                verb = "differ" if key in SEVERAL else "differs"
                found.append(f"the certificate is about another problem: {WHAT.get(key, repr(key))} {verb}")
                if key == "requirements":
                    theirs = " and ".join(map(spelled, claim.requirements)) or "none"
                    found[-1] += f"; it has {theirs}, not {' and '.join(self.spelled) or 'none'}"
        if claim.rows != self.table.n or claim.table_sha256 != table_hash(self.table, self.values):
            found.append("the certificate is about another table: the hash differs")
        return found

    def statement(self, bound: Fraction, exists: bool) -> str:
        """What is proven, in words. exists: False where there is no table that has what is required."""
        counted = all(rule.costs == (Fraction(0), Fraction(1)) for rule in self.rules.columns)
        what = f"suppresses fewer than {bound} cells" if counted else f"has a loss below {bound}"
        requirements, allowed = self.problem["requirements"], self.rules.allowed
        under = "" if allowed is None else f" of this mask of {len(allowed)} level vectors"
        if len(requirements) == 1 and set(requirements[0]) == {"name", "k"}:
            table = f"{requirements[0]['k']}-anonymous table{under}"
        else:
            table = f"table{under}" + (f" with {' and '.join(self.spelled)}" if requirements else "")
        reading = " (fully suppressed rows need no partners)" if self.problem["suppressed_rows"] == "exempt" else ""
        if not exists:
            return f"there is no {table}{reading} at all, so a bound on its loss says nothing"
        says_nothing = "" if bound else ", which is true of every table and says nothing"
        return f"no {table}{reading} {what}{says_nothing}"

    def report(
        self, claim: Claim, bound: Fraction | None, problems: Sequence[str], exists: bool = True
    ) -> CertificateReport:
        """bound: None where nothing could be recomputed."""
        return CertificateReport(
            valid=not problems,
            vacuous=not (bound and exists),
            bound=bound or Fraction(0),
            claimed=claim.bound,
            statement="nothing is proven" if bound is None else self.statement(bound, exists),
            problems=tuple(problems),
            quasi_identifiers=self.table.quasi_identifiers,
            requirements=tuple(self.spelled),
        )


def _check(expected: _Expected, claim: Claim) -> CertificateReport:
    """Compare with what is expected, and recompute."""
    problems = expected.differences(claim)
    quasi = list(expected.table.quasi_identifiers)
    types = distinct(expected.table.keys[[*quasi, *expected.values] if claim.by_value else quasi])
    if len(claim.multipliers) != types.height:
        problems.append(f"there are {len(claim.multipliers)} multipliers, the table has {types.height} distinct rows")
    rows = types["rows"].to_numpy().astype(np.int64)
    if any(count.rows[-1] >= types.height for count in claim.counts):
        problems.append("a packing cut names a row that the table does not have")
    if any(count.multiplier < 0 for count in claim.counts):
        problems.append("a packing cut has a negative multiplier")
    problems += sorted({f"a rank-1 cut has {cut.problem}" for cut in claim.cuts if cut.problem is not None})
    if any(cut.rows[-1] >= types.height for cut in claim.cuts):
        problems.append("a rank-1 cut names a row that the table does not have")
    if len({(each.attribute, each.levels, each.row) for each in claim.charges}) < len(claim.charges):
        problems.append("a charge is stated twice")
    if any(each.row >= types.height for each in claim.charges):
        problems.append("a charge names a row that the table does not have")
    if any(each.charge < 0 or each.charge >= LIMIT for each in claim.charges):
        problems.append("a charge is negative or too large")
    if any(each.attribute not in expected.asked.limits for each in claim.charges):
        problems.append("a charge is about an attribute of which nothing is asked")
    vectors, columns = expected.vectors, expected.rules.columns
    if claim.charges and not {each.levels for each in claim.charges} <= set(vectors):
        problems.append("a charge names a level vector that is not allowed")
    costs = [sum((rule.costs[level] for rule, level in zip(columns, v, strict=True)), Fraction(0)) for v in vectors]
    if min(costs, default=Fraction(0)) < 0:
        raise InputError("weights and level costs must not be negative")
    unit = _unit(costs)
    if claim.unit != unit:
        problems.append("the certificate counts in another unit")
    if problems:
        return expected.report(claim, None, problems)
    unit_costs = [int(cost / unit) for cost in costs]
    if _largest(claim, max(unit_costs, default=0), rows) >= LIMIT:
        return expected.report(claim, None, ["the multipliers are too large or too fine to be checked"])
    top = tuple(rule.height for rule in columns)
    asked = expected.asked
    allowed = LevelVectors(
        np.array(vectors, dtype=np.int64),
        unit_costs,
        [asked.exempt if vector == top else asked.strict for vector in vectors],
    )
    released = [Released.of(rule, types[f"c{j}"]) for j, rule in enumerate(columns)]
    if claim.by_value:
        held, values = expected.by_value(types, claim.charges)
    else:
        supplies = {supply.attribute for supply in asked.strict.supplies}
        held, values = {name: held_values(expected.table, types, name) for name in supplies}, None
    multipliers = np.array(claim.multipliers, dtype=np.int64)
    total = dual_value(released, rows, held, multipliers, allowed, claim.denominator, claim.counts, claim.cuts, values)
    # the loss of every table is an integral number of units
    bound = max(math.ceil(Fraction(total, claim.denominator)), 0) * unit
    exists = (
        asked.possible
        and bound <= expected.table.n * max(costs, default=0)  # no table loses more
        and every_row_has_a_place(released, rows, held, allowed)
    )
    if bound < claim.bound:
        problems.append(f"the certificate claims {claim.bound}; its multipliers prove {bound}")
    return expected.report(claim, bound, problems, exists)


def _largest(claim: Claim, cost: int, rows: Ints) -> int:
    """No number within a subproblem is larger. cost: the largest of one row, in units. rows: copies of each."""
    most_expensive = cost * claim.denominator + max(map(abs, claim.multipliers), default=0)
    total = most_expensive * int(rows.sum()) + sum(count.multiplier for count in claim.counts)
    total += sum(cut.multiplier * cut.limit(rows) for cut in claim.cuts)
    return max([total, *(cut.denominator for cut in claim.cuts), *(cut.total(rows) for cut in claim.cuts)])


def _unit(costs: Sequence[Fraction]) -> Fraction:
    """The largest number that all costs are integer multiples of."""
    denominator = math.lcm(*(cost.denominator for cost in costs))
    return Fraction(math.gcd(*(int(cost * denominator) for cost in costs)) or 1, denominator)


def _as_text(part: object) -> str | None:
    """Plain data as JSON, None for what is none."""
    try:
        return json.dumps(part, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _sorted(requirements: object) -> list[str]:
    """Requirements in an order that does not matter."""
    return sorted(json.dumps(each, sort_keys=True) for each in (requirements if isinstance(requirements, list) else []))
