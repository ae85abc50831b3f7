"""`kanon-milp bench`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kanon_milp.cli import options
from kanon_milp.cli.help import Command, Group
from kanon_milp.cli.interrupts import Interrupted
from kanon_milp.errors import counted
from kanon_milp.studies import display
from kanon_milp.system import text_tables

RED = 1
"""Exit code: an answer is wrong, or there is none."""
MOST_MESSAGES = 3  # of runs that failed, and of files
HEAD = ("setting", "runs", "solved", "red", "mean s", "/best", "PAR10 s", "/best", "integral s")
SHOWN = (
    ("setting", 0), ("runs", 0), ("solved", 0), ("red", 0), ("mean", 2), ("mean_ratio", 2), ("par10", 2),
    ("par10_ratio", 2), ("integral", 2),
)  # fmt: skip


class _Commands(Group):
    """`bench STUDY.toml` beside `bench report DIR`: what is no command is a study."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the hidden command before a study."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


bench = typer.Typer(
    cls=_Commands,
    help="Run a study, and check every answer: bench STUDY.toml.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@bench.command("run", cls=Command)
def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study file.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; default out/bench/NAME.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Run only what is missing in the folder.")] = False,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="RUN", help="Repeat this run here, and print its row as JSON.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the runs, and run nothing.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a study; what is no command after `bench` is one.

    Exit codes: 0 all answers agree; 1 some answer is wrong (a red row), or every run failed; 2 bad usage or input; 5
    interrupted.
    """
    from kanon_milp.studies.bench.plan import plan
    from kanon_milp.studies.bench.results import default_folder
    from kanon_milp.studies.bench.running import run_one, run_study
    from kanon_milp.studies.bench.study import read_study
    from kanon_milp.studies.bench.supervisor import check_system

    found = read_study(study)
    if listed:
        for each in plan(found):
            words = (each.run, each.instance, each.solver, each.method, each.formulation)
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


@bench.command("report", cls=Command)
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study's results.")],
    quiet: options.Quiet = False,
) -> None:
    """Write the page of a study: report.html.

    Its pictures (SVG, PDF) and tables (CSV, LaTeX) go beside it.
    """
    from kanon_milp.studies.bench.checks import judged
    from kanon_milp.studies.bench.results import read_folder
    from kanon_milp.studies.pages.bench_page import write_bench_page

    frame = judged(read_folder(folder))
    written, *_ = write_bench_page(frame, folder / "report.html")
    code = _show(frame, quiet=quiet)
    if not quiet:
        display.say(f"written     {written}, pictures and tables beside it")
    raise typer.Exit(code)


def _show(frame: Any, *, quiet: bool) -> int:
    """The red rows and what failed, then the summary. Returns the exit code."""
    from kanon_milp.studies.statistics import summary, with_outcomes

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
        """The study begins, or goes on."""
        self.said = f"{progress.done} of {progress.total} runs are done"
        self._task = self._bar.add_task("runs", total=progress.total, completed=progress.before, red="")

    def row(self, row: Mapping[str, Any], progress: Any) -> None:
        """A run has ended."""
        self._red += bool(row["defects"])
        self.said = f"{progress.done} of {progress.total} runs are done"
        said = f"{self._red} red" if self._red else ""
        what = display.plain(f"{row['instance']} {row['solver']}").plain
        self._bar.update(self._task, completed=progress.done, red=said, description=what)
