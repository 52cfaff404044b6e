"""The densities of the papers: what their features estimate, how far one point moves them, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

from dpfda.bases import Domain
from dpfda.bases.cells import equal_cells
from dpfda.errors import CannotMeetBudget, UsageError
from dpfda.kernels import Anisotropic, BrownianMotion, Exponential, Gaussian, Matern, RationalQuadratic, Tensor
from dpfda.privacy import Budget
from dpfda.privacy.norms import L1, L2
from dpfda.statistics.density import papers
from dpfda.statistics.density.papers import DensityFacts
from dpfda.statistics.density.windows import FORMER, mass_of, spectral_basis, widths_of, window

LINE = equal_cells(Domain(((0.0, 1.0),)), (200,))
BOX = equal_cells(Domain(((-1.0, 1.0), (0.0, 3.0))), (24, 24))
BUDGET = Budget(1.0, 0.1)
DESIGNS = papers.PAPERS
CELLS = {"line": LINE, "box": BOX}


def facts(cells=LINE, *, n=100, budget=BUDGET, **rest):
    return DensityFacts(cells, n, budget, **rest)


def diameter(design):
    """The largest distance between two rows, in the norm of the mechanism."""
    rows = design.features
    norm = 2 if design.mechanism.norm == L2() else 1
    return max(float(np.linalg.norm(rows - row, ord=norm, axis=1).max()) for row in rows)


def estimate(design, cell, points):
    """The density that a single point in a cell would give, without noise."""
    volume = math.prod(design.basis.domain.lengths)
    return design.basis.evaluate(design.features[cell] * design.decode, points) / volume


@pytest.mark.parametrize("place", CELLS)
@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_has_a_row_for_each_cell_and_says_what_it_is(name, place):
    cells = CELLS[place]
    design = DESIGNS[name](facts(cells))
    assert design.name == name
    assert design.features.shape == (cells.size, design.basis.size)
    assert design.decode.shape == (design.basis.size,)
    assert (design.decode > 0).all()
    assert not design.smoothing
    assert design.least_diameter == 0
    assert design.mechanism.pure == (name not in ("gp", "sobolev"))
    assert design.basis.domain == cells.domain
    assert {"kernel", "basis"} <= dict(design.reasons).keys()


@pytest.mark.parametrize("place", CELLS)
@pytest.mark.parametrize("name", DESIGNS)
def test_published_sensitivities_are_never_below_the_exact_ones(name, place):
    published = DESIGNS[name](facts(CELLS[place], calibration="published"))
    assert published.least_diameter >= diameter(published)
    assert dict(published.reasons)["calibration"] == "as published, more noise than privacy needs"


@pytest.mark.parametrize("name", DESIGNS)
def test_a_private_count_leads_the_features_and_has_no_place_in_the_decoding(name):
    plain, counted = DESIGNS[name](facts()), DESIGNS[name](facts(counted=True))
    norm = plain.mechanism.norm
    assert np.array_equal(counted.features[:, 1:], plain.features)
    assert counted.features[:, 0] == pytest.approx(0.5 * max(norm(row) for row in plain.features))
    assert np.array_equal(counted.decode, plain.decode)


@pytest.mark.parametrize("name", ["gp", "sobolev"])
@pytest.mark.parametrize("place", CELLS)
def test_hall_releases_gaussian_kernel_estimates(name, place):
    cells = CELLS[place]
    widths = (0.1,) if place == "line" else (0.25, 0.4)
    design = DESIGNS[name](facts(cells), bandwidth=widths)
    points = cells.centres[:: len(cells.centres) // 20]
    for cell in (0, cells.middle):
        away = (points - cells.centres[cell]) / np.array(widths)
        exact = np.exp(-0.5 * np.sum(away**2, axis=1)) / math.prod(math.sqrt(2 * math.pi) * w for w in widths)
        # The process of Section 4.2 is cut after finitely many terms.
        assert estimate(design, cell, points) == pytest.approx(
            exact, abs=(1e-9 if name == "gp" else 2e-2) * exact.max()
        )


def test_a_section_of_the_gaussian_process_moves_by_at_most_the_root_of_two():
    """Hall et al., 4.1: `sqrt(2) / (n (2 pi h^2)^(d/2))`, which points far apart reach."""
    for cells in CELLS.values():
        reached = diameter(papers.gp(facts(cells), bandwidth=0.1))
        assert math.sqrt(2) * 0.999 < reached <= math.sqrt(2) * (1 + 1e-9)


def test_the_sobolev_norm_of_a_change_is_668_thousandths_over_the_bandwidth():
    """0.668/(n h) in one dimension, 1.9 times below the bound of Hall et al., 4.2."""
    design = papers.sobolev(facts(calibration="published"), bandwidth=0.1)
    assert diameter(design) == pytest.approx(6.68, rel=2e-3)
    published = 2 / ((2 * math.pi) ** 0.25 * 0.1)
    assert published / diameter(design) == pytest.approx(1.89, rel=5e-3)
    assert design.least_diameter == pytest.approx(published * papers.classical_factor(BUDGET))


def test_the_norm_of_a_section_is_that_of_the_sobolev_space():
    """(9) of Hall et al. with gamma = 1/h, by quadrature, for a section in the middle."""
    h, x = 0.1, 0.5025
    t = np.linspace(0, 1, 20_001)
    bell = np.exp(-0.5 * ((t - x) / h) ** 2) / (math.sqrt(2 * math.pi) * h)
    slope = -bell * (t - x) / h**2
    inner = np.trapezoid(slope**2 + bell**2 / h**2, t)
    exact = math.sqrt((bell[0] ** 2 + bell[-1] ** 2) / 2 + h / 2 * inner)
    design = papers.sobolev(facts(), bandwidth=h)
    (cell,) = LINE.index(np.array([[x]]))
    assert LINE.centres[cell, 0] == pytest.approx(x)
    assert np.linalg.norm(design.features[cell]) == pytest.approx(exact, rel=1e-4)


def test_a_full_bandwidth_matrix_gives_the_slanted_kernel():
    matrix = np.array([[0.2, 0.15], [0.15, 0.3]])
    design = papers.gp(facts(BOX), bandwidth=matrix)
    points = BOX.centres[::29]
    for cell in (5, BOX.middle):
        away = points - BOX.centres[cell]
        form = np.einsum("ij,jk,ik->i", away, np.linalg.inv(matrix), away)
        exact = np.exp(-0.5 * form) / (2 * math.pi * math.sqrt(np.linalg.det(matrix)))
        assert estimate(design, cell, points) == pytest.approx(exact, abs=1e-4 * exact.max())
    assert diameter(design) <= math.sqrt(2) * (1 + 1e-9)


def test_a_diagonal_bandwidth_matrix_is_a_bandwidth_for_each_side():
    one = papers.gp(facts(BOX), bandwidth=[[0.25, 0.0], [0.0, 0.16]])
    other = papers.gp(facts(BOX), bandwidth=(0.5, 0.4))
    assert one.basis == other.basis
    assert np.array_equal(one.features, other.features)


def test_the_rule_of_the_papers_is_a_share_of_each_side():
    """So that the units of the points do not matter; keys from before stand for the rule in these units."""
    told = dict(papers.gp(facts(BOX, n=1000)).reasons)["kernel"]
    assert told == "gaussian, n^(-1/(4+d)) = 0.3162 of each side"
    assert widths_of(None, 1000, BOX.domain) == pytest.approx([0.316228 * length for length in BOX.domain.lengths])
    assert widths_of(None, 1000, BOX.domain, FORMER) == pytest.approx([0.316228, 0.316228], rel=1e-5)
    assert np.array_equal(
        papers.gp(facts(n=1000)).features, papers.gp(facts(n=1000), bandwidth=1000 ** (-1 / 5)).features
    )


def test_other_kernels_smooth_densities_too():
    design = papers.gp(facts(), kernel=Matern(1.5, rho=0.2))
    points = np.linspace(0.05, 0.95, 10)
    exact = Matern(1.5, rho=0.2)(points, LINE.centres[LINE.middle][None])[:, 0] / mass_of(Matern(1.5, rho=0.2), 1)
    assert estimate(design, LINE.middle, points) == pytest.approx(exact, abs=1e-3 * exact.max())


def test_the_power_of_a_gaussian_kernel_is_a_wider_gaussian_well_inside():
    """`K^eta` on the line is Gaussian with variance `eta h^2`: mass one, so that the estimate is a density."""
    design = papers.iclp_qr(facts(), bandwidth=0.05, eta=1.5)
    points = np.linspace(0.2, 0.8, 13)
    width = 0.05 * math.sqrt(1.5)
    away = (points - LINE.centres[LINE.middle, 0]) / width
    exact = np.exp(-0.5 * away**2) / (math.sqrt(2 * math.pi) * width)
    assert estimate(design, LINE.middle, points) == pytest.approx(exact, abs=1e-6 * exact.max())


def test_theorem_16_covers_what_a_small_kernel_moves_and_the_printed_bound_does_not():
    """With `2 M_K` for `sqrt(2 M_K)` the bound is too small where the kernel is: here M_K is about 0.1."""
    basis, eigenvalues = spectral_basis(Gaussian(rho=0.1), LINE.domain, None)
    functions, shares, eta = basis.matrix(LINE.centres), 0.1 * eigenvalues, 1.05
    rows = functions * shares ** (eta - 0.5)
    reached = max(float(np.abs(rows - row).sum(axis=1).max()) for row in rows)
    most = float((functions**2 @ shares**eta).max())
    printed = 2 * most * math.sqrt(float(np.sum(shares ** (eta - 1))))
    assert most < 0.11
    assert printed < reached <= papers.theorem_16(functions, shares, eta)


def test_frl_keeps_the_leading_coordinates_of_the_kernel_estimate():
    design = papers.frl(facts(), bandwidth=0.1, size=7)
    whole = papers.gp(facts(), bandwidth=0.1)
    coordinates = (whole.features * whole.decode)[:, :7]
    assert design.features * design.decode == pytest.approx(coordinates)
    assert papers.frl(facts(n=1000)).basis.size == 10
    assert design.mechanism.norm == L1()


def test_bernstein_takes_values_at_the_lattice():
    for cells in CELLS.values():
        design = papers.bernstein(facts(cells), bandwidth=0.5, degree=6)
        assert design.basis.size == 7**cells.domain.dimension
        corners = np.array(cells.domain.sides).T
        kernel = window(
            cells.domain,
            100,
            bandwidth=0.5,
            kernel=None,
            family="gaussian" if cells is LINE else "exponential",
        )
        exact = kernel.kernel(corners, cells.centres[7:8])[:, 0] / kernel.mass
        # At its corners a Bernstein polynomial is the value there.
        assert estimate(design, 7, corners) == pytest.approx(exact)


@pytest.mark.parametrize(
    ("kernel", "dimension"),
    [
        (Gaussian(rho=0.5), 2),
        (Exponential(rho=0.4), 1),
        (Exponential(rho=0.4), 2),
        (Matern(2.5, rho=0.3), 2),
        (2.0 * Matern(0.7, rho=0.3), 1),
        (RationalQuadratic(length=0.3, shape=4.0), 2),
        (Tensor((Gaussian(rho=0.1), Exponential(rho=0.2))), 2),
        (Anisotropic(Gaussian(rho=1.0), ((0.3, 0.0), (0.1, 0.4))), 2),
    ],
    ids=["gauss", "exp-1", "exp-2", "matern-2", "scaled", "rational", "tensor", "slanted"],
)
def test_masses_are_integrals_over_all_of_space(kernel, dimension):
    step = 0.02 if dimension == 2 else 0.001
    axis = np.arange(-400 if dimension == 2 else -20_000, 401 if dimension == 2 else 20_001) * step
    points = np.stack([a.ravel() for a in np.meshgrid(*[axis] * dimension)], axis=1)
    total = float(kernel(np.zeros((1, dimension)), points).sum()) * step**dimension
    assert mass_of(kernel, dimension) == pytest.approx(total, rel=2e-3)


def test_the_published_scale_of_a_gaussian_process_is_that_of_hall():
    """Figure 1: `sqrt(2 log(2/beta)) = 2.448` at alpha = 1, beta = 0.1."""
    design = papers.gp(facts(calibration="published"), bandwidth=0.1)
    exact = math.sqrt(2) * math.sqrt(2 * math.log(20)) / design.least_diameter  # the deviation for one, exactly
    assert exact == pytest.approx(math.sqrt(2 * math.log(20)) / papers.classical_factor(BUDGET))
    assert papers.classical_factor(BUDGET) == pytest.approx(2.254, rel=1e-3)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: facts(calibration="simple"), "calibration of a density is 'exact' or 'published', got 'simple'"),
        (lambda: papers.gp(facts(), bandwidth=0.1, kernel=Gaussian(rho=1.0)), "State kernel or bandwidth, not both"),
        (lambda: papers.gp(facts(), bandwidth=-0.1), "A bandwidth in 1 dimension.* got -0.1"),
        (lambda: papers.gp(facts(), bandwidth=0.0049), "0.0049 is too narrow for a side of length 1.* least 0.005"),
        (lambda: papers.sobolev(facts(BOX), bandwidth=(0.5, 0.01)), "0.01 is too narrow for a side of length 3"),
        (lambda: papers.gp(facts(BOX), bandwidth=[[4e-5, 1e-5], [1e-5, 1.0]]), "0.006325 is too narrow .* length 2"),
        (lambda: papers.gp(facts(n=10**12)), "too narrow .* State a larger"),
        (lambda: papers.gp(facts(), bandwidth="wide"), "A bandwidth in 1 dimension.* got 'wide'"),
        (lambda: papers.gp(facts(), bandwidth=math.nan), "A bandwidth in 1 dimension.* got nan"),
        (lambda: papers.gp(facts(BOX), bandwidth=[[1.0, 2.0], [2.0, 1.0]]), "symmetric positive definite matrix"),
        (lambda: papers.frl(facts(BOX), bandwidth=[[1.0, 0.5], [0.5, 1.0]]), "A bandwidth matrix needs a Gaussian"),
        (lambda: papers.sobolev(facts(BOX), bandwidth=[[1.0, 0.5], [0.5, 1.0]]), "a bandwidth for each side"),
        (lambda: papers.iclp_qr(facts(), eta=1.0), "eta of a kernel must be above 1, e.g. 1.25, got 1.0"),
        (lambda: papers.iclp_qr(facts(), eta=...), r"eta of a kernel must be above 1, e.g. 1.25, got \.\.\."),
        (lambda: papers.iclp_qr(facts(), eta="2"), "eta of a kernel must be above 1, e.g. 1.25, got '2'"),
        (lambda: papers.bernstein(facts(), degree=0), "whole number, at least 1, got 0"),
        (lambda: papers.gp(facts(), kernel=BrownianMotion()), "integral of BrownianMotion.* is not known"),
        (lambda: mass_of(RationalQuadratic(length=1.0, shape=1.0), 2), "shapes above 1, got 1"),
        (lambda: mass_of(Tensor((Gaussian(rho=1.0),)), 2), "has 1 factors, but the domain has 2"),
        (lambda: mass_of(Anisotropic(Gaussian(rho=1.0), (1.0,)), 2), "has 1 axes, but the domain has 2"),
        (lambda: papers.iclp_qr(facts(BOX), kernel=Exponential(rho=1.0)), "a product over its sides"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_the_rule(build, text):
    with pytest.raises(UsageError, match=text):
        build()


@pytest.mark.parametrize(
    ("budget", "about"),
    [(Budget(1.0, 0.0), ("delta", 0.0)), (Budget(2.0, 0.1), ("epsilon", 2.0))],
    ids=["pure", "large"],
)
def test_the_published_scale_holds_for_delta_and_small_epsilon(budget, about):
    with refused(CannotMeetBudget, *about):
        papers.gp(facts(budget=budget, calibration="published"), bandwidth=0.1)
