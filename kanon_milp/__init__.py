"""Provably optimal anonymization of tables by mixed-integer programming.

The public names are imported when they are first used: the command line has to listen to Ctrl-C before the data
frames, and the modeling language are there, which takes a second.
"""

import logging
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet until somebody asks for it

if TYPE_CHECKING:
    from kanon_milp.bounds.registry import register_bound as register_bound
    from kanon_milp.errors import FileWarning as FileWarning
    from kanon_milp.errors import InputError as InputError
    from kanon_milp.errors import KanonError as KanonError
    from kanon_milp.errors import KanonWarning as KanonWarning
    from kanon_milp.errors import NotProvenError as NotProvenError
    from kanon_milp.errors import RoleWarning as RoleWarning
    from kanon_milp.errors import SolverError as SolverError
    from kanon_milp.formulations import Formulation as Formulation
    from kanon_milp.formulations import register_formulation as register_formulation
    from kanon_milp.formulations.goals import exclude as exclude
    from kanon_milp.formulations.relaxation import Relaxation as Relaxation
    from kanon_milp.formulations.relaxation import relax as relax
    from kanon_milp.formulations.row_assignment import p_row_assignment as p_row_assignment
    from kanon_milp.formulations.row_assignment import row_assignment as row_assignment
    from kanon_milp.methods.exchange import export_model as export_model
    from kanon_milp.methods.exchange import import_solution as import_solution
    from kanon_milp.methods.exchange import solved_table as solved_table
    from kanon_milp.methods.full_domain import FullDomain as FullDomain
    from kanon_milp.methods.full_domain import FullDomainResult as FullDomainResult
    from kanon_milp.methods.full_domain import solve_full_domain as solve_full_domain
    from kanon_milp.methods.phases import Estimate as Estimate
    from kanon_milp.methods.phases import Known as Known
    from kanon_milp.methods.phases import Phase as Phase
    from kanon_milp.methods.phases import register_phase as register_phase
    from kanon_milp.methods.quasi_identifiers import QuasiIdentifiers as QuasiIdentifiers
    from kanon_milp.methods.quasi_identifiers import find_quasi_identifiers as find_quasi_identifiers
    from kanon_milp.methods.registry import Method as Method
    from kanon_milp.methods.registry import register_method as register_method
    from kanon_milp.methods.result import Result as Result
    from kanon_milp.methods.session import Session as Session
    from kanon_milp.methods.solve import build_model as build_model
    from kanon_milp.methods.solve import model_size as model_size
    from kanon_milp.methods.solve import solve as solve
    from kanon_milp.methods.solve import solve_model as solve_model
    from kanon_milp.methods.verification import register_requirement as register_requirement
    from kanon_milp.presolve.assignment import Assignment as Assignment
    from kanon_milp.presolve.own_reductions import CandidateReduction as CandidateReduction
    from kanon_milp.presolve.own_reductions import register_reduction as register_reduction
    from kanon_milp.presolve.resources import ModelSize as ModelSize
    from kanon_milp.presolve.row_types import RowTypes as RowTypes
    from kanon_milp.presolve.row_types import compress as compress
    from kanon_milp.problem import distances as distances
    from kanon_milp.problem.database_tables import write_table as write_table
    from kanon_milp.problem.group_costs import GroupCost as GroupCost
    from kanon_milp.problem.group_costs import register_group_cost as register_group_cost
    from kanon_milp.problem.group_recoding import Boxes as Boxes
    from kanon_milp.problem.group_recoding import Microaggregation as Microaggregation
    from kanon_milp.problem.hierarchies import Hierarchy as Hierarchy
    from kanon_milp.problem.privacy import *  # noqa: F403
    from kanon_milp.problem.problem import Problem as Problem
    from kanon_milp.problem.recoding import Hierarchies as Hierarchies
    from kanon_milp.problem.recoding import PatternMask as PatternMask
    from kanon_milp.problem.recoding import Suppression as Suppression
    from kanon_milp.problem.table import Table as Table
    from kanon_milp.problem.table import read_table as read_table
    from kanon_milp.solvers import SolverAdapter as SolverAdapter
    from kanon_milp.solvers import register_solver as register_solver
    from kanon_milp.studies import datasets as datasets
    from kanon_milp.studies.apply import Applied as Applied
    from kanon_milp.studies.apply import apply as apply
    from kanon_milp.studies.attack import Attack as Attack
    from kanon_milp.studies.attack import attack as attack
    from kanon_milp.studies.comparison import Comparison as Comparison
    from kanon_milp.studies.comparison import boxes as boxes
    from kanon_milp.studies.comparison import compare as compare
    from kanon_milp.studies.inspection import Inspection as Inspection
    from kanon_milp.studies.inspection import inspect as inspect
    from kanon_milp.studies.metrics import Metrics as Metrics
    from kanon_milp.studies.metrics import measure as measure
    from kanon_milp.studies.model_content import write_model as write_model
    from kanon_milp.studies.model_files import ModelFile as ModelFile
    from kanon_milp.studies.model_files import read_model as read_model
    from kanon_milp.studies.output import write_result as write_result
    from kanon_milp.studies.pages.result_page import write_report as write_report
    from kanon_milp.studies.series import export_series as export_series
    from kanon_milp.studies.sweep import Sweep as Sweep
    from kanon_milp.studies.sweep import SweepRow as SweepRow
    from kanon_milp.studies.sweep import sweep as sweep
    from kanon_milp.verify import Report as Report
    from kanon_milp.verify import check_certificate as check_certificate
    from kanon_milp.verify import verify as verify

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
    "formulations": ("Formulation", "register_formulation"),
    "presolve.own_reductions": ("CandidateReduction", "register_reduction"),
    "formulations.goals": ("exclude",),
    "formulations.relaxation": ("Relaxation", "relax"),
    "formulations.row_assignment": ("p_row_assignment", "row_assignment"),
    "problem.database_tables": ("write_table",),
    "problem.group_costs": ("GroupCost", "register_group_cost"),
    "problem.group_recoding": ("Boxes", "Microaggregation"),
    "problem.hierarchies": ("Hierarchy",),
    "studies": ("datasets",),
    "studies.model_content": ("write_model",),
    "studies.model_files": ("ModelFile", "read_model"),
    "problem": ("distances",),
    "problem.problem": ("Problem",),
    "problem.recoding": ("Hierarchies", "PatternMask", "Suppression"),
    "methods.exchange": ("export_model", "import_solution", "solved_table"),
    "methods.full_domain": ("FullDomain", "FullDomainResult", "solve_full_domain"),
    "methods.quasi_identifiers": ("QuasiIdentifiers", "find_quasi_identifiers"),
    "methods.phases": ("Estimate", "Known", "Phase", "register_phase"),
    "methods.registry": ("Method", "register_method"),
    "methods.result": ("Result",),
    "methods.session": ("Session",),
    "methods.verification": ("register_requirement",),
    "presolve.assignment": ("Assignment",),
    "presolve.resources": ("ModelSize",),
    "presolve.row_types": ("RowTypes", "compress"),
    "methods.solve": ("build_model", "model_size", "solve", "solve_model"),
    "studies.apply": ("Applied", "apply"),
    "studies.comparison": ("Comparison", "boxes", "compare"),
    "studies.inspection": ("Inspection", "inspect"),
    "studies.attack": ("Attack", "attack"),
    "studies.metrics": ("Metrics", "measure"),
    "studies.series": ("export_series",),
    "studies.sweep": ("Sweep", "SweepRow", "sweep"),
    "studies.output": ("write_result",),
    "studies.pages.result_page": ("write_report",),
    "solvers": ("SolverAdapter", "register_solver"),
    "problem.table": ("Table", "read_table"),
    "verify": ("Report", "check_certificate", "verify"),
}
_HOME = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*_HOME, *_requirements()})
    if name in _HOME:
        home = import_module(_HOME[name])
        value = getattr(home, name, None) or import_module(f"{_HOME[name]}.{name}")
    elif name[:1].isupper() and name in _requirements():
        value = _requirements()[name]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _requirements() -> dict[str, Any]:
    registry = import_module(f"{__name__}.problem.privacy.registry")
    return {"Requirement": registry.Requirement, **registry.BUILT_IN}


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_requirements()})


class _Package(ModuleType):
    """A module that is imported does not take the place of a public name that it shares: `solve`, `verify`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
