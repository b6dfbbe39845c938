"""Resident memory: at rest with one media, and at its highest while 2 GB come in."""

import shutil
import time

from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, at_most

ROUNDS = 3
IDLE_MAX_MIB = 40
INTAKE_MAX_MIB = 60
# After the last event; the work that follows it ends well within.
SETTLE_S = 3


def measure(bench: Bench) -> list[Row]:
    """A new server each round: first one short media, then, after a rest, the large one."""
    idle, peak = [], []
    for number in range(ROUNDS):
        peers = Peers()
        with Kinora(bench, f"memory-{number}") as kinora:
            kinora.add_webhook(f"{peers.base}/webhook")
            take_in(kinora, peers, peers.share("1min.mp4", bench.clips.one_minute()))
            time.sleep(SETTLE_S)
            idle.append(kinora.memory_kib("VmRSS") / 1024)
            take_in(kinora, peers, peers.share("2gb.mp4", bench.clips.two_gigabytes()))
            peak.append(kinora.memory_kib("VmHWM") / 1024)
        peers.close()
        shutil.rmtree(kinora.folder)  # or the rounds would fill the disk
    more = [high - low for high, low in zip(peak, idle, strict=True)]
    return [
        at_most("memory at rest, one media", idle, "MiB", IDLE_MAX_MIB),
        at_most("memory more while 2 GB come in by URL", more, "MiB", INTAKE_MAX_MIB),
    ]


def take_in(kinora: Kinora, peers: Peers, url: str) -> None:
    peers.wait_event("video.media.ready", kinora.create_media(url)["id"])
