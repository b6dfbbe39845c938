"""Servers on the loopback: ports to listen on, and the small HTTP server that sources and receivers are built on."""

import http.server
import socket
import subprocess
import threading
import time

LOOK_AGAIN_S = 0.05


class LoopbackServer:
    """Answers on a port of its own from the moment it is made, a thread for each connection."""

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
        """Stops to listen."""
        self._server.shutdown()
        self._server.server_close()


class LoopbackHandler(http.server.BaseHTTPRequestHandler):
    """What the handlers of such a server have in common. Says nothing on the terminal."""

    owner: LoopbackServer
    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        """The bytes of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def head(self, length: int, **headers: str) -> None:
        """Begins a 200 whose body has this length. Underscores in names stand for hyphens."""
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: who asked for what is of no interest here."""


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port: int, process: subprocess.Popen, within_s: float) -> None:
    """Returns once a connection is accepted. Raises when the process ends before, or the time is up."""
    until = time.monotonic() + within_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args} ended with {process.returncode}") from None
            if time.monotonic() > until:
                raise TimeoutError(f"{process.args} does not listen after {within_s} s") from None
            time.sleep(LOOK_AGAIN_S)
