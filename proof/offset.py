"""How far two recordings of the same sound are apart, by cross-correlation."""

import array
import math
import operator

WINDOW_S = 0.4
REACH_S = 0.06
"""Offsets up to this are found; a larger one shows as no correlation."""
CORRELATION_MIN = 0.5


def offsets_ms(ours: bytes, theirs: bytes, rate: int) -> list[float]:
    """Milliseconds by which `ours` comes later, at the start, in the middle and at the end. Both are 16-bit mono from one instant on.

    Raises `ValueError` where the two are not the same sound.
    """
    a, b = (array.array("h", sound[: len(sound) // 2 * 2]) for sound in (ours, theirs))
    window, reach = int(WINDOW_S * rate), int(REACH_S * rate)
    length = min(len(a), len(b))
    places = [reach, (length - window) // 2, length - window - reach]
    if places[0] > places[-1]:
        raise ValueError(f"{length / rate:.2f} s are too short to be compared")
    return [offset(a, b, place, window, reach) * 1000 / rate for place in places]


def offset(a: array.array, b: array.array, place: int, window: int, reach: int) -> float:
    """Samples by which `a` is later than `b` around a place, to a part of a sample."""
    wanted = b[place : place + window]
    found = [alike(a[place + lag : place + lag + window], wanted) for lag in range(-reach, reach + 1)]
    best = max(range(len(found)), key=found.__getitem__)
    if found[best] < CORRELATION_MIN:
        raise ValueError(f"no correlation at sample {place}: {found[best]:.2f}")
    if not 0 < best < len(found) - 1:
        return float(best - reach)
    # The top of the parabola through the best and its neighbours.
    before, top, after = found[best - 1 : best + 2]
    return best - reach + (before - after) / (2 * (before - 2 * top + after))


def alike(a: array.array, b: array.array) -> float:
    """-1 to 1."""
    energy = math.sqrt(sum(map(operator.mul, a, a)) * sum(map(operator.mul, b, b)))
    return sum(map(operator.mul, a, b)) / energy if energy else 0.0
