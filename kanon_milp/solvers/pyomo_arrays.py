"""From a Pyomo model to the arrays that solvers take, and from a solver's point back to the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.core as pyo
import scipy.sparse as sp
from pyomo.common.errors import InfeasibleConstraintException, InvalidValueError
from pyomo.common.gc_manager import PauseGC
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from kanon_milp.errors import InputError, one_line, own_code, type_in_words
from kanon_milp.solvers.lazy import Row, Separator
from kanon_milp.solvers.model import LinearModel
from kanon_milp.system.arrays import Floats
from kanon_milp.system.modeling import without_model_log


@dataclass(frozen=True, eq=False)
class PyomoArrays:
    """A Pyomo model as arrays.

    linear: the minimization that solvers see. variables: the Pyomo variable of each of its columns.
    sign: 1, or -1 where the model maximizes and `linear` minimizes the negative.
    """

    linear: LinearModel
    variables: list[Any]
    sign: int

    def columns_of(self, variables: list[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Column of each of these Pyomo variables, -1 for one that occurs in no constraint and not in the objective."""
        at = {id(variable): j for j, variable in enumerate(self.variables)}
        return np.array([at.get(id(v), -1) for v in variables], dtype=np.int64)

    def values_of(self, variables: list[Any], x: Floats) -> Floats:
        """Value of each of these Pyomo variables at the point x; outside of it that of a fixed one, else 0."""
        columns = self.columns_of(variables)
        outside = [float(v.value) if v.fixed and v.value is not None else 0.0 for v in variables]
        return np.where(columns >= 0, x[columns], outside) if len(x) else np.array(outside)

    def loaded(self) -> Floats:
        """The values that are in the Pyomo variables. Raises InputError for one that is none."""
        for variable in self.variables:
            if variable.value is None or not math.isfinite(variable.value):
                raise InputError(
                    f"the model: the variable {variable.name} has no value that is a number; solve the model first, "
                    "and load the solution into it"
                )
        return np.array([variable.value for variable in self.variables], dtype=float)

    def load(self, x: Floats, *, relaxed: bool = False) -> None:
        """Write a point into the Pyomo variables, integer variables rounded where it is not one of the relaxation."""
        x = x if relaxed else np.where(self.linear.integer, np.round(x), x)
        for variable, value in zip(self.variables, x.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)

    def separator(
        self, model: pyo.ConcreteModel, function: Callable[[Any], Any], *, relaxed: bool = False
    ) -> Separator:
        """A user's function as what a solver asks: it is given the model with a point as values of its variables, and
        returns constraints as expressions, none where it has none."""

        at = {id(variable): j for j, variable in enumerate(self.variables)}

        def rows(x: Floats) -> list[Row]:
            self.load(x, relaxed=relaxed)
            what, must = "the function of lazy constraints or cuts", "return linear constraints of the model"
            with own_code(what, must):
                given = function(model)
                found = list(given) if isinstance(given, Iterable) else None
            if found is None and given is not None and given is not False:
                raise InputError(f"{what} must {must} in a list, found {type_in_words(given)}")
            return [row for each in found or () if (row := self._row(each, at)) is not None]

        return rows

    def _row(self, expression: Any, at: Mapping[int, int]) -> Row | None:
        """A linear constraint as a row; None for one that always holds."""
        try:
            with without_model_log():
                stated = pyo.Constraint(expr=expression)
                stated.construct()
            repn = generate_standard_repn(stated.body)
        except (TypeError, ValueError) as error:
            raise InputError(f"lazy: a constraint that cannot be used: {one_line(error)}") from error
        if not repn.is_linear():
            raise InputError("lazy: a constraint that is not linear")
        columns = np.array([at.get(id(v), -1) for v in repn.linear_vars], dtype=np.int64)
        if (missing := np.flatnonzero(columns < 0)).size:
            raise InputError(
                f"lazy: the variable {repn.linear_vars[missing[0]].name} is in no constraint of the model and not in "
                "its objective"
            )
        low, high = (end if side is None else float(side) - float(repn.constant) for side, end in (
            (stated.lb, -math.inf), (stated.ub, math.inf)))  # fmt: skip
        values = np.array(repn.linear_coefs, dtype=float)
        if not len(values):
            if low <= 0 <= high:
                return None
            raise InputError("lazy: a constraint that no values satisfy: it has no variables")
        return Row(columns, values, low, high)


def to_arrays(model: pyo.ConcreteModel, *, names: bool = False) -> PyomoArrays:
    """Convert a linear Pyomo model; `names` carries its own names through (slower), else columns are x0, x1, ...

    Raises InputError if the model has no single active objective or is not linear.
    """
    with PauseGC():
        return _to_arrays(model, names=names)


def _to_arrays(model: pyo.ConcreteModel, *, names: bool) -> PyomoArrays:
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise InputError(f"a model to solve needs exactly one active objective, this one has {len(objectives)}")
    for variable in model.component_data_objects(pyo.Var):
        if variable.fixed and variable.value is None:
            raise InputError(
                f"the variable {variable.name} is fixed but has no value; write {variable.name}.fix(0) or another "
                "value, or unfix it"
            )
    sign = 1 if objectives[0].sense == pyo.minimize else -1
    try:
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=pyo.minimize)
        matrix, constraint_lower, constraint_upper = _constraints(form)
        offset = float(form.c_offset[0])
    except InfeasibleConstraintException:
        raise InputError("the model has a constraint that no values satisfy: all of its coefficients are 0") from None
    except InvalidValueError:
        raise InputError(
            "the model uses an expression or a parameter without a value, as `open` is in a formulation without "
            "variables for groups"
        ) from None
    except ValueError as error:  # Pyomo's errors about non-linear or constant constraints name components, no data
        raise InputError(f"the model cannot be converted to a linear model: {one_line(error)}") from None
    columns = form.columns
    _check_domains(columns)
    lower, upper = _bounds(columns)
    if names:
        variable_names = tuple(v.name for v in columns)
        constraint_names = tuple(c.name for c, _ in form.rows)
    else:
        variable_names = tuple(f"x{j}" for j in range(len(columns)))
        constraint_names = tuple(f"r{r}" for r in range(len(constraint_lower)))
    linear = LinearModel(
        name=str(model.name),
        c=np.asarray(form.c.todense(), dtype=float).ravel(),
        offset=offset,
        A=matrix,
        constraint_lower=constraint_lower,
        constraint_upper=constraint_upper,
        lower=lower,
        upper=upper,
        integer=np.array([not v.is_continuous() for v in columns], dtype=bool),
        variable_names=variable_names,
        constraint_names=constraint_names,
    )
    return PyomoArrays(linear, columns, sign)


def _check_domains(columns: list[Any]) -> None:
    """Refuse domains with gaps, such as even numbers: solvers know intervals and the integers in them."""
    domains = {id(variable.domain): variable for variable in columns}
    for variable in domains.values():
        if variable.domain.get_interval()[2] not in (0, 1):
            raise InputError(
                f"the domain of the variable {variable.name} is neither an interval nor all integers of one; state it "
                "with binary variables"
            )


def _bounds(columns: list[Any]) -> tuple[Floats, Floats]:
    pairs = [variable.bounds for variable in columns]
    lower = np.array([-np.inf if low is None else low for low, _ in pairs], dtype=float)
    upper = np.array([np.inf if high is None else high for _, high in pairs], dtype=float)
    return lower, upper


def _constraints(form: Any) -> tuple[sp.csr_array, Floats, Floats]:
    """Constraints of Pyomo's standard form are ≤ (1), ≥ (-1) or = (0) their right-hand side."""
    kind = np.array([entry.bound_type for entry in form.rows], dtype=np.int8)
    rhs = np.asarray(form.rhs, dtype=float)
    constraint_lower = np.where(kind <= 0, rhs, -np.inf)
    constraint_upper = np.where(kind >= 0, rhs, np.inf)
    return sp.csr_array(form.A), constraint_lower, constraint_upper
