"""The recoding of an earlier result for another table, such as that of the next month."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.errors import InputError, counted, printable
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.methods.full_domain import FullDomainResult
from kanon_milp.methods.result import Result
from kanon_milp.presolve.assignment import RowGroups, expand
from kanon_milp.presolve.instance import Instance, recode
from kanon_milp.presolve.partition import Partition, released_partition
from kanon_milp.presolve.preparation import presolve
from kanon_milp.problem.arguments import file_path
from kanon_milp.problem.column_values import as_text, mixed_key
from kanon_milp.problem.csv_files import CsvFormat
from kanon_milp.problem.hierarchies import ColumnLevels, Hierarchy, Label
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Hierarchies, Recoding, Suppression, fully_suppressed
from kanon_milp.problem.table import SYMBOL, Table, open_frame, read_frame, read_table
from kanon_milp.studies.model_content import data_entry
from kanon_milp.studies.model_files import read_content
from kanon_milp.studies.output import CLAIM, STATEMENT, base_of, is_stale
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.system.clock import Clock
from kanon_milp.verify import Report, verify

RELEASED = ("anonymized.parquet", "anonymized.arrow", "anonymized.csv")
APPLIED = "applied.json"
FILES = (*RELEASED, "groups.csv", "breaking.csv", APPLIED)
NOT_COVERED = "not covered"  # label between a value that no hierarchy covers and *
NO_LABEL, NO_GROUP, TOO_FEW = "no label", "no group", "group fails"
REASONS = {
    NO_LABEL: "a hierarchy does not cover one of its values",
    NO_GROUP: "in no group of the earlier release",
    TOO_FEW: "in a group that does not have what is required in this table",
}


@dataclass(frozen=True, eq=False, repr=False)
class Applied:
    """A table that was recoded like an earlier one.

    problem: the same requirements for the new table. broken: `breaking` as a data frame of polars. suppressed: how many
    rows were suppressed, including these. table: the released table; None if rows break the requirements and were not
    to be suppressed, and if suppression does not help, as under a mask that does not allow it. placed: the groups of
    the released rows, from 1. report: the verifier's.
    """

    problem: Problem
    broken: pl.DataFrame
    suppressed: int
    table: Any | None
    placed: RowGroups | None
    report: Report | None

    @property
    def breaking(self) -> Any:
        """A row for each row of the table that would break the requirements, with `row` (from 1) and `reason`, in your
        own kind of data frame.

        The reasons are "no label" (a hierarchy does not cover a value), "no group" (no released group covers it) and
        "group fails" (its group does not satisfy the requirements).
        """
        return self.problem.table.own_kind(self.broken)

    @property
    def groups(self) -> Ints | None:
        """The group of each released row from 1, int64."""
        return None if self.placed is None else self.placed.group

    @property
    def verified(self) -> bool:
        """Whether there is a table and the verifier accepts it."""
        return self.report is not None and self.report.ok

    def __repr__(self) -> str:
        """What there is to say, and no cell."""
        return printable(f"<Applied: {'; '.join(self.lines)}>")

    @property
    def lines(self) -> list[str]:
        """What there is to say, in words, without cells."""
        counts = dict(self.broken.group_by("reason").len().rows())
        said = [f"{counted(counts[reason], 'row')}: {text}" for reason, text in REASONS.items() if counts.get(reason)]
        if self.table is None:
            why = "not even all rows suppressed have what is required" if self.suppressed else "these rows break it"
            why = why if self.report is None else self.report.violations[0]
            return [*said, f"no table was released: {why}"]
        if self.suppressed:
            more = self.suppressed - self.broken.height
            why = f", {more:,} of them so that the suppressed rows have what is required" if more else ""
            said.append(f"{counted(self.suppressed, 'row')} suppressed{why}")
        assert self.report is not None
        rows, groups = counted(self.problem.table.n, "row"), counted(self.report.groups, "group")
        return [*said, f"verified: {rows} in {groups}"]

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        rows = self.problem.table.n
        return {
            "rows": rows,
            "breaking": self.broken.to_dicts(),
            "suppressed_rows": self.suppressed,
            "groups": None if self.report is None else self.report.groups,
            "loss": None if self.report is None or self.report.cost is None else str(self.report.cost),
            "verified": None if self.report is None else self.report.ok or list(self.report.violations),
        }


def apply(earlier: Result | FullDomainResult | str | Path, table: Any, *, suppress: bool = False) -> Applied:
    """Recode another table like an earlier result.

    earlier: a result with a table, or the folder of `solve --out`. table: a path, or a data frame of any kind that
    narwhals knows, with the same columns. The levels of a full-domain result are applied. With other results a row goes
    to the cheapest released group that covers it, except the fully suppressed one, or to another one that needs it to
    satisfy the requirements. That is a heuristic, which may leave out a few more rows than necessary.
    suppress: whether rows that break the requirements are suppressed, and then as many more as the suppressed rows need
    to satisfy the requirements themselves, the smallest group first.

    The verifier checks the requirements in the new table alone; nothing is said about somebody who has both releases.
    Raises InputError for a result without a table, one of microaggregation or boxes or with missing keys that match,
    and a table that lacks a column.
    """
    problem, known = _asked(earlier, table)
    if problem.group_cost is not None:
        raise InputError(
            f"apply is not for the recoding {problem.recoding.kind}: what a group is released as depends on all of its "
            "rows, and those of another table would change it; solve that table by itself"
        )
    if problem.table.keys_match:
        raise InputError(
            'apply is not for missing="wildcard" (--missing wildcard), where k-anonymity is about several groups '
            'together; solve the other table by itself, or the earlier one with missing="value"'
        )
    covering, uncovered = _covering(problem)
    sides: dict[str, Any] = {"cost_bound": None, "min_groups": None, "max_groups": None, "objective": "loss"}
    problem = replace(problem, recoding=covering, **sides)
    instance = presolve(replace(problem, recoding=_without_mask(covering)), Clock(), enumerated=False).before
    types, check, full_domain = instance.types, GroupCheck(instance), isinstance(known, Mapping)
    lost = np.zeros(types.count, dtype=bool)
    for j, name in enumerate(types.names):
        lost |= np.array([value in uncovered.get(name, ()) for value in types.domains[j]])[types.codes[:, j]]
    if isinstance(known, Mapping):
        group, vector = _by_levels(instance, known)
        group[lost] = -1
    else:
        group, vector = _by_groups(instance, check, known, lost)
    reason = np.where(lost, NO_LABEL, np.where(group < 0, NO_GROUP, "")).astype(object)
    order = np.argsort(group, kind="stable")
    begin = np.searchsorted(group[order], np.arange(len(vector) + 1))
    members = [order[first:last] for first, last in pairwise(begin.tolist())]
    good = []
    for inside in filter(len, members):
        if _accepts(instance, check, inside):
            good.append(inside)
        else:
            group[inside], reason[inside] = -1, TOO_FEW
    breaking = _breaking(instance, reason)
    if breaking.height and not suppress:
        return Applied(problem, breaking, 0, None, None, None)
    smallest_last = sorted(good, key=lambda inside: -int(types.counts[inside].sum()))
    while not _may_be_suppressed(instance, check, np.flatnonzero(group < 0)):
        if not smallest_last:
            return Applied(problem, breaking, int(types.n), None, None, None)
        group[smallest_last.pop()] = -1
    released = released_partition(instance, _partition(instance, group, vector, full_domain))
    assert released is not None  # no mask forbids a level vector
    release = expand(*released)
    found = release.table(problem.table)
    report = verify(problem, found)
    suppressed = int(types.counts[group < 0].sum())
    return Applied(problem, breaking, suppressed, found if report.ok else None, release.groups, report)


def _accepts(instance: Instance, check: GroupCheck, inside: Ints) -> bool:
    """Whether all rows of these types are a group that has what is required."""
    counts = instance.types.counts[inside]
    return int(counts.sum()) >= instance.smallest_size and (check.code is None or check.accepts(None, inside, counts))


def _may_be_suppressed(instance: Instance, check: GroupCheck, rest: Ints) -> bool:
    """Whether the fully suppressed rows have what is required of them."""
    if not len(rest):
        return True
    if not instance.exempt[0]:
        return _accepts(instance, check, rest)
    return check.holds(0, check.by_value(rest, instance.types.counts[rest]))


def _asked(earlier: Any, table: Any) -> tuple[Problem, Mapping[str, int] | pl.DataFrame]:
    """The problem of the new table, and what is known of the earlier release: levels, or its rows as text."""
    if isinstance(earlier, Result | FullDomainResult):
        if earlier.table is None or not earlier.verified:
            raise InputError("apply takes a result with a verified table, and this one has none")
        old = earlier.problem
        new = _table(data_entry(old.table, Path()), table)
        recoding = old.recoding
        if any(each.rule is not None for each in recoding.hierarchies.values()):
            made = {
                name: each if each.rule is None else each.extended(new.frame[name])
                for name, each in recoding.hierarchies.items()
            }
            recoding = replace(recoding, hierarchies=made)
        problem = replace(old, table=new, recoding=recoding)
        if earlier.levels is not None:
            return problem, earlier.levels
        return problem, _rows_of(open_frame(earlier.table, "released table")[0], new)
    folder = file_path(earlier, "earlier result: a Result, or a folder")
    try:
        described = json.loads((folder / CLAIM).read_text(encoding="utf-8"))
        content, levels = described.get(STATEMENT), described.get("levels")
    except (OSError, ValueError, RecursionError, AttributeError):
        raise InputError(f"{folder}: holds no {CLAIM} of a result that solve --out has written") from None
    if described.get("verified") is not True:
        raise InputError(f"{folder}: the earlier result has no verified table")
    if not isinstance(content, Mapping):
        raise InputError(
            f"{folder / CLAIM}: does not say how to recode another table (hierarchies from no file, or an older "
            "version); in Python, apply takes the result itself"
        )
    path = base_of(described, folder) / CLAIM
    new = _table(content["data"], table)
    problem = read_content(content, path, new).problem
    if levels is not None:
        return problem, levels
    released = next((folder / name for name in RELEASED if (folder / name).is_file()), None)
    if released is None or is_stale(released):
        raise InputError(f"{folder}: the released table is not there, or not the one that {CLAIM} is about")
    written = described["input"]["table"]
    header = True if written.get("header", True) is True else new.released_columns
    frame = read_frame(released, CsvFormat(written["delimiter"], written["encoding"], header=header))
    return problem, _rows_of(nw.from_native(frame, eager_only=True), new)


def _table(data: Mapping[str, Any], table: Any) -> Table:
    """The new table, with the roles of the earlier one, read as that was."""
    plain = ("sensitive", "identifying", "keep", "drop", "unit", "count", "missing", "symbol")
    roles = {key: data[key] for key in plain if key in data}
    if isinstance(table, str | Path):
        csv = {key: data[key] for key in ("delimiter", "encoding", "missing_values", "header") if key in data}
        return read_table(table, data["quasi_identifiers"], **csv, **roles)
    return Table.from_frame(table, data["quasi_identifiers"], **roles)


def _rows_of(released: nw.DataFrame[Any], table: Table) -> pl.DataFrame:
    """The different released rows, as text."""
    names = list(table.quasi_identifiers)
    missing = [name for name in names if name not in released.columns]
    if missing:
        raise InputError(f'the earlier release lacks the column "{missing[0]}"')
    return as_text(released, names, "released table").select(names).unique(maintain_order=True)


def _covering(problem: Problem) -> tuple[Recoding, dict[str, set[Label]]]:
    """The recoding with a label for each value of the table, and which values of each column its hierarchy lacks."""
    recoding, table = problem.recoding, problem.table
    hierarchies, costs, uncovered = dict(recoding.hierarchies), recoding.costs, dict[str, set[Label]]()
    for name, hierarchy in recoding.hierarchies.items():
        lacking = {value for value in table.column(name).unique().to_list() if value not in hierarchy.paths}
        if not lacking:
            continue
        label, labels = NOT_COVERED, {label for path in hierarchy.paths.values() for label in path} | lacking
        while label in labels:
            label += "_"
        between = (label,) * (hierarchy.height - 1)
        paths = {**hierarchy.paths, **{value: (value, *between, SYMBOL) for value in lacking}}
        hierarchies[name], uncovered[name] = Hierarchy(paths, hierarchy.source), lacking
        if isinstance(costs, Mapping) and isinstance(costs.get(name), Mapping):
            costs = {**costs, name: {**costs[name], label: costs[name][SYMBOL]}}
    if not uncovered:
        return recoding, uncovered
    assert isinstance(recoding, Hierarchies)
    return replace(recoding, hierarchies=hierarchies, costs=costs), uncovered


def _without_mask(recoding: Recoding) -> Recoding:
    """The groups are known, whatever else the mask allows."""
    if isinstance(recoding, Hierarchies):
        return replace(recoding, mask=None)
    return Suppression(recoding.weights)


def _by_levels(instance: Instance, known: Mapping[str, int]) -> tuple[Ints, NDArray[np.int16]]:
    """The class of each row type under these levels, and the level vector of each class."""
    columns, codes = recode(instance.problem, instance.types, fully_suppressed).columns, instance.types.codes
    vector = [known[column.name] for column in columns]
    if any(level > column.height for level, column in zip(vector, columns, strict=True)):
        raise InputError("the hierarchies have fewer levels than the earlier result used")
    labels = [column.label_of[vector[j], codes[:, j]] for j, column in enumerate(columns)]
    key = mixed_key(labels, [len(column.labels) for column in columns])
    different, group = np.unique(key, return_inverse=True)
    return group.astype(np.int64), np.tile(np.array(vector, dtype=np.int16), (len(different), 1))


class _Released:
    """The released groups over the row types of the new table. vector: int16 (groups, m), the lowest levels that have
    their labels; labels: int64 (groups, m), the numbers of these."""

    def __init__(self, instance: Instance, released: pl.DataFrame) -> None:
        self.types, self.columns = instance.types, recode(instance.problem, instance.types, fully_suppressed).columns
        places = [_lowest(column) for column in self.columns]
        found = [
            [places[j].get(label) for j, label in enumerate(row)] for row in released.select(self.types.names).rows()
        ]
        whole = [[place for place in row if place is not None] for row in found if None not in row]
        tops = [column.height for column in self.columns]
        usable = [row for row in whole if [level for level, _ in row] != tops]
        at = np.array(usable, dtype=np.int64).reshape(len(usable), len(self.columns), 2)
        self.vector, self.labels = at[:, :, 0].astype(np.int16), at[:, :, 1]
        vectors, of_group = np.unique(np.vstack([self.vector, [tops]]).astype(np.int16), axis=0, return_inverse=True)
        self._of_group = of_group.reshape(-1)[:-1]
        self._levels = recode(instance.problem, self.types, lambda _: vectors)

    def cheapest(self, of: Ints, among: Flags) -> Ints:
        """For each of these row types the cheapest of some groups that holds it, the first of several, or -1."""
        group, best = np.full(len(of), -1, dtype=np.int64), np.full(len(of), np.iinfo(np.int64).max)
        codes, sizes = self.types.codes[of], [len(column.labels) for column in self.columns]
        for number in np.unique(self._of_group[among]).tolist():
            vector, groups = self._levels.vectors[number], np.flatnonzero(among & (self._of_group == number))
            labels = [
                np.concatenate([column.label_of[vector[j], codes[:, j]], self.labels[groups, j].astype(np.int32)])
                for j, column in enumerate(self.columns)
            ]
            key = mixed_key(labels, sizes)
            ours, theirs = key[: len(of)], key[len(of) :]
            order = np.argsort(theirs, kind="stable")
            place = order[np.minimum(np.searchsorted(theirs[order], ours), len(order) - 1)]
            cost = self._levels.row_costs(np.full(len(of), number), codes)
            better = (theirs[place] == ours) & (cost < best)
            group[better], best[better] = groups[place[better]], cost[better]
        return group

    def held(self, g: int) -> Ints:
        """The row types that a group holds."""
        codes = self.types.codes
        fits = [
            column.label_of[self.vector[g, j], codes[:, j]] == self.labels[g, j]
            for j, column in enumerate(self.columns)
        ]
        return np.flatnonzero(np.logical_and.reduce(fits))


def _by_groups(
    instance: Instance, check: GroupCheck, released: pl.DataFrame, lost: Flags
) -> tuple[Ints, NDArray[np.int16]]:
    """The released group of each row type, or -1 where none holds it; and the level vector of each group.

    A row goes to the cheapest group that holds it. A group that lacks rows then gets some that it holds from groups
    which can spare them; where that is not enough, its rows go to the cheapest other group that has what is required,
    and still has it with them.
    """
    known, counts = _Released(instance, released), instance.types.counts
    everything = np.ones(len(known.vector), dtype=bool)
    group = known.cheapest(np.arange(instance.types.count), everything)
    group[lost] = -1

    def good(g: int) -> bool:
        inside = np.flatnonzero(group == g)
        return not len(inside) or _accepts(instance, check, inside)

    used = np.unique(group[group >= 0])
    failing = [g for g in used.tolist() if not good(g)]
    for g in sorted(failing, key=lambda g: -int(counts[group == g].sum())):
        before = group.copy()
        for i in known.held(g).tolist():
            whose = group[i]
            if whose in (-1, g) or good(g):
                continue
            group[i] = g
            if whose not in failing and not good(whose):
                group[i] = whose
        if not good(g):
            group = before
    failing = [g for g in failing if not good(g)]
    surviving = everything.copy()
    surviving[failing] = False
    for g in failing:
        inside = np.flatnonzero(group == g)
        for i, other in zip(inside.tolist(), known.cheapest(inside, surviving).tolist(), strict=True):
            if other >= 0:
                group[i] = other
                if not good(other):
                    group[i] = g
    return group, known.vector


def _lowest(column: ColumnLevels) -> dict[Label, tuple[int, int]]:
    """Label → the lowest level that has it, and its number."""
    found: dict[Label, tuple[int, int]] = {}
    for level, ids in enumerate(column.label_of):
        for label in np.unique(ids).tolist():
            found.setdefault(column.labels[label], (level, label))
    return found


def _breaking(instance: Instance, reason: NDArray[np.object_]) -> pl.DataFrame:
    """Rows, from 1, with the reason why they break what is required."""
    of_row = reason[instance.types.type_of_rows(instance.problem.table.keys)]
    rows = np.flatnonzero(of_row != "")
    return pl.DataFrame(
        {"row": rows + 1, "reason": of_row[rows].tolist()}, schema={"row": pl.Int64, "reason": pl.String}
    )


def _partition(instance: Instance, group: Ints, vector: NDArray[np.int16], full_domain: bool) -> Partition:
    """The groups of row types, those of none as one that is fully suppressed."""
    columns = recode(instance.problem, instance.types, fully_suppressed).columns
    vectors = np.vstack([vector, [[column.height for column in columns]]]).astype(np.int16)
    used, number = np.unique(np.where(group < 0, len(vector), group), return_inverse=True)
    types = np.arange(instance.types.count)
    return Partition(number.astype(np.int64), types, instance.types.counts, vectors[used], full_domain)
