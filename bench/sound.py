"""A whole track of sound encoded for players, against ffmpeg alone on the same file."""

import cpu
from bench import Bench
from kinora import Kinora
from peers import Peers
from places import OneMachine
from report import Row, cost_against_yardstick

ROUNDS = 5
RATIO_MAX = 1.05
DONE_WITHIN_S = 120


def measure(bench: Bench) -> list[Row]:
    """From ready, when the first segment is there, until the server rests; and the one call, in turn."""
    if not isinstance(bench.place, OneMachine):
        return []
    clip = bench.clips.ten_minutes_of_sound()
    target = bench.folder / "sound.mp4"
    call = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", str(clip), "-c:a", "aac", "-b:a", "128k"]
    ours, theirs = [], []
    peers = Peers()
    with Kinora(bench, "sound") as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(ROUNDS):
            cpu.wait_quiet(kinora.process.pid, DONE_WITHIN_S)
            media = kinora.create_media(peers.share(f"{number}.m4a", clip))["id"]
            peers.wait_event("video.media.ready", media)
            before = cpu.of_tree(kinora.process.pid)
            cpu.wait_quiet(kinora.process.pid, DONE_WITHIN_S)
            ours.append(cpu.of_tree(kinora.process.pid) - before)
            kinora.delete_media(media)
            theirs.append(cpu.of_call([*call, "-ar", "48000", "-ac", "2", str(target)]).cpu_s)
    peers.close()
    return [cost_against_yardstick("whole track of sound, 10 min, processor", ours, theirs, "s", RATIO_MAX)]
