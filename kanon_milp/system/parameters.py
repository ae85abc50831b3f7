"""The numbers that phases and their algorithms go by, as data: their meaning, what they were tuned on, other values.

    @parameters("cuts")
    @dataclass(frozen=True)
    class CutParameters:
        \"\"\"Rounds of rank-1 cuts. Tuned on Adult, 200 to 30,162 rows, k = 5, 10, 25.\"\"\"

        share: float = number(0.35, "of the time after the bound")
        largest_group: int = number(15, "rows; larger groups are priced too slowly")

`Parameters({"cuts.share": 0.3}).of(CutParameters)` is the instance with that value in place of its default. Whoever
runs a phase hands its parameters to it; nothing looks them up on the way.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from kanon_milp.errors import InputError

P = TypeVar("P")
Number = int | float | bool

MOST = 1e18  # no integer is larger

MODULES: tuple[str, ...] = (
    "bounds.parameters",
    "heuristics.annealing",
    "heuristics.construction",
    "heuristics.group_dive",
    "heuristics.group_partitions",
    "heuristics.linked_annealing",
    "heuristics.neighbourhoods",
    "heuristics.search",
    "heuristics.set_partitioning",
    "heuristics.valued_annealing",
    "methods.branching",
    "methods.core_problem",
    "methods.direct",
    "methods.fpt",
    "methods.full_domain",
    "methods.group_heuristics",
    "methods.group_search",
    "methods.hybrid",
    "methods.matching",
    "methods.model_phases",
    "methods.phases",
    "methods.priced_rounds",
    "methods.registry",
    "methods.required_cuts",
    "methods.required_phases",
    "methods.required_search",
    "methods.scheduler",
    "methods.session",
    "methods.several_sets",
    "methods.sizes_phases",
    "methods.some_patterns",
    "methods.started",
    "methods.subset_dp",
    "methods.table_pool",
)
"""Modules that register parameters, imported when names are looked up."""
_KINDS: dict[str, type[Any]] = {}


def number(default: Any, meaning: str, *, least: float = 0, most: float = math.inf) -> Any:
    """A field of parameters. meaning: what it is, with its unit. least, most: the values that it may have."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


def parameters(name: str) -> Callable[[type[P]], type[P]]:
    """Register a frozen dataclass of numbers as the parameters of the phase or algorithm of this name.

    Raises InputError for a name that another class has.
    """

    def register(kind: type[P]) -> type[P]:
        known = _KINDS.setdefault(name, kind)
        if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
            raise InputError(f'parameters of the name "{name}" are registered already; choose another name')
        _KINDS[name] = kind
        return kind

    return register


@dataclass(frozen=True)
class Described:
    """A parameter: its full name, default, meaning, least and largest value."""

    name: str
    default: Number
    meaning: str
    least: float
    most: float


def described() -> Iterator[Described]:
    """All parameters, in the order of their names."""
    for kind_name, kind in sorted(registered().items()):
        for each in dataclasses.fields(kind):
            default: Any = each.default
            yield Described(f"{kind_name}.{each.name}", default, **each.metadata)


@dataclass(frozen=True)
class Parameters:
    """Values in place of defaults, by full name ("cuts.share"). Raises InputError for a name that there is not and for
    a value that it may not have."""

    values: Mapping[str, Number] = field(default_factory=dict)
    used: set[str] = field(default_factory=set, compare=False, repr=False)  # names of classes that were looked up

    def __post_init__(self) -> None:
        known = {each.name: each for each in described()} if self.values else {}
        checked = {name: _checked(name, value, known) for name, value in self.values.items()}
        object.__setattr__(self, "values", checked)

    @classmethod
    def read(cls, texts: list[str]) -> Parameters:
        """Those of texts such as "cuts.share=0.3". Raises InputError where one is not of this form, or comes twice."""
        values: dict[str, Number] = {}
        for text in texts:
            name, equals, value = (each.strip() for each in text.partition("="))
            if name in values:
                raise InputError(f'the parameter "{name}" is set twice; write it once')
            try:
                values[name] = _read(value)
            except ValueError:
                equals = ""
            if not equals:
                raise InputError(
                    'a parameter is set as in "cuts.share=0.3", a name and a number (true or false for a switch), '
                    f'found "{text}"'
                )
        return cls(values)

    def of(self, kind: type[P]) -> P:
        """The parameters of a class that `parameters` has registered."""
        name = next(name for name, each in _KINDS.items() if each is kind)
        self.used.add(name)
        prefix = f"{name}."
        return kind(**{each[len(prefix) :]: value for each, value in self.values.items() if each.startswith(prefix)})

    @property
    def unused(self) -> list[str]:
        """The names of those that nothing has looked up."""
        return [name for name in self.values if name.partition(".")[0] not in self.used]


DEFAULT = Parameters()


def _read(text: str) -> Number:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


def registered() -> dict[str, type[Any]]:
    """All classes of parameters by name."""
    for module in MODULES:
        import_module(f"kanon_milp.{module}")
    return _KINDS


def _checked(name: object, value: object, known: Mapping[str, Described]) -> Number:
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1)
        said = f'; did you mean "{near[0]}"?' if near else ""
        raise InputError(f'there is no parameter "{name}"{said}')
    each = known[str(name)]
    if isinstance(value, np.generic):
        value = value.item()
    wanted = "true or false" if isinstance(each.default, bool) else "an integer"
    if isinstance(each.default, bool) or isinstance(value, bool):
        fits = isinstance(each.default, bool) and isinstance(value, bool)
    elif isinstance(each.default, int):
        fits = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        value = int(value) if fits else value  # type: ignore[call-overload]
    else:
        fits, wanted = isinstance(value, int) or (isinstance(value, float) and not math.isnan(value)), "a number"
    if not fits:
        raise InputError(f'parameter "{name}": {wanted} is expected ({each.meaning})')
    largest = each.most if isinstance(value, float) else min(each.most, MOST)
    if not each.least <= value <= largest:  # type: ignore[operator]
        most = "" if math.isinf(largest) else f" and at most {largest:g}"
        raise InputError(f'parameter "{name}" must be at least {each.least:g}{most} ({each.meaning})')
    return float(value) if isinstance(each.default, float) else value  # type: ignore[arg-type, return-value]
