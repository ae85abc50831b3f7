"""Models of costs of whole groups out, solutions back: as `kanon_milp.methods.exchange` says of those of candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError, counted, printable
from kanon_milp.methods.group_model import group_model
from kanon_milp.methods.group_session import GroupSession
from kanon_milp.methods.result import Result, SolverRun
from kanon_milp.presolve.resources import ModelSize
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.exact import Number, exact_number
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.mps import CONSTANT, NAMES, Notes, fingerprint, names_in_file, numbered, write_model
from kanon_milp.solvers.proof import Grid
from kanon_milp.solvers.pyomo_arrays import PyomoArrays, to_arrays
from kanon_milp.solvers.solution_files import read_solution
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.clock import Clock

FRACTIONAL = 1e-5  # by how much a value may miss an integer
CHANGED = "the model was changed, so what the solver proves of it says nothing of the problem"


@dataclass(frozen=True, eq=False, repr=False)
class GroupModel:
    """A model of whole groups as arrays. own: it is as `build_model` declares it."""

    problem: Problem
    model: pyo.ConcreteModel
    arrays: PyomoArrays
    formulation: str
    own: bool

    @classmethod
    def of(cls, problem: Problem, formulation: str, model: pyo.ConcreteModel | None = None) -> GroupModel:
        """Declare it, or take one that was declared. Raises InputError for what is no model of this problem."""
        built = to_arrays(declared := group_model(problem, formulation), names=True)
        if model is None or model is declared:
            return cls(problem, declared, built, formulation, True)
        groups = [[*getattr(each, "choose", getattr(each, "assign", []))] for each in (declared, model)]
        if groups[0] != groups[1]:
            raise InputError(
                f"the model is not that of build_model(problem, {formulation!r}) for this problem: its groups differ"
            )
        arrays = to_arrays(model, names=True)
        return cls(problem, model, arrays, formulation, fingerprint(arrays.linear) == fingerprint(built.linear))

    def __repr__(self) -> str:
        """One line: whose model it is, and its size."""
        size = counted(self.arrays.linear.variables, "variable")
        return printable(f'<GroupModel: {self.formulation} of "{self.problem.name}", {size}>')

    def groups(self, x: Floats, where: str) -> Ints:
        """The group of each row, int64 (n,). Raises InputError where that is none."""
        n, model = self.problem.table.n, self.model
        compact = model.component("choose") is None
        variables = model.assign if compact else model.choose
        values = self.arrays.values_of(list(variables.values()), x)
        found = np.full(n, -1, np.int64)
        if float(np.abs(values - np.round(values)).max(initial=0.0)) <= FRACTIONAL:
            for key, value in zip(variables, values.tolist(), strict=True):
                for row in () if value < 0.5 else (key[0],) if compact else model.members[key]:
                    if found[row - 1] >= 0:
                        raise InputError(f"{where}: row {row} is in two groups")
                    found[row - 1] = key[1] if compact else key
        if (found < 0).any():
            raise InputError(f"{where}: row {int((found < 0).argmax()) + 1} is in no group, or in parts of several")
        return found


def export_groups(
    problem: Problem,
    path: Path,
    formulation: str,
    known: Number | str | None,
    model: pyo.ConcreteModel | None,
    table: str,
) -> GroupModel:
    """As `export_model`. table: its hash."""
    from kanon_milp import __version__

    declared = GroupModel.of(problem, formulation, model)
    linear = declared.arrays.linear
    about = {
        "written_by": f"kanon_milp {__version__}",
        "problem": problem.name,
        "formulation": formulation,
        "objective": problem.objective,
        "table_sha256": table,
        "model_sha256": fingerprint(linear),
    }
    if known is not None:
        about["known_optimum"] = known if isinstance(known, str) else str(exact_number(known, "the known optimum"))
    comments = [f"{problem.name}: written by kanon_milp {__version__}, {problem.recoding.kind}, {formulation}"]
    labels = [""] * linear.variables
    if declared.model.component("choose") is not None:
        chosen = list(declared.model.choose.values())
        members = declared.model.members.values()
        for column, rows in zip(declared.arrays.columns_of(chosen).tolist(), members, strict=True):
            if column >= 0:
                labels[column] = f"rows {' '.join(map(str, rows))} of the table are a group"
    write_model(linear, path, Notes(comments, about, labels, [""] * linear.constraints))
    return declared


def import_groups(
    problem: Problem, path: Path, about: dict[str, str], formulation: str, model: pyo.ConcreteModel | None
) -> Result:
    """As `import_solution`. about: what the map of names says."""
    clock, declared = Clock(), GroupModel.of(problem, formulation, model)
    linear = declared.arrays.linear
    if about.get("model_sha256", fingerprint(linear)) != fingerprint(linear):
        raise InputError(f"{path}: its map of names is of another model of this table; export again")
    variables, constraints = names_in_file(linear)
    variables = numbered(linear) if NAMES in about else variables
    columns = {**{name: j for j, name in enumerate(variables)}, CONSTANT: -1}
    ends = {f"{name}{end}" for name in constraints for end in ("", "_lo", "_up")}
    found = read_solution(path, columns, linear.variables, ends)
    message = f"the table of a solution that {found.solver} has written; what the solver proved is not known"
    return _imported(declared, found.x, str(path), found.solver, clock, message)


def solved_groups(problem: Problem, model: pyo.ConcreteModel, formulation: str | None, message: str) -> Result:
    """As `solved_table`. message: of the result."""
    clock, compact = Clock(), model.component("choose") is None
    declared = GroupModel.of(problem, formulation or ("compact" if compact else "strong"), model)
    return _imported(declared, declared.arrays.loaded(), "the model", "pyomo", clock, message)


def _imported(declared: GroupModel, x: Floats, where: str, solver: str, clock: Clock, message: str) -> Result:
    """The table of a point, verified. where: it comes from, for errors."""
    session = GroupSession(
        get(), SolverOptions(), clock, "import", solver_used=False, instance=GroupInstance.of(declared.problem)
    )
    session.tracker.better(session.instance.table(declared.groups(x, where)))
    result = session.finish("imported", message)
    return replace(result, solver=SolverRun(f"import:{solver}", "", declared.formulation, SolverOptions(), "import"))


def size_of_groups(problem: Problem, formulation: str) -> ModelSize:
    """As `model_size`: candidates are groups or slots, pairs their rows. The model is declared for it."""
    model = group_model(problem, formulation)
    linear, instance = to_arrays(model).linear, GroupInstance.of(problem)
    compact = model.component("choose") is None
    groups = len(model.SLOTS if compact else model.GROUPS)
    pairs = len(model.assign) if compact else sum(map(len, model.members.values()))
    return ModelSize.counted(instance.types, groups, pairs, linear.variables, linear.constraints)


def solve_changed_model(session: GroupSession, model: pyo.ConcreteModel, formulation: str) -> Result:
    """As `solve_model`. What a solver claims of a model that was changed is not taken for the problem's bound."""
    with session.clock.step("handover"):
        declared = GroupModel.of(session.problem, formulation, model)
    linear, limit = declared.arrays.linear, session.limit
    options = replace(session.options, time_limit=limit.seconds)
    grid = Grid(0, linear.largest_cost)
    with session.clock.step("solve"):
        answer = solve_checked(session.adapter, linear, options, grid, interrupt=session.interrupt)
    if answer.x is not None:
        declared.arrays.load(answer.x)
        session.tracker.better(session.instance.table(declared.groups(answer.x, "the solver's point")))
    safe = grid.safe(answer.bound)
    if declared.own and safe is not None:
        session.tracker.higher(Fraction(safe), answer.backed_by)
    unit = session.instance.cost.total() / 10**6 or Fraction(1)
    message = answer.message if declared.own else "; ".join(each for each in (answer.message, CHANGED) if each)
    size = (linear.variables, linear.constraints)
    return session.finish(answer.stop_reason.value, message, size=size, rough=unit if declared.own else None)
