"""What the verifier found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from kanon_milp.verify.groups import GroupFacts


@dataclass(frozen=True)
class Report:
    """What holds for a released table, exactly, and what of what was asked does not.

    violations: each names what is wrong, columns and row numbers (from 1, header not counted), never a cell.
    cost: loss, Σ over rows of weight · level cost; None where it is not defined (other rows, illegal cells).
    suppressed_cells, fully_suppressed_rows: quasi-identifier cells that are the symbol, rows in which all
    are.
    suppressed_rows: which reading of fully suppressed rows was asked for, "strict" or "exempt".
    released: facts about the groups of equal released rows. partition: about the groups of a partition that
    was given.
    """

    violations: tuple[str, ...]
    n: int
    m: int
    cost: Fraction | None
    suppressed_cells: int
    fully_suppressed_rows: int
    suppressed_rows: str
    privacy: tuple[Mapping[str, object], ...]
    released: GroupFacts
    partition: GroupFacts | None = None

    def __bool__(self) -> bool:
        return self.ok

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations

    @property
    def groups(self) -> int:
        """Number of released row types."""
        return self.released.groups

    @property
    def k_strict(self) -> int:
        """Size of the smallest group, fully suppressed rows being a group like any other."""
        return self.released.k_strict

    @property
    def k_exempt(self) -> int | None:
        """Size of the smallest group that is not fully suppressed; None if there is none."""
        return self.released.k_exempt

    @property
    def smallest_group(self) -> int:
        """Size of the smallest group."""
        return self.released.k_strict

    @property
    def mean_group(self) -> Fraction:
        """Mean size of a group."""
        return self.released.mean_group

    @property
    def largest_group(self) -> int:
        """Size of the largest group."""
        return self.released.largest_group

    def as_dict(self) -> dict[str, object]:
        """The report as plain data for JSON; a fraction is a number and, under NAME_exact, its exact text."""
        return {
            "ok": self.ok,
            "violations": list(self.violations),
            "privacy": [dict(parameters) for parameters in self.privacy],
            "suppressed_rows": self.suppressed_rows,
            "n": self.n,
            "m": self.m,
            **_numbers("cost", self.cost),
            "suppressed_cells": self.suppressed_cells,
            "fully_suppressed_rows": self.fully_suppressed_rows,
            **_facts(self.released),
            "partition": None if self.partition is None else _facts(self.partition),
        }

    def summary(self) -> str:
        """A few lines for people."""
        exempt = "none" if self.k_exempt is None else str(self.k_exempt)
        cost = "undefined" if self.cost is None else str(self.cost)
        mean = float(self.mean_group)
        lines = [
            "verified" if self.ok else f"NOT verified: {len(self.violations)} violations",
            *(f"  - {violation}" for violation in self.violations),
            f"rows {self.n}, quasi-identifiers {self.m}, groups {self.groups} "
            f"(smallest {self.smallest_group}, mean {mean:.2f}, largest {self.largest_group})",
            f"cost {cost}, suppressed cells {self.suppressed_cells}, "
            f"fully suppressed rows {self.fully_suppressed_rows}",
            f"k = {self.k_strict} counting fully suppressed rows as a group, {exempt} without them",
        ]
        for name, facts in self.released.sensitive.items():
            lines.append(f"{name}: p = {facts.p}, l = {facts.l} (frequency), t = {facts.t} (equal distance)")
        return "\n".join(lines)


def _facts(facts: GroupFacts) -> dict[str, object]:
    return {
        "groups": facts.groups,
        "k_strict": facts.k_strict,
        "k_exempt": facts.k_exempt,
        "smallest_group": facts.k_strict,
        **_numbers("mean_group", facts.mean_group),
        "largest_group": facts.largest_group,
        "sensitive": {
            name: {"p": found.p, **_numbers("l", found.l), **_numbers("t", found.t)}
            for name, found in facts.sensitive.items()
        },
    }


def _numbers(name: str, value: Fraction | None) -> dict[str, object]:
    if value is None:
        return {name: None, f"{name}_exact": None}
    number = int(value) if value.denominator == 1 else float(value)
    return {name: number, f"{name}_exact": str(value)}
