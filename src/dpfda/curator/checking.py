"""A check for authors of statistics: made-up records go through a summary, and its bounds are held against them.

It finds faults and proves nothing: a bound needs its proof, and this is a test of it. No record of anybody is needed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from dpfda.arrays import Array, Integers
from dpfda.bases import Basis
from dpfda.bases.lattice import FRACTIONS, RADIUS
from dpfda.curator.rehearsal import rehearse_sum
from dpfda.curator.summary import Public, Summary
from dpfda.errors import UsageError
from dpfda.privacy import ADD_REMOVE, REPLACE, Unit

CLOSE = 1e-9  # relative: norms are computed in doubles
LEAST_REACH = 1 / 10  # whole steps in the place of sixteenths reach a sixteenth
RANDOM = 12  # records of each size


def check_summary(summary: Summary, public: Public, basis: Basis, *, least_reach: float = LEAST_REACH) -> None:
    """Raise a UsageError that names the duty where made-up records show that a summary does not keep it.

    Under both relations of neighbours, whichever `public` has: `encode` and `clipping` look at one record and one unit
    alone, in any batch and any order; what they give is whole; and no unit moves what is handed to the mechanism
    further than each of the `bounds`. Records within the public bound must move it by the share `least_reach` of a
    bound at least, which finds vectors in the wrong unit; state 0 for a sum that they hardly move.
    """
    if not summary.adds_vectors or not summary.size(public, basis):
        raise UsageError("check_summary is for sums over units, and this summary is none.", parameter="summary")
    records, modest = made_up(public, basis)
    for neighbours in (REPLACE, ADD_REMOVE):
        facts = under(public, neighbours)
        rehearse_sum(summary, facts, basis)
        vectors = _encoded(summary, facts, basis, records)
        units = _contributions(summary, facts, basis, vectors)
        _check_moves(summary, facts, basis, units, modest, least_reach)


def under(public: Public, neighbours: str) -> Public:
    """The same public facts under a relation of neighbours."""
    unit = Unit(public.unit.name, neighbours)
    if unit.size_is_public:
        return replace(public, unit=unit, n=public.n or public.planned, count_weight=0)
    return replace(public, unit=unit, n=None, count_weight=public.count_weight or RADIUS)


def made_up(public: Public, basis: Basis) -> tuple[Array, int]:
    """Records from empty to absurd, (m, width); the first ones, as many as stated, are curves within the bound."""
    random = np.random.default_rng(1)
    bound, width, points = public.lattice.bound, public.width, len(public.grid)
    functions = basis.functions(public.grid, (0,) * basis.domain.dimension).T  # (size, q)
    shapes = [sign * bound * function for function in functions for sign in (0.95, -0.95)]
    centred = [public.centre + shape for shape in (*shapes, np.zeros(points))]
    beside = random.uniform(-1, 1, (len(centred), public.covariates))
    modest = np.concatenate([beside, np.stack(centred)], axis=1)
    signs = np.where(np.arange(width) % 2, 1.0, -1.0)
    spikes = np.eye(width)[:: max(1, width // 6)]
    gaps = np.where(random.random((4, width)) < 0.5, np.nan, 3 * bound * random.standard_normal((4, width)))
    odd = [np.zeros(width), np.full(width, np.nan), np.full(width, np.inf), np.full(width, -np.inf)]
    for size in (bound, 1e6 * bound, 1e300):
        odd += [np.full(width, size), np.full(width, -size), size * signs, -size * signs]
    drawn = [scale * bound * random.standard_normal((RANDOM, width)) for scale in (1e-3, 1.0, 1e3)]
    return np.concatenate([modest, np.stack(odd), 1e300 * spikes, -1e300 * spikes, gaps, *drawn]), len(modest)


def _encoded(summary: Summary, public: Public, basis: Basis, records: Array) -> Array:
    """The vectors of all records, (size, m); the same in any batch and any order."""
    encode = summary.encode(public, basis)
    vectors = np.array(encode(records.copy())[0])
    if not np.isfinite(vectors).all() or (vectors != np.rint(vectors)).any():
        raise _broken(
            summary, "encode", "gives numbers that are not whole: vectors are in sixteenths of a lattice step"
        )
    backwards = np.array(encode(records[::-1].copy())[0])[:, ::-1]
    alone = np.concatenate([np.array(encode(row[None].copy())[0]) for row in records], axis=1)
    if not (np.array_equal(vectors, alone) and np.array_equal(vectors, backwards)):
        raise _broken(summary, "encode", "gives another vector for a record where other records stand beside it")
    return vectors


def _contributions(summary: Summary, public: Public, basis: Basis, vectors: Array) -> Integers:
    """What each unit adds to the sum, (units, sums): units of one record first, then some of several."""
    several = [range(start, vectors.shape[1], 7) for start in range(7)]
    averages = [vectors[:, list(rows)].mean(axis=1, keepdims=True) / FRACTIONS for rows in several]
    columns = np.concatenate([vectors / FRACTIONS, *averages], axis=1)
    clipping = summary.clipping(public)
    parts = [np.asarray(clipping.clip(columns[:, [unit]])) for unit in range(columns.shape[1])]
    if any(not np.isfinite(part).all() or (part != np.rint(part)).any() for part in parts):
        raise _broken(summary, "clipping", "gives numbers that are not whole")
    units: Integers = np.stack([part.sum(axis=1) for part in parts]).astype(np.int64)
    together = np.asarray(clipping.clip(columns.copy())).sum(axis=1).astype(np.int64)
    if not np.array_equal(together, units.sum(axis=0)):
        raise _broken(summary, "clipping", "makes something else of a unit where other units stand beside it")
    return units


def _check_moves(
    summary: Summary, public: Public, basis: Basis, units: Integers, modest: int, least_reach: float
) -> None:
    """Neighbours' sums against every bound; `modest` units are within the public bound."""
    handed = [np.asarray(summary.collect(unit, 1, public)) for unit in units]
    nothing = np.asarray(summary.collect(np.zeros_like(units[0]), 0, public))
    if public.unit.size_is_public:
        pairs = list(combinations(range(len(handed)), 2))
        moves = [handed[one] - handed[other] for one, other in pairs]
        inside = [max(pair) < modest for pair in pairs]
    else:
        moves = [one - nothing for one in handed]
        inside = [place < modest for place in range(len(handed))]
    stated = summary.bounds(public, basis)
    reached = 0.0
    for bound in stated:
        lengths = np.array([bound.norm(move) for move in moves])
        longest = float(lengths.max())
        if longest > bound.value * (1 + CLOSE):
            raise _broken(
                summary,
                "bounds",
                f"states {bound.value:.10g} lattice steps in {type(bound.norm).__name__} under "
                f"{public.unit.neighbours}, and a made-up unit moves the sum by {longest:.10g}: it is too small, "
                "or clipping does not clip",
            )
        reached = max(reached, float(lengths[inside].max()) / bound.value)
    if reached < least_reach:
        raise _broken(
            summary,
            "encode",
            f"gives short vectors: curves at the public bound move the sum by {reached:.2%} of its bound under "
            f"{public.unit.neighbours}. Vectors are in sixteenths of a lattice step, and a step is the bound / 2^24. "
            "Where the statistic is so, state least_reach=0",
        )


def _broken(summary: Summary, duty: str, said: str) -> UsageError:
    return UsageError(f"{type(summary).__name__}.{duty} {said}.", parameter=duty)
