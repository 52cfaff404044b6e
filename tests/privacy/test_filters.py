"""Filters: limits that are fixed in advance hold whatever prices an analyst makes up on the way."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.privacy import Budget, GaussianProfile, LaplaceProfile, PureProfile, RangeProfile, StatedProfile, compose
from dpfda.privacy.totals import Sums, filtered_epsilon

CAP = Budget(4.0, 1e-6)
LOSSES = st.one_of(
    st.builds(PureProfile, st.floats(1e-3, 2)),
    st.builds(RangeProfile, st.floats(1e-3, 2)),
    st.builds(GaussianProfile, st.floats(1e-3, 1)),
    st.builds(LaplaceProfile, st.floats(1e-3, 2), st.floats(1e3, 1e9)),
)


def filtered(losses, cap=CAP):
    return filtered_epsilon(Sums.nothing().plus(losses), cap)


@given(st.lists(LOSSES, min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_a_filter_is_never_below_the_tight_statement_and_never_falls(losses):
    assert compose(losses, delta=CAP.delta).epsilon <= filtered(losses) * (1 + 1e-9)
    assert filtered(losses[:-1]) <= filtered(losses)


@pytest.mark.parametrize(
    ("losses", "most"),
    [
        ([PureProfile(0.1)] * 10, 1.0),
        ([GaussianProfile(0.2)] * 16, 1.05 * compose([GaussianProfile(0.2)] * 16, delta=1e-6).epsilon),
        ([RangeProfile(0.1)] * 100, 1.12 * compose([RangeProfile(0.1)] * 100, delta=1e-6).epsilon),
    ],
    ids=["pure", "Gaussian", "choices"],
)
def test_a_filter_costs_little_where_all_releases_are_alike(losses, most):
    assert filtered(losses) <= most


def test_a_limit_depends_on_one_running_total_each():
    """Gaussian noise beside a pure release leaves the Gaussian filter for good: its square alone decides nothing."""
    alone = filtered([GaussianProfile(0.5)])
    beside = filtered([GaussianProfile(0.5), PureProfile(1e-9)])
    assert alone < beside


@pytest.mark.parametrize("losses", [[StatedProfile(0.1, 1e-9)], [GaussianProfile(0.1, distance=1e-7)]], ids=str)
def test_what_no_filter_covers_is_infinite(losses):
    assert filtered(losses) == math.inf


@pytest.mark.parametrize("cap", [Budget(4.0, 0.0), Budget(800.0, 1e-6)], ids=str)
def test_without_delta_or_beyond_all_reason_only_epsilons_add_up(cap):
    assert filtered([PureProfile(1.0)], cap) == 1.0
    assert filtered([GaussianProfile(0.1)], cap) == math.inf
