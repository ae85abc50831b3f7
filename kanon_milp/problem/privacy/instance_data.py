"""What a requirement may use of the instance that it is declared over: arrays, and nothing that solves.

`presolve.Instance` is such a thing. Requirements know this interface only, so that problems do not depend on how they
are solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kanon_milp.problem.recoding import Levels
from kanon_milp.problem.records import Group, Label
from kanon_milp.system.arrays import Flags, Ints, Ints32


class RowTypeData(Protocol):
    """Row types i: distinct rows, with multiplicities."""

    @property
    def n(self) -> int:
        """Number of rows of the table."""

    @property
    def counts(self) -> Ints:
        """n_i, int64 (t,)."""

    @property
    def codes(self) -> Ints32:
        """Value of each quasi-identifier by number, int32 (t, m)."""


class CandidateData(Protocol):
    """Candidates g; the pairs (i, g) of a candidate stand one after the other."""

    @property
    def count(self) -> int:
        """Number G of candidates."""

    @property
    def support(self) -> Ints:
        """N_g, rows of the row types that g covers, int64 (G,)."""

    @property
    def members(self) -> Ints32:
        """The row type of each pair, int32 (pairs,)."""

    @property
    def vector(self) -> Ints32:
        """Its level vector by number, int32 (G,)."""

    @property
    def representative(self) -> Ints32:
        """The first row type of each cover, int32 (G,)."""

    def candidate_of_pair(self) -> Ints32:
        """The candidate of each pair, int32 (pairs,)."""

    def cover_lists(self) -> list[list[int]]:
        """The covers C(g) as lists of row types."""


class InstanceData(Protocol):
    """Row types, level vectors, candidates, and the entire table as a group."""

    @property
    def types(self) -> RowTypeData:
        """The row types."""

    @property
    def levels(self) -> Levels:
        """The level vectors, with the columns that they generalize."""

    @property
    def candidates(self) -> CandidateData:
        """The candidates."""

    @property
    def table_group(self) -> Group:
        """The entire table as a group, the reference distribution."""

    @property
    def exempt(self) -> Flags:
        """Candidates of fully suppressed rows that need no partners, bool (G,)."""

    @property
    def exempt_reading(self) -> bool:
        """Whether fully suppressed rows need no partners."""

    @property
    def least(self) -> Ints:
        """The smallest size κ that a group of each candidate can have, int64 (G,)."""

    def sensitive_codes(self, attributes: Sequence[str]) -> tuple[Ints, list[tuple[Label, ...]]]:
        """Joint sensitive value of each row type as a number, int64 (t,), and the values in that order."""
