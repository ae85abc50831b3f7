"""What a run solves: the problem, or the model of a file, from the plain data of a plan."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kanon_milp.bench.plan import GENERATED, MODEL, MPS
from kanon_milp.errors import InputError
from kanon_milp.instances import families
from kanon_milp.instances.model_files import read_content, read_model
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import LinearModel
from kanon_milp.system.quiet_highs import new_highs


def problem_of(source: Mapping[str, Any]) -> Problem:
    """The problem of an instance that has a table; raises InputError where it cannot be read."""
    if source["kind"] == MODEL:
        return read_model(source["path"]).problem
    if source["kind"] == GENERATED:
        return families.generate(source["family"], source["size"], source["seed"], source["answer"]).problem()
    return read_content(dict(source["content"]), Path(source["beside"])).problem


def model_of(source: Mapping[str, Any]) -> LinearModel | None:
    """The model of an instance that is one, None for others."""
    return read_mps(Path(source["path"])) if source["kind"] == MPS else None


def read_mps(path: Path) -> LinearModel:
    """A model from an MPS file, also compressed by gzip, as HiGHS reads it; a maximization is negated.

    Raises InputError for a file that is none.
    """
    import highspy

    highs = new_highs()
    with tempfile.TemporaryDirectory() as folder:
        plain = path
        if path.name.lower().endswith(".gz"):
            plain = Path(folder) / path.stem
            try:
                with gzip.open(path) as packed, plain.open("wb") as file:
                    shutil.copyfileobj(packed, file)
            except (OSError, EOFError) as error:
                raise InputError(f"{path}: not a gzip file") from error
        if highs.readModel(str(plain)) == highspy.HighsStatus.kError:
            raise InputError(f"{path}: not an MPS file that HiGHS can read")
    lp = highs.getLp()
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
    sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
    integer = np.array([kind == highspy.HighsVarType.kInteger for kind in kinds], dtype=np.bool_)
    return LinearModel(
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
