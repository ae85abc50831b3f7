"""Every public function with arguments that work, and the kinds of values that each argument takes."""

from __future__ import annotations

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


# public name → (function, arguments that work, argument → kinds of WRONG that it takes)
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


CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, str]]] = {
    "AlphaKAnonymity": (
        km.AlphaKAnonymity,
        {"alpha": "1/2"},
        {"alpha": "", "k": "whole", "sensitive": "none whole text", "values": "none set"},
    ),
    "BetaLikeness": (km.BetaLikeness, {"beta": 1}, {"beta": "whole float", "sensitive": "none whole text"}),
    "DeltaDisclosure": (
        km.DeltaDisclosure,
        {"delta": 1},
        {"delta": "whole float", "log": "", "absent": "", "sensitive": "none whole text"},
    ),
    "Hierarchies": (
        km.Hierarchies,
        {"hierarchies": {"a": AGES}},
        {"hierarchies": "", "weights": "", "level_costs": "", "costs": "", "mask": "none"},
    ),
    "Hierarchies.read": (km.Hierarchies.read, {"folder": ".", "columns": ["a"]}, {"folder": "", "columns": ""}),
    "Hierarchy": (km.Hierarchy, {"paths": AGES}, {"paths": "", "source": "text", "rule": "none"}),
    "Hierarchy.from_rows": (km.Hierarchy.from_rows, {"rows": list(AGES.values())}, {"rows": ""}),
    "Hierarchy.from_frame": (
        km.Hierarchy.from_frame,
        {"frame": pl.DataFrame({"level0": ["a"], "level1": ["*"]})},
        {"frame": ""},
    ),
    "Hierarchy.intervals": (
        km.Hierarchy.intervals,
        {"column": [1, 12], "widths": [5, 10]},
        {
            "column": "list",
            "widths": "whole float",
            "origin": "whole float",
            "missing": "text",
            "other": "none text",
            "below": "none whole float",
            "above": "none whole float",
            "dashes": "none truth",
            "decimal": "none",
        },
    ),
    "Hierarchy.quantiles": (
        km.Hierarchy.quantiles,
        {"column": [1, 12], "counts": [2]},
        {
            "column": "",
            "counts": "whole",
            "cuts": "none",
            "missing": "text",
            "other": "none text",
            "decimal": "none",
            "dashes": "none truth",
        },
    ),
    "Hierarchy.dates": (
        km.Hierarchy.dates,
        {"column": ["2024-01-31"]},
        {"column": "", "levels": "none", "format": "none", "missing": "text", "other": "none text"},
    ),
    "Hierarchy.prefixes": (
        km.Hierarchy.prefixes,
        {"column": ["abcdef"], "lengths": [2, 1]},
        {"column": "list", "lengths": "whole", "length": "none whole", "missing": "text"},
    ),
    "Hierarchy.ordered": (
        km.Hierarchy.ordered,
        {"column": ["a"], "order": ["a", "b"], "sizes": [2]},
        {"column": "", "order": "", "sizes": "whole", "missing": "text", "other": "none text"},
    ),
    "Hierarchy.groups": (
        km.Hierarchy.groups,
        {"column": ["a"], "groups": {"x": ["a"]}},
        {"column": "", "groups": "", "missing": "text", "other": "none text"},
    ),
    "Hierarchy.read": (km.Hierarchy.read, {"path": "nowhere"}, {"path": "", "encoding": ""}),
    "JournalistRisk": (
        km.JournalistRisk,
        {"journalist_risk": "0.09", "population": pl.DataFrame({"a": ["1"]})},
        {"journalist_risk": "whole float", "population": "frame table"},
    ),
    "KAnonymity": (km.KAnonymity, {"k": 2}, {"k": "whole", "quasi_identifiers": "none whole text set"}),
    "LDiversity": (
        km.LDiversity,
        {"l": 2},
        {"l": "whole float", "form": "", "sensitive": "none whole text", "c": "none"},
    ),
    "Boxes": (km.Boxes, {}, {"columns": "none whole text", "weights": "", "hierarchies": ""}),
    "Microaggregation": (
        km.Microaggregation,
        {},
        {"columns": "none whole text", "standardize": "truth", "center": "", "cost": "", "weights": ""},
    ),
    "model_size": (km.model_size, {"problem": PROBLEM}, {"problem": "", "formulation": ""}),
    "relax": (km.relax, {"model": km.build_model(PROBLEM)}, {"model": "model", "time_limit": "none whole float"}),
    "MarketerRisk": (km.MarketerRisk, {"marketer_risk": "0.09"}, {"marketer_risk": "whole float"}),
    "Method": (
        km.Method,
        {"name": "mine", "about": "", "run": print},
        {
            "name": "text",
            "about": "text",
            "run": "",
            "refuses": "",
            "takes": "",
            "candidates": "truth",
            "small_groups": "truth",
            "free_first": "truth",
            "groups": "none",
        },
    ),
    "ProsecutorRisk": (km.ProsecutorRisk, {"risk": "0.09"}, {"risk": "whole float"}),
    "PSensitivity": (km.PSensitivity, {"p": 2}, {"p": "whole", "sensitive": "none whole text"}),
    "PatternMask": (
        km.PatternMask,
        {"patterns": [("keep", "*")]},
        {"patterns": "", "weights": "", "columns": "none whole text", "source": "text", "levels": ""},
    ),
    "PatternMask.read": (km.PatternMask.read, {"path": "nowhere"}, {"path": ""}),
    "PatternMask.random": (
        km.PatternMask.random,
        {"columns": ["a", "b"], "count": 2},
        {"columns": "whole text", "count": "", "seed": "whole", "weights": "none"},
    ),
    "Problem": (
        km.Problem,
        {"table": TABLE, "privacy": km.KAnonymity(2)},
        {
            "table": "table",
            "privacy": "",
            "recoding": "",
            "cost_bound": "none whole float",
            "min_groups": "none whole",
            "max_groups": "none whole",
            "objective": "",
            "suppressed_rows": "",
            "name": "text",
        },
    ),
    "Suppression": (km.Suppression, {}, {"weights": ""}),
    "TCloseness": (km.TCloseness, {"t": "1/2"}, {"t": "", "distance": "", "sensitive": "none whole text", "form": ""}),
    "Table": (km.Table, {"frame": None, "roles": None, "keys": None}, {"frame": ""}),
    "Table.from_frame": (
        km.Table.from_frame,
        {"frame": FRAME, "quasi_identifiers": ["a"]},
        {
            "frame": "frame",
            "quasi_identifiers": "",
            "sensitive": "none",
            "identifying": "none",
            "keep": "none",
            "drop": "none whole text",
            "missing": "",
            "symbol": "text",
            "source": "text",
            "csv": "none",
            "unit": "none",
            "count": "none",
            "released": "truth",
        },
    ),
    "apply": (km.apply, {"earlier": "nowhere", "table": FRAME}, {"earlier": "", "table": "frame", "suppress": "truth"}),
    "build_model": (km.build_model, {"problem": PROBLEM}, {"problem": "", "formulation": ""}),
    "compress": (
        km.compress,
        {"frame": TABLE.keys, "quasi_identifiers": ["a"]},
        {"frame": "frame", "quasi_identifiers": "none", "sensitive": "none"},
    ),
    "datasets.load": (km.datasets.load, {"name": "nothing"}, {"name": "", "base_url": ""}),
    "export_model": (
        km.export_model,
        {"problem": PROBLEM, "path": "nowhere/model.mps"},
        {
            "problem": "",
            "path": "",
            "formulation": "",
            "reduced": "truth",
            "known": "none whole float",
            "model": "none",
        },
    ),
    "export_series": (
        km.export_series,
        {"problem": PROBLEM, "path": "nowhere/model.mps", "weights": {"a": [1, 2]}},
        {
            "problem": "",
            "path": "",
            "random_weights": "none",
            "seed": "",
            "formulation": "",
            "weights": "",
        },
    ),
    "import_solution": (
        km.import_solution,
        {"problem": PROBLEM, "path": "nowhere.sol"},
        {
            "problem": "",
            "path": "",
            "names": "none",
            "formulation": "none",
            "reduced": "none truth",
            "bound_seconds": "whole float",
            "model": "none",
        },
    ),
    "read_model": (km.read_model, {"path": "nowhere"}, {"path": ""}),
    "read_table": (
        km.read_table,
        {"path": "@", "quasi_identifiers": ["a"]},
        {
            "path": "",
            "quasi_identifiers": "",
            "sensitive": "none",
            "query": "none",
            "identifying": "none",
            "keep": "none",
            "drop": "none whole text",
            "delimiter": "none",
            "encoding": "none",
            "missing": "",
            "missing_values": "text",
            "symbol": "text",
            "rows": "none whole",
            "unit": "none",
            "count": "none",
            "header": "truth",
            "released": "truth",
        },
    ),
    "register_solver": (km.register_solver, {"adapter": Example}, {"adapter": ""}),
    "register_bound": (km.register_bound, {"bound": None}, {"bound": "", "replace": "truth"}),
    "register_requirement": (
        km.register_requirement,
        {"kind": km.KAnonymity, "definition": DEFINITION},
        {"kind": "", "definition": ""},
    ),
    "Estimate": (km.Estimate, {"seconds": 1, "gain": 0.5}, {"seconds": "whole float", "gain": "whole float"}),
    "row_assignment": (
        km.row_assignment,
        {"k": 2, "omega": [1], "n": [2], "a": [[1]]},
        {"k": "whole", "omega": "", "n": "", "a": "", "s": "none whole"},
    ),
    "p_row_assignment": (
        km.p_row_assignment,
        {"p": 1, "k": 2, "omega": [1], "n": [[2]], "a": [[1]]},
        {"p": "whole", "k": "whole", "omega": "", "n": "", "a": "", "s": "none whole"},
    ),
    "Formulation": (
        km.Formulation,
        {"name": "tried", "declare": print},
        {"name": "text", "declare": "", "reduced": "truth", "tune": "", "trust": ""},
    ),
    "register_reduction": (
        km.register_reduction,
        {"reduction": km.CandidateReduction("tried", lambda instance: np.ones(instance.candidates.count, np.bool_))},
        {"reduction": "", "replace": "truth"},
    ),
    "register_formulation": (
        km.register_formulation,
        {"formulation": km.Formulation("tried", print)},
        {"formulation": "", "replace": "truth"},
    ),
    "register_phase": (km.register_phase, {"phase": Tried}, {"phase": "", "replace": "truth"}),
    "register_group_cost": (
        km.register_group_cost,
        {"kind": type("Tried", (km.GroupCost,), {"name": "tried", "exact": print, "release": print})},
        {"kind": "", "replace": "truth"},
    ),
    "register_method": (
        km.register_method,
        {"method": km.Method("tried", "", print)},  # type: ignore[arg-type]
        {"method": "", "replace": "truth"},
    ),
    "solve": (
        km.solve,
        {"problem": PROBLEM},
        {
            "problem": "",
            "solver": "",
            "formulation": "",
            "method": "",
            "time_limit": "none whole float",
            "threads": "whole",
            "seed": "whole",
            "gap": "",
            "node_limit": "none whole",
            "iteration_limit": "none whole",
            "start": "none",
            "then": "",
            "pool": "none whole",
            "pool_loss": "none",
            "pool_differ": "",
            "log_file": "none text",
            "solver_options": "none",
            "dask": "none text",
            "progress": "truth",
            "on_progress": "none class",
            "on_stage": "none class",
            "interrupt": "none",
            "parameters": "none",
        },
    ),
    "solved_table": (
        km.solved_table,
        {"problem": PROBLEM, "model": km.build_model(PROBLEM)},
        {"problem": "", "model": "", "formulation": "none", "bound_seconds": "whole float"},
    ),
    "write_result": (
        km.write_result,
        {"result": km.solve(PROBLEM), "folder": "@"},
        {"result": "", "folder": "text"},
    ),
    "exclude": (km.exclude, {"model": solved_model()}, {"model": "", "rows": "none", "differ": ""}),
    "solve_model": (
        km.solve_model,
        {"problem": PROBLEM, "model": km.build_model(PROBLEM)},
        {
            "problem": "",
            "model": "",
            "solver": "",
            "formulation": "",
            "time_limit": "none whole float",
            "threads": "whole",
            "seed": "whole",
            "gap": "",
            "log_file": "none text",
            "node_limit": "none whole",
            "start": "none",
            "solver_options": "none",
            "progress": "truth",
            "on_progress": "none class",
            "on_stage": "none class",
            "interrupt": "none",
            "lazy": "none",
            "cuts": "none",
        },
    ),
    "compare": (
        km.compare,
        {"problem": PROBLEM, "methods": ["greedy"]},
        {
            "problem": "",
            "methods": "none",
            "released": "none",
            "partitions": "none",
            "boxes": "truth",
            "time_limit": "none whole float",
            "threads": "whole",
            "seed": "whole",
            "on_method": "none class",
            "missing_keys": "",
            "row_id": "none text",
        },
    ),
    "write_table": (
        km.write_table,
        {"table": FRAME, "database": Path(tempfile.mkdtemp()) / "t.db", "name": "t"},
        {"table": "frame", "database": "", "name": "text"},
    ),
    "sweep": (
        km.sweep,
        {"problem": PROBLEM, "k": [2]},
        {
            "problem": "",
            "k": "none",
            "l": "none",
            "t": "none",
            "method": "",
            "baselines": "",
            "time_limit": "none whole float",
            "threads": "whole",
            "seed": "whole",
            "processes": "whole",
            "dask": "none",
            "known": "",
            "progress": "truth",
            "on_run": "none class",
            "weights": "none",
        },
    ),
    "FullDomain": (
        km.FullDomain,
        {},
        {
            **{"hierarchies": "", "suppression_limit": "", "objective": "", "weights": "", "level_costs": ""},
            **{"costs": "", "levels": ""},
        },
    ),
    "solve_full_domain": (
        km.solve_full_domain,
        {"table": TABLE, "privacy": km.KAnonymity(2)},
        {"table": "table", "privacy": "", "asked": "none"},
    ),
    "boxes": (km.boxes, {"result": km.solve(PROBLEM)}, {"result": "", "groups": "none"}),
    "attack": (
        km.attack,
        {"problem": PROBLEM, "released": km.solve(PROBLEM).table},
        {"problem": "", "released": "", "exact": "truth", "time_limit": "whole float"},
    ),
    "inspect": (
        km.inspect,
        {"table": FRAME},
        {
            "table": "frame",
            "quasi_identifiers": "none",
            "sensitive": "none",
            "identifying": "none",
            "keep": "none",
            "drop": "none whole text",
            "query": "none",
            "k": "",
            "population": "none frame",
            "delimiter": "none",
            "encoding": "none",
            "missing_values": "text",
            "symbol": "text",
            "unit": "none",
            "count": "none",
            "weight": "none",
            "header": "truth",
            "missing": "",
        },
    ),
    "measure": (
        km.measure,
        {"problem": PROBLEM, "anonymized": FRAME},
        {
            "problem": "",
            "anonymized": "frame",
            "missing_keys": "",
            "row_id": "none",
            "partition": "none",
            "weight": "none",
        },
    ),
    "write_model": (
        km.write_model,
        {"problem": PROBLEM, "path": "nowhere.toml"},
        {"problem": "", "path": "", "solver": "none"},
    ),
    "write_report": (
        km.write_report,
        {"result": km.solve(PROBLEM), "path": "nowhere/report.html"},
        {"result": "", "path": "text", "sample": "", "before_after": "", "title": "", "author": ""},
    ),
    "find_quasi_identifiers": (
        km.find_quasi_identifiers,
        {"table": FRAME},
        {
            "table": "frame table",
            "columns": "none",
            "k": "whole",
            "reading": "",
            "every": "truth",
            "solver": "",
            "fewest": "truth",
        },
    ),
    "check_certificate": (
        km.check_certificate,
        {"problem": PROBLEM, "certificate": {}},
        {"problem": "", "certificate": ""},
    ),
    "verify": (
        km.verify,
        {"problem": PROBLEM, "anonymized": FRAME},
        {
            "problem": "",
            "anonymized": "frame",
            "partition": "none",
            "distances": "none",
            "cells": "",
            "missing_keys": "",
            "row_id": "none",
            "minimal": "truth",
        },
    ),
}
DISTANCES: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, str]]] = {
    "HierarchicalDistance": (HierarchicalDistance, {}, {"hierarchy": ""}),
    "MatrixDistance": (
        MatrixDistance,
        {"values": ["u", "v"], "matrix": [[0, 1], [1, 0]]},
        {"values": "", "matrix": ""},
    ),
    "OrderedDistance": (OrderedDistance, {}, {"order": "none"}),
}
# what the package makes itself, errors, and what is no function
MADE = {
    "CandidateReduction",
    "GroupCost",
    "ModelSize",
    "Relaxation",
    "Attack",
    "Applied",
    "Assignment",
    "Comparison",
    "Sweep",
    "SweepRow",
    "FullDomainResult",
    "Inspection",
    "Metrics",
    "ModelFile",
    "QuasiIdentifiers",
    "Report",
    "Requirement",
    "Result",
    "RowTypes",
    "Session",
    "SolverAdapter",
    "Estimate",
    "Known",
    "Phase",
    "datasets",
}
MADE |= {"distances"}
