"""Certificates of the bound under requirements: multipliers of rows told apart by their sensitive values, and charges.

The format is that of `kanon_milp.bounds.certificate`, version 5. `multipliers` are of the distinct rows of
quasi-identifiers and sensitive columns, in the order of the text that the hash is of; the numbers in `counting_rows`
and `rank_one_rows` count these rows as well. And there is one entry more:

charges             list of {"sensitive": a column, "levels": a level vector, "row": the number of a distinct row,
                    "charge": θ_g · denominator / unit}, integers that are not negative: what the rows that this level
                    vector releases as it does this one are charged with for the work of t-closeness with the equal
                    distance; 0 for all others

φ_g is then the least cost of a group that is within what the requirements say of shares and different values, plus
θ_g (½ Σ_σ |X_σ - p_σ·S| - t·S) of it; `kanon_milp.verify.group_costs` has how it is bounded, and why. What the bound
of a session gains by looking at groups of a few rows one by one (`bounds.small_sizes`) is not in it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds.certificate import Certificate, describe_problem, stated_requirements, table_hash
from kanon_milp.bounds.dual import DENOMINATOR, DualPoint, round_multipliers
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.bounds.required import RequiredPoint, exact_phi
from kanon_milp.presolve.instance import Instance, compress_table, prepare
from kanon_milp.presolve.reductions import Dominance, Viability
from kanon_milp.problem.privacy import TCloseness
from kanon_milp.problem.problem import Problem
from kanon_milp.system.arrays import Flags, Floats, Ints


def required_instance(problem: Problem) -> Instance | None:
    """The instance that such a certificate is about: row types are distinct rows of quasi-identifiers and the sensitive
    attributes that are asked about, without what cannot be stated. None where nothing is asked about any."""
    known = stated_requirements(problem)
    relaxed = replace(problem, privacy=known, cost_bound=None, min_groups=None, max_groups=None, objective="loss")
    if not known or not relaxed.attributes:
        return None
    instance = prepare(relaxed)
    instance = instance.subset(Viability().keep(instance))
    # what is dominated is so for the checker in any case: all that it asks of groups holds of their unions
    dominance = Dominance()
    return dominance.apply(instance).instance if dominance.accepts(relaxed) else instance


def first_multipliers(instance: Instance, dual: DualPoint | None) -> Floats | None:
    """Multipliers of a point of the Lagrangian for the row types of a `required_instance`, None where there are none.

    dual: over the same row types, or over the distinct rows of quasi-identifiers.
    """
    if dual is None or len(dual.multipliers) == instance.types.count:
        return None if dual is None else dual.multipliers
    _, of_type = np.unique(instance.types.codes, axis=0, return_inverse=True)
    of_type = of_type.ravel()
    if len(dual.multipliers) != int(of_type.max(initial=-1)) + 1:
        return None
    found: Floats = dual.multipliers[of_type]
    return found


def certify_required(
    problem: Problem, instance: Instance, point: RequiredPoint, denominator: int = DENOMINATOR
) -> Certificate:
    """Round a point of the bound under requirements and compute what it proves about the table.

    instance: the `required_instance` of the problem, which the point is of. The checker knows less of some requirements
    than the package, so that it may prove less than is claimed here: the metric of t-closeness but for the equal
    distance, the shares of δ-disclosure. Raises InputError where exact numbers would need more than 64 bits.
    """
    types, levels = compress_table(problem), instance.levels
    at = [types.sensitive.index(name) for name in instance.types.sensitive]
    tuples = np.column_stack([types.star_type, types.star_codes[:, at]])
    _, first, of_tuple = np.unique(tuples, axis=0, return_index=True, return_inverse=True)
    multipliers = round_multipliers(point.multipliers, denominator)
    charges = round_multipliers(np.maximum(point.charges, 0.0), denominator)
    phi = exact_phi(instance, multipliers, charges, denominator, small=False)
    # what is charged so much that no group is worth it is charged for that
    uncharged = phi
    if charges.any():
        uncharged = exact_phi(instance, multipliers, np.zeros_like(charges), denominator, small=False)
    total = sum(n * each for n, each in zip(instance.types.counts.tolist(), multipliers.tolist(), strict=True))
    total += sum(phi[phi < 0].tolist())
    return Certificate(
        problem=describe_problem(problem, levels),
        rows=types.n,
        table_sha256=table_hash(types),
        unit=levels.unit,
        denominator=denominator,
        multipliers=tuple(multipliers[of_tuple.ravel()].tolist()),
        bound=max(math.ceil(total / denominator), 0) * levels.unit,
        charges=_charges(instance, charges, first, uncharged < 0),
    )


def _charges(
    instance: Instance, charges: Ints, first: NDArray[np.intp], wanted: Flags
) -> tuple[tuple[str, tuple[int, ...], int, int], ...]:
    """What a checker can make use of: charges of candidates that would be open without them, for attributes with the
    equal distance."""
    candidates, found = instance.candidates, []
    equal = {
        str(stated["sensitive"])
        for each in instance.problem.requirements
        for stated in [each.stated]
        if isinstance(each, TCloseness) and stated.get("distance") == "equal"
    }
    charged = [relaxation.attribute for relaxation in relaxations_of(instance) if relaxation.closeness is not None]
    rows = first[candidates.representative].tolist()
    for v, attribute in enumerate(charged):
        thetas = charges[v * candidates.count : (v + 1) * candidates.count]
        # two requirements about one attribute can charge it in two ways; only one can be said
        if attribute in equal and charged.count(attribute) == 1:
            for g in np.flatnonzero((thetas > 0) & wanted).tolist():
                vector = tuple(instance.levels.vectors[candidates.vector[g]].tolist())
                found.append((attribute, vector, int(rows[g]), int(thetas[g])))
    return tuple(found)
