"""Row types that are alike, against a dictionary of their labels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kanon_milp.kernels.alike import group_alike

COLUMNS, CODES = 3, 4


@given(
    st.lists(st.tuples(*[st.integers(0, CODES - 1)] * COLUMNS, st.integers(1, 3)), min_size=1, max_size=20),
    st.sets(st.integers(0, COLUMNS - 1)),
    st.lists(st.integers(0, 1), min_size=COLUMNS * CODES, max_size=COLUMNS * CODES), st.integers(1, 5), st.data(),
)  # fmt: skip
def test_groups_have_the_same_labels(
    types: list[tuple[int, ...]], used: set[int], label: list[int], least: int, data: st.DataObject
) -> None:
    codes, rows = np.array([each[:-1] for each in types], np.int64), np.array([each[-1] for each in types], np.int64)
    active = sorted(data.draw(st.sets(st.integers(0, len(types) - 1))))
    mixed = np.array([0, 5])[label]  # labels of different columns collide
    slots = 1 << (2 * len(types)).bit_length()
    stamp, first = np.zeros(slots, np.int64), np.full(slots, -1, np.int64)
    group, size, begin, members = (np.empty(len(types), np.int64) for _ in range(4))
    for number in (1, 2):  # what is left of one question does not matter to the next
        entries, groups = group_alike(
            codes, np.array(sorted(used), np.int64), np.array(sorted(used), np.int64) * CODES, np.array(label), mixed,
            np.array(active, np.int64), rows, least, number, stamp, first, group, size, begin, members,
        )  # fmt: skip
        found = np.split(members[:entries], size[1:groups]) if groups else []
        expected: dict[tuple[int, ...], list[int]] = {}
        for i in active:
            expected.setdefault(tuple(label[j * CODES + types[i][j]] for j in sorted(used)), []).append(i)
        large = [each for each in expected.values() if sum(types[i][-1] for i in each) >= least]
        assert [each.tolist() for each in found] == large
