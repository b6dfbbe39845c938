"""Direct uploads: bytes a second beside a copy on the same disk, memory meanwhile, and the time from the last byte to ready."""

import concurrent.futures
import http.client
import os
import pathlib
import socket
import statistics
import subprocess
import time
import urllib.parse

import machine
from bench import Bench
from kinora import Kinora
from peers import Peers
from places import ManyMachines
from report import Row, against_yardstick, at_most

ROUNDS = 3
ROUNDS_SHARED = 1
CHUNK = 16 << 20
AT_ONCE = 32
AT_LEAST = 0.5
AT_ONCE_AT_LEAST = 0.8
MEMORY_MAX_MIB = 60
READY_MAX_MS = 300
MOOV_LAST_MAX_MS = 500
READY_ROUNDS = 5
# After the last event; the work that follows it ends well within.
SETTLE_S = 3


def measure(bench: Bench) -> list[Row]:
    """Each round copies and uploads the same bytes in turn, for the disk drifts."""
    large, short = bench.clips.two_gigabytes(), bench.clips.one_minute()
    size = large.stat().st_size
    shared = isinstance(bench.place, ManyMachines)
    machine.fill_page_cache(bench.folder, large)
    rates: dict[str, list[float]] = {"cat": [], "one": [], "chunks": [], "at once": []}
    more: list[float] = []
    for number in range(ROUNDS_SHARED if shared else ROUNDS):
        folder = bench.folder / f"round-{number}"
        folder.mkdir()
        rates["cat"].append(size / 1e6 / copy_s(folder, large))
        with Kinora(bench, f"uploads-{number}") as kinora:
            send(kinora, new(kinora), short)
            time.sleep(SETTLE_S)
            idle = kinora.memory_kib("VmRSS") / 1024
            rates["one"].append(size / 1e6 / timed(lambda: send(kinora, new(kinora), large)))
            more.append(kinora.memory_kib("VmHWM") / 1024 - idle)
            rates["chunks"].append(size / 1e6 / timed(lambda: send_chunks(kinora, new(kinora), large)))
        with Kinora(bench, f"uploads-many-{number}") as kinora:
            part = size // AT_ONCE
            pieces = bench.clips.padded(part)
            rates["at once"].append(part * AT_ONCE / 1e6 / timed(lambda: send_many(kinora, pieces)))
    told = {"one": "an upload of 2 GB in one request", "chunks": "an upload of 2 GB in chunks of 16 MiB"}
    rows = []
    for name, what in told.items():
        row = against_yardstick(what, rates[name], rates["cat"], "MB/s", AT_LEAST)
        # In a bucket the bytes pass two more processes on the same processors.
        rows.append(Row(*row.cells()[:4], "none set", True) if shared else row)
    rows.append(against_yardstick(f"{AT_ONCE} uploads at once, in sum over one alone", rates["at once"], rates["one"], "MB/s", AT_ONCE_AT_LEAST))
    rows.append(at_most("memory more while 2 GB are uploaded", more, "MiB", MEMORY_MAX_MIB))
    return rows + ready(bench)


def ready(bench: Bench) -> list[Row]:
    """The last byte is held back until all others are kept; the time runs from it to the event at a webhook."""
    clips = {
        "1 min": (bench.clips.one_minute(), READY_MAX_MS),
        "2 h": (bench.clips.two_hours(), READY_MAX_MS),
        "2 h, moov at the end": (bench.clips.two_hours_moov_last(), MOOV_LAST_MAX_MS),
    }
    took: dict[str, list[float]] = {name: [] for name in clips}
    peers = Peers()
    with Kinora(bench, "uploads-ready") as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(READY_ROUNDS + 1):
            for name, (path, _) in clips.items():
                upload = new(kinora)
                size = path.stat().st_size
                with connect(kinora) as line:
                    patch(line, upload, path, 0, size - 1)
                    sent = time.monotonic()
                    patch(line, upload, path, size - 1, size)
                arrived = peers.wait_event("video.media.ready", upload["uploadId"])
                if number > 0:  # the first round warms up
                    took[name].append((arrived - sent) * 1000)
                kinora.delete_media(upload["uploadId"])
    peers.close()
    return [
        at_most(f"last byte of an upload → ready event, {name}", took[name], "ms", limit)
        for name, (_, limit) in clips.items()
    ]


def timed(work) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def copy_s(folder: pathlib.Path, file: pathlib.Path) -> float:
    """How long `cat` takes to a new file on the same disk, synced."""
    to = folder / "copy"
    began = time.monotonic()
    with to.open("wb") as opened:
        subprocess.run(["cat", file], stdout=opened, check=True)
        os.fsync(opened.fileno())
    return time.monotonic() - began


def new(kinora: Kinora) -> dict:
    return kinora.create_upload()


def send(kinora: Kinora, upload: dict, file: pathlib.Path) -> None:
    """The whole file in one PUT."""
    size = file.stat().st_size
    with connect(kinora) as line:
        request(line, upload, file, 0, size, f"PUT {{}} HTTP/1.1\r\nContent-Length: {size}\r\n", 200)


def send_chunks(kinora: Kinora, upload: dict, file: pathlib.Path) -> None:
    """One after the other on one connection, as browsers do it."""
    size = file.stat().st_size
    with connect(kinora) as line:
        for at in range(0, size, CHUNK):
            patch(line, upload, file, at, min(at + CHUNK, size))


def patch(line: socket.socket, upload: dict, file: pathlib.Path, begin: int, end: int) -> None:
    """A chunk as the web uploader sends it, and is answered."""
    size = file.stat().st_size
    head = f"PUT {{}} HTTP/1.1\r\nContent-Length: {end - begin}\r\nContent-Range: bytes {begin}-{end - 1}/{size}\r\n"
    request(line, upload, file, begin, end, head, 200 if end == size else 308)


def send_many(kinora: Kinora, file: pathlib.Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        uploads = [new(kinora) for _ in range(AT_ONCE)]
        for one in [threads.submit(send, kinora, upload, file) for upload in uploads]:
            one.result()


def connect(kinora: Kinora) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", kinora.port), 600)
    line.settimeout(None)  # or `sendfile` does not wait
    return line


def request(line: socket.socket, upload: dict, file: pathlib.Path, begin: int, end: int, head: str, expected: int) -> None:
    path = urllib.parse.urlsplit(upload["url"]).path
    with file.open("rb") as opened:
        line.sendall(f"{head.format(path)}Host: 127.0.0.1\r\n\r\n".encode())
        at = begin
        while at < end:
            at += os.sendfile(line.fileno(), opened.fileno(), at, end - at)
        answer = http.client.HTTPResponse(line, method="PUT")
        answer.begin()
        said = answer.read()
    if answer.status != expected:
        raise RuntimeError(f"bytes {begin} to {end} of an upload: {answer.status} {said[:300]!r}")
