"""Webhook deliveries a second, from the rows of a database, against a loop that posts the same bytes from memory.

Many media are deleted at once in a workspace with several webhooks: each event goes to each webhook, is signed, and its
attempt is written down. Both sides post to the same receiver, which only counts.
"""

import concurrent.futures
import http.client
import json
import pathlib
import subprocess
import time

import machine
from bench import Bench
from kinora import Kinora
from loopback import free_port
from peers import Peers
from report import Row, against_yardstick
from yardsticks import Yardstick

ROUNDS = 5
WEBHOOKS = 16
EVENTS = 200
"""In a round; each goes to every webhook."""
AT_ONCE = 64
"""Posts of the loop at a time."""
RATIO_MIN = 0.5
WITHIN_S = 120


class Receiver(Yardstick):
    """Counts posts, on the processor of the load generator."""

    def __init__(self, binary: pathlib.Path) -> None:
        port = free_port()
        super().__init__(port, [binary, "receive", f"127.0.0.1:{port}"], machine.LOAD_CPU)

    def reset(self) -> None:
        self._ask("DELETE")

    def wait_for(self, posts: int) -> float:
        """Waits until so many posts have come since the reset, and answers how many came a second."""
        until = time.monotonic() + WITHIN_S
        while (count := json.loads(self._ask("GET")))["posts"] < posts:
            if time.monotonic() > until:
                raise TimeoutError(f"{count['posts']} of {posts} posts after {WITHIN_S} s")
            time.sleep(0.05)
        return count["posts"] / (count["took_us"] / 1e6)

    def _ask(self, method: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, "/")
        read = connection.getresponse().read()
        connection.close()
        return read


def measure(bench: Bench) -> list[Row]:
    """Kinora and the loop in turn, pinned to the same processor."""
    ours, theirs = [], []
    peers = Peers()
    posts = EVENTS * WEBHOOKS
    with (
        Receiver(bench.yardstick) as receiver,
        Kinora(bench, "deliveries", machine.SERVER_CPU) as kinora,
    ):
        # Sources that nobody has: the media fail at once, and nobody is told, for there is no webhook yet.
        media = [kinora.create_media(f"{peers.base}/none.mp4")["id"] for _ in range(ROUNDS * EVENTS)]
        for identifier in media:
            wait_settled(kinora, identifier)
        peers.close()
        for number in range(WEBHOOKS):
            kinora.add_webhook(f"{receiver.base}/webhook-{number}")
        body = bench.folder / "event.json"
        body.write_bytes(kinora.get(f"/on-demand/{media[0]}"))  # about as long as an event
        loop = [bench.yardstick, "post", f"{receiver.base}/loop", body, posts, AT_ONCE]
        for number in range(ROUNDS):
            receiver.reset()
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                list(threads.map(kinora.delete_media, media[number * EVENTS : (number + 1) * EVENTS]))
            ours.append(receiver.wait_for(posts))
            receiver.reset()
            subprocess.run(machine.pinned(loop, machine.SERVER_CPU), check=True)
            theirs.append(receiver.wait_for(posts))
    return [against_yardstick("webhook deliveries", ours, theirs, "/s", RATIO_MIN)]


def wait_settled(kinora: Kinora, media: str) -> None:
    until = time.monotonic() + WITHIN_S
    while json.loads(kinora.get(f"/on-demand/{media}"))["data"]["status"] != "Failed":
        if time.monotonic() > until:
            raise TimeoutError(f"the media {media} has not failed after {WITHIN_S} s")
        time.sleep(0.05)
