"""CPU cost of the access check: of a played segment, and of a rejected viewer.

Measures CPU time of the server, not requests per second. A rejection includes the connection, the response
and its log line; a request without a token costs these too.
"""

import json
import os
import pathlib
import subprocess

import load
import machine
from bench import Bench
from kinora import Kinora
from report import Row, cost_against_baseline, figure
from segments import copy_segments
from test_servers import TestServers

ROUNDS = 7
SECONDS = 3
ROUNDS_OF_SEGMENTS = 21
"""The goal is 1 % of a segment: more rounds, and each kind is first in every second round."""
WARM_UP_SECONDS = 2
CHECK_MAX, REJECTION_MAX = 1.05, 2
VERIFICATIONS = 40_000


def measure(bench: Bench) -> list[Row]:
    """The same audio segments by a private and a public playback ID, then tokens with a wrong signature."""
    test_servers = TestServers()
    folder = bench.folder / "access"
    with Kinora(bench, folder.name, cpu=machine.SERVER_CPU) as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        media = kinora.create_media(test_servers.share("720p.mp4", bench.clips.ten_minutes_720p()))
        test_servers.wait_event("video.media.ready", media["id"])
        test_servers.close()
        private = kinora.create_playback(media["id"], accessPolicy="private")
        public_key, token, other = tokens(kinora, private, folder)
        kinds = {
            "public": copy_segments(kinora, media["playbackIds"][0]["id"], "audio", folder / "public"),
            "private": copy_segments(kinora, private, "audio", folder / "private", f"?token={token}"),
        }
        costs: dict[str, list[float]] = {"public": [], "private": [], "rejected": [], "no token": []}
        for paths in kinds.values():
            load.run(kinora.base, paths, WARM_UP_SECONDS)
        for number in range(ROUNDS_OF_SEGMENTS):
            for kind in sorted(kinds, reverse=number % 2 == 1):
                costs[kind].append(cost_us(kinora, kinds[kind]))
        forged = folder / "forged.txt"
        message, _, _ = token.rpartition(".")
        forged.write_text(f"/{private}.m3u8?token={message}.{other.rpartition('.')[2]}\n")
        no_token = folder / "no-token.txt"
        no_token.write_text(f"/{private}.m3u8\n")
        verifications = []
        for _ in range(ROUNDS):
            costs["rejected"].append(cost_us(kinora, forged, expect_rejection=True))
            costs["no token"].append(cost_us(kinora, no_token, expect_rejection=True))
            verifications.append(verification_us(bench.baseline_binary, public_key, token))
    return [
        cost_against_baseline(
            "CPU time of a private audio segment, over a public one", costs["private"], costs["public"], "µs", CHECK_MAX
        ),
        cost_against_baseline(
            "CPU time of a rejection for a bad signature, over jsonwebtoken", costs["rejected"], verifications, "µs", REJECTION_MAX
        ),
        figure("of that, a rejection without a token", costs["no token"], "µs"),
    ]


def tokens(kinora: Kinora, playback: str, folder: pathlib.Path) -> tuple[pathlib.Path, str, str]:
    """The public key of a new signing key, and two tokens that it signed for this playback ID."""
    folder.mkdir(exist_ok=True)
    made = kinora.create_signing_key()
    key = folder / "key.json"
    key.write_text(json.dumps(made))
    public_key = folder / "public.pem"
    public_key.write_text(kinora.signing_key(made["id"])["publicKey"])
    sign = ("token", "sign", "--playback-id", playback, "--key", key)
    return public_key, kinora.command(*sign, "--expires", "1h")["token"], kinora.command(*sign, "--expires", "2h")["token"]


def cost_us(kinora: Kinora, paths: pathlib.Path, expect_rejection: bool = False) -> float:
    """CPU time of the server per request in microseconds."""
    before = kinora.cpu_us()
    requests = load.run(kinora.base, paths, SECONDS, expect_rejection=expect_rejection, cpu=machine.SERVER_CPU).requests
    return (kinora.cpu_us() - before) / requests


def verification_us(baseline_binary: pathlib.Path, public_key: pathlib.Path, token: str) -> float:
    """CPU time of one verification by the library alone, in microseconds."""
    command = machine.pinned([baseline_binary, "verify", public_key, token, VERIFICATIONS], machine.SERVER_CPU)
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command[0]} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1e6 / VERIFICATIONS
