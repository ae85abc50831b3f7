"""One problem for many parameters: what each costs, with a certified band around what is not proven optimal.

A table for stricter parameters is one for looser ones, and a bound for looser parameters is one for stricter ones: no
run is left with less than its neighbours know. So along each parameter losses and bounds rise, whatever the limits.
Weights of columns are swept as well, to see what it would cost to lose less in one of them: losses at different weights
are not comparable, so there each row has what every column keeps and loses at the problem's own weights.
"""

from __future__ import annotations

import concurrent.futures as cf
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import polars as pl

from kanon_milp.errors import InputError
from kanon_milp.methods import registry
from kanon_milp.methods.arguments import checked_options, count
from kanon_milp.methods.lexicographic import column_loss
from kanon_milp.methods.progress import live
from kanon_milp.methods.result import Result
from kanon_milp.methods.solve import solve
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.problem.arguments import by_column, instance_of, listed, text, wrong
from kanon_milp.problem.exact import exact_number, in_words, plain
from kanon_milp.problem.group_recoding import refuse_unknown
from kanon_milp.problem.privacy.base import INTEGER
from kanon_milp.problem.privacy.registry import REQUIREMENTS, swept_kinds
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.studies.pages.charts import COLOURS
from kanon_milp.system import text_tables
from kanon_milp.system.charts import altair, shown
from kanon_milp.system.limit import ctrl_c_sets
from kanon_milp.system.markup import grid
from kanon_milp.system.worker_pool import Pool, open_pool
from kanon_milp.verify import verify
from kanon_milp.verify.tables import open_released, text_columns

MAX_GROUPS = "max_groups"  # the one side constraint that is swept
WEIGHT = "weight of "  # before the name of a column, whose weight is swept
LOOK = 0.2  # seconds between two looks at whether somebody wants an end


@dataclass(frozen=True, init=False)
class Setting:
    """The parameters that are swept, exact, by the letters of their requirements, such as `Setting(k=5)`, and
    max_groups.

    Each is an attribute as well: an integer or a fraction, None for one that is not swept.
    """

    values: tuple[tuple[str, Fraction], ...]

    def __init__(self, **values: Fraction | int) -> None:
        weights = [name for name in values if name.startswith(WEIGHT)]
        unknown = values.keys() - {*swept_names(), *weights}
        if unknown:
            raise TypeError(f"no requirement is swept by {', '.join(sorted(unknown))}")
        given = ((letter, Fraction(values[letter])) for letter in (*swept_names(), *weights) if letter in values)
        object.__setattr__(self, "values", tuple(given))

    def __getattr__(self, letter: str) -> Any:
        if letter == "values" or not _is_swept(letter):
            raise AttributeError(letter)
        value = self.given.get(letter)
        return int(value) if value is not None and is_integer(letter) else value

    @property
    def given(self) -> dict[str, Fraction]:
        """The parameters that are swept."""
        return dict(self.values)

    @property
    def name(self) -> str:
        """Such as `k=5,l=3/2`."""
        return ",".join(f"{name}={value}" for name, value in self.given.items())

    @property
    def shown(self) -> str:
        """The same for people, such as `k=5,l=1.5`."""
        return ",".join(f"{name}={in_words(value)}" for name, value in self.given.items())

    def as_dict(self) -> dict[str, Any]:
        """As plain data; fractions exact, as text. `max_groups` only where it is swept."""
        names = [*swept_kinds(), *self.given.keys() - swept_kinds().keys()]
        values = {letter: getattr(self, letter) for letter in names}
        return {letter: str(value) if isinstance(value, Fraction) else value for letter, value in values.items()}

    def looser_than(self, other: Setting) -> bool:
        """Whether each table for the other setting is one for this, and loses as much; true for itself."""
        return self.weights == other.weights and self.has_tables_of(other)

    def has_tables_of(self, other: Setting) -> bool:
        """Whether each table for the other setting is one for this, whatever it loses."""
        return all(stricter(name) * (other.given[name] - value) >= 0 for name, value in self.given.items())

    @property
    def weights(self) -> dict[str, Fraction]:
        """Of the columns whose weights are swept."""
        return {name.removeprefix(WEIGHT): value for name, value in self.values if name.startswith(WEIGHT)}

    def of(self, problem: Problem) -> Problem:
        """The problem with these parameters in place of its own; its other requirements stay as they are."""
        assert isinstance(problem.privacy, tuple)
        privacy: list[Any] = list(problem.privacy)
        for letter in (letter for letter in self.given if letter in REQUIREMENTS):
            kind, value = REQUIREMENTS[letter], {letter: getattr(self, letter)}
            same = (at for at, each in enumerate(privacy) if isinstance(each, kind))
            own = (at for at in same if getattr(privacy[at], "quasi_identifiers", None) is None)
            if (at := next(own, None)) is None:  # k of a set of quasi-identifiers stays
                privacy.append(kind(**value))
            else:
                privacy[at] = replace(privacy[at], **value)
        most = problem.max_groups if self.max_groups is None else self.max_groups
        name, recoding = f"{problem.title}, {self.name}", problem.recoding
        if self.weights:
            recoding = replace(recoding, weights={**recoding.weights, **self.weights})
        return replace(problem, privacy=privacy, recoding=recoding, max_groups=most, name=name)


@dataclass(frozen=True, eq=False)
class Run:
    """What one setting's own run has given. objective, bound: exact. groups: int64 (n,), of its verified table.

    baselines: the loss of each method to compare with, None where it has no table, and where somebody has
    ended it. interrupted: somebody has ended the setting or a baseline before its time, so that not all is there that
    could be.
    """

    setting: Setting
    objective: Fraction | None
    bound: Fraction | None
    proof: str
    seconds: float
    table: Any | None = None
    groups: RowGroups | None = None
    baselines: Mapping[str, Fraction | None] = field(default_factory=dict)
    interrupted: bool = False


@dataclass(frozen=True)
class SweepRow:
    """A setting with the best that is known of it: from its own run, or from those of other settings.

    table: the setting whose run gave the table; bounded_by: the one whose run proved the bound. seconds: of its own
    run. interrupted: somebody has ended that, or one of its baselines, which is missing then. columns: where weights
    are swept, column → its loss at the problem's own weights, and the share of its cells that are kept as they were.
    """

    setting: Setting
    objective: Fraction | None
    bound: Fraction | None
    proof: str
    seconds: float
    table: Setting | None
    bounded_by: Setting | None
    baselines: Mapping[str, Fraction | None] = field(default_factory=dict)
    interrupted: bool = False
    columns: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)

    def __getattr__(self, letter: str) -> Any:
        """A parameter of the setting as in the data frame: k is an integer, l and t are text such as "3/2"."""
        if letter == "setting" or not _is_swept(letter):
            raise AttributeError(letter)
        return self.setting.as_dict().get(letter)

    @property
    def gap(self) -> float | None:
        """(objective - bound) / objective; None where one of them is missing."""
        if self.objective is None or self.bound is None:
            return None
        return float((self.objective - self.bound) / self.objective) if self.objective else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As plain data, as `kanon-milp sweep --json` prints it."""
        return {
            **self.setting.as_dict(),
            "objective": plain(self.objective),
            "bound": plain(self.bound),
            "gap": self.gap,
            "proof": self.proof,
            "seconds": round(self.seconds, 3),
            "table": None if self.table is None else self.table.name,
            "bounded_by": None if self.bounded_by is None else self.bounded_by.name,
            "interrupted": self.interrupted,
            **{name: plain(value) for name, value in self.baselines.items()},
            **self._columns(),
        }

    def _columns(self) -> dict[str, Any]:
        """The loss of each column, that of all, and the shares that are kept; only where weights are swept."""
        if not self.setting.weights:
            return {}
        if not self.columns:
            return {"own_loss": None, "lost": None, "kept": None}
        return {
            "own_loss": plain(sum((loss for loss, _ in self.columns.values()), Fraction(0))),
            "lost": {name: plain(loss) for name, (loss, _) in self.columns.items()},
            "kept": {name: float(kept) for name, (_, kept) in self.columns.items()},
        }


@dataclass(frozen=True)
class Sweep(text_tables.Tabular):
    """All settings that were run, in the order in which they were asked for.

    interrupted: somebody has ended the sweep; settings are missing, or the last one had less than its time. asked: all
    settings that were asked for.
    """

    problem: Problem
    rows: tuple[SweepRow, ...]
    interrupted: bool = False
    asked: tuple[Setting, ...] = ()

    @property
    def measured(self) -> list[str]:
        """The baselines that were measured."""
        return list(dict.fromkeys(name for row in self.rows for name in row.baselines))

    def frame(self) -> pl.DataFrame:
        """A row a setting: k, l, t, objective, bound, gap, proof, seconds, whose table and bound, whether its run
        was interrupted, baselines; where weights are swept, also what each column loses (`lost NAME`) and keeps (`kept
        NAME`)."""
        rows = []
        for row in self.rows:
            told = row.as_dict()
            for what in ("lost", "kept"):
                told.update({f"{what} {name}": value for name, value in (told.pop(what, None) or {}).items()})
            rows.append(told)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_frame(self) -> Any:
        """The same as `frame`, in the user's own kind of data frame."""
        return self.problem.table.own_kind(self.frame())

    def plot(self) -> Any:
        """Loss against the parameter that is swept, with the certified band below it, as an altair chart; where weights
        are swept, the share of cells that each column keeps."""
        if any(row.setting.weights for row in self.rows):
            return _kept_chart(self.frame())
        return _chart(self.frame(), self.measured)

    def _repr_html_(self) -> str:
        return grid(f"Sweep of {self.problem.title}", self.texts())

    def texts(self) -> list[list[str]]:
        """A header and a row a setting: cells as text. A last column has notes where a row's run was interrupted."""
        swept = list(dict.fromkeys(name for row in self.rows for name in row.setting.given))
        columns = list(dict.fromkeys(name for row in self.rows for name in row.columns))
        kept = [f"{name} kept %" for name in columns]
        table = [[*swept, "loss", "bound", "gap %", "proof", "seconds", *kept, *self.measured]]
        for row in self.rows:
            gap = None if row.gap is None else 100 * row.gap
            losses = (row.objective, row.bound, *(row.baselines.get(name) for name in self.measured))
            objective, bound, *others = (text_tables.shown(plain(loss)) for loss in losses)
            parameters = [in_words(row.setting.given[name]) for name in swept]
            known = [objective, bound, text_tables.shown(gap, 2), row.proof, text_tables.shown(row.seconds, 1)]
            shares = [text_tables.shown(float(100 * row.columns[n][1]) if row.columns else None, 1) for n in columns]
            table.append([*parameters, *known, *shares, *others])
        if any(row.interrupted for row in self.rows):
            notes = ["note", *("interrupted" if row.interrupted else "" for row in self.rows)]
            table = [[*cells, note] for cells, note in zip(table, notes, strict=True)]
        return table


def sweep(
    problem: Problem,
    *,
    method: str = registry.AUTO,
    baselines: Sequence[str] = (),
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    processes: int = 1,
    dask: str | None = None,
    known: Sequence[Run] = (),
    progress: bool = False,
    on_run: Callable[[Run, int, int], None] | None = None,
    weights: Mapping[str, Iterable[Any]] | None = None,
    **swept: Iterable[Any] | None,
) -> Sweep:
    """Solve a problem of least loss for all combinations of the given parameters.

    swept: values of k, l, t, max_groups, or what a requirement of your own declares, in place of the problem's own.
    weights: column → weights in place of its own, to see what each column would keep and lose.
    method, time_limit (seconds for each setting), threads, seed: as for `solve`. The strictest settings come first,
    since their tables are starts for the looser ones. baselines: names of methods whose tables are measured as well.
    processes: settings at a time, on this machine; dask: address of a scheduler on whose workers they run instead.
    known: earlier runs, which are not repeated; the result has them even if their values are not among the given ones.
    progress: show how many are done in a live line, on a terminal or in a notebook. on_run: called with each new run,
    how many are done and of how many. Ctrl-C ends what runs; the rest is left out, and so is the loss of a baseline
    that was cut short. Raises InputError for other objectives and for unknown parameters.
    """
    expect_problem(problem, "sweep")
    if unknown := swept.keys() - set(swept_names()):
        raise TypeError(f"sweep() got an unexpected keyword argument {min(unknown)!r}")
    if problem.objective != "loss":
        raise InputError(f"sweep measures losses, but the objective is {problem.objective}")
    checked_options(problem, time_limit, threads, seed, 0.0, None, None, None)
    for name in (method, *listed(baselines, "baselines", "a list of names of methods")):
        registry.known_name(name)
    for run in listed(known, "known", "a list of runs"):
        instance_of(run, Run, "known", "runs of a sweep")
    if dask is not None:
        text(dask, "dask, the address of a scheduler")
    if on_run is not None and not callable(on_run):
        raise wrong("on_run", "a function of a run and two numbers", on_run)
    asked = settings_of(problem, swept, weights, "sweep")
    runs = {run.setting: run for run in known if run.setting.given.keys() == asked[0].given.keys()}
    if more := [setting for setting in runs if setting not in asked]:
        asked = sorted([*asked, *more], key=lambda setting: tuple(setting.given.values()))
    left = [setting for setting in strictest_first(asked) if setting not in runs]
    options = {"method": method, "time_limit": time_limit, "threads": threads, "seed": seed}
    with (
        live(progress) as line,
        ctrl_c_sets(None) as interrupted,
        open_pool(count(processes, "processes"), dask) as pool,
    ):
        if line is not None:
            line.stage(f"{len(runs)} of {len(asked)} settings")
        for run in _runs(problem, left, runs, pool, options, tuple(baselines), interrupted):
            runs[run.setting] = run
            if line is not None:
                line.stage(f"{len(runs)} of {len(asked)} settings")
            if on_run is not None:
                on_run(run, len(runs), len(asked))
    there = [runs[setting] for setting in asked if setting in runs]
    ended = len(there) < len(asked) or any(run.interrupted for run in there)
    return Sweep(problem, combined(problem, there), ended, tuple(asked))


def swept_names() -> list[str]:
    """What can be swept."""
    return [*swept_kinds(), MAX_GROUPS]


def _is_swept(name: str) -> bool:
    return name.startswith(WEIGHT) or name in swept_names()


def is_integer(letter: str) -> bool:
    """Whether the parameter that a requirement is asked for by is an integer."""
    return letter == MAX_GROUPS or (letter in REQUIREMENTS and REQUIREMENTS[letter].parameters[letter].types == INTEGER)


def stricter(letter: str) -> int:
    """1 where larger values ask for more, -1 where smaller ones do, 0 where they ask for the same."""
    if letter == MAX_GROUPS or letter.startswith(WEIGHT):
        return -1 if letter == MAX_GROUPS else 0
    swept = REQUIREMENTS[letter].swept
    assert swept is not None
    return swept.stricter


def settings_of(
    problem: Problem, swept: Mapping[str, Any], weights: Mapping[str, Iterable[Any]] | None, what: str
) -> list[Setting]:
    """All combinations of values and weights, each of which the problem can have. what: asks for them, for errors."""
    given = {} if weights is None else by_column(weights, f"{what}: weights", lambda each, _: each)
    refuse_unknown({f"{what}: weights": given}, problem.table.quasi_identifiers)
    if given and problem.cost_bound is not None:
        raise InputError(f"{what}: weights: a bound on the loss has another meaning at other weights; leave it out")
    asked = settings({**swept, **{f"{WEIGHT}{name}": values for name, values in given.items()}}, what)
    for setting in asked:
        setting.of(problem)  # an error of one of them, before any of them is taken
    return asked


def settings(swept: Mapping[str, Iterable[Any] | None], what: str = "sweep") -> list[Setting]:
    """All combinations. Raises InputError where nothing is swept, or a value is no number."""
    found: dict[str, list[Any]] = {}
    for name in (*swept_names(), *(name for name in swept if name.startswith(WEIGHT))):
        if (values := swept.get(name)) is None:
            continue
        known = REQUIREMENTS[name].swept if name in REQUIREMENTS else None
        exact = [
            known.named[value]
            if known and isinstance(value, str) and value in known.named
            else exact_number(value, name)
            for value in listed(values, f"{what}: {name}", "a list of values")
        ]
        if not exact:
            raise InputError(f"{what}: {name}: no value is given")
        if is_integer(name) and any(value.denominator > 1 for value in exact):
            raise InputError(f"{what}: {name}: an integer is expected")
        found[name] = list(dict.fromkeys(exact))
    if not found:
        *others, last = swept_names()
        raise InputError(f"{what}: name what is swept: {', '.join(others)}, {last} or weights")
    return [Setting(**dict(zip(found, values, strict=True))) for values in itertools.product(*found.values())]


def strictest_first(asked: Sequence[Setting]) -> list[Setting]:
    """In an order in which each setting comes after all that are stricter."""
    return sorted(asked, key=lambda each: [-stricter(name) * value for name, value in each.given.items()])


def solve_setting(
    problem: Problem,
    setting: Setting,
    start: RowGroups | None,
    options: Mapping[str, Any],
    baselines: Sequence[str],
    interrupt: threading.Event | None = None,
) -> Run:
    """One setting's own run, and its baselines; None for those that somebody has ended, or that did not begin."""
    began, here = time.perf_counter(), setting.of(problem)
    result: Result = solve(here, **options, start=start, interrupt=interrupt)
    seconds = time.perf_counter() - began
    ended = result.stop_reason == "interrupted"
    losses: dict[str, Fraction | None] = {}
    for name in baselines:
        if ended or (interrupt is not None and interrupt.is_set()):
            losses[name], ended = None, True
            continue
        try:
            other = solve(here, **{**options, "method": name}, interrupt=interrupt)
        except InputError:  # the problem is not for it, or too large
            losses[name] = None
            continue
        ended = other.stop_reason == "interrupted"
        losses[name] = None if ended else other.exact_objective  # what it had by then is not what the method gives
    objective = result.exact_objective if result.verified else None
    known = (objective, result.exact_bound, result.proof, seconds, result.table, result.placed)
    return Run(setting, *known, losses, ended)


def combined(problem: Problem, runs: Sequence[Run]) -> tuple[SweepRow, ...]:
    """Each setting with the best table of all stricter ones, verified again for it, and the best bound of all looser
    ones. A bound above a table that is valid for its setting is refuted, as is "infeasible" where there is one."""
    tables = [_table(problem, run, runs) for run in runs]
    proofs = [
        run
        for run, (objective, _) in zip(runs, tables, strict=True)
        if objective is None or not (run.proof == "infeasible" or (run.bound is not None and run.bound > objective))
    ]
    released = {run.setting: run for run in runs}
    found = []
    for run, (objective, table) in zip(runs, tables, strict=True):
        row = _row(run, objective, table, proofs)
        weighed = table is not None and run.setting.weights
        found.append(replace(row, columns=_columns(problem, released[table])) if weighed and table else row)
    return tuple(found)


def _columns(problem: Problem, run: Run) -> dict[str, tuple[Fraction, Fraction]]:
    """What each column of a table loses at the problem's own weights, and the share of its cells that are as they
    were."""
    table, found = problem.table, {}
    if run.groups is not None:  # a row of a frequency table may be released in several
        table = table.divided(run.groups.row, run.groups.rows)
    after = text_columns(open_released(run.table, table), table.quasi_identifiers)
    for name in table.quasi_identifiers:
        same = table.keys[name].cast(pl.String).eq_missing(after[name]).to_numpy()
        found[name] = (column_loss(problem, run.table, name), Fraction(int(table.rows_of[same].sum()), table.n))
    return found


def _table(problem: Problem, run: Run, runs: Sequence[Run]) -> tuple[Fraction | None, Setting | None]:
    """The least loss of a table that is known for a setting, and the one whose run gave it."""
    objective, table = run.objective, None if run.objective is None else run.setting
    stricter = [each for each in runs if run.setting.looser_than(each.setting) and each.objective is not None]
    for each in sorted(stricter, key=lambda each: each.objective or 0):
        if objective is not None and (each.objective or 0) >= objective:
            break
        report = verify(run.setting.of(problem), each.table)
        if report.ok and report.cost is not None:
            objective, table = report.cost, each.setting
    return objective, table


def _row(run: Run, objective: Fraction | None, table: Setting | None, proofs: Sequence[Run]) -> SweepRow:
    looser = [each for each in proofs if each.setting.looser_than(run.setting)]
    bounded = max((each for each in looser if each.bound is not None), key=lambda each: each.bound or 0, default=None)
    bound = None if bounded is None else bounded.bound
    if objective is None and any(each.proof == "infeasible" for each in looser):
        proof = "infeasible"
    elif objective is not None and bound == objective:
        proof = "optimal"
    else:
        proof = "none" if bound is None else "bound"
    source = None if bounded is None else bounded.setting
    return SweepRow(run.setting, objective, bound, proof, run.seconds, table, source, run.baselines, run.interrupted)


def _runs(
    problem: Problem,
    left: Sequence[Setting],
    runs: Mapping[Setting, Run],
    pool: Pool,
    options: Mapping[str, Any],
    baselines: Sequence[str],
    interrupted: threading.Event,
) -> Iterator[Run]:
    """The runs of all settings as they come; each begins with the cheapest table of a stricter one that is known. A run
    whose worker is lost begins again."""
    waiting, running = list(left), dict[cf.Future[Run], Setting]()
    while (waiting or running) and not interrupted.is_set():
        while waiting and len(running) < max(pool.workers, 1) and not interrupted.is_set():
            setting = waiting.pop(0)
            valid = [run for other, run in runs.items() if setting.has_tables_of(other) and run.objective is not None]
            stricter = [run for run in valid if setting.looser_than(run.setting)] or valid[-1:]
            start = min(stricter, key=lambda run: run.objective or 0).groups if stricter else None
            stop = None if pool.workers else interrupted  # which is of this process
            running[pool.submit(solve_setting, problem, setting, start, options, baselines, stop)] = setting
        for future in cf.wait(running, LOOK, cf.FIRST_COMPLETED).done:
            setting = running.pop(future)
            if pool.lost(future):
                waiting.insert(0, setting)
            else:
                yield future.result()


WIDTH, HEIGHT = 460, 300
BEST, BOUND = "best found", "bound"
TITLES = {MAX_GROUPS: "largest number of groups"}
FORMAT = ",.6~r"  # plain numbers, no zeros at the end
LOGARITHMIC, MOST_TICKS = 20, 12  # largest by smallest parameter; parameters that all have a tick


def _chart(frame: pl.DataFrame, baselines: Sequence[str]) -> Any:
    """An altair chart: best table and bound as lines with the band between them, and a line for each baseline; one
    panel for each combination of the other parameters.

    frame: that of a sweep. baselines: names of methods, columns of the frame.
    """
    alt = altair("a picture of a sweep")
    if frame.is_empty():
        raise InputError("there is nothing to draw: no setting was run")
    given = _swept(frame)
    along, *panels = [name for name in given if frame[name].n_unique() > 1] or given[:1]
    frame = _in_panels(frame, along, panels)
    order, known = [BEST, BOUND, *baselines], {BEST: "objective", BOUND: "bound"}
    series = [
        frame.select(
            "along",
            "panel",
            series=pl.lit(name),
            loss=pl.col(known.get(name, name)).cast(pl.Float64),
            low=(pl.col("bound") if name == BEST else pl.lit(None)).cast(pl.Float64),
        )
        for name in order
    ]
    data = pl.concat(series).drop_nulls("loss")
    values = sorted(frame["along"].unique())
    wide = values[0] > 0 and values[-1] >= LOGARITHMIC * values[0]
    scale = alt.Scale(type="log" if wide else "linear", zero=False, nice=False, padding=12)
    axis = alt.Axis(values=values if len(values) <= MOST_TICKS else alt.Undefined, format=FORMAT, grid=False)
    x = alt.X("along:Q", title=TITLES.get(along, along), scale=scale, axis=axis)
    y = alt.Y("loss:Q", title="information lost", axis=alt.Axis(format=FORMAT, gridColor="#e8e8e8"))
    colours = [COLOURS[i % len(COLOURS)] for i in (0, 0, *range(1, len(baselines) + 1))]
    dashes = [[1, 0], [4, 3], *([1, 0] for _ in baselines)]
    colour = alt.Color("series:N", title="", scale=alt.Scale(domain=order, range=colours))
    dash = alt.StrokeDash("series:N", title="", scale=alt.Scale(domain=order, range=dashes))
    base = alt.Chart(data)
    band = (
        base.transform_filter("isValid(datum.low)").mark_area(opacity=0.25, color=COLOURS[0]).encode(x, y, y2="low:Q")
    )
    lines = base.mark_line(point=alt.OverlayMarkDef(size=18)).encode(x, y, colour, dash)
    drawn = alt.layer(band, lines, data=data).properties(width=WIDTH, height=HEIGHT)
    return shown(drawn.facet(alt.Facet("panel:N", title=None), columns=2) if panels else drawn)


def _kept_chart(frame: pl.DataFrame) -> Any:
    """An altair chart of a sweep of weights: the share of cells that each column keeps, against the weight that is
    swept; one panel for each combination of all else. frame: that of the sweep."""
    alt = altair("a picture of a sweep")
    given = _swept(frame)
    weights = [name for name in given if name.startswith(WEIGHT)]
    along = next((name for name in weights if frame[name].n_unique() > 1), weights[0])
    panels = [name for name in given if name != along and frame[name].n_unique() > 1]
    kept = [name for name in frame.columns if name.startswith("kept ")]
    data = _in_panels(frame, along, panels).unpivot(
        kept, index=["along", "panel"], variable_name="column", value_name="share"
    )
    data = data.with_columns(pl.col("column").str.strip_prefix("kept "))
    lines = (
        alt.Chart(data.drop_nulls("share"))
        .mark_line(point=alt.OverlayMarkDef(size=18))
        .encode(
            alt.X("along:Q", title=along, axis=alt.Axis(format=FORMAT, grid=False)),
            alt.Y("share:Q", title="cells kept", axis=alt.Axis(format="%", gridColor="#e8e8e8")),
            alt.Color("column:N", title="", scale=alt.Scale(range=list(COLOURS))),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return lines.facet(alt.Facet("panel:N", title=None), columns=2) if panels else lines


def _swept(frame: pl.DataFrame) -> list[str]:
    """What the settings of a sweep have values of."""
    return [name for name in frame.columns if _is_swept(name) and frame[name].null_count() == 0]


def _in_panels(frame: pl.DataFrame, along: str, panels: Sequence[str]) -> pl.DataFrame:
    """With the columns along, numbers of what is swept (exact ones are text), and panel, which all else is written
    in."""
    title = ", ".join(f"{name} = {{}}" for name in panels)
    told = [title.format(*row) for row in frame.select(panels).iter_rows()] or [""] * frame.height
    number = [float(Fraction(str(value))) for value in frame[along]]
    return frame.with_columns(pl.Series("along", number), pl.Series("panel", told))
