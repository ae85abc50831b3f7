"""Every public function with arguments that work, and the kinds of values that each argument takes: by what it is
annotated with, or as is said here."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import kanon_milp as km
from kanon_milp.problem.distances import HierarchicalDistance, MatrixDistance, OrderedDistance
from kanon_milp.solvers import Availability, LinearModel, RawResult, SolverCall
from kanon_milp.system.limit import Limit
from kanon_milp.verify.definitions.k_anonymity import DEFINITION

FRAME = pd.DataFrame({"a": ["1", "1", "2", "2"], "b": ["x", "y", "x", "y"], "s": ["u", "v", "u", "v"]})
TABLE = km.Table.from_frame(FRAME, ["a", "b"], "s")
PROBLEM = km.Problem(TABLE, km.KAnonymity(2))
AGES = {"1": ("1", "all", "*"), "2": ("2", "all", "*")}


class Example(km.SolverAdapter):
    """An adapter that is registered and never asked."""

    name = "example"
    capabilities = frozenset()

    def availability(self) -> Availability:
        return Availability.NOT_FOUND

    def version(self) -> str:
        return ""

    def location(self) -> str:
        return ""

    def run(self, model: LinearModel, call: SolverCall) -> RawResult:
        return RawResult(None, None, None)


# values of all kinds; each argument is tried with those that it does not take
WRONG: dict[str, Any] = {
    "none": None,
    "whole": 5,
    "float": 2.5,
    "text": "no such thing",
    "truth": True,
    "list": [1.5, None],
    "dict": {3.5: object()},
    "set": {"a"},
    "class": km.KAnonymity,
    "object": object(),
    "frame": FRAME,
    "table": TABLE,
    "bytes": b"a",
    "array": np.array(1),
}


class Tried(km.Phase):
    """A phase that never runs."""

    name = "tried"

    def applies(self, known: km.Known) -> bool:
        return False

    def estimate(self, known: km.Known) -> km.Estimate:
        return km.Estimate(0.0, 0.0)

    def run(self, known: km.Known, limit: Limit) -> None:
        raise AssertionError("it does not apply")


def solved_model() -> Any:
    """With the values that a table needs to be left out."""
    model = km.build_model(PROBLEM)
    km.solve_model(PROBLEM, model)
    return model


KINDS = {"None": "none", "int": "whole", "float": "whole float", "Number": "whole float", "bool": "truth"}
KINDS |= {"Table": "table", "Names": "none", "OnProgress": "class", "OnStage": "class"}
Call = tuple[Callable[..., Any], dict[str, Any], dict[str, str]]
COLUMNS = "none whole text"  # which of them there are is only known with a table


def call(
    function: Callable[..., Any], given: dict[str, Any], /, *, only: bool = False, internal: str = "", **other: str
) -> Call:
    """A function, arguments that work, and of each argument the kinds of WRONG that it takes.

    other: where these do not follow from its annotation; only: of no further ones. internal: an argument that is
    nobody's to give.
    """
    named = {} if only else inspect.signature(function).parameters
    taken = {name: kinds_of(str(each.annotation)) for name, each in named.items() if each.kind is not each.VAR_KEYWORD}
    taken.pop(internal, None)
    return function, given, {**taken, **other}


def kinds_of(annotation: str) -> str:
    if annotation == "str":
        return "text"
    pieces = annotation.split(" | ")
    functions = ["class"] * any(each.startswith("Callable") and each.endswith(", None]") for each in pieces)
    return " ".join([*functions, *(KINDS.get(each, "") for each in pieces)])


CALLS: dict[str, Call] = {
    "AlphaKAnonymity": call(km.AlphaKAnonymity, {"alpha": "1/2"}, alpha="", sensitive=COLUMNS, values="none set"),
    "BetaLikeness": call(km.BetaLikeness, {"beta": 1}, sensitive=COLUMNS),
    "DeltaDisclosure": call(km.DeltaDisclosure, {"delta": 1}, sensitive=COLUMNS),
    "Hierarchies": call(km.Hierarchies, {"hierarchies": {"a": AGES}}),
    "Hierarchies.read": call(km.Hierarchies.read, {"folder": ".", "columns": ["a"]}, folder="", columns="", only=True),
    "Hierarchy": call(km.Hierarchy, {"paths": AGES}, internal="kind"),
    "Hierarchy.from_rows": call(km.Hierarchy.from_rows, {"rows": list(AGES.values())}),
    "Hierarchy.from_frame": call(km.Hierarchy.from_frame, {"frame": pl.DataFrame({"level0": ["a"], "level1": ["*"]})}),
    "Hierarchy.intervals": call(
        km.Hierarchy.intervals,
        {"column": [1, 12], "widths": [5, 10]},
        column="list",
        widths="whole float",
        other="none text",
    ),
    "Hierarchy.quantiles": call(
        km.Hierarchy.quantiles, {"column": [1, 12], "counts": [2]}, counts="whole", cuts="none", other="none text"
    ),
    "Hierarchy.dates": call(km.Hierarchy.dates, {"column": ["2024-01-31"]}, other="none text"),
    "Hierarchy.prefixes": call(
        km.Hierarchy.prefixes, {"column": ["abcdef"], "lengths": [2, 1]}, column="list", lengths="whole"
    ),
    "Hierarchy.ordered": call(
        km.Hierarchy.ordered, {"column": ["a"], "order": ["a", "b"], "sizes": [2]}, sizes="whole", other="none text"
    ),
    "Hierarchy.groups": call(km.Hierarchy.groups, {"column": ["a"], "groups": {"x": ["a"]}}, other="none text"),
    "Hierarchy.read": call(km.Hierarchy.read, {"path": "nowhere"}, encoding=""),
    "JournalistRisk": call(
        km.JournalistRisk,
        {"journalist_risk": "0.09", "population": pl.DataFrame({"a": ["1"]})},
        population="frame table",
    ),
    "KAnonymity": call(km.KAnonymity, {"k": 2}, quasi_identifiers="none whole text set"),
    "LDiversity": call(km.LDiversity, {"l": 2}, sensitive=COLUMNS, c="none"),
    "Boxes": call(km.Boxes, {}, columns=COLUMNS),
    "Microaggregation": call(km.Microaggregation, {}, columns=COLUMNS, cost=""),
    "model_size": call(km.model_size, {"problem": PROBLEM}, formulation=""),
    "relax": call(km.relax, {"model": km.build_model(PROBLEM)}, model="model"),
    "MarketerRisk": call(km.MarketerRisk, {"marketer_risk": "0.09"}),
    "Method": call(km.Method, {"name": "mine", "about": "", "run": print}, run=""),
    "ProsecutorRisk": call(km.ProsecutorRisk, {"risk": "0.09"}),
    "PSensitivity": call(km.PSensitivity, {"p": 2}, sensitive=COLUMNS),
    "PatternMask": call(km.PatternMask, {"patterns": [("keep", "*")]}, columns=COLUMNS),
    "PatternMask.read": call(km.PatternMask.read, {"path": "nowhere"}, path="", only=True),
    "PatternMask.random": call(
        km.PatternMask.random, {"columns": ["a", "b"], "count": 2}, columns="whole text", count=""
    ),
    "Problem": call(km.Problem, {"table": TABLE, "privacy": km.KAnonymity(2)}),
    "Suppression": call(km.Suppression, {}),
    "TCloseness": call(km.TCloseness, {"t": "1/2"}, t="", sensitive=COLUMNS, internal="space"),
    "Table": call(km.Table, {"frame": None, "roles": None, "keys": None}, frame="", only=True),
    "Table.from_frame": call(
        km.Table.from_frame, {"frame": FRAME, "quasi_identifiers": ["a"]}, frame="frame", drop=COLUMNS
    ),
    "apply": call(km.apply, {"earlier": "nowhere", "table": FRAME}, table="frame"),
    "build_model": call(km.build_model, {"problem": PROBLEM}, formulation=""),
    "compress": call(
        km.compress, {"frame": TABLE.keys, "quasi_identifiers": ["a"]}, frame="frame", sensitive="none", internal="rows"
    ),
    "datasets.load": call(km.datasets.load, {"name": "nothing"}, name="", base_url=""),
    "export_model": call(km.export_model, {"problem": PROBLEM, "path": "nowhere/model.mps"}, formulation=""),
    "export_series": call(
        km.export_series,
        {"problem": PROBLEM, "path": "nowhere/model.mps", "weights": {"a": [1, 2]}},
        random_weights="none",
        seed="",
        formulation="",
        weights="",
    ),
    "import_solution": call(km.import_solution, {"problem": PROBLEM, "path": "nowhere.sol"}),
    "read_model": call(km.read_model, {"path": "nowhere"}),
    "read_table": call(km.read_table, {"path": "@", "quasi_identifiers": ["a"]}, drop=COLUMNS, missing_values="text"),
    "register_solver": call(km.register_solver, {"adapter": Example}),
    "register_bound": call(km.register_bound, {"bound": None}),
    "register_requirement": call(km.register_requirement, {"kind": km.KAnonymity, "definition": DEFINITION}),
    "Estimate": call(km.Estimate, {"seconds": 1, "gain": 0.5}),
    "row_assignment": call(km.row_assignment, {"k": 2, "omega": [1], "n": [2], "a": [[1]]}),
    "p_row_assignment": call(km.p_row_assignment, {"p": 1, "k": 2, "omega": [1], "n": [[2]], "a": [[1]]}),
    "Formulation": call(km.Formulation, {"name": "tried", "declare": print}),
    "register_reduction": call(
        km.register_reduction,
        {"reduction": km.CandidateReduction("tried", lambda instance: np.ones(instance.candidates.count, np.bool_))},
    ),
    "register_formulation": call(km.register_formulation, {"formulation": km.Formulation("tried", print)}),
    "register_phase": call(km.register_phase, {"phase": Tried}),
    "register_group_cost": call(
        km.register_group_cost,
        {"kind": type("Tried", (km.GroupCost,), {"name": "tried", "exact": print, "release": print})},
    ),
    "register_method": call(km.register_method, {"method": km.Method("tried", "", print)}),  # type: ignore[arg-type]
    "solve": call(
        km.solve,
        {"problem": PROBLEM},
        formulation="",
        method="",
        gap="",
        pool_loss="none",
        pool_differ="",
        log_file="none text",
        dask="none text",
    ),
    "solved_table": call(km.solved_table, {"problem": PROBLEM, "model": km.build_model(PROBLEM)}),
    "write_result": call(km.write_result, {"result": km.solve(PROBLEM), "folder": "@"}, folder="text"),
    "exclude": call(km.exclude, {"model": solved_model()}),
    "solve_model": call(
        km.solve_model,
        {"problem": PROBLEM, "model": km.build_model(PROBLEM)},
        formulation="",
        gap="",
        log_file="none text",
    ),
    "compare": call(km.compare, {"problem": PROBLEM, "methods": ["greedy"]}, row_id="none text"),
    "write_table": call(
        km.write_table, {"table": FRAME, "database": Path(tempfile.mkdtemp()) / "t.db", "name": "t"}, table="frame"
    ),
    "sweep": call(km.sweep, {"problem": PROBLEM, "k": [2]}, k="none", l="none", t="none", method=""),
    "FullDomain": call(km.FullDomain, {}),
    "solve_full_domain": call(km.solve_full_domain, {"table": TABLE, "privacy": km.KAnonymity(2)}),
    "boxes": call(km.boxes, {"result": km.solve(PROBLEM)}),
    "attack": call(km.attack, {"problem": PROBLEM, "released": km.solve(PROBLEM).table}),
    "inspect": call(
        km.inspect, {"table": FRAME}, table="frame", drop=COLUMNS, population="none frame", missing_values="text"
    ),
    "measure": call(km.measure, {"problem": PROBLEM, "anonymized": FRAME}, anonymized="frame"),
    "write_model": call(km.write_model, {"problem": PROBLEM, "path": "nowhere.toml"}),
    "write_report": call(
        km.write_report,
        {"result": km.solve(PROBLEM), "path": "nowhere/report.html"},
        path="text",
        sample="",
        before_after="",
        title="",
        author="",
    ),
    "find_quasi_identifiers": call(km.find_quasi_identifiers, {"table": FRAME}, table="frame table"),
    "check_certificate": call(km.check_certificate, {"problem": PROBLEM, "certificate": {}}),
    "verify": call(km.verify, {"problem": PROBLEM, "anonymized": FRAME}, anonymized="frame"),
}
DISTANCES: dict[str, Call] = {
    "HierarchicalDistance": call(HierarchicalDistance, {}),
    "MatrixDistance": call(MatrixDistance, {"values": ["u", "v"], "matrix": [[0, 1], [1, 0]]}, internal="source"),
    "OrderedDistance": call(OrderedDistance, {}, internal="source"),
}
# what the package makes itself, errors, and what is no function
MADE = {
    "CandidateReduction", "GroupCost", "ModelSize", "Relaxation", "Attack", "Applied", "Assignment", "Comparison",
    "Sweep", "SweepRow", "FullDomainResult", "Inspection", "Metrics", "ModelFile", "QuasiIdentifiers", "Report",
    "Requirement", "Result", "RowTypes", "Session", "SolverAdapter", "Estimate", "Known", "Phase", "datasets",
    "distances",
}  # fmt: skip
