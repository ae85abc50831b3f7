"""The exact verifier: it reads a finished table and its original and computes in integers and fractions.

Nothing here is shared with the steps that build and solve a model, and no solver is asked: what the verifier says holds
whoever made the table. Requirements, ground distances, hierarchies, masks and numbers are read and judged by
definitions of its own, from the parameters that the user gave; of the package only errors and plain records are
imported. Files are read by `kanon_milp.methods.verification`, which hands over plain data.
"""

from kanon_milp.verify.certificate import CertificateReport, check_certificate
from kanon_milp.verify.check import verify
from kanon_milp.verify.groups import GroupFacts, SensitiveFacts
from kanon_milp.verify.numbers import EntropyDiversity, LogRatio
from kanon_milp.verify.report import Report

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
