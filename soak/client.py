"""A client as a careful one is written: it takes the next node when one is away, and does what `Retry-After` says."""

import base64
import http.client
import itertools
import json
import threading
import time
from collections.abc import Sequence

from fleet import Node

# As long as a client goes on to try before it calls it an error.
GIVES_UP_AFTER_S = 60.0
# Where an answer says nothing, and where no answer came.
PAUSE_S = 0.2
ANSWER_WITHIN_S = 30.0


class ClientError(Exception):
    """A request that trying again did not cure."""


class Client:
    """Asks the nodes of one role in turn. May be used by many threads."""

    def __init__(self, nodes: Sequence[Node], token: dict | None = None) -> None:
        self._nodes = nodes
        self._turn = itertools.count()
        self._headers = {"Content-Type": "application/json"}
        if token:
            credentials = base64.b64encode(f"{token['id']}:{token['secret']}".encode()).decode()
            self._headers["Authorization"] = f"Basic {credentials}"
        self._lock = threading.Lock()
        self.retries = 0
        """Answers of 5xx or 429, and connections that broke."""

    def json(self, method: str, path: str, body: dict | None = None) -> dict:
        """The JSON of a 2xx."""
        return json.loads(self.bytes(method, path, body))

    def bytes(self, method: str, path: str, body: dict | None = None) -> bytes:
        """The body of a 2xx. Raises `ClientError` for a refusal, or when nothing better came in time."""
        until = time.monotonic() + GIVES_UP_AFTER_S
        said = ""
        while time.monotonic() < until:
            node = self._nodes[next(self._turn) % len(self._nodes)]
            try:
                status, wait_s, read = ask(node, method, path, body, self._headers)
            except (OSError, http.client.HTTPException) as error:
                status, wait_s, read = 0, PAUSE_S, repr(error).encode()
            if 200 <= status < 300:
                return read
            said = f"{method} {path} on {node.role}:{node.port}: {status} {read[:300]!r}"
            if 0 < status < 500 and status != 429:
                break
            with self._lock:
                self.retries += 1
            time.sleep(wait_s)
        raise ClientError(said)


def ask(node: Node, method: str, path: str, body: dict | None, headers: dict) -> tuple[int, float, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        read = answer.read()
        return answer.status, float(answer.headers.get("Retry-After", PAUSE_S)), read
    finally:
        connection.close()
