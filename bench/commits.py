"""Commits per second on SQLite: waiting writers, through the store and with one sync a commit."""

import subprocess

from bench import Bench
from deployments import OneMachine
from machine import pinned
from report import Row, rate_against_baseline

ROUNDS = 5
SECONDS = 3
WRITERS = (1, 16, 128)
# How much the extra thread may slow one writer, and how much a shared sync must gain at least.
RATIO_MIN = {1: 0.8, 16: 3, 128: 10}


def measure(bench: Bench) -> list[Row]:
    """Both alternately on one database, on all CPUs.

    Skipped on PostgreSQL, which has its own group commit.
    """
    if not isinstance(bench.deployment, OneMachine):
        return []
    folder = bench.folder / "commits"
    run(bench, "commit-store", folder, 1, 1)  # makes the database
    rows = []
    for writers in WRITERS:
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(run(bench, "commit-store", folder, writers, SECONDS))
            theirs.append(run(bench, "commit-each", folder, writers, SECONDS))
        label = "1 writer" if writers == 1 else f"{writers} writers"
        rows.append(rate_against_baseline(f"commits on SQLite, {label}", ours, theirs, "/s", RATIO_MIN[writers]))
    return rows


def run(bench: Bench, what: str, folder: object, writers: int, seconds: int, cpu: int | None = None) -> float:
    """Commits per second; `cpu` pins it to one CPU."""
    command = pinned([bench.baseline_binary, what, folder, str(writers), str(seconds)], cpu)
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
