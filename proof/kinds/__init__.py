"""The kinds of source: a clip of each, and its expected result.

`ALL` is in the order of the document. Clips are small and last a few seconds, so all together take minutes.
"""

from kinds import audio, copied, encoded, rejected, remuxed, timing, unusual
from kinds.kind import SourceKind

ALL: tuple[SourceKind, ...] = (
    *copied.KINDS,
    *encoded.KINDS,
    *timing.KINDS,
    *remuxed.KINDS,
    *audio.KINDS,
    *unusual.KINDS,
    *rejected.KINDS,
)
