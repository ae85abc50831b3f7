"""Memory of a run's processes, seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def session_bytes(session: int) -> int:
    """Resident bytes of all processes of a session together; shared pages count in each of them. 0 where there are
    none any more."""
    return _from_proc(session) if sys.platform == "linux" else _from_ps(session)


def _from_proc(session: int) -> int:
    total = 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            if os.getsid(int(entry.name)) == session:
                total += int(Path(entry.path, "statm").read_bytes().split()[1]) * _PAGE
        except (OSError, IndexError):  # it has ended
            continue
    return total


def _from_ps(session: int) -> int:
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,rss="], capture_output=True, text=True, check=False).stdout
    pairs = (line.split() for line in listed.splitlines())
    return sum(int(rss) * 1024 for group, rss in pairs if int(group) == session)
