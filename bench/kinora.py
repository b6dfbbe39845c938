"""A Kinora server under measurement, and what is asked of it."""

import base64
import http.client
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.parse
from typing import Self

from bench import Bench
from machine import pinned

READY_WITHIN_S = 30
STOP_WITHIN_S = 30


class Kinora:
    """`kinora serve` on a database and objects of its own, with its ordinary settings but for access to the loopback.

    `cpu` pins it to one processor, which also gives it one worker thread. Use it as a context manager.
    """

    def __init__(self, bench: Bench, name: str, cpu: int | None = None) -> None:
        self.binary, self.folder = bench.kinora, bench.folder / name
        self.port = free_port()
        self.folder.mkdir(parents=True)
        self._environment = os.environ | bench.place.make(self.folder / "data")
        self._log = (self.folder / "log").open("wb")
        command = [
            self.binary,
            "serve",
            "--listen",
            f"127.0.0.1:{self.port}",
            "--allow-private",
            "127.0.0.0/8",
        ]
        self.process = subprocess.Popen(
            pinned(command, cpu), stdout=self._log, stderr=self._log, env=self._environment
        )
        self._authorization = ""

    def __enter__(self) -> Self:
        try:
            self._wait_ready()
            token = self._command("token", "create", "--workspace", "Development", "--permission", "read-write")
        except BaseException:
            self.__exit__()
            raise
        credentials = f"{token['id']}:{token['secret']}".encode()
        self._authorization = "Basic " + base64.b64encode(credentials).decode()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def authorization(self) -> str:
        """The value of the header that lets its requests in."""
        return self._authorization

    def add_webhook(self, url: str) -> None:
        """Tells this address of every event."""
        self._command("webhook", "create", "--workspace", "Development", "--url", url)

    def create_media(self, url: str) -> dict:
        """Asks for a media to be taken in, and answers its `data` as it was told."""
        body = {"inputs": [{"type": "video", "url": url}], "accessPolicy": "public"}
        return self._json("POST", "/on-demand", body)["data"]

    def delete_media(self, media: str) -> None:
        """Deletes a media."""
        self._request("DELETE", f"/on-demand/{media}")

    def get(self, path: str) -> bytes:
        """The body of a 200; anything else raises."""
        return self._request("GET", path)

    def memory_kib(self, field: str) -> int:
        """A line of `/proc/PID/status`: `VmRSS`, resident now, or `VmHWM`, the most that it was."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field + ":"))

    def _command(self, *arguments: str) -> dict:
        command = [self.binary, *arguments, "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, env=self._environment).stdout)

    def _json(self, method: str, path: str, body: dict) -> dict:
        return json.loads(self._request(method, path, json.dumps(body).encode()))

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": self._authorization, "Content-Type": "application/json"}
        try:
            connection.request(method, urllib.parse.urlsplit(path).path, body, headers)
            answer = connection.getresponse()
            read = answer.read()
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {read[:500]!r}")
        return read

    def _wait_ready(self) -> None:
        wait_for_port(self.port, self.process, READY_WITHIN_S)


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
            time.sleep(0.05)
