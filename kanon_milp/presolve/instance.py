"""A problem as arrays: what reductions work on, what formulations declare, and what users' code must not change."""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.presolve.ragged import Ragged
from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import ColumnLevels, Label
from kanon_milp.problem.privacy.base import facts_of, least_rows, releasable_candidates
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Choice, Levels, Recoding, apply_recoding, recoded_columns
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags, Ints, Ints32


@dataclass(frozen=True, eq=False)
class Candidates:
    """G candidates; candidate g covers the row types members[indptr[g]:indptr[g+1]] (ascending), its cover C(g).

    vector: int32 (G,), its level vector. cost: int64 (G,), unit cost w_g in units of `Levels.unit`.
    support: int64 (G,), rows covered N_g. indptr: int64 (G+1,). members: int32 (number of pairs,).
    """

    vector: Ints32
    cost: Ints
    support: Ints
    indptr: Ints
    members: Ints32

    @property
    def count(self) -> int:
        """Number G of candidates."""
        return len(self.vector)

    @property
    def pairs(self) -> int:
        """Number of (row type, candidate) pairs."""
        return len(self.members)

    @property
    def covers(self) -> Ragged[np.int32]:
        """The covers as lists of row types."""
        return Ragged(self.indptr, self.members)

    @property
    def representative(self) -> Ints32:
        """The first row type of each cover, int32 (G,)."""
        first: Ints32 = self.members[self.indptr[:-1]]
        return first

    def candidate_of_pair(self) -> Ints32:
        """The candidate of each pair, in the order of `members`."""
        return np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.indptr))

    def pair_keys(self, types: int) -> Ints:
        """A number for each pair, g·t + i, ascending. types: number t of row types."""
        return self.candidate_of_pair().astype(np.int64) * types + self.members

    def cover_lists(self) -> list[list[int]]:
        """The covers as lists, for declaring a model."""
        members, bounds = self.members.tolist(), self.indptr.tolist()
        return [members[a:b] for a, b in itertools.pairwise(bounds)]

    def subset(self, keep: Flags) -> Candidates:
        """Only the candidates where `keep` is true, in the same order."""
        covers = self.covers.subset(keep)
        return Candidates(self.vector[keep], self.cost[keep], self.support[keep], covers.indptr, covers.values)

    def labels(self, types: RowTypes, levels: Levels, chosen: Ints) -> list[list[Label]]:
        """Released values of the chosen candidates: per quasi-identifier a list with one label for each of them."""
        codes = types.codes[self.representative[chosen]]
        vectors = levels.vectors[self.vector[chosen]]
        columns = []
        for j, column in enumerate(levels.columns):
            ids = column.label_of[vectors[:, j], codes[:, j]]
            columns.append([column.labels[i] for i in ids.tolist()])
        return columns


def enumerate_candidates(types: RowTypes, levels: Levels) -> Candidates:
    """All candidates: per level vector one for each distinct generalized row (the instances of a pattern)."""
    widths = [len(column.labels) for column in levels.columns]
    members = np.empty((levels.count, types.count), dtype=np.int32)
    begins, support = [], []
    for number, vector in enumerate(levels.vectors):
        # a column at its top level is the same everywhere and tells no rows apart
        used = [j for j, column in enumerate(levels.columns) if vector[j] < column.height]
        released = [levels.columns[j].label_of[vector[j], types.codes[:, j]] for j in used]
        key = mixed_key(released, [widths[j] for j in used]) if used else np.zeros(types.count, dtype=np.int64)
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        members[number] = order
        begins.append(first + number * types.count)
        support.append(np.add.reduceat(types.counts[order], first))
    vector_of = np.repeat(np.arange(levels.count, dtype=np.int32), [len(each) for each in begins])
    indptr, lists = np.concatenate([*begins, [members.size]]).astype(np.int64), members.reshape(-1)
    candidates = Candidates(
        vector=vector_of,
        cost=levels.row_costs(vector_of, types.codes[lists[indptr[:-1]]]),
        support=np.concatenate(support),
        indptr=indptr,
        members=lists,
    )
    return _one_per_released_row(candidates, types, levels)


def _one_per_released_row(candidates: Candidates, types: RowTypes, levels: Levels) -> Candidates:
    """Where two level vectors give the same released row (a label that stands at two levels), keep the cheaper one."""
    shared = any(
        len(np.unique(column.label_of)) < sum(len(np.unique(level)) for level in column.label_of)
        for column in levels.columns
    )
    if not shared:
        return candidates
    codes = types.codes[candidates.representative]
    vectors = levels.vectors[candidates.vector]
    released = [column.label_of[vectors[:, j], codes[:, j]] for j, column in enumerate(levels.columns)]
    key = mixed_key(released, [len(column.labels) for column in levels.columns])
    order = np.lexsort((np.arange(candidates.count), candidates.cost, key))
    first = np.concatenate([[True], key[order][1:] != key[order][:-1]])
    keep = np.zeros(candidates.count, dtype=bool)
    keep[order[first]] = True
    return candidates.subset(keep)


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem, compressed and recoded.

    types: row types; where requirements are about sensitive attributes, one for each (quasi-identifier, sensitive)
    tuple. exempt: bool (G,), candidates of fully suppressed rows that need no partners (all False in the strict
    reading). table_group: all rows as one group, the reference distribution of the sensitive attributes that are meant.
    """

    problem: Problem
    types: RowTypes
    levels: Levels
    candidates: Candidates
    exempt: Flags
    table_group: Group

    def __repr__(self) -> str:
        """Names and sizes, and no cell."""
        return (
            f"<Instance of {self.problem!r}: {self.types.count} row types, {self.levels.count} level vectors, "
            f"{self.candidates.count} candidates, {self.candidates.pairs} pairs>"
        )

    @property
    def recoding(self) -> Recoding:
        """What quasi-identifiers may become, as the problem has it."""
        return self.problem.recoding

    @property
    def exempt_reading(self) -> bool:
        """Whether fully suppressed rows need no partners."""
        return self.problem.suppressed_rows == "exempt"

    @cached_property
    def least(self) -> Ints:
        """The smallest size κ that a group of each candidate can have, int64 (G,), and n + 1 for every larger one; what
        is exempt is so from k alone."""
        beyond = self.types.n + 1
        sizes = [(min(least_rows(r, self.table_group), beyond), r.exempts) for r in self.problem.requirements]
        always = max((size for size, is_k in sizes if not is_k), default=1)
        strict = max(size for size, _ in sizes)
        return np.where(self.exempt, max(always, 1), max(strict, 1)).astype(np.int64)

    @property
    def smallest_size(self) -> int:
        """The smallest size κ ≥ 1 that all requirements together imply."""
        return max(1, *(least_rows(requirement, self.table_group) for requirement in self.problem.requirements))

    @property
    def limits_emd(self) -> bool:
        """Whether the cost of moving sensitive values is limited, as by t-closeness: models of that take longer."""
        facts = (fact for each in self.problem.requirements for fact in facts_of(each, self.table_group))
        return any(fact.emd is not None for fact in facts)

    def sensitive_codes(self, attributes: Sequence[str]) -> tuple[Ints, list[tuple[Label, ...]]]:
        """Joint sensitive value of each row type as a number, int64 (t,), and the values in that order."""
        if not attributes:  # all row types are alike then
            return np.zeros(self.types.count, dtype=np.int64), [()]
        at = [self.types.sensitive.index(name) for name in attributes]
        domains = [self.types.domains[len(self.types.names) + j] for j in at]
        codes = self.types.star_codes[:, at]
        key = mixed_key([codes[:, j] for j in range(len(at))], [len(domain) for domain in domains])
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        values = [tuple(domain[c] for domain, c in zip(domains, row, strict=True)) for row in codes[first].tolist()]
        return number.astype(np.int64), values

    @property
    def cost_bound(self) -> int | None:
        """The cost bound in units of `levels.unit`, rounded down (costs are integral)."""
        bound = self.problem.exact_cost_bound
        return None if bound is None else int(bound // self.levels.unit)

    def subset(self, keep: Flags) -> Instance:
        """The instance with only the candidates where `keep` is true."""
        return Instance(
            self.problem, self.types, self.levels, self.candidates.subset(keep), self.exempt[keep], self.table_group
        )


def prepare(problem: Problem) -> Instance:
    """Compress, recode and enumerate: an instance without any reduction."""
    types = types_of(problem, compress_table(problem))
    levels = recode(problem, types)
    return with_candidates(problem, types, levels)


def compress_table(problem: Problem) -> RowTypes:
    """Row types of the problem's table, with the counts of all its sensitive attributes, and units if counted."""
    table = problem.table
    units = [name for name in problem.attributes if name == table.unit]
    counts = None if table.counts is None else pl.Series(table.counts)
    return compress(table.keys, table.quasi_identifiers, (*table.sensitive, *units), counts)


def types_of(problem: Problem, types: RowTypes) -> RowTypes:
    """The row types that a model is stated over: with the sensitive attributes that its requirements are about."""
    return types.split_by(problem.attributes) if problem.attributes else types


_TABLES: WeakKeyDictionary[RowTypes, Group] = WeakKeyDictionary()


def table_as_group(types: RowTypes) -> Group:
    """All rows as one group: joint counts of the sensitive attributes that the types are split by; made once, since
    values may be as many as rows."""
    found = _TABLES.get(types)
    if found is None:
        found = _TABLES[types] = _counted(types)
    return found


def _counted(types: RowTypes) -> Group:
    if not types.split:
        return Group(types.n)
    domains = types.domains[len(types.names) :]
    rows: dict[tuple[Label, ...], int] = defaultdict(int)
    for codes, count in zip(types.star_codes.tolist(), types.counts.tolist(), strict=True):
        rows[tuple(domain[c] for domain, c in zip(domains, codes, strict=True))] += count
    return Group.of(types.sensitive, rows)


@dataclass(eq=False)
class _Recoded:
    """A problem's recoding over some row types: what was made of it so far."""

    problem: Problem
    columns: tuple[ColumnLevels, ...]
    levels: Levels | None = None


_RECODED: WeakKeyDictionary[RowTypes, _Recoded] = WeakKeyDictionary()


def recode(problem: Problem, types: RowTypes, some: Choice | None = None) -> Levels:
    """The problem's recoding over the domains that occur; columns and all level vectors are made once, since values and
    vectors may be many.

    some: which level vectors to look at where all are allowed, as in `apply_recoding`.
    """
    known = _RECODED.get(types)
    if known is None or known.problem is not problem:
        domains = types.domains[: len(types.names)]
        known = _RECODED[types] = _Recoded(problem, recoded_columns(problem.recoding, problem.table, domains))
    if some is not None:
        return apply_recoding(problem.recoding, problem.table, known.columns, some)
    if known.levels is None:
        known.levels = apply_recoding(problem.recoding, problem.table, known.columns)
    return known.levels


def with_candidates(problem: Problem, types: RowTypes, levels: Levels) -> Instance:
    """All candidates of the problem: of what some requirement does not allow to be released there is none."""
    candidates = enumerate_candidates(types, levels)
    exempt = exempt_candidates(problem, levels, candidates)
    instance = Instance(problem, types, levels, candidates, exempt, table_as_group(types))
    for requirement in problem.requirements:
        if requirement.asks_of_labels:
            instance = instance.subset(releasable_candidates(requirement, instance))
    return instance


def exempt_candidates(problem: Problem, levels: Levels, candidates: Candidates) -> Flags:
    """Which candidates are of fully suppressed rows that need no partners, bool (G,)."""
    if problem.suppressed_rows == "exempt":
        return np.asarray((levels.vectors == levels.top).all(axis=1)[candidates.vector])
    return np.zeros(candidates.count, dtype=bool)


@contextmanager
def mutation_guard(instance: Instance, what: str) -> Iterator[None]:
    """Raise InputError if the arrays of the instance are not the same afterwards: nothing that was computed from them
    could be believed. what: whose code runs, for the message.

    They are compared instead of locked, since locked arrays would be another type to compiled functions.
    """
    before = _checksum(instance)
    yield
    if _checksum(instance) != before:
        raise InputError(f"{what} wrote into the arrays of the instance; it must work on copies (array.copy())")


def _checksum(instance: Instance) -> int:
    types, candidates, levels = instance.types, instance.candidates, instance.levels
    found = 0
    for array in (
        types.codes, types.counts, types.star_type, types.star_codes, types.star_counts, levels.vectors, levels.costs,
        candidates.vector, candidates.cost, candidates.support, candidates.indptr, candidates.members, instance.exempt,
    ):  # fmt: skip
        found = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, found)
    return found
