"""Rows that match each other where a missing or suppressed key matches any value, as sdcMicro counts."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kanon_milp.verify.frames import classes

Integers = NDArray[np.int64]


class Matching:
    """The different rows of some keys, and which of them match: in each key they are alike, or it is missing or
    suppressed in one of the two.

    of_row: int64 (n,), the number of each row among the different ones; size: int64, how many rows match each.
    """

    def __init__(self, released: pl.DataFrame, suppressed: pl.DataFrame) -> None:
        """released: keys as text. suppressed: of each cell whether it is; missing ones match, too."""
        columns = {name: released[name].alias("").set(suppressed[name].alias(""), None) for name in released.columns}
        self.of_row, distinct = classes(pl.DataFrame(columns))
        coded = [column.alias("").rank("dense").fill_null(0).to_numpy() for column in distinct]
        self._codes = np.array(coded, dtype=np.int64).reshape(len(coded), distinct.height)  # 0: matches any
        self._complete: NDArray[np.bool_] = np.all(self._codes > 0, axis=0)
        self.size = self.sums(np.bincount(self.of_row)[:, None])[:, 0]

    def sums(self, amounts: Integers) -> Integers:
        """Of amounts of each of the different rows, int64 (rows, q), the sums over those that match each."""
        found = np.where(self._complete[:, None], amounts, 0)
        for row in np.flatnonzero(~self._complete).tolist():
            matches = np.ones(len(amounts), dtype=bool)
            for codes in self._codes:
                if codes[row]:
                    matches &= (codes == codes[row]) | (codes == 0)
            found[row] = amounts[matches].sum(axis=0)
            found[matches & self._complete] += amounts[row]
        return found
