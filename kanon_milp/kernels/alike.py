"""Row types that have the same labels in some columns, by a hash table."""

from __future__ import annotations

from kanon_milp.system.arrays import Ints

try:
    import cython
except ImportError:
    from kanon_milp.kernels import plain as cython


def group_alike(
    codes: Ints, used: Ints, place: Ints, label: Ints, mixed: Ints, active: Ints, rows: Ints, least: int, number: int,
    stamp: Ints, first: Ints, group: Ints, size: Ints, begin: Ints, members: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Put the active row types that have the same labels in the used columns together.

    codes: (t, m). used, place: the columns, and where the labels of their values begin. label, mixed: by place and
    code, a number that tells the labels of a column apart, and a random one for each of them. rows: (t,), of each row
    type; least: of a group. stamp, first: (slots,), of a hash table: the last question that used a slot, and the group
    in it; number: of this question, from 1 on. group: (t,), of each row type. size, begin: (t,), of each group.
    Afterwards members (t,) has the row types of the groups that are large enough, one group after the other, and size
    where each begins; returns how many of both.
    """
    mask, groups = len(stamp) - 1, 0
    with cython.nogil:
        for a in range(len(active)):
            i = active[a]
            key = number * 0
            for j in range(len(used)):
                key ^= mixed[place[j] + codes[i, used[j]]]
            slot = (key ^ (key >> 29)) & mask
            while True:
                if stamp[slot] != number:  # a new group, of which this row type is the first
                    stamp[slot] = number
                    first[slot] = groups
                    begin[groups] = i
                    size[groups] = rows[i]
                    group[i] = groups
                    groups += 1
                    break
                other, alike = begin[first[slot]], True
                for j in range(len(used)):
                    if label[place[j] + codes[i, used[j]]] != label[place[j] + codes[other, used[j]]]:
                        alike = False
                        break
                if alike:
                    group[i] = first[slot]
                    size[group[i]] += rows[i]
                    break
                slot = (slot + 1) & mask
        # how many row types each group has, then where it begins, -1 for one that is too small
        for h in range(groups):
            begin[h] = 0
        for a in range(len(active)):
            begin[group[active[a]]] += 1
        entries, kept = 0, 0
        for h in range(groups):
            length, large = begin[h], size[h] >= least
            begin[h] = entries if large else -1
            if large:
                size[kept] = entries
                kept += 1
                entries += length
        for a in range(len(active)):
            i = active[a]
            at = begin[group[i]]
            if at >= 0:
                members[at] = i
                begin[group[i]] += 1
    return entries, kept
