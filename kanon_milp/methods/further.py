"""What a result has beside its table: the stages of several objectives, and a pool of tables about as good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, overload

from kanon_milp.errors import counted
from kanon_milp.formulations.goals import Differ
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.problem.exact import in_words, plain
from kanon_milp.system.arrays import Ints
from kanon_milp.verify import Report

ENDING = 3.0  # times what it takes to verify a table, for looks at tables after the last solution
StageProof = Literal["optimal", "bound", "none"]
PoolProof = Literal["all", "best", "bound", "none"]


@dataclass(frozen=True)
class Stage:
    """One of several objectives, the first or one that was optimized after it.

    goal: "loss", "groups", "fewer groups", "discernibility" or "keep COLUMN". value: of the released table, recomputed
    from it. bound: what it is at least ("groups": at most) in every table that has the values of the stages before;
    None where nothing is proven. proof: "optimal" only where value and bound meet, and those of all stages before do.
    backed_by: as in `Result`. message: why nothing is proven.
    """

    goal: str
    value: Fraction
    bound: Fraction | None = None
    proof: StageProof = "none"
    backed_by: tuple[str, ...] = ()
    message: str = ""

    @property
    def words(self) -> str:
        """Such as "groups 12 (proven)"."""
        known = {
            "optimal": "proven",
            "bound": f"bound {in_words(self.bound)}",
            "none": "nothing proven",
        }
        return f"{self.goal} {in_words(self.value)} ({known[self.proof]})"

    def as_dict(self) -> dict[str, Any]:
        """An entry of `stages` in `result.json`."""
        return {
            "goal": self.goal,
            "value": plain(self.value),
            "bound": plain(self.bound),
            "proof": self.proof,
            "proof_backed_by": list(self.backed_by),
            "message": self.message,
        }


def judged(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with what is proven of each: of a later one no more than that of the tables with the values before."""
    found: list[Stage] = []
    for stage in stages:
        met = stage.bound is not None and stage.bound == stage.value
        proven = met and all(each.proof == "optimal" for each in found)
        found.append(replace(stage, proof="optimal" if proven else "none" if stage.bound is None else "bound"))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class PooledTable:
    """A table of a pool, released and verified.

    table: in the user's own kind of data frame. placed: as in `Result`. exact_objective: of what is optimized.
    report: the verifier's. rows_that_differ: how many rows are released otherwise than in the first table of the pool;
    rows that are alike may change places. kept: column → cells that are released as they were.
    """

    table: Any
    placed: RowGroups
    report: Report
    exact_objective: Fraction
    rows_that_differ: int
    kept: Mapping[str, int]

    def __repr__(self) -> str:
        """Figures, and no cell."""
        return f"<PooledTable: objective {in_words(self.exact_objective)}, {self.rows_that_differ:,} rows differ>"

    @property
    def groups(self) -> Ints:
        """The group of each released row from 1, int64."""
        return self.placed.group

    @property
    def objective(self) -> int | float | None:
        """What is optimized, of this table."""
        return plain(self.exact_objective)

    @property
    def loss(self) -> int | float | None:
        """Its loss, recomputed by the verifier."""
        return plain(self.report.cost)

    @property
    def verified(self) -> bool:
        """Whether the verifier agrees with it, as with every table of a pool."""
        return self.report.ok

    def as_dict(self) -> dict[str, Any]:
        """An entry of `pool.tables` in `result.json`."""
        return {
            "objective": self.objective,
            "loss": self.loss,
            "groups": self.report.groups,
            "suppressed_cells": self.report.suppressed_cells,
            "rows_that_differ": self.rows_that_differ,
            "kept": dict(self.kept),
            "verified": self.verified,
        }


@dataclass(frozen=True, eq=False)
class Pool(Sequence[PooledTable]):
    """Different tables that are about as good as the best one, the best first; that is the table of the result.

    differ: in what any two of them differ, "rows" or "columns". asked: at most so many tables. most: the largest
    objective that was asked for (the smallest, where more is better), None for any. complete: whether it is proven that
    these are all, that is, that no other table within `most` differs so from each of them. bound: an objective that no
    other such table is better than, None where nothing is proven. backed_by: of both, as in `Result`. message: why the
    pool ended.
    """

    tables: tuple[PooledTable, ...]
    differ: Differ
    asked: int
    most: Fraction | None
    complete: bool = False
    bound: Fraction | None = None
    more_is_better: bool = False
    backed_by: tuple[str, ...] = ()
    message: str = ""

    def __len__(self) -> int:
        return len(self.tables)

    @overload
    def __getitem__(self, at: int) -> PooledTable: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[PooledTable]: ...
    def __getitem__(self, at: int | slice) -> PooledTable | Sequence[PooledTable]:
        return self.tables[at]

    def __repr__(self) -> str:
        """Figures, and no cell."""
        return f"<Pool: {self.summary()}>"

    @property
    def best(self) -> bool:
        """Whether it is proven that no table is left out that is better than one of these."""
        if self.complete or self.bound is None or not self.tables:
            return self.complete
        last = self.tables[-1].exact_objective
        return self.bound <= last if self.more_is_better else self.bound >= last

    @property
    def proof(self) -> PoolProof:
        """What is proven: "all", "best" (none that is better was left out), "bound", or "none"."""
        return "all" if self.complete else "best" if self.best else "none" if self.bound is None else "bound"

    def summary(self) -> str:
        """What it is, in a line."""
        in_what = "rows" if self.differ == "rows" else "columns that they keep"
        what = f"{counted(len(self), 'table')}, different in {in_what}" if len(self) > 1 else "1 table"
        within = "" if self.most is None else f", objective up to {in_words(self.most)}"
        if self.more_is_better:
            within = within.replace("up to", "from")
        known = {
            "all": "proven to be all that there are",
            "best": "proven to be the best; none better was left out",
            "bound": f"not proven to be the best; no other is better than {in_words(self.bound)}",
            "none": "those that were found; nothing is proven of others",
        }
        return f"{what}{within}: {known[self.proof]}"

    def as_dict(self) -> dict[str, Any]:
        """The entry `pool` of `result.json`."""
        return {
            "summary": self.summary(),
            "asked": self.asked,
            "differ": self.differ,
            "most": plain(self.most),
            "proof": self.proof,
            "bound": plain(self.bound),
            "proof_backed_by": list(self.backed_by),
            "message": self.message,
            "tables": [each.as_dict() for each in self.tables],
        }
