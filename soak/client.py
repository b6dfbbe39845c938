"""A robust client: it uses the next node when one is down, and obeys `Retry-After`."""

import base64
import http.client
import itertools
import json
import threading
import time
from collections.abc import Sequence

from processes import Node

# How long a client retries before it raises.
RETRY_TIMEOUT_S = 60.0
# Delay without `Retry-After`, and without a response.
PAUSE_S = 0.2
RESPONSE_TIMEOUT_S = 30.0


class ClientError(Exception):
    """A request that failed after all retries."""


class Client:
    """Sends requests to the nodes of one role, round robin. Thread-safe."""

    def __init__(self, nodes: Sequence[Node], token: dict | None = None) -> None:
        self._nodes = nodes
        self._request_numbers = itertools.count()
        self._headers = {"Content-Type": "application/json"}
        if token:
            credentials = base64.b64encode(f"{token['id']}:{token['secret']}".encode()).decode()
            self._headers["Authorization"] = f"Basic {credentials}"
        self._lock = threading.Lock()
        self.retries = 0
        """Responses with 5xx or 429, and failed connections."""

    def json(self, method: str, path: str, body: dict | None = None) -> dict:
        """The JSON of a 2xx."""
        return json.loads(self.bytes(method, path, body))

    def bytes(self, method: str, path: str, body: dict | None = None) -> bytes:
        """The body of a 2xx. Raises `ClientError` for another 4xx, and when the retries time out."""
        deadline = time.monotonic() + RETRY_TIMEOUT_S
        problem = ""
        while time.monotonic() < deadline:
            node = self._nodes[next(self._request_numbers) % len(self._nodes)]
            try:
                status, wait_s, read = request(node, method, path, body, self._headers)
            except (OSError, http.client.HTTPException) as error:
                status, wait_s, read = 0, PAUSE_S, repr(error).encode()
            if 200 <= status < 300:
                return read
            problem = f"{method} {path} on {node.role}:{node.port}: {status} {read[:300]!r}"
            if 0 < status < 500 and status != 429:
                break
            with self._lock:
                self.retries += 1
            time.sleep(wait_s)
        raise ClientError(problem)


def request(node: Node, method: str, path: str, body: dict | None, headers: dict) -> tuple[int, float, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=RESPONSE_TIMEOUT_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        response = connection.getresponse()
        read = response.read()
        return response.status, float(response.headers.get("Retry-After", PAUSE_S)), read
    finally:
        connection.close()
