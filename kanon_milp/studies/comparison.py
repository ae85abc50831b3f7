"""Several methods, and tables released by other tools, side by side on one problem."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import polars as pl

from kanon_milp.errors import InputError, KanonError, counted
from kanon_milp.methods import registry
from kanon_milp.methods.arguments import checked_options, group_numbers, row_groups
from kanon_milp.methods.result import Result
from kanon_milp.methods.solve import solve
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.problem.arguments import instance_of, listed, one_of, text, wrong
from kanon_milp.problem.column_values import numbers_of
from kanon_milp.problem.group_costs.boxes import box
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.studies.metrics import Metrics, measure
from kanon_milp.studies.pages.charts import COLOURS
from kanon_milp.system import text_tables
from kanon_milp.system.arrays import Ints
from kanon_milp.system.charts import altair, shown
from kanon_milp.system.limit import ctrl_c_sets
from kanon_milp.system.markup import grid
from kanon_milp.verify import verify
from kanon_milp.verify.check import recoded
from kanon_milp.verify.tables import MISSING_KEYS, MissingKeys


def boxes(result: Result | Problem, groups: Sequence[int] | Ints | None = None) -> Any:
    """The groups of a result, or groups of the rows of a problem, int (n,), with intervals and sets for cells, as
    Mondrian is published (LeFevre et al. 2006): `20-39` of integers, `[20, 22.5]` of decimals, `{a, b}` of texts; one
    value as itself, suppressed where one is missing.

    The groups of a method that divides the rows first are those before some of them were released alike (`parts`).
    Rows of a group are alike, so what is required of groups holds; the cells are none of the recoding's labels. Such
    tables are compared by NCP, and verified with `verify(..., cells="intervals")`. A data frame of the user's own kind.
    Raises InputError where the result has no table, and for groups of another number of rows.
    """
    if groups is not None:
        table = expect_problem(result, "boxes(..., groups)").table
        placed: RowGroups | None = row_groups(groups, table, "groups")
    else:
        instance_of(result, Result, "boxes", "the result of solve, or a problem and its groups")
        assert isinstance(result, Result)
        table, placed = result.problem.table, result.placed if result.parts is None else result.parts
    if placed is None:
        raise InputError("boxes: the result has no table")
    table, of_row = table.divided(placed.row, placed.rows), placed.group
    columns = {}
    for name in table.quasi_identifiers:
        cells = (
            pl.DataFrame({"group": of_row, "value": table.column(name)}).group_by("group").agg(pl.col("value").unique())
        )
        values = table.column(name).unique().to_list()
        numbers = numbers_of(values, "point" if table.frame.schema[name].is_numeric() else None)
        known = {} if numbers.doubt else numbers.of
        label = {group: box(values, known, table.symbol) for group, values in cells.rows()}
        columns[name] = pl.Series(name, [label[group] for group in of_row.tolist()], dtype=pl.String)
    return table.released(columns)


BASELINES = ("m_approximation", "mondrian", "mondrian_relaxed", "full_domain", "greedy", "mdav", "k_member")
METHODS = (*BASELINES, registry.AUTO)

# column of a table for people: header, name in the frame, digits; a terminal of 80 characters has room for the first
SHOWN = (
    ("loss", "objective", 0),
    ("gap %", "gap", 2),
    ("own proof", "proof", 0),  # of this method alone; the gap is to the best bound of all
    ("seconds", "seconds", 1),
    ("groups", "groups", 0),
    ("NCP", "certainty_penalty", 3),
    ("usefulness", "usefulness", 3),
    ("largest group", "h_max", 0),
    ("mean group", "h_avg", 3),
    ("AECS", "class_size", 3),
    ("discernibility", "discernibility", 0),
    ("suppressed cells", "suppressions", 0),
    ("GCP %", "box_penalty", 3),
    ("IL %", "information_loss", 3),
)
NARROW = 6
FOREIGN = (
    "cells are intervals, sets or prefixes; the loss is that of the table with the least general label that covers each"
)
MATCHED = "verified with missing keys that match any value; the bound is not for that reading"
CUT = "interrupted: the table is the best so far"
NOT_RUN = "not run"
NOTHING = "interrupted before it had found a table"


@dataclass(frozen=True)
class Compared:
    """One method, or one table of another tool.

    objective, bound: exact, in the problem's units; bound: what this method has proven. seconds: None for a table that
    was given. message: why there is no table, that somebody has ended the method, or what the verifier says of a table
    that was given; "" otherwise. interrupted: somebody has ended it before its time, or before it began. One that had
    found nothing then has no loss: the table with all rows alike, which is always at hand, is no answer of its own.
    """

    name: str
    objective: Fraction | None
    bound: Fraction | None
    proof: str
    seconds: float | None
    metrics: Metrics | None
    message: str = ""
    interrupted: bool = False

    @property
    def note(self) -> str:
        """What an interruption has made of it: "interrupted", "not run", or ""."""
        begun = self.seconds is not None or self.metrics is not None
        return "" if not self.interrupted else "interrupted" if begun else NOT_RUN


@dataclass(frozen=True)
class Comparison(text_tables.Tabular):
    """Methods and tables in the order in which they were asked for.

    bound: the best bound on the least loss that a method has proven, in the problem's units; None if there is none.
    """

    problem: Problem
    rows: tuple[Compared, ...]

    @property
    def bound(self) -> Fraction | None:
        """The best proven lower bound."""
        return max((row.bound for row in self.rows if row.bound is not None), default=None)

    @property
    def interrupted(self) -> bool:
        """Whether somebody has ended it: some method had less than its time, or was not run."""
        return any(row.interrupted for row in self.rows)

    def gap(self, row: Compared) -> Fraction | None:
        """How far a loss is above the best bound, as a share of the loss: what could be saved at most."""
        if row.objective is None or self.bound is None:
            return None
        return (row.objective - self.bound) / row.objective if row.objective else Fraction(0)

    def as_dict(self) -> dict[str, Any]:
        """As plain data: what `kanon-milp compare --json` prints."""
        bound = None if self.bound is None else float(self.bound)
        return {"bound": bound, "interrupted": self.interrupted, "methods": self.frame().to_dicts()}

    def frame(self) -> pl.DataFrame:
        """A row a method: name, loss, bound, gap to the best bound as a share, proof, seconds, all measures, whether
        it was interrupted, and the message."""
        found: list[dict[str, object]] = []
        for row in self.rows:
            gap = self.gap(row)
            known: dict[str, object] = {
                "method": row.name,
                "objective": None if row.objective is None else float(row.objective),
                "objective_exact": None if row.objective is None else str(row.objective),
                "bound": None if row.bound is None else float(row.bound),
                "gap": None if gap is None else float(gap),
                "proof": row.proof,
                "seconds": row.seconds,
            }
            known |= {} if row.metrics is None else row.metrics.as_dict()
            found.append({**known, "interrupted": row.interrupted, "message": row.message})
        return pl.DataFrame(found, infer_schema_length=None)

    def to_frame(self) -> Any:
        """The same as `frame`, in the user's own kind of data frame."""
        return self.problem.table.own_kind(self.frame())

    def plot(self) -> Any:
        """Losses as bars, and the best bound, as an altair chart.

        Raises InputError where altair is not installed (extra `report`), and where no method has a table.
        """
        losses = [None if row.objective is None else float(row.objective) for row in self.rows]
        names = [f"{row.name} ({row.note})" if row.note else row.name for row in self.rows]
        return _chart(names, losses, None if self.bound is None else float(self.bound))

    def to_svg(self) -> str:
        """The picture as SVG."""
        altair("a picture of a comparison", "vl_convert")
        out = io.StringIO()
        self.plot().save(out, format="svg")
        return out.getvalue()

    def _repr_html_(self) -> str:
        notes = "; ".join(f"{row.name}: {row.message}" for row in self.rows if row.message)
        return grid(f"Methods for {self.problem.title}", self.texts(), notes)

    def texts(self, columns: int = len(SHOWN)) -> list[list[str]]:
        """A header, a row a method, and the bound: cells as text. columns: how many of `SHOWN`. A last column has notes
        where somebody has ended the comparison."""
        shown = SHOWN[:columns]
        table = [["method", *(header for header, _, _ in shown)]]
        for row in self.frame().to_dicts():
            for share in ("gap", "box_penalty"):
                row[share] = None if row.get(share) is None else 100 * row[share]
            table.append([str(row["method"]), *(text_tables.shown(row.get(name), digits) for _, name, digits in shown)])
        if self.bound is not None:
            table.append(["best bound", text_tables.shown(float(self.bound), 0), *[""] * (len(shown) - 1)])
        if self.interrupted:
            notes = ["note", *(row.note for row in self.rows), *[""] * (self.bound is not None)]
            table = [[*cells, note] for cells, note in zip(table, notes, strict=True)]
        return table


def compare(
    problem: Problem,
    methods: Sequence[str] | None = None,
    *,
    released: Mapping[str, Any] | None = None,
    partitions: Mapping[str, Sequence[int] | Ints] | None = None,
    boxes: bool = False,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    on_method: Callable[[str], None] | None = None,
    missing_keys: MissingKeys = "own",
    row_id: str | None = None,
) -> Comparison:
    """Run several methods on a problem of least loss, and measure tables that other tools have released for it.

    methods: names as for `solve`; one that does not support the problem is a row that says why. Default: those of
    m_approximation, mondrian, mondrian_relaxed, full_domain, greedy, mdav, k_member and auto that support it.
    released: name and data frame. Tables of other tools may have cells such as `20-39` or `{a, b}` (as in `verify(...,
    cells="intervals")`). Their loss is that of the table in which each such cell is the least general label of the
    problem's recoding that covers it, so that the bound holds for it.
    partitions: name and the group of each row, int (n,), of tools that divide the rows and release nothing, such as
    microaggregation; measured as boxes. boxes: measure the groups of each method as boxes, too (`boxes`), which compare
    by NCP.
    time_limit: seconds for each method. on_method: called with the name of each method before it runs.
    row_id: a column that matches rows of these tables, as in `verify`. missing_keys: the reading in which the risks of
    all tables are measured; bounds and losses are those of "own", and a table that only "match" verifies has no loss.
    Ctrl-C ends the method that runs, and those after it are not run; their rows say so, and one without a table has no
    loss. Raises InputError for another objective, and for unknown methods.
    """
    expect_problem(problem, "compare")
    if problem.objective != "loss":
        raise InputError(f"compare measures losses, but the objective is {problem.objective}")
    checked_options(problem, time_limit, threads, seed, 0.0, None, None, None)
    if methods is None:
        methods = [name for name in METHODS if name == registry.AUTO or not registry.refusal(name, problem)]
    methods = [registry.known_name(name) for name in listed(methods, "methods", "a list of names of methods")]
    if released is not None and not isinstance(released, Mapping):
        raise wrong("released", "a mapping from names to data frames", released)
    if partitions is not None and not isinstance(partitions, Mapping):
        raise wrong("partitions", "a mapping from names to the group of each row", partitions)
    instance_of(boxes, bool, "boxes", "True or False")
    one_of(missing_keys, MISSING_KEYS, "missing_keys")
    if row_id is not None:
        text(row_id, "row_id")
    if on_method is not None and not callable(on_method):
        raise wrong("on_method", "a function of the name of a method", on_method)
    # first, as one that cannot be measured is an error that should not cost the time of all methods
    given = [
        _given(problem, text(name, "released: a name"), frame, missing_keys, row_id)
        for name, frame in (released or {}).items()
    ]
    given += [_divided(problem, name, groups, missing_keys) for name, groups in (partitions or {}).items()]
    rows: list[Compared] = []
    interrupted = threading.Event()
    options = {"time_limit": time_limit, "threads": threads, "seed": seed, "interrupt": interrupted}
    with ctrl_c_sets(interrupted):
        for name in methods:
            if interrupted.is_set():
                rows.append(Compared(name, None, None, "none", None, None, f"{NOT_RUN}: interrupted", interrupted=True))
                continue
            if on_method is not None:
                on_method(name)
            rows += _solved(problem, name, options, missing_keys, as_boxes=boxes)
    return Comparison(problem, (*rows, *given))


def _solved(
    problem: Problem, name: str, options: Mapping[str, Any], missing_keys: MissingKeys, *, as_boxes: bool
) -> list[Compared]:
    try:
        result: Result = solve(problem, method=name, **options)
    except KanonError as error:  # the problem is not for it, or too large
        return [Compared(name, None, None, "none", None, None, str(error))]
    seconds = result.seconds["total"] - result.seconds["read"]
    if result.stop_reason == "interrupted":
        found = [_ended(problem, name, result, seconds, missing_keys)]
    else:
        metrics = None if result.table is None else measure(problem, result.table, missing_keys=missing_keys)
        message = "" if result.table is not None else result.message or result.stop_reason
        found = [Compared(name, result.exact_objective, result.exact_bound, result.proof, seconds, metrics, message)]
    if as_boxes and result.groups is not None and found[0].metrics is not None:
        other, cut = _given(problem, f"{name} as boxes", boxes(result), missing_keys), found[0].interrupted
        message = "; ".join(each for each in (CUT if cut else "", other.message) if each)
        found.append(replace(other, message=message, interrupted=cut))
    return found


def _ended(problem: Problem, name: str, result: Result, seconds: float, missing_keys: MissingKeys) -> Compared:
    """A method that somebody has ended: with the table that it had, but for the one with all rows alike, and with the
    bound that it had, but for 0: these two are there before any method begins."""
    bound = result.exact_bound or None
    proof = "none" if bound is None else result.proof
    if result.table is None or result.groups is None or (result.groups == 1).all():
        return Compared(name, None, bound, proof, seconds, None, NOTHING, interrupted=True)
    metrics = measure(problem, result.table, missing_keys=missing_keys)
    return Compared(name, result.exact_objective, bound, proof, seconds, metrics, CUT, interrupted=True)


def _given(
    problem: Problem,
    name: str,
    frame: Any,
    missing_keys: MissingKeys = "own",
    row_id: str | None = None,
    partition: Ints | None = None,
) -> Compared:
    groups = None if partition is None else partition.tolist()
    try:
        report, message = verify(problem, frame, groups, row_id=row_id), ""
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if not report.ok and problem.recoding.mask is None:
        read = verify(problem, frame, groups, cells="intervals", row_id=row_id)
        if read.ok:  # the loss is that of a table of ours, so that the bound holds for it, too
            report, message = verify(problem, recoded(problem, frame, row_id), row_id=row_id), FOREIGN
            message += "" if report.ok else f", which is not verified: {report.violations[0]}"
        elif len(read.violations) <= len(report.violations):
            report = read  # which blames no more cells: labels are read, too
    if not report.ok:
        message = message or f"not verified: {report.violations[0]}"
        if missing_keys == "match" and problem.recoding.mask is None:
            matched = verify(problem, frame, cells="intervals", missing_keys="match", row_id=row_id)
            message = f"{MATCHED}, not otherwise: {report.violations[0]}" if matched.ok else message
    elif report.dropped_rows:
        message = f"{counted(report.dropped_rows, 'row')} dropped: no loss, as the bound is on tables of all rows"
    loss = report.cost if report.ok and not report.dropped_rows else None
    measured = measure(problem, frame, missing_keys=missing_keys, row_id=row_id, partition=partition)
    return Compared(name, loss, None, "given", None, measured, message)


def _divided(problem: Problem, name: str, groups: Sequence[int] | Ints, missing_keys: MissingKeys) -> Compared:
    numbers = group_numbers(groups, len(problem.table.rows_of), f"partitions: {text(name, 'partitions: a name')}")
    return _given(problem, name, boxes(problem, numbers), missing_keys, partition=numbers)


WIDTH, BAR = 460, 26
ROOM = 1.12  # for the number at the end of the longest bar


def _chart(names: Sequence[str], losses: Sequence[float | None], bound: float | None) -> Any:
    """An altair chart of methods, in this order, and their losses; those without one have no bar.

    Raises InputError where no method has a table, and where altair is not installed (extra `report`).
    """
    alt = altair("a picture of a comparison")
    data = pl.DataFrame({"method": list(names), "loss": list(losses)}, schema={"method": pl.String, "loss": pl.Float64})
    if data["loss"].null_count() == data.height:
        raise InputError("there is nothing to draw: no method has a table")
    y = alt.Y("method:N", sort=None, title=None)
    most = max(loss for loss in data["loss"] if loss is not None)
    axis = alt.Axis(format=",.6~r", gridColor="#e8e8e8", tickCount=6)
    x = alt.X(
        "loss:Q", title="information lost", axis=axis, scale=alt.Scale(domain=[0, ROOM * (most or 1)], nice=False)
    )
    base = alt.Chart(data)
    bars = base.mark_bar(color=COLOURS[0]).encode(x, y)
    words = base.mark_text(align="left", dx=4).encode(alt.X("loss:Q"), y, text=alt.Text("loss:Q", format=",.6~r"))
    layers = [bars, words.transform_filter("isValid(datum.loss)")]
    if bound is not None:
        at = pl.DataFrame({"bound": [bound], "what": [f"no table loses less than {bound:,g}"]})
        line = alt.Chart(at).mark_rule(color=COLOURS[1], strokeDash=[4, 3], strokeWidth=2)
        scale = alt.Scale(range=[COLOURS[1]])
        layers.append(
            line.encode(
                x="bound:Q", color=alt.Color("what:N", title="", scale=scale, legend=alt.Legend(orient="bottom"))
            )
        )
    return shown(alt.layer(*layers).properties(width=WIDTH, height=alt.Step(BAR)))
