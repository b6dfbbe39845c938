"""What became of a source, read as its owner and its viewers read it."""

import dataclasses

from hls import Manifest, Rendition

# Containers that are read as they are; all others are rewritten once. By the names of the API.
READ_IN_PLACE = {"mp4", "mov", "matroska", "webm"}
# What the first choice of every player can be: the others are for those who know more.
EVERYWHERE = "avc1"

CLASSES = {
    "F": "rewritten once into a container that can be read in place",
    "A": "the pictures of the source are served as they are",
    "B": "served as they are to players that know the codec, and encoded for the others",
    "C": "pictures are encoded while they are watched",
    "D": "sound alone",
    "E": "no sound",
    "G": "fails, with a reason",
}


@dataclasses.dataclass(frozen=True)
class Found:
    """What is read of a settled media; `manifest` is `None` of one that failed."""

    media: dict
    container: str
    manifest: Manifest | None

    @property
    def classes(self) -> str:
        """The letters of `CLASSES` that hold, in its order."""
        if self.manifest is None:
            return "G"
        letters = [] if self.container in READ_IN_PLACE else ["F"]
        copies = [variant for variant in self.manifest.variants if is_copy(variant) and variant.size != (0, 0)]
        if not self.has_video:
            letters.append("D")
        elif not copies:
            letters.append("C")
        else:
            letters.append("A" if EVERYWHERE in copies[0].attributes["CODECS"] else "B")
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
        """Why it failed, or why tracks of it are not copied, and what else its owner is told."""
        if self.manifest is None:
            error = self.media.get("error")
            return f"`{error['code']}`: {error['message']}" if error else ""
        report = self.media.get("playbackReport", {})
        told = [report[field] for field in ("source", "copy") if field in report]
        told += [f"{row['type']}: {row['detail']}" for row in report.get("notCopied", [])]
        told += [f"without {row['type']}: {row['detail']}" for row in report.get("leftOut", [])]
        return "; ".join(dict.fromkeys(told))


def is_copy(rendition: Rendition) -> bool:
    """Whether its name is that of a copied track: `video`, `audio`, `audio-2`."""
    return rendition.name.partition("-")[0] in ("video", "audio")
