#!/usr/bin/env python3
"""Cuts an upload again and again and looks whether a byte, a media or an event is lost, or made twice.

    make soak [MEGABYTES=2000] [CUTS=50] [RATE=10]

A file is sent in chunks of 16 MiB by tus, at a steady rate. At drawn places the client's line is cut or the server's process killed, in turn;
each time another client goes on that knows nothing but the address. Once on SQLite and a folder, once with two processes on PostgreSQL and S3
that get the requests in turn. At the end the kept bytes must be those of the file, there must be one media and one ready event,
and little may have been sent above what was acknowledged.

Exit status 0 when all of that held.
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

from outside import Outside
from padded import padded_clip
from site_of_servers import Site

CHUNK = 16 << 20
PIECE = 64 << 10
# Bytes sent above what was acknowledged, of all bytes of the file.
TWICE_MAX = 0.01
ANSWERS_WITHIN_S = 60.0
# A person takes another device, or a client looks whether its line is back.
OTHER_DEVICE_S = 1.0


class Cut(Exception):
    """The line broke, on purpose or not."""


class Device:
    """A client of tus that has the file and the address, and nothing else."""

    def __init__(self, port: int, path: str, file: pathlib.Path, rate: float) -> None:
        self.port, self.path, self.file, self.rate = port, path, file, rate
        self.length = file.stat().st_size

    def offset(self) -> int:
        """How many bytes the server has. Waits for a server that is just starting."""
        until = time.monotonic() + ANSWERS_WITHIN_S
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWERS_WITHIN_S)
                connection.request("HEAD", self.path, headers={"Tus-Resumable": "1.0.0"})
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    return int(answer.headers["Upload-Offset"])
                said = str(answer.status)
            except (OSError, http.client.HTTPException) as error:
                said = repr(error)
            finally:
                connection.close()
            if time.monotonic() > until:
                raise RuntimeError(f"the upload cannot be asked for: {said}")
            time.sleep(0.05)

    def send(self, at: int, cut_at: int | None, kill) -> int:
        """Sends one chunk and answers the new offset. Raises `Cut` with the bytes sent so far when the line breaks.

        At `cut_at` the line is cut, or `kill` called, which ends the server.
        """
        end = min(at + CHUNK, self.length)
        sent = at
        with self.file.open("rb") as file, socket.create_connection(("127.0.0.1", self.port), ANSWERS_WITHIN_S) as line:
            file.seek(at)
            head = (
                f"PATCH {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTus-Resumable: 1.0.0\r\n"
                f"Upload-Offset: {at}\r\nContent-Type: application/offset+octet-stream\r\nContent-Length: {end - at}\r\n\r\n"
            )
            began = time.monotonic()
            try:
                line.sendall(head.encode())
                while sent < end:
                    if cut_at is not None and sent >= cut_at:
                        if kill is None:
                            raise Cut(sent)
                        kill()
                        cut_at = None
                    piece = file.read(min(PIECE, end - sent))
                    line.sendall(piece)
                    sent += len(piece)
                    time.sleep(max(0, began + (sent - at) / (self.rate * 1e6) - time.monotonic()))
                answer = http.client.HTTPResponse(line, method="PATCH")
                answer.begin()
                answer.read()
            except (OSError, http.client.HTTPException):
                raise Cut(sent) from None
            if answer.status != 204:
                raise Cut(sent)
            return int(answer.headers["Upload-Offset"])


def upload(asked: argparse.Namespace, site: Site, outside: Outside, file: pathlib.Path) -> list[str]:
    """One upload to its end; answers what should not have happened."""
    findings: list[str] = []
    token = site.command("token", "create", "--workspace", "Development", "--permission", "read-write")
    site.command("webhook", "create", "--workspace", "Development", "--url", f"{outside.base}/webhook")
    address = site.api(token, "POST", "/v1/on-demand/upload", {"corsOrigin": "*"})
    media, path = address["uploadId"], urllib.parse.urlsplit(address["url"]).path
    length = file.stat().st_size
    announce(site.nodes[0].port, path, length)
    drawn = random.Random(asked.seed)
    cuts = sorted(drawn.sample(range(PIECE, length - PIECE), asked.cuts))
    turn, twice, acknowledged, shown = 0, 0, 0, time.monotonic()
    while True:
        node = site.nodes[turn % len(site.nodes)]
        turn += 1
        device = Device(node.port, path, file, asked.rate)
        at = device.offset()
        if at < acknowledged:
            findings.append(f"{acknowledged} bytes were acknowledged and {at} are there")
        acknowledged = max(acknowledged, at)
        if at == length:
            break
        cut_at = cuts[0] if cuts and cuts[0] < at + CHUNK else None
        number = asked.cuts - len(cuts)
        kill = (lambda: site.kill(node)) if number % 2 else None
        try:
            acknowledged = max(acknowledged, device.send(at, cut_at and max(cut_at, at), kill))
        except Cut as cut:
            sent = int(cut.args[0])
            time.sleep(OTHER_DEVICE_S)
            kept = Device(site.nodes[turn % len(site.nodes)].port, path, file, asked.rate).offset()
            twice += max(0, sent - kept)
        if cut_at is not None:
            cuts.pop(0)
        if time.monotonic() - shown > 20:
            shown = time.monotonic()
            print(f"  {at >> 20} of {length >> 20} MiB, {asked.cuts - len(cuts)} cuts, {twice >> 10} KiB twice", flush=True)
    site.wait_ready(token, media)
    listed = site.api(token, "GET", "/v1/on-demand", None)
    if [one["id"] for one in listed] != [media]:
        findings.append(f"there are {len(listed)} media")
    ready = outside.wait_ids("video.media.ready", media)
    if len(ready) != 1:
        findings.append(f"there are {len(ready)} ready events")
    if site.kept_sha256() != sha256(file):
        findings.append("the kept bytes are not those of the file")
    share = twice / length
    if share > TWICE_MAX:
        findings.append(f"{share:.2%} were sent above what was acknowledged")
    print(
        f"{site.name}: {length >> 20} MiB, {asked.cuts} cuts, {site.kills} of them kills, {share:.2%} sent twice "
        f"(at most {TWICE_MAX:.0%}), SHA-256 {'equal' if not any('bytes are not' in one for one in findings) else 'DIFFERS'}, "
        f"{len(listed)} media, {len(ready)} ready event",
        flush=True,
    )
    return findings


def announce(port: int, path: str, length: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWERS_WITHIN_S)
    connection.request("POST", path, headers={"Tus-Resumable": "1.0.0", "Upload-Length": str(length), "Content-Length": "0"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 201:
        raise RuntimeError(f"the length cannot be announced: {answer.status}")


def sha256(file: pathlib.Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000, help="size of the file")
    parser.add_argument("--cuts", type=int, default=50, help="how often the line is cut or the server killed")
    parser.add_argument("--rate", type=float, default=10.0, help="megabytes a second that the line carries")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="decides where")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    kinora = pathlib.Path(os.environ["KINORA"]).resolve()
    findings: list[str] = []
    with tempfile.TemporaryDirectory(prefix="kinora-cuts-", dir=os.environ.get("KINORA_SOAK_FOLDER")) as name:
        folder = pathlib.Path(name)
        file = padded_clip(folder, asked.megabytes * 1_000_000)
        for site in (Site.of_one(kinora, folder / "one"), Site.of_two(kinora, folder / "two")):
            outside = Outside(file.with_name("clip.mp4"))
            with site:
                findings += [f"{site.name}: {one}" for one in upload(asked, site, outside, file)]
                if findings:
                    print(site.logs())
            site.remove()
    for one in findings:
        print(f"FOUND: {one}")
    print("nothing was lost" if not findings else f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
