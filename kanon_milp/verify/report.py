"""What the verifier found: facts, violations, a summary, and what holds in each single group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError, counted, percent, printable
from kanon_milp.system.arrays import Flags
from kanon_milp.verify.counts import Counts
from kanon_milp.verify.groups import GroupFacts, Grouping, SensitiveFacts, group_diversity
from kanon_milp.verify.numbers import LogRatio, Ratios, both, in_words

MINIMAL = (
    "yes (no single cell, and no column of an entire group, could be more specific; this says nothing about how far "
    "the loss is from the least possible)"
)
MATCHING = "a missing or suppressed cell was taken to match any value, as sdcMicro counts (missing keys: match)"
ALONE = (
    "not judged, as that takes the original table (--original): whether the released cells are true, what was lost, "
    "and whether less could be; t is the distance to the released table as a whole"
)


def _group_frame(groups: Grouping) -> pl.DataFrame:
    first = np.unique(groups.of_row, return_index=True)[1]
    columns = [
        pl.Series("group", np.arange(1, len(groups.size) + 1)),
        pl.Series("first_row", first + 1),
        pl.Series("rows", groups.size),
        *(pl.Series("units", groups.held(unit)) for unit in groups.sensitive.hidden),
        pl.Series("suppressed", groups.suppressed),
    ]
    for name, counts in groups.counts.items():
        columns += _attribute(name, counts, groups.closeness[name])
    return pl.DataFrame(columns)


def _attribute(name: str, counts: Counts, closeness: dict[str, Ratios]) -> list[pl.Series]:
    starts, complete = counts.starts[:-1], counts.distinct == len(counts.labels)
    gains = counts.gains.largest_in(starts)
    changes = counts.changes.largest_in(starts).reduced()
    recursive = counts.recursive(2)
    logarithm = cache(lambda above, below: LogRatio(Fraction(above, below)).natural)
    deltas = pl.Series(list(map(logarithm, changes.above.tolist(), changes.below.tolist())), dtype=pl.Float64)
    entropy = cache(lambda diversity: (diversity.value, diversity.text))
    entropies = [entropy(group_diversity(counts, g)) for g in range(counts.groups)]
    return [
        pl.Series(f"{name}.p", counts.distinct),
        *_both(f"{name}.l", counts.frequency),
        pl.Series(f"{name}.l_entropy", [value for value, _ in entropies]),
        pl.Series(f"{name}.l_entropy_exact", [text for _, text in entropies]),
        *_both(f"{name}.c_2", Ratios(recursive.above, np.maximum(recursive.below, 1)), counts.distinct > 1),
        *_both(f"{name}.alpha", counts.shares),
        *(series for distance, found in closeness.items() for series in _both(f"{name}.t_{distance}", found)),
        *_both(f"{name}.beta", Ratios(gains.above - gains.below, gains.below)),
        deltas.set(pl.Series(~complete), None).alias(f"{name}.delta"),
        deltas.alias(f"{name}.delta_present"),
        pl.Series(f"{name}.delta_present_exact", changes.texts()),
    ]


def _both(name: str, ratios: Ratios, known: Flags | None = None) -> list[pl.Series]:
    """Ratios as floats and as exact texts; nothing for groups that have none."""
    found = [pl.Series("", ratios.floats()), pl.Series("", ratios.texts(), dtype=pl.String)]
    if known is not None:
        found = [series.set(pl.Series(~known), None) for series in found]
    return [series.alias(each) for series, each in zip(found, (name, f"{name}_exact"), strict=True)]


@dataclass(frozen=True)
class Report:
    """What holds for a released table, exactly, and what of what was asked does not.

    violations: each names what is wrong, columns and row numbers (from 1, header not counted), never a cell.
    cost: loss, Σ over rows of weight · level cost; None where it is not defined (other rows, illegal cells).
    suppressed_cells, fully_suppressed_rows: quasi-identifier cells that are the symbol, rows in which all
    are.
    suppressed_rows: which reading of fully suppressed rows was asked for, "strict" or "exempt".
    released: facts about the groups of equal released rows. partition: about the groups of a partition that
    was given.
    minimal: whether the table is a minimal generalization with what was asked for (Bredereck et al. 2012, section 4.4):
    it has it, and would not with any entry replaced by a more specific value. None where there is nothing to check this
    against: no requirements, other rows, columns or cells than the original allows; and where nobody looked, as a solve
    session does not once its time is over. A table that is not minimal is no violation. not_minimal: what could be more
    specific.
    own: requirements and ground distances of the user's making: the verifier has no definition of them, and takes what
    their own code says.
    warnings: what is no violation, and to be known: identifying columns of which groups have fewer than k values.
    cells: which cells were legal, "labels" of the recoding, or "intervals" and sets of other tools too. Only of these:
    generalized_cells: cells that are neither the original value nor the symbol; certainty_penalty: mean NCP of the
    cells (Xu et al. 2006), from 0 to 1; and `cost` is that of the table in which each such cell is the least general
    label of the recoding that covers it.
    missing_keys: "own", or "match" where a missing or suppressed cell was taken to match any value: `released` is then
    about the rows that match each of the different rows. alone: the table was judged without its original, of which no
    cost is known then. total: what all rows as one group would lose, where the cost is one of whole groups.
    dropped_rows: rows of the original that are not released. notes: what to know that is no violation.
    population_matches: under journalist risk, the fewest rows of the population that match a released row. kind: the
    library of the user's own data frame.
    """

    violations: tuple[str, ...]
    n: int
    m: int
    cost: Fraction | None
    suppressed_cells: int
    fully_suppressed_rows: int
    suppressed_rows: str
    privacy: tuple[Mapping[str, object], ...]
    released: GroupFacts
    partition: GroupFacts | None = None
    minimal: bool | None = None
    not_minimal: str | None = None
    own: tuple[str, ...] = ()
    cells: str = "labels"
    generalized_cells: int | None = None
    certainty_penalty: Fraction | None = None
    warnings: tuple[str, ...] = ()
    missing_keys: str = "own"
    alone: bool = False
    dropped_rows: int = 0
    notes: tuple[str, ...] = ()
    total: Fraction | None = None
    population_matches: int | None = None
    groupings: tuple[Grouping, Grouping | None] | None = field(default=None, repr=False, compare=False)
    kind: Any = field(default=nw.Implementation.POLARS, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def information_loss(self) -> Fraction | None:
        """The cost as a percentage of `total`: 100·SSE/SST of microaggregation, the GCP of boxes. None of tables whose
        cost is one of rows, and where there is nothing to lose."""
        return None if self.cost is None or not self.total else 100 * self.cost / self.total

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations

    @property
    def groups(self) -> int:
        """Number of released row types."""
        return self.released.groups

    @property
    def discernibility(self) -> int:
        """Σ |group|² over the groups of equal released rows; a group of suppressed rows counts like any other."""
        sizes: list[int] = [] if self.groupings is None else self.groupings[0].size.tolist()
        return sum(size * size for size in sizes)

    @property
    def k_strict(self) -> int:
        """Size of the smallest group, fully suppressed rows being a group like any other."""
        return self.released.k_strict

    @property
    def k_exempt(self) -> int | None:
        """Size of the smallest group that is not fully suppressed; None if there is none."""
        return self.released.k_exempt

    @property
    def smallest_group(self) -> int:
        """Size of the smallest group."""
        return self.released.k_strict

    @property
    def mean_group(self) -> Fraction:
        """Mean size of a group."""
        return self.released.mean_group

    @property
    def largest_group(self) -> int:
        """Size of the largest group."""
        return self.released.largest_group

    def group_frame(self, *, partition: bool = False) -> Any:
        """One row a group, in the order of their first rows, in the user's own kind of data frame; no value of the
        table is in it, only counts of rows.

        Columns: group (number from 1), first_row (from 1, header not counted), rows, units (different ones, where these
        are counted), suppressed (all quasi-identifiers are the symbol), and for each sensitive attribute A: A.p, A.l
        (frequency), A.l_entropy (rounded down), A.c_2 (r_1 / (r_2 + ... + r_m); nothing for groups of one value),
        A.alpha, A.t_equal and the other ground distances, A.beta, A.delta (natural logarithm, rounded up; nothing where
        the group lacks a value) and A.delta_present. Each number that need not be an integer has its exact text beside
        it, as A.l_exact; for delta_present that of e^delta.
        partition: of the partition that was given, instead of the groups of equal released rows.
        """
        chosen = None if self.groupings is None else self.groupings[partition]
        if chosen is None:
            raise InputError("there are no groups to list: the table was verified without a partition")
        frame = _group_frame(chosen)
        if self.kind.is_polars():
            return frame
        return nw.from_dict(frame.to_dict(as_series=False), backend=self.kind).to_native()

    def as_dict(self) -> dict[str, object]:
        """The report as plain data for JSON; a fraction is a number and, under NAME_exact, its exact text."""
        foreign: dict[str, object] = {}
        if self.cells != "labels":
            foreign = {"cells": self.cells, "generalized_cells": self.generalized_cells}
            foreign |= both("certainty_penalty", self.certainty_penalty)
        return {
            "ok": self.ok,
            "violations": list(self.violations),
            "privacy": [dict(parameters) for parameters in self.privacy],
            "suppressed_rows": self.suppressed_rows,
            "n": self.n,
            "m": self.m,
            **both("cost", self.cost),
            **({} if self.total is None else both("information_loss", self.information_loss)),
            "suppressed_cells": self.suppressed_cells,
            "fully_suppressed_rows": self.fully_suppressed_rows,
            **_facts(self.released),
            "partition": None if self.partition is None else _facts(self.partition),
            "minimal": self.minimal,
            "not_minimal": self.not_minimal,
            "judged_by_their_own_code": list(self.own),
            "warnings": list(self.warnings),
            "alone": self.alone,
            "missing_keys": self.missing_keys,
            "dropped_rows": self.dropped_rows,
            "notes": list(self.notes),
            **({} if self.population_matches is None else {"population_matches": self.population_matches}),
            **foreign,
        }

    def summary(self) -> str:
        """A few lines for people."""
        suppressed = bool(self.fully_suppressed_rows)
        exempt = "no row is left" if self.k_exempt is None else f"k = {self.k_exempt}"
        both = f" with the fully suppressed rows as a group, without them {exempt}" if suppressed else ""
        loss, cells = "undefined" if self.cost is None else in_words(self.cost), self.n * self.m
        if self.information_loss is not None:
            loss += f" ({percent(float(self.information_loss) / 100, 4)} of that of all rows as one group)"
        share, rows = self.suppressed_cells / max(cells, 1), counted(self.fully_suppressed_rows, "row")
        sizes = f"smallest {self.smallest_group:,}, mean {float(self.mean_group):,.2f}, largest {self.largest_group:,}"
        matching = self.missing_keys == "match"
        if matching and suppressed:
            both = f" of all rows, {exempt} of those that are not fully suppressed"
        counts = f"groups {self.groups:,} ({sizes})"
        if matching:
            counts = f"different released rows {self.groups:,} (rows that match each, itself included: {sizes})"
        held = "verified" if self.privacy else "consistent with the original; no requirement was checked"
        if self.alone:
            held = "verified, the released table alone" if self.privacy else "no requirement was checked"
        of_k = f"k = {self.k_strict}{both}"
        if self.released.unit is not None and self.released.units_strict is not None:
            fewest = counted(self.released.units_strict, "different value")
            visible = "no row is left" if self.released.units_exempt is None else str(self.released.units_exempt)
            without = f" with the fully suppressed rows as a group, without them {visible}" if suppressed else ""
            of_k = f'k = {fewest} of "{self.released.unit}"{without}'
        lines = [
            held if self.ok else f"NOT verified: {counted(len(self.violations), 'violation')}",
            *(f"  - {violation}" for violation in self.violations),
            *([MATCHING] if matching else []),
            f"rows {self.n:,}, quasi-identifiers {self.m}, {counts}",
            f"{'' if self.alone else f'loss {loss}, '}{self.suppressed_cells:,} of {cells:,} cells suppressed "
            f"({percent(share)}), {rows} fully",
            *self._foreign_summary(),
            of_k,
        ]
        if self.population_matches is not None:
            rows = counted(self.population_matches, "row")
            lines.append(f"each released row matches at least {rows} of the population (journalist risk)")
        for name, facts in self.released.sensitive.items():
            lines += attribute_lines(name, facts)
        if self.released.l_pairwise is not None:
            lines.append(f"all together: l = {self.released.l_pairwise} (rows that pairwise differ in each attribute)")
        if self.minimal is not None:
            lines.append(f"minimal generalization: {MINIMAL if self.minimal else f'no, {self.not_minimal}'}")
        lines += [f"warning: {each}" for each in self.warnings]
        lines += [f"note: {each}" for each in self.notes]
        lines += [ALONE] if self.alone else []
        lines += [f"judged by its own code, not by a definition of the verifier: {what}" for what in self.own]
        return "\n".join(map(printable, lines))

    def _foreign_summary(self) -> list[str]:
        if self.cells == "labels" or self.cost is None or self.certainty_penalty is None:
            return []
        number = counted(self.generalized_cells or 0, "generalized cell")
        return [
            f"  {number}; the loss is that of the table in which each is the least general label of the recoding that "
            "covers it",
            f"NCP {in_words(self.certainty_penalty)} (mean of the cells)",
        ]


def attribute_lines(name: str, facts: SensitiveFacts) -> list[str]:
    """A few short lines about one sensitive attribute."""
    others = ", ".join(f"{in_words(t)} ({distance})" for distance, t in facts.closeness.items() if distance != "equal")
    recursive = f", c > {in_words(facts.recursive[2])} (recursive, l = 2)" if 2 in facts.recursive else ""
    of_present = f"> {math.ceil(facts.delta_present.natural * 10000) / 10000:g}"
    entropy = f"{math.floor(facts.l_entropy.value * 10000) / 10000:g}"
    if facts.delta is None:
        delta = f"no delta, since a group lacks a value (of the values that are there: delta {of_present})"
    else:
        delta = f"delta {of_present}"
    return [
        f"{name}: p = {facts.p}, l = {in_words(facts.l)} (frequency), t = {in_words(facts.t)} (equal distance)",
        *([f"  t = {others}"] if others else []),
        f"  l = {entropy} (entropy){recursive}, alpha = {in_words(facts.alpha)}",
        f"  beta = {in_words(facts.beta)}, {delta}",
    ]


def _facts(facts: GroupFacts) -> dict[str, object]:
    return {
        "groups": facts.groups,
        "k_strict": facts.k_strict,
        "k_exempt": facts.k_exempt,
        "smallest_group": facts.k_strict,
        "unit": facts.unit,
        "units_strict": facts.units_strict,
        "units_exempt": facts.units_exempt,
        **both("mean_group", facts.mean_group),
        "largest_group": facts.largest_group,
        "l_pairwise": facts.l_pairwise,
        "sensitive": {name: _sensitive(found) for name, found in facts.sensitive.items()},
    }


def _sensitive(facts: SensitiveFacts) -> dict[str, object]:
    closeness: dict[str, object] = {}
    for distance, t in facts.closeness.items():
        closeness |= both(f"t_{distance}", t)
    return {
        "p": facts.p,
        **both("l", facts.l),
        "l_distinct": facts.l_distinct,
        "l_entropy": facts.l_entropy.value,
        "l_entropy_exact": facts.l_entropy.text,
        "l_entropy_whole": facts.l_entropy.floor,
        "recursive": {str(number): both("c", ratio) for number, ratio in facts.recursive.items()},
        **both("alpha", facts.alpha),
        **both("t", facts.t),
        **closeness,
        **both("beta", facts.beta),
        **_logarithm("delta", facts.delta),
        **_logarithm("delta_present", facts.delta_present),
    }


def _logarithm(name: str, found: LogRatio | None) -> dict[str, object]:
    return {
        name: None if found is None else found.natural,
        f"{name}_base2": None if found is None else found.base2,
        **both(f"{name}_ratio", None if found is None else found.ratio),
    }
