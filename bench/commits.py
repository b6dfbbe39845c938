"""Commits a second on SQLite: writers that each wait for theirs, through the store and with one sync a commit."""

import subprocess

from bench import Bench
from machine import pinned
from places import OneMachine
from report import Row, against_yardstick

ROUNDS = 5
SECONDS = 3
WRITERS = (1, 16, 128)
# What one writer may lose by the thread in between, and what sharing a sync must bring at least.
RATIO_MIN = {1: 0.8, 16: 3, 128: 10}


def measure(bench: Bench) -> list[Row]:
    """Both sides in turn on one database, with as many processors as there are. Nothing on PostgreSQL, which groups by itself."""
    if not isinstance(bench.place, OneMachine):
        return []
    folder = bench.folder / "commits"
    run(bench, "commit-store", folder, 1, 1)  # makes the database
    rows = []
    for writers in WRITERS:
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(run(bench, "commit-store", folder, writers, SECONDS))
            theirs.append(run(bench, "commit-each", folder, writers, SECONDS))
        people = "1 writer" if writers == 1 else f"{writers} writers"
        rows.append(against_yardstick(f"commits on SQLite, {people}", ours, theirs, "/s", RATIO_MIN[writers]))
    return rows


def run(bench: Bench, what: str, folder: object, writers: int, seconds: int, cpu: int | None = None) -> float:
    """Commits a second, on one processor if one is named."""
    command = pinned([bench.yardstick, what, folder, str(writers), str(seconds)], cpu)
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
