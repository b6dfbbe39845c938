"""Slow sources, and a webhook receiver that records events."""

import collections
import json
import pathlib
import threading
import time

from loopback import LoopbackHandler, LoopbackServer

# Duration of a download: long enough that a killed worker leaves partial downloads.
SOURCE_TAKES_S = 3.0
PIECES = 30


class TestServers(LoopbackServer):
    """Sources and webhook on one port. Every path below `/source/` sends the same clip, piece by piece."""

    def __init__(self, clip: pathlib.Path) -> None:
        self.clip = clip.read_bytes()
        self._lock = threading.Lock()
        # (type, media) -> event id -> number of posts
        self._events: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
        super().__init__(TestServerHandler)

    def record(self, body: bytes) -> None:
        event = json.loads(body)
        with self._lock:
            self._events[event["type"], event["object"]["id"]][event["id"]] += 1

    def ids_of(self, kind: str, media: str) -> dict[str, int]:
        """The ids of the events of this type about this media, and how often each arrived."""
        with self._lock:
            return dict(self._events.get((kind, media), {}))

    def wait_ids(self, kind: str, media: str, timeout_s: float = 60.0) -> dict[str, int]:
        """Waits for such an event; returns the same."""
        deadline = time.monotonic() + timeout_s
        while not (ids := self.ids_of(kind, media)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return ids

    def deliveries(self) -> int:
        """Number of posts."""
        with self._lock:
            return sum(ids.total() for ids in self._events.values())


class TestServerHandler(LoopbackHandler):
    owner: TestServers

    def do_GET(self) -> None:
        clip = self.owner.clip
        self.head(len(clip), Content_Type="video/mp4")
        step = -(-len(clip) // PIECES)
        try:
            for begin in range(0, len(clip), step):
                self.wfile.write(clip[begin : begin + step])
                time.sleep(SOURCE_TAKES_S / PIECES)
        except OSError:
            self.close_connection = True  # the worker was killed

    def do_POST(self) -> None:
        self.owner.record(self.body())
        self.head(0)
