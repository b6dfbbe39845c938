"""The measurement of loudness after a media is ready, against ffmpeg's filter alone on the same file."""

import pathlib

import cpu_time
from bench import Bench
from deployments import OneMachine
from kinora import Kinora
from report import Row, cost_against_baseline, figure
from test_servers import TestServers

ROUNDS = 5
RATIO_MAX = 1.1
READY_ROUNDS = 21
IDLE_TIMEOUT_S = 120


def measure(bench: Bench) -> list[Row]:
    """CPU time from ready to the measurement, alternately with one ffmpeg call, and until all is encoded.

    Then the ready event with and without it.
    """
    if not isinstance(bench.deployment, OneMachine):
        return []
    clips = {"speech": bench.clips.ten_minutes_of_speech(), "even": bench.clips.ten_minutes_of_even_audio()}
    ours = {name: [] for name in clips}
    theirs = {name: [] for name in clips}
    encoded = []
    test_servers = TestServers()
    with Kinora(bench, "loudness") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS):
            for name, clip in clips.items():
                cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
                url = test_servers.share(f"{name}-{number}.m4a", clip)
                media = kinora.create_media(url, optimizeAudio=True)["id"]
                test_servers.wait_event("video.media.ready", media)
                before = cpu_time.of_tree(kinora.process.pid)
                test_servers.wait_event("video.media.optimizeAudio.ready", media)
                ours[name].append(cpu_time.of_tree(kinora.process.pid) - before)
                cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
                encoded.append(cpu_time.of_tree(kinora.process.pid) - before)
                kinora.delete_media(media)
                theirs[name].append(cpu_time.of_command(measure_call(clip)).cpu_s)
        with_it, without = [], []
        short = bench.clips.one_minute()
        for number in range(READY_ROUNDS):
            for optimize, took_ms in ((True, with_it), (False, without)):
                url = test_servers.share(f"{number}-{optimize}.mp4", short, delay_last_byte=True)
                media = kinora.create_media(url, optimizeAudio=optimize)["id"]
                ready = test_servers.wait_event("video.media.ready", media)
                took_ms.append((ready - test_servers.last_byte_at[url.rpartition("/")[2]]) * 1000)
                kinora.delete_media(media)
                cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
    test_servers.close()
    later = [one - other for one, other in zip(with_it, without, strict=True)]
    return [
        cost_against_baseline(
            "loudness of 10 min of even audio, CPU time", ours["even"], theirs["even"], "s", RATIO_MAX
        ),
        cost_against_baseline(
            "loudness of 10 min of speech, with a limiter, CPU time", ours["speech"], theirs["speech"], "s", RATIO_MAX
        ),
        figure("loudness and encode of 10 min of audio, CPU time", encoded, "s"),
        figure("last byte → ready event with optimizeAudio", with_it, "ms"),
        figure("last byte → ready event without it", without, "ms"),
        figure("how much later the event is", later, "ms"),
    ]


def measure_call(clip: pathlib.Path) -> list[str]:
    """One ffmpeg call that measures the loudness and the true peak of a file."""
    call = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(clip), "-ar", "48000", "-ac", "2"]
    return [*call, "-af", "ebur128=peak=true", "-f", "null", "-"]
