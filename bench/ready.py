"""From the last byte of a source to the ready event at a webhook: short and long media of one kind.

The source keeps its last byte back until all others have been taken: what counts is what the server does then, not the
speed of the network in front.
"""

import statistics

from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, at_most, spread

ROUNDS = 7
READY_MAX_MS = 300
MOOV_LAST_MAX_MS = 500
LONG_OVER_SHORT_MAX = 1.5


def measure(bench: Bench) -> list[Row]:
    """Each round takes in each clip once; the clips change places from round to round with what the machine does."""
    clips = {
        "1min": bench.clips.one_minute(),
        "2h": bench.clips.two_hours(),
        "2h-moov-last": bench.clips.two_hours_moov_last(),
    }
    took_ms: dict[str, list[float]] = {name: [] for name in clips}
    peers = Peers()
    with Kinora(bench.kinora, bench.folder / "ready") as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(ROUNDS + 1):
            for name, path in clips.items():
                source = f"{name}-{number}.mp4"
                media = kinora.create_media(peers.share(source, path, hold=True))["id"]
                arrived = peers.wait_event("video.media.ready", media)
                if number > 0:  # the first round warms up
                    took_ms[name].append((arrived - peers.last_byte_at[source]) * 1000)
                kinora.delete_media(media)
    peers.close()

    short, long = took_ms["1min"], took_ms["2h"]
    ratio = statistics.median(long) / statistics.median(short)
    return [
        at_most("last byte → ready event, 1 min", short, "ms", READY_MAX_MS),
        at_most("last byte → ready event, 2 h", long, "ms", READY_MAX_MS),
        Row(
            "last byte → ready event, 2 h over 1 min",
            spread(long, "ms"),
            spread(short, "ms"),
            f"{ratio:.2f}x",
            f"≤ {LONG_OVER_SHORT_MAX}x",
            ratio <= LONG_OVER_SHORT_MAX,
        ),
        at_most("last byte → ready event, 2 h, moov at the end", took_ms["2h-moov-last"], "ms", MOOV_LAST_MAX_MS),
    ]
