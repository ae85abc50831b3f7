"""The exact verifier: it reads a finished table and its original and computes in whole numbers and fractions.

Nothing here is shared with the steps that build and solve a model, and no solver is asked: what the verifier
says holds whoever made the table.
"""

from kanon_milp.verify.certificate import CertificateReport, check_certificate, check_certificate_files
from kanon_milp.verify.check import verify, verify_files
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
