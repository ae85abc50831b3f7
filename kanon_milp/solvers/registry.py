"""Which solvers there are: those of this package, those that were registered, and those that other packages bring."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kanon_milp.errors import InputError, nearest
from kanon_milp.problem.arguments import wrong
from kanon_milp.solvers.adapter import Capability, SolverAdapter
from kanon_milp.solvers.cbc import CbcAdapter
from kanon_milp.solvers.cpsat import CpsatAdapter
from kanon_milp.solvers.highs import HighsAdapter
from kanon_milp.solvers.pulp_any import NEEDS, PULP, PulpAdapter, solver_names
from kanon_milp.solvers.scip import ScipAdapter
from kanon_milp.system.extras import Plugins, made

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _checked(adapter: object, what: str) -> SolverAdapter:
    if isinstance(adapter, type) and issubclass(adapter, SolverAdapter):
        adapter = made(adapter, what)
    if not isinstance(adapter, SolverAdapter):
        raise wrong(what, "an adapter, of a class derived from kanon_milp.SolverAdapter,", adapter)
    name = getattr(adapter, "name", None)
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise InputError(f'{what}: an adapter needs a name of letters, digits, _, . and -, as name = "mysolver"')
    capabilities = getattr(adapter, "capabilities", None)
    if not (isinstance(capabilities, frozenset) and all(isinstance(each, Capability) for each in capabilities)):
        raise InputError(
            f"{what}: the adapter {name!r} needs capabilities, a frozenset of Capability (it may be empty)"
        )
    kind = type(adapter)
    own = (kind.availability, kind.installed) != (SolverAdapter.availability, SolverAdapter.installed)
    if not (kind.module or own):
        raise InputError(
            f"{what}: the adapter {name!r} needs module, the Python module of the solver, or methods installed() and "
            "location()"
        )
    if kind.run is SolverAdapter.run and kind.solve is SolverAdapter.solve:
        raise InputError(f"{what}: the adapter {name!r} needs a method run(model, call) that solves a model")
    return adapter


SOLVERS: Plugins[SolverAdapter] = Plugins(
    "solver", (HighsAdapter(), CbcAdapter(), ScipAdapter(), CpsatAdapter()), _checked, "kanon_milp.solvers"
)
BUILT_IN = SOLVERS.built_in
DEFAULT = BUILT_IN[0]


def names() -> list[str]:
    """Names that `get` takes: of this package, registered ones, entry points, then `pulp:NAME` for all PuLP knows."""
    return [*own_names(), *(PULP + solver for solver in solver_names())]


def own_names() -> list[str]:
    """The same without PuLP's."""
    return SOLVERS.names()


def get(name: str = DEFAULT, executable: Path | str | None = None) -> SolverAdapter:
    """Return the adapter of that name; `executable` is a path, for a solver that is one (CBC).

    Raises InputError for an unknown name, and for an entry point that cannot be loaded. Whether the solver can be used
    here is the adapter's `availability()`.
    """
    if executable is not None:
        return get(name).with_executable(executable)
    if (found := SOLVERS.find(name)) is not None:
        return found
    known = names()
    if name in known:
        return PulpAdapter(name.removeprefix(PULP))
    hint = _did_you_mean(name, own_names(), solver_names())
    own = ", ".join(own_names())
    raise InputError(
        f"unknown solver {name!r}{hint}; there are {own}, and pulp:NAME for those that PuLP knows: `kanon-milp doctor` "
        "lists all of them, and what each needs"
    )


def confirming() -> list[SolverAdapter]:
    """Those that are asked to look at the claims of others, in turn."""
    return sorted((each for each in SOLVERS.values() if each.confirms is not None), key=lambda each: each.confirms or 0)


def register_solver(adapter: SolverAdapter | type[SolverAdapter]) -> None:
    """Make a solver known by its name, to `solve(problem, name)` and everything else in this process.

    adapter: of a class derived from `SolverAdapter`, or such a class whose objects are made without arguments. A second
    registration of a name replaces the first. A package can bring solvers without this call, by entry points of the
    group `kanon_milp.solvers`: the name of the solver, and such an object or class. Raises InputError if it is no
    adapter, and for the name of a solver of this package.
    """
    SOLVERS.add(adapter, replace=True)


def _did_you_mean(name: str, own: Sequence[str], others: Sequence[str]) -> str:
    """The solver meant by `name`: one of the package's `own` or of PuLP's `others` in another spelling, or a near word.

    Text in brackets, with what the solver needs to be used, or empty.
    """
    folded = name.strip().lower()
    meant = next((each.name for each in SOLVERS.values() if folded in each.aliases), folded)
    if meant in own:
        return f' (did you mean "{meant}"?)'
    plain = folded.removeprefix(PULP)
    same = [each for each in others if each.lower() == plain]
    family = [each for each in others if plain in each.lower().split("_")]  # gurobi: GUROBI, GUROBI_CMD
    found = same or family if folded.startswith(PULP) else family or same
    if not found:
        return nearest(name, [*own, *(PULP + each for each in others)])
    said = (f'"{PULP}{each}"' + (f", which needs {NEEDS[each]}" if each in NEEDS else "") for each in found)
    return f" (did you mean {'; or '.join(said)}?)"
