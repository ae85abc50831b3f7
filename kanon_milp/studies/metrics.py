"""What a released table costs and protects: quality measures of the papers and of studies, and risks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, nearest
from kanon_milp.methods.arguments import group_numbers
from kanon_milp.problem.arguments import column_name, one_of
from kanon_milp.problem.column_values import as_text, numbers_of, without_text
from kanon_milp.problem.costs import ncp
from kanon_milp.problem.hierarchies import Hierarchy, Label
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.problem.table import Table, in_kind
from kanon_milp.system.arrays import Flags, Ints
from kanon_milp.verify import Report
from kanon_milp.verify.cells import Rules
from kanon_milp.verify.counts import Matching
from kanon_milp.verify.foreign import Domain, Stands, covering_level, suppressed_cells, with_symbol
from kanon_milp.verify.tables import (
    MISSING_KEYS,
    MissingKeys,
    Original,
    classes,
    counts_of,
    open_released,
    rows_by_id,
    tally,
    text_columns,
)


@dataclass(frozen=True)
class Metrics:
    """All measures of one released table, about its quasi-identifiers.

    suppressions: suppressed cells. groups (#h), h_avg, h_max: number of released row types, and their mean and largest
    number of rows. discernibility: Σ |group|² (Bayardo and Agrawal 2005). class_size: h_avg/k (LeFevre et al. 2006), 1
    at best; None without k. usefulness: see `usefulness`. precision: 1 - mean of level/height over all cells (Sweeney
    2002), 1 for the table itself. certainty_penalty: mean NCP of the cells (Xu et al. 2006), from 0 to 1: the values
    that a cell may stand for as a share of the column's, or of its range if it is numeric. box_penalty: the same with
    (|values| - 1)/(|values of the column| - 1) of columns that are not numeric: GCP (Ghinita et al. 2007), as a share
    of all cells, of the boxes that codes of Mondrian and k-member report; a column whose cells stand for no values,
    such as means, is measured by the values of its groups. information_loss: 100·SSE/SST of microaggregation, on
    average over the numeric columns, which is that of standardized ones; a row stands for the number in its cell, or
    else for the mean of its group. entropy_loss: non-uniform entropy (Gionis and Tassa 2009) as a share of that of a
    fully suppressed table. risk_highest, risk_average: of the prosecutor, 1/|group| at most and on average over the
    rows. rows_at_risk: share of rows in groups of fewer than k, of unique rows without k. All three are about the rows
    of which something is released; suppressed_rows: how many others there are (where there are no more than these, they
    are one group like any other). missing_keys: "own", or "match" where these three count the rows that match a row, a
    missing or suppressed key matching any value. population_smallest: with sampling weights, the smallest F_k, the sum
    of the weights of the rows that are alike with a row, or match it; individual_highest, individual_average: of the
    individual risk that follows from f_k rows of a population of F_k (`Frequencies.individual_risk`), of the same rows.

    None: what cannot be told, since the numbers of rows differ, original values do not lie in their cells, or no column
    is numeric.
    """

    suppressions: int
    groups: int
    h_avg: Fraction
    h_max: int
    discernibility: int
    class_size: Fraction | None
    usefulness: Fraction | None
    precision: Fraction | None
    certainty_penalty: Fraction | None
    box_penalty: Fraction | None
    information_loss: Fraction | None
    entropy_loss: float | None
    risk_highest: Fraction
    risk_average: Fraction
    rows_at_risk: Fraction
    suppressed_rows: int
    missing_keys: str = "own"
    population_smallest: Fraction | None = None
    individual_highest: float | None = None
    individual_average: float | None = None
    kind: nw.Implementation = field(default=nw.Implementation.POLARS, repr=False, compare=False)

    def to_frame(self) -> Any:
        """A row with all measures as numbers, and beside each exact one its value as text (`h_avg_exact`: "7/2"), in
        the user's own kind of data frame."""
        row: dict[str, Any] = {}
        for name, value in self.as_dict().items():
            row[name] = value
            if isinstance(exact := getattr(self, name), Fraction):
                row[f"{name}_exact"] = str(exact)
        return in_kind(pl.DataFrame([row]), self.kind)

    def as_dict(self) -> dict[str, int | float | str | None]:
        """The measures as plain numbers, and the reading of missing keys that risks go by."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "kind"}
        return {name: float(value) if isinstance(value, Fraction) else value for name, value in found.items()}


def measure(
    problem: Problem,
    anonymized: Any,
    *,
    missing_keys: MissingKeys = "own",
    row_id: str | None = None,
    partition: Sequence[int] | Ints | None = None,
    weight: str | None = None,
) -> Metrics:
    """Measure a released table of a problem, of whatever tool.

    Cells may be labels of the problem's hierarchies, or those of other tools, such as `20-39`, `[20, 40[`, `>=20`, `{a,
    b}`, `130**`, which have the level of the least general label that covers them. If values were suppressed by leaving
    them out, all missing ones of the column are suppressed; a missing cell and the symbol still make different rows.
    missing_keys, row_id: as in `verify`; a dropped row is charged as a fully suppressed one. partition: the group of
    each released row, if rows of several groups may be alike; numbers and sizes of groups are then those of the
    partition, and risks are still those of rows that are alike. weight: the column of sampling weights of the original,
    how many of the population each row stands for, for the risks of the population that they estimate. Raises
    InputError for a released table without rows or without one of the quasi-identifiers, for a partition of another
    length, and for weights below 1.
    """
    table = Original.of(expect_problem(problem, "measure").table)
    one_of(missing_keys, MISSING_KEYS, "missing_keys")
    missing_keys = "match" if problem.table.keys_match else missing_keys
    frame = open_released(anonymized, table)
    released = text_columns(frame, table.quasi_identifiers)
    original, rows = table.keys[list(table.quasi_identifiers)], None
    dropped = original.clear()
    if row_id is not None:
        rows = rows_by_id(table, frame, row_id)
        dropped = original[np.setdiff1d(np.arange(table.rows), rows)]
        original = original[rows]
    else:
        table = table.divided(frame)
        original = table.keys[list(table.quasi_identifiers)]
    weights = counts_of(frame, table.count, "anonymized table")
    suppressed = suppressed_cells(original, released, table.symbol)
    group_of_row = classes(released)[0]
    if partition is not None:
        group_of_row = np.unique(group_numbers(partition, released.height, "partition"), return_inverse=True)[1]
    sizes, same = tally(group_of_row, weights).tolist(), released.height == original.height
    average = Fraction(sum(sizes), len(sizes))
    of_row, unlinked = linked_rows(released, suppressed, weights, missing_keys)
    estimated: dict[str, Any] = {}
    if weight is not None:
        if not same:
            raise InputError("weight: the released table has other rows than the original; name a column with row_id")
        weight = column_name(weight, "weight")
        if weight not in table.frame.columns:
            known = list(table.frame.columns)
            raise InputError(f'{table.source}: there is no column "{weight}" of weights{nearest(weight, known)}')
        texts = as_text(table.frame, (weight,), table.source)[weight].alias("")
        sampling = sampling_weights(texts, weight, table.source)
        sampling = sampling if rows is None else [sampling[row] for row in rows]
        shown = ~_all_gone(suppressed).to_numpy()
        estimated = _estimated(released, suppressed, weights, sampling, missing_keys, shown if shown.any() else ~shown)
    k = max((r.k for r in problem.requirements if isinstance(r, KAnonymity)), default=None)
    cells, entropy_loss, box_penalty, information_loss = None, None, None, None
    if same:
        gone = pl.DataFrame({name: [table.symbol] * dropped.height for name in dropped.columns})
        read = with_symbol(released, suppressed, table.symbol)
        full = pl.concat([original, dropped])
        every = np.concatenate([weights, np.ones(dropped.height, dtype=np.int64)])
        of_column = _cells(problem, full, pl.concat([read, gone]) if gone.height else read, every)
        cells = None if any(each is None for each in of_column) else [cell for each in of_column for cell in each or ()]
        if not dropped.height:
            box_penalty = _box_penalty(original, of_column, group_of_row, weights)
            information_loss = _information_loss(original, released, group_of_row, weights)
    if cells is not None:
        most = math.fsum(each.rows * each.most for each in cells)
        entropy_loss = math.fsum(each.rows * each.bits for each in cells) / most if most else 0.0
    return Metrics(
        suppressions=int(suppressed.sum_horizontal().to_numpy() @ weights),
        groups=len(sizes),
        h_avg=average,
        h_max=max(sizes),
        discernibility=sum(size * size for size in sizes),
        class_size=None if k is None else average / k,
        usefulness=usefulness(original, released) if same else None,
        precision=None if cells is None else 1 - _mean([(each.height, each.rows) for each in cells]),
        certainty_penalty=None if cells is None else _mean([(each.penalty, each.rows) for each in cells]),
        box_penalty=box_penalty,
        information_loss=information_loss,
        entropy_loss=entropy_loss,
        risk_highest=Fraction(1, min(of_row)),
        risk_average=sum((Fraction(rows, size) for size, rows in of_row.items()), Fraction(0)) / of_row.total(),
        rows_at_risk=Fraction(sum(rows for size, rows in of_row.items() if size < (k or 2)), of_row.total()),
        suppressed_rows=unlinked,
        missing_keys=missing_keys,
        **estimated,
        kind=table.frame.implementation,
    )


WEIGHT = re.compile(r"\s*\+?(\d{1,15}\.?\d{0,15}|\.\d{1,15})\s*", re.ASCII)


def sampling_weights(column: pl.Series, name: str, source: str) -> list[Fraction]:
    """Numbers of at least 1, exactly; raises InputError for another cell."""
    found = []
    for row, cell in enumerate(column.to_list(), 1):
        weight = None if cell is None or not WEIGHT.fullmatch(cell) else Fraction(cell.strip())
        if weight is None or weight < 1:
            raise InputError(
                f'{source}: column "{name}", row {row}: a sampling weight must be a number of at least 1, as a row '
                "stands for itself at least"
            )
        found.append(weight)
    return found


def _estimated(
    released: pl.DataFrame,
    suppressed: pl.DataFrame,
    weights: Ints,
    sampling: Sequence[Fraction],
    missing_keys: MissingKeys,
    shown: Flags,
) -> dict[str, Any]:
    """What sampling weights tell of the rows that are shown."""
    if missing_keys == "own":  # what is fully suppressed counts for no other row
        released, suppressed, weights = released.filter(shown), suppressed.filter(shown), weights[shown]
        sampling = [each for each, is_shown in zip(sampling, shown.tolist(), strict=True) if is_shown]
        shown = shown[shown]
    found = Frequencies.of(released, suppressed, weights, sampling, missing_keys)
    risk, of_row = np.array(found.individual_risk), found.of_row[shown]
    return {
        "population_smallest": found.population[of_row].min(),
        "individual_highest": float(risk[of_row].max()),
        "individual_average": float(risk[of_row] @ weights[shown] / weights[shown].sum()),
    }


class Frequencies(NamedTuple):
    """How often keys occur. of_row: int64 (n,), the number of each row among the different ones. rows: int64, f_k, how
    many rows are alike with each of these, or match it. population: object, F_k, the sum of their sampling weights."""

    of_row: Ints
    rows: Ints
    population: Any

    @classmethod
    def of(
        cls,
        released: pl.DataFrame,
        suppressed: pl.DataFrame,
        weights: Ints,
        sampling: Sequence[Fraction] | None,
        missing_keys: MissingKeys,
    ) -> Frequencies:
        """Parameters as of `linked_rows`; sampling: of each row; without them a row stands for itself."""
        found = Matching(released, suppressed, weights) if missing_keys == "match" else None
        of_row = classes(released)[0] if found is None else found.of_row
        amounts = np.full(int(of_row.max()) + 1, Fraction(0), dtype=object)
        each = [Fraction(1)] * len(of_row) if sampling is None else sampling
        for at, rows, weight in zip(of_row.tolist(), weights.tolist(), each, strict=True):
            amounts[at] += rows * weight
        if found is None:
            return cls(of_row, tally(of_row, weights), amounts)
        return cls(of_row, found.size, found.sums(amounts[:, None])[:, 0])

    @property
    def individual_risk(self) -> list[float]:
        """Of each of the different rows: the risk that the posterior distribution of its frequency in the population
        gives (Benedetti and Franconi 1998; Franconi and Polettini 2004), with p = f/F: p/(1-p)·ln(1/p) for f = 1,
        p/(1-p) - (p/(1-p))²·ln(1/p) for f = 2, and for more the approximation p/(f - (1-p)); 1/f where F = f. That is
        `indivRisk(method = "approx")` of sdcMicro."""
        return [_individual_risk(f, f / each) for f, each in zip(self.rows.tolist(), self.population, strict=True)]


def _individual_risk(f: int, share: Fraction) -> float:
    if share == 1:
        return 1 / f
    p, rest = float(share), float(1 - share)
    if f > 2:
        return p / (f - rest)
    log = -math.log(p) if p < 0.5 else -math.log1p(-rest)
    if f == 1:
        return p / rest * log
    if rest > 0.01:
        return p / rest - (p / rest) ** 2 * log
    return 0.5 - sum(2 * rest**n / (n * (n + 1) * (n + 2)) for n in range(1, 9))  # of which the former is a difference


def linked_rows(
    released: pl.DataFrame, suppressed: pl.DataFrame, weights: Ints, missing_keys: MissingKeys = "own"
) -> tuple[Counter[int], int]:
    """How many of the rows of which something is released are alike with so many, or match so many, and the number of
    other rows. Where there are no more than these, they are one group like any other.

    released: the quasi-identifiers as text; suppressed: of each cell whether it is. weights: how many
    rows each row stands for.
    """
    all_gone = _all_gone(suppressed).to_numpy()
    gone = int(weights[all_gone].sum())
    if missing_keys == "match":
        found = Matching(released, suppressed, weights)
        linked = np.ones(len(weights), dtype=bool) if all_gone.all() else ~all_gone
        sizes, at = np.unique(found.size[found.of_row][linked], return_inverse=True)
        return Counter(dict(zip(sizes.tolist(), tally(at, weights[linked]).tolist(), strict=True))), gone
    groups = [gone] if all_gone.all() else group_sizes(released.filter(~all_gone), weights[~all_gone])
    return _by_row(groups), gone


def _by_row(groups: Sequence[int]) -> Counter[int]:
    return Counter({size: size * number for size, number in Counter(groups).items()})


def _all_gone(suppressed: pl.DataFrame) -> pl.Series:
    return suppressed.select(pl.all_horizontal(pl.all()).alias("gone")).to_series()


def group_sizes(released: pl.DataFrame, weights: Ints) -> list[int]:
    """Rows of each output row type, in the order of first appearance; #h is how many there are. weights: how many rows
    each row stands for."""
    return [int(size) for size in tally(classes(released)[0], weights)]


def usefulness(original: pl.DataFrame, released: pl.DataFrame) -> Fraction:
    """Average tuple diversity of the output row types (Loukides and Shao 2007); small is good.

    The diversity of a column in a group: if all of its values are numbers, the largest minus the smallest original
    value in the group, divided by the same of the table; else the number of distinct original values in the group,
    divided by that of the table. Tuple diversity is the sum over the columns, usefulness its mean over the groups, each
    group counting once; so it lies between 0 and the number of columns. This is what gives the published values of
    Bredereck et al. 2013, Table 1 (Adult, greedy heuristic: 2.062 for k = 2, 3.106 for k = 10).

    original, released: the quasi-identifiers as text, same columns, same row order.
    """
    group_of_row, groups = classes(released)
    total = Fraction(0)
    for name in original.columns:
        numbers = numeric_values(_unnamed(original, name))
        if numbers is None:
            value_of_row, values = classes(original[[name]])
            pairs = pl.Series(group_of_row * values.height + value_of_row)
            total += Fraction(pairs.n_unique(), values.height)
        else:
            total += _ranges(group_of_row, numbers, groups.height)
    return total / groups.height


def numeric_values(column: pl.Series) -> list[Fraction] | None:
    """A column's values as exact numbers, in row order; None if some value is none, all are the same, or it is not
    clear what their shares of the range are."""
    known = numbers_of(column.unique().to_list())
    if column.n_unique() < 2 or len(known.of) < column.n_unique() or not known.is_proportional:
        return None
    return [known.of[value] for value in column.to_list()]


def _unnamed(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column without its name: methods of a series called ^a.*$ would read that as a pattern."""
    return frame[name].alias("cells")


def _ranges(group: Ints, numbers: Sequence[Fraction], groups: int) -> Fraction:
    """Sum over the groups of the range of their numbers, as a share of the range of all."""
    known = sorted(set(numbers))
    place = {number: at for at, number in enumerate(known)}
    at = np.array([place[number] for number in numbers])
    low, high = np.full(groups, len(known)), np.full(groups, -1)
    np.minimum.at(low, group, at)
    np.maximum.at(high, group, at)
    total = sum((known[b] - known[a] for a, b in zip(low.tolist(), high.tolist(), strict=True)), Fraction(0))
    return total / (known[-1] - known[0])


@dataclass(frozen=True)
class _Cell:
    """So many cells of a column with one original value and one label.

    height: level/height of the label. penalty: its NCP. bits: -log₂ of the share of the value among the rows that the
    label may stand for; most: the same if it were suppressed. box: its penalty as a side of a box.
    """

    rows: int
    height: Fraction
    penalty: Fraction
    box: Fraction
    bits: float
    most: float


def _cells(problem: Problem, original: pl.DataFrame, released: pl.DataFrame, weights: Ints) -> list[list[_Cell] | None]:
    """The cells of each column, those that are alike together; None where a label stands for nothing that is known."""
    if any(tree.renamed for tree in problem.recoding.hierarchies.values()):
        table = Original.of(problem.table)
        released = Rules.of(table, problem.recoding).unambiguous(table, released)
    return [
        _column_cells(problem, name, _unnamed(original, name), _unnamed(released, name), weights)
        for name in original.columns
    ]


def _column_cells(
    problem: Problem, name: str, original: pl.Series, released: pl.Series, weights: Ints
) -> list[_Cell] | None:
    rows_in_all = int(weights.sum())
    held = pl.DataFrame({"value": original, "label": released, "rows": weights})
    pairs = held.group_by("value", "label").agg(pl.col("rows").sum())
    of_value = held.group_by("value").agg(pl.col("rows").sum())
    counts = dict(zip(of_value["value"].to_list(), of_value["rows"].to_list(), strict=True))
    labels = _Labels(problem, name, counts)
    originals: dict[Label, set[Label]] = defaultdict(set)
    for value, label, _ in pairs.rows():
        originals[label].add(value)
    found = []
    for value, label, rows in pairs.rows():
        known = labels.of(value, label, originals[label])
        if known is None:
            return None
        height, penalty, box, among = known
        bits = -math.log2(counts[value] / among)
        found.append(_Cell(rows, height, penalty, box, bits, -math.log2(counts[value] / rows_in_all)))
    return found


def _box_penalty(
    original: pl.DataFrame, of_column: Sequence[list[_Cell] | None], group_of_row: Ints, weights: Ints
) -> Fraction:
    """Mean penalty of the cells as sides of boxes: of what they stand for, else of the values of their group."""
    total = Fraction(0)
    for name, cells in zip(original.columns, of_column, strict=True):
        if cells is not None:
            total += _mean([(each.box, each.rows) for each in cells])
            continue
        frame = pl.DataFrame({"group": group_of_row, "value": _unnamed(original, name), "rows": weights})
        share = ncp(frame["value"].unique().to_list(), beyond_first=True)
        sides = frame.group_by("group").agg(pl.col("value").unique(), pl.col("rows").sum())
        total += _mean([(share(values), rows) for _, values, rows in sides.rows()])
    return total / len(of_column)


def _information_loss(
    original: pl.DataFrame, released: pl.DataFrame, group_of_row: Ints, weights: Ints
) -> Fraction | None:
    """100·SSE/SST, on average over the numeric columns; None where there is none."""
    shares = []
    for name in original.columns:
        values = numeric_values(_unnamed(original, name))
        if values is None:
            continue
        unit = math.lcm(*(value.denominator for value in values))
        exact = [int(value * unit) for value in values]  # for speed
        cells = _unnamed(released, name).to_list()
        written = numbers_of(set(cells)).of
        of_mean: dict[int, list[tuple[int, int]]] = defaultdict(list)
        lost = Fraction(0)
        for group, value, cell, rows in zip(group_of_row.tolist(), exact, cells, weights.tolist(), strict=True):
            if cell in written:
                lost += rows * (value - written[cell] * unit) ** 2
            else:
                of_mean[group].append((value, rows))
        lost += sum(map(_squares, of_mean.values()), Fraction(0))
        shares.append(lost / _squares(list(zip(exact, weights.tolist(), strict=True))))
    return 100 * sum(shares, Fraction(0)) / len(shares) if shares else None


def _squares(values: Sequence[tuple[int, int]]) -> Fraction:
    """Sum of the squared distances from the mean, of values that so many rows have."""
    total, rows = sum(value * times for value, times in values), sum(times for _, times in values)
    return sum(value * value * times for value, times in values) - Fraction(total**2, rows)


class _Labels:
    """What the labels of a column stand for. counts: how many rows have each value."""

    def __init__(self, problem: Problem, name: str, counts: Mapping[Label, int]) -> None:
        self._counts, self._symbol = counts, problem.table.symbol
        tree = problem.recoding.hierarchies.get(name)
        self._paths: Mapping[Label, tuple[Label, ...]] | None = None if tree is None else tree.released
        self._ncp, self._box = ncp(counts), ncp(counts, beyond_first=True)
        self._levels: dict[int, dict[Label, tuple[Fraction, Fraction, int]]] = {}
        self._domain = Domain(counts)
        self._foreign: dict[Label, Stands | None] = {}

    def of(self, value: Label, label: Label, originals: set[Label]) -> tuple[Fraction, Fraction, Fraction, int] | None:
        """Level/height of a label that a value got, its penalty, the same as a side of a box, and how many rows have a
        value that it may stand for.

        originals: all values that got it.
        """
        path = self._path(value)
        stands = self._read(label, originals)
        if stands is not None and not stands.kept:
            return Fraction(covering_level(self._path, stands.values), len(path) - 1), *self._penalty(stands.values)
        if label == value or stands is not None:
            return Fraction(0), Fraction(0), Fraction(0), self._counts[value]
        if label not in path:
            return None
        level, height = path.index(label), len(path) - 1
        if level not in self._levels:
            self._levels[level] = self._of_level(level, level == height)
        return Fraction(level, height), *self._levels[level][label]

    def _read(self, label: Label, originals: set[Label]) -> Stands | None:
        """What the label of another tool stands for; None for one of ours, and for one that nobody can read."""
        if label not in self._foreign:
            ours = all(label in self._path(each) for each in originals)
            self._foreign[label] = None if ours else self._domain.stands_for(label, originals)
        return self._foreign[label]

    def _of_level(self, level: int, top: bool) -> dict[Label, tuple[Fraction, Fraction, int]]:
        """Penalties, and number of rows, of all labels of a level."""
        under: dict[Label, list[Label]] = {}
        for each in self._counts:
            under.setdefault(self._symbol if top or self._paths is None else self._paths[each][level], []).append(each)
        return {label: self._penalty(values) for label, values in under.items()}

    def _penalty(self, values: Sequence[Label]) -> tuple[Fraction, Fraction, int]:
        """NCP of a cell that may be any of these values, also as a side of a box, and how many rows have one."""
        return self._ncp(values), self._box(values), sum(map(self._counts.__getitem__, values))

    def _path(self, value: Label) -> Sequence[Label]:
        return (value, self._symbol) if self._paths is None else (*self._paths[value][:-1], self._symbol)


def _mean(weighted: Sequence[tuple[Fraction, int]]) -> Fraction:
    rows = sum(count for _, count in weighted)
    return sum((value * count for value, count in weighted), Fraction(0)) / rows


LARGEST = 24  # values of a column that are counted one by one


def describe_release(problem: Problem, released: Any, report: Report | None) -> dict[str, Any]:
    """The entry `measures` of `result.json`: risk before and after, quality, columns, groups, sensitive attributes.

    released: a table with the rows of the problem's in their order. risk: see `_risk`; k is 2 where none is asked for.
    missing_keys: "match" where it counts the rows that match a row, as `sensitive` does then.
    population_matches: under journalist risk, the fewest rows of the population that match a released row; `journalist`
    is about that population then, and nothing is said of it before.
    unit_risk: the same over units of protection, see there; None where rows are counted. columns: rows whose cell is
    kept, generalized and suppressed; levels: rows on each level of the column's hierarchy, from 0 (as it was) to the
    top (suppressed); numbers of distinct values before and after; (rows, of which kept) for each of the most frequent
    values, and for all others together. group_sizes: (size, how many groups have it). sensitive: the strongest p, l
    (frequency), alpha and t (equal distance) that hold in every group, from the verifier's report. released_as_is: see
    `_released_as_is`.
    """
    table = Original.of(problem.table)
    names = list(table.quasi_identifiers)
    frame, trees = open_released(released, table), problem.recoding.hierarchies
    table = table.divided(frame)
    before, after, weights = table.keys[names], text_columns(frame, names), table.weights
    k = max((each.k for each in problem.requirements if isinstance(each, KAnonymity)), default=2)
    suppressed = suppressed_cells(before, after, table.symbol)
    reading: MissingKeys = "match" if problem.table.keys_match else "own"
    every = before.select(pl.all().is_null() & False)  # no row of the original is left out
    known = before.select(pl.when(pl.all() != table.symbol).then(pl.all())) if reading == "match" else before
    linked = {
        "before": linked_rows(known, every, weights, reading),
        "after": linked_rows(after, suppressed, weights, reading),
    }
    risks: dict[str, Any] = {when: _risk(*each, k, reading) for when, each in linked.items()}
    matches = None if report is None else report.population_matches
    if matches is not None:
        risks["before"]["journalist"], risks["after"]["journalist"] = None, 1 / max(matches, 1)
    return {
        "risk": {"k": k, "population_matches": matches, "missing_keys": reading, **risks},
        "unit_risk": None if table.unit is None else _unit_risks(problem.table, before, after, suppressed, k),
        "quality": measure(problem, released).as_dict(),
        "columns": [_column(name, before[name], after[name], weights, table.symbol, trees.get(name)) for name in names],
        "group_sizes": [list(pair) for pair in sorted(Counter(group_sizes(after, weights)).items())],
        "sensitive": [
            {"name": name, "p": held.p, "l": float(held.l), "alpha": float(held.alpha), "t": float(held.t)}
            for name, held in (report.released.sensitive if report is not None else {}).items()
        ],
        "released_as_is": _released_as_is(table, frame, after),
    }


def _released_as_is(table: Original, frame: nw.DataFrame[Any], after: pl.DataFrame) -> dict[str, Any]:
    """What columns that are released as they are tell: columns: of each the number of values, and `unique`, rows whose
    value no other row has; together: rows whose quasi-identifiers as released and all of these columns no other row
    has. uncounted: columns whose values have no text, such as lists, which are in none of this."""
    names = [name for name in frame.columns if name not in after.columns and name != table.count]
    uncounted = without_text(frame[names].to_polars()) if names else []
    texts = text_columns(frame, [name for name in names if name not in uncounted])
    columns = [
        {
            "name": each.name,
            "sensitive": each.name in table.sensitive,
            "values": each.n_unique(),
            "unique": _alone(each.to_frame(), table.weights),
        }
        for each in texts
    ]
    together = _alone(pl.concat([after, texts], how="horizontal"), table.weights)
    return {"columns": columns, "together": together, "uncounted": uncounted}


def _alone(frame: pl.DataFrame, weights: Ints) -> int:
    """How many rows are like no other."""
    return group_sizes(frame, weights).count(1)


def _risk(of_row: Counter[int], suppressed_rows: int, k: int, reading: MissingKeys) -> dict[str, float | int | None]:
    """Risks, and numbers of rows that are unique, and in groups of fewer than k. of_row, suppressed_rows: as
    `linked_rows` tells them; all is about the former. groups: None where the rows that match each are counted.

    highest, average: of the prosecutor, who knows that somebody is in the table, 1/|group| of a row. journalist: the
    highest for somebody who does not know that, marketer: the share of rows that somebody who links all of them finds
    on average, both with the table in place of the population, of which nothing is known here."""
    rows, smallest = of_row.total(), min(of_row)
    average = float(sum(Fraction(count, size) for size, count in of_row.items()) / rows)
    return {
        "highest": 1 / smallest,
        "average": average,
        "journalist": 1 / smallest,
        "marketer": average,
        "unique_rows": of_row[1],
        "rows_below_k": sum(count for size, count in of_row.items() if size < k),
        "suppressed_rows": suppressed_rows,
        "rows": rows,
        "groups": sum(count // size for size, count in of_row.items()) if reading == "own" else None,
        "smallest": smallest,
    }


def _unit_risks(
    table: Table, before: pl.DataFrame, after: pl.DataFrame, suppressed: pl.DataFrame, k: int
) -> dict[str, Any]:
    """The entry `unit_risk`: before, and after without rows of which nothing is released, unless these are all."""
    units = table.column(table.roles.unit[0])
    shown, left = ~_all_gone(suppressed), units
    if shown.any():
        after, left = after.filter(shown), units.filter(shown)
    return {"unit": table.unit, "k": k, "before": unit_risk(before, units, [k]), "after": unit_risk(after, left, [k])}


def unit_risk(keys: pl.DataFrame, units: pl.Series, ks: Sequence[int]) -> dict[str, Any]:
    """Risks of units of protection, such as patients with several rows each.

    keys: the quasi-identifiers, row by row; units: whose rows these are. Somebody who knows the quasi-identifiers of
    some row of a unit finds it among the different units in that row's group: its risk is 1 / these, in the group of
    its rows that has the fewest. highest, average: of this over units. alone: units with a row in a group of their rows
    alone. smallest: fewest units in a group. below: for each k, as text, units with a row in a group of fewer units.
    """
    of_row = classes(keys)[0]
    number = classes(units.to_frame())[0]
    pairs = np.unique(np.column_stack([of_row, number]), axis=0)
    held = np.bincount(pairs[:, 0])
    worst = np.full(int(number.max()) + 1, len(of_row))
    np.minimum.at(worst, pairs[:, 1], held[pairs[:, 0]])
    return {
        "units": len(worst),
        "highest": float(1 / worst.min()),
        "average": float((1 / worst).mean()),
        "alone": int((worst == 1).sum()),
        "smallest": int(held.min()),
        "below": {str(k): int((worst < k).sum()) for k in ks},
    }


def _column(
    name: str, before: pl.Series, after: pl.Series, weights: Ints, symbol: str, tree: Hierarchy | None
) -> dict[str, Any]:
    cells = pl.DataFrame([before.alias("before"), after.alias("after"), pl.Series("rows", weights)])
    frame = cells.group_by("before", "after").agg(pl.col("rows").sum())
    frame = frame.with_columns(
        (pl.col("before").eq_missing(pl.col("after")) * pl.col("rows")).alias("kept"),
        ((pl.col("after") == symbol).fill_null(value=False) * pl.col("rows")).alias("suppressed"),
    )
    kept, suppressed = int(frame["kept"].sum()), int(frame["suppressed"].sum())
    values = frame.group_by("before").agg(pl.col("rows").sum(), pl.col("kept").sum()).select("rows", "kept")
    values = values.sort("rows", "kept", descending=True)
    others = values.slice(LARGEST)
    levels = [kept, *[0] * (0 if tree is None else tree.height - 1), suppressed]
    between = frame.filter((pl.col("kept") == 0) & (pl.col("suppressed") == 0)).select("before", "after", "rows")
    paths = {} if tree is None else tree.released
    for value, label, rows in between.rows():
        if label in paths.get(value, ()):
            levels[paths[value].index(label)] += rows
    return {
        "name": name,
        "levels": levels,
        "kept": kept,
        "generalized": int(weights.sum()) - kept - suppressed,
        "suppressed": suppressed,
        "values_before": before.n_unique(),
        "values_after": after.n_unique(),
        "largest_values": [list(row) for row in values.head(LARGEST).rows()],
        "other_values": [int(others["rows"].sum()), int(others["kept"].sum())],
    }
