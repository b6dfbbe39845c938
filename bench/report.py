"""Measurements as rows of a Markdown table."""

import dataclasses
import statistics
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement beside its baseline."""

    what: str
    ours: str
    baseline: str
    ratio: str
    goal: str
    is_met: bool

    def cells(self) -> list[str]:
        return [self.what, self.ours, self.baseline, self.ratio, self.goal, "yes" if self.is_met else "**no**"]


HEADINGS = ["what", "ours", "yardstick", "ratio", "goal", "met"]


def rate_against_baseline(what: str, ours: Sequence[float], baseline: Sequence[float], unit: str, at_least: float) -> Row:
    """Rates, measured alternately. The ratio is the median over the pairs, because the machine drifts."""
    ratio = statistics.median(our / other for our, other in zip(ours, baseline, strict=True))
    return Row(what, spread(ours, unit), spread(baseline, unit), f"{ratio:.2f}x", f"≥ {at_least}x", ratio >= at_least)


def cost_against_baseline(what: str, ours: Sequence[float], baseline: Sequence[float], unit: str, limit: float) -> Row:
    """Costs, measured alternately. The ratio is the median over the pairs, because the machine drifts."""
    ratio = statistics.median(our / other for our, other in zip(ours, baseline, strict=True))
    return Row(what, spread(ours, unit), spread(baseline, unit), f"{ratio:.2f}x", f"≤ {limit}x", ratio <= limit)


def percentile_at_most(what: str, values: Sequence[float], percent: int, unit: str, limit: float) -> Row:
    """A figure with a fixed limit, judged by its percentile (nearest rank)."""
    judged = sorted(values)[-(-len(values) * percent // 100) - 1]
    ours = f"{number(judged)} {unit}; {spread(values, unit)}"
    return Row(what, ours, f"{limit:g} {unit}", "", f"≤ {limit:g} {unit}", judged <= limit)


def figure(what: str, values: Sequence[float], unit: str) -> Row:
    """A figure without a goal."""
    return Row(what, spread(values, unit), "", "", "none set", True)


def at_most(what: str, values: Sequence[float], unit: str, limit: float) -> Row:
    """A figure with a fixed limit, judged by its median."""
    return Row(
        what, spread(values, unit), f"{limit:g} {unit}", "", f"≤ {limit:g} {unit}", statistics.median(values) <= limit
    )


def spread(values: Sequence[float], unit: str) -> str:
    """The median; with several values also minimum and maximum in brackets."""
    median = number(statistics.median(values))
    if len(values) == 1:
        return f"{median} {unit}"
    return f"{median} {unit} ({number(min(values))} to {number(max(values))})"


def number(value: float) -> str:
    """Three significant digits, or all digits before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(rows: Sequence[Row]) -> str:
    """A Markdown table with aligned columns."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, ["-" * width for width in widths])
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)
