"""Direct uploads: many slow ones that never end, and one by a client that resumes until it is complete."""

import collections.abc
import http.client
import itertools
import socket
import threading
import time
import urllib.parse

from cluster import Cluster

# Twice the minimum rate that a server accepts (64 KiB a minute).
PIECE_BYTES = 2 << 10
PIECE_EVERY_S = 1.0
# Announced length: more than the client sends in an hour.
ANNOUNCED_BYTES = 64 << 20
TUS = {"Tus-Resumable": "1.0.0"}
# The offset has moved, or the upload is locked: tus responds with 423.
RETRYABLE_STATUSES = {409, 423}
# Longer than the parsing of many large files takes.
BUSY_TIMEOUT_S = 300.0


class SlowUploads:
    """One connection per URL, spread over the processes. Use it as a context manager."""

    def __init__(self, cluster: Cluster, addresses: list[str], content: bytes) -> None:
        self._content = content
        self._stop = threading.Event()
        self._connections = []
        self.lost = 0
        """Connections that the server closed."""
        for number, address in enumerate(addresses):
            path = urllib.parse.urlsplit(address).path
            connection = socket.create_connection(("127.0.0.1", cluster.nodes[number % len(cluster.nodes)].port))
            head = f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {ANNOUNCED_BYTES}\r\n\r\n"
            connection.sendall(head.encode())
            connection.setblocking(False)
            self._connections.append(connection)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "SlowUploads":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for connection in self._connections:
            connection.close()

    def open_connections(self) -> int:
        """Connections whose request the server still receives."""
        return len(self._connections) - self.lost

    def _run(self) -> None:
        at, connections = 0, list(self._connections)
        while not self._stop.is_set():
            started = time.monotonic()
            piece = self._content[at : at + PIECE_BYTES]
            at += len(piece)
            connections = [connection for connection in connections if is_received(connection, piece)]
            self.lost = len(self._connections) - len(connections)
            self._stop.wait(max(0, started + PIECE_EVERY_S - time.monotonic()))


def is_received(connection: socket.socket, piece: bytes) -> bool:
    """Sends a piece. `False` when the server has responded or closed the connection."""
    try:
        connection.send(piece)
    except BlockingIOError:
        return True  # the server has not read for a while
    except OSError:
        return False
    try:
        connection.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def send(address: str, port: int, content: bytes) -> int:
    """Uploads a file in one request and resumes whenever the server closes it.

    Returns the number of resumes.
    """
    path, at = urllib.parse.urlsplit(address).path, 0
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    for resumes in itertools.count():
        resumed = TUS | {"Upload-Offset": str(at), "Content-Type": "application/offset+octet-stream"}
        # The first request is a plain upload.
        status, _ = request(port, *(("PATCH", path, content[at:], resumed) if resumes else ("PUT", path, content, {})))
        if 200 <= status < 300:
            return resumes
        if 400 <= status < 500 and status not in RETRYABLE_STATUSES:
            raise RuntimeError(f"an upload was rejected at byte {at}: {status}")
        at = offset(path, port)
        if at == len(content):
            return resumes
        if time.monotonic() > deadline:
            raise TimeoutError(f"an upload is at byte {at} after {BUSY_TIMEOUT_S:.0f} s, and was closed {resumes + 1} times")


def offset(path: str, port: int) -> int:
    """The offset that the server acknowledges. Waits while it is busy."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while time.monotonic() < deadline:
        status, headers = request(port, "HEAD", path, None, TUS)
        if status == 200:
            return int(headers["Upload-Offset"])
        time.sleep(float(headers.get("Retry-After", PIECE_EVERY_S)))
    raise TimeoutError(f"the offset cannot be read: {status}")


def request(port: int, method: str, path: str, body: bytes | None, headers: dict) -> tuple[int, collections.abc.Mapping]:
    """Status and headers of a response; status 0 when the server closed the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BUSY_TIMEOUT_S)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        return response.status, response.headers
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()
