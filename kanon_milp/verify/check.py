"""Verification of a released table against its original and against what a problem asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, UndecidedError, counted, kind_of, nearest
from kanon_milp.system.arrays import Ints
from kanon_milp.verify.cells import Readings, Rules, check_cells
from kanon_milp.verify.counts import Matching, coded
from kanon_milp.verify.definitions import PopulationRule, Rule, SizeRule, ValueRule, rules_of
from kanon_milp.verify.foreign import ForeignTable, read_foreign, rewritten, suppressed_cells
from kanon_milp.verify.ground import Ground, Own, ground
from kanon_milp.verify.groups import Grouping, Sensitive
from kanon_milp.verify.minimality import not_minimal
from kanon_milp.verify.numbers import exact, in_words
from kanon_milp.verify.population import check_population
from kanon_milp.verify.report import Report
from kanon_milp.verify.tables import (
    CELLS,
    MISSING_KEYS,
    Cells,
    MissingKeys,
    Original,
    ProblemData,
    classes,
    compare_shape,
    counts_of,
    emptied,
    leaking,
    open_released,
    row_numbers,
    rows_by_id,
    tally,
    text_columns,
    there_are,
)
from kanon_milp.verify.whole_groups import check_groups, is_of_groups, own_cost

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

    anonymized: a data frame of any kind that narwhals knows, with the rows in the order of the original. None: the
    problem's own table is a released one (`read_table(..., released=True)`), and is checked alone: its groups and
    requirements, t-closeness against the table itself; not whether cells are true, and not the loss.
    partition: a group id for each row, for a table that comes with its groups. Then each of them must have one released
    row and satisfy every requirement, and so must the groups of equal released rows.
    distances: sensitive attribute → a further ground distance for which the closeness is reported.
    cells: "labels" of the problem's recoding, or "intervals": also those of other tools, such as `20-39`, `[20, 40[`,
    `>=20`, `{a, b}`, `130**`, in which the original value must lie. The cost is then that of the table in which each
    such cell is the least general label of the recoding that covers it, so that it can be compared with a bound on the
    loss. A pattern mask is refused then. Other columns may have numbers and dates written differently.
    missing_keys: "own", a missing cell is a value of its own, as the symbol is; or "match", both match any value, as in
    sdcMicro: requirements are checked, for each row, on all rows that match it. That is so, too, where the table was
    read with missing="wildcard".
    row_id: a column of both tables that matches their rows, if rows are in another order or were dropped; a dropped row
    costs what a fully suppressed one does.
    minimal: whether to look for entries that could be more specific, which takes longer than everything else.
    Raises InputError if the two cannot be compared at all (no such quasi-identifier, no rows, partition of another
    length), and for invalid hierarchies. A released table that is wrong gives violations.
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
    if alone and (cells != "labels" or row_id is not None):
        raise InputError("cells and row_id are about a released table and its original; name both")
    asked = _Asked(problem, distances or {})
    missing_keys = "match" if asked.keys_match else missing_keys
    frame = open_released(problem.table.frame if alone else anonymized, asked.table)
    return _Check(asked, frame, cells, missing_keys, row_id, alone).report(partition, minimal)


def recoded(problem: ProblemData, anonymized: Any, row_id: str | None = None) -> Any:
    """The released table of another tool as the recoding of the problem would write it: each cell that is none of its
    labels as the least general one that covers what the cell stands for. A data frame of polars.

    row_id: as in `verify`. Raises InputError where the two cannot be compared, or a cell does not hold the original
    value.
    """
    table = Original.of(problem.table)
    frame = open_released(anonymized, table)
    released = text_columns(frame, table.quasi_identifiers)
    table = table.taken(rows_by_id(table, frame, row_id), row_id) if row_id is not None else table.divided(frame)
    if released.height != table.rows:
        raise InputError(f"{there_are(released.height)}, the original has {table.rows}")
    found = read_foreign(table, Rules.of(table, problem.recoding), released)
    if found.violations:
        raise InputError(found.violations[0])
    known = {name: found.recoded[name] for name in found.recoded.columns}
    known |= {name: table.frame[name].to_polars() for name in rewritten(table, frame)}
    return pl.DataFrame({name: known[name] if name in known else frame[name].to_polars() for name in frame.columns})


class _Asked:
    """What a released table is checked for, read from what the user asked for, not from what was made of it."""

    def __init__(self, problem: ProblemData, distances: Mapping[str, Any]) -> None:
        """Raises InputError for parameters that make no sense for the table."""
        self.problem, self.table = problem, Original.of(problem.table)
        self.keys_match = bool(getattr(problem.table, "keys_match", False))
        self.rules = [rule for each in problem.privacy for rule in rules_of(each, self.table, problem.table)]
        self.cost_bound = None if problem.cost_bound is None else exact(problem.cost_bound, "cost_bound")
        self.distances = {name: ground(distance, f"distances: {name}") for name, distance in distances.items()}
        for name, distance in self.distances.items():
            if name not in self.table.sensitive:
                known = nearest(name, list(self.table.sensitive))
                raise InputError(f'distances: "{name}" is not a sensitive attribute of {self.table.source}{known}')
            # a value that it does not know is an error of whoever asks, not of the released table
            labels, _ = coded(self.table.keys, [name], self.table.rows)
            distance.over([label for (label,) in labels], f'{self.table.source}: column "{name}"')

    @property
    def grounds(self) -> dict[str, list[Ground]]:
        """Per sensitive attribute the ground distances given, and those that t-closeness is asked for in."""
        found: dict[str, list[Ground]] = {name: [given] for name, given in self.distances.items()}
        for rule in self.rules:
            if isinstance(rule, ValueRule) and rule.ground is not None:
                for name in rule.attributes:
                    found.setdefault(name, []).append(rule.ground)
        return found

    @property
    def own(self) -> tuple[str, ...]:
        """What is of the user's making, and judged by its own code."""
        values = [rule for rule in self.rules if isinstance(rule, ValueRule)]
        own = [*(rule.text for rule in values if rule.own is not None), *own_cost(self.problem.recoding)]
        grounds = [*self.distances.values(), *(rule.ground for rule in values if rule.ground is not None)]
        return (*own, *dict.fromkeys(f'ground distance "{each.name}"' for each in grounds if isinstance(each, Own)))


class _Check:
    """A released table, its original, and what is asked for. See `verify` for cells, missing_keys and row_id;
    alone: there is no original.

    table: the rows of the original in the order of the released ones. violations, notes: what was found so far. cost,
    readings: of cells that are labels. total: where the cost is one of whole groups, that of all rows as one. foreign:
    of those that need not be. symbols: of each cell whether it is suppressed. groups: of equal released rows, or of
    all that match.
    """

    def __init__(
        self,
        asked: _Asked,
        frame: nw.DataFrame[Any],
        cells: Cells,
        missing_keys: MissingKeys,
        row_id: str | None,
        alone: bool,
    ) -> None:
        self.asked, self.frame, self.cells, self.missing_keys, self.alone = asked, frame, cells, missing_keys, alone
        self.exempt = asked.problem.suppressed_rows == "exempt"
        self.table = original = table = asked.table
        if row_id is not None:
            self.table = table = original.taken(rows_by_id(original, frame, row_id), row_id)
        elif not alone:
            self.table = table = original.divided(frame)
        self.same_rows = len(frame) == table.rows
        self.weights = counts_of(frame, table.count, "anonymized table")
        written = rewritten(table, frame) if cells == "intervals" and self.same_rows else []
        if alone:
            self.violations = leaking(table, frame, [] if table.unit is None else [table.unit])
        else:
            self.violations = compare_shape(table, frame, written)
        self.notes = self._notes(written, row_id)
        self.population_matches: int | None = None
        self.released = text_columns(frame, table.quasi_identifiers)
        self.rules = Rules.of(table, asked.problem.recoding, original)
        self.cost: Fraction | None = None
        self.total: Fraction | None = None
        self.readings: Readings | None = None
        self.foreign: ForeignTable | None = None
        if self.same_rows and not alone:
            self._check_cells()
        self.legal = not self.violations and not alone

        if self.foreign is None:
            self.symbols = suppressed_cells(self.released.clear(), self.released, table.symbol)
        else:
            self.symbols = self.foreign.suppressed
        self.suppressed = self.symbols.sum_horizontal().to_numpy() == table.m
        self.of_row, _ = classes(self.released)
        units = original.units if self.same_rows else ()  # of other rows nobody knows whose they are
        texts = text_columns(frame, table.sensitive)
        known = {name: table.keys[name] for name in (*written, *units) if name in (*table.sensitive, *units)}
        held = pl.DataFrame({**{name: texts[name] for name in texts.columns}, **known})
        before = original.keys[[*table.sensitive, *units]]
        sensitive = Sensitive(held, before, (self.weights, original.weights), asked.grounds, table.source, units)
        self.groups = Grouping.build(self.of_row, self.suppressed, sensitive, "groups")
        if missing_keys == "match":
            self.groups = self._matching()

    def _check_cells(self) -> None:
        """The cells, and what was lost in them and in rows that were dropped."""
        table, rules = self.table, self.rules
        if is_of_groups(self.asked.problem.recoding):
            of_row, asked = classes(self.released)[0], self.asked.problem
            found = check_groups(table, asked.recoding, self.released, of_row, asked.table)
            self.violations += found.violations
            self.cost, self.total = found.loss, found.total
            if self.asked.table.n != table.n:
                self.violations.append("rows of the original are dropped, so the table has no loss")
                self.cost = None
            return
        if self.cells == "intervals":
            self.foreign = read_foreign(table, rules, self.released)
            self.violations += self.foreign.violations
            if not self.foreign.violations:
                self.cost = check_cells(table, rules, self.foreign.recoded)[0]
        else:
            self.released = rules.unambiguous(table, self.released)
            self.cost, illegal, self.readings = check_cells(table, rules, self.released)
            self.violations += illegal
        if self.cost is not None:
            self.cost += (self.asked.table.n - table.n) * rules.suppressed

    def _matching(self) -> Grouping:
        return Grouping.of_matching(
            Matching(self.released, self.symbols, self.weights), self.suppressed, self.groups.sensitive
        )

    def report(self, partition: Sequence[int] | None, minimal: bool) -> Report:
        """Check requirements, a partition and side constraints; errors as in `verify`."""
        asked, table, groups = self.asked, self.table, self.groups
        unmet, blocks = self._unmet(groups), None if partition is None else self._blocks(partition, groups)
        others = self._of_partition(groups, blocks) + _side_constraints(asked, self.cost, len(groups.size))
        if unmet and groups.matching is None and len(groups.size) <= MOST_MATCHED:
            self._note_of_matching(unmet, partition)
        self.violations += unmet + others
        is_minimal, more_specific = None, None
        if minimal and self.legal and asked.rules and groups.matching is None and asked.table.n == table.n:
            is_minimal, more_specific = self._minimal(has_all=not (unmet or others))
        return Report(
            violations=tuple(self.violations),
            n=int(self.weights.sum()),
            m=table.m,
            cost=self.cost,
            total=self.total,
            suppressed_cells=int(self.symbols.sum_horizontal().to_numpy() @ self.weights),
            fully_suppressed_rows=int(self.weights[self.suppressed].sum()),
            suppressed_rows=asked.problem.suppressed_rows,
            privacy=tuple(rule.described for rule in asked.rules),
            own=asked.own,
            released=groups.facts,
            partition=None if blocks is None else blocks.facts,
            minimal=is_minimal,
            not_minimal=more_specific,
            groupings=(groups, blocks),
            warnings=self._warnings(),
            cells=self.cells,
            generalized_cells=None if self.foreign is None else self.foreign.generalized,
            certainty_penalty=None if self.foreign is None else self.foreign.penalty,
            missing_keys=self.missing_keys,
            alone=self.alone,
            dropped_rows=asked.table.n - table.n,
            notes=tuple(self.notes),
            population_matches=self.population_matches,
            kind=self.frame.implementation,
        )

    def _warnings(self) -> tuple[str, ...]:
        """What is to be said of a table in which rules hold."""
        number = int(self.weights[self.suppressed].sum())
        if self.groups.matching is not None and 0 < number < self.weights.sum():
            rest = ~self.suppressed
            without = Matching(self.released.filter(rest), self.symbols.filter(rest), self.weights[rest]).size.min()
            rows = counted(number, "row is", "rows are")
            return (
                f"{rows} fully suppressed, and counted among the rows that match each other row: without "
                f"{'it' if number == 1 else 'them'} k = {without}",
            )
        return _repeated(self.table, self.asked.rules, self.groups, self.exempt) if self.same_rows else ()

    def _unmet(self, groups: Grouping) -> list[str]:
        """Rules that do not hold in these groups; k-anonymity of some columns is judged in the table of these."""
        found = []
        for rule in self.asked.rules:
            if isinstance(rule, PopulationRule):
                if self.foreign is not None:
                    raise InputError(
                        "journalist risk is judged by labels of the recoding, and cells=intervals has others; leave "
                        "one of the two out"
                    )
                against, matching = check_population(rule, self.rules, self.released)
                self.population_matches = (
                    matching if self.population_matches is None else min(matching, self.population_matches)
                )
                found += against
                continue
            judged = groups
            if isinstance(rule, SizeRule) and rule.columns is not None:
                columns = list(rule.columns)
                released, symbols = self.released[columns], self.symbols[columns]
                suppressed = symbols.select(pl.all_horizontal(pl.all())).to_series().to_numpy()
                if groups.matching is not None:
                    judged = Grouping.of_matching(
                        Matching(released, symbols, self.weights), suppressed, groups.sensitive
                    )
                else:
                    title = f"groups of rows released alike in {', '.join(columns)}"
                    judged = Grouping.build(classes(released)[0], suppressed, groups.sensitive, title)
            found += judged.check(rule, exempt=self.exempt)
        return found

    def _blocks(self, partition: Sequence[int], groups: Grouping) -> Grouping:
        """The groups of a partition; these groups themselves where they are the same."""
        block_of_row = _blocks(partition, self.released.height)
        if np.array_equal(block_of_row, self.of_row) and groups.matching is None:
            return groups
        return Grouping.build(block_of_row, self.suppressed, groups.sensitive, "groups of the partition")

    def _of_partition(self, groups: Grouping, blocks: Grouping | None) -> list[str]:
        """What speaks against the groups of a partition: each must have one released row and what is required."""
        if blocks is None or blocks is groups:
            return []
        found = []
        released_alike = np.unique(np.column_stack([blocks.of_row, self.of_row]), axis=0)[:, 0]
        if mixed := int((np.bincount(released_alike) > 1).sum()):
            found.append(f"in {counted(mixed, 'group')} of the partition the released rows differ")
        for rule in self.asked.rules:
            of_several = isinstance(rule, SizeRule) and (rule.columns or self.asked.keys_match)
            if not (isinstance(rule, PopulationRule) or of_several):
                found += blocks.check(rule, exempt=self.exempt)
        return found

    def _note_of_matching(self, unmet: Sequence[str], partition: Sequence[int] | None) -> None:
        """What would hold if a missing or suppressed cell matched any value; the violations so far do not depend on
        that."""
        matched = self._matching()
        others = self._unmet(matched)
        if len(others) >= len(unmet) and matched.size.min() <= self.groups.size.min():
            return
        blocks = None if partition is None else self._blocks(partition, matched)
        others += self._of_partition(matched, blocks)
        others += _side_constraints(self.asked, self.cost, len(matched.size))
        said = "all requirements hold"
        if others or self.violations:
            said = "not all requirements hold" if others else "the requirements hold, the other violations stay"
        self.notes.append(
            "a missing or suppressed cell is a value of its own here; in sdcMicro it matches any value: then "
            f'k = {matched.size.min()}, and {said} (missing_keys="match", --missing-keys match)'
        )

    def _minimal(self, *, has_all: bool) -> tuple[bool | None, str | None]:
        """Whether the table is a minimal generalization with what is asked for, and what speaks against that."""
        if self.readings is None:
            return None, None
        if not has_all:
            return False, "it does not satisfy the requirements"
        bounds = self.asked.problem.min_groups, self.asked.problem.max_groups
        entries = self.rules, self.table.keys, self.released, self.readings
        try:
            text = not_minimal(*entries, self.groups, self.asked.rules, bounds, exempt=self.exempt)
        except UndecidedError:  # of a table that is less general nothing is known
            return None, None
        return text is None, text

    def _notes(self, written: Sequence[str], row_id: str | None) -> list[str]:
        table, frame, tells = self.table, self.frame, "tells nothing of anybody"
        notes = [f'column "{n}" is identifying, and the same in all rows: it {tells}' for n in emptied(table, frame)]
        notes += [f'column "{name}" counts the rows: it {tells}' for name in row_numbers(table, frame)]
        notes += [f'column "{name}" has numbers or dates written differently from the original' for name in written]
        if self.alone and table.unit is not None:
            notes.append(f'column "{table.unit}" tells whose the rows are, and must not be given away')
        if row_id is not None:
            notes.append(f'rows are matched by column "{row_id}", which must not be given away')
            if dropped := self.asked.table.n - table.n:
                number = f"{counted(dropped, 'row')} of the original {'is' if dropped == 1 else 'are'} dropped"
                notes.append(f"{number}; the loss counts each as fully suppressed")
        return notes


def _repeated(table: Original, rules: Sequence[Rule], groups: Grouping, exempt: bool) -> tuple[str, ...]:
    """What to say where k counts rows, and rows of one value of an identifying column are in several of them."""
    k = max((rule.k for rule in rules if isinstance(rule, SizeRule)), default=2)
    if table.unit is not None or groups.matching is not None:
        return ()
    found = []
    looked = ~groups.suppressed if exempt else np.ones(len(groups.size), dtype=bool)
    for name in (name for name in table.identifying if name not in table.dropped):
        column = text_columns(table.frame, [name])
        codes = classes(column)[0]
        present = column.to_series().is_not_null().to_numpy()
        if len(np.unique(codes[present])) == table.weights[present].sum():
            continue
        # a row without a value may be anybody's: each counts as one of its own
        of_row = np.unique(np.column_stack([groups.of_row, codes])[present], axis=0)[:, 0]
        values = np.bincount(of_row, minlength=len(groups.size))
        values += tally(groups.of_row[~present], table.weights[~present], len(groups.size))
        few = int((values[looked] < k).sum())
        if few:
            found.append(
                f"K COUNTS ROWS, NOT PERSONS: {few:,} of {counted(len(groups.size), 'group')} "
                f"{'has' if few == 1 else 'have'} fewer than {k} "
                f'different values of the identifying column "{name}", the fewest {int(values[looked].min())}; name it '
                "as the unit of protection if it tells persons apart (unit=..., --unit)"
            )
    return tuple(found)


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


def _side_constraints(asked: _Asked, cost: Fraction | None, groups: int) -> list[str]:
    found, fewest, most = [], asked.problem.min_groups, asked.problem.max_groups
    if asked.cost_bound is not None and cost is not None and cost > asked.cost_bound:
        found.append(f"the loss {in_words(cost)} is larger than the cost bound {in_words(asked.cost_bound)}")
    if fewest is not None and groups < fewest:
        found.append(f"the number of groups is {groups}, at least {fewest} are asked for")
    if most is not None and groups > most:
        found.append(f"the number of groups is {groups}, at most {most} are asked for")
    return found
