"""A PostgreSQL server that tests start, in a folder of its own and reached through a socket there."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "s3cret-Pa55"
OWNERS = ("postgres", "nobody")  # the server refuses to run as root


def programs() -> Path | None:
    """The folder with initdb and pg_ctl, None where no server is installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(os.path.realpath(found)).parent
    return next((each.parent for each in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a database on a server of its own, whose only user has the password `PASSWORD`."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("no PostgreSQL server is installed (initdb)")
    owner = _owner() if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # the name of a socket has at most 107 characters

    def call(program: str, *arguments: str) -> None:
        given: dict[str, Any] = {} if owner is None else {"user": owner[0], "group": owner[1], "extra_groups": []}
        command = [str(bin_folder / program), "-D", str(folder / "data"), *arguments]
        env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
        # the server keeps what it is given as output, so that is a file
        with (folder / "output").open("a") as output:
            done = subprocess.run(
                command, cwd=folder, stdout=output, stderr=output, timeout=120, check=False, env=env, **given
            )
        assert done.returncode == 0, (folder / "output").read_text()

    try:
        (folder / "password").write_text(PASSWORD)
        if owner is not None:
            for path in (folder, folder / "password"):
                os.chown(path, *owner)
        call("initdb", "-U", "owner", "-A", "scram-sha-256", "--pwfile", str(folder / "password"), "-E", "UTF8", "-N")
        call("pg_ctl", "start", "-w", "-l", str(folder / "log"), "-o", f"-F -c listen_addresses= -k {folder}")
        try:
            yield f"postgresql://owner:{PASSWORD}@/postgres?host={folder}"
        finally:
            call("pg_ctl", "stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner() -> tuple[int, int]:
    for name in OWNERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid
    pytest.skip("the PostgreSQL server does not run as root, and there is no other user")
