"""What only some installations have: modules of extras, and plug-ins, which users register or packages bring."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module, metadata
from typing import Any, Generic, Protocol, TypeVar

from kanon_milp.errors import InputError, one_line, type_in_words


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """By which it is known."""


T = TypeVar("T", bound=Named)


def optional(module: str, extra: str, what: str) -> Any:
    """A module that an extra of the package brings; raises InputError that says how to get it where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        need = f"{what} needs {module}, which is not installed"
        raise InputError(f"{need}; install the extra: pip install 'kanon-milp[{extra}]'") from None


class Plugins(dict[str, T], Generic[T]):
    """What is known by name: of this package and registered in this process; installed packages bring others by entry
    points.

    kind: what each is, in a word; `register_KIND` adds one. check: raises InputError for what is none, and returns it,
    or an object of the class that it is. group: of entry points. built_in: names that nobody else can take.
    """

    def __init__(
        self, kind: str, built_in: Iterable[T], check: Callable[[object, str], T], group: str = "", *reserved: str
    ) -> None:
        super().__init__()
        self.kind, self.check, self.group, self.built_in = kind, check, group, reserved
        self.bring(built_in)

    def bring(self, built_in: Iterable[T]) -> None:
        """Take in what this package brings."""
        self.update({each.name: each for each in built_in})
        self.built_in = (*self, *self.built_in)

    def add(self, thing: object, *, replace: bool = False) -> None:
        """Register one. replace: take the place of one that was registered by this name. Raises InputError for what is
        none, and for a name that is taken."""
        found = self.check(thing, f"register_{self.kind}")
        if not isinstance(replace, bool):
            raise InputError(f"replace: True or False is expected, found {type_in_words(replace)}")
        if found.name in self.built_in:
            raise InputError(f'the {self.kind} "{found.name}" is built in; choose another name')
        if not replace and self.get(found.name, found) is not found:
            raise InputError(
                f'a {self.kind} "{found.name}" is registered already; choose another name, or write '
                f"register_{self.kind}({self.kind}, replace=True)"
            )
        self[found.name] = found

    @property
    def registered(self) -> dict[str, T]:
        """Those that were registered in this process."""
        return {name: each for name, each in self.items() if name not in self.built_in}

    def names(self) -> list[str]:
        """All names."""
        return [*self, *self._points()]

    def find(self, name: str) -> T | None:
        """The one of this name, also of an entry point; None without. Raises InputError where it cannot be loaded."""
        if name in self or name not in (points := self._points()):
            return self.get(name)
        where = f'the {self.kind} "{name}" of the entry point "{points[name].value}"'
        try:
            content = points[name].load()
        except Exception as error:
            raise InputError(f"{where} cannot be loaded: {type(error).__name__}: {one_line(error)}") from error
        found = self.check(content, where)
        if found.name != name:
            raise InputError(f'{where} calls itself "{found.name}"; both names must be the same')
        return found

    def _points(self) -> dict[str, metadata.EntryPoint]:
        taken = {*self, *self.built_in}
        return {each.name: each for each in entry_points(self.group) if each.name not in taken} if self.group else {}


def made(thing: object, what: str) -> object:
    """An object, or one of the class that is given, made without arguments. what: who asks for it."""
    if not isinstance(thing, type):
        return thing
    try:
        return thing()
    except Exception as error:  # such as arguments that are missing
        raise InputError(f"{what}: no object of the class can be made without arguments: {one_line(error)}") from error


def entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """What installed packages bring under this name.

    They are looked up again where the search path or one of its folders has changed: to read what all packages bring
    takes longer than to solve a small problem.
    """
    return _entry_points(group, tuple(map(_state, sys.path)))


@functools.lru_cache(maxsize=8)
def _entry_points(group: str, _path: tuple[tuple[str, int, int], ...]) -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=group))


def _state(place: str) -> tuple[str, int, int]:
    """A folder, or an archive, and when something was put into it or taken away."""
    try:
        found = os.stat(place or os.curdir)
    except (OSError, ValueError):
        return place, 0, 0
    return place, found.st_ino, found.st_mtime_ns
