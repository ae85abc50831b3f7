"""Where a run took place."""

from __future__ import annotations

import functools
import os
import platform
import socket
import subprocess
from pathlib import Path
from typing import Any

from kanon_milp import __version__


@functools.cache
def machine() -> dict[str, Any]:
    """The columns of a row about the machine and its software."""
    return {
        "package_version": __version__,
        "git": _git(),
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()}",
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "host": socket.gethostname(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git() -> str | None:
    """The commit that the package is of, with + behind it where files differ; None where it is in no repository."""
    folder = Path(__file__).resolve().parents[3]
    try:
        head = _said(folder, "rev-parse", "--short=12", "HEAD")
        changed = _said(folder, "status", "--porcelain", "--untracked-files=no", "--", "kanon_milp")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}{'+' if changed else ''}"


def _said(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
