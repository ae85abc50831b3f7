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
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError, kind_of, printable
from kanon_milp.problem.records import Label
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.boxes import Boxes, BoxSearch
from kanon_milp.verify.cells import ColumnRule, Rules
from kanon_milp.verify.claims import (
    NUMBERS_OF_GROUPS,
    OF_ROWS,
    PLURAL,
    WHAT,
    Claim,
    ClaimedRequirement,
    HasDict,
    claimed,
    in_words,
)
from kanon_milp.verify.closures import TooManyGroupsError
from kanon_milp.verify.definitions import GroupNeeds, PopulationRule, definition_of, group_needs
from kanon_milp.verify.dual import (
    Below,
    ChargedLimits,
    Held,
    LeastGroups,
    LevelVectors,
    Released,
    dual_value,
    every_row_has_a_place,
)
from kanon_milp.verify.group_costs import LIMIT, CodedLimits
from kanon_milp.verify.numbers import exact, said
from kanon_milp.verify.population import Matched
from kanon_milp.verify.seeds import SeedSearch
from kanon_milp.verify.squares import SquareSearch, distances
from kanon_milp.verify.tables import BoundProblem, Original, RecodingData, SuppressedRows, TableData
from kanon_milp.verify.whole_groups import POWERS, is_of_groups, numbers_of_column, variation

JOURNALIST = "journalist_risk"  # the name of the requirement that names a population
MOST_VECTORS = 1 << 20  # level vectors that are gone through one by one


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
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        as_text = {name: str(value) for name, value in found.items() if isinstance(value, Fraction)}
        return found | as_text | {name: list(found[name]) for name in ("problems", "quasi_identifiers", "requirements")}

    def summary(self) -> str:
        """A few lines for a person."""
        lines = [f"certificate: {'valid' if self.valid else 'NOT VALID'}", f"  {self.statement}"]
        lines += [f"  quasi-identifiers: {', '.join(self.quasi_identifiers)}"]
        return "\n".join(map(printable, [*lines, *(f"  problem: {text}" for text in self.problems)]))


def check_certificate(
    problem: BoundProblem, certificate: HasDict | Mapping[str, Any] | str | Path
) -> CertificateReport:
    """Check a certificate (as an object, as plain data, or its file) against a problem.

    Requirements of a user's own play no part: what is proven without them holds with them. Of the side constraints the
    largest and the least number of groups play one where the certificate states them; the cost bound and the objective
    play none: the bound is on the loss of every table that has what is required. Raises InputError for something that
    is no certificate.
    """
    if any(not hasattr(problem, name) for name in ("table", "requirements", "recoding", "suppressed_rows")):
        raise InputError(f"check_certificate takes a Problem, found {kind_of(problem)}")
    requirements, populations = stated(problem.requirements, Original.of(problem.table))
    groups = {key: getattr(problem, key, None) for key in NUMBERS_OF_GROUPS}
    claim = Claim.of(certificate)
    asked = (problem.suppressed_rows, claim, groups, populations)
    return check_claim(problem.table, problem.recoding, requirements, *asked)


def stated(requirements: Iterable[Any], table: Original) -> tuple[list[ClaimedRequirement], list[PopulationRule]]:
    """The requirements of a problem as a certificate claims them, a population by its hash; and the populations."""
    found, rules = claimed(requirements), list[PopulationRule]()
    journalists = [each for each in requirements if (known := definition_of(each)) and known.name == JOURNALIST]
    for claim, each in zip((one for one in found if one["name"] == JOURNALIST), journalists, strict=True):
        known = definition_of(each)
        assert known is not None
        (rule,) = known.rules(each, table)
        assert isinstance(rule, PopulationRule)
        rules.append(rule)
        claim.pop("population", None)  # where it lies
        claim["population_sha256"] = table_hash(rule.people, list(table.quasi_identifiers), rule.counts)
    return found, rules


def check_claim(
    table: TableData,
    recoding: RecodingData,
    requirements: Sequence[ClaimedRequirement],
    suppressed_rows: SuppressedRows,
    claim: Claim,
    groups: Mapping[str, int | None],
    populations: Sequence[PopulationRule] = (),
) -> CertificateReport:
    """Check what a certificate claims against a table, its recoding, the requirements as `claimed`, the reading of
    fully suppressed rows, and the largest and the least number of groups, which it need not count on; and the
    populations that requirements are about, one for each that names one."""
    if sum(each["name"] == JOURNALIST for each in requirements) != len(populations):
        raise InputError(
            "the certificate is about journalist risk: name all requirements, with the population "
            "(--journalist-risk R --population FILE, privacy=[JournalistRisk(...), ...])"
        )
    described = {key: number for key, number in groups.items() if key in claim.problem}
    original = Original.of(table)
    if is_of_groups(recoding) or claim.version == OF_ROWS:
        return _Expected.of_groups(original, recoding, requirements, suppressed_rows).check_groups(claim)
    most = group_needs(requirements, original, suppressed_rows).groups
    if "max_groups" in described and most is not None:
        described["max_groups"] = min(most, described["max_groups"] or most)
    return _Expected.of(original, recoding, requirements, suppressed_rows, described, populations).check(claim)


@dataclass(frozen=True, eq=False)
class _Expected:
    """What the certificate must be about, and what that asks of groups.

    values: the columns whose values may be asked about, the sensitive ones, and the unit where units are counted.
    populations: of journalist risk.
    """

    table: Original
    rules: Rules
    problem: dict[str, Any]
    needs: GroupNeeds
    values: tuple[str, ...]
    populations: Sequence[PopulationRule] = ()

    @classmethod
    def of(
        cls,
        table: Original,
        recoding: RecodingData,
        requirements: Sequence[ClaimedRequirement],
        suppressed_rows: str,
        more: Mapping[str, int | None],
        populations: Sequence[PopulationRule] = (),
    ) -> _Expected:
        rules = Rules.of(table, recoding)
        described = {
            "quasi_identifiers": list(table.quasi_identifiers),
            "sensitive": list(table.sensitive),
            "requirements": list(requirements),
            "suppressed_rows": suppressed_rows,
            "columns": [
                {"name": rule.name, "costs": costs_of(rule, table.keys[rule.name]), "hierarchy": hierarchy_hash(rule)}
                for rule in rules.columns
            ],
            "patterns": None if rules.allowed is None else sorted(map(list, rules.allowed)),
            **more,
        }
        units = table.units if any("unit" in each for each in requirements) else ()
        needs = group_needs(requirements, table, suppressed_rows)
        return cls(table, rules, described, needs, (*table.sensitive, *units), populations)

    @classmethod
    def of_groups(
        cls, table: Original, recoding: Any, requirements: Sequence[ClaimedRequirement], suppressed_rows: str
    ) -> _Expected:
        """Where the cost is one of whole groups."""
        weights = getattr(recoding, "weights", {})
        kind = getattr(recoding, "kind", None)
        rules = Rules.of(table, recoding) if kind == "boxes" else Rules((), None)
        if kind == "boxes":
            more: dict[str, Any] = {"hierarchies": {rule.name: hierarchy_hash(rule) for rule in rules.columns}}
        else:
            more = {"cost": getattr(recoding, "cost", None), "standardize": getattr(recoding, "standardize", None)}
        described = {
            "quasi_identifiers": list(table.quasi_identifiers),
            "sensitive": list(table.sensitive),
            "requirements": list(requirements),
            "suppressed_rows": suppressed_rows,
            "recoding": {
                "kind": kind,
                **more,
                "weights": {name: str(exact(weights.get(name, 1), name)) for name in table.quasi_identifiers},
            },
        }
        needs = group_needs(requirements, table, suppressed_rows)
        return cls(table, rules, described, needs, tuple(table.sensitive))

    def check_groups(self, claim: Claim) -> CertificateReport:
        """Compare with what is expected, and recompute (`kanon_milp.verify.seeds`)."""
        problems, names, recoding = self.differences(claim), self.table.quasi_identifiers, self.problem["recoding"]
        if claim.version != OF_ROWS or not (recoding["kind"] == "boxes" or recoding.get("cost") in POWERS):
            problems.append("the certificate is about another cost; only sse, l1 and boxes can be checked")
        others = claim.packing_cuts or claim.charges or claim.min_groups_multiplier
        if len(claim.multipliers) != self.table.n or others or not claim.unit:
            problems.append(
                "the certificate does not have one multiplier for each row, or has other entries or no unit"
            )
        for cut in claim.rank_one_cuts:
            if cut.problem is not None or not (cut.rows < self.table.n).all() or len(cut.rows) != len(cut.weights):
                problems.append("a rank-1 cut makes no sense for this table")
                break
        k = self.needs.strict.size
        if problems:
            return self.report(claim, None, problems)
        if any(abs(each) >= LIMIT for each in claim.multipliers):
            raise InputError("the certificate has multipliers that are too large")
        rows = self.table.keys.with_row_index("row").sort(list(names), nulls_last=True)["row"].to_list()
        multipliers, factor = np.array(claim.multipliers, np.int64), claim.denominator / claim.unit
        weights = [Fraction(recoding["weights"][name]) for name in names]
        search: SeedSearch
        if recoding["kind"] == "boxes":
            values = [[column[row] for row in rows] for column in (self.table.keys[name].to_list() for name in names)]
            boxes = Boxes.of(self.rules.columns, values, [weight * factor for weight in weights])
            search = BoxSearch(boxes, multipliers, claim.rank_one_cuts, k)
        else:
            numbers, power = [numbers_of_column(self.table, name) for name in names], POWERS[recoding["cost"]]
            if recoding["standardize"]:
                varied = [variation(column, power) for column in numbers]
                weights = [weight / each if each else Fraction(0) for weight, each in zip(weights, varied, strict=True)]
            d = distances([[column[row] for row in rows] for column in numbers], weights, factor, power)
            search = SquareSearch(d, multipliers, claim.rank_one_cuts, k, power)
        bound = max(search.proven() * claim.unit / claim.denominator, Fraction(0))
        if bound < claim.bound:
            problems.append(f"the certificate claims {said(claim.bound)}; its multipliers prove {said(bound)}")
        return self.report(claim, bound, problems, self.table.n >= k)

    def check(self, claim: Claim) -> CertificateReport:
        """Compare with what is expected, and recompute."""
        columns = self.rules.columns
        names = [*self.table.quasi_identifiers, *(self.values if claim.by_value else ())]
        types = distinct(self.table.keys, names, self.table.weights)
        rows = types["rows"].to_numpy().astype(np.int64)
        top = tuple(rule.height for rule in columns)
        # too many level vectors are not listed, but for the top
        wide = self._wide
        if self.rules.allowed is not None:
            vectors = sorted(self.rules.allowed)
        else:
            vectors = [top] if wide else list(itertools.product(*(range(height + 1) for height in top)))
        problems = [*self.differences(claim), *self._impossible(claim, types.height, vectors)]
        if self.least_groups and (wide or claim.rank_one_cuts):
            problems.append(
                "a certificate with a least number of groups goes through all level vectors, and has no rank-1 cuts"
            )
        if self.populations and wide:
            problems.append("a certificate about a population goes through all level vectors, and these are too many")
        costs = [self.rules.cost(vector) for vector in vectors]
        cells = [label_costs(rule, types[f"c{j}"]) for j, rule in enumerate(columns) if rule.label_costs is not None]
        # where some cost depends on labels, that of each cell is a number of units, else that of each row
        parts = [cost for rule in columns for cost in rule.costs] if cells or wide else costs
        parts += [cost for of_column in cells for cost in of_column.values()]
        if min(parts, default=Fraction(0)) < 0:
            raise InputError("weights, level costs and costs of labels must not be negative")
        denominator = math.lcm(*(cost.denominator for cost in parts))
        # the largest number that all costs are integer multiples of
        unit = Fraction(math.gcd(*(int(cost * denominator) for cost in parts)) or 1, denominator)
        if claim.unit != unit:
            problems.append("the certificate counts in another unit")
        if problems:
            return self.report(claim, None, problems)
        unit_costs = [int(cost / unit) for cost in costs]
        most = max(costs, default=Fraction(0)) + sum(max(of_column.values()) for of_column in cells)
        if _largest(claim, int(most / unit), rows) >= LIMIT:
            return self.report(claim, None, ["the multipliers are too large or too fine to be checked"])
        needs = self.needs
        below = Below([[int(cost / unit) for cost in rule.costs] for rule in columns], needs.strict) if wide else None
        allowed = LevelVectors(
            np.array(vectors, dtype=np.int64),
            unit_costs,
            [needs.exempt if vector == top else needs.strict for vector in vectors],
            below,
        )
        of_keys = types.select(f"c{j}" for j in range(len(columns)))
        matched = Matched(self.populations, columns, of_keys).enough if self.populations else None
        released = [Released.of(rule, types[f"c{j}"], unit) for j, rule in enumerate(columns)]
        asked = {supply.attribute for supply in needs.strict.supplies} | (
            set(needs.limits) if claim.by_value else set()
        )
        held = {name: held_values(self.table.keys, names, name, self.table.weights) for name in asked}
        limits = None
        if claim.by_value:
            coded = {
                name: CodedLimits.of(each, held[name].value, held[name].values, rows)
                for name, each in needs.limits.items()
            }
            limits = ChargedLimits(coded, claim.charges)
        try:
            total = dual_value(
                released,
                rows,
                held,
                np.array(claim.multipliers, dtype=np.int64),
                allowed,
                claim.denominator,
                claim.packing_cuts,
                claim.rank_one_cuts,
                limits,
                self.problem.get("max_groups"),
                LeastGroups(self.problem["min_groups"], claim.min_groups_multiplier) if self.least_groups else None,
                matched,
            )
        except TooManyGroupsError as error:
            return self.report(claim, None, [str(error)])
        # the loss of every table is an integral number of units
        bound = max(math.ceil(Fraction(total, claim.denominator)), 0) * unit
        exists = (
            needs.possible
            and bound <= self.table.n * most  # no table loses more
            and every_row_has_a_place(released, rows, held, allowed, matched)
        )
        if bound < claim.bound:
            problems.append(f"the certificate claims {said(claim.bound)}; its multipliers prove {said(bound)}")
        return self.report(claim, bound, problems, exists)

    def differences(self, claim: Claim) -> list[str]:
        """What the certificate says of another problem or another table."""
        found = []
        for key in sorted({*self.problem, *claim.problem}):
            mine, other = self.problem.get(key), claim.problem.get(key)
            if key == "requirements":
                mine, other = _sorted(self.problem[key]), _sorted(claim.requirements)
            # as text: 1, 1.0 and true are the same in Python, and three things in JSON
            if key not in self.problem or _as_text(mine) != _as_text(other):
                verb = "differ" if key in PLURAL else "differs"
                found.append(f"the certificate is about another problem: {WHAT.get(key, repr(key))} {verb}")
                if key == "requirements":
                    theirs = " and ".join(map(in_words, claim.requirements)) or "none"
                    found[-1] += f"; it has {theirs}, not {' and '.join(self.requirements) or 'none'}"
        names = [*self.table.quasi_identifiers, *self.values]
        if claim.rows != self.table.n or claim.table_sha256 != table_hash(self.table.keys, names, self.table.weights):
            found.append("the certificate is about another table: the hash differs")
        return found

    def _impossible(self, claim: Claim, count: int, vectors: Sequence[tuple[int, ...]]) -> Iterable[str]:
        """What no certificate of a table with so many distinct rows has."""
        packing, cuts, charges = claim.packing_cuts, claim.rank_one_cuts, claim.charges
        if len(claim.multipliers) != count:
            yield f"there are {len(claim.multipliers)} multipliers, the table has {count} distinct rows"
        if any(cut.rows[-1] >= count for cut in packing):
            yield "a packing cut names a row that the table does not have"
        if any(cut.multiplier < 0 for cut in packing):
            yield "a packing cut has a negative multiplier"
        if claim.min_groups_multiplier < 0:
            yield "the multiplier of the least number of groups is negative"
        if claim.min_groups_multiplier and not self.least_groups:
            yield "there is a multiplier of a least number of groups, and no such number"
        yield from sorted({f"a rank-1 cut has {cut.problem}" for cut in cuts if cut.problem is not None})
        if any(cut.rows[-1] >= count for cut in cuts):
            yield "a rank-1 cut names a row that the table does not have"
        if len({(each.attribute, each.levels, each.row) for each in charges}) < len(charges):
            yield "a charge is stated twice"
        if any(each.row >= count for each in charges):
            yield "a charge names a row that the table does not have"
        if any(each.charge < 0 or each.charge >= LIMIT for each in charges):
            yield "a charge is negative or too large"
        if any(each.attribute not in self.needs.limits for each in charges):
            yield "a charge is about an attribute without a requirement"
        named = {each.levels for each in charges}
        if not (all(map(self._below_the_top, named)) if self._wide else named <= set(vectors)):
            yield "a charge names a level vector that is not allowed"

    @property
    def _wide(self) -> bool:
        """Whether there are too many level vectors to be listed."""
        return self.rules.allowed is None and math.prod(rule.height + 1 for rule in self.rules.columns) > MOST_VECTORS

    def _below_the_top(self, levels: Sequence[int]) -> bool:
        tops = [rule.height for rule in self.rules.columns]
        return len(levels) == len(tops) and all(0 <= level <= top for level, top in zip(levels, tops, strict=True))

    @property
    def least_groups(self) -> bool:
        """Whether the bound is that of tables of a least number of groups."""
        return self.problem.get("min_groups") is not None

    @property
    def requirements(self) -> list[str]:
        """In words."""
        return [in_words(requirement) for requirement in self.problem["requirements"]]

    def statement(self, bound: Fraction, exists: bool) -> str:
        """What is proven, in words. exists: False where there is no table that has what is required."""
        least = said(bound)
        if "recoding" in self.problem:
            k = self.needs.strict.size
            boxes = self.problem["recoding"]["kind"] == "boxes"
            what = "weighted NCP of their boxes" if boxes else "weighted sum of squares around the means"
            what = f"table of groups of {k} rows or more has a {what}"
            if not exists:
                return f"there is no table of groups of {k} rows at all, so a bound on its loss says nothing"
            return f"no {what} below {least}{'' if bound else ', which is true of every table and says nothing'}"
        suppression = all(rule.label_costs is None and list(rule.costs) == [0, 1] for rule in self.rules.columns)
        what = f"suppresses fewer than {least} cells" if suppression else f"has a loss below {least}"
        requirements, allowed = self.problem["requirements"], self.rules.allowed
        under = "" if allowed is None else f" of this mask of {len(allowed)} level vectors"
        numbers = {"min_groups": "at least", "max_groups": "at most"}
        groups = [f"{words} {self.problem[key]}" for key, words in numbers.items() if key in self.problem]
        under += f" of {' and '.join(groups)} groups" if groups else ""
        if len(requirements) == 1 and set(requirements[0]) == {"name", "k"}:
            table = f"{requirements[0]['k']}-anonymous table{under}"
        else:
            table = f"table{under}" + (f" with {' and '.join(self.requirements)}" if requirements else "")
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
            requirements=tuple(self.requirements),
        )


def distinct(keys: pl.DataFrame, names: Sequence[str], weights: Ints) -> pl.DataFrame:
    """Distinct rows of some columns as c0, c1, ... with their number of copies, sorted, missing values last. weights:
    int64, how many rows each row stands for."""
    columns = [f"c{j}" for j in range(len(names))]
    frame = pl.DataFrame([*map(pl.Series.alias, (keys[name] for name in names), columns), pl.Series("rows", weights)])
    return frame.group_by(columns).agg(pl.col("rows").sum()).sort(columns, nulls_last=True)


def held_values(keys: pl.DataFrame, names: Sequence[str], attribute: str, weights: Ints) -> Held:
    """The values of an attribute that the distinct rows of some columns hold, and how often."""
    pairs, on = distinct(keys, [*names, attribute], weights), [f"c{j}" for j in range(len(names))]
    rows = distinct(keys, names, weights).with_row_index("row")
    row = pairs.join(rows, on, "left", nulls_equal=True, maintain_order="left")
    column = pairs[f"c{len(names)}"].to_list()
    number = {value: position for position, value in enumerate(dict.fromkeys(column))}
    return Held(
        row["row"].to_numpy().astype(np.int64),
        np.array([number[value] for value in column], dtype=np.int64),
        pairs["rows"].to_numpy().astype(np.int64),
        list(number),
    )


def table_hash(keys: pl.DataFrame, names: Sequence[str], weights: Ints) -> str:
    """Hash of the quasi-identifiers and the columns whose values may be asked about, whatever the order of the rows."""
    rows = distinct(keys, names, weights).iter_rows()
    return _hash(itertools.chain([list(names)], ([rows, *values] for *values, rows in rows)))


def hierarchy_hash(rule: ColumnRule) -> str | None:
    """Hash of a hierarchy without its top; None where cells are kept or suppressed."""
    if rule.paths is None:
        return None
    paths = (list(path[:-1]) for path in rule.paths.values())
    return _hash(sorted(paths, key=lambda path: (path[0] is None, path[0] or "")))


def label_costs(rule: ColumnRule, column: pl.Series) -> dict[Label, Fraction]:
    """What each label costs that one of these values gets."""
    assert rule.label_costs is not None
    return {label: rule.label_costs[label] for value in column.unique() for label in rule.path(value)}


def costs_of(rule: ColumnRule, column: pl.Series) -> list[str] | str:
    """The cost of each level, or the hash of those of the labels above the values of the column."""
    if rule.label_costs is None:
        return [str(cost) for cost in rule.costs]
    values = set(column.unique())
    above = {label: cost for label, cost in label_costs(rule, column).items() if label not in values}
    return _hash(sorted([str(label), str(cost)] for label, cost in above.items()))


def _hash(lines: Iterable[Sequence[object]]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _largest(claim: Claim, cost: int, rows: Ints) -> int:
    """No number within a subproblem is larger. cost: the largest of one row, in units. rows: copies of each."""
    most_expensive = cost * claim.denominator + max(map(abs, claim.multipliers), default=0)
    total = most_expensive * int(rows.sum()) + sum(cut.multiplier for cut in claim.packing_cuts)
    total += abs(claim.min_groups_multiplier)
    total += sum(cut.multiplier * cut.limit(rows) for cut in claim.rank_one_cuts)
    others = (max(cut.denominator, cut.total(rows)) for cut in claim.rank_one_cuts)
    return max(total, *others, 0)


def _as_text(part: object) -> str | None:
    """Plain data as JSON, None for what is none."""
    try:
        return json.dumps(part, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def _sorted(requirements: list[ClaimedRequirement]) -> list[str]:
    """As text, in any order; of those that differ in k alone the largest one, which says all."""
    found: dict[str, ClaimedRequirement] = {}
    for each in requirements:
        others = json.dumps({**each, "k": None} if each["name"] == "k_anonymity" else each, sort_keys=True)
        found[others] = max(found.get(others, each), each, key=lambda one: one.get("k", 0))
    return sorted(json.dumps(each, sort_keys=True) for each in found.values())
