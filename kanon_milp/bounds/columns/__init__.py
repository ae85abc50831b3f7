"""The bound of the set-partitioning formulation with rank-1 cuts: relax and cut, and column generation over groups."""
