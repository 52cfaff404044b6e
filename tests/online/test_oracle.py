"""Oracles: the same point, the same answer; errors that say nothing of records; nothing private on show."""

from __future__ import annotations

import copy
import math
import pickle
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from setting import LINE, N, facts, law_for, places, sections_for

from dpfda.bases.domain import as_domain
from dpfda.errors import CannotMeetBudget, DataError, ReleaseFailed, UsageError
from dpfda.kernels import Anisotropic, BrownianMotion, Exponential, Gaussian, Kernel, Matern
from dpfda.mechanisms import SeededRandomness
from dpfda.online import Sections, calibrated, header_of, law_in, open_online, open_store, weight_step
from dpfda.online.specification import peak_of
from dpfda.online.states import line_of
from dpfda.privacy import Budget
from dpfda.releases import NOT_PRIVATE

KERNELS: dict[str, Kernel] = {
    "matern-1/2": Exponential(rho=0.3),
    "matern-3/2": Matern(1.5, rho=0.3),
    "matern-5/2": 3.0 * Matern(2.5, rho=0.3),
    "gaussian": Gaussian(rho=0.1),
    "brownian": BrownianMotion(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
KERNEL = KERNELS["matern-3/2"]


def opened(store=None, kernel: Kernel = KERNEL, *, records=None, **more):
    return open_online(sections_for(kernel, records), law_for(kernel, **more), store, facts=facts())


# The same answer for ever ---------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("store", ["memory", "file"])
def test_the_same_point_always_gets_the_same_answer(kernel, store, tmp_path):
    points = np.random.default_rng(0).random(60)
    with opened(tmp_path / "a.db" if store == "file" else None, kernel) as oracle:
        first = oracle(points[:40])
        one_by_one = np.array([oracle(x)[0] for x in points[40:].tolist()])
        assert oracle.asked == 60
        shuffled = np.random.default_rng(1).permutation(60)
        again = oracle(points[shuffled])
        assert (again == np.concatenate([first, one_by_one])[shuffled]).all()
        assert oracle.asked == 60
        assert set(oracle.points()[:, 0].tolist()) == set(points.tolist())


@every_kernel
def test_answers_survive_a_restart_with_and_without_the_records(kernel, tmp_path):
    points = np.random.default_rng(0).random(200)
    with opened(tmp_path / "a.db", kernel) as oracle:
        first = oracle(points)
        card = oracle.certificate.to_dict()
    with opened(tmp_path / "a.db", kernel) as oracle:
        assert (oracle(points[::-1]) == first[::-1]).all()
        more = oracle([0.123])
        assert oracle.certificate.to_dict() == card
    with open_store(tmp_path / "a.db") as oracle:
        assert (oracle([0.123]) == more).all()
        assert (oracle(points) == first).all()
        assert oracle.certificate.to_dict() == card
        with pytest.raises(UsageError, match="has no answer at 1 of these points, and new answers need the records"):
            oracle([0.5, 0.123])


def test_a_point_twice_in_one_batch_and_both_zeros_are_one_point():
    oracle = opened()
    values = oracle([0.5, 0.5, -0.0, 0.0])
    assert values[0] == values[1]
    assert values[2] == values[3] == oracle(-0.0)[0]
    assert oracle.asked == 2


def test_answers_are_a_vector_whatever_is_asked():
    oracle = opened()
    assert oracle(0.5).shape == oracle([0.5]).shape == oracle([[0.5]]).shape == oracle(np.float64(0.5)).shape == (1,)
    assert oracle([]).shape == (0,)
    box = as_domain([(0.0, 1.0), (0.0, 2.0)])
    kernel = Gaussian(rho=0.1)
    flat = open_online(
        sections_for(kernel, np.random.default_rng(0).random((20, 2))), law_for(kernel, box), None, facts=facts()
    )
    assert flat([[0.1, 1.9], [0.2, 0.0]]).shape == (2,)
    assert flat.domain == box


def test_answers_are_near_the_exact_function():
    """Ten deviations of the noise: once in 1e22 answers it would not be so."""
    oracle, points = opened(), np.linspace(0, 1, 50)
    exact = KERNEL(points, places()).mean(axis=1)
    assert np.abs(oracle(points) - exact).max() < 10 * law_for(KERNEL).scale


def test_threads_get_one_answer_each_point(tmp_path):
    points = np.random.default_rng(0).random(40)
    with opened(tmp_path / "a.db") as oracle:
        found: list[np.ndarray] = []
        threads = [threading.Thread(target=lambda: found.append(oracle(points))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert all((values == found[0]).all() for values in found)
        assert oracle.asked == 40


def test_two_oracles_on_one_file_see_each_others_answers(tmp_path):
    with opened(tmp_path / "a.db") as one, opened(tmp_path / "a.db") as other:
        first = one([0.1, 0.2])
        second = other([0.3, 0.2])
        assert second[1] == first[1]
        assert one([0.3])[0] == second[0]
        other([0.9])
        assert one.asked == 3
        one.refresh()
        assert one.asked == 4


# Errors ---------------------------------------------------------------------------------------------------------------


def test_a_point_outside_the_domain_or_not_a_number_is_an_error_before_anything():
    oracle = opened()
    for bad in (1.5, [0.2, 1.5]):
        with refused(UsageError, "points"):
            oracle(bad)
    for bad in (math.nan, [0.1, math.inf]):
        with refused(UsageError, "points"):
            oracle(bad)
    assert oracle.asked == 0


def test_the_number_of_answers_is_capped_and_old_ones_can_still_be_asked_for():
    oracle = opened(answers=3)
    first = oracle([0.1, 0.2])
    with pytest.raises(UsageError, match="2 answers were given and 2 more asked for; the guarantee covers 3"):
        oracle([0.3, 0.4, 0.1])
    assert (oracle([0.1, 0.2]) == first).all()
    oracle(0.3)
    assert oracle.asked == 3


def test_a_closed_oracle_says_so(tmp_path):
    oracle = opened(tmp_path / "a.db")
    oracle.close()
    oracle.close()
    with pytest.raises(UsageError, match="This oracle is closed"):
        oracle(0.5)
    with pytest.raises(UsageError, match="This oracle is closed"):
        oracle.points()


def test_a_failure_while_records_are_read_is_one_constant_error_and_forgets_nothing(monkeypatch, tmp_path):
    for store in (None, tmp_path / "a.db"):
        oracle = opened(store)
        first = oracle([0.2, 0.7])
        failing = type(oracle._engine)
        with monkeypatch.context() as patch:
            patch.setattr(failing, "extend", lambda self, points: 1 / 0)
            with pytest.raises(ReleaseFailed) as caught:
                oracle(0.5)
        assert str(caught.value) == str(ReleaseFailed())
        assert caught.value.__context__ is None
        assert (oracle([0.2, 0.7]) == first).all()
        assert oracle(0.5).shape == (1,)


def test_records_that_cannot_be_held_are_the_same_constant_error(monkeypatch):
    monkeypatch.setattr(Sections, "inside", lambda self, domain: 1 / 0)
    with pytest.raises(ReleaseFailed) as caught:
        opened()
    assert caught.value.__context__ is None


def test_answers_that_could_not_be_stored_never_leave_and_are_drawn_anew(monkeypatch, tmp_path):
    oracle = opened(tmp_path / "a.db")
    first = oracle([0.2, 0.7])
    drawn = []

    def full(number, answers):
        drawn.extend(answers)
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(oracle._store, "append", full)
        with pytest.raises(DataError, match="cannot be used: database or disk is full") as caught:
            oracle(0.5)
    # No frame that holds the answer goes with the error.
    assert caught.value.__context__ is None
    assert oracle(0.5)[0] != drawn[0].state[0]
    assert (oracle([0.2, 0.7]) == first).all()


def test_unreadable_records_are_repaired_each_by_itself():
    records = places()
    records[:3] = [math.nan, -math.inf, 7.0]
    repaired = places()
    repaired[:3] = [0.5, 0.0, 1.0]
    seeds = [SeededRandomness(1), SeededRandomness(1)]
    one, two = (
        open_online(sections_for(KERNEL, rows), law_for(KERNEL), None, facts=facts(), randomness=seed)
        for rows, seed in zip((records, repaired), seeds, strict=True)
    )
    points = np.linspace(0, 1, 30)
    assert (one(points) == two(points)).all()


# Nothing private on show ----------------------------------------------------------------------------------------------


def test_oracles_show_no_private_value_and_cannot_be_copied():
    oracle = opened()
    assert repr(oracle) == "Oracle(density of 'ages', (epsilon = 1, delta = 1e-06), 'memory')"
    assert repr(oracle._sections) == "Sections(kernel=Matern(order=1.5, rho=0.3), weight=0.0025)"
    assert repr(oracle._noise) == "NoiseAhead()"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="two copies would answer the same question twice"):
            copied(oracle)
    with pytest.raises(TypeError, match="it would be used twice"):
        pickle.dumps(oracle._noise)


def test_the_card_says_what_covers_all_answers():
    card = opened(answers=1000).certificate
    text = card.text()
    assert "a Gaussian process drawn at the points asked for, at most 1000 of them ever" in text
    assert "(epsilon = 1, delta = 1e-06)" in text
    assert "bound " not in text
    assert card.private
    assert card.noise_rms == law_for(KERNEL, answers=1000).scale
    # For Gaussian noise exactly Phi(Phi^-1(0.05) + mu), with mu = 0.2367 from the exact privacy curve.
    assert card.attacker_power == pytest.approx(0.0796, abs=1e-4)


def test_a_seeded_oracle_is_stamped_not_private_and_cannot_continue_a_private_store(tmp_path):
    opened(tmp_path / "a.db").close()
    seeded = {"facts": facts(), "randomness": SeededRandomness(1)}
    with pytest.raises(UsageError, match="private: true there, false here"):
        open_online(sections_for(KERNEL), law_for(KERNEL), tmp_path / "a.db", **seeded)
    card = open_online(sections_for(KERNEL), law_for(KERNEL), None, **seeded).certificate
    assert not card.private
    assert NOT_PRIVATE in card.warnings


# The law --------------------------------------------------------------------------------------------------------------


def test_the_scale_is_that_of_the_exact_curve_and_a_little_for_roundings():
    """Golden: mu = 0.2367040... for (1, 1e-6), from Phi(mu/2 - 1/mu) - e Phi(-mu/2 - 1/mu) = 1e-6 (Balle and Wang)."""
    law = law_for(KERNEL)
    assert law.mu == pytest.approx(0.236704, rel=1e-5)
    least = np.sqrt(2) / N / law.mu
    assert least < law.scale < least * (1 + 1e-6)
    assert law.profile.meets(Budget(1.0, 1e-6))
    rows = law_for(Gaussian(rho=0.1))
    assert least < rows.scale < least * (1 + 1e-5)
    weighted = calibrated(
        KERNEL, LINE, sensitivity=np.sqrt(2) / N, moved=2.0, budget=Budget(1.0, 1e-6), weight_step=weight_step(1.0), n=N
    )
    assert law.scale < weighted.scale < law.scale * (1 + 1e-5)


@pytest.mark.parametrize(
    ("change", "about"),
    [
        ({"answers": 0}, ("answers", 0)),
        ({"answers": True}, ("answers", True)),
        ({"answers": 2**25}, ("answers", 33554432)),
        ({"sensitivity": 0.0}, ("sensitivity", 0.0)),
        ({"moved": math.inf}, ("moved", float("inf"))),
    ],
    ids=["none", "boolean", "too many", "no sensitivity", "infinite"],
)
def test_a_law_that_makes_no_sense_is_refused(change, about):
    plain = {"sensitivity": 0.1, "moved": 0.1, "budget": Budget(1.0, 1e-6)}
    with refused(UsageError, *about):
        calibrated(KERNEL, LINE, **plain | change)


def test_a_budget_that_roundings_alone_would_eat_up_is_refused_and_so_is_a_pure_one():
    with refused(CannotMeetBudget, "answers", 16777216):
        calibrated(KERNEL, LINE, sensitivity=1.0, moved=1.0, budget=Budget(1e-9, 1e-12))
    with refused(CannotMeetBudget, "delta", 0.0):
        calibrated(KERNEL, LINE, sensitivity=1.0, moved=1.0, budget=Budget(1.0, 0.0))


def test_kernels_on_a_line_are_known_in_all_their_forms():
    assert line_of(Exponential(rho=0.5)) == line_of(Matern(0.5, rho=0.5))
    scaled = line_of(2.0 * Anisotropic(Matern(2.5, rho=1.0), [0.5]))
    assert scaled is not None
    assert (scaled.size, scaled.variance) == (3, 2.0)
    assert scaled.rate == pytest.approx(math.sqrt(5) / 0.5)
    for other in (Matern(3.5, rho=1.0), Gaussian(rho=1.0), BrownianMotion(), 2.0 * Gaussian(rho=1.0)):
        assert line_of(other) is None
    assert line_of(Anisotropic(Gaussian(rho=1.0), [2.0])) is None
    assert law_for(Matern(1.5, rho=1.0), as_domain([(0, 1), (0, 1)])).line is None


def test_the_peak_is_the_largest_variance():
    assert peak_of(3.0 * Gaussian(rho=1.0), LINE) == 3.0
    assert (
        peak_of(BrownianMotion(), as_domain((0.0, 2.0))) == 3.0
    )  # 2, and half as much again: it is looked for on a grid
    assert peak_of(2.0 * Matern(1.5, rho=1.0), LINE) == 2.0


def test_a_law_comes_back_from_plain_data(tmp_path):
    law = law_for(KERNEL)
    opened(tmp_path / "a.db").close()
    header = header_of(tmp_path / "a.db")
    assert header is not None
    assert law_in(header) == law
    assert law_in({"law": {"kernel": 1}}) is None
    assert header_of(tmp_path / "none.db") is None
    assert not (tmp_path / "none.db").exists()


# Sections -------------------------------------------------------------------------------------------------------------


def test_sections_take_masses_and_weights():
    counted = Sections.counted([0.1, 0.2], 0.5, KERNEL, masses=[3, 4])
    assert counted.masses.tolist() == [3, 4]
    weighted = Sections.weighted([[0.1], [0.2], [0.3]], [0.25, -0.5, math.nan], KERNEL, total=1.0)
    np.testing.assert_array_equal(weighted.masses * weighted.weight, [0.25, -0.5, 0.0])
    places_, masses = Sections.counted([0.3, 0.1, 0.3], 1.0, KERNEL).inside(LINE)
    assert places_[:, 0].tolist() == [0.1, 0.3]
    assert masses.tolist() == [1, 2]


def test_weights_of_a_machine_are_answered_like_any_others():
    """Ten deviations of the noise."""
    generator = np.random.default_rng(0)
    points, weights = generator.random(30), generator.normal(size=30) / 30
    law = calibrated(
        KERNEL, LINE, sensitivity=0.01, moved=4.0, budget=Budget(1.0, 1e-6), weight_step=weight_step(2.0), n=30
    )
    oracle = open_online(Sections.weighted(points, weights, KERNEL, total=2.0), law, None, facts=facts(n=30))
    where = np.linspace(0, 1, 40)
    assert np.abs(oracle(where) - KERNEL(where, points) @ weights).max() < 10 * law.scale


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (
            lambda: Sections(np.zeros((2, 1)), np.zeros(3, dtype=np.int64), 1.0, KERNEL),
            ("points", (2, 1)),
        ),
        (lambda: Sections.counted([0.1], 0.0, KERNEL), ("weight", 0.0)),
        (lambda: Sections.counted([0.1], 1.0, KERNEL, masses=[2**50]), ("masses",)),
        (lambda: Sections.weighted([0.1], [0.1], KERNEL, total=0.0), ("total", 0.0)),
        (
            lambda: open_online(sections_for(Gaussian(rho=1.0)), law_for(KERNEL), None, facts=facts()),
            ("law",),
        ),
    ],
    ids=["shapes", "weight", "mass", "total", "kernel"],
)
def test_sections_that_do_not_fit_are_refused(make, about):
    with refused(UsageError, *about):
        make()


def test_the_store_is_a_plain_file_name(tmp_path):
    with opened(f"sqlite:///{tmp_path / 'b.db'}") as oracle:
        assert repr(oracle).endswith(f"'sqlite:///{tmp_path / 'b.db'}')")
    assert Path(tmp_path / "b.db").is_file()
