"""`kanon-milp export`, `import` and `doctor`: models out to solvers, solutions back, and which solvers are here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp import solvers
from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE, OPTIMAL, UNVERIFIED, exit_code
from kanon_milp.cli.help import output_option
from kanon_milp.errors import InputError, counted
from kanon_milp.methods import exchange
from kanon_milp.methods.warm_up import warm_up
from kanon_milp.solvers.canaries import diagnose
from kanon_milp.solvers.mps import names_path
from kanon_milp.studies import display, output
from kanon_milp.system.files import check_target, refuse_overwriting

Reduced = Annotated[
    bool, output_option("--reduced", help="The model that `solve` solves, after all reductions; not the declared one.")
]


@options.grouped
def export(
    stated: options.ProblemOptions,
    model: options.ModelPath = None,
    to: Annotated[
        Path | None, output_option("--to", metavar="FILE", help="model.mps, model.mps.gz or model.lp.")
    ] = None,
    formulation: options.FormulationName = None,
    reduced: Reduced = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a problem's model as MPS or LP.

    A map of its names goes beside it.
    """
    asked = stated.read(model)
    if to is None:
        raise InputError("name the file to write: --to model.mps.gz")
    written = [("--to", to), ("--to", names_path(to))]
    refuse_overwriting(written, asked.sources)
    for _, path in written:
        check_target(path)
    said = {} if asked.file is None else asked.file.known
    known = "infeasible" if said.get("infeasible") else said.get("optimum")
    chosen = formulation or _of_file(asked) or "strong"
    exported = exchange.export_model(asked.problem, to, formulation=chosen, reduced=reduced, known=known)
    if not quiet:
        linear = exported.arrays.linear
        sizes = {"variable": linear.variables, "constraint": linear.constraints, "nonzero": linear.A.nnz}
        display.say(f"{to}: {', '.join(counted(number, word) for word, number in sizes.items())}")


@options.grouped
def import_solution(
    stated: options.ProblemOptions,
    solution: Annotated[Path, typer.Argument(metavar="SOLUTION", help="Of an exported model, by any solver.")],
    model: Annotated[
        Path | None, output_option("--model", metavar="MODEL.toml", help="Model file; or name a table with --data.")
    ] = None,
    out: Annotated[
        Path | None,
        output_option("--out", metavar="DIR", help="Folder for the released table, groups.csv, result.json."),
    ] = None,
    names: Annotated[
        Path | None,
        output_option(
            "--names", metavar="FILE", help="The export's map of names; default: the one beside the solution."
        ),
    ] = None,
    formulation: options.FormulationName = None,
    reduced: Annotated[
        bool, output_option("--reduced", help="The model was exported with --reduced (the map of names says so too).")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the released table of a solver's solution.

    The solution is one of an exported model; the table is verified.

    Solution files of HiGHS, CBC, SCIP, Gurobi, CPLEX (XML) and MIPLIB, also compressed by gzip. Exit codes: 0 verified,
    and a bound of our own proves it optimal; 2 bad usage or input; 4 a verified table without proof of optimality;
    6 verification failed.
    """
    asked = stated.read(model)
    if out is not None:
        targets = [("--out", out / name) for name in output.FILES]
        refuse_overwriting(targets, [*asked.sources, solution, *([] if names is None else [names])])
        if (word := output.check_output(asked.problem, out)) and not quiet:
            display.say(f"note: {word}", err=True)
    earlier = [] if out is None else output.earlier_files(out)
    if out is not None and not quiet:
        display.tell_earlier(out, earlier)
    result = exchange.import_solution(
        asked.problem, solution, names=names, formulation=formulation, reduced=reduced or None
    )
    described = output.described(result, None if asked.file is None else asked.file.path)
    if out is not None:
        described = output.write_result(result, out, described)
    if json:
        display.print_json(described)
    elif not quiet:
        display.show_result(result, asked.title, out, replaced=bool(earlier))
    if out is not None and not quiet:
        display.tell_removed(out, earlier)
    if wrong := "" if asked.file is None else asked.file.contradiction(result):
        display.say(f"error: {wrong}", err=True)
    raise typer.Exit(UNVERIFIED if wrong and result.is_optimal else exit_code(result))


def _of_file(asked: options.Asked) -> str | None:
    """The formulation that a model file names."""
    return None if asked.file is None else asked.file.solver.get("formulation")


def doctor(
    warm: Annotated[
        bool, typer.Option("--warm-up", help="Compile the search first, which its first use would have to wait for.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Say which solvers are here and work.

    For each: where it was found, its version, and whether it solves the models with known answers.
    """
    if warm:
        functions, seconds = warm_up()
        typer.echo(f"the search is compiled: {functions} functions, {seconds:.0f} s", err=json)
    found = diagnose()
    if json:
        display.print_json([display.diagnosis_dict(d) for d in found])
    else:
        display.show_diagnoses(found)
    usable = any(d.availability and not d.problems for d in found if d.name == solvers.DEFAULT)
    raise typer.Exit(OPTIMAL if usable else NO_TABLE)
