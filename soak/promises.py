#!/usr/bin/env python3
"""Measures promises of time between two processes that share one PostgreSQL and one S3 store.

    make soak

Prints each promise with its limit and the longest of several measurements. Exit status 0 when all limits held.
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

from loopback import LoopbackHandler, LoopbackServer
from main import make_clip
from site_of_servers import Site
from viewers import RUNG, playlists

# A change that one process makes counts in all after this time.
CHANGE_S = 2.0
# Without its database a server refuses a request instead of keeping it waiting.
REFUSED_S = 10.0
# A server that is told to stop does not wait for an encoder that hangs.
STOPS_S = 5.0
TIMES = 5
LOOK_EVERY_S = 0.01
GIVES_UP_S = 60.0


class Source(LoopbackServer):
    """One clip at every path."""

    def __init__(self, clip: pathlib.Path) -> None:
        self.clip = clip.read_bytes()
        super().__init__(SourceHandler)


class SourceHandler(LoopbackHandler):
    owner: Source

    def do_GET(self) -> None:
        self.head(len(self.owner.clip), Content_Type="video/mp4")
        self.wfile.write(self.owner.clip)


class Line:
    """A TCP proxy that can be cut: connections end, and new ones are closed at once."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._cut = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._cut.set()
        with self._lock:
            for end in self._open:
                end.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def mend(self) -> None:
        self._cut.clear()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._cut.is_set():
                near.close()
                continue
            far = socket.create_connection(self._to)
            with self._lock:
                self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass  # it was cut
        for end in (source, target):
            with self._lock:
                self._open.discard(end)
                end.close()


def status(port: int, path: str, token: dict | None = None) -> int:
    """Of a GET; 0 when the connection broke."""
    headers = {}
    if token:
        credentials = base64.b64encode(f"{token['id']}:{token['secret']}".encode()).decode()
        headers["Authorization"] = f"Basic {credentials}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=GIVES_UP_S)
    try:
        connection.request("GET", path, None, headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def until(look: collections.abc.Callable[[], bool]) -> float:
    """Seconds until it is so."""
    begun = time.monotonic()
    while not look():
        if time.monotonic() - begun > GIVES_UP_S:
            raise TimeoutError(f"not within {GIVES_UP_S} s")
        time.sleep(LOOK_EVERY_S)
    return time.monotonic() - begun


class Promises:
    """Two processes, and what is measured with them. Each method answers seconds."""

    def __init__(self, site: Site, line: Line, source: Source) -> None:
        self.site, self.line, self._source = site, line, source
        self.token = site.command("token", "create", "--workspace", "Development", "--permission", "read-write")
        self.media = self._ready_media()

    def token_is_revoked(self) -> float:
        token = self.site.command("token", "create", "--workspace", "Development", "--permission", "read-only")
        ports = [node.port for node in self.site.nodes]
        until(lambda: all(status(port, "/v1/on-demand", token) == 200 for port in ports))
        self.site.command("token", "revoke", token["id"])
        return until(lambda: all(status(port, "/v1/on-demand", token) == 401 for port in ports))

    def playback_is_deleted(self) -> float:
        path, other = f"/v1/on-demand/{self.media}/playback-ids", self.site.nodes[1].port
        playback = self.site.api(self.token, "POST", path, {"accessPolicy": "public"})["id"]
        until(lambda: status(other, f"/{playback}.m3u8") == 200)
        self.site.api(self.token, "DELETE", f"{path}?playbackId={playback}", None)
        return until(lambda: status(other, f"/{playback}.m3u8") == 404)

    def database_is_away(self) -> float:
        port, longest = self.site.nodes[0].port, 0.0
        self.line.cut()
        for path in ("/v1/on-demand", f"/v1/on-demand/{self.media}", "/readyz"):
            begun = time.monotonic()
            answered = status(port, path, self.token)
            longest = max(longest, time.monotonic() - begun)
            if answered != 503:
                raise RuntimeError(f"{path}: {answered}")
        self.line.mend()
        for node in self.site.nodes:
            until(lambda: status(node.port, "/readyz") == 200)
        return longest

    def server_stops(self) -> float:
        node, media = self.site.nodes[1], self._ready_media()
        playback = self.site.api(self.token, "GET", f"/v1/on-demand/{media}", None)["playbackIds"][0]["id"]
        manifest = urllib.request.urlopen(f"{node.base}/{playback}.m3u8").read().decode()
        [rung] = [path for path in playlists(manifest) if RUNG in path]
        segment = rung.replace("playlist.m3u8", "0.m4s")
        # The viewer leaves, for a server that stops lets requests end. What was begun for it goes on, but hangs.
        with socket.create_connection(("127.0.0.1", node.port)) as viewer:
            viewer.sendall(f"GET {segment} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            until(lambda: bool(children(node.process.pid)))
            for child in children(node.process.pid):
                os.kill(child, signal.SIGSTOP)
        begun = time.monotonic()
        node.process.terminate()
        node.process.wait(GIVES_UP_S)
        took = time.monotonic() - begun
        self.site.start(node)
        return took

    def _ready_media(self) -> str:
        created = {"inputs": [{"type": "video", "url": f"{self._source.base}/clip.mp4"}], "accessPolicy": "public"}
        media = self.site.api(self.token, "POST", "/v1/on-demand", created)["id"]
        self.site.wait_ready(self.token, media)
        return media


def children(pid: int) -> list[int]:
    """The processes that it started and that run."""
    run = subprocess.run(["pgrep", "--parent", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in run.stdout.split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    has_failed = False
    with tempfile.TemporaryDirectory(prefix="kinora-promises-") as name:
        folder = pathlib.Path(name)
        database = urllib.parse.urlsplit(os.environ["KINORA_TEST_DATABASE_URL"])
        line = Line(database.hostname, database.port)
        address = database.netloc.replace(f"{database.hostname}:{database.port}", f"127.0.0.1:{line.port}")
        site = Site.of_two(
            pathlib.Path(os.environ["KINORA"]).resolve(), folder / "site", database._replace(netloc=address).geturl()
        )
        with site:
            promises = Promises(site, line, Source(make_clip(folder)))
            for told, measure, limit in (
                ("a revoked token is refused by every process", promises.token_is_revoked, CHANGE_S),
                ("a deleted playback ID is unknown to every process", promises.playback_is_deleted, CHANGE_S),
                ("without its database a server answers 503", promises.database_is_away, REFUSED_S),
                ("a server stops although its encoder hangs", promises.server_stops, STOPS_S),
            ):
                longest = max(measure() for _ in range(TIMES))
                has_failed |= longest > limit
                print(f"{'LATE' if longest > limit else 'kept':5} {told}: {longest:.2f} s, limit {limit:.0f} s", flush=True)
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
