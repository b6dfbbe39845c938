"""Sources without pictures."""

import pathlib

from clips import ffmpeg
from kinds.kind import AAC, Kind, beside, made, picture, tone


def with_cover(target: pathlib.Path) -> None:
    cover = beside(target, "cover.jpg")
    ffmpeg(*picture(size="160x160", seconds=1), "-frames:v", "1", cover)
    ffmpeg(*tone(), "-i", cover, *"-map 0 -map 1 -c:v mjpeg -disposition:v attached_pic".split(), *AAC, target)
    cover.unlink()


KINDS = (
    Kind("AAC in M4A", "aac.m4a", made(tone(rate=44100), AAC), "D"),
    Kind("AAC in M4A with a cover picture", "cover.m4a", with_cover, "D"),
    Kind("ALAC in M4A", "alac.m4a", made(tone(rate=44100), "-c:a alac"), "D"),
    Kind("Opus in WebM", "opus.webm", made(tone(), "-c:a libopus"), "D"),
    Kind("PCM in Matroska", "pcm.mka", made(tone(), "-c:a pcm_s24le"), "D"),
    Kind("WAV", "pcm.wav", made(tone(rate=44100), "-c:a pcm_s16le"), "F D"),
    Kind("MP3", "mp3.mp3", made(tone(rate=44100), "-c:a libmp3lame"), "F D"),
    Kind("FLAC", "flac.flac", made(tone(rate=44100), "-c:a flac"), "F D"),
    Kind("AAC in ADTS", "adts.aac", made(tone(), AAC), "F D"),
    Kind("Vorbis in Ogg", "vorbis.ogg", made(tone(rate=44100), "-c:a libvorbis"), "F D"),
    Kind("Opus in Ogg", "opus.ogg", made(tone(), "-c:a libopus"), "F D"),
    Kind("WMA", "wma.wma", made(tone(rate=44100), "-c:a wmav2"), "F D"),
    Kind("AC-3 in a transport stream", "ac3.ts", made(tone(), "-c:a ac3"), "F D"),
)
