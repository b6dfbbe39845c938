"""Servers of one database and one store of objects, to be killed and started again: one on a folder, or two that share."""

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

import bucket
from fleet import Node, wait_until_it_listens
from loopback import free_port

READY_WITHIN_S = 60.0


class Site:
    """Use it as a context manager. Folder and bucket stay until `remove`."""

    def __init__(self, name: str, kinora: pathlib.Path, folder: pathlib.Path, nodes: int, places: dict[str, str]) -> None:
        self.name, self._kinora, self.folder, self._places = name, kinora, folder, places
        folder.mkdir()
        temporary = folder / "tmp"
        temporary.mkdir()
        self.nodes = [Node("all", free_port(), folder / f"{number}.log") for number in range(nodes)]
        self.kills = 0
        self._environment = os.environ | places | {
            "KINORA_PUBLIC_URL": self.nodes[0].base,
            "KINORA_ALLOW_PRIVATE": "127.0.0.0/8",
            "TMPDIR": str(temporary),
        }

    @classmethod
    def of_one(cls, kinora: pathlib.Path, folder: pathlib.Path) -> Self:
        return cls("SQLite and a folder", kinora, folder, 1, {"KINORA_DATA_DIR": str(folder / "data")})

    @classmethod
    def of_two(cls, kinora: pathlib.Path, folder: pathlib.Path, database_url: str | None = None) -> Self:
        places = {
            "KINORA_DATA_DIR": str(folder / "data"),
            "KINORA_DATABASE_URL": database_url or os.environ["KINORA_TEST_DATABASE_URL"],
            "KINORA_STORAGE_URL": os.environ["KINORA_TEST_STORAGE_URL"],
            "KINORA_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
        }
        return cls("PostgreSQL and S3, two processes", kinora, folder, 2, places)

    def __enter__(self) -> Self:
        for node in self.nodes:
            self.start(node)  # the first one makes the schema
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.process.terminate()
        for node in self.nodes:
            node.process.wait(60)

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    def kill(self, node: Node) -> None:
        """SIGKILL, and the next process at once; does not wait for it."""
        node.process.kill()
        node.process.wait()
        self.kills += 1
        self._start(node)

    def start(self, node: Node) -> None:
        """Starts a process and waits until it listens."""
        self._start(node)
        wait_until_it_listens(node)

    def _start(self, node: Node) -> None:
        command = [self._kinora, "serve", "--listen", f"127.0.0.1:{node.port}"]
        with node.log.open("ab") as log:
            node.process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment, cwd=self.folder)

    def command(self, *arguments: str) -> dict:
        """Runs a command beside the servers and answers what it printed."""
        command = [self._kinora, *arguments, "--json"]
        run = subprocess.run(command, capture_output=True, env=self._environment, cwd=self.folder, text=True, check=True)
        return json.loads(run.stdout)

    def api(self, token: dict, method: str, path: str, body: dict | None) -> dict | list | None:
        """The `data` of an answer, if it has any."""
        connection = http.client.HTTPConnection("127.0.0.1", self.nodes[0].port, timeout=60)
        credentials = base64.b64encode(f"{token['id']}:{token['secret']}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:300]!r}")
        return json.loads(read).get("data")

    def wait_ready(self, token: dict, media: str) -> None:
        until = time.monotonic() + READY_WITHIN_S
        while (status := self.api(token, "GET", f"/v1/on-demand/{media}", None)["status"]) != "Ready":
            if time.monotonic() > until:
                raise RuntimeError(f"the media is {status}")
            time.sleep(0.1)

    def kept_sha256(self) -> str:
        """Of the one source that is kept."""
        storage = self._places.get("KINORA_STORAGE_URL")
        digest = hashlib.sha256()
        if storage:
            for piece in bucket.read_only_below(storage, "source/"):
                digest.update(piece)
        else:
            [only] = [path for path in (self.folder / "data/objects/source").rglob("*") if path.is_file()]
            with only.open("rb") as opened:
                return hashlib.file_digest(opened, "sha256").hexdigest()
        return digest.hexdigest()

    @property
    def is_folder(self) -> bool:
        """Whether its objects are files below its folder."""
        return "KINORA_STORAGE_URL" not in self._places

    def bytes_of_kinds(self) -> collections.Counter[str]:
        """Bytes of the objects that are kept, by their kind, such as `source`."""
        if storage := self._places.get("KINORA_STORAGE_URL"):
            return bucket.bytes_of_kinds(storage)
        objects = self.folder / "data/objects"
        kinds: collections.Counter[str] = collections.Counter()
        for path in objects.rglob("*"):
            if path.is_file():
                kinds[path.relative_to(objects).parts[0]] += path.stat().st_size
        return kinds

    def logs(self) -> str:
        return "\n".join(node.log.read_text()[-3000:] for node in self.nodes)
