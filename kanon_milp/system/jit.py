"""Compilation of inner loops."""

from __future__ import annotations

import gc
import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event, types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from kanon_milp.system.compilations import COMPILATIONS

Function = TypeVar("Function", bound=Callable[..., Any])

# releases of numba whose insides are known to link parts as below; by others each part is compiled by itself, too
LINKING = ("0.68.",)
_config: Any = numba.config
DISABLED = bool(_config.DISABLE_JIT)  # by NUMBA_DISABLE_JIT=1, to look into a function: all of them are Python then
PACKAGE = Path(__file__).parent.parent
FOLDERS = ("bounds", "heuristics", "presolve", "system")  # with all that compiled functions are made of


@cache
def _sources() -> str:
    """SHA-256 of all that compiled functions are made of."""
    found = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


AFTER_SAVING: list[Callable[[], None]] = []
"""Called whenever a compiled function has been kept on disk."""


class _Cache(FunctionCache):
    """Compiled code on disk, of which what cannot be read any more, or is of other sources, counts as absent.

    A function has parts of other files in it, of which numba knows nothing: it looks at the file of the function alone.
    The index of a function names the types of its arguments: of one that an earlier version of the package has written
    they may be gone, and numba reads it before it looks at the version of the source.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        file: Any = self._cache_file
        file._source_stamp = (file._source_stamp, _sources())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function for these types of arguments, None where it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it."""
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        for each in AFTER_SAVING:
            each()


class _Linked(JITCodeLibrary):
    """Code of a part: linked into that of its callers and optimized there, never by itself."""

    def finalize(self) -> None:
        """Add the code of the parts that it calls; nothing is optimized, and no machine code made."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        del name
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> Any:
        """What takes the environment of a function: nothing here has a place for one."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing: only functions that make Python objects look into their environment."""


class _PartCompiler(Compiler):
    """The usual steps, into code that is only linked."""

    def define_pipelines(self) -> Any:
        """The usual steps."""
        target, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state["library"] = _Linked(target, name)  # type: ignore[no-untyped-call]
        return super().define_pipelines()  # type: ignore[no-untyped-call]


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


def compiled_in_memory(function: Function) -> Function:
    """The same for a function that has no place in a file, and so none on disk."""
    return function if DISABLED else cast(Function, _dispatcher(function))


def compiled_part(function: Function) -> Function:
    """A function that only compiled functions call; Python cannot.

    It is translated once a process, then optimized in each `compiled` function that reaches it. Compiled by itself it
    would be optimized once more, as would all that it calls, and have a wrapper that takes Python's arguments apart:
    that was half of what a first run waits for, and is so by releases of numba that are not in `LINKING`.
    """
    return _part(function)


def compiled_part_in_place(function: Function) -> Function:
    """A part that makes no array and returns none, and calls nothing that makes one, as `compiled_in_place`."""
    return _part(function, _nrt=False)


def _compile(function: Function, **more: bool) -> Function:
    if DISABLED:
        return function
    dispatcher = _dispatcher(function, **more)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:
        COMPILATIONS.kept = False  # there is nowhere to keep it
    return cast(Function, dispatcher)


def _part(function: Function, **more: bool) -> Function:
    if DISABLED or not numba.__version__.startswith(LINKING):
        return _compile(function, **more)
    dispatcher = _dispatcher(function, no_cpython_wrapper=True, pipeline_class=_PartCompiler, **more)

    def refuse(*_: object) -> None:
        raise TypeError(f"{function.__name__} can only be called by compiled functions")

    def keep(found: Any) -> None:
        dispatcher.overloads[tuple(found.signature.args)] = found

    # what Python would call is not there
    dispatcher._compile_for_args, dispatcher.add_overload = refuse, keep
    return cast(Function, dispatcher)


def _dispatcher(function: Callable[..., Any], **more: Any) -> Any:
    # nobody calls it from C: what such a call needs would be a fifth of what is compiled
    options: Any = {"nogil": True, "no_cfunc_wrapper": True, **more}
    dispatcher: Any = numba.njit(**options)(function)
    _take_any_integer(dispatcher)
    return dispatcher


def on_disk(function: Any) -> bool:
    """Whether a compiled function needs no compiling here: some version of it is on disk, or cannot be kept there."""
    cache = getattr(function, "_cache", None)
    if not isinstance(cache, _Cache):
        return True
    try:
        return bool(cache._cache_file._load_index())  # type: ignore[no-untyped-call]
    except (AttributeError, ImportError, EOFError, OSError, pickle.UnpicklingError):
        return False


class _Listener(event.Listener):
    """Tells `COMPILATIONS` of each function that is being compiled.

    Meanwhile nobody looks for garbage: the compiler makes millions of objects that stay, and looking through them again
    and again takes a sixth of its time.
    """

    def __init__(self) -> None:
        self._open, self._enabled = 0, False

    def on_start(self, _event: Any) -> None:
        """One more begins."""
        COMPILATIONS.begin()
        if not self._open:
            self._enabled = gc.isenabled()
            gc.disable()
        self._open += 1

    def on_end(self, _event: Any) -> None:
        """One of them has ended."""
        COMPILATIONS.end()
        self._open -= 1
        if not self._open and self._enabled:
            gc.enable()


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


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
