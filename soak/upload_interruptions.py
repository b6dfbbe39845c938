#!/usr/bin/env python3
"""Interrupts an upload repeatedly and checks that no byte, media or event is lost or duplicated.

    make soak [MEGABYTES=2000] [INTERRUPTIONS=50] [RATE=10]

A client sends a file by tus in chunks of 16 MiB, at a steady rate. At random offsets the test closes the
connection or kills the server process, alternately. Each time a new client resumes that knows only the URL.
It runs once on SQLite and a folder, and once with two processes on PostgreSQL and S3 that receive the
requests alternately.

At the end the stored bytes must equal the file. There must be one media and one ready event. Few bytes may
have been sent twice.

Exit status 0 when all of this holds.
"""

import argparse
import hashlib
import http.client
import os
import pathlib
import random
import socket
import sys
import tempfile
import time
import urllib.parse

from cluster import Cluster
from padded_clip import make_padded_clip
from test_servers import TestServers

CHUNK = 16 << 20
PIECE = 64 << 10
# Bytes sent but not acknowledged, as a share of the file.
RESENT_SHARE_MAX = 0.01
RESPONSE_TIMEOUT_S = 60.0
# Time until the next client resumes.
RESUME_DELAY_S = 1.0


class Interruption(Exception):
    """The connection closed, intended or not."""


class TusClient:
    """A tus client that knows only the file and the URL."""

    def __init__(self, port: int, path: str, file: pathlib.Path, rate: float) -> None:
        self.port, self.path, self.file, self.rate = port, path, file, rate
        self.length = file.stat().st_size

    def offset(self) -> int:
        """The offset that the server acknowledges. Waits for a server that is starting."""
        deadline = time.monotonic() + RESPONSE_TIMEOUT_S
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=RESPONSE_TIMEOUT_S)
                connection.request("HEAD", self.path, headers={"Tus-Resumable": "1.0.0"})
                response = connection.getresponse()
                response.read()
                if response.status == 200:
                    return int(response.headers["Upload-Offset"])
                problem = str(response.status)
            except (OSError, http.client.HTTPException) as error:
                problem = repr(error)
            finally:
                connection.close()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the offset cannot be read: {problem}")
            time.sleep(0.05)

    def send(self, at: int, interrupt_at: int | None, kill) -> int:
        """Sends one chunk and returns the new offset. Raises `Interruption` with the bytes sent when the
        connection closes.

        At `interrupt_at` it closes the connection, or calls `kill` to end the server.
        """
        end = min(at + CHUNK, self.length)
        sent = at
        with self.file.open("rb") as file, socket.create_connection(("127.0.0.1", self.port), RESPONSE_TIMEOUT_S) as connection:
            file.seek(at)
            head = (
                f"PATCH {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTus-Resumable: 1.0.0\r\n"
                f"Upload-Offset: {at}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: {end - at}\r\n\r\n"
            )
            started = time.monotonic()
            try:
                connection.sendall(head.encode())
                while sent < end:
                    if interrupt_at is not None and sent >= interrupt_at:
                        if kill is None:
                            raise Interruption(sent)
                        kill()
                        interrupt_at = None
                    piece = file.read(min(PIECE, end - sent))
                    connection.sendall(piece)
                    sent += len(piece)
                    time.sleep(max(0, started + (sent - at) / (self.rate * 1e6) - time.monotonic()))
                response = http.client.HTTPResponse(connection, method="PATCH")
                response.begin()
                response.read()
            except (OSError, http.client.HTTPException):
                raise Interruption(sent) from None
            if response.status != 204:
                raise Interruption(sent)
            return int(response.headers["Upload-Offset"])


def upload(arguments: argparse.Namespace, cluster: Cluster, test_servers: TestServers, file: pathlib.Path) -> list[str]:
    """Completes one upload; returns findings."""
    findings: list[str] = []
    token = cluster.command("token", "create", "--workspace", "Development", "--permission", "read-write")
    cluster.command("webhook", "create", "--workspace", "Development", "--url", f"{test_servers.base}/webhook")
    address = cluster.api(token, "POST", "/v1/on-demand/upload", {"corsOrigin": "*"})
    media, path = address["uploadId"], urllib.parse.urlsplit(address["url"]).path
    length = file.stat().st_size
    announce(cluster.nodes[0].port, path, length)
    rng = random.Random(arguments.seed)
    interruptions = sorted(rng.sample(range(PIECE, length - PIECE), arguments.interruptions))
    requests, resent, acknowledged, shown = 0, 0, 0, time.monotonic()
    while True:
        node = cluster.nodes[requests % len(cluster.nodes)]
        requests += 1
        client = TusClient(node.port, path, file, arguments.rate)
        at = client.offset()
        if at < acknowledged:
            findings.append(f"{acknowledged} bytes were acknowledged and {at} are there")
        acknowledged = max(acknowledged, at)
        if at == length:
            break
        interrupt_at = interruptions[0] if interruptions and interruptions[0] < at + CHUNK else None
        number = arguments.interruptions - len(interruptions)
        kill = (lambda: cluster.kill(node)) if number % 2 else None
        try:
            acknowledged = max(acknowledged, client.send(at, interrupt_at and max(interrupt_at, at), kill))
        except Interruption as interruption:
            sent = int(interruption.args[0])
            time.sleep(RESUME_DELAY_S)
            stored = TusClient(cluster.nodes[requests % len(cluster.nodes)].port, path, file, arguments.rate).offset()
            resent += max(0, sent - stored)
        if interrupt_at is not None:
            interruptions.pop(0)
        if time.monotonic() - shown > 20:
            shown = time.monotonic()
            print(f"  {at >> 20} of {length >> 20} MiB, {arguments.interruptions - len(interruptions)} interruptions, {resent >> 10} KiB resent", flush=True)
    cluster.wait_ready(token, media)
    listed = cluster.api(token, "GET", "/v1/on-demand", None)
    if [one["id"] for one in listed] != [media]:
        findings.append(f"there are {len(listed)} media")
    ready = test_servers.wait_ids("video.media.ready", media)
    if len(ready) != 1:
        findings.append(f"there are {len(ready)} ready events")
    if cluster.source_sha256() != sha256(file):
        findings.append("the stored bytes are not those of the file")
    share = resent / length
    if share > RESENT_SHARE_MAX:
        findings.append(f"{share:.2%} were sent twice")
    print(
        f"{cluster.name}: {length >> 20} MiB, {arguments.interruptions} interruptions, {cluster.kills} of them kills, {share:.2%} sent twice "
        f"(at most {RESENT_SHARE_MAX:.0%}), SHA-256 {'equal' if not any('bytes are not' in one for one in findings) else 'DIFFERS'}, "
        f"{len(listed)} media, {len(ready)} ready event",
        flush=True,
    )
    return findings


def announce(port: int, path: str, length: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=RESPONSE_TIMEOUT_S)
    connection.request("POST", path, headers={"Tus-Resumable": "1.0.0", "Upload-Length": str(length), "Content-Length": "0"})
    response = connection.getresponse()
    response.read()
    connection.close()
    if response.status != 201:
        raise RuntimeError(f"the length cannot be announced: {response.status}")


def sha256(file: pathlib.Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000, help="size of the file")
    parser.add_argument("--interruptions", type=int, default=50, help="how often the connection is closed or the server killed")
    parser.add_argument("--rate", type=float, default=10.0, help="megabytes per second of the connection")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="decides the offsets")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    kinora = pathlib.Path(os.environ["KINORA"]).resolve()
    findings: list[str] = []
    with tempfile.TemporaryDirectory(prefix="kinora-interruptions-", dir=os.environ.get("KINORA_SOAK_FOLDER")) as name:
        folder = pathlib.Path(name)
        file = make_padded_clip(folder, arguments.megabytes * 1_000_000)
        for cluster in (Cluster.single_server(kinora, folder / "one"), Cluster.two_servers(kinora, folder / "two")):
            test_servers = TestServers(file.with_name("clip.mp4"))
            with cluster:
                findings += [f"{cluster.name}: {one}" for one in upload(arguments, cluster, test_servers, file)]
                if findings:
                    print(cluster.logs())
            cluster.remove()
    for one in findings:
        print(f"FOUND: {one}")
    print("nothing was lost" if not findings else f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
