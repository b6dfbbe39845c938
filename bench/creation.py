"""Media created per second on SQLite, against group commit of the same rows, and of one row.

The baseline has as many waiting writers and no HTTP.
"""

import dataclasses
import json

import load
import machine
from bench import Bench
from commits import run as commits_a_second
from deployments import OneMachine
from kinora import Kinora
from report import Row, rate_against_baseline

ROUNDS = 5
SECONDS = 3
WARM_UP_SECONDS = 1
# Of the rate of group commit.
RATIO_MIN = 0.5


def measure(bench: Bench) -> list[Row]:
    """A server with the role `api` fetches nothing. It runs on one CPU, its clients on the other."""
    if not isinstance(bench.deployment, OneMachine):
        return []
    folder = bench.folder / "creation"
    database = bench.folder / "creation-commits"
    commits_a_second(bench, "commit-store", database, load.CONNECTIONS, 1)  # makes the database
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU, roles="api") as kinora:
        body = {"inputs": [{"type": "video", "url": "https://media.example/a.mp4"}], "title": "A title"}
        requests = folder / "requests.txt"
        requests.write_text(f"POST\t/v1/on-demand\t{json.dumps(body)}\n")
        headers = (f"Authorization: {kinora.authorization}", "Content-Type: application/json")
        load.run(kinora.base, requests, WARM_UP_SECONDS, headers)
        ours, rows, commits = [], [], []
        for _ in range(ROUNDS):
            ours.append(load.run(kinora.base, requests, SECONDS, headers).per_second)
            for what, measured in (("commit-media", rows), ("commit-store", commits)):
                measured.append(
                    commits_a_second(bench, what, database, load.CONNECTIONS, SECONDS, machine.SERVER_CPU)
                )
    made = f"media made on SQLite, {load.CONNECTIONS} clients, over {load.CONNECTIONS} writers"
    return [
        rate_against_baseline(f"{made} of the same rows without HTTP", ours, rows, "/s", RATIO_MIN),
        # A media is rows of several tables with an event and a job. This row shows the cost of these.
        dataclasses.replace(rate_against_baseline(f"{made} of one row each", ours, commits, "/s", 0), goal="none set"),
    ]
