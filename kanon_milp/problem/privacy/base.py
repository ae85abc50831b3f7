"""What a privacy requirement is to the rest of the package."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyomo.core as pyo

import kanon_milp.system.modeling  # noqa: F401  # before anything that needs SciPy
from kanon_milp.errors import InputError, counted, is_built_in, nearest, own_code, type_in_words
from kanon_milp.problem.arguments import column_name
from kanon_milp.problem.distances.base import Space
from kanon_milp.problem.exact import exact_parameter, text_in_words
from kanon_milp.problem.privacy.instance_data import InstanceData
from kanon_milp.problem.records import Group, Label
from kanon_milp.system.arrays import Flags

if TYPE_CHECKING:
    from kanon_milp.problem.table import Table


@dataclass(frozen=True)
class Shortfall:
    """Why not even all rows as one group satisfy a requirement: in words, and where it is a value of an attribute that
    is to blame, which one."""

    text: str
    attribute: str | None = None
    value: Label = field(default=None, repr=False)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a requirement, as model files, the command line and messages have it.

    types: the kinds of TOML values. meaning: what it means beside its name. choices: known values. option: that of the
    command line, with metavar, help and the usual value; the parameter that a requirement is asked for by has none but
    its letter. key: in results, where that is another. files: of one that may be read from a file, by what is
    read, how an option begins that names the file. modeling: it is about the model, not about what is asked.
    """

    types: tuple[type, ...]
    meaning: str = ""
    choices: tuple[str, ...] = ()
    option: str = ""
    metavar: str | None = None
    help: str = ""
    usual: str | None = None
    key: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    modeling: bool = False


@dataclass(frozen=True)
class Swept:
    """How the parameter that a requirement is asked for by is swept. stricter: 1 where a table for a larger value is
    one for each smaller value, -1 where it is the other way round. example: values, as an option has them. named: those
    that have names."""

    stricter: int
    example: str
    named: Mapping[str, Fraction] = field(default_factory=dict)


INTEGER, NUMBER, LIST, TEXT = (int,), (int, float, str), (list,), (str,)


@dataclass(frozen=True)
class EmdLimit:
    """The earth mover's distance between the sensitive values of a group and those of the entire table is at most t.

    space: the values with their ground distance. t: exact.
    """

    space: Space
    t: Fraction


@dataclass(frozen=True)
class ValueLimits:
    """What holds for the values σ of one sensitive attribute in every group that has a requirement: lower[σ]·S ≤ X_σ ≤
    upper[σ]·S for its X_σ rows with the value σ among S rows, at least `different` values, and a limit of the EMD.

    A value that a mapping lacks has no limit. complete: whether a group has the requirement exactly if all of this
    holds and it is large enough.
    """

    attribute: str
    lower: Mapping[Label, Fraction] = field(default_factory=dict, repr=False)
    upper: Mapping[Label, Fraction] = field(default_factory=dict, repr=False)
    different: int = 1
    emd: EmdLimit | None = None
    complete: bool = False

    @property
    def counts_values(self) -> bool:
        """Whether different values, and the size, are all that a group needs: any further row leaves it so."""
        return self.complete and not self.lower and not self.upper and self.emd is None

    @property
    def present(self) -> int:
        """How many values must be there, since they have a least share."""
        return sum(share > 0 for share in self.lower.values())

    def hold(self, counts: Mapping[Label, int], size: int) -> bool:
        """Whether a group of this size with these rows by value is within the shares and has enough values."""
        return (
            len(counts) >= self.different
            and all(rows <= self.upper[value] * size for value, rows in counts.items() if value in self.upper)
            and all(counts.get(value, 0) >= share * size for value, share in self.lower.items())
        )


class Requirement(ABC):
    """A property that each group must have. One file each in `privacy/`, one line each in its registry.

    To add one, give it a `name`, which results and messages call it by, and define `smallest_group`, `holds`, `declare`
    and `describe`; everything else has a default that is valid for every requirement. The flags may be set where they
    are true, and make the model easier to solve.
    """

    name: ClassVar[str]
    term: ClassVar[str] = ""  # what people call it; its name by default
    # of those that model files and the command line can name: the key of [privacy] and of its option, what that asks
    # for, and the parameters in [[privacy.requirements]], beside `sensitive`
    letter: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    swept: ClassVar[Swept | None] = None
    sentence: ClassVar[str] = ""  # what it asks of each group, over its parameters and `about` (its attributes)
    against: ClassVar[str] = ""  # the attack that it is meant against, in the words of docs/protection.md
    source: ClassVar[str] = ""  # where it is defined

    @classmethod
    def read(cls, arguments: Mapping[str, Any], _folder: Path, _encoding: str | None) -> Self:
        """From the parameters in a model file in this folder, numbers as they are written."""
        return cls(**arguments)

    @classmethod
    def in_words(cls, claims: Mapping[str, Any], about: str) -> str:
        """What one with these parameters asks of each group. about: such as " of disease"; empty for no attribute."""
        words = {key: text_in_words(value) for key, value in claims.items()}
        return cls.sentence.format_map({**words, "about": about})

    @classmethod
    def as_options(cls, claims: Mapping[str, Any]) -> dict[str, str] | None:
        """The options that ask for one with these parameters; None where it has one that no option can name."""
        found: dict[str, str] = {}
        for name, parameter in cls.parameters.items():
            value = claims.get(parameter.key or name)
            if parameter.modeling:
                continue
            if option := cls.option(name):
                found |= {} if value is None else {option: str(value)}
            elif value is not None and value != parameter.usual:
                return None
        return found

    @classmethod
    def option(cls, parameter: str) -> str:
        """The option of a parameter; empty for none."""
        return cls.parameters[parameter].option or (f"--{parameter}" if parameter == cls.letter else "")

    def bind(self, table: Table) -> tuple[Requirement, ...]:
        """Check against a table, and name the sensitive attribute; where its field `sensitive` names none, one for each
        that there is.

        Raises InputError where the requirement makes no sense for the table.
        """
        if not hasattr(self, "sensitive"):
            return (self,)
        return tuple(
            replace(self, sensitive=name)  # type: ignore[type-var]
            for name in sensitive_names(self.name, self.sensitive, table)
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive attributes that it is about: by default what its field `sensitive` names."""
        named = getattr(self, "sensitive", None)
        return () if named is None else (named,) if isinstance(named, str) else tuple(named)

    @property
    def exact(self) -> Fraction:
        """The parameter that it is asked for by, exactly."""
        return exact_parameter(getattr(self, self.letter), self.letter)

    @property
    def merge_closed(self) -> bool:
        """Whether the union of two groups that have it has it.

        Then one group per candidate loses nothing, dominance keeps the optimum, and where not even the entire table has
        it, there is no solution. All of these are taken for proven where this says True, so it is only for requirements
        that are known to be so; False is always valid, and may only take longer.
        """
        return False

    @property
    def keeps_flow_structure(self) -> bool:
        """Whether, with the binary variables fixed, its constraints bound numbers of rows in disjoint parts of a group.

        Such requirements about the same attributes together leave a network flow, so `assign` may be continuous.
        Default False, which is always valid.
        """
        return False

    @property
    def absence_matters(self) -> bool:
        """Whether a value that the solver left out of a group may spoil it, so that row assignment must not add it.

        Only asked of requirements that keep the flow structure.
        """
        return False

    def most_groups(self, _rows: int) -> int | None:
        """The largest number of groups of a table of so many rows, where that is what it asks for; then it asks for
        nothing of any one group. None for all others."""
        return None

    @property
    def separable(self) -> bool:
        """Whether it is about each group by itself, whatever the other groups are."""
        return True

    @property
    def asks_of_labels(self) -> bool:
        """Whether it also asks what is released, whatever rows of the table are released so; then `releasable` says it.

        Methods that release groups as anything but candidates of an instance are not for such a problem.
        """
        return False

    @property
    def exempts(self) -> bool:
        """Whether fully suppressed rows need not have it where a problem says `suppressed_rows="exempt"`."""
        return False

    @property
    def rows_asked(self) -> int:
        """How many rows, or units where these are counted, it asks for by name, as k does; 1 for none in particular."""
        return 1

    @property
    def has_continuous_variables(self) -> bool:
        """Whether it declares continuous variables that may be fractional where the assignment is integer.

        Presolve of HiGHS is off then (see `formulations.strong.add_sizes`). It is, too, where such variables are found
        in the model, so a requirement of one's own need not say so.
        """
        return False

    @property
    def needs_group_size(self) -> bool:
        """Whether its constraints use the size of the group, so that the model gets the variables `rows[g]`.

        Default True, which is always valid.
        """
        return True

    @abstractmethod
    def smallest_group(self, table_group: Group) -> int:
        """A lower bound on the size of every group that satisfies it, in a table with these counts."""

    @abstractmethod
    def holds(self, group: Group) -> bool:
        """Exact check of one group."""

    def viable(self, instance: InstanceData) -> Flags:
        """Per candidate: False only if no subset of its cover satisfies the requirement."""
        return np.ones(instance.candidates.count, dtype=bool)

    def releasable(self, instance: InstanceData) -> Flags:
        """Per candidate: whether it may be released at all. Asked only where `asks_of_labels` is True."""
        return np.ones(instance.candidates.count, dtype=bool)

    def relaxations(self, _table_group: Group) -> Sequence[ValueLimits]:
        """What bounds and heuristics may take for granted of every group that has it; nothing is always valid.

        table_group: the entire table as a group.
        """
        return ()

    def states_less(self, _instance: InstanceData) -> bool:
        """Whether the constraints of `declare` allow groups that do not have it: then a table of the model is looked at
        group by group, and its bound holds all the same."""
        return False

    @property
    def size_only(self) -> bool:
        """Whether a group has it exactly if it has at least `smallest_group` rows."""
        return False

    def certified(self, _table: Table) -> Sequence[Requirement] | None:
        """What its parameters, as `describe` gives them, and the counts of the table prove about every group.

        That is as much as a certificate states of a kind that is registered: by default all of it, or nothing where it
        is not merge-closed. None where that cannot be said: certificates leave it out then, and say so.
        """
        return (self,) if self.merge_closed else ()

    def shortfall(self, _table_group: Group) -> Shortfall | None:
        """What to say where the entire table does not satisfy it; None where there is nothing to point at."""
        return None

    @abstractmethod
    def declare(self, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
        """State it in the strong formulation: constraints over `model.assign` and `model.open` for all candidates.

        block: an empty block of the model, for its components. instance: row types and candidates as arrays.
        """

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """Its parameters as in `result.json`, such as {"k": 5}. No values of the table."""

    @property
    def spelled(self) -> str:
        """Its name and parameters in words, such as 'l-diversity of "disease" (l = 2, form = frequency)'."""
        found = described(self)
        keys = {each.key or name: name.replace("_", "-") for name, each in self.parameters.items()}
        shown = {key: value for key, value in found.items() if key != "sensitive" and not key.endswith("_exact")}
        shown |= {key: text_in_words(found[f"{key}_exact"]) for key in shown if f"{key}_exact" in found}
        parameters = ", ".join(
            f"{keys.get(key, key)} = {' and '.join(map(str, value)) if isinstance(value, list) else value}"
            for key, value in shown.items()
        )
        about = "".join(f' of "{name}"' for name in self.attributes if name != found.get("unit"))
        return f"{term_of(type(self))}{about} ({parameters})"

    @property
    def claims(self) -> dict[str, object]:
        """Its name and parameters, each number once: as exact text unless it is an integer by nature."""
        found = {"name": self.name, **described(self)}
        return {key: found.get(f"{key}_exact", value) for key, value in found.items() if not key.endswith("_exact")}


def described(requirement: Requirement) -> dict[str, object]:
    """What `describe` says, as plain data, also where it has numbers of numpy, fractions or tuples in it."""
    return {key: plain_data(value) for key, value in requirement.describe().items()}


def plain_data(value: object) -> object:
    """A parameter as JSON holds it: numbers as Python's own, exact ones as text. Raises TypeError for what is none."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain_data(each) for each in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain_data(each) for key, each in value.items()}
    raise TypeError(f"no plain data: {type(value).__name__}")


def term_of(kind: type[Requirement]) -> str:
    """What people call a kind of requirement; the name of a class that has one of its own and not the term."""
    named = next((each for each in kind.__mro__ if "name" in vars(each)), kind)
    return str(vars(named).get("term") or kind.name)


_MUST = {  # what each method has to do, as errors about those of a user's own say it
    "attributes": "be a tuple of names of sensitive attributes of the table",
    "bind": "return a tuple of requirements, such as (self,)",
    "declare": "add its constraints over model.assign and model.open to the block",
    "describe": "return a dictionary of its parameters (text, numbers, lists), such as {'k': 5}",
    "holds": "return True or False",
    "relaxations": "return a sequence of ValueLimits",
    "smallest_group": "return an integer of at least 0, such as 1",
    "viable": "return a bool array with one entry for each candidate",
    "releasable": "return a bool array with one entry for each candidate",
}


def _own(requirement: Requirement, method: str) -> AbstractContextManager[None]:
    """Around a call of a method that may be of the user's own making: its errors name it."""
    if is_built_in(requirement):
        return nullcontext()
    return own_code(f"{type(requirement).__name__}.{method}", _MUST[method])


def _refused(requirement: Requirement, method: str, found: str) -> InputError:
    return InputError(f"{type(requirement).__name__}.{method} must {_MUST[method]}, found {found}")


def bound_to(table: Table, requirement: Requirement) -> tuple[Requirement, ...]:
    """What `bind` makes of a requirement, which may be of the user's own making."""
    with _own(requirement, "bind"):
        found: object = requirement.bind(table)
    if not isinstance(found, tuple | list):
        raise _refused(requirement, "bind", type_in_words(found))
    for each in found:
        if not isinstance(each, Requirement):
            raise _refused(requirement, "bind", f"{type_in_words(each)} in it")
        _check_bound(each, table)
    if not found:
        raise _refused(requirement, "bind", "an empty one, which would ask for nothing")
    return tuple(found)


def _check_bound(requirement: Requirement, table: Table) -> None:
    """Check what of a requirement is data; what it does is checked where it is asked."""
    called: object = getattr(requirement, "name", None)
    if not isinstance(called, str) or not called.strip():
        kind = type(requirement).__name__
        raise InputError(
            f'{kind} must have a name for results and messages: write name = "..." in the class {kind}'
            f"{'' if called is None else f'; found {type_in_words(called)}'}"
        )
    with _own(requirement, "attributes"):
        names: object = requirement.attributes
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        unknown = "" if not isinstance(names, tuple | list) else " with a name that is none"
        raise _refused(requirement, "attributes", f"{type_in_words(names)}{unknown}")
    for name in names:
        if name not in table.counted_attributes:
            known = f"it has {', '.join(table.sensitive)}" if table.sensitive else "name it there (sensitive=...)"
            raise InputError(
                f'{table.source}: {called}: {type(requirement).__name__}.attributes names "{name}", which is not a '
                f"sensitive attribute of the table{nearest(name, list(table.sensitive))}; {known}"
            )
    with _own(requirement, "describe"):
        described: object = requirement.describe()
    if not isinstance(described, Mapping) or not all(isinstance(key, str) for key in described):
        raise _refused(requirement, "describe", type_in_words(described))
    for key, value in described.items():
        try:
            plain_data(value)
        except TypeError:
            raise _refused(
                requirement, "describe", f'{type_in_words(value)} as "{key}", which JSON cannot hold'
            ) from None


def _said(requirement: Requirement, method: str, fits: Callable[[Any], bool], *arguments: object) -> Any:
    """What a method says, which may be code of the user's own, where it fits."""
    with _own(requirement, method):
        found: object = getattr(requirement, method)(*arguments)
    if not fits(found):
        negative = isinstance(found, int | np.integer) and not isinstance(found, bool)
        array = f"an array {found.shape} of {found.dtype}" if isinstance(found, np.ndarray) else type_in_words(found)
        raise _refused(requirement, method, "a negative number" if negative and method == "smallest_group" else array)
    return found


def satisfies(requirement: Requirement, group: Group) -> bool:
    """What `holds` says of a group."""
    return bool(_said(requirement, "holds", lambda found: isinstance(found, bool | np.bool_), group))


def least_rows(requirement: Requirement, table_group: Group) -> int:
    """What `smallest_group` says."""

    def fits(found: Any) -> bool:
        return isinstance(found, int | np.integer) and not isinstance(found, bool) and bool(found >= 0)

    return int(_said(requirement, "smallest_group", fits, table_group))


def viable_candidates(requirement: Requirement, instance: InstanceData) -> Flags:
    """What `viable` says."""
    return _of_candidates(requirement, "viable", instance)


def releasable_candidates(requirement: Requirement, instance: InstanceData) -> Flags:
    """What `releasable` says."""
    return _of_candidates(requirement, "releasable", instance)


def _of_candidates(requirement: Requirement, method: str, instance: InstanceData) -> Flags:
    shape = (instance.candidates.count,)

    def fits(found: Any) -> bool:
        return isinstance(found, np.ndarray) and found.dtype == bool and found.shape == shape

    said: Flags = _said(requirement, method, fits, instance)
    return said


def declare_in(requirement: Requirement, block: pyo.Block, model: pyo.ConcreteModel, instance: InstanceData) -> None:
    """Have a requirement state its constraints, which may be code of the user's own."""
    with _own(requirement, "declare"):
        try:
            requirement.declare(block, model, instance)
        except AttributeError as error:
            if "'rows'" not in str(error) or model.component("rows") is not None:
                raise
            raise InputError(
                f"{type(requirement).__name__}.declare uses model.rows, which is there only for requirements whose "
                "needs_group_size is True, as by default; leave needs_group_size = False out of the class"
            ) from error


def facts_of(requirement: Requirement, table_group: Group) -> Sequence[ValueLimits]:
    """What `relaxations` says; nothing for a class that defines `holds` anew and not them."""
    if not _speaks_for_holds(requirement, "relaxations"):
        return ()

    def fits(found: Any) -> bool:
        return isinstance(found, tuple | list) and all(isinstance(each, ValueLimits) for each in found)

    limits: Sequence[ValueLimits] = _said(requirement, "relaxations", fits, table_group)
    return limits


def is_size_only(requirement: Requirement) -> bool:
    """What `size_only` says; False for a class that defines `holds` anew and not it."""
    return requirement.size_only and _speaks_for_holds(requirement, "size_only")


def _speaks_for_holds(requirement: Requirement, name: str) -> bool:
    """Whether this is defined where `holds` is, or in a subclass of that."""
    order = type(requirement).__mro__
    first = {each: next(at for at, kind in enumerate(order) if each in vars(kind)) for each in (name, "holds")}
    return first[name] <= first["holds"]


def few_rows(k: int, table: Group) -> Shortfall | None:
    """What falls short in a table of fewer than k rows."""
    return Shortfall(f"the table has {counted(table.size, 'row')}") if table.size < k else None


def name_attribute(requirement: Requirement) -> None:
    """Check the field `sensitive` of a requirement about one sensitive attribute at a time."""
    named = vars(requirement)["sensitive"]
    if named is not None:
        object.__setattr__(
            requirement, "sensitive", column_name(named, f"sensitive, the attribute of {requirement.name}")
        )


def sensitive_names(what: str, named: str | Sequence[str] | None, table: Table) -> tuple[str, ...]:
    """The sensitive attributes that are meant, all by default; each must have a role in the table and two values."""
    if not table.sensitive:
        raise InputError(f"{table.source}: {what} needs a sensitive attribute; name it (sensitive=..., --sensitive)")
    names = table.sensitive if named is None else (named,) if isinstance(named, str) else tuple(named)
    for name in names:
        if name not in table.sensitive:
            raise InputError(
                f'{table.source}: {what}: "{name}" is not a sensitive attribute of the table'
                f"{nearest(str(name), list(table.sensitive))}; it has {', '.join(table.sensitive)}"
            )
        if table.column(name).n_unique() < 2:
            raise InputError(
                f'{table.source}: column "{name}": a sensitive attribute with one value only hides nothing'
            )
    return names
