"""`kanon-milp export` and `doctor`: models for solvers, and which solvers are here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kanon_milp import solvers
from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE, OPTIMAL
from kanon_milp.cli.help import output_option
from kanon_milp.errors import InputError, counted
from kanon_milp.kernels import COMPILED
from kanon_milp.methods import exchange
from kanon_milp.solvers.canaries import diagnose
from kanon_milp.solvers.mps import names_path
from kanon_milp.studies import display
from kanon_milp.system.files import check_target, refuse_overwriting

Reduced = Annotated[
    bool, output_option("--reduced", help="The model that `solve` solves, after all reductions; not the declared one.")
]


@options.grouped
def export(
    statement: options.ProblemOptions,
    model: options.ModelPath = None,
    to: Annotated[Path | None, output_option(metavar="FILE", help="model.mps, model.mps.gz or model.lp.")] = None,
    formulation: options.FormulationName = None,
    reduced: Reduced = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a problem's model as MPS or LP.

    A map of its names goes beside it.
    """
    asked = statement.read(model)
    if to is None:
        raise InputError("name the file to write: --to model.mps.gz")
    written = [("--to", to), ("--to", names_path(to))]
    refuse_overwriting(written, asked.sources)
    for _, path in written:
        check_target(path)
    said = {} if asked.file is None else asked.file.known
    known = "infeasible" if said.get("infeasible") else said.get("optimum")
    chosen = formulation or (asked.file.solver.get("formulation") if asked.file else None) or "strong"
    exported = exchange.export_model(asked.problem, to, formulation=chosen, reduced=reduced, known=known)
    if not quiet:
        linear = exported.arrays.linear
        sizes = {"variable": linear.variables, "constraint": linear.constraints, "nonzero": linear.A.nnz}
        display.say(f"{to}: {', '.join(counted(number, word) for word, number in sizes.items())}")


def doctor(
    warm: Annotated[
        bool, typer.Option("--warm-up", help="No longer needed: inner loops are compiled when the package is built.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Say which solvers are here and work.

    For each: where it was found, its version, and whether it solves the models with known answers; then whether inner
    loops are compiled.
    """
    if warm:
        display.say("--warm-up is no longer needed: inner loops are compiled when the package is built", err=True)
    found = diagnose()
    if json:
        display.print_json([display.diagnosis_dict(d) for d in found])
    else:
        display.show_diagnoses(found)
    slow = "plain Python, a hundred times slower; KANON_MILP_COMPILE=no was set when the package was built"
    how = "compiled" if COMPILED else slow
    display.say(f"inner loops: {how}", err=json)
    usable = any(d.availability and not d.problems for d in found if d.name == solvers.DEFAULT)
    raise typer.Exit(OPTIMAL if usable else NO_TABLE)
