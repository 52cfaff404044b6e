"""`dpfda card` and `dpfda verify` as people run them: every form, every exit code, and nothing that could be markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda.errors import UsageError
from dpfda.mechanisms import SeededRandomness
from dpfda.page.render import card_page
from dpfda.releases.documents import sealed, stated_digest, with_digest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
GRID = np.linspace(0, 1, 12)
CURVES = 0.5 * np.sin(np.pi * GRID) + np.linspace(-0.2, 0.2, 100)[:, None]
Run = Callable[..., Any]


def released(**wishes: Any) -> Any:
    defaults: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bound": 1.0, "size": 4, "mechanism": "gaussian"}
    return dpfda.MeanFunction(**defaults | {"dataset": "scans"} | wishes).fit(CURVES, grid=GRID).release_


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path: Path = released().save(tmp_path / "mean.json")
    return path


# card ----------------------------------------------------------------------------------------------------------------


def test_a_card_is_text_unless_another_form_is_asked_for(run: Run, file: Path) -> None:
    outcome = run("card", file)
    assert outcome.code == 0
    assert outcome.out.startswith("Release card: mean function of 'scans'\n")
    assert "\n  threats " in outcome.out
    assert run("card", file, "--format", "text").out == outcome.out


def test_a_card_as_json_has_a_digest_of_its_own_and_names_its_release(run: Run, file: Path, tmp_path: Path) -> None:
    outcome = run("card", file, "--json")
    data = json.loads(outcome.out)
    assert data["release"] == stated_digest(file.read_bytes())
    assert stated_digest(outcome.out.encode()) == data["digest"]
    assert data["sentence"] == dpfda.load(file).certificate.sentence
    assert run("card", file, "--format", "json").out == outcome.out
    assert run("card", file, "--format", "json", "--out", tmp_path / "card.json").out.startswith("Written: ")
    assert run("verify", tmp_path / "card.json", "--file-only").code == 0
    assert run("card", tmp_path / "card.json", "--format", "nist").code == 0


IMPOSSIBLE = {
    "rho": "1" + "0" * 400,
    "mu": "1" + "0" * 400,
    "noise_scale": '"0.5"',
    "bound": "1e308",
    "epsilon": "-1",
    "n": "0",
    "neighbours": '"replace-two"',
    "schema": '"dpfda-card-3"',
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_no_command_opens_an_impossible_card(name: str, run: Run, file: Path) -> None:
    body = file.read_text()[: file.read_text().rindex(',\n "digest"')]
    edited, count = re.subn(rf'"{name}": [^,\n]+', f'"{name}": {IMPOSSIBLE[name]}', body, count=1)
    assert count == 1
    file.write_text(with_digest(edited + "\n}"))
    forms = [("card", file, "--format", form) for form in ("text", "json", "html", "nist", "registry")]
    for command in (("show", file), ("evaluate", file, "--at", "0,0.5"), ("report", file, "-o", "r.html"), *forms):
        outcome = run(*command)
        assert (outcome.code, outcome.out) == (5, ""), command
        assert "Take a fresh copy of it." in outcome.err or "take a fresh copy of it." in outcome.err
    assert run("verify", file, "--file-only").code == 3


def test_a_card_for_the_registry_and_for_nist(run: Run, file: Path) -> None:
    entry = json.loads(run("card", file, "--format", "registry").out)
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert "How strong is the guarantee (epsilon)?" in run("card", file, "--format", "nist").out


def test_the_schemas_are_printed(run: Run, tmp_path: Path) -> None:
    assert json.loads(run("card", "--schema").out)["$id"] == "urn:dpfda:card-2"
    assert json.loads(run("card", "--schema", "card-1").out)["$id"] == "urn:dpfda:card-1"
    assert json.loads(run("card", "--schema", "release").out)["$id"] == "urn:dpfda:release-1"
    run("card", "--schema", "claim", "--out", "claim.schema.json")
    assert json.loads((tmp_path / "claim.schema.json").read_text())["$id"] == "urn:dpfda:claim-1"


def test_an_existing_file_is_not_replaced_unasked(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "card.html").write_text("old")
    refused = run("card", file, "--format", "html", "--out", "card.html")
    assert refused.code == 5
    assert refused.err == "Error: 'card.html' exists. Say --overwrite, or name another file.\n"
    assert run("card", file, "--format", "html", "--out", "card.html", "--overwrite").code == 0
    assert (tmp_path / "card.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        ((), 2, "Missing argument 'FILE'. Try 'dpfda card --help'."),
        (("none.json",), 5, "No file 'none.json'. Check the path."),
        (
            ("mean.json", "--out", "mean.json"),
            2,
            "The release and its card must be different files. Name another with --out.",
        ),
        (
            ("mean.json", "--json", "--format", "html"),
            2,
            "--json and --format html contradict each other. Say one of them.",
        ),
        (
            ("mean.json", "--schema", "card"),
            2,
            "--schema prints a schema, of no file and in one form. Leave the others out.",
        ),
    ],
    ids=["nothing", "missing", "same file", "two forms", "schema of a file"],
)
def test_mistakes_are_named(arguments: tuple[str, ...], code: int, error: str, run: Run, file: Path) -> None:
    outcome = run("card", *arguments)
    assert (outcome.code, outcome.err) == (code, f"Error: {error}\n")


# The page ------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_the_page_is_whole_needs_no_script_and_no_network() -> None:
    page = card_page(released().certificate, released(), digest="ab" * 32)
    found = Page(page)
    assert found.open == []
    assert not {"script", "img", "link", "iframe", "object", "form"} & {tag for tag, _ in found.tags}
    assert "http://" not in page
    assert "https://" not in page
    (policy,) = [meta["content"] for meta in found.of("meta") if meta.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy


def test_the_page_can_be_heard_as_well_as_seen() -> None:
    found = Page(card_page(released().certificate, released()))
    assert found.of("html") == [{"lang": "en"}]
    headings = [tag for tag, _ in found.tags if tag in ("h1", "h2", "h3", "h4")]
    assert headings == ["h1", "h2", "h2", "h2", "h3", "h3", "h3", "h2", "h2"]
    assert all(head.get("scope") in ("col", "row") for head in found.of("th"))
    assert len(found.of("table")) == len(found.of("caption")) == 5
    named = {attributes.get("id") for _, attributes in found.tags}
    assert {section["aria-labelledby"] for section in found.of("section") if "aria-labelledby" in section} <= named
    assert found.of("a")[0] == {"class": "skip", "href": "#card"}
    assert "card" in named


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a' & b", "\u202eevil"]
)
def test_a_name_from_a_file_is_text_and_nothing_else(name: str, tmp_path: Path) -> None:
    """Names that are not printable are refused by an estimator, and stand in a file that was changed all the same."""
    if name.isprintable():
        release = released(dataset=name)
    else:
        with pytest.raises(UsageError, match="is a name of 1 to 200 printable characters"):
            released(dataset=name)
        made = released()
        changed = replace(made, certificate=replace(made.certificate, dataset=name))
        release = dpfda.load(changed.save(tmp_path / "changed.json"))
    assert release.certificate.dataset == name
    page = card_page(release.certificate, release)
    assert "<script" not in page
    assert "<img" not in page
    assert Page(page).open == []
    assert "\u202e" not in page


def test_a_page_of_what_is_not_private_says_so_first() -> None:
    release = released(randomness=SeededRandomness(1))
    page = card_page(release.certificate, release)
    assert "<title>NOT PRIVATE: Card: mean function of &#x27;scans&#x27;</title>" in page
    assert page.index('class="loud"') < page.index('class="guarantee"')


def test_a_choice_has_a_page_too() -> None:
    choice = dpfda.private_bound(CURVES, epsilon=0.5, quantile=0.9, candidates=(0.25, 0.5, 1.0), grid=GRID, force=True)
    found = Page(card_page(choice.card))
    assert found.open == []
    assert len(found.of("table")) == 5


# verify --------------------------------------------------------------------------------------------------------------


def test_a_release_that_holds_by_itself_is_incomplete_without_a_ledger(run: Run, file: Path) -> None:
    outcome = run("verify", "mean.json")
    assert outcome.code == 5
    lines = outcome.out.splitlines()
    assert lines[0].startswith("mean.json: INCOMPLETE: the guarantee holds as recomputed, and these parts could not")
    assert lines[1] == "  missing    any entry of a ledger: nothing was recorded"
    assert "  holds      digest of every byte before it" in lines


def test_the_file_alone_can_be_asked_for_and_says_its_limits(run: Run, file: Path) -> None:
    outcome = run("verify", "mean.json", "--file-only")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "mean.json: holds, as far as the file alone tells"
    assert lines[1] == "  limit      any entry of a ledger: nothing was recorded"
    (told,) = json.loads(run("verify", "mean.json", "--file-only", "--json").out)
    assert (told["verdict"], told["not_compared"]) == ("holds, as far as the file alone tells", [])
    assert len(told["limits"]) == 3
    both = run("verify", "mean.json", "--file-only", "--ledger", "sqlite:///ledger.db")
    assert (both.code, both.err) == (2, "Error: --file-only and --ledger contradict each other. Say one of them.\n")


def test_an_edited_release_ends_with_three_and_names_the_rule(run: Run, file: Path) -> None:
    file.write_text(file.read_text().replace('"epsilon": 1.0', '"epsilon": 0.5'))
    outcome = run("verify", "mean.json")
    assert outcome.code == 3
    lines = outcome.out.splitlines()
    assert lines[0] == "mean.json: DOES NOT HOLD"
    assert lines[1].startswith("  disagrees  digest of every byte before it: stated ")
    assert lines[2].startswith("  disagrees  epsilon at delta = 1e-06: stated 0.5, recomputed 0.99999")


def test_the_load_curve_is_found_out(run: Run) -> None:
    outcome = run("verify", EXAMPLES / "load-curve-claim.json")
    assert outcome.code == 3
    assert "disagrees  epsilon: stated 0.843, recomputed 4.72036 (" in outcome.out
    assert run("verify", EXAMPLES / "load-curve-corrected-claim.json").code == 0


def test_the_guide_shows_what_the_command_prints(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    guide = (EXAMPLES.parent / "cards.md").read_text(encoding="utf-8")
    shown = guide.split("$ dpfda verify docs/examples/load-curve-claim.json\n")[1].split("```")[0]
    monkeypatch.chdir(EXAMPLES.parents[1])
    assert run("verify", "docs/examples/load-curve-claim.json").out == shown
    (tmp_path / "claim.json").write_text(guide.split("```json\n")[1].split("```")[0])
    found = run("verify", tmp_path / "claim.json")
    assert found.code == 3
    assert "stated 0.25, recomputed 12 (" in found.out
    assert "0.25 is that of one of the 48 values of 'mean' alone" in found.out


def test_several_files_are_reported_one_by_one(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    outcome = run("verify", "mean.json", "other.json", "--json")
    assert outcome.code == 5
    first, second = json.loads(outcome.out)
    assert (first["subject"], first["ok"], first["exit_code"]) == ("mean.json", False, 5)
    assert first["not_compared"][0] == "any entry of a ledger: nothing was recorded"
    assert (second["subject"], second["ok"], second["exit_code"]) == ("other.json", False, 5)
    assert second["findings"][0]["rule"] == "format"


def test_a_ledger_is_asked_for_the_entry(run: Run, tmp_path: Path) -> None:
    from dpfda.ledger.durable import Ledger

    url, anchor = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "ledger.anchor"
    ledger = Ledger(url, anchor=anchor)
    ledger.create("scans", epsilon=2.0, delta=1e-5)
    release = released(ledger=ledger)
    release.save(tmp_path / "paid.json")
    released().save(tmp_path / "unpaid.json")
    assert run("verify", "paid.json", "--ledger", url, "--anchor", anchor).code == 0
    assert run("verify", "paid.json", "--ledger", url).code == 0
    alone = run("verify", "paid.json")
    assert alone.code == 5
    assert "and what was handed out under it: say --ledger" in alone.out
    unpaid = run("verify", "unpaid.json", "--ledger", url)
    assert unpaid.code == 4
    assert "the card names no entry of a kept ledger" in unpaid.out
    data = json.loads((tmp_path / "paid.json").read_text())
    del data["digest"]
    data["certificate"]["epsilon"] = 1.5
    (tmp_path / "forged.json").write_text(sealed(data))
    assert run("verify", "forged.json", "--file-only").code == 0  # a larger epsilon holds as well
    forged = run("verify", "forged.json", "--ledger", url)
    assert forged.code == 4
    assert "budget: stated (epsilon = 1.5, delta = 1e-06), recomputed (epsilon = 1, delta = 1e-06)" in forged.out


def test_an_anchor_without_a_ledger_is_a_mistake(run: Run, file: Path) -> None:
    outcome = run("verify", "mean.json", "--anchor", "a")
    assert (outcome.code, outcome.err) == (2, "Error: --anchor belongs to a ledger: name it with --ledger.\n")
    assert run("verify").code == 2
    assert run("verify", "mean.json", "--ledger", "ledger.db").code == 2
