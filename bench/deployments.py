"""Where a server under measurement stores its rows and objects."""

import base64
import dataclasses
import os
import pathlib
import secrets
import subprocess
import urllib.parse
from collections.abc import Mapping
from typing import Protocol


class Deployment(Protocol):
    """Creates an empty database and object store for each server."""

    name: str
    """Name in the table."""

    def create(self, folder: pathlib.Path) -> Mapping[str, str]:
        """Creates one and returns the settings of its server; `folder` is the data folder."""


@dataclasses.dataclass(frozen=True)
class OneMachine:
    """SQLite and a folder."""

    name: str = "SQLite and a folder"

    def create(self, folder: pathlib.Path) -> Mapping[str, str]:
        return {"KINORA_DATA_DIR": str(folder)}


@dataclasses.dataclass(frozen=True)
class ManyMachines:
    """PostgreSQL and S3 of `cargo xtask servers --durable`. One bucket; each server has a prefix."""

    name: str = "PostgreSQL and S3"

    def create(self, folder: pathlib.Path) -> Mapping[str, str]:
        server, storage = os.environ["KINORA_TEST_DATABASE_URL"], os.environ["KINORA_TEST_STORAGE_URL"]
        unique = f"bench_{secrets.token_hex(6)}"
        subprocess.run(["psql", "--quiet", server, "--command", f"CREATE DATABASE {unique}"], check=True)
        bucket, _, query = storage.partition("?")
        return {
            "KINORA_DATA_DIR": str(folder),
            "KINORA_DATABASE_URL": urllib.parse.urlsplit(server)._replace(path=f"/{unique}").geturl(),
            "KINORA_STORAGE_URL": f"{bucket}/{unique}?{query}",
            "KINORA_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
        }


DEPLOYMENTS: dict[str, Deployment] = {"sqlite": OneMachine(), "postgres": ManyMachines()}
"""By the values of `--deployment`."""
