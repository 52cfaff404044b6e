"""Come here for one new point between two neighbours: what is left to draw there, and what a record adds to it.

Given the states at both neighbours, the state at the new point is a public mean plus `root * innovation`, where the
innovation of the noise is standard normal. By the Markov property a record outside the gap adds exactly nothing to the
innovation of the private function. What a record inside adds is computed from its own place and the gap alone, as sums
and products that keep their relative precision at every distance: no covariance is subtracted from another, and no
value of the private function ever appears.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import add, sub

import numpy as np

from dpfda.online.states import Arithmetic, Entries, Entry, Process


@dataclass(slots=True, eq=False)  # frozen in use: one is made for every query, and freezing costs a microsecond
class Bridge:
    """The gap around a new point, seen from the nearer neighbour, `near <= far` away; in the time of the process.

    With `x = A(near) x_near + L(near) w` the state at the far neighbour is `A(far) x + L(far) e`, so w given both has
    precision `I + G'G`, `G = L(far)^-1 A(far) L(near)`. From the nearer side G is bounded, whatever the distances: the
    precision is well-conditioned, and C its root. The innovation is `C' (w - E w)`.
    """

    process: Process
    arithmetic: Arithmetic
    near: Entry
    far: Entry
    root_near: Entries
    root_far: Entries
    decay_far: Entry
    gain: Entries
    precision: Entries

    @staticmethod
    def over(process: Process, arithmetic: Arithmetic, near: Entry, far: Entry) -> Bridge:
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
