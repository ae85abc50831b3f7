"""The best partition of every set of rows, from the sets that are smaller (`kanon_milp.methods.subset_dp`)."""

from __future__ import annotations

import numpy as np

from kanon_milp.system.arrays import Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython


def divide_some(copies: Ints, place: Ints, cost: Ints, total: Ints, group: Ints, done: int, steps: int) -> int:
    """Go on from this set, in order, until so many parts were looked at; returns the first set that is not done.

    copies, place: (t,), rows of each type, and how much one of them adds to the number of a set. cost, total, group: by
    set, its loss as one group, the least one, and the first group of its best partition; the last two are found.

    A part is looked at if it has a row of the last type that the set has: some group must take it. One that is not
    cheaper as a group than divided is in no partition that is needed.
    """
    types = len(copies)
    has, part = np.zeros(types, np.int64), np.zeros(types, np.int64)
    with cython.nogil:
        while done < len(cost) and steps > 0:
            last, left = 0, done
            for i in range(types):
                has[i] = left % (copies[i] + 1)
                left //= copies[i] + 1
                part[i] = 0
                if has[i] > 0:
                    last = i
            best, chosen = cost[done], done
            part[last] = 1
            number = place[last]
            while number < done:
                steps -= 1
                if cost[number] <= total[number]:
                    loss = cost[number] + total[done - number]
                    if loss < best:
                        best, chosen = loss, number
                i = 0  # the next part, as one counts
                while part[i] == has[i]:
                    number -= part[i] * place[i]
                    part[i] = 0
                    i += 1
                part[i] += 1
                number += place[i]
            total[done], group[done] = best, chosen
            done += 1
    return done
