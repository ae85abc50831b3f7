"""Provably optimal anonymization of tables by mixed-integer programming.

The public names are imported when they are first used: the command line has to listen to Ctrl-C before the data
frames, the modeling language and the compiler are there, which takes seconds.
"""

import logging
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet until somebody asks for it

if TYPE_CHECKING:
    from kanon_milp.bounds.registry import register_bound
    from kanon_milp.errors import (
        FileWarning,
        InputError,
        KanonError,
        KanonWarning,
        NotProvenError,
        RoleWarning,
        SolverError,
    )
    from kanon_milp.methods.exchange import export_model, import_solution
    from kanon_milp.methods.full_domain import FullDomain, FullDomainResult, solve_full_domain
    from kanon_milp.methods.quasi_identifiers import QuasiIdentifiers, find_quasi_identifiers
    from kanon_milp.methods.registry import Method, register_method
    from kanon_milp.methods.result import Result
    from kanon_milp.methods.session import Session
    from kanon_milp.methods.solve import build_model, solve, solve_model
    from kanon_milp.presolve.assignment import Assignment
    from kanon_milp.presolve.row_types import RowTypes, compress
    from kanon_milp.problem import distances
    from kanon_milp.problem.database_tables import write_table
    from kanon_milp.problem.hierarchies import Hierarchy
    from kanon_milp.problem.privacy import (
        AlphaKAnonymity,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        LDiversity,
        PSensitivity,
        Requirement,
        TCloseness,
    )
    from kanon_milp.problem.problem import Problem
    from kanon_milp.problem.recoding import Hierarchies, PatternMask, Suppression
    from kanon_milp.problem.table import Table, read_table
    from kanon_milp.solvers import SolverAdapter, register_solver
    from kanon_milp.studies import datasets
    from kanon_milp.studies.comparison import Comparison, boxes, compare
    from kanon_milp.studies.inspection import Inspection, inspect
    from kanon_milp.studies.metrics import Metrics, measure
    from kanon_milp.studies.model_files import ModelFile, read_model
    from kanon_milp.studies.pages.result_page import write_report
    from kanon_milp.studies.sweep import Sweep, SweepRow, sweep
    from kanon_milp.verify import Report, check_certificate, verify

__all__ = [
    "AlphaKAnonymity",
    "Assignment",
    "BetaLikeness",
    "Comparison",
    "DeltaDisclosure",
    "FileWarning",
    "FullDomain",
    "FullDomainResult",
    "Hierarchies",
    "Hierarchy",
    "InputError",
    "Inspection",
    "KAnonymity",
    "KanonError",
    "KanonWarning",
    "LDiversity",
    "Method",
    "Metrics",
    "ModelFile",
    "NotProvenError",
    "PSensitivity",
    "PatternMask",
    "Problem",
    "QuasiIdentifiers",
    "Report",
    "Requirement",
    "Result",
    "RoleWarning",
    "RowTypes",
    "Session",
    "SolverAdapter",
    "SolverError",
    "Suppression",
    "Sweep",
    "SweepRow",
    "TCloseness",
    "Table",
    "boxes",
    "build_model",
    "check_certificate",
    "compare",
    "compress",
    "datasets",
    "distances",
    "export_model",
    "find_quasi_identifiers",
    "import_solution",
    "inspect",
    "measure",
    "read_model",
    "read_table",
    "register_bound",
    "register_method",
    "register_solver",
    "solve",
    "solve_full_domain",
    "solve_model",
    "sweep",
    "verify",
    "write_report",
    "write_table",
]

# where each public name is
_HOMES = {
    "bounds.registry": ("register_bound",),
    "errors": (
        "FileWarning",
        "InputError",
        "KanonError",
        "KanonWarning",
        "NotProvenError",
        "RoleWarning",
        "SolverError",
    ),
    "problem.database_tables": ("write_table",),
    "problem.hierarchies": ("Hierarchy",),
    "studies": ("datasets",),
    "studies.model_files": ("ModelFile", "read_model"),
    "problem.privacy": (
        "AlphaKAnonymity",
        "BetaLikeness",
        "DeltaDisclosure",
        "KAnonymity",
        "LDiversity",
        "PSensitivity",
        "Requirement",
        "TCloseness",
    ),
    "problem": ("distances",),
    "problem.problem": ("Problem",),
    "problem.recoding": ("Hierarchies", "PatternMask", "Suppression"),
    "methods.exchange": ("export_model", "import_solution"),
    "methods.full_domain": ("FullDomain", "FullDomainResult", "solve_full_domain"),
    "methods.quasi_identifiers": ("QuasiIdentifiers", "find_quasi_identifiers"),
    "methods.registry": ("Method", "register_method"),
    "methods.result": ("Result",),
    "methods.session": ("Session",),
    "presolve.assignment": ("Assignment",),
    "presolve.row_types": ("RowTypes", "compress"),
    "methods.solve": ("build_model", "solve", "solve_model"),
    "studies.comparison": ("Comparison", "boxes", "compare"),
    "studies.inspection": ("Inspection", "inspect"),
    "studies.metrics": ("Metrics", "measure"),
    "studies.sweep": ("Sweep", "SweepRow", "sweep"),
    "studies.pages.result_page": ("write_report",),
    "solvers": ("SolverAdapter", "register_solver"),
    "problem.table": ("Table", "read_table"),
    "verify": ("Report", "check_certificate", "verify"),
}
_HOME = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(_HOME[name])
    value = getattr(home, name, None) or import_module(f"{_HOME[name]}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A module that is imported does not take the place of a public name that it shares: `solve`, `verify`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
