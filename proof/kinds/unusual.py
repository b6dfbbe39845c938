"""Real-world sources of unusual encoders: unplayable tracks, changing colours, missing first bytes."""

import pathlib
import struct
from collections.abc import Callable

from clips import lavfi
from kinds import interlaced
from kinds.kind import AAC, X264, SourceKind, both, made, temporary_file, test_video, tone

PACKET = 188
"""Bytes of a packet of a transport stream."""
MPEG2 = "-c:v mpeg2video -g 12 -b:v 1M"


def colours_that_change(target: pathlib.Path) -> None:
    """BT.709, then BT.601."""
    parts = b""
    for colour, offset in (("bt709", 0), ("smpte170m", 4)):
        part = temporary_file(target, f"{colour}.ts")
        described = f"-color_primaries {colour} -color_trc {colour} -colorspace {colour} -output_ts_offset {offset}"
        made(test_video(size="320x180", rate="25"), MPEG2, described)(part)
        parts += part.read_bytes()
        part.unlink()
    target.write_bytes(parts)


def renamed(old: bytes, new: bytes, *recipe: str | list[str]) -> Callable[[pathlib.Path], object]:
    """A clip with one box or codec name replaced."""

    def write(target: pathlib.Path) -> None:
        made(*recipe)(target)
        target.write_bytes(target.read_bytes().replace(old, new, 1))

    return write


def without(pid: int) -> Callable[[pathlib.Path], object]:
    """A transport stream that announces a stream without packets."""

    def write(target: pathlib.Path) -> None:
        made(both(), X264, AAC)(target)
        data = target.read_bytes()
        packets = (data[at : at + PACKET] for at in range(0, len(data), PACKET))
        target.write_bytes(b"".join(p for p in packets if ((p[1] & 31) << 8 | p[2]) != pid))

    return write


def drop_first_bytes(count: int, *recipe: str | list[str]) -> Callable[[pathlib.Path], object]:
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
    """MPEG-4 Visual as by DivX 5: a frame and the next B-frame in one chunk, then an empty frame."""
    plain = temporary_file(target, "plain.avi")
    made(test_video(size="352x240", rate="25"), "-c:v mpeg4 -bf 1 -g 25 -b:v 800k")(plain)
    lists = [body for name, body in chunks(plain.read_bytes()[12:]) if name == b"LIST"]
    plain.unlink()
    head, movie = (next(body for body in lists if body.startswith(form)) for form in (b"hdrl", b"movi"))
    frames = [body for name, body in chunks(movie[4:]) if name == b"00dc"]
    at = frames[0].find(b"\0\0\1\xb2")
    at = at if at >= 0 else frames[0].find(b"\0\0\1\xb6")
    behind = frames[0].find(b"\0\0\1", at + 4) if frames[0][at + 3] == 0xB2 else at
    frames[0] = frames[0][:at] + b"\0\0\1\xb2DivX503b1393p" + frames[0][behind:]
    kinds = [data[data.find(b"\0\0\1\xb6") + 4] >> 6 for data in frames]
    out, n = [], 0
    while n < len(frames):
        if kinds[n + 1 : n + 2] == [2]:
            out += [(kinds[n], frames[n] + frames[n + 1]), (1, b"\0\0\1\xb6\x50\0\x7f\x7f")]
            n += 2
        else:
            out.append((kinds[n], frames[n]))
            n += 1
    body, index = b"movi", b""
    for kind, data in out:
        index += b"00dc" + struct.pack("<III", 0x10 if kind == 0 else 0, len(body), len(data))
        body += chunk(b"00dc", data)
    head = head.replace(b"FMP4", b"DX50")
    target.write_bytes(chunk(b"RIFF", b"AVI " + chunk(b"LIST", head) + chunk(b"LIST", body) + chunk(b"idx1", index)))


KINDS = (
    SourceKind("colour space that changes mid-stream", "colours.ts", colours_that_change, "F C E", "MPEG-2"),
    SourceKind(
        "H.264 with audio of an unknown codec",
        "qxyz.mp4",
        renamed(b"mp4a", b"qxyz", both(), X264, AAC),
        "A E",
        "qxyz",
        has_audio=False,
    ),
    SourceKind("announced audio stream without data", "no-sound.ts", without(0x101), "F A E", "cannot be read"),
    SourceKind("MPEG-4 ASP with two frames in a packet, in AVI", "packed.avi", packed, "F C E", "MPEG-4"),
    SourceKind(
        "H.264 field pairs (PAFF), each field with a timestamp",
        "fields.ts",
        lambda target: interlaced.transport_stream(target, timestamps_a_frame=2),
        "F C E",
        "interlaced",
    ),
    SourceKind(
        "H.264 field pairs (PAFF), one timestamp per pair",
        "fields-one-time.ts",
        lambda target: interlaced.transport_stream(target, timestamps_a_frame=1),
        "F C E",
        "interlaced",
    ),
    SourceKind(
        "transport stream that starts inside a packet", "cut.ts", drop_first_bytes(100, both(), X264, AAC), "F A",
    ),
    SourceKind(
        "program stream that starts inside a pack",
        "cut.mpg",
        drop_first_bytes(3000, both(size="720x576", rate="25"), "-f dvd -c:v mpeg2video -g 12 -q:v 4 -c:a mp2"),
        "F C",
        "MPEG-2",
    ),
    SourceKind("H.264 and G.723.1 in Matroska", "g723.mkv", made(both(), X264, "-ac 1 -ar 8000 -c:a g723_1 -b:a 6.3k"), "A", "G.723.1"),
    SourceKind("MPEG-1 without a container", "mpeg1.m1v", made(test_video(rate="25"), "-c:v mpeg1video -q:v 4 -g 12", "-bf 2"), "F C E", "MPEG-1"),
    SourceKind("MPEG-2 without a container", "mpeg2.m2v", made(test_video(rate="25"), MPEG2, "-bf 2"), "F C E", "MPEG-2"),
    SourceKind("VP8 in IVF", "vp8.ivf", made(test_video(), "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 1M"), "F C E", "VP8"),
    SourceKind("DV", "dv.dv", made(test_video(size="720x576", rate="25"), "-c:v dvvideo -pix_fmt yuv420p"), "F C E", "DV"),
    SourceKind("PCM in AIFF", "pcm.aiff", made(tone(rate=44100), "-c:a pcm_s16be"), "F D", "PCM"),
    SourceKind("ALAC in CAF", "alac.caf", made(tone(rate=44100), "-c:a alac"), "F D", "ALAC"),
    SourceKind("G.711 in AU", "mulaw.au", made(tone(rate=8000), "-c:a pcm_mulaw"), "F D", "G.711"),
    SourceKind("PCM in Wave64", "pcm.w64", made(tone(rate=44100), "-c:a pcm_s24le"), "F D", "PCM"),
    SourceKind("IMA ADPCM in WAV", "adpcm.wav", made(tone(rate=8000), "-c:a adpcm_ima_wav"), "F D", "ADPCM"),
    SourceKind(
        "PCM of 12 channels in WAV",
        "twelve.wav",
        made(lavfi("aevalsrc='" + "|".join([f"0.1*sin({220 + 20 * n}*2*PI*t)" for n in range(12)]) + "':s=48000:d=4"), "-c:a pcm_s16le"),
        "F D",
        "12 channels",
        reference_file="pcm.mka",
    ),
    SourceKind("MPEG audio layer II", "mp2.mp2", made(tone(rate=44100), "-c:a mp2"), "F D", "MPEG audio"),
    SourceKind("AC-3", "ac3.ac3", made(tone(), "-c:a ac3"), "F D", "AC-3"),
    SourceKind("E-AC-3", "eac3.eac3", made(tone(), "-c:a eac3"), "F D", "E-AC-3"),
    SourceKind("DTS", "dts.dts", made(tone(), "-ac 2 -c:a dca -strict experimental"), "F D", "DTS"),
    SourceKind("WavPack", "wavpack.wv", made(tone(rate=44100), "-c:a wavpack"), "F D", "WavPack"),
    SourceKind("Speex in Ogg", "speex.ogg", made(tone(rate=16000), "-c:a libspeex"), "F D", "Speex"),
    SourceKind("FLAC behind an ID3 tag", "id3.flac", made(tone(rate=44100), "-c:a flac -write_id3v2 1 -metadata title=x"), "F D", "FLAC"),
    SourceKind("AAC in ADTS behind an ID3 tag", "id3.aac", made(tone(), AAC, "-write_id3v2 1 -metadata title=x"), "F D"),
    SourceKind("H.264 without a container", "h264.h264", made(test_video(), X264), "G", "H.264 video without a container"),
)
