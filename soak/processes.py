"""Processes of every role on one database and one bucket, which tests kill and restart."""

import base64
import dataclasses
import json
import os
import pathlib
import secrets
import subprocess

from loopback import free_port, wait_for_port

ROLES = ("api", "delivery", "worker")
PER_ROLE = 2
LISTEN_TIMEOUT_S = 60


@dataclasses.dataclass
class Node:
    """A role and a port, and its current process."""

    role: str
    port: int
    log: pathlib.Path
    process: subprocess.Popen | None = None
    kills: int = 0

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"


class Processes:
    """Two processes of each role. Use it as a context manager."""

    def __init__(self, kinora: pathlib.Path, folder: pathlib.Path, database_url: str, storage_url: str) -> None:
        self._kinora, self._folder = kinora, folder
        self.nodes = [
            Node(role, free_port(), folder / f"{role}-{number}.log") for role in ROLES for number in range(PER_ROLE)
        ]
        self._environment = os.environ | {
            "KINORA_DATABASE_URL": database_url,
            "KINORA_STORAGE_URL": storage_url,
            "KINORA_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "KINORA_PUBLIC_URL": self.of("api")[0].base,
            "KINORA_STREAM_URL": self.of("delivery")[0].base,
            "KINORA_IMAGES_URL": self.of("delivery")[0].base,
            "KINORA_ALLOW_PRIVATE": "127.0.0.0/8",
        }

    def __enter__(self) -> "Processes":
        for node in self.nodes:
            self.start(node)
        for node in self.nodes:
            wait_until_listening(node)
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            if node.process:
                node.process.terminate()
        for node in self.nodes:
            if node.process:
                node.process.wait(60)

    def of(self, role: str) -> list[Node]:
        """The nodes of one role."""
        return [node for node in self.nodes if node.role == role]

    def start(self, node: Node) -> None:
        """Starts a process; does not wait until it listens."""
        command = [self._kinora, "serve", "--role", node.role, "--listen", f"127.0.0.1:{node.port}"]
        with node.log.open("ab") as log:
            node.process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment, cwd=self._folder)

    def kill(self, node: Node) -> None:
        """Sends SIGKILL and restarts at once."""
        node.process.kill()
        node.process.wait()
        node.kills += 1
        self.start(node)

    def command(self, *arguments: str) -> dict:
        """Runs a command beside the processes and returns its JSON."""
        run = subprocess.run(
            [self._kinora, *arguments, "--json"],
            capture_output=True,
            env=self._environment,
            cwd=self._folder,
            text=True,
        )
        if run.returncode != 0:
            raise RuntimeError(f"kinora {' '.join(arguments)} ended with {run.returncode}: {run.stderr}")
        return json.loads(run.stdout)


def wait_until_listening(node: Node) -> None:
    try:
        wait_for_port(node.port, node.process, LISTEN_TIMEOUT_S)
    except RuntimeError:
        raise RuntimeError(f"{node.role} ended; its log:\n{node.log.read_text()[-3000:]}") from None
