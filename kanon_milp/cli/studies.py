"""`kanon-milp compare`, `attack`, `sweep` and `bench`: several methods, what optimality gives away, several values of a
parameter, several instances."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kanon_milp.cli import options
from kanon_milp.cli.exit_codes import NO_TABLE, Interrupted
from kanon_milp.cli.help import HELP, Command, examples, output_option, recoding_option, solving_option, table_option
from kanon_milp.errors import InputError, counted
from kanon_milp.methods import registry
from kanon_milp.methods.verification import read_groups, read_released
from kanon_milp.problem.privacy.registry import swept_kinds
from kanon_milp.studies import attack as attacking
from kanon_milp.studies import comparison, display
from kanon_milp.studies import sweep as sweeping
from kanon_milp.studies.sweep_files import WRITTEN as SWEEP_FILES
from kanon_milp.studies.sweep_files import SweepFolder
from kanon_milp.system import text_tables
from kanon_milp.system.files import check_target, holding, refuse_overwriting, write_file

WRITTEN: dict[str, Callable[[comparison.Comparison], str]] = {
    ".csv": comparison.Comparison.to_csv,
    ".md": comparison.Comparison.to_markdown,
    ".tex": comparison.Comparison.to_latex,
    ".svg": comparison.Comparison.to_svg,
}
RED = 1
"""Exit code: an answer is wrong, or there is none."""
PLAIN = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false")  # a number, true or false, not text
MOST_MESSAGES = 3  # of runs that failed, and of files
HEAD = ("setting", "runs", "solved", "red", "mean s", "/best", "PAR10 s", "/best", "integral s")
SHOWN = (
    ("setting", 0), ("runs", 0), ("solved", 0), ("red", 0), ("mean", 2), ("mean_ratio", 2), ("par10", 2),
    ("par10_ratio", 2), ("integral", 2),
)  # fmt: skip


@options.grouped
def compare(
    statement: options.ProblemOptions,
    model: options.ModelPath = None,
    methods: Annotated[
        list[str] | None,
        solving_option(
            metavar="A,B",
            help=f"As for solve --method; default: those of {','.join(comparison.METHODS)} that are for the problem.",
        ),
    ] = None,
    released: Annotated[
        list[Path] | None, table_option(metavar="FILE", help="Released table of another tool; may be repeated.")
    ] = None,
    partition: Annotated[
        list[Path] | None,
        table_option(metavar="FILE", help="Groups alone, as in groups.csv, measured as boxes; may be repeated."),
    ] = None,
    row_id: options.RowId = None,
    missing_keys: options.MissingAsKeys = "own",
    boxes: Annotated[
        bool, recoding_option("--boxes", help="Measure each method's groups as intervals and sets, too.")
    ] = False,
    to: Annotated[
        list[Path] | None,
        output_option(metavar="FILE", help="Write the comparison as .csv, .md, .tex or .svg; may be repeated."),
    ] = None,
    time_limit: Annotated[
        float | None, solving_option(metavar="S", help="Time limit of each method, in seconds.")
    ] = None,
    threads: Annotated[int, solving_option(help="Threads of each method.")] = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run several methods on one table, side by side.

    Tables that other tools have released are measured as well, and each is held against the best proven bound.

    Exit codes: 0 every method has run; 2 bad usage or input; 5 interrupted.
    """
    asked = statement.read(model)
    for path in to or []:
        if path.suffix.lower() not in WRITTEN:
            raise InputError(f"{path}: --to writes {', '.join(WRITTEN)}, by the end of the name")
    refuse_overwriting([("--to", path) for path in to or []], [*asked.sources, *(released or []), *(partition or [])])
    for path in to or []:
        check_target(path)
    names = options.names(methods, "--methods", required=False)
    for name in names:
        registry.known_name(name, "--methods")
    tables = {
        str(path): read_released(path, asked.problem.table.csv, asked.problem.table.quasi_identifiers)
        for path in released or []
    }
    found = comparison.compare(
        asked.problem,
        names or None,
        released=tables,
        partitions={str(path): read_groups(path, asked.problem.table.n) for path in partition or []},
        boxes=boxes,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        missing_keys=missing_keys,
        row_id=row_id,
        on_method=None if quiet or json else lambda name: display.say(f"running {name} ...", err=True),
    )
    drawn = not found.interrupted or any(row.objective is not None for row in found.rows)
    written = [path for path in to or [] if drawn or path.suffix.lower() != ".svg"]
    for path in written:
        write_file(path, holding(WRITTEN[path.suffix.lower()](found)))
    if json:
        display.print_json(found.as_dict())
    elif not quiet:
        display.show_comparison(found, asked.title)
        if written:
            display.say(f"written to {', '.join(map(str, written))}")
    if found.interrupted:
        undrawn = [f"not written, as there is no table to draw: {path}" for path in to or [] if path not in written]
        notes = [f"{row.name} ({row.note})" for row in found.rows if row.note]
        display.say(f"interrupted: {'; '.join([', '.join(notes), *undrawn])}", err=True)
        raise typer.Exit(NO_TABLE)


@options.grouped
def attack(
    statement: options.ProblemOptions,
    released: Annotated[
        Path, table_option(metavar="FILE", help="The released table, which is optimal for the problem.")
    ],
    model: options.ModelPath = None,
    exact: Annotated[
        bool, solving_option("--exact", help="Solve every possible original table: for a dozen rows.")
    ] = False,
    time_limit: Annotated[float, solving_option(metavar="S", help="Time limit in seconds.")] = 60,
    json: options.Json = False,
) -> None:
    """Show what a table gives away by being optimal.

    The attacker knows recoding, costs, k and the values of each column. No cell is printed.
    """
    asked = statement.read(model)
    table = asked.problem.table
    found = attacking.attack(
        asked.problem, read_released(released, table.csv, table.quasi_identifiers), exact=exact, time_limit=time_limit
    )
    if json:
        display.print_json(found.as_dict())
    else:
        typer.echo(found.summary())


@options.grouped
def sweep(
    statement: options.SweptProblemOptions,
    model: options.ModelPath = None,
    out: Annotated[
        Path | None, output_option(metavar="DIR", help="Folder for the tables, sweep.json, .csv, .md, .tex and .svg.")
    ] = None,
    resume: Annotated[bool, solving_option("--resume", help="Continue the sweep in the folder.")] = False,
    weights: options.SweptWeights = None,
    method: Annotated[str, solving_option(metavar="NAME", help="As for solve --method.")] = registry.AUTO,
    baselines: Annotated[
        list[str] | None,
        solving_option(metavar="A,B", help="Methods, as for --method, whose tables are measured, too."),
    ] = None,
    time_limit: Annotated[
        float | None, solving_option(metavar="S", help="Time limit of each setting, in seconds.")
    ] = None,
    threads: Annotated[int, solving_option(help="Threads of each setting.")] = 1,
    seed: options.Seed = 0,
    processes: Annotated[int, solving_option(help="Settings that run at once.")] = 1,
    dask: Annotated[
        str | None, solving_option(metavar="ADDRESS", help="Run the settings on the workers of this Dask scheduler.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Solve one problem for many values of k, l, t or max_groups.

    Losses and bounds rise along each parameter: a table for stricter values is one for looser ones, and a bound the
    other way round.

    Exit codes: 0 every setting has run; 2 bad usage or input; 5 interrupted.
    """
    asked, swept, weighed = statement.read(model), statement.lists(), options.swept_weights(weights)
    if not swept and not weighed:
        ways = (f"{kind.option(letter)} {kind.swept.example}" for letter, kind in swept_kinds().items() if kind.swept)
        raise InputError(f"name what is swept: {', '.join(ways)} or --max-groups 1,10,100, or --weights zip=1,2,5")
    if resume and out is None:
        raise InputError("--resume goes on with the sweep in a folder; name it with --out")
    named = options.names(baselines, "--baselines", required=False)
    for name in (method, *named):
        registry.known_name(name, "--baselines" if name in named else "--method")
    settings = {"method": method, "time_limit": time_limit, "threads": threads, "seed": seed, "baselines": named}
    folder, known = None, []
    if out is not None:
        refuse_overwriting([("--out", out / name) for name in SWEEP_FILES], asked.sources)
        folder = SweepFolder(out, asked.problem, [*swept, *(f"{sweeping.WEIGHT}{name}" for name in weighed)], settings)
        known = folder.known(resume)

    def note(run: sweeping.Run, done: int, of: int) -> None:
        if folder is not None:
            folder.write_run(run)
        if not quiet and not json:
            display.say(f"{done} of {of}: {run.setting.shown}, {run.proof}, {run.seconds:.1f} s", err=True)

    found = sweeping.sweep(
        asked.problem,
        **swept,  # type: ignore[arg-type]  # exact numbers, as text
        **settings,  # type: ignore[arg-type]
        processes=processes,
        dask=dask,
        known=known,
        on_run=note,
        weights=weighed,
    )
    if folder is not None:
        folder.write(found)
    if json:
        display.print_json([row.as_dict() for row in found.rows])
    elif not quiet:
        display.show_grid(found.texts(), asked.title)
        if out is not None:
            display.say(f"written to {out}")
    if found.interrupted:
        way = "" if out is None else "; the same command with --resume goes on"
        display.say(f"interrupted: {have_run(len(found.rows))}{way}", err=True)
        raise typer.Exit(NO_TABLE)


def have_run(settings: int) -> str:
    """How many settings have run, of which the last was perhaps cut short."""
    if settings == 1:
        return "1 setting has run, perhaps in part"
    return f"{settings or 'no'} settings have run" + (", the last perhaps in part" if settings else "")


class _Bench(typer.core.TyperGroup):
    """`bench STUDY.toml` beside `bench report DIR`: what is no command is a study."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the hidden command before a study."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


bench = typer.Typer(
    cls=_Bench,
    help="Run a study, and check every answer: bench STUDY.toml.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=HELP,
    epilog=examples("bench benchmarks/studies/smoke.toml --out study", "bench report study"),
)


@bench.command("run", cls=Command, epilog=examples("bench benchmarks/studies/smoke.toml --out study"))
def bench_run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study file.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; default out/bench/NAME.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Run only what is missing in the folder.")] = False,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="RUN", help="Repeat this run here, and print its row as JSON.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the runs, and run nothing.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a study: `bench STUDY.toml` does the same.

    Exit codes: 0 all answers agree; 1 some answer is wrong (a red row), or every run failed; 2 bad usage or input; 5
    interrupted.
    """
    from kanon_milp.studies.bench.plan import plan
    from kanon_milp.studies.bench.running import default_folder, run_one, run_study
    from kanon_milp.studies.bench.study import read_study
    from kanon_milp.studies.bench.supervisor import check_system

    found = read_study(study)
    if listed:
        for each in plan(found):
            options = " ".join(f"{name}={value}" for name, value in each.options.items())
            numbers = {"threads": each.threads - 1, "seed": each.seed, "permutation": each.permutation}
            others = [f"{name} {getattr(each, name)}" for name, beyond in numbers.items() if beyond]
            words = (each.run, each.instance, each.solver, options, each.method, each.formulation, *others)
            display.say("  ".join(word for word in words if word))
        return
    check_system()
    if only is not None:
        row = run_one(found, only)
        display.print_json(row)
        raise typer.Exit(RED if row["defects"] else 0)
    folder = out or default_folder(found.name)
    with _Bar(enabled=not quiet) as bar:
        try:
            frame = run_study(found, folder, resume=resume, dask=dask, on_row=bar.row, on_start=bar.start)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted: {bar.said}; the same command with --resume goes on\n") from None
    code = _show(frame, quiet=quiet)
    if not quiet:
        display.say(f"results     {folder}")
    raise typer.Exit(code)


@bench.command("fuzz", cls=Command, epilog=examples("bench fuzz --solver highs --minutes 10 --out finds"))
def bench_fuzz(
    solver: Annotated[str, typer.Option(metavar="NAME", help="As for solve --solver.")],
    minutes: Annotated[float, typer.Option(metavar="M", help="Time in minutes.", min=0)] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the finds.")] = Path("out") / "fuzz",
    seed: options.Seed = 0,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option that goes to the solver unchanged; may be repeated."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Look for models that a solver gets wrong, and reduce them.

    Its claims are compared with checked points of other solvers, and with planted optima. Exit codes: 0 nothing was
    found; 1 something was; 2 bad usage or input; 5 interrupted.
    """
    from kanon_milp.studies.bench.fuzzing import Find, fuzz

    given: dict[str, object] = {}
    for entry in option or []:
        name, sign, value = entry.partition("=")
        if not name or not sign:
            raise InputError("--option is NAME=VALUE, as in --option presolve=off")
        given[name] = tomllib.loads(f"value = {value}")["value"] if PLAIN.fullmatch(value) else value

    def note(find: Find) -> None:
        size = f"{find.model.variables} variables, {find.model.constraints} constraints"
        display.say(f"{find.folder}: {find.refuted.said} ({size})", err=True)

    try:
        found = fuzz(solver, minutes, out, seed=seed, options=given, on_find=note)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: what was found is in {out}\n") from None
    if not quiet:
        display.say(f"{counted(found.models, 'model')}, {len(found.finds)} on which {solver} is wrong")
    raise typer.Exit(RED if found.finds else 0)


@bench.command("report", cls=Command, epilog=examples("bench report study", "bench report old new --out both"))
def bench_report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of studies' results.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the page; default: that of the results.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the page of a study: report.html.

    Its pictures (SVG, PDF) and tables (CSV, LaTeX) go beside it. Several folders, such as those of two versions of a
    solver, are compared on one page.
    """
    from kanon_milp.studies.bench.checks import judged
    from kanon_milp.studies.bench.running import read_folders
    from kanon_milp.studies.pages.bench_page import write_bench_page

    if out is None and len(folders) > 1:
        raise InputError("name the folder of a page that compares results: --out DIR")
    frame = judged(read_folders(folders))
    written, *_ = write_bench_page(frame, (out or folders[0]) / "report.html")
    code = _show(frame, quiet=quiet)
    if not quiet:
        display.say(f"written     {written}, pictures and tables beside it")
    raise typer.Exit(code)


def _show(frame: Any, *, quiet: bool) -> int:
    """The red rows and what failed, then the summary. Returns the exit code."""
    from kanon_milp.studies.bench.statistics import summary, with_outcomes

    red = [row for row in frame.iter_rows(named=True) if row["defects"]]
    for row in red:
        display.say(f"RED {row['instance']}: {row['solver']} {row['method']}: {'; '.join(row['defects'])}", err=True)
        display.say(f"    {row['repeat']}", err=True)
    said = {(row["instance"], line): None for row in frame.iter_rows(named=True) for line in row["warnings"] or ()}
    for instance, line in list(said)[:MOST_MESSAGES]:
        display.say(f"warning: {instance}: while the file was read: {line}", err=True)
    if len(said) > MOST_MESSAGES:
        display.say(f"warning: {len(said) - MOST_MESSAGES} more are in the column warnings of the rows", err=True)
    failed = {row["run"]: row for row in frame.iter_rows(named=True) if row["ended"] == "error"}
    for message, runs in Counter(row["message"] for row in failed.values()).most_common(MOST_MESSAGES):
        such = next(f"{row['instance']}, run {run}" for run, row in failed.items() if row["message"] == message)
        display.say(f"error: {runs:,} of {counted(frame.height, 'run')}, such as {such}: {message}", err=True)
    code = RED if red or len(failed) == frame.height else 0
    if quiet:
        return code
    found = summary(with_outcomes(frame)).iter_rows(named=True)
    display.show_grid(
        [HEAD, *([text_tables.shown(each[name], digits) for name, digits in SHOWN] for each in found)], ""
    )
    ends = dict(frame["ended"].value_counts().iter_rows())
    others = ", ".join(f"{count} {word}" for word, count in sorted(ends.items()) if word != "finished")
    display.say(f"runs        {frame.height}, {len(red)} red{others and f'; not finished: {others}'}")
    return code


class _Bar:
    """A progress bar with the time left, on a terminal."""

    def __init__(self, *, enabled: bool) -> None:
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[red]}"),
            TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=True),
        )  # fmt: skip
        console = Console(stderr=True)
        self._bar = Progress(*columns, console=console, disable=not (enabled and console.is_terminal))
        self._task: Any = None
        self._red = 0
        self.said = "nothing has run"

    def __enter__(self) -> _Bar:
        self._bar.__enter__()
        return self

    def __exit__(self, *ended: Any) -> None:
        self._bar.__exit__(*ended)

    def start(self, progress: Any) -> None:
        self.said = f"{progress.done} of {progress.total} runs are done"
        self._task = self._bar.add_task("runs", total=progress.total, completed=progress.before, red="")

    def row(self, row: Mapping[str, Any], progress: Any) -> None:
        self._red += bool(row["defects"])
        self.said = f"{progress.done} of {progress.total} runs are done"
        said = f"{self._red} red" if self._red else ""
        what = display.plain(f"{row['instance']} {row['solver']}").plain
        self._bar.update(self._task, completed=progress.done, red=said, description=what)
