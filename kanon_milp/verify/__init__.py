"""The exact verifier: it reads a finished table and its original and computes in integers and fractions.

Nothing here is shared with the steps that build and solve a model, and no solver is asked: what the verifier says holds
whoever made the table. Requirements, ground distances, hierarchies, masks and numbers are read and judged by
definitions of its own, from the parameters that the user gave; of the package only errors and plain records are
imported. Files are read by `kanon_milp.verification`, which hands over plain data.
"""

from typing import Any

from kanon_milp.verify.certificate import CertificateReport, check_certificate, check_certificate_files
from kanon_milp.verify.check import verify
from kanon_milp.verify.facts import GroupFacts, SensitiveFacts
from kanon_milp.verify.logarithms import EntropyDiversity, LogRatio
from kanon_milp.verify.report import Report

__all__ = [
    "CertificateReport",
    "EntropyDiversity",
    "GroupFacts",
    "LogRatio",
    "Report",
    "SensitiveFacts",
    "check_certificate",
    "check_certificate_files",
    "verify",
    "verify_files",
]


def __getattr__(name: str) -> Any:
    """What reads files is reached from here too, and loaded when it is asked for."""
    if name == "verify_files":
        from kanon_milp import verification

        return verification.verify_files
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
