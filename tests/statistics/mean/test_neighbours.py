"""The neighbour contract: no unit moves the integer sum by more than is stated, and the worst ones nearly do.

For every family of bases, every norm that a mechanism asks for, every named mechanism and both neighbour relations. All
comparisons are exact: the moves are integers, roots are taken with 60 decimals, and nothing is allowed for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rows import Rows

from dpfda import bases
from dpfda.bases import as_domain
from dpfda.bases.lattice import RADIUS, Lattice
from dpfda.curator.summary import Public
from dpfda.kernels import Gaussian as GaussianKernel
from dpfda.kernels import Matern
from dpfda.mechanisms import Gaussian, KNorm, Laplace, SoftThreshold
from dpfda.planning import Request
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget, Unit, calibrate
from dpfda.privacy.norms import L1, L2, BlockNorm, Sensitivity, WeightedL1, WeightedL2
from dpfda.records import Curves, exact_sum, fold, smallest_cap
from dpfda.statistics.mean.plan import make_plan
from dpfda.statistics.mean.summary import Mean

WIDTH, SIZE, BOUND = 36, 6, 2.0
LINE = np.linspace(0, 1, WIDTH)[:, None]
BOX = np.stack([axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 2, 6), indexing="ij")], 1)

FAMILIES = {
    **{name: bases.by_name(name, (0, 1), SIZE) for name in sorted(bases.LEAST_SIZES)},
    "steps": bases.equal_steps((0, 1), SIZE),
    "mercer": bases.mercer(Matern(1.5, 0.3), (0, 1), SIZE),
    "combined": bases.combined(bases.cosine((0, 1), SIZE), np.eye(SIZE)[::-1]),
    "contracted": bases.contracted(bases.cosine((0, 1), SIZE), np.diag(np.linspace(1.0, 0.3, SIZE))),
    "tensor": bases.tensor(bases.cosine((0, 1), 3), bases.legendre((0, 2), 3), size=SIZE),
}
MECHANISMS = ["gaussian", "laplace", "k-norm"]


def test_every_family_takes_part():
    assert set(FAMILIES) == set(bases.FAMILIES) - set(bases.FEATURE_MAPS)


@dataclass(frozen=True)
class Case:
    """A release that is about to happen: public facts, basis and mechanism as the planner makes them."""

    public: Public
    basis: bases.Basis
    norm: object
    plan: object = None
    thresholds: tuple[int, ...] = ()  # of the mechanism, before its noise

    @staticmethod
    def planned(family, mechanism, neighbours, *, centre=0.0):
        return Case.of({"mechanism": mechanism, "basis": FAMILIES[family]}, neighbours, centre=centre)

    @staticmethod
    def of(wishes, neighbours, *, centre=0.0, domain=None):
        domain = as_domain(wishes["basis"].domain if domain is None else domain)
        grid = BOX if domain.dimension == 2 else LINE
        plan = make_plan(
            Request(
                budget=Budget(1.0, 1e-6 if wishes["mechanism"] in ("gaussian", "gp") else 0.0),
                n=50,
                bound=BOUND,
                domain=domain,
                neighbours=neighbours,
                grid_size=len(grid),
                **wishes,
            )
        )
        unit = Unit("person", neighbours)
        public = Public(
            unit=unit,
            n=50 if unit.size_is_public else None,
            planned=50,
            grid=grid,
            centre=np.broadcast_to(centre, len(grid)) + 0.0,
            cap=smallest_cap(BOUND, len(grid)),
            lattice=Lattice(BOUND),
            count_weight=plan.count_weight,
        )
        thresholds = plan.mechanism.thresholds if isinstance(plan.mechanism, SoftThreshold) else ()
        return Case(public, plan.basis, plan.mechanism.norm, plan, thresholds)

    @property
    def size(self):
        return self.basis.size + (0 if self.public.unit.size_is_public else 1)

    def bounds(self):
        """Everything that is stated, in the norm of the mechanism."""
        return [bound.to(self.norm, self.size) for bound in Mean().bounds(self.public, self.basis)]

    def sum(self, people, *, batch_rows=1000, scattered=False, lattice=None, by_row=False):
        """What is handed to the mechanism, in Python's own integers; people are lists of rows."""
        rows = [(who, row) for who, one in enumerate(people) for row in one]
        if scattered:
            rows = rows[::2] + rows[1::2]
        ids = np.array([who for who, _ in rows], dtype=np.int64)
        table = np.array([row for _, row in rows], dtype=float).reshape(len(rows), len(self.public.grid))
        curves = Curves(Rows(table, None if by_row else ids), None, "person")
        total = exact_sum(
            curves,
            Mean().encode(self.public, self.basis),
            self.public.lattice if lattice is None else lattice,
            units=curves.units,
            size=self.basis.size,
            batch_rows=batch_rows,
            workers=1,
            progress=False,
        )
        count = (
            [] if self.public.unit.size_is_public else [curves.size_under(self.public.unit) * self.public.count_weight]
        )
        exact = [*count, *map(int, total)]
        if not self.thresholds:
            return exact
        return [max(abs(x) - t, 0) * (1 if x > 0 else -1) for x, t in zip(exact, self.thresholds, strict=True)]

    def move(self, one, other, **options):
        return [a - b for a, b in zip(self.sum(one, **options), self.sum(other, **options), strict=True)]


def length(move, norm):
    """The norm of an integer vector with 60 decimals; independent of the package's own norms."""
    with localcontext() as context:
        context.prec = 60
        if isinstance(norm, L1):
            return Decimal(sum(map(abs, move)))
        if isinstance(norm, L2):
            return Decimal(sum(x * x for x in move)).sqrt()
        if isinstance(norm, WeightedL1 | WeightedL2):
            terms = [Decimal(w) * abs(x) for w, x in zip(norm.weights, move, strict=True)]
            total = sum(terms, Decimal(0))
            return total if isinstance(norm, WeightedL1) else sum((t * t for t in terms), Decimal(0)).sqrt()
        assert isinstance(norm, BlockNorm)
        assert sum(norm.sizes) == len(move)
        edges = np.cumsum([0, *norm.sizes])
        squares = [sum(x * x for x in move[a:b]) for a, b in pairwise(edges)]
        return sum((Decimal(w) * Decimal(s).sqrt() for w, s in zip(norm.weights, squares, strict=True)), Decimal(0))


def check(case, one, other, **options):
    """The contract itself; also what must catch the planted faults below."""
    move = case.move(one, other, **options)
    for bound in case.bounds():
        if isinstance(bound.norm, L2):
            # Squares of integers against the square of the double that is stated: no root at all.
            top, bottom = bound.value.as_integer_ratio()
            assert sum(x * x for x in move) * bottom**2 <= top**2, bound.because
        assert length(move, bound.norm) <= Decimal(bound.value), bound.because
    return move


# Directed search: curves built from the basis so that the norm is as large as it can be.


def directions(case, rng):
    """Unit vectors of coordinates that make the mechanism's norm large."""
    size = case.basis.size
    weights = np.ones(size)
    if isinstance(case.norm, BlockNorm):
        sizes, shares = case.norm.sizes, case.norm.weights
        if not case.public.unit.size_is_public:
            sizes, shares = sizes[1:], shares[1:]
        weights = np.repeat(np.array(shares) / np.sqrt(sizes), sizes)
    if isinstance(case.norm, WeightedL1 | WeightedL2):
        weights = np.array(case.norm.weights)[0 if case.public.unit.size_is_public else 1 :]
    yield weights / np.linalg.norm(weights)
    yield weights * np.resize([1, -1], size) / np.linalg.norm(weights)
    yield from np.eye(size)
    for _ in range(4):
        any_one = rng.normal(size=size)
        yield any_one / np.linalg.norm(any_one)


def curve(case, direction, factor):
    """The smallest values on the grid with these coordinates, `factor` times the bound."""
    values = np.linalg.pinv(case.basis.projection(case.public.grid)) @ direction * BOUND * factor
    return case.public.centre + values


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_worst_curves_of_the_basis_reach_the_stated_bound_and_never_pass_it(
    family, mechanism, neighbours, monkeypatch
):
    # In this thread: a pool of its own for each of 20,000 sums takes most of the time. Other tests have pools.
    monkeypatch.setattr(fold, "in_order", lambda function, items, workers: map(function, items))
    rng = np.random.default_rng(0)
    case = Case.planned(family, mechanism, neighbours, centre=0.7)
    others = [[curve(case, rng.normal(size=SIZE), 0.3)] for _ in range(2)]
    reached = [Decimal(0)] * len(case.bounds())
    for direction in directions(case, rng):
        for factor in (1 - 1e-9, 1.0, 1 + 1e-9, 1.01, 50.0):
            there, back = curve(case, direction, factor), curve(case, -direction, factor)
            pairs = [([[there]], [[back]]), ([[there] * 3], [[back, back]]), ([[there]], [[np.full(WIDTH, np.nan)]])]
            if neighbours == ADD_REMOVE:
                pairs = [([[there]], []), ([[back] * 2], [])]
            for one, other in pairs:
                move = check(case, others + one, others + other)
                for place, bound in enumerate(case.bounds()):
                    reached[place] = max(reached[place], length(move, bound.norm) / Decimal(bound.value))
    assert all(Decimal("0.9") <= share <= 1 for share in reached), reached


# Every named mechanism, in the coordinates in which its noise is white.

NAMED = {
    "gp": {"mechanism": "gp", "size": SIZE},
    "gp of a Gaussian kernel": {"mechanism": "gp", "kernel": GaussianKernel(0.3), "eta": 0.75, "penalty": 0.05},
    "gp on a box": {"mechanism": "gp", "size": SIZE},
    "iclp-qr": {"mechanism": "iclp-qr", "size": SIZE},
    "iclp-qr with a rough kernel": {"mechanism": "iclp-qr", "kernel": Matern(0.5, 0.3), "eta": 2.0, "penalty": 0.1},
    "iclp-qr on a box": {"mechanism": "iclp-qr", "size": SIZE},
    "iclp-ar": {"mechanism": "iclp-ar", "kernel": Matern(1.5, 0.4), "penalty": 1e-3, "size": 4},
    "frl": {"mechanism": "frl", "size": SIZE},
    "bernstein": {"mechanism": "bernstein", "size": SIZE},
    "bernstein on a box": {"mechanism": "bernstein", "size": 9},
}


def named(name, neighbours):
    return Case.of(NAMED[name], neighbours, centre=0.7, domain=[(0, 1), (0, 2)] if "box" in name else (0, 1))


def crowd(case):
    """Those who stay: together they lift every coordinate far above its threshold, where nothing of a move is lost."""
    direction = np.ones(case.basis.size) / np.sqrt(case.basis.size)
    return [[curve(case, direction, 1.0)]] * 49 if case.thresholds else [[curve(case, direction, 0.3)]] * 2


def worst_pairs(case, rng):
    """Neighbouring data sets that differ in one person, at the ends of every bad direction."""
    staying = crowd(case)
    for direction in directions(case, rng):
        for factor in (1 - 1e-9, 1.0, 1 + 1e-9, 50.0):
            there, back = curve(case, direction, factor), curve(case, -direction, factor)
            yield [*staying, [there]], [*staying, [back]] if case.public.unit.size_is_public else staying


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("name", NAMED)
def test_every_named_mechanism_is_calibrated_for_its_worst_neighbours_and_no_worse_ones_exist(name, neighbours):
    """The bound is exact: some pair reaches nine tenths of it at least, where a count is private, and else 99 %."""
    case = named(name, neighbours)
    (bound,) = case.bounds()
    kind = {"gp": WeightedL2, "frl": L1, "bernstein": L1}.get(name.split()[0], WeightedL1)
    assert isinstance(bound.norm, kind)
    reached = max(
        length(check(case, one, other), bound.norm) / Decimal(bound.value)
        for one, other in worst_pairs(case, np.random.default_rng(0))
    )
    assert Decimal("0.9" if neighbours == ADD_REMOVE else "0.99") <= reached <= 1


@pytest.mark.parametrize("name", NAMED)
def test_what_is_released_moves_by_the_budget_in_units_of_its_own_noise(name):
    """After the weights of the mean, too: `sum |move_j| / b_j <= epsilon`, `|move / deviations|_2 <= mu`, reached.

    Decoded in doubles, so 1e-9 is allowed for rounding. The published sensitivity would leave much of it unused.
    """
    case = named(name, REPLACE)
    plan, summary = case.plan, Mean(case.plan.design.weights)
    (stated,) = summary.bounds(case.public, case.basis)
    scale = calibrate(plan.mechanism, stated, plan.budget, size=case.basis.size)
    noise = plan.mechanism.noise(scale, case.basis.size)

    def price(one, other):
        decoded = [
            summary.decode(np.array(case.sum(people), dtype=np.int64), noise, case.public, case.basis)
            for people in (one, other)
        ]
        assert decoded[0].noise == plan.noise or np.allclose(decoded[0].noise.scales, plan.noise.scales, rtol=1e-12)
        white = np.abs(decoded[0].noisy - decoded[1].noisy) / np.repeat(decoded[0].noise.scales, noise.sizes)
        return float(np.linalg.norm(white) if noise.name == "gaussian" else white.sum())

    allowed = plan.budget.epsilon
    if noise.name == "gaussian":
        allowed = 1 / calibrate(Gaussian(), Sensitivity(1.0, L2(), "one"), plan.budget)
    prices = [price(one, other) for one, other in worst_pairs(case, np.random.default_rng(0))]
    assert 0.99 * allowed <= max(prices) <= allowed * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("gp", lambda w: np.sqrt(np.mean(w**2))), ("iclp-qr", np.max), ("iclp-ar", np.max), ("frl", np.max)],
    ids=["gp", "iclp-qr", "iclp-ar", "frl"],
)
def test_a_sensitivity_that_forgets_some_coordinates_is_caught(name, wrong):
    """The average weight under Gaussian noise, and under Laplace noise the largest alone: both are passed."""
    case = named(name, REPLACE)
    weights = np.array(getattr(case.norm, "weights", (1.0,) * case.basis.size))
    stated = Decimal(2 * RADIUS * float(wrong(weights)))
    longest = max(length(case.move(*pair), case.norm) for pair in worst_pairs(case, np.random.default_rng(0)))
    assert longest > stated * Decimal("1.05")


def test_a_threshold_never_lets_a_person_move_further_than_without_it():
    case = named("iclp-ar", REPLACE)
    bare = replace(case, thresholds=())
    for one, other in worst_pairs(case, np.random.default_rng(1)):
        for inside, outside in zip(case.move(one, other), bare.move(one, other), strict=True):
            assert abs(inside) <= abs(outside)
    # Near zero the threshold swallows a lonely person whole.
    loud = curve(case, np.eye(case.basis.size)[-1], 1.0)
    assert not any(case.move([[loud]], [[-loud + 2 * case.public.centre]]))
    assert any(bare.move([[loud]], [[-loud + 2 * case.public.centre]]))


def test_weights_change_neither_what_is_summed_nor_what_is_stated():
    case = named("gp", REPLACE)
    weighted = Mean(case.plan.design.weights)
    assert weighted.bounds(case.public, case.basis) == Mean().bounds(case.public, case.basis)
    rows = np.random.default_rng(3).normal(size=(5, WIDTH))
    for one, other in zip(
        weighted.encode(case.public, case.basis)(rows), Mean().encode(case.public, case.basis)(rows), strict=True
    ):
        np.testing.assert_array_equal(one, other)


# Undirected search: any rows whatever.

WILD = st.floats(width=64) | st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, BOUND, -BOUND, 0.0, 5e-324])
PERSON = st.lists(
    arrays(np.float64, WIDTH, elements=WILD, fill=st.floats(-4, 4) | st.just(np.nan)), min_size=1, max_size=3
)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=30, deadline=None)
@given(
    family=st.sampled_from(list(FAMILIES)),
    others=st.lists(PERSON, max_size=3),
    one=PERSON,
    other=PERSON,
    place=st.integers(0, 3),
    batch_rows=st.integers(1, 12),
    scattered=st.booleans(),
)
def test_no_person_whatever_moves_the_sum_further(
    mechanism, neighbours, family, others, one, other, place, batch_rows, scattered
):
    case = Case.planned(family, mechanism, neighbours)
    check_pair(case, others, one, other, place, batch_rows=batch_rows, scattered=scattered)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@settings(max_examples=50, deadline=None)
@given(name=st.sampled_from(list(NAMED)), others=st.lists(PERSON, max_size=3), one=PERSON, other=PERSON)
def test_no_person_whatever_moves_a_named_mechanism_further(neighbours, name, others, one, other):
    check_pair(CASES[name, neighbours], others, one, other, 0)


CASES = {(name, neighbours): named(name, neighbours) for name in NAMED for neighbours in (REPLACE, ADD_REMOVE)}


def check_pair(case, others, one, other, place, **options):
    place = min(place, len(others))
    first = [*others[:place], one, *others[place:]]
    second = [*others[:place], *([other] if case.public.unit.size_is_public else []), *others[place:]]
    check(case, first, second, **options)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
def test_a_person_who_only_changes_name_moves_nothing(neighbours):
    case = Case.planned("cosine", "gaussian", neighbours)
    rng = np.random.default_rng(1)
    people = [[rng.normal(size=WIDTH) for _ in range(k)] for k in (1, 3, 2)]
    for order in ([2, 0, 1], [1, 0, 2]):
        assert not any(case.move(people, [people[i] for i in order], scattered=True, batch_rows=2))


def test_a_person_with_many_rows_counts_as_one():
    case = Case.planned("legendre", "gaussian", REPLACE)
    flat = np.full(WIDTH, 10 * BOUND)
    for rows in (1, 2, 100):
        move = check(case, [[flat] * rows], [[-flat] * rows], batch_rows=7)
        assert move == case.move([[flat]], [[-flat]])


# Planted faults: the check above is worth nothing unless it catches them.


class Unclipped(Lattice):
    """A lattice that forgets to clip."""

    def clip(self, vectors, out=None):
        return np.trunc(vectors)


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mean_that_forgets_clipping_is_caught(mechanism, neighbours):
    case = Case.planned("legendre", mechanism, neighbours)
    loud = curve(case, next(directions(case, np.random.default_rng(0))), 1.5)
    other = [[-loud]] if neighbours == REPLACE else []
    check(case, [[loud]], other)
    with pytest.raises(AssertionError, match="a unit"):
        check(case, [[loud]], other, lattice=Unclipped(BOUND))


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mean_that_protects_one_row_instead_of_the_person_is_caught(mechanism, neighbours):
    case = Case.planned("legendre", mechanism, neighbours)
    loud = curve(case, next(directions(case, np.random.default_rng(0))), 1.0)
    other = [[-loud] * 2] if neighbours == REPLACE else []
    check(case, [[loud] * 2], other)
    with pytest.raises(AssertionError, match="a unit"):
        check(case, [[loud] * 2], other, by_row=True)


def test_a_count_that_weighs_more_than_stated_is_caught():
    case = Case.planned("legendre", "gaussian", ADD_REMOVE)
    loud = curve(case, np.eye(SIZE)[0], 1.0)
    heavier = replace(case.public, count_weight=case.public.count_weight * 2)
    move = replace(case, public=heavier).move([[loud]], [])
    (bound,) = case.bounds()
    assert length(move, bound.norm) > Decimal(bound.value)


def test_rounding_to_nearest_before_the_check_would_be_caught():
    """Rounded to nearest, a vector on the sphere can leave the ball; the lattice rounds towards zero."""

    class Nearest(Lattice):
        def clip(self, vectors, out=None):
            return np.rint(vectors * RADIUS / np.maximum(np.linalg.norm(vectors, axis=0), RADIUS))

    case, rng = Case.planned("cosine", "gaussian", REPLACE), np.random.default_rng(0)
    caught = 0
    for _ in range(20):
        loud = curve(case, rng.normal(size=SIZE), 3.0)
        try:
            check(case, [[loud]], [[-loud]], lattice=Nearest(BOUND))
        except AssertionError:
            caught += 1
    assert caught > 0


# What is stated.


def test_bounds_look_at_public_facts_alone_and_say_why():
    one = Mean().bounds(Case.planned("cosine", "gaussian", REPLACE).public, FAMILIES["cosine"])
    assert one == (
        Sensitivity(
            2.0**25,
            L2(),
            "a unit's integer vector has norm at most 16777216 and replacing it moves the sum by two of them",
        ),
    )
    case = Case.planned("cosine", "gaussian", ADD_REMOVE)
    (two,) = Mean().bounds(case.public, FAMILIES["cosine"])
    weight = case.public.count_weight
    assert Decimal(two.value) ** 2 >= RADIUS**2 + weight**2
    assert two.value == pytest.approx(np.hypot(RADIUS, weight))
    assert str(weight) in two.because


def test_mechanisms_of_the_users_own_are_held_to_the_same_bounds():
    case = Case.planned("fourier", "gaussian", REPLACE)
    for norm in (Laplace().norm, KNorm((1, 5), (0.9, 0.1)).norm, KNorm((2, 2, 2), (0.1, 1.0, 10.0)).norm):
        own = replace(case, norm=norm)
        loud = [curve(own, direction, 1.0) for direction in directions(own, np.random.default_rng(2))]
        shares = [length(check(own, [[c]], [[-c]]), norm) / Decimal(own.bounds()[0].value) for c in loud]
        assert max(shares) > Decimal("0.9")
