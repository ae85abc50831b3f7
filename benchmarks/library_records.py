"""Write the records of the instance library: solve what has none for a while, and say who proved what.

    python benchmarks/library_records.py [NAME ...] [--seconds 10] [--search 15] [--again]

Names may have * and ?. The records are a part of the package (kanon_milp/studies/mps_library/records).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from kanon_milp import __version__
from kanon_milp.errors import KanonError
from kanon_milp.methods.full_domain import solve_full_domain
from kanon_milp.methods.quasi_identifiers import find_quasi_identifiers
from kanon_milp.methods.solve import solve
from kanon_milp.solvers import LinearModel, SolverOptions, SolverResult, StopReason, get
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.highs import new_highs
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid
from kanon_milp.studies import datasets
from kanon_milp.studies.mps_library.build import in_file, model_text, sha256, value_of
from kanon_milp.studies.mps_library.instances import (
    LIST,
    Entry,
    LibraryInstance,
    Point,
    chosen,
    completed,
    full_domain_of,
    library_instance,
    read_list,
)
from kanon_milp.studies.mps_library.metadata import RECORDS, Difficulty, Proof, Record, Status, read_record


def recorded(entry: Entry, folder: Path, seconds: float, search_seconds: float) -> Record:
    """Solve an entry by HiGHS, and where that proves nothing by the hybrid method, and say what is known now.

    Easy is what HiGHS proves in `seconds` on one thread; hard, what is known otherwise: by construction, or by a method
    of the package.
    """
    found = library_instance(entry, folder)
    linear = found.linear
    lp_bound, presolved = _relaxed(model_text(found), seconds)
    options = SolverOptions(time_limit=seconds, absolute_gap=INTEGRAL_GAP)
    known = found.known_point()
    grid = Grid(1, linear.largest_cost)
    answer = solve_checked(get(), linear, options, grid)
    point = _point(linear, answer)
    bound = grid.safe(answer.bound)
    used = {"time_limit": seconds, "threads": 1, "seed": 0}
    proof: Proof | None = _proof("milp", answer.solver, answer.version, used, answer.seconds, answer.backed_by)
    best = _better(linear, point, known)
    reason = "not proven"
    if answer.stop_reason is StopReason.INFEASIBLE:
        if found.known is not None or best is not None:
            raise KanonError(f"{entry.name}: HiGHS says infeasible, and there is a solution")
        return _record(found, "inf", "easy", None, None, lp_bound, presolved, proof, "proven by HiGHS")
    difficulty: Difficulty = "open"
    if best is not None and bound is not None and bound >= value_of(linear, best):
        difficulty, reason = "easy", "proven by HiGHS"
    elif found.infeasible or found.known is not None:
        difficulty, reason, proof = "hard", found.reason, None
    else:
        improved, better_bound, other = _by_other_methods(found, search_seconds)
        best = _better(linear, best, improved)
        if better_bound is not None and (bound is None or better_bound >= bound):
            bound, proof = better_bound, other
        if best is not None and bound is not None and bound >= value_of(linear, best):
            difficulty = "hard"
            by_highs = proof is None or proof.method == "milp"
            reason = "bound proven by HiGHS, solution of another method" if by_highs else "proven by another method"
    if found.infeasible:
        return _record(found, "inf", difficulty, None, None, lp_bound, presolved, proof, reason)
    if found.known is not None:
        bound = Fraction(in_file(found, found.known))
        if best is None or value_of(linear, best) != bound:
            raise KanonError(f"{entry.name}: the optimum that is known by construction is not that of its solution")
    solved = best is not None and bound is not None and bound == value_of(linear, best)
    if best is not None and bound is not None and bound > value_of(linear, best):
        raise KanonError(f"{entry.name}: a bound is above a solution")
    status: Status = "opt" if solved else "open" if best is None else "best"
    return _record(found, status, difficulty, best, bound, lp_bound, presolved, proof, reason)


def write_record(record: Record, folder: Path) -> None:
    """Put a record beside the others."""
    folder.mkdir(exist_ok=True)
    content = record.model_dump(mode="json")
    (folder / f"{record.name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


def _record(
    found: LibraryInstance, status: Status, difficulty: Difficulty, best: Point | None, bound: Fraction | None,
    lp_bound: float | None, presolved: tuple[int, int], proof: Proof | None, reason: str,
) -> Record:  # fmt: skip
    value = None if best is None else value_of(found.linear, best)
    point = {} if best is None else dict(sorted(best.items()))
    return Record(
        name=found.entry.name,
        model_sha256=sha256(model_text(found).encode()),
        status=status,
        best=None if value is None else str(value * found.unit),
        best_in_file=value,
        bound_in_file=None if bound is None else int(bound),
        lp_bound=lp_bound,
        presolved=presolved,
        difficulty=difficulty,
        proved_by=proof,
        reason=reason,
        columns=[*point],
        values=[value if isinstance(value, int) else str(value) for value in point.values()],
    )


def _proof(method: str, solver: str, version: str, options: dict[str, Any], seconds: float, backed: Any) -> Proof:
    return Proof(
        method=method,
        solver=solver,
        version=version,
        package=f"kanon_milp {__version__}",
        options=options,
        seconds=round(seconds, 2),
        backed_by=list(backed),
    )


def _point(linear: LinearModel, answer: SolverResult) -> Point | None:
    """The solver's point, all variables integers."""
    if answer.x is None:
        return None
    integer = np.flatnonzero(linear.integer)
    return completed(linear, dict(zip(integer.tolist(), answer.x[integer].tolist(), strict=True)))


def _better(linear: LinearModel, one: Point | None, other: Point | None) -> Point | None:
    points = [each for each in (one, other) if each is not None]
    return min(points, key=lambda point: value_of(linear, point), default=None)


def _relaxed(text: str, seconds: float) -> tuple[float | None, tuple[int, int]]:
    """The bound of the LP relaxation, and columns and constraints that presolve of HiGHS leaves."""
    import highspy

    solver = new_highs()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("time_limit", seconds)
    with tempfile.TemporaryDirectory(prefix="kanon-milp-record-") as place:
        path = Path(place) / "model.mps"
        path.write_text(text)
        if solver.readModel(str(path)) == highspy.HighsStatus.kError:
            raise KanonError("HiGHS cannot read the model")
    solver.presolve()
    smaller = solver.getPresolvedLp()
    presolved = (int(smaller.num_col_), int(smaller.num_row_))
    solver.setOptionValue("solve_relaxation", True)
    solver.run()
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return round(float(solver.getInfo().objective_function_value), 6) if optimal else None, presolved


def _by_other_methods(found: LibraryInstance, seconds: float) -> tuple[Point | None, Fraction | None, Proof | None]:
    """What the hybrid method, the search over the lattice finds and proves: a
    point, a bound in units of the file, and who says so."""
    if found.exported is None:
        return _combinatorial(found)
    problem = found.exported.prepared.problem
    method = "search" if problem.objective == "loss" else "auto"
    result = solve(problem, method=method, time_limit=seconds)
    point = None
    if result.groups is not None and result.verified:
        point = found.point_of_groups(result.groups)
    bound = None if result.exact_bound is None else result.exact_bound / found.unit
    options = {"time_limit": seconds, "threads": 1, "seed": 0}
    proof: Proof | None = _proof(result.solver.method, result.solver.name, result.solver.version, options,
                   result.seconds.get("total", seconds), result.backed_by)  # fmt: skip
    return point, bound, proof


def _combinatorial(found: LibraryInstance) -> tuple[Point | None, Fraction | None, Proof | None]:
    """The optimum, by a search that is no model, of full-domain recoding and of columns in which some row is rare."""
    problem, entry, began = found.problem, found.entry, time.perf_counter()
    at = {name: j for j, name in enumerate(found.linear.variable_names)}
    if problem is not None and entry.kind == "minimum_qid" and entry.reading == "violate":
        said = find_quasi_identifiers(problem.table, reading="violate", k=entry.k)
        names = problem.table.quasi_identifiers
        fixed = {at[f"chosen[{j}]"]: float(name in said.minimum[0]) for j, name in enumerate(names)}
        value = Fraction(len(said.minimum[0]))
    elif problem is not None and entry.kind == "full_domain":
        best = solve_full_domain(problem.table, problem.requirements, full_domain_of(entry, problem))
        if best.objective is None or best.levels is None:
            return None, None, None
        fixed = {at[f"level[{j},{level}]"]: 1.0 for j, level in enumerate(best.levels.values())}
        value = best.objective / found.unit
    else:
        return None, None, None
    spent = time.perf_counter() - began
    method = "full_domain" if entry.kind == "full_domain" else "qid"
    return completed(found.linear, fixed), value, _proof(method, "none", "", {}, spent, ["own bound"])


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("names", nargs="*")
    given.add_argument("--seconds", type=float, default=10.0, help="for HiGHS on the model")
    given.add_argument("--search", type=float, default=15.0, help="for another method where that proves nothing")
    given.add_argument("--again", action="store_true", help="also where there is a record")
    asked = given.parse_args()
    for entry in chosen(read_list(), asked.names):
        if entry.dataset is not None and not datasets.at_hand(entry.dataset):
            print(f"{entry.name}: the table {entry.dataset} is not here", flush=True)
            continue
        if not asked.again and read_record(entry.name) is not None:
            continue
        began = time.perf_counter()
        try:
            found = recorded(entry, LIST.parent, asked.seconds, asked.search)
        except KanonError as error:
            print(f"{entry.name}: {error}", flush=True)
            continue
        write_record(found, RECORDS)
        print(
            f"{found.name:16} {found.status:4} {found.difficulty:4} {found.best_in_file} {found.bound_in_file} "
            f"lp {found.lp_bound} presolved {found.presolved} {time.perf_counter() - began:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
