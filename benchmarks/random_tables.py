"""Random small tables on the way of large ones, against brute force (`proofs.py --random`).

On a table of a few rows the Lagrangian bound and the search are done before anything else begins. So here the bound
stays rough, rank-1 rows are always asked for, as many as there are, and every second table goes without the search: its
first table is often not optimal, and whatever fixing drops wrongly is missed in the end. Nothing in the package is
changed but module attributes, while this runs.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

import kanon_milp as km
from kanon_milp import closing
from kanon_milp.columns import RoundLimits

Rows = list[tuple[str, ...]]

ROWS, COLUMNS, VALUES, SMALLEST = (6, 9), (2, 4), (2, 4), (2, 4)  # least and largest number of each, and k
REPEATED = 0.3  # probability that a row is a copy of an earlier one
ROUGH = 2  # evaluations of the Lagrangian


def draw(rng: np.random.Generator) -> tuple[Rows, int]:
    """A table with some equal rows, and k."""
    rows, columns, values, k = (int(rng.integers(low, high + 1)) for low, high in (ROWS, COLUMNS, VALUES, SMALLEST))
    drawn: Rows = []
    for _ in range(rows):
        if drawn and rng.random() < REPEATED:
            drawn.append(drawn[int(rng.integers(len(drawn)))])
        else:
            drawn.append(tuple("abcd"[value] for value in rng.integers(values, size=columns)))
    return drawn, k


@contextmanager
def long_way(*, search: bool) -> Iterator[Counter[str]]:
    """While the block runs, `method="search"` raises every bound by rank-1 rows; counts how often what was done."""
    done: Counter[str] = Counter()
    raise_bound, solve_rest = closing.raise_bound, closing.Remainder.solve

    def raised(*args: object, **more: object) -> object:
        dual = raise_bound(*args, **more)
        done["rank-1 rows asked for"] += 1
        done["rank-1 rows in the bound"] += bool(dual.rank_one.count)
        return dual

    def solved(rest: closing.Remainder) -> object:
        left = rest._fixed(None if rest.ledger.best is None else rest.ledger.best.cost)
        if left is not None:
            done["something fixed"] += left.instance.candidates.pairs < rest.run.prepared.instance.candidates.pairs
        answer = solve_rest(rest)
        done["rest solved as a model"] += answer[0] != (0, 0)
        return answer

    def without_target(target: int | None = None, **more: object) -> RoundLimits:
        return RoundLimits(**more)

    with ExitStack() as stack:
        for owner, name, value in (
            (closing, "EASY_PAIRS", -1),
            (closing, "COUNTED_EVALUATIONS", ROUGH),
            (closing, "RoundLimits", without_target),
            (closing, "raise_bound", raised),
            (closing.Remainder, "solve", solved),
        ):
            stack.enter_context(mock.patch.object(owner, name, value))
        if not search:
            stack.enter_context(mock.patch.object(closing._Closing, "search", lambda self: None))
        yield done


def compare(count: int, seed: int) -> int:
    """Solve so many tables both ways, say what was done, and return the number of disagreements."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from oracle import optimum  # the brute-force judge of the tests; it shares no code with the package

    rng = np.random.default_rng(seed)
    total: Counter[str] = Counter()
    for number in range(count):
        rows, k = draw(rng)
        expected = optimum(rows, k)
        with long_way(search=number % 2 == 0) as done:
            wrong = disagreement(rows, k, expected)
        total.update(done)
        if wrong:
            total["disagreements"] += 1
            print(f"table {number}, k = {k}, {rows}: {wrong}; the optimum is {expected}", flush=True)
    disagreements = total.pop("disagreements", 0)
    print(f"{count} random tables, seed {seed}: {disagreements} disagreements with brute force")
    for what, times in total.items():
        print(f"{times:>6} times {what}")
    return disagreements


def disagreement(rows: Rows, k: int, expected: Fraction | None) -> str:
    """What is wrong with the result for these rows; empty if nothing is."""
    names = [f"q{j}" for j in range(len(rows[0]))]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), names)
    result = km.solve(km.Problem(table, [km.KAnonymity(k)]), method="search", iteration_limit=1)
    if expected is None:
        return "" if result.proof == "infeasible" else result.summary()
    if not result.is_optimal or result.exact_objective != expected:
        return result.summary()
    if result.certificate.bound > expected:
        return f"the certificate says {result.certificate.bound}"
    return ""
