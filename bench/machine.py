"""The machine under measurement: its CPUs, and pinning of processes to them."""

import os
import pathlib
import platform
import subprocess
import sys
from collections.abc import Sequence

SERVER_CPU, LOAD_CPU = sorted(os.sched_getaffinity(0))[0], sorted(os.sched_getaffinity(0))[-1]
"""Servers run on the first allowed CPU, the load generator on the last. A single CPU is shared."""


def pinned(command: Sequence[object], cpu: int | None) -> list[str]:
    """The command, pinned to one CPU; `None` does not pin."""
    words = [str(word) for word in command]
    return words if cpu is None else ["taskset", "--cpu-list", str(cpu), *words]


def description() -> str:
    """One line that describes the machine."""
    cpus = len(os.sched_getaffinity(0))
    return f"{model()}, {cpus} processors, Linux {platform.release()}"


def load() -> str:
    """Load average of the last 1, 5 and 15 minutes."""
    return ", ".join(f"{load:.2f}" for load in os.getloadavg())


def model() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def revision() -> str:
    """The commit under measurement, marked `-dirty` when the tree differs."""
    output = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    return output.stdout.strip() or "unknown"


def require_programs(*names: str) -> None:
    """Exits when one of these is missing."""
    path = os.environ["PATH"] = os.environ["PATH"] + ":/usr/sbin"  # Debian installs nginx into /usr/sbin
    folders = [pathlib.Path(folder) for folder in path.split(":")]
    for name in names:
        if not any((folder / name).is_file() for folder in folders):
            sys.exit(f"bench: {name} is missing; run scripts/install.sh bench")


def fill_page_cache(folder: pathlib.Path, last: pathlib.Path) -> None:
    """Fills the page cache, as on a server that has run for a day. `last` is read last, so it is cached.

    Otherwise only the first measurement finds free memory. A virtual machine that returns free memory to its
    host also pays several times for allocating it again. Delete nothing during a measurement.
    """
    hole = folder / "hole"
    with hole.open("wb") as opened:
        opened.truncate(free_memory())
    for file in (hole, last):
        with file.open("rb") as opened:
            while opened.read(1 << 20):
                pass


def free_memory() -> int:
    """Free memory in bytes."""
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemFree:"))
