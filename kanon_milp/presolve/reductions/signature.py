"""Equal signature: row types that the surviving candidates cannot tell apart are one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.reductions.base import Reduction, Step, T, without_values
from kanon_milp.presolve.row_types import RowTypes
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Ints


@dataclass(frozen=True, eq=False)
class Merged(Step):
    """Row types are merged. row_type: int64 (t before,), number afterwards of each row type."""

    row_type: Ints

    def invert(self, assignment: Assignment) -> Assignment:
        """Split the rows of a merged type among its row types: in order, each takes what comes next.

        Both sides are the same line of n rows, cut by row types and cut by entries; its pieces are the new entries.
        """
        counts = self.before.types.counts
        order = np.argsort(self.row_type, kind="stable")
        by_type, by_entry = np.cumsum(counts[order]), np.cumsum(assignment.rows)
        ends = np.union1d(by_type, by_entry)
        row_type = order[np.searchsorted(by_type, ends)]
        candidate = assignment.candidate[np.searchsorted(by_entry, ends)]
        rows = np.diff(ends, prepend=0)
        sort = np.lexsort((candidate, row_type))
        return Assignment(row_type[sort], candidate[sort], rows[sort], assignment.cost)

    def invert_values(self, values: NDArray[T]) -> NDArray[T]:
        """Each row type gets the number of the one that it is part of."""
        return values[self.row_type]


@dataclass(frozen=True)
class EqualSignature(Reduction[Merged]):
    """Merge row types with the same surviving candidates, and the same sensitive values where requirements are about
    these.

    Keeps every solution, its value and the bound of the linear relaxation. Proof: a unit cost belongs to a candidate,
    so rows of such types may change places within and between groups without changing any number of rows of a
    candidate and sensitive value, which is all that rows and objective are about; split or add up accordingly (in
    fractions in proportion to n_i: x_ig ≤ n_i y_g adds up to x_Ig ≤ n_I y_g, and is scaled down from it).

    Valid for all requirements, merge-closed or not, and for side constraints. Not for constraints of a user over single
    row types, nor for requirements that read the values of quasi-identifiers.

    The covers and supports that survived are carried through; only the members of a cover get new numbers. They must
    not be computed anew from one of the merged row types: others agree with it in fewer columns than it does with
    itself, candidates would look viable that are not, and the "optimum" would be below the true one. So a merged row
    type has no values (`without_values`).
    """

    name: ClassVar[str] = "equal_signature"

    def accepts(self, problem: Problem) -> bool:
        """Whatever is asked of each group alone."""
        return problem.separable

    def _apply(self, instance: Instance) -> Merged:
        types, candidates = instance.types, instance.candidates
        row_type, first = _equal(instance)
        # all row types of a merged one stand in the same covers: the first stands for them
        is_first = np.zeros(types.count, dtype=bool)
        is_first[first] = True
        stays = is_first[candidates.members]
        sizes = np.bincount(candidates.candidate_of_pair()[stays], minlength=candidates.count)
        merged = replace(
            candidates,
            indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            members=row_type[candidates.members[stays]].astype(np.int32),
        )
        counts = np.zeros(len(first), dtype=np.int64)
        np.add.at(counts, row_type, types.counts)
        fewer = replace(instance, types=merged_types(types, first, counts), candidates=merged)
        return Merged(self.name, instance, fewer, row_type)


def _equal(instance: Instance) -> tuple[Ints, Ints]:
    """Number of the merged type of each row type, and the first row type of each; numbered in the order of these."""
    types, candidates = instance.types, instance.candidates
    options, _ = candidates.covers.transposed(types.count)
    of_type, ends = options.values, options.indptr[1:].tolist()
    number: dict[tuple[bytes, bytes], int] = {}
    row_type = np.empty(types.count, dtype=np.int64)
    first: list[int] = []
    begin = 0
    for i, end in enumerate(ends):
        sensitive = types.star_codes[i].tobytes() if types.split else b""
        row_type[i] = number.setdefault((sensitive, of_type[begin:end].tobytes()), len(number))
        if row_type[i] == len(first):
            first.append(i)
        begin = end
    return row_type, np.array(first, dtype=np.int64)


def merged_types(types: RowTypes, first: Ints, counts: Ints) -> RowTypes:
    """Row types with these counts and without values, each with the sensitive values of the one at `first` where these
    tell row types apart."""
    plain = np.empty((len(first), 0), dtype=np.int32)
    merged = replace(
        types,
        sensitive=types.sensitive if types.split else (),
        domains=types.domains if types.split else types.domains[: len(types.names)],
        codes=plain,
        counts=counts,
        star_type=np.arange(len(first), dtype=np.int32),
        star_codes=types.star_codes[first] if types.split else plain,
        star_counts=counts,
    )
    return without_values(merged)
