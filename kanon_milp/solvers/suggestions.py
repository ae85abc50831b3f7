"""What to say to somebody who names a solver by another name than it has here."""

from __future__ import annotations

from collections.abc import Sequence

from kanon_milp.errors import nearest

PULP = "pulp:"
LICENCE = "and a licence"
# what PuLP needs for the solvers that people ask for by their plain names
NEEDS = {
    "GUROBI": f"the Python package gurobipy {LICENCE}",
    "GUROBI_CMD": f"the executable gurobi_cl on the PATH {LICENCE}",
    "CPLEX_PY": f"the Python package cplex {LICENCE}",
    "CPLEX_CMD": f"the executable cplex on the PATH {LICENCE}",
    "XPRESS": f"the executable optimizer on the PATH {LICENCE}",
    "XPRESS_PY": f"the Python package xpress {LICENCE}",
    "MOSEK": f"the Python package Mosek {LICENCE}",
    "COPT": f"the Python package coptpy {LICENCE}",
    "COPT_CMD": f"the executable copt_cmd on the PATH {LICENCE}",
    "GLPK_CMD": "the executable glpsol on the PATH",
    "PYGLPK": "the Python package glpk",
    "SCIP_CMD": "the executable scip on the PATH",
    "FSCIP_CMD": "the executable fscip on the PATH",
}


def did_you_mean(name: str, own: Sequence[str], others: Sequence[str]) -> str:
    """The solver meant by `name`: one of the package's `own` or of PuLP's `others` in another spelling, or a near word.

    Text in brackets, with what the solver needs to be used, or empty.
    """
    folded = name.strip().lower()
    meant = {"ortools": "cpsat", "cp-sat": "cpsat", "or-tools": "cpsat", "coin-or": "cbc"}.get(folded, folded)
    if meant in own:
        return f' (did you mean "{meant}"?)'
    plain = folded.removeprefix(PULP)
    same = [each for each in others if each.lower() == plain]
    family = [each for each in others if plain in each.lower().split("_")]  # gurobi: GUROBI, GUROBI_CMD
    found = same or family if folded.startswith(PULP) else family or same
    if not found:
        return nearest(name, [*own, *(PULP + each for each in others)])
    said = (f'"{PULP}{each}"' + (f", which needs {NEEDS[each]}" if each in NEEDS else "") for each in found)
    return f" (did you mean {'; or '.join(said)}?)"
