"""Column generation over groups: the bound of the set-partitioning formulation with rank-1 rows."""

from kanon_milp.columns.ascent import RoundLimits, raise_bound
from kanon_milp.columns.relaxed import relax_and_cut
from kanon_milp.groups import Groups

__all__ = ["Groups", "RoundLimits", "raise_bound", "relax_and_cut"]
