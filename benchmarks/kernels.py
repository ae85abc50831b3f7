"""How fast the kernels are: evaluations of the bound, the same in integers, moves, and groups that are priced.

    python benchmarks/kernels.py            3,000 rows that are drawn; all of Adult where KANON_MILP_DATA is set
    python benchmarks/kernels.py --json     as JSON

Each is given a second, and as a multiple of what numpy does in the same run (sorting 100,000 numbers): by that,
machines and releases can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import polars as pl

import kanon_milp as km
from kanon_milp.bounds import lagrangian, round_dual
from kanon_milp.bounds.columns.relax_and_cut import CutEvaluator
from kanon_milp.bounds.dual import prove
from kanon_milp.bounds.evaluation import Evaluator
from kanon_milp.heuristics.annealing import Draw
from kanon_milp.heuristics.greedy import suppress_all
from kanon_milp.heuristics.state import Board
from kanon_milp.kernels import COMPILED
from kanon_milp.kernels.moves import make_moves
from kanon_milp.presolve.preparation import presolve
from kanon_milp.studies import datasets
from kanon_milp.system.clock import Clock

ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MOVES = 200_000
SECONDS = 1.0


def problem() -> km.Problem:
    """5-anonymity of Adult, or of rows that are drawn: eight columns of two to nine values, the first ones frequent."""
    if os.environ.get("KANON_MILP_DATA"):
        table = km.Table.from_frame(datasets.load("adult"), ADULT)
    else:
        random = np.random.default_rng(0)
        cells = {f"q{j}": (random.random(3_000) ** 2 * (j + 2)).astype(np.int64).astype(str) for j in range(8)}
        table = km.Table.from_frame(pl.DataFrame(cells), list(cells))
    return km.Problem(table, privacy=[km.KAnonymity(5)])


def rate(work: Callable[[], object], each: float = 1.0) -> float:
    """How often a second of this thread, at best, times `each`."""
    work()
    ends = time.perf_counter() + SECONDS
    took: list[float] = []
    while not took or time.perf_counter() < ends:
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return each / min(took)


def measure() -> dict[str, float]:
    """Of each thing how many a second."""
    instance = presolve(problem(), Clock(), merge=True).instance
    dual = lagrangian(instance, iterations=60)
    at, exact = Evaluator(instance), round_dual(dual)
    point = np.concatenate([dual.multipliers, np.zeros(at.sets.lists)])
    at.sort(point)
    board = Board.of(instance, np.ones(instance.candidates.pairs, np.bool_), suppress_all(instance))
    draw, cuts = Draw.of(board, dual), CutEvaluator(instance, dual)
    priced = int((cuts.closed_forms(cuts.start(), False)[1] < 0).sum())
    numbers = np.random.default_rng(0).random(100_000)
    return {
        "numpy": rate(lambda: np.sort(numbers)),
        "evaluations of the bound": rate(lambda: at(point)),
        "evaluations, every φ": rate(lambda: at(point, everything=True)),
        "bounds in integers": rate(lambda: prove(instance, exact)),
        "moves": rate(
            lambda: make_moves(board.rows, MOVES, board.cell, board.cell / 2, 0.2, 0.1, draw.chance, draw.alias), MOVES
        ),
        "candidates priced": rate(lambda: cuts.price(cuts.start()), priced),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", km.RoleWarning)
    found = measure()
    numpy = found.pop("numpy")
    rows = {name: {"a_second": each, "by_numpy": each / numpy} for name, each in found.items()}
    if asked.json:
        print(json.dumps({"compiled": COMPILED, "rates": rows}, ensure_ascii=False))
        return 0
    print("compiled" if COMPILED else "plain Python")
    for name, row in rows.items():
        print(f"{name:26} {row['a_second']:14,.1f} a second {row['by_numpy']:14.4f} for each of numpy's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
