"""From the last byte to ready of a source whose pictures no player takes as they are: a first segment is made in between."""

from bench import Bench
from kinora import Kinora
from peers import Peers
from report import Row, percentile_at_most

ROUNDS = 20
PERCENT = 95
READY_MAX_MS = 3000


def measure(bench: Bench) -> list[Row]:
    """1080p30, a new media each round, with nothing else to do."""
    clip = bench.clips.hd_vp9()
    took_ms = []
    peers = Peers()
    with Kinora(bench, "coldready") as kinora:
        kinora.add_webhook(f"{peers.base}/webhook")
        for number in range(ROUNDS + 1):
            source = f"{number}.webm"
            media = kinora.create_media(peers.share(source, clip, hold=True))["id"]
            arrived = peers.wait_event("video.media.ready", media)
            if number > 0:  # the first round warms up
                took_ms.append((arrived - peers.last_byte_at[source]) * 1000)
            kinora.delete_media(media)
    peers.close()
    return [
        percentile_at_most(f"last byte → ready event, VP9 1080p30, p{PERCENT}", took_ms, PERCENT, "ms", READY_MAX_MS)
    ]
