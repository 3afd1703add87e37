"""What the rounds of a measure say: the ratio, its spread, and what may be claimed by it.

Each round gives one ratio, own / other, of two figures taken one after the other. The spread is the interval in which
the median of such ratios lies with a probability of 15/16 or more: their minimum to maximum for five to eight rounds,
and narrower as rounds are added.
"""

import dataclasses
import math
import re
import statistics

LEAST_ROUNDS = 5  # with which the minimum to maximum reaches COVERAGE
COVERAGE = 15 / 16
NARROW = 0.02  # a spread of the ratio below which more rounds are not worth their time


def interval(values):
    """The innermost order statistics that hold the median with a probability of COVERAGE; the extremes if none do."""
    count, ordered, inner = len(values), sorted(values), 0
    while 2 * (inner + 1) < count and 1 - sum(math.comb(count, k) for k in range(inner + 2)) / 2 ** (count - 1) >= COVERAGE:
        inner += 1
    return ordered[inner], ordered[-1 - inner]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """own / other over rounds."""

    median: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, own, other):
        if len(own) != len(other):
            raise ValueError(f"{len(own)} rounds beside {len(other)}")
        if min(other) <= 0:
            raise ValueError(f"the other's figure is not positive: {other}")
        each = [a / b for a, b in zip(own, other)]
        return cls(statistics.median(each), *interval(each), len(each))

    def is_settled(self):
        """Whether the spread is smaller than the margin that the ratio claims, or too narrow to matter."""
        return self.high - self.low < max(abs(self.median - 1), NARROW)

    def verdict(self, is_rate):
        """won, lost or draw; is_rate: more is better."""
        if self.rounds < LEAST_ROUNDS:
            return "too few rounds"
        if self.low <= 1 <= self.high:
            return "draw"
        return "won" if (self.median > 1) == is_rate else "lost"


@dataclasses.dataclass(frozen=True)
class Bound:
    """A must or a goal: "≤ 0.25" of the ratio, or with a unit, "≥ 1e6 img/s", of own's figure."""

    text: str

    def limit(self):
        """The sign, the number and the unit; None if there is no such bound."""
        if not self.text:
            return None
        parts = re.fullmatch(r"([≤≥]) ([0-9.e]+)(?: (\S+))?", self.text)
        if not parts:
            raise ValueError(f"'{self.text}' is no bound: expected '≤ 0.25' or '≥ 1e6 img/s'")
        return parts[1], float(parts[2]), parts[3]

    def judge(self, own, ratio):
        """The bound, and whether all of the spread keeps it (met), nothing of it (missed) or a part (undecided)."""
        limit = self.limit()
        if limit is None or len(own) < LEAST_ROUNDS:
            return self.text
        sign, number, unit = limit
        if not unit and ratio is None:
            return self.text
        low, high = interval(own) if unit else (ratio.low, ratio.high)
        kept = [value <= number if sign == "≤" else value >= number for value in (low, high)]
        return f"{self.text}: {'met' if all(kept) else 'undecided' if any(kept) else 'missed'}"


def ratio_of(row):
    """None where there is no other, or where it did not take longer than the rounds tell apart: what is added to a step."""
    return Ratio.of(row["own"], row["other"]) if "other" in row and min(row["other"]) > 0 else None


def goal_of(measure, row):
    """The goal and, for a measure that has one, the goal of its share, judged."""
    goal = Bound(measure.goal).judge(row["own"], ratio_of(row))
    if not measure.share or "whole" not in row:
        return goal
    return f"{goal}; of the step {Bound(measure.share).judge(row['own'], Ratio.of(row['own'], row['whole']))}"


def figures(values):
    """The median, and the minimum to maximum."""
    if not values:
        return "–"
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def rounds(row):
    """Their number, and in how many of them something else used the machine."""
    return f"{len(row['own'])}" + (f", {row['disturbed']} disturbed" if row["disturbed"] else "")


def table(pairs, other, is_contest=True):
    """Markdown of pairs of a measure and its row, {"own": [...], "other": [...], "disturbed": n}.

    `other` is the heading of what own is compared with. Where that is no contestant the spread is shown without a verdict.
    """
    bounds = any(measure.must or measure.goal for measure, _ in pairs)
    heads = ["measure", "unit", "own (min to max)", f"{other} (min to max)", f"own / {other}", "spread", "rounds"]
    heads += ["result"] * is_contest + ["must", "goal"] * bounds
    lines = [heads, ["---"] * len(heads)]
    for measure, row in pairs:
        ratio = ratio_of(row)
        title = f"{measure.title} ({other}: {measure.beside})" if measure.beside else measure.title
        ratio_and_spread = [f"{ratio.median:.3f}", f"{ratio.low:.3f} to {ratio.high:.3f}"] if ratio else ["–", "–"]
        cells = [title, measure.unit, figures(row["own"]), figures(row.get("other")), *ratio_and_spread, rounds(row)]
        if is_contest:
            cells.append(ratio.verdict(measure.is_rate) if ratio else "–")
        if bounds:
            cells += [Bound(measure.must).judge(row["own"], ratio), goal_of(measure, row)]
        lines.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def merge(earlier, rows, order):
    """Rows by name in the order of the measures, new ones in place of old ones."""
    by_name = {row["name"]: row for row in [*earlier, *rows]}
    return [by_name[name] for name in order if name in by_name]
