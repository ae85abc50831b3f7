"""The results of a session: what its folder holds, what is checked before, and paths as they are seen from there."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.methods.description import sha256_of
from kanon_milp.methods.result import Result
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.problem.arguments import file_path, instance_of
from kanon_milp.problem.column_values import without_text
from kanon_milp.problem.csv_files import csv_bytes, csv_text
from kanon_milp.problem.problem import Problem
from kanon_milp.problem.table import Table, is_text, read_frame
from kanon_milp.studies.metrics import describe_release
from kanon_milp.studies.model_content import model_content
from kanon_milp.system.files import Fill, check_folder, make_folder, write_together
from kanon_milp.system.limit import NO_LIMIT, Limit, Over

RAN_IN = "ran_in"  # key of result.json: where the session ran, seen from the folder
DATABASES = ("sqlite:///", "duckdb:///")


def ran_in(folder: Path) -> str:
    """The current directory, seen from a folder; itself where there is no way, as between drives of Windows."""
    return from_folder(".", Path.cwd(), folder)


def base_of(described: Mapping[str, Any], folder: Path) -> Path:
    """Where the paths of a `result.json` begin: where the session ran, or here, where the object does not say so."""
    where = described.get(RAN_IN)
    return folder / where if isinstance(where, str) else Path.cwd()


def from_folder(path: str, base: Path, folder: Path) -> str:
    """A path that was given in one directory as it is seen from another; what is absolute stays as it is."""
    if Path(path).is_absolute():
        return path
    whole = os.path.realpath(base / path)
    try:
        return Path(os.path.relpath(whole, os.path.realpath(folder))).as_posix()
    except ValueError:
        return whole


def seen_from(described: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The object of `result.json` with the paths of files as they are seen from the folder of the result."""
    found, base = copy.deepcopy(dict(described)), base_of(described, folder)
    given, table = found["input"], found["input"]["table"]
    for part in (
        given.get("model"), table, given["mask"], *given["hierarchies"].values(), *given["distances"],
        *given.get("populations", ()), found.get("certificate"),
    ):  # fmt: skip
        if part is not None and isinstance(part.get("file"), str):
            part["file"] = from_folder(part["file"], base, folder)
    for each in found["problem"]["requirements"]:
        if isinstance(each.get("population"), str):
            each["population"] = from_folder(each["population"], base, folder)
    for start in DATABASES:
        if table.get("query") is not None and str(table["source"]).startswith(start):
            table["source"] = start + from_folder(table["source"].removeprefix(start), base, folder)
    return found


# C1 controls, marks that change the direction of writing, line separators, halves of characters; JSON escapes the rest
UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# a table from a columnar file is also released as one, with the types of its columns
COLUMNAR: dict[str, tuple[str, Callable[[pl.DataFrame, io.BytesIO], object]]] = {
    "parquet": ("anonymized.parquet", pl.DataFrame.write_parquet),
    "arrow": ("anonymized.arrow", pl.DataFrame.write_ipc),
}
CLAIM = "result.json"
STATEMENT = "model"  # key of it: the content of a model file that states the problem
PAGE = "report.html"  # beside it, where the page of a result goes by default
NO_MEASURES = "there was no time to measure what the release costs and protects, column by column"
FILES = ("anonymized.csv", *(name for name, _ in COLUMNAR.values()), "groups.csv", CLAIM)
POOL = "pool"  # folder beside it, with the tables of a pool in pool/01, pool/02, ...


def check_output(problem: Problem, folder: Path) -> str:
    """Raise InputError if the results of a problem could not be written to the folder; creates nothing.

    Returns what will not be written, in words; empty if everything will.
    """
    check_folder(folder, FILES)
    table = problem.table
    unwritable = without_text(as_polars(table.frame[table.released_columns]))
    if not unwritable:
        _check_encoding(problem)
        return ""
    names = ", ".join(f'"{name}"' for name in unwritable)
    what = f"{table.source}: no CSV file can hold the values of {names} (lists, structures or bytes)"
    if table.kind not in COLUMNAR:
        raise InputError(f"{what}; leave them out")
    return f"{what}, so {COLUMNAR[table.kind][0]} is written without anonymized.csv"


def earlier_files(folder: Path) -> list[str]:
    """The names of the files of an earlier result in a folder, which another one would replace; and that of the folder
    of its pool."""
    return [name for name in FILES if (folder / name).is_file()] + [POOL] * bool(pool_files(folder))


def pool_files(folder: Path, tables: int = 0) -> list[str]:
    """The names of the files of a pool in the folder of a result: those that are there, and those of so many tables."""
    names = {pool_folder(number): None for number in range(1, tables + 1)}
    there = sorted((folder / POOL).glob("[0-9]*")) if os.path.isdir(folder / POOL) else []
    names.update({f"{POOL}/{each.name}": None for each in there if each.name.isdigit()})
    every = [f"{place}/{name}" for place in names for name in FILES if name != CLAIM]
    asked = len(FILES[:-1]) * tables
    return [name for at, name in enumerate(every) if at < asked or (folder / name).is_file()]


def pool_folder(number: int) -> str:
    """Where a table of a pool is, from 1, within the folder of the result."""
    return f"{POOL}/{number:02d}"


def described(result: Result, model: Path | None = None, limit: Limit = NO_LIMIT) -> dict[str, Any]:
    """The object of result.json: that of the result, the model file with its hash where there was one, and what the
    released table costs and protects, column by column, where that is known within the limit."""
    found = result.as_dict()
    found["measures"] = None
    if result.verified:
        try:
            found["measures"] = limit.call(describe_release, result.problem, result.table, result.report)
        except Over:
            found["message"] = "; ".join(each for each in (found["message"], NO_MEASURES) if each)
    try:
        found[STATEMENT] = model_content(result.problem, Path())
    except InputError:  # what no model file can name
        found[STATEMENT] = None
    file = None if model is None else {"file": str(model), "sha256": sha256_of(model)}
    return {**found, "input": {"model": file, **found["input"]}}


def write_result(result: Result, folder: str | Path) -> dict[str, Any]:
    """Write a result like `kanon-milp solve --out`: the released table and groups.csv if there is a verified table, and
    result.json; all of them or none.

    Files of an earlier session that this one does not have are removed. Returns the object of result.json. Raises
    InputError if the folder cannot be written.
    """
    return write_session(instance_of(result, Result, "result", "a Result"), file_path(folder, "folder of a result"))


def write_session(
    result: Result,
    folder: str | Path,
    about: dict[str, Any] | None = None,
    others: Mapping[str, Fill | None] | None = None,
    **transaction: Callable[[], object],
) -> dict[str, Any]:
    """Write the released table and groups.csv if there is a verified table, and result.json: all of them or none.

    Files of an earlier session that this one does not have are removed, so that the folder always shows one session.
    about: the object of result.json, if not only that of the result. Returns it with the SHA-256 of each file, which
    are there from when the tables are filled. others, transaction: files elsewhere that are written with them, and the
    database's part, as `write_together` takes them.
    """
    folder = file_path(folder, "folder of a result")
    written = described(result) if about is None else about
    written.update({RAN_IN: ran_in(folder), "sha256": {}})
    files: dict[str, Fill | None] = dict.fromkeys(FILES)
    del files[CLAIM]
    for name, fill in table_files(result.problem, result.table, result.placed):
        files[name] = _with_hash(name, fill, written["sha256"])
    for number, each in enumerate(result.pool or (), 1):
        inside = written["pool"]["tables"][number - 1]["folder"] = pool_folder(number)
        for name, fill in table_files(result.problem, each.table, each.placed):
            files[f"{inside}/{name}"] = _with_hash(f"{inside}/{name}", fill, written["sha256"])
    files = {**dict.fromkeys(pool_files(folder)), **files, **(others or {})}
    files[CLAIM] = lambda file: file.write(json_text(written).encode())  # filled last, when the hashes are known
    pools = sorted({(folder / name).parent for name in files if name.startswith(f"{POOL}/")})
    made = [] if folder.exists() else [folder]
    for place in (folder, *pools):
        make_folder(place)
    try:
        write_together(folder, files, **transaction)
    except BaseException:
        _remove_empty(*pools, *made)
        raise
    _remove_empty(*pools)
    return written


def _remove_empty(*folders: Path) -> None:
    """Remove those in which nothing is; of tables of a pool also the folder around them."""
    for each in (*folders, *{each.parent for each in folders if each.parent.name == POOL}, *folders):
        with contextlib.suppress(OSError):
            each.rmdir()


def is_stale(anonymized: Path) -> bool:
    """Whether the result.json beside a released table is about another content of that file."""
    try:
        known = json.loads((anonymized.parent / CLAIM).read_text(encoding="utf-8"))["sha256"][anonymized.name]
        return bool(known != hashlib.sha256(anonymized.read_bytes()).hexdigest())
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False  # it is about no such file


def as_polars(table: Any) -> pl.DataFrame:
    """A data frame of any kind as polars."""
    frame: pl.DataFrame = nw.from_native(table, eager_only=True, pass_through=False).to_polars()
    return frame


def json_text(value: Any, *, only_ascii: bool = False) -> str:
    """JSON of plain numbers, texts and lists; a value that JSON cannot express is a defect and raises.

    What could steer a terminal, or is no character of its own, is written as JSON's \\u001b.
    """
    text = json.dumps(value, indent=2, ensure_ascii=only_ascii, allow_nan=False)
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def table_files(problem: Problem, found: Any | None, placed: RowGroups | None) -> Iterator[tuple[str, Fill]]:
    """A released table and its groups: name and what fills the file; nothing where there is none.

    groups.csv has a line for each released row: its row of the table, its group, and of a frequency table its count.
    """
    if found is None or placed is None:
        return
    table, released = problem.table, as_polars(found)
    if not without_text(released):
        yield "anonymized.csv", lambda file: file.write(csv_bytes(released, table.csv))
    if table.kind in COLUMNAR:
        name, write = COLUMNAR[table.kind]
        content = io.BytesIO()  # the library has no error of its own for a full disk
        write(released, content)
        yield name, lambda file: file.write(content.getbuffer())
    groups = pl.DataFrame({"row": placed.row + 1, "group": placed.group})
    if table.counts is not None:
        groups = groups.with_columns(pl.Series("count", placed.rows))
    yield "groups.csv", lambda file: file.write(csv_text(groups, ",").encode())


def groups_from(file: Path) -> RowGroups:
    """The groups of a groups.csv."""
    held = read_frame(file).cast(pl.Int64)
    rows = held["count"].to_numpy() if "count" in held.columns else np.ones(held.height, dtype=np.int64)
    return RowGroups(held["group"].to_numpy(), held["row"].to_numpy() - 1, rows)


def _with_hash(name: str, fill: Fill, hashes: dict[str, str]) -> Fill:
    def filled(file: IO[bytes]) -> None:
        fill(file)
        file.seek(0)
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
        hashes[name] = digest.hexdigest()

    return filled


def _check_encoding(problem: Problem) -> None:
    """What is new in the released table must exist in the encoding of its file; so must all where that is another."""
    table = problem.table
    where = f"the encoding {table.csv.encoding} of {table.source}"
    if not _can_be_encoded(table.symbol, table):
        raise InputError(f"the suppression symbol is not in {where}; choose another symbol (symbol=..., --symbol)")
    for name, hierarchy in problem.recoding.hierarchies.items():
        labels = {label for path in hierarchy.paths.values() for label in path if label is not None}
        if name in table.quasi_identifiers and not _can_be_encoded("".join(labels), table):
            raise InputError(f'{hierarchy.source}: a label of column "{name}" is not in {where}; use another label')
    if table.kind != "CSV":
        try:
            csv_bytes(as_polars(table.frame[table.released_columns]), table.csv)
        except UnicodeEncodeError:
            raise InputError(f"{table.source}: not all of its text is in {table.csv.encoding}; use utf-8") from None


def _can_be_encoded(text: str, table: Table) -> bool:
    try:
        text.encode(table.csv.encoding)
    except UnicodeEncodeError:
        return False
    return is_text(text)
