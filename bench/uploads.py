"""Direct uploads: throughput against a copy on the same disk, memory, and time from last byte to ready."""

import concurrent.futures
import http.client
import os
import pathlib
import socket
import subprocess
import time
import urllib.parse

import machine
from bench import Bench
from deployments import ManyMachines
from kinora import Kinora
from report import Row, at_most, rate_against_baseline
from test_servers import TestServers

ROUNDS = 3
ROUNDS_SHARED = 1
CHUNK = 16 << 20
CONCURRENCY = 32
RATIO_MIN = 0.5
CONCURRENT_RATIO_MIN = 0.8
MEMORY_MAX_MIB = 60
READY_MAX_MS = 300
MOOV_LAST_MAX_MS = 500
READY_ROUNDS = 5
# After the last event; the work after it takes less time.
SETTLE_S = 3


def measure(bench: Bench) -> list[Row]:
    """Each round copies and uploads the same bytes, because the disk speed drifts."""
    large, short = bench.clips.two_gigabytes(), bench.clips.one_minute()
    size = large.stat().st_size
    shared = isinstance(bench.deployment, ManyMachines)
    machine.fill_page_cache(bench.folder, large)
    rates: dict[str, list[float]] = {"cat": [], "one": [], "chunks": [], "at once": []}
    extra: list[float] = []
    for number in range(ROUNDS_SHARED if shared else ROUNDS):
        folder = bench.folder / f"round-{number}"
        folder.mkdir()
        rates["cat"].append(size / 1e6 / copy_s(folder, large))
        with Kinora(bench, f"uploads-{number}") as kinora:
            send(kinora, create_upload(kinora), short)
            time.sleep(SETTLE_S)
            idle = kinora.memory_kib("VmRSS") / 1024
            rates["one"].append(size / 1e6 / timed(lambda: send(kinora, create_upload(kinora), large)))
            extra.append(kinora.memory_kib("VmHWM") / 1024 - idle)
            rates["chunks"].append(size / 1e6 / timed(lambda: send_chunks(kinora, create_upload(kinora), large)))
        with Kinora(bench, f"uploads-many-{number}") as kinora:
            part = size // CONCURRENCY
            pieces = bench.clips.padded(part)
            rates["at once"].append(part * CONCURRENCY / 1e6 / timed(lambda: send_many(kinora, pieces)))
    labels = {"one": "an upload of 2 GB in one request", "chunks": "an upload of 2 GB in chunks of 16 MiB"}
    rows = []
    for name, what in labels.items():
        row = rate_against_baseline(what, rates[name], rates["cat"], "MB/s", RATIO_MIN)
        # With S3 the bytes pass two more processes on the same CPUs.
        rows.append(Row(*row.cells()[:4], "none set", True) if shared else row)
    rows.append(rate_against_baseline(f"{CONCURRENCY} uploads at once, in sum over one alone", rates["at once"], rates["one"], "MB/s", CONCURRENT_RATIO_MIN))
    rows.append(at_most("extra memory during an upload of 2 GB", extra, "MiB", MEMORY_MAX_MIB))
    return rows + ready(bench)


def ready(bench: Bench) -> list[Row]:
    """Sends the last byte after all others are stored; measures from it to the webhook event."""
    clips = {
        "1 min": (bench.clips.one_minute(), READY_MAX_MS),
        "2 h": (bench.clips.two_hours(), READY_MAX_MS),
        "2 h, moov at the end": (bench.clips.two_hours_moov_last(), MOOV_LAST_MAX_MS),
    }
    took: dict[str, list[float]] = {name: [] for name in clips}
    test_servers = TestServers()
    with Kinora(bench, "uploads-ready") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(READY_ROUNDS + 1):
            for name, (path, _) in clips.items():
                upload = create_upload(kinora)
                size = path.stat().st_size
                with connect(kinora) as connection:
                    patch(connection, upload, path, 0, size - 1)
                    sent = time.monotonic()
                    patch(connection, upload, path, size - 1, size)
                arrived = test_servers.wait_event("video.media.ready", upload["uploadId"])
                if number > 0:  # the first round warms up
                    took[name].append((arrived - sent) * 1000)
                kinora.delete_media(upload["uploadId"])
    test_servers.close()
    return [
        at_most(f"last byte of an upload → ready event, {name}", took[name], "ms", limit)
        for name, (_, limit) in clips.items()
    ]


def timed(work) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def copy_s(folder: pathlib.Path, file: pathlib.Path) -> float:
    """How long `cat` takes to write a new file on the same disk, synced."""
    to = folder / "copy"
    started = time.monotonic()
    with to.open("wb") as opened:
        subprocess.run(["cat", file], stdout=opened, check=True)
        os.fsync(opened.fileno())
    return time.monotonic() - started


def create_upload(kinora: Kinora) -> dict:
    return kinora.create_upload()


def send(kinora: Kinora, upload: dict, file: pathlib.Path) -> None:
    """The whole file in one PUT."""
    size = file.stat().st_size
    with connect(kinora) as connection:
        request(connection, upload, file, 0, size, f"PUT {{}} HTTP/1.1\r\nContent-Length: {size}\r\n", 200)


def send_chunks(kinora: Kinora, upload: dict, file: pathlib.Path) -> None:
    """One chunk after another on one connection, as browsers do."""
    size = file.stat().st_size
    with connect(kinora) as connection:
        for at in range(0, size, CHUNK):
            patch(connection, upload, file, at, min(at + CHUNK, size))


def patch(connection: socket.socket, upload: dict, file: pathlib.Path, begin: int, end: int) -> None:
    """Sends a chunk as the web uploader does, and checks the response."""
    size = file.stat().st_size
    head = f"PUT {{}} HTTP/1.1\r\nContent-Length: {end - begin}\r\nContent-Range: bytes {begin}-{end - 1}/{size}\r\n"
    request(connection, upload, file, begin, end, head, 200 if end == size else 308)


def send_many(kinora: Kinora, file: pathlib.Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as threads:
        uploads = [create_upload(kinora) for _ in range(CONCURRENCY)]
        for one in [threads.submit(send, kinora, upload, file) for upload in uploads]:
            one.result()


def connect(kinora: Kinora) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", kinora.port), 600)
    connection.settimeout(None)  # or `sendfile` does not wait
    return connection


def request(connection: socket.socket, upload: dict, file: pathlib.Path, begin: int, end: int, head: str, expected: int) -> None:
    path = urllib.parse.urlsplit(upload["url"]).path
    with file.open("rb") as opened:
        connection.sendall(f"{head.format(path)}Host: 127.0.0.1\r\n\r\n".encode())
        at = begin
        while at < end:
            at += os.sendfile(connection.fileno(), opened.fileno(), at, end - at)
        response = http.client.HTTPResponse(connection, method="PUT")
        response.begin()
        content = response.read()
    if response.status != expected:
        raise RuntimeError(f"bytes {begin} to {end} of an upload: {response.status} {content[:300]!r}")
