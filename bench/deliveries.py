"""Webhook deliveries per second from the database, against a loop that posts the same bytes from memory.

Many media are deleted at once in a workspace with several webhooks. Each event is signed and goes to each
webhook; each attempt is stored. Both sides post to the same receiver, which only counts.
"""

import concurrent.futures
import http.client
import json
import pathlib
import subprocess
import time

import machine
from baselines import Baseline
from bench import Bench
from kinora import Kinora
from loopback import free_port
from report import Row, rate_against_baseline
from test_servers import TestServers

ROUNDS = 5
WEBHOOKS = 16
EVENTS = 200
"""Per round; each goes to every webhook."""
CONCURRENCY = 64
"""Concurrent posts of the loop."""
RATIO_MIN = 0.5
TIMEOUT_S = 120


class Receiver(Baseline):
    """Counts posts, on the CPU of the load generator."""

    def __init__(self, binary: pathlib.Path) -> None:
        port = free_port()
        super().__init__(port, [binary, "receive", f"127.0.0.1:{port}"], machine.LOAD_CPU)

    def reset(self) -> None:
        self._request("DELETE")

    def wait_for(self, posts: int) -> float:
        """Waits for this many posts since the reset; returns the posts per second."""
        deadline = time.monotonic() + TIMEOUT_S
        while (count := json.loads(self._request("GET")))["posts"] < posts:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{count['posts']} of {posts} posts after {TIMEOUT_S} s")
            time.sleep(0.05)
        return count["posts"] / (count["took_us"] / 1e6)

    def _request(self, method: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, "/")
        read = connection.getresponse().read()
        connection.close()
        return read


def measure(bench: Bench) -> list[Row]:
    """Kinora and the loop alternately, pinned to the same CPU."""
    ours, theirs = [], []
    test_servers = TestServers()
    posts = EVENTS * WEBHOOKS
    with (
        Receiver(bench.baseline_binary) as receiver,
        Kinora(bench, "deliveries", machine.SERVER_CPU) as kinora,
    ):
        # The sources do not exist, so the media fail at once. There is no webhook yet, so no delivery.
        media = [kinora.create_media(f"{test_servers.base}/none.mp4")["id"] for _ in range(ROUNDS * EVENTS)]
        for identifier in media:
            wait_settled(kinora, identifier)
        test_servers.close()
        for number in range(WEBHOOKS):
            kinora.add_webhook(f"{receiver.base}/webhook-{number}")
        body = bench.folder / "event.json"
        body.write_bytes(kinora.get(f"/on-demand/{media[0]}"))  # about as long as an event
        loop = [bench.baseline_binary, "post", f"{receiver.base}/loop", body, posts, CONCURRENCY]
        for number in range(ROUNDS):
            receiver.reset()
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                list(threads.map(kinora.delete_media, media[number * EVENTS : (number + 1) * EVENTS]))
            ours.append(receiver.wait_for(posts))
            receiver.reset()
            subprocess.run(machine.pinned(loop, machine.SERVER_CPU), check=True)
            theirs.append(receiver.wait_for(posts))
    return [rate_against_baseline("webhook deliveries", ours, theirs, "/s", RATIO_MIN)]


def wait_settled(kinora: Kinora, media: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while json.loads(kinora.get(f"/on-demand/{media}"))["data"]["status"] != "Failed":
        if time.monotonic() > deadline:
            raise TimeoutError(f"the media {media} has not failed after {TIMEOUT_S} s")
        time.sleep(0.05)
