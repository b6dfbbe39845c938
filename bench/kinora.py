"""A Kinora server under measurement, and requests to it."""

import base64
import http.client
import json
import os
import pathlib
import subprocess
import urllib.parse
from typing import Self

from bench import BenchContext
from loopback import free_port, wait_for_port
from machine import pinned

READY_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30


class Kinora:
    """`kinora serve` on its own database and objects, with default settings plus access to the loopback.

    `cpu` pins it to one CPU, which also gives it one worker thread; `roles` is its `--role`. Use it as a
    context manager.
    """

    def __init__(self, context: BenchContext, name: str, cpu: int | None = None, roles: str = "all") -> None:
        self.binary, self.folder = context.kinora, context.folder / name
        self.port = free_port()
        self.folder.mkdir(parents=True)
        self.environment = os.environ | context.deployment.create(self.folder / "data")
        self._log = (self.folder / "log").open("wb")
        command = [
            self.binary,
            "serve",
            "--listen",
            f"127.0.0.1:{self.port}",
            "--allow-private",
            "127.0.0.0/8",
            *(("--role", roles) if roles != "all" else ()),
        ]
        self.process = subprocess.Popen(
            pinned(command, cpu), stdout=self._log, stderr=self._log, env=self.environment
        )
        self._authorization = ""

    def __enter__(self) -> Self:
        try:
            self._wait_ready()
            token = self.command("token", "create", "--workspace", "Development", "--permission", "read-write")
        except BaseException:
            self.__exit__()
            raise
        credentials = f"{token['id']}:{token['secret']}".encode()
        self._authorization = "Basic " + base64.b64encode(credentials).decode()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
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
        """The `Authorization` header of its API token."""
        return self._authorization

    def add_webhook(self, url: str) -> None:
        """Creates a webhook for every event."""
        self.command("webhook", "create", "--workspace", "Development", "--url", url)

    def create_media(self, url: str, **fields: object) -> dict:
        """Creates a media, with further request fields, and returns its `data`."""
        body = {"inputs": [{"type": "video", "url": url}], "accessPolicy": "public", **fields}
        return self._json("POST", "/on-demand", body)["data"]

    def create_upload(self) -> dict:
        """Creates a direct upload and returns its `data`."""
        return self._json("POST", "/on-demand/upload", {"corsOrigin": "*"})["data"]

    def media(self, media: str, path: str = "") -> dict:
        """The `data` of a media, or of a path below it such as `/input-info`."""
        return json.loads(self.get(f"/v1/on-demand/{media}{path}"))["data"]

    def create_playback(self, media: str, **fields: object) -> str:
        """Creates a playback ID of a media and returns it."""
        return self._json("POST", f"/on-demand/{media}/playback-ids", fields)["data"]["id"]

    def create_signing_key(self) -> dict:
        """Creates a signing key and returns its `data` with the private key."""
        return self._json("POST", "/iam/signing-keys", {})["data"]

    def signing_key(self, key: str) -> dict:
        """The `data` of a signing key."""
        return json.loads(self.get(f"/v1/iam/signing-keys/{key}"))["data"]

    def delete_media(self, media: str) -> None:
        """Deletes a media."""
        self._request("DELETE", f"/on-demand/{media}")

    def get(self, path: str) -> bytes:
        """The body of a 200; anything else raises."""
        return self._request("GET", path)

    def cpu_us(self) -> float:
        """CPU time of the process in microseconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")

    def memory_kib(self, field: str) -> int:
        """A line of `/proc/PID/status`: `VmRSS` (resident now) or `VmHWM` (peak)."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field + ":"))

    def command(self, *arguments: object) -> dict:
        """Runs a command of the binary and returns its JSON."""
        command = [self.binary, *arguments, "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, env=self.environment).stdout)

    def _json(self, method: str, path: str, body: dict) -> dict:
        return json.loads(self._request(method, path, json.dumps(body).encode()))

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": self._authorization, "Content-Type": "application/json"}
        try:
            split = urllib.parse.urlsplit(path)
            connection.request(method, split._replace(scheme="", netloc="").geturl(), body, headers)
            response = connection.getresponse()
            read = response.read()
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise RuntimeError(f"{method} {path} returned {response.status}: {read[:500]!r}")
        return read

    def _wait_ready(self) -> None:
        wait_for_port(self.port, self.process, READY_TIMEOUT_S)
