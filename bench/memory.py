"""Resident memory: idle with one media, and peak during the ingest of 2 GB."""

import shutil
import time

from bench import Bench
from kinora import Kinora
from report import Row, at_most
from test_servers import TestServers

ROUNDS = 3
IDLE_MAX_MIB = 40
INGEST_MAX_MIB = 60
# After the last event; the work after it takes less time.
SETTLE_S = 3


def measure(bench: Bench) -> list[Row]:
    """A new server each round: a short media, a pause, then the large one."""
    idle, peak = [], []
    for number in range(ROUNDS):
        test_servers = TestServers()
        with Kinora(bench, f"memory-{number}") as kinora:
            kinora.add_webhook(f"{test_servers.base}/webhook")
            ingest(kinora, test_servers, test_servers.share("1min.mp4", bench.clips.one_minute()))
            time.sleep(SETTLE_S)
            idle.append(kinora.memory_kib("VmRSS") / 1024)
            ingest(kinora, test_servers, test_servers.share("2gb.mp4", bench.clips.two_gigabytes()))
            peak.append(kinora.memory_kib("VmHWM") / 1024)
        test_servers.close()
        shutil.rmtree(kinora.folder)  # otherwise the rounds fill the disk
    extra = [high - low for high, low in zip(peak, idle, strict=True)]
    return [
        at_most("idle memory, one media", idle, "MiB", IDLE_MAX_MIB),
        at_most("extra memory during ingest of 2 GB by URL", extra, "MiB", INGEST_MAX_MIB),
    ]


def ingest(kinora: Kinora, test_servers: TestServers, url: str) -> None:
    test_servers.wait_event("video.media.ready", kinora.create_media(url)["id"])
