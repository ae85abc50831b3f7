"""Random small tables on the way of large ones, against brute force.

python benchmarks/random_tables.py --tables 500

On a table of a few rows the Lagrangian bound and the search are done before anything else begins. So here the bound
stays rough, rank-1 cuts are always asked for, as many as there are, and every second table goes without the search:
its first table is often not optimal, and what the bound or the model get wrong shows in the end. Fixing is checked by
itself as well: with the multipliers that the rank-1 cuts have raised and the true optimum as the incumbent, what is
left must still have that optimum. Nothing in the package is changed but module attributes, while this runs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

import kanon_milp as km
from kanon_milp.bounds import BoundLimit, BoundTask, DualPoint, ProvenBound, round_dual
from kanon_milp.bounds.built_in import COLUMN_GENERATION
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.formulations import get_formulation
from kanon_milp.methods import sizes_guide
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import to_arrays

Rows = list[tuple[str, ...]]

ROWS, COLUMNS, VALUES, SMALLEST = (6, 9), (2, 4), (2, 4), (2, 4)  # least and largest number of each, and k
REPEATED = 0.3  # probability that a row is a copy of an earlier one
ROUGH = 2  # evaluations of the Lagrangian


@dataclass
class Done:
    """How often what was done, and the multipliers after rank-1 cuts with the instance that they are for."""

    times: Counter[str] = field(default_factory=Counter)
    raised: list[tuple[Instance, DualPoint]] = field(default_factory=list)


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
def long_way(*, search: bool) -> Iterator[Done]:
    """While the block runs, `method="search"` raises every bound by rank-1 cuts that is not the optimum yet."""
    done = Done()
    raise_bound, solve_rest = COLUMN_GENERATION.compute, CoreProblem.solve

    def raised(instance: Instance, task: BoundTask) -> ProvenBound:
        found = raise_bound(instance, task)
        assert found.dual is not None
        done.raised.append((instance, found.dual))
        done.times["rank-1 cuts asked for"] += 1
        done.times["rank-1 cuts in the bound"] += bool(found.dual.rank_one_cuts.count)
        return found

    def solved(rest: CoreProblem) -> object:
        answer = solve_rest(rest)
        done.times["rest solved as a model"] += rest.size != (0, 0)
        return answer

    def without_target(target: int | None = None, **more: Any) -> BoundLimit:
        return BoundLimit(**more)

    with ExitStack() as stack:
        for owner, name, value in (
            (sizes_guide, "EASY_PAIRS", -1),
            (sizes_guide, "COUNTED_EVALUATIONS", ROUGH),
            (sizes_guide, "BoundLimit", without_target),
            (COLUMN_GENERATION, "compute", raised),
            (CoreProblem, "solve", solved),
        ):
            stack.enter_context(mock.patch.object(owner, name, value))
        if not search:
            stack.enter_context(mock.patch.object(sizes_guide.SizesGuide, "search", return_value=None))
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
        for instance, dual in done.raised:
            if expected is not None:
                wrong = wrong or wrongly_fixed(instance, dual, expected, done)
        total.update(done.times)
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
    certified = result.certify().bound
    return f"the certificate says {certified}" if certified > expected else ""


def wrongly_fixed(instance: Instance, dual: DualPoint, expected: Fraction, done: Done) -> str:
    """What is wrong with what fixing leaves for tables that cost no more than the optimum; empty if nothing is."""
    left = ReducedCosts(round_dual(dual), int(expected / instance.levels.unit) + 1).apply(instance).instance
    dropped = instance.candidates.pairs - left.candidates.pairs
    done.times["pairs fixed at the optimum"] += dropped > 0
    try:
        model = to_arrays(get_formulation("strong").build(left))
        answer = get("highs").solve(model.linear, SolverOptions())
    except Exception as error:
        return f"fixing drops {dropped} pairs: {error}"
    if answer.objective is None or round(answer.objective) * instance.levels.unit != expected:
        return f"fixing drops {dropped} pairs, and what is left costs {answer.objective}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    raise SystemExit(min(compare(args.tables, args.seed), 1))


if __name__ == "__main__":
    main()
