"""A solver adapter that permutes rows and columns of the models it is given, and remembers the largest one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kanon_milp.errors import UnusablePointError
from kanon_milp.solvers import (
    Availability,
    LinearModel,
    OnProgress,
    SolverAdapter,
    SolverOptions,
    SolverResult,
)
from kanon_milp.system.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Permutation:
    """An order of rows and columns: position → number in the original model."""

    rows: Ints
    columns: Ints

    @classmethod
    def drawn(cls, model: LinearModel, seed: int) -> Permutation:
        """The permutation of a model that a seed gives, by NumPy's PCG64: rows first, then columns."""
        rng = np.random.Generator(np.random.PCG64(seed))
        return cls(rng.permutation(model.constraints), rng.permutation(model.variables))

    def of_model(self, model: LinearModel) -> LinearModel:
        """The permuted model."""
        rows, columns = self.rows, self.columns
        return replace(
            model,
            c=model.c[columns],
            A=sp.csr_array(sp.csr_array(model.A)[rows][:, columns]),
            constraint_lower=model.constraint_lower[rows],
            constraint_upper=model.constraint_upper[rows],
            lower=model.lower[columns],
            upper=model.upper[columns],
            integer=model.integer[columns],
            variable_names=tuple(model.variable_names[j] for j in columns.tolist()),
            constraint_names=tuple(model.constraint_names[i] for i in rows.tolist()),
        )

    def back(self, x: Floats) -> Floats:
        """A point of the permuted model as one of the original."""
        original = np.empty_like(x)
        original[self.columns] = x
        return original

    def of_start(self, start: Mapping[int, float] | Floats | None) -> Mapping[int, float] | Floats | None:
        """A start of the original as one of the permuted model."""
        if start is None:
            return None
        if isinstance(start, Mapping):
            place = np.empty_like(self.columns)
            place[self.columns] = np.arange(len(self.columns))
            return {int(place[j]): value for j, value in start.items()}
        return np.asarray(start)[self.columns]


class Recording(SolverAdapter):
    """Another adapter, under its name. permutation: a seed, 0 for none. model, answer: of the call with the most
    variables so far, the last of these; None before the first. wrong: what the adapter's own check has said of points
    that were refused."""

    def __init__(self, adapter: SolverAdapter, permutation: int = 0) -> None:
        self.adapter, self.permutation = adapter, permutation
        self.name, self.title, self.needs = adapter.name, adapter.title, adapter.needs
        self.capabilities = adapter.capabilities
        self.counted = adapter.counted  # type: ignore[misc]
        self.confuses = adapter.confuses  # type: ignore[misc]
        self.model: LinearModel | None = None
        self.answer: SolverResult | None = None
        self.wrong: list[str] = []

    def availability(self) -> Availability:
        """That of the adapter."""
        return self.adapter.availability()

    def version(self) -> str:
        """That of the adapter."""
        return self.adapter.version()

    def location(self) -> str:
        """That of the adapter."""
        return self.adapter.location()

    def solve(
        self,
        model: LinearModel,
        options: SolverOptions,
        start: Mapping[int, float] | Floats | None = None,
        on_progress: OnProgress | None = None,
        interrupt: threading.Event | None = None,
    ) -> SolverResult:
        """Solve by the adapter; see `SolverAdapter.solve`."""
        largest = self.model is None or model.variables >= self.model.variables
        if largest:
            self.model, self.answer = model, None
        try:
            answer = self._solve(model, options, start, on_progress, interrupt)
        except UnusablePointError as error:  # a method may go on without this answer
            self.wrong.append(str(error))
            raise
        if largest:
            self.answer = answer
        return answer

    def _solve(self, model: LinearModel, options: SolverOptions, start: Any, *others: Any) -> SolverResult:
        if not self.permutation:
            return self.adapter.solve(model, options, start, *others)
        order = Permutation.drawn(model, self.permutation)
        answer = self.adapter.solve(order.of_model(model), options, order.of_start(start), *others)
        if answer.x is not None and answer.x.shape == (model.variables,):
            answer = replace(answer, x=order.back(answer.x))
        return answer
