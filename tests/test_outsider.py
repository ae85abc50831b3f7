"""What somebody adds who knows only the public names: a solver, a requirement, a cost, a method and a phase.

Each is a part of the script that stands for itself; the last part uses all of them together. Judged by brute force.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import python
from oracle import optimum

SOLVER = '''
import scipy.optimize as so
from kanon_milp.solvers import Availability, Capability, RawResult, SolverAdapter, StopReason


class SciPy(SolverAdapter):
    """The MILP function of SciPy."""

    name = "scipy"
    capabilities = frozenset({Capability.CONTINUOUS, Capability.BOUND})

    def availability(self):
        return Availability.AVAILABLE

    def version(self):
        return "1"

    def location(self):
        return so.__file__

    def run(self, model, call):
        rows = so.LinearConstraint(model.A, model.constraint_lower, model.constraint_upper)
        bounds = so.Bounds(model.lower, model.upper)
        found = so.milp(model.c, integrality=model.integer, bounds=bounds, constraints=rows)
        reason = {0: StopReason.OPTIMAL, 2: StopReason.INFEASIBLE}.get(found.status)
        return RawResult(reason, found.x, None if found.x is None else found.mip_dual_bound + model.offset)


km.register_solver(SciPy())
'''

REQUIREMENT = '''
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class AtMost(km.Requirement):
    """No group has more than so many rows."""

    most: int
    name: ClassVar[str] = "at_most"

    def bind(self, table):
        return (self,)

    def smallest_group(self, whole):
        return 1

    def holds(self, group):
        return group.size <= self.most

    def declare(self, block, model, instance):
        @block.Constraint(model.CANDIDATES)
        def limit(block, g):
            return model.rows[g] <= self.most * model.open[g]

    def describe(self):
        return {"most": self.most}
'''

COST = '''
from fractions import Fraction

# an age that is known to the decade has lost a fifth of what it tells
ages = {age: (age, age[0] + "0-" + age[0] + "9", "*") for age in ("31", "35", "38", "42", "47")}
recoding = km.Hierarchies({"age": ages}, weights={"city": 3}, level_costs={"age": (0, Fraction(1, 5), 1)})


def with_a_price_for_groups(problem, price):
    """The objective of the model with a price for each group that there is."""
    model = km.build_model(problem)
    model.loss.set_value(model.unit * model.loss.expr + price * sum(model.open[g] for g in model.CANDIDATES))
    return km.solve_model(problem, model, "scipy")
'''

METHOD = """
import numpy as np


def one_group(session):
    instance = session.instance
    chosen = instance.candidates.candidate_of_pair() == int(np.argmax(instance.candidates.support))
    rows = np.where(chosen, instance.types.counts[instance.candidates.members], 0)
    return session.finish(km.Assignment.from_pairs(instance, rows))


km.register_method(km.Method("one_group", "all rows in one group", one_group))
"""

PHASE = """
class OneGroupFirst(km.Phase):
    name = "one group first"

    def __init__(self):
        self.done = False

    def applies(self, known):
        return not self.done

    def estimate(self, known):
        return km.Estimate(seconds=1e-3, gain=1.0)

    def run(self, known, limit):
        self.done = True
        instance = known.instance
        chosen = instance.candidates.candidate_of_pair() == int(np.argmax(instance.candidates.support))
        rows = np.where(chosen, instance.types.counts[instance.candidates.members], 0)
        known.keep(km.Assignment.from_pairs(instance, rows))
        known.tracker.higher(1, ())


km.register_phase(OneGroupFirst)
"""

TOGETHER = """
def told(result):
    return [result.proof, str(result.exact_objective), result.verified]


people = km.read_table("people.csv", quasi_identifiers=["age", "city"])
plain = km.Problem(people, km.KAnonymity(2), recoding)
limited = km.Problem(people, [km.KAnonymity(2), AtMost(2)], recoding)
table = km.solve(limited, "scipy").table
coarse = table.with_columns(age=pl.lit("*"), city=pl.lit("*"))
searched = km.solve(plain, "scipy", method="search", iteration_limit=2, parameters={"cuts.rounds": 3})
described = searched.as_dict()
print(json.dumps({
    "phase": told(searched),
    "phases": [phase[0] for phase in described["phases"]],
    "parameters": described["parameters"],
    "solver": told(km.solve(plain, "scipy")),
    "requirement": told(km.solve(limited, "scipy")),
    "hybrid": told(km.solve(limited, "scipy", method="search", iteration_limit=2)),
    "textbook": told(km.solve(plain, "scipy", formulation="textbook")),
    "verified": [km.verify(limited, table).ok, km.verify(limited, coarse).ok],
    "objective": told(with_a_price_for_groups(plain, 2)),
    "method": told(km.solve(plain, method="one_group")),
    "certificate": str(km.check_certificate(plain, km.solve(plain, "scipy").certify()).bound),
}))
"""

ROWS = [("31", "x"), ("35", "x"), ("38", "y"), ("31", "y"), ("42", "x"), ("47", "x"), ("42", "y"), ("31", "x")]
AGES = {age: (age, f"{age[0]}0-{age[0]}9", "*") for age in ("31", "35", "38", "42", "47")}
GIVEN: dict[str, Any] = {
    "hierarchies": {0: AGES},
    "weights": [Fraction(1), Fraction(3)],
    "level_costs": {0: (0, Fraction(1, 5), 1)},
}


@pytest.mark.processes
def test_what_an_outsider_adds_is_used_together(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,city\n" + "".join(f"{age},{city}\n" for age, city in ROWS))
    head = "import json\n\nimport polars as pl\n\nimport kanon_milp as km\n"
    (tmp_path / "script.py").write_text("\n".join([head, SOLVER, REQUIREMENT, COST, METHOD, PHASE, TOGETHER]))
    said = json.loads(python("script.py", folder=tmp_path).stdout)
    best = optimum(ROWS, 2, **GIVEN)
    limited = optimum(ROWS, 2, requirement=lambda rows: len(rows) <= 2, **GIVEN)
    assert said.pop("solver") == said.pop("textbook") == ["optimal", str(best), True]
    assert said.pop("requirement") == said.pop("hybrid") == ["optimal", str(limited), True]
    assert said.pop("phase") == ["optimal", str(best), True]
    assert said.pop("phases")[0] == "one group first"
    assert said.pop("parameters") == {"cuts.rounds": 3}
    assert said.pop("verified") == [True, False]
    by_groups = [optimum(ROWS, 2, min_groups=n, max_groups=n, **GIVEN) for n in range(1, 5)]
    priced = min(loss + 2 * n for n, loss in enumerate(by_groups, 1) if loss is not None)
    assert said.pop("objective") == ["optimal", str(priced), True]
    assert said.pop("method") == ["none", str(4 * len(ROWS)), True]
    assert 0 < Fraction(said.pop("certificate")) <= (best or 0)
    assert said == {}
