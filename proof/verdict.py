"""The outcome of a source, as its owner and its viewers see it."""

import dataclasses

from hls import Manifest, Rendition

# Containers that are read in place; all others are remuxed once. Names of the API.
READ_IN_PLACE = {"mp4", "mov", "matroska", "webm"}
# Codec that every player supports.
UNIVERSAL_CODEC = "avc1"

CLASSES = {
    "F": "repacked once into a container that Kinora reads directly",
    "A": "video copied from the source",
    "B": "video copied for players that know the codec, encoded for the others",
    "C": "video encoded on demand",
    "D": "audio only",
    "E": "no audio",
    "G": "fails, with a reason",
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """API data of a settled media; `manifest` is `None` when it failed."""

    media: dict
    container: str
    manifest: Manifest | None

    @property
    def classes(self) -> str:
        """The letters of `CLASSES` that apply, in its order."""
        if self.manifest is None:
            return "G"
        letters = [] if self.container in READ_IN_PLACE else ["F"]
        copies = [variant for variant in self.manifest.variants if is_copy(variant) and variant.size != (0, 0)]
        if not self.has_video:
            letters.append("D")
        elif not copies:
            letters.append("C")
        else:
            letters.append("A" if UNIVERSAL_CODEC in copies[0].attributes["CODECS"] else "B")
        if not self.has_audio:
            letters.append("E")
        return " ".join(letters)

    @property
    def has_video(self) -> bool:
        return any(variant.size != (0, 0) for variant in self.manifest.variants)

    @property
    def has_audio(self) -> bool:
        return bool(self.manifest.audio) or not self.has_video

    @property
    def renditions(self) -> str:
        """The names that the manifest lists, in its order, each once."""
        listed = [*self.manifest.variants, *self.manifest.audio]
        return ", ".join(dict.fromkeys(rendition.name for rendition in listed))

    @property
    def reason(self) -> str:
        """Why it failed, or why tracks are not copied, and other notes of its playback report."""
        if self.manifest is None:
            error = self.media.get("error")
            return f"`{error['code']}`: {error['message']}" if error else ""
        report = self.media.get("playbackReport", {})
        reasons = [report[field] for field in ("source", "copy") if field in report]
        reasons += [f"{row['type']}: {row['detail']}" for row in report.get("notCopied", [])]
        reasons += [f"without {row['type']}: {row['detail']}" for row in report.get("leftOut", [])]
        return "; ".join(dict.fromkeys(reasons))


def is_copy(rendition: Rendition) -> bool:
    """Whether its name is that of a copied track: `video`, `audio`, `audio-2`."""
    return rendition.name.partition("-")[0] in ("video", "audio")
