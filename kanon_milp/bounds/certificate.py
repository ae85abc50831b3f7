"""The dual certificate: multipliers from which anybody can recompute a lower bound, from the table alone.

A certificate is one JSON object. It names the problem in full, the table by a hash, and one integer for each
distinct row of quasi-identifiers, so that

    L = Σ n_i λ_i - Σ_S μ_S ⌊N_S/κ_S⌋ - Σ_R ν_R ⌊p_R·n/d_R⌋ + Σ_g min(0, φ_g(λ, ν) + σ_g(μ)),
    λ_i = multipliers[i] / denominator · unit

is a lower bound on the loss of every table that is asked for, and so is the next integer number of units. g runs over
what the level vectors release of enough rows, but for what is dominated by something that is as cheap and covers more.
S are sets of distinct rows (packing cuts, `kanon_milp.bounds.packing_cuts`) with multipliers μ_S ≥ 0; σ_g is the sum of
those that hold all rows of g. R are rank-1 cuts (`kanon_milp.bounds.rank_one_cuts`) with weights p_R, denominator d_R
and multipliers ν_R ≥ 0; a group of a_i rows of kind i costs ν_R ⌊p_R·a/d_R⌋ more in φ_g. Where the bound is that of
tables of at most M groups, ⌊N_S/κ_S⌋ of the set of all rows is M, if that is less. Where it is that of tables of at
least m groups, L has φ_g - ρ for φ_g and ρ·m more, with a multiplier ρ ≥ 0, and g runs over what is dominated as well.
No solver stands behind it. `kanon_milp.verify.certificate` checks it, and `kanon_milp.verify.dual` has the proof; the
two sides share no code.

A certificate shows how many distinct rows the table has and how much each kind costs. Whoever has the released table
alone cannot check it; give it to those who may see the original.

format, version     "kanon-milp dual certificate", 4 (5: of the bound under requirements, below; 6: of costs of whole
                    groups, `kanon_milp.bounds.group_costs.certificate`)
problem             quasi_identifiers, sensitive, requirements (name and parameters; numbers that need not be integers
                    as exact text, such as "t": "1/5"; none of a user's own; of a population population_sha256, the
                    hash of its quasi-identifiers, as table_sha256 is), suppressed_rows,
                    columns: per quasi-identifier its name, the exact cost of a cell at each level (or the hash of the
                    costs of its labels), and the hash of its hierarchy (null: keep or suppress),
                    patterns: sorted level vectors (null: all); and max_groups, min_groups, where the bound is that of
                    tables of at most or at least so many groups
rows                number n of rows
table_sha256        SHA-256 of the quasi-identifiers and sensitive columns, and of the unit of protection where a
                    requirement names one, whatever the order of the rows. The text:
                    one line with the column names, then one line for each distinct row with its number of copies
                    before its values, sorted by values (by code points, column by column, missing values last). A
                    line is a JSON array without blanks, non-ASCII characters as they are, null for a missing value,
                    ended by a line feed; UTF-8.
unit                all losses are integer multiples of it
denominator, multipliers   integers, one for each distinct row of quasi-identifiers in that same order
counting_rows       list of {"rows": S, "multiplier": μ_S · denominator / unit}: numbers of distinct rows in that order,
                    from 0, ascending; integers that are not negative
rank_one_rows       list of {"rows": numbers of distinct rows as above, "weights": p_R, one for each of them,
                    "denominator": d_R, "multiplier": ν_R · denominator / unit}: integers, d_R at least 1, the
                    others not negative
min_groups_multiplier   ρ · denominator / unit, an integer that is not negative; only with min_groups
bound               what is claimed, an exact number

A requirement of a user's own is not named, since nobody could recompute what it asks for: the bound is that of the
others, which holds with it too. Where there are no others, groups of one row are all that is asked for.

Versions 2 and 3 give such numbers twice, as "t" and as "t_exact", and version 2 has no rank_one_rows; else they are the
same. The checker takes them where both numbers agree.

The hash of a hierarchy is over one such line for each value: the value and its labels at the levels 1, 2, ... below
the top; sorted by value. That of the costs of labels is over one such line for each label above the values of the table
that one of these gets, and its exact cost; sorted by label.

In version 5, of the bound under requirements, `multipliers` are of the distinct rows of
quasi-identifiers and sensitive columns, in the order of the text that the hash is of; the numbers in `counting_rows`
and `rank_one_rows` count these rows as well. There is one entry more:

charges             list of {"sensitive": a column, "levels": a level vector, "row": the number of a distinct row,
                    "charge": θ_g · denominator / unit}, integers that are not negative: what the rows that this level
                    vector releases as it does this one are charged with for the EMD cost of t-closeness with the equal
                    distance; 0 for all others

Numbers of groups have multipliers here, too: `counting_rows` is then of all rows, or empty.

φ_g is then the least cost of a group that is within what the requirements say of shares and different values, plus
θ_g (½ Σ_σ |X_σ - p_σ·S| - t·S) of it; `kanon_milp.verify.group_costs` has how it is bounded, and why. What the bound
of a session gains by looking at groups of a few rows one by one (`bounds.small_groups`) is not in it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.closure_pricing import pricing_of
from kanon_milp.bounds.dual import DENOMINATOR, FINE, NEVER, DualPoint, exact_value, prove, round_dual
from kanon_milp.bounds.packing_cuts import PackingCuts, mapped_sets
from kanon_milp.bounds.pattern_pricing import PatternPricing
from kanon_milp.bounds.rank_one_cuts import NO_CUTS, RankOneCuts
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.errors import InputError, TooManyLevelVectorsError, unreadable
from kanon_milp.kernels.volume import dot
from kanon_milp.presolve.closures import closed_instance, closures_suffice, pricing_suffices
from kanon_milp.presolve.instance import (
    Instance,
    compress_table,
    prepare,
    recode,
    table_as_group,
    types_of,
    with_candidates,
)
from kanon_milp.presolve.preparation import priced_by_vectors, too_many_to_list
from kanon_milp.presolve.reductions import Dominance, Viability
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.arguments import file_path
from kanon_milp.problem.hierarchies import ColumnLevels, Hierarchy
from kanon_milp.problem.privacy import JournalistRisk, KAnonymity, Requirement, TCloseness
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.privacy.registry import REQUIREMENTS
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Levels
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.files import write_file

FORMAT = "kanon-milp dual certificate"
VERSION, BY_VALUE, OF_ROWS = 4, 5, 6
Charge = tuple[str, tuple[int, ...], int, int]


@dataclass(frozen=True)
class Certificate:
    """A lower bound with its proof. multipliers: in units of unit / denominator. bound: the loss that is proven.

    counting_rows: numbers of distinct rows, and a multiplier in the same units. rank_one_rows: numbers of distinct
    rows, their weights, a denominator, and a multiplier in the same units. charges: a column, a level vector, the
    number of a distinct row, and θ in the same units; None where the distinct rows are of quasi-identifiers alone.
    min_groups_multiplier: of the least number of groups, in the same units; None where the bound needs none. of_rows:
    whether multipliers are of rows (`bounds.group_costs.certificate`).
    """

    problem: dict[str, Any]
    rows: int
    table_sha256: str
    unit: Fraction
    denominator: int
    multipliers: tuple[int, ...]
    bound: Fraction
    counting_rows: tuple[tuple[tuple[int, ...], int], ...] = ()
    rank_one_rows: tuple[tuple[tuple[int, ...], tuple[int, ...], int, int], ...] = ()
    charges: tuple[Charge, ...] | None = None
    min_groups_multiplier: int | None = None
    of_rows: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as in the file."""
        more: dict[str, Any] = (
            {} if self.charges is None else {"charges": [_charge_as_dict(each) for each in self.charges]}
        )
        if self.min_groups_multiplier is not None:
            more["min_groups_multiplier"] = self.min_groups_multiplier
        return {
            "format": FORMAT,
            "version": OF_ROWS if self.of_rows else VERSION if self.charges is None else BY_VALUE,
            "problem": self.problem,
            "rows": self.rows,
            "table_sha256": self.table_sha256,
            "unit": str(self.unit),
            "bound": str(self.bound),
            "denominator": self.denominator,
            "multipliers": list(self.multipliers),
            "counting_rows": [{"rows": list(rows), "multiplier": each} for rows, each in self.counting_rows],
            "rank_one_rows": [
                {"rows": list(rows), "weights": list(weights), "denominator": denominator, "multiplier": each}
                for rows, weights, denominator, each in self.rank_one_rows
            ],
            **more,
        }

    def write(self, path: str | Path) -> None:
        """Write the JSON file; it appears complete or not at all."""
        content = self.content()
        write_file(file_path(path, "path of a certificate"), lambda file: file.write(content))

    def content(self) -> bytes:
        """What `write` writes."""
        text = json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False) + "\n"
        return text.encode("utf-8", "backslashreplace")  # names that are no text, escaped as JSON can do it

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a file written by `write`; raises InputError for anything else, surplus entries included."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT or data["version"] not in (VERSION, BY_VALUE, OF_ROWS):
                raise InputError(
                    f"{path}: not a dual certificate of version {VERSION} to {OF_ROWS}; those before are for "
                    "`kanon-milp verify --certificate` only"
                )
            counting = tuple((tuple(row["rows"]), row["multiplier"]) for row in data["counting_rows"])
            rank_one = tuple(
                (tuple(row["rows"]), tuple(row["weights"]), row["denominator"], row["multiplier"])
                for row in data["rank_one_rows"]
            )
            numbers = [data["rows"], data["denominator"], *data["multipliers"]]
            numbers += [x for rows, each in counting for x in (*rows, each)]
            numbers += [x for rows, weights, *both in rank_one for x in (*rows, *weights, *both)]
            charges = None
            if data["version"] == BY_VALUE:
                charges = tuple(
                    (str(each["sensitive"]), tuple(each["levels"]), each["row"], each["charge"])
                    for each in data["charges"]
                )
                numbers += [x for _, levels, *both in charges for x in (*levels, *both)]
            of_groups = data.get("min_groups_multiplier")
            numbers += [] if of_groups is None else [of_groups]
            if any(type(x) is not int for x in numbers) or not isinstance(data["problem"], dict):
                raise TypeError
            found = cls(
                data["problem"],
                data["rows"],
                str(data["table_sha256"]),
                Fraction(data["unit"]),
                data["denominator"],
                tuple(data["multipliers"]),
                Fraction(data["bound"]),
                counting,
                rank_one,
                charges,
                of_groups,
                data["version"] == OF_ROWS,
            )
            # as text, in which 1, 1.0 and true are three things: what is not kept could mean something
            if json.dumps(found.as_dict(), sort_keys=True) != json.dumps(data, sort_keys=True):
                raise TypeError
            return found
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError) as error:
            raise InputError(f"{path}: cannot be read as a dual certificate ({unreadable(error)})") from None


def _charge_as_dict(charge: Charge) -> dict[str, Any]:
    sensitive, levels, row, each = charge
    return {"sensitive": sensitive, "levels": list(levels), "row": row, "charge": each}


def certified_requirements(problem: Problem) -> list[Requirement]:
    """The requirements that a certificate states."""
    return [r for r in problem.requirements if _certified(r, problem.table) is not None]


def certified_instance(problem: Problem) -> Instance:
    """The instance that a certificate is about: row types are distinct rows of quasi-identifiers, and all that is asked
    for is the size of a group, and that the cover of a candidate supplies what a group needs.

    That is as much as a reader can derive from the requirements as a certificate names them and the table. For plain
    k-anonymity it is the reduced instance of the problem; for other problems the multipliers of this one prove most.

    Sizes add up and larger covers supply more, so dominance holds whatever else the problem asks for: every table that
    has what is asked for is one of the relaxed problem. It does not where a least number of groups is asked for. That
    is left out where its candidates would be too many.
    """
    relaxed = _certified_problem(problem)
    types = compress_table(relaxed)
    try:
        levels = recode(relaxed, types)
    except TooManyLevelVectorsError:
        if relaxed.min_groups is not None:
            return certified_instance(replace(problem, min_groups=None))
        if not closures_suffice(relaxed):
            raise
        # the same candidates, but for those that lose as much and cover as much as others; by sizes of groups alone,
        # since row types are not told apart by sensitive values
        table_group = table_as_group(types_of(relaxed, types))
        sized = KAnonymity(max(1, *(least_rows(each, table_group) for each in relaxed.requirements)))
        closed = closed_instance(replace(relaxed, privacy=sized) if relaxed.attributes else relaxed, types)
        if closed is None:
            raise
        return replace(closed, problem=relaxed, table_group=table_group)
    split = with_candidates(relaxed, types_of(relaxed, types), levels)
    # the same candidates in the same order, over other row types
    instance = replace(with_candidates(relaxed, types, levels), table_group=split.table_group)
    viable = instance.subset(Viability().keep(split))
    every = relaxed.wants_many_groups or relaxed.asks_of_labels  # what takes its place may be matched by too few
    return viable if every else Dominance().apply(viable).instance


def _certified_problem(problem: Problem) -> Problem:
    """What a certificate is about: the requirements that it names, and of side constraints the numbers of groups."""
    known = [each for r in problem.requirements for each in _certified(r, problem.table) or ()] or [KAnonymity(1)]
    most = problem.most_groups
    if problem.objective != "loss":
        problem, most = replace(problem, min_groups=None, objective="loss"), None
    return replace(problem, privacy=known, cost_bound=None, max_groups=most)


def certify(problem: Problem, dual: DualPoint, denominator: int | None = None) -> Certificate:
    """Round the multipliers and compute, in exact integer arithmetic, what they prove about the table.

    dual: of an instance of this problem, reduced or not, or of its `certified_instance`. What is proven can be less
    than `dual.value` where requirements ask for more than a certificate names, and where row types are
    (quasi-identifier, sensitive) tuples to which a rank-1 cut gives different weights. Of side constraints a largest
    and a least number of groups are stated where multipliers count on them; the cost bound and the objective play no
    part: the bound is on the loss. Where the multipliers are too large for the denominator
    (`DENOMINATOR` or, with rank-1 cuts, `FINE` where none is given), a smaller one is taken.
    """
    if dual.sets.lengths.all():  # no multiplier of the least number of groups
        problem = replace(problem, min_groups=None)
    elif dual.rank_one_cuts.count:  # which a certificate states without rank-1 cuts
        dual = replace(dual, rank_one_cuts=NO_CUTS, cut_multipliers=dual.cut_multipliers[:0])
    relaxed = _certified_problem(problem)
    types, source = compress_table(relaxed), _priced(relaxed, dual)
    instance = certified_instance(problem) if source is None else replace(source.root, types=types)
    dual = _of_distinct_rows(problem, instance, dual)
    levels, n = instance.levels, instance.types.n
    limits = dual.rank_one_cuts.limits(instance.types.counts).astype(np.float64)
    added = float(dual.packing_multipliers.sum()) + dot(np.maximum(dual.cut_multipliers, 0.0), limits)
    largest = levels.most + math.ceil(float(np.abs(dual.multipliers).max()) + added) + 1
    if denominator is None:
        denominator = FINE if dual.rank_one_cuts.count else DENOMINATOR
    denominator = max(min(denominator, NEVER // (largest * (n + 1))), 1)
    exact = round_dual(dual, denominator)
    if source is None:
        total = exact_value(instance, exact)
    else:
        of_type = np.unique(source.types.codes, axis=0, return_inverse=True)[1].ravel()
        total = Fraction(source.exact(replace(exact, multipliers=exact.multipliers[of_type])), denominator)
    most = instance.problem.most_groups
    stated: dict[str, Any] = {}
    if most is not None and (exact.sets.lengths == instance.types.count).any():
        stated["max_groups"] = most
    cuts = list(zip(exact.sets.each(), exact.packing_multipliers.tolist(), strict=True))
    of_groups = [each for rows, each in cuts if not len(rows)]
    if of_groups:
        stated["min_groups"] = instance.problem.min_groups
    return Certificate(
        problem=describe_problem(problem, levels if source is None else source.levels) | stated,
        rows=n,
        table_sha256=table_hash(instance.types),
        unit=levels.unit,
        denominator=denominator,
        multipliers=tuple(exact.multipliers.tolist()),
        bound=max(math.ceil(total), 0) * levels.unit,
        counting_rows=tuple((tuple(rows.tolist()), each) for rows, each in cuts if len(rows)),
        min_groups_multiplier=sum(of_groups) if of_groups else None,
        rank_one_rows=tuple(
            (tuple(rows), tuple(weights), d, each)
            for (rows, weights, d), each in zip(exact.rank_one_cuts.each(), exact.cut_multipliers.tolist(), strict=True)
        ),
    )


def _priced(relaxed: Problem, dual: DualPoint) -> PatternPricing | None:
    """Its candidates without a list of them, where that proves as much, and sooner."""
    types = compress_table(relaxed)
    if not pricing_suffices(relaxed):
        return None
    if not relaxed.size_only:
        # of sizes alone; row types that differ in sensitive values have the same multiplier
        by_rows = closures_suffice(relaxed) and relaxed.most_groups is None and not priced_by_vectors(relaxed, types)
        alone = not (dual.sets.lists or dual.rank_one_cuts.count)
        return pricing_of(relaxed, types_of(relaxed, types)) if by_rows and alone else None
    plain = closures_suffice(relaxed) and relaxed.most_groups is None and not dual.sets.lists
    if not (plain or too_many_to_list(relaxed, types)):
        return None
    source = pricing_of(relaxed, types)
    known = {each.tobytes() for each in source.sets.each()}
    return source if all(each.tobytes() in known for each in dual.sets.each()) else None


def describe_problem(problem: Problem, levels: Levels) -> dict[str, Any]:
    """The problem as a certificate names it."""
    hierarchies = problem.recoding.hierarchies
    described = {
        "quasi_identifiers": list(problem.table.quasi_identifiers),
        "sensitive": list(problem.table.sensitive),
        "requirements": [claims_of(r, problem.table) for r in certified_requirements(problem)],
        "suppressed_rows": problem.suppressed_rows,
        "columns": [
            {
                "name": column.name,
                "costs": _costs(column),
                "hierarchy": hierarchy_hash(hierarchies[column.name]) if column.name in hierarchies else None,
            }
            for column in levels.columns
        ],
        "patterns": None if problem.recoding.mask is None else sorted(levels.vectors.tolist()),
    }
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain


def claims_of(requirement: Requirement, table: Table) -> dict[str, Any]:
    """What is stated of a requirement: of a population its hash, and not where it lies."""
    found = requirement.claims
    if isinstance(requirement, JournalistRisk):
        found.pop("population", None)
        among = requirement.population.among(table.quasi_identifiers)
        pairs = zip(among.values, among.codes.T.tolist(), strict=True)
        columns = [[values[code] for code in codes] for values, codes in pairs]
        lines = sorted(zip(*columns, among.rows.tolist(), strict=True), key=lambda line: [(v is None, v) for v in line])
        found["population_sha256"] = _hash([table.quasi_identifiers], ([rows, *values] for *values, rows in lines))
    return found


def _certified(requirement: Requirement, table: Table) -> Sequence[Requirement] | None:
    """What a certificate states of a requirement; None of one of a user's own, of which a subclass is one too."""
    return requirement.certified(table) if type(requirement) in REQUIREMENTS.values() else None


def table_hash(types: RowTypes) -> str:
    """Hash of a table's quasi-identifiers and sensitive columns, independent of the order of its rows."""
    codes = np.hstack([types.codes[types.star_type], types.star_codes])
    columns = [[domain[c] for c in codes[:, j].tolist()] for j, domain in enumerate(types.domains)]
    lines = zip(types.star_counts.tolist(), *columns, strict=True)
    return _hash([(*types.names, *types.sensitive)], lines)


def hierarchy_hash(hierarchy: Hierarchy) -> str:
    """Hash of a hierarchy without its top."""
    paths = (path[:-1] for path in hierarchy.released.values())
    return _hash(sorted(paths, key=lambda path: (path[0] is None, path[0] or "")))


def _costs(column: ColumnLevels) -> list[str] | str:
    """The cost of each level, or the hash of those of labels."""
    if column.cell_costs is None:
        return [str(cost) for cost in column.costs]
    values, costs = set(column.labels[: column.label_of.shape[1]]), dict[str, str]()
    for ids, cells in zip(column.label_of.tolist(), column.cell_costs, strict=True):
        for label, cost in zip((column.labels[each] for each in ids), cells, strict=True):
            if label is not None and label not in values:
                costs[label] = str(cost)
    return _hash(sorted([label, cost] for label, cost in costs.items()))


def _hash(*blocks: Iterable[Sequence[object]]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        for line in block:
            digest.update(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _of_distinct_rows(problem: Problem, instance: Instance, dual: DualPoint) -> DualPoint:
    """A point over the distinct rows of quasi-identifiers, with the packing cuts and rank-1 cuts that say something.

    Where row types are (quasi-identifier, sensitive) tuples, the mean over the rows: L is concave, and stays the same
    when rows that are alike in the quasi-identifiers exchange their multipliers, so L(mean) ≥ L. A set becomes that of
    the distinct rows all of whose tuples are in it: covers have all of them or none.

    A set that no candidate lies in is left out, and where fully suppressed rows are exempt and allowed, so is the set
    of all rows: what the size of its groups is depends on which candidates there are. Rank-1 cuts hold whatever the
    candidates are.
    """
    types, multipliers, sets = instance.types, dual.multipliers, dual.sets
    cuts, cut_multipliers = dual.rank_one_cuts, dual.cut_multipliers
    if not all(np.isfinite(each).all() for each in (multipliers, dual.packing_multipliers, cut_multipliers)):
        raise InputError("the multipliers must be finite")
    if len(multipliers) != types.count:
        split = types.split_by(problem.attributes)
        if len(multipliers) != split.count:
            raise InputError(f"there are {len(multipliers)} multipliers; the table has {types.count} distinct rows")
        _, of_split = np.unique(split.codes, axis=0, return_inverse=True)
        of_split = of_split.ravel()
        sets = mapped_sets(sets, split.count, lambda inside: np.bincount(of_split[~inside], minlength=types.count) == 0)
        cuts, cut_multipliers = _cuts_of_distinct_rows(cuts, cut_multipliers, of_split, types.count)
        multipliers = np.bincount(of_split, weights=split.counts * multipliers) / types.counts
    keep = PackingCuts.of(instance, sets).nested.lengths > 0
    levels = instance.levels
    if instance.exempt_reading and (levels.vectors == levels.top).all(axis=1).any():
        most = instance.problem.most_groups  # which tells how many groups there are, where it is the smaller number
        keep &= (sets.lengths < types.count) | (most is not None and most <= types.n // instance.least.max())
    return replace(
        dual,
        multipliers=multipliers,
        sets=sets.subset(keep),
        packing_multipliers=dual.packing_multipliers[keep],
        rank_one_cuts=cuts,
        cut_multipliers=cut_multipliers,
        charges=None,
    )


def _cuts_of_distinct_rows(
    cuts: RankOneCuts, multipliers: Floats, of_split: NDArray[np.intp], count: int
) -> tuple[RankOneCuts, Floats]:
    """Rank-1 cuts that give all tuples of a distinct row the same weight: Σ p a is the same over either.

    Others cannot be said of distinct rows, and are left out: any multipliers prove something, without them less.
    """
    found, keep = [], np.zeros(cuts.count, dtype=bool)
    for r, (tuples, weights, denominator) in enumerate(cuts.each()):
        weight = np.zeros(len(of_split), dtype=np.int64)
        weight[tuples] = weights
        of_row = np.zeros(count, dtype=np.int64)
        of_row[of_split] = weight
        keep[r] = (of_row[of_split] == weight).all()
        if keep[r]:
            rows = np.flatnonzero(of_row)
            found.append((rows.tolist(), of_row[rows].tolist(), denominator))
    return RankOneCuts.of(found), multipliers[keep]


def required_problem(problem: Problem) -> Problem | None:
    """The problem that such a certificate is about, without what cannot be stated. None where nothing is asked about
    any sensitive attribute."""
    known = certified_requirements(problem)
    relaxed = replace(_certified_problem(problem), privacy=known) if known else None
    return relaxed if relaxed is not None and relaxed.attributes else None


def required_instance(problem: Problem) -> Instance | None:
    """The instance of the `required_problem`: row types are distinct rows of quasi-identifiers and the sensitive
    attributes that are asked about. None where there is no such problem."""
    relaxed = required_problem(problem)
    if relaxed is None:
        return None
    instance = prepare(relaxed)
    instance = instance.subset(Viability().keep(instance))
    # what is dominated is so for the checker in any case: all that it asks of groups holds of their unions
    dominance = Dominance()
    every = relaxed.asks_of_labels or not dominance.accepts(relaxed)
    return instance if every else dominance.apply(instance).instance


def first_multipliers(types: RowTypes, dual: DualPoint | None) -> Floats | None:
    """Multipliers of a point of the Lagrangian for the row types of a `required_problem`, None where there are none.

    dual: over the same row types, or over the distinct rows of quasi-identifiers.
    """
    if dual is None or len(dual.multipliers) == types.count:
        return None if dual is None else dual.multipliers
    _, of_type = np.unique(types.codes, axis=0, return_inverse=True)
    of_type = of_type.ravel()
    if len(dual.multipliers) != int(of_type.max(initial=-1)) + 1:
        return None
    found: Floats = dual.multipliers[of_type]
    return found


def certify_required(
    problem: Problem, instance: Instance, point: DualPoint, denominator: int = DENOMINATOR
) -> Certificate:
    """Round a point of the bound under requirements and compute what it proves about the table.

    instance: the `required_instance` of the problem, which the point is of, or that with the candidates that are open
    at the point, where others add nothing (`RequiredPricing.open_candidates`). The checker knows less of some
    requirements than the package, so that it may prove less than is claimed here: the metric of t-closeness but for the
    equal distance, the shares of δ-disclosure. Raises InputError where exact numbers would need more than 64 bits.
    """
    types, levels = compress_table(problem), instance.levels
    at = [types.sensitive.index(name) for name in instance.types.sensitive]
    tuples = np.column_stack([types.star_type, types.star_codes[:, at]])
    _, first, of_tuple = np.unique(tuples, axis=0, return_index=True, return_inverse=True)
    # how many groups there can be at most is no matter of which candidates there are
    most, every = instance.problem.most_groups, instance.types.count
    keep = (point.sets.lengths < every) | (most is not None and most <= types.n // instance.least.max())
    point = replace(point, sets=point.sets.subset(keep), packing_multipliers=point.packing_multipliers[keep])
    exact = round_dual(point, denominator)
    proof = prove(instance, exact, small=False)
    assert exact.charges is not None
    charges = exact.charges
    # what is charged so much that no group is worth it is charged for that
    uncharged = proof.phi
    if charges.any():
        uncharged = prove(instance, replace(exact, charges=np.zeros_like(charges)), small=False).phi
    of_groups = dict(zip(exact.sets.lengths.tolist(), exact.packing_multipliers.tolist(), strict=True))
    stated = {
        key: number
        for key, number, length in (("max_groups", most, every), ("min_groups", instance.problem.min_groups, 0))
        if length in of_groups
    }
    return Certificate(
        problem=describe_problem(problem, levels) | stated,
        rows=types.n,
        table_sha256=table_hash(types),
        unit=levels.unit,
        denominator=denominator,
        multipliers=tuple(exact.multipliers[of_tuple.ravel()].tolist()),
        bound=max(proof.bound, 0) * levels.unit,
        counting_rows=((tuple(range(len(tuples))), of_groups[every]),) if every in of_groups else (),
        min_groups_multiplier=of_groups.get(0),
        charges=_charges(instance, charges, first, uncharged < 0),
    )


def _charges(
    instance: Instance, charges: Ints, first: NDArray[np.intp], wanted: Flags
) -> tuple[tuple[str, tuple[int, ...], int, int], ...]:
    """What a checker can make use of: charges of candidates that would be open without them, for attributes with the
    equal distance."""
    candidates, found = instance.candidates, []
    equal = {
        str(claims["sensitive"])
        for each in instance.problem.requirements
        for claims in [each.claims]
        if isinstance(each, TCloseness) and claims.get("distance") == "equal"
    }
    charged = [relaxation.attribute for relaxation in relaxations_of(instance) if relaxation.closeness is not None]
    rows = first[candidates.representative].tolist()
    for v, attribute in enumerate(charged):
        thetas = charges[v * candidates.count : (v + 1) * candidates.count]
        # two requirements about one attribute can charge it in two ways; only one can be said
        if attribute in equal and charged.count(attribute) == 1:
            for g in np.flatnonzero((thetas > 0) & wanted).tolist():
                vector = tuple(instance.levels.vectors[candidates.vector[g]].tolist())
                found.append((attribute, vector, int(rows[g]), int(thetas[g])))
    return tuple(found)
