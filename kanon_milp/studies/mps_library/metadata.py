"""What is said of each instance: sizes by type, numerics, and what is known of its optimum, with who proved it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from kanon_milp.errors import InputError, unreadable
from kanon_milp.solvers import BUILT_IN, LinearModel
from kanon_milp.solvers import get as get_solver
from kanon_milp.studies.mps_library.exact_mps import ExactModel
from kanon_milp.studies.mps_library.instances import NAME, Kind

Status = Literal["opt", "best", "inf", "open"]
Difficulty = Literal["easy", "hard", "open", "not measured"]
Set = Literal["test", "benchmark"]
Feasibility = Literal["easy", "hard", "not measured"]
# the solvers of this package that count nodes, and their option for that: hard is what none proves at the root
NODE_LIMITS = {
    name: limit for name in BUILT_IN if (limit := get_solver(name).option_names.get("node_limit")) is not None
}
SOLVERS = tuple(NODE_LIMITS)
RECORDS = Path(__file__).with_name("records")
SOLU = {"opt": "=opt=", "best": "=best=", "inf": "=inf=", "open": "=unkn="}
T = TypeVar("T", bound=BaseModel)
EXACT = r"^-?[0-9]+(/[1-9][0-9]*)?$"
HASH = r"^[0-9a-f]{64}$"


class Part(BaseModel):
    """A part of the metadata: no other keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(Part):
    """Smallest and largest absolute value that is not 0; both 0 where there is none."""

    smallest: float
    largest: float

    @classmethod
    def of(cls, values: Iterable[Any]) -> Range:
        """Of these numbers."""
        sizes = [abs(float(value)) for value in values if value]
        return cls(smallest=min(sizes, default=0.0), largest=max(sizes, default=0.0))


class Features(Part):
    """Sizes of a model by type, and its numerics."""

    binary: int
    integer: int
    continuous: int
    equality: int
    less_or_equal: int
    greater_or_equal: int
    ranged: int
    nonzeros: int
    matrix: Range
    objective: Range
    sides: Range
    integral_data: bool

    @property
    def vector(self) -> tuple[object, ...]:
        """All of them, to tell instances apart."""
        return tuple(str(value) for value in self.model_dump().values())


def features(model: LinearModel) -> Features:
    """Of a model as arrays."""
    low, high = model.constraint_lower, model.constraint_upper
    binary = model.integer & (model.lower == 0) & (model.upper == 1)
    kept = np.isfinite(low) | np.isfinite(high)
    equal, both = low == high, np.isfinite(low) & np.isfinite(high)
    A = model.A.copy()
    A.sum_duplicates()
    A.eliminate_zeros()
    sides = np.where(np.isfinite(high), high, low)[kept]
    every = np.concatenate([A.data, model.c, sides, [model.offset]])
    return Features(
        binary=int(binary.sum()),
        integer=int((model.integer & ~binary).sum()),
        continuous=int((~model.integer).sum()),
        equality=int(equal.sum()),
        less_or_equal=int((np.isfinite(high) & ~np.isfinite(low)).sum()),
        greater_or_equal=int((np.isfinite(low) & ~np.isfinite(high)).sum()),
        ranged=int((both & ~equal).sum()),
        nonzeros=len(A.data),
        matrix=Range.of(np.unique(A.data)),
        objective=Range.of(np.unique(model.c)),
        sides=Range.of(np.unique(sides)),
        integral_data=bool((every == np.round(every)).all()),
    )


def features_of_file(model: ExactModel) -> Features:
    """Of a model as it was read from a file."""
    kinds = [(kind, row in model.ranges) for row, kind in model.kinds.items()]
    binary = sum(model.bounds(column) == (0, 1) for column in model.integer)
    entries = [(row, value) for column in model.columns.values() for row, value in column.items() if value]
    matrix = [value for row, value in entries if row != model.objective]
    sides = list(model.sides.values())
    return Features(
        binary=binary,
        integer=len(model.integer) - binary,
        continuous=len(model.columns) - len(model.integer),
        equality=kinds.count(("E", False)),
        less_or_equal=kinds.count(("L", False)),
        greater_or_equal=kinds.count(("G", False)),
        ranged=sum(ranged for _, ranged in kinds),
        nonzeros=len(matrix),
        matrix=Range.of(set(matrix)),
        objective=Range.of({value for row, value in entries if row == model.objective}),
        sides=Range.of(set(sides)),
        integral_data=all(
            Fraction(value).denominator == 1 for value in {*matrix, *sides, model.offset, *(v for _, v in entries)}
        ),
    )


class Proof(Part):
    """Who proved the status, or the bound, and how. backed_by: as in results; seconds: of that run."""

    method: str
    solver: str
    version: str
    package: str
    options: dict[str, str | int | float | None]
    seconds: float
    backed_by: list[str]


class Run(Part):
    """What a solver did with the file on one thread, as a row of a study says.

    node_limit: 1 for the root alone. time_limit, seconds: of wall clock. permutation: seed of the order of rows and
    columns. ended: optimal, infeasible, node_limit, time_limit or another reason to stop. best, bound: of the file's
    objective; None where there is none.
    """

    solver: str
    version: str
    node_limit: int | None = None
    time_limit: float
    permutation: int = 0
    ended: str
    best: int | None = None
    bound: float | None = None
    nodes: int | None = None
    seconds: float

    @property
    def proven(self) -> bool:
        """Whether it has proven the optimum, or that there is no solution."""
        meet = self.best is not None and self.bound is not None and self.bound > self.best - 1 + 1e-6
        return meet or self.ended == "infeasible"

    @property
    def setting(self) -> tuple[object, ...]:
        """What a later run takes the place of an earlier one in."""
        return self.node_limit is None, self.time_limit, self.solver, self.permutation


class Record(Part):
    """What is known of an instance by runs of solvers, and about which bytes.

    model_sha256: of the MPS file as text. best, bound: in units of the problem; `best_in_file`, `bound_in_file`: of the
    file's objective. presolved: columns and constraints that HiGHS leaves. columns, values: the best solution, numbers
    of variables from 0 in the order of the file. runs: what was measured; the difficulty follows from it.
    """

    name: str = Field(pattern=f"^{NAME}$")
    model_sha256: str = Field(pattern=HASH)
    status: Status
    best: Annotated[str, StringConstraints(pattern=EXACT)] | None = None
    best_in_file: int | None = None
    bound_in_file: int | None = None
    lp_bound: float | None = None
    presolved: tuple[int, int] | None = None
    proved_by: Proof | None = None
    reason: str
    runs: list[Run] = []
    columns: list[int] = []
    values: list[int | Annotated[str, StringConstraints(pattern=EXACT)]] = []

    @model_validator(mode="after")
    def _consistent(self) -> Record:
        if (self.best is None) != (self.best_in_file is None) or (self.best is None) != (
            self.status in ("inf", "open")
        ):
            raise ValueError("status and best value contradict each other")
        if self.status == "opt" and self.bound_in_file != self.best_in_file:
            raise ValueError("an optimum is its own bound")
        if len(self.columns) != len(self.values) or bool(self.columns) != (self.best is not None):
            raise ValueError("each best value has a solution, and no other has one")
        for run in self.runs:
            better = run.best is not None and (self.best_in_file is None or run.best < self.best_in_file)
            if better or (run.proven and self.status not in ("opt", "inf")):
                raise ValueError(f"{run.solver} knows more than the record, which is to be made again")
            if run.proven and run.best != self.best_in_file:
                raise ValueError(f"{run.solver} has proven something else than the record")
        return self

    @property
    def roots(self) -> dict[str, Run]:
        """The runs of the root alone, by solver."""
        return {run.solver: run for run in self.runs if run.node_limit == 1}

    @property
    def difficulty(self) -> Difficulty:
        """Easy: a solver proves the file as it is at the root. Hard: none of `SOLVERS` does; open: nor anybody else."""
        roots = self.roots
        at_root = (run for run in self.runs if run.node_limit == 1 or (run.permutation == 0 and run.nodes in (0, 1)))
        if any(run.proven for run in at_root):
            return "easy"
        if not roots.keys() >= {*SOLVERS}:
            return "not measured"
        return "hard" if self.status in ("opt", "inf") else "open"

    @property
    def set(self) -> Set:
        """Benchmark: hard or open."""
        return "benchmark" if self.difficulty in ("hard", "open") else "test"

    @property
    def feasibility(self) -> Feasibility:
        """Of the benchmark set: hard where no solver finds a solution at the root, or there is none; else easy."""
        if self.set == "test":
            return "not measured"
        return "easy" if any(run.best is not None for run in self.roots.values()) else "hard"

    @property
    def lp_gap(self) -> float | None:
        """Between the bound of the linear relaxation and the best known value, as a share of that."""
        if self.lp_bound is None or not self.best_in_file:
            return None
        return round((self.best_in_file - self.lp_bound) / abs(self.best_in_file), 6)


class Metadata(Part):
    """The metadata of one instance of the library, as its JSON file."""

    name: str = Field(pattern=f"^{NAME}$")
    title: str
    kind: Kind
    family: str
    requirements: list[str]
    formulation: str
    series: str | None
    source: str
    licence: str
    objective: str
    unit: str = Field(pattern=EXACT)
    features: Features
    lp_bound: float | None
    lp_gap: float | None
    presolved: tuple[int, int] | None
    status: Status
    set: Set
    difficulty: Difficulty
    feasibility: Feasibility
    best: Annotated[str, StringConstraints(pattern=EXACT)] | None
    best_in_file: int | None
    bound_in_file: int | None
    reason: str
    proved_by: Proof | None
    runs: list[Run]
    model: str
    model_sha256: str = Field(pattern=HASH)
    solution: str | None
    solution_sha256: str | None = Field(pattern=HASH)


def read_record(name: str, folder: Path = RECORDS) -> Record | None:
    """What is recorded of an instance; None for nothing. Raises InputError for a record that is none."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    return read_json(path, Record)


def set_of(name: str, folder: Path = RECORDS) -> Set:
    """Which set an instance is in, by its record."""
    record = read_record(name, folder)
    return "test" if record is None else record.set


def read_json(path: Path, kind: type[T]) -> T:
    """A file of metadata, checked against its schema. Raises InputError for one that does not follow it."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {unreadable(error)}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
