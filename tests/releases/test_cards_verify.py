"""Whoever alters a release or its card is found out: by a digest, by the numbers themselves, or by the ledger."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpfda
from dpfda.releases.cards.document import json_text
from dpfda.releases.certificate import OURS
from dpfda.releases.documents import broken, digest_of, sealed, stated_digest
from dpfda.releases.entry import LedgerEntry
from dpfda.releases.files import text_of, to_dict
from dpfda.releases.verification import Finding, Report, recompute, verify
from dpfda.releases.verification.report import EXIT_CODES, worst

KINDS = [
    "mean",
    "mean, laplace",
    "mean, k-norm",
    "mean, gp",
    "mean, exponential",
    "mean, dictionary",
    "mean, private number",
    "covariance",
    "covariance, wishart",
    "components",
    "components, with variances",
    "density",
    "density, bought bandwidth",
    "machine",
    "regression",
]
Of = Callable[[str], Any]


def plain(release: Any) -> dict[str, Any]:
    """A release as data that may be altered."""
    data: dict[str, Any] = json.loads(json.dumps(to_dict(release)))
    return data


def checked(data: dict[str, Any], tmp_path: Path) -> Report:
    """The report on altered data whose digest was made anew, as a forger would."""
    path = tmp_path / "forged.json"
    path.write_text(sealed(data), encoding="utf-8")
    return recompute(path)


def rules(report: Report) -> list[str]:
    return [finding.rule for finding in report.findings]


# What was not altered ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_of_every_kind_holds(kind: str, release_of: Of, tmp_path: Path) -> None:
    report = recompute(release_of(kind).save(tmp_path / "release.json"))
    assert report.findings == ()
    assert report.ok
    assert report.exit_code == 0
    for rule in ("digest of every byte before it", "rho for composition", "power of an attacker at 5 % false alarms"):
        assert rule in report.held
    assert recompute(release_of(kind)).ok


@pytest.mark.parametrize("kind", [*KINDS, "choice", "online"])
def test_a_card_by_itself_holds(kind: str, card_of: Of, tmp_path: Path) -> None:
    card = card_of(kind)
    (tmp_path / "card.json").write_text(json_text(card))
    assert recompute(tmp_path / "card.json").findings == ()
    (tmp_path / "bare.json").write_text(json.dumps(card.to_dict()))
    bare = recompute(tmp_path / "bare.json")
    assert bare.findings == ()
    assert "a bare card: it has no digest, so edits show only in its numbers" in bare.notes


def test_a_card_among_what_a_command_printed_holds_and_the_rest_is_named(card_of: Of, tmp_path: Path) -> None:
    (tmp_path / "printed.json").write_text(json.dumps({"bound": 0.5, **card_of("choice").to_dict()}))
    report = recompute(tmp_path / "printed.json")
    assert report.ok
    assert "not of the card: bound" in report.limits


def test_the_noise_in_a_file_is_compared_with_the_card(release_of: Of) -> None:
    """For a mean everything is at hand; elsewhere the scale is, where the noise has no shape of its own."""
    whole = "privacy curve is that of the noise in the file, bound and number of units"
    scale = "scale is that of the noise in the file, in lattice steps"
    for kind in ("mean", "mean, laplace", "mean, k-norm"):
        assert whole in recompute(release_of(kind)).held
    for kind in ("mean, private number", "covariance", "covariance, wishart", "density", "machine"):
        assert scale in recompute(release_of(kind)).held
    note = "the scale on the card was not compared with the noise in the file: the statistic gives no way to"
    for kind in ("mean, gp", "regression"):
        assert note in recompute(release_of(kind)).notes


# One character -------------------------------------------------------------------------------------------------------


def small(release_of: Of) -> bytes:
    return text_of(release_of("mean")).encode()


def test_every_edit_of_one_character_breaks_the_digest(release_of: Of) -> None:
    """At every place of a file: one byte less, one more, another one; spaces and ends of lines are bytes too."""
    content = small(release_of)
    assert broken(content) is None
    for place in range(len(content)):
        before, here, after = content[:place], content[place : place + 1], content[place + 1 :]
        # Taking one of two equal neighbours away is one and the same edit.
        assert broken(before + after) is not None, place
        for other in (b"0", b" ", b"\n", b"\xff"):
            assert broken(before + other + here + after) is not None, (place, other)
            if other != here:
                assert broken(before + other + after) is not None, (place, other)
    assert broken(content + b"\n") is not None
    assert broken(content + b" ") is not None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_with_one_character_changed_does_not_verify(data: st.DataObject, release_of: Of, tmp_path: Path) -> None:
    kind = data.draw(st.sampled_from(["mean", "mean, laplace", "components", "card"]))
    content = json_text(release_of("mean").certificate) if kind == "card" else text_of(release_of(kind))
    place = data.draw(st.integers(0, len(content) - 1))
    letter = data.draw(st.sampled_from(string.printable))
    way = data.draw(st.sampled_from(["insert", "delete", "replace"]))
    edited = content[:place] + {"insert": letter + content[place], "delete": "", "replace": letter}[way]
    edited += content[place + 1 :]
    path = tmp_path / "edited.json"
    path.write_bytes(edited.encode())
    assert recompute(path).ok == (edited == content)
    assert edited == content or recompute(path).exit_code == 3


@pytest.mark.audit
def test_no_character_of_a_file_can_be_left_out(release_of: Of, tmp_path: Path) -> None:
    content, path = small(release_of), tmp_path / "edited.json"
    for place in range(len(content)):
        path.write_bytes(content[:place] + content[place + 1 :])
        assert recompute(path).exit_code == 3, place


def test_an_edit_is_named_as_well_as_it_can_be(release_of: Of, tmp_path: Path) -> None:
    content = small(release_of).decode()
    path = tmp_path / "edited.json"

    def said(edited: str) -> str:
        path.write_text(edited, encoding="utf-8")
        (finding,) = [f for f in recompute(path).findings if f.rule == "digest of every byte before it"]
        assert finding.kind == "edited"
        return finding.recomputed

    spaced = content.replace('"kind": ', '"kind":  ')
    assert said(spaced).endswith("; line 3, column 10 is not written as dpfda writes it")
    assert said(content.replace('"kind": "mean",', '"kind": "mean"')).endswith("; no JSON from line 4, column 2 on")
    assert said(content[:-1]).startswith("none is there")
    assert "none is there" in said(content + "\n")
    true = digest_of(content.replace("scans", "scanz").encode()[: content.index(',\n "digest"')])
    assert said(content.replace("scans", "scanz")) == true
    path.write_bytes(content.encode().replace(b"scans", b"sc\xffns"))
    assert "is no text" in recompute(path).findings[0].recomputed
    assert "; NaN is no number" in said(content.replace('"delta": 1e-06', '"delta": NaN'))


def test_a_digest_is_that_of_all_bytes_before_it() -> None:
    # sha256 of '{', a new line, ' "a": 1'; from sha256sum.
    digest = "a62d71e05280b3e777c0cab14dfe081560f124e17f88af0c49eeabeecf2f1785"
    assert sealed({"a": 1}) == f'{{\n "a": 1,\n "digest": "{digest}"\n}}\n'
    assert stated_digest(sealed({"a": 1}).encode()) == digest == digest_of(b'{\n "a": 1')
    assert stated_digest(b"{}") is None


# Forgers make the digest anew ----------------------------------------------------------------------------------------

LAPLACE = {"code": "radial", "blocks": [[5, 1]], "besides": ""}
LAPLACE_CURVE = {"law": "laplace", "epsilon": 1.0, "steps": None}
MAXIMISER = {"code": "maximiser", "utility": "closeness"}
OWN = {"code": "said", "text": "noise of my own"}
MOVES = "how far one unit moves the summary"
FORGED: list[tuple[str, str, dict[str, Any], str]] = [
    ("epsilon lowered", "mean", {"epsilon": 0.5}, "epsilon at delta = 1e-06"),
    ("epsilon lowered a little", "mean", {"epsilon": 0.9999}, "epsilon at delta = 1e-06"),
    ("pure epsilon lowered", "mean, laplace", {"epsilon": 0.999}, "epsilon"),
    ("delta lowered", "mean", {"delta": 1e-8}, "epsilon at delta = 1e-08"),
    ("delta taken away", "mean", {"delta": 0.0}, "epsilon"),
    ("rho lowered", "mean", {"rho": 0.01}, "rho for composition"),
    ("power lowered", "mean", {"attacker_power": 0.06}, "power of an attacker at 5 % false alarms"),
    (
        "bound lowered",
        "mean",
        {"bound": 0.5},
        "privacy curve is that of the noise in the file, bound and number of units",
    ),
    ("bound raised", "mean", {"bound": 2.0}, "sensitivity covers one unit at the bound"),
    ("more people", "mean", {"n": 400.0}, "privacy curve is that of the noise in the file, bound and number of units"),
    ("finer lattice", "mean", {"lattice_step": 1e-9}, "sensitivity covers one unit at the bound"),
    ("another family", "mean", {"basis": "cosines"}, "family is that of the basis"),
    ("another law", "mean", {"noise": LAPLACE}, "law of the noise in the file"),
    ("smaller deviation", "mean", {"scale": 1e-3}, "largest deviation of a coordinate"),
    ("other blocks", "mean, k-norm", {"noise": LAPLACE}, "law of the noise in the file"),
    ("another kind", "mean", {"statistic": "density"}, "statistic is that of the file"),
    ("a maximiser", "mean", {"what": MAXIMISER}, "a unit moves the objective of a maximiser"),
    ("Laplace curve", "mean, k-norm", {"losses": [LAPLACE_CURVE]}, "law of the privacy curve is that of the noise"),
    ("another schema", "mean", {"schema": "dpfda-card-0"}, "parts of the file"),
    ("another number", "mean, private number", {"n": 300.0}, "noisy number of units"),
    ("no curves", "mean", {"losses": []}, "privacy curves"),
    ("no scale", "mean", {"noise_scale": 0.0}, "scale of the noise"),
    ("unknown curve", "mean", {"losses": [{"law": "cauchy"}]}, "privacy curve 1"),
    (
        "public number",
        "mean",
        {"neighbours": "add-or-remove-one"},
        "number of units is public or private by the relation of neighbours",
    ),
    (
        "other noise",
        "mean",
        {"noise": OWN},
        "law of the privacy curve is that of the noise",
    ),
    ("approximate", "components", {"mechanism": "gibbs"}, "an approximate draw is called nominal"),
    ("less noise", "mean", {"noise_rms": 1e-9}, "noise over the domain is that of the law in the file"),
    ("less noise", "density", {"noise_rms": 1e-9}, "noise over the domain is that of the law in the file"),
    ("less noise", "covariance", {"noise_rms": 1e-9}, "noise over the domain is that of the law in the file"),
    ("less noise", "machine", {"noise_rms": 1e-9}, "noise over the domain is that of the law in the file"),
    ("less noise", "regression", {"noise_rms": 1e-9}, "noise over the domain is that of the law in the file"),
    ("some noise", "components", {"noise_rms": 0.1}, "noise over the domain is that of the law in the file"),
    ("moves less", "mean", {"moves": {"code": "mean", "by": 0.001}}, MOVES),
    ("moves less", "covariance", {"moves": {"code": "said", "text": "moves nothing"}}, MOVES),
    ("moves less", "density", {"moves": {"code": "points", "units": 300.0}}, MOVES),
    ("more people", "density", {"n": 300.0}, "number of units in the file"),
    ("more people", "components", {"n": 300.0}, MOVES),
    ("smaller bound", "components", {"bound": 0.5}, "lattice step is that of the bound"),
    ("smaller bound", "covariance", {"bound": 0.5}, "lattice step is that of the bound"),
    ("smaller bound", "regression", {"bound": 0.5}, "lattice step is that of the bound"),
    ("another mechanism", "mean", {"mechanism": "laplace"}, "mechanism has this noise"),
    ("a process", "mean", {"mechanism": "gp"}, "a mean under the noise of a process is penalised"),
    ("dice", "mean", {"randomness": {"code": "said", "text": "system dice"}}, "source of randomness is one of ours"),
    ("dice that nobody knows", "mean", {"randomness": {"code": "dice"}}, "source of randomness is one of ours"),
    ("a coloured source", "mean", {"randomness": {"code": "\x1b[31msystem"}}, "source of randomness is one of ours"),
    ("no source", "mean", {"randomness": {"code": ""}}, "source of randomness is one of ours"),
    ("private all at once", "mean", {"randomness": {"code": "candidates"}}, "warnings follow from the card"),
    ("no warning", "mean", {"epsilon": 25.0}, "warnings follow from the card"),
]


@pytest.mark.parametrize(
    ("kind", "changes", "rule"), [row[1:] for row in FORGED], ids=[f"{row[1]}: {row[0]}" for row in FORGED]
)
def test_an_altered_number_is_found_out_by_the_others(
    kind: str, changes: dict[str, Any], rule: str, release_of: Of, tmp_path: Path
) -> None:
    data = plain(release_of(kind))
    data["certificate"] |= changes
    report = checked(data, tmp_path)
    assert rule in rules(report), report.text()
    assert report.exit_code == 3
    assert "digest of every byte before it" in report.held


def test_every_source_that_a_card_can_name_is_known(tmp_path: Path) -> None:
    """Noise of a mean, a choice among candidates, and answers point by point, none of them seeded."""
    grid, spent = np.linspace(0, 1, 5), {"epsilon": 1.0, "delta": 1e-6, "force": True}
    mean = dpfda.MeanFunction(**spent, bound=1.0, size=2).fit(np.zeros((50, 5)), grid=grid).release_.certificate
    wishes: dict[str, Any] = {"epsilon": 1.0, "quantile": 0.9, "candidates": (0.5, 1.0), "grid": grid, "force": True}
    choice = dpfda.private_bound(np.zeros((50, 5)), **wishes).card
    with dpfda.DensityFunction(**spent, domain=(0, 1), mechanism="gp").fit(np.full((50, 1), 0.5)).open() as oracle:
        cards = (mean, choice, oracle.certificate)
    assert {card.randomness.code for card in cards} == set(OURS)
    for card in cards:
        (tmp_path / "card.json").write_text(json_text(card))
        report = recompute(tmp_path / "card.json")
        assert "source of randomness is one of ours" in report.held, report.text()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("field", "factor"), [("noise_scale", 2.0), ("sensitivity", 0.5)], ids=["scale", "move"])
def test_scale_raised_or_sensitivity_lowered_disagrees_with_the_curve(
    kind: str, field: str, factor: float, release_of: Of, tmp_path: Path
) -> None:
    data = plain(release_of(kind))
    data["certificate"][field] *= factor
    (first, *_) = checked(data, tmp_path).findings
    assert first.rule.endswith("of the privacy curve is sensitivity over scale")


@pytest.mark.parametrize("kind", ["mean", "mean, private number", "covariance"])
def test_a_curve_that_fits_the_raised_scale_disagrees_with_the_noise_in_the_file(
    kind: str, release_of: Of, tmp_path: Path
) -> None:
    data = plain(release_of(kind))
    card = data["certificate"]
    card["noise_scale"] *= 2
    card["losses"][0] |= {"mu": card["losses"][0]["mu"] / 2, "steps": card["losses"][0]["steps"] * 2}
    card |= {"epsilon": 0.5, "rho": card["rho"] / 4}
    (found,) = rules(checked(data, tmp_path))
    assert "noise in the file" in found


def test_a_sensitivity_below_that_of_one_unit_at_the_bound_is_found_out(release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean"))
    card = data["certificate"]
    card["sensitivity"] /= 2
    card["losses"][0]["mu"] /= 2
    card |= {"epsilon": 0.5, "rho": card["rho"] / 4}
    assert "sensitivity covers one unit at the bound" in rules(checked(data, tmp_path))


def test_curves_of_another_release_are_found_out(release_of: Of, tmp_path: Path) -> None:
    data, other = plain(release_of("mean")), plain(release_of("mean, laplace"))
    data["certificate"]["losses"] = other["certificate"]["losses"]
    assert "epsilon of the privacy curve is sensitivity over scale" in rules(checked(data, tmp_path))


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("covariance", {"law": "pure"}),
        ("covariance", {"law": "stated", "delta": 0.0}),
        ("covariance, wishart", {"law": "range"}),
        ("covariance, wishart", {"law": "laplace", "steps": None}),
        ("components", {"law": "gaussian", "distance": 0.0, "size": 0, "steps": None}),
    ],
    ids=str,
)
def test_a_curve_of_another_law_with_the_same_parameter_is_found_out(
    kind: str, loss: dict[str, Any], release_of: Of, tmp_path: Path
) -> None:
    data = plain(release_of(kind))
    first = data["certificate"]["losses"][0]
    parameter = first.get("mu", first.get("epsilon"))
    data["certificate"]["losses"][0] = loss | {"mu" if loss["law"] == "gaussian" else "epsilon": parameter}
    assert "law of the privacy curve is that of the noise" in rules(checked(data, tmp_path))


def test_laplace_noise_on_a_finer_lattice_than_its_own_is_found_out(release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean, laplace"))
    data["certificate"]["losses"][0]["steps"] = None
    assert rules(checked(data, tmp_path)) == ["scale of the noise in lattice steps"]


def test_a_sampler_that_would_be_too_exact_is_found_out(release_of: Of, tmp_path: Path) -> None:
    for changes, rule in [
        ({"distance": 0.0}, "distance of the sampler from the normal law"),
        ({"steps": 1.0}, "deviation of the noise in lattice steps"),
    ]:
        data = plain(release_of("mean"))
        data["certificate"]["losses"][0] |= changes
        assert rule in rules(checked(data, tmp_path))


def test_noise_that_was_altered_in_the_file_is_found_out(release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean"))
    data["noise"]["scales"] = [10 * scale for scale in data["noise"]["scales"]]
    assert "largest deviation of a coordinate" in rules(checked(data, tmp_path))


def test_an_epsilon_far_above_what_holds_is_worth_a_word(release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean, laplace"))
    data["certificate"]["epsilon"] = 5.0
    report = checked(data, tmp_path)
    assert report.ok
    assert "epsilon is stated as 5, but 1 would hold" in report.notes


def test_a_release_from_a_seed_is_called_not_private(release_of: Of) -> None:
    assert recompute(release_of("mean")).notes[0].startswith("NOT PRIVATE: the noise came from a seeded source")


def test_a_field_more_is_found_out_whoever_made_the_digest(release_of: Of, tmp_path: Path) -> None:
    assert rules(checked(plain(release_of("mean")) | {"comment": "true"}, tmp_path)) == [
        "every part of the file is one of a release"
    ]
    data = plain(release_of("mean"))
    data["smoothing"]["comment"] = "true"
    assert rules(checked(data, tmp_path)) == ["every part of the file is one of a release"]


def test_a_field_twice_or_other_spaces_are_found_out_whoever_made_the_digest(release_of: Of, tmp_path: Path) -> None:
    text = text_of(release_of("mean"))
    body = text[: text.rindex(',\n "digest"')]
    for edited in (body.replace('"epsilon": 1.0', '"epsilon": 0.1,\n  "epsilon": 1.0'), body.replace('": ', '":  ')):
        path = tmp_path / "forged.json"
        path.write_text(f'{edited},\n "digest": "{digest_of(edited.encode())}"\n}}\n')
        assert rules(recompute(path)) == ["written as dpfda writes it"]


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ("sentence", "sentence of the card"),
        ("warnings", "warnings of the card"),
        ("facts", "facts and answers follow from the card"),
        ("nist", "facts and answers follow from the card"),
    ],
)
def test_words_of_a_card_that_do_not_follow_from_it_are_found_out(
    place: str, rule: str, card_of: Of, tmp_path: Path
) -> None:
    data = json.loads(json_text(card_of("mean")))
    del data["digest"]
    data |= {"sentence": "Nobody can learn anything.", "warnings": []} if place in ("sentence", "warnings") else {}
    data["facts"]["spent so far"] = "nothing" if place == "facts" else data["facts"]["spent so far"]
    data["nist"][0]["answer"] = "Very strong." if place == "nist" else data["nist"][0]["answer"]
    found = checked(data, tmp_path)
    assert rule in rules(found)
    assert found.exit_code == 3


def test_words_of_another_version_are_not_compared(card_of: Of, tmp_path: Path) -> None:
    data = json.loads(json_text(replace(card_of("mean"), software=(("dpfda", "0.0.1"),))))
    del data["digest"]
    data["facts"]["threats"] = "worded otherwise"
    found = checked(data, tmp_path)
    assert found.ok
    assert "sentence, facts and answers: they were worded by another version" in found.limits


@pytest.mark.parametrize("part", ["basis", "noise", "noisy", "certificate", "smoothing"])
def test_a_missing_part_is_an_edit(part: str, release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean"))
    del data[part]
    assert rules(checked(data, tmp_path)) == ["parts of the file"]
    assert checked(data, tmp_path).exit_code == 3


def test_a_text_among_the_numbers_is_an_edit(release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean"))
    data["certificate"]["losses"][0]["size"] = None
    assert checked(data, tmp_path).exit_code == 3
    data = plain(release_of("mean"))
    data["certificate"]["noise_scale"] = "large"
    assert rules(checked(data, tmp_path)) == ["parts of the file"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("delta", 1.5),
        ("epsilon", -1.0),
        ("epsilon", 1e308),
        ("n", 0.0),
        ("n", -5.0),
        ("lattice_step", 0.0),
        ("bound", "one"),
        ("neighbours", 5),
        ("noise", None),
        ("mechanism", []),
        ("losses", [5]),
        ("losses", [{"law": "gaussian", "mu": 0, "distance": 0, "size": 0, "steps": 0}]),
        ("losses", [{"law": "gaussian", "mu": "a", "distance": 0, "size": 0, "steps": 0}]),
        ("entry", 5),
        ("software", {"dpfda": 5}),
        ("size", 1e300),
    ],
    ids=str,
)
def test_whatever_stands_on_a_card_there_is_a_report(field: str, value: Any, release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of("mean"))
    data["certificate"][field] = value
    report = checked(data, tmp_path)
    assert report.exit_code == 3


# What is none of ours ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"a, b", b'{"format": "other"}', b"\xff"], ids=repr)
def test_other_files_are_unreadable(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    report = recompute(path)
    assert report.exit_code == 5
    assert report.findings[0].recomputed == "dpfda-release-1, dpfda-card-2, dpfda-card-1 or dpfda-claim-1"


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    assert recompute(tmp_path / "none.json").findings[0].recomputed.startswith("No file ")
    assert recompute(str(tmp_path)).exit_code == 5
    report = recompute(tmp_path / "none.json")
    assert report.verdict == "COULD NOT BE CHECKED"
    assert report.text().splitlines()[1].startswith("  unchecked  file: ")


def test_what_is_wrong_comes_before_what_could_not_be_read() -> None:
    assert EXIT_CODES == {"guarantee": 3, "edited": 3, "ledger": 4, "unreadable": 5}
    assert worst([5, 4, 0, 3]) == 3
    assert worst([5, 0, 4]) == 4
    assert worst([0, 5]) == 5
    assert worst([0]) == worst([]) == 0


def test_a_report_says_rule_stated_and_recomputed_in_one_line() -> None:
    report = Report("a.json", (Finding("guarantee", "epsilon", "0.843", "4.72"),), ("delta",), ("a note",))
    assert report.text().splitlines() == [
        "a.json: DOES NOT HOLD",
        "  disagrees  epsilon: stated 0.843, recomputed 4.72",
        "  holds      delta",
        "  note       a note",
    ]
    assert report.to_dict() == {
        "subject": "a.json",
        "ok": False,
        "verdict": "DOES NOT HOLD",
        "exit_code": 3,
        "findings": [{"kind": "guarantee", "rule": "epsilon", "stated": "0.843", "recomputed": "4.72"}],
        "not_compared": [],
        "limits": [],
        "held": ["delta"],
        "notes": ["a note"],
    }


def test_a_verdict_says_what_could_not_be_compared() -> None:
    report = Report("a.json", (), ("delta",), missing=("the centre",))
    assert (report.ok, report.exit_code) == (False, 5)
    assert report.text().splitlines() == [
        "a.json: INCOMPLETE: the guarantee holds as recomputed, and these parts could not be compared",
        "  missing    the centre",
        "  holds      delta",
    ]
    assert report.to_dict()["not_compared"] == ["the centre"]
    report = Report("a.json", (Finding("ledger", "unit", "one", "two"),), missing=("the centre",))
    assert (report.verdict, report.exit_code) == ("DOES NOT HOLD", 4)
    report = Report("a.json", (), ("delta",), limits=("the centre",))
    assert (report.verdict, report.exit_code) == ("holds, as far as the file alone tells", 0)
    assert "  limit      the centre" in report.text().splitlines()


def test_without_a_ledger_a_release_is_not_verified_but_recomputed(release_of: Of, tmp_path: Path) -> None:
    path = release_of("mean").save(tmp_path / "mean.json")
    whole, alone = verify(path), recompute(path)
    assert (whole.exit_code, alone.exit_code) == (5, 0)
    assert whole.missing == alone.limits
    assert whole.missing[0] == "any entry of a ledger: nothing was recorded"


def test_an_entry_that_nobody_was_asked_about_is_noted(release_of: Of) -> None:
    release = release_of("mean")
    entry = LedgerEntry("f3a9", 7, "ab" * 32, "k1", None, None)
    card = replace(release.certificate, entry=entry)
    report = verify(replace(release, certificate=card))
    assert report.findings == ()
    assert "entry 7 of ledger f3a9, and what was handed out under it: say --ledger" in report.missing
    assert report.exit_code == 5


def test_the_number_of_a_bought_bound_is_that_of_its_card(card_of: Of, tmp_path: Path) -> None:
    data = json.loads(json_text(card_of("choice")))
    del data["digest"]
    assert data["bound"] == data["card"]["result"]
    path = tmp_path / "bound.json"
    for changes, rule in (
        ({}, None),
        ({"bound": 123.0}, "bound of the card"),
        ({"quantile": 0.5}, "every part of the file is one of a card"),
    ):
        path.write_text(sealed(data | changes))
        assert rules(recompute(path))[:1] == ([] if rule is None else [rule])


@pytest.mark.parametrize("kind", ["mean", "density"])
def test_a_smoothing_is_that_of_the_noisy_coordinates(kind: str, release_of: Of, tmp_path: Path) -> None:
    data = plain(release_of(kind))
    data["smoothing"]["risk"] /= 2
    assert rules(checked(data, tmp_path)) == ["smoothing is that of the noisy coordinates"]
    data["smoothing"]["name"] = "wishful"
    (finding,) = checked(data, tmp_path).findings
    # Densities refuse an unknown name when they are read.
    assert finding.rule == {"mean": "smoothing", "density": "parts of the file"}[kind]
    assert kind == "density" or finding.recomputed == "no smoothing that this version knows"


UNKNOWN = {
    "mean": {"chosen", "randomness", "unit_was_assumed", "missing"},
    "mean, exponential": {"n"},
    "mean, gp": {"mechanism", "n"},
    "components": {"n"},
    "density": {"lattice_step and bound"},
    "machine": {"n", "moves", "lattice_step and bound"},
    "regression": {"n", "moves"},
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_fields_that_nothing_was_held_against_are_named(kind: str, release_of: Of) -> None:
    note = recompute(release_of(kind)).limits[-1]
    start = "fields of the card that nothing in the file repeats: "
    assert note.startswith(start)
    named = set(note.removeprefix(start).split(", "))
    assert UNKNOWN[kind] <= named
    assert (named & {"n", "moves", "mechanism", "lattice_step and bound", "noise_rms"}) <= UNKNOWN[kind]


def test_of_a_card_alone_less_is_known_than_of_its_release(card_of: Of, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json_text(card_of("mean")))
    assert (
        ", detected, n, bound, moves, noise_rms, scale, lattice_step, basis, size, domain" in recompute(path).limits[-1]
    )
    path.write_text(json_text(card_of("choice")))
    assert recompute(path).limits[-1].endswith(", n, candidates, result")
