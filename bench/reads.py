"""Authenticated reads of one media a second, against a bare handler that answers the same bytes."""

import load
import machine
from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, against_yardstick
from yardsticks import bare_handler

ROUNDS = 7
SECONDS = 3
WARM_UP_SECONDS = 2
RATIO_MIN = 0.5
CONNECTIONS = {"": 64, ", 16 connections": load.CONNECTIONS}
"""Of PostgreSQL a question is asked before each answer, one for all who wait at that moment. With 16 connections nobody is left to be answered meanwhile, and
the server rests for a seventh of the time; the goal is about what it can do."""


def measure(bench: Bench) -> list[Row]:
    """Kinora and the handler in turn, one worker each on one processor, the load generator on the other."""
    peers = Peers()
    folder = bench.folder / "reads"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        media = kinora.create_media(peers.share("1min.mp4", bench.clips.one_minute()))["id"]
        peers.wait_event("video.media.ready", media)
        peers.close()
        path = f"/v1/on-demand/{media}"
        body, paths = folder / "media.json", folder / "paths.txt"
        body.write_bytes(kinora.get(path))
        paths.write_text(path + "\n")
        headers = (f"Authorization: {kinora.authorization}",)
        rows = []
        with bare_handler(bench.yardstick, body) as bare:
            for server in (kinora, bare):
                load.run(server.base, paths, WARM_UP_SECONDS, headers)
            for name, connections in CONNECTIONS.items():
                ours, theirs = [], []
                for _ in range(ROUNDS):
                    for server, rates in ((kinora, ours), (bare, theirs)):
                        rates.append(load.run(server.base, paths, SECONDS, headers, connections=connections).per_second)
                rows.append(against_yardstick(f"authenticated GET of one media{name}", ours, theirs, "/s", RATIO_MIN))
    return rows
