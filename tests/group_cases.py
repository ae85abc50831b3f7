"""Small tables with costs of whole groups, and the judge of them: all partitions, by no code of the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any

import polars as pl
from hypothesis import strategies as st

import kanon_milp as km

Cost = Callable[[Sequence[int]], Fraction]


def least(n: int, cost: Cost, holds: Callable[[Sequence[int]], bool]) -> Fraction | None:
    """The least cost of all partitions of n rows into groups that hold; None where there is none."""
    best: dict[int, Fraction] = {0: Fraction(0)}
    sets = [[i for i in range(n) if mask >> i & 1] for mask in range(1 << n)]
    costs = {mask: cost(rows) for mask, rows in enumerate(sets) if rows and holds(rows)}
    for mask in range(1, 1 << n):
        lowest, sub = mask & -mask, mask
        while sub:
            if sub & lowest and sub in costs and mask ^ sub in best:
                found = costs[sub] + best[mask ^ sub]
                best[mask] = min(best.get(mask, found), found)
            sub = (sub - 1) & mask
    return best.get((1 << n) - 1)


@dataclass(frozen=True)
class GroupCase:
    """columns: name → texts. required: what beside k is asked for: nothing, p, l or t with its number."""

    columns: dict[str, tuple[str, ...]]
    sensitive: tuple[str, ...]
    k: int
    required: tuple[str, Fraction] | None
    recoding: dict[str, Any]  # arguments of Microaggregation; empty for Boxes

    @property
    def n(self) -> int:
        return len(self.sensitive)

    def problem(self) -> km.Problem:
        frame = pl.DataFrame({**self.columns, "s": self.sensitive})
        table = km.Table.from_frame(frame, list(self.columns), "s")
        kinds: dict[str, Callable[[Any], Any]] = {"p": km.PSensitivity, "l": km.LDiversity, "t": km.TCloseness}
        asked = (
            []
            if self.required is None
            else [kinds[self.required[0]](self.required[1] if self.required[0] != "p" else int(self.required[1]))]
        )
        recoding = km.Microaggregation(**self.recoding) if self.recoding else km.Boxes()
        return km.Problem(table, [km.KAnonymity(self.k), *asked], recoding)

    def holds(self, rows: Sequence[int]) -> bool:
        if len(rows) < self.k:
            return False
        inside, everyone = Counter(self.sensitive[i] for i in rows), Counter(self.sensitive)
        if self.required is None:
            return True
        letter, number = self.required
        if letter == "p":
            return len(inside) >= number
        if letter == "l":
            return all(rows_of * number <= len(rows) for rows_of in inside.values())
        shares = (abs(Fraction(inside[v], len(rows)) - Fraction(everyone[v], self.n)) for v in everyone)
        return sum(shares, Fraction(0)) / 2 <= number

    def cost(self, rows: Sequence[int]) -> Fraction:
        if not self.recoding:
            return len(rows) * sum((self._ncp(column, rows) for column in self.columns.values()), Fraction(0))
        center, power = self.recoding["center"], {"sse": 2, "l1": 1}[self.recoding["cost"]]
        columns = [[Fraction(x) for x in column] for column in self.columns.values()]
        scale = [self._variation(column, power) if self.recoding["standardize"] else 1 for column in columns]

        def around(centre: Sequence[Fraction]) -> Fraction:
            found = zip(columns, centre, scale, strict=True)
            return sum((abs(x[i] - c) ** power / s for x, c, s in found if s for i in rows), Fraction(0))

        if center == "member":
            return min(around([x[i] for x in columns]) for i in rows)
        inside = [[x[i] for i in rows] for x in columns]
        if center == "median":
            return around([Fraction(median(x)) for x in inside])
        return around([sum(x, Fraction(0)) / len(x) for x in inside])

    @staticmethod
    def _variation(column: list[Fraction], power: int) -> Fraction:
        n = len(column)
        if power == 1:
            return sum((abs(x - median(column)) for x in column), Fraction(0)) / n
        mean = sum(column, Fraction(0)) / n
        return sum(((x - mean) ** 2 for x in column), Fraction(0)) / max(n - 1, 1)

    @staticmethod
    def _ncp(column: tuple[str, ...], rows: Sequence[int]) -> Fraction:
        inside, domain = {column[i] for i in rows}, set(column)
        if len(inside) == 1:
            return Fraction(0)
        if all(value.lstrip("-").replace(".", "").isdigit() for value in domain):
            numbers = [Fraction(value) for value in domain]
            some = [Fraction(value) for value in inside]
            return (max(some) - min(some)) / (max(numbers) - min(numbers))
        return Fraction(len(inside) - 1, len(domain) - 1)


@st.composite
def group_cases(draw: st.DrawFn, most_columns: int = 2, *, boxes: bool = True) -> GroupCase:
    """Up to seven rows; numbers with ties and decimals, for boxes also texts."""
    n = draw(st.integers(2, 7))
    boxes = boxes and draw(st.booleans())
    number = st.integers(-4, 9).map(lambda x: str(x) if x % 3 else f"{x}.5")

    columns = {}
    for name in "abc"[: draw(st.integers(1, most_columns))]:
        kind = st.sampled_from("uvw") if boxes and draw(st.booleans()) else number
        columns[name] = tuple(draw(st.lists(kind, min_size=n, max_size=n)))
    sensitive = (*draw(st.lists(st.sampled_from("xy"), min_size=n - 2, max_size=n - 2)), "x", "y")
    required = draw(
        st.one_of(
            st.none(),
            st.sampled_from([("p", Fraction(2)), ("l", Fraction(3, 2)), ("l", Fraction(2)), ("t", Fraction(1, 4))]),
        )
    )
    recoding = {
        "center": draw(st.sampled_from(["mean", "median", "member"])),
        "cost": draw(st.sampled_from(["sse", "l1"])),
        "standardize": draw(st.booleans()),
    }
    return GroupCase(columns, sensitive, draw(st.integers(1, 3)), required, {} if boxes else recoding)
