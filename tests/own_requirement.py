"""A requirement of a user's own, as a script from outside the package: no group is larger than `most` rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import highspy
import polars as pl
from present import present

import kanon_milp as km
from kanon_milp.bounds.relaxations import relaxations_of
from kanon_milp.presolve.instance import prepare
from kanon_milp.problem.privacy.base import ValueLimits
from kanon_milp.problem.records import Group
from kanon_milp.solvers.mps import write_model
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.verify import check_certificate


class Own(km.Requirement):
    """What requirements of a user's own have beside `holds` and a model, where they say nothing of themselves."""

    def bind(self, table: km.Table) -> tuple[Self, ...]:
        return (self,)

    def smallest_group(self, whole: Any) -> int:
        return 1

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        raise AssertionError("no model is asked for")

    def describe(self) -> dict[str, object]:
        return {}


@dataclass(frozen=True)
class AtMost(Own):
    """Each group has at most so many rows. Not merge-closed: a union of two groups can be too large."""

    most: int
    name: ClassVar[str] = "at_most"

    def bind(self, table: km.Table) -> tuple[Self, ...]:
        if self.most < 1:
            raise km.InputError(f"{table.source}: a group has at least one row")
        return (self,)

    def holds(self, group: Group) -> bool:
        return group.size <= self.most

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        @block.Constraint(model.CANDIDATES, doc="a group has at most so many rows")
        def limit(block: Any, g: int) -> object:
            return model.rows[g] <= self.most * model.open[g]

    def describe(self) -> dict[str, object]:
        return {"most": self.most}


@dataclass(frozen=True)
class NoMoreThanHalf(Own):
    """No sensitive value has more than half of a group, with what bounds may know of that. Merge-closed."""

    sensitive: str
    name: ClassVar[str] = "no_more_than_half"
    merge_closed: ClassVar[bool] = True

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.sensitive,)

    def smallest_group(self, whole: Any) -> int:
        return 2

    def holds(self, group: Group) -> bool:
        return 2 * max(group.sensitive[self.sensitive].values()) <= group.size

    def relaxations(self, whole: Any) -> tuple[ValueLimits, ...]:
        return km.LDiversity(2, sensitive=self.sensitive).relaxations(whole)

    def declare(self, block: Any, model: Any, instance: Any) -> None:
        km.LDiversity(2, sensitive=self.sensitive).declare(block, model, instance)

    def describe(self) -> dict[str, object]:
        return {"sensitive": self.sensitive}


def outcome(problem: km.Problem, folder: Path) -> Mapping[str, object]:
    """Solved by two solvers, verified, exported and solved from the file, and what its certificate says."""
    results = {solver: km.solve(problem, solver=solver) for solver in ("highs", "cbc")}
    table = present(results["highs"].require_optimal().table)
    path = folder / "own.mps"
    write_model(to_arrays(km.build_model(problem)).linear, path)
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(path))
    highs.run()
    certificate = results["highs"].certify()
    report = check_certificate(problem, certificate)
    return {
        "objectives": [result.require_optimal().objective for result in results.values()],
        "exported": round(highs.getInfo().objective_function_value, 6),
        "verified": km.verify(problem, table).ok,
        "refused": km.verify(problem, table.with_columns(pl.lit("*").alias("age"), pl.lit("*").alias("city"))).ok,
        "largest": max(table.group_by("age", "city").len()["len"]),
        "certified": [report.valid, report.bound, report.statement],
        "stated": [each["name"] for each in certificate.problem["requirements"]],
        "hybrid": hybrid(problem),
        "known to bounds": [
            [float(limit) for node in each.nodes if node.value is not None for limit in node.of_value]
            for each in relaxations_of(prepare(problem))
        ],
    }


def hybrid(problem: km.Problem) -> object:
    """What the hybrid method finds, or why it does not take the problem."""
    try:
        return km.solve(problem, method="search", time_limit=120).objective
    except km.InputError as error:
        return str(error)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    people = km.read_table(folder / "people.csv", quasi_identifiers=["age", "city"], sensitive="job")
    asked = {"most": AtMost(3), "half": NoMoreThanHalf("job")}[sys.argv[2]]
    print(json.dumps(outcome(km.Problem(people, [km.KAnonymity(2), asked]), folder), default=str))
