#!/usr/bin/env python3
"""Measures time limits of two processes that share one PostgreSQL and one S3 store.

    make soak

Prints each limit and the longest of several measurements. Exit status 0 when no limit is exceeded.
"""

import argparse
import base64
import collections.abc
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from cluster import Cluster
from loopback import LoopbackHandler, LoopbackServer
from main import make_clip
from viewers import RUNG, playlists

# A change in one process applies in all processes within this time.
CHANGE_MAX_S = 2.0
# Without its database a server responds with 503 within this time.
UNAVAILABLE_MAX_S = 10.0
# A server that receives SIGTERM does not wait for an encoder that hangs.
STOP_MAX_S = 5.0
TIMES = 5
POLL_INTERVAL_S = 0.01
HANG_TIMEOUT_S = 60.0


class Source(LoopbackServer):
    """Serves one clip at every path."""

    def __init__(self, clip: pathlib.Path) -> None:
        self.clip = clip.read_bytes()
        super().__init__(SourceHandler)


class SourceHandler(LoopbackHandler):
    owner: Source

    def do_GET(self) -> None:
        self.head(len(self.owner.clip), Content_Type="video/mp4")
        self.wfile.write(self.owner.clip)


class TcpProxy:
    """A TCP proxy that can disconnect: it closes all connections, and new ones at once."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._is_disconnected = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def disconnect(self) -> None:
        self._is_disconnected.set()
        with self._lock:
            for end in self._open:
                end.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def reconnect(self) -> None:
        self._is_disconnected.clear()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self._is_disconnected.is_set():
                client.close()
                continue
            server = socket.create_connection(self._to)
            with self._lock:
                self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass  # disconnected
        for end in (source, target):
            with self._lock:
                self._open.discard(end)
                end.close()


def status(port: int, path: str, token: dict | None = None) -> int:
    """The status of a GET; 0 when the connection fails."""
    headers = {}
    if token:
        credentials = base64.b64encode(f"{token['id']}:{token['secret']}".encode()).decode()
        headers["Authorization"] = f"Basic {credentials}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_TIMEOUT_S)
    try:
        connection.request("GET", path, None, headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def wait_until(condition: collections.abc.Callable[[], bool]) -> float:
    """Seconds until the condition holds."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > HANG_TIMEOUT_S:
            raise TimeoutError(f"not within {HANG_TIMEOUT_S} s")
        time.sleep(POLL_INTERVAL_S)
    return time.monotonic() - started


class TimeLimits:
    """Measurements on two processes. Each method returns seconds."""

    def __init__(self, cluster: Cluster, proxy: TcpProxy, source: Source) -> None:
        self.cluster, self.proxy, self._source = cluster, proxy, source
        self.token = cluster.command("token", "create", "--workspace", "Development", "--permission", "read-write")
        self.media = self._ready_media()

    def token_revocation(self) -> float:
        token = self.cluster.command("token", "create", "--workspace", "Development", "--permission", "read-only")
        ports = [node.port for node in self.cluster.nodes]
        wait_until(lambda: all(status(port, "/v1/on-demand", token) == 200 for port in ports))
        self.cluster.command("token", "revoke", token["id"])
        return wait_until(lambda: all(status(port, "/v1/on-demand", token) == 401 for port in ports))

    def playback_id_deletion(self) -> float:
        path, other = f"/v1/on-demand/{self.media}/playback-ids", self.cluster.nodes[1].port
        playback = self.cluster.api(self.token, "POST", path, {"accessPolicy": "public"})["id"]
        wait_until(lambda: status(other, f"/{playback}.m3u8") == 200)
        self.cluster.api(self.token, "DELETE", f"{path}?playbackId={playback}", None)
        return wait_until(lambda: status(other, f"/{playback}.m3u8") == 404)

    def unavailable_database(self) -> float:
        port, longest = self.cluster.nodes[0].port, 0.0
        self.proxy.disconnect()
        for path in ("/v1/on-demand", f"/v1/on-demand/{self.media}", "/readyz"):
            started = time.monotonic()
            response_status = status(port, path, self.token)
            longest = max(longest, time.monotonic() - started)
            if response_status != 503:
                raise RuntimeError(f"{path}: {response_status}")
        self.proxy.reconnect()
        for node in self.cluster.nodes:
            wait_until(lambda: status(node.port, "/readyz") == 200)
        return longest

    def server_shutdown(self) -> float:
        node, media = self.cluster.nodes[1], self._ready_media()
        playback = self.cluster.api(self.token, "GET", f"/v1/on-demand/{media}", None)["playbackIds"][0]["id"]
        manifest = urllib.request.urlopen(f"{node.base}/{playback}.m3u8").read().decode()
        [rung] = [path for path in playlists(manifest) if RUNG in path]
        segment = rung.replace("playlist.m3u8", "0.m4s")
        # The viewer disconnects, because a server that stops finishes its requests. The encoder continues,
        # but hangs.
        with socket.create_connection(("127.0.0.1", node.port)) as viewer:
            viewer.sendall(f"GET {segment} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            wait_until(lambda: bool(children(node.process.pid)))
            for child in children(node.process.pid):
                os.kill(child, signal.SIGSTOP)
        started = time.monotonic()
        node.process.terminate()
        node.process.wait(HANG_TIMEOUT_S)
        took = time.monotonic() - started
        self.cluster.start(node)
        return took

    def _ready_media(self) -> str:
        created = {"inputs": [{"type": "video", "url": f"{self._source.base}/clip.mp4"}], "accessPolicy": "public"}
        media = self.cluster.api(self.token, "POST", "/v1/on-demand", created)["id"]
        self.cluster.wait_ready(self.token, media)
        return media


def children(pid: int) -> list[int]:
    """Its running child processes."""
    run = subprocess.run(["pgrep", "--parent", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in run.stdout.split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    has_failed = False
    with tempfile.TemporaryDirectory(prefix="kinora-time-limits-") as path:
        folder = pathlib.Path(path)
        database = urllib.parse.urlsplit(os.environ["KINORA_TEST_DATABASE_URL"])
        proxy = TcpProxy(database.hostname, database.port)
        address = database.netloc.replace(f"{database.hostname}:{database.port}", f"127.0.0.1:{proxy.port}")
        cluster = Cluster.two_servers(
            pathlib.Path(os.environ["KINORA"]).resolve(), folder / "cluster", database._replace(netloc=address).geturl()
        )
        with cluster:
            limits = TimeLimits(cluster, proxy, Source(make_clip(folder)))
            for name, measure, limit in (
                ("every process rejects a revoked token", limits.token_revocation, CHANGE_MAX_S),
                ("every process responds with 404 for a deleted playback ID", limits.playback_id_deletion, CHANGE_MAX_S),
                ("a server without its database responds with 503", limits.unavailable_database, UNAVAILABLE_MAX_S),
                ("a server stops although its encoder hangs", limits.server_shutdown, STOP_MAX_S),
            ):
                longest = max(measure() for _ in range(TIMES))
                has_failed |= longest > limit
                print(f"{'LATE' if longest > limit else 'ok':4} {name}: {longest:.2f} s, limit {limit:.0f} s", flush=True)
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
