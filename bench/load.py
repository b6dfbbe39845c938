"""The load generator: wrk on its own CPU."""

import dataclasses
import json
import pathlib
import subprocess

import machine

CONNECTIONS = 16
"""Open during a run. Enough that a server which responds from memory always has a request waiting."""

SCRIPT = pathlib.Path(__file__).with_name("cycle.lua")


@dataclasses.dataclass(frozen=True)
class Load:
    """Result of one run of the load generator."""

    requests: int
    duration_us: int
    bytes: int
    failed: int
    p50_us: int
    p99_us: int

    @property
    def per_second(self) -> float:
        """Responses per second."""
        return self.requests / (self.duration_us / 1e6)


def run(
    base: str,
    paths: pathlib.Path,
    seconds: int,
    headers: tuple[str, ...] = (),
    expect_rejection: bool = False,
    cpu: int = machine.LOAD_CPU,
    connections: int = CONNECTIONS,
) -> Load:
    """Requests the paths in a file repeatedly.

    Raises on an error status; with `expect_rejection` on a success.
    """
    options = ["--threads", 1, "--connections", connections, "--duration", f"{seconds}s", "--timeout", "10s"]
    command = ["wrk", *options, "--script", SCRIPT, base, "--", paths, *headers]
    output = subprocess.run(machine.pinned(command, cpu), check=True, capture_output=True, text=True).stdout
    load = Load(**json.loads(output.splitlines()[-1]))
    if load.failed != (load.requests if expect_rejection else 0) or not load.requests:
        raise RuntimeError(f"{load.failed} requests to {base} failed:\n{output}")
    return load
