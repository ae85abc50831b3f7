"""The bound of the set-partitioning formulation with rank-1 cuts: relax and cut, and column generation over groups."""

from kanon_milp.bounds.columns.ascent import raise_bound
from kanon_milp.bounds.columns.relaxed import CutAscent, relax_and_cut

__all__ = ["CutAscent", "raise_bound", "relax_and_cut"]
