"""A series of models of one problem: all of equal shape, with other numbers in each, for solvers that learn."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from kanon_milp.errors import InputError
from kanon_milp.methods.arguments import count
from kanon_milp.methods.exchange import declared_model, export_model
from kanon_milp.problem.arguments import file_path
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.solvers import LinearModel
from kanon_milp.studies.sweep import WEIGHT, Setting, settings_of
from kanon_milp.system.clock import Clock
from kanon_milp.system.files import holding, write_file

HEAVIEST = 9  # of the weights that are drawn, integers from 1
_SUFFIXES = (".mps", ".lp", ".opb", ".ommx")


def export_series(
    problem: Problem,
    path: str | Path,
    *,
    random_weights: int | None = None,
    seed: int = 0,
    formulation: str = "strong",
    weights: Mapping[str, Iterable[Any]] | None = None,
    **swept: Iterable[Any] | None,
) -> list[Path]:
    """Write one model for each combination of values, or with so many random weights of the columns.

    path: as for `export_model`; MODEL.mps.gz becomes MODEL-1.mps.gz, MODEL-2.mps.gz, ... (MODEL-01 where there are
    ten or more), each with its map of names, and MODEL.series.csv: what was set in each, and in how many numbers
    each part differs from the first. weights, swept: as for `sweep`. random_weights: so many models, each with
    integer weights from 1 to 9 for all columns, drawn by NumPy's PCG64 with the seed: objectives differ, and
    nothing else. Returns the models. Raises InputError where models have different shapes (variables, constraints,
    places of nonzeros), naming the first one that has, and then nothing is written.
    """
    expect_problem(problem, "export_series")
    path = file_path(path, "path of a model to write")
    if random_weights is None:
        asked = settings_of(problem, swept, weights, "export")
    elif weights or any(values is not None for values in swept.values()):
        raise InputError("export: random weights, or values to take one by one, not both")
    else:
        asked = _drawn(problem, count(random_weights, "random_weights"), seed)
    stem, suffix = _split(path)
    digits = len(str(len(asked)))
    files = [path.with_name(f"{stem}-{number:0{digits}}{suffix}") for number in range(1, len(asked) + 1)]
    lines, first = [], None
    for file, setting in zip(files, asked, strict=True):
        linear = declared_model(setting.of(problem), formulation, False, Clock()).arrays.linear
        first = first or linear
        if _shape(linear) != _shape(first):
            raise InputError(
                f"export: with {setting.name} the model has another shape than with {asked[0].name}; a series is of "
                "models that differ in numbers only"
            )
        lines.append((file.name, setting.name, *(_different(first, linear, part) for part in PARTS)))
    for file, setting in zip(files, asked, strict=True):
        export_model(setting.of(problem), file, formulation=formulation)
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerows([("model", "set", *PARTS), *lines])
    write_file(path.with_name(f"{stem}.series.csv"), holding(out.getvalue().encode()))
    return files


PARTS: Mapping[str, Sequence[str]] = {
    "objective": ("c",), "matrix": ("A",), "sides": ("constraint_lower", "constraint_upper"),
    "bounds": ("lower", "upper"),
}  # fmt: skip


def _drawn(problem: Problem, number: int, seed: int) -> list[Setting]:
    rng = np.random.Generator(np.random.PCG64(count(seed, "seed", least=0)))
    names = problem.table.quasi_identifiers
    drawn = rng.integers(1, HEAVIEST, size=(number, len(names)), endpoint=True).tolist()
    return [Setting(**{WEIGHT + name: Fraction(w) for name, w in zip(names, each, strict=True)}) for each in drawn]


def _split(path: Path) -> tuple[str, str]:
    name = path.name.removesuffix(".gz")
    suffix = next((each for each in _SUFFIXES if name.lower().endswith(each)), "")
    return name[: len(name) - len(suffix)], path.name[len(name) - len(suffix) :]


def _shape(model: LinearModel) -> tuple[object, ...]:
    A = model.A
    names = (model.variable_names, model.constraint_names, model.integer.tobytes())
    return (*names, A.indptr.tobytes(), A.indices.tobytes())


def _different(first: LinearModel, model: LinearModel, part: str) -> int:
    pairs = ((getattr(first, name), getattr(model, name)) for name in PARTS[part])
    return sum(int((a.data != b.data).sum() if part == "matrix" else (a != b).sum()) for a, b in pairs)
