"""Models out, solutions back: a model as a file for any solver, and any solver's solution as a verified table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pyomo.core as pyo

from kanon_milp.errors import InputError, SolverError, counted, printable
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.fingerprint import formulation_of
from kanon_milp.formulations.restricted import RestrictedModel
from kanon_milp.methods.description import backing
from kanon_milp.methods.extension import Extension, check_model, compared, prepared_for_model, unit_of
from kanon_milp.methods.group_exchange import GroupModel, export_groups, import_groups, solved_groups
from kanon_milp.methods.outcome import verified_objective
from kanon_milp.methods.result import Result, SolverRun
from kanon_milp.methods.tracker import Proof
from kanon_milp.presolve.assignment import Assignment, expand
from kanon_milp.presolve.preparation import Prepared, Size
from kanon_milp.problem.arguments import exists, file_path, instance_of, real_number
from kanon_milp.problem.exact import Number, exact_number, in_words
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.solvers import LinearModel, SolverOptions
from kanon_milp.solvers.mps import (
    CONSTANT,
    NAMES,
    Notes,
    fingerprint,
    names_in_file,
    names_path,
    numbered,
    read_about,
    write_model,
)
from kanon_milp.solvers.pyomo_arrays import PyomoArrays
from kanon_milp.solvers.solution_files import SolutionFile, read_solution
from kanon_milp.system.clock import Clock
from kanon_milp.verify import Report, verify
from kanon_milp.verify.certificate import table_hash

BOUND_SECONDS = 10.0  # at most, for a bound of our own to hold an imported table against
_FRACTIONAL = 1e-5  # by how much a value may miss an integer
_VIOLATION = 1e-4  # of a constraint, by values as solvers print them
_SUFFIXES = (".mps.gz", ".mps", ".lp.gz", ".lp", ".opb.gz", ".opb", ".ommx")
_WRITTEN_BY = "kanon_milp"


@dataclass(frozen=True, eq=False, repr=False)
class DeclaredModel:
    """A problem's model as it is exported.

    reduced: after all reductions, as `solve` hands it over. own: the package has declared it, not a user extended it;
    extension: how the user's differs from that.
    """

    prepared: Prepared
    model: pyo.ConcreteModel
    arrays: PyomoArrays = field(repr=False)
    formulation: str
    reduced: bool
    own: bool = True
    extension: Extension | None = None

    def __repr__(self) -> str:
        """One line: whose model it is, and its size."""
        linear = self.arrays.linear
        which = f"{'reduced ' * self.reduced}{self.formulation} model{', extended,' * (not self.own)}"
        size = f"{counted(linear.variables, 'variable')}, {counted(linear.constraints, 'constraint')}"
        return printable(f'<DeclaredModel: {which} of "{self.prepared.problem.name}", {size}, objective {self.goal}>')

    @property
    def unit(self) -> Fraction:
        """What one unit of the file's objective is worth: loss, or a number of groups (negative where maximized)."""
        return self.arrays.sign * unit_of(self.prepared.instance, self.extension)

    @property
    def goal(self) -> str:
        """What the objective is about."""
        if self.extension is not None and self.extension.objective is not None:
            return "objective"
        return self.prepared.problem.optimized


def export_model(
    problem: Problem,
    path: str | Path,
    *,
    formulation: str = "strong",
    reduced: bool = False,
    known: Number | Literal["infeasible"] | None = None,
    model: pyo.ConcreteModel | None = None,
) -> DeclaredModel | GroupModel:
    """Write a problem's model for any solver, with a map of its names beside it (`<path>.names.csv`).

    path: .mps, .lp or .opb, all also with .gz, or .ommx. OPB is for models whose variables are 0 or 1, and OMMX needs
    the package ommx. reduced: the model that `solve` solves, after all reductions; else that of
    `build_model`. known: the known optimum, or "infeasible", to be declared in both files. The map says what maps a
    solution back (`import_solution`), what a unit of the objective is worth, and labels variables by numbers of table
    rows and by levels, never by cells. model: one of `build_model(problem, formulation)` that was extended, instead of
    the package's own; `assign` is integer then, as in `solve_model`. Raises InputError for a model or a file that
    cannot be written.
    """
    expect_problem(problem, "export_model")
    path = file_path(path, "path of a model to write")
    instance_of(reduced, bool, "reduced", "True or False")
    if problem.group_cost is not None:
        _refuse_reduced(problem, reduced)
        return export_groups(problem, path, formulation, known, model, _table_hash(problem))
    declared = declared_model(problem, formulation, reduced, Clock(), model)
    if known is not None and not (isinstance(known, str) and known == "infeasible"):
        known = exact_number(known, "the known optimum")
    write_model(declared.arrays.linear, path, _notes(declared, known))
    return declared


def import_solution(
    problem: Problem,
    path: str | Path,
    *,
    names: str | Path | None = None,
    formulation: str | None = None,
    reduced: bool | None = None,
    bound_seconds: float = BOUND_SECONDS,
    model: pyo.ConcreteModel | None = None,
) -> Result:
    """Make the released table from a solver's solution of an exported model, and verify it.

    path: a solution file of HiGHS, CBC, SCIP, Gurobi, COPT, CPLEX, GLPK (`glpsol -o`) or a pseudo-Boolean solver, in
    MIPLIB's format, or a list of names and values, also compressed by gzip. names: the map of names of the export; by
    default the one next to the solution. formulation, reduced: of the export, if there is no map; default strong, not
    reduced. `assign` may be fractional if the rest is a network. model: the extended model that was exported, if it was
    one; the verifier knows nothing of its additions.

    A solution proves nothing: the result has a bound only if this package computes one itself (of the loss, in at most
    `bound_seconds` and the time to prove it), and is optimal only if the table meets it. Raises InputError for a file
    that cannot be read or is not a solution of this problem's model.
    """
    expect_problem(problem, "import_solution")
    if formulation is not None and problem.group_cost is None:
        get_formulation(formulation)
    bound_seconds = real_number(bound_seconds, "bound_seconds", "a number of seconds")
    if reduced is not None:
        instance_of(reduced, bool, "reduced", "True, False or None")
    path, clock = file_path(path, "path of a solution"), Clock()
    about, named = _about(problem, path, None if names is None else file_path(names, "path of a map of names"))
    formulation = _agreed("formulation", formulation, about.get("formulation"), "strong", named)
    if problem.group_cost is not None:
        _refuse_reduced(problem, bool(reduced))
        return import_groups(problem, path, about, formulation, model)
    written = None if reduced is None else "yes" if reduced else "no"
    after = _agreed("reduced", written, about.get("reduced"), "no", named) == "yes"
    declared = declared_model(problem, formulation, after, clock, model)
    linear = declared.arrays.linear
    if "model_sha256" in about and about["model_sha256"] != fingerprint(linear):
        raise InputError(
            f"{named}: the map is of another model of this table: extended (pass it as model=, as in the export), "
            f"with other requirements or options, or of another version of {_WRITTEN_BY}; else export again"
        )
    with clock.step("handover"):
        variables, constraints = names_in_file(linear)
        if NAMES in about:
            variables = numbered(linear)
        columns = {**{name: j for j, name in enumerate(variables)}, CONSTANT: -1}
        found = read_solution(path, columns, linear.variables, {f"{c}{end}" for c in constraints for end in _ENDS})
    if amiss := found.contradiction(linear):
        raise InputError(
            f"{path}: the solution {amiss} in this model; is it of another model, or was the file cut off?"
        )
    message = f"the table of a solution that {found.solver} has written; what the solver proved is not known"
    return _verified(declared, str(path), found, clock, bound_seconds, message)


def _refuse_reduced(problem: Problem, reduced: bool) -> None:
    if reduced:
        raise InputError(f"models of {problem.recoding.kind} have no reductions; leave reduced out")


def solved_table(
    problem: Problem,
    model: pyo.ConcreteModel,
    *,
    formulation: str | None = None,
    bound_seconds: float = BOUND_SECONDS,
) -> Result:
    """Make the released table of a model that Pyomo's own solvers have solved, and verify it.

    model: one of `build_model(problem, formulation)`, perhaps extended, with the values that the solver has loaded into
    its variables. formulation: that of the model, if it does not say so itself. bound_seconds: as in `import_solution`.

    The values prove nothing: the result is like that of `import_solution`. Raises InputError for a model of another
    problem, for one without values, and if these are no point of the model or no table.
    """
    expect_problem(problem, "solved_table")
    instance_of(model, pyo.ConcreteModel, "model", "a Pyomo model of build_model(problem)")
    bound_seconds, clock = real_number(bound_seconds, "bound_seconds", "a number of seconds"), Clock()
    message = "the table of the values in the model; what the solver proved is not known"
    if problem.group_cost is not None:
        return solved_groups(problem, model, formulation, message)
    formulation = formulation_of(model) or "strong" if formulation is None else formulation
    declared = declared_model(problem, formulation, False, clock, model)
    if declared.extension is None:
        declared = replace(declared, own=True)
    found = SolutionFile("pyomo", declared.arrays.loaded(), None)
    return _verified(declared, "the model", found, clock, bound_seconds, message)


def _verified(
    declared: DeclaredModel, where: str, found: SolutionFile, clock: Clock, bound_seconds: float, message: str
) -> Result:
    """The table of a point, verified, with a bound of our own. where: the point comes from, for errors."""
    problem, linear = declared.prepared.problem, declared.arrays.linear
    _check_point(where, found, linear, all_constraints=not declared.own)
    with clock.step("assign"):
        assignment = _assignment(where, found, declared)
        release = expand(declared.prepared.before, declared.prepared.restore(assignment))
        table = release.table(problem.table)
    with clock.step("verify"):
        report = verify(problem, table, partition=release.groups.group.tolist())
    objective = _objective(declared, found, report)
    bound = _own_bound(declared, clock, bound_seconds) if report.ok else None
    if bound is not None and objective is not None and bound > objective:
        bound, message = None, f"{message}; it is better than the bound that was computed, which is discarded"
    proof: Proof = "none" if bound is None else "optimal" if bound == objective else "bound"
    instance = declared.prepared.instance
    return Result(
        problem=problem,
        stop_reason="optimal" if proof == "optimal" else "imported",
        proof=proof,
        backed_by=() if bound is None else backing(("certificate",), problem, declared.formulation),
        exact_objective=objective,
        exact_bound=bound,
        table=table if report.ok else None,
        placed=release.groups if report.ok else None,
        report=report,
        solver=SolverRun(f"import:{found.solver}", "", declared.formulation, SolverOptions(), "import"),
        before=declared.prepared.size_before,
        after=Size(
            instance.types.count,
            instance.candidates.count,
            instance.candidates.pairs,
            linear.variables,
            linear.constraints,
        ),
        row_types=declared.prepared.row_types,
        seconds=clock.total(),
        message=message,
        reductions=declared.prepared.reduction_sizes,
        extension=declared.extension,
        unit=unit_of(instance, declared.extension),
    )


_ENDS = ("", "_lo", "_up")  # of a constraint with two sides in an LP file


def declared_model(
    problem: Problem, formulation: str, reduced: bool, clock: Clock, model: pyo.ConcreteModel | None = None
) -> DeclaredModel:
    """The model of an export, the same one each time."""
    chosen, own = get_formulation(formulation), model is None
    if model is not None:
        instance_of(model, pyo.ConcreteModel, "model", "a Pyomo model of build_model(problem)")
        if reduced:
            raise InputError("a model of build_model is not reduced; export it without reduced=True")
    prepared = prepared_for_model(problem, chosen, clock, reduced=reduced)
    if model is None:
        with clock.step("build"):
            model = chosen.build(prepared.instance)
    else:
        check_model(model, prepared, formulation)
    with clock.step("handover"):
        if own:
            arrays = RestrictedModel.handed_over(prepared.instance, model, names=True).arrays
            return DeclaredModel(prepared, model, arrays, formulation, reduced)
        arrays, extension = compared(chosen, prepared.instance, model)
    return DeclaredModel(prepared, model, arrays, formulation, reduced, own, extension)


def _about(problem: Problem, solution: Path, names: Path | None) -> tuple[dict[str, str], Path | None]:
    """What the map of names says, and where it is: as named, or beside the solution; nothing where there is none.

    Beside the solution it is the one of its name, or the only one there that is about this table.
    """
    table = _table_hash(problem)
    if names is None:
        stem = solution.name
        while "." in stem and names is None:
            stem = stem.rpartition(".")[0]
            same = [names_path(solution.with_name(stem + suffix)) for suffix in ("", *_SUFFIXES)]
            names = next((path for path in same if path.is_file()), None)
    if names is not None:
        if not exists(names):
            raise InputError(
                f"{names}: no such map of names; `export` writes it next to the model, as MODEL.mps.names.csv; if it "
                "is next to the solution, leave out names (--names)"
            )
        about = read_about(names)
        if about.get("table_sha256", table) != table:
            raise InputError(f"{names}: the map of names belongs to another table than {problem.table.source}")
        return about, names
    others = {path: read_about(path) for path in sorted(solution.parent.glob("*.names.csv"))}
    fitting = [path for path, about in others.items() if about.get("table_sha256") == table]
    if len({path.read_bytes() for path in fitting}) > 1:  # of one model written as MPS and LP they are the same
        found = ", ".join(path.name for path in fitting)
        raise InputError(
            f"{solution}: there are {len(fitting)} maps of names next to it ({found}); name the right one "
            "(names=..., --names)"
        )
    return (others[fitting[0]], fitting[0]) if fitting else ({}, None)


def _agreed(what: str, asked: str | None, written: str | None, default: str, named: Path | None) -> str:
    if asked is not None and written is not None and asked != written:
        raise InputError(f"{named}: the model was exported with {what} = {written}, and {asked} is asked for")
    return asked or written or default


def _check_point(where: str, found: SolutionFile, model: LinearModel, *, all_constraints: bool) -> None:
    """Refuse a point that is none of the model, naming the constraint or variable that it is farthest from. Without
    all constraints: that every row is placed; the verifier says what else is wrong with such a table."""
    x, activity = found.x, model.A @ found.x
    integrality = np.where(model.integer, np.abs(x - np.round(x)), 0.0)
    of_variables = np.maximum(np.maximum(model.lower - x, x - model.upper), integrality)
    of_constraints = np.maximum(model.constraint_lower - activity, activity - model.constraint_upper)
    if not all_constraints:
        of_constraints[[not name.startswith("placed") for name in model.constraint_names]] = 0.0
    tolerance = _VIOLATION * max(1.0, float(np.abs(x).max(initial=0.0)))
    violations = {"variable": of_variables, "constraint": of_constraints}
    for (kind, violation), names in zip(violations.items(), names_in_file(model), strict=True):
        if len(violation) and violation.max() > tolerance:
            worst = int(violation.argmax())
            amiss = f"{kind} {names[worst]} is violated by {violation[worst]:g}; was it made for another model?"
            raise InputError(f"{where}: this is not a solution of the model: {_not_integer(found, model) or amiss}")


def _not_integer(found: SolutionFile, model: LinearModel) -> str:
    """The variable that is farthest from the integer that it must be; empty where there is none."""
    off = np.where(model.integer, np.abs(found.x - np.round(found.x)), 0.0)
    if not len(off) or off.max() <= _FRACTIONAL:
        return ""
    worst, names = int(off.argmax()), names_in_file(model)[0]
    return f"variable {names[worst]} must be an integer and is {found.x[worst]:g}; was only its relaxation solved?"


def _assignment(where: str, found: SolutionFile, declared: DeclaredModel) -> Assignment:
    """The rows of each pair: as they are where they are integers, else the row assignment that `solve` would make."""
    instance, model, arrays = declared.prepared.instance, declared.model, declared.arrays
    x = arrays.values_of(list(model.assign.values()), found.x)
    fractional = bool(len(x)) and float(np.abs(x - np.round(x)).max()) > _FRACTIONAL
    try:
        if not fractional:
            return Assignment.from_pairs(instance, np.round(x).astype(np.int64))
        if not (instance.problem.network and declared.own):
            raise InputError(
                f"{where}: values of assign are fractional, and must be integers in this model; was only its "
                "relaxation solved?"
            )
        return RestrictedModel(instance, model, arrays).assignment(found.x)
    except SolverError as error:
        why = _not_integer(found, arrays.linear) or error
        raise InputError(f"{where}: no table can be made of it: {why}") from None


def _objective(declared: DeclaredModel, found: SolutionFile, report: Report) -> Fraction | None:
    """The objective of the table, recomputed by the verifier; that of the solution where the user has another one."""
    if declared.goal != "objective":
        return verified_objective(declared.prepared.problem, report)
    linear = declared.arrays.linear
    value = linear.value(np.where(linear.integer, np.round(found.x), found.x))
    return declared.unit * Fraction(value).limit_denominator(10**9)


def _own_bound(declared: DeclaredModel, clock: Clock, seconds: float) -> Fraction | None:
    """A lower bound on the loss, from multipliers that a certificate could state."""
    instance = declared.prepared.instance
    relaxed = declared.extension is not None and declared.extension.relaxed
    if declared.goal != "loss" or relaxed or seconds <= 0:
        return None
    from kanon_milp.bounds import lagrangian, proven_bound, round_dual

    with clock.step("bound"):
        return proven_bound(instance, round_dual(lagrangian(instance, seconds=seconds))) * instance.levels.unit


def _notes(declared: DeclaredModel, known: Number | None) -> Notes:
    from kanon_milp import __version__

    problem, linear, unit = declared.prepared.problem, declared.arrays.linear, declared.unit
    about = {
        "written_by": f"{_WRITTEN_BY} {__version__}",
        "problem": problem.name,
        "formulation": declared.formulation,
        "reduced": "yes" if declared.reduced else "no",
        "objective": problem.objective if declared.own else declared.goal,
        "objective_unit": str(unit),
        "objective_constant": f"{linear.offset:.17g}",
        "table_sha256": _table_hash(problem),
        "model_sha256": fingerprint(linear),
    }
    comments = [
        f"{problem.name}: written by {_WRITTEN_BY} {__version__}, formulation {declared.formulation}"
        f"{', after all reductions' if declared.reduced else ''}{'' if declared.own else ', extended by its user'}",
        *([] if declared.extension is None else [f"extended: {declared.extension.words}"]),
        f"{declared.goal} = {unit} * objective of this file, which includes the constant {linear.offset:.17g}",
    ]
    if isinstance(known, str):
        about["known_optimum"] = known
        comments.append(f"known to be {known}")
    elif isinstance(known, Fraction):
        about |= {"known_optimum": str(known), "known_optimum_in_file": str(known / unit)}
        comments.append(
            f"known optimum: {declared.goal} {in_words(known)}, objective of this file {in_words(known / unit)}"
        )
    names = [[name.partition("[")[0] for name in every] for every in (linear.variable_names, linear.constraint_names)]
    docs = [[str(getattr(declared.model.find_component(n), "doc", None) or "") for n in every] for every in names]
    for components, labels in zip(
        (declared.model.assign, declared.model.open), labels_of(declared.prepared), strict=True
    ):
        for column, label in zip(declared.arrays.columns_of(list(components.values())).tolist(), labels, strict=True):
            if column >= 0:
                docs[0][column] = label
    return Notes(comments, about, *docs)


def _table_hash(problem: Problem) -> str:
    table = problem.table
    return table_hash(table.keys, [*table.quasi_identifiers, *table.counted_attributes], table.rows_of)


def labels_of(prepared: Prepared) -> tuple[list[str], list[str]]:
    """Labels of `assign` and of `open`: numbers of table rows and levels, no cells."""
    instance = prepared.instance
    candidates, levels, counts = instance.candidates, instance.levels, instance.types.counts.tolist()
    rows = [f"{count} rows" if count > 1 else "1 row" for count in counts]
    if instance.types is prepared.before.types:  # else row types have been merged
        _, first = np.unique(instance.types.type_of_rows(instance.problem.table.keys), return_index=True)
        rows = [f"{text} like row {row + 1} of the table" for text, row in zip(rows, first.tolist(), strict=True)]
    heights = [column.height for column in levels.columns]
    vectors = [_level_names(instance.types.names, vector, heights) for vector in levels.vectors.tolist()]
    of_candidate = [vectors[v] for v in candidates.vector.tolist()]
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    assign = [f"{rows[i]}, released with {of_candidate[g]}" for i, g in pairs]
    costs = [in_words(cost * levels.unit) for cost in candidates.cost.tolist()]
    made = zip(of_candidate, candidates.representative.tolist(), costs, strict=True)
    return assign, [f"{text}, made from {rows[i]}, loss {cost} a row" for text, i, cost in made]


def _level_names(names: Sequence[str], levels: Sequence[int], heights: Sequence[int]) -> str:
    """A level vector as in a mask file: keep, * or a level."""
    cells = zip(names, levels, heights, strict=True)
    return " ".join(f"{name}={'keep' if not level else '*' if level == top else level}" for name, level, top in cells)
