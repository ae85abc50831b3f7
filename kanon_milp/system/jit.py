"""Compilation of inner loops."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba.core import event, types
from numba.core.caching import FunctionCache

from kanon_milp.system.compilations import COMPILATIONS

Function = TypeVar("Function", bound=Callable[..., Any])


class _Cache(FunctionCache):
    """Compiled code on disk, of which what cannot be read any more counts as absent.

    The index of a function names the types of its arguments: of one that an earlier version of the package has written
    they may be gone, and numba reads it before it looks at the version of the source.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function for these types of arguments, None where it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            self.flush()  # type: ignore[no-untyped-call]
            return None


def _take_any_integer(dispatcher: Any) -> None:
    """Where compiled functions call it, take any integer as int64, a constant as a value: it is compiled once."""
    exact = dispatcher.get_call_template

    def template(args: Sequence[types.Type], named: Mapping[str, types.Type]) -> Any:
        return exact(tuple(map(_wide, args)), {name: _wide(each) for name, each in named.items()})

    dispatcher.get_call_template = template


def _wide(kind: types.Type) -> types.Type:
    """int64 for the types of narrower signed integers, and for constants the type of what is no constant."""
    plain: Any = types.unliteral(kind)  # type: ignore[no-untyped-call]
    if isinstance(plain, types.Boolean):
        return plain
    return types.int64 if isinstance(plain, types.Integer) and getattr(plain, "signed", False) else kind


def compiled(function: Function) -> Function:
    """Compile a function over arrays to machine code; other threads go on while it runs.

    It is compiled when it is first called and kept on disk: beside the source, or where that cannot be written to in
    the folder NUMBA_CACHE_DIR or the user's cache. Where there is no such place either, each process compiles it anew.
    """
    return _compile(function)


def compiled_in_place(function: Function) -> Function:
    """The same for a function that makes no array, and calls none that does: references to arrays are not counted.

    Whoever calls it holds its arrays. To count them takes most of the time of small functions that hand many arrays to
    each other: with it, moves under requirements were three to four times slower.
    """
    return _compile(function, _nrt=False)


def _compile(function: Function, **more: bool) -> Function:
    # nobody calls it from C: what such a call needs would be a fifth of what is compiled
    options: Any = {"nogil": True, "no_cfunc_wrapper": True, **more}
    dispatcher: Any = numba.njit(**options)(function)
    _take_any_integer(dispatcher)
    try:
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
    except RuntimeError:
        COMPILATIONS.kept = False  # there is nowhere to keep it
    return cast(Function, dispatcher)


def on_disk(function: Any) -> bool:
    """Whether a compiled function needs no compiling here: some version of it is on disk, or cannot be kept there."""
    cache = function._cache
    if not isinstance(cache, _Cache):
        return True
    try:
        return bool(cache._cache_file._load_index())  # type: ignore[no-untyped-call]
    except (AttributeError, ImportError, EOFError, OSError, pickle.UnpicklingError):
        return False


class _Listener(event.Listener):
    """Tells `COMPILATIONS` of each function that is being compiled."""

    def on_start(self, _event: Any) -> None:
        """One more begins."""
        COMPILATIONS.begin()

    def on_end(self, _event: Any) -> None:
        """One of them has ended."""
        COMPILATIONS.end()


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def compiling() -> bool:
    """Whether a function is being compiled now, or waited for."""
    return COMPILATIONS.open > 0


@contextmanager
def waiting() -> Iterator[None]:
    """While another process compiles what is needed here."""
    COMPILATIONS.begin(waited_for=True)
    try:
        yield
    finally:
        COMPILATIONS.end()


def number_compiled() -> int:
    """How many functions this process has compiled because they were not on disk."""
    return COMPILATIONS.begun
