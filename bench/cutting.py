"""Clips of a ready media of two hours: from the request to the ready event, and their first segment."""

import http.client
import statistics
import time

import on_demand
from bench import Bench
from kinora import Kinora
from report import Row, at_most, cost_against_baseline
from test_servers import TestServers

ROUNDS = 21
READY_MAX_MS = 300
SEGMENT_MAX = 1.2
FETCHES = 200
#: A keyframe of the source, which has one every 2 s, and a time between two keyframes.
COPIED_START_S, ENCODED_START_S = 3600, 3601.37
DURATION_S = 30
ENCODED_CLIP_START_S = 0.5


def measure(bench: Bench) -> list[Row]:
    """Copied and encoded clips alternately; then the first segment of a clip and of its source."""
    test_servers = TestServers()
    with Kinora(bench, "cutting") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        film = kinora.create_media(test_servers.share("2h.mp4", bench.clips.two_hours()))
        test_servers.wait_event("video.media.ready", film["id"])
        copied, encoded = [], []
        for number in range(ROUNDS + 1):
            for start_s, took_ms in ((COPIED_START_S, copied), (ENCODED_START_S, encoded)):
                took = clip_ready_ms(kinora, test_servers, film["id"], start_s)
                if number > 0:  # the first round warms up
                    took_ms.append(took)
        clip = create_clip(kinora, film["id"], 0)
        test_servers.wait_event("video.media.ready", clip["id"])
        ours, source = [], []
        paths = [first_segment(kinora, media["playbackIds"][0]["id"]) for media in (clip, film)]
        assert kinora.get(paths[0])[-1000:] == kinora.get(paths[1])[-1000:], "the segments have the same samples"
        for _ in range(ROUNDS):
            ours.append(fetch_us(kinora, paths[0]))
            source.append(fetch_us(kinora, paths[1]))
    test_servers.close()
    return [
        at_most("POST → ready event of a clip of 30 s, copied", copied, "ms", READY_MAX_MS),
        at_most("POST → ready event of a clip of 30 s, encoded on demand", encoded, "ms", READY_MAX_MS),
        cost_against_baseline("first copied segment of a clip, of the source", ours, source, "us", SEGMENT_MAX),
        *on_demand.measure_case(bench, on_demand.Case("of a clip", create_encoded_clip, ENCODED_CLIP_START_S)),
    ]


def create_encoded_clip(kinora: Kinora, test_servers: TestServers, url: str) -> list[dict]:
    """A clip that begins between two keyframes, and its source."""
    film = kinora.create_media(url)
    test_servers.wait_event("video.media.ready", film["id"])
    video = {"type": "video", "url": f"fp_mediaId://{film['id']}", "startTime": ENCODED_CLIP_START_S}
    return [kinora.create_media("", inputs=[video]), film]


def create_clip(kinora: Kinora, media: str, start_s: float) -> dict:
    """The `data` of a new clip."""
    times = {"startTime": start_s, "endTime": start_s + DURATION_S}
    video = {"type": "video", "url": f"fp_mediaId://{media}", **times}
    return kinora.create_media("", inputs=[video])


def clip_ready_ms(kinora: Kinora, test_servers: TestServers, media: str, start_s: float) -> float:
    """From the request to the arrival of the ready event at the webhook."""
    begun = time.monotonic()
    clip = create_clip(kinora, media, start_s)["id"]
    took = test_servers.wait_event("video.media.ready", clip) - begun
    kinora.delete_media(clip)
    return took * 1000


def first_segment(kinora: Kinora, playback: str) -> str:
    """The path of the first segment of the copied video."""
    manifest = kinora.get(f"/{playback}.m3u8").decode()
    words = manifest.replace('"', "\n").splitlines()
    playlist = "/" + next(word for word in words if word.endswith("/video/playlist.m3u8"))
    return playlist.replace("playlist.m3u8", "0.m4s")


def fetch_us(kinora: Kinora, path: str) -> float:
    """The median of fetches over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", kinora.port, timeout=60)
    took = []
    for _ in range(FETCHES):
        begun = time.monotonic()
        connection.request("GET", path)
        connection.getresponse().read()
        took.append((time.monotonic() - begun) * 1e6)
    connection.close()
    return statistics.median(took)
