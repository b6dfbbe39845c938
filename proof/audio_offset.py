"""Time offset between two recordings of the same audio, by cross-correlation."""

import array
import math
import operator

WINDOW_S = 0.4
OFFSET_MAX_S = 0.06
"""Larger offsets show as no correlation."""
CORRELATION_MIN = 0.5


def offsets_ms(ours: bytes, theirs: bytes, rate: int) -> list[float]:
    """Milliseconds by which `ours` is later, at the start, in the middle and at the end.

    Both are 16-bit mono and start at the same time. Raises `ValueError` when the two are not the same audio.
    """
    a, b = (array.array("h", audio[: len(audio) // 2 * 2]) for audio in (ours, theirs))
    window, offset_max = int(WINDOW_S * rate), int(OFFSET_MAX_S * rate)
    length = min(len(a), len(b))
    positions = [offset_max, (length - window) // 2, length - window - offset_max]
    if positions[0] > positions[-1]:
        raise ValueError(f"{length / rate:.2f} s are too short to compare")
    return [offset(a, b, position, window, offset_max) * 1000 / rate for position in positions]


def offset(a: array.array, b: array.array, position: int, window: int, offset_max: int) -> float:
    """Samples by which `a` is later than `b` around a position, with a fraction."""
    window_b = b[position : position + window]
    correlations = [correlation(a[position + lag : position + lag + window], window_b) for lag in range(-offset_max, offset_max + 1)]
    best = max(range(len(correlations)), key=correlations.__getitem__)
    if correlations[best] < CORRELATION_MIN:
        raise ValueError(f"no correlation at sample {position}: {correlations[best]:.2f}")
    if not 0 < best < len(correlations) - 1:
        return float(best - offset_max)
    # The top of the parabola through the best and its neighbours.
    before, top, after = correlations[best - 1 : best + 2]
    return best - offset_max + (before - after) / (2 * (before - 2 * top + after))


def correlation(a: array.array, b: array.array) -> float:
    """-1 to 1."""
    energy = math.sqrt(sum(map(operator.mul, a, a)) * sum(map(operator.mul, b, b)))
    return sum(map(operator.mul, a, b)) / energy if energy else 0.0
