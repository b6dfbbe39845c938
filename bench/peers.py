"""What Kinora talks to: a server of sources that can hold a last byte back, and a receiver of webhooks.

Times are those of `time.monotonic`, in seconds. Knows nothing of Kinora but the fields of an event that name it.
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

# How long the last byte waits after the other side's kernel has all others: time to read, write and sync these, as any
# network that is slower than a disk leaves it.
HOLD_S = 1.0
# How often the kernel is asked whether the other side has taken all.
LOOK_EVERY_S = 0.01
READY, FAILED = "video.media.ready", "video.media.failed"


class Peers(LoopbackServer):
    """Both servers on one port."""

    def __init__(self) -> None:
        self.last_byte_at: dict[str, float] = {}
        """When the last byte of a source was given to the kernel, by the name it was shared under; not of one refused before."""
        self._files: dict[str, tuple[pathlib.Path, bool]] = {}
        self._events: dict[tuple[str, str], float] = {}
        self._changed = threading.Condition()
        super().__init__(PeerHandler)

    def share(self, name: str, path: pathlib.Path, hold: bool = False) -> str:
        """The address of a file from now on. With `hold` its last byte comes late."""
        self._files[name] = (path, hold)
        return f"{self.base}/{name}"

    def wait_event(self, kind: str, media: str, timeout_s: float = 120) -> float:
        """When the first event of this type about this media arrived; waits for it.

        Raises `TimeoutError`, and `RuntimeError` when the media failed meanwhile.
        """
        arrived, at = self._wait_one_of((kind, FAILED), media, timeout_s)
        if arrived != kind:
            raise RuntimeError(f"the media {media} failed")
        return at

    def wait_settled(self, media: str, timeout_s: float = 120) -> tuple[bool, float]:
        """Whether a media became ready or failed, and when the event that says so arrived; waits for it."""
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
        def came() -> list[str]:
            return [kind for kind in kinds if (kind, media) in self._events]

        with self._changed:
            if not self._changed.wait_for(came, timeout_s):
                raise TimeoutError(f"no {kinds[0]} about {media} after {timeout_s} s")
            kind = came()[0]
            return kind, self._events[kind, media]


class PeerHandler(LoopbackHandler):
    """GET: a source. POST: an event."""

    owner: Peers

    def do_GET(self) -> None:
        name = self.path.strip("/")
        found = self.owner.file(name)
        if found is None:
            self.send_error(404)
            return
        path, hold = found
        length = path.stat().st_size
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.head(length, Content_Type=kind, ETag=f'"{path.name}-{length}"')
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.send(path, length, hold)
        except OSError:
            self.close_connection = True  # refused before its end

    def send(self, path: pathlib.Path, length: int, hold: bool) -> None:
        with path.open("rb") as file:
            if length > 1:
                self.connection.sendfile(file, count=length - 1)
            if hold and length > 1:
                self.wait_until_taken()
                time.sleep(HOLD_S)
            file.seek(max(0, length - 1))
            last = file.read(1)
            self.owner.last_byte_at[self.path.strip("/")] = time.monotonic()
            self.connection.sendall(last)

    def do_POST(self) -> None:
        body = self.body()
        at = time.monotonic()
        self.head(0)
        self.owner.note_event(body, at)

    def wait_until_taken(self) -> None:
        """Until the other side's kernel has acknowledged every byte sent so far."""
        unacknowledged = array.array("i", [1])
        while unacknowledged[0] > 0:
            time.sleep(LOOK_EVERY_S)
            fcntl.ioctl(self.connection, termios.TIOCOUTQ, unacknowledged)
