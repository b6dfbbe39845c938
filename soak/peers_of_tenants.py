"""What the workspaces of `tenants.py` talk to: sources, receivers, and a server that accepts everything and answers nothing."""

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


class Silent:
    """Accepts connections, reads what comes, and never answers. Knows how many are open."""

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

    def open(self) -> int:
        """Connections that nobody has closed."""
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
            return  # it was closed before it was accepted
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


class Peers(LoopbackServer):
    """GET: a file that was shared, or subtitles below `/subtitles/`. POST: an event, which `/refusing/` answers with 500."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._changed = threading.Condition()
        # (path, type, media) -> when the first such event came
        self._events: dict[tuple[str, str, str], float] = {}
        self._posts: collections.Counter[str] = collections.Counter()
        self._served: collections.Counter[str] = collections.Counter()
        super().__init__(PeersHandler)

    def share(self, name: str, content: bytes) -> str:
        """The address below which any path answers this content: media of one source have addresses of their own."""
        self._files[name] = content
        return f"{self.base}/{name}"

    def content(self, path: str) -> bytes | None:
        name = path.split("/")[1]
        return SUBTITLES if name == "subtitles" else self._files.get(name)

    def note_served(self, path: str) -> None:
        with self._changed:
            self._served[path.split("/")[1]] += 1

    def served(self, *names: str) -> int:
        """How often these contents were sent to their end."""
        with self._changed:
            return sum(self._served[name] for name in names)

    def note(self, path: str, body: bytes, at: float) -> None:
        event = json.loads(body)
        with self._changed:
            self._posts[path.split("/")[1]] += 1
            self._events.setdefault((path, event["type"], event["object"]["id"]), at)
            self._changed.notify_all()

    def posts(self, name: str) -> int:
        """Posts to paths that begin with this name."""
        with self._changed:
            return self._posts[name]

    def wait_event(self, path: str, kind: str, media: str, within_s: float) -> float:
        """When this event came, by `time.monotonic`; waits for it."""
        with self._changed:
            if not self._changed.wait_for(lambda: (path, kind, media) in self._events, within_s):
                raise TimeoutError(f"no {kind} of {media} within {within_s:.0f} s")
            return self._events[path, kind, media]


class PeersHandler(LoopbackHandler):
    owner: Peers

    def do_GET(self) -> None:
        content = self.owner.content(self.path)
        if content is None:
            self.send_error(404)
            return
        self.head(len(content), Content_Type="application/octet-stream")
        try:
            self.wfile.write(content)
            self.owner.note_served(self.path)
        except OSError:
            self.close_connection = True  # the media was deleted

    def do_POST(self) -> None:
        at = time.monotonic()
        self.owner.note(self.path, self.body(), at)
        if self.path.startswith("/refusing/"):
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.head(0)


def make_uncopyable(folder: pathlib.Path, name: str, seconds: int, size: str) -> bytes:
    """A video that no player takes as it is, so that its beginning is encoded before its media is ready."""
    file = folder / name
    command = f"ffmpeg -hide_banner -loglevel error -nostdin -y -f lavfi -i testsrc2=s={size}:r=30:d={seconds}"
    command += " -c:v mpeg2video -q:v 4 -g 60 -pix_fmt yuv420p"
    subprocess.run([*command.split(), file], check=True)
    return file.read_bytes()
