"""The requirements that model files, the command line, results, pages and sweeps know, by what they declare: those that
this package brings, and those that users register."""

from __future__ import annotations

from collections.abc import Mapping

from kanon_milp.errors import InputError
from kanon_milp.problem import privacy
from kanon_milp.problem.arguments import wrong
from kanon_milp.problem.privacy.base import Requirement

BUILT_IN = {
    name: kind
    for name, kind in vars(privacy).items()
    if isinstance(kind, type) and issubclass(kind, Requirement) and kind is not Requirement
}
REQUIREMENTS: dict[str, type[Requirement]] = {kind.letter: kind for kind in BUILT_IN.values()}


def add(kind: type[Requirement]) -> None:
    """Add a user's own kind of requirement. Raises InputError for one that cannot be told from those that there are."""
    what = f"{kind.__name__}, a requirement to register,"
    if not isinstance(kind.parameters, Mapping):
        raise wrong(f"{what} parameters", "a mapping of names to Parameter", kind.parameters)
    if kind.letter not in kind.parameters:
        raise InputError(f"{what} must name its main parameter, one of `parameters`, in `letter`")
    known = {kind.letter: kind.name for kind in REQUIREMENTS.values()}
    if kind.letter in known or kind.name in known.values():
        raise InputError(f"{what} needs a name and a letter of its own; there are {', '.join(known.values())}")
    REQUIREMENTS[kind.letter] = kind


def kind_named(name: str) -> type[Requirement] | None:
    """The kind that results call so; None for a user's own that is not registered."""
    return next((kind for kind in REQUIREMENTS.values() if kind.name == name), None)


def term(name: str) -> str:
    """The field's term for a requirement, such as l-diversity for l_diversity; an unknown name as it is."""
    kind = kind_named(name)
    return name if kind is None else kind.term or name


def swept_kinds() -> dict[str, type[Requirement]]:
    """Those whose parameter can be swept, by its letter."""
    return {letter: kind for letter, kind in REQUIREMENTS.items() if kind.swept is not None}
