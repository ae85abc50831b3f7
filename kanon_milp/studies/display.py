"""What people see on a terminal: results, tables, hierarchies, and what a table gives away."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from kanon_milp.errors import counted, percent, printable, without_passwords
from kanon_milp.methods.quasi_identifiers import QuasiIdentifiers
from kanon_milp.methods.result import NO_SOLVER, Result
from kanon_milp.problem.csv_files import UTF8
from kanon_milp.problem.exact import in_words
from kanon_milp.solvers.canaries import Diagnosis
from kanon_milp.studies.columns import EXAMPLES, LevelLabels
from kanon_milp.studies.comparison import NARROW, Comparison
from kanon_milp.studies.inspection import PROPOSAL, Inspection
from kanon_milp.studies.output import PAGE, as_polars, json_text
from kanon_milp.studies.pages.wording import DECIDES
from kanon_milp.studies.proposal import suppressed_everywhere

if TYPE_CHECKING:
    from kanon_milp.bounds import Certificate
    from kanon_milp.studies.families import ColumnFamily, Family
    from kanon_milp.studies.model_files import LibraryModel


WIDEST = 1000  # characters of a line
_BLANKS = re.compile(r" +(?=\n)")


def screen() -> Console:
    """Standard output: as wide as the terminal, or as COLUMNS says. Elsewhere lines are not wrapped, and no blanks fill
    them up, so that they can be searched."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Console(highlight=False)
    unfilled: Any = _Unfilled(sys.stdout)
    return Console(highlight=False, file=unfilled, width=WIDEST)


class _Unfilled:
    """A file without blanks at the ends of lines."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.encoding = getattr(file, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        self._file.write(_BLANKS.sub("", text))
        return len(text)

    def flush(self) -> None:
        self._file.flush()

    def isatty(self) -> bool:
        return False


SHOWN_GROUPS = 20
SHOWN_LABELS = 3  # of those that were told apart
SHOWN_TABLES = 10  # of a pool
SHOWN_SETS = 10  # minimum quasi-identifiers


def say(text: str, *, err: bool = False) -> None:
    """Print one line, or on standard error, with whatever came from outside made `printable`, and no password."""
    typer.echo(without_passwords(printable(text)), err=err)


def plain(text: object, style: str = "") -> Text:
    """Text for a grid as it is written: nothing in it is taken for markup, or reaches the terminal as a command."""
    return Text(printable(text), style=style)


def _facts() -> Grid:
    """A grid of names and what they are."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _columns(left: Sequence[str], right: Sequence[str] = (), folded: Sequence[str] = ()) -> Grid:
    """A table without lines: columns flush left, flush right, and such as may take several lines, in this order."""
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    for name in folded:
        table.add_column(name, overflow="fold")
    return table


def print_json(value: Any) -> None:
    """Print JSON and nothing else, in characters that standard output has."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    typer.echo(json_text(value, only_ascii=encoding.lower().replace("_", "-") not in UTF8), nl=False)


def tell_earlier(out: Path, earlier: Sequence[str], written: Sequence[Path] = ()) -> None:
    """Say on standard error, before anything runs, that a folder holds an earlier result, which will be replaced.

    written: other files that will be written; an earlier page of the result in the folder that is none of them stays.
    """
    if not earlier:
        return
    page = out / PAGE
    stays = page.is_file() and page.resolve() not in [path.resolve() for path in written]
    more = f"; {PAGE} there stays, and is about the earlier one" if stays else ""
    say(f"note: {out} holds an earlier result, which a new one will replace ({', '.join(earlier)}){more}", err=True)


def tell_removed(out: Path, earlier: Sequence[str]) -> None:
    """Say on standard error which files of an earlier result are gone, as this one has none of the kind."""
    if gone := [name for name in earlier if not (out / name).exists()]:
        say(f"note: {out}: {' and '.join(gone)} of the earlier result removed; this one has no such file", err=True)


def show_result(
    result: Result,
    title: str,
    out: Path | None,
    certificate: tuple[Path, Certificate] | None = None,
    *,
    replaced: bool = False,
    page: Path | None = None,
) -> None:
    """Print what came out and what is proven. out: where the table was written. certificate: where the proof of a bound
    was, and the proof. replaced: whether an earlier result was there. page: where the report's was written."""
    console = screen()
    described = result.as_dict()
    problem = described["problem"]
    grid = _facts()
    requirements = ", ".join(requirement.spelled for requirement in result.problem.requirements)
    recoding = problem["recoding"].replace("_", " ")
    if problem["patterns"] is not None and problem["recoding"] != "pattern_mask":
        recoding += " with a pattern mask"
    grid.add_row("problem", Text.assemble(plain(title, "bold"), plain(f": {requirements}, {recoding}")))
    if problem["decided_by"] is not None:
        grid.add_row("decides", DECIDES[problem["decided_by"]].format(problem["k"]))
    grid.add_row("table", f"{_size(problem)}, {counted(problem['t_in'], 'row type')}")
    if result.problem.group_cost is None or result.after.variables:
        grid.add_row("model", _model(result))
    colour = "green" if result.is_optimal else "red" if result.report is not None and not result.report.ok else "yellow"
    grid.add_row("result", plain(result.summary(), f"bold {colour}"))
    if result.report is not None and result.report.ok:
        report = result.report
        cells = report.n * report.m
        if result.information_loss is not None:
            grid.add_row("loss", f"{percent(result.information_loss / 100, 4)} of that of all rows as one group")
        if result.goal != "loss":
            after = any(stage.goal == "loss" for stage in result.stages[1:])
            whether = "was optimized after it" if after else "was not what was optimized"
            grid.add_row("loss", f"{in_words(report.cost)}, which {whether}")
        if result.problem.group_cost is None or report.suppressed_cells:  # others change cells without suppressing them
            share = percent(report.suppressed_cells / cells)
            grid.add_row("suppressed", f"{report.suppressed_cells:,} of {cells:,} cells ({share})")
        if lost := suppressed_everywhere(result):
            grid.add_row("lost", plain(lost))
        grid.add_row(
            "groups",
            f"{report.groups:,}, mean {float(report.mean_group):.2f} rows, smallest {report.smallest_group}, "
            f"largest {report.largest_group}",
        )
        for number, each in enumerate(() if result.pool is None else result.pool[:SHOWN_TABLES], 1):
            words = f"{in_words(each.exact_objective)}, {counted(each.report.groups, 'group')}"
            differs = f", {counted(each.rows_that_differ, 'row')} released otherwise" if number > 1 else ""
            grid.add_row(f"table {number}", f"{words}, {each.report.suppressed_cells:,} cells suppressed{differs}")
        if report.released.unit is not None:
            facts = report.released
            fewest = facts.units_exempt if report.suppressed_rows == "exempt" else facts.units_strict
            said = "none is shown" if fewest is None else f"at least {fewest} different values in each group"
            grid.add_row("units", plain(f"{facts.unit}: {said}"))
        for what in report.warnings:
            grid.add_row("warning", plain(what))
        for what in report.own:
            grid.add_row("verified by", Text(f"its own code, not by a definition of the verifier: {what}"))
    if result.levels is not None:
        heights = {name: each.height for name, each in result.problem.recoding.hierarchies.items()}
        levels = (f"{name} {level} of {heights.get(name, 1)}" for name, level in result.levels.items())
        grid.add_row("levels", plain(f"{', '.join(levels)} (0: as it was; the highest: *)"))
    grid.add_row("solver", plain(_solver(result)))
    if result.pool is not None and result.pool.message:
        grid.add_row("pool", plain(result.pool.message))
    if result.table is not None and result.message:
        grid.add_row("note", plain(result.message))
    if result.text_columns:
        grid.add_row("types", plain(f"text now, as they hold labels: {', '.join(result.text_columns)}"))
    if renamed := result.renamed_labels:
        told = [
            f'{column}: "{label}" of level {level} is released as "{text}"'
            for column, labels in renamed.items()
            for text, (label, level) in labels.items()
        ]
        rest = len(told) - SHOWN_LABELS
        more = f" and {rest} more (renamed_labels in result.json)" if rest > 0 else ""
        grid.add_row("labels", plain(f"{'; '.join(told[:SHOWN_LABELS])}{more}, since a lower level has the label too"))
    if out is not None:
        grid.add_row("written", plain(f"{out}, in place of an earlier result" if replaced else out))
    if page is not None:
        grid.add_row("report", plain(page))
    if certificate is not None:
        path, proof = certificate
        trivial = "" if proof.bound else ", which is true of every table and says nothing"
        said = f"{path}: no such table has a loss below {in_words(proof.bound)}{trivial}"
        other = "" if result.goal == "loss" else f"; it is about the loss alone, not about the {result.optimized}"
        grid.add_row("certificate", plain(said + other))
    console.print(grid)


def _model(result: Result) -> str:
    candidates = f"{result.after.candidates:,} of {result.before.candidates:,} candidates"
    if result.problem.group_cost is not None:
        candidates = "set partitioning"
    if result.after.variables:
        variables, constraints = result.after.variables, result.after.constraints
        return f"{candidates}, {counted(variables, 'variable')}, {counted(constraints, 'constraint')}"
    if result.before.candidates == 1 and result.proof not in ("optimal", "infeasible"):
        return "no model was solved"  # the groups are not of that candidate
    if _proven_by_pool(result):
        return f"{candidates}; the pool has a model of its own"
    none = "no model was needed" if result.proof in ("optimal", "infeasible") else "no model was solved"
    return f"{candidates}; {none}"


def _proven_by_pool(result: Result) -> bool:
    """Whether what is proven comes from the model of the pool alone."""
    return result.pool is not None and result.pool.proof != "none" and not result.after.variables


def _solver(result: Result) -> str:
    solver, seconds = result.solver, result.seconds
    total = f"{seconds['total']:.2f} s in all"
    if solver.name == NO_SOLVER and _proven_by_pool(result):
        return f"none for the first table (method {solver.method}), one for the pool, {total}"
    if solver.name == NO_SOLVER:
        return f"none (method {solver.method}), {total}"
    if solver.method == "milp" and not result.after.variables:
        return f"none was needed, {total}" if result.proof in ("optimal", "infeasible") else f"none was run, {total}"
    method = "" if solver.method == "milp" else f" (method {solver.method})"
    return f"{solver.name} {solver.version}".strip() + f"{method}, {total}, {seconds['solve']:.2f} s solving"


def show_groups(result: Result) -> None:
    """Print the released rows, one line a group, largest first."""
    names = list(result.problem.table.quasi_identifiers)
    symbol = result.problem.table.symbol
    frame, by = as_polars(result.table)[names], [f"c{j}" for j in range(len(names))]
    frame.columns = by  # a name such as * would be read as a pattern of names
    groups = frame.group_by(by, maintain_order=True).len("rows").sort("rows", descending=True, maintain_order=True)
    grid = Grid(title="released rows", title_justify="left")
    grid.add_column("rows", justify="right", style="cyan")
    for name in names:
        grid.add_column(plain(name))
    for *cells, size in groups.head(SHOWN_GROUPS).rows():
        shown = [plain(symbol, "dim red") if c == symbol else plain("" if c is None else c) for c in cells]
        grid.add_row(str(size), *shown)
    if groups.height > SHOWN_GROUPS:
        grid.add_row("...", f"and {groups.height - SHOWN_GROUPS} more groups")
    screen().print(grid)


def _size(described: dict[str, Any]) -> str:
    return f"{counted(described['n'], 'row')}, {counted(described['m'], 'quasi-identifier')}"


def show_row_types(summary: dict[str, Any], title: str) -> None:
    """Print the row types of a table."""
    sizes = summary["class_sizes"]
    grid = _facts()
    grid.add_row("table", plain(f"{title}: {_size(summary)}"))
    grid.add_row(
        "row types",
        f"t_in = {summary['t_in']:,}, t_in* = {summary['t_in_star']:,} (with the sensitive attributes); "
        "of a released table these are t_out and t_out*",
    )
    grid.add_row(
        "class sizes",
        f"smallest {sizes['min']}, mean {sizes['mean']:.2f}, largest {sizes['max']:,}; "
        f"{counted(sizes['unique'], 'row')} {'is' if sizes['unique'] == 1 else 'are'} unique",
    )
    domains = ", ".join(f"{name} {size}" for name, size in summary["domains"].items())
    grid.add_row("domains", plain(domains))
    screen().print(grid)


def show_quasi_identifiers(found: QuasiIdentifiers, title: str) -> None:
    """Print which columns identify."""
    console, k = screen(), found.k
    rare = found.uniqueness[-1].rare
    grid = _facts()
    grid.add_row("table", plain(f"{title}: {counted(found.rows, 'row')}, {counted(len(found.columns), 'column')}"))
    alike = f"{counted(rare, 'row')} {'is' if rare == 1 else 'are'} like fewer than {k}"
    verdict = "yes" if found.k_anonymous else f"no, {alike} (all columns together)"
    grid.add_row(f"{k}-anonymous", verdict)
    what = (
        "tell apart all rows that all columns together tell apart"
        if found.reading == "identify"
        else f"have a row that fewer than {k} are like"
    )
    shown = [", ".join(each) or "no column at all" for each in found.minimum[:SHOWN_SETS]]
    more = len(found.minimum) - len(shown)
    shown += [f"and {more:,} more"] if more else []
    for head, line in itertools.zip_longest(["minimum"], shown or ["none"], fillvalue=""):
        grid.add_row(head, plain(line))
    how_many = "all sets" if found.complete else "one set"
    grid.add_row("", f"({how_many} with the fewest columns that together {what})")
    grid.add_row("minimal", plain(", ".join(found.minimal) or "none"))
    console.print(grid)
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("columns known", overflow="fold")
    for header in ("classes", "unique rows", f"rows in fewer than {k}", "smallest class"):
        table.add_column(header, justify="right")
    for each in found.uniqueness:
        name = "all columns" if each.columns == found.columns else ", ".join(each.columns)
        cells = (
            f"{each.unique:,} ({percent(each.unique / found.rows)})",
            f"{each.rare:,} ({percent(each.rare / found.rows)})",
        )
        table.add_row(plain(name), f"{each.classes:,}", *cells, f"{each.smallest:,}")
    console.print()
    console.print(table)


def show_grid(texts: Sequence[Sequence[str]], title: str) -> None:
    """Print a header and lines of texts, complete even where they are wider than the terminal."""
    header, *lines = texts
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", title=plain(title), title_justify="left")
    for number, name in enumerate(header):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for cells in lines:
        table.add_row(*map(plain, cells))
    console = screen()
    console.width = max(console.width, console.measure(table, options=console.options.update(max_width=WIDEST)).maximum)
    console.print(table)


def show_comparison(found: Comparison, title: str) -> None:
    """Print methods side by side."""
    show_grid(found.texts(NARROW), title)
    console = screen()
    for row in found.rows:
        if row.message:
            console.print(plain(f"{row.name}: {row.message}"))


def show_models(found: Sequence[LibraryModel]) -> None:
    """Print the model library."""
    table = _columns(["model"], ["optimum"], ["what it is"])
    for each in found:
        table.add_row(plain(each.name), plain(each.optimum or "open"), plain(each.title))
    screen().print(table)


def show_families(families: Sequence[Family | ColumnFamily]) -> None:
    """Print families of generated instances."""
    table = _columns(["family"], folded=["what it is"])
    for each in families:
        table.add_row(plain(each.name), plain(each.about))
        said = [each.source, f"--size: {each.size}, default {each.default}"]
        said += [f"--set {number.name}=VALUE: {number.about}" for number in each.parameters]
        said += [f"--source: {each.reads}"] * bool(each.reads) + ["--answer imperfect"] * each.imperfect
        table.add_row("", plain("; ".join(said), "dim"))
    screen().print(table)


def diagnosis_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis as plain data."""
    return {
        "name": diagnosis.name,
        "availability": diagnosis.availability.value,
        "version": diagnosis.version,
        "location": diagnosis.location,
        "problems": list(diagnosis.problems),
    }


def show_diagnoses(found: Sequence[Diagnosis]) -> None:
    """Print one line a solver."""
    grid = Grid(box=None, pad_edge=False)
    for name in ("solver", "version", "state", "found at"):
        grid.add_column(name, overflow="fold")
    for d in found:
        if d.problems:
            state = plain("; ".join(d.problems), "red")
        elif d.availability:
            state = Text("passes the self-tests", style="green")
        else:
            state = Text(d.availability.value, style="yellow")
        grid.add_row(d.name, plain(d.version), state, plain(d.location))
    screen().print(grid)


def show_hierarchy(found: Sequence[LevelLabels], title: str, column: str, target: Path) -> None:
    """Print the levels of a hierarchy, and where it was written."""
    table = _columns([], ["level", "labels", "rows of one", "alone"], ["such as"])
    for each in found:
        rows = f"{each.smallest:,}" if each.smallest == each.largest else f"{each.smallest:,} to {each.largest:,}"
        shown = ", ".join(each.examples) + (", ..." if each.labels > EXAMPLES else "")
        what = "(the values)" if each.level == 0 else shown
        table.add_row(str(each.level), f"{each.labels:,}", rows, f"{each.alone:,}", plain(what))
    console = screen()
    console.print(plain(f'{title}: column "{column}", {counted(found[0].labels, "value")}'))
    console.print(table)
    say(f"written to {target}; use it with --hierarchies {target.parent}")


def show_inspection(found: Inspection) -> None:
    """Print what a table gives away, in tables that fit 80 columns, and no cell of it."""
    console, rows = screen(), found.rows
    console.print(plain(f"{found.source}: {counted(rows, 'row')}, {counted(len(found.columns), 'column')}", "bold"))
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("column", overflow="fold", max_width=22)
    table.add_column("values")
    for name in ("distinct", "missing", "unique rows"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("role")
    for texts in found.column_texts()[1:]:
        table.add_row(*map(plain, texts))
    console.print(table)
    if any(each.proposed for each in found.columns):
        console.print(PROPOSAL)
    console.print()
    grid = _facts()
    for head, text in found.facts:
        if head == "note" and text in found.reading:  # it was said as a warning
            continue
        grid.add_row(head, plain(text))
    console.print(grid)
    if not found.command:
        return
    console.print()
    sizes = _columns([], ["rows in a group", "groups", "rows"], [""])
    for size in found.sizes:
        if size.classes:
            share = size.rows / rows
            bar = "#" * max(1, round(30 * share))
            end = " or more" if size.most is None else f" to {size.most:,}" if size.most > size.least else ""
            sizes.add_row(f"{size.least:,}{end}", f"{size.classes:,}", f"{size.rows:,} ({percent(share)})", bar)
    console.print(sizes)
    console.print()
    console.print("A command to begin with:")
    for line in found.command.splitlines():
        console.print(plain(line), soft_wrap=True)
