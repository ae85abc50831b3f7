"""Closed candidates priced by branch and bound over the sets of rows that they cover: which ones have φ below a
threshold.

The lowest labels that two rows share are a set of bits (column, class), those classes of the column in which they are
not alike; the closure of some rows is the union of these sets of the first of them and each other one, so the class of
a column is the number of its bits. Costs do not fall from class to class, so what a closure loses is a sum over bits.
Where costs depend on labels it is one as well, of bits that lose what the labels of the first row do. A bit that loses
nothing is left out: the labels of a closure go up to the last ones that cost the same.

Row types come by falling λ. A closed candidate belongs to the first row type i that it covers, so each is found once:
by sets of rows after i, in order, none of which covers a row that comes before it in that order (prefix-preserving
closure extension; Uno, Asai, Uchida and Arimura 2004). Only rows count whose closure with i loses so little that
κ·(w - λ_i) is below the threshold.

A set that loses w, with rows that can still be added: what is added makes it lose some w' at least, one of few values,
and covers no row that would make it lose more. So φ below it is at least the least of these values' φ of all rows that
lose w' or less. Where that is not below the threshold, nothing is added any more.

Between some milliseconds of work each kernel asks whether its time is over, and returns what it has.

All values of one call are either float64 or int64, so exact bounds are computed by the same lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.kernels.growing import doubled
from kanon_milp.system.arrays import Ints, Ints32

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython

Scalar = TypeVar("Scalar", np.float64, np.int64)

STEPS = 16  # values of w' that are told apart, about
WORK = 1 << 17  # rows of sets between two questions whether time is over: some milliseconds


def _loss(word: int, at: int, table: NDArray[Scalar]) -> Scalar:
    """What 32 bits lose. table: (bytes, 256), what each value of each byte loses; at: of the first of these bytes."""
    lost: Scalar = (
        table[at, word & 255]
        + table[at + 1, (word >> 8) & 255]
        + table[at + 2, (word >> 16) & 255]
        + table[at + 3, (word >> 24) & 255]
    )
    return lost


def _phi(
    rows: Ints32, reach: NDArray[Scalar], begin: int, end: int, most: Scalar, price: Scalar, need: Scalar,
    counts: NDArray[Scalar], multipliers: NDArray[Scalar], none: Scalar,
) -> Scalar:  # fmt: skip
    """φ at this price of those of the rows, in the order of their multipliers, that reach no farther than `most`;
    `none` where they are fewer than need."""
    value, size = need - need, need - need
    for p in range(begin, end):
        if reach[p] <= most:
            i = rows[p]
            reduced = price - multipliers[i]
            if reduced < 0:
                value += counts[i] * reduced
                size += counts[i]
            elif size < need:
                amount = min(counts[i], need - size)
                value += amount * reduced
                size += amount
            else:
                break
    return value if size >= need else none


def nearest_costs(
    label: Ints32, delta: NDArray[Scalar], counts: NDArray[Scalar], need: Scalar, over: Callable[[], bool],
) -> NDArray[Scalar]:  # fmt: skip
    """For each row type what the closure with the nearest others loses, so many that they have `need` rows.

    label: int32 (t, bits), of no bits where nothing loses; delta: (t or 1, bits), what a bit loses, of each row type or
    of all; counts: (t,), together `need` or more. over: whether it shall end; what was not found by then is 0.
    """
    types, bits = len(counts), label.shape[1]
    kind = np.asarray(delta).dtype
    found, near, rows = np.zeros(types, kind), np.empty(types + 1, kind), np.empty(types + 1, kind)
    work, ended = WORK, False
    with cython.nogil:
        for i in range(types):
            if work >= WORK:
                work = 0
                with cython.gil:
                    ended = over()
                if ended:
                    break
            work += types
            line = i if len(delta) > 1 else 0
            held, size = 0, counts[i] - counts[i]
            for j in range(types):
                loss, b = need - need, 0
                while b < bits and (size < need or loss < near[held - 1]):
                    if label[i, b] != label[j, b]:
                        loss += delta[line, b]
                    b += 1
                if size >= need and loss >= near[held - 1]:
                    continue
                p = held
                while p > 0 and near[p - 1] > loss:
                    near[p], rows[p] = near[p - 1], rows[p - 1]
                    p -= 1
                near[p], rows[p] = loss, counts[j]
                held += 1
                size += counts[j]
                while size - rows[held - 1] >= need:
                    held -= 1
                    size -= rows[held]
            found[i] = near[held - 1]
    return np.array(found, kind)


def price_closures(
    label: Ints32, delta: NDArray[Scalar], counts: NDArray[Scalar], multipliers: NDArray[Scalar], need: Scalar,
    added: Scalar, threshold: Scalar, margin: Scalar, listed: bool, without_top: bool, seed: int, until: int,
    steps: int, room: int, over: Callable[[], bool],
) -> tuple[Scalar, int, int, Ints, NDArray[Scalar], Ints, Ints32]:  # fmt: skip
    """Σ min(0, φ) over the closed candidates that belong to some row types, and those with φ below the threshold; φ
    with what is added.

    label: int32 (t, bits), at each bit what tells row types apart; delta: (t or 1, bits), what bits lose, of each row
    type or of all. counts, multipliers: (t,), n and λ, falling. need: κ ≥ 1. threshold ≥ 0. without_top: the candidate
    that has all bits is left out. seed, until: the first row type whose candidates count, and the first one after it
    whose do not. steps: sets that are looked at, at most; room: pairs that are listed, at most; over: whether it shall
    end.

    Returns the sum, the first row type whose candidates are not among it (`until` where all are), and how many sets
    were looked at; and, if they are to be listed, of each candidate with φ < threshold its bits that lose something,
    int64 (candidates, words of 32), φ, and its cover as (indptr, members): the row types with w - λ below the margin,
    and at least those that its group is made of.
    """
    types, bits = len(counts), label.shape[1]
    words = (max(bits, 1) + 31) // 32
    kind = np.asarray(delta).dtype
    zero, table = need - need, np.zeros((4 * words, 256), kind)
    none = np.asarray(np.inf if kind.kind == "f" else np.iinfo(np.int64).max).astype(kind).item()
    unlike, every = np.zeros((types, words), np.int64), np.zeros(words, np.int64)
    held, cost = np.zeros((bits + 2, words), np.int64), np.zeros(bits + 2, kind)
    # of each set on the way: its rows by multiplier with what they lose with it; these not covered, by that loss;
    # those that it must not cover
    begin, following = np.zeros(bits + 3, np.int64), np.zeros(bits + 3, np.int64)
    other, turn = np.zeros(bits + 3, np.int64), np.zeros(bits + 3, np.int64)
    rows, reach = np.empty(4 * types + 64, np.int32), np.empty(4 * types + 64, kind)
    choice, choice_reach = np.empty(4 * types + 64, np.int32), np.empty(4 * types + 64, kind)
    barred = np.empty(4 * types + 64, np.int32)
    found, phi, ends = np.empty((64, words), np.int64), np.empty(64, kind), np.zeros(65, np.int64)
    members = np.empty(1024, np.int32)
    total, number, pairs, seen = zero, 0, 0, 0
    work, enough, ended, begun, line = WORK, True, False, seed, 0
    limit = threshold - added
    wide = max(limit, zero)
    with cython.nogil:
        while seed < until and enough:
            pairs_before, number_before, total_before = pairs, number, total
            worth = multipliers[seed]
            work += types
            if seed == begun or len(delta) > 1:
                line = seed if len(delta) > 1 else 0
                for c in range(words):
                    every[c] = 0
                for b in range(bits):
                    if delta[line, b] > 0:
                        every[b >> 5] |= cython.cast(cython.longlong, 1) << (b & 31)
                for p in range(4 * words):
                    for q in range(1, 256):
                        b = 0
                        while (q >> b) & 1 == 0:
                            b += 1
                        table[p, q] = table[p, q & (q - 1)]
                        if 8 * p + b < bits:
                            table[p, q] += delta[line, 8 * p + b]
            # rows whose closure with this one loses little
            depth = 0
            begin[0] = following[0] = other[0] = 0
            p = q = 0
            for j in range(types):
                loss, b = zero, 0
                for c in range(words):
                    unlike[j, c] = 0
                while b < bits:
                    if label[seed, b] != label[j, b] and delta[line, b] > 0:
                        loss += delta[line, b]
                        if (loss - worth) * need >= wide:
                            break
                        unlike[j, b >> 5] |= cython.cast(cython.longlong, 1) << (b & 31)
                    b += 1
                if b < bits or (loss - worth) * need >= wide:
                    continue
                if j < seed:
                    barred[q] = j
                    q += 1
                else:
                    rows[p], reach[p] = j, loss
                    p += 1
            begin[1], other[1] = p, q
            for c in range(words):
                held[0, c] = 0
            cost[0] = zero
            fresh = True
            while depth >= 0:
                if fresh:
                    # a set that was not seen before: its rows are there, and `other`
                    fresh = False
                    seen += 1
                    work += begin[depth + 1] - begin[depth]
                    if work >= WORK:
                        work = 0
                        with cython.gil:
                            ended = over()
                    if ended or seen > steps or pairs > room:
                        enough = False
                        break
                    w, first, last, closed = cost[depth], begin[depth], begin[depth + 1], True
                    for p in range(other[depth], other[depth + 1]):
                        j, same = barred[p], True
                        for c in range(words):
                            if unlike[j, c] & ~held[depth, c] != 0:
                                same = False
                        if same:
                            closed = False
                            break
                    if not closed:
                        depth -= 1
                        continue
                    value = _phi(rows, reach, first, last, w, w, need, counts, multipliers, none)
                    if value < limit:
                        whole = without_top
                        for c in range(words):
                            if held[depth, c] != every[c]:
                                whole = False
                        if not whole:
                            if value + added < zero:
                                total += value + added
                            if listed:
                                if number + 1 >= len(phi):
                                    with cython.gil:
                                        found, phi, ends = doubled(found), doubled(phi), doubled(ends)
                                if pairs + last - first > len(members):
                                    with cython.gil:
                                        while pairs + last - first > len(members):
                                            members = doubled(members)
                                for c in range(words):
                                    found[number, c] = held[depth, c]
                                phi[number] = value + added
                                size = zero
                                for p in range(first, last):
                                    if reach[p] <= w and (w - multipliers[rows[p]] < margin or size < need):
                                        members[pairs] = rows[p]
                                        pairs += 1
                                        size += counts[rows[p]]
                                number += 1
                                ends[number] = pairs
                    # what can be added, by what it makes the set lose
                    e = following[depth]
                    if e + last - first > len(choice):
                        with cython.gil:
                            choice, choice_reach = doubled(choice), doubled(choice_reach)
                    for p in range(first, last):
                        if reach[p] > w and reach[p] != none:
                            q = e
                            while q > following[depth] and choice_reach[q - 1] > reach[p]:
                                choice[q], choice_reach[q] = choice[q - 1], choice_reach[q - 1]
                                q -= 1
                            choice[q], choice_reach[q] = rows[p], reach[p]
                            e += 1
                    following[depth + 1] = e
                    turn[depth] = following[depth]
                # the next row to be added
                k, e = turn[depth], following[depth + 1]
                promising, q = False, k
                while q < e and not promising:
                    price = choice_reach[q]
                    p = min(q + (e - k) // STEPS, e - 1)
                    while p + 1 < e and choice_reach[p + 1] == choice_reach[p]:
                        p += 1
                    if _phi(
                        rows, reach, begin[depth], begin[depth + 1], choice_reach[p], price, need, counts, multipliers,
                        none,
                    ) < limit:  # fmt: skip
                        promising = True
                    q = p + 1
                if not promising:
                    depth -= 1
                    continue
                chosen = choice[k]
                turn[depth] = k + 1
                # the set with that row; afterwards without it
                first, last = begin[depth], begin[depth + 1]
                w = cost[depth]
                for c in range(words):
                    word = unlike[chosen, c] & ~held[depth, c]
                    held[depth + 1, c] = held[depth, c] | word
                    w += _loss(word, 4 * c, table)
                cost[depth + 1] = w
                if last + last - first > len(rows):
                    with cython.gil:
                        rows, reach = doubled(rows), doubled(reach)
                if other[depth + 1] + other[depth + 1] - other[depth] + last - first > len(barred):
                    with cython.gil:
                        barred = doubled(barred)
                end, q = last, other[depth + 1]
                for p in range(first, last):
                    j, loss = rows[p], w
                    for c in range(words):
                        loss += _loss(unlike[j, c] & ~held[depth + 1, c], 4 * c, table)
                    if (loss - worth) * need < wide:
                        if reach[p] == none:
                            barred[q] = j
                            q += 1
                        else:
                            rows[end], reach[end] = j, loss
                            end += 1
                begin[depth + 2] = end
                for p in range(other[depth], other[depth + 1]):
                    j, loss = barred[p], w
                    for c in range(words):
                        loss += _loss(unlike[j, c] & ~held[depth + 1, c], 4 * c, table)
                    if (loss - worth) * need < wide:
                        barred[q] = j
                        q += 1
                other[depth + 2] = q
                # the others come without it
                for p in range(first, last):
                    if rows[p] == chosen:
                        reach[p] = none
                depth += 1
                fresh = True
            if enough:
                seed += 1
            else:
                pairs, number, total = pairs_before, number_before, total_before
    return (
        total, seed, seen, np.array(found[:number], np.int64), np.array(phi[:number], kind),
        np.array(ends[: number + 1], np.int64), np.array(members[:pairs], np.int32),
    )  # fmt: skip
