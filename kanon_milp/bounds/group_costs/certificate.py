"""The certificate of a bound on sums of squares (microaggregation): version 6 of the format.

As version 4 (`kanon_milp.bounds.certificate`), but for this: `multipliers` are of the rows, equal ones one after the
other, in the order of the text that the hash is of, and `rank_one_rows` count these; there are no `counting_rows`. The
`problem` has, in place of columns and patterns,

recoding            {"kind": "microaggregation", "cost": "sse", "standardize": true or false, "weights": by column}

whatever the centre is: around the mean a group loses least. `kanon_milp.verify.squares` has what is proven, and why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kanon_milp.bounds.certificate import Certificate, certified_requirements, table_hash
from kanon_milp.bounds.group_costs.bound import CostDual
from kanon_milp.presolve.instance import compress_table
from kanon_milp.problem.exact import exact_number
from kanon_milp.problem.problem import Problem


def certify_squares(problem: Problem, dual: CostDual) -> Certificate:
    """Write down what multipliers prove. What is claimed leaves out what the checker may round otherwise."""
    types = compress_table(problem)
    order = np.argsort(types.type_of_rows(problem.table.keys), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cuts = []
    for (rows, weights, denominator), multiplier in zip(dual.cuts.each(), dual.cut_multipliers.tolist(), strict=True):
        pairs = sorted(zip(place[rows].tolist(), weights, strict=True))
        cuts.append((tuple(i for i, _ in pairs), tuple(p for _, p in pairs), denominator, multiplier))
    recoding: Any = problem.recoding
    weights_of = {
        name: str(exact_number(recoding.weights.get(name, 1), f'weight of column "{name}"'))
        for name in problem.table.quasi_identifiers
    }
    described = {
        "quasi_identifiers": list(problem.table.quasi_identifiers),
        "sensitive": list(problem.table.sensitive),
        "requirements": [{"name": r.name, **r.describe()} for r in certified_requirements(problem)],
        "suppressed_rows": problem.suppressed_rows,
        "recoding": {
            "kind": "microaggregation", "cost": "sse", "standardize": recoding.standardize, "weights": weights_of,
        },
    }  # fmt: skip
    return Certificate(
        problem=described,
        rows=types.n,
        table_sha256=table_hash(types),
        unit=dual.scale,
        denominator=1,
        multipliers=tuple(dual.multipliers[order].tolist()),
        bound=max(dual.value - dual.slack, 0) * dual.scale,
        rank_one_rows=tuple(cuts),
        of_rows=True,
    )
