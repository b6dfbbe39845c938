"""Servers on the loopback: free ports, and the small HTTP server under sources and receivers."""

import http.server
import socket
import subprocess
import threading
import time

POLL_INTERVAL_S = 0.05


class LoopbackServer:
    """Listens on its own port once constructed, with a thread per connection."""

    def __init__(self, handler: type["LoopbackHandler"]) -> None:
        owned = type(handler.__name__, (handler,), {"owner": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), owned)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()


class LoopbackHandler(http.server.BaseHTTPRequestHandler):
    """Base of the handlers of such a server. Logs nothing."""

    owner: LoopbackServer
    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        """The bytes of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def head(self, length: int, **headers: str) -> None:
        """Starts a 200 whose body has this length. Underscores in names become hyphens."""
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def free_port() -> int:
    """A free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port: int, process: subprocess.Popen, timeout_s: float) -> None:
    """Returns once a connection is accepted. Raises when the process ends first, or on timeout."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args} ended with {process.returncode}") from None
            if time.monotonic() > deadline:
                raise TimeoutError(f"{process.args} does not listen after {timeout_s} s") from None
            time.sleep(POLL_INTERVAL_S)
