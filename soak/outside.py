"""What the fleet talks to: slow sources, and a receiver that remembers which events came."""

import collections
import http.server
import json
import pathlib
import threading
import time

# A source takes about so long: long enough that a killed worker leaves downloads half done.
SOURCE_TAKES_S = 3.0
PIECES = 30


class Outside:
    """Sources and webhook on one port of the loopback, a thread for each connection.

    Every path below `/source/` answers the same clip, piece by piece.
    """

    def __init__(self, clip: pathlib.Path) -> None:
        self.clip = clip.read_bytes()
        self._lock = threading.Lock()
        # (type, media) -> ids of the events that came, each with how often
        self._events: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
        outside = self

        class Handler(OutsideHandler):
            owner = outside

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def note(self, body: bytes) -> None:
        event = json.loads(body)
        with self._lock:
            self._events[event["type"], event["object"]["id"]][event["id"]] += 1

    def ids_of(self, kind: str, media: str) -> dict[str, int]:
        """The ids of the events of this type about this media, and how often each came."""
        with self._lock:
            return dict(self._events.get((kind, media), {}))

    def deliveries(self) -> int:
        """Posts that came."""
        with self._lock:
            return sum(ids.total() for ids in self._events.values())


class OutsideHandler(http.server.BaseHTTPRequestHandler):
    owner: Outside
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        clip = self.owner.clip
        self.send_response(200)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Content-Length", str(len(clip)))
        self.end_headers()
        step = -(-len(clip) // PIECES)
        try:
            for begin in range(0, len(clip), step):
                self.wfile.write(clip[begin : begin + step])
                time.sleep(SOURCE_TAKES_S / PIECES)
        except OSError:
            self.close_connection = True  # the worker was killed

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.owner.note(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: who asked for what is of no interest here."""
