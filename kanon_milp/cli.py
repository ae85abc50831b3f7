"""The command line: it reads options, calls the package and prints; no logic of its own."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_milp import __version__, display, modelfile, output, solvers
from kanon_milp.compilation import compile_model
from kanon_milp.errors import InputError, SolverError
from kanon_milp.privacy import REQUIREMENTS, Requirement
from kanon_milp.problem import Objective, Problem, SuppressedRows
from kanon_milp.recoding import Hierarchies, PatternMask, Recoding, Suppression
from kanon_milp.result import NO_TABLE, OPTIMAL, UNVERIFIED
from kanon_milp.rowtypes import compress as compress_rows
from kanon_milp.solve import build_model
from kanon_milp.solve import solve as solve_problem
from kanon_milp.solvers.canaries import diagnose
from kanon_milp.solvers.mps import write_model
from kanon_milp.table import CsvFormat, Missing, default_delimiter, read_table, roles, scan_frame
from kanon_milp.verify import verify_files

BAD_INPUT = 2

app = typer.Typer(
    name="kanon-milp",
    help="Provably optimal anonymization of tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # a usage error is one line, not a box
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelPath = Annotated[
    Path | None, typer.Argument(metavar="[MODEL.toml]", help="Model file; or name a table with --data.")
]
Data = Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Table: CSV (also .gz), Parquet or Arrow.")]
Qi = Annotated[list[str] | None, typer.Option("--qi", metavar="A,B,C", help="Quasi-identifiers, separated by commas.")]
Sensitive = Annotated[list[str] | None, typer.Option("--sensitive", metavar="D", help="Sensitive attributes.")]
K = Annotated[int | None, typer.Option("--k", help="k-anonymity: each group has at least k rows.")]
P = Annotated[int | None, typer.Option("--p", help="p-sensitivity: each group has at least p sensitive values.")]
L = Annotated[
    str | None, typer.Option("--l", metavar="L", help="l-diversity, a rational: no value has more than 1/l of a group.")
]
LForm = Annotated[str, typer.Option("--l-form", help="frequency, distinct or blocki-williams.")]
T = Annotated[
    str | None,
    typer.Option("--t", metavar="T", help="t-closeness, a rational such as 0.15 or 3/20: distance to the table."),
]
Distance = Annotated[
    str,
    typer.Option(
        "--distance",
        metavar="D",
        help="Ground distance of t-closeness: equal, ordered, numeric, order:FILE, hierarchy:FILE or matrix:FILE.",
    ),
]
Alpha = Annotated[
    str | None, typer.Option("--alpha", metavar="A", help="(alpha,k)-anonymity: no value has more than A of a group.")
]
Beta = Annotated[str | None, typer.Option("--beta", metavar="B", help="Basic beta-likeness.")]
Delta = Annotated[str | None, typer.Option("--delta", metavar="D", help="delta-disclosure privacy, natural logarithm.")]
Mask = Annotated[
    Path | None,
    typer.Option("--mask", metavar="FILE", help="Pattern mask: CSV with keep, * or a level in the cells."),
]
HierarchyFolder = Annotated[
    Path | None, typer.Option("--hierarchies", metavar="DIR", help="Folder with a hierarchy COLUMN.csv.")
]
Weights = Annotated[
    list[str] | None, typer.Option("--weight", metavar="A=2", help="Cost of suppressing a cell of a column.")
]
Symbol = Annotated[str, typer.Option("--symbol", help="Suppression symbol.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of CSV files; default , (a tab for .tsv).")]
Encoding = Annotated[str, typer.Option("--encoding", help="Of CSV files.")]
MissingValues = Annotated[
    Missing, typer.Option("--missing", help="value: missing values are a value of their own; error: refuse them.")
]
Reading = Annotated[
    SuppressedRows,
    typer.Option("--suppressed-rows", help="strict: fully suppressed rows are a group; exempt: they need no partners."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
FormulationName = Annotated[str | None, typer.Option("--formulation", help="strong (default) or textbook.")]


@app.command()
def solve(
    model: ModelPath = None,
    data: Data = None,
    qi: Qi = None,
    sensitive: Sensitive = None,
    k: K = None,
    p: P = None,
    l: L = None,  # noqa: E741  (the papers' letter)
    l_form: LForm = "frequency",
    t: T = None,
    distance: Distance = "equal",
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    mask: Mask = None,
    hierarchies: HierarchyFolder = None,
    weight: Weights = None,
    suppressed_rows: Reading = "strict",
    cost_bound: Annotated[str | None, typer.Option("--cost-bound", metavar="S", help="Largest allowed loss.")] = None,
    min_groups: Annotated[int | None, typer.Option("--min-groups", help="Fewest released row types.")] = None,
    max_groups: Annotated[int | None, typer.Option("--max-groups", help="Most released row types.")] = None,
    objective: Annotated[Objective, typer.Option("--objective", help="loss, min_groups or max_groups.")] = "loss",
    symbol: Symbol = "*",
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    missing: MissingValues = "value",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for anonymized.csv, groups.csv, result.json."),
    ] = None,
    solver: Annotated[str | None, typer.Option("--solver", help="highs (default), cbc or pulp:NAME.")] = None,
    cbc: Annotated[str | None, typer.Option("--cbc", metavar="PATH", help="The CBC executable to use.")] = None,
    formulation: FormulationName = None,
    time_limit: Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Seconds.")] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="Threads of the solver; default 1.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed of the solver; default 0.")] = None,
    gap: Annotated[
        float | None,
        typer.Option("--gap", metavar="REL", help="Relative gap at which to stop; default 0, a proof."),
    ] = None,
    log_file: Annotated[Path | None, typer.Option("--log-file", help="Write the solver's log there.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the released table, one line a group.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Anonymize a table at proven minimum loss.

    Exit codes: 0 proven optimal and verified; 2 bad usage or input; 3 proven infeasible; 4 a verified table without
    proof
    of optimality; 5 no table within the limit; 6 verification failed.
    """
    chosen: dict[str, Any] = {}
    if model is not None:
        own = (data, qi, sensitive, k, p, l, t, alpha, beta, delta, mask, hierarchies, weight)
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
            _names(qi, "--qi"),
            _names(sensitive, "--sensitive", required=False),
            delimiter=delimiter,
            encoding=encoding,
            missing=missing,
            symbol=symbol,
        )
        recoding = _recoding(table.quasi_identifiers, mask, hierarchies, weight, table.csv)
        problem = Problem(
            table,
            _privacy(k, p, l, l_form, t, distance, alpha, beta, delta),
            recoding,
            cost_bound,
            min_groups,
            max_groups,
            objective,
            suppressed_rows,
            data.name,
        )
        title = data.name
    if out is not None:
        output.check_folder(out)
    options = {
        "name": solver,
        "formulation": formulation,
        "time_limit": time_limit,
        "threads": threads,
        "seed": seed,
        "gap": gap,
    }
    chosen.update({key: value for key, value in options.items() if value is not None})
    adapter = solvers.get(chosen.pop("name", "highs"), executable=cbc)
    with display.live(adapter.name, enabled=not (quiet or json)) as line:
        result = solve_problem(
            problem, adapter, log_file=log_file, on_stage=line.stage, on_progress=line.progress, **chosen
        )
    if out is not None:
        output.write_result(result, out)
    if json:
        typer.echo(output.json_text(result.as_dict()), nl=False)
    elif not quiet:
        display.show_result(result, title, out)
        if show and result.table is not None:
            display.show_groups(result)
    raise typer.Exit(result.exit_code)


@app.command()
def verify(
    anonymized: Annotated[Path, typer.Argument(metavar="ANONYMIZED", help="The released table.")],
    original: Annotated[Path, typer.Option("--original", metavar="FILE", help="The table it was made from.")],
    qi: Qi = None,
    sensitive: Sensitive = None,
    k: K = None,
    p: P = None,
    l: L = None,  # noqa: E741  (the papers' letter)
    l_form: LForm = "frequency",
    t: T = None,
    distance: Distance = "equal",
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    mask: Mask = None,
    hierarchies: HierarchyFolder = None,
    suppressed_rows: Reading = "strict",
    symbol: Symbol = "*",
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    missing: MissingValues = "value",
    groups: Annotated[
        Path | None, typer.Option("--groups", metavar="FILE", help="Write what holds in each group, as CSV.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a released table, by whatever tool it was made, exactly and without a solver.

    Exit codes: 0 everything holds; 2 bad usage or input; 6 something does not hold.
    """
    report = verify_files(
        original,
        anonymized,
        _names(qi, "--qi"),
        _names(sensitive, "--sensitive", required=False),
        privacy=_privacy(k, p, l, l_form, t, distance, alpha, beta, delta, required=False),
        mask=mask,
        hierarchies=hierarchies,
        symbol=symbol,
        delimiter=delimiter,
        encoding=encoding,
        suppressed_rows=suppressed_rows,
        missing=missing,
    )
    if groups is not None:
        output.write_whole(groups, report.group_frame().write_csv)
    if json:
        typer.echo(output.json_text(report.as_dict()), nl=False)
    elif not quiet:
        typer.echo(report.summary())
    raise typer.Exit(OPTIMAL if report.ok else UNVERIFIED)


@app.command()
def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL.toml")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="model.mps, model.mps.gz or model.lp.")],
    formulation: FormulationName = None,
    quiet: Quiet = False,
) -> None:
    """Write a problem's model as MPS or LP, with a map of its names beside it."""
    read = modelfile.read_model(model)
    output.check_folder(to.parent)
    chosen = formulation or read.solver.get("formulation", "strong")
    linear = compile_model(build_model(read.problem, chosen), names=True).linear
    write_model(linear, to)
    if not quiet:
        typer.echo(f"{to}: {linear.variables} variables, {linear.constraints} constraints, {linear.A.nnz} nonzeros")


@app.command()
def compress(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    qi: Qi = None,
    sensitive: Sensitive = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> None:
    """Count the row types of a table, also of one that is larger than memory."""
    frame = scan_frame(file, CsvFormat(delimiter or default_delimiter(file), encoding))
    names = _names(qi, "--qi")
    quasi, private = roles(
        frame.collect_schema().names(), names, _names(sensitive, "--sensitive", required=False), str(file)
    )
    types = compress_rows(frame, quasi, private)
    if json:
        typer.echo(output.json_text(types.summary()), nl=False)
    else:
        display.show_row_types(types.summary(), file.name)


@app.command()
def doctor(json: Json = False) -> None:
    """Say for each solver where it was found, its version, and whether it solves the models with known answers."""
    found = diagnose()
    if json:
        typer.echo(output.json_text([display.diagnosis_dict(d) for d in found]), nl=False)
    else:
        display.show_diagnoses(found)
    usable = any(d.availability and not d.problems for d in found if d.name == "highs")
    raise typer.Exit(OPTIMAL if usable else NO_TABLE)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kanon-milp {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Provably optimal anonymization of tables."""


def _names(values: list[str] | None, option: str, *, required: bool = True) -> list[str]:
    """Split a,b,c; a name with a comma in it goes in double quotes."""
    names = [name for value in values or [] for name in next(csv.reader([value]), [])]
    if required and not names:
        raise InputError(f"name the quasi-identifiers: {option} a,b,c")
    return names


def _privacy(
    k: int | None,
    p: int | None,
    l: str | None,  # noqa: E741
    l_form: str,
    t: str | None,
    distance: str,
    alpha: str | None,
    beta: str | None,
    delta: str | None,
    *,
    required: bool = True,
) -> list[Requirement]:
    arguments: dict[str, dict[str, Any]] = {
        "k": {"k": k},
        "p": {"p": p},
        "l": {"l": l, "form": l_form},
        "t": {"t": t, "distance": distance},
        "alpha": {"alpha": alpha},
        "beta": {"beta": beta},
        "delta": {"delta": delta},
    }
    found = [REQUIREMENTS[name](**given) for name, given in arguments.items() if given[name] is not None]
    if required and not found:
        raise InputError("name what each group must have: --k 5")
    return found


def _recoding(
    names: tuple[str, ...], mask: Path | None, folder: Path | None, weight: list[str] | None, fmt: CsvFormat
) -> Recoding:
    weights = {}
    for entry in weight or []:
        name, equals, value = entry.rpartition("=")
        if not equals:
            raise InputError("a weight is COLUMN=NUMBER, as in --weight age=2")
        weights[name] = value
    patterns = None if mask is None else PatternMask.read(mask, weights, fmt)
    if folder is not None:
        return Hierarchies.read(folder, names, weights=weights, mask=patterns, fmt=fmt)
    return Suppression(weights) if patterns is None else patterns


def main() -> None:
    """Entry point: one clear line for an error, and the exit code that says what happened."""
    try:
        app()
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(BAD_INPUT)
    except SolverError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(NO_TABLE)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before there was a table\n")
        sys.exit(NO_TABLE)
