"""Instances: real data sets, and generators of tables whose optimum or size is known."""

from kanon_milp.instances import datasets, generators, microdata

__all__ = ["datasets", "generators", "microdata"]
