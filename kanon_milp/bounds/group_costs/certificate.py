"""The certificate of a bound on costs of whole groups (microaggregation, boxes): version 6 of the format.

As version 4 (`kanon_milp.bounds.certificate`), but for this: `multipliers` are of the rows, equal ones one after the
other, in the order of the text that the hash is of, and `rank_one_rows` count these; there are no `counting_rows`. The
`problem` has, in place of columns and patterns,

recoding            {"kind": "microaggregation", "cost": "sse" or "l1", "standardize": true or false, "weights": by
                    column}

whatever the centre is: around the mean or the median a group loses least; or {"kind": "boxes", "hierarchies": hash by
column (null: intervals or sets), "weights": by column}. `kanon_milp.verify.seeds` has what is proven, and why.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp.bounds.certificate import Certificate, certified_requirements, claims_of, hierarchy_hash, table_hash
from kanon_milp.bounds.group_costs.bound import CostDual
from kanon_milp.bounds.rank_one_cuts import NO_CUTS
from kanon_milp.presolve.instance import compress_table
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.exact import exact_number
from kanon_milp.problem.group_recoding import Boxes
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.privacy.base import least_rows
from kanon_milp.problem.problem import Problem
from kanon_milp.system.limit import NO_LIMIT, Limit
from kanon_milp.verify.certificate import check_certificate


def certified_sizes(problem: Problem) -> Problem:
    """A problem with nothing but the size of groups that the requirements which a certificate states imply."""
    stated = certified_requirements(problem)
    whole = GroupInstance.of(problem).table_group
    return replace(problem, privacy=KAnonymity(max([1, *(least_rows(each, whole) for each in stated)])))


def certify_groups(problem: Problem, dual: CostDual | None, limit: Limit = NO_LIMIT) -> Certificate:
    """Write down what multipliers prove, as the checker finds it; None are 0. Raises `Over` at the limit."""
    types = compress_table(problem)
    if dual is None:
        none = np.zeros(0, np.int64)
        dual = CostDual(np.zeros(problem.table.n, np.int64), NO_CUTS, none, 0, Fraction(1), 0)
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
    if isinstance(recoding, Boxes):
        names = problem.table.quasi_identifiers
        hashes = {
            name: hierarchy_hash(recoding.hierarchies[name]) if name in recoding.hierarchies else None for name in names
        }
        more: dict[str, Any] = {"kind": "boxes", "hierarchies": hashes}
    else:
        more = {"kind": "microaggregation", "cost": recoding.cost, "standardize": recoding.standardize}
    described = {
        "quasi_identifiers": list(problem.table.quasi_identifiers),
        "sensitive": list(problem.table.sensitive),
        "requirements": [claims_of(r, problem.table) for r in certified_requirements(problem)],
        "suppressed_rows": problem.suppressed_rows,
        "recoding": {**more, "weights": weights_of},
    }
    certificate = Certificate(
        problem=described,
        rows=types.n,
        table_sha256=table_hash(types),
        unit=dual.scale,
        denominator=1,
        multipliers=tuple(dual.multipliers[order].tolist()),
        bound=Fraction(0),
        rank_one_rows=tuple(cuts),
        of_rows=True,
    )
    return replace(certificate, bound=limit.call(check_certificate, problem, certificate).bound)
