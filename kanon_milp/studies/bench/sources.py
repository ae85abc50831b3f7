"""What a run solves: the problem, or the model of a file, from the plain data of a plan."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kanon_milp.errors import InputError
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import LinearModel
from kanon_milp.solvers.highs import new_highs
from kanon_milp.studies import families
from kanon_milp.studies.bench.plan import GENERATED, MODEL, MPS
from kanon_milp.studies.model_files import read_content, read_model

_BANNER = ("Running HiGHS", "Copyright", "Includes third-party", "ERROR:   Parser error reading")
_SENSE_HEADS: tuple[str, ...] = ("OBJMIN", "OBJMAX", "MIN", "MAX", "MINIMIZE", "MAXIMIZE", "MINIMISE", "MAXIMISE")


def problem_of(source: Mapping[str, Any]) -> Problem:
    """The problem of an instance that has a table; raises InputError where it cannot be read."""
    if source["kind"] == MODEL:
        return read_model(source["path"]).problem
    if source["kind"] == GENERATED:
        parameters = source.get("parameters")
        found = families.generate(
            source["family"], source["size"], source["seed"], source["answer"], parameters=parameters
        )
        return found.problem()
    return read_content(dict(source["content"]), Path(source["relative_to"])).problem


@dataclass(frozen=True, eq=False)
class SolverModel:
    """A model for solvers as a file states it.

    linear: a minimization; that of the negated objective where the file maximizes. sense: the file's, min or max.
    warnings: what HiGHS says of the file while it reads it.
    """

    linear: LinearModel
    sense: str
    warnings: tuple[str, ...] = ()


def model_of(source: Mapping[str, Any]) -> SolverModel | None:
    """The model of an instance that is one, None for others."""
    return read_solver_model(Path(source["path"])) if source["kind"] == MPS else None


def read_solver_model(path: Path) -> SolverModel:
    """A model from an MPS or LP file, also compressed by gzip, as HiGHS reads it.

    The sense of an MPS file is read here: HiGHS minimizes without a word where it does not know how it is said. Raises
    InputError for a file that is none.
    """
    import highspy

    highs = new_highs()
    with tempfile.TemporaryDirectory() as folder:
        plain, log = path, Path(folder) / "highs.log"
        if path.name.lower().endswith(".gz"):
            plain = Path(folder) / path.stem
            try:
                with gzip.open(path) as packed, plain.open("wb") as file:
                    shutil.copyfileobj(packed, file)
            except (OSError, EOFError, zlib.error) as error:
                raise InputError(f"{path}: not a gzip file") from error
        for option, value in (("log_to_console", False), ("log_file", str(log)), ("output_flag", True)):
            highs.setOptionValue(option, value)
        read = highs.readModel(str(plain))
        highs.setOptionValue("output_flag", False)
        said = _said(log)
        if read == highspy.HighsStatus.kError:
            raise InputError(f"{path}: not an MPS or LP file that HiGHS can read{said and f' ({said[-1]})'}")
        lp = highs.getLp()
        sense = "max" if lp.sense_ == highspy.ObjSense.kMaximize else "min"
        if plain.suffix.lower() == ".mps":
            sense = _mps_sense(path, plain)
    kinds = list(lp.integrality_)
    if any(kind not in (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger) for kind in kinds):
        raise InputError(f"{path}: semi-continuous variables are not supported")
    if highs.getModel().hessian_.dim_:
        raise InputError(f"{path}: a quadratic objective is not supported")
    A = lp.a_matrix_
    shape = (lp.num_row_, lp.num_col_)
    parts = (np.array(A.value_), np.array(A.index_, dtype=np.int32), np.array(A.start_, dtype=np.int32))
    rowwise = A.format_ == highspy.MatrixFormat.kRowwise
    matrix = sp.csr_array(parts, shape=shape) if rowwise else sp.csc_array(parts, shape=shape).tocsr()
    sign = sign_of(sense)
    integer = np.array([kind == highspy.HighsVarType.kInteger for kind in kinds], dtype=np.bool_)
    linear = LinearModel(
        name=path.name.partition(".")[0],
        c=sign * np.array(lp.col_cost_, dtype=np.float64),
        offset=sign * float(lp.offset_),
        A=sp.csr_array(matrix),
        constraint_lower=np.array(lp.row_lower_, dtype=np.float64),
        constraint_upper=np.array(lp.row_upper_, dtype=np.float64),
        lower=np.array(lp.col_lower_, dtype=np.float64),
        upper=np.array(lp.col_upper_, dtype=np.float64),
        integer=integer if len(integer) else np.zeros(lp.num_col_, dtype=np.bool_),
        variable_names=tuple(f"x{j}" for j in range(lp.num_col_)),
        constraint_names=tuple(f"r{i}" for i in range(lp.num_row_)),
    )
    return SolverModel(linear, sense, said)


def sign_of(sense: str) -> int:
    """What an objective is multiplied by so that it is minimized."""
    return -1 if sense == "max" else 1


def _said(log: Path) -> tuple[str, ...]:
    """The lines that HiGHS has logged, each once, without its name and licence, and without the path."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    said = [" ".join(line.split()) for line in lines if line.strip() and not line.startswith(_BANNER)]
    return tuple(dict.fromkeys(line.removeprefix("WARNING: ").removeprefix("ERROR: ") for line in said))


def _mps_sense(path: Path, plain: Path) -> str:
    """The sense that an MPS file states: behind the word OBJSENSE or in the line below it, or by a section of its own
    above the rows; min where it states none. Raises InputError for one that is neither."""
    sense, awaited, heads = "min", False, _SENSE_HEADS
    with plain.open(errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = line.upper().split()
            if not words or line.startswith("*") or (line[0].isspace() and not awaited):
                continue
            said: str | None = None
            if awaited:
                said = words[0]
            elif words[0] == "OBJSENSE":
                said = "".join(words[1:2])
            else:
                heads = () if words[0] == "ROWS" else heads  # what follows may be a name
                said = words[0].removeprefix("OBJ") if words[0] in heads else None
            if said is None:
                continue
            awaited, sense = not said, said[:3].lower() or sense
            if sense not in ("min", "max"):
                raise InputError(f"{path}: line {number}: OBJSENSE must say MIN or MAX")
    return sense
