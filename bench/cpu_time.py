"""CPU time of a server with its child processes, and of one command."""

import dataclasses
import os
import pathlib
import resource
import subprocess
import time
from collections.abc import Sequence

TICKS = os.sysconf("SC_CLK_TCK")
IDLE_S = 1.0
IDLE_SHARE_MAX = 0.02
"""A server that uses less of one CPU is idle: polls and timers remain."""
# proc(5): fields of /proc/PID/stat after the name, which may contain any character.
PARENT, OWN, REAPED = 1, (11, 12), (13, 14)


@dataclasses.dataclass(frozen=True)
class Cost:
    """CPU and wall time in seconds."""

    cpu_s: float
    wall_s: float


def of_tree(root: int) -> float:
    """Seconds of a process, of its reaped children, and of its running descendants."""
    parents, seconds = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile; its parent counts it
        pid = int(path.parent.name)
        parents[pid] = int(fields[PARENT])
        seconds[pid] = sum(int(fields[field]) for field in (*OWN, *REAPED)) / TICKS
    return sum(time_s for pid, time_s in seconds.items() if is_descendant(pid, root, parents))


def is_descendant(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid not in (0, root):
        pid = parents.get(pid, 0)
    return pid == root


def wait_idle(root: int, timeout_s: float) -> float:
    """Waits until a process with its descendants is idle; returns since when, by `time.monotonic`."""
    deadline = time.monotonic() + timeout_s
    since, used = time.monotonic(), of_tree(root)
    while time.monotonic() < deadline:
        time.sleep(IDLE_S)
        now, uses = time.monotonic(), of_tree(root)
        if uses - used <= IDLE_SHARE_MAX * (now - since):
            return since
        since, used = now, uses
    raise TimeoutError(f"process {root} is not idle after {timeout_s} s")


def of_command(command: Sequence[str]) -> Cost:
    """Runs a command to its end. Raises when it fails."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu_s, time.monotonic() - started)
