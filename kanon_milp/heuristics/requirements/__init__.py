"""Heuristics for requirements about the values in a group: construction, annealing and repair."""
