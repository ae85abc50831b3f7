"""Exported models keep their optimum in the unit that they state, also where a user has extended or changed them, and
solutions of any solver come back as tables."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import polars as pl
import pyomo.environ as pyo
import pytest
from command_line import run
from places import LIBRARY
from present import present
from written_solutions import cbc_solutions, glpk_solutions, highs_of, highs_solutions, scip_solutions

import kanon_milp as km
from kanon_milp.methods.exchange import DeclaredModel
from kanon_milp.solvers.mps import names_path, read_about
from kanon_milp.studies.output import described
from kanon_milp.studies.pages.wording import proof_sentence
from kanon_milp.system.text_tables import amount

MODELS = sorted(LIBRARY.glob("*.toml"))
# HiGHS takes up to 23 s for them; smaller ones have these requirements and masks, and tests/studies/test_model_files.py
# solves them
SLOW = (
    *("adult_l_diversity", "adult_mask", "adult_p_sensitivity", "adult_t_closeness"),
    *("cmc_l_diversity", "cmc_mask", "cmc_p_sensitivity", "cmc_t_closeness"),
)
OTHER_UNITS = (
    "hospital_dgh_p",
    "hospital_dgh_p3",
    "hospital_hierarchies",
    "hospital_mask",
    "hospital_qi_sets",
    "hospital_qi_sets_mask",
)
# plain, other unit, number of groups, requirements with integer assign, other formulation named in the file
BROUGHT_BACK = ("hospital", "hospital_hierarchies", "hospital_qi_sets", "hospital_groups", "hospital_t_ordered", "qid")


def _marks(name: str) -> list[pytest.MarkDecorator]:
    if name in SLOW:
        return [pytest.mark.slow]
    return [] if name in (*OTHER_UNITS, *BROUGHT_BACK) else [pytest.mark.full]


def known(path: Path) -> Fraction:
    return Fraction(str(km.read_model(path).known["optimum"]))


@pytest.mark.parametrize("path", [pytest.param(p, marks=_marks(p.stem), id=p.stem) for p in MODELS])
def test_an_exported_model_has_the_known_optimum_in_the_unit_that_it_states(path: Path, tmp_path: Path) -> None:
    if "dataset =" in path.read_text() and not os.environ.get("KANON_MILP_DATA"):
        pytest.skip("KANON_MILP_DATA is not set")
    for file, options in (("m.lp", []), ("r.mps.gz", ["--reduced"])):
        if path.stem.startswith(("adult", "cmc", "full")) and not options:  # they are not of the size to be solved so
            continue
        model = tmp_path / file
        assert run("export", path, "--to", model, *options).returncode == 0
        about = read_about(names_path(model))
        highs = highs_of(model)
        if km.read_model(path).known.get("infeasible"):
            assert highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
            assert about["known_optimum"] == "infeasible"
            continue
        assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        value = highs.getInfo().objective_function_value
        assert value == pytest.approx(float(Fraction(about["known_optimum_in_file"])), abs=1e-6)
        assert Fraction(round(value)) * Fraction(about["objective_unit"]) == known(path)
        assert Fraction(about["known_optimum"]) == known(path)
        if path.stem in OTHER_UNITS:
            assert Fraction(about["objective_unit"]) != 1
        packed = model.read_bytes()
        head = (gzip.decompress(packed) if model.suffix == ".gz" else packed)[:1000].decode()
        assert f"= {about['objective_unit']} * objective of this file" in head
        assert str(about["formulation"]) in head


def brought_back() -> Iterator[Any]:
    """All models from HiGHS; what other solvers write is shown by a plain one and one in another unit."""
    for name in BROUGHT_BACK:
        for make in (highs_solutions, cbc_solutions, scip_solutions, glpk_solutions):
            quick = make is highs_solutions or name in ("hospital", "hospital_hierarchies")
            marks = [] if quick else [pytest.mark.slow]
            yield pytest.param(name, make, marks=marks, id=f"{name}-{make.__name__.partition('_')[0]}")


@pytest.mark.parametrize(("name", "make"), [*brought_back()])
def test_what_another_solver_finds_comes_back_as_the_optimal_table(
    name: str, make: Callable[[Path, Path], list[Path]], tmp_path: Path
) -> None:
    path, model = LIBRARY / f"{name}.toml", tmp_path / "model.mps"
    assert run("export", path, "--to", model, *(["--reduced"] if make is scip_solutions else [])).returncode == 0
    solutions = make(model, tmp_path)
    assert solutions
    for number, solution in enumerate(solutions):
        out = tmp_path / f"out{number}"
        done = run("import", solution, "--model", path, "--out", out, "--json")
        result = json.loads(done.stdout)
        assert done.returncode == (0 if result["proof"] == "optimal" else 4), done.stderr
        assert result["objective"] == pytest.approx(float(known(path)), abs=1e-12)
        assert result["verified"] is True
        assert result["proof"] in (("none",) if name == "hospital_groups" else ("bound", "optimal"))
        assert result == json.loads((out / "result.json").read_text())
        # the table itself, by the verifier alone
        problem = km.read_model(path).problem
        report = km.verify(problem, pl.read_csv(out / "anonymized.csv", infer_schema=False))
        assert report.ok, report.violations


FORMULATIONS = [(formulation, reduced) for formulation in ("strong", "textbook", "groups") for reduced in (False, True)]


@pytest.mark.parametrize(("formulation", "reduced"), FORMULATIONS)
def test_the_map_says_which_model_it_was(formulation: str, reduced: bool, tmp_path: Path) -> None:
    problem = km.read_model(LIBRARY / "qid.toml").problem
    km.export_model(problem, tmp_path / "m.lp", formulation=formulation, reduced=reduced)
    highs_of(tmp_path / "m.lp").writeSolution(str(tmp_path / "other_name.sol"), 0)
    result = km.import_solution(problem, tmp_path / "other_name.sol")
    assert (result.objective, result.verified, result.solver.formulation) == (14, True, formulation)
    other = "groups" if formulation == "strong" else "strong"
    with pytest.raises(km.InputError, match=f"exported with formulation = {formulation}, and"):
        km.import_solution(problem, tmp_path / "other_name.sol", formulation=other)
    # without the map, who imports has to know
    names_path(tmp_path / "m.lp").unlink()
    result = km.import_solution(problem, tmp_path / "other_name.sol", formulation=formulation, reduced=reduced)
    assert (result.objective, result.verified) == (14, True)


def values_of(model: Path) -> dict[str, float]:
    highs = highs_of(model)
    return dict(zip(highs.allVariableNames(), highs.getSolution().col_value, strict=True))


def gurobi(values: dict[str, float], objective: float) -> str:
    lines = "".join(f"{name} {value:g}\n" for name, value in values.items())
    return f"# Solution for model hospital\n# Objective value = {objective:g}\n{lines}"


def cplex(values: dict[str, float], objective: float) -> str:
    lines = "\n".join(
        f'  <variable name="{name}" index="{j}" value="{value:g}"/>' for j, (name, value) in enumerate(values.items())
    )
    return f"""<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>
<CPLEXSolution version="1.2">
 <header
   problemName="model.lp"
   solutionName="incumbent"
   solutionIndex="-1"
   objectiveValue="{objective:g}"
   solutionTypeValue="3"
   solutionStatusString="integer optimal solution"/>
 <quality epInt="1e-05"/>
 <linearConstraints>
  <constraint name="placed_0" index="0" slack="0"/>
 </linearConstraints>
 <variables>
{lines}
 </variables>
</CPLEXSolution>
"""


def miplib(values: dict[str, float], objective: float) -> str:
    return f"=obj= {objective:g}\n" + "".join(f"{name} {value:g}\n" for name, value in values.items() if value)


def highs_1_15(values: dict[str, float], objective: float) -> str:
    """Its sparse style."""
    lines = "".join(f"{name} {value:g}\n" for name, value in values.items() if value)
    head = f"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective {objective:g}\n"
    return f"{head}# Columns -{sum(map(bool, values.values()))}\n{lines}"


def highs_1_16(values: dict[str, float], objective: float) -> str:
    lines = "".join(f"{name} {value:g} {j}\n" for j, (name, value) in enumerate(values.items()) if value)
    head = f"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective {objective:g}\n"
    head += f"Objective_bound {objective:g}\nMIP_rel_gap 0\n"
    return f"{head}# Columns -{sum(map(bool, values.values()))} sparse\n{lines}"


def copt(values: dict[str, float], objective: float) -> str:
    return f"# Objective value {objective:g}\n" + "".join(f"{name}   {value:g}\n" for name, value in values.items())


def glpk(values: dict[str, float], objective: float) -> str:
    """As glpsol -o writes it: names of more than 12 characters have a line of their own."""
    head = (
        "   No. Column name       Activity     Lower bound   Upper bound\n------ ------------    ------------- ------\n"
    )
    lines = "".join(
        f"{j:6} {name if len(name) > 12 else name.ljust(12)}{NL if len(name) > 12 else ''} *{value:14g} {0:13} {1:13}\n"
        for j, (name, value) in enumerate(values.items(), 1)
    )
    about = f"Problem:    m\nStatus:     INTEGER OPTIMAL\nObjective:  obj = {objective:g} (MINimum)\n\n"
    rows = head.replace("Column", "Row") + "     1 placed_0                    1             1             =\n\n"
    return f"{about}{rows}{head}{lines}\nInteger feasibility conditions:\n"


NL = "\n" + 20 * " "


def listed(values: dict[str, float], objective: float) -> str:
    return "name,value\n" + "".join(f"{name},{value:g}\n" for name, value in values.items()) + "# the end\n"


def assigned(values: dict[str, float], objective: float) -> str:
    return "".join(f"{name} = {value:g}\n" for name, value in values.items() if value)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """An exported model and its optimal values; the file is in a folder of its own."""
    model = tmp_path_factory.mktemp("hospital") / "model.lp"
    assert run("export", LIBRARY / "hospital.toml", "--to", model).returncode == 0
    return model, values_of(model)


@pytest.mark.parametrize("write", [gurobi, cplex, miplib, highs_1_15, highs_1_16])
@pytest.mark.parametrize("packed", [False, True])
def test_other_solvers_files_are_read(
    write: Callable[[dict[str, float], float], str], packed: bool, hospital: Exported, tmp_path: Path
) -> None:
    text = write(hospital[1], 54).encode()
    solution = tmp_path / "model.sol"
    solution.write_bytes(gzip.compress(text) if packed else text)
    done = run("import", solution, "--model", LIBRARY / "hospital.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["objective"] == 54


@pytest.mark.parametrize("write", [copt, glpk, listed, assigned])
def test_further_formats_are_read(
    write: Callable[[dict[str, float], float], str], hospital: Exported, tmp_path: Path
) -> None:
    solution, problem = tmp_path / "model.sol", km.read_model(LIBRARY / "hospital.toml").problem
    solution.write_text(write(hospital[1], 54))
    assert km.import_solution(problem, solution).objective == 54
    if write in (copt, glpk):  # an objective of another model
        solution.write_text(write(hospital[1], 53))
        with pytest.raises(km.InputError, match="says objective 53"):
            km.import_solution(problem, solution)


def first_value(text: str) -> str:
    """The line of a variable in Gurobi's format that is not zero."""
    return next(line for line in text.splitlines() if not line.startswith("#") and not line.endswith(" 0"))


Exported = tuple[Path, dict[str, float]]

HOSTILE: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "no solution file": lambda text: "zip,age\n10101,31\n",
    "cut off": lambda text: text[: len(text) // 3],
    "not a number": lambda text: text.replace(first_value(text), first_value(text).split()[0] + " NaN"),
    "infinite": lambda text: text.replace(first_value(text), first_value(text).split()[0] + " 1e999"),
    "huge": lambda text: text.replace(first_value(text), first_value(text).split()[0] + " 1e300"),
    "text": lambda text: text.replace(first_value(text), first_value(text).split()[0] + " many"),
    "negative": lambda text: text.replace(first_value(text), first_value(text).split()[0] + " -1"),
    "unknown name": lambda text: text + "assign_99_99 1\n",
    "twice": lambda text: text + first_value(text) + "\n",
    "other objective": lambda text: text.replace("= 54", "= 53"),
    "endless line": lambda text: text + "x" * 1_000_000,
    "too many lines": lambda text: text + "# nothing\n" * 1_000_000,
    "binary": lambda text: text + "\udcff\udcfe",
    "three words": lambda text: text + "assign_2_0 1 1 1\n",
    "entity": lambda text: (
        '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaa">]>\n<CPLEXSolution>&a;</CPLEXSolution>'
    ),
    "broken XML": lambda text: '<?xml version="1.0"?>\n<CPLEXSolution>\n<variables>\n',
    "other XML": lambda text: '<?xml version="1.0"?>\n<svg/>\n',
    "XML of nothing": lambda text: (
        '<CPLEXSolution>\n<variables>\n<variable name="open_0"/></variables></CPLEXSolution>'
    ),
    "HiGHS has none": lambda text: "Model status\nInfeasible\n\n# Primal solution values\nNone\n",
    "HiGHS cut off": lambda text: (
        "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 54\n# Columns 57\n"
    ),
    "HiGHS incomplete": lambda text: (
        "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 54\n# Columns 1\nopen_0 1\n# Rows 0\n"
    ),
    "HiGHS without end": lambda text: "Columns\n    Index Status Lower Upper Primal Dual Type Name\n",
    "CBC has none": lambda text: "Infeasible - objective value 54.0\n 0 open_0 1 0\n",
    "GLPK has none": lambda text: "Problem:    m\nRows:       1\nStatus:     INTEGER EMPTY\nObjective:  obj = 0\n",
    "GLPK without names": lambda text: "c Problem:    m\ns mip 148 138 o 54\nj 1 1\ne o f\n",
    "GLPK cut off": lambda text: glpk({"open_0": 1.0}, 54).partition("\nInteger")[0],
    "list of three words": lambda text: "open_0 1\nopen_1 1 1\n",
    "pseudo-Boolean without values": lambda text: "c\no 54\ns OPTIMUM FOUND\n",
    "pseudo-Boolean infeasible": lambda text: "s UNSATISFIABLE\n",
    "literal of no variable": lambda text: "s OPTIMUM FOUND\nv x1 -x999999\n",
    "literal twice": lambda text: "s OPTIMUM FOUND\nv x1 x1\n",
    "SCIP has none": lambda text: "solution status: infeasible\nno solution available\n",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_solution_is_one_clear_error(case: str, hospital: Exported, tmp_path: Path) -> None:
    solution = tmp_path / "model.sol"
    text = HOSTILE[case](gurobi(hospital[1], 54))
    solution.write_bytes(text.encode(errors="surrogateescape"))
    done = run("import", solution, "--model", LIBRARY / "hospital.toml", "--out", tmp_path / "out")
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {solution}: ")
    assert "10101" not in line  # nothing of the content
    assert not (tmp_path / "out").exists()
    by_line = ("not a number", "infinite", "text", "unknown name", "twice", "endless line", "entity", "broken XML")
    if case in by_line:
        assert ": line " in line


def test_a_file_that_is_packed_badly_or_not_there(hospital: Exported, tmp_path: Path) -> None:
    packed = gzip.compress(gurobi(hospital[1], 54).encode())
    for content in (packed[: len(packed) // 2], packed[:12], packed[:20] + b"\x00" * 40):
        solution = tmp_path / "model.sol.gz"
        solution.write_bytes(content)
        done = run("import", solution, "--model", LIBRARY / "hospital.toml")
        assert done.returncode == 2
        assert "line " in done.stderr
        assert "damaged or ends too early" in done.stderr
    for path in (tmp_path, tmp_path / "none.sol", "/dev/zero"):
        done = run("import", path, "--model", LIBRARY / "hospital.toml")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_solution_of_another_model_or_table_is_refused(hospital: Exported, tmp_path: Path) -> None:
    model, values = hospital
    beside = model.with_suffix(".sol")
    beside.write_text(gurobi(values, 54))
    done = run("import", beside, "--model", LIBRARY / "qid.toml")
    assert done.returncode == 2
    assert "belongs to another table" in done.stderr
    done = run("import", beside, "--model", LIBRARY / "hospital_l_diversity.toml")
    assert done.returncode == 2
    assert "another" in done.stderr
    # without a map only its names and its objective tell
    alone = tmp_path / "alone.sol"
    alone.write_text(gurobi(values, 54))
    for other in ("qid", "hospital_l_diversity", "hospital_mask"):
        done = run("import", alone, "--model", LIBRARY / f"{other}.toml")
        assert done.returncode == 2, other
        assert len(done.stderr.splitlines()) == 1


def test_a_table_that_the_requirements_refuse_is_not_written(hospital: Exported, tmp_path: Path) -> None:
    model, values = hospital
    one = dict.fromkeys(values, 0.0)
    placed: set[str] = set()
    for name in values:  # each row type to the first candidate that covers it: groups of any size
        _, i, _ = [*name.split("_"), ""][:3]
        if name.startswith("assign_") and i not in placed:
            placed.add(i)
            one[name] = 1.0
    solution, out = tmp_path / "model.sol", tmp_path / "out"
    cost = sum(value * price for value, price in zip(one.values(), highs_of(model).getLp().col_cost_, strict=True))
    solution.write_text(gurobi(one, cost))
    done = run("import", solution, "--model", LIBRARY / "hospital.toml", "--out", out, "--json")
    assert done.returncode == 6
    assert json.loads(done.stdout)["verified"] is not True
    assert not (out / "anonymized.csv").exists()
    assert (out / "result.json").exists()


def test_fractional_assignments_become_rows_as_in_solve(tmp_path: Path) -> None:
    """Three rows (0, 0) go to the groups of (0, 1) and of (1, 0) in any way that gives each at least one, also in
    halves: with the open groups fixed, a minimum-cost flow is left."""
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "0,0\n" * 3 + "0,1\n" * 2 + "1,0\n" * 2)
    problem = km.Problem(km.read_table(table, ["a", "b"]), km.KAnonymity(3))
    stated = km.export_model(problem, tmp_path / "m.lp")
    assert isinstance(stated, DeclaredModel)
    x = dict.fromkeys(stated.arrays.linear.variable_names, 0.0)
    instance = stated.prepared.instance
    for g, cover in enumerate(instance.candidates.cover_lists()):
        if len(cover) == 2:
            x[f"open[{g}]"] = 1.0
            for i in cover:
                x[f"assign[{i},{g}]"] = 1.5 if instance.types.counts[i] == 3 else 2.0
    values = {name.translate({91: "_", 44: "_", 93: None}): value for name, value in x.items()}
    assert sum(value == 1.5 for value in values.values()) == 2
    (tmp_path / "m.sol").write_text(gurobi(values, 7))
    result = km.import_solution(problem, tmp_path / "m.sol", bound_seconds=0)
    assert (result.objective, result.verified, result.proof) == (7, True, "none")
    assert km.solve(problem).require_optimal().objective == 7
    # under requirements that leave no network, the halves of a relaxed model are an error
    other = LIBRARY / "hospital_t_ordered.toml"
    assert run("export", other, "--to", tmp_path / "r.lp").returncode == 0
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(tmp_path / "r.lp"))
    highs.setOptionValue("solve_relaxation", True)
    highs.run()
    highs.writeSolution(str(tmp_path / "r.sol"), 0)
    done = run("import", tmp_path / "r.sol", "--model", other)
    assert done.returncode == 2
    assert "fractional" in done.stderr


def test_export_takes_a_table_as_solve_does(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("name,zip,age\n" + "".join(f"P{i},{100 + i // 4},{30 + i % 3}\n" for i in range(12)))
    options = ("--data", table, "--qi", "zip,age", "--identifying", "name", "--k", 3, "--weight", "zip=1/3")
    assert run("export", *options, "--to", tmp_path / "m.mps.gz").returncode == 0
    about = read_about(names_path(tmp_path / "m.mps.gz"))
    assert (about["objective_unit"], "known_optimum" in about) == ("1/3", False)
    highs_of(tmp_path / "m.mps.gz").writeSolution(str(tmp_path / "m.sol"), 1)
    done = run("import", tmp_path / "m.sol", *options, "--json")
    assert done.returncode in (0, 4), done.stderr
    solved = run("solve", *options, "--json")
    assert json.loads(done.stdout)["objective"] == json.loads(solved.stdout)["objective"]
    # labels tell rows and levels, and no cell of the table
    with names_path(tmp_path / "m.mps.gz").open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = {row["name_in_model"]: row["label"] for row in rows}
    assert "zip=" in labels["open[0]"]
    assert "row" in next(label for name, label in labels.items() if name.startswith("assign["))
    assert not any(f"1{i:02}" in label or f"P{i}" in label for label in labels.values() for i in range(12))
    assert run("export", *options).returncode == 2
    assert "--to" in run("export", *options).stderr


def test_nothing_is_overwritten_by_import(hospital: Exported, tmp_path: Path) -> None:
    solution = tmp_path / "groups.csv"
    solution.write_text(gurobi(hospital[1], 54))
    done = run("import", solution, "--model", LIBRARY / "hospital.toml", "--out", tmp_path)
    assert done.returncode == 2
    assert "is read" in done.stderr
    assert solution.read_text() == gurobi(hospital[1], 54)


def test_an_export_shows_as_one_line(tmp_path: Path) -> None:
    problem = km.read_model("hospital").problem
    assert repr(km.export_model(problem, tmp_path / "m.lp")) == (
        '<DeclaredModel: strong model of "hospital", 138 variables, 148 constraints, objective loss>'
    )
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open.values()) <= 3)
    reduced = repr(km.export_model(problem, tmp_path / "m.lp", reduced=True))
    assert reduced.startswith('<DeclaredModel: reduced strong model of "hospital", ')
    extended = repr(km.export_model(problem, tmp_path / "m.lp", model=model))
    assert extended.startswith('<DeclaredModel: strong model, extended, of "hospital", 138 variables, 149 constraints')


def test_an_extended_model_goes_out_and_its_solution_comes_back(tmp_path: Path) -> None:
    """At most two groups; without that constraint, the table of least loss has three."""
    problem = km.read_model(LIBRARY / "hospital.toml").problem
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    km.export_model(problem, tmp_path / "m.lp", model=model)
    assert "extended by its user" in (tmp_path / "m.lp").read_text()
    (solution, *_) = highs_solutions(tmp_path / "m.lp", tmp_path)
    result = km.import_solution(problem, solution, model=model)
    assert result.verified
    assert result.report is not None
    assert result.report.groups <= 2
    assert result.objective == result.loss == km.solve_model(problem, model).require_optimal().objective
    assert result.as_dict()["extended"]["added"] == ["few"]
    assert "of the extended model (few added)" in result.summary()
    said = proof_sentence(described(result))
    assert "no solution of the model as it was extended (few added) has a loss below" in said
    assert "Tables outside of that model may lose less." in said
    assert present(result.objective) > present(km.solve(problem).require_optimal().objective)
    assert result.proof != "optimal"
    with pytest.raises(km.InputError, match=r"another model of this table: extended \(pass it as model="):
        km.import_solution(problem, solution)
    with pytest.raises(km.InputError, match="not reduced"):
        km.export_model(problem, tmp_path / "n.lp", model=model, reduced=True)
    # another objective: the most groups
    model.loss.deactivate()
    model.most = pyo.Objective(expr=sum(model.open[g] for g in model.CANDIDATES), sense=pyo.maximize)
    km.export_model(problem, tmp_path / "m.lp", model=model)
    (solution, *_) = highs_solutions(tmp_path / "m.lp", tmp_path)
    result = km.import_solution(problem, solution, model=model)
    assert (result.objective, result.verified, result.proof) == (2, True, "none")
    assert result.optimized == "objective most of the model (maximized)"
    assert present(result.report).cost == result.loss != result.objective
    assert f"The table loses {amount(result.loss)};" in proof_sentence(described(result))
    # with a requirement switched off, a bound for all tables says nothing of the model's solutions
    loose = km.build_model(problem)
    loose.k_anonymity.deactivate()
    km.export_model(problem, tmp_path / "loose.mps", model=loose)
    assert "extended: k_anonymity.size deactivated" in (tmp_path / "loose.mps").read_text()
    (solution, *_) = highs_solutions(tmp_path / "loose.mps", tmp_path)
    result = km.import_solution(problem, solution, model=loose, names=tmp_path / "loose.mps.names.csv")
    assert not result.verified
    assert (result.proof, result.bound, result.table) == ("none", None, None)
    assert "k_anonymity.size deactivated" in result.summary()


def test_what_breaks_an_added_constraint_is_no_solution_of_the_extended_model(tmp_path: Path) -> None:
    """The table of least loss has three groups, and would be taken for the optimum of a model that allows two."""
    problem = km.read_model(LIBRARY / "hospital.toml").problem
    plain = km.build_model(problem)
    km.export_model(problem, tmp_path / "m.lp", model=plain)
    (solution, *_) = highs_solutions(tmp_path / "m.lp", tmp_path)
    kept = tmp_path / "plain.sol"
    kept.write_text(solution.read_text())
    model = km.build_model(problem)
    model.few = pyo.Constraint(expr=sum(model.open[g] for g in model.CANDIDATES) <= 2)
    km.export_model(problem, tmp_path / "few.lp", model=model)
    with pytest.raises(km.InputError, match="not a solution of the model: constraint few is violated by 1"):
        km.import_solution(problem, kept, model=model, names=tmp_path / "few.lp.names.csv")


@pytest.mark.parametrize("changed", ["sense", "expression"])
def test_a_changed_loss_is_an_objective_of_its_own(changed: str, tmp_path: Path) -> None:
    rows = [("a", "u"), ("a", "u"), ("a", "v"), ("b", "v"), ("b", "u"), ("b", "v")]
    table = km.Table.from_frame(pl.DataFrame(rows, schema=["p", "q"], orient="row"), ["p", "q"])
    problem = km.Problem(table, km.KAnonymity(2))
    model = km.build_model(problem)
    if changed == "sense":
        model.loss.sense = pyo.maximize
    else:
        model.loss.expr += 100 * sum(model.open.values())
    km.export_model(problem, tmp_path / "m.mps", model=model)
    assert "loss = " not in (tmp_path / "m.mps").read_text()
    (solution, *_) = highs_solutions(tmp_path / "m.mps", tmp_path)
    result = km.import_solution(problem, solution, model=model)
    assert (result.objective, result.proof) == ({"sense": 12, "expression": 112}[changed], "none")
