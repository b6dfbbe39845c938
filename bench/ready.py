"""From the last byte of a source to the ready event at a webhook: short and long media.

The source delays its last byte until all others are acknowledged. So the benchmark measures the
server, not the network.
"""

import os
import pathlib
import statistics
import subprocess
import urllib.parse

from bench import Bench
from deployments import ManyMachines
from kinora import Kinora
from report import Row, at_most, spread
from test_servers import TestServers

ROUNDS = 7
READY_MAX_MS = 300
MOOV_LAST_MAX_MS = 500
LONG_OVER_SHORT_MAX = 1.5


def measure(bench: Bench) -> list[Row]:
    """Each round ingests each clip once, so drift of the machine affects all clips."""
    clips = {
        "1min": bench.clips.one_minute(),
        "2h": bench.clips.two_hours(),
        "2h-moov-last": bench.clips.two_hours_moov_last(),
    }
    took_ms: dict[str, list[float]] = {name: [] for name in clips}
    completed_ms: dict[str, list[float]] = {name: [] for name in clips}
    test_servers = TestServers()
    with Kinora(bench, "ready") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS + 1):
            for name, path in clips.items():
                source = f"{name}-{number}.mp4"
                media = kinora.create_media(test_servers.share(source, path, delay_last_byte=True))["id"]
                arrived = test_servers.wait_event("video.media.ready", media)
                if number > 0:  # the first round warms up
                    took_ms[name].append((arrived - test_servers.last_byte_at[source]) * 1000)
                kinora.delete_media(media)
            if isinstance(bench.deployment, ManyMachines):
                for name, path in clips.items():
                    completed_ms[name].append(completion_ms(bench, path))
    test_servers.close()

    short, long = took_ms["1min"], took_ms["2h"]
    ratio = statistics.median(long) / statistics.median(short)
    rows = [
        at_most("last byte → ready event, 1 min", short, "ms", READY_MAX_MS),
        at_most("last byte → ready event, 2 h", long, "ms", READY_MAX_MS),
        Row(
            "last byte → ready event, 2 h over 1 min",
            spread(long, "ms"),
            spread(short, "ms"),
            f"{ratio:.2f}x",
            f"≤ {LONG_OVER_SHORT_MAX}x",
            ratio <= LONG_OVER_SHORT_MAX,
        ),
        at_most("last byte → ready event, 2 h, moov at the end", took_ms["2h-moov-last"], "ms", MOOV_LAST_MAX_MS),
    ]
    return rows + [over_completion(name, took_ms[name], completed_ms[name]) for name in clips if completed_ms[name]]


def completion_ms(bench: Bench, path: pathlib.Path) -> float:
    """How long the store takes to complete a multipart upload of these bytes."""
    storage = urllib.parse.urlsplit(os.environ["KINORA_TEST_STORAGE_URL"])
    endpoint = urllib.parse.parse_qs(storage.query)["endpoint"][0]
    command = [bench.baseline_binary, "complete", endpoint, storage.netloc, path]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def over_completion(name: str, ready: list[float], completed: list[float]) -> Row:
    """Ready against the one call that every server needs: before it there is no object."""
    ratio = statistics.median(ready) / statistics.median(completed)
    return Row(
        f"last byte → ready event over the store's completion of the upload, {name}",
        spread(ready, "ms"),
        spread(completed, "ms"),
        f"{ratio:.2f}x",
        "none set",
        True,
    )
