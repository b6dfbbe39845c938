"""What was measured, as rows of a table that can stand in a document."""

import dataclasses
import statistics
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement beside its yardstick."""

    what: str
    ours: str
    yardstick: str
    ratio: str
    goal: str
    is_met: bool

    def cells(self) -> list[str]:
        return [self.what, self.ours, self.yardstick, self.ratio, self.goal, "yes" if self.is_met else "**no**"]


HEADINGS = ["what", "ours", "yardstick", "ratio", "goal", "met"]


def against_yardstick(what: str, ours: Sequence[float], theirs: Sequence[float], unit: str, at_least: float) -> Row:
    """Rates, measured in turn. The ratio is the median of those of the pairs, for the machine drifts."""
    ratio = statistics.median(our / their for our, their in zip(ours, theirs, strict=True))
    return Row(what, spread(ours, unit), spread(theirs, unit), f"{ratio:.2f}x", f"≥ {at_least}x", ratio >= at_least)


def cost_against_yardstick(what: str, ours: Sequence[float], theirs: Sequence[float], unit: str, limit: float) -> Row:
    """Costs, measured in turn. The ratio is the median of those of the pairs, for the machine drifts."""
    ratio = statistics.median(our / their for our, their in zip(ours, theirs, strict=True))
    return Row(what, spread(ours, unit), spread(theirs, unit), f"{ratio:.2f}x", f"≤ {limit}x", ratio <= limit)


def percentile_at_most(what: str, values: Sequence[float], percent: int, unit: str, limit: float) -> Row:
    """A figure with a fixed limit, judged by the least of the values that so many percent of them do not exceed."""
    judged = sorted(values)[-(-len(values) * percent // 100) - 1]
    told = f"{number(judged)} {unit}; {spread(values, unit)}"
    return Row(what, told, f"{limit:g} {unit}", "", f"≤ {limit:g} {unit}", judged <= limit)


def figure(what: str, values: Sequence[float], unit: str) -> Row:
    """A figure that nothing is held against."""
    return Row(what, spread(values, unit), "", "", "none set", True)


def at_most(what: str, values: Sequence[float], unit: str, limit: float) -> Row:
    """A figure with a fixed limit, judged by its median."""
    return Row(
        what, spread(values, unit), f"{limit:g} {unit}", "", f"≤ {limit:g} {unit}", statistics.median(values) <= limit
    )


def spread(values: Sequence[float], unit: str) -> str:
    """The median, and the least and the most in brackets where there are several."""
    median = number(statistics.median(values))
    if len(values) == 1:
        return f"{median} {unit}"
    return f"{median} {unit} ({number(min(values))} to {number(max(values))})"


def number(value: float) -> str:
    """Three digits, or all in front of the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(rows: Sequence[Row]) -> str:
    """A table in Markdown, its columns aligned for those who read it in a terminal."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, ["-" * width for width in widths])
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)
