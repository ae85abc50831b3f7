"""A first table under requirements, from the candidates priced at the multipliers of the bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from kanon_milp.bounds.dual import DualPoint
from kanon_milp.bounds.evaluation import RequiredEvaluator
from kanon_milp.bounds.parameters import SubproblemParameters
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.bounds.tree_subproblem import ValuedCover, Workspace, make_workspace
from kanon_milp.bounds.valued_groups import candidate_of, cheapest_of_candidate, choose_rows
from kanon_milp.heuristics.construction import DEFAULT, ConstructionParameters
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import most_general_pairs
from kanon_milp.heuristics.repair import repair
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.valued_state import ValuedBoard, rules_of
from kanon_milp.kernels.covers import ordered_covers
from kanon_milp.kernels.tree_subproblem import TreeArrays, ValuedCandidates, ValuedRows
from kanon_milp.kernels.valued_moves import absorb, descend, mend_all, settle
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.system.arrays import Floats, Ints, Ints32
from kanon_milp.system.jit import compiled, compiled_part_in_place
from kanon_milp.system.limit import Limit

FRACTION = 0.5  # as of kernels.rules
NEVER = np.float64(np.inf)  # φ of a candidate without a group
CHUNK = 1000  # candidates between two looks at the clock


class Rules(NamedTuple):
    """What relaxations ask of a group. Counts stand in columns, one for each value of each sensitive attribute.

    columns: int32 (J, attributes), the columns of joint value u. limited: int64 (limited, 5): a column, and the
    numerators and denominators of its least and its largest share. presence: int64 (p, 3): from this column to that
    one at least so many are not 0. Nodes of all trees, children before parents: column: int64, -1 for none, children:
    int64, how many; share, weight: int64. roots: int64 (trees, 5): its last node, denominator of shares, denominator of
    weights, largest EMD cost of a row times both, and of a star whose leaves stand in successive columns the first,
    else -1. below: int64, scratch space.
    """

    columns: Ints32
    limited: Ints
    presence: Ints
    column: Ints
    children: Ints
    share: Ints
    weight: Ints
    roots: Ints
    below: Ints


class Rest(NamedTuple):
    """Rows without a group yet, and scratch space.

    left: float64 (t,), rows without a group. rows: int64 (pairs,), those that have one. value: int64 (t,), joint value.
    members: the covers; covers: the same, each sorted by value, then by falling multiplier. taken: float64 (t,) and
    amount: int64 (t,), 0 but for the group that is made. counts: int32 (1, columns). cells: int64 (J, 3), of the cover
    where a value begins and ends, and behind the last row that is taken. price: of a unit of violation.
    exchanges, paired: as in `ConstructionParameters`.
    """

    left: Floats
    rows: Ints
    value: Ints
    members: Ints32
    covers: Ints32
    taken: Floats
    amount: Ints
    counts: Ints32
    cells: Ints
    price: float
    exchanges: int
    paired: int


def construct(
    instance: Instance,
    point: DualPoint,
    limit: Limit,
    seed: int = 0,
    params: ConstructionParameters = DEFAULT,
) -> Assignment | None:
    """A complete assignment whose groups satisfy every requirement; None if none is found.

    For rising slack, go through the candidates, once those first that were open most often in the averages of the
    bound, once by rising φ; the cheapest group over the rows that have none yet, at a cost that is lower by the slack,
    is placed if it is worth its rows' multipliers. What is left over goes to the most general candidates, and rows are
    moved until these satisfy the requirements as well. The better of the two tables is returned; the second one is not
    begun after half of the time. Where nothing is known of the requirements but `holds`, Algorithm 1 of the
    pattern-guided paper (`heuristics.greedy`). At the limit, all rows that have no group yet are left over.
    """
    if not instance.problem.separable:
        return None
    best, pricing = None, PricedCandidates.of(instance, point)
    if pricing.priced:
        seconds, check = limit.seconds, GroupCheck(instance)
        # converged multipliers say the same of many candidates, their averages still tell them apart
        for key in ([] if point.open_share is None else [-point.open_share]) + [pricing.phi]:
            if best is not None and seconds is not None and limit.left < seconds / 2:
                break
            placed = _place(instance, pricing, key, limit, params)
            found = repair(instance, _mended(instance, placed, pricing, seed, limit, params), limit, check)
            if best is None or (found is not None and found.cost < best.cost):
                best = found
    return greedy(instance, limit) if best is None else best


def _place(
    instance: Instance, pricing: PricedCandidates, key: Floats, limit: Limit, params: ConstructionParameters
) -> Ints:
    """Rows of every pair, int64 (pairs,), those that are left over at the most general candidate that they have.

    key: float64 (G,), candidates are gone through by rising key, then φ.
    """
    candidates, cell = instance.candidates, cell_cost(instance)
    arrays, value = rules_of(instance)
    rules, tries = Rules(*arrays, np.zeros(len(arrays.column) + 1, np.int64)), SubproblemParameters().tries
    order = np.lexsort((-pricing.multipliers, value))
    width = int(rules.columns.max(initial=-1)) + 1
    types, pairs = instance.types.count, candidates.pairs
    rest = Rest(
        left=instance.types.counts.astype(np.float64),
        rows=np.zeros(pairs, np.int64),
        value=value,
        members=candidates.members,
        covers=ordered_covers(*candidates.covers, order),
        taken=np.zeros(types),
        amount=np.zeros(types, np.int64),
        counts=np.zeros((1, width), np.int32),
        cells=np.zeros((len(rules.columns), 3), np.int64),
        price=params.mending * cell,
        exchanges=params.exchanges,
        paired=params.paired,
    )
    promising = np.flatnonzero(pricing.phi <= params.promising * cell)
    promising = promising[np.lexsort((pricing.phi[promising], key[promising]))]
    for slack in params.slacks:
        for v, priced in enumerate(pricing.priced):
            bound_here = promising[pricing.which[promising] == v]
            rows = priced.rows(rest.left, pricing.multipliers)
            for begin in range(0, len(bound_here), CHUNK):
                if limit.over:
                    break
                chunk = bound_here[begin : begin + CHUNK]
                _place_groups(
                    chunk, slack * cell, tries, priced.candidates, rows, priced.tree, priced.scratch, rest, rules
                )
    left = np.round(rest.left).astype(np.int64)
    rest.rows[most_general_pairs(instance)] += left
    return rest.rows


def mended(
    instance: Instance,
    start: Assignment,
    phi: Floats,
    limit: Limit,
    seed: int = 0,
    params: ConstructionParameters = DEFAULT,
) -> Assignment | None:
    """A table whose groups are large enough, changed until they satisfy every requirement as well; None if that cannot
    be.

    phi: float64 (G,), φ_g; rows are moved among candidates where it is low.
    """
    return repair(instance, _on_board(instance, start, phi, seed, params).placed(), limit)


def _on_board(
    instance: Instance, start: Assignment, phi: Floats, seed: int, params: ConstructionParameters
) -> ValuedBoard:
    """Move single rows until no group has a violation, and where that does not help, all rows of groups."""
    cell = cell_cost(instance)
    allowed = phi[instance.candidates.candidate_of_pair()] <= params.looked_at * cell
    board = ValuedBoard.of(instance, allowed, start, seed)
    c = board.rows
    c.price = params.mending * cell
    settle(c)
    mend_all(c, np.argsort(board.board.state.size[:-1]), params.tried)  # the largest groups last
    for g in np.flatnonzero(c.violation).tolist():
        while c.violation[g] > 0 and absorb(c, g):
            pass
    settle(c)
    return board


def _mended(
    instance: Instance, rows: Ints, pricing: PricedCandidates, seed: int, limit: Limit, params: ConstructionParameters
) -> Assignment:
    """As `_on_board`; then open candidates one by one where that pays.

    rows: int64 (pairs,), a complete assignment.
    """
    board = _on_board(instance, Assignment.from_pairs(instance, rows), pricing.phi, seed, params)
    cell = cell_cost(instance)
    phi = pricing.phi[board.board.candidate]
    order = np.argsort(phi, kind="stable")
    order = order[phi[order] <= params.promising * cell]
    for begin in range(0, len(order), CHUNK):
        if limit.over:
            break
        descend(board.rows, order[begin : begin + CHUNK])
    return board.placed()


@compiled_part_in_place
def violation_of(rules: Rules, counts: Ints32, g: int, size: int, least: int) -> float:
    """The violation of a group of so many rows with the counts in line g, of a candidate with this smallest size; 0
    for an empty one."""
    if size <= 0 or least < 0:
        return 0.0
    found = float(max(least - size, 0))
    limited = rules.limited
    for j in range(len(limited)):
        held = int(counts[g, limited[j, 0]])
        over = held * limited[j, 4] - limited[j, 3] * size
        if over > 0:
            found += over / limited[j, 4]
        elif limited[j, 1] * size > held * limited[j, 2]:
            found += (limited[j, 1] * size - held * limited[j, 2]) / limited[j, 2]
    for j in range(len(rules.presence)):
        lacking = rules.presence[j, 2]
        for v in range(rules.presence[j, 0], rules.presence[j, 1]):
            if counts[g, v] > 0:
                lacking -= 1
                if lacking == 0:
                    break
        found += max(lacking, 0)
    node = 0
    for j in range(len(rules.roots)):
        scale, most = rules.roots[j, 1], rules.roots[j, 3] * size
        top, work, first = 0, 0, rules.roots[j, 4]
        if first >= 0:
            first -= node
            while node < rules.roots[j, 0]:
                work += rules.weight[node] * abs(scale * int(counts[g, first + node]) - rules.share[node] * size)
                node += 1
            node += 1
        while node <= rules.roots[j, 0]:
            inside = int(counts[g, rules.column[node]]) if rules.column[node] >= 0 else 0
            for _ in range(rules.children[node]):
                top -= 1
                inside += rules.below[top]
            work += rules.weight[node] * abs(scale * inside - rules.share[node] * size)
            rules.below[top] = inside
            top += 1
            node += 1
        if work > most:
            found += (work - most) / (float(scale) * rules.roots[j, 2])
    return found + FRACTION if found > 0 else 0.0


@compiled_part_in_place
def count_in(rules: Rules, counts: Ints32, g: int, u: int, rows: int) -> None:
    """So many more rows of joint value u in line g."""
    for a in range(rules.columns.shape[1]):
        counts[g, rules.columns[u, a]] += rows


@compiled
def _place_groups(
    order: Ints,
    slack: float,
    tries: int,
    priced: ValuedCandidates[np.float64],
    rows: ValuedRows[np.float64],
    tree: TreeArrays[np.float64],
    scratch: Workspace[np.float64],
    rest: Rest,
    rules: Rules,
) -> None:
    """Place the cheapest group of each candidate, in this order, if it is worth its rows' multipliers."""
    for g in order:
        begin, end = priced.indptr[g], priced.indptr[g + 1]
        least = priced.least[g]
        cost = priced.cost[g] - slack / least
        left, below = 0.0, 0.0
        for i in priced.members[begin:end]:
            left += rest.left[i]
            below += rows.counts[i] * min(cost - rows.multipliers[i], 0.0)
        if left < least or below >= 0:
            continue
        whole = candidate_of(priced, g)
        one = ValuedCover(cost, whole.theta, least, int(left), whole.members, whole.values, whole.begins)
        phi, _, size = cheapest_of_candidate(least, tries, NEVER, False, one, rows, tree, scratch)
        if phi >= 0:
            continue
        for at in range(choose_rows(size, one, rows, tree, scratch)):
            rest.taken[scratch.chosen[at]] += scratch.chosen_amounts[at]
        value, good = _integral(begin, end, least, cost, rows.multipliers, rest, rules)
        for i in priced.members[begin:end]:
            if rest.amount[i] > 0:
                if good and value < 0:
                    rest.left[i] -= rest.amount[i]
                else:
                    rest.amount[i] = 0
        _keep(begin, end, rest)


@compiled_part_in_place
def _integral(
    begin: int, end: int, least: int, w: float, multipliers: Floats, rest: Rest, rules: Rules
) -> tuple[float, bool]:
    """Make the group that is taken integral and exchange rows until it has no violation: what it is worth, and
    whether it has none."""
    cells, counts = rest.cells, rest.counts
    for u in range(len(cells)):
        cells[u, 0] = cells[u, 1] = cells[u, 2] = 0
    for column in range(counts.shape[1]):
        counts[0, column] = 0
    size, value = 0, 0.0
    for at in range(begin, end):
        i = rest.covers[at]
        u = rest.value[i]
        if cells[u, 1] == 0:
            cells[u, 0] = cells[u, 2] = at
        cells[u, 1] = at + 1
        rows = int(rest.taken[i] + 1e-6)
        rest.taken[i] = 0.0
        if rows > 0:
            rest.amount[i] = rows
            cells[u, 2] = at + 1
            size += rows
            value += rows * (w - multipliers[i])
            count_in(rules, counts, 0, u, rows)
    values = len(cells)
    violation = violation_of(rules, counts, 0, size, least)
    for _ in range(rest.exchanges):
        if violation == 0 and size > 0:
            return value, True
        best, enters, leaves = -1e-9, -1, -1
        for a in range(-1, values):
            entering = _next(a, rest)
            if a >= 0 and entering < 0:
                continue
            for b in range(-1, values if a < 0 or values <= rest.paired else 0):
                leaving = _last(b, rest)
                if a == b or (b >= 0 and leaving < 0):
                    continue
                change = 0.0
                if a >= 0:
                    change += w - multipliers[rest.covers[entering]]
                    count_in(rules, counts, 0, a, 1)
                if b >= 0:
                    change -= w - multipliers[rest.covers[leaving]]
                    count_in(rules, counts, 0, b, -1)
                now = violation_of(rules, counts, 0, size + (a >= 0) - (b >= 0), least)
                if a >= 0:
                    count_in(rules, counts, 0, a, -1)
                if b >= 0:
                    count_in(rules, counts, 0, b, 1)
                if now < violation and change + rest.price * (now - violation) < best:
                    best, enters, leaves = change + rest.price * (now - violation), a, b
        if enters < 0 and leaves < 0:
            break
        entering, leaving = _next(enters, rest), _last(leaves, rest)
        if enters >= 0:
            i = rest.covers[entering]
            rest.amount[i] += 1
            cells[enters, 2] = max(cells[enters, 2], entering + 1)
            value += w - multipliers[i]
            count_in(rules, counts, 0, enters, 1)
            size += 1
        if leaves >= 0:
            i = rest.covers[leaving]
            rest.amount[i] -= 1
            value -= w - multipliers[i]
            count_in(rules, counts, 0, leaves, -1)
            size -= 1
        violation = violation_of(rules, counts, 0, size, least)
    return value, violation == 0 and size > 0


@compiled_part_in_place
def _next(u: int, rest: Rest) -> int:
    """Where the cheapest row of value u is that the group could have in addition; -1 if there is none."""
    if u < 0:
        return -1
    for at in range(rest.cells[u, 0], rest.cells[u, 1]):
        i = rest.covers[at]
        if rest.left[i] - rest.amount[i] >= 1:
            return at
    return -1


@compiled_part_in_place
def _last(u: int, rest: Rest) -> int:
    """Where the row of value u is that the group could most easily do without; -1 if it has none."""
    if u < 0:
        return -1
    for at in range(rest.cells[u, 2] - 1, rest.cells[u, 0] - 1, -1):
        if rest.amount[rest.covers[at]] > 0:
            return at
    return -1


@compiled_part_in_place
def _keep(begin: int, end: int, rest: Rest) -> None:
    """Note the rows of the group that is made, and forget it."""
    for at in range(begin, end):
        i = rest.members[at]
        rest.rows[at] += rest.amount[i]
        rest.amount[i] = 0


@dataclass(frozen=True, eq=False)
class Priced:
    """The candidates under one relaxation, at the multipliers of a point."""

    candidates: ValuedCandidates[np.float64]
    rank: Ints
    tree: TreeArrays[np.float64]
    scratch: Workspace[np.float64]

    def rows(self, counts: Floats, multipliers: Floats) -> ValuedRows[np.float64]:
        """Row types with these numbers of rows."""
        return ValuedRows(counts, multipliers, self.rank)


@dataclass(frozen=True, eq=False)
class PricedCandidates:
    """phi: float64 (G,), φ_g, the largest of the relaxations, and 0 for candidates without a row of negative reduced
    cost; which: int64 (G,), the number of that relaxation.
    multipliers: float64 (t,), λ. priced: one for each relaxation; none where no requirement is about a value."""

    instance: Instance
    phi: Floats
    which: Ints
    multipliers: Floats
    priced: tuple[Priced, ...]

    @classmethod
    def of(cls, instance: Instance, point: DualPoint) -> PricedCandidates:
        """φ of every candidate at a point; what is known of the last points is kept, since it takes a while."""
        if point not in _KNOWN:
            _KNOWN[point] = cls._of(instance, point)
        return _KNOWN[point]

    @classmethod
    def _of(cls, instance: Instance, point: DualPoint) -> PricedCandidates:
        count, multipliers = instance.candidates.count, np.ascontiguousarray(point.multipliers)
        if not relaxations_of(instance):
            nothing = np.zeros(count)
            return cls(instance, nothing, nothing.astype(np.int64), multipliers, ())
        at = RequiredEvaluator(instance, multipliers)
        charges = np.zeros(0) if point.charges is None else point.charges
        place = np.concatenate([multipliers, charges])
        widest = int(instance.candidates.covers.lengths.max(initial=0))
        phis, priced = [], []
        for v, relaxed in enumerate(at.relaxed):
            covers = relaxed.cells.covers(instance, multipliers)
            thetas = np.ascontiguousarray(at.thetas(place, v))
            candidates = relaxed.cells.candidates(instance, covers, at.candidates.cost, thetas)
            phis.append(at.every_phi(v, multipliers, thetas))
            scratch = make_workspace(widest, relaxed.tree)
            priced.append(Priced(candidates, relaxed.cells.rank, relaxed.tree, scratch))
        found = np.array(phis)
        # poor multipliers say little of candidates none of whose rows is worth its place: these are not left out
        reduced = at.candidates.cost[of_pair := instance.candidates.candidate_of_pair()]
        below = (reduced - multipliers[instance.candidates.members]) < 0
        some = np.bincount(of_pair, weights=below, minlength=instance.candidates.count) > 0
        most = np.where(some, found.max(axis=0), 0.0)
        return cls(instance, most, found.argmax(axis=0).astype(np.int64), multipliers, tuple(priced))


_KNOWN: WeakKeyDictionary[DualPoint, PricedCandidates] = WeakKeyDictionary()  # a point belongs to one instance
