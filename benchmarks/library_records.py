"""Write the records of the instance library: who proves what, what was measured, and the table of it in the docs.

    python benchmarks/library_records.py [NAME ...] [--seconds 10] [--search 15] [--solver highs] [--again]
    python benchmarks/library_records.py --library DIR --runs OUT [OUT ...]
    python benchmarks/library_records.py --docs

The first solves what has no record for a while; names may have * and ?. The second takes the rows of studies that
`library build DIR` has written into DIR and `bench` has run, such as root.toml. The third writes the tables
in docs/library.md. The records are a part of the package (kanon_milp/studies/mps_library/records).
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import ValidationError

from kanon_milp import __version__
from kanon_milp.errors import InputError, KanonError
from kanon_milp.methods.full_domain import solve_full_domain
from kanon_milp.methods.quasi_identifiers import differing_columns, find_quasi_identifiers
from kanon_milp.methods.solve import solve
from kanon_milp.solvers import LinearModel, SolverOptions, SolverResult, StopReason, get
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.highs import new_highs
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid
from kanon_milp.studies import datasets
from kanon_milp.studies.bench.plan import plan
from kanon_milp.studies.bench.running import read_folder
from kanon_milp.studies.bench.study import read_study
from kanon_milp.studies.families.source_problems import smallest_cover
from kanon_milp.studies.mps_library.build import METADATA, in_file, model_text, sha256, value_of
from kanon_milp.studies.mps_library.hardness import STUDIES, contents_table, hardness_table
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
from kanon_milp.studies.mps_library.metadata import (
    RECORDS,
    Metadata,
    Proof,
    Record,
    Run,
    Status,
    read_json,
    read_record,
)

INFEASIBLE: Literal["infeasible"] = "infeasible"
Bound = Fraction | Literal["infeasible"] | None
Known = tuple[Point | None, Bound, Proof | None]  # the bound in units of the file


def recorded(entry: Entry, folder: Path, seconds: float, search_seconds: float, solver: str = "highs") -> Record:
    """Solve an entry by a solver, and where that proves nothing by the hybrid method, and say what is known now, of the
    same model by an earlier record, too."""
    found = library_instance(entry, folder)
    linear = found.linear
    lp_bound, presolved = _relaxed(model_text(found), max(seconds, LP_SECONDS))
    options = SolverOptions(time_limit=seconds, absolute_gap=INTEGRAL_GAP)
    known = found.known_point()
    grid = Grid(1, linear.largest_cost)
    answer = solve_checked(get(solver), linear, options, grid)
    point = _point(linear, answer)
    bound = grid.safe(answer.bound)
    used = {"time_limit": seconds, "threads": 1, "seed": 0}
    proof: Proof | None = _proof("milp", answer.solver, answer.version, used, answer.seconds, answer.backed_by)
    best = _better(linear, point, known)
    reason, by_solver = "not proven", f"proven by {answer.solver}"
    if answer.stop_reason is StopReason.INFEASIBLE:
        if found.known is not None or best is not None:
            raise KanonError(f"{entry.name}: {solver} says infeasible, and there is a solution")
        return _record(found, "inf", None, None, lp_bound, presolved, proof, by_solver)
    if best is not None and bound is not None and bound >= value_of(linear, best):
        reason = by_solver
    elif found.infeasible or found.known is not None:
        reason, proof = found.reason, None
    else:
        for improved, better_bound, other in (_by_other_methods(found, search_seconds), _earlier(found)):
            if isinstance(better_bound, str):
                return _record(found, "inf", None, None, lp_bound, presolved, other, "proven by another method")
            best = _better(linear, best, improved)
            if better_bound is not None and (bound is None or better_bound > bound):
                bound, proof = better_bound, other
        if best is not None and bound is not None and bound >= value_of(linear, best):
            alone = proof is None or proof.method == "milp"
            reason = f"bound {by_solver}, solution of another method" if alone else "proven by another method"
    if found.infeasible:
        return _record(found, "inf", None, None, lp_bound, presolved, proof, reason)
    if found.known is not None:
        bound = Fraction(in_file(found, found.known))
        if best is None or value_of(linear, best) != bound:
            raise KanonError(f"{entry.name}: the optimum that is known by construction is not that of its solution")
    solved = best is not None and bound is not None and bound == value_of(linear, best)
    if best is not None and bound is not None and bound > value_of(linear, best):
        raise KanonError(f"{entry.name}: a bound is above a solution")
    status: Status = "opt" if solved else "open" if best is None else "best"
    return _record(found, status, best, bound, lp_bound, presolved, proof, reason)


def write_record(record: Record, folder: Path) -> None:
    """Put a record beside the others. What was measured of the same model stays."""
    folder.mkdir(exist_ok=True)
    known = read_record(record.name, folder)
    if not record.runs and known is not None and known.model_sha256 == record.model_sha256:
        record = Record.model_validate(record.model_dump() | {"runs": known.runs})
    content = record.model_dump(mode="json")
    (folder / f"{record.name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


def measured(library: Path, folders: Sequence[Path], records: Path = RECORDS) -> list[Record]:
    """The records with the runs of these folders: those of the library's own studies, which are about its very files.

    Raises InputError where a run knows more than the record, which is to be made again.
    """
    studies = [library / name for name in STUDIES if (library / name).is_file()]
    planned = {run.run for study in studies for run in plan(read_study(study))}
    rows = pl.concat([read_folder(folder) for folder in folders]).filter(pl.col("run").is_in(planned))
    for row in rows.filter(pl.col("defects").list.len() > 0).iter_rows(named=True):
        print(f"{row['instance']}: left out, {row['solver']} is wrong: {row['defects'][0]}", flush=True)
    rows = rows.filter(pl.col("defects").list.len() == 0)
    found = []
    for (name,), of_one in rows.group_by("instance", maintain_order=True):
        record, made = read_record(str(name), records), read_json(library / METADATA / f"{name}.json", Metadata)
        if record is None or record.model_sha256 != made.model_sha256:
            print(f"{name}: there is no record of this model", flush=True)
            continue
        runs = {run.setting: run for run in (*record.runs, *map(_run, of_one.iter_rows(named=True)))}
        measured_now = [runs[key] for key in sorted(runs)]
        try:
            found.append(
                Record.model_validate(record.model_dump() | _proven(record, measured_now) | {"runs": measured_now})
            )
        except ValidationError as error:
            print(f"{name}: {error.errors(include_url=False)[0]['msg']}", flush=True)
    return found


def _proven(record: Record, runs: Sequence[Run]) -> dict[str, Any]:
    """What a run has proven that the record does not know yet, of the solution that it has, or that there is none."""
    proving = next((run for run in runs if run.proven and run.best == record.best_in_file), None)
    if proving is None or record.status in ("opt", "inf"):
        return {}
    limits = {"time_limit": proving.time_limit, "threads": 1, "seed": 0}
    said = _proof("milp", proving.solver, proving.version, limits, proving.seconds, [proving.solver])
    changes = {"proved_by": said, "reason": f"proven by {proving.solver}", "bound_in_file": proving.best}
    return changes | {"status": "inf" if proving.best is None else "opt"}


def _run(row: dict[str, Any]) -> Run:
    """What a row says. A run that is to end after the root and does not say why it ended has come to its end."""
    node_limit = next(iter(json.loads(row["options"]).values()), None)
    ended = "node_limit" if node_limit is not None and row["stop_reason"] == "error" else row["stop_reason"]
    return Run(
        solver=row["solver"],
        version=row["solver_version"],
        node_limit=node_limit,
        time_limit=row["time_limit"],
        permutation=row["permutation"],
        ended=ended,
        best=None if row["objective_exact"] is None else round(Fraction(row["objective_exact"])),
        bound=None if row["bound"] is None else round(row["bound"], 6),
        nodes=row["nodes"],
        seconds=round(row["seconds"], 2),
    )


def documented(page: str, records: Path = RECORDS) -> str:
    """A page with the tables of what is in the library, and of how hard it is, between their marks."""
    known = [(entry.origin, record) for entry in read_list() if (record := read_record(entry.name, records))]
    tables = iter((contents_table(known), hardness_table([record for _, record in known])))
    return re.sub(f"({BEGIN})\n.*?({END})", lambda marks: f"{marks[1]}\n\n{next(tables)}\n{marks[2]}", page, flags=re.S)


def _record(
    found: LibraryInstance, status: Status, best: Point | None, bound: Fraction | None,
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


def _earlier(found: LibraryInstance) -> Known:
    """What the earlier record of this very model says."""
    record = read_record(found.entry.name)
    if record is None or record.model_sha256 != sha256(model_text(found).encode()):
        return None, None, None
    if record.status == "inf":
        return None, INFEASIBLE, record.proved_by
    values = (value if isinstance(value, int) else Fraction(value) for value in record.values)
    bound = None if record.bound_in_file is None else Fraction(record.bound_in_file)
    return dict(zip(record.columns, values, strict=True)) or None, bound, record.proved_by


def _by_other_methods(found: LibraryInstance, seconds: float) -> Known:
    """What the hybrid method, the search over the lattice finds and proves: a
    point, a bound in units of the file, and who says so."""
    if found.exported is None:
        return _combinatorial(found)
    problem = found.exported.prepared.problem
    several = any(getattr(each, "quasi_identifiers", None) for each in problem.requirements)
    method = "search" if problem.objective == "loss" and not several else "auto"
    result = solve(problem, method=method, time_limit=seconds)
    groups, infeasible = result.groups if result.verified else None, result.proof == "infeasible"
    if groups is None and problem.exact_cost_bound is not None and not infeasible:  # the best table of all may be below
        result = solve(replace(problem, objective="loss", cost_bound=None), method="search", time_limit=seconds)
        infeasible = result.exact_bound is not None and result.exact_bound > problem.exact_cost_bound
        groups = result.groups if result.verified else None
        result = replace(result, exact_bound=None)  # it is about another objective
    point = None if groups is None or infeasible else found.point_of_groups(groups)
    bound: Bound = None if result.exact_bound is None else result.exact_bound / found.unit
    if infeasible:
        bound = INFEASIBLE
    options = {"time_limit": seconds, "threads": 1, "seed": 0}
    proof: Proof | None = _proof(result.solver.method, result.solver.name, result.solver.version, options,
                   result.seconds.get("total", seconds), result.backed_by)  # fmt: skip
    return point, bound, proof


def _combinatorial(found: LibraryInstance) -> Known:
    """The optimum, by a search that is no model, of full-domain recoding and of columns in which some row is rare."""
    problem, entry, began = found.problem, found.entry, time.perf_counter()
    at = {name: j for j, name in enumerate(found.linear.variable_names)}
    if problem is not None and entry.kind == "minimum_qid" and entry.reading == "identify":
        differing = differing_columns(problem.table)
        sets = [np.flatnonzero(of).tolist() for of in differing.T]
        cover, fewest = None, 0
        while cover is None:  # one more column each time, until there is a cover, or that takes too many steps
            try:
                cover = smallest_cover(range(len(differing)), sets, [fewest])
            except InputError:
                break
            fewest += cover is None
        value, fixed = Fraction(fewest), {at[f"chosen[{j}]"]: float(j in (cover or ())) for j in range(len(sets))}
        if cover is None:
            return None, value, _proof("qid", "none", "", {}, time.perf_counter() - began, ["own bound"])
    elif problem is not None and entry.kind == "minimum_qid":
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


LP_SECONDS = 120.0
BEGIN, END = "<!-- written by benchmarks/library_records.py --docs -->", "<!-- until here -->"
PAGE = Path(__file__).parents[1] / "docs" / "library.md"


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("names", nargs="*")
    given.add_argument("--seconds", type=float, default=10.0, help="for the solver on the model")
    given.add_argument("--search", type=float, default=15.0, help="for another method where that proves nothing")
    given.add_argument("--solver", default="highs", help="for the model, in the place of HiGHS")
    given.add_argument("--again", action="store_true", help="also where there is a record")
    given.add_argument("--library", type=Path, help="folder of a built library, whose studies were run")
    given.add_argument("--runs", type=Path, nargs="+", help="folders of the studies' results")
    given.add_argument("--docs", action="store_true", help="write the tables in docs/library.md")
    asked = given.parse_args()
    if asked.runs:
        for record in measured(asked.library, asked.runs):
            write_record(record, RECORDS)
            print(f"{record.name:16} {record.difficulty}", flush=True)
        return
    if asked.docs:
        PAGE.write_text(documented(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for entry in chosen(read_list(), asked.names):
        if entry.dataset is not None and not datasets.at_hand(entry.dataset):
            print(f"{entry.name}: the table {entry.dataset} is not here", flush=True)
            continue
        if not asked.again and read_record(entry.name) is not None:
            continue
        began = time.perf_counter()
        try:
            found = recorded(entry, LIST.parent, asked.seconds, asked.search, asked.solver)
        except KanonError as error:
            print(f"{entry.name}: {error}", flush=True)
            continue
        write_record(found, RECORDS)
        print(
            f"{found.name:16} {found.status:4} {found.best_in_file} {found.bound_in_file} "
            f"lp {found.lp_bound} presolved {found.presolved} {time.perf_counter() - began:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
