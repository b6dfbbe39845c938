"""Sources that players can play unchanged: their video is copied."""

import pathlib

from clips import ffmpeg
from kinds.kind import AAC, FASTSTART, X264, X265, SourceKind, both, made, temporary_file, test_video, tone

HDR10 = "log-level=none:keyint=60:hdr10=1:repeat-headers=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"
HLG = "log-level=none:keyint=60:repeat-headers=1:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc"
SDR = "log-level=none:keyint=60"
FRAGMENTS = "-movflags +frag_keyframe+empty_moov+default_base_moof"


def rotated(target: pathlib.Path) -> None:
    """Some frames are missing, and the camera was in portrait orientation."""
    upright = temporary_file(target, "upright.mp4")
    drop = "select='not(between(mod(n,7),2,3))*not(between(n,60,90))'"
    ffmpeg(*test_video(rate="60"), "-vf", drop, "-fps_mode", "vfr", *X264, upright)
    ffmpeg("-i", upright, "-c", "copy", "-metadata:s:v:0", "rotate=90", target)
    upright.unlink()


def with_cover(target: pathlib.Path) -> None:
    cover = temporary_file(target, "cover.jpg")
    ffmpeg(*test_video(size="160x160", seconds=1), "-frames:v", "1", cover)
    maps = "-map 0 -map 1 -map 2 -disposition:v:1 attached_pic -c:v:1 mjpeg".split()
    ffmpeg(*both(), "-i", cover, *maps, *[word if word != "-c:v" else "-c:v:0" for word in X264], *AAC, target)
    cover.unlink()


KINDS = (
    SourceKind("H.264 and AAC in MP4, index in front", "h264.mp4", made(both(size="1280x720"), X264, AAC, FASTSTART), "A"),
    SourceKind("H.264 and AAC in MP4, index at the end", "h264-moov-last.mp4", made(both(), X264, AAC), "A"),
    SourceKind("MP4 in fragments", "fragments.mp4", made(both(), X264, AAC, FRAGMENTS), "A"),
    SourceKind(
        "MP4 with GOPs of 15 s",
        "gop-15s.mp4",
        made(both(size="320x180", seconds=20), X264, "-g 450 -keyint_min 450", AAC),
        "A",
    ),
    SourceKind("variable frame rate, portrait by rotation, no audio", "vfr-rotated.mp4", rotated, "A E"),
    SourceKind("non-square pixels", "anamorphic.mp4", made(both(size="480x360"), "-vf setsar=4/3", X264, AAC), "A"),
    SourceKind("23.976 frames per second", "23.976.mp4", made(both(rate="24000/1001"), X264, "-g 48", AAC), "A"),
    SourceKind("59.94 frames per second", "59.94.mp4", made(both(rate="60000/1001"), X264, "-g 120", AAC), "A"),
    SourceKind("120 frames per second", "120.mp4", made(both(rate="120"), X264, "-g 240", AAC), "A"),
    SourceKind("64x64", "tiny.mp4", made(both(size="64x64"), X264, AAC), "A"),
    SourceKind("no audio", "silent.mp4", made(test_video(), X264, FASTSTART), "A E"),
    SourceKind(
        "two audio tracks",
        "two-languages.mp4",
        made(
            both(),
            tone(hertz=330),
            "-map 0 -map 1 -map 2 -metadata:s:a:0 language=eng -metadata:s:a:1 language=deu",
            X264,
            AAC,
        ),
        "A",
    ),
    SourceKind("video with cover art", "cover.mp4", with_cover, "A"),
    SourceKind("QuickTime with a timecode track", "timecode.mov", made(both(), X264, AAC, "-timecode 01:00:00:00"), "A"),
    SourceKind("H.264 and AAC in Matroska", "h264.mkv", made(both(), X264, AAC), "A"),
    SourceKind(
        "Matroska without durations, as from live recorders",
        "live.mkv",
        made(both(), X264, AAC, "-f matroska -live 1"),
        "A",
    ),
    SourceKind("HEVC, 8-bit", "hevc.mp4", made(both(), X265, "-pix_fmt yuv420p -tag:v hvc1 -x265-params", [SDR], AAC), "B"),
    SourceKind(
        "HEVC, 10-bit, HDR10",
        "hdr10.mp4",
        made(test_video(), X265, "-pix_fmt yuv420p10le -tag:v hvc1 -x265-params", [HDR10]),
        "B E",
    ),
    SourceKind(
        "HEVC, 10-bit, HLG",
        "hlg.mp4",
        made(test_video(), X265, "-pix_fmt yuv420p10le -tag:v hvc1 -x265-params", [HLG]),
        "B E",
    ),
    SourceKind(
        "HEVC with in-band parameter sets (`hev1`)",
        "hev1.mp4",
        made(test_video(), X265, "-pix_fmt yuv420p -tag:v hev1 -x265-params", [SDR]),
        "B E",
    ),
    SourceKind("HEVC in Matroska", "hevc.mkv", made(both(), X265, "-pix_fmt yuv420p -x265-params", [SDR], AAC), "B"),
    SourceKind(
        "AV1 and Opus in MP4",
        "av1.mp4",
        made(both(), "-c:v libaom-av1 -usage realtime -cpu-used 8 -g 60 -pix_fmt yuv420p -c:a libopus"),
        "B",
    ),
    SourceKind(
        "AV1 and Opus in WebM",
        "av1.webm",
        made(both(), "-c:v libaom-av1 -usage realtime -cpu-used 8 -g 60 -pix_fmt yuv420p -c:a libopus"),
        "B",
    ),
)
