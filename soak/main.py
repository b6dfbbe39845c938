#!/usr/bin/env python3
"""Kills one process of a fleet every few seconds while media come in, and looks whether anything was lost.

    make soak [MEDIA=200] [SECONDS=120] [KILL_EVERY=5]

Two processes of each role share one PostgreSQL and one S3 store. A client creates media by URL through either API process, reads
each at once through the other, and plays it through both delivery processes once it is ready. Of some of them a viewer seeks in a
rung, whose segments are encoded meanwhile. At the end every media must be ready, with one ready event that was delivered at least
once, no request may have failed for good, and every encoded segment that a viewer was given must still be the same through every
process.

Exit status 0 when all of that held.
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
from fleet import Fleet
from outside import Outside
from viewers import Viewers, playlists

# After the last kill: a lease of 30 s runs out, the download begins again, events go out.
SETTLES_WITHIN_S = 120
PAGE = 50
# One media of so many is watched in a rung: that costs a hundred times what a copy does.
WATCHED_OF = 4


class Findings:
    """What should not have happened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        with self._lock:
            self.texts.append(text)
        print(f"  FOUND: {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--media", type=int, default=200, help="how many are created")
    parser.add_argument("--seconds", type=float, default=120, help="how long processes are killed")
    parser.add_argument("--kill-every", type=float, default=5, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="decides who is killed")
    asked = parser.parse_args()

    print(f"seed {asked.seed}", flush=True)
    findings = Findings()
    with tempfile.TemporaryDirectory(prefix="kinora-soak-") as name:
        folder = pathlib.Path(name)
        outside = Outside(make_clip(folder))
        fleet = Fleet(
            pathlib.Path(os.environ["KINORA"]).resolve(),
            folder,
            os.environ["KINORA_TEST_DATABASE_URL"],
            os.environ["KINORA_TEST_STORAGE_URL"],
        )
        with fleet:
            soak(asked, fleet, outside, findings)
        if findings.texts:
            kept = pathlib.Path(tempfile.mkdtemp(prefix="kinora-soak-logs-"))
            for node in fleet.nodes:
                (kept / node.log.name).write_bytes(node.log.read_bytes())
            print(f"the logs of the processes are in {kept}")
    print("nothing was lost" if not findings.texts else f"{len(findings.texts)} findings")
    return 1 if findings.texts else 0


def soak(asked: argparse.Namespace, fleet: Fleet, outside: Outside, findings: Findings) -> None:
    token = fleet.command("token", "create", "--workspace", "Development", "--permission", "read-write")
    fleet.command("webhook", "create", "--workspace", "Development", "--url", f"{outside.base}/webhook")
    api, delivery = Client(fleet.of("api"), token), Client(fleet.of("delivery"))
    ready: dict[str, dict] = {}
    viewers = Viewers(delivery)

    def live(number: int) -> None:
        """The life of one media as its owner sees it."""
        try:
            media = create(api, f"{outside.base}/source/{number}.mp4")
            ready[media] = wait_ready(api, media, asked.seconds + SETTLES_WITHIN_S)
            play(delivery, ready[media])
            if number % WATCHED_OF == 0:
                viewers.seek(ready[media], random.Random(asked.seed + number))
        except (ClientError, TimeoutError, ValueError) as error:
            findings.add(f"media {number}: {error}")

    began = time.monotonic()
    killing = threading.Thread(target=kill_in_turn, args=(asked, fleet, random.Random(asked.seed)))
    killing.start()
    with concurrent.futures.ThreadPoolExecutor(64) as threads:
        lives = []
        for number in range(asked.media):
            time.sleep(max(0, began + number * asked.seconds / asked.media - time.monotonic()))
            lives.append(threads.submit(live, number))
            if number % 20 == 19:
                print(f"  {time.monotonic() - began:4.0f} s: {number + 1} created, {len(ready)} ready", flush=True)
        killing.join()
        concurrent.futures.wait(lives)

    for text in viewers.look_again():
        findings.add(text)
    listed = list_all(api)
    for media in listed:
        if media["status"] != "Ready":
            findings.add(f"media {media['id']} is {media['status']}")
    wait_events([media["id"] for media in listed], outside, findings)
    print(
        f"{len(ready)} of {asked.media} ready ({len(listed)} rows: a create whose answer was lost is made again), "
        f"{sum(node.kills for node in fleet.nodes)} kills, {api.retries + delivery.retries} requests tried again, "
        f"{outside.deliveries()} deliveries, {viewers.count()} encoded segments, {time.monotonic() - began:.0f} s",
        flush=True,
    )


def kill_in_turn(asked: argparse.Namespace, fleet: Fleet, drawn: random.Random) -> None:
    """Every process is killed about as often; the order is drawn."""
    until = time.monotonic() + asked.seconds
    waiting: list = []
    while time.monotonic() + asked.kill_every <= until:
        time.sleep(asked.kill_every)
        if not waiting:
            waiting = drawn.sample(fleet.nodes, len(fleet.nodes))
        node = waiting.pop()
        fleet.kill(node)


def create(api: Client, url: str) -> str:
    """Makes a media and reads it at once, which another process answers."""
    body = {"inputs": [{"type": "video", "url": url}], "accessPolicy": "public"}
    media = api.json("POST", "/v1/on-demand", body)["data"]["id"]
    api.json("GET", f"/v1/on-demand/{media}")
    return media


def wait_ready(api: Client, media: str, within_s: float) -> dict:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        data = api.json("GET", f"/v1/on-demand/{media}")["data"]
        if data["status"] == "Ready":
            return data
        if data["status"] == "Failed":
            raise ValueError(f"{media} failed: {data}")
        time.sleep(0.5)
    raise TimeoutError(f"{media} is not ready after {within_s:.0f} s")


def play(delivery: Client, media: dict) -> None:
    """The manifest, a playlist and its first segment, twice: requests go to the processes in turn."""
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


def wait_events(media: list[str], outside: Outside, findings: Findings) -> None:
    """Waits until each media had its ready event, and finds those that had none, or two different ones."""
    until = time.monotonic() + SETTLES_WITHIN_S
    ready = "video.media.ready"
    while time.monotonic() < until and not all(outside.ids_of(ready, one) for one in media):
        time.sleep(0.5)
    for one in media:
        ids = outside.ids_of(ready, one)
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
