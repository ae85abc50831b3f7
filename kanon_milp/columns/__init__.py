"""Column generation over groups: the bound of the set-partitioning formulation with rank-1 rows."""

from kanon_milp.columns.ascent import RoundLimits, raise_bound
from kanon_milp.columns.sweep import sweep_blocks
from kanon_milp.groups import Groups

__all__ = ["Groups", "RoundLimits", "raise_bound", "sweep_blocks"]
