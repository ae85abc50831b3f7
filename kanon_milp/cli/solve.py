"""`kanon-milp solve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_milp import solvers
from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import UNVERIFIED, exit_code
from kanon_milp.cli.interrupts import signals
from kanon_milp.errors import InputError
from kanon_milp.instances import model_files as modelfile
from kanon_milp.methods import registry
from kanon_milp.methods.result import Result
from kanon_milp.methods.solve import solve as solve_problem
from kanon_milp.problem.problem import Objective, Problem
from kanon_milp.problem.table import ARROW_SUFFIXES, CSV_SUFFIXES, PARQUET_SUFFIXES, read_table
from kanon_milp.report import display, output
from kanon_milp.system.files import check_target, refuse_overwriting
from kanon_milp.system.signals import ctrl_c_sets

if TYPE_CHECKING:
    from kanon_milp.bounds import Certificate

TABLES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES, *ARROW_SUFFIXES)


def solve(
    model: options.ModelPath = None,
    data: options.Data = None,
    qi: options.Qi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    keep: options.Keep = None,
    k: options.K = None,
    p: options.P = None,
    l: options.L = None,  # noqa: E741  (the papers' letter)
    l_form: options.LForm = "frequency",
    t: options.T = None,
    distance: options.Distance = "equal",
    alpha: options.Alpha = None,
    beta: options.Beta = None,
    delta: options.Delta = None,
    mask: options.Mask = None,
    hierarchies: options.HierarchyFolder = None,
    weight: options.Weights = None,
    suppressed_rows: options.Reading = "strict",
    cost_bound: Annotated[str | None, typer.Option("--cost-bound", metavar="S", help="Largest allowed loss.")] = None,
    min_groups: Annotated[int | None, typer.Option("--min-groups", help="Fewest released row types.")] = None,
    max_groups: Annotated[int | None, typer.Option("--max-groups", help="Most released row types.")] = None,
    objective: Annotated[Objective, typer.Option("--objective", help="loss, min_groups or max_groups.")] = "loss",
    symbol: options.Symbol = "*",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.MissingValues = "value",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for the released table, groups.csv, result.json."),
    ] = None,
    solver: Annotated[
        str | None, typer.Option("--solver", help="highs (default), cbc, scip, cpsat or pulp:NAME.")
    ] = None,
    cbc: Annotated[str | None, typer.Option("--cbc", metavar="PATH", help="The CBC executable to use.")] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="NAME", help=f"{registry.about()}."),
    ] = None,
    formulation: options.FormulationName = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="S", help="Seconds; a search without a limit takes 600.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the solver, processes of the search; default 1.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed; default 0.")] = None,
    gap: Annotated[
        float | None,
        typer.Option("--gap", metavar="REL", help="Relative gap at which to stop; default 0, a proof."),
    ] = None,
    node_limit: Annotated[
        int | None, typer.Option("--node-limit", metavar="N", help="Nodes of the solver; the same on every machine.")
    ] = None,
    iteration_limit: Annotated[
        int | None,
        typer.Option("--iteration-limit", metavar="N", help="Neighbourhoods of the search, instead of a time limit."),
    ] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Search on the workers of this Dask scheduler.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write a proof of a lower bound on the loss.")
    ] = None,
    log_file: Annotated[Path | None, typer.Option("--log-file", help="Write the solver's log there.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the released table, one line a group.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Anonymize a table at proven minimum loss.

    Exit codes: 0 proven optimal and verified; 2 bad usage or input; 3 proven infeasible; 4 a verified table without
    proof of optimality; 5 no table within the limit; 6 verification failed.
    """
    if json and show:
        raise InputError("--show prints a table for people, --json nothing but JSON; choose one of them")
    if method is not None:
        registry.known_name(method, "--method")
    chosen: dict[str, Any] = {}
    read: modelfile.ModelFile | None = None
    if model is not None:
        if model.suffix.lower() in TABLES:
            raise InputError(f"{model}: looks like a table, not like a model file: write --data {model}")
        own = (data, qi, sensitive, identifying, keep, k, p, l, t, alpha, beta, delta, mask, hierarchies, weight)
        if any(value is not None for value in own):
            raise InputError("a model file holds table and problem; --data, --qi, --k, ... go without one")
        read = modelfile.read_model(model)
        problem, title = read.problem, read.title or read.problem.name
        chosen.update(read.solver)
    else:
        if data is None:
            raise InputError("name a model file, or a table with --data")
        table = read_table(
            data,
            options.names(qi, "--qi"),
            options.names(sensitive, "--sensitive", required=False),
            identifying=options.names(identifying, "--identifying", required=False),
            keep=options.names(keep, "--keep", required=False),
            delimiter=delimiter,
            encoding=encoding,
            missing=missing,
            symbol=symbol,
        )
        recoding = options.recoding(table.quasi_identifiers, mask, hierarchies, weight, encoding)
        problem = Problem(
            table,
            options.privacy(k, p, l, l_form, t, distance, alpha, beta, delta),
            recoding,
            cost_bound,
            min_groups,
            max_groups,
            objective,
            suppressed_rows,
            data.name,
        )
        title = data.name
    targets = [("--certificate", certificate), ("--log-file", log_file)]
    written = [("--out", out / name) for name in output.FILES] if out is not None else []
    written += [(option, path) for option, path in targets if path is not None]
    refuse_overwriting(written, [*problem.sources, *([] if model is None else [model])])
    for _, path in written:
        if out is None or path.parent != out:  # which is made
            check_target(path)
    word = "" if out is None else output.check_output(problem, out)
    if word and not quiet:
        display.say(f"note: {word}", err=True)
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
    }
    chosen.update({key: value for key, value in given.items() if value is not None})
    adapter = solvers.get(chosen.pop("name", "highs"), executable=cbc)
    with ctrl_c_sets(None, told=True) as stop:
        with display.live(adapter.name, enabled=not (quiet or json)) as line:
            result = solve_problem(
                problem,
                adapter,
                log_file=log_file,
                on_stage=line.stage,
                on_progress=line.progress,
                interrupt=stop,
                **chosen,
            )
        proof = None if certificate is None or result.proof == "infeasible" else result.certify()
        signals.answer = "ignore"  # what was found is written now, whoever asks again
    described = _written(result, model, out, certificate, proof)
    if certificate is not None and proof is None:
        display.say("no certificate: there is no table whose loss could be bounded", err=True)
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
        display.show_result(result, title, out, shown)
        if show and result.table is not None:
            display.show_groups(result)
    if stop.is_set():
        display.say(f"interrupted: {_what_is_left(result)}", err=True)
    wrong = "" if read is None else read.contradiction(result)
    if wrong:
        display.say(f"error: {wrong}", err=True)
    refuted = wrong and (result.is_optimal or result.proof == "infeasible")
    raise typer.Exit(UNVERIFIED if refuted else exit_code(result))


def _written(
    result: Result, model: Path | None, out: Path | None, certificate: Path | None, proof: Certificate | None
) -> dict[str, Any]:
    """Write what was asked for, and return the object of result.json. Where the folder cannot be written, there is no
    certificate either, nor one of an earlier session where this one has none."""
    described = output.described(result, model)
    if certificate is not None and proof is None:
        certificate.unlink(missing_ok=True)
    elif certificate is not None and proof is not None:
        if certificate.parent == out:
            out.mkdir(parents=True, exist_ok=True)
        proof.write(certificate)
    if out is None:
        return described
    try:
        return output.write_result(result, out, described)
    except InputError:
        if certificate is not None and certificate.is_file():
            certificate.unlink()
        raise


def _what_is_left(result: Result) -> str:
    """What came of a session that somebody has interrupted."""
    if result.stop_reason != "interrupted":
        return "the result was complete"
    return "this is the best table so far" if result.verified else "there was no table yet"
