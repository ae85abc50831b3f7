"""The exact verifier: it reads a finished table and its original and computes in whole numbers and fractions.

Nothing here is shared with the steps that build and solve a model, and no solver is asked: what the verifier
says holds whoever made the table.
"""

from kanon_milp.verify.check import verify, verify_files
from kanon_milp.verify.groups import GroupFacts, SensitiveFacts
from kanon_milp.verify.report import Report

__all__ = ["GroupFacts", "Report", "SensitiveFacts", "verify", "verify_files"]
