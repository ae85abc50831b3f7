"""Which problem a model was built for, so that it is not solved for another one: fingerprints of instances, and of all
that requirements hold."""

from __future__ import annotations

import hashlib
import pickle
import uuid
from collections.abc import Iterable, Mapping, Set
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pyomo.core as pyo
from pyomo.common.numeric_types import RegisterNumericType

from kanon_milp.errors import is_built_in
from kanon_milp.presolve.instance import Instance
from kanon_milp.problem.privacy import Requirement
from kanon_milp.problem.problem import Problem

_NAME = "kanon_milp_built_for"
_known: WeakValueDictionary[str, Problem] = WeakValueDictionary()  # by what the models built for them carry


def mark(model: pyo.ConcreteModel, instance: Instance, formulation: str) -> None:
    """Note on a model the instance that it states, and by which formulation; a copy of the model has the note, too.

    model.unit: what one unit of its objective `loss` is worth, a Fraction that its expressions take.
    """
    RegisterNumericType(Fraction)
    model.unit = instance.levels.unit
    token = uuid.uuid4().hex
    _known[token] = instance.problem
    setattr(model, _NAME, (digest(instance), digest(instance, public=True), token, formulation))


def formulation_of(model: pyo.ConcreteModel) -> str | None:
    """The formulation that a model says it was built by."""
    marked = getattr(model, _NAME, None)
    return None if marked is None else str(marked[-1])


def is_of_another(model: pyo.ConcreteModel, instance: Instance) -> bool:
    """Whether a model says that it states another instance, or has other pairs of row types and candidates.

    What requirements keep for themselves (`_name`) may change as they are asked, so it counts only where they are
    other objects than those that the model was built for.
    """
    marked = getattr(model, _NAME, None)
    if marked is not None:
        everything, public, token, _ = marked
        if _same(_known.get(token), instance.problem):
            return bool(public != digest(instance, public=True))
        return bool(everything != digest(instance))
    candidates = instance.candidates
    pairs = zip(candidates.members.tolist(), candidates.candidate_of_pair().tolist(), strict=True)
    return any(pair not in model.assign for pair in pairs)


def _same(known: Problem | None, asked: Problem) -> bool:
    """Whether two problems have the same objects as requirements."""
    return known is not None and list(map(id, known.requirements)) == list(map(id, asked.requirements))


def digest(instance: Instance, *, public: bool = False) -> str:
    """SHA-256 of all that a model is about: row types, candidates and costs, requirements, objective, sides.

    Of requirements that is all they hold, not only what they say of themselves: `describe` gives no values. public:
    without their attributes whose names begin with `_`.
    """
    problem, types, candidates = instance.problem, instance.types, instance.candidates
    found = hashlib.sha256()
    of_types = (types.codes, types.counts, types.star_type, types.star_codes, types.star_counts)
    of_candidates = (candidates.indptr, candidates.members, candidates.cost, candidates.vector, instance.exempt)
    for array in (*of_types, *of_candidates):
        found.update(repr((array.shape, str(array.dtype))).encode())
        found.update(array.tobytes())
    said = (
        types.names,
        types.sensitive,
        types.domains,
        instance.levels.unit,
        instance.levels.vectors.tolist(),
        [(requirement.spelled, contents(requirement, public=public)) for requirement in problem.requirements],
        (problem.objective, instance.cost_bound, problem.min_groups, problem.most_groups, problem.suppressed_rows),
    )
    found.update(repr(said).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


_OWN = f"{__name__.partition('.')[0]}."
_FILE = "source"  # where something of this package came from: no part of what it is


def contents(requirement: Requirement, *, public: bool = False) -> str:
    """SHA-256 of the class and the attributes of a requirement, with everything in these, however deep.

    Numbers count by their value (1/5 as a Fraction, a Decimal or a float), a requirement's `declare` by its code.
    public: without attributes whose names begin with `_`. What cannot be looked into counts as the same object only.
    """
    walk = _Walk(public)
    told = [walk.told(requirement)]
    if not is_built_in(requirement):
        told.append(walk.told(type(requirement).declare))
    return _short(told)


class _Walk:
    def __init__(self, public: bool) -> None:
        self._public = public
        self._around: list[int] = []  # what is being looked into, from the outside in

    def told(self, value: Any) -> str:
        """Its kind and what it holds."""
        if value is None or isinstance(value, bool | np.bool_ | str | bytes | type | CodeType | Enum):
            return self._simple(value)
        if isinstance(value, int | np.integer | Fraction | Decimal | float | np.floating):
            return _number(value)
        if id(value) in self._around:
            return f"around {self._around.index(id(value))}"
        self._around.append(id(value))
        try:
            return self._within(value)
        finally:
            self._around.pop()

    def _within(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            cells = value.tolist() if value.dtype.hasobject else value.tobytes()
            return self._all("array", [str(value.dtype), value.shape, cells])
        if isinstance(value, Mapping):
            return _short(["mapping", *(f"{self.told(key)}: {self.told(each)}" for key, each in value.items())])
        if isinstance(value, Set):
            return _short(["set", *sorted(self.told(each) for each in value)])
        if isinstance(value, list | tuple):
            return self._all("list", value)
        if isinstance(value, MethodType):
            return self._all("method", [value.__func__, value.__self__])
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._object(value)

    def _all(self, kind: str, values: Iterable[object]) -> str:
        return _short([kind, *(self.told(each) for each in values)])

    def _simple(self, value: object) -> str:
        if isinstance(value, Enum):
            return f"{_class(type(value))}.{value.name}"
        if isinstance(value, type):
            return _class(value)
        if isinstance(value, CodeType):
            constants = (self.told(each) for each in value.co_consts)
            return _short([value.co_code.hex(), repr(value.co_names), *constants])
        return f"{type(value).__name__} {value!r}"

    def _function(self, value: FunctionType) -> str:
        cells = []
        for cell in value.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # not yet bound
                cells.append(None)
        held = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
        return self._all(f"function {value.__qualname__}", held)

    def _object(self, value: object) -> str:
        kind = type(value)
        ours = kind.__module__.startswith(_OWN)
        held: dict[str, object] = dict(getattr(value, "__dict__", {}))
        for each in kind.__mro__:
            slots = vars(each).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    held[name] = getattr(value, name)
        if held:
            named = {
                name: each
                for name, each in sorted(held.items())
                if not isinstance(getattr(kind, name, None), cached_property)
                and not (ours and name == _FILE)
                and not (self._public and name.startswith("_"))
            }
            exact = getattr(value, "exact", None) if ours else None  # however the number was written
            if isinstance(exact, Fraction):
                named = {name: exact if _is(each, exact) else each for name, each in named.items()}
            return self._all(_class(kind), [named])
        try:
            return _short([_class(kind), pickle.dumps(value).hex()])
        except Exception:  # whatever its own code raises
            return f"{_class(kind)} {id(value)}"


def _is(value: object, number: Fraction) -> bool:
    """Whether this, which may be text, is that number."""
    try:
        return Fraction(str(value)) == number
    except (ValueError, ZeroDivisionError):
        return False


def _number(value: Any) -> str:
    try:
        return f"number {Fraction(repr(float(value)) if isinstance(value, float | np.floating) else value)}"
    except (ValueError, OverflowError):  # infinite, or none
        return f"number {float(value)!r}"


def _class(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
