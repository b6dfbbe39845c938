"""From last byte to ready of a source that must be encoded: its first segment is encoded in between."""

from bench import Bench
from kinora import Kinora
from report import Row, percentile_at_most
from test_servers import TestServers

ROUNDS = 20
PERCENT = 95
READY_MAX_MS = 3000


def measure(bench: Bench) -> list[Row]:
    """1080p30, a new media each round, on an idle server."""
    clip = bench.clips.hd_vp9()
    took_ms = []
    test_servers = TestServers()
    with Kinora(bench, "encoded-ready") as kinora:
        kinora.add_webhook(f"{test_servers.base}/webhook")
        for number in range(ROUNDS + 1):
            source = f"{number}.webm"
            media = kinora.create_media(test_servers.share(source, clip, delay_last_byte=True))["id"]
            arrived = test_servers.wait_event("video.media.ready", media)
            if number > 0:  # the first round warms up
                took_ms.append((arrived - test_servers.last_byte_at[source]) * 1000)
            kinora.delete_media(media)
    test_servers.close()
    return [
        percentile_at_most(f"last byte → ready event, VP9 1080p30, p{PERCENT}", took_ms, PERCENT, "ms", READY_MAX_MS)
    ]
