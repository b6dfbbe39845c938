"""The load generator: wrk on a processor of its own."""

import dataclasses
import json
import pathlib
import subprocess

import machine

CONNECTIONS = 16
"""Held open during a run. Enough that a server which answers from memory always has a request waiting, also while another is on its way."""

SCRIPT = pathlib.Path(__file__).with_name("cycle.lua")


@dataclasses.dataclass(frozen=True)
class Load:
    """What one run of the load generator saw."""

    requests: int
    duration_us: int
    bytes: int
    failed: int
    p50_us: int
    p99_us: int

    @property
    def per_second(self) -> float:
        """Requests answered a second."""
        return self.requests / (self.duration_us / 1e6)


def run(
    base: str,
    paths: pathlib.Path,
    seconds: int,
    headers: tuple[str, ...] = (),
    is_refused: bool = False,
    cpu: int = machine.LOAD_CPU,
    connections: int = CONNECTIONS,
) -> Load:
    """Asks a server for the paths in a file, over and over. Raises when one answer was not a success, or where refusals are wanted was one."""
    options = ["--threads", 1, "--connections", connections, "--duration", f"{seconds}s", "--timeout", "10s"]
    command = ["wrk", *options, "--script", SCRIPT, base, "--", paths, *headers]
    told = subprocess.run(machine.pinned(command, cpu), check=True, capture_output=True, text=True).stdout
    load = Load(**json.loads(told.splitlines()[-1]))
    if load.failed != (load.requests if is_refused else 0) or not load.requests:
        raise RuntimeError(f"{load.failed} requests to {base} failed:\n{told}")
    return load
