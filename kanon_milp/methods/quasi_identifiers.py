"""Which columns identify: k-anonymity-test, a minimal and the minimum quasi-identifiers (Yuan and Wang, *Finding
Quasi-identifiers Against k-anonymity*)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
import pyomo.core as pyo

from kanon_milp.errors import InputError, SolverError, counted
from kanon_milp.formulations.column_models import build_identifying
from kanon_milp.methods.arguments import adapter_of, check_available
from kanon_milp.presolve.row_types import RowTypes, compress
from kanon_milp.problem.arguments import column_names, instance_of, integer, wrong
from kanon_milp.problem.column_values import mixed_key
from kanon_milp.problem.table import Table, in_kind
from kanon_milp.solvers import DEFAULT, SolverAdapter, SolverOptions, StopReason
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.proof import Grid
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.arrays import Flags, Ints

Columns = tuple[str, ...]
Reading = Literal["identify", "violate"]
READINGS = ("identify", "violate")

NEW_PAIRS = 200  # pairs of rows that a round adds
LOOKED_AT = 100_000  # of the pairs that look alike, in a round
MOST_SETS = 10_000  # minimum quasi-identifiers that are listed
MOST_SUBSETS = 2_000_000  # sets of columns that the reading "violate" goes through


@dataclass(frozen=True)
class Uniqueness:
    """What an attacker who knows these columns can do.

    classes: different tuples. unique: rows that no other row is like. rare: rows that fewer than k rows are like,
    themselves counted. smallest: rows of the smallest class.
    """

    columns: Columns
    classes: int
    unique: int
    rare: int
    smallest: int

    def as_dict(self, rows: int) -> dict[str, Any]:
        """As plain data, with shares of the rows."""
        return {
            "columns": list(self.columns),
            "classes": self.classes,
            "unique": self.unique,
            "unique_share": self.unique / rows,
            "rare": self.rare,
            "rare_share": self.rare / rows,
            "smallest": self.smallest,
        }


@dataclass(frozen=True)
class QuasiIdentifiers:
    """What identifies in a table.

    reading: "identify": a quasi-identifier tells all rows apart that the columns together tell apart (the paper's
    algorithm and examples); "violate": in it some row is like fewer than k rows (its Definition 3). k_anonymous:
    whether all columns together are, and so every set of them (Corollary 1). minimum: the minimum quasi-identifiers,
    all of them where `complete`, else one; none where there is no quasi-identifier, or it was not
    looked for. minimal: the one that the greedy
    algorithm of section 5.1 finds, from which no column can be left out. uniqueness: of each column alone, those with
    the most rare rows first; then of the minimum and minimal sets, and of all columns. kind: the library of the user's
    own data frame.
    """

    k: int
    rows: int
    columns: Columns
    reading: Reading
    k_anonymous: bool
    minimum: tuple[Columns, ...]
    complete: bool
    minimal: Columns
    uniqueness: tuple[Uniqueness, ...]
    kind: nw.Implementation = field(default=nw.Implementation.POLARS, repr=False, compare=False)

    def to_frame(self) -> Any:
        """`uniqueness` in the user's own kind of data frame: a row for each set of columns, their names with commas
        between."""
        rows = [{**each.as_dict(self.rows), "columns": ", ".join(each.columns)} for each in self.uniqueness]
        return in_kind(pl.DataFrame(rows), self.kind)

    def as_dict(self) -> dict[str, Any]:
        """As plain data: what `kanon-milp qid --json` prints."""
        return {
            "k": self.k,
            "rows": self.rows,
            "columns": list(self.columns),
            "reading": self.reading,
            "k_anonymous": self.k_anonymous,
            "minimum": {
                "size": len(self.minimum[0]) if self.minimum else None,
                "sets": [list(each) for each in self.minimum],
                "complete": self.complete,
            },
            "minimal": list(self.minimal),
            "uniqueness": [each.as_dict(self.rows) for each in self.uniqueness],
        }


def find_quasi_identifiers(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    k: int = 2,
    reading: Reading = "identify",
    every: bool = False,
    fewest: bool = True,
    solver: str | SolverAdapter = DEFAULT,
) -> QuasiIdentifiers:
    """Find the columns of a table that are quasi-identifiers.

    table: a `Table`, or a data frame of any kind that narwhals knows, also a lazy one of polars; or the `RowTypes` of
    these columns. A missing value is one of its own, however the table was read. columns: those that an attacker may
    know; default: the quasi-identifiers of a `Table`, all columns of a frame. every: all minimum quasi-identifiers
    instead of one. fewest: whether to look for a minimum one; with dozens of columns that may take long, while a
    minimal one never does. Raises InputError for columns that the table does not have, and if the reading "violate"
    would need too many sets of columns.
    """
    integer(k, "k", least=2)
    if not (isinstance(reading, str) and reading in READINGS):
        raise wrong("reading", 'one of "identify" and "violate"', reading)
    instance_of(every, bool, "every", "True or False")
    instance_of(fewest, bool, "fewest", "True or False")
    adapter = adapter_of(solver)
    check_available(adapter)
    types = _compressed(table, columns)
    search = _Search(types, k, adapter)
    whole = tuple(range(len(types.names)))
    k_anonymous = not search.violates(whole)
    look, is_one = search.identifying, search.identifies
    if reading == "violate":
        look, is_one = search.violating, search.violates
    minimum = look(every=every) if fewest else []
    minimal = search.minimal(whole, is_one) if is_one(whole) else ()
    alone = [search.uniqueness((j,)) for j in whole]
    alone.sort(key=lambda each: (-each.rare, -each.unique, -each.classes))
    sets = dict.fromkeys([*minimum, minimal, whole])
    together = [search.uniqueness(each) for each in sets if len(each) > 1]
    return QuasiIdentifiers(
        k,
        types.n,
        types.names,
        reading,
        k_anonymous,
        tuple(search.names(each) for each in minimum),
        every and len(minimum) < MOST_SETS,
        search.names(minimal),
        (*alone, *together),
        types.kind,
    )


def _compressed(table: Any, columns: Sequence[str] | None) -> RowTypes:
    if isinstance(table, RowTypes):
        return table
    chosen = None if columns is None else column_names(columns, "columns")
    if not isinstance(table, Table):
        return compress(table, chosen)
    chosen = table.quasi_identifiers if chosen is None else chosen
    return replace(compress(table.keys, chosen, rows=pl.Series(table.rows_of)), kind=table.frame.implementation)


def differing_columns(table: Any) -> Flags:
    """Where two rows differ, bool (pairs, m): each such set of columns once, of all pairs of different rows, and none
    that holds another one.

    For tables of few rows: all pairs are looked at.
    """
    codes = _compressed(table, None).codes
    first, second = np.triu_indices(len(codes), 1)
    found = np.unique(codes[first] != codes[second], axis=0)
    found = found[np.argsort(found.sum(axis=1), kind="stable")]
    kept, count = np.empty_like(found), 0
    for each in found:
        if not (kept[:count] <= each).all(axis=1).any():
            kept[count], count = each, count + 1
    return kept[:count]


class _Search:
    """Distinct rows (codes int32 (t, m), counts int64 (t,)), and questions about sets of their columns, as numbers."""

    def __init__(self, types: RowTypes, k: int, adapter: SolverAdapter) -> None:
        self._types, self._k, self._adapter = types, k, adapter

    def names(self, chosen: Sequence[int]) -> Columns:
        return tuple(self._types.names[j] for j in chosen)

    def _key(self, chosen: Sequence[int]) -> Ints:
        """A number for each distinct row, the same for rows that are alike in these columns."""
        if not chosen:
            return np.zeros(self._types.count, dtype=np.int64)
        return mixed_key([self._types.codes[:, j] for j in chosen], [len(self._types.domains[j]) for j in chosen])

    def sizes(self, chosen: Sequence[int]) -> Ints:
        """Rows of each class, int64."""
        _, number = np.unique(self._key(chosen), return_inverse=True)
        return np.bincount(number, weights=self._types.counts).astype(np.int64)

    def identifies(self, chosen: Sequence[int]) -> bool:
        """Whether these columns tell as many rows apart as all do."""
        return len(self.sizes(chosen)) == self._types.count

    def violates(self, chosen: Sequence[int]) -> bool:
        """Whether some row is rare in these columns."""
        return int(self.sizes(chosen).min()) < self._k

    def uniqueness(self, chosen: Sequence[int]) -> Uniqueness:
        sizes = self.sizes(chosen)
        rare = int(sizes[sizes < self._k].sum())
        return Uniqueness(self.names(chosen), len(sizes), int((sizes == 1).sum()), rare, int(sizes.min()))

    def minimal(self, chosen: tuple[int, ...], is_one: Callable[[Sequence[int]], bool]) -> tuple[int, ...]:
        """A quasi-identifier without a superfluous column: leave out what can be left out (section 5.1).

        One pass does: a column that is needed among many is needed among fewer.
        """
        for column in chosen[::-1]:
            fewer = tuple(each for each in chosen if each != column)
            if is_one(fewer):
                chosen = fewer
        return chosen

    def identifying(self, *, every: bool) -> list[tuple[int, ...]]:
        """The minimum quasi-identifiers that tell all rows apart: all of them, or one.

        Covering rows are generated where they are needed: as long as rows look alike in the columns of the best cover,
        some pairs of these have to be told apart.
        """
        found: list[tuple[int, ...]] = []
        differing = np.zeros((0, len(self._types.names)), dtype=bool)
        while len(found) < (MOST_SETS if every else 1):
            chosen = self._cover(differing, found)
            if chosen is None or (found and len(chosen) > len(found[0])):
                break
            pairs = self._alike(chosen)
            if len(pairs):
                differing = np.unique(np.concatenate([differing, pairs]), axis=0)
            else:
                found.append(chosen)
        return sorted(found)

    def _cover(self, differing: Flags, known: list[tuple[int, ...]]) -> tuple[int, ...] | None:
        """The smallest set of columns in which all of these pairs differ and that holds no known one."""
        if not len(differing):
            return () if () not in known else None
        model = build_identifying(self._types.names, differing, known)
        arrays = to_arrays(model)
        answer = solve_checked(self._adapter, arrays.linear, SolverOptions(absolute_gap=0.999), Grid())
        if answer.stop_reason is StopReason.INFEASIBLE:
            return None
        if answer.stop_reason is not StopReason.OPTIMAL or answer.x is None:
            raise SolverError(
                f"{self._adapter.name} has found no minimum cover: {answer.message or answer.stop_reason}"
            )
        arrays.load(answer.x)
        return tuple(j for j in model.COLUMNS if (pyo.value(model.chosen[j], exception=False) or 0) > 0.5)

    def _alike(self, chosen: Sequence[int]) -> Flags:
        """Where rows differ that are alike in these columns, bool (pairs, m): few pairs, those that say most."""
        key, codes = self._key(chosen), self._types.codes
        order = np.argsort(key, kind="stable")
        same = np.flatnonzero(key[order][1:] == key[order][:-1])
        if len(same) > LOOKED_AT:
            same = same[np.linspace(0, len(same) - 1, LOOKED_AT).astype(np.int64)]
        differ = np.unique(codes[order[same]] != codes[order[same + 1]], axis=0)
        few: Flags = differ[np.argsort(differ.sum(axis=1), kind="stable")[:NEW_PAIRS]]
        return few

    def violating(self, *, every: bool) -> list[tuple[int, ...]]:
        """The minimum sets of columns in which some row is rare; a set has one if a part of it has (Lemma 1)."""
        looked, columns = 0, range(len(self._types.names))
        for size in range(len(columns) + 1):
            found = []
            for each in itertools.combinations(columns, size):
                looked += 1
                if looked > MOST_SUBSETS:
                    raise InputError(
                        f"more than {counted(MOST_SUBSETS, 'set')} of columns would have to be looked at; name fewer "
                        "columns"
                    )
                if self.violates(each):
                    found.append(each)
                    if not every or len(found) == MOST_SETS:
                        return found
            if found:
                return found
        return []
