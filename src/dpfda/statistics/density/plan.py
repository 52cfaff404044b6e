"""The plan of a density: which features, which noise, and how large the error will be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfda.arrays import Array, Integers, as_plain_ints, is_one_of, is_whole
from dpfda.bases import Basis, Domain
from dpfda.bases.cells import Cells, cells_along, cells_between, fine_cells
from dpfda.errors import UsageError
from dpfda.kernels import Kernel
from dpfda.mechanisms import Bernstein, GaussianProcess, KNorm, SeededRandomness
from dpfda.mechanisms.base import law_of
from dpfda.mechanisms.noise import NoiseLaw
from dpfda.mechanisms.table import AUTO, names_for, settings_of, unknown
from dpfda.messages import Message, arg
from dpfda.planning.base import NOISY_FROM, AnyPlan, Ranked, basis_text, price, ranked
from dpfda.planning.request import check_exact, check_kernel, check_units, check_used
from dpfda.privacy import ADD_REMOVE, Budget, Unit, calibrate
from dpfda.privacy.norms import Sensitivity
from dpfda.statistics.density import papers
from dpfda.statistics.density.default_design import own_density
from dpfda.statistics.density.features import FeatureTable, integer_table, volumes_of
from dpfda.statistics.density.papers import PAPERS, DensityDesign
from dpfda.statistics.density.release import density_release
from dpfda.statistics.density.sides import ProductTable
from dpfda.statistics.density.windows import FORMER, PRESENT, Bandwidth

STATISTIC = "density"
APART, EDGE = OUTSIDE = ("apart", "edge")  # what becomes of points outside the domain
FAR = 1000.0  # lengths of a side: from there a point is heard no more
SIDES_FROM = 3  # sides from which on cells of a box would be coarse
MOST_STATED = 1024  # functions or cells that a user may ask for
ONE_CELL = "One cell holds everybody, whoever they are."


FLAT = 0.1  # a density that differs by less from a uniform one is no signal to compare noise with


@dataclass(frozen=True, eq=False)
class DensityRequest:
    """A density as it is asked for; None leaves a choice to the planner."""

    n: int
    budget: Budget
    domain: Domain
    neighbours: str
    mechanism: str = "auto"
    size: int | None = None  # of the basis; for Bernstein polynomials their number along each side
    edges: Sequence[float] | Sequence[Sequence[float]] | None = None
    kernel: Kernel | None = None
    bandwidth: Bandwidth | None = None
    eta: float | None = None
    calibration: str = "exact"
    outside: str = APART
    edition: int = PRESENT

    def __post_init__(self) -> None:
        check_units(self.n)
        if not is_one_of(self.outside, OUTSIDE):
            raise UsageError(
                parameter="outside",
                value=self.outside,
                rule="is 'apart' (points outside the domain are counted apart) or 'edge' (moved to its edge)",
            )
        if not isinstance(self.mechanism, str) or self.mechanism not in (AUTO, *names_for(STATISTIC)):
            raise unknown(self.mechanism, STATISTIC, "a density")
        check_kernel(self.kernel, "Matern(1.5, 0.1)")
        self._check_size()
        as_plain_ints(self, "n", "size")
        check_used(self, STATISTIC, "kernel", "bandwidth", "eta")
        if self.mechanism not in PAPERS:
            check_exact(self.calibration, self.mechanism)
        if self.edges is not None and (self.mechanism in PAPERS or self.size is not None):
            raise UsageError(
                "With edges the density is constant between them: leave size out, and mechanism at 'auto', 'gaussian' "
                "or 'laplace'."
            )
        if self.edges is not None and self.cells.size == 1:
            raise UsageError(
                parameter="edges",
                value=self.edges,
                rule="must make at least 2 cells",
                fix=f"{ONE_CELL} Add an edge between the ends.",
            )

    def _check_size(self) -> None:
        """Histograms need two cells, Bernstein polynomials two along each side; one function of the others will do."""
        own = self.mechanism not in PAPERS
        least = 2 if own or self.mechanism == Bernstein.name else 1
        if self.size is None or is_whole(self.size, least, MOST_STATED):
            return
        if own:
            raise UsageError(
                parameter="size",
                value=self.size,
                rule="must be a whole number of cells, at least 2",
                fix=f"{ONE_CELL} Leave it out, or take 2 to {MOST_STATED}: noise hides what is finer.",
            )
        raise UsageError(
            parameter="size",
            value=self.size,
            rule=f"must be a whole number of functions, at least {least}",
            fix=f"The most is {MOST_STATED}: noise hides what is finer.",
        )

    @property
    def counted(self) -> bool:
        """Whether the number of units is private, and so is released with noise too."""
        return self.neighbours == ADD_REMOVE

    @property
    def encoding(self) -> tuple[tuple[str, str], ...]:
        """For a store of answers: how points become a function; nothing in the first edition, which had one way."""
        places = "points" if self.by_sides else "cells"
        return () if self.edition == FORMER else (("outside", self.outside), ("places", places))

    @property
    def by_sides(self) -> bool:
        """Whether a point is known by thousands of places along each side, and not by a cell of the box."""
        process = self.mechanism == GaussianProcess.name
        return self.edition == PRESENT and process and self.domain.dimension >= SIDES_FROM

    @property
    def reach(self) -> Domain:
        """Where a point that is known by itself may lie; one further away is moved to there."""
        if self.outside == EDGE:
            return self.domain
        away = [FAR * length for length in self.domain.lengths]
        return Domain(tuple((low - far, high + far) for (low, high), far in zip(self.domain.sides, away, strict=True)))

    @property
    def cells(self) -> Cells:
        if self.edges is not None:
            cells = cells_between(self.edges)
        else:
            cells = cells_along(self.domain) if self.by_sides else fine_cells(self.domain)
        return replace(cells, apart=self.outside == APART and self.edition == PRESENT)


@dataclass(frozen=True, eq=False)
class DensityPlan(AnyPlan):
    """A design for a density, and the law of its noise, from public facts alone."""

    request: DensityRequest
    cells: Cells
    design: DensityDesign
    features: FeatureTable | ProductTable
    scale: float  # of the mechanism, in lattice steps
    noise: NoiseLaw  # of the coordinates of density times volume, before smoothing
    spends: Budget
    reasons: tuple[tuple[str, str], ...]

    @property
    def basis(self) -> Basis:
        return self.design.basis

    @property
    def volume(self) -> float:
        return math.prod(self.cells.domain.lengths)

    @property
    def noise_rms(self) -> float:
        """The expected root mean square of the noise over the domain, before smoothing, in the units of the density."""
        return float(np.sqrt(np.trace(self.basis.gram() * self.noise.variances))) / self.volume

    @cached_property
    def error(self) -> float:
        """The root mean square error to expect, in the units of the density, for a public reference density."""
        return expected_error(self)

    @cached_property
    def hidden(self) -> str:
        """Why a plausible density could hardly be told from a uniform one; empty where it could."""
        shape, noise = shape_of(self.cells), self.noise_rms * self.volume
        if shape < FLAT:  # in so few cells the reference is uniform itself
            return f"the noise would be {noise:.0%} of a uniform density" if noise >= NOISY_FROM else ""
        # Noise that is small before smoothing hides nothing; what is left then is sampling, and the width of cells. Not
        # so for the papers' kernels: they shrink the shape before the noise, so what counts is the error alone.
        small = noise < NOISY_FROM * shape and self.request.mechanism not in PAPERS
        if small or self.error * self.volume < NOISY_FROM * shape:
            return ""
        return (
            f"the error expected would be {self.error * self.volume / shape:.0%} of what {REFERENCE}, differs by from "
            "a uniform density"
        )

    @property
    def instead(self) -> str:
        """What else to state where neither more units nor more epsilon help."""
        return super().instead or (
            Message(": take ", arg("mechanism", "auto")) if self.request.mechanism in PAPERS else ""
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        return (self.cells.coarse,) if self.cells.coarse else ()

    def table(self) -> Ranked:
        """Expected errors of all mechanisms for the same request, least first; None where one cannot be used."""
        mine = self.design.name
        # K-norm noise in blocks of one is Laplace noise.
        names = (name for name in names_for(STATISTIC) if name == mine or name != KNorm.name)
        return ranked(names, mine, lambda name: (self if name == mine else self._other(name)).error)

    def _other(self, name: str) -> DensityPlan:
        return plan_density(
            replace(self.request, mechanism=name, size=None, kernel=None, bandwidth=None, eta=None, calibration="exact")
        )

    @property
    def title(self) -> str:
        return f"a density of {self.n} units"

    def facts(self) -> dict[str, Any]:
        return {
            "basis": self.basis.describe(),
            "mechanism": self.design.name,
            "noise": self.noise.describe(),
            "noise_rms": self.noise_rms,
            "expected_rms": self.error,
            "spends": price(self.spends),
        }

    def lines(self) -> tuple[tuple[str, str], ...]:
        return (
            ("mechanism", f"{self.design.name}, {self.noise.text}"),
            ("basis", basis_text(self.basis)),
            (
                "noise",
                f"{self.noise_rms:.4g} root mean square before smoothing; a uniform density is {1 / self.volume:.4g}",
            ),
            ("cells", self.cells.text),
            ("error", f"about {self.error:.4g} root mean square with sampling and smoothing, for {REFERENCE}"),
        )


def plan_density(request: DensityRequest) -> DensityPlan:
    """The design that was asked for, or with "auto" the planner's own, by public facts alone."""
    design = _design(request, request.cells)
    cells = design.cells
    features: FeatureTable | ProductTable
    if design.sides is not None:
        features = ProductTable.of(cells, design.sides, design.decode, design.least_diameter)
    else:
        table, steps = integer_table(design.features)
        # Under add-or-remove-one the first column is the count's.
        features = FeatureTable(
            cells, table, design.decode / steps, design.mechanism.norm, design.least_diameter * steps
        )
    reach = features.longest if request.counted else features.diameter
    sensitivity = Sensitivity(max(reach, features.least), features.norm, "the planned one")
    # What needs no delta spends none: the guarantee is pure.
    spends = Budget(request.budget.epsilon, 0.0) if design.mechanism.pure else request.budget
    scale = calibrate(design.mechanism, sensitivity, spends, size=features.size)
    noise = law_of(design.mechanism, scale, features.size)
    if features.leading:
        noise = noise.split(features.leading)[1]
    noise = noise.scaled(1 / request.n).weighted(np.abs(features.decode_weights))
    why = "stated by the user" if request.mechanism != "auto" else "the planner's own"
    return DensityPlan(request, cells, design, features, scale, noise, spends, (*design.reasons, ("mechanism", why)))


def _design(request: DensityRequest, cells: Cells) -> DensityDesign:
    if request.mechanism not in PAPERS:
        return own_density(
            request.n,
            request.budget,
            cells,
            neighbours=Unit("unit", request.neighbours).neighbours,
            size=request.size,
            mechanism=request.mechanism,
            edges=request.edges is not None,
        )
    facts = papers.DensityFacts(
        cells,
        int(request.n),
        request.budget,
        counted=request.counted,
        calibration=request.calibration,
        edition=request.edition,
    )
    taken = {"kernel", "bandwidth", "eta"} & set(settings_of(request.mechanism, STATISTIC))
    settings: dict[str, Any] = {name: getattr(request, name) for name in taken}
    if request.mechanism == Bernstein.name:
        settings["degree"] = None if request.size is None else int(request.size) - 1
    else:
        settings["size"] = request.size
    return PAPERS[request.mechanism](facts, **settings)


REFERENCE = "a normal law in the middle of the domain, an eighth of each side wide"
DRAWS = 4


def reference(cells: Cells) -> Array:
    """The chance of every cell under the reference density, (G,)."""
    chances = np.ones(1)
    for along in reference_along(cells):
        chances = np.multiply.outer(chances, along).ravel()
    shares: Array = chances / chances.sum()
    return shares


def reference_along(cells: Cells) -> list[Array]:
    """The chance of every place along each side: they are independent."""
    from scipy.special import ndtr

    found = []
    for along in cells.edges:
        edges = np.array(along)
        middle, width = (edges[0] + edges[-1]) / 2, (edges[-1] - edges[0]) / 8
        chances = np.diff(ndtr((edges - middle) / width))
        found.append(chances / chances.sum())
    return found


def shape_of(cells: Cells) -> float:
    """The root mean square distance of the reference density from a uniform one, both times the volume."""
    squares = 1.0
    for chances, along in zip(reference_along(cells), cells.edges, strict=True):
        widths = np.diff(along) / (along[-1] - along[0])
        squares *= float(np.sum(chances**2 / widths))
    return math.sqrt(max(squares - 1, 0.0))


def expected_error(plan: DensityPlan) -> float:
    """The root mean square error over the domain, in the units of the density, of sampling, noise and smoothing.

    From a few seeded draws of n people of the reference density and of the noise: no data, and the same every time.
    """
    cells, features, randomness = plan.cells, plan.features, SeededRandomness(1)
    if isinstance(features, ProductTable):
        return _expected_by_sides(plan, features)
    n = None if plan.request.counted else plan.n
    shares = reference(cells)
    widths = volumes_of(cells)
    rows = features.rows[: cells.size]  # nobody lies outside
    law = plan.design.mechanism.noise(plan.scale, features.size)
    card: Any = None  # nothing that is computed here looks at it
    errors = []
    for _ in range(DRAWS):
        sampled = shares + np.sqrt(shares / plan.n) * randomness.normal(shares.shape)
        people = sampled / sampled.sum() * plan.n  # some cells below zero: their sums have the right law all the same
        exact = np.rint(people @ rows).astype(np.int64)
        noisy = plan.design.mechanism.draw(exact, plan.scale, randomness=randomness)
        decoded = features.decode(noisy, law, n)
        release = density_release(decoded, n, plan.basis, card, smoothing="auto" if plan.design.smoothing else "none")
        errors.append(float(widths @ (release(cells.centres) - shares / widths) ** 2) / plan.volume)
    return math.sqrt(float(np.mean(errors)))


SAMPLED = 1000  # people, and points of the domain, where the error to expect is computed without cells


def _expected_by_sides(plan: DensityPlan, table: ProductTable) -> float:
    """The same where cells cannot be told one by one: a few people and points stand for all."""
    cells, randomness = plan.cells, SeededRandomness(1)
    chances, dimension = reference_along(cells), len(cells.edges)
    counts = [len(along) for along in chances]

    def drawn(shares: list[Array]) -> list[Integers]:
        uniforms = randomness.uniform((len(shares), SAMPLED))
        return [
            np.minimum(np.searchsorted(np.cumsum(share), uniform), count - 1).astype(np.int64)
            for share, uniform, count in zip(shares, uniforms, counts, strict=True)
        ]

    lows, lengths = np.array([low for low, _ in cells.domain.sides]), np.array(cells.domain.lengths)
    asked = drawn([np.full(count, 1 / count) for count in counts])
    points = lows + lengths * (np.stack(asked, axis=1) + 0.5) / np.array(counts)
    density = [along / np.diff(edges) for along, edges in zip(chances, cells.edges, strict=True)]
    truth = np.prod([density[axis][asked[axis]] for axis in range(dimension)], axis=0)
    values = plan.basis.matrix(points)
    exact = table.sides.means(chances)
    n = None if plan.request.counted else plan.n
    law, lead = plan.design.mechanism.noise(plan.scale, table.size), np.zeros(table.leading)
    if n is None:
        lead[0] = table.count_steps
    errors = []
    for _ in range(DRAWS):
        people = table.sides.products(drawn(chances)).mean(axis=0)
        mean = exact + (people - exact) * math.sqrt(SAMPLED / plan.n)
        sums = np.rint(np.concatenate([lead, mean * table.steps]) * plan.n).astype(np.int64)
        noisy = plan.design.mechanism.draw(sums, plan.scale, randomness=randomness)
        found = np.maximum(values @ table.decode(noisy, law, n).noisy / plan.volume, 0.0)
        errors.append(float(np.mean((found - truth) ** 2)))
    return math.sqrt(float(np.mean(errors)))
