"""Audio-only sources."""

import pathlib

from clips import ffmpeg
from kinds.kind import AAC, SourceKind, made, temporary_file, test_video, tone


def with_cover(target: pathlib.Path) -> None:
    cover = temporary_file(target, "cover.jpg")
    ffmpeg(*test_video(size="160x160", seconds=1), "-frames:v", "1", cover)
    ffmpeg(*tone(), "-i", cover, *"-map 0 -map 1 -c:v mjpeg -disposition:v attached_pic".split(), *AAC, target)
    cover.unlink()


KINDS = (
    SourceKind("AAC in M4A", "aac.m4a", made(tone(rate=44100), AAC), "D"),
    SourceKind("AAC in M4A with cover art", "cover.m4a", with_cover, "D"),
    SourceKind("ALAC in M4A", "alac.m4a", made(tone(rate=44100), "-c:a alac"), "D"),
    SourceKind("Opus in WebM", "opus.webm", made(tone(), "-c:a libopus"), "D"),
    SourceKind("PCM in Matroska", "pcm.mka", made(tone(), "-c:a pcm_s24le"), "D"),
    SourceKind("WAV", "pcm.wav", made(tone(rate=44100), "-c:a pcm_s16le"), "F D"),
    SourceKind("MP3", "mp3.mp3", made(tone(rate=44100), "-c:a libmp3lame"), "F D"),
    SourceKind("FLAC", "flac.flac", made(tone(rate=44100), "-c:a flac"), "F D"),
    SourceKind("AAC in ADTS", "adts.aac", made(tone(), AAC), "F D"),
    SourceKind("Vorbis in Ogg", "vorbis.ogg", made(tone(rate=44100), "-c:a libvorbis"), "F D"),
    SourceKind("Opus in Ogg", "opus.ogg", made(tone(), "-c:a libopus"), "F D"),
    SourceKind("WMA", "wma.wma", made(tone(rate=44100), "-c:a wmav2"), "F D"),
    SourceKind("AC-3 in a transport stream", "ac3.ts", made(tone(), "-c:a ac3"), "F D"),
)
