"""Formulations: declarative Pyomo builders over an instance; one file each, one line each in `FORMULATIONS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from kanon_milp.errors import InputError, nearest
from kanon_milp.formulations.groups import build_groups
from kanon_milp.formulations.strong import build_strong, trust_strong, tune_strong
from kanon_milp.formulations.textbook import build_textbook
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.arguments import text
from kanon_milp.solvers.adapter import Setting
from kanon_milp.system.modeling import without_model_log


@dataclass(frozen=True)
class Formulation:
    """A builder, whether it is declared over the reduced instance, and what it tells solvers of a model.

    tune: settings for an instance; options that the user asks for come first. trust: those of them that an extended
    model needs as well, since answers without them may be wrong.
    """

    name: str
    declare: Callable[[Instance], pyo.ConcreteModel]
    reduced: bool
    tune: Callable[[Instance], Sequence[Setting]] = lambda _: ()
    trust: Callable[[Instance], Sequence[Setting]] = lambda _: ()

    def build(self, instance: Instance) -> pyo.ConcreteModel:
        """Declare the model; so many small objects are made that the garbage collector waits (three times faster)."""
        with PauseGC(), without_model_log():
            return self.declare(instance)


FORMULATIONS: dict[str, Formulation] = {
    "strong": Formulation("strong", build_strong, reduced=True, tune=tune_strong, trust=trust_strong),
    "textbook": Formulation("textbook", build_textbook, reduced=False),
    "groups": Formulation("groups", build_groups, reduced=True),
}


def get_formulation(name: str) -> Formulation:
    """Look a formulation up by name."""
    text(name, "formulation")
    if name not in FORMULATIONS:
        known = list(FORMULATIONS)
        raise InputError(f'unknown formulation "{name}"{nearest(name, known)}; known: {", ".join(known)}')
    return FORMULATIONS[name]
