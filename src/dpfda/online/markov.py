"""Come here for the engine behind Matérn 1/2, 3/2 and 5/2 on a line: logarithmic time, one gap at a time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import replace

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.decision import Booleans
from dpfda.online.bridge import Bridge
from dpfda.online.engine import Answer, check_answer, exact_sums, lattice_ratio, to_lattice
from dpfda.online.law import FINE, OnlineLaw
from dpfda.online.noise import STEPS, NoiseAhead
from dpfda.online.ordered import Ordered
from dpfda.online.sections import Sections
from dpfda.online.states import ARRAYS, FAR, FLOATS, PROCESSES, Entries

TINY = 1e-30  # nearer to a neighbour than this, in the time of the process, a path has its neighbour's state in doubles
FEW = 24  # records in a gap that are taken one by one; numpy takes over above
CHUNK = 2**17  # records at a time


class MarkovEngine:
    """States at answered points, in order; a new one is drawn given its two neighbours.

    The private number of a new point is what the records inside its gap add to the innovation. Each adds a vector that
    is computed from its place and the gap alone and rounded by itself; masses times integers are summed exactly. The
    vectors of one record over all points ever asked are coordinates of a projection of its section, so their squares
    add up to at most `K(x, x)`, in whatever order the points came.
    """

    def __init__(self, law: OnlineLaw, sections: Sections | None, noise: NoiseAhead) -> None:
        line = law.line
        assert line is not None
        self._process = PROCESSES[line.size]
        self._rate = line.rate
        self._noise = noise
        self._step = law.scale * math.sqrt(line.variance) / STEPS
        self._keys = Ordered()
        self._states: dict[float, Entries] = {}
        self._places, self._masses = np.empty(0), np.empty(0, dtype=np.int64)
        self._ratio = (0, 1)
        if sections is not None:
            points, self._masses = sections.inside(law.domain)
            self._places = points[:, 0]
            self._ratio = lattice_ratio(sections.weight * math.sqrt(line.variance) / law.scale)
        self._place_list, self._mass_list = self._places.tolist(), self._masses.tolist()

    def __len__(self) -> int:
        return len(self._states)

    def value(self, point: tuple[float, ...]) -> float | None:
        """The answer at a point that has one."""
        state = self._states.get(point[0])
        return None if state is None else float(state[-1])

    def points(self) -> Array:
        return np.array(self._keys.all()).reshape(-1, 1)

    def fold(self, answers: list[Answer]) -> None:
        """Take in answers that stand in the store."""
        for answer in answers:
            check_answer(answer, dimension=1, size=self._process.size)
            self._states[answer.point[0]] = tuple(reversed(answer.state))
        if len(answers) < 64:
            for answer in answers:
                self._keys.add(answer.point[0])
        else:
            self._keys.replace(np.sort(np.fromiter(self._states, dtype=np.float64, count=len(self._states))))

    def extend(self, points: Array) -> list[Answer]:
        """Answers at distinct new points, (m, 1)."""
        fresh = points[:, 0]
        if len(fresh) < max(16, len(self._states) // 64):
            for point in fresh.tolist():
                self._add(point)
        else:
            self._add_many(np.sort(fresh))
        return [Answer((point,), tuple(reversed(self._states[point]))) for point in fresh.tolist()]

    # One by one ------------------------------------------------------------------------------------------------------

    def _add(self, point: float) -> None:
        left, right = self._keys.around(point)
        from_left = min(self._rate * (point - left), FAR)
        from_right = min(self._rate * (right - point), FAR)
        process = self._process
        nothing = (0.0,) * process.size
        one, other = self._states.get(left, nothing), self._states.get(right, nothing)
        forward = from_left <= from_right
        near, far = (from_left, from_right) if forward else (from_right, from_left)
        if near < TINY:
            state = one if forward else other
        else:
            bridge = Bridge.over(process, FLOATS, near, far)
            innovation = self._innovation(bridge, left, point, right, forward)
            if forward:
                state = bridge.state(one, other, innovation)
            else:
                state = process.mirror(bridge.state(process.mirror(other), process.mirror(one), innovation))
        self._states[point] = state
        self._keys.add(point)

    def _innovation(self, bridge: Bridge, left: float, point: float, right: float, forward: bool) -> Entries:
        first, last = bisect_right(self._place_list, left), bisect_left(self._place_list, right)
        noise = self._noise.take(self._process.size)
        if last - first > FEW:
            totals = self._many_inside(bridge, first, last, left, point, right, forward)
        else:
            totals = [0] * self._process.size
            for index in range(first, last):
                added = self._one_inside(bridge, self._place_list[index], left, point, right, forward)
                mass = self._mass_list[index]
                totals = [total + mass * round(FINE * x) for total, x in zip(totals, added, strict=True)]
        step, ratio = self._step, self._ratio
        return tuple([step * (to_lattice(t, ratio) + z) for t, z in zip(totals, noise, strict=True)])

    def _one_inside(
        self, bridge: Bridge, place: float, left: float, point: float, right: float, forward: bool
    ) -> Entries:
        rate = self._rate
        if place <= point:
            outer, inner = min(rate * (place - left), FAR), min(rate * (point - place), FAR)
            on_near = forward or place == point
        else:
            outer, inner = min(rate * (right - place), FAR), min(rate * (place - point), FAR)
            on_near = not forward
        if place == point:
            outer = bridge.near
        return bridge.before(outer, inner) if on_near else bridge.beyond(inner, outer, inner <= outer)

    def _many_inside(
        self, bridge: Bridge, first: int, last: int, left: float, point: float, right: float, forward: bool
    ) -> list[int]:
        totals = [0] * self._process.size
        wide = replace(bridge, arithmetic=ARRAYS)
        middle = bisect_right(self._place_list, point)
        for start, end, outer_end, on_near in (
            (first, middle, left, forward),
            (middle, last, right, not forward),
        ):
            for begin in range(start, end, CHUNK):
                rows = slice(begin, min(begin + CHUNK, end))
                places = self._places[rows]
                outer = np.minimum(self._rate * np.abs(places - outer_end), FAR)
                inner = np.minimum(self._rate * np.abs(places - point), FAR)
                added = wide.before(outer, inner) if on_near else wide.beyond_many(inner, outer)
                sums = exact_sums(added, self._masses[rows], np.array([0, len(places)]))
                totals = [total + part[0] for total, part in zip(totals, sums, strict=True)]
        return totals

    # Many at a time --------------------------------------------------------------------------------------------------

    def _add_many(self, fresh: Array) -> None:
        """New points in order; by levels, in each gap the middle one first, all gaps of a level at once."""
        size = self._process.size
        known = np.array(self._keys.all())
        whole = np.concatenate([known, fresh])
        order = np.argsort(whole, kind="stable")
        whole = whole[order]
        is_new = order >= len(known)
        states = np.zeros((size, len(whole) + 2))  # before the first and after the last: no state, far away
        if len(known):
            states[:, 1:-1][:, ~is_new] = np.array([self._states[key] for key in known.tolist()]).T
        places = np.concatenate([[-np.inf], whole, [np.inf]])
        # Runs of new points between known ones, as [start, end) in `places`.
        edges = np.flatnonzero(np.diff(np.concatenate([[0], is_new.astype(np.int8), [0]])))
        starts, ends = edges[::2] + 1, edges[1::2] + 1
        while len(starts):
            middles = (starts + ends) // 2
            states[:, middles] = self._level(
                places[starts - 1], places[middles], places[ends], states[:, starts - 1], states[:, ends]
            )
            starts, ends = np.concatenate([starts, middles + 1]), np.concatenate([middles, ends])
            left = ends > starts
            starts, ends = starts[left], ends[left]
        new = places[1:-1][is_new].tolist()
        self._states.update(zip(new, zip(*states[:, 1:-1][:, is_new].tolist(), strict=True), strict=True))
        self._keys.replace(whole)

    def _level(self, left: Array, points: Array, right: Array, one: Array, other: Array) -> Array:
        """States of new points each alone in its gap, (size, m)."""
        process, size = self._process, self._process.size
        from_left = np.minimum(self._rate * (points - left), FAR)
        from_right = np.minimum(self._rate * (right - points), FAR)
        forward = from_left <= from_right
        near, far = np.where(forward, from_left, from_right), np.where(forward, from_right, from_left)
        bridge = Bridge.over(process, ARRAYS, np.maximum(near, TINY), np.maximum(far, TINY))
        totals = self._sums_inside(bridge, left, points, right, forward)
        noise = iter(self._noise.take(size * len(points)))
        innovation = tuple(
            self._step * np.array([float(to_lattice(t, self._ratio) + z) for t, z in zip(row, noise, strict=False)])
            for row in totals
        )
        flipped_one, flipped_other = process.mirror(tuple(one)), process.mirror(tuple(other))
        first = tuple(np.where(forward, x, y) for x, y in zip(one, flipped_other, strict=True))
        second = tuple(np.where(forward, x, y) for x, y in zip(other, flipped_one, strict=True))
        state = bridge.state(first, second, innovation)
        state = tuple(np.where(near < TINY, x, y) for x, y in zip(first, state, strict=True))
        return np.array([np.where(forward, x, y) for x, y in zip(state, process.mirror(state), strict=True)])

    def _sums_inside(
        self, bridge: Bridge, left: Array, points: Array, right: Array, forward: Booleans
    ) -> list[list[int]]:
        """Exact sums over the records in each gap, `size` lists of m integers."""
        size, gaps = self._process.size, len(points)
        totals = [[0] * gaps for _ in range(size)]
        begin = np.searchsorted(self._places, left, side="right")
        middle = np.searchsorted(self._places, points, side="right")
        end = np.searchsorted(self._places, right, side="left")
        for first, last, outer_end, from_near in ((begin, middle, left, forward), (middle, end, right, ~forward)):
            for on_near in (True, False):
                chosen = np.flatnonzero((from_near == on_near) & (last > first))
                for gap_rows in _portions(chosen, last - first):
                    counts = (last - first)[gap_rows]
                    of_gap = np.repeat(gap_rows, counts)
                    offsets = np.concatenate([[0], np.cumsum(counts)])
                    rows = np.arange(len(of_gap)) + np.repeat(first[gap_rows] - offsets[:-1], counts)
                    places = self._places[rows]
                    outer = np.minimum(self._rate * np.abs(places - outer_end[of_gap]), FAR)
                    inner = np.minimum(self._rate * np.abs(places - points[of_gap]), FAR)
                    part = _taken(bridge, of_gap)
                    added = part.before(outer, inner) if on_near else part.beyond_many(inner, outer)
                    for total, sums in zip(totals, exact_sums(added, self._masses[rows], offsets), strict=True):
                        for gap, found in zip(gap_rows.tolist(), sums, strict=True):
                            total[gap] += found
        return totals


def _portions(gaps: Integers, counts: Integers) -> list[Integers]:
    """Gaps in groups with about so many records as are taken at a time."""
    if not len(gaps):
        return []
    group = np.cumsum(counts[gaps]) // CHUNK
    return np.split(gaps, np.flatnonzero(np.diff(group)) + 1)


def _taken(bridge: Bridge, rows: Integers) -> Bridge:
    def chosen(entries: Entries) -> Entries:
        return tuple(entry[rows] for entry in entries)

    return replace(
        bridge,
        near=bridge.near[rows],
        far=bridge.far[rows],
        root_near=chosen(bridge.root_near),
        root_far=chosen(bridge.root_far),
        decay_far=bridge.decay_far[rows],
        gain=chosen(bridge.gain),
        precision=chosen(bridge.precision),
    )
