"""The inner loops, over plain arrays: ordinary Python files that are compiled when the package is built.

Each module has a .pxd beside it with the C types of what stands in the .py. Nothing here knows problems, candidates or
methods: arrays come in, and what is found is written into arrays. Where it is not compiled it runs as plain Python,
with the same results.
"""

from kanon_milp.kernels import sorting

COMPILED: bool = not str(sorting.__file__).endswith(".py")
"""Whether the kernels are machine code here."""
