"""A Kinora server under measurement, and what is asked of it."""

import base64
import http.client
import json
import os
import pathlib
import subprocess
import urllib.parse
from typing import Self

from bench import Ground
from loopback import free_port, wait_for_port
from machine import pinned

READY_WITHIN_S = 30
STOP_WITHIN_S = 30


class Kinora:
    """`kinora serve` on a database and objects of its own, with its ordinary settings but for access to the loopback.

    `cpu` pins it to one processor, which also gives it one worker thread; `roles` are what it does, everything unless
    told otherwise. Use it as a context manager.
    """

    def __init__(self, ground: Ground, name: str, cpu: int | None = None, roles: str = "all") -> None:
        self.binary, self.folder = ground.kinora, ground.folder / name
        self.port = free_port()
        self.folder.mkdir(parents=True)
        self.environment = os.environ | ground.place.make(self.folder / "data")
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
        self.command("webhook", "create", "--workspace", "Development", "--url", url)

    def create_media(self, url: str, **wishes: object) -> dict:
        """Asks for a media to be taken in, with further fields of the request, and answers its `data` as it was told."""
        body = {"inputs": [{"type": "video", "url": url}], "accessPolicy": "public", **wishes}
        return self._json("POST", "/on-demand", body)["data"]

    def create_upload(self) -> dict:
        """Makes a direct upload and answers its `data` as it was told."""
        return self._json("POST", "/on-demand/upload", {"corsOrigin": "*"})["data"]

    def media(self, media: str, beneath: str = "") -> dict:
        """The `data` of a media as its owner reads it, or of what lies beneath it, such as `/input-info`."""
        return json.loads(self.get(f"/v1/on-demand/{media}{beneath}"))["data"]

    def create_playback(self, media: str, **wishes: object) -> str:
        """Makes a playback ID of a media and answers it."""
        return self._json("POST", f"/on-demand/{media}/playback-ids", wishes)["data"]["id"]

    def create_signing_key(self) -> dict:
        """Makes a signing key and answers its `data`, the private half in it."""
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

    def processor_us(self) -> float:
        """Microseconds of processor time that the process has used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")

    def memory_kib(self, field: str) -> int:
        """A line of `/proc/PID/status`: `VmRSS`, resident now, or `VmHWM`, the most that it was."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field + ":"))

    def command(self, *arguments: object) -> dict:
        """What a command of the server's own binary tells of itself."""
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
            answer = connection.getresponse()
            read = answer.read()
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {read[:500]!r}")
        return read

    def _wait_ready(self) -> None:
        wait_for_port(self.port, self.process, READY_WITHIN_S)
