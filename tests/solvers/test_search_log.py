# ruff: noqa: E501
"""What is read from logs, of real lines of each solver."""

from __future__ import annotations

from kanon_milp import solvers
from kanon_milp.solvers.search_log import Search


def read(solver: str, text: str, offset: float) -> Search | None:
    log = solvers.get(solver).search_log
    return None if log is None else log.read(iter(text.splitlines()), offset)


HIGHS = """
Src  Proc. InQueue |  Leaves   Expl. | BestBound       BestSol              Gap |   Cuts   InLp Confl. | LpIters     Time

 J       0       0         0   0.00%   -inf            150                Large        0      0      0         0     0.0s
         0       0         0   0.00%   140.5           150                6.33%      120     20      3       512     0.4s
         1       0         1 100.00%   141             150                6.00%      120     20      3       612     0.7s
        33       5        12  40.00%   145             150                3.33%      120     20      3      1612     1.1s

  Dual bound        150
  Nodes             57
"""
SCIP = """
 time | node  | left  |LP iter|LP it/n|mem/heur|mdpt |vars |cons |rows |cuts |sepa|confs|strbr|  dualbound   | primalbound  |  gap   | compl.
p 0.0s|     1 |     0 |     0 |     - |   locks|   0 |  96 |  97 |  92 |   0 |  0 |   4 |   0 | 1.000000e+02 | 1.680000e+02 |  68.00%| unknown
  0.3s|     1 |     2 |    36 |     - |  3381k |   0 |  96 | 114 |  92 |   0 |  0 |  22 |   0 | 1.450000e+02 | 1.500000e+02 |   3.40%| unknown
  0.9s|   100 |     2 |   936 |   9.1 |  3381k |   5 |  96 | 114 |  92 |   0 |  0 |  22 |   0 | 1.480000e+02 | 1.500000e+02 |   1.30%| unknown

Solving Nodes      : 117 (total of 118 nodes in 2 runs)
Dual Bound         : +1.50000000000000e+02
"""
CBC = """
Cbc0010I After 0 nodes, 1 on tree, 61 best solution, best possible 54 (0.30 seconds)
Cbc0010I After 100 nodes, 8 on tree, 61 best solution, best possible 55 (0.90 seconds)

Objective value:                61.00000000
Lower bound:                    57.000
Enumerated nodes:               240
"""


def test_nodes_and_root_of_each_solver() -> None:
    assert read("highs", HIGHS, 100.0) == Search(57, 141.0, 0.7)
    assert read("scip", SCIP, 100.0) == Search(117, 145.0, 0.3)
    assert read("cbc", CBC, 100.0) == Search(240, 154.0, 0.3)
    assert read("cpsat", CBC, 100.0) is None


def test_where_the_root_solves_it_its_bound_is_the_last_one() -> None:
    solved = ["  Dual bound        150", "  Nodes             1"]
    assert read("highs", "\n".join(solved), 0.0) == Search(1, 150.0, None)
    stopped = ["Objective value:                202", "Lower bound:     201.979", "Enumerated nodes:               1"]
    assert read("cbc", "\n".join(stopped), 0.0) == Search(1, 201.979, None)
    assert read("cbc", "\n".join([stopped[0], stopped[2]]), 0.0) == Search(1, 202.0, None)
    nothing = ["  Dual bound        -inf", "  Nodes             0"]
    assert read("highs", "\n".join(nothing), 0.0) == Search(0, None, None)
