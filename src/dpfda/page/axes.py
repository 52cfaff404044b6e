"""Scales of pictures: which numbers stand at an axis, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpfda.page.markup import place, text


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from low to high, drawn from start to end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round numbers within the scale, at most so many, each with its label."""
        step = _round_step((self.high - self.low) / (most - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        # Fifteen digits: no label is 0.30000000000000004, and neighbours never share one.
        return [(index * step, f"{index * step:.15g}") for index in range(first, last + 1)]


def _round_step(least: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def around(low: float, high: float) -> tuple[float, float]:
    """A range with some air, also where nothing varies."""
    air = 0.05 * (high - low) or abs(low) / 10 or 1.0
    return low - air, high + air


def frame(across: Scale, up: Scale, names: tuple[str, str], *, lines: bool) -> str:
    """Both axes with numbers and names, and lines behind the picture."""
    parts = []
    for value, label in across.ticks():
        x = place(across(value))
        if lines:
            parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{place(up.start)}" y2="{place(up.end)}"/>')
        parts.append(f'<text x="{x}" y="{place(up.start + 20)}" text-anchor="middle">{label}</text>')
    for value, label in up.ticks():
        y = up(value)
        if lines:
            ends = f'x1="{place(across.start)}" x2="{place(across.end)}"'
            parts.append(f'<line class="grid" {ends} y1="{place(y)}" y2="{place(y)}"/>')
        parts.append(f'<text x="{place(across.start - 8)}" y="{place(y + 4)}" text-anchor="end">{label}</text>')
    middles = [(scale.start + scale.end) / 2 for scale in (across, up)]
    below, beside = (middles[0], up.start + 40), (10.0, middles[1])
    for name, (left, top) in zip(names, (below, beside), strict=True):
        parts.append(f'<text x="{place(left)}" y="{place(top)}" text-anchor="middle">{text(name)}</text>')
    return "\n".join(parts)
