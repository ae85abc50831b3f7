"""What tests of reductions share: the model of what is left, its optimum, and the way back to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyomo.environ as pyo
from hypothesis import strategies as st
from strategies import Case, cases, covered, drawn_sets

import kanon_milp as km
from kanon_milp.bounds import DENOMINATOR, ExactDual, lagrangian, round_dual
from kanon_milp.formulations.strong import build_strong
from kanon_milp.presolve.assignment import Assignment, expand
from kanon_milp.presolve.instance import Instance, prepare
from kanon_milp.presolve.kernel import Kernel
from kanon_milp.presolve.reductions import (
    MERGING,
    REDUCTIONS,
    Dominance,
    EqualSignature,
    Reduction,
    Step,
    Viability,
    reduce,
    restore,
)
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.pyomo_arrays import PyomoArrays, to_arrays
from kanon_milp.system.arrays import Ints

PLAIN = SolverOptions(absolute_gap=0.5, extra={"presolve": "off"})


@dataclass(frozen=True)
class PrintedKernel(Kernel):
    """Blocki and Williams 2010, Algorithm 1, as it is printed: while a type has more than 2k²·2^m rows, k of them are a
    group. What `Kernel` improves, so it is for tests; it leaves at most 2k²·2^m rows of a type, so at most 2k²·(2c)^m
    in all over an alphabet of c.

    All 2^m patterns of m columns must be allowed: then at most 2^m candidates cover a type, and it is a case of
    `Kernel`'s proof.
    """

    name: ClassVar[str] = "printed kernel"

    def accepts(self, problem: km.Problem) -> bool:
        """As `Kernel`, and every pattern is allowed."""
        return super().accepts(problem) and isinstance(problem.recoding, km.Suppression)

    def spare(self, instance: Instance, k: int) -> Ints:
        """k rows for each round of the algorithm."""
        most = 2 * k * k << len(instance.types.names)
        return -((most - instance.types.counts) // k) * k


CHAIN = (*REDUCTIONS, *MERGING)
EVERY: dict[str, tuple[Reduction[Step], ...]] = {
    **{each.name: (each,) for each in (Viability(), Dominance(), EqualSignature(), Kernel(), PrintedKernel())},
    "viability, then equal signature": (Viability(), EqualSignature()),
    "the chain of solve": CHAIN,
    "the chain, then viability again": (*CHAIN, Viability()),
    "kernel first": (Kernel(), *CHAIN),
    "kernel last": (*CHAIN, Kernel()),
}


def integer_model(instance: Instance) -> tuple[PyomoArrays, np.ndarray[Any, Any]]:
    """The strong formulation with whole numbers of rows, and the columns of `assign`."""
    model = build_strong(instance)
    compiled = to_arrays(model)
    columns = compiled.columns_of(list(model.assign.values()))
    integer = compiled.linear.integer.copy()
    integer[columns[columns >= 0]] = True
    return replace(compiled, linear=replace(compiled.linear, integer=integer)), columns


def best(instance: Instance, forced: int | None = None) -> tuple[Fraction, Assignment] | None:
    """Best value and an assignment over just what is left; None if infeasible. forced: a pair that must have a row."""
    if not covered(instance):
        return None
    compiled, columns = integer_model(instance)
    linear = compiled.linear
    if forced is not None:
        lower = linear.lower.copy()
        lower[columns[forced]] = 1
        linear = replace(linear, lower=lower)
    answer = get("highs").solve(linear, PLAIN)
    if answer.x is None:
        assert answer.stop_reason.value == "infeasible"
        return None
    rows = np.where(columns >= 0, answer.x[columns], 0.0).round().astype(np.int64)
    unit = instance.levels.unit if instance.problem.objective == "loss" else 1
    assert answer.objective is not None
    return Fraction(round(answer.objective) * compiled.sign) * unit, Assignment.from_pairs(instance, rows)


def lp_value(model: pyo.ConcreteModel) -> float | None:
    """Value of a model's linear relaxation, as a minimization; None where it has none."""
    linear = to_arrays(model).linear
    return get("highs").solve(replace(linear, integer=np.zeros_like(linear.integer)), SolverOptions()).objective


def strong_lp(instance: Instance, sets: Sequence[set[int]] = ()) -> float | None:
    """That of the strong formulation, with the packing cuts of some sets."""
    model = build_strong(instance)
    model.packing = pyo.ConstraintList()
    covers, counts = instance.candidates.cover_lists(), instance.types.counts.tolist()
    for each in sets:
        nested = [g for g, cover in enumerate(covers) if set(cover) <= each]
        least = min(int(instance.least[g]) for g in nested)
        model.packing.add(sum(model.open[g] for g in nested) <= sum(counts[i] for i in each) // least)
    return lp_value(model)


def keeps(problem: km.Problem, expected: Fraction | None, reductions: Sequence[Reduction[Step]]) -> list[Step]:
    """The optimum over what is left is the oracle's, and so is that of the table that it comes back as."""
    before = prepare(problem)
    steps = reduce(before, reductions)
    left = steps[-1].instance if steps else before
    sizes = [each.candidates.count for each in (before, *(step.instance for step in steps))]
    assert sizes == sorted(sizes, reverse=True)
    found = best(left)
    if expected is None:
        assert found is None
        return steps
    assert found is not None
    value, assignment = found
    assert value == expected
    whole = restore(steps, assignment)
    assert whole.cost == assignment.cost
    assert (np.lexsort((whole.candidate, whole.row_type)) == np.arange(len(whole.rows))).all()
    # `from_pairs` checks that each row is placed once, and a pair that is none would be lost
    assert Assignment.from_pairs(before, whole.rows_of_pairs(before)).cost == whole.cost
    release = expand(before, whole)
    report = km.verify(problem, release.table(problem.table), partition=release.groups.group.tolist())
    assert report.ok
    assert report.cost is not None
    if problem.objective == "loss":
        assert report.cost == expected
    else:
        assert report.groups == expected
    return steps


@st.composite
def heavy_cases(draw: st.DrawFn, sides: bool = True) -> Case:
    """Few row types with many copies, under few patterns; some column may cost nothing."""
    case = draw(cases(max_rows=3, max_columns=2, sides=sides))
    rows = tuple(row for row in dict.fromkeys(case.rows) for _ in range(draw(st.integers(1, 8))))[:9]
    lowest = (0,) * len(rows[0])
    vectors = draw(st.sampled_from([(lowest,), (lowest, case.heights), case.vectors]))
    return replace(case, rows=rows, k=draw(st.sampled_from([k for k in (2, 3, 1) if k <= len(rows)])), vectors=vectors)


def table_of(rows: str, sensitive: bool = False) -> km.Table:
    names = [f"q{j}" for j in range(rows.index(" ") - sensitive)] + ["s"] * sensitive
    frame = pl.DataFrame([tuple(row) for row in rows.split()], schema=names, orient="row")
    return km.Table.from_frame(frame, names[: len(names) - sensitive], "s" if sensitive else ())


def multipliers(data: st.DataObject, instance: Instance) -> ExactDual:
    """Those of the Lagrangian bound, or any others; with packing cuts."""
    if data.draw(st.booleans()):
        return round_dual(lagrangian(instance, iterations=200))
    each, count = st.integers(-2 * DENOMINATOR, 8 * DENOMINATOR), instance.types.count
    integers = np.array(data.draw(st.lists(each, min_size=count, max_size=count)))
    sets, packing = drawn_sets(data, count, 3 * DENOMINATOR)
    return ExactDual(integers, sets=sets, packing_multipliers=packing, denominator=DENOMINATOR)
