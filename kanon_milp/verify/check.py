"""Verification of a released table against its original and against what a problem asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, UndecidedError, counted, kind_of, nearest
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.cells import Rules, check_cells
from kanon_milp.verify.counts import Matching, coded
from kanon_milp.verify.definitions import Rule, SizeRule, rules_of
from kanon_milp.verify.foreign import read_foreign, rewritten, suppressed_cells
from kanon_milp.verify.ground import Ground, ground
from kanon_milp.verify.groups import Grouping, Sensitive
from kanon_milp.verify.minimality import not_minimal
from kanon_milp.verify.numbers import exact, in_words
from kanon_milp.verify.report import Report
from kanon_milp.verify.tables import (
    CELLS,
    MISSING_KEYS,
    Cells,
    MissingKeys,
    Original,
    ProblemData,
    RecodingData,
    SuppressedRows,
    classes,
    compare_shape,
    emptied,
    leaking,
    open_released,
    row_numbers,
    rows_by_id,
    text_columns,
    there_are,
)

MOST_MATCHED = 5_000  # groups for which another reading is tried that nobody asked for


def verify(
    problem: ProblemData,
    anonymized: Any = None,
    partition: Sequence[int] | None = None,
    *,
    distances: Mapping[str, Any] | None = None,
    cells: Cells = "labels",
    missing_keys: MissingKeys = "own",
    row_id: str | None = None,
    minimal: bool = True,
) -> Report:
    """Check a released table exactly: shape, each cell, mask, cost, requirements and side constraints.

    anonymized: a data frame of any kind that narwhals knows, rows in the order of the original. None: the problem's own
    table is a released one (`read_table(..., released=True)`), and is judged alone: groups and what is required of
    them, t-closeness against the table itself; not whether cells are true, and not the loss.
    partition: a group id per row, for a table that comes with its groups; then each of them must have one
    released row and satisfy every requirement, and so must the groups of equal released rows.
    distances: sensitive attribute → a further ground distance for which to report the closeness.
    cells: "labels", those that the recoding of the problem has, or "intervals": those of other tools too, such as
    `20-39`, `[20, 40[`, `>=20`, `{a, b}`, `130**`, in which the original value must lie. The cost is then that of the
    table in which each such cell is the least general label of the recoding that covers it, so that it can be held
    against a bound on the loss. A pattern mask is refused then. Other columns may have numbers and dates written
    otherwise.
    missing_keys: "own", where a missing cell is a value of its own, as the symbol is; or "match", where both match any
    value, as sdcMicro counts: requirements are judged, for each row, on all rows that match it.
    row_id: a column of both tables that tells which row is whose, where the rows are in another order, or some were
    dropped; a dropped row costs what a fully suppressed one does.
    minimal: whether to look for entries that could be more specific, which takes longer than all the rest.
    Raises InputError where the two cannot be compared at all (no such quasi-identifier, no rows, partition of
    another length), and for hierarchies that are none. A released table that is wrong gives violations.
    """
    if any(not hasattr(problem, field) for field in ("table", "privacy", "recoding", "suppressed_rows")):
        raise InputError(
            f"verify takes a Problem, found {kind_of(problem)}; write "
            "Problem(Table.from_frame(data_frame, quasi_identifiers=[...]), KAnonymity(5))"
        )
    if not isinstance(distances, Mapping | None) or not all(isinstance(name, str) for name in distances or ()):
        raise InputError("distances: a mapping from sensitive attributes to ground distances is expected")
    if not (isinstance(cells, str) and cells in CELLS):
        raise InputError(f"cells must be one of {', '.join(CELLS)}")
    if not (isinstance(missing_keys, str) and missing_keys in MISSING_KEYS):
        raise InputError(f"missing_keys must be one of {', '.join(MISSING_KEYS)}")
    if not isinstance(minimal, bool):
        raise InputError(f"minimal must be True or False, found {kind_of(minimal)}")
    alone = anonymized is None and getattr(problem.table, "is_released", False)
    reading = Reading(cells, missing_keys, row_id, alone, minimal)
    if reading.alone and (cells != "labels" or row_id is not None):
        raise InputError("cells and row_id are about a released table and its original; name both")
    asked = Asked.of(problem, distances or {})
    return _examine(asked, problem.table.frame if reading.alone else anonymized, partition, reading)


def recoded(problem: ProblemData, anonymized: Any, row_id: str | None = None) -> Any:
    """The released table of another tool as the recoding of the problem would write it: each cell that is none of its
    labels as the least general one that covers what the cell stands for. A data frame of polars.

    row_id: as in `verify`. Raises InputError where the two cannot be compared, or a cell does not hold the original
    value.
    """
    table = Original.of(problem.table)
    frame = open_released(anonymized, table)
    released = text_columns(frame, table.quasi_identifiers)
    if row_id is not None:
        table = table.taken(rows_by_id(table, frame, row_id), row_id)
    if released.height != table.n:
        raise InputError(f"{there_are(released.height)}, the original has {table.n}")
    found = read_foreign(table, Rules.of(table, problem.recoding), released)
    if found.violations:
        raise InputError(found.violations[0])
    known = {name: found.recoded[name] for name in found.recoded.columns}
    known |= {name: table.frame[name].to_polars() for name in rewritten(table, frame)}
    return pl.DataFrame({name: known[name] if name in known else frame[name].to_polars() for name in frame.columns})


@dataclass(frozen=True, eq=False)
class Asked:
    """What a released table is checked for, read from what the user asked for, not from what was made of it."""

    table: Original
    recoding: RecodingData
    rules: tuple[Rule, ...]
    suppressed_rows: SuppressedRows
    cost_bound: Fraction | None = None
    min_groups: int | None = None
    max_groups: int | None = None
    distances: Mapping[str, Ground] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: ProblemData, distances: Mapping[str, Any]) -> Asked:
        """Raises InputError for parameters that make no sense for the table."""
        table = Original.of(problem.table)
        return cls(
            table,
            problem.recoding,
            tuple(rule for each in problem.privacy for rule in rules_of(each, table, problem.table)),
            problem.suppressed_rows,
            None if problem.cost_bound is None else exact(problem.cost_bound, "cost_bound"),
            problem.min_groups,
            problem.max_groups,
            {name: ground(distance, f"distances: {name}") for name, distance in distances.items()},
        )

    def __post_init__(self) -> None:
        for name, distance in self.distances.items():
            if name not in self.table.sensitive:
                known = nearest(name, list(self.table.sensitive))
                raise InputError(f'distances: "{name}" is not a sensitive attribute of {self.table.source}{known}')
            # a value that it does not know is an error of whoever asks, not of the released table
            labels, _ = coded(self.table.keys, [name], self.table.n)
            distance.over([label for (label,) in labels], f'{self.table.source}: column "{name}"')

    @property
    def own(self) -> tuple[str, ...]:
        """What is of the user's making, and judged by its own code."""
        values = [rule for rule in self.rules if not isinstance(rule, SizeRule)]
        own = [rule.text for rule in values if rule.own is not None]
        grounds = [*self.distances.values(), *(rule.ground for rule in values if rule.ground is not None)]
        return (*own, *dict.fromkeys(f'ground distance "{each.name}"' for each in grounds if each.own))


@dataclass(frozen=True)
class Reading:
    """How a released table is read, and what is looked at; see `verify`. alone: without an original."""

    cells: Cells
    missing_keys: MissingKeys
    row_id: str | None
    alone: bool
    minimal: bool


def _examine(asked: Asked, anonymized: Any, partition: Sequence[int] | None, reading: Reading) -> Report:
    """Check a released table; errors as in `verify`."""
    original, table = asked.table, asked.table
    exempt, cells = asked.suppressed_rows == "exempt", reading.cells
    frame = open_released(anonymized, table)
    if reading.row_id is not None:
        table = original.taken(rows_by_id(original, frame, reading.row_id), reading.row_id)
    same_rows = len(frame) == table.n
    written = rewritten(table, frame) if cells == "intervals" and same_rows else []
    if reading.alone:
        violations = leaking(table, frame, [] if table.unit is None else [table.unit])
    else:
        violations = compare_shape(table, frame, written)
    notes = _notes(original, table, frame, written, reading)
    released = text_columns(frame, table.quasi_identifiers)
    rules = Rules.of(table, asked.recoding)
    cost, readings, foreign = None, None, None
    if reading.alone:
        pass
    elif same_rows and cells == "intervals":
        foreign = read_foreign(table, rules, released)
        violations += foreign.violations
        cost = None if foreign.violations else check_cells(table, rules, foreign.recoded)[0]
    elif same_rows:
        released = rules.unambiguous(table, released)
        cost, illegal, readings = check_cells(table, rules, released)
        violations += illegal
    legal = not violations and not reading.alone
    if cost is not None:
        cost += (original.n - table.n) * sum((rule.costs[-1] for rule in rules.columns), Fraction(0))

    symbols = suppressed_cells(released.clear(), released, table.symbol) if foreign is None else foreign.suppressed
    per_row = symbols.sum_horizontal().to_numpy()
    suppressed = per_row == table.m
    of_row, _ = classes(released)
    units = original.units if same_rows else ()  # of other rows nobody knows whose they are
    texts = text_columns(frame, table.sensitive)
    known = {name: table.keys[name] for name in (*written, *units) if name in (*table.sensitive, *units)}
    held = pl.DataFrame({**{name: texts[name] for name in texts.columns}, **known})
    before = original.keys[[*table.sensitive, *units]]
    sensitive = Sensitive(held, before, (len(frame), original.n), _distances(asked), table.source, units)
    groups = Grouping.build(of_row, suppressed, sensitive, "groups")
    if reading.missing_keys == "match":
        groups = Grouping.of_matching(Matching(released, symbols), suppressed, sensitive)
    unmet = [text for rule in asked.rules for text in _check(rule, groups, released, symbols, exempt)]
    violations += unmet
    blocks = None
    if partition is not None:
        block_of_row = _blocks(partition, released.height)
        same = np.array_equal(block_of_row, of_row) and groups.matching is None
        blocks = groups if same else Grouping.build(block_of_row, suppressed, sensitive, "groups of the partition")
        if not same:
            violations += _mixed_blocks(block_of_row, of_row)
            for rule in asked.rules:
                if not (isinstance(rule, SizeRule) and rule.columns):
                    violations += blocks.check(rule, exempt=exempt)
    sides = _side_constraints(asked, cost, len(groups.size))
    violations += sides
    if unmet and groups.matching is None and len(groups.size) <= MOST_MATCHED:
        matched = Grouping.of_matching(Matching(released, symbols), suppressed, sensitive)
        others = [text for rule in asked.rules for text in _check(rule, matched, released, symbols, exempt)]
        if len(others) < len(unmet) or matched.size.min() > groups.size.min():
            notes.append(
                "a missing or suppressed cell is a value of its own here; sdcMicro counts otherwise, and lets it match "
                f"any value: k = {matched.size.min()} then, and {'not all' if others else 'all that is asked for'} "
                'holds (missing_keys="match", --missing-keys match)'
            )
    minimal, not_minimal_text = None, None
    if (
        reading.minimal
        and legal
        and readings is not None
        and asked.rules
        and groups.matching is None
        and original.n == table.n
    ):
        try:
            not_minimal_text = (
                "it does not have what is asked for"
                if unmet or sides
                else not_minimal(
                    rules,
                    table.keys,
                    released,
                    readings,
                    groups,
                    asked.rules,
                    exempt=exempt,
                    min_groups=asked.min_groups,
                    max_groups=asked.max_groups,
                )
            )
            minimal = not_minimal_text is None
        except UndecidedError:  # of a table that is less general nothing is known
            minimal = None
    return Report(
        violations=tuple(violations),
        n=released.height,
        m=table.m,
        cost=cost,
        suppressed_cells=int(per_row.sum()),
        fully_suppressed_rows=int(suppressed.sum()),
        suppressed_rows=asked.suppressed_rows,
        privacy=tuple(rule.described for rule in asked.rules),
        own=asked.own,
        released=groups.facts,
        partition=None if blocks is None else blocks.facts,
        minimal=minimal,
        not_minimal=not_minimal_text,
        groupings=(groups, blocks),
        warnings=_repeated(table, asked.rules, groups, exempt) if same_rows else (),
        cells=cells,
        generalized_cells=None if foreign is None else foreign.generalized,
        certainty_penalty=None if foreign is None else foreign.penalty,
        missing_keys=reading.missing_keys,
        alone=reading.alone,
        dropped_rows=original.n - table.n,
        notes=tuple(notes),
    )


def _check(rule: Rule, groups: Grouping, released: pl.DataFrame, symbols: pl.DataFrame, exempt: bool) -> list[str]:
    """Check one rule in the groups of equal released rows; k-anonymity of some columns in the table of these.

    symbols: whether each released cell is suppressed.
    """
    if not isinstance(rule, SizeRule) or rule.columns is None:
        return groups.check(rule, exempt=exempt)
    columns = list(rule.columns)
    of_row, _ = classes(released[columns])
    suppressed = symbols[columns].select(pl.all_horizontal(pl.all())).to_series().to_numpy()
    if groups.matching is not None:
        found = Matching(released[columns], symbols[columns])
        return Grouping.of_matching(found, suppressed, groups.sensitive).check(rule, exempt=exempt)
    title = f"groups of rows released alike in {', '.join(columns)}"
    return Grouping.build(of_row, suppressed, groups.sensitive, title).check(rule, exempt=exempt)


def _repeated(table: Original, rules: Sequence[Rule], groups: Grouping, exempt: bool) -> tuple[str, ...]:
    """What to say where k counts rows, and rows of one value of an identifying column are in several of them."""
    k = max((rule.k for rule in rules if isinstance(rule, SizeRule)), default=2)
    if table.unit is not None or groups.matching is not None:
        return ()
    found = []
    looked = ~groups.suppressed if exempt else np.ones(len(groups.size), dtype=bool)
    for name in table.identifying:
        column = text_columns(table.frame, [name])
        codes = classes(column)[0]
        present = column.to_series().is_not_null().to_numpy()
        if len(np.unique(codes[present])) == present.sum():
            continue
        # a row without a value may be anybody's: each counts as one of its own
        codes = np.where(present, codes, len(codes) + np.arange(len(codes)))
        of_row = np.unique(np.column_stack([groups.of_row, codes]), axis=0)[:, 0]
        values = np.bincount(of_row, minlength=len(groups.size))
        few = int((values[looked] < k).sum())
        if few:
            found.append(
                f"K COUNTS ROWS, NOT PERSONS: {few:,} of {counted(len(groups.size), 'group')} have fewer than {k} "
                f'different values of the identifying column "{name}", the fewest {int(values[looked].min())}; name it '
                "as the unit of protection where it tells persons apart (unit=..., --unit)"
            )
    return tuple(found)


def _notes(
    original: Original, table: Original, frame: nw.DataFrame[Any], written: Sequence[str], reading: Reading
) -> list[str]:
    """What to know of a released table that is no violation."""
    notes = [
        f'column "{name}" is identifying, and the same in all rows: it tells nothing of anybody'
        for name in emptied(table, frame)
    ]
    notes += [f'column "{name}" counts the rows: it tells nothing of anybody' for name in row_numbers(table, frame)]
    notes += [f'column "{name}" has numbers or dates written otherwise than the original' for name in written]
    if reading.alone and table.unit is not None:
        notes.append(f'column "{table.unit}" tells whose the rows are, and must not be in what is given away')
    if reading.row_id is not None:
        notes.append(f'rows are matched by column "{reading.row_id}", which must not be in what is given away')
        if dropped := original.n - table.n:
            number = f"{counted(dropped, 'row')} of the original {'is' if dropped == 1 else 'are'} dropped"
            notes.append(f"{number}; the loss counts each as fully suppressed")
    return notes


def _distances(asked: Asked) -> dict[str, list[Ground]]:
    """Per sensitive attribute the ground distances given, and those that t-closeness is asked for in."""
    found: dict[str, list[Ground]] = {name: [given] for name, given in asked.distances.items()}
    for rule in asked.rules:
        if not isinstance(rule, SizeRule) and rule.ground is not None:
            for name in rule.attributes:
                found.setdefault(name, []).append(rule.ground)
    return found


def _blocks(partition: Sequence[int], rows: int) -> Ints:
    if isinstance(partition, str | bytes) or not isinstance(partition, Sequence | np.ndarray) or not np.ndim(partition):
        raise InputError(f"partition: a group for each row is expected, found {kind_of(partition)}")
    if len(partition) != rows:
        raise InputError(f"the partition names a group for {len(partition)} rows, the anonymized table has {rows}")
    ids = [each.item() if isinstance(each, np.generic) else each for each in partition]
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in ids):
        raise InputError("the partition must name a group by an integer for each row")
    number = {each: place for place, each in enumerate(dict.fromkeys(ids))}
    return np.array([number[each] for each in ids], dtype=np.int64)


def _mixed_blocks(block_of_row: Ints, of_row: Ints) -> list[str]:
    """Each group of a partition must have one released row."""
    blocks = np.unique(np.column_stack([block_of_row, of_row]), axis=0)[:, 0]
    mixed = int((np.bincount(blocks) > 1).sum())
    return [f"in {counted(mixed, 'group')} of the partition the released rows differ"] if mixed else []


def _side_constraints(asked: Asked, cost: Fraction | None, groups: int) -> list[str]:
    found = []
    if asked.cost_bound is not None and cost is not None and cost > asked.cost_bound:
        found.append(f"the loss {in_words(cost)} is larger than the cost bound {in_words(asked.cost_bound)}")
    if asked.min_groups is not None and groups < asked.min_groups:
        found.append(f"the number of groups is {groups}, at least {asked.min_groups} are asked for")
    if asked.max_groups is not None and groups > asked.max_groups:
        found.append(f"the number of groups is {groups}, at most {asked.max_groups} are asked for")
    return found
