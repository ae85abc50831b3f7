"""Recodings: which generalizations a released row may have, and what each costs.

A *level vector* has one generalization level per quasi-identifier. Suppression is the hierarchy with two levels, so a
pattern of the pattern-guided paper (□ keep, ⋆ suppress) is a level vector, and a pattern mask a set of them.

The three kinds of recodings here are all there are of cells: formulations, bounds, the verifier and certificates know
level vectors and hierarchies, and the union `Recoding` is closed. What is open is what they are made of: any nested
hierarchy of each column (`Hierarchy`, from a file or a dict), any set of level vectors (`PatternMask`), any weights and
level costs that never fall. Recodings of whole groups, whose loss is no sum over rows, are in `group_recoding`. Local
changes of cells such as noise and swapping, and groups of values that are not nested, do not fit.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanon_milp.errors import InputError, TooManyLevelVectorsError, among, counted, kind_of, printable
from kanon_milp.problem.arguments import (
    by_column,
    column_names,
    exists,
    file_path,
    instance_of,
    integer,
    listed,
    one_of,
    text,
)
from kanon_milp.problem.costs import given_costs
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.group_recoding import (
    GROUP_RECODINGS,
    Boxes,
    Microaggregation,
    given_hierarchy,
    given_weight,
    refuse_unknown,
)
from kanon_milp.problem.hierarchies import ColumnLevels, Hierarchy, Label, check_cover, column_levels
from kanon_milp.problem.side_files import read_side_frame
from kanon_milp.problem.table import Table
from kanon_milp.system.arrays import Ints, Ints32

Cell = str | int
Pattern = Sequence[Cell] | Mapping[str, Cell]
MAX_LEVEL_VECTORS = 1 << 20
MAX_LEVELS = 1 << 15  # of a hierarchy: level vectors hold them in 16 bits
TOO_FINE = "the weights are too fine or too large for exact costs; use fewer digits"
COST_RANGES = 32  # from which `Levels.some` takes as many level vectors each

KEEP = ("keep", "□")
SUPPRESS = ("*", "⋆")
CELLS = "a list of cells, each keep, * or a level number,"


@dataclass(frozen=True)
class Suppression:
    """Any cell may be suppressed: all 2^m patterns. weights: cost of suppressing a cell of a column (default 1)."""

    weights: Mapping[str, Number] = field(default_factory=dict)

    mask: PatternMask | None = field(default=None, init=False, repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, init=False, repr=False)
    level_costs: Mapping[str, Sequence[Number]] = field(default_factory=dict, init=False, repr=False)
    costs: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    kind = "suppression"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", by_column(self.weights, "weights", given_weight))


@dataclass(frozen=True, repr=False)
class PatternMask:
    """Released rows must match one of these patterns (Bredereck et al. 2013, section 1).

    patterns: each a sequence of cells in the order of `columns` (default: of the quasi-identifiers), or a mapping
    column → cell. A cell is "keep" (or □), "*" (or ⋆), or a level number. weights: as in `Suppression`. levels: those
    of columns of which it was made, if it was (`with_levels`).
    """

    patterns: Sequence[Pattern]
    weights: Mapping[str, Number] = field(default_factory=dict)
    columns: Sequence[str] | None = None
    source: str = "pattern mask"
    levels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, init=False, repr=False)
    level_costs: Mapping[str, Sequence[Number]] = field(default_factory=dict, init=False, repr=False)
    costs: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    kind = "pattern_mask"

    def __post_init__(self) -> None:
        text(self.source, "source of a pattern mask")
        each = [
            by_column(pattern, f"{self.source}: pattern {number}", lambda cell, _: cell)
            if isinstance(pattern, Mapping)
            else listed(pattern, f"{self.source}: pattern {number}", CELLS)
            for number, pattern in enumerate(listed(self.patterns, self.source, "a list of patterns"), 1)
        ]
        named = None if self.columns is None else column_names(self.columns, f"{self.source}: columns")
        by_column(self.levels, "levels", lambda level, _: level)
        object.__setattr__(self, "patterns", tuple(each))
        object.__setattr__(self, "columns", named)
        object.__setattr__(self, "weights", by_column(self.weights, "weights", given_weight))

    @classmethod
    def read(
        cls, path: str | Path, weights: Mapping[str, Number] | None = None, encoding: str | None = None
    ) -> PatternMask:
        """Read a CSV file with the quasi-identifiers as header and keep, * or a level number in the cells.

        The delimiter is the file's own: a comma, semicolon, tab or |.
        """
        frame = read_side_frame(file_path(path, "file of a pattern mask"), encoding, partial(_are_patterns, path))
        rows = [tuple("" if cell is None else str(cell) for cell in row) for row in frame.rows()]
        return cls(rows, dict(weights or {}), tuple(frame.columns), str(path))

    @classmethod
    def random(
        cls, columns: Sequence[str], count: int, seed: int = 0, weights: Mapping[str, Number] | None = None
    ) -> PatternMask:
        """Draw `count` different patterns, the fully suppressed one among them, so that every table has a solution."""
        names = column_names(columns, "columns")
        integer(count, "the number of random patterns")
        most = min(1 << len(names), MAX_LEVEL_VECTORS)
        if not names or count > most or len(names) >= sys.maxsize.bit_length():
            raise InputError(f"a random mask over {len(names)} columns has 1 to {most} patterns, not {count}")
        # pattern number i suppresses the columns that have a 1 among its binary digits, the first one first
        last = (1 << len(names)) - 1
        drawn = [*random.Random(integer(seed, "seed", least=0)).sample(range(last), count - 1), last]
        patterns = [["*" if digit == "1" else "keep" for digit in f"{number:0{len(names)}b}"] for number in drawn]
        return cls(patterns, {} if weights is None else weights, names)

    def __repr__(self) -> str:
        """Shape and names."""
        columns = "" if self.columns is None else f" of {', '.join(map(str, self.columns))}"
        return printable(f"<PatternMask {self.source}: {counted(len(self.patterns), 'pattern')}{columns}>")

    @property
    def mask(self) -> PatternMask:
        """This mask itself."""
        return self


@dataclass(frozen=True)
class Hierarchies:
    """Cells may be generalized along hierarchies; columns without one can be kept or suppressed.

    hierarchies: column → Hierarchy, or its paths as a plain dict, of which the Hierarchy is made.
    mask: allowed level vectors (default: all combinations of levels).
    costs: column → what a cell loses: a list with the cost of each level, starting at 0 (default level/height); a
    mapping from labels to their costs, of all labels above the values, which cost 0, up to `*`; or "ncp", the share of
    the column's values (or of its range, where they are numbers) that the label covers (Xu et al. 2006), 0 for one
    value. "ncp" alone is meant for all columns. No label may cost more than the one above it. weights multiply them.
    level_costs: those of levels. They may be given in `costs` as well, and are found here.
    """

    hierarchies: Mapping[str, Any]
    weights: Mapping[str, Number] = field(default_factory=dict)
    level_costs: Mapping[str, Sequence[Number]] = field(default_factory=dict)
    mask: PatternMask | None = None
    costs: Mapping[str, Any] | str = field(default_factory=dict)
    kind = "hierarchies"

    def __post_init__(self) -> None:
        def of_levels(value: Sequence[Number], what: str) -> tuple[Number, ...]:
            return tuple(given_weight(cost, what) for cost in listed(value, what, "a list with the cost of each level"))

        for what, read in (("hierarchies", given_hierarchy), ("weights", given_weight), ("level_costs", of_levels)):
            object.__setattr__(self, what, by_column(getattr(self, what), what, read))
        levels = dict(self.level_costs)
        if isinstance(self.costs, str):
            costs: Any = given_costs(self.costs, "costs")
            twice = list(levels)
        else:
            costs = by_column(self.costs, "costs", given_costs)
            twice = [name for name in costs if name in levels]
            levels |= {name: given for name, given in costs.items() if isinstance(given, tuple)}
            costs = {name: given for name, given in costs.items() if not isinstance(given, tuple)}
        if twice:
            raise InputError(f'column "{twice[0]}" has costs and level_costs; name one of them')
        object.__setattr__(self, "level_costs", levels)
        object.__setattr__(self, "costs", costs)
        if self.mask is not None:
            instance_of(self.mask, PatternMask, "mask", "PatternMask(patterns)")

    @classmethod
    def read(
        cls,
        folder: str | Path,
        columns: Sequence[str],
        *,
        weights: Mapping[str, Number] | None = None,
        level_costs: Mapping[str, Sequence[Number]] | None = None,
        mask: PatternMask | None = None,
        encoding: str | None = None,
        costs: Mapping[str, Any] | str | None = None,
    ) -> Hierarchies:
        """Read COLUMN.csv for each of the columns that has such a file in the folder."""
        folder = file_path(folder, "folder with hierarchies")
        if not exists(folder, Path.is_dir):
            raise InputError(f"{folder}: no such folder with hierarchies")
        columns = column_names(columns, "columns")
        files = {name: folder / f"{name}.csv" for name in columns}
        found = {name: path for name, path in files.items() if exists(path, Path.is_file)}
        if not found:
            known = among("", columns, "quasi-identifier")
            raise InputError(f"{folder}: has no hierarchy of any quasi-identifier (files COLUMN.csv){known}")
        read = {name: Hierarchy.read(path, encoding) for name, path in found.items()}
        return cls(read, dict(weights or {}), dict(level_costs or {}), mask, {} if costs is None else costs)


def with_levels(recoding: Suppression | Hierarchies, columns: Sequence[str], levels: Mapping[str, Any]) -> Recoding:
    """The recoding with some levels only for some columns: {"age": 2, "zip": [1, 2]}; and rows may be suppressed.

    columns: the quasi-identifiers. Raises InputError for a level that a column does not have.
    """
    heights = {name: h.height if (h := recoding.hierarchies.get(name)) is not None else 1 for name in columns}
    asked: dict[str, tuple[int, ...]] = {}
    for name, given in by_column(levels, "levels", lambda value, _: value).items():
        refuse_unknown({"levels": [name]}, columns)
        where = f'levels: column "{name}"'
        chosen = [given] if isinstance(given, int | str) else listed(given, "levels", "a level, or a list of them,")
        asked[name] = tuple(dict.fromkeys(_level(each, heights[name], "*", where, _as_typed(each)) for each in chosen))
        if not asked[name]:
            raise InputError(f"{where}: name at least one")
    if not asked:
        return recoding
    of_column = [asked.get(name, range(height + 1)) for name, height in heights.items()]
    if math.prod(map(len, of_column)) > MAX_LEVEL_VECTORS:
        raise TooManyLevelVectorsError(
            f"more than {MAX_LEVEL_VECTORS:,} level vectors are possible; name levels of more columns"
        )
    vectors = dict.fromkeys([*itertools.product(*of_column), tuple(heights.values())])
    mask = PatternMask(list(vectors), recoding.weights, tuple(columns), "levels", asked)
    return mask if isinstance(recoding, Suppression) else replace(recoding, mask=mask)


Recoding = Suppression | PatternMask | Hierarchies | Microaggregation | Boxes


Choice = Callable[[Sequence[ColumnLevels]], NDArray[np.int16] | None]


@dataclass(frozen=True, eq=False)
class Levels:
    """A recoding applied to a table.

    columns: per quasi-identifier its levels over the table's domain. vectors: int16 (p, m), the level vectors that are
    allowed, or those of them that are looked at. costs: int64 (p,), loss of one row, in units of `unit`; where it
    depends on the labels, the least. cells: then per column int64 (levels, domain), what each value loses; else None.
    """

    columns: tuple[ColumnLevels, ...]
    vectors: NDArray[np.int16]
    costs: Ints
    unit: Fraction
    cells: tuple[Ints, ...] | None = None

    @property
    def count(self) -> int:
        """Number p of level vectors."""
        return len(self.vectors)

    @property
    def top(self) -> NDArray[np.int16]:
        """The fully suppressed level vector."""
        return np.array([c.height for c in self.columns], dtype=np.int16)

    def row_costs(self, vector: Ints | Ints32, codes: Ints32) -> Ints:
        """What rows with these values lose under these level vectors, in units of `unit`.

        vector: (r,), numbers of level vectors, codes: (r, m); or any shapes that go together, columns last.
        """
        if self.cells is None:
            return self.costs[vector]
        at = self.vectors[vector]
        found = np.zeros(np.broadcast_shapes(at.shape, codes.shape)[:-1], dtype=np.int64)
        for j, cost in enumerate(self.cells):
            found += cost[at[..., j], codes[..., j]]
        return found

    @property
    def most(self) -> int:
        """The largest loss of a row under any of the level vectors, in units of `unit`."""
        if self.cells is None:
            return int(self.costs.max())
        return int(sum(cost.max(axis=1)[self.vectors[:, j]] for j, cost in enumerate(self.cells)).max())

    @property
    def last(self) -> Levels:
        """The fully suppressed level vector alone, or the most expensive one where that is not allowed."""
        top = (self.vectors == self.top).all(axis=1)
        return self.only(np.array([top.argmax() if top.any() else self.costs.argmax()]))

    def only(self, chosen: Ints) -> Levels:
        """Those with these numbers."""
        return replace(self, vectors=self.vectors[chosen], costs=self.costs[chosen])

    def some(self, number: int) -> Levels:
        """About so many level vectors, as many from each range of costs, the fully suppressed one if it is allowed."""
        order = np.argsort(self.costs, kind="stable")
        edges = np.linspace(self.costs[order[0]], self.costs[order[-1]], COST_RANGES + 1)[1:-1]
        ranges = np.split(order, np.searchsorted(self.costs[order], edges, side="right"))
        each = -(-number // COST_RANGES)
        picked = [part[np.linspace(0, len(part) - 1, min(each, len(part))).round().astype(int)] for part in ranges]
        top = np.flatnonzero((self.vectors == self.top).all(axis=1))
        return self.only(np.unique(np.concatenate([*picked, top])))


def recoded_columns(recoding: Recoding, table: Table, domains: Sequence[Sequence[Label]]) -> tuple[ColumnLevels, ...]:
    """Check a recoding against a table, and apply its hierarchies.

    domains: per quasi-identifier its distinct values (None: missing). Raises InputError for unknown columns, bad
    weights, and a value that a hierarchy does not cover.
    """
    if isinstance(recoding, Microaggregation | Boxes):
        raise InputError(
            f"the recoding {recoding.kind} releases entire groups, and has no levels of cells, which this needs "
            "(to export a model, to import a solution, solve_model and model_size do); solve takes it, and its model "
            "is that of build_model(problem), which Pyomo writes"
        )
    names = table.quasi_identifiers
    costs = [] if isinstance(recoding.costs, str) else recoding.costs
    refuse_unknown(
        {
            "weights": recoding.weights,
            "hierarchies": recoding.hierarchies,
            "level costs": recoding.level_costs,
            "costs": costs,
        },
        names,
    )
    columns = []
    for name, domain in zip(names, domains, strict=True):
        hierarchy = recoding.hierarchies.get(name)
        if hierarchy is not None:
            if hierarchy.height >= MAX_LEVELS:
                raise InputError(
                    f'{hierarchy.source}: column "{name}": a hierarchy may have at most {MAX_LEVELS:,} levels, '
                    f"found {hierarchy.height + 1:,}"
                )
            check_cover(hierarchy, name, domain, table)
        of_label = recoding.costs if isinstance(recoding.costs, str) else recoding.costs.get(name)
        given = recoding.level_costs.get(name) if of_label is None else of_label
        weight = exact_number(recoding.weights.get(name, 1), f'weight of column "{name}"')
        columns.append(column_levels(name, domain, hierarchy, given, weight, table.symbol))
    return tuple(columns)


def apply_recoding(
    recoding: Recoding, table: Table, columns: Sequence[ColumnLevels], some: Choice = lambda _: None
) -> Levels:
    """Level vectors with integer costs.

    columns: as `recoded_columns` has them. some: which level vectors to look at where all are allowed; None for all of
    them. Raises InputError for a bad or repeated pattern, and where all level vectors are too many.
    """
    names = table.quasi_identifiers
    if recoding.mask is None:
        chosen = some(columns)
        vectors = _all_vectors(columns) if chosen is None else chosen
    else:
        vectors = parse_mask(recoding.mask, names, [c.height for c in columns], table.symbol)
    levels = _with_costs(columns, vectors, every=recoding.mask is None)
    if levels.count and levels.most * table.n > 2**50:
        raise InputError(TOO_FINE)
    return levels


def parse_mask(mask: PatternMask, names: Sequence[str], heights: Sequence[int], symbol: str) -> NDArray[np.int16]:
    """Turn the patterns of a mask into level vectors, int16 (p, m) in the order of `names`."""
    header, known = list(mask.columns if mask.columns is not None else names), set(names)
    for number, name in enumerate(header, 1):
        if name not in known:  # by its number: of a file without a header, the first row is no name
            raise InputError(
                f"{mask.source}: column {number} of the header is not a quasi-identifier"
                f"{among(name, names, 'quasi-identifier')}"
            )
    times = Counter(header)
    for name in names:
        if times[name] != 1:
            raise InputError(f'{mask.source}: quasi-identifier "{name}" occurs {times[name]} times in the header')
    if not mask.patterns:
        raise InputError(f"{mask.source}: the mask has no patterns")
    seen: dict[tuple[int, ...], int] = {}
    for number, pattern in enumerate(mask.patterns, 1):
        if isinstance(pattern, Mapping):
            cells = {name: pattern[name] for name in names if name in pattern}
            if pattern.keys() != known:
                raise InputError(f"{mask.source}: pattern {number} must name each quasi-identifier once")
        elif len(pattern) != len(header):
            raise InputError(
                f"{mask.source}: pattern {number} has {counted(len(pattern), 'cell')}, expected {len(header)}"
            )
        else:
            cells = dict(zip(header, pattern, strict=True))
        vector = tuple(
            _level(cells[name], height, symbol, f'{mask.source}: pattern {number}, column "{name}"')
            for name, height in zip(names, heights, strict=True)
        )
        if vector in seen:
            raise InputError(f"{mask.source}: pattern {number} repeats pattern {seen[vector]}")
        seen[vector] = number
    return np.array(list(seen), dtype=np.int16)


def _as_typed(level: Cell) -> str:
    """What somebody has named as a level; empty for a number that is too long to repeat."""
    return printable(level[:20]) if isinstance(level, str) else str(level) if abs(level) <= MAX_LEVELS else ""


def _level(cell: Cell, height: int, symbol: str, where: str, shown: str = "") -> int:
    """shown: what messages call the cell; "" for the kind of one that must not be shown."""
    # a level of thousands of digits is none, and Python makes no number of it
    text = "" if isinstance(cell, int) and abs(cell) > MAX_LEVELS else str(cell)
    if text in KEEP:
        return 0
    if text in SUPPRESS or text == symbol:
        return height
    digits = text.lstrip("0") or "0"
    if text.isascii() and text.isdigit() and len(digits) <= len(str(height)) and int(digits) <= height:
        return int(digits)
    raise InputError(f"{where}: {shown or kind_of(cell)} is neither keep nor * nor a level from 0 to {height}")


def _are_patterns(path: str | Path, rows: list[list[str]]) -> bool:
    """Whether these can be the rows of a mask file, the header first. Raises InputError where there is no header, or
    nothing else."""
    header, *patterns = ([cell in (*KEEP, *SUPPRESS) or cell.isdigit() for cell in row] for row in rows)
    no_header = len(header) > 1 and all(header) and not all(cell.isdigit() for cell in rows[0])
    if no_header or (not patterns and rows != [[""]]):
        raise InputError(
            f"{path}: the first line of a mask file must be a header that names the quasi-identifiers, and each "
            "following line is a pattern"
        )
    return bool(patterns) and all(map(all, patterns))


def fully_suppressed(columns: Sequence[ColumnLevels]) -> NDArray[np.int16]:
    """That level vector alone, int16 (1, m)."""
    return np.array([[c.height for c in columns]], dtype=np.int16)


def _all_vectors(columns: Sequence[ColumnLevels]) -> NDArray[np.int16]:
    count = math.prod(c.height + 1 for c in columns)
    if count > MAX_LEVEL_VECTORS:
        raise TooManyLevelVectorsError(
            f"more than {MAX_LEVEL_VECTORS:,} level vectors are possible; name the allowed ones in a pattern mask"
        )
    grid = np.indices([c.height + 1 for c in columns], dtype=np.int16)
    return np.ascontiguousarray(grid.reshape(len(columns), count).T)


def _with_costs(columns: Sequence[ColumnLevels], vectors: NDArray[np.int16], *, every: bool) -> Levels:
    """Levels with what a row loses, as integer multiples of the largest common unit of that under these level vectors.
    every: that of all level vectors, whichever are looked at; so it is where costs depend on labels."""
    exact = [[[cost] for cost in c.costs] if c.cell_costs is None else c.cell_costs for c in columns]
    denominator = math.lcm(*(cost.denominator for column in exact for level in column for cost in level))
    integral = [[[int(cost * denominator) for cost in level] for level in column] for column in exact]
    # sums that may be too large for a machine word are added as Python's own integers
    most = sum(max(map(max, column)) for column in integral)
    kind = np.int64 if most < 2**62 else object
    sums = np.zeros(len(vectors), dtype=kind)
    for j, column in enumerate(integral):
        sums += np.array(list(map(min, column)), dtype=kind)[vectors[:, j]]
    of_labels = any(c.cell_costs is not None for c in columns)
    every |= of_labels
    divisor = math.gcd(*(cost for column in integral for level in column for cost in level) if every else sums.tolist())
    if divisor == 0:
        return Levels(tuple(columns), vectors, np.zeros(len(sums), dtype=np.int64), Fraction(1))
    if int(sums.max()) // divisor > 2**50 or (of_labels and most // divisor > 2**50):
        raise InputError(TOO_FINE)
    cells = None
    if of_labels:
        shapes = [(len(c.label_of), c.label_of.shape[1]) for c in columns]
        units = [np.array([[cost // divisor for cost in level] for level in column]) for column in integral]
        cells = tuple(np.broadcast_to(each, shape).copy() for each, shape in zip(units, shapes, strict=True))
    return Levels(tuple(columns), vectors, (sums // divisor).astype(np.int64), Fraction(divisor, denominator), cells)


def describe_vector(vector: Sequence[int], columns: Sequence[ColumnLevels]) -> str:
    """Write a level vector as in a mask file: keep, * or the level number, separated by commas."""
    cells = ("keep" if v == 0 else "*" if v == c.height else str(v) for v, c in zip(vector, columns, strict=True))
    return ",".join(cells)


Makers = Mapping[str, Callable[..., Hierarchy]]  # of a column and of what messages call it (source=)


def made_hierarchies(table: Table, makers: Makers) -> dict[str, Hierarchy]:
    """The hierarchies that are made from the quasi-identifiers of a table themselves."""
    names = table.quasi_identifiers
    for name in makers:
        if name not in names:
            known = among(name, names, "quasi-identifier")
            what = f'"{name}"{_how(makers[name])} is no quasi-identifier, so it takes no hierarchy'
            raise InputError(f"{table.source}: {what}{known}")
    found = {}
    for name, make in makers.items():
        source = f'{table.source}: column "{name}"{_how(make)}'
        try:
            found[name] = make(table.frame[name], source=source)
        except InputError as error:  # of what is asked for, whatever the column holds
            raise error if str(error).startswith(source) else InputError(f"{source}: {error}") from None
    return found


def _how(make: Callable[..., Hierarchy]) -> str:
    """How a hierarchy is made, as far as it tells: ' (widths 5, 10, 20)', ' (dates)' where the way is all there is."""
    given = {name: value for name, value in getattr(make, "keywords", {}).items() if value is not None}
    said = (f"{name} {', '.join(map(str, each if isinstance(each, list) else [each]))}" for name, each in given.items())
    way = getattr(getattr(make, "func", None), "__name__", "")
    return f" ({'; '.join(said) or way})" if given or way else ""


def read_recoding(
    columns: Sequence[str],
    mask: PatternMask | str | Path | None = None,
    hierarchies: str | Path | None = None,
    weights: Mapping[str, Number] | None = None,
    level_costs: Mapping[str, Sequence[Number]] | None = None,
    encoding: str | None = None,
    made: Mapping[str, Hierarchy] | None = None,
    costs: Mapping[str, Any] | str | None = None,
    levels: Mapping[str, Any] | None = None,
    of_groups: Mapping[str, Any] | None = None,
) -> Recoding:
    """The recoding of these quasi-identifiers, as the command line, model files and `verify` name it.

    mask: the mask, or its file. hierarchies: folder with a hierarchy COLUMN.csv for some of the columns. level_costs,
    costs: only with hierarchies. encoding: of the files. made: hierarchies of columns that have none in the folder.
    levels: in place of a mask, as `with_levels` takes them. of_groups: a recoding of whole groups, its `kind` and the
    arguments of `Microaggregation`. Raises InputError for files that cannot be used.
    """
    if of_groups:
        if mask is not None or levels or level_costs or costs:
            raise InputError(
                f"masks, levels and their costs are not for the recoding {of_groups['kind']}; leave them out"
            )
        read = read_recoding(columns, None, hierarchies, weights, None, encoding, made)
        return _of_groups(of_groups, read)
    if levels:
        if mask is not None:
            raise InputError("a pattern mask says which levels are allowed, and so do levels; name one of the two")
        found = read_recoding(columns, None, hierarchies, weights, level_costs, encoding, made, costs)
        assert isinstance(found, Suppression | Hierarchies)
        return with_levels(found, columns, levels)
    given = dict(weights or {})
    patterns = mask if mask is None or isinstance(mask, PatternMask) else PatternMask.read(mask, given, encoding)
    if hierarchies is not None:
        read = Hierarchies.read(
            hierarchies, columns, weights=given, level_costs=level_costs, mask=patterns, encoding=encoding, costs=costs
        )
        for name in made or {}:
            if name in read.hierarchies:
                raise InputError(
                    f'column "{name}" has a hierarchy in {hierarchies}, and another is to be made; name one'
                )
        return replace(read, hierarchies={**read.hierarchies, **(made or {})})
    if made:
        return Hierarchies(made, given, dict(level_costs or {}), patterns, {} if costs is None else costs)
    if costs:
        raise InputError("costs: labels have them where there are hierarchies; weights set the cost of suppressing")
    return Suppression(given) if patterns is None else patterns


def _of_groups(asked: Mapping[str, Any], read: Recoding) -> Recoding:
    """read: hierarchies and weights."""
    given = {name: value for name, value in asked.items() if name != "kind" and value}
    one_of(asked["kind"], tuple(each.kind for each in GROUP_RECODINGS), "recoding")
    if asked["kind"] == Boxes.kind:
        if given:
            raise InputError(f"{next(iter(given))} is for the recoding {Microaggregation.kind}; leave it out")
        return Boxes(weights=read.weights, hierarchies=read.hierarchies)
    if read.hierarchies:
        raise InputError(f"hierarchies are not for the recoding {Microaggregation.kind}; leave them out, or take boxes")
    return Microaggregation(weights=read.weights, **given)
