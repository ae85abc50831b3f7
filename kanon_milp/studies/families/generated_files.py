"""A generated instance as files: table, model file, solver's model, and the table that attains the optimum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyomo.core as pyo

from kanon_milp.errors import InputError, SolverError
from kanon_milp.formulations.column_models import build_identifying
from kanon_milp.methods.exchange import export_model
from kanon_milp.methods.quasi_identifiers import differing_columns
from kanon_milp.presolve.assignment import RowGroups, expand
from kanon_milp.presolve.partition import partition_of_groups, released_partition
from kanon_milp.presolve.preparation import presolve
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.problem.distances import MatrixDistance
from kanon_milp.problem.privacy import Requirement
from kanon_milp.solvers import LinearModel
from kanon_milp.solvers.mps import Notes, names_path, write_model
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.studies.families import Generated, GeneratedColumns
from kanon_milp.studies.model_content import toml_text
from kanon_milp.system.clock import Clock
from kanon_milp.system.files import check_folder, holding, make_folder, write_together
from kanon_milp.verify import verify

TABLE, MODEL, SOLUTION, DISTANCE, ANSWER = "table.csv", "model.toml", "solution.csv", "distance.csv", "source.json"
EXPORTED = "model.mps.gz"
NAMES = names_path(Path(EXPORTED)).name
FILES = (TABLE, MODEL, SOLUTION, DISTANCE, ANSWER)


def write_generated(found: Generated, folder: Path, *, exported: bool = True) -> list[Path]:
    """Write an instance to a folder, which is made; returns the files.

    exported: whether the model goes into model.mps.gz too. The table of the known groups is verified before anything is
    written, and its loss held against the known optimum. The files of an earlier instance are replaced. Raises
    InputError where it cannot be written, and where files of the same names are there that are of no instance.
    """
    problem = found.problem()
    texts = {TABLE: csv_text(found.frame, ","), MODEL: model_text(found)}
    for metric in filter(None, map(_metric, found.privacy)):
        rows: list[Any] = [
            ["", *metric.values],
            *([value, *row] for value, row in zip(metric.values, metric.matrix, strict=True)),
        ]
        texts[DISTANCE] = "".join(",".join(map(str, row)) + "\n" for row in rows)
    if found.groups is not None:
        texts[SOLUTION] = csv_text(released_groups(found), ",")
    texts[ANSWER] = json.dumps(_answer(found), indent=2, ensure_ascii=False) + "\n"
    earlier_files(folder)
    make_folder(folder)
    if exported:
        export_model(problem, folder / EXPORTED, known="infeasible" if found.optimum is None else found.optimum)
    return _written(folder, texts, exported)


def write_generated_columns(found: GeneratedColumns, folder: Path, *, exported: bool = True) -> list[Path]:
    """Write a table whose minimum quasi-identifier is known to a folder, which is made; returns the files.

    There is no model file, which states what a table is to be released as: `kanon-milp qid table.csv` solves it.
    """
    answer = {
        "source_problem": found.source_problem,
        "answer": "no" if found.optimum is None else "yes",
        "optimum": found.optimum,
        "at_most": found.at_most,
        "reason": found.reason,
        "solution": None if found.chosen is None else found.read_back(found.chosen),
        "columns": None if found.chosen is None else list(found.chosen),
    }
    texts = {TABLE: csv_text(found.frame, ","), ANSWER: json.dumps(answer, indent=2, ensure_ascii=False) + "\n"}
    earlier_files(folder)
    make_folder(folder)
    if exported:
        known = "infeasible" if found.optimum is None else f"{found.optimum} columns"
        notes = Notes([found.title, f"known optimum: {known}"], {"known_optimum": known})
        write_model(columns_model(found), folder / EXPORTED, notes)
    return _written(folder, texts, exported)


def columns_model(found: GeneratedColumns) -> LinearModel:
    """The minimum quasi-identifier of a generated table as a MILP; where the answer is no, of `at_most` columns."""
    model = build_identifying(found.frame.columns, differing_columns(found.frame))
    if found.optimum is None:
        model.few = pyo.Constraint(expr=sum(model.chosen.values()) <= found.at_most)
    return to_arrays(model, names=True).linear


def earlier_files(folder: Path) -> list[str]:
    """The names of the files of an instance that was generated into a folder before, which another one would replace.

    Raises InputError where files of these names are there that are of no generated instance.
    """
    check_folder(folder, (*FILES, EXPORTED))
    there = [name for name in (*FILES, EXPORTED, NAMES) if (folder / name).is_file()]
    if there and not _is_generated(folder):
        raise InputError(
            f"{folder}: holds {', '.join(there)}, and no {ANSWER} that says that they were generated; choose another "
            "folder, or move them away"
        )
    return there


def _is_generated(folder: Path) -> bool:
    try:
        answer = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and {"source_problem", "answer", "optimum"} <= answer.keys()


def _written(folder: Path, texts: dict[str, str], exported: bool) -> list[Path]:
    """Write the files, without what an earlier instance has and this one has not."""
    files = {name: holding(texts[name]) if name in texts else None for name in FILES}
    write_together(folder, files if exported else files | dict.fromkeys((EXPORTED, NAMES)))
    return sorted(path for path in folder.iterdir() if path.name in FILES or path.name.startswith(EXPORTED))


def released_groups(found: Generated) -> pl.DataFrame:
    """The table in which the known groups are released as cheaply as possible, verified.

    Raises SolverError where the verifier refuses it, or its loss is not the known optimum.
    """
    problem, groups, expected = found.problem(), found.group_of_row, found.optimum
    assert groups is not None
    prepared = presolve(problem, Clock(), enumerated=False).before
    released = released_partition(prepared, partition_of_groups(prepared, RowGroups.of_table(groups, problem.table)))
    if released is None:
        raise SolverError("the mask has no pattern for a planted group")
    table = expand(*released).table(problem.table)
    report = verify(problem, table)
    if not report.ok or (expected is not None and problem.objective == "loss" and report.cost != expected):
        raise SolverError(f"the planted groups are not what was said of them: {report.violations[:1] or report.cost}")
    released_table: pl.DataFrame = table
    return released_table


def model_text(found: Generated) -> str:
    """The model file."""
    requirements = []
    for requirement in found.privacy:
        claims = {key: value for key, value in requirement.claims.items() if key not in ("name", "sensitive")}
        if _metric(requirement) is not None:
            claims["distance"] = f"matrix:{DISTANCE}"
        given = {key: value for key, value in claims.items() if value is not None}
        requirements.append({"kind": requirement.name, **given})
    data: dict[str, Any] = {"file": TABLE, "quasi_identifiers": list(found.quasi_identifiers)}
    if found.sensitive:
        data["sensitive"] = list(found.sensitive)
    content: dict[str, Any] = {"title": found.title, "source": found.reason, "data": data}
    content["privacy"] = {"requirements": requirements}
    if found.patterns is not None:
        content["recoding"] = {"patterns": [list(each) for each in found.patterns]}
    if found.sides:
        content["problem"] = found.sides
    known = {"infeasible": True} if found.optimum is None else {"optimum": found.optimum}
    content["known"] = {**known, "source": found.reason}
    return toml_text(content)


def _answer(found: Generated) -> dict[str, Any]:
    groups = None if found.groups is None else [[row + 1 for row in group] for group in found.groups]
    solution = None
    if found.read_back is not None and found.groups is not None:
        solution = found.read_back(found.groups)
    return {
        "source_problem": found.source_problem,
        "answer": found.answer,
        "optimum": None if found.optimum is None else str(found.optimum),
        "reason": found.reason,
        "solution": solution,
        "groups_of_rows_from_1": groups,
    }


def _metric(requirement: Requirement) -> MatrixDistance | None:
    distance = getattr(requirement, "distance", None)
    return distance if isinstance(distance, MatrixDistance) else None
