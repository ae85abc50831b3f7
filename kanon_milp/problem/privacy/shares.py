"""Upper bounds on the share of sensitive values in a group, which several requirements are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from kanon_milp.problem.hierarchies import Label
from kanon_milp.problem.privacy.cells import Rows, supports
from kanon_milp.problem.privacy.instance_data import InstanceData

Caps = Mapping[Label, Fraction]
SEARCHED = 10_000  # sizes of a group tried when looking for the smallest one
SAFE = 1 << 62


def smallest_within(caps: Caps, counts: Mapping[Label, int]) -> int:
    """The smallest size s that integer numbers of rows can make up: Σ_σ min(N_σ, ⌊cap_σ·s⌋) ≥ s.

    counts: rows of the whole table by value. Any smaller number is a valid lower bound too, so the search may end
    early.
    """
    n = sum(counts.values())
    pairs = [(caps[value].numerator, caps[value].denominator, rows) for value, rows in counts.items()]
    for size in range(1, min(n, SEARCHED) + 1):
        if sum(min(rows, above * size // below) for above, below, rows in pairs) >= size:
            return size
    return min(n, SEARCHED)


def viable_within(instance: InstanceData, attribute: str, caps: Caps) -> NDArray[np.bool_]:
    """Candidates whose cover holds a (fractional) group within the caps: Σ_σ min(N_gσ, cap_σ·κ) ≥ κ.

    κ is the smallest size that the candidate's group can have; a larger group scaled down to κ shows that the test is
    valid. Exact in integers; everything is viable where these would not fit.
    """
    _, values = instance.sensitive_codes((attribute,))
    cap = [min(caps[value], Fraction(1)) for (value,) in values]
    common = math.lcm(*(c.denominator for c in cap))
    if common * (instance.types.n + 1) * 2 > SAFE:
        return np.ones(instance.candidates.count, dtype=bool)
    scaled = np.array([int(c * common) for c in cap], dtype=np.int64)
    cover = supports(instance, (attribute,))
    least = np.minimum(instance.least, instance.candidates.support)
    at_most = scaled[cover.indices] * np.repeat(least, np.diff(cover.indptr))
    held = np.add.reduceat(np.minimum(common * cover.data, at_most), cover.indptr[:-1])
    viable: NDArray[np.bool_] = held >= common * least
    return viable


def declare_caps(
    block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData, attribute: str, caps: Caps, name: str = "share"
) -> None:
    """The constraints den(cap_σ)·X_σg ≤ num(cap_σ)·S_g, coefficients integer, for the values in the cover of g."""
    rows = Rows(model, instance, (attribute,))
    _, values = instance.sensitive_codes((attribute,))
    cap = {code: caps[value] for code, (value,) in enumerate(values)}
    limited = [(g, value) for g, value in rows.index() if cap[value] < 1]
    cells = pyo.Set(dimen=2, initialize=limited, doc="(candidate g, number of a sensitive value σ) with a limit")
    block.add_component(f"{name}_CELLS", cells)

    # X_σg ≤ cap_σ · S_g
    def rule(_block: pyo.Block, g: int, value: int) -> object:
        return cap[value].denominator * rows.with_value(g, value) <= cap[value].numerator * rows.size(g)

    limit = pyo.Constraint(cells, rule=rule, doc="no sensitive value has more than its share of a group")
    block.add_component(name, limit)


def largest_share(counts: Mapping[Label, int]) -> tuple[Label, int]:
    """The most frequent value and its rows."""
    return max(counts.items(), key=lambda item: (item[1], str(item[0])))
