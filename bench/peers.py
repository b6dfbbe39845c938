"""What Kinora talks to: a server of sources that can hold a last byte back, and a receiver of webhooks.

Times are those of `time.monotonic`, in seconds. Knows nothing of Kinora but the two fields of an event that name it.
"""

import array
import fcntl
import http.server
import json
import pathlib
import socket
import termios
import threading
import time

# How long the last byte waits after the other side's kernel has all others: time to read, write and sync these, as any
# network that is slower than a disk leaves it.
HOLD_S = 1.0
# How often the kernel is asked whether the other side has taken all.
LOOK_EVERY_S = 0.01


class Peers:
    """Both servers on one port of the loopback, a thread for each connection."""

    def __init__(self) -> None:
        self.last_byte_at: dict[str, float] = {}
        """When the last byte of a source was given to the kernel, by the name it was shared under."""
        self._files: dict[str, tuple[pathlib.Path, bool]] = {}
        self._events: dict[tuple[str, str], float] = {}
        self._changed = threading.Condition()
        peers = self

        class Handler(PeerHandler):
            owner = peers

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def share(self, name: str, path: pathlib.Path, hold: bool = False) -> str:
        """The address of a file from now on. With `hold` its last byte comes late."""
        self._files[name] = (path, hold)
        return f"{self.base}/{name}"

    def wait_event(self, kind: str, media: str, timeout_s: float = 120) -> float:
        """When the first event of this type about this media arrived; waits for it.

        Raises `TimeoutError`, and `RuntimeError` when the media failed meanwhile.
        """
        failed = ("video.media.failed", media)
        with self._changed:
            arrived = self._changed.wait_for(lambda: (kind, media) in self._events or failed in self._events, timeout_s)
            if not arrived:
                raise TimeoutError(f"no {kind} about {media} after {timeout_s} s")
            if (kind, media) not in self._events:
                raise RuntimeError(f"the media {media} failed")
            return self._events[kind, media]

    def close(self) -> None:
        """Stops to listen."""
        self._server.shutdown()
        self._server.server_close()

    def note_event(self, body: bytes, at: float) -> None:
        event = json.loads(body)
        with self._changed:
            self._events.setdefault((event["type"], event["object"]["id"]), at)
            self._changed.notify_all()

    def file(self, name: str) -> tuple[pathlib.Path, bool] | None:
        return self._files.get(name)


class PeerHandler(http.server.BaseHTTPRequestHandler):
    """GET: a source. POST: an event."""

    owner: Peers
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.strip("/")
        found = self.owner.file(name)
        if found is None:
            self.send_error(404)
            return
        path, hold = found
        length = path.stat().st_size
        self.send_response(200)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Content-Length", str(length))
        self.send_header("ETag", f'"{path.name}-{length}"')
        self.end_headers()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with path.open("rb") as file:
            self.connection.sendfile(file, count=length - 1)
            if hold:
                self.wait_until_taken()
                time.sleep(HOLD_S)
            file.seek(length - 1)
            last = file.read(1)
            self.owner.last_byte_at[name] = time.monotonic()
            self.connection.sendall(last)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        at = time.monotonic()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.owner.note_event(body, at)

    def wait_until_taken(self) -> None:
        """Until the other side's kernel has acknowledged every byte sent so far."""
        unacknowledged = array.array("i", [1])
        while unacknowledged[0] > 0:
            time.sleep(LOOK_EVERY_S)
            fcntl.ioctl(self.connection, termios.TIOCOUTQ, unacknowledged)

    def log_message(self, *_: object) -> None:
        """Nothing: who asked for what is of no interest here."""
