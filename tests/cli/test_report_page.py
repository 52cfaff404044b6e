"""The page of a release: it parses, stands alone, escapes every text, and says what the release says."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpfda
from dpfda.bases import cosine, tensor
from dpfda.errors import UsageError
from dpfda.mechanisms import DictionaryDraw, GaussianProcess, SeededRandomness
from dpfda.mechanisms.noise import Noise
from dpfda.page import page
from dpfda.page.picture import Scale, around, shade
from dpfda.releases import NOT_PRIVATE, Count, smooth
from dpfda.releases.plots import contour_levels

VOID = {"meta", "input", "br", "hr", "img", "link"}
EVIL = "</title></style><script>alert('1')</script>\"><img src=x onerror=alert(2)> & $x$"
Change = Callable[..., dpfda.Release]


class Reader(HTMLParser):
    """A page as a list of elements with their attributes and the text inside of each; fails where tags do not nest."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.content = content
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.inside: list[list[str]] = []
        self.open: list[int] = []
        self.feed(content)
        self.close()
        assert not self.open, "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), "an attribute stands twice"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.inside.append([])
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for index in self.open:
            self.inside[index].append(data)

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        wanted = attributes.items()
        return [found for name, found in self.elements if name == tag and wanted <= found.items()]

    def texts(self, tag: str, **attributes: str) -> list[str]:
        wanted = attributes.items()
        return [
            "".join(inside)
            for (name, found), inside in zip(self.elements, self.inside, strict=True)
            if name == tag and wanted <= found.items()
        ]

    def file(self, name: str) -> str:
        """What a link carries."""
        (link,) = self.all("a", download=name)
        return unquote(link["href"].split(",", 1)[1])


@lru_cache
def read(release: dpfda.Release, **options: Any) -> Reader:
    """The page of a release; most tests look at the same ones."""
    return Reader(page(release, **options))


@pytest.fixture(scope="module")
def release() -> dpfda.Release:
    """A release with real noise: the tests look at its page, not at its values."""
    t = np.linspace(0, 24, 30)
    curves = np.sin(t / 4) + np.linspace(-0.3, 0.3, 400)[:, None]
    est = dpfda.MeanFunction(epsilon=1.0, delta=1e-6, bound=1.5, domain=(0.0, 24.0), dataset="load curves")
    return est.fit(curves, grid=t, units=np.arange(400)).release_


@pytest.fixture(scope="module")
def seeded() -> dpfda.Release:
    curves = np.linspace(-0.3, 0.3, 100)[:, None] * np.ones(9)
    return dpfda.MeanFunction(epsilon=1.0, delta=0.0, bound=1.0, randomness=SeededRandomness(1)).fit(curves).release_


@pytest.fixture(scope="module")
def boxed(release: dpfda.Release) -> Callable[[int], dpfda.Release]:
    """The release moved to a box of so many sides."""

    def moved(sides: int) -> dpfda.Release:
        # On three sides a constant: the law of a band on a hundred thousand points takes half a minute.
        basis = tensor(*(cosine((0, side + 1), 2 if sides < 3 else 1) for side in range(sides)))
        noisy, noise = np.arange(1.0, basis.size + 1), Noise("gaussian", (basis.size,), (0.1,))
        return replace(
            release,
            basis=basis,
            noisy=noisy,
            centre=np.zeros(basis.size),
            noise=noise,
            smoothing=smooth("none", noisy, noise.variances, basis.frequencies),
            certificate=replace(release.certificate, domain=basis.domain.sides, size=basis.size),
        )

    return moved


@pytest.fixture
def every(
    release: dpfda.Release,
    seeded: dpfda.Release,
    boxed: Callable[[int], dpfda.Release],
    moments: dict[str, Any],
    densities: dict[str, Any],
    machines: dict[str, Any],
) -> dict[str, Any]:
    few = replace(release, count=Count(2.0, Noise("gaussian", (1,), (2.0,))))
    drawn = {"curve": release, "seeded": seeded, "surface": boxed(2), "three sides": boxed(3), "infinite band": few}
    return drawn | moments | densities | machines


DENSITIES = [
    "density",
    "density between edges",
    "density of a kernel",
    "density with an infinite band",
    "density on a box",
    "density of three coordinates",
    "density of a kernel on a box",
]
MACHINES = [
    "classifier",
    "logistic classifier",
    "classifier in the plane",
    "regressor",
    "regressor in the plane",
    "regressor of four coordinates",
]
KINDS = [
    "curve",
    "seeded",
    "surface",
    "three sides",
    "infinite band",
    "covariance",
    "covariance on a box",
    "components",
    "components on a box",
    "components without variances",
    "regression",
    "regression with infinite bands",
    "regression on a box",
    *DENSITIES,
    *MACHINES,
]


@pytest.fixture(scope="module")
def moments() -> dict[str, Any]:
    """Releases of the other kinds, on an interval and on a box."""
    grid = np.linspace(0, 24, 30)
    box = [[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 1.0, 2.0)]
    generator = np.random.default_rng(1)
    scores = generator.normal(size=(3000, 2))
    curves = 0.3 * scores @ np.stack([np.sin(grid / 8), np.cos(grid / 8)])
    surfaces = 0.3 * scores @ np.stack([[x + y for x, y in box], [x - y for x, y in box]])
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "dataset": "load curves"}
    covariance = dpfda.CovarianceFunction(**asked, domain=(0.0, 24.0), force=True).fit(curves, grid=grid).release_
    boxed = dpfda.CovarianceFunction(**asked, domain=[(0, 1), (0, 2)], force=True).fit(surfaces, grid=box).release_
    components = covariance.components(2)
    ranges = [(-4, 4), (-4, 4)]
    regression = dpfda.FunctionOnScalarRegression(**asked, domain=(0.0, 24.0), covariate_limits=ranges, force=True)
    on_box = dpfda.FunctionOnScalarRegression(**asked, domain=[(0, 1), (0, 2)], covariate_limits=ranges, force=True)
    few = dpfda.FunctionOnScalarRegression(**asked, domain=(0.0, 24.0), covariate_limits=ranges, force=True)
    return {
        "covariance": covariance,
        "covariance on a box": boxed,
        "components": components,
        "components on a box": boxed.components(1),
        "components without variances": replace(components, variances=None, total=None),
        "regression": regression.fit(scores, curves, grid=grid).release_,
        "regression with infinite bands": few.fit(scores[:20], curves[:20], grid=grid).release_,
        "regression on a box": on_box.fit(scores, surfaces, grid=box).release_,
    }


@pytest.fixture(scope="module")
def densities() -> dict[str, Any]:
    """Densities on a line, with jumps, of a kernel, of few people, and on boxes."""
    points = np.random.default_rng(2).beta(2, 5, size=(3000, 3))
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "dataset": "ages"}
    sides = [(0.0, 1.0), (0.0, 2.0), (-1.0, 1.0)]
    few = dpfda.DensityFunction(**asked, domain=(0, 1), neighbours="add-or-remove-one", planned_n=1000, force=True)
    made = {
        "density": dpfda.DensityFunction(**asked, domain=(0, 1), force=True).fit(points[:, 0]),
        "density between edges": dpfda.DensityFunction(**asked, edges=[0, 0.1, 0.5, 1], force=True).fit(points[:, 0]),
        "density of a kernel": dpfda.DensityFunction(
            **asked, domain=(0, 1), mechanism=GaussianProcess(bandwidth=0.1), force=True
        ).fit(points[:, 0]),
        "density on a box": dpfda.DensityFunction(**asked, domain=sides[:2], force=True).fit(points[:, :2]),
        "density of three coordinates": dpfda.DensityFunction(**asked, domain=sides, force=True).fit(points),
        "density of a kernel on a box": dpfda.DensityFunction(
            **asked, domain=sides[:2], mechanism=GaussianProcess(bandwidth=0.3), force=True
        ).fit(points[:, :2]),
    }
    releases = {name: each.release_ for name, each in made.items()}
    counted = few.fit(points[:, 0]).release_
    unknown = Count(2.0, Noise("gaussian", (1,), (2.0,)))
    return releases | {"density with an infinite band": replace(counted, count=unknown)}


@pytest.fixture(scope="module")
def machines() -> dict[str, Any]:
    """Classifiers and regressors on a line, in the plane, and in more dimensions."""
    points = np.random.default_rng(3).random((2000, 4))
    inside = np.where(np.abs(points[:, 0] - 0.5) < 0.25, "in", "out")
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "domain": (0.0, 1.0), "dataset": "people", "features": 30}
    labelled: dict[str, Any] = {**asked, "classes": ("out", "in")}
    bounded: dict[str, Any] = {**asked, "response_bound": 1.0}
    response = np.sin(6 * points[:, 0])
    return {
        "classifier": dpfda.KernelClassifier(**labelled, force=True).fit(points[:, :1], inside).release_,
        "logistic classifier": dpfda.KernelClassifier(**labelled, loss="logistic", force=True)
        .fit(points[:, :1], inside)
        .release_,
        "classifier in the plane": dpfda.KernelClassifier(**labelled, force=True).fit(points[:, :2], inside).release_,
        "regressor": dpfda.KernelRegressor(**bounded, force=True).fit(points[:, :1], response).release_,
        "regressor in the plane": dpfda.KernelRegressor(**bounded, force=True).fit(points[:, :2], response).release_,
        "regressor of four coordinates": dpfda.KernelRegressor(**bounded, force=True).fit(points, response).release_,
    }


def marked(release: dpfda.Release, what: str) -> dpfda.Release:
    """A release in which every text of the card is the given one."""
    card = release.certificate
    texts = dict.fromkeys(("what", "dataset", "unit", "centre", "mechanism", "noise", "basis", "missing"), what)
    return replace(
        release,
        certificate=replace(
            card,
            **texts,
            sensitivity_because=what,
            sensitivity_norm=what,
            chosen=((what, what),),
            software=((what, what),),
            warnings=(what,),
        ),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_parses_and_every_name_it_refers_to_is_there(kind: str, every: dict[str, dpfda.Release]) -> None:
    found = read(every[kind])
    assert found.content.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    names = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(set(names)) == len(names)
    for _, attributes in found.elements:
        for reference in ("aria-labelledby", "for"):
            assert set(attributes.get(reference, "").split()) <= set(names)
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in names


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_refers_to_nothing_outside(kind: str, every: dict[str, dpfda.Release]) -> None:
    found = read(every[kind])
    for outside in ("http:", "https:", "//", "src=", "@import", "url(", "<link", "<img", "<iframe", "<object", "<form"):
        assert outside not in found.content, outside
    for _, attributes in found.elements:
        for name, value in attributes.items():
            assert name != "style"
            assert not name.startswith("on")
            if name in ("href", "xlink:href", "action"):
                assert value.startswith(("#", "data:"))


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(release: dpfda.Release) -> None:
    found = read(release)
    (policy,) = found.all("meta", **{"http-equiv": "Content-Security-Policy"})
    allowed = {}
    for tag in ("script", "style"):
        (content,) = found.texts(tag)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        allowed[tag] = f"{tag}-src 'sha256-{digest}'"
    assert policy["content"] == (
        f"default-src 'none'; {allowed['style']}; {allowed['script']}; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_release_gives_the_same_page(kind: str, every: dict[str, dpfda.Release], tmp_path: Path) -> None:
    one = every[kind]
    assert read(one).content == page(one) == page(dpfda.load(one.save(tmp_path / "copy.json")))


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_release_becomes_markup(kind: str, every: dict[str, dpfda.Release]) -> None:
    plain, evil = read(every[kind]), Reader(page(marked(every[kind], EVIL), file=f"{EVIL}.json"))
    tags = {"script", "img", "title", "style"}
    assert [tag for tag, _ in evil.elements if tag in tags] == [tag for tag, _ in plain.elements if tag in tags]
    (heading,) = evil.texts("h1")
    assert heading == f"{EVIL} of '{EVIL}'"
    assert EVIL in evil.texts("li")
    assert evil.texts("th", scope="row").count(EVIL) == 1


def test_letters_that_cannot_be_written_are_replaced(release: dpfda.Release) -> None:
    content = page(marked(release, "a\x00b\x1b[31m\ud800\u202ec"), file="a\ud800.json")
    content.encode("utf-8")
    (heading,) = Reader(content).texts("h1")
    assert heading.startswith("A\ufffdb\ufffd[31m?\ufffdc of ")


def test_a_predictable_release_is_stamped_where_nobody_can_miss_it(seeded: dpfda.Release) -> None:
    found = read(seeded)
    assert found.texts("title")[0].startswith("NOT PRIVATE: ")
    assert NOT_PRIVATE in found.texts("li", **{"class": "loud"})
    assert found.texts("text", **{"class": "mark"}) == ["NOT PRIVATE"]
    assert found.texts("p", **{"class": "sentence"}) == [
        "The noise can be predicted, so this release promises nothing to anybody."
    ]


def test_the_stamp_is_there_even_if_the_card_forgot_it(seeded: dpfda.Release) -> None:
    forgot = replace(seeded, certificate=replace(seeded.certificate, warnings=()))
    assert read(forgot).texts("li", **{"class": "loud"}) == [NOT_PRIVATE]


def test_a_private_release_has_no_stamp(release: dpfda.Release) -> None:
    content = page(release)
    assert "NOT PRIVATE" not in content
    assert not Reader(content).all("section", **{"class": "warnings"})


def test_warnings_of_a_private_release_stand_before_the_picture(release: dpfda.Release) -> None:
    warned = replace(release, certificate=replace(release.certificate, warnings=("epsilon = 50 promises nothing.",)))
    content = page(warned)
    assert content.index("epsilon = 50 promises nothing.") < content.index("<svg")


def test_the_card_stands_on_the_page_in_full(release: dpfda.Release) -> None:
    found, card = read(release), release.certificate
    words = " ".join(" ".join(found.texts("main")).split())
    listed = dict(zip(found.texts("dt"), found.texts("dd"), strict=True))
    assert set(listed) >= {"guarantee", "protects", "units", "domain", "bound", "mechanism", "noise", "sensitivity"}
    for label, said in card.entries:
        assert said
        assert listed[label] == said
    for name, how in card.chosen:
        assert f"{name}{how}" in "".join(found.texts("tr")).replace("\n", "")
    assert card.sensitivity_because in words
    assert found.texts("p", **{"class": "sentence"}) == [card.sentence]
    assert "does not cover what clipping, the finite basis or the sampling of people did" in words
    for name, value in card.to_dict().items():
        assert f"{name}{json.dumps(value, ensure_ascii=False)}" in found.texts("tr")


def test_the_lines_of_the_card_are_those_of_its_text(release: dpfda.Release) -> None:
    words = " ".join(release.certificate.text().split())
    for label, said in release.certificate.entries:
        assert f"{label} {said}" in words


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_table_holds_the_curve_and_its_band(release: dpfda.Release, level: float) -> None:
    found = read(release, level=level)
    inside = ["".join(text) for (tag, _), text in zip(found.elements, found.inside, strict=True) if tag in ("th", "td")]
    assert inside[:4] == ["t", "value", "lower", "upper"]
    cells = np.array(inside[4 : 4 + 4 * 101], dtype=float).reshape(101, 4)
    points = np.linspace(0, 24, 101)
    band = release.band(level, points)
    exact = np.column_stack([points, release(points), band.lower, band.upper])
    np.testing.assert_allclose(cells, exact, rtol=1e-5, atol=1e-9)
    assert f"with the {100 * level:g} % noise band" in found.texts("caption")[0]


def test_the_points_of_the_table_lie_on_the_drawn_line(release: dpfda.Release) -> None:
    found = read(release)
    (line,) = found.all("polyline")
    drawn = line["points"].split()
    marks = [f"{row['data-x']},{row['data-y']}" for row in found.all("tr") if "data-x" in row]
    assert len(marks) == 101
    assert marks == drawn[:: (len(drawn) - 1) // 100]


def test_the_band_is_drawn_around_the_curve_before_smoothing(release: dpfda.Release) -> None:
    found = read(release)
    (band,), (line,) = found.all("polygon"), found.all("polyline")
    corners = np.array([list(map(float, corner.split(","))) for corner in band["points"].split()])
    points = np.array([list(map(float, point.split(","))) for point in line["points"].split()])
    upper, lower = corners[: len(points)], corners[len(points) :][::-1]
    np.testing.assert_array_equal(upper[:, 0], points[:, 0])
    np.testing.assert_array_equal(lower[:, 0], points[:, 0])
    where = release.points(len(points))
    middle = (release.band(0.95, where).lower + release.band(0.95, where).upper) / 2
    # Heights fall as values rise; a picture has tenths of a pixel.
    slope, offset = np.polyfit(release(where), points[:, 1], 1)
    np.testing.assert_allclose((upper[:, 1] + lower[:, 1]) / 2, slope * middle + offset, atol=0.2)


def test_those_who_do_not_see_the_picture_are_told_what_it_shows(release: dpfda.Release) -> None:
    found = read(release)
    (drawing,) = found.all("svg")
    assert drawing["role"] == "img"
    assert found.texts("title", id="drawing-title") == ["Mean function of 'load curves'"]
    (said,) = found.texts("desc", id="drawing-description")
    where = release.points(len(found.all("polyline")[0]["points"].split()))
    value = release(where)
    assert f"The lowest value is {value.min():.6g} at t = {where[value.argmin(), 0]:.6g}" in said
    assert f"the highest {value.max():.6g} at t = {where[value.argmax(), 0]:.6g}." in said
    assert "The 95 % noise band reaches " in said


def test_everything_that_can_be_reached_by_keyboard_has_a_name(release: dpfda.Release) -> None:
    found = read(release)
    labels = {label["for"]: text for label, text in zip(found.all("label"), found.texts("label"), strict=True)}
    assert labels == {"slider-0": "Read off at t"}
    assert [slider["id"] for slider in found.all("input", type="range")] == list(labels)
    for tag in ("div", "pre"):
        assert all(each.get("aria-label") for each in found.all(tag, tabindex="0"))
    assert all(text.strip() for tag in ("a", "summary", "h1", "h2", "caption") for text in found.texts(tag))
    assert all(head["scope"] in ("col", "row") for head in found.all("th"))
    # Without the script there is nothing to move.
    assert "hidden" in found.all("div", id="controls")[0]


def test_the_release_can_be_downloaded_as_it_was_saved(release: dpfda.Release, tmp_path: Path) -> None:
    saved = release.save(tmp_path / "mean.json")
    assert read(release, file="mean.json").file("mean.json") == saved.read_text()


def test_the_values_can_be_downloaded_in_full(release: dpfda.Release) -> None:
    head, *rows = csv.reader(io.StringIO(read(release, file="mean.json").file("mean.csv")))
    assert head == ["t", "value", "lower", "upper"]
    table = np.array(rows, dtype=float)
    points = np.linspace(0, 24, 101)
    np.testing.assert_allclose(table[:, 0], points, rtol=1e-15, atol=1e-14)
    np.testing.assert_allclose(table[:, 1], release(points), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_on_the_page_runs(
    kind: str, every: dict[str, dpfda.Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a 'quoted' name.json"
    found = read(every[kind], file=name)
    Path(name).write_text(found.file(name))
    (code,) = found.texts("pre", id="python")
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["release"].certificate == every[kind].certificate


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_on_the_page_run(
    kind: str, every: dict[str, dpfda.Release], run: Callable[..., Any], tmp_path: Path
) -> None:
    import shlex

    name = "a 'quoted' name.json"
    every[kind].save(tmp_path / name)
    (tmp_path / "new.csv").write_text(",".join(f"x{i}" for i in range(len(every[kind].certificate.domain))) + "\n0.5\n")
    (commands,) = read(every[kind], file=name).texts("pre", id="shell")
    assert len(commands.splitlines()) >= 2
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "dpfda"
        assert run(*arguments).code == 0, command


def test_a_surface_is_a_heat_map_with_a_table(boxed: Callable[[int], dpfda.Release]) -> None:
    surface = boxed(2)
    found = read(surface, file="s.json")
    cells, scale = found.all("rect")[: 33 * 33], found.all("rect")[33 * 33 :]
    assert len(scale) == 64
    values = surface(surface.points(33))
    assert cells[int(values.argmin())]["fill"] == shade(0.0) == "#440154"
    assert cells[int(values.argmax())]["fill"] == shade(1.0) == "#fde725"
    assert found.texts("label") == ["Read off at t1", "Read off at t2"]
    head, *rows = csv.reader(io.StringIO(found.file("s.csv")))
    assert head == ["t1", "t2", "value", "lower", "upper"]
    np.testing.assert_allclose(np.array(rows, dtype=float)[:, 2], values, rtol=1e-12)
    # The cells tile the picture without gaps: their areas add up, but for tenths of a pixel at each edge.
    area = sum(float(cell["width"]) * float(cell["height"]) for cell in cells)
    assert area == pytest.approx((590 - 72) * (380 - 24), rel=5e-3)


def test_a_function_of_three_variables_has_a_table_but_no_picture(boxed: Callable[[int], dpfda.Release]) -> None:
    found = Reader(page(boxed(3), file="s.json"))
    assert not found.all("svg")
    assert not found.all("input")
    assert "A function of 3 variables has no picture here." in " ".join(found.texts("p"))
    assert len(found.file("s.csv").splitlines()) == 9**3 + 1


def test_a_chosen_function_is_shown_without_a_band() -> None:
    curves = np.linspace(-0.3, 0.3, 400)[:, None] + np.linspace(0, 1, 20)
    est = dpfda.MeanFunction(
        epsilon=1.0, delta=0.0, bound=1.5, mechanism=DictionaryDraw(candidates=[lambda t: t, lambda t: 1 - t])
    )
    release = est.fit(curves).release_
    found = read(release, file="m.json")
    assert not found.all("polygon")
    assert len(found.all("polyline")) == 1
    (caption,) = found.texts("figcaption")
    assert caption == (
        "The line is the released curve. No noise band is shown. A function chosen among candidates has no noise band: "
        "no noise was added to it."
    )
    assert found.file("m.csv").splitlines()[0] == "t,value"
    assert "band" not in found.texts("pre", id="python")[0]
    assert "--level" not in found.texts("pre", id="shell")[0]
    assert "noise band" not in found.texts("desc")[0]


def test_an_infinite_band_is_not_drawn_but_said(every: dict[str, dpfda.Release]) -> None:
    found = read(every["infinite band"], file="m.json")
    assert not found.all("polygon")
    assert "The noise band is infinite: the noisy number of units could be zero." in found.texts("figcaption")[0]
    assert found.texts("td")[1:3] == ["-∞", "∞"]
    assert found.file("m.csv").splitlines()[1].endswith(",-inf,inf")


def test_a_constant_curve_can_be_drawn(release: dpfda.Release) -> None:
    flat = replace(release, noisy=np.zeros(release.basis.size))
    for centre in (0.0, 1e-9, 1e80):
        constant = replace(flat, centre=centre * np.eye(release.basis.size)[0])
        heights = re.findall(r"[\d.]+,([\d.]+)", read(constant).all("polyline")[0]["points"])
        assert all(24 <= float(height) <= 380 for height in heights)


@pytest.mark.parametrize("level", [0.0, 1.0, 0.9999])
def test_a_level_that_no_band_has_is_an_error_not_a_page_without_one(release: dpfda.Release, level: float) -> None:
    with pytest.raises(UsageError, match=f"^level .*{level}"):
        page(release, level=level)


@given(
    low=st.floats(-1e100, 1e100, allow_subnormal=False),
    length=st.floats(1e-3, 1e3),
    size=st.floats(1e-100, 1e100),
)
def test_ticks_are_few_round_distinct_and_within_the_scale(low: float, length: float, size: float) -> None:
    start = low if abs(low) < 1e6 * size else 0.0
    scale = Scale(start, start + length * size, 0.0, 100.0)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 6
    assert len({label for _, label in ticks}) == len(ticks)
    assert all(-1e-6 <= scale(value) <= 100 + 1e-6 for value, _ in ticks)
    assert all(float(label) == pytest.approx(value, rel=1e-14) for value, label in ticks)


def test_ticks_read_as_people_write_them() -> None:
    assert [label for _, label in Scale(0.0, 1.0, 0, 1).ticks()] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert [label for _, label in Scale(-3.0, 1e3, 0, 1).ticks()] == ["0", "500", "1000"]
    assert around(2.0, 2.0) == (1.8, 2.2)
    assert around(0.0, 0.0) == (-1.0, 1.0)


FILES = sorted((Path(dpfda.__file__).parent / "page").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_page_sees_only_what_was_paid_for(path: Path) -> None:
    allowed = ("dpfda.page", "dpfda.arrays", "dpfda.bases", "dpfda.errors", "dpfda.privacy", "dpfda.releases")
    for node in ast.walk(ast.parse(path.read_text())):
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            assert module is not None
            assert not module.startswith("dpfda") or module.startswith(allowed), module


def test_this_check_has_files_to_look_at() -> None:
    assert len(FILES) >= 5


def numbers_of(points: str) -> Any:
    return np.array([[float(end) for end in pair.split(",")] for pair in points.split()])


def test_the_page_of_a_covariance_shows_its_contours_and_its_table(moments: dict[str, Any]) -> None:
    release = moments["covariance"]
    found = read(release, file="c.json")
    head, *rows = csv.reader(io.StringIO(found.file("c.csv")))
    assert head == ["s", "t", "value", "correlation"]
    side, table = np.linspace(0, 24, 33), np.array(rows, dtype=float)
    np.testing.assert_allclose(table[:, 2].reshape(33, 33), release(side, side), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(table[:, 3].reshape(33, 33), release.correlation(side, side), rtol=1e-9, atol=1e-12)
    lines = found.all("polyline", **{"class": "contour"})
    assert len(lines) >= 3
    levels = contour_levels(release(side, side))
    for line in lines:
        # From pixels back to pairs of points: the covariance is the same all along a line.
        s, t = ((numbers_of(line["points"]) - [72, 380]) / [590 - 72, 24 - 380] * 24).T
        inside = np.clip(s, 0, 24), np.clip(t, 0, 24)
        along = np.array([release(a, b) for a, b in zip(*inside, strict=True)])
        assert np.abs(levels[:, None] - along).max(axis=1).min() < 0.05 * levels[-1]
    assert found.texts("label") == ["Read off at s", "Read off at t"]
    (caption,) = found.texts("figcaption")
    assert f"Its error is about {release.estimated_error:.6g} root mean square" in caption
    assert "noise band" not in caption


def test_the_page_of_components_shows_a_line_for_each(moments: dict[str, Any]) -> None:
    release = moments["components"]
    found = read(release, file="p.json")
    lines = found.all("polyline")
    assert [line["class"] for line in lines] == ["curve line-1", "curve line-2"]
    head, *rows = csv.reader(io.StringIO(found.file("p.csv")))
    assert head == ["t", "component_1", "component_2"]
    table = np.array(rows, dtype=float)
    np.testing.assert_allclose(table[:, 1:].T, release(np.linspace(0, 24, 101)), rtol=1e-9, atol=1e-12)
    shares = [f"component {index + 1}, {release.explained(index)}" for index in range(2)]
    assert set(shares) <= set(found.texts("text"))
    (caption,) = found.texts("figcaption")
    assert caption.endswith(f"Along them: {'; '.join(shares)}.")


def test_the_page_of_components_says_what_was_not_released(moments: dict[str, Any]) -> None:
    found = read(moments["components without variances"])
    assert found.texts("figcaption")[0].endswith("The variance along them was not released.")
    assert "component 1" in found.texts("text")


def test_the_page_of_a_regression_shows_every_coefficient_with_its_band(moments: dict[str, Any]) -> None:
    release = moments["regression"]
    found = read(release, file="r.json", level=0.9)
    assert len(found.all("polyline")) == len(found.all("polygon")) == 3
    assert {"intercept", "z1", "z2"} <= set(found.texts("text"))
    head, *rows = csv.reader(io.StringIO(found.file("r.csv")))
    assert head[:4] == ["t", "intercept", "intercept lower", "intercept upper"]
    points, table = np.linspace(0, 24, 101), np.array(rows, dtype=float).T
    for place, name in enumerate(release.names):
        band = release.band(name, 0.9, points)
        np.testing.assert_allclose(table[1 + 3 * place], release.coefficient(name)(points), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(table[2 + 3 * place], band.lower, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(table[3 + 3 * place], band.upper, rtol=1e-9, atol=1e-12)


def test_infinite_bands_of_a_regression_are_said_and_not_drawn(moments: dict[str, Any]) -> None:
    found = read(moments["regression with infinite bands"], file="r.json")
    assert not found.all("polygon")
    assert "The noise bands are infinite: noise in the moments of covariates may hide" in found.texts("figcaption")[0]


@pytest.mark.parametrize("kind", ["covariance on a box", "components on a box", "regression on a box"])
def test_on_a_box_other_kinds_have_a_table_but_no_picture(kind: str, moments: dict[str, Any]) -> None:
    found = read(moments[kind], file="b.json")
    assert not found.all("svg")
    assert "have no picture here." in " ".join(found.texts("p")) or "has no picture here." in " ".join(found.texts("p"))
    assert len(found.file("b.csv").splitlines()) > 100


@pytest.mark.parametrize("kind", ["covariance", "components", "regression"])
def test_a_wrong_level_is_a_mistake_on_every_page(kind: str, moments: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"^level must lie strictly between 0 and 1, got 1\.5\."):
        page(moments[kind], level=1.5)


def test_the_page_of_a_density_shows_line_band_and_distribution(densities: dict[str, Any]) -> None:
    release = densities["density"]
    found = read(release, file="d.json", level=0.9)
    head, *rows = csv.reader(io.StringIO(found.file("d.csv")))
    assert head == ["x", "density", "distribution", "lower", "upper"]
    points, table = np.linspace(0, 1, 101), np.array(rows, dtype=float).T
    band = release.band(0.9, points)
    exact = [points, release(points), release.distribution(points), band.lower, band.upper]
    np.testing.assert_allclose(table, exact, rtol=1e-9, atol=1e-12)
    (line,), (shaded,) = found.all("polyline"), found.all("polygon")
    # From pixels back to numbers: the axis begins at zero, at the bottom of the picture.
    drawn = numbers_of(line["points"])
    fine = np.linspace(0, 1, len(drawn))
    np.testing.assert_allclose((drawn[:, 0] - 72) / (740 - 72), fine, atol=1e-3)
    slope = np.polyfit(release(fine), 380 - drawn[:, 1], 1)
    assert abs(slope[1]) < 0.5
    assert numbers_of(shaded["points"])[:, 1].max() <= 380
    (caption,) = found.texts("figcaption")
    proper = "The line is the released density: nowhere negative, with integral one."
    assert caption.startswith(f"{proper} It is off by about {release.estimated_error:.6g} root mean square")
    assert "the 90 % noise band: with this probability it holds the histogram of the exact records" in caption
    assert caption.endswith(release.certificate.not_covered)
    assert "--cdf --level 0.9" in found.texts("pre", id="shell")[0]
    assert "dpfda sample d.json --size 1000" in found.texts("pre", id="shell")[0]
    assert found.texts("label") == ["Read off at x"]


def test_a_density_between_edges_is_drawn_with_its_jumps(densities: dict[str, Any]) -> None:
    release = densities["density between edges"]
    drawn = numbers_of(read(release).all("polyline")[0]["points"])
    heights = {round(float(height), 1) for height in drawn[:, 1]}
    assert len(heights) == 3


def test_the_band_of_a_kernel_density_holds_what_the_coordinates_give(densities: dict[str, Any]) -> None:
    (caption,) = read(densities["density of a kernel"]).texts("figcaption")
    assert "it holds what the exact coordinates give everywhere at once" in caption


def test_the_infinite_band_of_a_density_is_said_and_not_drawn(densities: dict[str, Any]) -> None:
    found = read(densities["density with an infinite band"], file="d.json")
    assert not found.all("polygon")
    assert "The noise band is infinite: the noisy number of units could be zero." in found.texts("figcaption")[0]


def test_the_page_of_a_density_on_a_box_is_a_map_with_its_table(densities: dict[str, Any]) -> None:
    release = densities["density on a box"]
    found = read(release, file="b.json")
    head, *rows = csv.reader(io.StringIO(found.file("b.csv")))
    assert head == ["x1", "x2", "density", "lower", "upper"]
    table = np.array(rows, dtype=float)
    np.testing.assert_allclose(table[:, 2], release(table[:, :2]), rtol=1e-9, atol=1e-12)
    assert len(found.all("rect")) >= 33 * 33
    assert {"x1", "x2"} <= set(found.texts("text"))
    (said,) = found.texts("desc", id="drawing-description")
    assert f"the highest {table[:, 2].max():.6g} at x1 = " in said
    assert found.texts("figcaption")[0].startswith("Colours show the released density")
    three = read(densities["density of three coordinates"], file="b.json")
    assert not three.all("svg")
    assert "A density of 3 coordinates has no picture here. The lowest value is " in " ".join(three.texts("p"))


def test_a_kernel_density_on_a_box_has_deviations_instead_of_a_band(densities: dict[str, Any]) -> None:
    """The law of a band of hundreds of functions on a box takes minutes."""
    release = densities["density of a kernel on a box"]
    found = read(release, file="b.json")
    head, *rows = csv.reader(io.StringIO(found.file("b.csv")))
    assert head == ["x1", "x2", "density", "noise"]
    table = np.array(rows, dtype=float)
    exact = np.sqrt(release.basis.matrix(table[:, :2]) ** 2 @ release.noise.variances) / release.volume
    np.testing.assert_allclose(table[:, 3], exact, rtol=1e-9)
    (caption,) = found.texts("figcaption")
    assert "In the table is the deviation of the noise at each point." in caption
    assert "--level" not in found.texts("pre", id="shell")[0]


def test_the_page_of_a_classifier_says_where_it_decides_what(machines: dict[str, Any]) -> None:
    release = machines["classifier"]
    found = read(release, file="c.json")
    head, *rows = csv.reader(io.StringIO(found.file("c.csv")))
    assert head == ["x", "value", "noise"]
    points, table = np.linspace(0, 1, 101), np.array(rows, dtype=float).T
    exact = [points, release(points), release.noise_deviation(points)]
    np.testing.assert_allclose(table, exact, rtol=1e-9, atol=1e-12)
    (line,), (shaded,) = found.all("polyline"), found.all("polygon")
    assert len(numbers_of(shaded["points"])) == 2 * len(numbers_of(line["points"]))
    (caption,) = found.texts("figcaption")
    assert "Above zero the class is 'in', below it is 'out'." in caption
    (said,) = found.texts("desc", id="drawing-description")
    fine = np.linspace(0, 1, 401)
    share = (release(fine) > 0).mean()
    assert f"The class is 'in' in {share:.0%} of the domain, 'out' in the rest" in said
    changes = np.flatnonzero(np.diff(release(fine) > 0))
    assert f"It changes at x = {fine[changes[0] : changes[0] + 2].mean():.6g}" in said
    logistic = read(machines["logistic classifier"], file="c.json")
    assert logistic.file("c.csv").splitlines()[0] == "x,value,noise,probability"
    assert "Probabilities are those of 'in'." in logistic.texts("figcaption")[0]


def test_decision_regions_have_colours_a_boundary_and_dots_where_noise_decides(machines: dict[str, Any]) -> None:
    release = machines["classifier in the plane"]
    found = read(release, file="c.json")
    points = release.points(33)
    values, reach = release(points), 2 * release.noise_deviation(points)
    fills = [each["fill"] for each in found.all("rect")]
    assert len(fills) == 33 * 33 + 2
    assert fills.count("#9fc5dc") == (values > 0).sum() + 1
    assert fills.count("#d9a679") == (values <= 0).sum() + 1
    assert len(found.all("circle", **{"class": "unsure"})) == (np.abs(values) < reach).sum()
    for line in found.all("polyline", **{"class": "contour"}):
        where = (numbers_of(line["points"]) - [72, 380]) / [590 - 72, 24 - 380]
        assert np.abs(release(np.clip(where, 0, 1))).max() < 0.2 * np.abs(values).max()
    assert {"in", "out"} <= set(found.texts("text"))
    assert found.texts("label") == ["Read off at x1", "Read off at x2"]


def test_a_class_never_becomes_markup_and_a_long_one_is_cut_in_the_picture(machines: dict[str, Any]) -> None:
    evil = replace(machines["classifier in the plane"], classes=(EVIL, "in"))
    found = Reader(page(evil, file="c.json"))
    assert len(found.all("script")) == 1
    assert f"{EVIL[:15]}…" in found.texts("text")
    assert "<img src=x onerror=alert(2)>" in found.texts("figcaption")[0]


def test_a_function_that_never_changes_its_sign_is_said_to(machines: dict[str, Any]) -> None:
    release = machines["classifier"]
    flat = replace(release, noisy=np.zeros(release.basis.size))
    (said,) = read(flat).texts("desc", id="drawing-description")
    assert said.endswith("It never changes.")


def test_many_changes_are_counted_not_listed(machines: dict[str, Any]) -> None:
    from dpfda.page.content import Values
    from dpfda.statistics.machines.page import described

    points = np.linspace(0, 1, 401)[:, None]
    waves = Values(points, np.cos(60 * points[:, 0]), None, 0.95, "", axis="x")
    said = described(machines["classifier"], waves, np.zeros(401))
    assert said.endswith(" and at 13 places more.")


def test_the_page_of_a_regressor_is_a_line_a_surface_or_a_table(machines: dict[str, Any]) -> None:
    line = read(machines["regressor"], file="r.json")
    assert line.file("r.csv").splitlines()[0] == "x,value,noise,prediction"
    assert "The class is" not in line.texts("desc", id="drawing-description")[0]
    plane = read(machines["regressor in the plane"], file="r.json")
    assert plane.texts("figcaption")[0].startswith("Colours show the released function.")
    release = machines["regressor of four coordinates"]
    four = read(release, file="r.json")
    assert not four.all("svg")
    rows = [*csv.reader(io.StringIO(four.file("r.csv")))][1:]
    table = np.array(rows, dtype=float)
    assert len(table) == 4 * 21
    assert ((table[:, :4] != 0.5).sum(axis=1) <= 1).all()
    np.testing.assert_allclose(table[:, 4], release(table[:, :4]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["density", "classifier"])
def test_a_wrong_level_is_a_mistake_on_pages_of_points(
    kind: str, densities: dict[str, Any], machines: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=r"^level must lie strictly between 0 and 1, got 1\.5\."):
        page((densities | machines)[kind], level=1.5)
