"""`kanon-milp solve`, `export`, `import`, `report`, `apply` and `doctor`: a released table, by a solver here or
elsewhere, a page about it, its recoding for another table, and which solvers are here."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from kanon_milp import solvers
from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE, OPTIMAL, UNVERIFIED, exit_code, signals
from kanon_milp.cli.help import objective_option, output_option, solving_option, table_option
from kanon_milp.errors import InputError, NotProvenError, counted
from kanon_milp.kernels import COMPILED
from kanon_milp.methods import exchange, registry
from kanon_milp.methods.result import Result
from kanon_milp.methods.solve import solve as solve_problem
from kanon_milp.problem.csv_files import csv_text
from kanon_milp.problem.database_tables import check_new_table, expect_database, new_table
from kanon_milp.problem.databases import Database, location
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverAdapter
from kanon_milp.solvers.canaries import diagnose
from kanon_milp.solvers.mps import names_path
from kanon_milp.studies import display, output
from kanon_milp.studies.apply import APPLIED, Applied
from kanon_milp.studies.apply import FILES as APPLIED_FILES
from kanon_milp.studies.apply import apply as apply_recoding
from kanon_milp.studies.model_content import saved_model
from kanon_milp.studies.output import PAGE
from kanon_milp.studies.pages.result_page import page_of_result, report_of_folder, report_of_folders
from kanon_milp.studies.pages.variants import VARIANTS
from kanon_milp.studies.series import export_series
from kanon_milp.system.files import (
    Fill,
    check_folder,
    check_target,
    holding,
    make_folder,
    refuse_overwriting,
    write_together,
)
from kanon_milp.system.limit import Limit, ctrl_c_sets
from kanon_milp.system.parameters import Parameters

if TYPE_CHECKING:
    from kanon_milp.bounds import Certificate

SOLVERS = ", ".join((f"{solvers.DEFAULT} (default)", *solvers.BUILT_IN[1:]))
ReleasedFolder = Annotated[
    Path | None, output_option("--out", metavar="DIR", help="Folder for the released table, groups.csv, result.json.")
]
CERTIFICATE_SHARE = 0.3  # of a time limit, for a certificate
MEASURES_SECONDS = 1.5  # at least, for what a release costs and protects, column by column


@options.grouped
def solve(
    statement: options.ProblemOptions,
    model: options.ModelPath = None,
    out: ReleasedFolder = None,
    to_table: Annotated[
        str | None, output_option(metavar="NAME", help="Write the released table into the database, too.")
    ] = None,
    to_database: Annotated[
        Any,
        output_option(
            metavar="FILE", parser=location, help="The database for --to-table; default: the one that was read."
        ),
    ] = None,
    solver: Annotated[str | None, solving_option(help=f"{SOLVERS} or pulp:NAME.")] = None,
    cbc: Annotated[str | None, solving_option(metavar="PATH", help="The CBC executable to use.")] = None,
    method: Annotated[str | None, solving_option(metavar="NAME", help=f"{registry.about()}.")] = None,
    formulation: options.FormulationName = None,
    time_limit: Annotated[
        float | None, solving_option(metavar="S", help="Time limit in seconds; default of the search: 600.")
    ] = None,
    threads: Annotated[
        int | None, solving_option(help="Threads of the solver, processes of the search; default 1.")
    ] = None,
    seed: Annotated[int | None, solving_option(help="Random seed; default 0.")] = None,
    gap: Annotated[
        float | None, solving_option(metavar="REL", help="Relative gap at which to stop; default 0, proven optimal.")
    ] = None,
    node_limit: Annotated[
        int | None,
        solving_option(metavar="N", help="Largest number of nodes of the solver: repeatable on every machine."),
    ] = None,
    iteration_limit: Annotated[
        int | None,
        solving_option(metavar="N", help="Largest number of neighbourhoods of the search, instead of a time limit."),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        solving_option(
            "--set",
            metavar="PHASE.NAME=X",
            help="Parameter of a phase (cuts.share=0.3), or whether the phase is used (phases.cuts=false); repeatable.",
        ),
    ] = None,
    then: Annotated[
        list[str] | None,
        objective_option(
            metavar="GOAL",
            help="Further objective, at the best value of the first: groups, fewer groups, discernibility, keep "
            "COLUMN; repeatable.",
        ),
    ] = None,
    pool: Annotated[
        int | None, objective_option(metavar="N", help="Find up to N different tables, the best ones first.")
    ] = None,
    pool_loss: Annotated[
        str | None,
        objective_option(metavar="X", help="How much worse than the best they may be: 12, or 5%; default: any."),
    ] = None,
    pool_differ: Annotated[
        str | None,
        objective_option(metavar="WHAT", help="How they differ: in rows (default), or in the columns that they keep."),
    ] = None,
    suppression_limit: Annotated[
        float | None,
        solving_option(metavar="X", help="Share of the rows that --method full_domain may suppress; default 0.05."),
    ] = None,
    dask: Annotated[
        str | None, solving_option(metavar="ADDRESS", help="Search on the workers of this Dask scheduler.")
    ] = None,
    certificate: Annotated[
        Path | None, output_option(metavar="FILE", help="Write a proof of a lower bound on the loss.")
    ] = None,
    report: Annotated[
        Path | None, output_option(metavar="FILE", help="Write the result as one HTML page, without cells.")
    ] = None,
    report_sample: Annotated[
        int, output_option(metavar="N", min=0, help="Show the first N released rows on the report page.")
    ] = 0,
    report_before_after: Annotated[
        int, output_option(metavar="N", min=0, help="Show rows of N groups, before and after, on the report page.")
    ] = 0,
    report_author: Annotated[
        str, output_option(metavar="NAME", help="Who asked, to be named on the report page.")
    ] = "",
    labels: Annotated[
        Path | None, output_option(metavar="FILE", help="Write the label of each value of a full-domain table as CSV.")
    ] = None,
    save_model: Annotated[
        Path | None, output_option(metavar="FILE", help="Write the problem as a model file, to solve it again.")
    ] = None,
    log_file: Annotated[Path | None, output_option(help="Write the solver's log to this file.")] = None,
    show: Annotated[bool, output_option("--show", help="Show the released table, one line a group.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Anonymize a table at proven minimum loss.

    Exit codes: 0 proven optimal and verified; 2 bad usage or input; 3 proven infeasible; 4 a verified table without
    proof of optimality; 5 no table within the limit; 6 verification failed.
    """
    asked = statement.read(model)
    if json and show:
        raise InputError("--show prints a table for people, --json nothing but JSON; choose one of them")
    if method is not None:
        registry.known_name(method, "--method")
    about = {"sample": report_sample, "before-after": report_before_after, "author": report_author}
    for name, value in about.items():
        if value and report is None:
            raise InputError(f"--report-{name} is for the page of --report; name its file, too")
    chosen: dict[str, Any] = {}
    problem, read = asked.problem, asked.file
    if read is not None:
        chosen.update({**read.solver, **read.solve})
    database = _database(asked, to_table, to_database)
    targets = [("--certificate", certificate), ("--log-file", log_file), ("--report", report)]
    targets += [("--save-model", save_model), ("--labels", labels)]
    if save_model is not None and read is not None:
        raise InputError(f"--save-model writes what options ask for, and {read.path} is a model file already: copy it")
    written = [("--out", out / name) for name in output.FILES] if out is not None else []
    tables = pool or chosen.get("pool")
    if out is not None and tables is not None:
        check_folder(out / output.POOL)
    if out is not None:
        written += [("--out", out / name) for name in output.pool_files(out, tables or 0)]
    written += [(option, path) for option, path in targets if path is not None]
    refuse_overwriting(written, asked.sources)
    for _, path in written:
        if out is None or not path.is_relative_to(out):  # which is made
            check_target(path)
    if database is not None and to_table is not None:
        check_new_table(database, to_table, problem.table.released_columns)
    earlier = _earlier(asked, out, *([] if report is None else [report]), quiet=quiet)
    given = {
        "name": solver,
        "method": method,
        "formulation": formulation,
        "time_limit": time_limit,
        "threads": threads,
        "seed": seed,
        "gap": gap,
        "node_limit": node_limit,
        "iteration_limit": iteration_limit,
        "dask": dask,
        "then": then,
        "pool": pool,
        "pool_loss": pool_loss,
        "pool_differ": pool_differ,
    }
    chosen.update({key: value for key, value in given.items() if value is not None})
    if suppression_limit is not None and not 0 <= suppression_limit <= 1:
        raise InputError(
            f"--suppression-limit: a share of the rows from 0 to 1 is expected, such as 0.05 for 5 %, found "
            f"{suppression_limit:g}"
        )
    if suppression_limit is not None:
        parameters = [*(parameters or []), f"full_domain.suppressed={suppression_limit}"]
    if parameters:
        chosen["parameters"] = {**chosen.get("parameters", {}), **Parameters.read(parameters).values}
    for option, asked_for in (("--suppression-limit", suppression_limit), ("--labels", labels)):
        if asked_for is not None and chosen.get("method") != "full_domain":
            raise InputError(f"{option} is for a full-domain table; add --method full_domain")
    files: dict[str, Fill | None] = {}
    if save_model is not None:
        saved = {key: each for key, each in chosen.items() if key != "dask"}
        files[os.path.realpath(save_model)] = holding(saved_model(problem, save_model, saved))
    adapter = solvers.get(chosen.pop("name", solvers.DEFAULT), executable=cbc)
    with ctrl_c_sets(None, told=True) as stop:
        chosen.update(log_file=log_file, interrupt=stop, progress=not (quiet or json))
        result, proof, without = _solved(problem, adapter, chosen, certificate is not None)
        described: dict[str, Any] = {}
        if out is not None or report is not None or json:
            model_file = None if read is None else read.path
            described = output.described(result, model_file, _rest(result, stop))
        signals.answer = "ignore"  # what was found is written now, whoever asks again
    if certificate is not None:
        files[os.path.realpath(certificate)] = None
    if certificate is not None and proof is not None:
        content = proof.content()
        files[os.path.realpath(certificate)] = holding(content)
        digest = hashlib.sha256(content).hexdigest()
        described["certificate"] = {"file": str(certificate), "sha256": digest, "bound": str(proof.bound)}
    if report is not None:
        title = f"Anonymization of {asked.title}"

        def page(file: IO[bytes]) -> None:  # made when the hashes of the released files are known
            folder = out if described.get("sha256") else None
            shown = {"sample": report_sample, "before_after": report_before_after}
            file.write(page_of_result(result, described, folder, title, report_author, **shown))

        files[os.path.realpath(report)] = page
    if labels is not None:
        found = result.labels if result.verified else None
        files[os.path.realpath(labels)] = None if found is None else holding(csv_text(found, ","))
    with ExitStack() as stack:
        ways: dict[str, Callable[[], object]] = {}
        if database is not None and to_table is not None and result.table is not None and result.verified:
            made = stack.enter_context(new_table(database, to_table, result.table))
            described["written_to"] = {"database": str(database), "table": to_table}
            files.update(made.files)
            ways = {"commit": made.commit, "undo": made.undo}
        if out is not None:
            output.write_session(result, out, described, files, **ways)
        elif files or ways:
            write_together(Path(), files, **ways)
    if certificate is not None and proof is None:
        display.say(without, err=True)
        certificate = None
    searching = [f"--{key.replace('_', '-')}" for key in ("iteration_limit", "dask") if chosen.get(key) is not None]
    if searching and result.solver.method == "milp" and not quiet:
        options_named = " and ".join(searching)
        display.say(
            f"note: direct MILP was used, so {options_named} had no effect (--method search searches)", err=True
        )
    if json:
        display.print_json(described)
    elif not quiet:
        shown = None if certificate is None or proof is None else (certificate, proof)
        display.show_result(result, asked.title, out, shown, replaced=bool(earlier), page=report)
        if database is not None and result.table is not None and result.verified:
            display.say(f'written to table "{to_table}" of {database}')
        if save_model is not None:
            display.say(f"model file written to {save_model}")
        if labels is not None and files[os.path.realpath(labels)] is not None:
            display.say(f"labels written to {labels}")
        if show and result.table is not None:
            display.show_groups(result)
    if stop.is_set():
        left = "this is the best table so far" if result.verified else "there was no table yet"
        left = left if result.stop_reason == "interrupted" else "the result was complete"
        display.say(f"interrupted: {left}", err=True)
    _end(asked, result, out, earlier, quiet=quiet)


@options.grouped
def export(
    statement: options.SweptProblemOptions,
    model: options.ModelPath = None,
    to: Annotated[
        Path | None, output_option(metavar="FILE", help="model.mps, .lp or .opb (0-1 models), each also .gz; or .ommx.")
    ] = None,
    formulation: options.FormulationName = None,
    reduced: Annotated[
        bool,
        output_option("--reduced", help="Write the model that `solve` hands to its solver, after all reductions."),
    ] = False,
    weights: options.SweptWeights = None,
    random_weights: Annotated[
        int | None, output_option(metavar="N", help="A series of N models, each with random weights of the columns.")
    ] = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Write a problem's model as MPS, LP, OPB or OMMX.

    A map of its names is written next to it. Lists of values, as in --l 2,3 or --max-groups 5..20, write a series.
    """
    asked, swept, weighed = statement.read(model), statement.lists(), options.swept_weights(weights)
    if to is None:
        raise InputError("name the file to write: --to model.mps.gz")
    written = [("--to", to), ("--to", names_path(to))]
    refuse_overwriting(written, asked.sources)
    for _, path in written:
        check_target(path)
    chosen = formulation or (asked.file.solver.get("formulation") if asked.file else None) or "strong"
    if weighed or random_weights is not None or any(len(values) > 1 for values in swept.values()):
        if reduced:
            raise InputError("--reduced gives each model another shape, so it is not for a series")
        given: dict[str, Any] = {**swept, "weights": weighed or None, "random_weights": random_weights}
        files = export_series(asked.problem, to, formulation=chosen, seed=seed, **given)
        if not quiet:
            display.say(f"{counted(len(files), 'model')} of equal shape, {files[0]} to {files[-1].name}")
        return
    said = {} if asked.file is None else asked.file.known
    known = "infeasible" if said.get("infeasible") else said.get("optimum")
    exported = exchange.export_model(asked.problem, to, formulation=chosen, reduced=reduced, known=known)
    if not quiet:
        linear = exported.arrays.linear
        sizes = {"variable": linear.variables, "constraint": linear.constraints, "nonzero": linear.A.nnz}
        display.say(f"{to}: {', '.join(counted(number, word) for word, number in sizes.items())}")


@options.grouped
def import_solution(
    statement: options.ProblemOptions,
    solution: Annotated[Path, typer.Argument(metavar="SOLUTION", help="Solution of an exported model, by any solver.")],
    model: Annotated[
        Path | None, table_option(metavar="MODEL.toml", help="Model file. Without one, name a table with --data.")
    ] = None,
    out: ReleasedFolder = None,
    names: Annotated[
        Path | None,
        table_option(metavar="FILE", help="The export's map of names; default: the file next to the solution."),
    ] = None,
    formulation: options.FormulationName = None,
    reduced: Annotated[
        bool, solving_option("--reduced", help="The model was exported with --reduced (the map of names says so, too).")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the released table of a solver's solution.

    The solution is that of an exported model; the table is verified.

    Solution files of HiGHS, CBC, SCIP, Gurobi, COPT, CPLEX (XML), GLPK (glpsol -o), pseudo-Boolean solvers and MIPLIB,
    or a list of names and values, also compressed by gzip. Exit codes: 0 verified, and an own bound proves it
    optimal; 2 bad usage or input; 4 a verified table without proof of optimality; 6 verification failed.
    """
    asked = statement.read(model)
    if out is not None:
        targets = [("--out", out / name) for name in output.FILES]
        refuse_overwriting(targets, [*asked.sources, solution, *([] if names is None else [names])])
    earlier = _earlier(asked, out, quiet=quiet)
    result = exchange.import_solution(
        asked.problem, solution, names=names, formulation=formulation, reduced=reduced or None
    )
    described = output.described(result, None if asked.file is None else asked.file.path)
    if out is not None:
        described = output.write_session(result, out, described)
    if json:
        display.print_json(described)
    elif not quiet:
        display.show_result(result, asked.title, out, replaced=bool(earlier))
    _end(asked, result, out, earlier, quiet=quiet)


def _earlier(asked: options.Asked, out: Path | None, *written: Path, quiet: bool) -> list[str]:
    """Files of an earlier result in the folder; what there is to say of it is said before anything runs."""
    if out is None:
        return []
    word, found = output.check_output(asked.problem, out), output.earlier_files(out)
    if word and not quiet:
        display.say(f"note: {word}", err=True)
    if not quiet:
        display.tell_earlier(out, found, written)
    return found


def _end(asked: options.Asked, result: Result, out: Path | None, earlier: list[str], *, quiet: bool) -> NoReturn:
    """What became of the earlier result, whether the model file says something else, and the exit code."""
    if out is not None and not quiet:
        display.tell_removed(out, earlier)
    wrong = "" if asked.file is None else asked.file.contradiction(result)
    if wrong:
        display.say(f"error: {wrong}", err=True)
    refuted = wrong and (result.is_optimal or result.proof == "infeasible")
    raise typer.Exit(UNVERIFIED if refuted else exit_code(result))


def _database(asked: options.Asked, to_table: str | None, to_database: Any) -> Database | None:
    """Where the released table is written to, None where it need not be."""
    if to_table is None:
        if to_database is not None:
            raise InputError("--to-database is where --to-table writes; name the table too")
        return None
    if to_database is not None:
        return expect_database(to_database)
    if asked.database is None:
        raise InputError("--to-table needs a database: --to-database postgresql://..., or a file such as released.db")
    return asked.database


def _solved(
    problem: Problem, adapter: SolverAdapter, chosen: dict[str, Any], certified: bool
) -> tuple[Result, Certificate | None, str]:
    """The result with its certificate, or why there is none. A time limit is one for both."""
    given, began = chosen.get("time_limit"), time.perf_counter()
    asked = given if certified and isinstance(given, int | float) and given > 0 else None
    if asked is not None:
        chosen = {**chosen, "time_limit": (1 - CERTIFICATE_SHARE) * asked}
    result = solve_problem(problem, adapter, **chosen)
    if not certified:
        return result, None, ""
    if asked is not None:
        options = replace(result.solver.options, time_limit=asked)
        result = replace(result, solver=replace(result.solver, options=options))
    if result.proof == "infeasible":
        return result, None, "no certificate: it is proven that there is no table, so there is no loss to bound"
    begins = time.perf_counter()
    proof, without = None, ""
    try:
        left = None if asked is None else max(began + asked - begins, 0.0)
        proof = result.certify(time_limit=left, interrupt=chosen["interrupt"])
        result = result.with_bound_of(proof)  # a method without a proof of its own has one now
    except NotProvenError as error:
        proof, without = None, str(error)
    except InputError as error:  # what is solved is written
        proof, without = None, f"no certificate: {error}"
    seconds = time.perf_counter() - begins
    spent = {**result.seconds, "certify": seconds, "total": result.seconds["total"] + seconds}
    return replace(result, seconds=spent), proof, without


def _rest(result: Result, stop: threading.Event) -> Limit:
    """When what is told of a result beside what was asked for has to be known: at the limit, or a moment from now."""
    asked = result.solver.options.time_limit
    if stop.is_set():
        return Limit(time.perf_counter() + MEASURES_SECONDS)
    left = math.inf if asked is None else max(asked - result.seconds["total"], MEASURES_SECONDS)
    return Limit(time.perf_counter() + left, stop)


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folder of solve --out; several are compared.")
    ],
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Where to write the page; default DIR/{PAGE}, of several {VARIANTS}."),
    ] = None,
    sample: Annotated[int, typer.Option(metavar="N", min=0, help="Show the first N released rows; default none.")] = 0,
    before_after: Annotated[int, typer.Option(metavar="N", min=0, help="Show rows of N groups, before and after.")] = 0,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    author: Annotated[str, typer.Option(metavar="NAME", help="Who asked, to be named on the page.")] = "",
    quiet: options.Quiet = False,
) -> None:
    """Write the report of a result as one HTML page.

    It needs no network. Of several folders the results stand side by side.

    Exit codes: 0 written; 2 bad usage or input; 6 written, and a file in the folder is not the one that was written.
    """
    if len(folders) == 1:
        files = report_of_folder(folders[0], to, sample=sample, before_after=before_after, title=title, author=author)
    elif sample or before_after:
        raise InputError("--sample and --before-after are about one result; name one folder")
    else:
        files = report_of_folders(folders, to, title=title, author=author)
    if not quiet:
        display.say(f"written to {to or folders[-1] / (PAGE if len(folders) == 1 else VARIANTS)}")
    changed = [each.path for each in files if each.state != "unchanged"]
    for path in changed:
        display.say(f"error: {path} is not the file that was written with result.json", err=True)
    raise typer.Exit(UNVERIFIED if changed else OPTIMAL)


@options.grouped
def apply(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder of solve --out.")],
    table: Annotated[Path, typer.Argument(metavar="FILE", help="Another table with the same columns.")],
    suppress: Annotated[bool, typer.Option("--suppress", help="Suppress the rows that break a requirement.")] = False,
    out: Annotated[
        Path | None, output_option(metavar="DIR", help=f"Folder for the released table, groups.csv, {APPLIED}.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Recode another table like an earlier result.

    By the levels of a full-domain result, else by its released groups. Says which rows break the requirements, which
    are checked in the new table alone.

    Exit codes: 0 the released table is verified; 2 bad usage or input; 6 rows break the requirements (nothing is
    released), or verification failed.
    """
    if out is not None:
        if (out / output.CLAIM).exists():
            raise InputError(f"{out}: holds a result of solve; choose another folder")
        refuse_overwriting([("--out", out / name) for name in APPLIED_FILES], [table])
        check_folder(out, APPLIED_FILES)
    found = apply_recoding(result, table, suppress=suppress)
    if out is not None:
        output.check_output(found.problem, out)
        _write_applied(found, out)
    if json:
        display.print_json(found.as_dict())
    elif not quiet:
        for line in found.lines:
            display.say(line)
        if out is not None:
            display.say(f"written to {out}")
    raise typer.Exit(OPTIMAL if found.verified else UNVERIFIED)


def _write_applied(found: Applied, out: Path) -> None:
    files: dict[str, Fill | None] = dict.fromkeys(APPLIED_FILES)
    del files[APPLIED]
    if found.verified:
        files.update(output.table_files(found.problem, found.table, found.placed))
    files["breaking.csv"] = holding(csv_text(found.broken, ","))
    files[APPLIED] = holding(output.json_text(found.as_dict()))
    make_folder(out)
    write_together(out, files)


def doctor(json: options.Json = False) -> None:
    """Check which solvers are installed and work.

    For each: where it was found, its version, and whether it passes the self-test; then whether inner loops are
    compiled.
    """
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
