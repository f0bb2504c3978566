"""What was measured for an entry, and how it compares with its limit and goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from benchmarks.entries import Base, Entry

HEADER = (
    "model", "E", "P", "audit", "limit (goal)", "", "first", "cold", "confirmed", "memory",
    "complete", "witnesses", "SHAP", "permutation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of an entry, by step.

    Attributes
    ----------
    facts : for each step (``cold``, ``warm``, ``variant``, ``rows-48842``, ``shap``,
        ``permutation``) what its process printed, with ``problem`` if it did not finish.
    """

    entry: Entry
    facts: dict[str, dict[str, Any]]

    def _get(self, step: str, name: str) -> Any:
        return self.facts.get(step, {}).get(name)

    def _base(self) -> float | None:
        match self.entry.base:
            case Base.ESTIMATOR | Base.PIPELINE as base:
                seconds = self._get("warm", base.value) or self._get("cold", base.value)
                return None if seconds is None else float(seconds)
            case Base.PLAIN:
                seconds = self._get("variant", "plain")
                return None if seconds is None else float(seconds)
            case _:
                return 1.0

    def _value(self, step: str, name: str) -> float | None:
        """A time in units of the base."""
        spent, base = self._get(step, name), self._base()
        return None if spent is None or not base else float(spent) / base

    @property
    def warm(self) -> float | None:
        """An audit in a process that has made one before."""
        if self.entry.base is Base.PLAIN:
            return self._value("variant", "again")
        if self.entry.base is Base.GROWTH:
            return self._exponent()
        return self._value("warm", "again")

    @property
    def first(self) -> float | None:
        """A first audit in a fresh process, with compiled loops on disk."""
        return self._value("warm", "first")

    @property
    def confirmed(self) -> str:
        """An audit with statistical confirmation, in units of one without."""
        spent, plain = self._get("warm", "confirmed"), self._get("warm", "again")
        return "" if not spent or not plain else f"{spent / plain:.2f} x"

    def _exponent(self) -> float | None:
        """The slope of the straight line through the logarithms of rows and times."""
        points = [
            (math.log(number), math.log(self._get(f"rows-{number}", "seconds")))
            for number in self.entry.rows
            if self._get(f"rows-{number}", "seconds")
        ]
        if len(points) < 2:
            return None
        x, y = (sum(part) / len(points) for part in zip(*points, strict=True))
        above = sum((a - x) * (b - y) for a, b in points)
        return float(above / sum((a - x) ** 2 for a, _ in points))

    @property
    def memory(self) -> float | None:
        """The largest peak memory, in GB."""
        peaks = [float(facts["memory"]) for facts in self.facts.values() if "memory" in facts]
        return max(peaks, default=None)

    @property
    def problem(self) -> str:
        """Why an audit did not finish."""
        for step, facts in self.facts.items():
            if "problem" in facts and step not in ("shap", "permutation"):
                suffix = f" ({int(step[5:]):,} rows)" if step.startswith("rows-") else ""
                return f"{facts['problem']}{suffix}"
        return ""

    @property
    def verdict(self) -> str:
        """How the figures compare with limit and goal."""
        limits = self.entry
        warm, memory = self.warm, self.memory
        if warm is None or (self.problem and limits.base is Base.GROWTH):
            return "over"
        if limits.memory is not None and memory is not None and memory > limits.memory:
            return "over (memory)"
        if warm <= limits.goal:
            return "goal"
        return "ok" if warm <= limits.limit else "over"

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        entry, problem = self.entry, self.problem
        limit = f"{_figure(entry.limit, entry.base)} ({_figure(entry.goal, entry.base)})"
        if entry.memory is not None:
            limit += f", {entry.memory:g} GB"
        complete = self._get("warm", "complete")
        witnesses = self._get("warm", "witnesses")
        cold = self._get("cold", "first")
        warm = _figure(self.warm, entry.base)
        return (
            entry.title,
            _time(self._get("warm", "E") or self._get("cold", "E")),
            _time(self._get("warm", "P") or self._get("cold", "P")),
            ", ".join(text for text in (warm, problem) if text),
            limit,
            self.verdict,
            _figure(self.first, entry.base),
            _time(cold),
            self.confirmed,
            "" if self.memory is None else f"{self.memory:.2f} GB",
            "" if complete is None else "yes" if complete else "no",
            "" if witnesses is None else f"{witnesses:,}",
            self._other("shap"),
            self._other("permutation"),
        )

    def _other(self, step: str) -> str:
        facts = self.facts.get(step, {})
        if "seconds" not in facts:
            return str(facts.get("problem", ""))
        base = self._get("warm", "rows") or self._get("cold", "rows")
        fewer = "" if facts["rows"] == base else f" ({facts['rows']:,} rows)"
        return f"{_time(facts['seconds'])}{fewer}"


def _figure(value: float | None, base: Base) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 or (value == int(value) and value >= 2) else 1
    if base is Base.GROWTH:
        return f"n^{value:.2f}"
    return f"{value:,.{digits}f} {base.value}"


def _time(value: float | None) -> str:
    """A time in three digits."""
    if value is None:
        return ""
    number, unit = (1000 * value, "ms") if value < 1 else (value, "s")
    return f"{number:,.{0 if number >= 100 else 1 if number >= 10 else 2}f} {unit}"
