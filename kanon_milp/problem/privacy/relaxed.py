"""What a requirement tells bounds and heuristics about every group that has it, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from kanon_milp.problem.distances.base import Space
from kanon_milp.problem.records import Label


@dataclass(frozen=True)
class Work:
    """The work of moving the sensitive values of a group to those of the entire table is at most t for each row.

    space: the values with their ground distance. t: exact.
    """

    space: Space
    t: Fraction


@dataclass(frozen=True)
class ValueLimits:
    """Facts about the values σ of one sensitive attribute in every group: lower[σ]·S ≤ X_σ ≤ upper[σ]·S for its X_σ
    rows with the value σ among S rows, at least `different` values, and the work of moving them.

    Each must hold for every group that has the requirement; a value that a mapping lacks has no limit. complete:
    whether a group has the requirement exactly if all of this holds and it is large enough.
    """

    attribute: str
    lower: Mapping[Label, Fraction] = field(default_factory=dict, repr=False)
    upper: Mapping[Label, Fraction] = field(default_factory=dict, repr=False)
    different: int = 1
    work: Work | None = None
    complete: bool = False
