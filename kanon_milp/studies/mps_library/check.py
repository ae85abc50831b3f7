"""Check a built library: hashes, schema, exact solutions, sizes and numerics, names, and that no two are alike."""

from __future__ import annotations

import gzip
import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from kanon_milp.errors import InputError, unreadable
from kanon_milp.studies.mps_library.build import (
    MANIFEST,
    METADATA,
    SOLU_FILE,
    TABLE,
    build_library,
    sha256,
    solu,
    table_text,
)
from kanon_milp.studies.mps_library.exact_mps import read_mps, read_solution_lines
from kanon_milp.studies.mps_library.instances import LIST, is_name, read_list
from kanon_milp.studies.mps_library.metadata import RECORDS, Metadata, features_of_file, read_json


@dataclass(frozen=True)
class Checked:
    """What is wrong with a library, one line each; how many instances were looked at; which could not be rebuilt."""

    problems: list[str]
    instances: int
    not_rebuilt: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check_library(
    folder: Path,
    *,
    listed: Path = LIST,
    records: Path = RECORDS,
    rebuild: bool = True,
    on_checked: Callable[[Metadata], None] | None = None,
) -> Checked:
    """Check a library as it lies in a folder.

    rebuild: build its instances again from the list, and compare the bytes. Raises InputError for a folder that is no
    library.
    """
    manifest = _manifest(folder)
    problems: list[str] = []
    for name, claimed in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name}: is missing")
        elif sha256(path.read_bytes()) != claimed:
            problems.append(f"{name}: has another hash than library.json says")
    metadata: list[Metadata] = []
    for name in manifest["instances"]:
        try:
            made = read_json(folder / METADATA / f"{name}.json", Metadata)
            problems += [f"{name}: {problem}" for problem in _instance_problems(folder, name, made)]
        except InputError as error:
            problems.append(f"{name}: {error}")
            continue
        metadata.append(made)
        if on_checked is not None:
            on_checked(made)
    problems += _alike(metadata)
    for name, text in ((SOLU_FILE, solu(metadata)), (TABLE, table_text(metadata))):
        if (folder / name).is_file() and (folder / name).read_text() != text:
            problems.append(f"{name}: does not say what the metadata say")
    not_rebuilt: dict[str, str] = {}
    if rebuild:
        wrong, not_rebuilt = _rebuilt(manifest, metadata, listed, records)
        problems += wrong
    return Checked(problems, len(metadata), not_rebuilt)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
    except OSError as error:
        raise InputError(f"{folder}: is no instance library: {MANIFEST}: {unreadable(error)}") from None
    except ValueError:
        raise InputError(f"{folder / MANIFEST}: is no JSON file") from None
    if not (
        isinstance(found, dict) and isinstance(found.get("files"), dict) and isinstance(found.get("instances"), list)
    ):
        raise InputError(f"{folder / MANIFEST}: is no list of an instance library")
    return found


def _instance_problems(folder: Path, name: str, made: Metadata) -> Iterable[str]:
    if made.name != name or not is_name(name):
        yield "the name is not one for a collection"
    text = _unpacked(folder / made.model)
    if sha256(text.encode()) != made.model_sha256:
        yield "the model has another hash than the metadata say"
    model = read_mps(text)
    if features_of_file(model) != made.features:
        yield "sizes or numerics are not those of the model"
    if made.presolved is not None and made.presolved[0] == 0:
        yield "is trivial: presolve solves it"
    if made.status == "opt" and made.best_in_file != made.bound_in_file:
        yield "the bound is not the optimum"
    if made.best_in_file is None or made.solution is None:
        if made.status in ("opt", "best"):
            yield "there is no solution"
        return
    if made.best is None or Fraction(made.best) != made.best_in_file * Fraction(made.unit):
        yield "the best value is not the one of the file times its unit"
    packed = folder / made.solution
    if sha256(_bytes(packed)) != made.solution_sha256:
        yield "the solution has another hash than the metadata say"
    claimed, point = read_solution_lines(_unpacked(packed))
    yield from (f"solution: {problem}" for problem in model.violations(point)[:1])
    if all(column in model.columns for column in point) and not model.value(point) == claimed == made.best_in_file:
        yield "the solution has another objective than is stated"
    if made.bound_in_file is not None and made.bound_in_file > made.best_in_file:
        yield "the bound is above the best value"
    if made.lp_bound is not None and made.lp_bound > made.best_in_file + 1e-6 * max(1, abs(made.best_in_file)):
        yield "the LP bound is above the best value"


def _unpacked(path: Path) -> str:
    try:
        return gzip.decompress(_bytes(path)).decode("ascii")
    except (OSError, EOFError, ValueError, zlib.error):
        raise InputError(f"{path.name}: is not packed by gzip, or no text") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path.name}: {unreadable(error)}") from None


def _alike(metadata: Sequence[Metadata]) -> Iterable[str]:
    """Names that occur twice, and instances with all features in common that are no series."""
    names: set[str] = set()
    seen: dict[tuple[object, ...], Metadata] = {}
    for made in metadata:
        if made.name in names:
            yield f"{made.name}: the name occurs twice"
        names.add(made.name)
        other = seen.setdefault(made.features.vector, made)
        if other.name != made.name and (made.series is None or made.series != other.series):
            yield f"{made.name}: has all features of {other.name}"


def _rebuilt(
    manifest: dict[str, Any], metadata: Sequence[Metadata], listed: Path, records: Path
) -> tuple[list[str], dict[str, str]]:
    """What differs when the instances are built again, and which instances the data is missing for."""
    known = {entry.name for entry in read_list(listed)}
    problems = [f"{made.name}: is not in the list" for made in metadata if made.name not in known]
    names = [made.name for made in metadata if made.name in known]
    if not names:
        return problems, {}
    with tempfile.TemporaryDirectory(prefix="kanon-milp-library-") as place:
        again = build_library(Path(place), listed=listed, records=records, only=names)
        for made in again.metadata:
            for name in (made.model, made.solution, f"{METADATA}/{made.name}.json"):
                if name is not None and manifest["files"].get(name) != sha256((Path(place) / name).read_bytes()):
                    problems.append(f"{name}: is built with other bytes now")
        return problems, again.missing
