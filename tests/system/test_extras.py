"""What users register and installed packages bring: names are taken once, and what comes and goes is noticed."""

from __future__ import annotations

import copy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kanon_milp as km
from kanon_milp.bounds import BOUNDS
from kanon_milp.formulations import FORMULATIONS
from kanon_milp.methods.registry import METHODS
from kanon_milp.presolve.own_reductions import OWN
from kanon_milp.problem.group_costs import GROUP_COSTS
from kanon_milp.solvers.registry import SOLVERS
from kanon_milp.system.extras import Plugins, entry_points

GROUP = "kanon_milp.nothing"


def install(folder: Path, name: str, group: str = GROUP, points: dict[str, str] | None = None) -> Path:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{point} = {target}\n" for point, target in (points or {name: f"{name}:NAME"}).items()]
    (info / "entry_points.txt").write_text("".join([f"[{group}]\n", *lines]))
    return info


def found() -> set[str]:
    return {point.name for point in entry_points(GROUP)}


def test_what_comes_and_goes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found() == set()
    other = tmp_path / "other"
    other.mkdir()
    install(other, "elsewhere")
    monkeypatch.syspath_prepend(tmp_path)
    assert found() == set()
    first = install(tmp_path, "first")
    assert found() == {"first"}
    install(tmp_path, "second")
    assert found() == found() == {"first", "second"}
    shutil.rmtree(first)
    monkeypatch.syspath_prepend(other)
    assert found() == {"second", "elsewhere"}
    monkeypatch.undo()
    assert found() == set()


def one_like(known: Plugins[Any], name: str) -> Any:
    """What a user could register by this name."""
    if known is OWN:
        return km.CandidateReduction(name, lambda instance: instance.exempt)
    first = next(iter(known.values()))
    if isinstance(first, type):
        return type(name, (first,), {"name": name})
    mine = copy.copy(first)
    object.__setattr__(mine, "name", name)
    return mine


@pytest.mark.parametrize("known", [BOUNDS, FORMULATIONS, METHODS, OWN, GROUP_COSTS], ids=lambda known: known.kind)
def test_names_are_taken_once(known: Plugins[Any]) -> None:
    register, kind = getattr(km, f"register_{known.kind}"), known.kind
    first, second = one_like(known, "mine"), one_like(known, "mine")
    register(first)
    register(first)  # the same
    with pytest.raises(km.InputError, match=rf'"mine" is registered already.*register_{kind}\({kind}, replace=True\)'):
        register(second)
    assert known.registered["mine"] is first
    register(second, replace=True)
    assert known.registered["mine"] is second
    for name in known.built_in:
        with pytest.raises(km.InputError, match=f'the {kind} "{name}" is built in'):
            register(one_like(known, name), replace=True)


@pytest.mark.parametrize("known", [FORMULATIONS, METHODS, SOLVERS], ids=lambda known: known.kind)
def test_what_a_package_brings_has_its_name_and_takes_none_over(
    known: Plugins[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, built_in = one_like(known, "brought"), known.built_in[0]
    monkeypatch.setitem(sys.modules, "brought", SimpleNamespace(MINE=mine, TEXT="brought"))
    targets = {"brought": "MINE", "other": "MINE", built_in: "MINE", "text": "TEXT", "broken": "NOTHING"}
    install(tmp_path, "brought", known.group, {name: f"brought:{target}" for name, target in targets.items()})
    monkeypatch.syspath_prepend(tmp_path)
    assert known.find("brought") is mine
    assert known.find(built_in) is known[built_in]
    assert {"brought", "other", "text", "broken"} <= set(known.names())
    for name, said in (("other", 'calls itself "brought"'), ("text", "expected"), ("broken", "cannot be loaded: Attr")):
        with pytest.raises(km.InputError, match=said):
            known.find(name)
