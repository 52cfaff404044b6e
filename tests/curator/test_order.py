"""The one door: public checks, then the charge, then the records; and after them one constant error at most."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, replace

import numpy as np
import pytest
from refusals import refused

import dpfda
from dpfda.bases import Basis, as_domain, cosine
from dpfda.bases.lattice import Lattice
from dpfda.curator import GIVEN, Curator
from dpfda.curator.order import least_noise
from dpfda.curator.summary import Public
from dpfda.errors import BudgetExceeded, CannotMeetBudget, DataError, ReleaseFailed, UsageError
from dpfda.ledger import SessionLedger
from dpfda.mechanisms import Gaussian, KNorm, Laplace, SeededRandomness
from dpfda.privacy import ADD_REMOVE, REPLACE, Budget, Unit
from dpfda.privacy.norms import L1, L2, Sensitivity
from dpfda.records import Curves
from dpfda.records.identity import Identity
from dpfda.records.reading import Reading
from dpfda.statistics.mean.summary import Mean

WIDTH = 8
SECRET = 123456.789
CONSTANT = (
    "The release failed after records were read. Nothing more can be said without saying something about them; "
    "the charge stays, and its key gives nothing any more: take a new one."
)


class Watched:
    """A source that notes every question about its records, and fails where it is told to."""

    width = WIDTH

    def __init__(self, events, n=5, fail=None, ids=False):
        self.events, self.n, self.fail, self.with_ids = events, n, fail, ids

    def rows(self):
        self.events.append("rows")
        return self.n

    def identity(self):
        self.events.append("ids")
        return Identity.of(np.arange(self.n) // 2) if self.with_ids else None

    def batches(self, rows):
        self.events.append("batches")
        for start in range(0, self.n, rows):
            if self.fail is not None and start >= 2:
                raise self.fail
            yield np.full((min(rows, self.n - start), WIDTH), SECRET)


class Clerk(SessionLedger):
    """A ledger that notes charges among the other events, and may refuse."""

    def __init__(self, events, refuse=False):
        super().__init__()
        self.events, self.refuse = events, refuse

    def charge(self, entry):
        self.events.append(f"charge {entry.dataset} {entry.what} {entry.budget.epsilon}")
        if self.refuse:
            raise BudgetExceeded("nothing left")
        return super().charge(entry)


def estimator(events, *, neighbours=REPLACE, **kwargs):
    known = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "planned_n": 5, "dataset": "scans", "ledger": Clerk(events)}
    known |= {"mechanism": "gaussian", "neighbours": neighbours, "reading": Reading(batch_rows=1), "force": True}
    return dpfda.MeanFunction(**known | kwargs)


CHARGE = "charge scans mean function, gaussian 1.0"


@pytest.mark.parametrize("ids", [False, True])
def test_under_replace_one_only_the_number_of_units_is_asked_for_before_the_charge(ids):
    events = []
    estimator(events).fit(Curves(Watched(events, ids=ids), None, None))
    before = events[: events.index(CHARGE)]
    assert set(before) <= {"rows", "ids"}
    assert "batches" in events[events.index(CHARGE) :]


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_under_add_or_remove_one_the_records_are_not_even_counted_before_the_charge(ids, n):
    events = []
    estimator(events, neighbours=ADD_REMOVE).fit(Curves(Watched(events, n, ids=ids), None, None))
    assert events[0] == CHARGE
    assert events.count(CHARGE) == 1
    assert "batches" in events


def test_a_ledger_that_refuses_keeps_the_records_unread():
    events = []
    with pytest.raises(BudgetExceeded, match="nothing left"):
        estimator(events, ledger=Clerk(events, refuse=True)).fit(Curves(Watched(events), None, None))
    assert "batches" not in events


def test_a_spent_ledger_refuses_the_second_fit_and_keeps_the_first():
    ledger = SessionLedger(cap=Budget(1.5, 1e-6))
    est = estimator([], ledger=ledger)
    est.fit(np.zeros((5, WIDTH)))
    first = est.release_
    with pytest.raises(BudgetExceeded, match="costs epsilon 1"):
        est.fit(np.zeros((5, WIDTH)))
    assert est.release_ is first
    assert len(ledger.entries) == 1


# Failures among the records.


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "failure",
    [
        ValueError(f"row 2 holds {SECRET}"),
        KeyError(SECRET),
        MemoryError(),
        UsageError(f"{SECRET}"),
        StopIteration(SECRET),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_failure_among_the_records_is_one_constant_error_and_the_charge_stays(failure, workers, neighbours):
    events = []
    est = estimator(events, neighbours=neighbours, reading=Reading(batch_rows=1, workers=workers))
    with pytest.raises(ReleaseFailed) as caught:
        est.fit(Curves(Watched(events, fail=failure), None, None))
    error = caught.value
    assert str(error) == CONSTANT
    assert error.__cause__ is None
    assert error.__context__ is None
    assert error.exit_code == 5
    assert not hasattr(est, "release_")
    assert events.count(CHARGE) == 1
    shown = "".join(traceback.format_exception(error))
    assert str(SECRET) not in shown
    assert "row 2" not in shown


def test_no_frame_of_the_error_holds_the_exact_sum():
    """Tools that print the local variables of a traceback walk exactly these frames."""

    class Failing(Gaussian):
        def draw(self, coordinates, scale, *, randomness):
            if np.any(coordinates):
                raise RuntimeError("out of luck")
            return super().draw(coordinates, scale, randomness=randomness)

    with pytest.raises(ReleaseFailed) as caught:
        curator().release(Mean(), basis=cosine((0, 1), 3), mechanism=Failing(), budget=Budget(1.0, 1e-6))
    names = {name for frame, _ in traceback.walk_tb(caught.tb) for name in frame.f_locals}
    assert "total" not in names


def test_a_source_with_rows_of_another_width_fails_after_the_charge_with_the_constant_error():
    class Wider(Watched):
        def batches(self, rows):
            yield np.zeros((2, WIDTH + 1))

    events = []
    with pytest.raises(ReleaseFailed) as caught:
        estimator(events).fit(Curves(Wider(events), None, None))
    assert str(caught.value) == CONSTANT
    assert CHARGE in events


def test_an_interrupt_by_the_user_is_no_failure_of_the_release():
    events = []
    with pytest.raises(KeyboardInterrupt):
        estimator(events).fit(Curves(Watched(events, fail=KeyboardInterrupt()), None, None))
    assert CHARGE in events


# Public checks of the curator itself.


def public(**changes):
    facts = {
        "unit": Unit("person", REPLACE),
        "n": 5,
        "planned": 5,
        "grid": np.linspace(0, 1, WIDTH)[:, None],
        "centre": np.zeros(WIDTH),
        "cap": 16.0,
        "lattice": Lattice(1.0),
        "count_weight": 0,
    }
    return Public(**{**facts, **changes})


def curator(events=None, facts=None, **kwargs):
    events = [] if events is None else events
    facts = public() if facts is None else facts
    return Curator(Curves(Watched(events), None, "person"), facts, dataset="scans", ledger=Clerk(events), **kwargs)


@dataclass(frozen=True)
class Nameless(Basis):
    """A basis of the user's own that cannot be written on a card."""

    domain: object
    size: int

    def functions(self, points, order):
        return np.ones((len(points), self.size))


WIDE = public(grid=np.linspace(0, 1, 9)[:, None], centre=np.zeros(9))
COUNTED = public(unit=Unit("person", ADD_REMOVE), n=None, count_weight=2**23)
RELEASE = {"basis": cosine((0, 1), 3), "mechanism": Gaussian(), "budget": Budget(1.0, 1e-6)}


@pytest.mark.parametrize(
    ("facts", "changes", "kind", "text"),
    [
        (public(n=0), {}, DataError, r"A release needs between 1 and 2\^38 persons, got 0\."),
        (public(n=2**38 + 1), {}, DataError, r"between 1 and 2\^38 persons, got 274877906945\."),
        (public(), {"budget": Budget(1.0, 0.0)}, CannotMeetBudget, r"gaussian noise cannot meet .* it needs delta > 0"),
        (public(), {"smoothing": "much"}, UsageError, "Unknown smoothing 'much'"),
        (public(), {"mechanism": KNorm((2,), (1.0,))}, UsageError, r"The blocks \(2,\) hold 2 coordinates, not 3"),
        (
            COUNTED,
            {"mechanism": KNorm((2, 2), (0.6, 0.8))},
            UsageError,
            "a block of 2 holds both",
        ),
        (public(), {"basis": Nameless(as_domain((0, 1)), 1)}, UsageError, "Nameless cannot be written to a file"),
        (
            public(),
            {"budget": Budget(1e-12, 0.0), "mechanism": Laplace()},
            UsageError,
            "A noise scale must lie between",
        ),
    ],
)
def test_what_can_be_refused_is_refused_before_the_charge(facts, changes, kind, text):
    events = []
    with pytest.raises(kind, match=text):
        curator(events, facts).release(Mean(), **{**RELEASE, **changes})
    assert events == []


@pytest.mark.parametrize("randomness", [42, "seed", np.random.default_rng(0)], ids=["number", "word", "generator"])
def test_a_source_of_randomness_that_is_none_is_refused(randomness):
    """A seed in its place, as in other libraries, would otherwise fail after the charge."""
    with refused(UsageError, "randomness", randomness):
        curator(randomness=randomness)


def test_a_grid_of_another_length_than_the_curves_is_refused():
    with refused(UsageError, "grid"):
        curator(facts=WIDE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_rows": 0},
        {"batch_rows": 2**20 + 1},
        {"batch_rows": 2.5},
        {"batch_rows": "9"},
        {"workers": 0},
        {"workers": 1.5},
    ],
    ids=repr,
)
def test_reading_takes_whole_numbers_in_range(wrong):
    with pytest.raises(
        UsageError, match=r"(batch_rows|workers) must be None or a whole number between 1 and"
    ) as caught:
        Reading(**wrong)
    assert repr(next(iter(wrong.values()))) in str(caught.value)


def test_the_bound_with_the_least_noise_is_taken():
    bounds = tuple(Sensitivity(value, norm, "") for value, norm in ((9.0, L2()), (4.0, L1()), (5.0, L2())))
    sensitivity, scale = least_noise(bounds, Laplace(), Budget(1.0, 0.0), 4)
    assert (sensitivity.value, sensitivity.norm) == (4.0, L1())
    assert scale == pytest.approx(4.0)


def test_bounds_in_no_norm_of_use_are_refused_and_so_are_none_at_all():
    with refused(UsageError, "norm"):
        least_noise((Sensitivity(1.0, L1(), ""),), Gaussian(), Budget(1.0, 1e-6), 4)
    with pytest.raises(UsageError, match=r"The summary states no sensitivity at all\."):
        least_noise((), Gaussian(), Budget(1.0, 1e-6), 4)


# The card.


def test_the_card_says_what_was_done():
    card = curator(randomness=SeededRandomness(1)).release(Mean(), **RELEASE).certificate
    assert (card.what, card.dataset, card.unit, card.unit_was_assumed) == ("mean function", "scans", "person", False)
    assert (card.n, card.n_is_noisy, card.neighbours) == (5.0, False, REPLACE)
    assert (card.epsilon, card.delta, card.mechanism) == (1.0, 1e-6, "gaussian")
    assert (card.sensitivity, card.sensitivity_norm) == (2.0**25, "L2")
    assert card.recorded.startswith("charged before reading as entry 1")
    assert card.entry.number == 1
    assert card.randomness.startswith("NOT PRIVATE")
    assert card.noise_scale > 0
    assert [loss["law"] for loss in card.losses] == ["gaussian"]
    alone = replace(curator(), ledger=None).release(Mean(), **RELEASE).certificate
    assert alone.recorded == "nothing was recorded: no ledger was given"
    assert alone.randomness == "system, exact integer samplers"
    assert alone.warnings == ()


def test_more_noise_than_needed_can_be_asked_for_and_never_less():
    """In lattice steps; the guarantee that was charged stays, and what an attacker can do goes down."""
    plain = curator().release(Mean(), **RELEASE)
    needed = plain.noise.scales[0] * 5 / Lattice(1.0).step
    for factor in (0.0, 0.5, 1.0, 1.5, 4.0):
        release = curator().release(Mean(), **RELEASE, least_scale=factor * needed)
        assert release.noise.scales[0] == pytest.approx(max(factor, 1.0) * plain.noise.scales[0], rel=1e-9)
        assert release.certificate.epsilon == 1.0
        assert release.certificate.rho == pytest.approx(plain.certificate.rho / max(factor, 1.0) ** 2, rel=1e-9)
        assert release.certificate.attacker_power <= plain.certificate.attacker_power


def test_the_card_and_the_ledger_take_the_name_that_is_given():
    events = []
    release = curator(events).release(Mean((0.5, 0.25, 0.125)), **RELEASE, name="gp")
    assert release.certificate.mechanism == "gp"
    assert release.certificate.what == "penalised mean function"
    assert "charge scans penalised mean function, gp 1.0" in events
    plain = curator().release(Mean(), **RELEASE)
    assert plain.certificate.mechanism == "gaussian"
    np.testing.assert_allclose(release.noise.scales, plain.noise.scales[0] * np.array([0.5, 0.25, 0.125]), rtol=1e-12)


def test_weights_multiply_sums_and_noise_alike():
    """The same seed with and without them: every noisy coordinate is its weight times the plain one, bit for bit."""
    weights = (0.5, 0.3, 0.125)
    one, other = (curator(randomness=SeededRandomness(4)).release(Mean(w), **RELEASE) for w in (weights, None))
    np.testing.assert_array_equal(one.noisy, np.array(weights) * other.noisy)
    np.testing.assert_allclose(one.noise.variances, np.array(weights) ** 2 * other.noise.variances, rtol=1e-12)


def test_weights_for_blocks_that_share_their_noise_are_refused_before_the_charge():
    events = []
    with refused(UsageError, "weights", 3):
        curator(events).release(Mean((0.5, 0.5, 0.4)), **RELEASE | {"mechanism": KNorm((3,), (1.0,))})
    assert events == []


@pytest.mark.parametrize(
    ("centre", "name"), [(0.0, "zero"), (2.5, "the constant 2.5"), (np.linspace(0, 1, WIDTH), "a public curve")]
)
def test_the_card_names_the_centre(centre, name):
    facts = public(centre=np.broadcast_to(centre, WIDTH) + 0.0)
    assert curator(facts=facts).release(Mean(), **RELEASE).certificate.centre == name


def test_the_trial_before_the_charge_draws_nothing_from_a_seeded_source():
    """Otherwise the noise of a study would depend on how often it was tried."""
    one = curator(randomness=SeededRandomness(3)).release(Mean(), **RELEASE)
    drawn = Gaussian().draw(
        np.zeros(3, dtype=np.int64), one.noise.scales[0] * 5 / Lattice(1.0).step, randomness=SeededRandomness(3)
    )
    clipped = np.array([2**24 - 1, 0, 0])
    assert np.abs(one.noisy / Lattice(1.0).step * 5 - drawn - 5 * clipped).max() < 10


def test_a_source_that_calls_itself_private_is_stamped_all_the_same():
    class Mine(SeededRandomness):
        private = True

    est = dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, randomness=Mine(1), force=True)
    assert not est.fit(np.zeros((5, 4))).release_.certificate.private


def test_what_one_charge_pays_for_is_drawn_once():
    events = []
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.0, ledger=Clerk(events))
    curves = dpfda.records.as_curves(np.zeros((5, WIDTH)), grid=None, units=None)
    plan, public = est.plan_for(curves), est.facts(curves)
    order = est._curator(curves, public, plan.reasons).order(
        Mean(), basis=plan.basis, mechanism=plan.mechanism, budget=plan.spends
    )
    payment = order.pay()
    payment.spend(lambda tape: order.draw(tape, payment.receipt))
    for again in (payment.hand_over, lambda: payment.spend(lambda tape: order.draw(tape, payment.receipt))):
        with pytest.raises(UsageError, match=re.escape(GIVEN)):
            again()
    assert len(events) == 1
