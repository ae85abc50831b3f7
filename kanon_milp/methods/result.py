"""What `solve` returns: why it stopped, what the point is, and what is proven, as three separate fields."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from kanon_milp import __version__
from kanon_milp.errors import InputError, NotProvenError, TooManyLevelVectorsError, gap_in_words, printable
from kanon_milp.methods.description import describe_input, describe_problem
from kanon_milp.methods.extension import Extension
from kanon_milp.methods.further import Pool, Stage, judged
from kanon_milp.methods.plot import plot
from kanon_milp.methods.tracker import PhaseRun, Proof, Trajectory
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.closures import closures_suffice
from kanon_milp.presolve.instance import compress_table, types_of
from kanon_milp.presolve.preparation import Size, many_vectors
from kanon_milp.problem.arguments import real_number
from kanon_milp.problem.column_values import as_text
from kanon_milp.problem.exact import in_words, plain
from kanon_milp.problem.problem import OPTIMIZED, Problem
from kanon_milp.problem.table import Table, open_frame
from kanon_milp.solvers.call import SolverOptions
from kanon_milp.system.arrays import Floats, Ints
from kanon_milp.system.limit import NO_LIMIT, Limit, Over
from kanon_milp.system.markup import card
from kanon_milp.system.text_tables import amount, booktabs
from kanon_milp.verify import Report
from kanon_milp.verify.certificate import check_certificate

if TYPE_CHECKING:
    from kanon_milp.bounds import Certificate, DualPoint
    from kanon_milp.bounds.group_costs.bound import CostDual

Numeric = int | float

MODEL = "model"  # the objective of a problem whose model was given another one, in `result.json`
# kinds of code of a user's own, before its name
TRUSTED = ("formulation", "requirement", "distance", "recoding", "hierarchy", "mask", "registered")
NO_SOLVER = "none"  # the name of the solver where the method uses none
ROW: dict[str, Any] = {  # of `Result.to_frame`
    **dict.fromkeys(("problem", "kind"), pl.String),
    **dict.fromkeys(("n", "m", "t_in"), pl.Int64),
    **dict.fromkeys(("k", "p", "l", "t", "method", "solver", "stop_reason", "proof"), pl.String),
    "optimized": pl.String,
    **dict.fromkeys(("objective", "bound", "gap", "loss"), pl.Float64),
    "extended": pl.String,
    **dict.fromkeys(("groups", "suppressed_cells"), pl.Int64),
    "class_size": pl.Float64,
    "verified": pl.Boolean,
    "seconds": pl.Float64,
}
MULTIPLIERS_SHARE = 0.5  # of the time that is left
SECONDS = 60.0  # at most, for multipliers that a session has not computed, and for those under requirements
NAMES = {"class_size": "AECS", "n": "rows", "m": "quasi-identifiers", "t_in": "row types"}  # for people


@dataclass(frozen=True)
class SolverRun:
    """Which solver and method a session used, and how. threads: as many as the solver, or the search, made use of."""

    name: str
    version: str
    formulation: str
    options: SolverOptions
    method: str = "milp"
    iteration_limit: int | None = None
    dask: str | None = None
    threads: int = 1

    def as_dict(self) -> dict[str, Any]:
        """The entry `solver` of `result.json`."""
        options = self.options
        extra = {
            key: value if isinstance(value, int | str) or _is_finite(value) else str(value)
            for key, value in options.extra.items()
        }
        limits = {
            "time_limit": options.time_limit,
            "gap": options.gap,
            "absolute_gap": options.absolute_gap,
            "node_limit": options.node_limit,
            "iteration_limit": self.iteration_limit,
            "dask": self.dask,
        }
        return {
            "name": self.name,
            "version": self.version,
            "method": self.method,
            "formulation": self.formulation,
            "options": {**limits, **extra},
            "seed": options.seed,
            "threads": options.threads,
            "threads_used": self.threads,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of solving a problem.

    stop_reason: why it stopped (optimal, gap_limit, infeasible, time_limit, node_limit, iteration_limit, interrupted,
    finished, error); "finished" is a method that has nothing left to do, and has not proven its table.
    proof: what is proven: "optimal" (objective and bound meet and the verifier agrees), "bound", "infeasible" or
    "none".
    backed_by: what the proof is backed by: "solver" (the solver that was asked says so), "second look" (another
    solver, or the same one in another setting, has solved the same model and agrees), "own bound" (computed by this
    package), "certificate" (a proof that anybody can check from the table alone), "method NAME" (a registered one),
    "registered bound" (one of a user's own says so); and code of the user's own whose word it takes: "formulation
    NAME", "requirement NAME", "distance CLASS", ...
    exact_objective, exact_bound: of what was optimized (`optimized`), in the user's units: loss, number of groups, or
    the objective of a model that was changed; objective of the released table.
    table: the released table in the user's own kind of data frame, or None. placed: which group
    each released row is in, from 1, of which row of the problem's table it is, and how many rows it stands for.
    parts: the same of a method that divides the rows first, before those of its groups that are released alike became
    one; None of others.
    report: the verifier's. seconds: wall clock per step. trajectory: (seconds, incumbent, bound) over time. files:
    SHA-256 of each file that the problem was read from. extension: what the user has changed in the model that was
    solved, None where it was the package's own; bound and proof are about the model as it was changed then. unit: what
    one unit of the model's objective is worth in objective and bound. phases: of the method, those that ran, in the
    order in which they ended. parameters: numbers of phases that were set, by name. levels: of each column, of a
    full-domain table; None of others. stages: where further objectives were asked for (`then`), the first one and
    these; objective, bound and proof are those of the first. pool: the tables about as good that were asked for, this
    one first.
    """

    problem: Problem
    stop_reason: str
    proof: Proof
    exact_objective: Fraction | None
    exact_bound: Fraction | None
    table: Any | None
    placed: RowGroups | None
    report: Report | None
    solver: SolverRun
    before: Size
    after: Size
    row_types: tuple[int, int]
    seconds: dict[str, float]
    trajectory: Trajectory = ()
    message: str = ""
    reductions: tuple[dict[str, object], ...] = field(default=())
    dual: DualPoint | None = field(default=None, repr=False)
    group_dual: CostDual | None = field(default=None, repr=False)
    required: Floats | None = field(default=None, repr=False)
    backed_by: tuple[str, ...] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    parts: RowGroups | None = field(default=None, repr=False)
    extension: Extension | None = None
    unit: Fraction = Fraction(1)
    phases: tuple[PhaseRun, ...] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, int] | None = None
    stages: tuple[Stage, ...] = ()
    pool: Pool | None = None

    @property
    def groups(self) -> Ints | None:
        """The group of each released row from 1, int64; of a table without counts these are the rows of the problem's
        table, in their order."""
        return None if self.placed is None else self.placed.group

    @property
    def labels(self) -> Any | None:
        """Of a full-domain table the columns column, value, level and label: what became of each value of a row that is
        not suppressed."""
        return None if self.levels is None else released_labels(self.problem.table, self.table, self.levels)

    @property
    def objective(self) -> Numeric | None:
        """What was optimized, of the released table; `optimized` says what that is."""
        return plain(self.exact_objective)

    @property
    def loss(self) -> Numeric | None:
        """The loss of the released table, whatever was optimized: recomputed by the verifier; None without a table."""
        return None if self.report is None else plain(self.report.cost)

    @property
    def information_loss(self) -> float | None:
        """Where the cost is one of whole groups, the loss as a percentage of what all rows as one group lose (100·SSE /
        SST of microaggregation, the GCP of boxes); else None."""
        found = None if self.report is None else self.report.information_loss
        return None if found is None else float(found)

    @property
    def bound(self) -> Numeric | None:
        """Proven bound on the optimum of the problem, or of an extended model."""
        return plain(self.exact_bound)

    @property
    def gap(self) -> float | None:
        """|objective - bound| / |objective|, None where one of them is missing."""
        if self.exact_objective is None or self.exact_bound is None:
            return None
        distance = abs(self.exact_objective - self.exact_bound)
        if distance == 0:
            return 0.0
        return float(distance / abs(self.exact_objective)) if self.exact_objective else None

    def certify(self, *, time_limit: float | None = None, interrupt: threading.Event | None = None) -> Certificate:
        """Return a proof of a lower bound on the loss that anybody can check from the table alone (`verify
        --certificate`): the multipliers of the Lagrangian bound, rounded and written down.

        Where the session has none they are computed first, which takes up to a minute; a second call computes again.
        Under requirements about sensitive attributes the bound with these inside the subproblems is computed too, up to
        another minute, and stated where it proves more. The bound can be lower than `bound`, which a solver may have
        raised. Of side constraints it states numbers of groups, where it counts on them; it says nothing about a cost
        bound, nor about what was added to a model.

        time_limit: seconds. interrupt: set by whoever wants it to stop. Raises InputError where the loss is not what is
        minimized, NotProvenError where it has to end before there is a certificate, and where there are too many level
        vectors for one with sensitive values.
        """
        seconds = math.inf if time_limit is None else real_number(time_limit, "time_limit", "a number of seconds")
        limit = Limit(time.perf_counter() + seconds, interrupt)
        try:
            if self.problem.group_cost is not None:
                return self._certify_groups(limit)
            return certify_problem(self.problem, self.dual, self.required, limit)
        except Over:
            why = "it was interrupted" if limit.asked else "the time limit is too short"
            raise NotProvenError(f"no certificate: {why}") from None
        except TooManyLevelVectorsError as error:
            raise NotProvenError(f"no certificate without a list of all level vectors: {error}") from None

    def _certify_groups(self, limit: Limit) -> Certificate:
        from kanon_milp.bounds.group_costs.certificate import certified_sizes, certify_groups
        from kanon_milp.presolve.whole_groups import GroupInstance

        recoding = self.problem.recoding
        bounded = recoding.kind == "boxes" or getattr(recoding, "cost", None) in ("sse", "l1")
        sized, dual = self.problem, self.group_dual
        if not sized.size_only:  # of groups as the checker knows them, while those of `search` may have more
            sized = certified_sizes(sized)
            dual = None if GroupInstance.of(self.problem).differing is not None else dual
        if bounded and dual is None and self.exact_objective != 0:  # below 0 there is nothing to prove
            import kanon_milp as km  # methods stand above their results

            limits: dict[str, Any] = {"time_limit": _seconds(limit), "interrupt": limit.interrupt}
            try:
                dual = km.solve(sized, method="search", **limits).group_dual
            except InputError:  # such groups are not priced
                bounded = False
        if not bounded:
            why = "of costs of groups, only microaggregation and boxes under k-anonymity have one"
            raise NotProvenError(f"no certificate: {why}")
        return certify_groups(self.problem, dual, limit)

    def with_bound_of(self, certificate: Certificate) -> Result:
        """The result with the bound that a certificate of `certify` proves, where it says more than is known.

        It is optimal then where the objective of the verified table meets that bound. A result whose objective is not
        the loss stays as it is, and so does one of a model that lacks something of the problem, one that is refused, or
        proven infeasible.
        """
        relaxed = self.extension is not None and self.extension.relaxed
        higher = self.exact_bound is None or certificate.bound > self.exact_bound
        refused = self.report is not None and not self.report.ok
        if self.goal != "loss" or relaxed or self.proof == "infeasible" or refused or not higher:
            return self
        reached = self.exact_objective
        if reached is not None and certificate.bound > reached:
            raise NotProvenError("the certificate claims more than a verified table allows, so it proves nothing")
        met = reached is not None and certificate.bound == reached
        stages = tuple(
            replace(each, bound=certificate.bound, backed_by=("certificate",)) if each.goal == "loss" else each
            for each in self.stages[:1]
        )
        return replace(
            self,
            stages=judged((*stages, *self.stages[1:])),
            exact_bound=certificate.bound,
            proof="optimal" if met else "bound",
            stop_reason="optimal" if met else self.stop_reason,
            backed_by=("certificate",),
        )

    @property
    def verified(self) -> bool:
        """Whether there is a table and the independent verifier agrees with it."""
        return self.report is not None and self.report.ok

    @property
    def is_optimal(self) -> bool:
        """Whether the table is proven optimal and verified, in all stages where there are several."""
        return self.proof == "optimal" and self.verified and all(each.proof == "optimal" for each in self.stages)

    def require_optimal(self) -> Result:
        """Return the result itself if it is proven optimal and verified; raise NotProvenError if not."""
        if not self.is_optimal:
            raise NotProvenError(f"no proven optimum: {self.summary()}")
        return self

    @property
    def goal(self) -> str:
        """What the objective is, in a word: "loss", "groups" (their number), "discernibility", or "objective" of a
        user's model."""
        if self.extension is not None and self.extension.objective is not None:
            return "objective"
        return OPTIMIZED.get(self.problem.objective, "groups")

    @property
    def optimized(self) -> str:
        """What was optimized, in words: "loss", "number of groups", "discernibility", or the objective of a model that
        was changed."""
        if self.goal == "objective" and self.extension is not None:
            return f"objective {self.extension.objective} of the model ({self.extension.sense}d)"
        return self.problem.optimized

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The quasi-identifiers that came as numbers, dates or the like and are text in `table`, since they hold labels
        now; a column in which nothing is generalized keeps its type."""
        return () if self.table is None else self.problem.table.text_columns(self.table)

    @property
    def suppressed_columns(self) -> tuple[str, ...]:
        """The quasi-identifiers of which `table` keeps nothing: they are suppressed in every row."""
        return () if self.table is None else self.problem.table.suppressed_columns(self.table)

    @property
    def renamed_labels(self) -> dict[str, dict[str, tuple[str, int]]]:
        """Column → label in `table` → (label of the hierarchy, level): those that a hierarchy has on several levels for
        different values, and that were told apart (`Hierarchy.renamed`)."""
        found: dict[str, dict[str, tuple[str, int]]] = {}
        for name, hierarchy in self.problem.recoding.hierarchies.items():
            if self.table is None or not hierarchy.renamed:
                continue
            text = self.problem.table.released_text(self.table, name)
            held = set() if text is None else set(text.unique().to_list())
            lowest = {text: (label, level) for (level, label), text in sorted(hierarchy.renamed.items(), reverse=True)}
            if here := {text: lowest[text] for text in lowest if text in held}:
                found[name] = here
        return found

    def summary(self) -> str:
        """One sentence: what came out and what is proven."""
        return printable(self._summary())

    def _summary(self) -> str:
        then = ", ".join(stage.words for stage in self.stages[1:])
        more = f"; then {then}" if then and self.verified else ""
        return f"{self._first_summary()}{more}" + ("" if self.pool is None else f"; pool: {self.pool.summary()}")

    def _first_summary(self) -> str:
        objective, bound = in_words(self.exact_objective), in_words(self.exact_bound)
        if self.report is not None and not self.report.ok:
            whose = "" if self.extension is None else f"; the table is{self._of_what()}"
            return f"verification failed: {self.report.violations[0]}{whose}"
        if self.proof == "infeasible":
            whose = "" if self.extension is None else f" as extended ({self.extension.words})"
            return f"infeasible{whose}: {self.message}{self._backing()}"
        if self.proof == "optimal":
            reached = f"{objective} groups" if self.goal == "groups" else objective
            return f"proven optimum {reached}{self._of_what()}, verified{self._backing()}"
        reason = self.stop_reason.replace("_", " ")
        if self.exact_objective is None:
            known = "" if self.exact_bound is None else f"; the optimum is not better than {bound}"
            whose = "" if self.extension is None else f" by the extended model ({self.extension.words})"
            return f"no table found ({reason}){whose}{known}{'; ' if self.message else ''}{self.message}"
        reached = f"{objective} groups" if self.goal == "groups" else f"{self.goal} {objective}"
        reached += self._of_what()
        if self.exact_bound is None:
            least = ", the best found with one level for each column" * (
                self.levels is not None and reason == "finished"
            )
            return f"verified table with {reached}{least}, nothing proven{' of other tables' * bool(least)} ({reason})"
        gap = "" if self.gap is None else f", gap {gap_in_words(self.gap)}"
        trusted = self._backing() if any(" " in each and each.split()[0] in TRUSTED for each in self.backed_by) else ""
        return f"verified table with {reached}, bound {bound}{gap} ({reason}){trusted}"

    def _of_what(self) -> str:
        """What an objective is of where that is not the problem's own model, as a part of a sentence."""
        if self.extension is None:
            return ""
        model = f" of the extended model ({self.extension.words})"
        if self.goal != "objective":
            return model
        loss = "" if self.report is None else f"; loss {in_words(self.report.cost)}"
        return f" of the objective {self.extension.objective}{model}{loss}"

    def _backing(self) -> str:
        """What the proof is backed by, as the end of a sentence."""
        *first, last = self.backed_by or ("",)
        return last and f"; backed by {' and '.join(word for word in (', '.join(first), last) if word)}"

    def __repr__(self) -> str:
        """One line, and no cell of the table."""
        gap = "none" if self.gap is None else gap_in_words(self.gap)
        known = f"{self.goal} {in_words(self.exact_objective)}, bound {in_words(self.exact_bound)}, gap {gap}"
        verified = "verified, " if self.verified else ""
        text = f"<Result: {self.stop_reason}, {verified}{known}{self._of_what()}, {self.seconds['total']:.2f} s>"
        return printable(text)

    def _repr_html_(self) -> str:
        """The same for a notebook, and no cell of the table."""
        return card(self.summary(), self._texts(), self.message)

    def _texts(self) -> list[tuple[str, str]]:
        row = self._row()
        row["stop_reason"] = self.stop_reason.replace("_", " ")
        row["gap"] = None if self.gap is None else gap_in_words(self.gap)
        names = {**NAMES, "objective": self.optimized}
        del row["optimized"]
        if self.goal == "loss":
            del row["loss"]
        known = [(names.get(name, name).replace("_", " "), value) for name, value in row.items() if value is not None]
        return [(name, amount(value) if isinstance(value, float) else str(value)) for name, value in known]

    def _row(self) -> dict[str, Any]:
        described, report = describe_problem(self.problem, self.row_types), self.report
        return {
            "problem": self.problem.title,
            **{key: described[key] for key in ("kind", "n", "m", "t_in")},
            **{
                letter: None if described[letter] is None else str(described[letter]) for letter in ("k", "p", "l", "t")
            },
            "method": self.solver.method,
            "solver": f"{self.solver.name} {self.solver.version}".strip(),
            "stop_reason": self.stop_reason,
            "proof": self.proof,
            "optimized": self.optimized,
            "objective": None if self.objective is None else float(self.objective),
            "bound": None if self.bound is None else float(self.bound),
            "gap": self.gap,
            "loss": None if self.loss is None else float(self.loss),
            "extended": None if self.extension is None else self.extension.words,
            "groups": None if report is None else report.groups,
            "suppressed_cells": None if report is None else report.suppressed_cells,
            "class_size": None
            if report is None or described["k"] is None
            else float(report.mean_group / described["k"]),
            "verified": None if report is None else report.ok,
            "seconds": round(self.seconds["total"], 3),
        }

    def to_frame(self) -> Any:
        """What came out, in the user's own kind of data frame with one row, of polars where the table was a file; those
        of several results can be concatenated."""
        return self.problem.table.own_kind(pl.DataFrame([self._row()], schema=ROW))

    def to_latex(self) -> str:
        """The same as LaTeX, with the rules of booktabs: a name and its value in each line."""
        return booktabs(["", "value"], self._texts())

    def plot(self) -> Any:
        """A chart of altair: incumbent and bound over time, which phase ran when, and how many groups have which size.

        Raises InputError where altair is not installed (extra `report`), and where there is neither.
        """
        return plot(self.trajectory, self.seconds["total"], self.placed, self.optimized, self.phases)

    def as_dict(self) -> dict[str, Any]:
        """The object of `result.json`."""
        report = self.report
        return {
            "package": {"name": "kanon-milp", "version": __version__},
            "input": describe_input(self.problem, self.files),
            "problem": {
                **describe_problem(self.problem, self.row_types),
                **({"objective": MODEL} if self.goal == "objective" else {}),
            },
            "optimized": self._optimized(),
            "extended": None if self.extension is None else self.extension.as_dict(),
            "stop_reason": self.stop_reason,
            "proof": self.proof,
            "proof_backed_by": list(self.backed_by),
            "objective": self.objective,
            "loss": self.loss,
            **({} if self.problem.group_cost is None else self._of_groups()),
            "suppressed_cells": report.suppressed_cells if report is not None else None,
            "bound": self.bound,
            "gap": self.gap,
            "solver": self.solver.as_dict(),
            "sizes": {
                "before": vars(self.before),
                "after": vars(self.after),
                "reductions": list(self.reductions),
            },
            "seconds": {key: round(value, 6) for key, value in self.seconds.items()},
            "groups": None
            if report is None
            else {"count": report.groups, "mean": float(report.mean_group), "max": report.largest_group},
            "verified": None if report is None else True if report.ok else list(report.violations),
            "judged_by_their_own_code": [] if report is None else list(report.own),
            "trajectory": [list(point) for point in self.trajectory],
            "phases": [phase.as_list() for phase in self.phases],
            "parameters": dict(self.parameters),
            "message": self.message,
            "levels": None if self.levels is None else dict(self.levels),
            "stages": [stage.as_dict() for stage in self.stages],
            "pool": None if self.pool is None else self.pool.as_dict(),
            "text_columns": list(self.text_columns),
            "renamed_labels": {
                column: {text: {"label": label, "level": level} for text, (label, level) in labels.items()}
                for column, labels in self.renamed_labels.items()
            },
            "warnings": [*self.problem.table.warnings, *(() if report is None else report.warnings)],
        }

    def _of_groups(self) -> dict[str, Any]:
        """What only costs of whole groups have: fractions too long for decimals, and the share of the most."""
        exact = {"objective_exact": self.exact_objective, "bound_exact": self.exact_bound}
        texts = {name: None if value is None else str(value) for name, value in exact.items()}
        return {**texts, "information_loss": self.information_loss}

    def _optimized(self) -> dict[str, Any]:
        """What was optimized: the component of the model, its sense, and what one unit of it is worth in results."""
        component, sense = self.goal, "maximize" if self.problem.objective == "max_groups" else "minimize"
        if self.extension is not None and self.extension.objective is not None:
            component, sense = self.extension.objective, self.extension.sense
        return {"what": self.optimized, "component": component, "sense": sense, "unit": str(self.unit)}


def released_labels(table: Table, released: Any, levels: Mapping[str, int]) -> Any:
    """Of each column its values with the labels that they have in a full-domain table, suppressed rows aside."""
    frame, _ = open_frame(released, "released table")
    after = as_text(frame, table.quasi_identifiers, "released table")
    kept = ~pl.Series(after.select(pl.all_horizontal(pl.all() == table.symbol).fill_null(value=False)).to_series())
    found = []
    for name in table.quasi_identifiers:
        pairs = pl.DataFrame({"value": table.column(name), "label": after[name].alias("")}).filter(kept)
        level = pl.lit(levels[name], dtype=pl.Int64).alias("level")
        different = pairs.unique().sort("value", "label", nulls_last=True)
        found.append(different.select(pl.lit(name).alias("column"), "value", level, "label"))
    return table.own_kind(pl.concat(found))


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def certify_problem(
    problem: Problem, dual: DualPoint | None, required: Floats | None = None, limit: Limit = NO_LIMIT
) -> Certificate:
    """The certificate that proves most; what it claims is what its checker makes of it.

    dual: multipliers of the Lagrangian bound, None where there are none yet. required: float64, those of the bound
    under requirements, over the row types that are split by what these are about. Raises InputError where the loss is
    not what is minimized, `Over` where the limit is reached before there is any certificate.
    """
    from kanon_milp.bounds import certified_instance, certify, lagrangian

    if dual is None or problem.asks_of_labels:  # that of a problem has no candidates that others dominate
        instance = limit.call(certified_instance, problem)
        dual = lagrangian(instance, seconds=_seconds(limit), interrupt=limit.interrupt)
    found = limit.call(certify, problem, dual)
    if problem.attributes:
        with suppress(InputError, Over):  # a row without a candidate, numbers of more than 64 bits; too late
            better = limit.call(_under_requirements, problem, dual, required, found, limit)
            return found if better is None else better
    return found


def _seconds(limit: Limit) -> float:
    """For multipliers, so that there is time to write down what they prove."""
    return min(SECONDS, MULTIPLIERS_SHARE * limit.left)


def _under_requirements(
    problem: Problem, dual: DualPoint, required: Floats | None, sizes: Certificate, limit: Limit
) -> Certificate | None:
    """That of the bound under requirements, None where it proves no more."""
    from kanon_milp.bounds.certificate import certify_required, first_multipliers, required_instance, required_problem
    from kanon_milp.bounds.lagrangian_bound import required_bound
    from kanon_milp.bounds.packing_cuts import first_sets
    from kanon_milp.bounds.required_pricing import priced_point

    relaxed = required_problem(problem)
    if relaxed is None:
        return None
    types = types_of(relaxed, compress_table(relaxed))
    start = required if required is not None and len(required) == types.count else first_multipliers(types, dual)
    if closures_suffice(relaxed.without_sides()) and many_vectors(relaxed, types):
        instance, point = priced_point(relaxed, types, dual, start, limit, _seconds(limit))
    else:
        listed = required_instance(problem)
        assert listed is not None
        instance = listed
        sets = first_sets(instance)
        start = None if start is None else np.concatenate([start, dual.of_numbers(sets)])
        seconds = _seconds(limit)
        point = required_bound(instance, start, seconds=seconds, interrupt=limit.interrupt, small=False, sets=sets)
    found = certify_required(problem, instance, point)
    if found.bound < sizes.bound:
        return None
    # the checker knows less of some requirements, and may see more of some groups
    proven = check_certificate(problem, found).bound
    return replace(found, bound=proven) if proven > sizes.bound else None
