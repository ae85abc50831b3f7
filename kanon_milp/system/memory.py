"""How much memory this process may still take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

CONTROL_GROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Memory that is free for this process: of the machine, and within the limits that were set for it by `ulimit -v`
    and by a container. None where the system does not say."""
    known = [each for each in (_of_the_machine(), _within_the_address_space(), _in_the_container()) if each is not None]
    return max(min(known), 0) if known else None


def _of_the_machine() -> int | None:
    with suppress(OSError, KeyError, ValueError), open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _within_the_address_space() -> int | None:
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource  # not on Windows

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            return most - used
    return None


def _in_the_container() -> int | None:
    with suppress(OSError, ValueError):  # "max", where there is no limit
        most = int((CONTROL_GROUP / "memory.max").read_text())
        return most - int((CONTROL_GROUP / "memory.current").read_text())
    return None
