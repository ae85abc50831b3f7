"""Methods for costs of whole groups without a model: `mdav`, `vmdav` and `k_member`, which prove nothing, and
`univariate`, which does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from kanon_milp.bounds.group_costs.shares import share_bound
from kanon_milp.bounds.narrowest_boxes import narrowest_bound
from kanon_milp.heuristics.boxes import cut_boxes, improved_boxes
from kanon_milp.heuristics.k_member import k_member
from kanon_milp.heuristics.median_cuts import coordinates, median_parts
from kanon_milp.heuristics.microaggregation import VmdavParams, improved, mdav, scaled, vmdav
from kanon_milp.methods.group_session import GroupSession
from kanon_milp.methods.result import Result
from kanon_milp.presolve.boxes import BoxCosts
from kanon_milp.presolve.whole_groups import GroupTable
from kanon_milp.problem.group_costs import NumericCost, OwnCost
from kanon_milp.problem.group_costs.boxes import BoxPenalty
from kanon_milp.system.arrays import Ints
from kanon_milp.system.parameters import number, parameters

OF_SIZES = (
    "the bound adds up what each row costs in the narrowest box of at least {} rows around it; what else is required "
    "of groups is not in it, and rows are not moved between boxes to improve the table, so the gap can be wide"
)
CHECKED = 4096  # rows between two looks at the limit


@parameters("group_tables")
@dataclass(frozen=True)
class GroupTablesParams:
    """Tables without a model where the cost is one of whole groups. Tuned on Adult, 150 to 30,162 rows."""

    boxes: float = number(0.4, "of the time left, for a first table of boxes, and for moves of rows in it", most=1)
    growing: float = number(0.6, "of the time left, for clusters of points, and for a bound of one's own", most=1)
    start: float = number(0.2, "of the time left, for the table that a model begins with", most=1)
    calls: int = number(200_000, "of a lower bound of one's own, for all rows together")


def solve_mdav(session: GroupSession) -> Result:
    """MDAV (Domingo-Ferrer, Torra 2005)."""
    cost, instance = _cost(session), session.instance
    with session.clock.step("search"):
        group = mdav(scaled(cost), instance.least, cost.power, session.limit)
    session.tracker.better(instance.table(group))
    return session.finish()


def solve_vmdav(session: GroupSession) -> Result:
    """V-MDAV (Solanas, Martínez-Ballesté 2006), and MDAV, whichever is better; for sums of squares followed by moves
    and exchanges of points."""
    cost, instance, params = _cost(session), session.instance, session.parameters.of(VmdavParams)
    points, k, limit = scaled(cost), session.instance.least, session.limit
    for group in (mdav(points, k, cost.power, limit), vmdav(points, k, cost.power, params.gain, limit)):
        with session.clock.step("search"):
            session.tracker.better(instance.table(group))
            if cost.power == 2:
                session.tracker.better(instance.table(improved(points, group, k, params.passes, limit)))
    return session.finish()


def solve_k_member(session: GroupSession) -> Result:
    """Greedy k-member clustering (Byun et al. 2007)."""
    instance, limit = session.instance, session.limit
    params = session.parameters.of(GroupTablesParams)
    clustered = first_groups(session, params.boxes if isinstance(instance.cost, BoxPenalty) else params.growing)
    messages = [] if clustered else ["k-member clustering has found no groups; rows are cut at medians"]
    messages += _improve_boxes(session)
    if isinstance(instance.cost, OwnCost) and instance.cost.bounds_extensions:
        with session.clock.step("bound"):
            session.tracker.higher(share_bound(instance, limit.share(params.growing), params.calls), ("own bound",))
    return session.finish(message="; ".join(messages))


def first_groups(session: GroupSession, share: float) -> bool:
    """Tell the tracker a table by k-member clustering in a share of the time, or else by cuts at medians: False."""
    instance = session.instance
    with session.clock.step("search"):
        group = k_member(instance, session.limit.share(share))
        clustered = group is not None
        if group is None and instance.one_group is not None:
            group = _cut_at_medians(session)
        if group is not None:
            session.tracker.better(instance.table(group))
    return clustered


def _cut_at_medians(session: GroupSession) -> Ints:
    instance, group = session.instance, np.empty(len(session.instance.of_row), dtype=np.int64)
    points = coordinates(instance)
    limit = session.limit.share(session.parameters.of(GroupTablesParams).growing)
    for at, rows in enumerate(median_parts(instance, points, np.arange(len(group)), limit)):
        group[rows] = at
    return group


def solve_cuts(session: GroupSession) -> Result:
    """Boxes by cuts at medians (LeFevre et al. 2006)."""
    instance = session.instance
    assert isinstance(instance.cost, BoxPenalty)
    if instance.one_group is None:
        return session.finish(message="all rows together do not have what is required, so there is nothing to cut")
    boxes = BoxCosts.of(instance.cost, 2 * instance.least)
    with session.clock.step("search"):
        short = session.limit.share(session.parameters.of(GroupTablesParams).boxes)
        group = cut_boxes(boxes, instance.least, instance.holds, short)
        session.tracker.better(instance.table(group))
    return session.finish(message="".join(_improve_boxes(session)))


def _improve_boxes(session: GroupSession) -> list[str]:
    """Moves and exchanges of rows, where only sizes of groups are required, and the bound of each row alone. What is to
    be said where more is required."""
    instance, tracker = session.instance, session.tracker
    best = tracker.best or instance.one_group
    if not isinstance(instance.cost, BoxPenalty) or best is None:
        return []
    boxes, known = BoxCosts.of(instance.cost, 2 * instance.least), best.group
    if instance.problem.size_only:
        with session.clock.step("search"):
            short = session.limit.share(session.parameters.of(GroupTablesParams).boxes)
            known = improved_boxes(boxes, known, instance.least, session.parameters.of(VmdavParams).passes, short)
            tracker.better(instance.table(known))
    with session.clock.step("bound"):
        tracker.higher(narrowest_bound(boxes, instance.least, known, session.limit), ("own bound",))
    unknown = not instance.problem.size_only and tracker.bound < best.cost
    return [OF_SIZES.format(instance.least)] if unknown else []


def solve_univariate(session: GroupSession) -> Result:
    """One column: there is an optimum of groups of κ to 2κ-1 rows next to each other in order (Hansen, Mukherjee 2003),
    and dynamic programming over the ordered rows finds it, in integers.

    The same holds of absolute deviations around medians: to exchange two rows so that they are in the order of the
    centres of their groups raises no cost.
    """
    cost, instance = _cost(session), session.instance
    with session.clock.step("search"):
        found = _in_order(cost, instance.least, session)
    if found is not None:
        session.tracker.better(found)
        session.tracker.higher(found.cost, ("own bound",))
    return session.finish()


def _in_order(cost: NumericCost, k: int, session: GroupSession) -> GroupTable | None:
    """The cheapest groups of k to 2k-1 rows in order; None at the limit."""
    values = cost.points.values[:, 0]
    order = np.argsort(values, kind="stable")
    x, n = values[order].tolist(), len(values)
    sums: list[int]
    squares: list[int]
    sums, squares = [0, *accumulate(x)], [0, *accumulate(v * v for v in x)]
    common = math.lcm(*range(k, 2 * k)) if cost.power == 2 else 1

    def of(a: int, b: int) -> int:
        """The cost of the rows a to b-1 in order, in units of 1/common."""
        if cost.power == 2:
            return common * (squares[b] - squares[a]) - common // (b - a) * (sums[b] - sums[a]) ** 2
        low, high = a + (b - a) // 2, b - (b - a) // 2
        return sums[b] - sums[high] - sums[low] + sums[a]

    least: list[int | None] = [0, *[None] * n]
    size = [0] * (n + 1)
    for end in range(k, n + 1):
        if end % CHECKED == 0 and session.limit.over:
            return None
        for rows in range(k, min(2 * k, end + 1)):
            before = least[end - rows]
            if before is not None:
                known, here = least[end], before + of(end - rows, end)
                if known is None or here < known:
                    least[end], size[end] = here, rows
    group: Ints = np.empty(n, dtype=np.int64)
    end = n
    while end:
        group[order[end - size[end] : end]] = end
        end -= size[end]
    found = session.instance.table(group)
    unit = cost.weights[0] / (common * cost.points.scale[0] ** cost.power)
    assert least[n] is not None
    assert found.cost == Fraction(least[n]) * unit  # type: ignore[arg-type]
    return found


def _cost(session: GroupSession) -> NumericCost:
    cost = session.instance.cost
    assert isinstance(cost, NumericCost)
    return cost
