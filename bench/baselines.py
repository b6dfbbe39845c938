"""Baseline servers: nginx with files, and a bare handler that sends fixed bytes."""

import os
import pathlib
import subprocess
from typing import Self

import machine
from loopback import free_port, wait_for_port

START_TIMEOUT_S = 10
STOP_TIMEOUT_S = 10


class Baseline:
    """A server, pinned to one CPU. Use it as a context manager."""

    def __init__(self, port: int, command: list[object], cpu: int = machine.SERVER_CPU) -> None:
        self.port = port
        self._command = machine.pinned(command, cpu)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command)
        wait_for_port(self.port, self._process, START_TIMEOUT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(STOP_TIMEOUT_S)

    @property
    def base(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"


# As its manual advises for static files. Like Kinora, it logs a line per request to a file.
NGINX = """
{user}
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=4096;
  keepalive_requests 1000000000;
  types {{ video/mp4 m4s; }}
  server {{
    listen 127.0.0.1:{port};
    root {folder}/files;
    add_header Cache-Control "public, max-age=31536000, immutable";
  }}
}}
"""


def nginx(folder: pathlib.Path) -> Baseline:
    """nginx with one worker, which serves the files in `folder/files`."""
    port = free_port()
    configuration = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # else its worker cannot read below a home folder
    configuration.write_text(NGINX.format(folder=folder.resolve(), port=port, user=user))
    return Baseline(port, ["nginx", "-c", configuration.resolve(), "-e", folder.resolve() / "error.log"])


def bare_handler(binary: pathlib.Path, body: pathlib.Path) -> Baseline:
    """An axum handler that sends the bytes of a file for every GET."""
    port = free_port()
    return Baseline(port, [binary, "answer", f"127.0.0.1:{port}", body])
