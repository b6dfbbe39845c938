"""Encode of a whole audio track, against ffmpeg alone on the same file."""

import cpu_time
from bench import Bench
from deployments import OneMachine
from kinora import Kinora
from report import Row, cost_against_baseline
from test_servers import TestServers

ROUNDS = 5
RATIO_MAX = 1.05
IDLE_TIMEOUT_S = 120


def measure(bench: Bench) -> list[Row]:
    """CPU time from ready, with the first segment stored, until idle; alternately with one ffmpeg call."""
    if not isinstance(bench.deployment, OneMachine):
        return []
    clip = bench.clips.ten_minutes_audio()
    target = bench.folder / "audio.mp4"
    call = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(clip), "-c:a", "aac", "-b:a", "128k"]
    ours, theirs = [], []
    test_servers = TestServers()
    with Kinora(bench, "audio") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS):
            cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
            media = kinora.create_media(test_servers.share(f"{number}.m4a", clip))["id"]
            test_servers.wait_event("video.media.ready", media)
            before = cpu_time.of_tree(kinora.process.pid)
            cpu_time.wait_idle(kinora.process.pid, IDLE_TIMEOUT_S)
            ours.append(cpu_time.of_tree(kinora.process.pid) - before)
            kinora.delete_media(media)
            theirs.append(cpu_time.of_command([*call, "-ar", "48000", "-ac", "2", str(target)]).cpu_s)
    test_servers.close()
    return [cost_against_baseline("whole audio track, 10 min, CPU time", ours, theirs, "s", RATIO_MAX)]
