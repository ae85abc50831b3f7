"""The stages of several objectives, as a result has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from kanon_milp.problem.exact import in_words, plain

StageProof = Literal["optimal", "bound", "none"]


@dataclass(frozen=True)
class Stage:
    """One of several objectives, the first or one that was optimized after it.

    goal: "loss", "groups", "fewer groups", "discernibility" or "keep COLUMN". value: of the released table, recomputed
    from it. bound: what it is at least ("groups": at most) in every table that has the values of the stages before;
    None where nothing is proven. proof: "optimal" only where value and bound meet, and those of all stages before do.
    backed_by: as in `Result`. message: why nothing is proven.
    """

    goal: str
    value: Fraction
    bound: Fraction | None = None
    proof: StageProof = "none"
    backed_by: tuple[str, ...] = ()
    message: str = ""

    @property
    def words(self) -> str:
        """Such as "groups 12 (proven)"."""
        known = {
            "optimal": "proven",
            "bound": f"bound {in_words(self.bound)}",
            "none": "nothing proven",
        }
        return f"{self.goal} {in_words(self.value)} ({known[self.proof]})"

    def as_dict(self) -> dict[str, Any]:
        """An entry of `stages` in `result.json`."""
        return {
            "goal": self.goal,
            "value": plain(self.value),
            "bound": plain(self.bound),
            "proof": self.proof,
            "proof_backed_by": list(self.backed_by),
            "message": self.message,
        }


def judged(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with what is proven of each: of a later one no more than that of the tables with the values before."""
    found: list[Stage] = []
    for stage in stages:
        met = stage.bound is not None and stage.bound == stage.value
        proven = met and all(each.proof == "optimal" for each in found)
        found.append(replace(stage, proof="optimal" if proven else "none" if stage.bound is None else "bound"))
    return tuple(found)
