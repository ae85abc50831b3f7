"""Lists of different lengths as two arrays: covers of candidates, rows of groups, sets of row types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kanon_milp.system.arrays import Flags, Ints

DIGIT = 16  # bits of a number that are sorted at a time
Number = TypeVar("Number", bound=np.integer[Any])


def indptr_of(lengths: NDArray[np.integer[Any]]) -> Ints:
    """Where lists of these lengths begin when they stand one after the other, and where the last one ends."""
    found: Ints = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return found


def stable_order(values: NDArray[np.integer[Any]], numbers: int) -> Ints:
    """np.argsort(values, kind="stable") for values from 0 to below `numbers`, in a third of the time: numpy sorts
    numbers of 16 bits without comparing them."""
    low = np.argsort(values.astype(np.uint16), kind="stable")
    if numbers <= 1 << DIGIT or not len(values):
        return low
    if numbers > 1 << 2 * DIGIT:
        return np.argsort(values, kind="stable")
    high = (values >> DIGIT).astype(np.uint16)[low]
    found: Ints = low[np.argsort(high, kind="stable")]
    return found


def split_evenly(lists: Ints, lengths: Ints, most: int) -> list[Ints]:
    """Lists of these lengths in parts of about `most` values, in their order."""
    begins = np.flatnonzero(np.diff(np.cumsum(lengths) // most)) + 1
    return np.split(lists, begins) if len(lists) else []


class Ragged(NamedTuple, Generic[Number]):
    """List s is values[indptr[s]:indptr[s+1]] (compressed sparse rows). indptr: int64 (lists+1,).

    A named tuple, so that compiled functions take it as it is. What belongs to the values one by one, such as weights,
    is kept beside it in the same order (`of_kept`).
    """

    indptr: Ints
    values: NDArray[Number]

    @classmethod
    def of(cls, lists: Iterable[Iterable[int]], dtype: DTypeLike = np.int64) -> Ragged[Number]:
        """From lists of numbers."""
        arrays = [np.array(list(each), dtype=dtype) for each in lists]
        lengths = np.array([len(each) for each in arrays], np.int64)
        return cls(indptr_of(lengths), np.concatenate([np.empty(0, dtype), *arrays]))

    @property
    def lists(self) -> int:
        """Number of lists."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> Ints:
        """Length of each list, int64 (lists,)."""
        return np.diff(self.indptr)

    def each(self) -> list[NDArray[Number]]:
        """The lists one by one."""
        return np.split(self.values, self.indptr[1:-1]) if self.lists else []

    def list_of_value(self) -> Ints:
        """Which list each value is in."""
        return np.repeat(np.arange(self.lists), self.lengths)

    def of_kept(self, keep: Flags) -> Flags:
        """Which values are in a list that is kept. keep: bool (lists,)."""
        return np.repeat(keep, self.lengths)

    def subset(self, keep: Flags) -> Ragged[Number]:
        """Only the lists where `keep` is true."""
        return Ragged(indptr_of(self.lengths[keep]), self.values[self.of_kept(keep)])

    def taken(self, lists: Ints) -> Ragged[Number]:
        """These lists, in this order. lists: int64, their numbers."""
        lengths = self.lengths[lists]
        indptr = indptr_of(lengths)
        places = np.arange(indptr[-1]) + np.repeat(self.indptr[lists] - indptr[:-1], lengths)
        return Ragged(indptr, self.values[places])

    def joined(self, *others: Ragged[Number]) -> Ragged[Number]:
        """These lists and then those of the others."""
        every = (self, *others)
        lengths = np.concatenate([each.lengths for each in every])
        return Ragged(indptr_of(lengths), np.concatenate([each.values for each in every]))

    def transposed(self, numbers: int) -> tuple[Ragged[np.int64], Ints]:
        """Per number below `numbers` the lists that hold it, ascending, and the place of each in `values`."""
        places = stable_order(self.values, numbers)
        held = np.bincount(self.values, minlength=numbers)
        return Ragged(indptr_of(held), self.list_of_value()[places]), places
