"""A pool: different tables that are about as good as the best one.

For models of a moderate size the model is solved again and again, each time without the tables that are known
(`km.exclude`), so that they come in the order of their objectives, and it can be proven that none is missing. On larger
tables the search goes on from the best table with some of its groups merged, and what it finds is a sample.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.goals import DIFFER, Differ, first_goal
from kanon_milp.methods.arguments import LARGEST_COUNT, count
from kanon_milp.methods.further import ENDING, Pool, PooledTable
from kanon_milp.methods.open_model import TOO_LATE, OpenModel, Request
from kanon_milp.methods.outcome import UNKNOWN, Bound, Found, verified_objective
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import compress_table, recode, types_of
from kanon_milp.presolve.partition import partition_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.problem.arguments import one_of
from kanon_milp.problem.exact import exact_number
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.recoding import Hierarchies, PatternMask, fully_suppressed
from kanon_milp.system.arrays import Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters
from kanon_milp.verify import verify
from kanon_milp.verify.tables import open_released, text_columns

MOST_TABLES = 1_000
MOST_LEVELS = 1_000  # level vectors, up to which one of them is left out
NO_TABLE = "there is no table, so there is no pool"
REFUSED = "the verifier refuses a table of the model, so the pool ends there"


@parameters("pool")
@dataclass(frozen=True)
class PoolParams:
    """A pool of tables, and how it is found on tables that are too large for a model of their own."""

    share: float = number(0.5, "of the time limit, for the best table", most=1)
    again: float = number(0.2, "of the seconds of the first search, for each further one, where there is no limit")
    least: float = number(1.0, "seconds, at least, for each further search")
    merged: float = number(
        0.003, "of the groups of the best table, merged with others where a further search begins", most=1
    )
    searches: int = number(3, "further searches for each table that was asked for, at most")


@dataclass(frozen=True)
class Wanted:
    """What is asked of a pool: so many tables at most; how much worse than the best they may be, in units of the
    objective or, where `relative`, as a part of the best; in what they differ."""

    tables: int
    loss: Fraction | None = None
    relative: bool = False
    differ: Differ = "rows"

    def most(self, problem: Problem, best: Fraction) -> Fraction | None:
        """The largest objective (the smallest of a maximization); None for any."""
        if self.loss is None:
            return None
        allowed = self.loss * abs(best) if self.relative else self.loss
        return best - allowed if problem.objective == "max_groups" else best + allowed


def checked_pool(pool: Any, loss: Any, differ: Any) -> Wanted | None:
    """What is asked of a pool, None where none is asked for. Raises InputError for arguments that are none."""
    one_of(differ, DIFFER, "pool_differ")
    if pool is None:
        if loss is not None or differ != DIFFER[0]:
            name = "pool_differ" if loss is None else "pool_loss"
            raise InputError(f"{name}: only a pool has it; name its number of tables, too (pool=10, --pool 10)")
        return None
    tables = count(pool, "pool", most=MOST_TABLES)
    relative = isinstance(loss, str) and loss.strip().endswith("%")
    if loss is None:
        return Wanted(tables, differ=differ)
    given = loss.strip().removesuffix("%").strip() if relative else loss
    exact = exact_number(given, "pool_loss") / (100 if relative else 1)
    if exact < 0:
        raise InputError('pool_loss: a number that is not negative is expected, or a share of the best such as "5%"')
    return Wanted(tables, exact, relative, differ)


def solve_pool(asked: Request, wanted: Wanted) -> Result:
    """The result of a problem with a pool, whose first table is that of the result."""
    began, problem, limit = time.perf_counter(), asked.problem, asked.limit
    first = asked.first(asked.parameters.of(PoolParams).share)
    if (table := _found(first)) is None:
        message = "; ".join(each for each in (first.message, NO_TABLE) if each)
        return first if first.proof == "infeasible" else replace(first, message=message)
    if limit.seconds is not None and first.report is not None:  # for looks at the tables in the end
        limit = replace(limit, ends=limit.ends - ENDING * (first.seconds["assign"] + first.seconds["verify"]))
    told = _Told(problem, wanted.differ)
    opened = asked.opened(first)
    if isinstance(opened, OpenModel):
        found = _in_order(opened, first, table, wanted, told, limit)
    else:
        found = _sampled(asked, first, table, wanted, told, opened, limit)
    ranked = sorted(found.tables, key=lambda each: _worth(problem, each))
    most = wanted.most(problem, _objective(ranked[0]))
    limits = None if most is None else most * _sense(problem)
    within = [each for each in ranked if limits is None or _worth(problem, each) <= limits]
    kept = within[: wanted.tables]
    # what is proven is about all tables but the first ones that were found
    same = {id(each) for each in kept} == {id(each) for each in found.tables[: len(kept)]}
    pool = Pool(
        tables=told.pooled(kept),
        differ=wanted.differ,
        asked=wanted.tables,
        most=most,
        complete=found.complete and len(kept) == len(within),
        bound=found.rest.value if same else None,
        more_is_better=_sense(problem) < 0,
        backed_by=found.rest.backed_by,
        message=found.message,
    )
    best = kept[0]
    bound = Bound(first.exact_bound, first.backed_by)
    if found.best.value is not None and (
        bound.value is None or _sense(problem) * found.best.value > _sense(problem) * bound.value
    ):
        bound = found.best
    met = bound.value is not None and bound.value == best.objective
    spent = max(time.perf_counter() - began, first.seconds["total"])
    return replace(
        first,
        table=best.table,
        placed=best.groups,
        report=best.report,
        parts=None,
        exact_objective=best.objective,
        exact_bound=bound.value,
        backed_by=bound.backed_by,
        proof="optimal" if met else "none" if bound.value is None else "bound",
        stop_reason="optimal" if met else first.stop_reason,
        pool=pool,
        seconds={**first.seconds, "pool": spent - first.seconds["total"], "total": spent},
    )


def _found(result: Result) -> Found | None:
    """The verified table of a result."""
    known, groups = result.exact_objective, result.placed
    if groups is None or result.report is None or not result.report.ok or known is None:
        return None
    return Found(result.table, groups, result.report, known)


def _sense(problem: Problem) -> int:
    return -1 if problem.objective == "max_groups" else 1


def _objective(found: Found) -> Fraction:
    assert found.objective is not None  # it was verified
    return found.objective


def _worth(problem: Problem, found: Found) -> Fraction:
    """The objective, less is better."""
    return _sense(problem) * _objective(found)


@dataclass(frozen=True, eq=False)
class _Told:
    """How tables are told apart: by how many rows of each type are released as what, or by the level vectors that they
    use. Rows of a type are alike in all that the problem is about."""

    problem: Problem
    differ: Differ

    @cached_property
    def _types(self) -> Any:
        return types_of(self.problem, compress_table(self.problem))

    @cached_property
    def _of_row(self) -> Ints:
        found: Ints = self._types.type_of_rows(self.problem.table.keys).astype(np.int64)
        return found

    def texts(self, found: Found) -> pl.DataFrame:
        """The released quasi-identifiers, as text."""
        table = self.problem.table
        return text_columns(open_released(found.table, table), table.quasi_identifiers)

    def _placed(self, found: Found) -> Counter[tuple[Any, ...]]:
        texts, placed = self.texts(found), found.groups
        labels = zip(*(texts[name].to_list() for name in texts.columns), strict=True)
        held: Counter[tuple[Any, ...]] = Counter()
        for row_type, label, rows in zip(self._of_row[placed.row].tolist(), labels, placed.rows.tolist(), strict=True):
            held[row_type, *label] += rows
        return held

    def _levels(self, found: Found) -> Ints:
        """Of each cell the lowest level that has its label, int64 (n, m)."""
        levels, texts = recode(self.problem, self._types, fully_suppressed), self.texts(found)
        codes, lowest = self._types.codes[self._of_row[found.groups.row]], []
        for j, column in enumerate(levels.columns):
            number = {label: at for at, label in enumerate(column.labels)}
            label = np.array([number[text] for text in texts[column.name].to_list()])
            lowest.append((column.label_of[:, codes[:, j]] == label).argmax(axis=0))
        return np.stack(lowest, axis=1).astype(np.int64)

    def without_levels(self, found: Found, number: int) -> tuple[Problem, Ints] | None:
        """The problem without one of the level vectors that a table uses, and the groups of the table that have it,
        int64: that of fewest rows first, then others. None where the level vectors are too many, or too few."""
        columns = recode(self.problem, self._types, fully_suppressed).columns
        if self.problem.recoding.mask is None and math.prod(each.height + 1 for each in columns) > MOST_LEVELS:
            return None
        levels = recode(self.problem, self._types)
        used, vector = np.unique(self._levels(found), axis=0, return_inverse=True)
        rare = np.argsort(np.bincount(vector.reshape(-1), weights=found.groups.rows), kind="stable")
        at = rare[number % len(rare)]
        left = [each for each in levels.vectors.tolist() if each != used[at].tolist()]
        if not left:
            return None
        recoding = self.problem.recoding
        names, weights = self.problem.table.quasi_identifiers, recoding.weights
        mask = PatternMask(left, weights, names)
        fewer = replace(recoding, mask=mask) if isinstance(recoding, Hierarchies) else mask
        return replace(self.problem, recoding=fewer), np.unique(found.groups.group[vector.reshape(-1) == at])

    def key(self, found: Found) -> Hashable:
        """The same for tables that do not differ."""
        if self.differ == "rows":
            return frozenset(self._placed(found).items())
        return frozenset(map(tuple, np.unique(self._levels(found), axis=0).tolist()))

    def pooled(self, tables: Sequence[Found]) -> tuple[PooledTable, ...]:
        """The tables as a pool has them, with what differs."""
        names, first, found = self.problem.table.quasi_identifiers, self._placed(tables[0]), []
        for each in tables:
            differing = self.problem.table.n - (first & self._placed(each)).total()
            kept = dict(zip(names, (each.groups.rows @ (self._levels(each) == 0)).tolist(), strict=True))
            found.append(PooledTable(each.table, each.groups, each.report, _objective(each), differing, kept))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Tables:
    """Different tables in the order in which they were found. best: what is proven of the objective. complete: whether
    there is no other table. rest: a bound on those that were not found first. message: why it ended."""

    tables: list[Found]
    best: Bound = UNKNOWN
    complete: bool = False
    rest: Bound = UNKNOWN
    message: str = ""


def _in_order(opened: OpenModel, first: Result, best: Found, wanted: Wanted, told: _Told, limit: Limit) -> _Tables:
    """By the model without the tables that are known; one more than was asked for, whose bound says what comes after
    them."""
    problem = opened.session.problem
    goal = opened.goal(first_goal(problem))
    expression = goal.declared(opened.model)
    opened.minimize(expression)
    known = opened.of_groups(best.groups)
    if known is not None and goal.of(known) * goal.unit != best.objective:
        known = None
    tables: dict[Hashable, Found] = {}
    bounds: list[Bound] = []
    complete, message = False, ""
    while len(tables) <= wanted.tables:
        if limit.over:
            message = TOO_LATE
            break
        table: Assignment | None = known
        if not bounds and known is not None and first.proof == "optimal":
            bounds = [Bound(first.exact_bound, first.backed_by)]
        else:
            start = None if bounds else known
            answer, table = opened.best(limit.share(1 / (wanted.tables + 1 - len(tables))), start)
            if answer.infeasible and tables:
                complete, bounds = True, [*bounds, Bound(None, answer.backed_by)]
                break
            bounds.append(Bound(None if answer.bound is None else answer.bound * goal.unit, answer.backed_by))
            if start is not None and (table is None or goal.of(start) < goal.of(table)):
                table = start
            if table is None:
                message = answer.message or answer.stop_reason.value.replace("_", " ")
        if table is None:
            break
        found = opened.release(table)
        if not found.report.ok or found.objective != goal.of(table) * goal.unit:
            message = REFUSED
            break
        if not tables and (most := wanted.most(problem, _objective(found))) is not None:
            opened.hold(expression, most / goal.unit)
        opened.exclude(table, wanted.differ)
        tables.setdefault(told.key(found), found)
    if not tables:
        return _Tables([best], message=message)
    # each of them holds for the tables that were not found before it; it is not worth less than one of those before
    proven = [each for each in bounds if each.value is not None]
    rest = max(proven, key=lambda each: _sense(problem) * (each.value or 0), default=UNKNOWN)
    if complete:
        rest = Bound(None, bounds[-1].backed_by)
    return _Tables(list(tables.values()), bounds[0], complete, rest, message)


def _sampled(
    asked: Request, first: Result, best: Found, wanted: Wanted, told: _Told, why: str, limit: Limit
) -> _Tables:
    """By searches that begin with the best table, some of its groups merged; where such a search comes back to a table
    that is known, that start itself. Where columns are to differ, by searches without one of the level vectors that the
    best table uses."""
    problem, tuned = asked.problem, asked.parameters.of(PoolParams)
    tables: dict[Hashable, Found] = {told.key(best): best}
    bound, draw = UNKNOWN, np.random.default_rng(asked.options.seed)
    limits = wanted.most(problem, _objective(best))

    def take(result: Result) -> bool:
        """Whether it is another table that is good enough."""
        if (found := _found(result)) is None:
            return False
        if result.problem is not problem:
            report = verify(problem, found.table, partition=found.groups.group.tolist(), minimal=False)
            found = replace(found, report=report, objective=verified_objective(problem, report))
            if not report.ok or found.objective is None:
                return False
        near = limits is None or _worth(problem, found) <= _sense(problem) * limits
        return near and tables.setdefault(told.key(found), found) is found

    for search in range(1, tuned.searches * wanted.tables + 1):
        if limit.over or len(tables) >= wanted.tables:
            break
        other = None if wanted.differ == "rows" else told.without_levels(best, search - 1)
        merged = _merged(best.groups.group, told.texts(best), tuned.merged, draw, None if other is None else other[1])
        start = replace(best.groups, group=merged)
        if limit.over:
            break
        seconds = limit.share(1 / (1 + wanted.tables - len(tables))).seconds
        if seconds is None and asked.iterations is None:
            seconds = max(tuned.again * first.seconds["total"], tuned.least)
        seed = (asked.options.seed + search) % LARGEST_COUNT
        if other is not None:
            take(asked.solved(other[0], time_limit=seconds, seed=seed, start=start, log_file=None))
            continue
        again = asked.solved(problem, time_limit=seconds, seed=seed, start=start, log_file=None)
        bound = max(
            (bound, Bound(again.exact_bound, again.backed_by)),
            key=lambda each: (each.value is not None, _sense(problem) * (each.value or 0)),
        )
        if not take(again) and not limit.over:
            session = _without_candidates(asked)
            take(session.finish_partition(partition_of_groups(session.prepared.before, start)))
    message = f"{why}, so these are a sample of what the search finds"
    return _Tables(list(tables.values()), bound, message=message)


def _merged(
    groups: Ints, released: pl.DataFrame, share: float, draw: np.random.Generator, some: Ints | None = None
) -> Ints:
    """The groups of a table where a share of them, at least one, drawn at random, is merged with the one whose released
    row agrees with theirs in most columns. some: numbers of groups that are merged instead."""
    labels = released.select(pl.all().rank("dense").fill_null(0)).to_numpy()
    numbers, rows = np.unique(groups, return_index=True)
    rows, into = labels[rows], np.arange(len(numbers))
    drawn = draw.permutation(len(numbers))[: max(round(share * len(numbers)), 1)]
    for group in drawn if some is None else np.searchsorted(numbers, some):
        alike = (rows == rows[group]).sum(axis=1)
        alike[into == into[group]] = -1  # they are one already
        into[into == into[group]] = into[alike.argmax()] if alike.max() >= 0 else into[group]
    found: Ints = into[np.searchsorted(numbers, groups)]
    return found


def _without_candidates(asked: Request) -> Session:
    """What releases groups of rows."""
    clock = Clock()
    prepared = presolve(asked.problem, clock, enumerated=False, limit=asked.limit)
    options = replace(asked.options, log_file=None)
    formulation = get_formulation("strong")
    return Session(asked.adapter, options, clock, interrupt=asked.interrupt, prepared=prepared, formulation=formulation)
