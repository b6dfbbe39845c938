"""What every bench is given."""

import dataclasses
import pathlib

from clips import Clips
from places import Place


@dataclasses.dataclass(frozen=True)
class Bench:
    """The programs to measure and a place to work in."""

    kinora: pathlib.Path
    """The binary under measurement."""
    yardstick: pathlib.Path
    """The binary of `bench/yardstick`."""
    clips: Clips
    place: Place
    """Where servers keep what they have."""
    folder: pathlib.Path
    """Empty at first, and deleted at the end."""
