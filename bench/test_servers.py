"""A source server that can delay the last byte, and a webhook receiver.

Times are those of `time.monotonic`, in seconds. Of Kinora it knows only the fields of an event that name it.
"""

import array
import fcntl
import json
import mimetypes
import pathlib
import socket
import termios
import threading
import time

from loopback import LoopbackHandler, LoopbackServer

# Delay of the last byte after the client's kernel acknowledged all others: time to read, write and sync
# them. A network slower than the disk gives the same time.
LAST_BYTE_DELAY_S = 1.0
# How often the kernel is polled for unacknowledged bytes.
POLL_INTERVAL_S = 0.01
READY, FAILED = "video.media.ready", "video.media.failed"


class TestServers(LoopbackServer):
    """Source server and webhook receiver on one port."""

    def __init__(self) -> None:
        self.last_byte_at: dict[str, float] = {}
        """Shared name → when its last byte was sent; absent when the client disconnected before."""
        self._files: dict[str, tuple[pathlib.Path, bool]] = {}
        self._events: dict[tuple[str, str], float] = {}
        self._changed = threading.Condition()
        super().__init__(TestServerHandler)

    def share(self, name: str, path: pathlib.Path, delay_last_byte: bool = False) -> str:
        """Serves a file and returns its URL. `delay_last_byte` delays its last byte."""
        self._files[name] = (path, delay_last_byte)
        return f"{self.base}/{name}"

    def wait_event(self, kind: str, media: str, timeout_s: float = 120) -> float:
        """Waits for the first event of this type about this media, and returns when it arrived.

        Raises `TimeoutError`, and `RuntimeError` when the media failed meanwhile.
        """
        arrived, at = self._wait_one_of((kind, FAILED), media, timeout_s)
        if arrived != kind:
            raise RuntimeError(f"the media {media} failed")
        return at

    def wait_settled(self, media: str, timeout_s: float = 120) -> tuple[bool, float]:
        """Waits until a media is ready or failed; returns whether it is ready, and the time of its event."""
        arrived, at = self._wait_one_of((READY, FAILED), media, timeout_s)
        return arrived == READY, at

    def note_event(self, body: bytes, at: float) -> None:
        event = json.loads(body)
        with self._changed:
            self._events.setdefault((event["type"], event["object"]["id"]), at)
            self._changed.notify_all()

    def file(self, name: str) -> tuple[pathlib.Path, bool] | None:
        return self._files.get(name)

    def _wait_one_of(self, kinds: tuple[str, ...], media: str, timeout_s: float) -> tuple[str, float]:
        def arrived_kinds() -> list[str]:
            return [kind for kind in kinds if (kind, media) in self._events]

        with self._changed:
            if not self._changed.wait_for(arrived_kinds, timeout_s):
                raise TimeoutError(f"no {kinds[0]} about {media} after {timeout_s} s")
            kind = arrived_kinds()[0]
            return kind, self._events[kind, media]


class TestServerHandler(LoopbackHandler):
    """GET: a source. POST: an event."""

    owner: TestServers

    def do_GET(self) -> None:
        name = self.path.strip("/")
        found = self.owner.file(name)
        if found is None:
            self.send_error(404)
            return
        path, delay_last_byte = found
        length = path.stat().st_size
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.head(length, Content_Type=kind, ETag=f'"{path.name}-{length}"')
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.send(path, length, delay_last_byte)
        except OSError:
            self.close_connection = True  # the client disconnected

    def send(self, path: pathlib.Path, length: int, delay_last_byte: bool) -> None:
        with path.open("rb") as file:
            if length > 1:
                self.connection.sendfile(file, count=length - 1)
            if delay_last_byte and length > 1:
                self.wait_until_acknowledged()
                time.sleep(LAST_BYTE_DELAY_S)
            file.seek(max(0, length - 1))
            last = file.read(1)
            self.owner.last_byte_at[self.path.strip("/")] = time.monotonic()
            self.connection.sendall(last)

    def do_POST(self) -> None:
        body = self.body()
        at = time.monotonic()
        self.head(0)
        self.owner.note_event(body, at)

    def wait_until_acknowledged(self) -> None:
        """Until the client's kernel has acknowledged every byte sent so far."""
        unacknowledged = array.array("i", [1])
        while unacknowledged[0] > 0:
            time.sleep(POLL_INTERVAL_S)
            fcntl.ioctl(self.connection, termios.TIOCOUTQ, unacknowledged)
