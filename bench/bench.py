"""The context of every benchmark."""

import dataclasses
import pathlib

from clips import Clips
from deployments import Deployment


@dataclasses.dataclass(frozen=True)
class BenchContext:
    """A binary, and where its servers store data."""

    kinora: pathlib.Path
    """The binary under measurement."""
    deployment: Deployment
    """Where servers store rows and objects."""
    folder: pathlib.Path
    """Empty at the start, deleted at the end."""


@dataclasses.dataclass(frozen=True)
class Bench(BenchContext):
    """The context with baselines and clips."""

    baseline_binary: pathlib.Path
    """The binary of `bench/yardstick`."""
    clips: Clips
