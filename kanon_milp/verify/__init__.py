"""The exact verifier: it reads a finished table and its original and computes in integers and fractions.

Nothing here is shared with the steps that build and solve a model, and no solver is asked: what the verifier says holds
whoever made the table. Requirements, ground distances, hierarchies, masks and numbers are read and judged by
definitions of its own, from the parameters that the user gave; of the package only errors and plain records are
imported. Files are read by `kanon_milp.methods.verification`, which hands over plain data.
"""

import importlib
from typing import TYPE_CHECKING, Any

from kanon_milp.verify.check import verify
from kanon_milp.verify.groups import GroupFacts, SensitiveFacts
from kanon_milp.verify.numbers import EntropyDiversity, LogRatio
from kanon_milp.verify.report import Report

if TYPE_CHECKING:
    from kanon_milp.verify.certificate import CertificateReport, check_certificate

__all__ = [
    "CertificateReport",
    "EntropyDiversity",
    "GroupFacts",
    "LogRatio",
    "Report",
    "SensitiveFacts",
    "check_certificate",
    "verify",
]


# what reads files, or is about certificates, is loaded when it is asked for: the verifier needs neither
LATER = {
    "CertificateReport": "kanon_milp.verify.certificate",
    "check_certificate": "kanon_milp.verify.certificate",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(LATER[name]), name)
