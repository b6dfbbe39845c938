"""Video with a watermark, on demand and in the background, against one ffmpeg call with the same filter."""

import pathlib

import backfill
import on_demand
from bench import Bench
from clips import ffmpeg, lavfi
from kinora import Kinora
from report import Row
from single_ffmpeg import WATERMARK_MARGIN
from test_servers import TestServers


def measure(bench: Bench) -> list[Row]:
    """As `on_demand.measure` and `backfill.measure`, with a logo in the lower right corner."""
    logo = bench.clips.made("logo.png", make_logo)

    def create(kinora: Kinora, test_servers: TestServers, url: str) -> list[dict]:
        margin = f"{WATERMARK_MARGIN * 100:g}%"
        placement = {"xAlign": "right", "xMargin": margin, "yAlign": "bottom", "yMargin": margin}
        watermark = {"type": "watermark", "url": test_servers.share("logo.png", logo), "placement": placement}
        return [kinora.create_media("", inputs=[{"type": "video", "url": url}, watermark])]

    case = on_demand.Case("with a watermark", create, watermark=logo)
    return [*on_demand.measure_case(bench, case), *backfill.measure_case(bench, case)]


def make_logo(part: pathlib.Path) -> None:
    """320x120 pixels, half transparent."""
    ffmpeg(*lavfi("testsrc2=s=320x120"), "-vf", "format=rgba,colorchannelmixer=aa=0.5", "-frames:v", "1", part)
