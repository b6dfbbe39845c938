"""Authenticated reads of one media per second, against a bare handler that sends the same bytes."""

import load
import machine
from baselines import bare_handler
from bench import Bench
from kinora import Kinora
from report import Row, rate_against_baseline
from test_servers import TestServers

ROUNDS = 7
SECONDS = 3
WARM_UP_SECONDS = 2
RATIO_MIN = 0.5
CONNECTIONS = {"": 64, ", 16 connections": load.CONNECTIONS}
"""On PostgreSQL each response waits for a query that all waiting requests share. With 16 connections all of
them wait for the same query, and the server is idle for a seventh of the time. The goal is its capacity.
"""


def measure(bench: Bench) -> list[Row]:
    """Kinora and the handler alternately, one worker each on one CPU, the load generator on the other."""
    test_servers = TestServers()
    folder = bench.folder / "reads"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        media = kinora.create_media(test_servers.share("1min.mp4", bench.clips.one_minute()))["id"]
        test_servers.wait_event("video.media.ready", media)
        test_servers.close()
        path = f"/v1/on-demand/{media}"
        body, paths = folder / "media.json", folder / "paths.txt"
        body.write_bytes(kinora.get(path))
        paths.write_text(path + "\n")
        headers = (f"Authorization: {kinora.authorization}",)
        rows = []
        with bare_handler(bench.baseline_binary, body) as bare:
            for server in (kinora, bare):
                load.run(server.base, paths, WARM_UP_SECONDS, headers)
            for name, connections in CONNECTIONS.items():
                ours, theirs = [], []
                for _ in range(ROUNDS):
                    for server, rates in ((kinora, ours), (bare, theirs)):
                        rates.append(load.run(server.base, paths, SECONDS, headers, connections=connections).per_second)
                rows.append(rate_against_baseline(f"authenticated GET of one media{name}", ours, theirs, "/s", RATIO_MIN))
    return rows
