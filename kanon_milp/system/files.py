"""The one way in which this package writes files: complete or not at all, and the files of a run together."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from kanon_milp.errors import InputError, without_passwords

try:
    import fcntl
except ImportError:  # Windows: two runs at a time are not kept apart there, and nothing of a killed run is removed
    fcntl = None  # type: ignore[assignment]

Fill = Callable[[IO[bytes]], object]
LOCK_SECONDS = 60.0  # to wait for another run that is writing into the same folder
COMPANIONS = ("-journal", "-wal", "-shm", ".wal")  # what databases write beside a file of theirs
_HIDDEN = re.compile(rf"\.kanon-milp-[0-9a-f]{{16}}({'|'.join(map(re.escape, COMPANIONS))})?")


def holding(content: str | bytes) -> Fill:
    """What fills a file with this content, text as UTF-8."""
    data = content.encode() if isinstance(content, str) else content
    return lambda file: file.write(data)


def make_folder(folder: Path) -> None:
    """Have a folder, with those that it lies in. Raises InputError where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None


def write_file(path: Path, fill: Fill) -> None:
    """Let `fill` write a new file, which then takes the place of `path`; where that fails, the old file stays.

    What is no file, such as /dev/stdout or a pipe, is written to directly.
    """
    path = Path(os.path.realpath(path))
    write_together(path.parent, {path.name: fill})


def write_together(
    folder: Path,
    files: Mapping[str, Fill | None],
    *,
    commit: Callable[[], object] | None = None,
    undo: Callable[[], object] | None = None,
) -> None:
    """Put files into a folder, all of them or none: name → what fills it, or None where there shall be no such file. A
    name may be the absolute path of a file elsewhere.

    They are filled in their order. The last one is the claim about the others: it leaves first and comes last, so that
    also after a kill or a power cut it never stands beside files of another run. Where a step fails, the old files are
    put back. Raises InputError then.
    commit: ends a transaction of a database that belongs to the files, once they are filled and before the first one
    takes its place, so that no file claims what the database does not hold. undo: takes that back where a file cannot
    take its place after all.
    """
    failing = folder
    try:
        with contextlib.ExitStack() as cleaning:
            paths = {folder / name: fill for name, fill in files.items()}
            streams = {path for path in paths if _is_stream(path)}
            folders = {Path(os.path.realpath(path.parent)) for path in paths if path not in streams}
            syncs = []
            for failing in sorted(folders):  # in one order, so that no two runs wait for each other
                syncs.append(cleaning.enter_context(_alone_in(failing)))
            new: dict[Path, Path | None] = {}
            for failing, fill in paths.items():
                if failing not in streams:
                    new[failing] = None if fill is None else _filled(failing.parent, fill, cleaning)
                elif fill is not None:
                    with failing.open("wb") as stream:
                        fill(stream)
            failing = folder if len(new) > 1 else failing
            if commit is not None:
                commit()
            _exchange(new, lambda: [sync() for sync in syncs], cleaning, undo)
    except OSError as error:
        raise _cannot_write(failing, error) from None


def check_target(path: Path) -> None:
    """Raise InputError if a file could not be written there; creates nothing."""
    path = Path(os.path.realpath(path))
    if without_passwords(str(path)) != str(path):
        check_folder(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not _is_stream(path):
        check_folder(path.parent)


def check_folder(folder: Path, names: Iterable[str] = ()) -> None:
    """Raise InputError if files of these names could not be written to the folder; creates nothing."""
    if without_passwords(str(folder)) != str(folder):
        raise InputError("the address of a database is no file or folder that could be written")
    nearest = folder
    try:
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
    except OSError as error:  # such as a name that is too long
        raise InputError(f"{folder}: cannot be an output folder ({error.strerror})") from None
    if not nearest.is_dir():
        raise InputError(f"{folder}: cannot be an output folder: {nearest} is a file")
    if not os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written to; choose another output folder")
    for name in names:
        if _is_real_folder(folder / name):
            raise InputError(f"{folder / name}: is a folder, and a file of that name is to be written; move it away")


def refuse_overwriting(targets: Iterable[tuple[str, Path]], inputs: Iterable[str | Path]) -> None:
    """Raise InputError if a file to be written is one that is read, or is to be written twice.

    targets: what asks for the file, such as an option, and the file. Links are followed, also hard ones.
    """
    read = [Path(each) for each in inputs]
    seen: list[tuple[str, Path]] = []
    for option, path in targets:
        if _is_stream(path):
            continue
        for source in read:
            if _same(path, source):
                raise InputError(f"{option}: {path} is a file that is read ({source}), and is not overwritten")
        for other, taken in seen:
            if _same(path, taken):
                raise InputError(f"{option}: {path} is also what {other} writes; choose another name")
        seen.append((option, path))


def _same(path: Path, other: Path) -> bool:
    try:
        return os.path.realpath(path) == os.path.realpath(other) or os.path.samefile(path, other)
    except (OSError, ValueError):  # one of them is not there, or is no path at all
        return False


def _is_stream(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _refuse_folder(path: Path) -> None:
    """A rename would move a folder away, with whatever is in it."""
    if _is_real_folder(path):
        raise IsADirectoryError(errno.EISDIR, f"{path.name} is a folder")


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or type(error).__name__})")


def _hidden(folder: Path) -> Path:
    return folder / f".kanon-milp-{secrets.token_hex(8)}"


def _filled(folder: Path, fill: Fill, cleaning: contextlib.ExitStack) -> Path:
    """A hidden file with all that it shall hold, safe on the disk."""
    hidden = _hidden(folder)
    for companion in (*COMPANIONS, ""):
        cleaning.callback(_remove, hidden.with_name(hidden.name + companion))
    with hidden.open("x+b") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    return hidden


def _exchange(
    new: Mapping[Path, Path | None],
    sync: Callable[[], object],
    cleaning: contextlib.ExitStack,
    undo: Callable[[], object] | None,
) -> None:
    """Put the new files in the place of the old ones: path → the hidden file, None to have none.

    One file is replaced at once. Of several, the old ones wait aside under hidden names, from where they come back if
    a step fails, after what a database has of it was taken back (`undo`). That may fail as well: then there is no
    claim.
    """
    if not new:
        return
    *others, claim = new
    several = bool(others) or undo is not None
    aside: dict[Path, Path] = {}
    placed: list[Path] = []
    try:
        for path in (claim, *others):
            _refuse_folder(path)
        for path in (claim, *others) if several or new[claim] is None else ():
            if os.path.lexists(path):
                hidden = _hidden(path.parent)
                cleaning.callback(_remove, hidden)
                os.replace(path, hidden)
                aside[path] = hidden
        if several:
            sync()  # no other file changes before the claim is gone for good
        for path, hidden_new in new.items():
            if hidden_new is None:
                continue
            if several and path == claim:
                sync()  # nor is there a claim before the others are there for good
            os.replace(hidden_new, path)
            placed.append(path)
        sync()
    except BaseException:
        for path in reversed(placed) if several else ():
            os.unlink(path)
        try:
            if undo is not None:
                undo()
        finally:
            for path, hidden in reversed(aside.items()):
                os.replace(hidden, path)
        raise


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[Callable[[], None]]:
    """Keep other runs from writing into the folder; yields what makes its entries safe on the disk.

    Hidden files that are there then were left by a run that was killed, and are removed.
    """
    if fcntl is None:
        yield lambda: None
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        ends = time.monotonic() + LOCK_SECONDS
        while (lock := _lock(handle)) is False:
            if time.monotonic() > ends:
                raise InputError(f"{folder}: another run is writing into it; wait for its end or choose another folder")
            time.sleep(0.05)
        if lock:
            _remove_leftovers(folder)
        yield lambda: _sync(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Lock an open folder until it is closed, or its process ends. False where another has the lock, None without."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None  # a file system without locks
    return True


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot do this for folders
            raise


def _remove_leftovers(folder: Path) -> None:
    with os.scandir(folder) as entries:
        found = [Path(entry.path) for entry in entries if _HIDDEN.fullmatch(entry.name)]
    for path in found:
        _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # it may have taken its place, or the disk may be gone
        os.unlink(path)
