"""Clips for the benchmarks, made once by ffmpeg and cached.

Sizes, tables and sample counts are those of a real encoder. Knows no server.
"""

import dataclasses
import pathlib
import subprocess
from collections.abc import Callable

from padded_clip import pad

MINUTES_2H = 120


@dataclasses.dataclass(frozen=True)
class Clips:
    """The cache of clips. Each method makes its clip when it is missing; that may take a minute."""

    folder: pathlib.Path

    def one_minute(self) -> pathlib.Path:
        """360p, 1 min, `moov` in front."""
        return self.made("360p-1min.mp4", lambda part: remux(self._minute(), part, "-movflags", "+faststart"))

    def two_hours(self) -> pathlib.Path:
        """The same minute 120 times, `moov` in front."""
        return self.made(
            "360p-2h.mp4", lambda part: remux(self._two_hours_moov_last(), part, "-movflags", "+faststart")
        )

    def two_hours_moov_last(self) -> pathlib.Path:
        """The same, `moov` after the samples, as cameras and ffmpeg write it by default."""
        return self._two_hours_moov_last()

    def ten_minutes_720p(self) -> pathlib.Path:
        """720p30, 10 min, a keyframe every 2 s."""
        video_source, audio_source = "testsrc2=s=1280x720:r=30:d=600", "anoisesrc=d=600:c=pink:a=0.3:r=48000"
        encoded = [*video("ultrafast", 26), "-keyint_min", "60", "-sc_threshold", "0", *audio("128k")]
        return self.made(
            "720p-10min.mp4",
            lambda part: ffmpeg(*lavfi(video_source), *lavfi(audio_source), *encoded, "-movflags", "+faststart", part),
        )

    def hd(self) -> pathlib.Path:
        """1080p30, 12 s, a keyframe every 2 s: H.264 and AAC."""
        fixed = [*video("veryfast", 23), "-keyint_min", "60", "-sc_threshold", "0"]
        recipe = [*self._hd(12), *fixed, *audio("128k"), "-movflags", "+faststart"]
        return self.made("1080p-h264.mp4", lambda part: ffmpeg(*recipe, part))

    def hd_light(self) -> pathlib.Path:
        """The same at 5 Mbit/s: low enough that players start with the copy."""
        fixed = [*video("veryfast", 23), "-keyint_min", "60", "-sc_threshold", "0", "-maxrate", "5M", "-bufsize", "5M"]
        recipe = [*self._hd(12), *fixed, *audio("128k"), "-movflags", "+faststart"]
        return self.made("1080p-h264-5mbit.mp4", lambda part: ffmpeg(*recipe, part))

    def hd_24_seconds(self) -> pathlib.Path:
        """`hd` twice."""
        return self.made(
            "1080p-h264-24s.mp4",
            lambda part: ffmpeg("-stream_loop", "1", "-i", self.hd(), "-c", "copy", "-movflags", "+faststart", part),
        )

    def hd_vp9(self) -> pathlib.Path:
        """1080p30, 12 s: VP9 and Opus, which not every player supports."""
        fast = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -row-mt 1 -b:v 4M -g 120 -c:a libopus".split()
        return self.made("1080p-vp9.webm", lambda part: ffmpeg(*self._hd(12), *fast, part))

    def hd_prores(self) -> pathlib.Path:
        """1080p30, 6 s: ProRes and PCM, as editors write it."""
        options = "-c:v prores_ks -profile:v 2 -pix_fmt yuv422p10le -c:a pcm_s16le".split()
        return self.made("1080p-prores.mov", lambda part: ffmpeg(*self._hd(6), *options, part))

    def ten_minutes_audio(self) -> pathlib.Path:
        """Audio only, 10 min of ALAC, which no player supports."""
        recipe = [*lavfi("anoisesrc=d=600:c=pink:a=0.3:r=48000"), "-c:a", "alac", "-ac", "2", "-movflags", "+faststart"]
        return self.made("alac-10min.m4a", lambda part: ffmpeg(*recipe, part))

    def ten_minutes_of_speech(self) -> pathlib.Path:
        """AAC, 10 min, quiet, with the syllables and pauses of speech."""
        source = "anoisesrc=d=600:c=pink:a=0.1:r=48000,tremolo=f=4:d=0.9,volume='if(lt(mod(t,5),4),1,0.02)':eval=frame"
        recipe = [*lavfi(source), *audio("128k"), "-movflags", "+faststart"]
        return self.made("speech-10min.m4a", lambda part: ffmpeg(*recipe, part))

    def ten_minutes_of_even_audio(self) -> pathlib.Path:
        """AAC, 10 min, quiet, with peaks only 11 dB above its loudness: levelling needs no limiter."""
        recipe = [*lavfi("anoisesrc=d=600:c=pink:a=0.1:r=48000"), *audio("128k"), "-movflags", "+faststart"]
        return self.made("even-10min.m4a", lambda part: ffmpeg(*recipe, part))

    def _hd(self, seconds: int) -> list[str]:
        return [
            *lavfi(f"testsrc2=s=1920x1080:r=30:d={seconds},noise=alls=8:allf=t"),
            *lavfi(f"sine=f=440:r=48000:d={seconds}"),
        ]

    def two_gigabytes(self) -> pathlib.Path:
        """At least 2 GB of 720p30 at about 50 Mbit/s."""

        def make(part: pathlib.Path) -> None:
            piece = self.made("720p-noise.mp4", encode_piece)
            loops = -(-(2 * 10**9) // piece.stat().st_size)
            ffmpeg("-stream_loop", str(loops - 1), "-i", piece, "-c", "copy", "-movflags", "+faststart", part)

        def encode_piece(part: pathlib.Path) -> None:
            video_source = "testsrc2=s=1280x720:r=30:d=20,noise=alls=40:allf=t"
            ffmpeg(*lavfi(video_source), *video("ultrafast", 20), "-maxrate", "50M", "-bufsize", "50M", part)

        return self.made("720p-2gb.mp4", make)

    def padded(self, length: int) -> pathlib.Path:
        """A minute, padded with a `free` box to this length in bytes."""
        return self.made(f"padded-{length}.mp4", lambda part: pad(self.one_minute(), part, length))

    def _minute(self) -> pathlib.Path:
        video_source, audio_source = "testsrc2=s=640x360:r=30:d=60", "sine=f=440:r=48000:d=60"
        return self.made(
            "360p-piece.mp4",
            lambda part: ffmpeg(*lavfi(video_source), *lavfi(audio_source), *video("ultrafast", 40), *audio("64k"), part),
        )

    def _two_hours_moov_last(self) -> pathlib.Path:
        def make(part: pathlib.Path) -> None:
            # Looped separately: a looped file with both tracks has an audio gap at every joint.
            video_source = self.made(
                "360p-piece-video.mp4", lambda part: ffmpeg("-i", self._minute(), "-map", "0:v", "-c", "copy", part)
            )
            packets = self.made(
                "360p-piece-audio.aac",
                lambda part: ffmpeg("-i", self._minute(), "-map", "0:a", "-c", "copy", "-f", "adts", part),
            )
            audio_track = self.made("360p-2h-audio.aac", lambda part: part.write_bytes(packets.read_bytes() * MINUTES_2H))
            looped = ["-stream_loop", str(MINUTES_2H - 1), "-i", video_source, "-f", "aac", "-i", audio_track]
            ffmpeg(*looped, "-map", "0:v", "-map", "1:a", "-c", "copy", "-t", str(MINUTES_2H * 60), part)

        return self.made("360p-2h-moov-last.mp4", make)

    def made(self, name: str, make: Callable[[pathlib.Path], object]) -> pathlib.Path:
        """The file with this name, made when it is missing. It is renamed once complete."""
        path = self.folder / name
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            part = path.with_stem(path.stem + ".part")
            print(f"making {path.name} ...", flush=True)
            make(part)
            part.rename(path)
        return path


def lavfi(source: str) -> list[str]:
    return ["-f", "lavfi", "-i", source]


def video(preset: str, quality: int) -> list[str]:
    return ["-c:v", "libx264", "-preset", preset, "-crf", str(quality), "-g", "60", "-bf", "2", "-pix_fmt", "yuv420p"]


def audio(rate: str) -> list[str]:
    return ["-c:a", "aac", "-b:a", rate, "-ac", "2"]


def remux(source: pathlib.Path, target: pathlib.Path, *options: str) -> None:
    ffmpeg("-i", source, "-map", "0", "-c", "copy", *options, target)


def ffmpeg(*arguments: str | pathlib.Path) -> None:
    quiet = ["-hide_banner", "-loglevel", "error", "-y", "-nostdin"]
    subprocess.run(["ffmpeg", *quiet, *map(str, arguments)], check=True)
