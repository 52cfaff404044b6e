"""`dpfda report` writes one page beside a release, and its script reads values off the picture."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpfda
from dpfda.page import page

Run = Callable[..., Any]


@pytest.fixture
def release(run: Run, csv: Path, tmp_path: Path) -> dpfda.Release:
    asked = ("--unit", "ID", "--values", "t*", "--epsilon", 1, "--delta", "1e-6", "--bound", 1, "--out", "mean.json")
    assert run("release", "mean", csv, *asked).code == 0
    return dpfda.load(tmp_path / "mean.json")


def test_the_page_is_named_after_the_release(run: Run, release: dpfda.Release, tmp_path: Path) -> None:
    before = (tmp_path / "mean.json").read_bytes()
    done = run("report", "mean.json")
    assert (done.code, done.out, done.err) == (0, "Written: mean.html\n", "")
    assert (tmp_path / "mean.html").read_bytes() == page(release, file="mean.json").encode()
    assert (tmp_path / "mean.json").read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def test_name_and_level_are_as_asked(run: Run, release: dpfda.Release, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    done = run("report", "mean.json", "-o", "there/page.html", "--level", 0.5, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {"written": ["there/page.html"]}
    assert (tmp_path / "there" / "page.html").read_text() == page(release, file="mean.json", level=0.5)


def test_a_page_is_replaced_only_when_asked(run: Run, release: dpfda.Release, tmp_path: Path) -> None:
    (tmp_path / "mean.html").write_text("old")
    done = run("report", "mean.json")
    text = "Error: 'mean.html' exists. Say --overwrite, or name another file.\n"
    assert (done.code, done.out, done.err) == (5, "", text)
    assert (tmp_path / "mean.html").read_text() == "old"
    assert run("report", "mean.json", "--overwrite").code == 0
    assert (tmp_path / "mean.html").read_text() == page(release, file="mean.json")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["mean.json", "--level", "1"], 2, "level must lie strictly between 0 and 1, got 1.0. Common is 0.95."),
        (
            ["mean.json", "-o", "./mean.json", "--overwrite"],
            2,
            "The release and the page must be different files. Name another with --out.",
        ),
        (["mean.json", "-o", "."], 5, "'.' is a folder. Name a file in it."),
        (["none.json"], 5, "No release file 'none.json'. Check the path."),
        ([], 2, "Missing argument 'FILE'. Try 'dpfda report --help'."),
    ],
)
@pytest.mark.usefixtures("release")
def test_a_mistake_gives_one_line_and_leaves_nothing(
    arguments: list[str], code: int, message: str, run: Run, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    done = run("report", *arguments)
    assert (done.code, done.out, done.err) == (code, "", f"Error: {message}\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.usefixtures("release")
def test_a_missing_folder_is_named(run: Run, tmp_path: Path) -> None:
    done = run("report", "mean.json", "-o", "there/mean.html")
    assert (done.code, done.err) == (5, f"Error: No folder '{tmp_path}/there' to write to. Make it first.\n")


@pytest.mark.usefixtures("release")
def test_a_page_that_cannot_be_written_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    done = run("report", "mean.json")
    text = "Error: Cannot write 'mean.html': No space left on device. Name another file.\n"
    assert (done.code, done.out, done.err) == (5, "", text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mean.json", "scans.csv"]


# The page's script on a page of three rows, as far as a browser is needed for it.
BROWSER = """
const element = (more) => Object.assign({
  attributes: {}, listeners: {}, classList: { add() {} }, textContent: "",
  setAttribute(name, value) { this.attributes[name] = String(value); },
  addEventListener(name, act) { this.listeners[name] = act; },
}, more);
const cell = (text) => ({ textContent: text });
const rows = [["0", "5"], ["1", "6"], ["2", "7"]].map((cells, i) => ({
  dataset: { x: String(100 * i), y: String(50 + i) }, cells: cells.map(cell),
}));
const dot = element(), line = element(), reading = element();
const slider = element({ max: "2", value: "1" });
const drawing = element({
  querySelector: (what) => (what.startsWith("circle") ? dot : line),
  getScreenCTM: () => ({ inverse: () => 0.5 }),
});
const controls = element({ hidden: true, querySelectorAll: () => [slider] });
globalThis.DOMPoint = class {
  constructor(x, y) { this.x = x; this.y = y; }
  matrixTransform(factor) { return { x: factor * this.x, y: factor * this.y }; }
};
globalThis.document = {
  getElementById: (name) => ({ drawing, controls, reading })[name],
  querySelectorAll: (what) => (what.includes("thead") ? [cell("t"), cell("value")] : rows),
};
%s
const seen = () => [reading.textContent, String(slider.value), slider.attributes["aria-valuetext"],
  { ...dot.attributes }, line.attributes.x1];
const states = [[controls.hidden, reading.textContent]];
slider.value = "2";
slider.listeners.input();
states.push(seen());
drawing.listeners.pointermove({ clientX: 230, clientY: 0 });
states.push(seen());
console.log(JSON.stringify(states));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the page's script")
def test_the_script_reads_values_by_keyboard_and_by_pointer(tmp_path: Path) -> None:
    script = (Path(dpfda.__file__).parent / "page" / "page.js").read_text()
    (tmp_path / "page.js").write_text(BROWSER % script)
    done = subprocess.run(["node", str(tmp_path / "page.js")], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    start, by_key, by_pointer = json.loads(done.stdout)
    assert start == [False, ""]
    assert by_key == ["t = 2, value = 7", "2", "t = 2", {"cx": "200", "cy": "52"}, "200"]
    assert by_pointer == ["t = 1, value = 6", "1", "t = 1", {"cx": "100", "cy": "51"}, "100"]
