"""Formulations: declarative Pyomo builders over an instance; one file each, one line each in `FORMULATIONS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyomo.core as pyo
from pyomo.common.gc_manager import PauseGC

from kanon_milp.errors import InputError, is_ours, nearest, own_code, type_in_words
from kanon_milp.formulations.groups import build_groups
from kanon_milp.formulations.homogeneity import build_homogeneity
from kanon_milp.formulations.liang_yuan import build_liang_yuan, trust_liang_yuan
from kanon_milp.formulations.strong import build_strong, trust_strong, tune_strong
from kanon_milp.formulations.textbook import build_textbook
from kanon_milp.presolve.instance import Instance, mutation_guard
from kanon_milp.problem.arguments import instance_of, text, wrong
from kanon_milp.solvers.adapter import Setting
from kanon_milp.system.extras import Plugins
from kanon_milp.system.modeling import without_model_log

_MUST = "return a Pyomo ConcreteModel with `assign` over all pairs and `open` over all candidates"


@dataclass(frozen=True)
class Formulation:
    """A builder of models.

    name: as in `solve(formulation=name)`. declare: from an instance to a Pyomo model with the components `assign`, rows
    of each pair, and `open`, whether a candidate is used; its optimum must be that of the problem. reduced: whether it
    may be declared over the instance after the reductions, which have fewer candidates and row types; False for all of
    them. tune: settings of the solver for an instance; options that the user asks for come first. trust: those of them
    that an extended model needs as well, since answers without them may be wrong.
    """

    name: str
    declare: Callable[[Instance], pyo.ConcreteModel]
    reduced: bool = True
    tune: Callable[[Instance], Sequence[Setting]] = lambda _: ()
    trust: Callable[[Instance], Sequence[Setting]] = lambda _: ()

    def __post_init__(self) -> None:
        if not (text(self.name, "name of a formulation").isprintable() and self.name.strip()):
            raise InputError("the name of a formulation must be printable text")
        for what, given in (("declare", self.declare), ("tune", self.tune), ("trust", self.trust)):
            if isinstance(given, type) or not callable(given):
                raise wrong(f'formulation "{self.name}": {what}', "a function", given)
        instance_of(self.reduced, bool, f'formulation "{self.name}": reduced', "True or False")

    def build(self, instance: Instance) -> pyo.ConcreteModel:
        """Declare the model; so many small objects are made that the garbage collector waits (three times faster).

        Raises InputError for what the formulation is not for, and where code of a user's own makes no such model.
        """
        with PauseGC(), without_model_log():
            return self.declare(instance) if is_ours(self.declare) else self._declared(instance)

    def _declared(self, instance: Instance) -> pyo.ConcreteModel:
        """What a user's own code declares, checked."""
        what = f'the formulation "{self.name}"'
        with own_code(what, _MUST), mutation_guard(instance, what):
            model: object = self.declare(instance)
        if not isinstance(model, pyo.ConcreteModel):
            raise InputError(f"{what} must {_MUST}, found {type_in_words(model)}")
        for name, size in (("assign", instance.candidates.pairs), ("open", instance.candidates.count)):
            component = model.component(name)
            if component is None or len(component) != size:
                raise InputError(f'{what} must {_MUST}, found no component "{name}" of {size} members')
        asked = "maximize" if instance.problem.objective == "max_groups" else "minimize"
        for goal in model.component_data_objects(pyo.Objective, active=True):
            if goal.sense != getattr(pyo, asked):
                raise InputError(f'{what} must {asked} its objective "{goal.name}"')
        return model


FORMULATIONS: Plugins[Formulation] = Plugins(
    "formulation",
    (
        Formulation("strong", build_strong, tune=tune_strong, trust=trust_strong),
        Formulation("textbook", build_textbook, reduced=False),
        Formulation("homogeneity", build_homogeneity, reduced=False),
        Formulation("liang_yuan", build_liang_yuan, reduced=False, tune=trust_liang_yuan, trust=trust_liang_yuan),
        Formulation("groups", build_groups),
    ),
    lambda formulation, what: instance_of(formulation, Formulation, what, "a Formulation(name, declare)"),
    "kanon_milp.formulations",
)


def register_formulation(formulation: Formulation, *, replace: bool = False) -> None:
    """Make a formulation of your own known by its name, in this process, to `solve(formulation=name)`, `build_model`,
    `solve_model`, `export_model` and studies.

    replace: replace the registered one of this name. A package can bring formulations without this call, by entry
    points of the group `kanon_milp.formulations`: the name, and the `Formulation` itself. It is taken on trust, and
    results say so: "formulation NAME" is in their `backed_by`. Raises InputError for a name that is taken, and if it is
    no Formulation.
    """
    FORMULATIONS.add(formulation, replace=replace)


def get_formulation(name: str) -> Formulation:
    """Look a formulation up by name."""
    found = FORMULATIONS.find(text(name, "formulation"))
    if found is None:
        known = FORMULATIONS.names()
        raise InputError(f'unknown formulation "{name}"{nearest(name, known)}; known: {", ".join(known)}')
    return found
