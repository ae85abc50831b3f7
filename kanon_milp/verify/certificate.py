"""The checker of dual certificates: it recomputes a lower bound from the table and the multipliers alone.

What the bound is, and its proof, stands in `kanon_milp.verify.dual`. The file format is described in
`kanon_milp.bounds.certificate`, of which nothing is used here, nor of the steps that build and solve a model.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.exact import Number
from kanon_milp.privacy import Requirement
from kanon_milp.problem import SUPPRESSED_ROWS, Problem, SuppressedRows
from kanon_milp.recoding import Hierarchies, PatternMask, Recoding, Suppression
from kanon_milp.table import SYMBOL, CsvFormat, Missing, Table, default_delimiter, read_table
from kanon_milp.verify.cells import Rules
from kanon_milp.verify.distinct import distinct, held_values, hierarchy_hash, table_hash
from kanon_milp.verify.dual import ROOM, Count, LevelVectors, Released, dual_value
from kanon_milp.verify.sizes import EXACT, Least, least_demands

FORMAT = "kanon-milp dual certificate"
VERSION = 2
WHAT = {  # part of the problem → what else to name
    "quasi_identifiers": "the quasi-identifiers",
    "sensitive": "the sensitive attributes",
    "requirements": "the requirements",
    "suppressed_rows": "the reading of fully suppressed rows",
    "columns": "the hierarchies, weights or level costs",
    "patterns": "the pattern mask",
}


class HasDict(Protocol):
    """What a certificate in memory can do."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as in the file."""


@dataclass(frozen=True)
class CertificateReport:
    """What a certificate proves.

    valid: it belongs to this table and problem, and proves what it claims. bound: the loss that is proven to be
    necessary, recomputed; 0 for a certificate of something else. claimed: what the certificate says. statement: what is
    proven, in words. problems: what is wrong with it. quasi_identifiers, requirements: what the statement is about.
    """

    valid: bool
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
        return "\n".join([*lines, *(f"  problem: {text}" for text in self.problems)])


def check_certificate(problem: Problem, certificate: HasDict | Mapping[str, Any] | str | Path) -> CertificateReport:
    """Check a certificate (as an object, as plain data, or its file) against a problem.

    Side constraints and the objective of the problem play no part: the bound is on the loss of every table that has
    what is required. Raises InputError for something that is no certificate.
    """
    claim = _Claim.of(certificate)
    return _check(_Demand.of(problem.table, problem.recoding, _named(problem), problem.suppressed_rows), claim)


def check_certificate_files(
    original: str | Path,
    certificate: str | Path,
    *,
    quasi_identifiers: Sequence[str] | str | None = None,
    sensitive: Sequence[str] | str | None = None,
    privacy: Sequence[Requirement] = (),
    suppressed_rows: SuppressedRows | None = None,
    mask: str | Path | None = None,
    hierarchies: str | Path | None = None,
    weights: Mapping[str, Number] | None = None,
    level_costs: Mapping[str, Sequence[Number]] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Missing = "value",
    symbol: str = SYMBOL,
) -> CertificateReport:
    """Check a certificate against the file of the original table.

    What is not given of quasi_identifiers, sensitive, privacy and suppressed_rows is taken from the certificate, and
    the report repeats it; what is given must be what the certificate is about. mask: CSV file of patterns.
    hierarchies: folder with COLUMN.csv files; those of sensitive attributes play no part. Mask, hierarchies, weights
    and level costs must be named whenever the problem had them. Other parameters as in `read_table`. Raises InputError
    for files that cannot be read.
    """
    claim = _Claim.of(certificate)
    names = _same_order(quasi_identifiers, claim.names("quasi_identifiers"))
    others = _same_order(sensitive, claim.names("sensitive"))
    fmt = CsvFormat(delimiter or default_delimiter(Path(original)), encoding)
    table = read_table(
        original, names, others, delimiter=fmt.delimiter, encoding=encoding, missing=missing, symbol=symbol
    )
    patterns = None if mask is None else PatternMask.read(mask, weights, fmt)
    recoding: Recoding
    if hierarchies is not None and (not _any_file(hierarchies, others) or _any_file(hierarchies, names)):
        recoding = Hierarchies.read(
            hierarchies, names, weights=weights, level_costs=level_costs, mask=patterns, fmt=fmt
        )
    else:
        recoding = patterns or Suppression(dict(weights or {}))
    reading = suppressed_rows or claim.reading
    requirements = claim.requirements
    if privacy:
        requirements = _named(Problem(table, privacy, recoding, suppressed_rows=reading))
    return _check(_Demand.of(table, recoding, requirements, reading), claim)


def _named(problem: Problem) -> list[dict[str, Any]]:
    """The requirements as a certificate names them."""
    return [{"name": requirement.name, **requirement.describe()} for requirement in problem.requirements]


def _any_file(folder: str | Path, names: Sequence[str]) -> bool:
    return any((Path(folder) / f"{name}.csv").is_file() for name in names)


def _same_order(given: Sequence[str] | str | None, claimed: list[str]) -> list[str]:
    """The columns given; in the order of the certificate if these are the same."""
    if given is None:
        return claimed
    names = [given] if isinstance(given, str) else list(given)
    return claimed if sorted(names) == sorted(claimed) else names


@dataclass(frozen=True)
class _Claim:
    """A certificate as it is read; nothing of it is trusted."""

    problem: dict[str, Any]
    rows: int
    table_sha256: str
    unit: Fraction
    denominator: int
    multipliers: list[int]
    bound: Fraction
    counts: list[Count]

    @classmethod
    def of(cls, certificate: HasDict | Mapping[str, Any] | str | Path) -> _Claim:
        where = "certificate"
        try:
            data: Any = certificate
            if isinstance(certificate, str | Path):
                where = str(certificate)
                data = json.loads(Path(certificate).read_text(encoding="utf-8"))
            elif not isinstance(certificate, Mapping):
                data = certificate.as_dict()
            if data["format"] != FORMAT or data["version"] != VERSION:
                raise InputError(f"{where}: not a dual certificate of version {VERSION}")
            if not (EXACT.fullmatch(data["unit"]) and EXACT.fullmatch(data["bound"])):
                raise InputError(f"{where}: unit and bound must be exact numbers that are not negative")
            unit, bound = Fraction(data["unit"]), Fraction(data["bound"])
            claim = cls(
                data["problem"],
                data["rows"],
                data["table_sha256"],
                unit,
                data["denominator"],
                data["multipliers"],
                bound,
                [_counting_row(each) for each in data["counting_rows"]],
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise InputError(f"{where}: cannot be read as a dual certificate ({type(error).__name__})") from None
        if (
            not isinstance(claim.problem, dict)
            or type(claim.denominator) is not int
            or claim.denominator < 1
            or not isinstance(claim.multipliers, list)
            or any(type(x) is not int for x in claim.multipliers)
        ):
            raise InputError(f"{where}: problem, denominator or multipliers are not what they should be")
        return claim

    def names(self, key: str) -> list[str]:
        """Column names that the certificate gives."""
        names = self.problem.get(key)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"the certificate does not name {WHAT[key]}")
        return names

    @property
    def requirements(self) -> list[dict[str, Any]]:
        """Requirements that the certificate gives, at least one."""
        found = self.problem.get("requirements")
        if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
            raise InputError(f"the certificate does not name {WHAT['requirements']}")
        return found

    @property
    def reading(self) -> SuppressedRows:
        """How the certificate reads fully suppressed rows."""
        reading = self.problem.get("suppressed_rows")
        for known in SUPPRESSED_ROWS:
            if reading == known:
                return "exempt" if known == "exempt" else "strict"
        raise InputError(f"the certificate does not name {WHAT['suppressed_rows']}")


@dataclass(frozen=True, eq=False)
class _Demand:
    """What the certificate must be about. exempt, strict: what groups of fully suppressed rows need, and others."""

    table: Table
    rules: Rules
    problem: dict[str, Any]
    exempt: Least
    strict: Least

    @classmethod
    def of(
        cls, table: Table, recoding: Recoding, requirements: Sequence[Mapping[str, Any]], suppressed_rows: str
    ) -> _Demand:
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
        exempt, strict = least_demands(requirements, table, suppressed_rows)
        return cls(table, rules, json.loads(json.dumps(described)), exempt, strict)

    @property
    def vectors(self) -> list[tuple[int, ...]]:
        """All level vectors that are allowed."""
        if self.rules.allowed is not None:
            return sorted(self.rules.allowed)
        return list(itertools.product(*(range(rule.height + 1) for rule in self.rules.columns)))

    @property
    def spelled(self) -> list[str]:
        """The requirements in words."""
        return [_spelled(requirement) for requirement in self.problem["requirements"]]

    def differences(self, claim: _Claim) -> list[str]:
        """What the certificate says of another problem or another table."""
        found = []
        for key in sorted({*self.problem, *claim.problem}):
            mine, other = self.problem.get(key), claim.problem.get(key)
            if key == "requirements":
                mine, other = _sorted(mine), _sorted(other)
            if mine != other:
                found.append(f"the certificate is about another problem: {WHAT.get(key, repr(key))} differ")
                if key == "requirements":
                    theirs = " and ".join(_spelled(each) for each in claim.requirements)
                    found[-1] += f"; it has {theirs}, not {' and '.join(self.spelled)}"
        if claim.rows != self.table.n or claim.table_sha256 != table_hash(self.table):
            found.append("the certificate is about another table: the hash differs")
        return found

    def statement(self, bound: Fraction) -> str:
        """What is proven, in words."""
        counted = all(rule.costs == (Fraction(0), Fraction(1)) for rule in self.rules.columns)
        what = f"suppresses fewer than {bound} cells" if counted else f"has a loss below {bound}"
        requirements, allowed = self.problem["requirements"], self.rules.allowed
        under = "" if allowed is None else f" of this mask of {len(allowed)} level vectors"
        if len(requirements) == 1 and set(requirements[0]) == {"name", "k"}:
            table = f"no {requirements[0]['k']}-anonymous table{under}"
        else:
            table = f"no table{under} with {' and '.join(self.spelled)}"
        reading = " (fully suppressed rows need no partners)" if self.problem["suppressed_rows"] == "exempt" else ""
        return f"{table}{reading} {what}"

    def report(self, claim: _Claim, bound: Fraction | None, problems: Sequence[str]) -> CertificateReport:
        """bound: None where nothing could be recomputed."""
        return CertificateReport(
            valid=not problems,
            bound=bound or Fraction(0),
            claimed=claim.bound,
            statement="nothing is proven" if bound is None else self.statement(bound),
            problems=tuple(problems),
            quasi_identifiers=self.table.quasi_identifiers,
            requirements=tuple(self.spelled),
        )


def _check(demand: _Demand, claim: _Claim) -> CertificateReport:
    """Compare, recompute and judge."""
    problems = demand.differences(claim)
    types = distinct(demand.table.keys.select(demand.table.quasi_identifiers))
    if len(claim.multipliers) != types.height:
        problems.append(f"there are {len(claim.multipliers)} multipliers, the table has {types.height} distinct rows")
    if any(count.rows[-1] >= types.height for count in claim.counts):
        problems.append("a counting row names a row that the table does not have")
    if any(count.multiplier < 0 for count in claim.counts):
        problems.append("a counting row has a negative multiplier")
    vectors, columns = demand.vectors, demand.rules.columns
    costs = [sum((rule.costs[level] for rule, level in zip(columns, v, strict=True)), Fraction(0)) for v in vectors]
    if min(costs, default=Fraction(0)) < 0:
        raise InputError("weights and level costs must not be negative")
    unit = _unit(costs)
    if claim.unit != unit:
        problems.append("the certificate counts in another unit")
    whole = [int(cost / unit) for cost in costs]
    largest = max(whole, default=0) * claim.denominator + max(map(abs, claim.multipliers), default=0)
    if largest * demand.table.n + sum(abs(count.multiplier) for count in claim.counts) >= ROOM:
        problems.append("the multipliers are too large or too fine to be checked")
    if problems:
        return demand.report(claim, None, problems)
    top = tuple(rule.height for rule in columns)
    least = [demand.exempt if vector == top else demand.strict for vector in vectors]
    total = dual_value(
        [Released.of(rule, types[f"c{j}"]) for j, rule in enumerate(columns)],
        types["rows"].to_numpy().astype(np.int64),
        {supply.attribute: held_values(demand.table, types, supply.attribute) for supply in demand.strict.supplies},
        np.array(claim.multipliers, dtype=np.int64),
        LevelVectors(np.array(vectors, dtype=np.int64), whole, least),
        claim.denominator,
        claim.counts,
    )
    # the loss of every table is a whole number of units
    bound = max(math.ceil(Fraction(total, claim.denominator)), 0) * unit
    if bound < claim.bound:
        problems.append(f"the certificate claims {claim.bound}; its multipliers prove {bound}")
    return demand.report(claim, bound, problems)


def _counting_row(data: Mapping[str, Any]) -> Count:
    """Raises ValueError for anything but ascending numbers of rows and a whole multiplier."""
    rows, multiplier = data["rows"], data["multiplier"]
    numbers = [*rows, multiplier]
    if not rows or any(type(x) is not int for x in numbers) or rows[0] < 0:
        raise ValueError
    if any(a >= b for a, b in itertools.pairwise(rows)):
        raise ValueError
    return Count(np.array(rows, dtype=np.int64), multiplier)


def _unit(costs: Sequence[Fraction]) -> Fraction:
    """The largest number that all costs are whole multiples of."""
    denominator = math.lcm(*(cost.denominator for cost in costs))
    return Fraction(math.gcd(*(int(cost * denominator) for cost in costs)) or 1, denominator)


def _sorted(requirements: object) -> list[str]:
    """Requirements in an order that does not matter."""
    return sorted(json.dumps(each, sort_keys=True) for each in (requirements if isinstance(requirements, list) else []))


def _spelled(requirement: Mapping[str, Any]) -> str:
    parameters = ", ".join(
        f"{key} = {value}" for key, value in requirement.items() if key != "name" and not key.endswith("_exact")
    )
    return f"{requirement.get('name')} ({parameters})"
