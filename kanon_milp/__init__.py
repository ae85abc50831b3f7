"""Provably optimal anonymization of tables by mixed-integer programming."""

__version__ = "0.1.0"

from kanon_milp.errors import InputError, KanonError, KanonWarning, NotProvenError, RoleWarning, SolverError
from kanon_milp.hierarchies import Hierarchy
from kanon_milp.instances import datasets
from kanon_milp.modelfile import ModelFile, read_model
from kanon_milp.privacy import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PSensitivity,
    Requirement,
    TCloseness,
)
from kanon_milp.problem import Problem
from kanon_milp.recoding import Hierarchies, PatternMask, Suppression
from kanon_milp.result import Result
from kanon_milp.rowtypes import RowTypes, compress
from kanon_milp.solve import build_model, solve, solve_model
from kanon_milp.table import Table, read_table
from kanon_milp.verify import Report, verify

__all__ = [
    "AlphaKAnonymity",
    "BetaLikeness",
    "DeltaDisclosure",
    "Hierarchies",
    "Hierarchy",
    "InputError",
    "KAnonymity",
    "KanonError",
    "KanonWarning",
    "LDiversity",
    "ModelFile",
    "NotProvenError",
    "PSensitivity",
    "PatternMask",
    "Problem",
    "Report",
    "Requirement",
    "Result",
    "RoleWarning",
    "RowTypes",
    "SolverError",
    "Suppression",
    "TCloseness",
    "Table",
    "build_model",
    "compress",
    "datasets",
    "read_model",
    "read_table",
    "solve",
    "solve_model",
    "verify",
]
