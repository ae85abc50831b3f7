"""Build the library: MPS files with the same bytes each time, metadata, solutions, and a list of best values."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from kanon_milp import __version__
from kanon_milp.errors import InputError
from kanon_milp.solvers import LinearModel
from kanon_milp.solvers.mps import mps_lines, names_in_file
from kanon_milp.studies import datasets
from kanon_milp.studies.mps_library.exact_mps import exact, solution_lines
from kanon_milp.studies.mps_library.hardness import studies
from kanon_milp.studies.mps_library.instances import (
    LIST,
    Entry,
    LibraryInstance,
    Point,
    chosen,
    library_instance,
    read_list,
)
from kanon_milp.studies.mps_library.metadata import RECORDS, SOLU, Metadata, Record, Set, features, read_record, set_of
from kanon_milp.studies.mps_library.submission import submissions
from kanon_milp.system.files import check_folder, holding, make_folder, write_file

MODELS, METADATA, SOLUTIONS, SUBMISSION = "instances", "metadata", "solutions", "submission"
SOLU_FILE, MANIFEST, SCHEMA, TABLE = "library.solu", "library.json", "schema.json", "library.csv"
TABLE_COLUMNS = (
    "name", "family", "kind", "requirements", "series", "variables", "binary", "constraints", "nonzeros", "status",
    "set", "difficulty", "feasibility", "best_in_file", "bound_in_file", "lp_bound", "lp_gap",
)  # fmt: skip
RECORDED = (  # what metadata say as the record does
    "lp_bound", "lp_gap", "presolved", "status", "set", "difficulty", "feasibility", "best", "best_in_file",
    "bound_in_file", "reason", "proved_by", "runs",
)  # fmt: skip
MATCH = "the model is not the one that its record is about, so the record is not used"


@dataclass(frozen=True)
class Built:
    """What was built: metadata of each instance; which ones lack their data; and what else there is to say."""

    folder: Path
    metadata: list[Metadata]
    missing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def model_text(found: LibraryInstance) -> str:
    """The MPS file of an instance: nothing in it depends on the version of the package, or the day."""
    variables, constraints = names_in_file(found.linear)
    head = f"* {found.title}\n* {found.goal} = {found.unit} * objective of this file, its constant included\n"
    text = head + "".join(mps_lines(found.linear, variables, constraints))
    return text.encode("ascii", errors="replace").decode()


def sha256(content: bytes) -> str:
    """In hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def compressed(text: str) -> bytes:
    """By gzip, without time and file name."""
    return gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0)


def build_library(
    folder: Path,
    *,
    listed: Path = LIST,
    records: Path = RECORDS,
    only: Sequence[str] = (),
    chosen_set: Set | None = None,
    on_built: Callable[[Metadata], None] | None = None,
) -> Built:
    """Build the library in a folder, which is made. only: names, which may have * and ?. chosen_set: as
    the records say.

    Instances of real tables are left out where the table is not at hand; nothing is downloaded. Raises InputError for a
    list that cannot be read, and a folder that cannot be written.
    """
    entries = chosen(read_list(listed), only)
    if chosen_set is not None:
        entries = [each for each in entries if set_of(each.name, records) == chosen_set]
    check_folder(folder)
    built, hashes = Built(folder, []), dict[str, str]()
    for each in (MODELS, METADATA, SOLUTIONS, SUBMISSION):
        make_folder(folder / each)
    for entry in entries:
        if entry.dataset is not None and not datasets.at_hand(entry.dataset):
            built.missing[entry.name] = entry.dataset
            continue
        made, files = instance_files(entry, listed.parent, records, built.notes)
        for name, content in files.items():
            _write(folder, name, content, hashes)
        built.metadata.append(made)
        if on_built is not None:
            on_built(made)
    _write(folder, SOLU_FILE, solu(built.metadata).encode(), hashes)
    _write(folder, SCHEMA, _json(Metadata.model_json_schema()), hashes)
    _write(folder, TABLE, table_text(built.metadata).encode(), hashes)
    for name, text in studies(built.metadata):
        _write(folder, name, text.encode(), hashes)
    for name, text in submissions(built.metadata):
        _write(folder, f"{SUBMISSION}/{name}.md", text.encode(), hashes)
    manifest = {
        "package": f"kanon_milp {__version__}",
        "instances": [made.name for made in built.metadata],
        "missing": built.missing,
        "files": hashes.copy(),
    }
    _write(folder, MANIFEST, _json(manifest), hashes)
    return built


def instance_files(entry: Entry, folder: Path, records: Path, notes: list[str]) -> tuple[Metadata, dict[str, bytes]]:
    """The metadata of an entry and its files, by their paths in the library. notes: is added to."""
    found = library_instance(entry, folder)
    text = model_text(found)
    record = read_record(entry.name, records)
    if record is not None and record.model_sha256 != sha256(text.encode()):
        notes.append(f"{entry.name}: {MATCH}")
        record = None
    if record is None:
        record = unrecorded(found, sha256(text.encode()))
    files = {f"{MODELS}/{entry.name}.mps.gz": compressed(text)}
    solution = None
    if record.best_in_file is not None:
        variables, _ = names_in_file(found.linear)
        point = {variables[j]: exact(str(value)) for j, value in zip(record.columns, record.values, strict=True)}
        solution = f"{SOLUTIONS}/{entry.name}.sol.gz"
        files[solution] = compressed("".join(solution_lines(record.best_in_file, point)))
    requirements: list[str] = [entry.kind]
    if found.exported is not None:
        problem = found.exported.prepared.problem
        special = [problem.recoding.kind] if problem.recoding.kind != "suppression" else []
        requirements = [*dict.fromkeys(each.name for each in problem.requirements), *special]
    made = Metadata(
        name=entry.name,
        title=found.title,
        kind=entry.kind if entry.family != "minimum_cover" else "minimum_qid",
        family=entry.origin,
        requirements=requirements,
        formulation=entry.kind if found.exported is None else entry.formulation,
        series=entry.series,
        source=found.source,
        licence=found.licence,
        objective=found.goal,
        unit=str(found.unit),
        features=features(found.linear),
        **{name: getattr(record, name) for name in RECORDED},
        model=f"{MODELS}/{entry.name}.mps.gz",
        model_sha256=sha256(text.encode()),
        solution=solution,
        solution_sha256=None if solution is None else sha256(files[solution]),
    )
    files[f"{METADATA}/{entry.name}.json"] = _json(made.model_dump(mode="json"))
    return made, files


def unrecorded(found: LibraryInstance, model_sha256: str) -> Record:
    """What is known without a run of a solver: what follows by construction."""
    known: Any = {"name": found.entry.name, "model_sha256": model_sha256}
    point = found.known_point()
    if found.infeasible:
        return Record(**known, status="inf", reason=found.reason)
    if found.known is None or point is None:
        return Record(**known, status="open", reason="not solved")
    best = in_file(found, found.known)
    return Record(
        **known, status="opt", best=str(found.known), best_in_file=best, bound_in_file=best, reason=found.reason,
        columns=[*point], values=[v if isinstance(v, int) else str(v) for v in point.values()],
    )  # fmt: skip


def in_file(found: LibraryInstance, value: Fraction) -> int:
    """A value of the problem as one of the file's objective."""
    units = value / found.unit
    if units.denominator != 1:
        raise InputError(f"{found.entry.name}: the objective {value} is no integer in the file")
    return units.numerator


def value_of(model: LinearModel, point: Point) -> int:
    """The objective of a point of integers."""
    costs = Fraction(model.offset) + sum((Fraction(model.c[j]) * value for j, value in point.items()), Fraction(0))
    if costs.denominator != 1:
        raise InputError(f"{model.name}: the objective of the solution is no integer")
    return costs.numerator


def solu(metadata: Iterable[Metadata]) -> str:
    """The list of best values, as MIPLIB has it."""
    lines = (
        f"{SOLU[each.status]} {each.name} {'' if each.best_in_file is None else each.best_in_file}".strip()
        for each in metadata
    )
    return "".join(line + "\n" for line in lines)


def table_text(metadata: Iterable[Metadata]) -> str:
    """One line an instance, as CSV."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(TABLE_COLUMNS)
    for each in metadata:
        f = each.features
        table.writerow((
            each.name, each.family, each.kind, " ".join(each.requirements), each.series or "",
            f.binary + f.integer + f.continuous, f.binary,
            f.equality + f.less_or_equal + f.greater_or_equal + f.ranged, f.nonzeros, each.status,
            each.set, each.difficulty, each.feasibility,
            each.best_in_file, each.bound_in_file, each.lp_bound, each.lp_gap,
        ))  # fmt: skip
    return out.getvalue()


def _json(content: object) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _write(folder: Path, name: str, content: bytes, hashes: dict[str, str]) -> None:
    write_file(folder / name, holding(content))
    hashes[name] = sha256(content)
