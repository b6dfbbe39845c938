"""Servers on one database and one object store for kill and restart tests: one on a folder, or two on S3."""

import base64
import collections
import hashlib
import http.client
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import time
from typing import Self

import s3_bucket
from loopback import free_port
from processes import Node, wait_until_listening

READY_TIMEOUT_S = 60.0


class Cluster:
    """Use it as a context manager. The folder stays until `remove`; the bucket stays."""

    def __init__(self, name: str, kinora: pathlib.Path, folder: pathlib.Path, nodes: int, settings: dict[str, str]) -> None:
        self.name, self._kinora, self.folder, self._settings = name, kinora, folder, settings
        folder.mkdir()
        temporary = folder / "tmp"
        temporary.mkdir()
        self.nodes = [Node("all", free_port(), folder / f"{number}.log") for number in range(nodes)]
        self.kills = 0
        self._environment = os.environ | settings | {
            "KINORA_PUBLIC_URL": self.nodes[0].base,
            "KINORA_ALLOW_PRIVATE": "127.0.0.0/8",
            "TMPDIR": str(temporary),
        }

    @classmethod
    def single_server(cls, kinora: pathlib.Path, folder: pathlib.Path) -> Self:
        return cls("SQLite and a folder", kinora, folder, 1, {"KINORA_DATA_DIR": str(folder / "data")})

    @classmethod
    def two_servers(cls, kinora: pathlib.Path, folder: pathlib.Path, database_url: str | None = None) -> Self:
        settings = {
            "KINORA_DATA_DIR": str(folder / "data"),
            "KINORA_DATABASE_URL": database_url or os.environ["KINORA_TEST_DATABASE_URL"],
            "KINORA_STORAGE_URL": os.environ["KINORA_TEST_STORAGE_URL"],
            "KINORA_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
        }
        return cls("PostgreSQL and S3, two processes", kinora, folder, 2, settings)

    def __enter__(self) -> Self:
        for node in self.nodes:
            self.start(node)  # the first one creates the schema
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.process.terminate()
        for node in self.nodes:
            node.process.wait(60)

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    def kill(self, node: Node) -> None:
        """Sends SIGKILL and restarts at once; does not wait until it listens."""
        node.process.kill()
        node.process.wait()
        self.kills += 1
        self._start(node)

    def start(self, node: Node) -> None:
        """Starts a process and waits until it listens."""
        self._start(node)
        wait_until_listening(node)

    def _start(self, node: Node) -> None:
        command = [self._kinora, "serve", "--listen", f"127.0.0.1:{node.port}"]
        with node.log.open("ab") as log:
            node.process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment, cwd=self.folder)

    def command(self, *arguments: str) -> dict:
        """Runs a command beside the servers and returns its JSON."""
        command = [self._kinora, *arguments, "--json"]
        run = subprocess.run(command, capture_output=True, env=self._environment, cwd=self.folder, text=True, check=True)
        return json.loads(run.stdout)

    def api(self, token: dict, method: str, path: str, body: dict | None) -> dict | list | None:
        """The `data` of a response, if it has any."""
        connection = http.client.HTTPConnection("127.0.0.1", self.nodes[0].port, timeout=60)
        credentials = base64.b64encode(f"{token['id']}:{token['secret']}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        read = response.read()
        connection.close()
        if not 200 <= response.status < 300:
            raise RuntimeError(f"{method} {path}: {response.status} {read[:300]!r}")
        return json.loads(read).get("data")

    def wait_ready(self, token: dict, media: str) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while (status := self.api(token, "GET", f"/v1/on-demand/{media}", None)["status"]) != "Ready":
            if time.monotonic() > deadline:
                raise RuntimeError(f"the media is {status}")
            time.sleep(0.1)

    def source_sha256(self) -> str:
        """SHA-256 of the only stored source."""
        storage = self._settings.get("KINORA_STORAGE_URL")
        digest = hashlib.sha256()
        if storage:
            for piece in s3_bucket.read_single_object(storage, "source/"):
                digest.update(piece)
        else:
            [only] = [path for path in (self.folder / "data/objects/source").rglob("*") if path.is_file()]
            with only.open("rb") as opened:
                return hashlib.file_digest(opened, "sha256").hexdigest()
        return digest.hexdigest()

    @property
    def is_folder(self) -> bool:
        """Whether its objects are files below its folder."""
        return "KINORA_STORAGE_URL" not in self._settings

    def bytes_by_kind(self) -> collections.Counter[str]:
        """Bytes of the stored objects by kind, such as `source`."""
        if storage := self._settings.get("KINORA_STORAGE_URL"):
            return s3_bucket.bytes_by_kind(storage)
        objects = self.folder / "data/objects"
        kinds: collections.Counter[str] = collections.Counter()
        for path in objects.rglob("*"):
            if path.is_file():
                kinds[path.relative_to(objects).parts[0]] += path.stat().st_size
        return kinds

    def logs(self) -> str:
        return "\n".join(node.log.read_text()[-3000:] for node in self.nodes)
