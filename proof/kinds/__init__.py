"""The kinds of source that people have: for each a clip, and what must become of it.

`ALL` is in the order of the document. A clip is a few seconds long and small, so that all of them together take minutes.
"""

from kinds import copied, encoded, foreign, odd, refused, sound, timing
from kinds.kind import Kind

ALL: tuple[Kind, ...] = (
    *copied.KINDS,
    *encoded.KINDS,
    *timing.KINDS,
    *foreign.KINDS,
    *sound.KINDS,
    *odd.KINDS,
    *refused.KINDS,
)
