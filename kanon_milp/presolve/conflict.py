"""Which requirements and side constraints of an infeasible problem are in conflict (an irreducible subset)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.problem.privacy import KAnonymity
from kanon_milp.problem.problem import Problem


@dataclass(frozen=True)
class Conflict:
    """parts: in words, requirements and side constraints that are infeasible together.

    irreducible: whether it is proven that each of them is needed.
    """

    parts: tuple[str, ...]
    irreducible: bool

    def __str__(self) -> str:
        left_out = " (without any one of them there is a solution)" if self.irreducible else ""
        return f"no table satisfies all of these together{left_out}: {', '.join(self.parts)}"


def find_conflict(problem: Problem, is_infeasible: Callable[[Problem], bool | None]) -> Conflict | None:
    """Deletion filter over what the problem asks: leave a part out, and for good if the rest is still infeasible.

    is_infeasible: decides a smaller problem, None where it could not. Returns None for a problem with one part only.
    """
    requirements = {f"requirement {number}": r for number, r in enumerate(problem.requirements, 1)}
    sides = side_constraints(problem)
    names = {**{key: r.spelled for key, r in requirements.items()}, **sides}
    if len(names) < 2:
        return None
    kept, decided = list(names), True
    for part in names:
        rest = [name for name in kept if name != part]
        privacy = [requirements[name] for name in rest if name in requirements] or [KAnonymity(1)]
        dropped: dict[str, Any] = {side: None for side in sides if side not in rest}
        answer = is_infeasible(replace(problem, privacy=privacy, **dropped))
        if answer:
            kept = rest
        elif answer is None:
            decided = False
    return Conflict(tuple(names[name] for name in kept), decided)
