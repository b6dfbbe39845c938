"""What it takes to ask who may watch: of a segment that is played, and of a viewer who is sent away.

Processor time of the server, not requests a second. That of a refusal is all of it: the connection, the answer and its line in the log too, which a
viewer without a token takes as well.
"""

import json
import os
import pathlib
import subprocess

import load
import machine
from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, cost_against_yardstick, figure
from segments import copy_segments

ROUNDS = 7
SECONDS = 3
ROUNDS_OF_SEGMENTS = 21
"""A hundredth of a segment is what is asked for: more rounds, and each kind first in every other."""
WARM_UP_SECONDS = 2
CHECK_MAX, REFUSAL_MAX = 1.05, 2
VERIFICATIONS = 40_000


def measure(bench: Bench) -> list[Row]:
    """The same audio segments through a private and a public playback ID in turn, then tokens with another's signature."""
    peers = Peers()
    folder = bench.folder / "policy"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        media = kinora.create_media(peers.share("720p.mp4", bench.clips.ten_minutes_720p()))
        peers.wait_event("video.media.ready", media["id"])
        peers.close()
        private = kinora.create_playback(media["id"], accessPolicy="private")
        public_key, token, other = tokens(kinora, private, folder)
        kinds = {
            "public": copy_segments(kinora, media["playbackIds"][0]["id"], "audio", folder / "public"),
            "private": copy_segments(kinora, private, "audio", folder / "private", f"?token={token}"),
        }
        costs: dict[str, list[float]] = {"public": [], "private": [], "refused": [], "without": []}
        for paths in kinds.values():
            load.run(kinora.base, paths, WARM_UP_SECONDS)
        for number in range(ROUNDS_OF_SEGMENTS):
            for kind in sorted(kinds, reverse=number % 2 == 1):
                costs[kind].append(cost_us(kinora, kinds[kind]))
        forged = folder / "forged.txt"
        message, _, _ = token.rpartition(".")
        forged.write_text(f"/{private}.m3u8?token={message}.{other.rpartition('.')[2]}\n")
        without = folder / "without.txt"
        without.write_text(f"/{private}.m3u8\n")
        verifications = []
        for _ in range(ROUNDS):
            costs["refused"].append(cost_us(kinora, forged, is_refused=True))
            costs["without"].append(cost_us(kinora, without, is_refused=True))
            verifications.append(verification_us(bench.yardstick, public_key, token))
    return [
        cost_against_yardstick(
            "processor time of a private audio segment, over a public one", costs["private"], costs["public"], "µs", CHECK_MAX
        ),
        cost_against_yardstick(
            "processor time of a refusal for a bad signature, over jsonwebtoken", costs["refused"], verifications, "µs", REFUSAL_MAX
        ),
        figure("of that, what a refusal without a token takes", costs["without"], "µs"),
    ]


def tokens(kinora: Kinora, playback: str, folder: pathlib.Path) -> tuple[pathlib.Path, str, str]:
    """The public half of a new key, a token that it signed for this playback ID, and another one."""
    folder.mkdir(exist_ok=True)
    made = kinora.create_signing_key()
    key = folder / "key.json"
    key.write_text(json.dumps(made))
    public_key = folder / "public.pem"
    public_key.write_text(kinora.signing_key(made["id"])["publicKey"])
    sign = ("token", "sign", "--playback-id", playback, "--key", key)
    return public_key, kinora.command(*sign, "--expires", "1h")["token"], kinora.command(*sign, "--expires", "2h")["token"]


def cost_us(kinora: Kinora, paths: pathlib.Path, is_refused: bool = False) -> float:
    """Microseconds of processor time that one request costs the server."""
    before = kinora.processor_us()
    requests = load.run(kinora.base, paths, SECONDS, is_refused=is_refused, cpu=machine.SERVER_CPU).requests
    return (kinora.processor_us() - before) / requests


def verification_us(yardstick: pathlib.Path, public_key: pathlib.Path, token: str) -> float:
    """Microseconds of processor time that one verification costs, by the library alone."""
    command = machine.pinned([yardstick, "verify", public_key, token, VERIFICATIONS], machine.SERVER_CPU)
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command[0]} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1e6 / VERIFICATIONS
