"""What every bench is given."""

import dataclasses
import pathlib

from clips import Clips
from places import Place


@dataclasses.dataclass(frozen=True)
class Ground:
    """A binary, and where servers of it run."""

    kinora: pathlib.Path
    """The binary under measurement."""
    place: Place
    """Where servers keep what they have."""
    folder: pathlib.Path
    """Empty at first, and deleted at the end."""


@dataclasses.dataclass(frozen=True)
class Bench(Ground):
    """The ground with what is measured against, and with."""

    yardstick: pathlib.Path
    """The binary of `bench/yardstick`."""
    clips: Clips
