"""Random small problems as plain data, from a seed and a number; what the tests draw, but without Hypothesis's hand.

The cases are those of tests/strategies.py and tests/sensitive_cases.py, which the package and the judges understand.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import judges
from sensitive_cases import (
    FAMILIES,
    MOST_TABLES,
    NUMBERS,
    SMALL,
    WORDS,
    Demand,
    Ground,
    SensitiveCase,
    largest_share,
    log_below,
    share_ratios,
)
from strategies import Case

Value = str | None
NUMBER_KINDS = ("t ranks", "t numeric")
WEIGHTS = [Fraction(1), Fraction(1), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(7, 3), Fraction(10)]


class Draw(random.Random):
    """A source of random numbers with the choices that problems are made of."""

    def one_in(self, n: int) -> bool:
        return self.randrange(n) == 0

    def plain(self) -> Case:
        """A uniform table, and k; every row a copy of an earlier one with a probability of 0, 0.3 or 0.6."""
        count, columns, values, k = (self.randint(*span) for span in ((4, 8), (1, 4), (2, 4), (2, 4)))
        repeated = self.choice([0, 0.3, 0.6])
        rows: list[tuple[Value, ...]] = []
        for _ in range(count):
            copied = rows and self.random() < repeated
            rows.append(self.choice(rows) if copied else tuple(self.choice("abcd"[:values]) for _ in range(columns)))
        return Case(tuple(rows), min(k, count), None, (Fraction(1),) * columns, {}, {}, "strict", {})

    def recoded(self, *, sides: bool) -> Case:
        """With weights, a mask, hierarchies, the other reading, side constraints: any of them."""
        columns = self.randint(1, 3)
        values: list[Value] = [*"abcd"[: self.randint(1, 4)], *([None] if self.one_in(3) else [])]
        count = self.randint(2, 8)
        rows = tuple(tuple(self.choice(values) for _ in range(columns)) for _ in range(count))
        trees = {c: self.tree(values) for c in range(columns) if self.one_in(2)} if self.one_in(2) else {}
        heights = [len(next(iter(trees[c].values()))) - 1 if c in trees else 1 for c in range(columns)]
        vectors = None
        if self.one_in(2):
            everything = list(itertools.product(*(range(height + 1) for height in heights)))
            chosen = self.sample(everything, min(self.randint(1, 6), len(everything)))
            top = [] if self.one_in(4) else [tuple(heights)]  # or many problems have no solution
            vectors = tuple(dict.fromkeys([*chosen, *top]))
        costs = {c: self.level_costs(heights[c]) for c in trees if self.one_in(2)}
        return Case(
            rows,
            self.choice([k for k in (2, 3, 4, 1) if k <= count]),
            vectors,
            tuple(self.choice(WEIGHTS) if self.one_in(2) else Fraction(1) for _ in range(columns)),
            trees,
            costs,
            self.choice(["strict", "exempt"]),
            self.sides(count, columns) if sides else {},
        )

    def tree(self, values: Sequence[Value]) -> dict[Value, tuple[Value, ...]]:
        """A nested hierarchy with a place for each value."""
        paths: dict[Value, list[Value]] = {value: [value] for value in values}
        class_of = {value: number for number, value in enumerate(values)}
        for level in range(1, self.randint(2, 3)):
            parent = [self.randrange(3) for _ in range(max(3, len(values)))]
            class_of = {value: parent[number] for value, number in class_of.items()}
            if len(set(class_of.values())) == 1:
                break
            for value, number in class_of.items():
                paths[value].append(f"level {level}, class {number}")
        return {value: (*path, "*") for value, path in paths.items()}

    def level_costs(self, height: int) -> tuple[Fraction, ...]:
        """Costs that do not fall from level to level."""
        steps = [self.choice([Fraction(0), Fraction(1), Fraction(1, 3), Fraction(2)]) for _ in range(height)]
        return tuple(itertools.accumulate(steps, initial=Fraction(0)))

    def sides(self, rows: int, columns: int) -> dict[str, Any]:
        """Side constraints and an objective."""
        found: dict[str, Any] = {}
        if self.one_in(2):
            found["cost_bound"] = self.randint(0, rows * columns)
        if self.one_in(2):
            found["min_groups"] = self.randint(1, 4)
        if self.one_in(2):
            found["max_groups"] = self.randint(found.get("min_groups", 1), 5)
        return {**found, "objective": self.choice(["loss", "loss", "min_groups", "max_groups"])}

    def sensitive(self, case: Case) -> SensitiveCase:
        """With one to three requirements about sensitive attributes."""
        kinds = [self.choice(self.choice(FAMILIES)) for _ in range(self.choice([1, 1, 2, 3]))]
        numeric = any(kind.startswith(NUMBER_KINDS) for kind in kinds)
        columns = []
        for column in range(self.choice([1, 1, 2])):
            pool = list(NUMBERS if (numeric and column == 0) or self.one_in(3) else WORDS)
            pool = self.sample(pool, self.randint(2, 4))
            held = [self.choice(pool) for _ in case.rows]
            held[:2] = self.sample(pool, 2)  # never constant
            columns.append(held)
        secrets = tuple(zip(*columns, strict=True))
        return SensitiveCase(case, secrets, tuple(self.demand(kind, secrets) for kind in kinds), self.one_in(2))

    def subset(self) -> SensitiveCase:
        """k-anonymity in some columns only, of tables so small that all that can be released are tried."""
        case = self.recoded(sides=False)
        case = replace(case, rows=case.rows[:5], k=min(case.k, 2))
        columns, rows = range(len(case.rows[0])), len(case.rows)
        heights = [len(next(iter(case.hierarchies[c].values()))) - 1 if c in case.hierarchies else 1 for c in columns]
        vectors = case.vectors or tuple(itertools.product(*(range(height + 1) for height in heights)))
        most = max(v for v in range(1, len(vectors) + 1) if v**rows <= MOST_TABLES)
        if most < len(vectors):
            case = replace(case, vectors=tuple(dict.fromkeys([tuple(heights), *self.sample(vectors, most)]))[:most])
        chosen = tuple(sorted(self.sample(columns, self.randint(1, max(1, len(columns) - 1)))))
        secrets = tuple((value,) for value in ["x", "y", *("x" for _ in case.rows)][:rows])
        return SensitiveCase(case, secrets, (), self.one_in(2), (chosen, self.randint(2, max(2, rows))))

    def demand(self, kind: str, secrets: tuple[tuple[Value, ...], ...]) -> Demand:
        """A requirement of this kind that the package accepts for these values, its number often just at a border."""
        columns, named = tuple(range(len(secrets[0]))), False
        if kind.startswith(NUMBER_KINDS):
            columns = tuple(c for c in columns if all(row[c] in NUMBERS for row in secrets))
        if len(secrets[0]) > 1 and (kind == "alpha named" or len(columns) < len(secrets[0]) or self.one_in(2)):
            columns, named = (self.choice(columns),), True
        counts = [[row[c] for row in secrets] for c in columns]
        fewest = min(len(set(held)) for held in counts)
        group = self.sample(range(len(secrets)), self.randint(1, len(secrets)))

        def made(numbers: Sequence[Fraction | int], **more: Any) -> Demand:
            return Demand(kind, self.choice([str, Fraction])(self.choice(numbers)), columns, named, **more)

        if kind in ("p", "l distinct", "l blocki-williams"):
            return Demand(kind, self.choice([2, fewest, 1]), columns, named)
        if kind == "l frequency":
            border = 1 / largest_share(group, secrets, columns)
            return made([border, 2, 1, Fraction(3, 2), fewest, border + SMALL, max(Fraction(1), border - SMALL)])
        if kind.startswith("alpha"):
            held = sorted(set(counts[0]), key=str)
            values = tuple(self.sample(held, self.randint(1, len(held)))) if kind == "alpha named" else None
            border = largest_share(group, secrets, columns, values) or Fraction(1, 2)
            k = self.choice([k for k in (1, 1, 2, 3) if k <= len(secrets)])
            numbers = [border, border - SMALL, Fraction(1, 2), Fraction(2, 3), min(Fraction(1), border + SMALL)]
            return made(numbers, k=k, values=values)
        if kind == "beta":
            border = max(r for c in columns for r in share_ratios(group, secrets, c)) - 1
            return made([border, max(Fraction(0), border - SMALL), border + SMALL, 1, Fraction(1, 2), 0])
        if kind.startswith("delta"):
            ratios = [r for c in columns for r in share_ratios(group, secrets, c) if r > 0]
            border = log_below(max(max(r, 1 / r) for r in ratios), base2="base2" in kind)
            numbers = [border + SMALL, border, Fraction(1), Fraction(1, 2), Fraction(2), Fraction(7, 10)]
            return made([max(SMALL, number) for number in numbers])
        ground = self.ground(kind.split()[1], sorted({v for held in counts for v in held}, key=str))
        pairs = list(zip(columns, counts, strict=True))
        border = max(judges.distance_from_table(group, secrets, c, ground.judge(held)) for c, held in pairs)
        numbers = [border, max(Fraction(0), border - SMALL), min(Fraction(1), border + SMALL), Fraction(3, 10)]
        numbers += [Fraction(0), Fraction(1)]
        return made([border, *numbers], ground=ground)

    def ground(self, name: str, values: Sequence[Value]) -> Ground:
        """A ground distance over these values and, where it lists them, possibly others."""
        if name in ("equal", "ranks", "numeric"):
            return Ground(name)
        known = [*values, *self.choice([(), ("other",), ("x", "y")])]
        self.shuffle(known)
        if name == "order":
            return Ground(name, tuple(known))
        if name == "hierarchy":
            return Ground(name, paths=tuple(self.tree(known).values()))
        size = len(known)
        d = [[Fraction(0)] * size for _ in known]
        for i, j in itertools.combinations(range(size), 2):
            d[i][j] = d[j][i] = Fraction(self.choice(["1", "2", "1/2", "3", "5/3", "0"]))
        for middle, i, j in itertools.product(range(size), repeat=3):  # shortest paths are a metric
            d[i][j] = min(d[i][j], d[i][middle] + d[middle][j])
        if not max(map(max, d)):
            d = [[Fraction(i != j) for j in range(size)] for i in range(size)]
        largest = max(map(max, d))
        return Ground(name, tuple(known), matrix=tuple(tuple(x / largest for x in row) for row in d))
