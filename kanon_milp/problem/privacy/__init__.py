"""Privacy requirements: one file each, and one line each here, in the order of the command line."""

# isort: off
from kanon_milp.problem.privacy.base import Requirement as Requirement
from kanon_milp.problem.privacy.k_anonymity import KAnonymity as KAnonymity
from kanon_milp.problem.privacy.prosecutor_risk import ProsecutorRisk as ProsecutorRisk
from kanon_milp.problem.privacy.journalist_risk import JournalistRisk as JournalistRisk
from kanon_milp.problem.privacy.marketer_risk import MarketerRisk as MarketerRisk
from kanon_milp.problem.privacy.p_sensitivity import PSensitivity as PSensitivity
from kanon_milp.problem.privacy.l_diversity import LDiversity as LDiversity
from kanon_milp.problem.privacy.t_closeness import TCloseness as TCloseness
from kanon_milp.problem.privacy.alpha import AlphaKAnonymity as AlphaKAnonymity
from kanon_milp.problem.privacy.beta_likeness import BetaLikeness as BetaLikeness
from kanon_milp.problem.privacy.delta_disclosure import DeltaDisclosure as DeltaDisclosure
