"""Direct uploads: many that take for ever, each of which sends a little now and then, and one as a client sends it that does not give up."""

import collections.abc
import http.client
import itertools
import socket
import threading
import time
import urllib.parse

from site_of_servers import Site

# Twice as fast as a server must suffer it (64 KiB a minute), in pieces of a line that sends as it can.
PIECE_BYTES = 2 << 10
PIECE_EVERY_S = 1.0
# What the client says its file has: more than it sends in an hour.
ANNOUNCED_BYTES = 64 << 20
TUS = {"Tus-Resumable": "1.0.0"}
# The offset has moved, or the server was busy: it said 423 to a request of tus.
HELD = {409, 423}
# Longer than many large files are read one after the other.
BUSY_WITHIN_S = 300.0


class SlowUploads:
    """One connection for each address, on the processes in turn. Use it as a context manager."""

    def __init__(self, site: Site, addresses: list[str], content: bytes) -> None:
        self._content = content
        self._ends = threading.Event()
        self._lines = []
        self.lost = 0
        """Connections that the server ended."""
        for number, address in enumerate(addresses):
            path = urllib.parse.urlsplit(address).path
            line = socket.create_connection(("127.0.0.1", site.nodes[number % len(site.nodes)].port))
            head = f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {ANNOUNCED_BYTES}\r\n\r\n"
            line.sendall(head.encode())
            line.setblocking(False)
            self._lines.append(line)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "SlowUploads":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        for line in self._lines:
            line.close()

    def open(self) -> int:
        """Connections whose request is still received."""
        return len(self._lines) - self.lost

    def _run(self) -> None:
        at, lines = 0, list(self._lines)
        while not self._ends.is_set():
            began = time.monotonic()
            piece = self._content[at : at + PIECE_BYTES]
            at += len(piece)
            lines = [line for line in lines if is_received(line, piece)]
            self.lost = len(self._lines) - len(lines)
            self._ends.wait(max(0, began + PIECE_EVERY_S - time.monotonic()))


def is_received(line: socket.socket, piece: bytes) -> bool:
    """Sends a piece. `False` when the server has answered, or closed the connection."""
    try:
        line.send(piece)
    except BlockingIOError:
        return True  # the server has not read for a while
    except OSError:
        return False
    try:
        line.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def send(address: str, port: int, content: bytes) -> int:
    """Uploads a whole file in one request, and goes on with the rest as often as the server breaks that off. Answers how often."""
    path, at = urllib.parse.urlsplit(address).path, 0
    until = time.monotonic() + BUSY_WITHIN_S
    for broken in itertools.count():
        resumed = TUS | {"Upload-Offset": str(at), "Content-Type": "application/offset+octet-stream"}
        # The first request is the plain upload of a client that expects no trouble.
        status, _ = ask(port, *(("PATCH", path, content[at:], resumed) if broken else ("PUT", path, content, {})))
        if 200 <= status < 300:
            return broken
        if 400 <= status < 500 and status not in HELD:
            raise RuntimeError(f"an upload was refused at byte {at}: {status}")
        at = offset(path, port)
        if at == len(content):
            return broken
        if time.monotonic() > until:
            raise TimeoutError(f"an upload has come to byte {at} after {BUSY_WITHIN_S:.0f} s, and was broken off {broken + 1} times")


def offset(path: str, port: int) -> int:
    """How many bytes the server has. Waits as long as it is busy."""
    until = time.monotonic() + BUSY_WITHIN_S
    while time.monotonic() < until:
        status, headers = ask(port, "HEAD", path, None, TUS)
        if status == 200:
            return int(headers["Upload-Offset"])
        time.sleep(float(headers.get("Retry-After", PIECE_EVERY_S)))
    raise TimeoutError(f"an upload cannot be asked for: {status}")


def ask(port: int, method: str, path: str, body: bytes | None, headers: dict) -> tuple[int, collections.abc.Mapping]:
    """Status and headers of an answer; status 0 where the server closed the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BUSY_WITHIN_S)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()
