"""Sources as they are found in the world and no usual encoder writes them: tracks that cannot be played, colours that change, bytes that are missing in
front."""

import pathlib
import struct
from collections.abc import Callable

from clips import lavfi
from kinds import fields
from kinds.kind import AAC, X264, Kind, beside, both, made, picture, tone

PACKET = 188
"""Bytes of a packet of a transport stream."""
MPEG2 = "-c:v mpeg2video -g 12 -b:v 1M"


def colours_that_change(target: pathlib.Path) -> None:
    """BT.709, then BT.601."""
    parts = b""
    for colour, offset in (("bt709", 0), ("smpte170m", 4)):
        part = beside(target, f"{colour}.ts")
        described = f"-color_primaries {colour} -color_trc {colour} -colorspace {colour} -output_ts_offset {offset}"
        made(picture(size="320x180", rate="25"), MPEG2, described)(part)
        parts += part.read_bytes()
        part.unlink()
    target.write_bytes(parts)


def renamed(old: bytes, new: bytes, *recipe: str | list[str]) -> Callable[[pathlib.Path], object]:
    """A clip with one name in its bytes changed."""

    def write(target: pathlib.Path) -> None:
        made(*recipe)(target)
        target.write_bytes(target.read_bytes().replace(old, new, 1))

    return write


def without(pid: int) -> Callable[[pathlib.Path], object]:
    """A transport stream that announces a stream of which no packet comes."""

    def write(target: pathlib.Path) -> None:
        made(both(), X264, AAC)(target)
        data = target.read_bytes()
        packets = (data[at : at + PACKET] for at in range(0, len(data), PACKET))
        target.write_bytes(b"".join(p for p in packets if ((p[1] & 31) << 8 | p[2]) != pid))

    return write


def cut_in_front(count: int, *recipe: str | list[str]) -> Callable[[pathlib.Path], object]:
    def write(target: pathlib.Path) -> None:
        made(*recipe)(target)
        target.write_bytes(target.read_bytes()[count:])

    return write


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) & 1)


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at + 8 <= len(data):
        length = struct.unpack_from("<I", data, at + 4)[0]
        found.append((data[at : at + 4], data[at + 8 : at + 8 + length]))
        at += 8 + length + (length & 1)
    return found


def packed(target: pathlib.Path) -> None:
    """MPEG-4 Visual as DivX 5 wrote it: a frame and the B-frame behind it in one chunk, then a chunk that says that nothing was coded."""
    plain = beside(target, "plain.avi")
    made(picture(size="352x240", rate="25"), "-c:v mpeg4 -bf 1 -g 25 -b:v 800k")(plain)
    lists = [body for name, body in chunks(plain.read_bytes()[12:]) if name == b"LIST"]
    plain.unlink()
    head, movie = (next(body for body in lists if body.startswith(form)) for form in (b"hdrl", b"movi"))
    pictures = [body for name, body in chunks(movie[4:]) if name == b"00dc"]
    at = pictures[0].find(b"\0\0\1\xb2")
    at = at if at >= 0 else pictures[0].find(b"\0\0\1\xb6")
    behind = pictures[0].find(b"\0\0\1", at + 4) if pictures[0][at + 3] == 0xB2 else at
    pictures[0] = pictures[0][:at] + b"\0\0\1\xb2DivX503b1393p" + pictures[0][behind:]
    kinds = [data[data.find(b"\0\0\1\xb6") + 4] >> 6 for data in pictures]
    out, n = [], 0
    while n < len(pictures):
        if kinds[n + 1 : n + 2] == [2]:
            out += [(kinds[n], pictures[n] + pictures[n + 1]), (1, b"\0\0\1\xb6\x50\0\x7f\x7f")]
            n += 2
        else:
            out.append((kinds[n], pictures[n]))
            n += 1
    body, index = b"movi", b""
    for kind, data in out:
        index += b"00dc" + struct.pack("<III", 0x10 if kind == 0 else 0, len(body), len(data))
        body += chunk(b"00dc", data)
    head = head.replace(b"FMP4", b"DX50")
    target.write_bytes(chunk(b"RIFF", b"AVI " + chunk(b"LIST", head) + chunk(b"LIST", body) + chunk(b"idx1", index)))


KINDS = (
    Kind("colours that change in mid-stream", "colours.ts", colours_that_change, "F C E", "MPEG-2"),
    Kind(
        "sound of an unknown codec beside H.264",
        "qxyz.mp4",
        renamed(b"mp4a", b"qxyz", both(), X264, AAC),
        "A E",
        "qxyz",
        has_sound=False,
    ),
    Kind("a stream that is announced and never comes", "no-sound.ts", without(0x101), "F A E", "cannot be read"),
    Kind("MPEG-4 ASP with two pictures in a packet, in AVI", "packed.avi", packed, "F C E", "MPEG-4"),
    Kind(
        "H.264 in field pictures, each with a time",
        "fields.ts",
        lambda target: fields.transport_stream(target, times_a_frame=2),
        "F C E",
        "interlaced",
    ),
    Kind(
        "H.264 in field pictures, one time for two",
        "fields-one-time.ts",
        lambda target: fields.transport_stream(target, times_a_frame=1),
        "F C E",
        "interlaced",
    ),
    Kind(
        "transport stream that begins inside a packet", "cut.ts", cut_in_front(100, both(), X264, AAC), "F A",
    ),
    Kind(
        "programme stream that begins inside a pack",
        "cut.mpg",
        cut_in_front(3000, both(size="720x576", rate="25"), "-f dvd -c:v mpeg2video -g 12 -q:v 4 -c:a mp2"),
        "F C",
        "MPEG-2",
    ),
    Kind("G.723.1 beside H.264 in Matroska", "g723.mkv", made(both(), X264, "-ac 1 -ar 8000 -c:a g723_1 -b:a 6.3k"), "A", "G.723.1"),
    Kind("MPEG-1 without a container", "mpeg1.m1v", made(picture(rate="25"), "-c:v mpeg1video -q:v 4 -g 12", "-bf 2"), "F C E", "MPEG-1"),
    Kind("MPEG-2 without a container", "mpeg2.m2v", made(picture(rate="25"), MPEG2, "-bf 2"), "F C E", "MPEG-2"),
    Kind("VP8 in IVF", "vp8.ivf", made(picture(), "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 1M"), "F C E", "VP8"),
    Kind("DV", "dv.dv", made(picture(size="720x576", rate="25"), "-c:v dvvideo -pix_fmt yuv420p"), "F C E", "DV"),
    Kind("PCM in AIFF", "pcm.aiff", made(tone(rate=44100), "-c:a pcm_s16be"), "F D", "PCM"),
    Kind("ALAC in CAF", "alac.caf", made(tone(rate=44100), "-c:a alac"), "F D", "ALAC"),
    Kind("G.711 in AU", "mulaw.au", made(tone(rate=8000), "-c:a pcm_mulaw"), "F D", "G.711"),
    Kind("PCM in Wave64", "pcm.w64", made(tone(rate=44100), "-c:a pcm_s24le"), "F D", "PCM"),
    Kind("IMA ADPCM in WAV", "adpcm.wav", made(tone(rate=8000), "-c:a adpcm_ima_wav"), "F D", "ADPCM"),
    Kind(
        "PCM of 12 channels in WAV",
        "twelve.wav",
        made(lavfi("aevalsrc='" + "|".join([f"0.1*sin({220 + 20 * n}*2*PI*t)" for n in range(12)]) + "':s=48000:d=4"), "-c:a pcm_s16le"),
        "F D",
        "12 channels",
        as_in="pcm.mka",
    ),
    Kind("MPEG audio layer II", "mp2.mp2", made(tone(rate=44100), "-c:a mp2"), "F D", "MPEG audio"),
    Kind("AC-3", "ac3.ac3", made(tone(), "-c:a ac3"), "F D", "AC-3"),
    Kind("E-AC-3", "eac3.eac3", made(tone(), "-c:a eac3"), "F D", "E-AC-3"),
    Kind("DTS", "dts.dts", made(tone(), "-ac 2 -c:a dca -strict experimental"), "F D", "DTS"),
    Kind("WavPack", "wavpack.wv", made(tone(rate=44100), "-c:a wavpack"), "F D", "WavPack"),
    Kind("Speex in Ogg", "speex.ogg", made(tone(rate=16000), "-c:a libspeex"), "F D", "Speex"),
    Kind("FLAC behind an ID3 tag", "id3.flac", made(tone(rate=44100), "-c:a flac -write_id3v2 1 -metadata title=x"), "F D", "FLAC"),
    Kind("AAC in ADTS behind an ID3 tag", "id3.aac", made(tone(), AAC, "-write_id3v2 1 -metadata title=x"), "F D"),
    Kind("H.264 without a container", "h264.h264", made(picture(), X264), "G", "H.264 video without a container"),
)
