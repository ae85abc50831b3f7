"""The model that is stated as arrays is the strong formulation that the Pyomo builder declares."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from census import census
from effort import examples
from hypothesis import assume, given, settings
from strategies import Case, cases, reduced

import kanon_milp as km
from kanon_milp.formulations import strong
from kanon_milp.formulations.arrays import strong_model
from kanon_milp.formulations.strong import build_strong
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import SolverOptions, get
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.pyomo_arrays import to_arrays


def stated(instance: Instance) -> LinearModel:
    """The strong constraints of an instance, as arrays."""
    candidates = instance.candidates
    of_pair = candidates.candidate_of_pair().astype(np.int64)
    return strong_model(
        instance.types.counts, candidates.members.astype(np.int64), of_pair, candidates.cost, instance.least
    )


def constraints(model: LinearModel) -> list[tuple[tuple[tuple[int, float], ...], float, float]]:
    """Every constraint as its coefficients by column and its two sides, the first coefficient positive, in order."""
    matrix = model.A.tocsr()
    found = []
    for r in range(model.constraints):
        begin, end = matrix.indptr[r : r + 2]
        entries = sorted(zip(matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist(), strict=True))
        sides = float(model.constraint_lower[r]), float(model.constraint_upper[r])
        if entries[0][1] < 0:  # a·x ≤ b and -a·x ≥ -b are the same
            entries, sides = [(column, -value) for column, value in entries], (-sides[1], -sides[0])
        found.append((tuple(entries), *sides))
    return sorted(found)


@given(cases(max_rows=9, sides=False))
@settings(max_examples=examples(40, 13))
def test_the_two_statements_are_the_same_model(case: Case) -> None:
    instance = reduced(case.problem())
    # every row type has a candidate
    assume(instance.types.count and set(instance.candidates.members.tolist()) == set(range(instance.types.count)))
    ours, declared = stated(instance), to_arrays(build_strong(instance)).linear
    # columns: the pairs candidate by candidate, then the candidates
    for name in ("c", "lower", "upper", "integer"):
        assert getattr(ours, name).tolist() == getattr(declared, name).tolist()
    assert ours.offset == declared.offset
    assert constraints(ours) == constraints(declared)


def test_a_group_with_enough_other_rows_needs_no_binary() -> None:
    # one row type of two rows; the first candidate is open outside already
    counts, row_type, candidate = np.array([2]), np.array([0, 0]), np.array([0, 1])
    model = strong_model(counts, row_type, candidate, cost=np.array([3, 1]), least=np.array([0, 3]))
    assert model.variables == 3
    assert model.integer.tolist() == [False, False, True]
    answer = get("highs").solve(model, SolverOptions())
    assert answer.objective == pytest.approx(6)  # the second one would need three rows


@pytest.mark.parametrize("requirement", [km.LDiversity(2), km.TCloseness("2/5"), km.BetaLikeness(1)], ids=str)
def test_sizes_of_groups_are_sums_where_there_are_few_values(
    requirement: km.Requirement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The optimum is the same; that of many values has variables."""
    columns, optima = ["age", "education", "race", "sex"], []
    frame = census(40)
    few = km.Problem(km.Table.from_frame(frame, columns, "marital-status"), [km.KAnonymity(3), requirement])
    many = km.Problem(km.Table.from_frame(frame, columns, "occupation"), [km.KAnonymity(3), requirement])
    for most, kinds in ((strong.MOST_NONZEROS, (pyo.Expression, pyo.Var)), (0, (pyo.Var, pyo.Var))):
        monkeypatch.setattr(strong, "MOST_NONZEROS", most)
        for problem, kind in zip((few, many), kinds, strict=True):
            assert km.build_model(problem).rows.ctype is kind
        optima.append(km.solve(few, method="milp").require_optimal().objective)
    assert optima[0] == optima[1]
