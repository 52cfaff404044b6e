"""What a summary is: three methods join the family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.bases.lattice import Lattice
from dpfda.mechanisms.choice import Scores
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.privacy import Counting, Unit
from dpfda.privacy.norms import Sensitivity
from dpfda.records import Curves, exact_sum
from dpfda.records.fold import Clipping, Encode
from dpfda.records.reading import Reading
from dpfda.releases import Certificate, Release, smoothed
from dpfda.releases.cards.words import Statement, say
from dpfda.releases.decoded import Decoded


@dataclass(frozen=True, eq=False)
class Public:
    """The public facts about a data set: everything a sensitivity may look at."""

    unit: Unit
    n: int | None  # the number of units where it is public, else None
    planned: int  # n, or a public guess of it
    grid: Array  # (q, p)
    centre: Array  # (q,) a public curve that is subtracted first
    cap: float  # values further than this from the centre are moved to it
    lattice: Lattice
    count_weight: int  # lattice steps that one unit adds to the count; 0 where the number of units is public
    covariates: int = 0  # leading values of a record that belong to no curve
    # Beside n no part of a request: the same numbers are the same release.
    counting: Counting = field(default=Counting.ROWS, compare=False)

    def __post_init__(self) -> None:
        if not self.unit.size_is_public:
            object.__setattr__(self, "counting", Counting.PRIVATE)

    @property
    def width(self) -> int:
        """How many values a record has."""
        return self.covariates + len(self.grid)

    @staticmethod
    def of_points(
        unit: Unit, n: int | None, planned: int, *, width: int, bound: float = 1.0, counting: Counting = Counting.ROWS
    ) -> Public:
        """The facts about records that hold no curve: points, and what stands before them."""
        return Public(
            unit=unit,
            n=n,
            planned=planned,
            grid=np.empty((0, 1)),
            centre=np.empty(0),
            cap=1.0,
            lattice=Lattice(bound),
            count_weight=0,
            covariates=width,
            counting=counting,
        )


class Summary(ABC):
    """A sum of bounded integer vectors, one for each unit, and what is made of it once noise has been added.

    Duties of a subclass: `name`, `encode`, `bounds` and `decode`. The rest suits vectors that are coordinates of
    curves in the basis, with the count in front where it is private; a summary of another kind says more:
    `encoded_size`, `sums`, `size` and `collect` where there are more or fewer numbers, `clipping` where a unit is not
    clipped into a ball, `moves`, `noise_rms` and `lattice_step` for its card, and `publish`.
    """

    __slots__ = ()

    adds_vectors: ClassVar[bool] = True  # a sum over units; one that overrides `gather` says False
    power: ClassVar[int] = 1  # of the bound, in whose units the noise is measured
    bounded: ClassVar[str] = ""  # for the card: what bounds a record, where it is no bound on curves
    missing: ClassVar[str] = say("missing", "curves", nobody="")  # for the card

    @property
    @abstractmethod
    def name(self) -> str:
        """What is released, for the card: a sentence of one's own, or a statement of `releases/cards/words.py`."""

    @property
    def units_are_stated(self) -> bool:
        """Whether records say by themselves how many units they stand for."""
        return False

    @abstractmethod
    def encode(self, public: Public, basis: Basis) -> Encode:
        """The map from a batch of records to vectors, each a function of its own record alone.

        It takes (m, width) values and gives whole numbers as doubles, (encoded_size, m), in sixteenths of a lattice
        step (`bases.lattice.FRACTIONS`; a step is the bound over 2^24), and (m,) ones, 0 for a record without values.
        `dpfda.curator.check_summary` tries it.
        """

    @abstractmethod
    def bounds(self, public: Public, basis: Basis) -> tuple[Sensitivity, ...]:
        """Every sensitivity of the integer sum that it can prove, in lattice steps; it never sees a record."""

    @abstractmethod
    def decode(self, sums: Integers, noise: NoiseLaw, public: Public, basis: Basis) -> Decoded:
        """From noisy integer sums, led by the count if that is private, to the summary."""

    def clipping(self, public: Public) -> Clipping:
        """What makes a unit's contribution of its average vector."""
        return public.lattice

    def encoded_size(self, basis: Basis) -> int:
        """How many numbers a record becomes."""
        return basis.size

    def sums(self, public: Public, basis: Basis) -> int:
        """How many integers are summed over units."""
        return basis.size

    def size(self, public: Public, basis: Basis) -> int:
        """How many integers are handed to the mechanism."""
        return self.sums(public, basis) + (0 if public.unit.size_is_public else 1)

    def gather(self, curves: Curves, public: Public, basis: Basis, reading: Reading) -> Integers:
        """What is handed to the mechanism, from all records: here they are read, after the charge.

        A summary that is no sum over units does it in its own way.
        """
        total = exact_sum(
            curves,
            self.encode(public, basis),
            self.clipping(public),
            units=curves.units,
            size=self.encoded_size(basis),
            sums=self.sums(public, basis),
            batch_rows=reading.batch_rows,
            workers=reading.threads,
            # A bar shows how many rows there are.
            progress=reading.progress if public.unit.size_is_public else False,
        )
        return self.collect(total, curves.size_under(public.unit), public)

    def collect(self, total: Integers, units: int, public: Public) -> Integers:
        """What is handed to the mechanism: the sum over units, and their number where that is private."""
        if public.unit.size_is_public:
            return total
        return np.concatenate([[units * public.count_weight], total]).astype(np.int64)

    def lattice_step(self, public: Public) -> float:
        """What one lattice step of the sums is in the units of the curve."""
        return public.lattice.step

    def moves(self, public: Public, card_n: float) -> str:
        """How far one unit moves the summary, for the card; a sentence of one's own goes on after "one person ..."."""
        bound = public.lattice.bound
        if public.unit.size_is_public:
            return say("moves", "mean", by=2 * bound / card_n)
        return say("moves", "sum-and-count", by=bound)

    def noise_rms(self, decoded: Decoded, basis: Basis) -> float:
        """The root mean square of the noise over the domain, before any smoothing."""
        return float(np.sqrt(np.trace(basis.gram() * decoded.noise.variances)))

    def tested(self, decoded: Decoded, public: Public, basis: Basis) -> Statement | None:
        """Whether anything was seen above the noise, where that takes more than the release; else None."""
        return None

    def publish(
        self, decoded: Decoded, public: Public, basis: Basis, certificate: Certificate, *, smoothing: str
    ) -> Any:
        """The release, with its card."""
        return Release(
            basis=basis,
            noisy=decoded.noisy,
            centre=basis.projection(public.grid) @ public.centre,
            noise=decoded.noise,
            count=decoded.count,
            smoothing=smoothed(smoothing, decoded.noisy, decoded.noise, basis),
            certificate=certificate,
        )


class Selection(ABC):
    """A choice among candidates by their scores, the lower the better.

    If one unit is replaced, the changes of all scores lie in an interval of length `spread`.
    """

    name: ClassVar[str]
    spread: ClassVar[float]

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of a unit's vector."""

    @property
    @abstractmethod
    def sums(self) -> int:
        """The length of a unit's contribution, and of their sum."""

    @abstractmethod
    def encode(self, public: Public) -> Encode:
        """The map from a batch of records to vectors, each a function of its own record alone."""

    @abstractmethod
    def clipping(self, public: Public) -> Clipping:
        """What makes a unit's contribution of its vector."""

    @abstractmethod
    def scores(self, total: Integers, public: Public) -> Scores: ...

    def result(self, index: int) -> float | None:
        """What was chosen, where a candidate is a number."""
        return None

    def gather(self, curves: Curves, public: Public, reading: Reading) -> Integers:
        """The sum of all contributions: here records are read, after the charge."""
        return exact_sum(
            curves,
            self.encode(public),
            self.clipping(public),
            units=curves.units,
            size=self.size,
            sums=self.sums,
            batch_rows=reading.batch_rows,
            workers=reading.threads,
            progress=reading.progress,
        )
