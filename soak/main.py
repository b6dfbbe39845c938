#!/usr/bin/env python3
"""Kills a process every few seconds during ingest, and checks that nothing is lost.

    make soak [MEDIA=200] [SECONDS=120] [KILL_EVERY=5]

Two processes of each role share one PostgreSQL and one S3 store. A client creates media by URL through one
API process and reads each at once through the other. Once ready, it plays the media through both delivery
processes. In some media a viewer seeks in a rung, whose segments are encoded on demand.

At the end every media must be ready, with one ready event that was delivered at least once. No request may
have failed after its retries. Every process must return the same encoded segments as before.

Exit status 0 when all of this holds.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

from client import Client, ClientError
from processes import Processes
from test_servers import TestServers
from viewers import Viewers, playlists

# After the last kill: a lease of 30 s expires, the download restarts, events are delivered.
SETTLE_TIMEOUT_S = 120
PAGE = 50
# A viewer seeks in a rung of one media of this many: an encode costs 100 times a copy.
SEEK_EVERY = 4


class Findings:
    """Errors that the test found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        with self._lock:
            self.texts.append(text)
        print(f"  FOUND: {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--media", type=int, default=200, help="number of media")
    parser.add_argument("--seconds", type=float, default=120, help="duration of the kills")
    parser.add_argument("--kill-every", type=float, default=5, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="decides the order of kills")
    arguments = parser.parse_args()

    print(f"seed {arguments.seed}", flush=True)
    findings = Findings()
    with tempfile.TemporaryDirectory(prefix="kinora-soak-") as name:
        folder = pathlib.Path(name)
        test_servers = TestServers(make_clip(folder))
        processes = Processes(
            pathlib.Path(os.environ["KINORA"]).resolve(),
            folder,
            os.environ["KINORA_TEST_DATABASE_URL"],
            os.environ["KINORA_TEST_STORAGE_URL"],
        )
        with processes:
            soak(arguments, processes, test_servers, findings)
        if findings.texts:
            logs = pathlib.Path(tempfile.mkdtemp(prefix="kinora-soak-logs-"))
            for node in processes.nodes:
                (logs / node.log.name).write_bytes(node.log.read_bytes())
            print(f"the logs of the processes are in {logs}")
    print("nothing was lost" if not findings.texts else f"{len(findings.texts)} findings")
    return 1 if findings.texts else 0


def soak(arguments: argparse.Namespace, processes: Processes, test_servers: TestServers, findings: Findings) -> None:
    token = processes.command("token", "create", "--workspace", "Development", "--permission", "read-write")
    processes.command("webhook", "create", "--workspace", "Development", "--url", f"{test_servers.base}/webhook")
    api, delivery = Client(processes.of("api"), token), Client(processes.of("delivery"))
    ready: dict[str, dict] = {}
    viewers = Viewers(delivery)

    def run_media(number: int) -> None:
        """Creates, reads and plays one media."""
        try:
            media = create(api, f"{test_servers.base}/source/{number}.mp4")
            ready[media] = wait_ready(api, media, arguments.seconds + SETTLE_TIMEOUT_S)
            play(delivery, ready[media])
            if number % SEEK_EVERY == 0:
                viewers.seek(ready[media], random.Random(arguments.seed + number))
        except (ClientError, TimeoutError, ValueError) as error:
            findings.add(f"media {number}: {error}")

    started = time.monotonic()
    killing = threading.Thread(target=kill_repeatedly, args=(arguments, processes, random.Random(arguments.seed)))
    killing.start()
    with concurrent.futures.ThreadPoolExecutor(64) as threads:
        runs = []
        for number in range(arguments.media):
            time.sleep(max(0, started + number * arguments.seconds / arguments.media - time.monotonic()))
            runs.append(threads.submit(run_media, number))
            if number % 20 == 19:
                print(f"  {time.monotonic() - started:4.0f} s: {number + 1} created, {len(ready)} ready", flush=True)
        killing.join()
        concurrent.futures.wait(runs)

    for text in viewers.check_again():
        findings.add(text)
    listed = list_all(api)
    for media in listed:
        if media["status"] != "Ready":
            findings.add(f"media {media['id']} is {media['status']}")
    wait_events([media["id"] for media in listed], test_servers, findings)
    print(
        f"{len(ready)} of {arguments.media} ready ({len(listed)} rows: a create whose response was lost is retried), "
        f"{sum(node.kills for node in processes.nodes)} kills, {api.retries + delivery.retries} retries, "
        f"{test_servers.deliveries()} deliveries, {viewers.count()} encoded segments, {time.monotonic() - started:.0f} s",
        flush=True,
    )


def kill_repeatedly(arguments: argparse.Namespace, processes: Processes, rng: random.Random) -> None:
    """Kills every process about as often, in random order."""
    deadline = time.monotonic() + arguments.seconds
    waiting: list = []
    while time.monotonic() + arguments.kill_every <= deadline:
        time.sleep(arguments.kill_every)
        if not waiting:
            waiting = rng.sample(processes.nodes, len(processes.nodes))
        node = waiting.pop()
        processes.kill(node)


def create(api: Client, url: str) -> str:
    """Creates a media and reads it at once through another process."""
    body = {"inputs": [{"type": "video", "url": url}], "accessPolicy": "public"}
    media = api.json("POST", "/v1/on-demand", body)["data"]["id"]
    api.json("GET", f"/v1/on-demand/{media}")
    return media


def wait_ready(api: Client, media: str, timeout_s: float) -> dict:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        data = api.json("GET", f"/v1/on-demand/{media}")["data"]
        if data["status"] == "Ready":
            return data
        if data["status"] == "Failed":
            raise ValueError(f"{media} failed: {data}")
        time.sleep(0.5)
    raise TimeoutError(f"{media} is not ready after {timeout_s:.0f} s")


def play(delivery: Client, media: dict) -> None:
    """Loads the manifest, a playlist and its first segment twice, once through each process."""
    playback = media["playbackIds"][0]["id"]
    for _ in range(2):
        manifest = delivery.bytes("GET", f"/{playback}.m3u8").decode()
        playlist = next(playlists(manifest))
        segments = [line for line in delivery.bytes("GET", playlist).decode().splitlines() if line.endswith(".m4s")]
        if not delivery.bytes("GET", f"{playlist.rpartition('/')[0]}/{segments[0]}"):
            raise ValueError(f"{playlist} has an empty segment")


def list_all(api: Client) -> list[dict]:
    found, offset = [], 1
    while True:
        page = api.json("GET", f"/v1/on-demand?limit={PAGE}&offset={offset}")["data"]
        found += page
        if len(page) < PAGE:
            return found
        offset += 1


def wait_events(media: list[str], test_servers: TestServers, findings: Findings) -> None:
    """Waits until each media has its ready event; reports those with none or two."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    ready = "video.media.ready"
    while time.monotonic() < deadline and not all(test_servers.ids_of(ready, one) for one in media):
        time.sleep(0.5)
    for one in media:
        ids = test_servers.ids_of(ready, one)
        if len(ids) != 1:
            findings.add(f"media {one} has {len(ids)} ready events")


def make_clip(folder: pathlib.Path) -> pathlib.Path:
    clip = folder / "clip.mp4"
    command = "ffmpeg -hide_banner -loglevel error -nostdin -f lavfi -i testsrc2=s=640x360:r=30:d=12 -f lavfi -i sine=d=12"
    command += " -c:v libx264 -preset ultrafast -g 60 -pix_fmt yuv420p -c:a aac -movflags +faststart"
    subprocess.run([*command.split(), clip], check=True)
    return clip


if __name__ == "__main__":
    sys.exit(main())
