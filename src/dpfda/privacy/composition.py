"""What many releases cost together: the least epsilon that can be proved for the history of a data set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpfda.errors import UsageError
from dpfda.privacy.budget import amount_of, exactly
from dpfda.privacy.conversion import Sampler, gaussian_epsilon, root_up, solve
from dpfda.privacy.loss_distribution import LossSpectrum
from dpfda.privacy.loss_laws import Law, LossLaw, Parts, range_law
from dpfda.privacy.norms import up
from dpfda.privacy.profiles import Profile, check_people
from dpfda.privacy.totals import Sums

SUM = "sum of epsilons"
QUICK = "basic or zero-concentrated composition"
CLOSED = "Gaussian closed form"
LAWS = "privacy loss distribution"
CHOICES = "privacy loss distribution, choices together"
ALONE = "its own privacy curve"
NONE = "none: a release loses more than this delta outright, or has no guarantee with delta = 0"

LEAST_EPSILON, MOST_EPSILON = 1e-300, 1e5  # beyond, nobody asks how tight a statement is
OUTSIDE = 1e-4  # the largest share of delta that may stand for what lies outside a window before a new one is made
BEYOND = 35.0  # minus the logarithm of the share of delta that may stand for the largest losses of many choices
MOST_RANGES = 1000  # choices that are composed together: seconds of work
MOST_LAWS = 200  # different laws are told apart; more are rounded up, which makes few of them


Bound = tuple[float, str]  # an epsilon, and how it was proved


@dataclass(frozen=True, slots=True)
class Statement:
    """A composed guarantee: (epsilon, delta), with the pure and the concentrated statement beside it."""

    epsilon: float
    delta: float
    pure: float  # the epsilon that holds with delta = 0; inf where there is none
    rho: float  # inf where there is none
    method: str
    nominal: bool = False  # whether it rests on an approximate draw, whose curve is aimed at and not guaranteed
    # Where prices may depend on outputs, the cap is all that is proved: what its filter counts, which is no guarantee.
    counter: float | None = None


def compose(losses: Iterable[Profile], *, delta: float, people: int = 1) -> Statement:
    """The guarantee of all these releases together, each of which may depend on what those before it gave.

    They stand in the order of time, which matters for choices of bounded range: a large one after small ones loses
    more than before them. The curves are taken as they stand, known before the first release. Where the next epsilon is
    picked by what the last release showed, none of these numbers is a guarantee in itself; limits set beforehand, under
    which one of them stays, are: `totals.filtered_epsilon`.

    `people` asks for the guarantee of a group of that many units. The epsilon is rounded up, and at most that of basic
    and of zero-concentrated composition.

    >>> from dpfda.privacy.profiles import PureProfile
    >>> compose([PureProfile(0.1)] * 10, delta=0.0).epsilon
    1.0
    """
    return Composed.nothing(delta, people=people).plus(losses).statement


@dataclass(frozen=True, slots=True)
class Composed:
    """A composed history, to which more losses can be added quickly: the law of its sum is kept."""

    people: int
    statement: Statement
    sums: Sums
    epsilons: Fraction  # the sum of all bounded losses, exactly
    squares: Fraction  # of mu
    sampler: Sampler
    kept: float  # the chance that nothing is lost outright, rounded down
    laws: Counter[LossLaw]
    ranges: tuple[float, ...]  # epsilons of the losses of bounded range, in the order in which they were made
    spectrum: LossSpectrum | None

    @staticmethod
    def nothing(delta: float, *, people: int = 1) -> Composed:
        """A data set of which nothing was released."""
        if not 0 <= delta < 1:
            raise UsageError(parameter="delta", value=delta, rule="must lie in [0, 1)")
        statement = Statement(0.0, delta, 0.0, 0.0, SUM)
        zero = Fraction()
        return Composed(
            check_people(people), statement, Sums.nothing(), zero, zero, Sampler.of(()), 1.0, Counter(), (), None
        )

    def plus(self, losses: Iterable[Profile]) -> Composed:
        """The history with these losses added."""
        added = tuple(loss.grouped(self.people) for loss in losses)
        if not added:
            return self
        parts = [loss.parts() for loss in added]
        delta = self.statement.delta
        sums = self.sums.plus(added)
        epsilons = self.epsilons + sum((exactly(part.epsilon) for part in parts), Fraction())
        squares = self.squares + sum((exactly(part.mu) ** 2 for part in parts), Fraction())
        sampler = self.sampler.plus(parts)
        kept = math.prod((1 - part.delta for part in parts), start=self.kept)
        if any(part.delta for part in parts):
            kept *= 1 - 4e-16 * len(parts)
        laws = self.laws + Counter(part.law for part in parts if part.law is not None)
        ranges = self.ranges + tuple(part.epsilon for part in parts if part.law is not None and part.law.ranges)
        # Without the rounding of each loss to whole units.
        pure = amount_of(epsilons) if math.isfinite(sums.pure) else math.inf
        longer = replace(
            self, sums=sums, epsilons=epsilons, squares=squares, sampler=sampler, kept=kept, laws=laws, ranges=ranges
        )
        tight, spectrum = longer._with_delta(added, parts) if delta > 0 else ([], None)
        epsilon, method = min([(pure, SUM), (sums.epsilon(delta), QUICK), *tight], key=lambda pair: pair[0])
        statement = Statement(epsilon, delta, pure, sums.rho, method if math.isfinite(epsilon) else NONE)
        return replace(longer, statement=statement, spectrum=spectrum)

    def _with_delta(self, added: tuple[Profile, ...], parts: list[Parts]) -> tuple[list[Bound], LossSpectrum | None]:
        """Bounds that need a delta, and the law of the sum where it was computed.

        This history holds the losses `added`, taken apart in `parts`, but for its spectrum, which is that from before.
        """
        delta = self.statement.delta
        if self.sums.count == 1:
            # Exactly what calibration saw: a release that just meets the budget is not refused by it.
            return [(_alone(added[0], delta), ALONE)], None
        mu = root_up(self.squares)
        if not self.laws:
            return [(self.sampler.least(lambda share: gaussian_epsilon(mu, share), delta), CLOSED)], None
        if not (LEAST_EPSILON < self.epsilons < MOST_EPSILON and math.isfinite(mu)):
            return [], None
        search = _Search(delta, mu, self.sampler, self.kept)
        if search.left <= 0:
            return [], None
        tight, spectrum = self._tight(parts, search)
        found = [(tight, LAWS)]
        if 2 <= len(self.ranges) <= MOST_RANGES:
            found.append((_together(self.laws, self.ranges, search), CHOICES))
        return found, spectrum

    def _tight(self, parts: list[Parts], search: _Search) -> tuple[float, LossSpectrum]:
        """Gaussian shifts in closed form, everything else by the law of its losses."""
        few = _few(self.laws)
        if self.spectrum is not None and len(parts) <= 4 and self.spectrum.suits(few, search.mu, search.left):
            longer = self.spectrum
            for part in parts:
                longer = longer if part.law is None else longer.plus(part.law)
            epsilon = search.least(longer)
            if math.isfinite(epsilon) and longer.outside(search.mu, epsilon) <= OUTSIDE * search.left:
                return epsilon, longer
        fresh = LossSpectrum.of(few, search.mu, search.left)
        return search.least(fresh), fresh


@dataclass(frozen=True, slots=True)
class _Search:
    """The least epsilon at a delta, of laws beside a Gaussian shift, with what is lost outright."""

    delta: float
    mu: float
    sampler: Sampler
    kept: float
    beyond: float = 0.0  # the chance of losses larger than any of the laws

    @property
    def lost(self) -> float:
        # With chance 1 - kept all is lost; else the curve is that of the laws. Rounded up, and down.
        outright = up(1 - self.kept, 2) if self.kept < 1 else 0.0
        return up(outright + self.beyond) if self.beyond else outright

    @property
    def left(self) -> float:
        return (self.delta - self.lost) / self.kept if self.lost < self.delta else 0.0

    def least(self, spectrum: LossSpectrum) -> float:
        curve, lost = spectrum.curve(self.mu), self.lost
        return self.sampler.least(
            lambda share: solve(curve, (share - lost) * (1 - 1e-15)) if share > lost else math.inf, self.delta
        )


def _together(laws: Counter[LossLaw], ranges: tuple[float, ...], search: _Search) -> float:
    """All choices of bounded range as one law, in their order: tighter than each for itself, where there are many."""
    others = _few(Counter({law: count for law, count in laws.items() if not law.ranges}))
    # What lies beyond the law's end is a share of delta that no digit shows, and counted.
    tail = float(math.ceil(BEYOND - math.log(search.left)))
    search = replace(search, beyond=up(math.exp(-tail), 4))
    if search.left <= 0:
        return math.inf
    return search.least(LossSpectrum.of(Counter({range_law(ranges, tail): 1, **others}), search.mu, search.left))


def _few(laws: Counter[LossLaw]) -> Counter[Law]:
    """The laws, rounded up where there are too many different ones."""
    found: Counter[Law] = Counter()
    for law, count in laws.items():
        found[law if len(laws) <= MOST_LAWS else law.rounded()] += count
    return found


def _alone(loss: Profile, delta: float) -> float:
    """The least epsilon of one loss; the decimal number of ten digits beside it, where the curve allows that too."""
    epsilon = solve(loss.delta, delta, precision=1e-13)
    if not 0 < epsilon < math.inf:
        return epsilon
    typed = float(f"{epsilon:.10g}")
    return typed if typed < epsilon and loss.delta(typed) <= delta else epsilon
