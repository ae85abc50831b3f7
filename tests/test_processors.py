"""The same seed gives the same table, bound and multipliers on any processor.

Each case is solved in processes whose C library, numpy, BLAS and data frames are told of other processors: those parts
choose their code by what the processor can. Work is counted, on one thread, so that no clock plays a part.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import kanon_milp as km
from kanon_milp.bounds import BOUNDS, BoundLimit, BoundTask
from kanon_milp.heuristics.valued_construction import mended
from kanon_milp.kernels.elementary import exponentials, log
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.preparation import presolve
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit

QI = ("a", "b", "c", "d")
WEIGHTS: dict[str, str | int] = {
    "a": 2,
    "b": "1/3",
    "c": "0.7",
    "d": 5,
}  # no powers of two, so that sums of multipliers are rounded


def table(rows: int, unit: bool = False) -> km.Table:
    """Skewed columns of 3 to 9 values, a sensitive one of 4, and persons of a few rows each."""
    draw = np.random.default_rng(rows)
    values = dict(zip(QI, (3, 5, 7, 9), strict=True))
    numbers = {name: draw.integers(most, size=rows) * draw.integers(2, size=rows) for name, most in values.items()}
    numbers |= {"s": draw.integers(4, size=rows), "who": draw.integers(rows // 2, size=rows)}
    frame = pl.DataFrame({name: column.astype(str).tolist() for name, column in numbers.items()})
    return km.Table.from_frame(frame if unit else frame.drop("who"), list(QI), "s", unit="who" if unit else None)


def tree() -> km.Hierarchy:
    return km.Hierarchy({str(v): (str(v), f"{v // 3 * 3}-", "*") for v in range(9)})


def solved(problem: km.Problem, method: str = "search") -> list[str]:
    counted: Any = {"iteration_limit": 3, "node_limit": 1} if method != "matching" else {}
    result = km.solve(problem, method=method, threads=1, seed=3, **counted)
    multipliers = None if result.dual is None else result.dual.multipliers
    return [str(result.exact_objective), str(result.exact_bound), of(result.groups), of(multipliers)]


def repaired(problem: km.Problem) -> list[str]:
    """From each row at its cheapest candidate; many groups are equally large."""
    instance = presolve(problem, Clock(), merge=True).instance
    candidates, of_pair = instance.candidates, instance.candidates.candidate_of_pair()
    order = np.lexsort((of_pair, candidates.cost[of_pair], candidates.members))
    rows = np.zeros(candidates.pairs, np.int64)
    rows[order[np.unique(candidates.members[order], return_index=True)[1]]] = instance.types.counts
    start = Assignment.from_pairs(instance, rows)
    table = mended(instance, start, np.zeros(candidates.count), Limit(), 3)
    assert table is not None
    return [str(table.cost), of(table.candidate), of(table.rows)]


def bound(problem: km.Problem, name: str) -> list[str]:
    instance = presolve(problem, Clock(), merge=True).instance
    start = BOUNDS["lagrangian"].compute(instance, BoundTask(BoundLimit(iterations=60))).dual
    found = BOUNDS[name].compute(instance, BoundTask(BoundLimit(iterations=60, rounds=2), start))
    assert found.dual is not None
    return [str(found.units), of(found.dual.multipliers)]


CASES: dict[str, Callable[[], list[str]]] = {
    "k": lambda: solved(km.Problem(table(90), [km.KAnonymity(4)], km.Suppression(WEIGHTS))),
    "l": lambda: solved(km.Problem(table(60), [km.KAnonymity(3), km.LDiversity(2)])),
    "l repaired": lambda: repaired(km.Problem(table(60), [km.LDiversity(2)])),
    "t repaired": lambda: repaired(km.Problem(table(300), [km.TCloseness("0.2")])),
    "t": lambda: solved(km.Problem(table(50), [km.TCloseness("0.3")])),
    "several sets": lambda: solved(
        km.Problem(table(40), [km.KAnonymity(3, ["a", "b", "c"]), km.KAnonymity(2, ["b", "d"])]), "auto"
    ),
    "units": lambda: solved(km.Problem(table(60, unit=True), [km.KAnonymity(3)])),
    "hierarchies": lambda: solved(km.Problem(table(80), [km.KAnonymity(4)], km.Hierarchies({"d": tree()}))),
    "pairs and triples": lambda: solved(km.Problem(table(60), [km.KAnonymity(2)]), "matching"),
    "rank-1 cuts": lambda: bound(km.Problem(table(300), [km.KAnonymity(3)]), "relax_and_cut"),
    "columns": lambda: bound(km.Problem(table(90), [km.KAnonymity(3)]), "column_generation"),
    "requirements": lambda: bound(km.Problem(table(120), [km.KAnonymity(3), km.TCloseness("0.3")]), "requirements"),
}


def of(array: object) -> str:
    """A fingerprint."""
    return "none" if array is None else hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def found() -> dict[str, list[str]]:
    """What this process finds; as "theirs" what it is to be independent of, which shows that it is told of another
    processor."""
    numbers = np.random.default_rng(0).random((2, 100_000))
    own = [of(exponentials(-numbers[0])), of(np.array([log(x) for x in numbers[0]]))]
    theirs = [of(np.exp(-30 * numbers[0])), of(numbers[0] @ numbers[1]), of([x**0.3 for x in numbers[0].tolist()])]
    return {name: case() for name, case in CASES.items()} | {"numbers": own, "theirs": theirs}


def processor(name: str, cut: tuple[str, ...], number: int) -> dict[str, str]:
    """An environment in which libraries take themselves to be on this processor, without the features that are cut."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return {
        "OPENBLAS_CORETYPE": name,
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{feature}" for feature in cut),
        "NPY_DISABLE_CPU_FEATURES": " ".join(each for each in simd if "AVX2" in cut or each != "X86_V3"),
        "POLARS_MAX_THREADS": str(number),
        "PYTHONHASHSEED": str(number),
    }


@pytest.mark.processes
def test_the_same_on_any_processor() -> None:
    environments = [
        {},
        processor("Haswell", ("AVX512F", "AVX512VL"), 1),
        processor("Nehalem", ("AVX512F", "AVX512VL", "AVX2", "FMA", "FMA4", "AVX"), 2),
    ]
    processes = [
        subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True, env={**os.environ, **each})
        for each in environments
    ]
    answers: list[dict[str, list[str]]] = [json.loads(each.communicate(timeout=500)[0]) for each in processes]
    theirs = [answer.pop("theirs") for answer in answers]
    for answer in answers[1:]:
        assert answer == answers[0]
    if platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc":  # whose flags these are
        for at, theirs_differ in enumerate(zip(*theirs, strict=True)):
            assert len(set(theirs_differ)) > 1, f"{at}: the processes are told of the same processor"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(found()))
