"""Deaths by age: what is read, what is printed, and that the default is nearest in every region."""

from __future__ import annotations

import numpy as np
import pytest

from dpfda.errors import DataError
from dpfda.mechanisms import SeededRandomness
from dpfda.reproduce import mortality
from dpfda.reproduce.mortality import FILE, METHODS, PUBLISHED, Region, read_deaths
from dpfda.studies.outcome import Setting

EDGES = (0, 1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 120)


def write(folder, *, regions=tuple(PUBLISHED), edges=EDGES, header="region,age_lo,age_hi,deaths_thousand"):
    """Deaths like those of people: infants, then a bell around an age that differs by region."""
    lines = [header]
    for number, region in enumerate(regions):
        middles = (np.array(edges[1:]) + np.array(edges[:-1])) / 2
        shares = np.exp(-0.5 * ((middles - 65 - number) / 14) ** 2) * np.diff(edges)
        shares[0] += 3.0
        # No fewer than the least of the real regions.
        deaths = shares / shares.sum() * (971 + 3000 * number)
        lines += [f"{region},{a},{b},{d:.4f}" for a, b, d in zip(edges, edges[1:], deaths, strict=False)]
    path = folder / FILE
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("deaths")
    write(place)
    return place


@pytest.fixture(scope="module")
def outcome(folder):
    (table, _) = mortality.REPRODUCTIONS
    return table.run(Setting(data=folder, quick=True, seed=3))


def test_table_3_is_embedded_as_printed():
    """Lin and Reimherr, Table 3: 19 regions, five columns; its least and its largest numbers, and the sum of all."""
    assert len(PUBLISHED) == 19
    assert METHODS == ("ICLP-QR, 1.01", "ICLP-QR, 1.05", "FRL", "Bernstein, 10", "Bernstein, 20")
    assert PUBLISHED["Middle Africa"] == (1.122, 5.281, 4.870, 3.969, 2.090)
    assert PUBLISHED["Australia/New Zealand"] == (23.525, 29.495, 22.782, 28.339, 23.983)
    assert sum(map(sum, PUBLISHED.values())) == pytest.approx(799.695, abs=1e-6)


def test_deaths_are_read_in_whole_people(folder):
    regions = read_deaths(folder / FILE)
    assert [one.region for one in regions] == list(PUBLISHED)
    assert regions[0].n == pytest.approx(971_000, abs=11)
    assert (regions[0].counts == np.rint(regions[0].counts)).all()
    assert regions[0].edges.tolist() == list(map(float, EDGES))
    assert regions[0].middles[-1, 0] == 110
    assert regions[0].widths[:3].tolist() == [1, 4, 5]
    assert regions[0].thousands().n == pytest.approx(971, abs=11)


def test_distances_are_those_of_densities(folder):
    deaths = read_deaths(folder / FILE)[5]
    region = Region(deaths, deaths)
    assert np.mean(region.binned) == pytest.approx(1, abs=1e-3)
    assert np.mean(region.kernel) == pytest.approx(1, abs=0.1)
    assert region.bandwidth == pytest.approx(deaths.n**-0.2)
    exact = region.private(mechanism="frl", size=40)
    assert exact.bias(region.kernel, mortality.PLACES) < 1e-8
    # With so many units and masses in place of noise nothing is left but the kernel itself.
    assert region.smoothed(deaths.counts) == pytest.approx(region.kernel)


def test_the_release_of_the_default_has_masses_of_the_groups(folder):
    deaths = read_deaths(folder / FILE)[0]
    masses = Region(deaths, deaths).ours(SeededRandomness(1))
    assert masses.sum() == pytest.approx(1)
    # Laplace noise of scale 2 on counts near a million: 40 of them is e^-20.
    assert np.abs(masses * deaths.n - deaths.counts).max() < 40 + 1e-3 * 40


@pytest.mark.audit
def test_published_numbers_stand_beside_ours(outcome):
    beside = outcome.tables[0]
    assert len(beside.rows) == 3
    for row in beside.rows:
        named = dict(zip(beside.columns, row, strict=True))
        for name, printed in zip(METHODS, PUBLISHED[named["region"]], strict=True):
            assert named[f"{name}: published"] == printed
            assert 0 < named[f"{name}: ours"] < 1
        # Bernstein polynomials cannot follow a density, the more so the lower their degree.
        assert named["Bernstein, 10: ours"] > named["Bernstein, 20: ours"] > named["ICLP-QR, 1.01: ours"]


@pytest.mark.audit
def test_the_default_is_nearest_whatever_the_unit_and_the_distance(outcome):
    compared = outcome.tables[1]
    assert {row[1:3] for row in compared.rows} == {
        (unit, target) for unit in ("a death", "a thousand deaths") for target in "ab"
    }
    for row in compared.rows:
        named = dict(zip(compared.columns, row, strict=True))
        theirs = [named[name] for name in (*mortality.TUNED, "least as published")]
        assert named["least of theirs over ours"] == pytest.approx(min(theirs) / named[mortality.OURS])
        assert min(theirs) > 1.2 * named[mortality.OURS], named
    assert f"in {len(compared.rows)} of the {len(compared.rows)} comparisons" in outcome.notes[-1]


def test_what_is_matched_is_a_factor_and_a_term_in_the_number_of_deaths(folder):
    deaths = read_deaths(folder / FILE)
    printed = np.array([PUBLISHED[one.region][3:] for one in deaths])
    ours = (printed - 5e6 * np.array([[(one.n / 1000) ** -2.0] for one in deaths])) / 40
    factor, common, misfit = mortality.explained(deaths, ours)
    assert (factor, common) == pytest.approx((40, 5e6))
    assert misfit < 1e-9


def test_figure_9_draws_every_mechanism(folder, tmp_path):
    (_, figure) = mortality.REPRODUCTIONS
    outcome, paths = figure.write(Setting(data=folder, quick=True, seed=3), tmp_path)
    assert [path.suffix for path in paths] == [".csv", ".png"]
    assert len(outcome.figures[0].axes[0].get_lines()) == len(METHODS) + 2
    for row in outcome.tables[0].rows:
        assert row[-1] == min(row[2:])


def test_without_the_file_it_says_where_to_say_where_it_is():
    with pytest.raises(DataError, match=f"needs the file {FILE}"):
        mortality.REPRODUCTIONS[0].run(Setting())


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"regions": ("Eastern Africa",)}, "has no rows for Middle Africa, Northern Africa"),
        ({"header": "place,age_lo,age_hi,deaths_thousand"}, "needs columns region, age_lo, age_hi and deaths_thousand"),
    ],
    ids=["regions", "columns"],
)
def test_another_file_is_refused(tmp_path, wrong, text):
    with pytest.raises(DataError, match=text):
        read_deaths(write(tmp_path, **wrong))


def test_groups_must_follow_one_another(tmp_path):
    path = write(tmp_path)
    path.write_text("\n".join(line for line in path.read_text().splitlines() if ",50,55," not in line))
    with pytest.raises(DataError, match=r"age groups of Eastern Africa in .* do not follow one another"):
        read_deaths(path)
