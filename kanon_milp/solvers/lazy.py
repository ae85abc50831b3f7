"""Constraints that are stated while a model is solved: those of a large family that a point violates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Floats, Ints

_VIOLATED = 1e-5  # of a constraint, relative to its side where that is above 1: less is within solvers' tolerances


@dataclass(frozen=True, eq=False)
class Row:
    """low ≤ Σ values · x[columns] ≤ high. columns: int64 (n,), each once; values: float64 (n,)."""

    columns: Ints
    values: Floats
    low: float
    high: float

    def violated(self, x: Floats) -> bool:
        """Whether a point violates it by more than a tolerance."""
        value = float(x[self.columns] @ self.values)
        slack = _VIOLATED * max(1.0, *(abs(side) for side in (self.low, self.high) if np.isfinite(side)), 1.0)
        return not self.low - slack <= value <= self.high + slack


Separator = Callable[[Floats], Iterable[Row]]  # of a point float64 (variables,): rows, among them those it violates


@dataclass(frozen=True, eq=False)
class Lazy:
    """What a solver asks while it solves a model.

    points: of every point that may be a solution; one that it has no violated row for is one. relaxations: of points of
    the relaxation, for rows that cut them off; None for none. rows: all that were stated so far. failures: what a
    separator has raised, which ends the search.
    """

    points: Separator
    relaxations: Separator | None = None
    rows: list[Row] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    def violated(self, x: Floats, *, relaxed: bool = False) -> list[Row]:
        """The rows that a point violates; they count as stated only where the solver takes them (`rows`)."""
        separator = self.relaxations if relaxed else self.points
        return [] if separator is None else [row for row in separator(x) if row.violated(x)]

    def stated(self, model: LinearModel) -> LinearModel:
        """The model with all rows that were stated so far: what a solver has proven is proven of it."""
        if not self.rows:
            return model
        sizes = [len(row.columns) for row in self.rows]
        more = sp.csr_array(
            (
                np.concatenate([row.values for row in self.rows]),
                np.concatenate([row.columns for row in self.rows]),
                np.concatenate([[0], np.cumsum(sizes)]),
            ),
            shape=(len(self.rows), model.variables),
        )
        low, high = (np.array([getattr(row, side) for row in self.rows], dtype=float) for side in ("low", "high"))
        return replace(
            model,
            A=sp.csr_array(sp.vstack([model.A, more], format="csr")),
            constraint_lower=np.concatenate([model.constraint_lower, low]),
            constraint_upper=np.concatenate([model.constraint_upper, high]),
            constraint_names=(*model.constraint_names, *(f"lazy{r}" for r in range(len(self.rows)))),
        )
