"""A problem as arrays: what reductions work on, what formulations declare, and what users' code must not change."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.presolve.candidates import Candidates, enumerate_candidates
from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Choice, Levels, apply_recoding
from kanon_milp.problem.records import Group
from kanon_milp.system.arrays import Flags, Ints


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
    """Row types of the problem's table, with the counts of all its sensitive attributes, and of the units where these
    are counted."""
    table = problem.table
    units = [name for name in problem.attributes if name == table.unit]
    return compress(table.keys, table.quasi_identifiers, (*table.sensitive, *units))


def types_of(problem: Problem, types: RowTypes) -> RowTypes:
    """The row types that a model is stated over: with the sensitive attributes that its requirements are about."""
    return types.split_by(problem.attributes) if problem.attributes else types


def table_as_group(types: RowTypes) -> Group:
    """All rows as one group: joint counts of the sensitive attributes that the types are split by."""
    if not types.split:
        return Group(types.n)
    domains = types.domains[len(types.names) :]
    rows: dict[tuple[Label, ...], int] = defaultdict(int)
    for codes, count in zip(types.star_codes.tolist(), types.counts.tolist(), strict=True):
        rows[tuple(domain[c] for domain, c in zip(domains, codes, strict=True))] += count
    return Group.of(types.sensitive, rows)


_RECODED: WeakKeyDictionary[RowTypes, tuple[Problem, Levels]] = WeakKeyDictionary()


def recode(problem: Problem, types: RowTypes, some: Choice | None = None) -> Levels:
    """The problem's recoding over the domains that occur; all of it is made once, since level vectors may be a million.

    some: which level vectors to look at where all are allowed, as in `apply_recoding`.
    """
    domains = types.domains[: len(types.names)]
    if some is not None:
        return apply_recoding(problem.recoding, problem.table, domains, some)
    known = _RECODED.get(types)
    if known is None or known[0] is not problem:
        known = problem, apply_recoding(problem.recoding, problem.table, domains)
        _RECODED[types] = known
    return known[1]


def with_candidates(problem: Problem, types: RowTypes, levels: Levels) -> Instance:
    """All candidates of the problem."""
    candidates = enumerate_candidates(types, levels)
    exempt = exempt_candidates(problem, levels, candidates)
    return Instance(problem, types, levels, candidates, exempt, table_as_group(types))


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
