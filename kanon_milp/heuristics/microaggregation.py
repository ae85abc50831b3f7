"""Groups of near points, for microaggregation: MDAV, V-MDAV, and moves and exchanges of points that lower the cost.

Points are float64 (n, m), scaled so that a deviation of 1 costs 1 in each column. Distances are squared Euclidean for
the sum of squares, and absolute ones, summed over the columns, for absolute deviations. What comes out is a partition,
int64 (n,): its cost is computed exactly elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kanon_milp.problem.group_costs import NumericCost
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import Limit
from kanon_milp.system.parameters import number, parameters


@parameters("vmdav")
@dataclass(frozen=True)
class VmdavParams:
    """V-MDAV, tuned on Tarragona and Census (Solanas, Martínez-Ballesté 2006), and the moves after it."""

    gain: float = number(1.1, "how much nearer to a group than to any other point left one must be to join it")
    passes: int = number(50, "over all points, of moves and exchanges, at most")


def scaled(cost: NumericCost) -> Floats:
    """The points so that a deviation of 1 costs 1 in each column."""
    units = [float(weight) ** (1 / cost.power) for weight in cost.weights]
    found: Floats = cost.points.values / np.array(cost.points.scale, dtype=np.float64) * np.array(units)
    return found


def mdav(points: Floats, k: int, power: int, limit: Limit) -> Ints:
    """Maximum Distance to Average Vector (Domingo-Ferrer, Torra 2005): of the points left, the one that is farthest
    from their centre, and the one that is farthest from that, each with its k - 1 nearest.

    At the limit the points left are groups of k in their order.
    """
    left, groups = np.arange(len(points)), []
    while len(left) >= 3 * k and not limit.over:
        first = _farthest(points, left, _centre(points[left], power), power)
        group, left = _nearest(points, left, points[first], k, power)
        groups.append(group)
        second = _farthest(points, left, points[first], power)
        group, left = _nearest(points, left, points[second], k, power)
        groups.append(group)
    if 2 * k <= len(left) < 3 * k:
        first = _farthest(points, left, _centre(points[left], power), power)
        group, left = _nearest(points, left, points[first], k, power)
        groups.append(group)
    return _numbered(len(points), [*groups, *_in_order(left, k)])


def vmdav(points: Floats, k: int, power: int, gain: float, limit: Limit) -> Ints:
    """V-MDAV (Solanas, Martínez-Ballesté 2006): groups about the points farthest from the centre of all, each with up
    to k - 1 further points that are nearer to it than to any point left, within a factor."""
    left, groups, centre = np.arange(len(points)), [], _centre(points, power)
    from_centre = _distances(points, centre, power)
    while len(left) >= k and not limit.over:
        first = left[from_centre[left].argmax()]
        group, left = _nearest(points, left, points[first], k, power)
        while len(group) < 2 * k - 1 and len(left) > k:
            inside = np.min([_distances(points[left], points[i], power) for i in group], axis=0)
            at = int(inside.argmin())
            others = np.delete(left, at)
            if inside[at] >= gain * _distances(points[others], points[left[at]], power).min():
                break
            group, left = np.append(group, left[at]), others
        groups.append(group)
    if len(left) >= k:
        return _numbered(len(points), [*groups, *_in_order(left, k)])
    for point in left.tolist():  # too few for a group
        centres = np.array([_centre(points[group], power) for group in groups])
        nearest = int(_distances(centres, points[point], power).argmin())
        groups[nearest] = np.append(groups[nearest], point)
    return _numbered(len(points), groups)


def improved(points: Floats, group: Ints, k: int, passes: int, limit: Limit) -> Ints:
    """A partition of no larger sum of squares: points move to another group, and change places, as long as that helps.

    A point x that leaves a group of s points and centre c lowers its sum of squares by s/(s-1)·|x-c|², one that comes
    raises it by s/(s+1)·|x-c|², and one in whose place y comes by |y-c|² - |x-c|² - |x-y|²/s.
    """
    group = group.copy()
    size = np.bincount(group).astype(np.float64)
    centre = np.zeros((len(size), points.shape[1]))
    np.add.at(centre, group, points)
    centre /= size[:, None]
    own = ((points - centre[group]) ** 2).sum(axis=1)
    for _ in range(passes):
        changed = False
        for i in range(len(points)):
            if limit.over:
                return group
            x, a = points[i], int(group[i])
            to_centres = ((centre - x) ** 2).sum(axis=1)
            least, move, b, j = -1e-12 * (1 + own[i]), -1, a, -1
            if size[a] > k:
                rise = size / (size + 1) * to_centres - size[a] / (size[a] - 1) * own[i]
                rise[a] = np.inf
                move = int(rise.argmin())
                if rise[move] < least:
                    least, b = float(rise[move]), move
            to_own = ((points - centre[a]) ** 2).sum(axis=1)
            between = ((points - x) ** 2).sum(axis=1)
            rise = to_own - own[i] + to_centres[group] - own - between * (1 / size[a] + 1 / size[group])
            rise[group == a] = np.inf
            swap = int(rise.argmin())
            if rise[swap] < least:
                b, j = int(group[swap]), swap
            if b == a:
                continue
            changed, group[i] = True, b
            if j >= 0:
                group[j] = a
            for g in (a, b):
                inside = np.flatnonzero(group == g)
                size[g], centre[g] = len(inside), points[inside].mean(axis=0)
                own[inside] = ((points[inside] - centre[g]) ** 2).sum(axis=1)
        if not changed:
            break
    return group


def _centre(points: Floats, power: int) -> Floats:
    found: Floats = points.mean(axis=0) if power == 2 else np.median(points, axis=0)
    return found


def _distances(points: Floats, centre: Floats, power: int) -> Floats:
    found: Floats = (np.abs(points - centre) ** power).sum(axis=1)
    return found


def _farthest(points: Floats, left: Ints, centre: Floats, power: int) -> int:
    return int(left[_distances(points[left], centre, power).argmax()])


def _nearest(points: Floats, left: Ints, centre: Floats, k: int, power: int) -> tuple[Ints, Ints]:
    """The k nearest of the points left, and the others."""
    order = np.argsort(_distances(points[left], centre, power), kind="stable")[:k]
    return left[order], np.delete(left, order)


def _in_order(left: Ints, k: int) -> list[Ints]:
    """Groups of k points, the last one larger; none of no points."""
    return np.array_split(left, max(len(left) // k, 1)) if len(left) else []


def _numbered(n: int, groups: list[Ints]) -> Ints:
    group = np.empty(n, dtype=np.int64)
    for at, rows in enumerate(groups):
        group[rows] = at
    return group
