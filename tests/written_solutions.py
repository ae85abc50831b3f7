"""Solution files of a model, as each solver writes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import highspy
import pytest

from kanon_milp.solvers.cbc import _in_cbcbox, _in_pulp


def highs_of(path: Path) -> highspy.Highs:
    """HiGHS with a model that it has read from the file itself, solved in its own settings."""
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.9)  # objectives are integers
    highs.run()
    return highs


def cbc_solutions(model: Path, folder: Path) -> list[Path]:
    """What the executables of CBC write, all values and the non-zeros only."""
    found: list[Path] = []
    for executable in dict.fromkeys(path for path in (_in_pulp(), _in_cbcbox()) if path):
        for printing in ("normal", "all"):
            solution = folder / f"cbc{len(found)}.txt"
            command = [executable, "-import", model.name, "-ratioGap", "0", "-allowableGap", "0.9", "-solve"]
            command += ["-printingOptions", printing, "-solution", str(solution)]
            subprocess.run(command, cwd=model.parent, check=True, capture_output=True, timeout=60)
            found.append(solution)
    return found


def highs_solutions(model: Path, folder: Path) -> list[Path]:
    highs = highs_of(model)
    found = []
    for style in (0, 1, 4):
        solution = folder / f"highs{style}.sol"
        assert highs.writeSolution(str(solution), style) == highspy.HighsStatus.kOk
        found.append(solution)
    return found


def scip_solutions(model: Path, folder: Path) -> list[Path]:
    pyscipopt = pytest.importorskip("pyscipopt")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.setParam("misc/allowweakdualreds", False)
    scip.readProblem(str(model))
    scip.optimize()
    found = []
    for zeros in (False, True):
        solution = folder / f"scip{zeros}.sol"
        scip.writeBestSol(str(solution), write_zeros=zeros)
        found.append(solution)
    return found


def glpk_solutions(model: Path, folder: Path) -> list[Path]:
    glpk = pytest.importorskip("swiglpk")
    glpk.glp_term_out(glpk.GLP_OFF)
    problem, solution = glpk.glp_create_prob(), folder / "glpk.sol"
    assert glpk.glp_read_mps(problem, glpk.GLP_MPS_FILE, None, str(model)) == 0
    parameters = glpk.glp_iocp()
    glpk.glp_init_iocp(parameters)
    parameters.presolve = glpk.GLP_ON
    assert glpk.glp_intopt(problem, parameters) == 0
    assert glpk.glp_print_mip(problem, str(solution)) == 0
    return [solution]
