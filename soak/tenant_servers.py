"""Test servers of `tenants.py`: sources, webhook receivers, and a server that never responds."""

import collections
import json
import pathlib
import selectors
import socket
import subprocess
import threading
import time

from loopback import LoopbackHandler, LoopbackServer

SUBTITLES = b"1\n00:00:01,000 --> 00:00:04,000\nHello\n"
READ_BYTES = 1 << 16


class SilentServer:
    """Accepts connections, reads, and never responds. Counts open connections."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._listener.setblocking(False)
        self._open: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def open_connections(self) -> int:
        """Number of open connections."""
        return len(self._open)

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._read(key.fileobj)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # closed before it was accepted
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ)
        self._open.add(connection)

    def _read(self, connection: socket.socket) -> None:
        try:
            if connection.recv(READ_BYTES):
                return
        except OSError:
            pass  # reset by the other side
        self._selector.unregister(connection)
        self._open.discard(connection)
        connection.close()


class TenantServers(LoopbackServer):
    """GET: a shared file, or subtitles below `/subtitles/`. POST: an event; 500 below `/failing/`."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._changed = threading.Condition()
        # (path, type, media) -> when the first such event arrived
        self._events: dict[tuple[str, str, str], float] = {}
        self._posts: collections.Counter[str] = collections.Counter()
        self._served: collections.Counter[str] = collections.Counter()
        super().__init__(TenantServerHandler)

    def share(self, name: str, content: bytes) -> str:
        """Serves this content at every path below the returned URL, so that each media has its own URL."""
        self._files[name] = content
        return f"{self.base}/{name}"

    def content(self, path: str) -> bytes | None:
        name = path.split("/")[1]
        return SUBTITLES if name == "subtitles" else self._files.get(name)

    def count_served(self, path: str) -> None:
        with self._changed:
            self._served[path.split("/")[1]] += 1

    def served(self, *names: str) -> int:
        """How often these contents were sent completely."""
        with self._changed:
            return sum(self._served[name] for name in names)

    def record(self, path: str, body: bytes, at: float) -> None:
        event = json.loads(body)
        with self._changed:
            self._posts[path.split("/")[1]] += 1
            self._events.setdefault((path, event["type"], event["object"]["id"]), at)
            self._changed.notify_all()

    def posts(self, name: str) -> int:
        """Posts to paths that begin with this name."""
        with self._changed:
            return self._posts[name]

    def wait_event(self, path: str, kind: str, media: str, timeout_s: float) -> float:
        """Waits for this event; returns when it arrived, by `time.monotonic`."""
        with self._changed:
            if not self._changed.wait_for(lambda: (path, kind, media) in self._events, timeout_s):
                raise TimeoutError(f"no {kind} of {media} within {timeout_s:.0f} s")
            return self._events[path, kind, media]


class TenantServerHandler(LoopbackHandler):
    owner: TenantServers

    def do_GET(self) -> None:
        content = self.owner.content(self.path)
        if content is None:
            self.send_error(404)
            return
        self.head(len(content), Content_Type="application/octet-stream")
        try:
            self.wfile.write(content)
            self.owner.count_served(self.path)
        except OSError:
            self.close_connection = True  # the media was deleted

    def do_POST(self) -> None:
        at = time.monotonic()
        self.owner.record(self.path, self.body(), at)
        if self.path.startswith("/failing/"):
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.head(0)


def make_uncopyable(folder: pathlib.Path, name: str, seconds: int, size: str) -> bytes:
    """A video that must be encoded: its first segment is encoded before the media is ready."""
    file = folder / name
    command = f"ffmpeg -hide_banner -loglevel error -nostdin -y -f lavfi -i testsrc2=s={size}:r=30:d={seconds}"
    command += " -c:v mpeg2video -q:v 4 -g 60 -pix_fmt yuv420p"
    subprocess.run([*command.split(), file], check=True)
    return file.read_bytes()
