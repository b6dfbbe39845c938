"""The machine that is measured on: its processors, and how processes are kept apart on them."""

import os
import pathlib
import platform
import subprocess
import sys
from collections.abc import Sequence

SERVER_CPU, LOAD_CPU = sorted(os.sched_getaffinity(0))[0], sorted(os.sched_getaffinity(0))[-1]
"""Servers run on the first processor we may use, the load generator on the last. With only one, they share it."""


def pinned(command: Sequence[object], cpu: int | None) -> list[str]:
    """The command, kept on one processor; `None` leaves it free."""
    words = [str(word) for word in command]
    return words if cpu is None else ["taskset", "--cpu-list", str(cpu), *words]


def description() -> str:
    """One line for a reader who wonders what the figures are worth."""
    cpus = len(os.sched_getaffinity(0))
    return f"{model()}, {cpus} processors, Linux {platform.release()}"


def load() -> str:
    """How many processes wanted a processor in the last 1, 5 and 15 minutes: what else ran beside the benches."""
    return ", ".join(f"{load:.2f}" for load in os.getloadavg())


def model() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def revision() -> str:
    """The commit that is measured, marked when the tree differs from it."""
    told = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


def require_programs(*names: str) -> None:
    """Ends the process when one of these is missing."""
    path = os.environ["PATH"] = os.environ["PATH"] + ":/usr/sbin"  # Debian keeps nginx where only root looks
    folders = [pathlib.Path(folder) for folder in path.split(":")]
    for name in names:
        if not any((folder / name).is_file() for folder in folders):
            sys.exit(f"bench: {name} is missing; run scripts/install.sh bench")


def fill_page_cache(folder: pathlib.Path, last: pathlib.Path) -> None:
    """Makes the kernel keep files in all of its memory, as on a server that has run for a day, `last` among them.

    Otherwise what is measured first takes memory that is free and what comes later perhaps not; and on a virtual machine that gives free memory
    back to its host, taking it costs several times what writing into it does. Nothing may be deleted while it is measured.
    """
    hole = folder / "hole"
    with hole.open("wb") as opened:
        opened.truncate(free_memory())
    for file in (hole, last):
        with file.open("rb") as opened:
            while opened.read(1 << 20):
                pass


def free_memory() -> int:
    """Bytes that nothing uses."""
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemFree:"))
