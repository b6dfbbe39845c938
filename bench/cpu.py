"""Processor time: of a server with all it started, and of one call."""

import dataclasses
import os
import pathlib
import resource
import subprocess
import time
from collections.abc import Sequence

TICKS = os.sysconf("SC_CLK_TCK")
QUIET_S = 1.0
QUIET_SHARE_MAX = 0.02
"""A server that uses less of one processor is at rest: polls and timers remain."""
# proc(5): fields of /proc/PID/stat behind the name, which may hold anything.
PARENT, OWN, REAPED = 1, (11, 12), (13, 14)


@dataclasses.dataclass(frozen=True)
class Cost:
    """What something took, in seconds."""

    cpu_s: float
    wall_s: float


def of_tree(root: int) -> float:
    """Seconds of a process, of all it waited for, and of all that still run below it."""
    parents, seconds = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile; its parent counts it
        pid = int(path.parent.name)
        parents[pid] = int(fields[PARENT])
        seconds[pid] = sum(int(fields[field]) for field in (*OWN, *REAPED)) / TICKS
    return sum(time_s for pid, time_s in seconds.items() if is_below(pid, root, parents))


def is_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid not in (0, root):
        pid = parents.get(pid, 0)
    return pid == root


def wait_quiet(root: int, within_s: float) -> float:
    """Waits until a process with all below it is at rest, and answers when it came to it, by `time.monotonic`."""
    until = time.monotonic() + within_s
    since, used = time.monotonic(), of_tree(root)
    while time.monotonic() < until:
        time.sleep(QUIET_S)
        now, uses = time.monotonic(), of_tree(root)
        if uses - used <= QUIET_SHARE_MAX * (now - since):
            return since
        since, used = now, uses
    raise TimeoutError(f"process {root} is not at rest after {within_s} s")


def of_call(command: Sequence[str]) -> Cost:
    """Runs a command to its end. Raises when it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu_s, time.monotonic() - began)
