"""The engine behind Matérn 1/2, 3/2 and 5/2 on a line: logarithmic time, one gap at a time.

Given the states at both neighbours, the state at the new point is a public mean plus `root * innovation`, where the
innovation of the noise is standard normal. By the Markov property a record outside the gap adds exactly nothing to the
innovation of the private function. What a record inside adds is computed from its own place and the gap alone, as sums
and products that keep their relative precision at every distance: no covariance is subtracted from another, and no
value of the private function ever appears.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, replace
from operator import add, sub

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.mechanisms.decision import Booleans
from dpfda.online.engine import Answer, Sections, check_answer, exact_sums, lattice_ratio, to_lattice
from dpfda.online.noise_ahead import STEPS, NoiseAhead
from dpfda.online.specification import FINE, OnlineLaw
from dpfda.online.states import ARRAYS, FAR, FLOATS, PROCESSES, Entries, Entry, Process, StateArithmetic

_BLOCK = 512


class SortedNumbers:
    """Distinct numbers in blocks of at most 1024: to add one costs two searches and a short shift."""

    def __init__(self) -> None:
        self._blocks: list[list[float]] = [[]]
        self._ends: list[float] = [math.inf]  # nothing in a block lies above its end; the last has none

    def around(self, number: float) -> tuple[float, float]:
        """The next ones on either side; infinite where there is none."""
        index = bisect_left(self._ends, number)
        block = self._blocks[index]
        place = bisect_left(block, number)
        before = self._blocks[index - 1][-1] if index else -math.inf
        after = self._blocks[index + 1][0] if index + 1 < len(self._blocks) else math.inf
        left = block[place - 1] if place else before
        right = block[place] if place < len(block) else after
        return left, right

    def add(self, number: float) -> None:
        """Add a number."""
        index = bisect_left(self._ends, number)
        block = self._blocks[index]
        insort(block, number)
        if len(block) > 2 * _BLOCK:
            self._blocks[index : index + 1] = [block[:_BLOCK], block[_BLOCK:]]
            self._ends.insert(index, block[_BLOCK - 1])

    def replace(self, numbers: Array) -> None:
        """All of them anew, in order."""
        plain = numbers.tolist()
        self._blocks = [plain[start : start + _BLOCK] for start in range(0, len(plain), _BLOCK)] or [[]]
        self._ends = [*(block[-1] for block in self._blocks[:-1]), math.inf]

    def all(self) -> list[float]:
        """All numbers, sorted."""
        return [number for block in self._blocks for number in block]


@dataclass(slots=True, eq=False)  # frozen in use: one is made for every query, and freezing costs a microsecond
class Bridge:
    """The gap around a new point, seen from the nearer neighbour, `near <= far` away; in the time of the process.

    With `x = A(near) x_near + L(near) w` the state at the far neighbour is `A(far) x + L(far) e`, so w given both has
    precision `I + G'G`, `G = L(far)^-1 A(far) L(near)`. From the nearer side G is bounded, whatever the distances: the
    precision is well-conditioned, and C its root. The innovation is `C' (w - E w)`.
    """

    process: Process
    arithmetic: StateArithmetic
    near: Entry
    far: Entry
    root_near: Entries
    root_far: Entries
    decay_far: Entry
    gain: Entries
    precision: Entries

    @staticmethod
    def over(process: Process, arithmetic: StateArithmetic, near: Entry, far: Entry) -> Bridge:
        top = 2 * process.size - 2
        root_near = process.root(near, arithmetic.moments(near, top))
        root_far = process.root(far, arithmetic.moments(far, top))
        decay = arithmetic.exp(-far)
        gain = process.gain(root_far, far, decay, root_near)
        return Bridge(process, arithmetic, near, far, root_near, root_far, decay, gain, process.precision(gain))

    def state(self, near: Entries, far: Entries, innovation: Entries) -> Entries:
        """The state at the new point from those of its neighbours; public numbers in, public numbers out."""
        process = self.process
        moved = process.move(self.near, self.arithmetic.exp(-self.near), near)
        onward = process.move(self.far, self.decay_far, moved)
        rest = process.solve(self.root_far, tuple(map(sub, far, onward)))
        known = process.solve(self.precision, process.timed(self.gain, rest))
        w = process.solved(self.precision, tuple(map(add, known, innovation)))
        return tuple(map(add, moved, process.times(self.root_near, w)))

    def before(self, behind: Entry, ahead: Entry) -> Entries:
        """The innovation of the kernel's section at a record on the near side, by its distances to neighbour and point.

        `C^-1 L(near)^-1 A(ahead) Q(behind) e`: the record and the far neighbour are independent given the new point.
        """
        return self.process.solve(self.precision, self._pull(self.root_near, behind, ahead))

    def beyond(self, ahead: Entry, behind: Entry, closer: Entry) -> Entries:
        """The same for a record on the far side, by its distances to the point and the far neighbour.

        `C^-1 L(near)' b`, b the weights of the new point's state in the mean of the record's value given that state and
        the far one. Where the record is closer to the point, b is `A(ahead)'e` less a correction that is never most of
        it; else the line is read from the other end, where b is the weight of the state that comes later.
        """
        process = self.process
        nearer, farther = (ahead, behind) if closer else (behind, ahead)
        weights = process.solved(self.root_far, self._pull(self.root_far, nearer, farther))
        weights = self._corrected(ahead, weights) if closer else process.mirrored(weights)
        return process.solve(self.precision, process.timed(self.root_near, weights))

    def beyond_many(self, ahead: Entry, behind: Entry) -> Entries:
        """The same for arrays of records."""
        process = self.process
        pulled = self._pull(self.root_far, np.minimum(ahead, behind), np.maximum(ahead, behind))
        weights = process.solved(self.root_far, pulled)
        pairs = zip(self._corrected(ahead, weights), process.mirrored(weights), strict=True)
        weights = tuple(np.where(ahead <= behind, one, other) for one, other in pairs)
        return process.solve(self.precision, process.timed(self.root_near, weights))

    def _corrected(self, ahead: Entry, weights: Entries) -> Entries:
        process = self.process
        unit = (0.0,) * (process.size - 1) + (1.0,)
        straight = process.moved(ahead, self.arithmetic.exp(-ahead), unit)
        back = process.moved(self.far, self.decay_far, weights)
        return tuple(map(sub, straight, back))

    def _pull(self, root: Entries, behind: Entry, ahead: Entry) -> Entries:
        """`L^-1 A(ahead) Q(behind) e`: all terms of the product are positive, and L, scaled, is well-conditioned."""
        process, arithmetic = self.process, self.arithmetic
        column = process.column(behind, arithmetic.moments(behind, 2 * process.size - 2))
        return process.solve(root, process.move(ahead, arithmetic.exp(-ahead), column))


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
        self._keys = SortedNumbers()
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
